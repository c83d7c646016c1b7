/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of Torq's CSVs, profiles of a run and timelines, and the join of a profile with a small program: any
 * bytes give rows or a message. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/timeline_csv.h"
#include "import/torq/blocks.h"
#include "import/torq/join.h"
#include "import/torq/torq.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char program[] =
    "module {\n"
    "  func.func @d() {\n"
    "    %n = torq_hl.program \"nss_0\" : !torq_hl.program<nss> {\n"
    "    ^bb0(%a: i8):\n"
    "      torq_hw.nss_task {\"torq-task-id\" = 0 : i64}() {\n"
    "        torq_hw.dma_in_cfg {write_ndl = #torq_hw<dma_ndl{dims = [[100, 1]]}>}\n"
    "        torq_hw.dma_in_start\n"
    "      }\n"
    "      torq_hl.return\n"
    "    }\n"
    "    %i, %c = torq_hl.descriptor \"nss_0\" on 0 program %n : <nss> code [array<i8: 0>] : "
    "!torq_hl.invocation<nss>, memref<1xi8>\n"
    "    torq_hl.start_program %i : !torq_hl.invocation<nss> args(%c : i8) {\"torq-action-id\" = 0 : i32}\n"
    "    torq_hl.wait_program %i : !torq_hl.invocation<nss> {\"torq-action-id\" = 1 : i32}\n"
    "    return\n"
    "  }\n"
    "}\n";

static void join(const struct torq_run *run)
{
    const struct torq_target target = {.dma_bytes_per_cycle = 8, .dma_factor = 1, .clock_mhz = 800};
    struct timeline estimate;
    struct measured measured;
    struct mlir *mlir;
    struct error err = {0};
    if (mlir_read_text(&mlir, "p.mlir", program, sizeof program - 1, &err) != 0)
        abort();
    assert(torq_execute(&estimate, mlir, &target, NULL, &err) == 0);
    if (torq_join(&measured, &(struct torq_join){mlir, &estimate, run, "loc(\"gone\":1:1)", NULL}, &err) ==
        0) {
        for (size_t i = 0; i < measured.timeline.unit_count; i++)
            assert(measured.timeline.units[i].start <= measured.timeline.units[i].end);
    }
    measured_free(&measured);
    timeline_free(&estimate);
    mlir_close(mlir);
}

static void draw_blocks(const struct torq_run *run)
{
    struct timeline timeline;
    struct error err = {0};
    if (torq_run_blocks(run, &timeline, &err) == 0) {
        for (size_t i = 0; i < timeline.unit_count; i++)
            assert(timeline.units[i].start <= timeline.units[i].end);
    }
    timeline_free(&timeline);
}

static void read_timeline(struct slice text)
{
    struct timeline timeline;
    struct timeline_csv_faults faults;
    struct error err = {0};
    int status = timeline_csv_read_text(&timeline, "fuzz.csv", text, &faults, &err);
    assert(status != 0 || timeline.unit_count);
    for (size_t i = 0; i < timeline.unit_count && status == 0; i++)
        assert(timeline.units[i].start <= timeline.units[i].end &&
               timeline.units[i].lane < timeline.lane_count);
    timeline_free(&timeline);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct torq_run run;
    struct error err = {0};
    char *copy = malloc(size ? size : 1); /* exactly as long as the text, so that a step beyond it is seen */
    if (size)
        memcpy(copy, data, size);
    int status = torq_run_read_text(&run, "fuzz.csv", slice_from(copy, size), &err);
    if (timeline_csv_is_one(slice_from(copy, size)))
        read_timeline(slice_from(copy, size));
    free(copy);
    if (status) {
        assert(strncmp(err.message, "fuzz.csv", 8) == 0);
    } else {
        join(&run);
        draw_blocks(&run);
    }
    torq_run_free(&run);
    return 0;
}
