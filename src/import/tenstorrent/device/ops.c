/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device/ops.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/tenstorrent/device/dispatch.h"
#include "import/tenstorrent/device/marks.h"
#include "base/keyed_text.h"
#include "base/slice.h"

#define MAX_RUN_ID ((uint64_t)1 << 40)
#define MAX_CORES 65535u
#define MAX_SIGNATURES 65535u
#define MEMO_SIZE 256u

/* --- reading: lines to marks --- */

struct memo { /* the signature of the lines before: processor, zone and type repeat all the time */
    struct slice processor, zone;
    enum tt_marker_type type;
    uint16_t signature;
};

struct reading {
    struct tt_log *log;
    struct memo memo[MEMO_SIZE];
    uint32_t core; /* of the line before */
    uint32_t group;
};

static bool same(struct slice a, struct slice b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

static uint16_t signature_of(struct reading *reading, const struct tt_marker *marker)
{
    struct tt_log *log = reading->log;
    struct memo *memo =
        &reading->memo[(marker->timer * 8 + (uint8_t)marker->processor.data[marker->processor.length - 1] +
                        (unsigned)marker->type * 4) %
                       MEMO_SIZE];
    if (memo->zone.data && memo->type == marker->type && same(memo->zone, marker->zone) &&
        same(memo->processor, marker->processor))
        return memo->signature;
    uint32_t processor = intern_add(&log->names, marker->processor.data, marker->processor.length);
    uint32_t zone =
        intern_add(&log->names, marker->zone.length ? marker->zone.data : "", marker->zone.length);
    uint64_t key =
        (uint64_t)(processor & 0xffffff) << 40 | (uint64_t)(zone & 0xffffffff) << 8 | (uint64_t)marker->type;
    uint32_t signature = map_get(&log->signature_of_key, key);
    if (signature == TT_NONE) {
        signature = (uint32_t)log->signature_count;
        if (signature >= MAX_SIGNATURES)
            return MAX_SIGNATURES;
        if (processor == INTERN_NONE || zone == INTERN_NONE ||
            !array_reserve(&log->signature_classes, &log->signature_capacity, log->signature_count + 1,
                           sizeof log->signature_classes[0]) ||
            !map_put(&log->signature_of_key, key, signature)) {
            log->failed = true;
            return MAX_SIGNATURES;
        }
        log->signature_classes[log->signature_count++] =
            tt_class_of(marker->processor, marker->zone, marker->type);
    }
    *memo = (struct memo){marker->processor, marker->zone, marker->type, (uint16_t)signature};
    return (uint16_t)signature;
}

static uint32_t core_of(struct reading *reading, const struct tt_marker *marker)
{
    struct tt_log *log = reading->log;
    if (reading->core < log->core_count) {
        const struct tt_core *last = &log->cores[reading->core];
        if (last->x == marker->x && last->y == marker->y && last->device == marker->device)
            return reading->core;
    }
    if (marker->x > 0xffff || marker->y > 0xffff)
        return TT_NONE;
    uint64_t key = (uint64_t)marker->device << 32 | marker->x << 16 | marker->y;
    uint32_t core = map_get(&log->core_of_key, key);
    if (core == TT_NONE) {
        if (log->core_count == MAX_CORES) {
            tt_note(log->notes, TT_DAMAGED_CORES, 0,
                    "profile_log_device.csv: more than %u cores: the others are left out", MAX_CORES);
            return TT_NONE;
        }
        core = (uint32_t)log->core_count;
        if (!array_reserve(&log->cores, &log->core_capacity, log->core_count + 1, sizeof log->cores[0]) ||
            !map_put(&log->core_of_key, key, core)) {
            log->failed = true;
            return TT_NONE;
        }
        log->cores[log->core_count++] =
            (struct tt_core){.device = marker->device, .x = marker->x, .y = marker->y};
    }
    reading->core = core;
    return core;
}

static uint32_t group_of(struct reading *reading, uint32_t device, uint64_t run, bool add)
{
    struct tt_log *log = reading->log;
    if (reading->group < log->group_count && log->groups[reading->group].id == run &&
        log->groups[reading->group].device == device)
        return reading->group;
    uint64_t key = (uint64_t)device << 40 | run;
    uint32_t group = map_get(&log->group_of_key, key);
    if (group == TT_NONE && add) {
        group = (uint32_t)log->group_count;
        if (log->group_count >= TT_NONE - 1 ||
            !array_reserve(&log->groups, &log->group_capacity, log->group_count + 1, sizeof log->groups[0]) ||
            !map_put(&log->group_of_key, key, group)) {
            log->failed = true;
            return TT_NONE;
        }
        log->groups[log->group_count++] = (struct tt_group){.id = run, .device = device, .last_key = TT_NONE};
    }
    reading->group = group;
    return group;
}

struct key_bytes {
    uint32_t group, trace, counter;
};

static uint32_t key_of(struct reading *reading, const struct tt_marker *marker)
{
    struct tt_log *log = reading->log;
    uint32_t group = group_of(reading, marker->device, marker->run, true);
    if (group == TT_NONE)
        return TT_NONE;
    uint32_t last = log->groups[group].last_key;
    if (last != TT_NONE && log->keys[last].counter == marker->counter &&
        log->keys[last].trace == marker->trace)
        return last;
    struct key_bytes bytes = {group, (uint32_t)marker->trace, (uint32_t)marker->counter};
    uint32_t key = intern_add(&log->key_names, &bytes, sizeof bytes);
    if (key == INTERN_NONE ||
        !array_reserve(&log->keys, &log->key_capacity, (size_t)key + 1, sizeof log->keys[0])) {
        log->failed = true;
        return TT_NONE;
    }
    if (key == log->key_count) {
        log->keys[key] = (struct tt_key){.group = group, .trace = marker->trace, .counter = marker->counter};
        log->key_count++;
    }
    log->groups[group].last_key = key;
    return key;
}

static void note_sub_device(struct tt_log *log, uint32_t key, const struct tt_marker *marker, uint64_t line)
{
    struct slice value, meta;
    if (marker->rest.length == 0 || marker->rest.data[marker->rest.length - 1] != '}')
        return;
    meta = tt_marker_rest(marker).meta;
    if (!tt_meta_value(meta, "sub_device_id", &value))
        return;
    struct slice *known = &log->keys[key].sub_device;
    if (known->data && !same(*known, value))
        tt_note(log->notes, TT_INFO_SUB_DEVICE, line,
                "profile_log_device.csv, line %" PRIu64 ": op %" PRIu64
                " has two sub-devices: the last one is taken",
                line, marker->run);
    if (!known->data || !same(*known, value))
        *known = slice_from(tt_keep(log->notes, value.data, value.length), value.length);
}

static void add_total(struct tt_log *log, uint32_t key, const struct tt_marker *marker)
{
    enum tt_sum sum;
    if (slice_is(marker->zone, "CB-COMPUTE-WAIT-FRONT") && slice_is(marker->processor, "TRISC_0"))
        sum = TT_SUM_WAIT_FRONT;
    else if (slice_is(marker->zone, "CB-COMPUTE-RESERVE-BACK") && slice_is(marker->processor, "TRISC_2"))
        sum = TT_SUM_RESERVE_BACK;
    else
        return;
    if (!array_reserve(&log->totals, &log->total_capacity, log->total_count + 1, sizeof log->totals[0])) {
        log->failed = true;
        return;
    }
    log->totals[log->total_count++] = (struct tt_total){marker->time, marker->data, key, sum};
}

static void add_sample(struct tt_log *log, uint32_t key, uint32_t core, const struct tt_marker *marker)
{
    struct slice meta = tt_marker_rest(marker).meta, type, value, reference;
    if (!tt_meta_value(meta, "counter type", &type))
        return;
    enum tt_counter counter = tt_counter_find(type.data, type.length);
    uint64_t number = 0, cycles = 0;
    if (counter == TT_COUNTER_COUNT || !tt_meta_value(meta, "value", &value) ||
        !slice_unsigned(value, &number) || !tt_meta_value(meta, "ref cnt", &reference) ||
        !slice_unsigned(reference, &cycles)) {
        tt_note(log->notes, TT_DAMAGED_COUNTER, 0,
                "profile_log_device.csv: counter %.*s is not known, or has no value", (int)type.length,
                type.data);
        return;
    }
    if (log->sample_count >= UINT32_MAX ||
        !array_reserve(&log->samples, &log->sample_capacity, log->sample_count + 1, sizeof log->samples[0])) {
        log->failed = true;
        return;
    }
    log->samples[log->sample_count] = (struct tt_sample){
        marker->time, number, cycles, key, (uint32_t)log->sample_count, (uint16_t)core, (uint16_t)counter};
    log->sample_count++;
    log->counter_sums.value[counter] += number;
}

static void read_marker(struct reading *reading, const struct tt_marker *marker, uint64_t line)
{
    struct tt_log *log = reading->log;
    if (marker->timer == 0 || marker->processor.length == 0)
        return;
    if (marker->device < TT_MAX_DEVICES && tt_dispatch_is_marker(marker)) {
        uint32_t dispatcher = core_of(reading, marker); /* runs no program: its markers may have no run id */
        if (dispatcher != TT_NONE)
            tt_dispatch_add(log, dispatcher, marker);
        return;
    }
    if (marker->run == 0)
        return;
    if (marker->run >= MAX_RUN_ID || marker->device >= TT_MAX_DEVICES) {
        tt_note(log->notes, TT_DAMAGED_RUN_ID, line,
                "profile_log_device.csv, line %" PRIu64 ": device or run id out of range", line);
        return;
    }
    uint32_t core = core_of(reading, marker), key = core == TT_NONE ? TT_NONE : key_of(reading, marker);
    if (key == TT_NONE)
        return;
    note_sub_device(log, key, marker, line);
    if (marker->type == TT_MARKER_TOTAL) {
        add_total(log, key, marker);
        return;
    }
    if (marker->type == TT_MARKER_DATA || marker->type == TT_MARKER_EVENT) {
        if (slice_is(marker->processor, "BRISC"))
            add_sample(log, key, core, marker);
        return;
    }
    uint16_t signature = signature_of(reading, marker);
    if (signature == MAX_SIGNATURES || log->signature_classes[signature] == 0)
        return;
    if (log->mark_count == log->mark_capacity &&
        !array_reserve(&log->marks, &log->mark_capacity, log->mark_count + 1, sizeof log->marks[0])) {
        log->failed = true;
        return;
    }
    log->marks[log->mark_count++] = (struct tt_mark){marker->time, key, (uint16_t)core, signature};
    log->groups[log->keys[key].group].mark_count++;
}

static void note_header(struct tt_log *log, const struct tt_log_reader *reader)
{
    log->header = reader->header;
    log->header.arch =
        slice_from(tt_keep(log->notes, reader->header.arch.length ? reader->header.arch.data : "",
                           reader->header.arch.length),
                   reader->header.arch.length);
    if (!reader->header.is_log)
        tt_note(log->notes, TT_DAMAGED_LOG_HEADER, 1, "profile_log_device.csv, line 1: no ARCH line");
    if (reader->field_count == 0)
        tt_note(log->notes, TT_DAMAGED_LOG_COLUMNS, 2,
                "profile_log_device.csv, line 2: no column names; the log is not used");
    else if (reader->header.frequency_mhz == 0)
        tt_note(log->notes, TT_INFO_FREQUENCY, 1,
                "profile_log_device.csv, line 1: no CHIP_FREQ: cycles are known, times are not");
    for (uint64_t i = 0; i < reader->bad_lines && reader->field_count; i++)
        tt_note(log->notes, TT_DAMAGED_LOG_LINE, reader->first_bad_line,
                "profile_log_device.csv, line %" PRIu64 ": not a marker", reader->first_bad_line);
}

/* --- ops: groups of marks in time order --- */

struct core_state {
    uint32_t group_stamp; /* the core is in this group + 1 */
    uint32_t op_stamp;    /* it has marks in this op */
    uint32_t fw_stamp;
    bool is_running, is_done;
    struct tt_interval kernel;
};

struct walk {
    struct tt_log *log;
    struct core_state *cores;
    uint16_t *touched; /* cores of the open op */
    size_t touched_count;
    uint64_t *durations;
    struct tt_device_op op;
    bool is_open;     /* the op has marks */
    bool has_started; /* a core's firmware began: what has no start is the rest of the op before */
    uint32_t stamp;
    size_t core_count, done_count;
};

static void begin_op(struct walk *walk, const struct tt_group *group)
{
    walk->op = (struct tt_device_op){.id = group->id, .device = group->device, .key = TT_NONE};
    walk->is_open = walk->has_started = false;
    walk->touched_count = 0;
    walk->done_count = 0;
    walk->stamp++;
}

static int compare_u64(const void *left, const void *right)
{
    uint64_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static void sum_cores(struct walk *walk)
{
    struct tt_device_op *op = &walk->op;
    for (size_t i = 0; i < walk->touched_count; i++) {
        const struct tt_interval *kernel = &walk->cores[walk->touched[i]].kernel;
        if (!kernel->is_set)
            continue;
        uint64_t duration = kernel->end - kernel->start;
        op->core_min = op->core_spans == 0 || duration < op->core_min ? duration : op->core_min;
        op->core_max = duration > op->core_max ? duration : op->core_max;
        op->core_sum += duration;
        walk->durations[op->core_spans++] = duration;
    }
    if (op->core_spans == 0)
        return;
    qsort(walk->durations, op->core_spans, sizeof walk->durations[0], compare_u64);
    size_t middle = op->core_spans / 2;
    op->core_median = op->core_spans % 2
                          ? (double)walk->durations[middle]
                          : ((double)walk->durations[middle - 1] + (double)walk->durations[middle]) / 2;
}

static void close_op(struct walk *walk, bool is_incomplete)
{
    struct tt_log *log = walk->log;
    if (!walk->is_open)
        return;
    walk->op.is_incomplete = is_incomplete;
    sum_cores(walk);
    if (!array_reserve(&log->ops, &log->op_capacity, log->op_count + 1, sizeof log->ops[0])) {
        log->failed = true;
        return;
    }
    log->ops[log->op_count++] = walk->op;
}

static void extend(struct tt_interval *span, uint64_t time, bool is_start, bool is_end)
{
    if (!span->is_started) {
        if (is_start) {
            span->is_started = true;
            span->start = time;
        }
    } else if (is_end) {
        span->is_set = true;
        span->end = time;
    }
}

static void count_mark(struct walk *walk, const struct tt_mark *mark, uint32_t class)
{
    struct tt_interval *spans = walk->op.spans;
    struct core_state *core = &walk->cores[mark->core];
    bool is_kernel = class & TT_CLASS_KERNEL, is_kernel_start = is_kernel && (class & TT_CLASS_START);
    if (!walk->is_open) {
        walk->is_open = true;
        walk->op.first_time = mark->time;
        walk->op.key = mark->key;
    }
    walk->op.close_time = mark->time;
    if (core->op_stamp != walk->stamp) {
        core->op_stamp = walk->stamp;
        core->is_running = core->is_done = false;
        core->kernel = (struct tt_interval){0};
        walk->touched[walk->touched_count++] = mark->core;
    }
    if ((class & TT_CLASS_NAMED_FW) && core->fw_stamp != walk->stamp) {
        core->fw_stamp = walk->stamp;
        walk->op.cores++;
    }
    if (class & TT_CLASS_FW)
        extend(&spans[TT_SPAN_FW], mark->time, true, true);
    if (is_kernel) {
        extend(&spans[TT_SPAN_KERNEL], mark->time, true, true);
        extend(&spans[TT_SPAN_KERNEL_DM], mark->time, class & TT_CLASS_DM_KERNEL, true);
        extend(&core->kernel, mark->time, true, true);
    }
    if (is_kernel_start)
        extend(&spans[TT_SPAN_FIRST_TO_LAST], mark->time, true, true);
    for (uint32_t bits = class >> TT_CLASS_SPAN_SHIFT; bits; bits &= bits - 1) {
        unsigned span = (unsigned)__builtin_ctz(bits);
        extend(&spans[span], mark->time, true, true);
    }
}

/* Follows the firmware of the mark's core. True when this mark ends the op. */
static bool follow_master(struct walk *walk, const struct tt_mark *mark, uint32_t class)
{
    struct core_state *core = &walk->cores[mark->core];
    if (class & TT_CLASS_START) {
        core->is_running = true;
        walk->has_started = true;
    } else if (core->is_running && !core->is_done) {
        core->is_done = true;
        walk->done_count++;
    }
    return walk->done_count == walk->core_count;
}

static void walk_group(struct walk *walk, const struct tt_group *group, uint32_t group_stamp,
                       const struct tt_mark *marks, size_t count)
{
    struct tt_log *log = walk->log;
    walk->core_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (walk->cores[marks[i].core].group_stamp != group_stamp) {
            walk->cores[marks[i].core].group_stamp = group_stamp;
            walk->core_count++;
        }
    }
    begin_op(walk, group);
    for (size_t i = 0; i < count && !log->failed; i++) {
        uint32_t class = log->signature_classes[marks[i].signature];
        const struct core_state *core = &walk->cores[marks[i].core];
        bool is_master = class & TT_CLASS_MASTER;
        if (is_master && (class & TT_CLASS_START) && core->op_stamp == walk->stamp && core->is_running) {
            tt_note(log->notes, TT_INFO_RESTARTED, 0,
                    "profile_log_device.csv: op %" PRIu64
                    " on device %u began again before all its cores had ended: markers "
                    "were dropped; its row is marked",
                    group->id, (unsigned)group->device);
            close_op(walk, true);
            begin_op(walk, group);
        }
        count_mark(walk, &marks[i], class);
        if (is_master && follow_master(walk, &marks[i], class)) {
            close_op(walk, false);
            begin_op(walk, group);
        }
    }
    if (walk->is_open) {
        tt_note(log->notes, TT_INFO_UNFINISHED, 0,
                "profile_log_device.csv: op %" PRIu64
                " on device %u has cores without an end: markers were dropped; its row "
                "is marked",
                group->id, (unsigned)group->device);
        close_op(walk, true);
    }
}

struct group_order {
    uint64_t first_time;
    uint32_t device_rank, group;
};

static int compare_groups(const void *left, const void *right)
{
    const struct group_order *a = left, *b = right;
    if (a->device_rank != b->device_rank)
        return a->device_rank < b->device_rank ? -1 : 1;
    if (a->first_time != b->first_time)
        return a->first_time < b->first_time ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

/* Puts the marks of each group together and in time order; order[] says which group comes when. */
static int sort_marks(struct tt_log *log, size_t *starts, struct group_order *order, struct error *err)
{
    size_t bytes = (log->mark_count ? log->mark_count : 1) * sizeof log->marks[0];
    struct tt_mark *bucketed = malloc(bytes);
    if (!bucketed)
        return error_set_errno(err, ENOMEM, "%zu markers", log->mark_count);
    size_t sum = 0;
    for (size_t i = 0; i < log->group_count; i++) {
        starts[i] = sum;
        sum += log->groups[i].mark_count;
    }
    for (size_t i = 0; i < log->mark_count; i++)
        bucketed[starts[log->keys[log->marks[i].key].group]++] = log->marks[i];
    free(log->marks); /* its memory is needed for sorting; the bucketed marks take its place */
    log->marks = bucketed;
    log->mark_capacity = log->mark_count;
    size_t largest = 1;
    for (size_t i = 0; i < log->group_count; i++)
        largest = log->groups[i].mark_count > largest ? log->groups[i].mark_count : largest;
    struct tt_mark *spare = malloc(largest * sizeof spare[0]);
    if (!spare)
        return error_set_errno(err, ENOMEM, "%zu markers", log->mark_count);
    bool is_sorted = true;
    for (size_t i = 0; i < log->group_count && is_sorted; i++) {
        size_t count = log->groups[i].mark_count;
        starts[i] -= count;
        is_sorted = tt_marks_sort(log->marks + starts[i], spare, count);
        order[i] = (struct group_order){.first_time = count ? log->marks[starts[i]].time : UINT64_MAX,
                                        .group = (uint32_t)i,
                                        .device_rank = log->groups[i].device};
    }
    free(spare);
    return is_sorted ? 0 : error_set_errno(err, ENOMEM, "%zu markers", log->mark_count);
}

/* Sums that a run's end reported, to the op whose time they fall in. Ops of a group are in time order. */
static void place_totals(struct tt_log *log, const struct tt_total *totals, size_t total_count,
                         size_t first_op)
{
    for (size_t i = 0; i < total_count; i++) {
        size_t low = first_op, high = log->op_count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (log->ops[middle].close_time < totals[i].time)
                low = middle + 1;
            else
                high = middle;
        }
        if (low == log->op_count)
            continue;
        log->ops[low].sums[totals[i].sum] += totals[i].data;
        log->ops[low].has_sum[totals[i].sum] = true;
    }
}

struct total_order {
    uint32_t group, index;
};

static int compare_totals(const void *left, const void *right)
{
    const struct total_order *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Sorts the totals by group, so that starts[g] .. starts[g + 1] are those of group g. */
static bool group_totals(struct tt_log *log, size_t *starts)
{
    struct total_order *order = malloc((log->total_count ? log->total_count : 1) * sizeof order[0]);
    struct tt_total *sorted = malloc((log->total_count ? log->total_count : 1) * sizeof sorted[0]);
    if (!order || !sorted || log->total_count >= UINT32_MAX) {
        free(order);
        free(sorted);
        return false;
    }
    for (size_t i = 0; i < log->total_count; i++)
        order[i] = (struct total_order){log->keys[log->totals[i].key].group, (uint32_t)i};
    qsort(order, log->total_count, sizeof order[0], compare_totals);
    size_t group = 0;
    for (size_t i = 0; i < log->total_count; i++) {
        sorted[i] = log->totals[order[i].index];
        while (group <= order[i].group)
            starts[group++] = i;
    }
    while (group <= log->group_count)
        starts[group++] = log->total_count;
    free(order);
    free(log->totals);
    log->totals = sorted;
    log->total_capacity = log->total_count;
    return true;
}

static int find_ops(struct tt_log *log, struct error *err)
{
    size_t groups = log->group_count, cores = log->core_count ? log->core_count : 1;
    size_t *starts = calloc(groups + 1, sizeof starts[0]), *totals = calloc(groups + 1, sizeof totals[0]);
    struct group_order *order = calloc(groups + 1, sizeof order[0]);
    struct walk walk = {.log = log,
                        .cores = calloc(cores, sizeof walk.cores[0]),
                        .touched = calloc(cores, sizeof walk.touched[0]),
                        .durations = calloc(cores, sizeof walk.durations[0])};
    int result = 0;
    if (!starts || !order || !totals || !walk.cores || !walk.touched || !walk.durations ||
        !group_totals(log, totals))
        result = error_set_errno(err, ENOMEM, "%zu ops in the device log", groups);
    if (result == 0)
        result = sort_marks(log, starts, order, err);
    if (result == 0)
        qsort(order, groups, sizeof order[0], compare_groups);
    for (size_t i = 0; i < groups && result == 0 && !log->failed; i++) {
        uint32_t g = order[i].group;
        size_t first_op = log->op_count;
        walk_group(&walk, &log->groups[g], (uint32_t)i + 1, log->marks + starts[g],
                   log->groups[g].mark_count);
        place_totals(log, log->totals + totals[g], totals[g + 1] - totals[g], first_op);
    }
    free(starts);
    free(totals);
    free(order);
    free(walk.cores);
    free(walk.touched);
    free(walk.durations);
    return result == 0 && log->failed ? error_set_errno(err, ENOMEM, "%zu ops in the device log", groups)
                                      : result;
}

int tt_log_read(struct tt_log *log, struct tt_model *notes, const char *data, size_t length,
                struct error *err)
{
    struct reading *reading = calloc(1, sizeof *reading);
    struct tt_log_reader reader;
    struct tt_marker marker;
    *log = (struct tt_log){.notes = notes};
    if (!reading)
        return error_set_errno(err, ENOMEM, "profile_log_device.csv");
    *reading = (struct reading){.log = log, .core = TT_NONE, .group = TT_NONE};
    tt_log_reader_init(&reader, data, length);
    while (!log->failed && tt_log_next(&reader, &marker))
        read_marker(reading, &marker, reader.line);
    note_header(log, &reader);
    free(reading);
    if (log->failed)
        return error_set_errno(err, ENOMEM, "%zu markers", log->mark_count);
    tt_log_finish_counters(log);
    tt_dispatch_find(log);
    int result = find_ops(log, err);
    if (result == 0)
        tt_dispatch_attach(log);
    return result == 0 && log->failed ? error_set_errno(err, ENOMEM, "%zu dispatches", log->dispatch_op_count)
                                      : result;
}

int tt_log_read_sub_devices(struct tt_log *log, struct tt_model *notes, const char *data, size_t length,
                            struct error *err)
{
    static const char needle[] = "sub_device_id";
    struct reading *reading = calloc(1, sizeof *reading);
    struct tt_log_reader reader;
    struct tt_marker marker;
    const char *end = length ? data + length : data;
    *log = (struct tt_log){.notes = notes};
    if (!reading)
        return error_set_errno(err, ENOMEM, "profile_log_device.csv");
    *reading = (struct reading){.log = log, .core = TT_NONE, .group = TT_NONE};
    tt_log_reader_init(&reader, data, length);
    log->header = reader.header;
    log->header.arch = (struct slice){0};
    while (!log->failed && reader.at < end) {
        const char *hit = memmem(reader.at, (size_t)(end - reader.at), needle, sizeof needle - 1);
        if (!hit)
            break;
        const char *line = memrchr(reader.at, '\n', (size_t)(hit - reader.at));
        const char *stop = memchr(hit, '\n', (size_t)(end - hit));
        reader.at = line ? line + 1 : reader.at;
        reader.end = stop ? stop + 1 : end;
        if (tt_log_next(&reader, &marker) && marker.run > 0 && marker.run < MAX_RUN_ID &&
            marker.device < TT_MAX_DEVICES) {
            uint32_t key = key_of(reading, &marker);
            if (key != TT_NONE)
                note_sub_device(log, key, &marker, 0);
        }
        reader.at = reader.end;
        reader.end = end;
    }
    free(reading);
    return log->failed ? error_set_errno(err, ENOMEM, "profile_log_device.csv") : 0;
}

struct slice tt_log_sub_device(const struct tt_log *log, uint32_t device, uint64_t id, int64_t trace,
                               int64_t counter)
{
    if (id >= MAX_RUN_ID || device >= TT_MAX_DEVICES)
        return (struct slice){0};
    uint32_t group = map_get(&log->group_of_key, (uint64_t)device << 40 | id);
    struct key_bytes bytes = {group, (uint32_t)trace, (uint32_t)counter};
    uint32_t key = group == TT_NONE ? INTERN_NONE : intern_find(&log->key_names, &bytes, sizeof bytes);
    return key < log->key_count ? log->keys[key].sub_device : (struct slice){0};
}

void tt_log_free(struct tt_log *log)
{
    if (!log)
        return;
    free(log->cores);
    free(log->keys);
    free(log->groups);
    free(log->marks);
    free(log->totals);
    free(log->samples);
    free(log->dispatch_events);
    free(log->dispatch_ops);
    free(log->signature_classes);
    free(log->ops);
    intern_free(&log->names);
    intern_free(&log->key_names);
    map_free(&log->signature_of_key);
    map_free(&log->core_of_key);
    map_free(&log->group_of_key);
    *log = (struct tt_log){0};
}
