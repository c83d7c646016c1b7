/* SPDX-License-Identifier: Apache-2.0 */
/* profile_log_device.csv: what the processors of the devices recorded, a marker a line.
 *
 *     ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 72
 *     PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, ...
 *     3,1,1,BRISC,63326,11017522887414,0,1027,,,BRISC-KERNEL,ZONE_START,64,/.../brisck.cc,
 *
 * Columns are found by their names, so that the layouts of older runtimes are read as well. Logs have gigabytes:
 * the reader walks over the bytes once, markers are slices of them, and a line that is no marker is counted. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_DEVICE_LOG_H
#define OPSCOPE_IMPORT_TENSTORRENT_DEVICE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/op_rows.h"

enum tt_marker_type {
    TT_MARKER_OTHER,
    TT_MARKER_START,
    TT_MARKER_END,
    TT_MARKER_TOTAL,
    TT_MARKER_DATA,
    TT_MARKER_EVENT,
};

struct tt_marker {
    uint32_t device, x, y;
    enum tt_marker_type type;
    uint64_t timer, time, data, run;
    int64_t trace, counter; /* -1: none */
    struct slice processor, zone, type_text;
    struct slice rest; /* source line, file and meta data, as they stand */
};

struct tt_log_header {
    struct slice arch;
    uint32_t frequency_mhz; /* 0: not reported */
    uint32_t max_compute_cores;
    bool is_log; /* it looks like one */
};

struct tt_log_reader {
    const char *at, *end;
    uint64_t line; /* of the marker that was read last */
    struct tt_log_header header;
    uint64_t bad_lines, first_bad_line;
    uint8_t positions[14]; /* of the fields that are read, by enum field; 255: the log lacks it */
    uint8_t field_count;   /* of a line, up to the last that is read */
};

/* Reads the two header lines. */
void tt_log_reader_init(struct tt_log_reader *reader, const char *data, size_t length);
/* False at the end. */
bool tt_log_next(struct tt_log_reader *reader, struct tt_marker *marker);

/* Source line, file and meta data of a marker. */
struct tt_marker_rest {
    struct slice line, file, meta;
};
struct tt_marker_rest tt_marker_rest(const struct tt_marker *marker);
/* The value of a key in meta data: {"sub_device_id":1;"sub_device_manager_id":7}, {'workers_runtime_id': 5}. */
bool tt_meta_value(struct slice meta, const char *key, struct slice *value);

/* True when the bytes begin like a device log. */
bool tt_log_is_log(const char *data, size_t length);

#endif
