/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader a file needs, and from its rows to what is compared. */
#include "load/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/machine_files.h"
#include "analyze/report/class.h"
#include "analyze/report/report.h"
#include "import/open.h"
#include "import/overhead_csv.h"
#include "load/overhead.h"
#include "ops/finish.h"
#include "ops/from_trace.h"
#include "trace/reader.h"

int diff_sources_begin(struct diff_sources *sources, struct error *err)
{
    *sources = (struct diff_sources){0};
    return machine_files_read(&sources->machines, NULL, err);
}

void diff_sources_free(struct diff_sources *sources)
{
    machine_set_free(&sources->machines);
    bytes_free(&sources->notes);
}

static void note(struct diff_sources *sources, const char *path, const char *text, uint64_t count)
{
    bool has_path = path && strncmp(text, path, strlen(path)) == 0;
    if (path && !has_path)
        bytes_append_format(&sources->notes, "%s: ", path);
    bytes_append_text(&sources->notes, text);
    if (count > 1)
        bytes_append_format(&sources->notes, " (%" PRIu64 " times in all)", count);
    bytes_append_text(&sources->notes, "\n");
}

/* --- tables --- */

static int name_part(struct diff_run *run, const struct perf *perf, struct error *err)
{
    if (perf->window == OPS_NONE || run->part != DIFF_PART_WHOLE)
        return 0;
    run->part = DIFF_PART_SIGNPOST;
    run->part_name = strdup(perf_text(perf, perf->window));
    return run->part_name ? 0 : error_no_memory(err, "the signposts");
}

static int load_table(struct diff *diff, int side, const char *path, struct trace *opened,
                      struct diff_sources *sources, struct error *err)
{
    bool is_asked = diff->options.start_signpost || diff->options.end_signpost;
    struct perf_options options = {
        .machines = &sources->machines,
        .ignore_signposts = !is_asked && (diff->options.include_warm_up || diff->runs[side].window.is_set),
        .print_signposts = true, /* they hold the two runs together */
        .start_signpost = diff->options.start_signpost,
        .end_signpost = diff->options.end_signpost,
    };
    struct ops_loading loading = {.times_only = true, .opened = opened};
    struct ops ops;
    struct perf perf;
    ops_init(&ops);
    perf_begin(&perf, &options, &ops);
    int status = ops_load(&ops, path, &loading, err);
    perf.options.has_host_start = loading.has_host_start;
    diff_cut_lines(diff, side, &ops);
    if (!status)
        status = perf_add_path(&perf, path, err);
    if (!status)
        status = diff_take_perf(diff, side, &perf, err);
    if (!status)
        status = name_part(&diff->runs[side], &perf, err);
    for (size_t i = 0; i < perf.notes.count; i++) {
        if (perf.notes.items[i].level == PERF_NOTE_WARN)
            note(sources, path, perf.notes.items[i].text, perf.notes.items[i].count);
    }
    if (!status && !diff->runs[side].kind)
        diff->runs[side].kind = loading.kind;
    perf_free(&perf);
    ops_free(&ops);
    if (!opened)
        trace_close(loading.trace);
    return status;
}

/* --- traces --- */

static void note_state(struct diff_sources *sources, const char *path, const struct trace_info *info)
{
    char text[200];
    if (info->lost_zones || info->lost_records) {
        snprintf(text, sizeof text,
                 "%" PRIu64 " zone%s and %" PRIu64 " other record%s were lost while it was recorded",
                 info->lost_zones, info->lost_zones == 1 ? "" : "s", info->lost_records,
                 info->lost_records == 1 ? "" : "s");
        note(sources, path, text, 1);
    }
    if (info->damaged_blocks) {
        snprintf(text, sizeof text, "%" PRIu64 " damaged block%s left out", info->damaged_blocks,
                 info->damaged_blocks == 1 ? "" : "s");
        note(sources, path, text, 1);
    }
    if (!info->is_complete && !info->is_salvaged)
        note(sources, path, "this trace is still being written, or its collector died (see opscope recover)",
             1);
}

static void drop_idle_ops(struct ops *ops, const char *path, struct diff_sources *sources)
{
    size_t count = diff_drop_idle_ops(ops);
    char text[160];
    snprintf(text, sizeof text, "not compared: %zu op%s " PERF_IDLE_OPS_TEXT, count, count == 1 ? "" : "s");
    if (count)
        note(sources, path, text, 1);
}

static int take_ops(struct diff *diff, int side, const char *path, struct trace *trace,
                    struct diff_sources *sources, struct error *err)
{
    struct ops ops;
    ops_init(&ops);
    int status =
        ops_from_trace(&ops, trace, &(struct ops_wanted){.signposts = true, .without_ticks = true}, err);
    if (!status)
        status = ops_finish(&ops, err);
    if (!status)
        status = diff_find_block(diff, side, &ops, err);
    diff_cut_lines(diff, side, &ops);
    drop_idle_ops(&ops, path, sources);
    if (!status)
        status = diff_take_ops(diff, side, &ops, err);
    ops_free(&ops);
    return status;
}

/* As load_overview has it: the same window then. */
static bool has_ops(struct trace *trace)
{
    const struct trace_info *info = trace_get_info(trace);
    return info->ops + info->runs || import_trace_tells_ops(trace);
}

static int take_trace(struct diff *diff, int side, const char *path, struct trace *trace, bool is_kept,
                      struct diff_sources *sources, struct error *err)
{
    diff->runs[side].kind = "trace";
    bool is_table = import_trace_has_table(trace);
    int status = diff_find_window_opened(diff, side, trace, err);
    if (!status && !is_table)
        status = take_ops(diff, side, path, trace, sources, err);
    if (status > 0 || (is_table && !status))
        status = load_table(diff, side, path, trace, sources, err);
    if (!is_kept)
        trace_forget_descriptions(trace);
    if (!status)
        status = diff_take_zones(diff, side, trace, err);
    if (!status)
        note_state(sources, path, trace_get_info(trace));
    return status;
}

static int load_trace(struct diff *diff, int side, const char *path, struct diff_sources *sources,
                      struct error *err)
{
    struct trace *trace;
    int status = trace_open(&trace, path, sources->salvage ? TRACE_OPEN_SALVAGE : 0, err);
    if (status)
        return status;
    status = take_trace(diff, side, path, trace, false, sources, err);
    trace_close(trace);
    return status;
}

static int take_overhead(struct diff *diff, int side, const struct overhead_run *from, struct error *err)
{
    struct diff_run *run = &diff->runs[side];
    for (size_t i = 0; i < from->op_count; i++) {
        const struct overhead_op *op = &from->ops[i];
        if (op->is_calibration)
            continue;
        if (!array_reserve(&run->calls, &run->call_capacity, run->call_count + 1, sizeof *run->calls))
            return error_set(err, ENOMEM, "no memory for %zu ops", from->op_count);
        const char *group = op->group ? op->group : "";
        run->calls[run->call_count++] = (struct diff_call){
            .name = diff_intern(diff, op->name, strlen(op->name)),
            .group = *group ? diff_intern(diff, group, strlen(group)) : DIFF_NO_TEXT,
            .count = op->count,
            .mean_ns = op->mean_ns,
            .min_ns = op->min_ns,
            .p50_ns = op->p50_ns,
            .low_ns = op->ci_low_ns,
            .high_ns = op->ci_high_ns,
            .rounding_ns = op->rounding_ns,
            .is_measured = op->state == OVERHEAD_MEASURED,
        };
    }
    diff_sort_calls(run);
    return 0;
}

static int load_overhead(struct diff *diff, int side, const char *path, struct error *err)
{
    struct overhead_run run;
    int status = overhead_load(&run, path, err);
    diff->runs[side].kind = "overhead CSV";
    if (!status)
        status = take_overhead(diff, side, &run, err);
    overhead_run_free(&run);
    return status;
}

int diff_load_opened(struct diff *diff, int side, const char *path, struct trace *trace,
                     struct diff_sources *sources, struct error *err)
{
    diff->runs[side].path = strdup(path);
    if (!diff->runs[side].path)
        return error_no_memory(err, "a path");
    int status = take_trace(diff, side, path, trace, true, sources, err);
    if (!status)
        diff_sum_run(diff, side);
    return status;
}

static int load_run(struct diff *diff, int side, const char *path, struct diff_sources *sources,
                    struct error *err)
{
    diff->runs[side].path = strdup(path);
    if (!diff->runs[side].path)
        return error_no_memory(err, "a path");
    enum import_kind kind = import_guess(path);
    int status = kind == IMPORT_TRACE          ? load_trace(diff, side, path, sources, err)
                 : kind == IMPORT_OVERHEAD_CSV ? load_overhead(diff, side, path, err)
                                               : load_table(diff, side, path, NULL, sources, err);
    if (!status)
        diff_sum_run(diff, side);
    return status;
}

int diff_find_common_opened(struct diff *diff, struct trace *a, struct trace *b, struct error *err)
{
    const struct diff_trace traces[DIFF_SIDES] = {{a, has_ops(a)}, {b, has_ops(b)}};
    return diff_find_common(diff, traces, err);
}

int diff_find_window_opened(struct diff *diff, int side, struct trace *trace, struct error *err)
{
    return diff_find_window(diff, side, &(struct diff_trace){trace, has_ops(trace)}, err);
}

int diff_find_common_steps(struct diff *diff, const char *a, const char *b, struct error *err)
{
    struct trace *traces[DIFF_SIDES] = {0};
    const char *paths[DIFF_SIDES] = {a, b};
    struct error ignored = {0};
    bool are_traces = import_guess(a) == IMPORT_TRACE && import_guess(b) == IMPORT_TRACE;
    for (int side = 0; side < DIFF_SIDES && are_traces;
         side++) /* what cannot be opened is said when it is loaded */
        are_traces = trace_open(&traces[side], paths[side], TRACE_OPEN_SALVAGE, &ignored) == 0;
    int status = are_traces ? diff_find_common_opened(diff, traces[DIFF_A], traces[DIFF_B], err) : 0;
    for (int side = 0; side < DIFF_SIDES; side++)
        trace_close(traces[side]);
    if (!are_traces)
        diff->common.has_no_steps = true; /* a table has none */
    return status;
}

int diff_load_side(struct diff *diff, int side, char *const *paths, size_t count,
                   struct diff_sources *sources, struct error *err)
{
    int status = load_run(diff, side, paths[0], sources, err);
    for (size_t i = 1; i < count && !status; i++) {
        struct diff_run first = diff->runs[side];
        diff->runs[side] = (struct diff_run){0};
        status = load_run(diff, side, paths[i], sources, err);
        if (!status && strcmp(diff->runs[side].kind, first.kind) != 0)
            status = error_set(err, EINVAL, "%s is a %s, %s a %s: runs of one side must be alike", paths[i],
                               diff->runs[side].kind, first.path, first.kind);
        if (!status) {
            status = diff_keep_extra(diff, side, &first, err);
        } else {
            diff_free_run(&diff->runs[side]);
            diff->runs[side] = first;
        }
    }
    return status;
}

static bool run_has_ops(const struct diff_run *run)
{
    return run->device_op_count + run->host_op_count > 0;
}

int diff_check_kinds(const struct diff *diff, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    bool is_call[2] = {strcmp(a->kind, "overhead CSV") == 0, strcmp(b->kind, "overhead CSV") == 0};
    if (is_call[0] != is_call[1])
        return error_set(
            err, EINVAL,
            "%s holds host dispatch times (an overhead CSV), %s ops (a %s): compare like with like",
            is_call[0] ? a->path : b->path, is_call[0] ? b->path : a->path, is_call[0] ? b->kind : a->kind);
    if (is_call[0])
        return 0;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_run *run = &diff->runs[side];
        if (!run_has_ops(run) && !run->zone_count)
            return error_set(err, EINVAL, "%s (%s) has neither ops nor zones: there is nothing to compare",
                             run->path, run->kind);
    }
    if (!(run_has_ops(a) && run_has_ops(b)) && !(a->zone_count && b->zone_count))
        return error_set(err, EINVAL, "%s has only %s, %s only %s: there is nothing to compare", a->path,
                         run_has_ops(a) ? "ops" : "zones", b->path, run_has_ops(b) ? "ops" : "zones");
    return 0;
}
