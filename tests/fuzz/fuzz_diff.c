/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the path from the bytes of two ops CSVs to their comparison: rows, shapes, matching, tests, every writer. The
 * first byte chooses the options, the second where the first file ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load/diff.h"
#include "analyze/diff/diff.h"
#include "analyze/report/report.h"
#include "import/op_rows.h"
#include "present/diff/html.h"
#include "present/diff/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct machine_set machines_for_test(void)
{
    static struct machine machine;
    machine_defaults(&machine);
    memcpy(machine.name, "wormhole", 9);
    machine_take(&machine, "worker_cores", 64);
    machine_take(&machine, "dram_gb_s", 288);
    return (struct machine_set){.machines = &machine, .count = 1, .capacity = 1};
}

static int load(struct diff *diff, int side, const void *data, size_t size)
{
    static char buffers[PERF_COLUMNS][40];
    bool has[PERF_COLUMNS];
    const char *names[PERF_COLUMNS];
    struct slice cells[PERF_COLUMNS];
    struct machine_set machines = machines_for_test();
    struct perf_options options = {.machines = &machines, .ignore_signposts = true, .print_signposts = true};
    struct op_rows *rows = NULL;
    struct op_row row;
    struct perf perf;
    uint32_t *shapes = NULL;
    size_t capacity = 0;
    diff->runs[side].path = strdup(side ? "b.csv" : "a.csv");
    diff->runs[side].kind = "ops CSV";
    int status = perf_begin(&perf, &options, NULL);
    if (!status)
        status = op_rows_open_memory(&rows, "fuzz.csv", data, size, NULL);
    for (size_t i = 0; i < PERF_COLUMNS && !status; i++) {
        names[i] = perf_column_name(i, false, buffers[i], sizeof buffers[i]);
        has[i] = op_rows_find_column(rows, names[i]) != SIZE_MAX;
    }
    if (!status)
        status = perf_begin_file(&perf, "fuzz.csv", has, false, true, NULL);
    if (!status)
        status = op_rows_select(rows, names, PERF_COLUMNS, NULL);
    while (!status && op_rows_next(rows, &row, NULL) > 0) {
        for (size_t i = 0; i < PERF_COLUMNS; i++)
            cells[i] = (struct slice){row.cells[i].data, row.cells[i].length};
        if (!array_reserve(&shapes, &capacity, perf.row_count + 1, sizeof *shapes))
            break;
        shapes[perf.row_count] = diff_shape_of_cells(diff, cells);
        status = perf_add_row(&perf, cells, row.line, NULL);
    }
    if (!status)
        status = perf_end_file(&perf, NULL);
    if (!status)
        status = diff_take_perf(diff, side, &perf, shapes, NULL);
    op_rows_close(rows);
    perf_free(&perf);
    free(shapes);
    return status;
}

static void write_all(const struct diff *diff, FILE *out)
{
    struct diff_selection selection = {.kinds = 7, .is_all = true};
    struct diff_rows_table rows;
    struct table table;
    struct bytes text = {0};
    diff_make_rows_table(diff, &selection, DIFF_LOOK_TERMINAL, &rows);
    table_append_terminal(&rows.table, &(struct table_look){.width = 100, .is_coloured = true}, &text);
    table_free(&rows.table);
    diff_make_rows_table(diff, &selection, DIFF_LOOK_DATA, &rows);
    table_append_csv(&rows.table, &text);
    table_free(&rows.table);
    diff_make_totals_table(diff, DIFF_LOOK_TERMINAL, &table);
    table_append_terminal(&table, &(struct table_look){0}, &text);
    table_free(&table);
    diff_write_pairs(diff, out, NULL);
    diff_html_write(diff, &selection, "", out, NULL);
    bytes_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    struct diff diff;
    if (size < 3 || size > 100000)
        return 0;
    if (!out)
        out = fopen("/dev/null", "w");
    size_t cut = 2 + (size_t)data[1] * (size - 2) / 256;
    struct diff_options options = {.threshold_percent = data[0] & 1 ? 0 : 2,
                                   .alpha_percent = 1,
                                   .ignore_location = data[0] & 2,
                                   .ignore_shape = data[0] & 4,
                                   .group_by = (enum diff_group_by)(data[0] >> 6)};
    diff_begin(&diff, &options);
    /* Bit 8: the one file against itself without its last bytes. */
    bool is_one = data[0] & 8;
    if (load(&diff, DIFF_A, data + 2, is_one ? size - 2 : cut - 2) == 0 &&
        load(&diff, DIFF_B, is_one ? data + 2 : data + cut, is_one ? cut - 2 : size - cut) == 0 &&
        diff_finish(&diff, NULL) == 0 && out)
        write_all(&diff, out);
    diff_free(&diff);
    return 0;
}
