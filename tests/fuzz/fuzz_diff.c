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
#include "import/ops_csv/model.h"
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
    struct machine_set machines = machines_for_test();
    struct perf_options options = {.machines = &machines, .ignore_signposts = true, .print_signposts = true};
    const struct ops_csv_request request = {.times_only = true};
    struct ops_csv_summary summary = {0};
    struct op_rows *rows = NULL;
    struct perf perf;
    struct ops ops;
    int status = op_rows_open_memory(&rows, "fuzz.csv", data, size, NULL);
    if (status)
        return status;
    diff->runs[side].path = strdup(side ? "b.csv" : "a.csv");
    diff->runs[side].kind = "ops CSV";
    ops_init(&ops);
    perf_begin(&perf, &options, &ops);
    status = ops_csv_to_model(&ops, rows, &request, &summary, NULL);
    if (!status)
        status = perf_add_path(&perf, "fuzz.csv", NULL);
    perf.options.has_host_start = summary.has_host_start;
    if (!status)
        status = diff_take_perf(diff, side, &perf, NULL);
    perf_free(&perf);
    ops_free(&ops);
    op_rows_close(rows);
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
