/* SPDX-License-Identifier: Apache-2.0 */
/* Two plain CSV files of a Tenstorrent run.
 *
 * tracy_ops_times.csv has a row for each zone of the host: when each op was dispatched, and how long functions
 * under it took. cpp_device_perf_report.csv has a row for each run of an op on a device, analysed by the
 * vendor's runtime. A row that cannot be read or joined is counted; nothing in the files is an error. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_HOST_H
#define OPSCOPE_IMPORT_TENSTORRENT_HOST_H

#include "text/csv/reader.h"
#include "import/tenstorrent/model.h"

struct tt_host_zone {        /* of an op, or of a function under it */
    struct slice name, text; /* "id:N" of an op */
    struct slice parent;     /* text of the op's zone that it lies in, or of the op itself */
    uint64_t start_ns, duration_ns;
    uint32_t thread;
};
/* `line` of the file; 0: there is none. */
void tt_host_zone_add(struct tt_model *model, const struct tt_host_zone *zone, uint64_t line);

int tt_times_read(struct tt_model *model, struct csv_reader *csv, struct error *err);
int tt_report_read(struct tt_model *model, struct csv_reader *csv, struct error *err);

#endif
