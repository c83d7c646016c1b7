/* SPDX-License-Identifier: Apache-2.0 */
/* Ops as the devices saw them, found in the markers of a device log.
 *
 * A processor brackets each program with a firmware zone (BRISC-FW ...) and the kernel's zone inside it. All
 * markers of one host id on one device are a group; walking it in time order, an op ends when every core of the
 * group has ended its master firmware zone, so that an id that ran many times (replays) gives many ops. What a
 * drop of markers leaves open is kept and flagged.
 *
 * Only markers that an analysis looks at are stored, 16 bytes each: a log of 1 GB needs about 150 MB, twice
 * that while they are brought in order. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_DEVICE_OPS_H
#define OPSCOPE_IMPORT_TENSTORRENT_DEVICE_OPS_H

#include "import/tenstorrent/device/counters.h"
#include "import/tenstorrent/device/log.h"
#include "import/tenstorrent/model.h"

/* First marker to last marker of an op, by which markers count. */
enum tt_span {
    TT_SPAN_TRACE_FW,
    TT_SPAN_TRACE_KERNEL,
    TT_SPAN_FIRST_TO_LAST,
    TT_SPAN_FW,
    TT_SPAN_KERNEL,
    TT_SPAN_KERNEL_DM,
    TT_SPAN_BRISC,
    TT_SPAN_NCRISC,
    TT_SPAN_TRISC0,
    TT_SPAN_TRISC1,
    TT_SPAN_TRISC2,
    TT_SPAN_ERISC,
    TT_SPAN_QUASAR_DM,
    TT_SPAN_QUASAR_TRISC,
    TT_SPAN_QUASAR_DM_FW,
    TT_SPAN_QUASAR_TRISC_FW,
    TT_SPAN_DISPATCH_TOTAL, /* on the core that dispatched it */
    TT_SPAN_DISPATCH_GO,
    TT_SPANS
};

enum tt_sum { TT_SUM_WAIT_FRONT, TT_SUM_RESERVE_BACK, TT_SUMS };

struct tt_interval {
    uint64_t start, end;
    bool is_started, is_set;
};

struct tt_device_op {
    uint64_t id;
    uint32_t device;
    uint32_t key; /* which (trace, replay) it is: index in tt_log.keys */
    uint64_t first_time, close_time;
    struct tt_interval spans[TT_SPANS];
    uint64_t sums[TT_SUMS];
    bool has_sum[TT_SUMS];
    uint64_t core_min, core_max, core_sum; /* kernel time of its cores */
    double core_median;
    uint32_t core_spans;
    uint32_t cores; /* with a firmware zone */
    bool is_incomplete;
};

struct tt_mark {
    uint64_t time;
    uint32_t key;
    uint16_t core, signature;
};

struct tt_total {
    uint64_t time, data;
    uint32_t key;
    enum tt_sum sum;
};

struct tt_sample { /* of a hardware counter */
    uint64_t time, value, reference;
    uint32_t key, order;
    uint16_t core, counter;
};

struct tt_core {
    uint32_t device, x, y;
    bool is_dispatch; /* it hands out ops and runs none */
};

struct tt_dispatch_event { /* a marker on a dispatch core */
    uint64_t time, id;
    uint32_t order;
    uint16_t core;
    uint8_t lane, commands;
    bool is_start, is_end, has_id;
};

struct tt_dispatch_op { /* the commands of one op */
    uint64_t id;
    uint32_t device;
    bool is_notified; /* its go signal was asked for */
    struct tt_interval total, go;
};

struct tt_key { /* device, host id, trace and replay: what a marker belongs to */
    uint32_t group;
    int64_t trace, counter;
    struct slice sub_device;
};

struct tt_group { /* device and host id */
    uint64_t id;
    uint32_t device;
    uint32_t last_key;
    size_t mark_count;
};

struct tt_log {
    struct tt_model *notes; /* where what is wrong is reported */
    struct tt_log_header header;
    struct tt_core *cores;
    size_t core_count, core_capacity;
    struct tt_key *keys;
    size_t key_count, key_capacity;
    struct tt_group *groups;
    size_t group_count, group_capacity;
    struct tt_mark *marks;
    size_t mark_count, mark_capacity;
    struct tt_total *totals;
    size_t total_count, total_capacity;
    struct tt_sample *samples;
    size_t sample_count, sample_capacity;
    struct tt_dispatch_event *dispatch_events; /* until dispatch_ops are made of them */
    size_t dispatch_event_count, dispatch_event_capacity;
    struct tt_dispatch_op *dispatch_ops; /* by device and id, each id once */
    size_t dispatch_op_count, dispatch_op_capacity;
    uint32_t *signature_classes; /* bits of what a marker counts for */
    size_t signature_count, signature_capacity;
    struct tt_counter_sums counter_sums;

    struct tt_device_op *ops; /* by device, by the first time of their ids, then by time */
    size_t op_count, op_capacity;

    struct intern names, key_names;
    struct map signature_of_key, core_of_key, group_of_key;
    bool failed;
};

/* Reads all markers and finds the ops. Not failing on anything that the log holds. */
int tt_log_read(struct tt_log *log, struct tt_model *notes, const char *data, size_t length,
                struct error *err);
void tt_log_free(struct tt_log *log);

/* Sub-devices alone, for tables whose runs come from elsewhere. */
int tt_log_read_sub_devices(struct tt_log *log, struct tt_model *notes, const char *data, size_t length,
                            struct error *err);
/* The sub-device that (device, id, trace, replay) ran on; length 0: not reported. */
struct slice tt_log_sub_device(const struct tt_log *log, uint32_t device, uint64_t id, int64_t trace,
                               int64_t counter);

/* Gap on one core between the kernels of one run and the next. */
struct tt_core_gap {
    uint32_t core;
    uint64_t start, end; /* the last kernel's end, the next one's start */
    uint64_t from_id, to_id;
    uint64_t from_mark, to_mark; /* when the firmware of either run began on this core */
};

struct tt_core_gaps {
    struct tt_core_gap *items; /* core by core, in time order */
    size_t count, capacity;
};
int tt_log_core_gaps(struct tt_log *log, struct tt_core_gaps *gaps, struct error *err);
void tt_core_gaps_free(struct tt_core_gaps *gaps);

/* Counters of an op's cores, to be made into metrics; 0 cores when there are none. */
struct tt_op_counters {
    struct tt_core_counters *memory;
    const struct tt_core_counters **cores;
    size_t count, capacity, pointer_capacity;
    struct tt_core_slot { /* of each core number: where it is in `memory`, if `stamp` is the newest */
        uint32_t stamp, index;
    } * slots;
    uint32_t stamp;
};
bool tt_log_op_counters(const struct tt_log *log, const struct tt_device_op *op, struct tt_op_counters *out);
void tt_op_counters_free(struct tt_op_counters *counters);

#endif
