/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace is, and the order in which its overview is made. */
#include "analyze/overview/overview.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "base/checked.h"

/* --- what the trace holds --- */

struct content {
    bool has_host;   /* zones of threads */
    bool has_ops;    /* calls or runs */
    bool has_device; /* runs with a duration */
    bool has_times;  /* ... of which it is known when they were */
    bool is_estimate;
};

/* The thread that the parts are of: of the program that was started, else the one with most zones. */
static uint32_t find_main(const struct trace *trace, const struct trace_filter *filter)
{
    uint32_t best = TRACE_NONE;
    uint64_t best_zones = 0;
    bool is_best_root = false;
    for (uint32_t i = 0; i < trace_track_count(trace); i++) {
        const struct trace_track *track = trace_get_track(trace, i);
        const struct trace_process *process = trace_get_process(trace, track->process);
        uint64_t zones = trace_track_zone_count(trace, i);
        if (track->kind != TRACE_TRACK_THREAD || !trace_filter_wants_track(filter, i) ||
            trace_track_all_depths(trace, i) == 0)
            continue;
        bool is_root = process && process->flags & TRACE_PROCESS_ROOT && process->pid >= 0 &&
                       (uint64_t)process->pid == track->number;
        if (best == TRACE_NONE || is_root > is_best_root || (is_root == is_best_root && zones > best_zones)) {
            best = i;
            best_zones = zones;
            is_best_root = is_root;
        }
    }
    return best;
}

static struct content look(const struct trace *trace, const struct ops *ops,
                           const struct trace_filter *filter)
{
    struct content content = {0};
    size_t estimated = 0;
    for (uint32_t i = 0; i < trace_track_count(trace) && !content.has_host; i++)
        content.has_host = overview_is_host(trace_get_track(trace, i)) &&
                           trace_filter_wants_track(filter, i) && trace_track_all_depths(trace, i) > 0;
    for (size_t i = 0; i < ops->line_count; i++)
        content.has_ops |= ops->lines[i].call != OPS_NONE || ops->lines[i].run != OPS_NONE;
    for (size_t i = 0; i < ops->run_count; i++) {
        const struct op_run *run = &ops->runs[i];
        bool has_duration = run->duration_ns != OPS_NO_DURATION;
        content.has_device |= has_duration;
        content.has_times |= has_duration && run->track != OPS_NONE;
        estimated += (run->flags & OP_RUN_ESTIMATED) != 0;
    }
    content.is_estimate = ops->run_count && estimated == ops->run_count;
    return content;
}

static bool is_python(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_name_count(trace); i++) {
        const char *file = trace_get_name(trace, i)->file;
        size_t length = strlen(file);
        if (length > 3 && strcmp(file + length - 3, ".py") == 0)
            return true;
    }
    return false;
}

static enum overview_kind kind_of(const struct trace *trace, const struct content *content)
{
    if (content->is_estimate)
        return OVERVIEW_ESTIMATE;
    if (content->has_device && content->has_host && content->has_times)
        return OVERVIEW_GPU;
    if (content->has_device || (content->has_ops && !content->has_host))
        return OVERVIEW_OPS;
    if (content->has_host)
        return is_python(trace) ? OVERVIEW_PYTHON : OVERVIEW_PROGRAM;
    return OVERVIEW_EMPTY;
}

/* --- the ops of the window --- */

/* When its run began, else its call. */
static uint64_t line_time(const struct overview *o, const struct ops *ops, const struct op_line *line)
{
    if (line->signpost != OPS_NONE)
        return ops->signposts[line->signpost].time_ns;
    if (line->run != OPS_NONE && o->places[line->run].track != TRACE_NONE)
        return o->places[line->run].start_ns;
    return line->call == OPS_NONE ? ops->runs[line->run].start_ns : ops->calls[line->call].start_ns;
}

static void cut_lines(const struct overview *o, struct ops *ops)
{
    size_t kept = 0;
    for (size_t i = 0; i < ops->line_count; i++) {
        uint64_t time = line_time(o, ops, &ops->lines[i]);
        if (time >= o->from_ns && time <= o->to_ns)
            ops->lines[kept++] = ops->lines[i];
    }
    ops->line_count = kept;
}

/* When what the line says was over. */
static uint64_t line_end(const struct overview *o, const struct ops *ops, const struct op_line *line)
{
    uint64_t time = line_time(o, ops, line);
    uint64_t duration = line->run == OPS_NONE ? 0 : ops->runs[line->run].duration_ns;
    return duration == OPS_NO_DURATION ? time : saturating_add_u64(time, duration);
}

/* The window of a report that began at a signpost, or has a part of the ops. */
static void take_window_of_ops(struct overview *o)
{
    const struct perf *perf = &o->perf;
    uint64_t from = UINT64_MAX, to = 0;
    if ((perf->window == OPS_NONE && !perf->options.id_range) || !perf->count)
        return;
    o->source = perf->window == OPS_NONE ? OVERVIEW_ASKED : OVERVIEW_SIGNPOST;
    for (size_t i = 0; i < perf->count; i++) {
        const struct op_line *line = perf_line(perf, perf_at(perf, i));
        uint64_t time = line_time(o, perf->ops, line), end = line_end(o, perf->ops, line);
        from = time < from ? time : from;
        to = end > to ? end : to;
    }
    if (from > o->from_ns && from < o->to_ns)
        o->from_ns = from;
    if ((perf->has_window_end || perf->options.id_range) && to > o->from_ns && to < o->to_ns)
        o->to_ns = to;
}

static int make_report(struct overview *o, struct ops *ops, const struct overview_options *options,
                       struct error *err)
{
    struct perf_options wanted = {0};
    if (options->report)
        wanted = *options->report;
    else
        wanted.ignore_signposts = o->source != OVERVIEW_WHOLE || options->include_warm_up;
    wanted.machine = options->machine;
    wanted.machines = options->machines;
    wanted.has_host_start = options->has_host_start;
    wanted.group_by = PERF_BY_OP;
    wanted.steps = (struct perf_steps){0}; /* the window has them */
    int status = overview_place_runs(o, ops, err);
    if (status)
        return status;
    if (o->source != OVERVIEW_WHOLE)
        cut_lines(o, ops);
    perf_begin(&o->perf, &wanted, ops);
    status = perf_add_path(&o->perf, options->path, err);
    if (!status)
        status = perf_finish(&o->perf, err);
    if (!status && (o->kind == OVERVIEW_OPS || options->report) && o->source == OVERVIEW_WHOLE)
        take_window_of_ops(o);
    if (!status)
        status = overview_name_rows(o, err);
    if (!status)
        status = overview_find_alone(o, ops, err);
    if (!status)
        status = overview_group_ops(o, OVERVIEW_BY_SHAPE, &o->ops, err);
    return status;
}

static int count_devices(struct overview *o, const struct ops *ops, struct error *err)
{
    bool *is_used = calloc(ops->device_count + 1, sizeof *is_used);
    if (!is_used)
        return error_no_memory(err, "the devices");
    for (size_t i = 0; i < ops->run_count; i++) {
        size_t device = ops->runs[i].device < ops->device_count ? ops->runs[i].device : ops->device_count;
        o->device_count += device < ops->device_count && !is_used[device];
        is_used[device] = true;
    }
    free(is_used);
    return 0;
}

static void count_open_zones(struct overview *o, const struct trace_filter *filter)
{
    size_t count = 0;
    const struct trace_open_zone *zones = trace_get_open_zones(o->trace, &count);
    for (size_t i = 0; i < count; i++)
        o->open_zones += trace_filter_wants_track(filter, zones[i].track) && zones[i].seen >= o->from_ns &&
                         zones[i].start <= o->to_ns;
}

int overview_make(struct overview *o, struct trace *trace, struct ops *ops,
                  const struct overview_options *options, struct error *err)
{
    const struct trace_filter *filter = options->filter;
    struct content content = look(trace, ops, filter);
    *o = (struct overview){.kind = kind_of(trace, &content),
                           .trace = trace,
                           .path = options->path,
                           .main_track = find_main(trace, filter)};
    perf_begin(&o->perf, &(struct perf_options){0}, ops);
    int status = overview_find_window(o, ops, options, err);
    if (!status && content.has_ops)
        status = make_report(o, ops, options, err);
    if (!status)
        status = count_devices(o, ops, err);
    count_open_zones(o, filter);
    if (status)
        return status;
    switch (o->kind) {
    case OVERVIEW_EMPTY:
        return 0;
    case OVERVIEW_ESTIMATE:
        return overview_estimate(o, filter, err);
    case OVERVIEW_OPS:
        status = overview_device_sums(o, err);
        break;
    case OVERVIEW_GPU:
        status = overview_device_times(o, ops, filter, err);
        break;
    default:
        status = overview_main_thread(o, filter, err);
    }
    return status || !content.has_host ? status : overview_functions(o, filter, err);
}

void overview_free(struct overview *o)
{
    free(o->step_name);
    free(o->caveat);
    free(o->working);
    free(o->waiting);
    free(o->gaps);
    free(o->alone);
    free(o->places);
    free(o->names);
    overview_ops_free(&o->ops);
    perf_free(&o->perf);
    *o = (struct overview){0};
}

uint64_t overview_part_ns(const struct overview *o, enum overview_key key)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < o->part_count; i++)
        ns += o->parts[i].key == key ? o->parts[i].ns : 0;
    return ns;
}
