/* SPDX-License-Identifier: Apache-2.0 */
/* A device log: markers, ops, counters, gaps, statistics, rows. */
#include <stdint.h>

#include "import/tenstorrent/join.h"
#include "import/tenstorrent/device/per_core.h"
#include "import/tenstorrent/device/stats.h"
#include "import/tenstorrent/trace.h"

static void read_rows(struct tt_model *model)
{
    struct op_rows *rows;
    struct op_row row;
    struct error err;
    if (tt_join_check(model, true, &err) == 0 && tt_rows_open_model(&rows, "fuzz", model, &err) == 0) {
        while (op_rows_next(rows, &row, &err) > 0)
            ;
        op_rows_close(rows);
    }
    tt_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tt_model model;
    struct tt_log log, sub_devices;
    struct tt_per_core cores;
    struct tt_stats stats;
    struct bytes text = {0};
    struct error err;
    tt_model_init(&model);
    model.is_device_only = true;
    if (tt_log_read(&log, &model, (const char *)data, size, &err) == 0 &&
        tt_runs_from_log(&model, &log, &err) == 0) {
        if (tt_per_core_make(&cores, &log, &err) == 0)
            tt_per_core_free(&cores);
        if (tt_stats_make(&stats, &log, &err) == 0) {
            tt_stats_append_text(&stats, &text);
            tt_stats_free(&stats);
        }
        if (tt_log_read_sub_devices(&sub_devices, &model, (const char *)data, size, &err) == 0)
            tt_runs_add_sub_devices(&model, &sub_devices);
        tt_log_free(&sub_devices);
        tt_log_free(&log);
        read_rows(&model);
    } else {
        tt_log_free(&log);
        tt_model_free(&model);
    }
    bytes_free(&text);
    return 0;
}
