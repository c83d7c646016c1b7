/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the path from the bytes of an ops CSV to the whole report: reader, rows, both models, every writer. The first
 * byte chooses the options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report.h"
#include "import/op_check.h"
#include "import/op_rows.h"
#include "compat/tt_perf_report_1_2_4/compat.h"
#include "present/report/html.h"
#include "present/report/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Round numbers: what they are does not matter here. */
static struct machine_set machines_for_test(void)
{
    static struct machine machine;
    machine_defaults(&machine);
    memcpy(machine.name, "wormhole", 9);
    machine_take(&machine, "worker_cores", 64);
    machine_take(&machine, "dram_gb_s", 288);
    machine_take(&machine, "link_gb_s", 25);
    machine_take(&machine, "vector_tflops_per_core", 0.1);
    for (unsigned i = 0; i < MACHINE_FIDELITIES; i++)
        machine.tflops_per_core[i] = 4.0 / (i + 1);
    return (struct machine_set){.machines = &machine, .count = 1, .capacity = 1};
}

static void load(struct perf *perf, struct op_rows *rows)
{
    static char buffers[PERF_COLUMNS][40];
    static bool has[PERF_COLUMNS];
    const char *names[PERF_COLUMNS];
    struct slice cells[PERF_COLUMNS];
    struct op_row row;
    bool is_old = op_rows_find_column(rows, "INPUT_0_W") != SIZE_MAX;
    for (size_t i = 0; i < PERF_COLUMNS; i++) {
        names[i] = perf_column_name(i, is_old, buffers[i], sizeof buffers[i]);
        has[i] = op_rows_find_column(rows, names[i]) != SIZE_MAX;
    }
    if (perf_begin_file(perf, "fuzz.csv", has, is_old, !is_old, NULL) ||
        op_rows_select(rows, names, PERF_COLUMNS, NULL))
        return;
    while (op_rows_next(rows, &row, NULL) > 0) {
        for (size_t i = 0; i < PERF_COLUMNS; i++) {
            cells[i] = (struct slice){row.cells[i].data, row.cells[i].length};
            if (op_check_cell(op_check_of(names[i]), row.cells[i]))
                op_rows_add_notice(rows, OP_ROWS_NOTICE_READER + (uint32_t)i, row.line, "line %llu: %s",
                                   (unsigned long long)row.line, names[i]);
        }
        if (perf_add_row(perf, cells, row.line, NULL))
            return;
    }
    perf_end_file(perf, NULL);
    struct bytes text = {0};
    for (size_t i = 0; i < op_rows_notice_count(rows); i++)
        op_rows_append_notice(rows, op_rows_notice(rows, i), &text);
    bytes_free(&text);
}

static void write_all(const struct perf *perf, FILE *out)
{
    struct perf_compat_look look = {
        .is_coloured = true, .has_advice = true, .has_raw_op_codes = true, .min_percent = 1};
    if (perf->options.compat) {
        perf_compat_write_table(perf, &look, out, NULL);
        perf_compat_write_csv(perf, &look, out, NULL);
        perf_compat_write_groups(perf, out, NULL);
    } else {
        struct perf_html html = {.title = "t", .has_advice = true, .has_groups = true};
        perf_html_write(perf, &html, out, NULL);
        perf_write_csv(perf, true, true, out, NULL);
    }
    perf_compat_write_groups_csv(perf, out, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    struct op_rows *rows;
    struct perf perf;
    if (size == 0 || size > 200000)
        return 0;
    if (!out)
        out = fopen("/dev/null", "w");
    struct machine_set machines = machines_for_test();
    struct perf_options options = {
        .compat = data[0] & 1,
        .ignore_signposts = data[0] & 2,
        .print_signposts = data[0] & 4,
        .no_merge_devices = data[0] & 8,
        .no_host_ops = data[0] & 16,
        .group_by = (enum perf_group_by)((data[0] >> 5) % 6),
        .id_range = data[0] & 128 ? "2-9" : NULL,
        .machines = &machines,
    };
    if (op_rows_open_memory(&rows, "fuzz.csv", data + 1, size - 1, NULL) != 0)
        return 0;
    if (perf_begin(&perf, &options, NULL) == 0) {
        load(&perf, rows);
        if (perf_finish(&perf, NULL) == 0 && out)
            write_all(&perf, out);
    }
    perf_free(&perf);
    op_rows_close(rows);
    return 0;
}
