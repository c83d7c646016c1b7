/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a Tenstorrent run. The input is tracy_ops_data.csv; after a NUL byte may follow
 * tracy_ops_times.csv, after another one cpp_device_perf_report.csv. They are read, joined and printed. */
#include <stdint.h>
#include <string.h>

#include "import/tenstorrent/host.h"
#include "import/tenstorrent/join.h"
#include "import/tenstorrent/messages.h"
#include "import/tenstorrent/trace.h"

static size_t take(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
    size_t length = end ? (size_t)(end - *data) : *size;
    *data += length + (end != NULL);
    *size -= length + (end != NULL);
    return length;
}

static void read_csv(struct tt_model *model, const char *data, size_t length, int is_times)
{
    struct csv_reader csv;
    struct error err;
    if (csv_open_memory(&csv, "fuzz", data, length, &err) != 0)
        return;
    if (is_times)
        tt_times_read(model, &csv, &err);
    else
        tt_report_read(model, &csv, &err);
    csv_close(&csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tt_model model;
    struct op_rows *rows;
    struct op_row row;
    struct error err;
    tt_model_init(&model);
    const char *at = (const char *)data;
    size_t length = take(&data, &size);
    tt_messages_read(&model, at, length, &err);
    at = (const char *)data;
    length = take(&data, &size);
    read_csv(&model, at, length, 1);
    at = (const char *)data;
    length = take(&data, &size);
    read_csv(&model, at, length, 0);
    model.is_device_only = model.op_count == 0;
    if (!model.is_device_only)
        tt_join_runs(&model, true);
    size_t sum = 0;
    if (tt_join_check(&model, true, &err) == 0 && tt_rows_open_model(&rows, "fuzz", &model, &err) == 0) {
        while (op_rows_next(rows, &row, &err) > 0) {
            for (size_t i = 0; i < row.cell_count; i++) {
                for (size_t k = 0; k < row.cells[i].length; k++)
                    sum += (uint8_t)row.cells[i].data[k]; /* every byte is touched: it must be there */
            }
        }
        op_rows_close(rows);
    }
    tt_model_free(&model);
    return sum == SIZE_MAX;
}
