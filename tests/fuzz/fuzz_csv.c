/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the path from the bytes of an ops CSV to the whole report: reader, rows, both models, every writer. The first
 * byte chooses the options. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/report/report.h"
#include "import/op_check.h"
#include "import/op_rows.h"
#include "import/ops_csv/model.h"
#include "compat/tt_perf_report/compat.h"
#include "import/own_ops_csv.h"
#include "ops/finish.h"
#include "present/report/svg.h"
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

static void check_cells(struct op_rows *rows)
{
    struct op_row row;
    while (op_rows_next(rows, &row, NULL) > 0) {
        for (size_t i = 0; i < row.cell_count; i++)
            op_check_cell(op_check_of(op_rows_column_name(rows, i)), row.cells[i]);
    }
}

static void write_all(const struct perf *perf, FILE *out)
{
    perf_svg_write_groups(&perf->groups, false, out, NULL);
    perf_write_csv(perf, PERF_FOR_PROGRAMS, out, NULL);
    perf_write_groups_csv(perf, out, NULL);
}

static void report(const uint8_t *data, size_t size, FILE *out)
{
    struct machine_set machines = machines_for_test();
    struct perf_options options = {
        .ignore_signposts = data[0] & 2,
        .print_signposts = data[0] & 4,
        .no_merge_devices = data[0] & 8,
        .no_host_ops = data[0] & 16,
        .group_by = (enum perf_group_by)((data[0] >> 5) % 6),
        .id_range = data[0] & 128 ? "2-9" : NULL,
        .machine = "wormhole",
        .machines = &machines,
    };
    const struct ops_csv_request request = {0};
    struct ops_csv_summary summary = {0};
    struct op_rows *rows;
    struct perf perf;
    struct ops ops;
    if (op_rows_open_memory(&rows, "fuzz.csv", data + 1, size - 1, NULL) == 0) {
        check_cells(rows);
        op_rows_close(rows);
    }
    if (op_rows_open_memory(&rows, "fuzz.csv", data + 1, size - 1, NULL) != 0)
        return;
    ops_init(&ops);
    perf_begin(&perf, &options, &ops);
    if (ops_csv_to_model(&ops, rows, &request, &summary, NULL) == 0 &&
        perf_add_path(&perf, "fuzz.csv", NULL) == 0) {
        perf.options.has_host_start = summary.has_host_start;
        if (perf_finish(&perf, NULL) == 0)
            write_all(&perf, out);
    }
    perf_free(&perf);
    ops_free(&ops);
    op_rows_close(rows);
}

/* For what reads files: one that is in memory. Its descriptor, or -1. */
static int make_file(char path[64], const uint8_t *data, size_t size)
{
    int file = memfd_create("fuzz.csv", MFD_CLOEXEC);
    if (file < 0)
        return -1;
    snprintf(path, 64, "/proc/self/fd/%d", file);
    if (write(file, data, size) == (ssize_t)size)
        return file;
    close(file);
    return -1;
}

/* The other tool's report, of both releases. */
static void report_compat(const uint8_t *data, const char *path)
{
    const char *const paths[] = {path};
    struct ttpr_request request = {.paths = paths,
                                   .path_count = 1,
                                   .ignore_signposts = data[0] & 2,
                                   .print_signposts = data[0] & 4,
                                   .no_merge_devices = data[0] & 8,
                                   .no_host_ops = data[0] & 16,
                                   .group_by = (data[0] >> 5) % 3,
                                   .id_range = data[0] & 128 ? "2-9" : NULL,
                                   .output = "/dev/null",
                                   .summary_file = data[0] & 64 ? "/dev/null" : NULL,
                                   .active_experts = data[0] & 64 ? 3 : 0,
                                   .is_csv = data[0] & 32,
                                   .has_groups = true,
                                   .has_advice = true,
                                   .has_raw_op_codes = true,
                                   .min_percent = 1};
    for (request.version = TTPR_1_2_4; request.version <= TTPR_1_4_1; request.version++) {
        struct perf_notes notes = {0};
        ttpr_report(&request, &notes, NULL);
        perf_notes_free(&notes);
    }
}

/* The table that opscope writes beside a trace. */
static void read_own_table(const char *path)
{
    struct ops ops;
    ops_init(&ops);
    if (own_ops_csv_read(&ops, path, 0, NULL) == 0)
        ops_finish(&ops, NULL);
    ops_free(&ops);
}

static void read_as_file(const uint8_t *data, size_t size)
{
    char path[64];
    int file = make_file(path, data + 1, size - 1);
    if (file < 0)
        return;
    if (own_ops_csv_is_one(slice_from((const char *)data + 1, size - 1)))
        read_own_table(path);
    else
        report_compat(data, path);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *out;
    if (size == 0 || size > 200000)
        return 0;
    if (!out)
        out = fopen("/dev/null", "w");
    if (data[0] & 1)
        read_as_file(data, size);
    else if (out)
        report(data, size, out);
    return 0;
}
