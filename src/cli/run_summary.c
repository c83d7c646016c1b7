/* SPDX-License-Identifier: Apache-2.0 */
/* The figures are those of the finished file, not of what was meant to be written to it: on a full disk they differ.
 * They are the collector's own only where there is no file (-o /dev/null). */
#include "cli/run_summary.h"

#include <stdio.h>
#include <string.h>

#include "base/output_path.h"
#include "cli/run_python.h"
#include "present/format.h"
#include "present/loss_text.h"
#include "trace/reader.h"

struct held { /* what came of the recording */
    uint64_t zones, others, ops, open_zones;
    uint64_t length_ns; /* of the recording, as `info` has it */
    struct loss_sums losses;
    bool is_file;
};

static void read_file(struct held *held, const char *output)
{
    struct trace *trace;
    size_t open_zones;
    if (trace_open(&trace, output, 0, NULL) != 0)
        return;
    const struct trace_info *info = trace_get_info(trace);
    trace_get_open_zones(trace, &open_zones);
    held->zones = info->zones;
    held->ops = info->ops;
    held->others = info->points + info->counters + info->memory_events + info->runs + info->samples;
    held->open_zones = open_zones;
    held->length_ns = info->end_ns - info->start_ns;
    held->is_file = true;
    loss_sums_make(&held->losses, trace, NULL);
    trace_close(trace);
}

static void look(struct held *held, const struct launch_result *r, const char *output)
{
    const struct collector_stats *s = &r->stats;
    *held = (struct held){.zones = s->zones, .others = s->other, .ops = s->ops, .open_zones = s->open_zones};
    if (r->has_trace && !output_path_is_null(output))
        read_file(held, output);
    if (held->is_file)
        return;
    held->losses.lost = (struct loss_sum){s->lost_zones, s->lost_records, s->lost_zones + s->lost_records};
}

static void warn_about_losses(const struct held *held)
{
    struct loss_text amount;
    if (!held->is_file && held->losses.lost.events)
        fprintf(stderr, "opscope: lost %s\n", loss_sum_text(&amount, &held->losses.lost));
    for (uint32_t i = 1; i < TRACE_LOSS_REASONS; i++) {
        const struct loss_sum *sum = &held->losses.by_reason[i];
        if (!sum->events || i == TRACE_LOSS_UNRECORDED || i == TRACE_LOSS_DROPPED_OLD)
            continue; /* the first is counted in processes, the second was asked for: it is in the summary */
        if (i == TRACE_LOSS_LATE_ENDS)
            fprintf(stderr, "opscope: %s ended earlier than the trace says: %s\n",
                    loss_sum_text(&amount, sum), loss_advice(i));
        else if (i == TRACE_LOSS_CLOCK)
            fprintf(stderr, "opscope: %s: %s\n", trace_loss_reason_text(i), loss_advice(i));
        else
            fprintf(stderr, "opscope: lost %s (%s): %s\n", loss_sum_text(&amount, sum),
                    trace_loss_reason_text(i), loss_advice(i));
    }
}

static void warn(const struct launch_result *r, const struct held *held)
{
    const struct collector_stats *s = &r->stats;
    struct number_text number;
    warn_about_losses(held);
    if (s->refused)
        fprintf(stderr, "opscope: %s could not be recorded (%s): %s\n",
                format_things(&number, s->refused, "process"), strerror(s->refused_reason),
                loss_advice(TRACE_LOSS_UNRECORDED));
    if (s->broken_segments)
        fprintf(stderr, "opscope: %s of the session could not be read\n",
                format_things(&number, s->broken_segments, "segment"));
    if (r->trace_error.code)
        fprintf(stderr, "opscope: %s\n", r->trace_error.message);
}

/* As a word for the shell: in quotes only where it needs them. */
static void print_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:@%/";
    if (word[strspn(word, plain)] == '\0') {
        fputs(word, stderr);
        return;
    }
    fputc('\'', stderr);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (const char[]){*word, '\0'}, stderr);
    fputc('\'', stderr);
}

/* Nothing came of it, and nothing was lost on the way: why? */
static bool explain_nothing(const struct launch_result *r, const struct held *held, char *const *command,
                            const char *output)
{
    char why[256] = "no process called the opscope library";
    if (held->zones || held->others || held->ops || held->open_zones)
        return false;
    if (held->losses.has_any || held->losses.lost.events || r->stats.refused)
        fprintf(stderr, "opscope: wrote %s, which holds no records\n", output);
    else {
        run_python_why_nothing(command, why, sizeof why);
        fprintf(stderr,
                "opscope: wrote %s, but nothing was recorded: %s (docs/troubleshooting.md, \"nothing was "
                "recorded\")\n",
                output, why);
    }
    return true;
}

static void summarise(const struct launch_result *r, const struct held *held, char *const *command,
                      const char *output)
{
    const struct collector_stats *s = &r->stats;
    struct number_text zones, processes, threads, elapsed, size;
    struct loss_text old;
    char why[256];
    if (explain_nothing(r, held, command, output))
        return;
    fprintf(stderr, "opscope: %s %s: %s, %s, %s, %s, %s", held->is_file ? "wrote" : "thrown away into",
            output, format_things(&zones, held->zones, "zone"),
            format_things(&processes, s->processes, "process"), format_things(&threads, s->threads, "thread"),
            format_time(&elapsed, held->is_file ? held->length_ns : r->elapsed_ns),
            format_bytes(&size, r->size_bytes));
    if (held->open_zones)
        fprintf(stderr, "; %s had not ended", format_things(&zones, held->open_zones, "more zone"));
    if (s->short_zones)
        fprintf(stderr, "; %s left out", format_things(&zones, s->short_zones, "shorter one"));
    if (held->losses.old.events)
        fprintf(stderr, "; %s dropped: older than --max-size holds", loss_sum_text(&old, &held->losses.old));
    if (s->still_running)
        fprintf(stderr, "; %s still running at the end",
                format_things(&processes, s->still_running, "process"));
    fputc('\n', stderr);
    if (!held->zones && !held->open_zones && run_python_why_nothing(command, why, sizeof why)) {
        fprintf(stderr, "opscope: no zones: %s\n", why);
    } else if (held->is_file) {
        fprintf(stderr, "opscope: next: opscope %s ", run_python_view(command));
        print_word(output);
        fputc('\n', stderr);
    }
}

void run_summary(const struct launch_result *result, char *const *command, const char *output, bool is_quiet)
{
    struct held held;
    look(&held, result, output);
    warn(result, &held);
    if (!is_quiet && result->has_trace)
        summarise(result, &held, command, output);
}
