/* SPDX-License-Identifier: Apache-2.0 */
/* What a folder of logs says, as the op model. Cells of a program become attributes of a description (tensors are
 * tensors), cells of a run its figures: the vendor's table is written from these. For views that ask what an op is and
 * how long it took, the same in the model's own words (fields.c). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "import/tenstorrent/cells.h"
#include "import/tenstorrent/trace.h"
#include "ops/known_figures.h"
#include "text/python_text.h"

struct ids {
    uint32_t *items;
    size_t count, capacity;
};

struct record_ids { /* of a program: places in `ids` */
    uint32_t first;
    uint16_t inputs, outputs, attributes, kernels;
    bool is_known;
    uint32_t location;
};

struct filling {
    struct tt_model *model;
    struct ops *ops;
    struct tt_trace_writer *w;        /* NULL: no trace is written */
    struct tt_fields *fields;         /* NULL: figures and attributes are kept as cells */
    struct tt_figure_column *columns; /* by column of the model; name OPS_NONE: not asked for yet */
    struct record_ids *records;
    struct ids ids, made;
    struct bytes text;
    uint32_t capture, replay_ns, number, fpu_util;
    uint32_t first_call, first_device; /* of this folder in the model */
};

static void add_id(struct filling *f, struct ids *ids, uint32_t id)
{
    if (array_reserve(&ids->items, &ids->capacity, ids->count + 1, sizeof ids->items[0]))
        ids->items[ids->count++] = id;
    else
        f->ops->failed = true;
}

static struct slice column_name(const struct filling *f, uint32_t column)
{
    const struct intern_entry *name = &f->model->columns.entries[column];
    return slice_from(name->data, name->length);
}

static const struct tt_figure_column *figure_column(struct filling *f, uint32_t column)
{
    struct tt_figure_column *known = &f->columns[column];
    if (known->name == OPS_NONE) {
        struct slice name = column_name(f, column);
        *known = tt_figure_column(f->ops, name.data, name.length);
    }
    return known;
}

static uint32_t attribute_of(struct filling *f, uint32_t column, struct slice value)
{
    return ops_attribute(f->ops, figure_column(f, column)->name,
                         ops_text(f->ops, slice_from(value.length ? value.data : "", value.length)));
}

/* --- programs --- */

/* True when seven cells from here on are those of tensor `index`. */
static bool is_tensor_at(struct filling *f, const struct tt_cells *cells, uint32_t at, bool is_output,
                         uint32_t index)
{
    if (cells->count - at < OP_TENSOR_FIELDS || cells->items[at].column < OP_FIXED_COLUMN_COUNT)
        return false;
    for (unsigned i = 0; i < OP_TENSOR_FIELDS; i++) {
        struct slice name = column_name(f, cells->items[at + i].column);
        bytes_clear(&f->text);
        op_tensor_column(is_output, index, (enum op_tensor_field)i, &f->text);
        if (!slice_is(name, bytes_text(&f->text)))
            return false;
    }
    return true;
}

static uint32_t tensor_at(struct filling *f, const struct tt_cells *cells, uint32_t at, bool is_output,
                          uint32_t index)
{
    struct slice texts[OP_TENSOR_FIELDS];
    if (!is_tensor_at(f, cells, at, is_output, index))
        return OPS_NONE;
    for (unsigned i = 0; i < OP_TENSOR_FIELDS; i++) {
        const struct tt_cell *cell = &cells->items[at + i];
        texts[i] = slice_from(cell->length ? cell->data : "", cell->length);
    }
    return tt_exact_tensor(f->ops, texts);
}

static bool is_kernel(uint32_t column)
{
    return column >= OP_COLUMN_ID_COMPUTE_SOURCE && column <= OP_COLUMN_ID_DATA_HASH;
}

static uint32_t kernel_of(struct filling *f, const struct tt_cell *cell)
{
    struct slice name = column_name(f, cell->column);
    bytes_clear(&f->text);
    bytes_append(&f->text, name.data, name.length);
    bytes_append_u8(&f->text, '=');
    bytes_append(&f->text, cell->data, cell->length);
    struct op_kernel kernel = {.name = ops_text(f->ops, slice_of(bytes_text(&f->text))),
                               .source = OPS_NONE,
                               .hash = OPS_NONE,
                               .role = OPS_NONE};
    f->ops->failed |= f->text.failed;
    return ops_kernel(f->ops, &kernel);
}

enum part { PART_INPUT, PART_OUTPUT, PART_ATTRIBUTE, PART_KERNEL, PARTS };

/* Adds the cells of one part, and how many they are. */
static uint16_t add_part(struct filling *f, const struct tt_cells *cells, enum part part, uint32_t *location)
{
    uint32_t counts[2] = {0};
    size_t before = f->ids.count;
    for (uint32_t i = 0; i < cells->count;) {
        const struct tt_cell *cell = &cells->items[i];
        uint32_t tensor = tensor_at(f, cells, i, false, counts[0]);
        enum part is = PART_INPUT;
        if (tensor == OPS_NONE) {
            tensor = tensor_at(f, cells, i, true, counts[1]);
            is = PART_OUTPUT;
        }
        if (tensor != OPS_NONE) {
            counts[is]++;
            if (is == part)
                add_id(f, &f->ids, tensor);
            i += OP_TENSOR_FIELDS;
            continue;
        }
        i++;
        if (cell->column == OP_COLUMN_ID_OP_CODE)
            continue;
        if (cell->column == OP_COLUMN_ID_LOC)
            *location = ops_text(f->ops, slice_from(cell->length ? cell->data : "", cell->length));
        else if (is_kernel(cell->column) && part == PART_KERNEL)
            add_id(f, &f->ids, kernel_of(f, cell));
        else if (!is_kernel(cell->column) && part == PART_ATTRIBUTE)
            add_id(f, &f->ids, attribute_of(f, cell->column, slice_from(cell->data, cell->length)));
    }
    size_t added = f->ids.count - before;
    return (uint16_t)(added > UINT16_MAX ? UINT16_MAX : added);
}

static const struct record_ids *ids_of_record(struct filling *f, uint32_t record)
{
    struct record_ids *known = &f->records[record];
    const struct tt_cells *cells = &f->model->records[record].cells;
    if (known->is_known)
        return known;
    *known = (struct record_ids){.first = (uint32_t)f->ids.count, .is_known = true, .location = OPS_NONE};
    known->inputs = add_part(f, cells, PART_INPUT, &known->location);
    known->outputs = add_part(f, cells, PART_OUTPUT, &known->location);
    known->attributes = add_part(f, cells, PART_ATTRIBUTE, &known->location);
    known->kernels = add_part(f, cells, PART_KERNEL, &known->location);
    return known;
}

/* --- ops --- */

static void add_text(struct filling *f, struct op_description *d, uint32_t column, const char *text,
                     size_t length)
{
    add_id(f, &f->made, attribute_of(f, column, slice_from(text, length)));
    d->attributes++;
}

/* What a compiler says where ops come from, of every op that was dispatched after it. */
static uint32_t place_of(struct filling *f, struct op_description *d, const struct tt_op *op,
                         uint32_t location)
{
    const struct intern *texts = &f->model->texts;
    const uint32_t columns[] = {OP_COLUMN_ID_CONST_EVAL, OP_COLUMN_ID_PROGRAM_METADATA};
    const uint32_t ids[] = {op->const_eval, op->metadata};
    static const char *const otherwise[] = {"false", "{}"};
    if (!f->model->has_locations || op->device == TT_NONE)
        return location;
    for (size_t i = 0; i < 2; i++) {
        const struct intern_entry *entry = ids[i] == TT_NONE ? NULL : &texts->entries[ids[i]];
        add_text(f, d, columns[i], entry ? entry->data : otherwise[i],
                 entry ? entry->length : strlen(otherwise[i]));
    }
    if (op->location == TT_NONE)
        return ops_text(f->ops, slice_of("loc(unknown)"));
    return ops_text(f->ops,
                    slice_from(texts->entries[op->location].data, texts->entries[op->location].length));
}

static void copy_ids(struct filling *f, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_id(f, &f->made, f->ids.items[first + i]);
}

static uint32_t describe(struct filling *f, const struct tt_op *op)
{
    struct op_description d = {.location = OPS_NONE, .module = OPS_NONE, .fidelity = OPS_NONE};
    static const struct record_ids nothing = {.location = OPS_NONE};
    const struct record_ids *record = op->record == TT_NONE ? &nothing : ids_of_record(f, op->record);
    struct record_ids r = *record;
    char number[16];
    f->made.count = 0;
    d.inputs = r.inputs;
    d.outputs = r.outputs;
    d.attributes = r.attributes;
    copy_ids(f, r.first, (size_t)r.inputs + r.outputs + r.attributes);
    if (op->record == TT_NONE) {
        add_text(f, &d, OP_COLUMN_ID_OP_TYPE, "tt_dnn_device", op->device != TT_NONE ? 13 : 0);
        if (op->device != TT_NONE)
            add_text(f, &d, OP_COLUMN_ID_DEVICE_ID, number,
                     (size_t)snprintf(number, sizeof number, "%u", (unsigned)op->device));
        if (op->hash.length)
            add_text(f, &d, OP_COLUMN_ID_PROGRAM_HASH, op->hash.data, op->hash.length);
    }
    if (op->cache_hit >= 0)
        add_text(f, &d, OP_COLUMN_ID_CACHE_HIT, op->cache_hit ? "True" : "False", op->cache_hit ? 4 : 5);
    d.location = place_of(f, &d, op, r.location);
    d.kernels = r.kernels;
    copy_ids(f, (size_t)r.first + r.inputs + r.outputs + r.attributes, r.kernels);
    return f->ops->failed ? OPS_NONE : ops_description(f->ops, &d, f->made.items);
}

static struct slice find_cell(const struct tt_model *model, uint32_t record, uint32_t column)
{
    const struct tt_cells *cells = record == TT_NONE ? NULL : &model->records[record].cells;
    for (uint32_t i = 0; cells && i < cells->count; i++) {
        if (cells->items[i].column == column)
            return slice_from(cells->items[i].data, cells->items[i].length);
    }
    return slice_from("", 0);
}

static uint16_t call_faults(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        uint16_t fault;
    } faults[] = {{TT_OP_CUT, OP_FAULT_CUT},
                  {TT_OP_NO_RECORD, OP_FAULT_NO_DESCRIPTION},
                  {TT_OP_NO_MESSAGE, OP_FAULT_NO_MESSAGE},
                  {TT_OP_NO_TIMES, OP_FAULT_NO_HOST_TIME | OP_FAULT_OPEN},
                  {TT_OP_REPEATED, OP_FAULT_REPEATED},
                  {TT_OP_NO_DEVICE, OP_FAULT_NO_RUN},
                  {TT_OP_NOT_REPLAYED, OP_FAULT_NO_REPLAY}};
    uint16_t found = 0;
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        found |= flags & faults[i].flag ? faults[i].fault : 0;
    return found;
}

/* A number that another op has already is kept as a figure: trace and model know calls by their numbers. */
#define OWN_NUMBERS (UINT64_C(1) << 63)

static void add_call(struct filling *f, size_t index)
{
    const struct tt_op *op = &f->model->ops[index];
    struct slice type = find_cell(f->model, op->record, OP_COLUMN_ID_OP_TYPE);
    struct slice name =
        op->record == TT_NONE ? op->name : find_cell(f->model, op->record, OP_COLUMN_ID_OP_CODE);
    bool has_times = !(op->flags & TT_OP_NO_TIMES), is_repeated = op->flags & TT_OP_REPEATED;
    is_repeated |= f->w && ops_find_call(f->ops, f->w->process, op->id) != OPS_NONE;
    struct op_call call = {.number = is_repeated ? OWN_NUMBERS + index : op->id,
                           .start_ns = has_times ? op->start_ns : op->message_ns,
                           .end_ns = has_times ? op->start_ns + op->duration_ns : 0,
                           .process = f->w ? f->w->process : OPS_NONE,
                           .track = f->w ? tt_trace_thread_track(f->w, op->thread) : OPS_NONE,
                           .name = ops_text(f->ops, slice_from(name.length ? name.data : "", name.length)),
                           .description = describe(f, op),
                           .device = op->device == TT_NONE ? OPS_NONE
                                                           : ops_device(f->ops, op->device + f->first_device),
                           .faults = call_faults(op->flags),
                           .type = (uint8_t)(slice_is(type, "python_fallback") ? OP_TYPE_FALLBACK
                                             : op->device == TT_NONE           ? OP_TYPE_HOST
                                                                               : OP_TYPE_DEVICE)};
    ops_add_call(f->ops, &call);
    for (uint32_t i = op->children; i != TT_NONE && !f->fields; i = f->model->children[i].next)
        ops_add_call_figure(f->ops,
                            (struct op_figure){.name = figure_column(f, f->model->children[i].column)->name,
                                               .kind = OP_FIGURE_NS,
                                               .whole = f->model->children[i].sum_ns});
    if (op->trace != TT_NO_TRACE && !f->fields)
        ops_add_call_figure(
            f->ops,
            (struct op_figure){.name = f->capture, .kind = OP_FIGURE_COUNT, .whole = (uint64_t)op->trace});
    if (is_repeated && !f->fields)
        ops_add_call_figure(f->ops, (struct op_figure){.name = figure_column(f, OP_COLUMN_ID_CALL)->name,
                                                       .kind = OP_FIGURE_COUNT,
                                                       .whole = op->id});
    if (f->fields && !f->ops->failed)
        tt_field_call(f->fields, f->ops);
    if (f->fields && is_repeated && !f->ops->failed)
        f->ops->calls[f->ops->call_count - 1].number = op->id;
}

/* --- runs --- */

static void add_known(struct filling *f, uint32_t name, uint32_t kind, uint64_t value)
{
    struct trace_run_part part = {.kind = kind, .whole = value};
    uint32_t role =
        f->fields ? tt_field_role(f->fields, ops_get_text(f->ops, name)) : (uint32_t)OPS_ROLE_KEEP;
    if (role == OPS_ROLE_KEEP)
        ops_add_figure(f->ops, (struct op_figure){.name = name, .kind = kind, .whole = value});
    else if (role != OPS_ROLE_SKIP)
        tt_field_take(f->fields, role, &part, "");
}

static void add_cell(struct filling *f, const struct tt_cell *cell)
{
    const struct tt_figure_column *column = figure_column(f, cell->column);
    struct slice text = slice_from(cell->length ? cell->data : "", cell->length);
    struct op_figure figure;
    uint32_t role = f->fields ? tt_field_role(f->fields, ops_get_text(f->ops, column->name)) : 0;
    if (f->fields && role == OPS_ROLE_SKIP)
        return;
    if (!tt_number_of_cell(column, text, &f->text, &figure))
        figure =
            (struct op_figure){.name = column->name, .kind = OP_FIGURE_TEXT, .whole = ops_text(f->ops, text)};
    if (!f->fields) {
        ops_add_figure(f->ops, figure);
        return;
    }
    struct trace_run_part part = {.kind = figure.kind, .whole = figure.whole};
    tt_field_take(f->fields, role, &part,
                  figure.kind == OP_FIGURE_TEXT ? ops_get_text(f->ops, (uint32_t)figure.whole) : "");
}

/* How much of its kernel's time the vendor's model says it should have taken. */
static void add_share(struct filling *f, const struct tt_run *run, const struct tt_op *op)
{
    const struct tt_record *record = op && op->record != TT_NONE ? &f->model->records[op->record] : NULL;
    if (!record || !record->has_model || !run->has_kernel || f->fields)
        return;
    ops_add_figure(f->ops,
                   (struct op_figure){.name = f->fpu_util,
                                      .kind = OP_FIGURE_PERCENT,
                                      .real = tt_share_of_compute(record->pm_compute_ns, run->kernel_ns)});
}

static void add_run(struct filling *f, const struct tt_run *run)
{
    const struct tt_op *op = run->op == TT_NONE ? NULL : &f->model->ops[run->op];
    uint32_t device = ops_device(f->ops, run->device + f->first_device);
    ops_add_run(f->ops, &(struct op_run){
                            .gap_ns = OPS_NO_GAP,
                            .call = run->op == TT_NONE ? OPS_NONE : f->first_call + run->op,
                            .track = f->w ? tt_trace_device_track(f->w, run->device) : OPS_NONE,
                            .session = run->session,
                            .cores = run->cores,
                            .faults = (uint16_t)((run->flags & TT_RUN_INCOMPLETE ? OP_FAULT_INCOMPLETE : 0) |
                                                 (run->flags & TT_RUN_NO_REPLAY ? OP_FAULT_NO_REPLAY : 0)),
                            .device = device == OPS_NONE ? OPS_NO_DEVICE : (uint16_t)device,
                            .name = OPS_NONE});
    if (run->has_cycles && !f->ops->failed)
        ops_set_ticks(f->ops, run->start_cycle, run->end_cycle);
    for (uint32_t k = 0; k < run->cells.count && !f->ops->failed; k++)
        add_cell(f, &run->cells.items[k]);
    add_share(f, run, op);
    if (run->trace != TT_NO_TRACE)
        add_known(f, f->capture, OP_FIGURE_COUNT, (uint64_t)run->trace);
    if (run->session || (run->flags & TT_RUN_ANOTHER))
        add_known(f, f->replay_ns, OP_FIGURE_NS, run->replay_ns);
    if (!op)
        add_known(f, f->number, OP_FIGURE_COUNT, run->id);
    if (!f->fields || f->ops->failed)
        return;
    tt_field_run(f->fields, f->ops);
}

/* --- all of it --- */

static void add_devices(struct filling *f)
{
    for (size_t i = 0; i < f->model->device_count; i++) {
        const struct tt_device *device = &f->model->devices[i];
        uint32_t id = ops_device(f->ops, device->id + f->first_device);
        if (id != OPS_NONE && device->arch.length && f->ops->devices[id].architecture == OPS_NONE)
            f->ops->devices[id].architecture = ops_text(f->ops, device->arch);
    }
}

static void add_remarks(struct filling *f)
{
    const struct tt_model *model = f->model;
    ops_add_fact(f->ops, slice_of(OPS_FACT_IMPORT), slice_of(TT_TRACK_FOLDER));
    if (model->is_device_only)
        ops_add_fact(f->ops, slice_of("kind"), slice_of("device only"));
    if (model->is_quasar)
        ops_add_fact(f->ops, slice_of("kind"), slice_of("quasar"));
    if (model->has_locations)
        ops_add_fact(f->ops, slice_of("kind"), slice_of("locations"));
    if (model->has_origin && f->w) {
        char text[48];
        snprintf(text, sizeof text, "%" PRIu32 " %" PRIu64, f->w->process, model->origin_ns);
        ops_add_fact(f->ops, slice_of(TT_FACT_ORIGIN), slice_of(text));
    }
    for (size_t i = 0; i < model->note_count; i++) {
        const struct tt_note *note = &model->notes[i];
        ops_add_notice(f->ops, OP_NOTICE_KIND_OWN + note->kind, note->severity, note->line, "%s",
                       note->text ? note->text : "");
        if (!f->ops->failed)
            f->ops->notices[f->ops->notice_count - 1].count = note->count;
    }
}

int tt_to_ops(struct tt_model *model, struct ops *ops, struct tt_trace_writer *w, struct tt_fields *fields,
              struct error *err)
{
    struct filling f = {.model = model,
                        .ops = ops,
                        .w = w,
                        .fields = fields,
                        .columns = malloc((model->columns.count + 1) * sizeof f.columns[0]),
                        .records = calloc(model->record_count + 1, sizeof f.records[0]),
                        .capture = ops_text(ops, slice_of(OPS_FIGURE_CAPTURE)),
                        .replay_ns = ops_text(ops, slice_of(OPS_FIGURE_REPLAY_NS)),
                        .number = ops_text(ops, slice_of(OPS_FIGURE_NUMBER)),
                        .fpu_util = ops_text(ops, slice_of("PM FPU UTIL (%)")),
                        .first_call = (uint32_t)ops->call_count,
                        .first_device = fields ? fields->first_device : 0};
    if (!f.columns || !f.records)
        ops->failed = true;
    else
        memset(f.columns, 0xff, (model->columns.count + 1) * sizeof f.columns[0]);
    if (!ops->failed && (!w || !w->failed))
        add_devices(&f);
    for (size_t i = 0; i < model->op_count && !ops->failed; i++)
        add_call(&f, i);
    for (size_t i = 0; i < model->run_count && !ops->failed; i++)
        add_run(&f, &model->runs[i]);
    for (size_t i = 0; i < model->signpost_count && !ops->failed; i++)
        ops_add_signpost(ops, model->signposts[i].time_ns, model->signposts[i].header,
                         model->signposts[i].text);
    if (!ops->failed)
        add_remarks(&f);
    free(f.columns);
    free(f.records);
    free(f.ids.items);
    free(f.made.items);
    bytes_free(&f.text);
    return ops_check(ops, err);
}
