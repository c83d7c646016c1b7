/* SPDX-License-Identifier: Apache-2.0 */
/* One row for the same op on several devices.
 *
 * The devices' ops are walked side by side, as a program that runs the same ops on every device leaves them: the lowest
 * device that has ops left determines which op comes next, and every device whose next op has that name joins in. The
 * slowest device stands for all; of collectives, which wait for each other, the first does with the mean time. */
#ifndef OPSCOPE_ANALYZE_REPORT_MERGE_H
#define OPSCOPE_ANALYZE_REPORT_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/notes.h"
#include "base/error.h"

#define PERF_NO_NUMBER INT32_MIN

struct perf_merge_row {
    int32_t device; /* PERF_NO_NUMBER: not known */
    uint32_t name;
    double duration_ns; /* NaN: not known */
    bool takes_part;    /* an op of a device; others stay as they are */
};

struct perf_merge {
    void *context;
    struct perf_merge_row (*row)(const void *context, uint32_t row);
    const char *(*name)(const void *context, uint32_t name);
    /* The mean of `count` devices is the row's time now; NaN: none has one. */
    void (*set_mean)(void *context, uint32_t row, double duration_ns, size_t count);
    void (*no_device)(void *context,
                      uint32_t row); /* a device op that does not say which: it is left alone */
    const char *path;                /* for messages */
    struct perf_notes *notes;
    bool is_off;              /* each device by itself */
    bool prefers_known_times; /* to missing ones */
    bool keeps_order;         /* of the table: a merged op stands where the first of its rows did */
};

/* The kind of the note that says which devices there are and how they were merged; there is none of a single one. */
extern const char perf_note_devices[];

/* `order` holds rows by number, in the order in which they are shown; what is left of them is in the rows' own
 * order, unless keeps_order. */
int perf_merge_devices(const struct perf_merge *merge, uint32_t *order, size_t *count, struct error *err);

#endif
