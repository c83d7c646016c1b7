/* SPDX-License-Identifier: Apache-2.0 */
/* The op model as rows of the vendor's table: the only place that writes it, whatever the model was filled from.
 *
 *   a folder of logs, or a trace made of one: every column of the vendor's, and those that some row fills
 *   devices alone                             the columns that their runs fill
 *   a trace that opscope recorded             the columns that its ops fill, in the vendor's names for them
 *   a trace made of an ops CSV                its own columns; read a block at a time, nothing is kept of a row
 *
 * Numbers and texts are made when their row is asked for. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "import/tenstorrent/cells.h"
#include "import/tenstorrent/recorded_cells.h"
#include "import/tenstorrent/row_writer.h"
#include "import/tenstorrent/reported/growing.h"
#include "import/tenstorrent/trace.h"
#include "ops/description.h"
#include "ops/finish.h"
#include "ops/from_trace.h"
#include "ops/known_figures.h"
#include "text/python_text.h"

#define NUMBER_BYTES 44u /* of a cell, at most */
#define OTHER_BYTES 2048u

enum kind { KIND_FOLDER, KIND_DEVICES, KIND_RECORDED, KIND_CSV };

struct line {
    uint64_t time_ns;
    size_t place;
    uint32_t call, run, signpost;
};

struct table {
    enum kind kind;
    struct tt_model model; /* has the columns */
    struct ops ops;
    struct trace *trace; /* KIND_CSV: read piece by piece */
    struct ops_pieces *pieces;
    struct recorded_cells cells; /* KIND_RECORDED */
    struct tt_row_writer row;
    struct line *lines;
    size_t line_count, line_capacity, next_line;
    uint32_t *column_of_text; /* by text of the model, + 1; 0: not asked for yet; TT_NONE: no column */
    size_t text_capacity;
    struct bytes is_used; /* by column, until they are declared */
    struct origin {
        uint32_t process;
        uint64_t ns;
    } * origins; /* of processes that were recorded live */
    size_t origin_count, origin_capacity;
    uint32_t capture, number, replay_ns;
    bool is_version_1; /* of the trace */
};

/* --- columns --- */

static bool is_no_column(const char *name)
{
    static const char *const others[] = {OPS_FIGURE_CAPTURE, OPS_FIGURE_REPLAY_NS, OPS_FIGURE_NUMBER,
                                         OPS_FIGURE_FAULTS,  OPS_FIGURE_ORDER,     "flags"};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        if (strcmp(name, others[i]) == 0)
            return true;
    }
    return false;
}

/* The column that a text names; TT_NONE. New ones are added until they are declared. */
static uint32_t column_of(struct table *t, uint32_t text)
{
    size_t had = t->text_capacity;
    if (text == OPS_NONE)
        return TT_NONE;
    if (!array_reserve(&t->column_of_text, &t->text_capacity, (size_t)text + 1,
                       sizeof t->column_of_text[0])) {
        t->model.failed = true;
        return TT_NONE;
    }
    memset(t->column_of_text + had, 0, (t->text_capacity - had) * sizeof t->column_of_text[0]);
    uint32_t *known = &t->column_of_text[text];
    if (!*known) {
        struct slice name = ops_get_slice(&t->ops, text);
        uint32_t column = t->row.place_of_column    ? intern_find(&t->model.columns, name.data, name.length)
                          : is_no_column(name.data) ? TT_NONE
                                                    : tt_column(&t->model, name.data, name.length);
        *known = column == TT_NONE ? TT_NONE : column + 1;
    }
    return *known == TT_NONE ? TT_NONE : *known - 1;
}

static void mark(void *context, uint32_t column, struct slice text)
{
    struct bytes *is_used = context; /* columns may be new: one byte each */
    (void)text;
    while (column != TT_NONE && is_used->length <= column && !is_used->failed)
        bytes_append_u8(is_used, 0);
    if (column != TT_NONE && !is_used->failed)
        is_used->data[column] = 1;
}

static void mark_if(struct table *t, uint32_t column, bool is_filled)
{
    if (is_filled)
        mark(&t->is_used, column, slice_of(""));
}

static uint32_t tensor_column(struct table *t, bool is_output, uint32_t index, unsigned field)
{
    struct bytes *name = &t->row.scratch;
    bytes_clear(name);
    op_tensor_column(is_output, index, (enum op_tensor_field)field, name);
    return t->row.place_of_column ? intern_find(&t->model.columns, bytes_text(name), name->length)
                                  : tt_column(&t->model, bytes_text(name), name->length);
}

static void mark_tensor(struct table *t, bool is_output, uint32_t index)
{
    for (unsigned field = 0; field < OP_TENSOR_FIELDS; field++)
        mark_if(t, tensor_column(t, is_output, index, field), true);
}

/* The column and the cell of a kernel: "COMPUTE KERNEL SOURCE=[...]". */
static uint32_t kernel_column(struct table *t, uint32_t kernel, struct slice *cell)
{
    struct slice text = ops_get_slice(&t->ops, t->ops.kernels[kernel].name);
    struct slice name = slice_before(text, "=");
    *cell = slice_after(text, "=");
    return intern_find(&t->model.columns, name.data, name.length);
}

static void mark_description(struct table *t, const struct op_description *d)
{
    const struct ops *ops = &t->ops;
    uint32_t index;
    for (uint32_t i = 0; i < d->inputs; i++)
        mark_tensor(t, false, i);
    for (uint32_t i = 0; i < d->outputs; i++)
        mark_tensor(t, true, i);
    for (size_t i = 0; i < d->attributes; i++) {
        uint32_t key = ops->attributes[ops_attributes(ops, d)[i]].key;
        const char *name = ops_get_text(ops, key);
        mark_if(t, column_of(t, key), true);
        if (sscanf(name, "INPUT_%" SCNu32 "_", &index) == 1 &&
            index < 65536) /* a tensor has all its columns */
            mark_tensor(t, false, index);
        else if (sscanf(name, "OUTPUT_%" SCNu32 "_", &index) == 1 && index < 65536)
            mark_tensor(t, true, index);
    }
    mark_if(t, OP_COLUMN_ID_LOC, d->location != OPS_NONE);
}

static void append_note(struct bytes *out, const char *text)
{
    bytes_append_format(out, "%s%s", out->length ? "; " : "", text);
}

/* What is missing or wrong with a row. */
static void note_line(const struct table *t, const struct line *line, struct bytes *out)
{
    static const struct {
        uint16_t fault;
        const char *text;
    } faults[] = {
        {OP_FAULT_CUT, "message cut"},       {OP_FAULT_NO_DESCRIPTION, "program not described"},
        {OP_FAULT_NO_MESSAGE, "no message"}, {OP_FAULT_REPEATED, "id repeated"},
        {OP_FAULT_NO_RUN, "no device data"}, {OP_FAULT_NO_REPLAY, "no replay recorded"},
    };
    uint32_t call = line->call == OPS_NONE ? 0 : t->ops.calls[line->call].faults;
    uint32_t run = line->run == OPS_NONE ? 0 : t->ops.runs[line->run].faults;
    for (size_t i = 0; i < COUNT_OF(faults) && t->kind != KIND_RECORDED; i++) {
        if (call & faults[i].fault)
            append_note(out, faults[i].text);
    }
    if ((call & (OP_FAULT_NO_HOST_TIME | OP_FAULT_OPEN)) && !(call & OP_FAULT_NO_MESSAGE))
        append_note(out, "no host times");
    if (run & OP_FAULT_INCOMPLETE)
        append_note(out, "device markers missing");
    if (run & OP_FAULT_NO_REPLAY)
        append_note(out, "no replay message");
}

static void mark_figures(struct table *t, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        mark_if(t, column_of(t, t->ops.figures[first + i].name), true);
}

/* The full table has every column of the vendor's; others are there where some row fills them. */
static void mark_folder(struct table *t)
{
    const struct ops *ops = &t->ops;
    bool is_full = t->kind == KIND_FOLDER, is_quasar = ops_has_fact(ops, "kind", "quasar");
    for (uint32_t i = 0; i < OP_FIXED_COLUMN_COUNT; i++)
        mark_if(t, i, i == OP_COLUMN_ID_CALL || (is_full && !(op_fixed_columns[i].flags & OP_COLUMN_OWN)));
    for (size_t i = 0; i < ops->description_count && is_full; i++)
        mark_description(t, &ops->descriptions[i]);
    for (size_t i = 0; i < ops->call_count && is_full; i++)
        mark_figures(t, ops->calls[i].first_figure, ops->calls[i].figures);
    for (size_t i = 0; i < ops->run_count; i++)
        mark_figures(t, ops->runs[i].first_figure, ops->runs[i].figures);
    for (uint32_t i = 0; i < OP_FIXED_COLUMN_COUNT && !t->is_used.failed; i++) {
        if ((op_fixed_columns[i].flags & (is_quasar ? OP_COLUMN_NOT_QUASAR : OP_COLUMN_QUASAR)) &&
            i < t->is_used.length)
            t->is_used.data[i] = 0;
    }
    if (ops_has_fact(ops, "kind", "locations")) {
        mark_if(t, OP_COLUMN_ID_LOC, true);
        mark_if(t, OP_COLUMN_ID_CONST_EVAL, true);
        mark_if(t, OP_COLUMN_ID_PROGRAM_METADATA, true);
    }
}

static void mark_recorded(struct table *t)
{
    const struct ops *ops = &t->ops;
    bool has_signposts = ops->signpost_count > 0, has_ended = false, has_device = false;
    bool has_cores = false, has_gap = false, has_session = false, has_calls = ops->call_count > 0;
    for (size_t i = 0; i < ops->call_count; i++) {
        has_ended |= !(ops->calls[i].faults & OP_FAULT_OPEN);
        has_device |= ops->calls[i].device != OPS_NONE;
    }
    for (size_t i = 0; i < ops->run_count; i++) {
        has_cores |= ops->runs[i].cores > 0;
        has_gap |= ops->runs[i].gap_ns != OPS_NO_GAP;
        has_session |= ops->runs[i].session > 0;
    }
    recorded_mark_columns(&t->cells, mark, &t->is_used);
    mark_if(t, OP_COLUMN_ID_CALL, true);
    mark_if(t, OP_COLUMN_ID_OP_CODE, has_calls || has_signposts);
    mark_if(t, OP_COLUMN_ID_OP_TYPE, has_calls || has_signposts);
    mark_if(t, OP_COLUMN_ID_ATTRIBUTES, has_signposts);
    mark_if(t, OP_COLUMN_ID_DEVICE_ID, has_device);
    mark_if(t, OP_COLUMN_ID_HOST_START, has_ended || has_signposts);
    mark_if(t, OP_COLUMN_ID_HOST_END, has_ended);
    mark_if(t, OP_COLUMN_ID_HOST_DURATION, has_ended);
    mark_if(t, OP_COLUMN_ID_FW_START, ops->run_count);
    mark_if(t, OP_COLUMN_ID_FW_END, ops->run_count);
    mark_if(t, OP_COLUMN_ID_FW, ops->run_count);
    mark_if(t, OP_COLUMN_ID_KERNEL, ops->run_count);
    mark_if(t, OP_COLUMN_ID_CORE_COUNT, has_cores);
    mark_if(t, OP_COLUMN_ID_OP_TO_OP, has_gap);
    mark_if(t, OP_COLUMN_ID_TRACE_SESSION, has_session);
}

static int declare_csv_columns(struct table *t, struct op_rows *rows, struct error *err)
{
    int result = 0;
    uint32_t column_count = 0, *places;
    for (size_t i = 0; i < t->ops.fact_count; i++) {
        struct slice name = ops_get_slice(&t->ops, t->ops.facts[i].value);
        if (strcmp(ops_get_text(&t->ops, t->ops.facts[i].key), "column") == 0)
            tt_column(&t->model, name.data, name.length);
    }
    places = malloc((t->model.columns.count + 1) * sizeof places[0]);
    if (!places || t->model.failed) {
        free(places);
        return error_set_errno(err, ENOMEM, "%zu columns", t->model.columns.count);
    }
    memset(places, 0xff, (t->model.columns.count + 1) * sizeof places[0]);
    for (size_t i = 0; i < t->ops.fact_count && result == 0; i++) {
        struct slice name = ops_get_slice(&t->ops, t->ops.facts[i].value);
        if (strcmp(ops_get_text(&t->ops, t->ops.facts[i].key), "column") != 0)
            continue;
        const char *again = memchr(name.data, TT_COLUMN_AGAIN, name.length);
        places[tt_column(&t->model, name.data, name.length)] = column_count++;
        result = op_rows_add_column(rows, name.data, again ? (size_t)(again - name.data) : name.length, err);
    }
    t->row.place_of_column = places;
    t->row.column_count = t->model.columns.count;
    return result;
}

static int declare_columns(struct table *t, struct op_rows *rows, struct error *err)
{
    struct bytes note = {0};
    if (t->kind == KIND_CSV)
        return declare_csv_columns(t, rows, err);
    if (t->kind == KIND_RECORDED)
        mark_recorded(t);
    else
        mark_folder(t);
    for (size_t i = 0; i < t->line_count && !note.length; i++)
        note_line(t, &t->lines[i], &note);
    mark_if(t, OP_COLUMN_ID_NOTE, note.length > 0);
    bytes_free(&note);
    mark_if(t, (uint32_t)t->model.columns.count, true); /* as long as there are columns */
    if (t->is_used.failed || t->model.failed)
        return error_set_errno(err, ENOMEM, "%zu columns", t->model.columns.count);
    return tt_row_declare(&t->row, rows, &t->model.columns, (const bool *)t->is_used.data, err);
}

/* --- lines --- */

static void add_line(struct table *t, uint64_t time_ns, uint32_t call, uint32_t run, uint32_t signpost)
{
    if (array_reserve(&t->lines, &t->line_capacity, t->line_count + 1, sizeof t->lines[0])) {
        t->lines[t->line_count] = (struct line){time_ns, t->line_count, call, run, signpost};
        t->line_count++;
    } else {
        t->model.failed = true;
    }
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

struct further { /* a run that is not on its call's own row */
    uint64_t number;
    uint32_t device, session, run;
};

static int compare_further(const void *left, const void *right)
{
    const struct further *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

static uint64_t replay_time(const struct table *t, const struct op_run *run)
{
    const struct op_figure *figure = ops_find_figure(&t->ops, run->first_figure, run->figures, t->replay_ns);
    return figure ? figure->whole : 0;
}

/* Rows of one time: ops as they were dispatched, then replays, then signposts. */
static void order_folder(struct table *t)
{
    const struct ops *ops = &t->ops;
    uint32_t *own = malloc((ops->call_count + 1) * sizeof own[0]);
    struct further *further = calloc(ops->run_count + 1, sizeof further[0]);
    size_t count = 0;
    if (!own || !further)
        t->model.failed = true;
    else
        memset(own, 0xff, (ops->call_count + 1) * sizeof own[0]);
    for (uint32_t i = 0; i < ops->run_count && !t->model.failed; i++) {
        const struct op_run *run = &ops->runs[i];
        if (run->call == OPS_NONE)
            continue;
        if (!run->session && own[run->call] == OPS_NONE)
            own[run->call] = i;
        else
            further[count++] = (struct further){
                ops->calls[run->call].number,
                run->device == OPS_NO_DEVICE ? 0 : ops->devices[run->device].number, run->session, i};
    }
    for (uint32_t i = 0; i < ops->call_count && !t->model.failed; i++)
        add_line(t, ops->calls[i].start_ns, i, own[i], OPS_NONE);
    if (further)
        qsort(further, count, sizeof further[0], compare_further);
    for (size_t i = 0; i < count && !t->model.failed; i++)
        add_line(t, replay_time(t, &ops->runs[further[i].run]), ops->runs[further[i].run].call,
                 further[i].run, OPS_NONE);
    for (uint32_t i = 0; i < ops->signpost_count && !t->model.failed; i++)
        add_line(t, ops->signposts[i].time_ns, OPS_NONE, OPS_NONE, i);
    if (t->line_count)
        qsort(t->lines, t->line_count, sizeof t->lines[0], compare_lines);
    free(own);
    free(further);
}

static int order_lines(struct table *t, struct error *err)
{
    int result = t->kind == KIND_RECORDED ? ops_finish(&t->ops, err) : 0;
    if (t->kind == KIND_RECORDED) {
        /* runs of no call have no row */
        size_t count = result ? 0 : t->ops.call_count ? t->ops.line_count : t->ops.signpost_count;
        for (size_t i = 0; i < count; i++)
            add_line(t, 0, t->ops.lines[i].call, t->ops.lines[i].run, t->ops.lines[i].signpost);
    } else if (t->kind == KIND_DEVICES) {
        for (uint32_t i = 0; i < t->ops.run_count; i++)
            add_line(t, 0, OPS_NONE, i, OPS_NONE);
    } else if (t->kind == KIND_FOLDER) {
        order_folder(t);
    }
    return result ? result : t->model.failed ? error_set_errno(err, ENOMEM, "a table") : 0;
}

/* --- cells --- */

static void set_cell(void *context, uint32_t column, struct slice text)
{
    tt_row_set_cell(context, column, text.data, text.length);
}

static void set_figure(struct table *t, const struct op_figure *figure, bool may_replace)
{
    struct bytes *scratch = &t->row.scratch;
    uint32_t column = column_of(t, figure->name);
    uint32_t place = tt_row_place(&t->row, column);
    size_t from = scratch->length;
    if (place == TT_NONE || (!may_replace && t->row.cells[place].data))
        return;
    if (figure->kind == OP_FIGURE_TEXT) {
        struct slice text = ops_get_slice(&t->ops, (uint32_t)figure->whole);
        tt_row_set_cell(&t->row, column, text.data, text.length);
        return;
    }
    if (!op_figure_is_real(figure->kind)) {
        tt_row_set_number(&t->row, column, figure->whole);
        return;
    }
    python_append_float(scratch, figure->real);
    tt_row_set_cell(&t->row, column, (const char *)scratch->data + from, scratch->length - from);
}

static void set_tensor(struct table *t, bool is_output, uint32_t index, const struct op_tensor *tensor)
{
    const uint32_t texts[] = {tensor->layout, tensor->dtype, tensor->memory};
    const struct tensor_columns *columns = recorded_tensor_columns(&t->cells, is_output, index);
    uint64_t logical[4], padded[4];
    bool has_sizes = ops_four_sizes(&t->ops, tensor->shape, tensor->rank, logical) &&
                     ops_four_sizes(&t->ops, tensor->padded, tensor->rank, padded);
    for (unsigned i = 0; i < 4 && has_sizes && columns; i++) {
        size_t from = t->row.scratch.length;
        bytes_append_format(&t->row.scratch, "%" PRIu64 "[%" PRIu64 "]", padded[i], logical[i]);
        tt_row_set_cell(&t->row, columns->of_field[i], (const char *)t->row.scratch.data + from,
                        t->row.scratch.length - from);
    }
    for (unsigned i = OP_TENSOR_LAYOUT; i < OP_TENSOR_FIELDS && columns; i++) {
        struct slice text = ops_get_slice(&t->ops, texts[i - OP_TENSOR_LAYOUT]);
        tt_row_set_cell(&t->row, columns->of_field[i], text.data, text.length);
    }
}

static void set_description(struct table *t, const struct op_description *d)
{
    const struct ops *ops = &t->ops;
    struct slice cell;
    for (uint32_t i = 0; i < d->inputs; i++)
        set_tensor(t, false, i, &ops->tensors[ops_inputs(ops, d)[i]]);
    for (uint32_t i = 0; i < d->outputs; i++)
        set_tensor(t, true, i, &ops->tensors[ops_outputs(ops, d)[i]]);
    for (size_t i = 0; i < d->attributes; i++) {
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, d)[i]];
        uint32_t column = column_of(t, attribute->key);
        if (column == TT_NONE || attribute->value == OPS_NONE)
            continue;
        cell = ops_get_slice(ops, attribute->value);
        tt_row_set_cell(&t->row, column, cell.data, cell.length);
    }
    for (size_t i = 0; i < d->kernels; i++) {
        uint32_t column = kernel_column(t, ops_kernels(ops, d)[i], &cell);
        if (column != TT_NONE)
            tt_row_set_cell(&t->row, column, cell.data, cell.length);
    }
    if (d->location != OPS_NONE) {
        struct slice place = ops_get_slice(ops, d->location);
        size_t skipped = slice_begins(place, "LOC=") ? 4 : 0; /* as traces had it once */
        tt_row_set_text(&t->row, OP_COLUMN_ID_LOC, place.data + skipped, place.length - skipped);
    }
}

/* What is the program's own time 0; of signposts (OPS_NONE) that of the first program. */
static uint64_t origin_of(const struct table *t, uint32_t process)
{
    for (size_t i = 0; i < t->origin_count; i++) {
        if (process == OPS_NONE || t->origins[i].process == process)
            return t->origins[i].ns;
    }
    return 0;
}

static uint64_t own_time(uint64_t ns, uint64_t origin)
{
    return ns > origin ? ns - origin : 0;
}

static void set_host_times(struct table *t, const struct op_call *call)
{
    uint64_t origin = origin_of(t, call->process);
    if (call->faults & (OP_FAULT_NO_HOST_TIME | OP_FAULT_OPEN))
        return;
    tt_row_set_number(&t->row, OP_COLUMN_ID_HOST_START, own_time(call->start_ns, origin));
    tt_row_set_number(&t->row, OP_COLUMN_ID_HOST_END, own_time(call->end_ns, origin));
    tt_row_set_number(&t->row, OP_COLUMN_ID_HOST_DURATION, call->end_ns - call->start_ns);
}

static void set_call(struct table *t, const struct op_call *call)
{
    struct slice name = ops_get_slice(&t->ops, call->name);
    if (t->kind == KIND_RECORDED) {
        recorded_describe(&t->cells, call, set_cell, &t->row);
        if (call->device != OPS_NONE)
            tt_row_set_number(&t->row, OP_COLUMN_ID_DEVICE_ID, t->ops.devices[call->device].number);
    } else {
        if (t->kind == KIND_FOLDER)
            tt_row_set_text(&t->row, OP_COLUMN_ID_OP_CODE, name.data, name.length);
        else
            tt_row_set_cell(&t->row, OP_COLUMN_ID_OP_CODE, name.data, name.length);
        set_description(t, ops_get_description(&t->ops, call->description));
    }
    if (t->kind != KIND_CSV) {
        tt_row_set_number(&t->row, OP_COLUMN_ID_CALL, call->number);
        set_host_times(t, call);
    }
    for (uint32_t i = 0; i < call->figures; i++)
        set_figure(t, &t->ops.figures[call->first_figure + i], true);
}

static void set_recorded_run(struct table *t, const struct op_run *run)
{
    struct tt_row_writer *row = &t->row;
    char text[24];
    struct op_ticks ticks = ops_ticks(&t->ops, run);
    tt_row_set_number(row, OP_COLUMN_ID_FW_START, ticks.start);
    tt_row_set_number(row, OP_COLUMN_ID_FW_END, ticks.end);
    tt_row_set_number(row, OP_COLUMN_ID_FW, run->duration_ns);
    tt_row_set_number(row, OP_COLUMN_ID_KERNEL, run->duration_ns);
    if (run->cores)
        tt_row_set_number(row, OP_COLUMN_ID_CORE_COUNT, run->cores);
    if (run->gap_ns != OPS_NO_GAP)
        tt_row_set_text(row, OP_COLUMN_ID_OP_TO_OP, text,
                        (size_t)snprintf(text, sizeof text, "%" PRId64, run->gap_ns));
    if (run->session)
        tt_row_set_number(row, OP_COLUMN_ID_TRACE_SESSION, run->session);
}

static bool row_number(const struct table *t, uint32_t column, uint64_t *value)
{
    uint32_t place = tt_row_place(&t->row, column);
    return place != TT_NONE && t->row.cells[place].data && slice_unsigned(t->row.cells[place], value);
}

/* Traces of version 1 do not have it: it follows from two other cells. */
static void set_missing_share(struct table *t)
{
    struct bytes *scratch = &t->row.scratch;
    uint32_t place = tt_row_place(&t->row, OP_COLUMN_ID_PM_FPU_UTIL);
    uint64_t compute_ns, kernel_ns;
    size_t from = scratch->length;
    if (place == TT_NONE || t->row.cells[place].data ||
        !row_number(t, OP_COLUMN_ID_PM_COMPUTE, &compute_ns) ||
        !row_number(t, OP_COLUMN_ID_KERNEL, &kernel_ns))
        return;
    python_append_float(scratch, tt_share_of_compute(compute_ns, kernel_ns));
    tt_row_set_cell(&t->row, OP_COLUMN_ID_PM_FPU_UTIL, (const char *)scratch->data + from,
                    scratch->length - from);
}

static void set_run(struct table *t, const struct op_run *run)
{
    const struct ops *ops = &t->ops;
    const struct op_figure *number =
        run->call == OPS_NONE ? ops_find_figure(ops, run->first_figure, run->figures, t->number) : NULL;
    const struct op_figure *capture = ops_find_figure(ops, run->first_figure, run->figures, t->capture);
    for (uint32_t i = 0; i < run->figures; i++)
        set_figure(t, &ops->figures[run->first_figure + i], false);
    if (t->is_version_1)
        set_missing_share(t);
    if (number)
        tt_row_set_number(&t->row, OP_COLUMN_ID_CALL, number->whole);
    if (run->session == 0 || t->kind == KIND_DEVICES)
        return;
    if (capture)
        tt_row_set_number(&t->row, OP_COLUMN_ID_TRACE_ID, capture->whole);
    tt_row_set_number(&t->row, OP_COLUMN_ID_TRACE_SESSION, run->session);
}

static void set_signpost(struct table *t, const struct op_signpost *signpost)
{
    struct slice header = ops_get_slice(&t->ops, signpost->header);
    uint64_t time_ns = own_time(signpost->time_ns, origin_of(t, OPS_NONE));
    tt_row_set_signpost(&t->row,
                        &(struct tt_signpost){time_ns, header, ops_get_slice(&t->ops, signpost->text)});
    if (t->kind != KIND_RECORDED)
        return;
    tt_row_set_cell(&t->row, OP_COLUMN_ID_OP_CODE, header.data, header.length); /* a comma stays one */
    tt_row_set_cell(&t->row, OP_COLUMN_ID_NOTE, "", 0);
}

/* An upper bound of what a row writes into the scratch: cells that lie there must not move. */
static size_t scratch_need(const struct table *t, const struct line *line)
{
    const struct ops *ops = &t->ops;
    size_t need = OTHER_BYTES, cells = 0;
    if (line->signpost != OPS_NONE)
        need += ops_get_slice(ops, ops->signposts[line->signpost].header).length +
                ops_get_slice(ops, ops->signposts[line->signpost].text).length;
    if (line->call != OPS_NONE) {
        const struct op_call *call = &ops->calls[line->call];
        const struct op_description *d = ops_get_description(ops, call->description);
        need += ops_get_slice(ops, call->name).length + ops_get_slice(ops, d->location).length;
        cells += call->figures + 4 * ((size_t)d->inputs + d->outputs);
    }
    if (line->run != OPS_NONE)
        cells += ops->runs[line->run].figures;
    return need + (cells + t->is_version_1) * NUMBER_BYTES;
}

/* 1 with the next line, 0 at the end. */
static int next_line(struct table *t, struct line *line, struct error *err)
{
    int status = 1;
    while (t->kind == KIND_CSV && t->next_line >= t->ops.call_count && status > 0) {
        status = ops_pieces_next(t->pieces, err);
        t->next_line = 0;
    }
    if (status <= 0 || (t->kind != KIND_CSV && t->next_line >= t->line_count))
        return status < 0 ? status : 0;
    *line = t->kind == KIND_CSV
                ? (struct line){.call = (uint32_t)t->next_line, .run = OPS_NONE, .signpost = OPS_NONE}
                : t->lines[t->next_line];
    t->next_line++;
    return 1;
}

static int next(void *state, struct op_rows *rows, struct slice *cells, uint64_t *source_line,
                struct error *err)
{
    struct table *t = state;
    struct line line;
    (void)rows;
    (void)source_line;
    int status = next_line(t, &line, err);
    if (status <= 0)
        return status;
    if (!tt_row_begin(&t->row, cells, scratch_need(t, &line)))
        return error_set_errno(err, ENOMEM, "row %zu", t->next_line);
    if (line.signpost != OPS_NONE)
        set_signpost(t, &t->ops.signposts[line.signpost]);
    if (line.call != OPS_NONE)
        set_call(t, &t->ops.calls[line.call]);
    if (line.run != OPS_NONE && t->kind == KIND_RECORDED)
        set_recorded_run(t, &t->ops.runs[line.run]);
    else if (line.run != OPS_NONE)
        set_run(t, &t->ops.runs[line.run]);
    if (t->kind != KIND_CSV && tt_row_place(&t->row, OP_COLUMN_ID_NOTE) != TT_NONE &&
        line.signpost == OPS_NONE) {
        struct bytes *scratch = &t->row.scratch;
        struct bytes note = {0};
        size_t from = scratch->length;
        note_line(t, &line, &note);
        bytes_append(scratch, note.data, note.length);
        tt_row_set_cell(&t->row, OP_COLUMN_ID_NOTE, (const char *)scratch->data + from,
                        scratch->length - from);
        bytes_free(&note);
    }
    return t->model.failed ? error_set_errno(err, ENOMEM, "row %zu", t->next_line) : 1;
}

/* --- opening --- */

static void close_table(void *state)
{
    struct table *t = state;
    ops_pieces_close(t->pieces);
    recorded_cells_free(&t->cells);
    tt_model_free(&t->model);
    tt_row_writer_free(&t->row);
    ops_free(&t->ops);
    trace_close(t->trace);
    free(t->lines);
    free(t->origins);
    free(t->column_of_text);
    bytes_free(&t->is_used);
    free(t);
}

static struct table *new_table(void)
{
    struct table *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    tt_model_init(&t->model);
    ops_init(&t->ops);
    t->cells = (struct recorded_cells){.model = &t->model, .ops = &t->ops};
    t->capture = ops_text(&t->ops, slice_of(OPS_FIGURE_CAPTURE));
    t->replay_ns = ops_text(&t->ops, slice_of(OPS_FIGURE_REPLAY_NS));
    t->number = ops_text(&t->ops, slice_of(OPS_FIGURE_NUMBER));
    return t;
}

/* Takes the filled table over. */
static int open_rows(struct op_rows **rows, struct table *t, const char *path, bool is_folder,
                     struct error *err)
{
    static const struct op_rows_source folder = {.kind = "log folder", .next = next, .close = close_table};
    static const struct op_rows_source trace = {.kind = "trace", .next = next, .close = close_table};
    int result = order_lines(t, err);
    if (result != 0) {
        close_table(t);
        error_prefix(err, "%s", path);
        return result;
    }
    *rows = op_rows_new(is_folder ? &folder : &trace, t, path);
    if (!*rows)
        return error_set_errno(err, ENOMEM, "%s", path);
    result = declare_columns(t, *rows, err);
    for (size_t i = 0; i < t->ops.notice_count && result == 0; i++) {
        const struct op_notice *notice = &t->ops.notices[i];
        for (uint64_t k = 0; k < notice->count; k++)
            op_rows_add_notice(*rows, notice->kind, notice->first_line, "%s",
                               ops_get_text(&t->ops, notice->text));
    }
    if (result != 0) {
        op_rows_close(*rows);
        *rows = NULL;
    }
    return result;
}

int tt_rows_open_model(struct op_rows **rows, const char *path, struct tt_model *model, struct error *err)
{
    struct table *t = new_table();
    *rows = NULL;
    if (!t)
        return error_set_errno(err, ENOMEM, "%s", path);
    int result = tt_to_ops(model, &t->ops, NULL, NULL, err);
    if (result != 0) {
        close_table(t);
        return result;
    }
    t->kind = model->is_device_only ? KIND_DEVICES : KIND_FOLDER;
    return open_rows(rows, t, path, true, err);
}

int tt_rows_open(struct op_rows **rows, const char *path, const struct import_options *options,
                 struct error *err)
{
    struct tt_model model;
    *rows = NULL;
    tt_model_init(&model);
    int result = tt_load_path(&model, path, options, err);
    if (result == 0)
        result = tt_rows_open_model(rows, path, &model, err);
    tt_model_free(&model);
    return result;
}

static void read_origins(struct table *t)
{
    for (size_t i = 0; i < t->ops.fact_count; i++) {
        struct origin origin;
        const char *value = ops_get_text(&t->ops, t->ops.facts[i].value);
        if (strcmp(ops_get_text(&t->ops, t->ops.facts[i].key), TT_FACT_ORIGIN) != 0 ||
            sscanf(value, "%" SCNu32 " %" SCNu64, &origin.process, &origin.ns) != 2)
            continue;
        if (array_reserve(&t->origins, &t->origin_capacity, t->origin_count + 1, sizeof t->origins[0]))
            t->origins[t->origin_count++] = origin;
        else
            t->model.failed = true;
    }
}

int tt_trace_rows_open(struct op_rows **rows, struct trace *trace, const char *path, struct error *err)
{
    const struct ops_wanted cells = {.figures = true, .signposts = true, .remarks = true},
                            own = {.signposts = true},
                            table = {.figures = true, .remarks = true, .without_runs = true};
    struct table *t = new_table();
    *rows = NULL;
    int result;
    if (!t) {
        trace_close(trace);
        return error_set_errno(err, ENOMEM, "%s", path);
    }
    t->trace = trace;
    const struct trace_track *import = ops_import_track(t->trace);
    if (import && strcmp(import->name, TT_TRACK_FOLDER) != 0) {
        t->kind = KIND_CSV;
        result = ops_pieces_open(&t->pieces, &t->ops, t->trace, &table, err);
    } else {
        bool is_reported = tt_reported_is_in(t->trace);
        t->is_version_1 = import && trace_get_info(t->trace)->format_version == 1;
        result = ops_from_trace(&t->ops, t->trace, import || is_reported ? &cells : &own, err);
        if (result == 0 && is_reported)
            result = tt_reported_read(&t->ops, t->trace, NULL, 0, 0, err);
        t->kind = !import && !is_reported                        ? KIND_RECORDED
                  : ops_has_fact(&t->ops, "kind", "device only") ? KIND_DEVICES
                                                                 : KIND_FOLDER;
        read_origins(t);
    }
    if (result != 0) {
        close_table(t);
        error_prefix(err, "%s", path);
        return result;
    }
    return open_rows(rows, t, path, false, err);
}
