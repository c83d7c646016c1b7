/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device/per_core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RECORDER_CYCLES 1500

struct pair_key { /* the n-th time that one op followed the other on a core */
    uint64_t from_id, to_id;
    uint32_t device, nth;
};

static int compare_places(const void *left, const void *right)
{
    const struct tt_core *a = left, *b = right;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return (a->y > b->y) - (a->y < b->y);
}

static bool make_columns(struct tt_per_core *table, const struct tt_log *log)
{
    table->columns = calloc(log->core_count + 1, sizeof table->columns[0]);
    if (!table->columns)
        return false;
    if (log->core_count)
        memcpy(table->columns, log->cores, log->core_count * sizeof table->columns[0]);
    qsort(table->columns, log->core_count, sizeof table->columns[0], compare_places);
    for (size_t i = 0; i < log->core_count; i++) {
        if (i == 0 || compare_places(&table->columns[i], &table->columns[table->column_count - 1]) != 0)
            table->columns[table->column_count++] = table->columns[i];
    }
    return true;
}

static uint32_t column_of(const struct tt_per_core *table, const struct tt_core *core)
{
    const struct tt_core *found =
        bsearch(core, table->columns, table->column_count, sizeof table->columns[0], compare_places);
    return found ? (uint32_t)(found - table->columns) : 0;
}

/* How often a pair came on the core that is walked: an id in `pairs`, counted by stamp. */
struct occurrence {
    uint32_t core_plus_1, count;
};

struct maker {
    struct tt_per_core *table;
    struct intern pairs, rows;
    struct occurrence *occurrences;
    size_t occurrence_capacity;
};

static bool add_cell(struct maker *m, const struct tt_core *core, const struct tt_core_gap *gap)
{
    struct tt_per_core *table = m->table;
    struct pair_key key = {gap->from_id, gap->to_id, core->device, 0};
    size_t had = m->occurrence_capacity;
    uint32_t pair = intern_add(&m->pairs, &key, sizeof key);
    if (pair == INTERN_NONE ||
        !array_reserve(&m->occurrences, &m->occurrence_capacity, (size_t)pair + 1, sizeof m->occurrences[0]))
        return false;
    if (m->occurrence_capacity > had)
        memset(m->occurrences + had, 0, (m->occurrence_capacity - had) * sizeof m->occurrences[0]);
    struct occurrence *occurrence = &m->occurrences[pair];
    if (occurrence->core_plus_1 != gap->core + 1)
        *occurrence = (struct occurrence){gap->core + 1, 0};
    key.nth = ++occurrence->count;
    uint32_t row = intern_add(&m->rows, &key, sizeof key);
    if (row == INTERN_NONE ||
        !array_reserve(&table->rows, &table->row_capacity, (size_t)row + 1, sizeof table->rows[0]) ||
        !array_reserve(&table->cells, &table->cell_capacity, table->cell_count + 1, sizeof table->cells[0]))
        return false;
    if (row == table->row_count)
        table->rows[table->row_count++] =
            (struct tt_per_core_row){core->device, gap->from_id, gap->to_id, gap->start, 0, 0};
    else if (gap->start < table->rows[row].first_start)
        table->rows[row].first_start = gap->start;
    table->cells[table->cell_count++] = (struct tt_per_core_cell){
        row, column_of(table, core), (int64_t)(gap->end - gap->start) - RECORDER_CYCLES};
    return true;
}

struct row_order {
    uint32_t device, row;
    uint64_t first_start;
};

static int compare_rows(const void *left, const void *right)
{
    const struct row_order *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->first_start != b->first_start)
        return a->first_start < b->first_start ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int compare_cells(const void *left, const void *right)
{
    const struct tt_per_core_cell *a = left, *b = right;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    return (a->column > b->column) - (a->column < b->column);
}

static bool put_in_order(struct tt_per_core *table)
{
    struct row_order *order = calloc(table->row_count + 1, sizeof order[0]);
    struct tt_per_core_row *sorted = calloc(table->row_count + 1, sizeof sorted[0]);
    uint32_t *place = calloc(table->row_count + 1, sizeof place[0]);
    bool is_fine = order && sorted && place;
    for (size_t i = 0; is_fine && i < table->row_count; i++)
        order[i] = (struct row_order){table->rows[i].device, (uint32_t)i, table->rows[i].first_start};
    if (is_fine) {
        qsort(order, table->row_count, sizeof order[0], compare_rows);
        for (size_t i = 0; i < table->row_count; i++) {
            sorted[i] = table->rows[order[i].row];
            place[order[i].row] = (uint32_t)i;
        }
        for (size_t i = 0; i < table->cell_count; i++)
            table->cells[i].row = place[table->cells[i].row];
        if (table->cell_count)
            qsort(table->cells, table->cell_count, sizeof table->cells[0], compare_cells);
        for (size_t i = 0; i < table->cell_count; i++) {
            struct tt_per_core_row *row = &sorted[table->cells[i].row];
            if (row->cell_count++ == 0)
                row->first_cell = i;
        }
        free(table->rows);
        table->rows = sorted;
        sorted = NULL;
    }
    free(order);
    free(sorted);
    free(place);
    return is_fine;
}

int tt_per_core_make(struct tt_per_core *table, struct tt_log *log, struct error *err)
{
    struct maker maker = {.table = table};
    struct tt_core_gaps gaps = {0};
    *table = (struct tt_per_core){0};
    int result = tt_log_core_gaps(log, &gaps, err);
    bool is_fine = result == 0 && make_columns(table, log);
    for (size_t i = 0; is_fine && i < gaps.count; i++) {
        if (gaps.items[i].from_mark != gaps.items[i].to_mark) /* else both are of one run */
            is_fine = add_cell(&maker, &log->cores[gaps.items[i].core], &gaps.items[i]);
    }
    is_fine = is_fine && put_in_order(table);
    intern_free(&maker.pairs);
    intern_free(&maker.rows);
    free(maker.occurrences);
    tt_core_gaps_free(&gaps);
    if (result == 0 && !is_fine) {
        tt_per_core_free(table);
        result = error_set_errno(err, ENOMEM, "times between ops");
    }
    return result;
}

void tt_per_core_free(struct tt_per_core *table)
{
    free(table->columns);
    free(table->rows);
    free(table->cells);
    *table = (struct tt_per_core){0};
}
