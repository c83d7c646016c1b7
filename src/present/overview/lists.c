/* SPDX-License-Identifier: Apache-2.0 */
/* The overview's lists in words: what is missing and what helps, what to change, where to look next. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/losses.h"
#include "analyze/report/advice.h"
#include "present/format.h"
#include "present/loss_text.h"
#include "present/overview/overview.h"
#include "present/report/words.h"
#include "text/shell_word.h"
#include "text/utf8.h"

#define NAMED_OPEN_ZONES 2u
#define NAME_COLUMNS 40u
#define LEAST_GAIN_PERCENT 0.5

/* --- losses --- */

static struct overview_loss *add_loss(struct overview_lists *lists)
{
    return lists->loss_count < OVERVIEW_LOSSES ? &lists->losses[lists->loss_count++] : NULL;
}

static void add_losses(struct overview_lists *lists, const struct overview *o)
{
    struct loss_sums sums;
    struct loss_text amount;
    struct number_text paused;
    loss_sums_make(&sums, o->trace, NULL);
    struct overview_loss *pause = sums.paused_ns ? add_loss(lists) : NULL;
    if (pause) {
        bytes_append_format(&pause->text, "paused for %s", format_time(&paused, sums.paused_ns));
        bytes_append_text(&pause->remedy, loss_advice(TRACE_LOSS_PAUSED));
    }
    for (uint32_t i = 0; i < TRACE_LOSS_REASONS; i++) {
        struct overview_loss *loss = sums.by_reason[i].events ? add_loss(lists) : NULL;
        if (!loss)
            continue;
        loss_sum_text(&amount, &sums.by_reason[i]);
        if (i == TRACE_LOSS_LATE_ENDS)
            bytes_append_format(&loss->text, "%s ended earlier than the trace says", amount.text);
        else if (i == TRACE_LOSS_CLOCK)
            bytes_append_text(&loss->text, trace_loss_reason_text(i));
        else
            bytes_append_format(&loss->text, "%s lost: %s", amount.text, trace_loss_reason_text(i));
        bytes_append_text(&loss->remedy, loss_advice(i));
    }
}

/* How the process of an open zone ended. */
static void append_end(const struct overview *o, uint32_t track, struct bytes *out)
{
    const struct trace_track *about = trace_get_track(o->trace, track);
    const struct trace_process *process = about ? trace_get_process(o->trace, about->process) : NULL;
    if (process && process->flags & TRACE_PROCESS_RUNNING_AT_END)
        bytes_append_text(out, "the program went on running");
    else if (process && process->exit_status != TRACE_STATUS_UNKNOWN && WIFSIGNALED(process->exit_status))
        bytes_append_format(out, "signal %d (%s) ended the program", WTERMSIG(process->exit_status),
                            strsignal(WTERMSIG(process->exit_status)));
    else
        bytes_append_text(out, "their time counts until their thread was last seen");
}

static void add_open_zones(struct overview_lists *lists, const struct overview *o)
{
    size_t count = 0, named = 0;
    const struct trace_open_zone *zones = trace_get_open_zones(o->trace, &count);
    struct overview_loss *loss = o->open_zones ? add_loss(lists) : NULL;
    struct number_text number;
    if (!loss)
        return;
    bytes_append_format(&loss->text, "%s had not ended: ", format_things(&number, o->open_zones, "zone"));
    for (size_t i = 0; i < count && named < NAMED_OPEN_ZONES; i++) {
        const char *name = trace_get_name(o->trace, zones[i].name)->name;
        if (zones[i].seen < o->from_ns || zones[i].start > o->to_ns)
            continue;
        bytes_append_text(&loss->text, named ? ", " : "");
        utf8_append_shortened(&loss->text, name, strlen(name), NAME_COLUMNS, "..");
        if (named++ == 0)
            append_end(o, zones[i].track, &loss->remedy);
    }
    bytes_append_text(&loss->text, o->open_zones > named ? " ..." : "");
}

static void add_state(struct overview_lists *lists, const struct overview *o)
{
    const struct trace_info *info = trace_get_info(o->trace);
    struct number_text number;
    struct overview_loss *loss;
    if (info->damaged_blocks && (loss = add_loss(lists))) {
        bytes_append_format(&loss->text, "%s could not be read",
                            format_things(&number, info->damaged_blocks, "damaged block"));
        bytes_append_text(&loss->remedy, "what they held is missing from all figures");
    }
    if (!info->is_complete && !info->is_salvaged && (loss = add_loss(lists))) {
        bytes_append_text(&loss->text, "the trace is unfinished");
        bytes_append_text(&loss->remedy,
                          "it is still being written, or its collector died (opscope recover)");
    }
}

/* --- advice --- */

size_t overview_advice_count(const struct overview *o)
{
    size_t count = 0;
    while (count < o->perf.advice_count && count < OVERVIEW_ADVICE &&
           o->perf.advice[count].weight_percent >= LEAST_GAIN_PERCENT)
        count++;
    return count;
}

/* A device can save no more than the time in which nothing ran on it. */
double overview_gain_us(const struct overview *o, size_t i)
{
    const struct perf_advice *advice = &o->perf.advice[i];
    double idle_us = (double)o->gap_sum_ns / 1000;
    return advice->rule == PERF_RULE_GAP && idle_us < advice->gain_us ? idle_us : advice->gain_us;
}

double overview_gain_share(const struct overview *o, size_t i)
{
    const struct perf_advice *advice = &o->perf.advice[i];
    bool is_of_ops = o->perf.gaps_dominate && advice->rule != PERF_RULE_GAP;
    if (is_of_ops || !o->total_ns)
        return advice->gain_percent / 100;
    return overview_gain_us(o, i) * 1000 / (double)o->total_ns; /* also of what was before the first op */
}

void overview_append_advice(const struct overview *o, size_t i, struct bytes *text, struct bytes *evidence)
{
    const struct perf_advice *advice = &o->perf.advice[i];
    size_t begin = text->length;
    perf_append_action(&o->perf, advice, text);
    if (!text->failed && text->length > begin)
        text->data[begin] = (uint8_t)toupper(text->data[begin]);
    if (advice->rule != PERF_RULE_GAP) {
        if (advice->count > 1)
            bytes_append_format(evidence, "%" PRIu32 " x ", advice->count);
        bytes_append_format(evidence, "%s: ", perf_text(&o->perf, advice->shown));
    }
    perf_append_evidence(&o->perf, advice, false, evidence);
}

/* --- what next --- */

static void add_next(struct overview_lists *lists, const struct overview *o, const char *text,
                     const char *command, const char *option, const char *word)
{
    if (lists->next_count == OVERVIEW_NEXT)
        return;
    struct overview_next *next = &lists->next[lists->next_count++];
    bytes_append_text(&next->text, text);
    bytes_append_format(&next->command, "opscope %s ", command);
    shell_append_word(&next->command, o->path);
    if (option) {
        bytes_append_format(&next->command, " %s ", option);
        shell_append_word(&next->command, word);
    }
}

/* No machine file of others fits a CPU: it is measured where it is. */
static void add_measure(struct overview_lists *lists)
{
    if (lists->next_count == OVERVIEW_NEXT)
        return;
    struct overview_next *next = &lists->next[lists->next_count++];
    bytes_append_text(&next->text, "what this CPU can do, for reports with --machine cpu.json");
    bytes_append_text(&next->command, "opscope machine measure --save cpu.json");
}

static void add_next_steps(struct overview_lists *lists, const struct overview *o)
{
    bool has_host = o->working_count + o->waiting_count > 0;
    uint64_t waiting = overview_part_ns(o, OVERVIEW_WAITING);
    if (o->kind == OVERVIEW_EMPTY) {
        add_next(lists, o, "what was recorded, and by which processes", "info", NULL, NULL);
        return;
    }
    if (o->kind == OVERVIEW_OPS || o->kind == OVERVIEW_GPU) {
        add_next(lists, o, o->perf.has_machine ? "every op against what the machine can do" : "every op",
                 "report", NULL, NULL);
        if (!o->perf.has_machine && o->perf.count && perf_is_cpu(&o->perf))
            add_measure(lists);
        else if (!o->perf.has_machine && o->perf.count)
            add_next(lists, o, "against the peaks of a machine (opscope machine lists them)", "report",
                     "--machine", "NAME");
    }
    if (o->kind == OVERVIEW_ESTIMATE)
        add_next(lists, o, "every op of the estimate", "ops", NULL, NULL);
    if (o->main_wait.count && waiting > o->total_ns / 5)
        add_next(lists, o, "who waits there", "zones", "--callers",
                 trace_get_name(o->trace, o->main_wait.name)->name);
    if (has_host || o->kind == OVERVIEW_ESTIMATE)
        add_next(lists, o, "every function, with percentiles", "zones", NULL, NULL);
    if (has_host)
        add_next(lists, o, "who calls what", "tree", NULL, NULL);
}

void overview_lists_make(struct overview_lists *lists, const struct overview *o)
{
    *lists = (struct overview_lists){0};
    add_losses(lists, o);
    add_open_zones(lists, o);
    add_state(lists, o);
    add_next_steps(lists, o);
}

void overview_lists_free(struct overview_lists *lists)
{
    for (size_t i = 0; i < lists->loss_count; i++) {
        bytes_free(&lists->losses[i].text);
        bytes_free(&lists->losses[i].remedy);
    }
    for (size_t i = 0; i < lists->next_count; i++) {
        bytes_free(&lists->next[i].text);
        bytes_free(&lists->next[i].command);
    }
}
