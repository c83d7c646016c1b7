/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/to_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ops/description.h"
#include "ops/known_figures.h"

#define MAX_PARTS 60000u /* of a description: a block holds no more */

void ops_writing_begin(struct ops_writing *w, struct trace_writer *writer, uint32_t process,
                       uint32_t import_track)
{
    *w = (struct ops_writing){.writer = writer, .process = process, .import_track = import_track};
}

int ops_writing_end(struct ops_writing *w, struct error *err)
{
    bool failed = w->failed || w->text.failed;
    free(w->names);
    free(w->descriptions);
    free(w->parts);
    free(w->figures);
    free(w->offsets);
    bytes_free(&w->text);
    *w = (struct ops_writing){0};
    return failed ? error_set_errno(err, ENOMEM, "a trace of ops") : 0;
}

static bool reserve_ids(struct ops_writing *w, uint32_t **ids, size_t *capacity, size_t count)
{
    size_t had = *capacity;
    if (count <= had)
        return true;
    if (!array_reserve(ids, capacity, count, sizeof **ids)) {
        w->failed = true;
        return false;
    }
    memset(*ids + had, 0, (*capacity - had) * sizeof **ids);
    return true;
}

static uint32_t name_of(struct ops_writing *w, const struct ops *ops, uint32_t text)
{
    if (text == OPS_NONE || w->failed)
        return text == OPS_NONE ? trace_writer_name(w->writer, "", "", "", 0, 0) : TRACE_NONE;
    if (!reserve_ids(w, &w->names, &w->name_capacity, ops->texts.count))
        return TRACE_NONE;
    if (!w->names[text])
        w->names[text] = trace_writer_name(w->writer, ops_get_text(ops, text), "", "", 0, 0) + 1;
    return w->names[text] - 1;
}

/* --- descriptions --- */

struct describing {
    struct ops_writing *w;
    const struct ops *ops;
    size_t count;
};

/* Begins a part, whose text is appended to w->text; end_part comes next. */
static bool begin_part(struct describing *d, uint32_t role)
{
    struct ops_writing *w = d->w;
    if (d->count == MAX_PARTS ||
        !array_reserve(&w->parts, &w->part_capacity, d->count + 1, sizeof w->parts[0]) ||
        !array_reserve(&w->offsets, &w->offset_capacity, d->count + 1, sizeof w->offsets[0])) {
        w->failed |= d->count != MAX_PARTS;
        return false;
    }
    w->offsets[d->count] = w->text.length;
    w->parts[d->count++] = (struct trace_part){.role = role};
    return true;
}

static void add_tensors(struct describing *d, uint32_t role, const uint32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!begin_part(d, role))
            return;
        ops_append_tensor_text(d->ops, &d->ops->tensors[ids[i]], &d->w->text);
        bytes_append_u8(&d->w->text, 0);
    }
}

static void add_pair(struct describing *d, uint32_t role, const char *key, uint32_t value)
{
    if (!begin_part(d, role))
        return;
    bytes_append_text(&d->w->text, key);
    if (value != OPS_NONE) {
        struct slice text = ops_get_slice(d->ops, value);
        bytes_append_text(&d->w->text, role == TRACE_PART_ATTRIBUTE ? "=" : "");
        bytes_append(&d->w->text, text.data, text.length);
    }
    bytes_append_u8(&d->w->text, 0);
}

static bool has_attribute(const struct ops *ops, const struct op_description *from, uint32_t value,
                          const char *first, const char *second)
{
    for (size_t i = 0; i < from->attributes; i++) {
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, from)[i]];
        const char *key = ops_get_text(ops, attribute->key);
        if (attribute->value == value && (strcmp(key, first) == 0 || strcmp(key, second) == 0))
            return true;
    }
    return false;
}

static void add_parts(struct describing *d, const struct op_description *from)
{
    const struct ops *ops = d->ops;
    add_tensors(d, TRACE_PART_INPUT, ops_inputs(ops, from), from->inputs);
    add_tensors(d, TRACE_PART_OUTPUT, ops_outputs(ops, from), from->outputs);
    for (size_t i = 0; i < from->attributes; i++) {
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, from)[i]];
        add_pair(d, TRACE_PART_ATTRIBUTE, ops_get_text(ops, attribute->key), attribute->value);
    }
    if (from->fidelity != OPS_NONE && !has_attribute(ops, from, from->fidelity, "fidelity", "math_fidelity"))
        add_pair(d, TRACE_PART_ATTRIBUTE, "fidelity", from->fidelity);
    if (from->module != OPS_NONE && !has_attribute(ops, from, from->module, "module", "module_path"))
        add_pair(d, TRACE_PART_ATTRIBUTE, "module", from->module);
    for (size_t i = 0; i < from->kernels; i++)
        add_pair(d, TRACE_PART_KERNEL, "", ops->kernels[ops_kernels(ops, from)[i]].name);
    if (from->location != OPS_NONE)
        add_pair(d, TRACE_PART_LOCATION, "", from->location);
}

static uint32_t description_of(struct ops_writing *w, const struct ops *ops, uint32_t id)
{
    struct describing d = {w, ops, 0};
    if (id == OPS_NONE || !reserve_ids(w, &w->descriptions, &w->description_capacity, ops->description_count))
        return TRACE_NONE;
    if (w->descriptions[id])
        return w->descriptions[id] - 1;
    bytes_clear(&w->text);
    add_parts(&d, &ops->descriptions[id]);
    if (w->text.failed || w->failed)
        return TRACE_NONE;
    for (size_t i = 0; i < d.count; i++) {
        size_t end = i + 1 < d.count ? w->offsets[i + 1] : w->text.length;
        w->parts[i].text = slice_from((const char *)w->text.data + w->offsets[i], end - w->offsets[i]);
    }
    uint32_t written = d.count ? trace_writer_description(w->writer, w->parts, d.count) : TRACE_NONE;
    w->descriptions[id] =
        written + 1; /* TRACE_NONE is asked for again: it is the description without parts */
    return written;
}

/* --- figures --- */

static void add_figure(struct ops_writing *w, size_t *count, struct trace_run_part part)
{
    if (array_reserve(&w->figures, &w->figure_capacity, *count + 1, sizeof w->figures[0]))
        w->figures[(*count)++] = part;
    else
        w->failed = true;
}

static void add_known(struct ops_writing *w, size_t *count, const char *name, uint64_t value)
{
    add_figure(w, count,
               (struct trace_run_part){.name = trace_writer_name(w->writer, name, "", "", 0, 0),
                                       .kind = TRACE_FIGURE_COUNT,
                                       .whole = value});
}

/* Figures of a call or run, and its faults but for those that are found again: `known`. */
static size_t make_figures(struct ops_writing *w, const struct ops *ops, uint32_t first, uint32_t figures,
                           uint32_t faults, uint32_t known)
{
    size_t count = 0;
    for (uint32_t i = 0; i < figures; i++) {
        const struct op_figure *figure = &ops->figures[first + i];
        struct trace_run_part part = {
            .name = name_of(w, ops, figure->name), .kind = figure->kind, .whole = figure->whole};
        if (figure->kind == OP_FIGURE_TEXT)
            part.whole = name_of(w, ops, (uint32_t)figure->whole);
        add_figure(w, &count, part);
    }
    if (faults & ~known)
        add_known(w, &count, OPS_FIGURE_FAULTS, faults & ~known);
    return count;
}

/* --- calls, runs, signposts --- */

static void write_call(struct ops_writing *w, const struct ops *ops, const struct op_call *call)
{
    bool is_open = call->faults & OP_FAULT_OPEN;
    size_t figures =
        make_figures(w, ops, call->first_figure, call->figures, call->faults, is_open ? OP_FAULT_OPEN : 0);
    struct trace_op op = {.call = call->number,
                          .process = call->process == OPS_NONE ? w->process : call->process,
                          .track = call->track == OPS_NONE ? TRACE_NONE : call->track,
                          .name = name_of(w, ops, call->name),
                          .type = call->type,
                          .device = call->device == OPS_NONE ? TRACE_NONE : ops->devices[call->device].number,
                          .description = description_of(w, ops, call->description),
                          .start_ns = call->start_ns,
                          .end_ns = is_open ? 0 : call->end_ns,
                          .part_count = (uint32_t)figures,
                          .parts = w->figures};
    if (!w->failed)
        trace_writer_op(w->writer, &op);
}

static void write_run(struct ops_writing *w, const struct ops *ops, const struct op_run *run)
{
    const struct op_call *call = run->call == OPS_NONE ? NULL : &ops->calls[run->call];
    const struct op_figure *number =
        ops_find_figure(ops, run->first_figure, call ? 0 : run->figures,
                        intern_find(&ops->texts, OPS_FIGURE_NUMBER, strlen(OPS_FIGURE_NUMBER)));
    size_t figures = make_figures(w, ops, run->first_figure, run->figures, run->faults, OP_FAULT_NO_CALL);
    uint32_t name;
    if (w->keeps_order)
        add_known(w, &figures, OPS_FIGURE_ORDER, w->runs);
    if (call && *ops_get_text(ops, call->name)) {
        name = name_of(w, ops, call->name);
    } else {
        bytes_clear(&w->text);
        bytes_append_format(&w->text, "op %" PRIu64, call ? call->number : number ? number->whole : 0);
        name = trace_writer_name(w->writer, bytes_text(&w->text), "", "", 0, 0);
    }
    struct op_ticks ticks = ops_ticks(ops, run);
    struct trace_run written = {.call = call ? call->number : 0,
                                .process = call && call->process != OPS_NONE ? call->process : w->process,
                                .track = run->track == OPS_NONE ? TRACE_NONE : run->track,
                                .name = name,
                                .session = run->session,
                                .cores = run->cores,
                                .flags = run->flags & OP_RUN_ESTIMATED,
                                .part_count = (uint32_t)figures,
                                .start = ticks.start,
                                .duration = ticks.end - ticks.start,
                                .parts = w->figures};
    if (!w->failed)
        trace_writer_run(w->writer, &written);
    w->runs++;
}

static void write_point(struct ops_writing *w, const struct ops *ops, struct trace_point point,
                        uint32_t header, uint32_t text)
{
    struct slice shown = ops_get_slice(ops, text);
    point.track = point.track == OPS_NONE ? w->import_track : point.track;
    point.header = ops_get_text(ops, header);
    point.text = shown.data ? shown.data : "";
    point.text_length = (uint32_t)shown.length;
    trace_writer_point(w->writer, &point);
}

void ops_to_trace(struct ops_writing *w, const struct ops *ops)
{
    for (size_t i = 0; i < ops->call_count && !w->failed; i++)
        write_call(w, ops, &ops->calls[i]);
    for (size_t i = 0; i < ops->run_count && !w->failed; i++)
        write_run(w, ops, &ops->runs[i]);
    for (size_t i = 0; i < ops->signpost_count && !w->failed; i++) {
        const struct op_signpost *signpost = &ops->signposts[i];
        struct trace_point point = {
            .kind = TRACE_POINT_SIGNPOST, .time = signpost->time_ns, .track = signpost->track};
        write_point(w, ops, point, signpost->header, signpost->text);
    }
}

/* --- remarks --- */

/* What could not be joined is still there: it is reported, but not lost. */
static uint32_t loss_reason(uint8_t severity)
{
    return severity == OP_NOTICE_DAMAGED ? TRACE_LOSS_DAMAGED
           : severity == OP_NOTICE_LOST  ? TRACE_LOSS_BUFFER_FULL
                                         : 0;
}

static void write_notice(struct ops_writing *w, const struct ops *ops, const struct op_notice *notice)
{
    bytes_clear(&w->text);
    bytes_append_text(&w->text, ops_get_text(ops, notice->text));
    if (notice->count > 1)
        bytes_append_format(&w->text, " (%" PRIu64 " times)", notice->count);
    trace_writer_point(w->writer, &(struct trace_point){.kind = TRACE_POINT_MESSAGE,
                                                        .track = w->import_track,
                                                        .time = w->remark_ns,
                                                        .header = OPS_REMARK_NOTICE,
                                                        .text = bytes_text(&w->text),
                                                        .text_length = (uint32_t)w->text.length});
    if (loss_reason(notice->severity))
        trace_writer_loss(w->writer, &(struct trace_loss){.process = w->process,
                                                          .track = w->import_track,
                                                          .reason = loss_reason(notice->severity),
                                                          .from_ns = w->remark_ns,
                                                          .to_ns = w->remark_ns,
                                                          .records = notice->count});
}

void ops_remarks_to_trace(struct ops_writing *w, const struct ops *ops)
{
    for (size_t i = 0; i < ops->fact_count; i++) {
        if (strcmp(ops_get_text(ops, ops->facts[i].key), OPS_FACT_IMPORT) !=
            0) /* it is the name of the track */
            write_point(
                w, ops,
                (struct trace_point){.kind = TRACE_POINT_MESSAGE, .track = OPS_NONE, .time = w->remark_ns},
                ops->facts[i].key, ops->facts[i].value);
    }
    for (size_t i = 0; i < ops->notice_count; i++)
        write_notice(w, ops, &ops->notices[i]);
}
