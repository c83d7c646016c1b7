/* SPDX-License-Identifier: Apache-2.0 */
/* The figures are those of the finished file, not of what was meant to be written to it: on a full disk they differ.
 * They are the collector's own only where there is no file (-o /dev/null). */
#include "cli/run/summary.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "base/output_path.h"
#include "cli/run/capture.h"
#include "cli/run/python.h"
#include "collect/tracy/find.h"
#include "load/overview.h"
#include "present/format.h"
#include "present/loss_text.h"
#include "present/overview/overview.h"
#include "text/shell_word.h"
#include "trace/reader.h"

struct held { /* what came of the recording */
    uint64_t zones, others, ops, open_zones;
    uint64_t length_ns; /* of the recording, as `info` has it */
    struct loss_sums losses;
    bool is_file;
    uint64_t open_in_running;   /* of open_zones: those of processes that were still running */
    uint32_t running, trackers; /* processes that were; of those: Python's resource trackers */
};

/* What was still running at the end, and which zones it was inside. */
static void find_running(struct held *held, const struct trace *trace)
{
    size_t count;
    const struct trace_open_zone *zones = trace_get_open_zones(trace, &count);
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_get_process(trace, i);
        bool is_running = process->flags & TRACE_PROCESS_RUNNING_AT_END;
        held->running += is_running;
        held->trackers += is_running && strstr(process->command, "multiprocessing.resource_tracker");
    }
    for (size_t i = 0; i < count; i++) {
        const struct trace_track *track = trace_get_track(trace, zones[i].track);
        const struct trace_process *process = track ? trace_get_process(trace, track->process) : NULL;
        held->open_in_running += process && process->flags & TRACE_PROCESS_RUNNING_AT_END;
    }
}

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
    held->others =
        info->points + info->counters + info->memory_events + info->runs + info->samples + info->locks;
    held->open_zones = open_zones;
    held->length_ns = info->end_ns - info->start_ns;
    held->is_file = true;
    loss_sums_make(&held->losses, trace, NULL);
    find_running(held, trace);
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
        command_say("opscope: lost %s", loss_sum_text(&amount, &held->losses.lost));
    for (uint32_t i = 1; i < TRACE_LOSS_REASONS; i++) {
        const struct loss_sum *sum = &held->losses.by_reason[i];
        if (!sum->events || i == TRACE_LOSS_UNRECORDED || i == TRACE_LOSS_DROPPED_OLD)
            continue; /* the first is counted in processes, the second was asked for: it is in the summary */
        if (i == TRACE_LOSS_LATE_ENDS)
            command_say("opscope: %s ended earlier than the trace says: %s", loss_sum_text(&amount, sum),
                        loss_advice(i));
        else if (i == TRACE_LOSS_CLOCK)
            command_say("opscope: %s: %s", trace_loss_reason_text(i), loss_advice(i));
        else
            command_say("opscope: lost %s (%s): %s", loss_sum_text(&amount, sum), trace_loss_reason_text(i),
                        loss_advice(i));
    }
}

static const char *stranger_text(const struct stranger_counts *counts)
{
    return !counts->elsewhere ? "ran as another user and could not join the session"
           : !counts->of_other_users
               ? "ran under another root or with another /dev/shm and could not join the session"
               : "ran as another user, under another root or with another /dev/shm and could not join the session";
}

static void warn(const struct launch_result *r, const struct held *held)
{
    const struct collector_stats *s = &r->stats;
    struct number_text number;
    warn_about_losses(held);
    if (s->refused)
        command_say("opscope: %s could not be recorded (%s): %s",
                    format_things(&number, s->refused, "process"), collector_refusal_text(s->refused_reason),
                    loss_advice(TRACE_LOSS_UNRECORDED));
    if (r->strangers.with_recorder)
        command_say("opscope: %s %s: what %s did is not recorded "
                    "(docs/troubleshooting.md, \"another user\")",
                    format_things(&number, r->strangers.with_recorder, "process"),
                    stranger_text(&r->strangers), r->strangers.with_recorder == 1 ? "it" : "they");
    if (s->broken_segments)
        command_say("opscope: %s of the session could not be read",
                    format_things(&number, s->broken_segments, "segment"));
    if (s->notices)
        command_say("%s", s->notice);
    if (r->gpu_trouble[0])
        command_say("opscope: GPU counters are missing: %s", r->gpu_trouble);
    if (r->trace_error.code)
        command_say("opscope: %s", r->trace_error.message);
}

static bool holds_nothing(const struct held *held)
{
    return !held->zones && !held->others && !held->ops && !held->open_zones;
}

/* What is known of processes that may have called the library where nobody heard them. */
static void explain_strangers(const struct launch_result *r, char *why, size_t size)
{
    const struct stranger_counts *counts = &r->strangers;
    struct number_text number;
    if (counts->of_other_users || counts->elsewhere)
        snprintf(why, size, "no process that could join the session called the opscope library; %s %s",
                 format_things(&number, counts->of_other_users + counts->elsewhere, "process"),
                 stranger_text(counts));
    else if (r->session[0] && tracy_session_has_processes(r->session, 0))
        snprintf(
            why, size,
            "no process called the opscope library before the command ended, and it left some running: opscope run "
            "--wait-all records what these do, too");
}

/* Nothing came of it, and nothing was lost on the way: why? */
static void explain_nothing(const struct launch_result *r, const struct held *held, char *const *command,
                            const char *output, const struct session_capture *capture)
{
    struct bytes line = {0};
    char why[320] = "no process called the opscope library";
    if (r->has_trace)
        bytes_append_format(&line, "wrote %s, but nothing was recorded: ", output);
    bool was_paused = held->is_file ? held->losses.paused_ns : r->stats.paused_ns;
    if (was_paused && r->stats.pauses_over && r->stats.threads) {
        command_say("opscope: %sit was paused, and in between no process recorded anything",
                    bytes_text(&line));
    } else if (was_paused && r->stats.threads) {
        run_capture_why_nothing(capture, why, sizeof why);
        command_say("opscope: %sit was paused all the time: %s", bytes_text(&line), why);
    } else if (held->losses.has_any || held->losses.lost.events || r->stats.refused) {
        if (r->has_trace)
            command_say("opscope: wrote %s, which holds no records", output);
    } else {
        explain_strangers(r, why, sizeof why);
        run_python_why_nothing(command, why, sizeof why);
        command_say("opscope: %s%s (docs/troubleshooting.md, \"nothing was recorded\")", bytes_text(&line),
                    why);
    }
    bytes_free(&line);
}

/* On a terminal: where the time went. False where there is none, or where it cannot be said. */
static bool show_overview(const char *path)
{
    struct output output = {.stream = stderr,
                            .is_terminal = true,
                            .is_coloured = output_may_colour(stderr, OUTPUT_COLOR_AUTO),
                            .width = output_terminal_width(STDERR_FILENO)};
    struct trace_filter_options everything = {0};
    struct trace_filter filter;
    struct loaded_overview loaded;
    struct report report;
    struct trace *trace;
    struct error err = {0};
    if (!isatty(STDERR_FILENO) || trace_open(&trace, path, 0, &err) != 0)
        return false;
    bool is_shown = false;
    if (trace_filter_resolve(&filter, trace, &everything, &err) == 0) {
        is_shown =
            load_overview(&loaded, trace, path, &(struct overview_options){.filter = &filter}, &err) == 0;
        if (is_shown) {
            report_begin(&report, &output, "summary");
            overview_show(&loaded.overview, &report,
                          &(struct overview_look){.lines = OVERVIEW_LINES, .no_facts = true});
            is_shown = report_finish(&report, &err) == 0;
            report_free(&report);
        }
        loaded_overview_free(&loaded);
        trace_filter_free(&filter);
    }
    trace_close(trace);
    return is_shown;
}

/* Python's multiprocessing has a process that outlives the one that started it by a moment: no cause for worry. */
static void add_running(struct bytes *line, const struct collector_stats *stats, const struct held *held)
{
    struct number_text processes, zones;
    if (!stats->still_running)
        return;
    if (held->trackers && held->trackers == held->running)
        bytes_append_text(line,
                          "; Python's resource tracker, which ends after its program, was still running");
    else
        bytes_append_format(line, "; %s still running at the end",
                            format_things(&processes, stats->still_running, "process"));
    if (held->open_in_running)
        bytes_append_format(line, ", inside %s", format_things(&zones, held->open_in_running, "zone"));
}

static void summarise(const struct launch_result *r, const struct held *held, char *const *command,
                      const char *output)
{
    const struct collector_stats *s = &r->stats;
    struct number_text zones, processes, threads, elapsed, size;
    struct loss_text old;
    char why[256];
    struct bytes line = {0};
    bytes_append_format(
        &line, "opscope: %s %s: %s, %s, %s, %s, %s", held->is_file ? "wrote" : "thrown away into", output,
        format_things(&zones, held->zones, "zone"), format_things(&processes, s->processes, "process"),
        format_things(&threads, s->threads, "thread"),
        format_time(&elapsed, held->is_file ? held->length_ns : r->elapsed_ns),
        format_bytes(&size, r->size_bytes));
    if (held->open_zones > held->open_in_running)
        bytes_append_format(&line, "; %s had not ended",
                            format_things(&zones, held->open_zones - held->open_in_running, "more zone"));
    if (s->short_zones)
        bytes_append_format(&line, "; %s left out", format_things(&zones, s->short_zones, "shorter one"));
    if (held->losses.old.events)
        bytes_append_format(&line, "; %s dropped: older than --max-size holds",
                            loss_sum_text(&old, &held->losses.old));
    if (held->is_file ? held->losses.paused_ns : s->paused_ns)
        bytes_append_format(&line, "; paused for %s",
                            format_time(&elapsed, held->is_file ? held->losses.paused_ns : s->paused_ns));
    add_running(&line, s, held);
    command_say("%s", bytes_text(&line));
    bytes_clear(&line);
    if (!held->zones && !held->open_zones && run_python_why_nothing(command, why, sizeof why)) {
        command_say("opscope: no zones: %s", why);
    } else if (held->is_file) {
        const char *view = run_python_view(command);
        bool is_usual = strcmp(view, "zones") == 0; /* the overview names that one itself */
        shell_append_word(&line, output);
        if (!show_overview(output) || !is_usual)
            command_say("opscope: next: opscope %s %s", view, bytes_text(&line));
    }
    bytes_free(&line);
}

void run_summary(const struct launch_result *result, char *const *command, const char *output,
                 const struct session_capture *capture, bool is_quiet)
{
    struct held held;
    look(&held, result, output);
    warn(result, &held);
    bool is_kept = !result->has_trace && result->trace_error.code == EEXIST; /* an earlier trace: a warning */
    if (holds_nothing(&held) && (is_kept || (result->has_trace && !is_quiet)))
        explain_nothing(result, &held, command, output, capture);
    else if (!is_quiet && result->has_trace)
        summarise(result, &held, command, output);
}
