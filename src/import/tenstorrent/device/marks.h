/* SPDX-License-Identifier: Apache-2.0 */
/* What markers count for, and their order. Shared by the readers of a device log's markers. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_DEVICE_MARKS_H
#define OPSCOPE_IMPORT_TENSTORRENT_DEVICE_MARKS_H

#include "import/tenstorrent/device/ops.h"

enum tt_class {
    TT_CLASS_START = 1u << 0,
    TT_CLASS_END = 1u << 1,
    TT_CLASS_MASTER = 1u << 2,       /* the firmware zone that brackets a core's run */
    TT_CLASS_NAMED_FW = 1u << 3,     /* its name contains FW */
    TT_CLASS_FW = 1u << 4,           /* a known firmware zone */
    TT_CLASS_KERNEL = 1u << 5,       /* a known kernel zone */
    TT_CLASS_DM_KERNEL = 1u << 6,    /* of a data movement processor */
    TT_CLASS_MOVER_KERNEL = 1u << 7, /* BRISC or NCRISC: the first to start in a run */
    TT_CLASS_SPAN_SHIFT = 8, /* then a bit for each enum tt_span from TT_SPAN_BRISC on, and the traces' */
};
#define TT_CLASS_SPAN(span) (1u << (TT_CLASS_SPAN_SHIFT + (span)))

/* 0: no analysis looks at it. */
uint32_t tt_class_of(struct slice processor, struct slice zone, enum tt_marker_type type);

/* Stable sort by time; `spare` has room for as many. Quick where the marks are a few ascending runs. */
bool tt_marks_sort(struct tt_mark *marks, struct tt_mark *spare, size_t count);

/* Sums over all counters of a log that was read, and their order for tt_log_op_counters. */
void tt_log_finish_counters(struct tt_log *log);

#endif
