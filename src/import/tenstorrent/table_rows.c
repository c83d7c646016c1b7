/* SPDX-License-Identifier: Apache-2.0 */
/* Op rows of a trace that was made of an ops CSV: the table as it was, row after row. Each row is an op of the trace,
 * its cells are figures; those of older traces and very long ones are parts of its description. Nothing is kept of a
 * row once the next one is asked for; what equal descriptions say is looked up once. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "import/tenstorrent/trace.h"
#include "text/python_text.h"

#define MOST_DIGITS 32u /* of a number */

struct text_cell {
    uint32_t place;
    struct slice text; /* of the trace */
};

struct cells_of_description {
    uint32_t first, count;
    bool is_known;
};

struct state {
    struct trace *trace;
    struct trace_rows rows;
    size_t position, next_row;
    struct intern names;                       /* columns, also those of one name: id is the place */
    uint32_t *place_of_name;                   /* by name id of the trace, + 1; 0: not asked for yet */
    struct cells_of_description *descriptions; /* by id */
    struct text_cell *cells;
    size_t name_count, description_count, cell_count, cell_capacity;
    bool *is_wanted; /* by place */
    struct bytes text;
};

static bool grow(void *array, size_t *count, size_t need, size_t size)
{
    size_t had = *count;
    void **items = array;
    if (need <= had)
        return true;
    if (!array_reserve(items, count, need, size))
        return false;
    memset((char *)*items + had * size, 0, (*count - had) * size);
    return true;
}

/* --- a row --- */

static const struct cells_of_description *describe(struct state *s, uint32_t id)
{
    size_t count = 0;
    const struct trace_part *parts = trace_get_description(s->trace, id, &count);
    if (!grow(&s->descriptions, &s->description_count, (size_t)id + 1, sizeof s->descriptions[0]))
        return NULL;
    struct cells_of_description *known = &s->descriptions[id];
    if (known->is_known)
        return known;
    *known = (struct cells_of_description){.first = (uint32_t)s->cell_count, .is_known = true};
    for (size_t i = 0; i < count; i++) {
        const char *equals = strchr(parts[i].text, '=');
        uint32_t place =
            equals ? intern_find(&s->names, parts[i].text, (size_t)(equals - parts[i].text)) : INTERN_NONE;
        if (place == INTERN_NONE)
            continue;
        if (!array_reserve(&s->cells, &s->cell_capacity, s->cell_count + 1, sizeof s->cells[0]))
            return NULL;
        s->cells[s->cell_count++] = (struct text_cell){place, slice_of(equals + 1)};
    }
    known->count = (uint32_t)s->cell_count - known->first;
    return known;
}

static bool place_of(struct state *s, uint32_t name, uint32_t *place)
{
    if (!grow(&s->place_of_name, &s->name_count, (size_t)name + 1, sizeof s->place_of_name[0]))
        return false;
    if (!s->place_of_name[name]) {
        const char *text = trace_get_name(s->trace, name)->name;
        uint32_t found = intern_find(&s->names, text, strlen(text));
        s->place_of_name[name] = found == INTERN_NONE ? UINT32_MAX : found + 1;
    }
    *place = s->place_of_name[name] - 1;
    return true;
}

static bool set_figure(struct state *s, const struct trace_run_part *figure, struct slice *cells)
{
    uint32_t place;
    size_t from = s->text.length;
    if (!place_of(s, figure->name, &place))
        return false;
    if (place >= s->names.count || (s->is_wanted && !s->is_wanted[place]))
        return true;
    if (figure->kind == TRACE_FIGURE_TEXT) {
        cells[place] = slice_of(trace_get_name(s->trace, (uint32_t)figure->whole)->name);
        return true;
    }
    if (trace_figure_is_real(figure->kind))
        python_append_float(&s->text, figure->real);
    else
        bytes_append_format(&s->text, "%" PRIu64, figure->whole);
    cells[place] = slice_from((const char *)s->text.data + from, s->text.length - from);
    return true;
}

static bool set_row(struct state *s, const struct trace_op *op, struct slice *cells)
{
    bytes_clear(&s->text);
    if (!bytes_reserve(&s->text, (size_t)op->part_count * MOST_DIGITS + 1))
        return false;
    if (op->description != TRACE_NONE) {
        const struct cells_of_description *known = describe(s, op->description);
        for (uint32_t i = 0; known && i < known->count; i++)
            cells[s->cells[known->first + i].place] = s->cells[known->first + i].text;
        if (!known)
            return false;
    }
    for (uint32_t i = 0; i < op->part_count; i++) {
        if (!set_figure(s, &op->parts[i], cells))
            return false;
    }
    return true;
}

static int next(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_OPS};
    struct state *s = state;
    (void)rows;
    (void)line;
    while (s->next_row >= s->rows.count) {
        const struct trace_block *block = trace_next_block(s->trace, &filter, &s->position);
        if (!block)
            return 0;
        int status = trace_decode_rows(s->trace, block, &s->rows, err);
        if (status)
            return status;
        s->next_row = 0;
    }
    return set_row(s, &s->rows.ops[s->next_row++], cells) ? 1 : error_set_errno(err, ENOMEM, "a row");
}

static int prepare(void *state, const bool *is_wanted, size_t column_count, struct error *err)
{
    struct state *s = state;
    s->is_wanted = malloc(column_count + 1);
    if (!s->is_wanted)
        return error_set_errno(err, ENOMEM, "%zu columns", column_count);
    memcpy(s->is_wanted, is_wanted, column_count * sizeof is_wanted[0]);
    return 0;
}

static struct trace *take_trace(void *state)
{
    struct state *s = state;
    struct trace *trace = s->trace;
    s->trace = NULL;
    return trace;
}

static void close_state(void *state)
{
    struct state *s = state;
    trace_rows_free(&s->rows);
    intern_free(&s->names);
    free(s->place_of_name);
    free(s->descriptions);
    free(s->cells);
    free(s->is_wanted);
    bytes_free(&s->text);
    trace_close(s->trace);
    free(s);
}

/* --- columns and notes --- */

/* Columns are told apart by a number after the names of those that come again. */
static int take_point(struct state *s, struct op_rows *rows, const struct trace_point *point, uint32_t *notes,
                      struct error *err)
{
    if (point->kind != TRACE_POINT_MESSAGE)
        return 0;
    if (strcmp(point->header, "import") == 0)
        op_rows_add_notice(rows, (*notes)++, 0, "%s", point->text);
    if (strcmp(point->header, "column") != 0)
        return 0;
    const char *again = memchr(point->text, TT_COLUMN_AGAIN, point->text_length);
    if (intern_add(&s->names, point->text, point->text_length) == INTERN_NONE)
        return error_set_errno(err, ENOMEM, "%zu columns", s->names.count);
    return op_rows_add_column(rows, point->text, again ? (size_t)(again - point->text) : point->text_length,
                              err);
}

int table_rows_open(struct op_rows **rows, const char *path, struct trace *trace, struct error *err)
{
    static const struct op_rows_source source = {
        .kind = "trace", .next = next, .prepare = prepare, .take_trace = take_trace, .close = close_state};
    struct trace_block_filter filter = {.type = TRACE_BLOCK_POINTS};
    struct state *s = calloc(1, sizeof *s);
    const struct trace_block *block;
    size_t position = 0;
    uint32_t notes = 0;
    int status = 0;
    *rows = NULL;
    if (!s) {
        trace_close(trace);
        return error_set_errno(err, ENOMEM, "%s", path);
    }
    s->trace = trace;
    *rows = op_rows_new(&source, s, path);
    if (!*rows)
        return error_set_errno(err, ENOMEM, "%s", path);
    while (!status && (block = trace_next_block(trace, &filter, &position))) {
        status = trace_decode_rows(trace, block, &s->rows, err);
        for (size_t i = 0; !status && i < s->rows.count; i++)
            status = take_point(s, *rows, &s->rows.points[i], &notes, err);
    }
    s->rows.count = s->next_row = 0;
    if (status) {
        op_rows_close(*rows);
        *rows = NULL;
    }
    return status;
}
