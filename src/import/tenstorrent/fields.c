/* SPDX-License-Identifier: Apache-2.0 */
/* What the vendor's columns say, in the model's own words: a kernel's duration is the run's, a latency its gap, the
 * texts of a description its fidelity, layer, place and attributes. Applied while a trace is read, so that a million
 * ops leave no figures behind. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "import/ops_csv/columns.h"
#include "import/ops_csv/model.h"
#include "import/tenstorrent/cells.h"
#include "ops/description.h"
#include "ops/finish.h"
#include "ops/known_figures.h"
#include "text/csv/cell.h"

enum field {
    FIELD_DURATION = OPS_ROLE_OWN,
    FIELD_GAP,
    FIELD_CORES,
    FIELD_AVAILABLE,
    FIELD_FW,
    FIELD_FW_START,
    FIELD_FW_END,
    FIELD_CALL,
    FIELD_REPLAY,
    FIELD_NUMBER,
    FIELD_SUB_DEVICE,
    FIELD_ARCHITECTURE,
    FIELDS
};
_Static_assert(FIELDS <= 14, "tt_fields has a value for each number");
#define VALUE(f, field) ((f)->values[(field)-OPS_ROLE_OWN])
#define HAS(f, field) ((f)->has >> (field)&1u)

static const struct {
    enum field field;
    const char *name;
} known_fields[] = {
    {FIELD_DURATION, "DEVICE KERNEL DURATION [ns]"},
    {FIELD_GAP, "OP TO OP LATENCY [ns]"},
    {FIELD_CORES, "CORE COUNT"},
    {FIELD_AVAILABLE, "AVAILABLE WORKER CORE COUNT"},
    {FIELD_FW, "DEVICE FW DURATION [ns]"},
    {FIELD_FW_START, "DEVICE FW START CYCLE"},
    {FIELD_FW_END, "DEVICE FW END CYCLE"},
    {FIELD_CALL, "GLOBAL CALL COUNT"},
    {FIELD_REPLAY, OPS_FIGURE_REPLAY_NS},
    {FIELD_NUMBER, OPS_FIGURE_NUMBER},
    {FIELD_SUB_DEVICE, "SUB DEVICE ID"},
    {FIELD_ARCHITECTURE, "DEVICE ARCH"},
};

void tt_fields_begin(struct tt_fields *f, struct ops *ops, bool is_table)
{
    static const char *const names[] = {OPS_FIGURE_AVAILABLE_CORES, OPS_FIGURE_SUB_DEVICE,
                                        OPS_FIGURE_TICKS_NS};
    *f = (struct tt_fields){.ops = ops,
                            .first_call = ops->call_count,
                            .is_table = is_table,
                            .sub_device = OPS_NONE,
                            .architecture = OPS_NONE};
    for (size_t i = 0; i < 3; i++)
        f->names[i] = ops_text(ops, slice_of(names[i]));
    f->op_type = ops_text(ops, slice_of("OP TYPE"));
    f->device_arch = ops_text(ops, slice_of("DEVICE ARCH"));
}

void tt_fields_free(struct tt_fields *f)
{
    free(f->types);
    free(f->architectures);
}

uint32_t tt_field_role(void *fields, const char *name)
{
    (void)fields;
    for (size_t i = 0; i < COUNT_OF(known_fields); i++) {
        if (strcmp(name, known_fields[i].name) == 0)
            return known_fields[i].field;
    }
    return OPS_ROLE_SKIP;
}

static bool real_to_whole(double real, int64_t *value)
{
    if (!(fabs(real) < 9.2e18))
        return false;
    *value = (int64_t)llround(real);
    return true;
}

void tt_field_take(void *fields, uint32_t role, const struct trace_run_part *figure, const char *text)
{
    struct tt_fields *f = fields;
    bool is_text = figure->kind == TRACE_FIGURE_TEXT, has = true;
    struct slice cell = slice_of(text);
    double number;
    char digits[24];
    if (role == FIELD_SUB_DEVICE || role == FIELD_ARCHITECTURE) {
        if (!is_text)
            cell = slice_from(digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, figure->whole));
        if (!cell_is_missing(cell))
            *(role == FIELD_SUB_DEVICE ? &f->sub_device : &f->architecture) = ops_text(f->ops, cell);
        return;
    }
    int64_t *value = &VALUE(f, role);
    if (is_text)
        has = cell_int64(cell, value) ||
              (cell_number(cell, &number) <= NUMBER_REAL && real_to_whole(number, value));
    else if (trace_figure_is_real(figure->kind))
        has = real_to_whole(figure->real, value);
    else if ((has = figure->whole <= INT64_MAX))
        *value = (int64_t)figure->whole;
    f->has |= has ? 1u << role : 0;
}

/* --- runs --- */

static uint32_t count_of(const struct tt_fields *f, enum field field)
{
    return HAS(f, field) && VALUE(f, field) > 0 && VALUE(f, field) <= 1048576 ? (uint32_t)VALUE(f, field) : 0;
}

static void add_figures(struct tt_fields *f, uint32_t device)
{
    struct ops *ops = f->ops;
    uint32_t available = count_of(f, FIELD_AVAILABLE);
    struct op_device *known = device < ops->device_count ? &ops->devices[device] : NULL;
    if (known && !known->cores)
        known->cores = available;
    if (known && known->architecture == OPS_NONE)
        known->architecture = f->architecture;
    if (available != (known ? known->cores : 0))
        ops_add_figure(ops,
                       (struct op_figure){.name = f->names[0], .kind = OP_FIGURE_COUNT, .whole = available});
    f->has_sub_devices |= f->sub_device != OPS_NONE;
    if (f->sub_device != OPS_NONE)
        ops_add_figure(
            ops, (struct op_figure){.name = f->names[1], .kind = OP_FIGURE_TEXT, .whole = f->sub_device});
    /* a table may have a million rows, and few tables have sub-devices */
    if (HAS(f, FIELD_FW) && VALUE(f, FIELD_FW) >= 0 && (f->has_sub_devices || !f->is_table))
        ops_add_figure(ops, (struct op_figure){.name = f->names[2],
                                               .kind = OP_FIGURE_NS,
                                               .whole = (uint64_t)VALUE(f, FIELD_FW)});
}

/* Where devices alone were recorded, their runs are all that is known of the calls. */
static void add_missing_call(struct tt_fields *f, struct op_run *run)
{
    struct ops *ops = f->ops;
    if (run->call != OPS_NONE || !HAS(f, FIELD_NUMBER) || (!f->adds_calls && ops->call_count > f->first_call))
        return;
    f->adds_calls = true;
    run->call = ops_add_call(ops, &(struct op_call){.number = (uint64_t)VALUE(f, FIELD_NUMBER),
                                                    .process = OPS_NONE,
                                                    .track = OPS_NONE,
                                                    .name = ops_text(ops, slice_of("(no name)")),
                                                    .description = OPS_NONE,
                                                    .device = OPS_NONE,
                                                    .faults = OP_FAULT_NO_HOST_TIME | OP_FAULT_OPEN});
}

/* The run that was added last; gaps are the vendor's, whose are not known stay so. */
void tt_field_run(void *fields, struct ops *ops)
{
    struct tt_fields *f = fields;
    struct op_run *run = &ops->runs[ops->run_count - 1];
    bool has_duration = HAS(f, FIELD_DURATION) && VALUE(f, FIELD_DURATION) >= 0;
    run->duration_ns = has_duration ? (uint64_t)VALUE(f, FIELD_DURATION) : OPS_NO_DURATION;
    run->gap_ns = HAS(f, FIELD_GAP) ? VALUE(f, FIELD_GAP) : OPS_NO_GAP;
    run->track = OPS_NONE;
    if (HAS(f, FIELD_CORES))
        run->cores = count_of(f, FIELD_CORES);
    if (HAS(f, FIELD_REPLAY))
        run->start_ns = (uint64_t)VALUE(f, FIELD_REPLAY);
    if (HAS(f, FIELD_FW_START) && HAS(f, FIELD_FW_END) && VALUE(f, FIELD_FW_START) >= 0 &&
        VALUE(f, FIELD_FW_END) >= 0)
        ops_set_ticks(ops, (uint64_t)VALUE(f, FIELD_FW_START), (uint64_t)VALUE(f, FIELD_FW_END));
    add_missing_call(f, run);
    add_figures(f, run->device == OPS_NO_DEVICE ? OPS_NONE : run->device);
    f->has = 0;
    f->sub_device = f->architecture = OPS_NONE;
}

/* --- calls --- */

enum { TYPE_SIGNPOST = OP_TYPE_FALLBACK + 1 };

static uint8_t type_of_text(struct slice type)
{
    return (uint8_t)(slice_is(type, "signpost")          ? TYPE_SIGNPOST
                     : slice_is(type, "python_fallback") ? OP_TYPE_FALLBACK
                     : slice_is(type, "tt_dnn_cpu")      ? OP_TYPE_HOST
                                                         : OP_TYPE_DEVICE);
}

static struct slice find_cell(const struct ops *ops, uint32_t description, uint32_t key)
{
    const struct op_description *d = ops_get_description(ops, description);
    for (size_t i = 0; i < d->attributes; i++) {
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, d)[i]];
        if (attribute->key == key)
            return ops_get_slice(ops, attribute->value);
    }
    return slice_from(NULL, 0);
}

/* Type and architecture that the description's cells say; found once for each. */
static uint8_t type_of(struct tt_fields *f, uint32_t description)
{
    size_t had = f->type_capacity;
    if (description == OPS_NONE)
        return OP_TYPE_DEVICE;
    if (!array_reserve(&f->types, &f->type_capacity, (size_t)description + 1, 1) ||
        !array_reserve(&f->architectures, &f->architecture_capacity, f->type_capacity,
                       sizeof f->architectures[0])) {
        f->ops->failed = true;
        return OP_TYPE_DEVICE;
    }
    memset(f->types + had, 0, f->type_capacity - had);
    if (!f->types[description]) {
        struct slice architecture = find_cell(f->ops, description, f->device_arch);
        f->types[description] = (uint8_t)(type_of_text(find_cell(f->ops, description, f->op_type)) + 1);
        f->architectures[description] =
            cell_is_missing(architecture) ? OPS_NONE : ops_text(f->ops, architecture);
    }
    return (uint8_t)(f->types[description] - 1);
}

static void add_row_signpost(struct ops *ops, const struct op_call *call, uint32_t text, struct op_line *line)
{
    ops_add_signpost(ops, call->faults & OP_FAULT_NO_HOST_TIME ? UINT64_MAX : call->start_ns,
                     slice_of(ops_get_text(ops, call->name)), ops_get_slice(ops, text));
    line->signpost = (uint32_t)ops->signpost_count - 1;
}

/* Of a table: the call is a row. */
static void take_row(struct tt_fields *f, uint8_t type)
{
    struct ops *ops = f->ops;
    struct op_call *call = &ops->calls[ops->call_count - 1];
    struct op_line line = {OPS_NONE, OPS_NONE, OPS_NONE, 0};
    if (!*ops_get_text(ops, call->name))
        call->name = ops_text(ops, slice_of("(no name)"));
    if (type == TYPE_SIGNPOST) {
        add_row_signpost(ops, call, OPS_NONE, &line);
        ops->call_count--;
        f->has = 0;
        f->sub_device = f->architecture = OPS_NONE;
    } else {
        line.call = (uint32_t)ops->call_count - 1;
        line.run = ops_add_run(
            ops, &(struct op_run){.call = line.call,
                                  .track = OPS_NONE,
                                  .device = call->device == OPS_NONE ? OPS_NO_DEVICE : (uint16_t)call->device,
                                  .name = OPS_NONE});
        tt_field_run(f, ops);
    }
    ops_add_line(ops, line);
}

void tt_field_call(void *fields, struct ops *ops)
{
    struct tt_fields *f = fields;
    struct op_call *call = &ops->calls[ops->call_count - 1];
    uint8_t type = type_of(f, call->description);
    call->type = type < TYPE_SIGNPOST ? type : OP_TYPE_DEVICE;
    if (HAS(f, FIELD_CALL) && VALUE(f, FIELD_CALL) >= 0)
        call->number = (uint64_t)VALUE(f, FIELD_CALL);
    else if (f->is_table)
        call->number = OPS_NO_NUMBER;
    if (!f->is_table && call->faults & OP_FAULT_OPEN)
        call->faults |= OP_FAULT_NO_HOST_TIME;
    if (call->device != OPS_NONE && call->description != OPS_NONE && f->architectures &&
        ops->devices[call->device].architecture == OPS_NONE)
        ops->devices[call->device].architecture = f->architectures[call->description];
    if (f->is_table)
        take_row(f, type);
    else
        f->has = 0;
}

/* --- descriptions --- */

struct cells_of_description {
    struct slice attributes, fidelity, module, location;
    struct slice tensors[OPS_CSV_TENSORS][OP_TENSOR_FIELDS];
    bool has_tensors;
};

static void take_cell(struct cells_of_description *cells, struct slice key, struct slice value)
{
    if (slice_is(key, "ATTRIBUTES"))
        cells->attributes = value;
    else if (slice_is(key, "MATH FIDELITY"))
        cells->fidelity = value;
    else if (slice_is(key, "MODULE PATH"))
        cells->module = value;
    else if (slice_is(key, "LOC"))
        cells->location = value;
    else if (slice_begins(key, "INPUT_") || slice_begins(key, "OUTPUT_"))
        for (size_t t = 0; t < OPS_CSV_TENSORS; t++)
            for (size_t i = 0; i < OP_TENSOR_FIELDS; i++)
                for (unsigned old = 0; old < 2; old++) {
                    char name[64];
                    size_t column = OPS_CSV_TENSOR + t * OPS_CSV_TENSOR_CELLS + i;
                    if (slice_is(key, ops_csv_column_name(column, old, name, sizeof name))) {
                        cells->tensors[t][i] = value;
                        cells->has_tensors = true;
                    }
                }
}

#define ATTRIBUTES_MAX 256u

static uint32_t text_of(struct ops *ops, struct slice cell)
{
    return cell_is_missing(cell) ? OPS_NONE : ops_text(ops, cell);
}

/* The type of an op that is not the device's stays: a further file may have the same description. */
static void rewrite(struct tt_fields *f, size_t description, uint32_t *ids)
{
    struct ops *ops = f->ops;
    struct op_description d = ops->descriptions[description];
    struct cells_of_description cells = {0};
    unsigned wrong; /* said when they were imported */
    uint32_t type = OPS_NONE;
    size_t at = 0;
    for (size_t i = 0; i < d.attributes; i++) {
        uint32_t id = ops_attributes(ops, &d)[i];
        const struct op_attribute *attribute = &ops->attributes[id];
        if (attribute->key == f->op_type &&
            type_of_text(ops_get_slice(ops, attribute->value)) != OP_TYPE_DEVICE)
            type = id;
        take_cell(&cells, ops_get_slice(ops, attribute->key), ops_get_slice(ops, attribute->value));
    }
    memcpy(ids, ops_inputs(ops, &d), d.inputs * sizeof ids[0]);
    at += d.inputs;
    for (size_t t = d.inputs; t < OPS_CSV_INPUTS && cells.has_tensors; t++) {
        uint32_t id = ops_csv_tensor(ops, cells.tensors[t], &wrong);
        if (id != OPS_NONE)
            ids[at++] = id;
    }
    size_t inputs = at;
    memcpy(ids + at, ops_outputs(ops, &d), d.outputs * sizeof ids[0]);
    at += d.outputs;
    for (size_t t = d.outputs; t < OPS_CSV_OUTPUTS && cells.has_tensors; t++) {
        uint32_t id = ops_csv_tensor(ops, cells.tensors[OPS_CSV_INPUTS + t], &wrong);
        if (id != OPS_NONE)
            ids[at++] = id;
    }
    d.outputs = (uint16_t)(at - inputs);
    d.inputs = (uint16_t)inputs;
    d.attributes = 0;
    if (!cell_is_missing(cells.attributes))
        d.attributes = (uint16_t)ops_csv_attributes(ops, cells.attributes, ids + at, ATTRIBUTES_MAX);
    if (type != OPS_NONE)
        ids[at + d.attributes++] = type;
    d.kernels = 0;
    if (cells.fidelity.data)
        d.fidelity = text_of(ops, cells.fidelity);
    if (cells.module.data)
        d.module = text_of(ops, cells.module);
    if (cells.location.data)
        d.location = text_of(ops, cells.location);
    struct slice place = ops_get_slice(ops, d.location);
    if (slice_begins(place, "LOC=")) /* as traces had it once */
        d.location = text_of(ops, slice_from(place.data + 4, place.length - 4));
    ops_rewrite_description(ops, (uint32_t)description, &d, ids);
}

void tt_fields_end(struct tt_fields *f, size_t first)
{
    struct ops *ops = f->ops;
    size_t most = 0;
    for (size_t i = first; i < ops->description_count; i++) {
        size_t tensors = (size_t)ops->descriptions[i].inputs + ops->descriptions[i].outputs;
        most = tensors > most ? tensors : most;
    }
    uint32_t *ids = malloc((most + OPS_CSV_TENSORS + ATTRIBUTES_MAX + 1) * sizeof ids[0]);
    if (!ids)
        ops->failed = true;
    for (size_t i = first; i < ops->description_count && !ops->failed; i++)
        rewrite(f, i, ids);
    free(ids);
}
