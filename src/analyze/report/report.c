/* SPDX-License-Identifier: Apache-2.0 */
/* The path from a model of ops to the report, and what can be asked of a row. */
#include "analyze/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/internal.h"
#include "base/count_of.h"
#include "ops/description.h"
#include "ops/finish.h"
#include "ops/known_figures.h"

void perf_begin(struct perf *perf, const struct perf_options *options, struct ops *ops)
{
    *perf = (struct perf){.options = *options,
                          .ops = ops,
                          .window = OPS_NONE,
                          .device_text = OPS_NONE,
                          .machine = &machine_unknown};
}

void perf_free(struct perf *perf)
{
    free(perf->files);
    free(perf->rows);
    free(perf->order);
    free(perf->works);
    intern_free(&perf->work_index);
    bytes_free(&perf->work_key);
    free(perf->attributes.marks);
    perf_groups_free(&perf->groups);
    free(perf->advice);
    free(perf->host_zones);
    perf_notes_free(&perf->notes);
    bytes_free(&perf->scratch);
    *perf = (struct perf){0};
}

int perf_add_path(struct perf *perf, const char *path, struct error *err)
{
    size_t before = perf->file_count ? perf->files[perf->file_count - 1].end_line : 0;
    if (!array_reserve(&perf->files, &perf->file_capacity, perf->file_count + 1, sizeof *perf->files))
        return error_set(err, ENOMEM, "no memory to read %s", path);
    perf->files[perf->file_count++] = (struct perf_file){path, perf->ops->line_count};
    if (perf->ops->line_count == before)
        perf_note(perf, PERF_NOTE_WARN, NULL, "%s: there is no op in it", path);
    return 0;
}

const char *perf_path_of(const struct perf *perf, const struct perf_row *row)
{
    for (size_t i = 0; i < perf->file_count; i++) {
        if (row->line < perf->files[i].end_line)
            return perf->files[i].path;
    }
    return "no file";
}

void perf_note(struct perf *perf, enum perf_note_level level, const void *kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    perf_notes_add_list(&perf->notes, level, kind, format, arguments);
    va_end(arguments);
}

/* --- rows --- */

/* Of names: whether they say that the op ran on the host. Few names, many calls. */
#define KNOWN_HOSTS 64u
struct known_hosts {
    uint32_t name_plus_1[KNOWN_HOSTS];
    bool is_host[KNOWN_HOSTS];
};

static bool is_host_call(const struct ops *ops, const struct op_call *call, struct known_hosts *known)
{
    if (!call || call->type != OP_TYPE_DEVICE)
        return call != NULL;
    unsigned at = call->name % KNOWN_HOSTS;
    if (known->name_plus_1[at] != call->name + 1) {
        known->name_plus_1[at] = call->name + 1;
        known->is_host[at] = slice_has(ops_get_slice(ops, call->name), "(torch)");
    }
    return known->is_host[at];
}

static uint32_t no_name(struct perf *perf)
{
    return perf_intern(perf, "(no name)", strlen("(no name)"));
}

static void take_line(struct perf *perf, size_t i, struct known_hosts *known)
{
    struct ops *ops = perf->ops;
    const struct op_line *line = &ops->lines[i];
    const struct op_call *call = line->call == OPS_NONE ? NULL : &ops->calls[line->call];
    struct perf_row *row = &perf->rows[i];
    *row = (struct perf_row){
        .line = (uint32_t)i, .work = OPS_NONE, .duration_ns = NAN, .shown_gap_us = NAN, .overlap_us = NAN};
    if (line->signpost != OPS_NONE) {
        row->kind = PERF_SIGNPOST;
        return;
    }
    uint32_t name = call ? call->name : line->run != OPS_NONE ? ops->runs[line->run].name : OPS_NONE;
    row->kind = is_host_call(ops, call, known) ? PERF_HOST_OP : PERF_DEVICE_OP;
    struct op_line_sum sum = ops_sum_line(ops, line);
    if (sum.runs && sum.duration_ns != OPS_NO_DURATION)
        row->duration_ns = (double)sum.duration_ns;
    row->work =
        perf_find_work(perf, name == OPS_NONE ? no_name(perf) : name, call ? call->description : OPS_NONE,
                       row->kind == PERF_HOST_OP ? PERF_WORK_OF_HOST : PERF_WORK_OWN);
}

static int take_lines(struct perf *perf, struct error *err)
{
    const struct intern *texts = &perf->ops->texts;
    struct known_hosts known = {0};
    perf->row_count = perf->ops->line_count;
    perf->available_cores =
        intern_find(texts, OPS_FIGURE_AVAILABLE_CORES, strlen(OPS_FIGURE_AVAILABLE_CORES));
    perf->sub_device = intern_find(texts, OPS_FIGURE_SUB_DEVICE, strlen(OPS_FIGURE_SUB_DEVICE));
    perf->ticks_ns = intern_find(texts, OPS_FIGURE_TICKS_NS, strlen(OPS_FIGURE_TICKS_NS));
    perf->rows = malloc((perf->row_count ? perf->row_count : 1) * sizeof *perf->rows);
    if (!perf->rows)
        return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count);
    for (size_t i = 0; i < perf->row_count && !perf->failed; i++)
        take_line(perf, i, &known);
    perf_count_once(perf);
    return 0;
}

/* What the source could not read or join. */
static void take_notices(struct perf *perf)
{
    for (size_t i = 0; i < perf->ops->notice_count; i++) {
        const struct op_notice *notice = &perf->ops->notices[i];
        perf_note(perf, notice->severity == OP_NOTICE_INFO ? PERF_NOTE_INFO : PERF_NOTE_WARN, NULL, "%s",
                  perf_text(perf, notice->text));
        if (perf->notes.count)
            perf->notes.items[perf->notes.count - 1].count = notice->count;
    }
}

/* What a device did for no op has no row, and is missing in all sums. */
static void note_other_runs(struct perf *perf)
{
    const struct ops *ops = perf->ops;
    double time_us = 0;
    for (size_t i = 0; i < ops->run_count && ops->unmatched_runs && ops->call_count; i++) {
        const struct op_run *run = &ops->runs[i];
        if (run->faults & OP_FAULT_NO_CALL && run->duration_ns != OPS_NO_DURATION)
            time_us += (double)run->duration_ns / 1000;
    }
    if (time_us > 0)
        perf_note(
            perf, PERF_NOTE_INFO, NULL,
            "%zu run%s of %.3f us on devices belong%s to no op: not in this report (opscope ops has %s)",
            ops->unmatched_runs, ops->unmatched_runs == 1 ? "" : "s", time_us,
            ops->unmatched_runs == 1 ? "s" : "", ops->unmatched_runs == 1 ? "it" : "them");
}

static int check_memory(const struct perf *perf, struct error *err)
{
    return perf->failed || perf->notes.failed || perf->ops->failed || perf->scratch.failed
               ? error_set(err, ENOMEM, "no memory for the report of %zu ops", perf->row_count)
               : 0;
}

int perf_finish_times(struct perf *perf, struct error *err)
{
    take_notices(perf);
    note_other_runs(perf);
    int status = take_lines(perf, err);
    if (!status)
        status = perf_sort_rows(perf, err);
    if (!status)
        status = perf_apply_signposts(perf, err);
    if (!status)
        status = perf_merge(perf, err);
    if (!status)
        status = perf_fill_figures(perf, err);
    return status ? status : check_memory(perf, err);
}

int perf_finish(struct perf *perf, struct error *err)
{
    if (perf->ops->line_count == 0) { /* nothing to say about nothing */
        take_notices(perf);
        return 0;
    }
    int status = perf_finish_times(perf, err);
    if (!status)
        status = perf_make_groups(perf, err);
    if (!status)
        status = perf_make_advice(perf, err);
    return status ? status : check_memory(perf, err);
}

/* --- of a row --- */

const struct perf_work perf_no_work = {.name = OPS_NONE,
                                       .shown = OPS_NONE,
                                       .math = OPS_NONE,
                                       .types = {OPS_NONE, OPS_NONE, OPS_NONE},
                                       .memory = OPS_NONE,
                                       .flops = NAN,
                                       .dram_bytes = NAN,
                                       .link_bytes = NAN,
                                       .link_count = NAN,
                                       .block_w = PERF_NO_NUMBER,
                                       .subblock_h = PERF_NO_NUMBER,
                                       .subblock_w = PERF_NO_NUMBER,
                                       .category = PERF_OTHER,
                                       .fidelity = PERF_FIDELITY_UNKNOWN};

const struct op_description *perf_description(const struct perf *perf, const struct perf_row *row)
{
    const struct op_call *call = perf_call(perf, row);
    return ops_get_description(perf->ops, call ? call->description : OPS_NONE);
}

uint32_t perf_location(const struct perf *perf, const struct perf_row *row)
{
    const struct op_call *call = perf_call(perf, row);
    return call ? ops_location(perf->ops, call) : OPS_NONE;
}

uint32_t perf_own_place(const struct perf *perf, const struct perf_row *row)
{
    const struct op_call *call = perf_call(perf, row);
    return call ? ops_own_place(perf->ops, call) : OPS_NONE;
}

const struct op_figure *perf_find_figure(const struct perf *perf, const struct perf_row *row, uint32_t name)
{
    const struct op_run *run = name == OPS_NONE ? NULL : perf_run(perf, row);
    for (uint32_t i = 0; run && i < run->figures; i++) {
        if (perf->ops->figures[run->first_figure + i].name == name)
            return &perf->ops->figures[run->first_figure + i];
    }
    return NULL;
}

static const struct op_device *device_of(const struct perf *perf, const struct perf_row *row)
{
    const struct op_run *run = perf_run(perf, row);
    const struct op_call *call = perf_call(perf, row);
    uint32_t device = run && run->device != OPS_NO_DEVICE ? run->device : call ? call->device : OPS_NONE;
    return device < perf->ops->device_count ? &perf->ops->devices[device] : NULL;
}

double perf_available_cores(const struct perf *perf, const struct perf_row *row)
{
    const struct op_figure *figure = perf_find_figure(perf, row, perf->available_cores);
    const struct op_device *device = figure || row->kind == PERF_SIGNPOST ? NULL : device_of(perf, row);
    uint64_t cores = figure ? figure->whole : device ? device->cores : 0;
    return cores ? (double)cores : NAN;
}

double perf_host_ns(const struct perf *perf, const struct perf_row *row)
{
    const struct op_call *call = perf_call(perf, row);
    return call && !(call->faults & OP_FAULT_OPEN) ? (double)(call->end_ns - call->start_ns) : NAN;
}

double perf_gap_ns(const struct perf *perf, const struct perf_row *row)
{
    struct op_line_sum sum = ops_sum_line(perf->ops, perf_line(perf, row));
    return sum.gap_ns != OPS_NO_GAP ? (double)sum.gap_ns : NAN;
}

int32_t perf_device(const struct perf *perf, const struct perf_row *row)
{
    const struct op_device *device = device_of(perf, row);
    return device && device->number < INT32_MAX ? (int32_t)device->number : PERF_NO_NUMBER;
}

uint32_t perf_sub_device(const struct perf *perf, const struct perf_row *row)
{
    const struct op_figure *figure = perf_find_figure(perf, row, perf->sub_device);
    return figure && figure->kind == OP_FIGURE_TEXT ? (uint32_t)figure->whole : OPS_NONE;
}

uint32_t perf_category(const struct perf *perf, const struct perf_row *row)
{
    return row->kind == PERF_HOST_OP ? (uint32_t)PERF_HOST : perf_work_of(perf, row)->category;
}

double perf_core_budget(const struct perf *perf, const struct perf_row *row)
{
    double available = perf_available_cores(perf, row);
    return available > 0 ? available : perf->worker_cores;
}

struct perf_matmul perf_matmul_of(const struct perf *perf, const struct perf_row *row)
{
    const struct perf_work *work = perf_work_of(perf, row);
    return (struct perf_matmul){
        .types = {perf_text(perf, work->types[0]), perf_text(perf, work->types[1]),
                  perf_text(perf, work->types[2])},
        .in0_memory = perf_text(perf, work->memory),
        .fidelity = work->fidelity,
        .bound = row->bound,
        .block_w = work->block_w,
        .subblock_h = work->subblock_h,
        .subblock_w = work->subblock_w,
        .cores = perf_cores(perf, row),
        .flops_percent = perf_figures(perf, row).flops_percent,
        .is_dram_sharded = work->is_dram_sharded,
    };
}

const char *perf_group_by_text(unsigned group_by)
{
    static const char *const names[] = {"op", "memory", "category", "signpost", "location", "layer"};
    return group_by < COUNT_OF(names) ? names[group_by] : "";
}
