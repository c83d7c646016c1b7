/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of dispatch times: whatever it accepts must hold what its header promises. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/overhead_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct overhead_csv *csv;
    struct overhead_csv_row row;
    struct error err = {0};
    int status;
    if (overhead_csv_open_memory(&csv, "fuzz.csv", data, size, &err) != 0) {
        require(csv == NULL && err.message[0]);
        return 0;
    }
    while ((status = overhead_csv_next(csv, &row, &err)) > 0) {
        require(row.name.length > 0 && !memchr(row.name.data, '\0', row.name.length));
        require(!(row.min_ns < 0) && !isinf(row.min_ns) && row.rounding_ns >= 0);
        require(!(row.mean_ns < 0) && !(row.p99_ns < 0) && row.line > 0);
        require(!isnan(row.min_ns) || row.state.length > 0);
    }
    require(status == 0 || err.message[0]);
    overhead_csv_close(csv);
    return 0;
}
