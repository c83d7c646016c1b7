/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device/dispatch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_text.h"
#include "base/slice.h"

#define MAX_RUN_ID ((uint64_t)1 << 40)
#define DEVICE_ID_BITS 10u /* of a run's id; the rest is the program's */

enum command {
    COMMAND_ANY = 1, /* CQ_DISPATCH_* */
    COMMAND_NOTIFY = 2,
    COMMAND_SEND_GO = 4,
};

enum lane { LANE_MASTER, LANE_SUBORDINATE };

/* --- reading --- */

static bool is_dispatch_zone(struct slice zone)
{
    /* Nearly all names are of others and have no Q: this is asked of every line of a log. */
    return zone.length > 0 && memchr(zone.data, 'Q', zone.length) && slice_has(zone, "CQ-DISPATCH");
}

static bool is_prefetch_zone(struct slice zone)
{
    return zone.length > 0 && memchr(zone.data, 'Q', zone.length) && slice_has(zone, "CQ-PREFETCH");
}

static bool has_meta(const struct tt_marker *marker)
{
    struct slice rest = marker->rest;
    return rest.length > 0 && rest.data[rest.length - 1] == '}' &&
           (slice_has(rest, "workers_runtime_id") || slice_has(rest, "dispatch_command_"));
}

bool tt_dispatch_is_marker(const struct tt_marker *marker)
{
    if (slice_is(marker->processor, "ERISC"))
        return false;
    return is_dispatch_zone(marker->zone) || is_prefetch_zone(marker->zone) || has_meta(marker);
}

static unsigned command_of(struct slice name)
{
    unsigned command = slice_begins(name, "CQ_DISPATCH_") ? COMMAND_ANY : 0;
    if (slice_is(name, "CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL"))
        command |= COMMAND_NOTIFY;
    if (slice_is(name, "CQ_DISPATCH_CMD_SEND_GO_SIGNAL"))
        command |= COMMAND_SEND_GO;
    return command;
}

/* False when the marker says nothing of the op or its commands. */
static bool read_event(struct tt_log *log, const struct tt_marker *marker, struct tt_dispatch_event *event)
{
    bool is_zone = is_dispatch_zone(marker->zone);
    struct slice value;
    event->is_start = is_zone && marker->type == TT_MARKER_START;
    event->is_end = is_zone && marker->type == TT_MARKER_END;
    if (has_meta(marker)) {
        struct slice meta = tt_marker_rest(marker).meta;
        if (tt_meta_value(meta, "workers_runtime_id", &value)) {
            event->has_id = slice_unsigned(value, &event->id) && event->id < MAX_RUN_ID;
            if (!event->has_id)
                tt_note(log->notes, TT_DAMAGED_DISPATCH_ID, 0,
                        "profile_log_device.csv: workers_runtime_id %.*s is not an id",
                        (int)(value.length < 40 ? value.length : 40), value.length ? value.data : "");
        }
        if (tt_meta_value(meta, "dispatch_command_type", &value))
            event->commands |= (uint8_t)command_of(value);
        if (tt_meta_value(meta, "dispatch_command_subtype", &value))
            event->commands |= (uint8_t)command_of(value);
    }
    return event->is_start || event->is_end || event->has_id || event->commands;
}

void tt_dispatch_add(struct tt_log *log, uint32_t core, const struct tt_marker *marker)
{
    struct tt_dispatch_event event = {.time = marker->time, .core = (uint16_t)core};
    if (is_dispatch_zone(marker->zone) || is_prefetch_zone(marker->zone))
        log->cores[core].is_dispatch = true;
    if (slice_is(marker->processor, "BRISC"))
        event.lane = LANE_MASTER;
    else if (slice_is(marker->processor, "NCRISC"))
        event.lane = LANE_SUBORDINATE;
    else
        return;
    if (!read_event(log, marker, &event))
        return;
    if (log->dispatch_event_count >= UINT32_MAX ||
        !array_reserve(&log->dispatch_events, &log->dispatch_event_capacity, log->dispatch_event_count + 1,
                       sizeof log->dispatch_events[0])) {
        log->failed = true;
        return;
    }
    event.order = (uint32_t)log->dispatch_event_count;
    log->dispatch_events[log->dispatch_event_count++] = event;
}

/* --- ops --- */

static int compare_events(const void *left, const void *right)
{
    const struct tt_dispatch_event *a = left, *b = right;
    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    if (a->lane != b->lane)
        return a->lane < b->lane ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

struct walk { /* over the zones of one processor */
    struct tt_log *log;
    uint32_t device;
    bool in_zone, in_op, has_next;
    uint64_t zone_start, next_id;
    unsigned commands;    /* of the zone */
    size_t first_op;      /* of this core */
    size_t next_notified; /* the op that the subordinate's next go signal is for, or one before it */
    size_t notified_count, go_count;
};

static void begin_op(struct walk *walk, uint64_t id)
{
    struct tt_log *log = walk->log;
    walk->in_op = false;
    if (id == 0) /* commands of no program */
        return;
    if (!array_reserve(&log->dispatch_ops, &log->dispatch_op_capacity, log->dispatch_op_count + 1,
                       sizeof log->dispatch_ops[0])) {
        log->failed = true;
        return;
    }
    log->dispatch_ops[log->dispatch_op_count++] = (struct tt_dispatch_op){.id = id, .device = walk->device};
    walk->in_op = true;
}

static void end_master_zone(struct walk *walk, uint64_t time)
{
    struct tt_log *log = walk->log;
    if (walk->has_next) {
        if (!walk->in_op || log->dispatch_ops[log->dispatch_op_count - 1].id != walk->next_id)
            begin_op(walk, walk->next_id);
        walk->has_next = false;
    }
    if (!walk->in_op || !(walk->commands & COMMAND_ANY))
        return;
    struct tt_dispatch_op *op = &log->dispatch_ops[log->dispatch_op_count - 1];
    if (!op->total.is_set)
        op->total = (struct tt_interval){.start = walk->zone_start, .is_started = true, .is_set = true};
    op->total.end = time;
    if (walk->commands & COMMAND_NOTIFY) {
        op->is_notified = true;
        walk->in_op = false;
        walk->notified_count++;
    }
}

static void end_subordinate_zone(struct walk *walk, uint64_t time)
{
    struct tt_log *log = walk->log;
    if (!(walk->commands & COMMAND_SEND_GO))
        return;
    walk->go_count++;
    while (walk->next_notified < log->dispatch_op_count &&
           !log->dispatch_ops[walk->next_notified].is_notified)
        walk->next_notified++;
    if (walk->next_notified < log->dispatch_op_count)
        log->dispatch_ops[walk->next_notified++].go =
            (struct tt_interval){.start = walk->zone_start, .end = time, .is_started = true, .is_set = true};
}

static void walk_event(struct walk *walk, const struct tt_dispatch_event *event)
{
    if (event->is_start) {
        walk->in_zone = true;
        walk->zone_start = event->time;
        walk->commands = 0;
    }
    if (event->has_id) {
        walk->has_next = true;
        walk->next_id = event->id;
    }
    walk->commands |= event->commands;
    if (!event->is_end || !walk->in_zone)
        return;
    walk->in_zone = false;
    if (event->lane == LANE_MASTER)
        end_master_zone(walk, event->time);
    else
        end_subordinate_zone(walk, event->time);
}

/* The events of one core: the master's, then the subordinate's. */
static void walk_core(struct tt_log *log, const struct tt_dispatch_event *events, size_t count)
{
    const struct tt_core *core = &log->cores[events[0].core];
    struct walk walk = {.log = log, .device = core->device, .first_op = log->dispatch_op_count};
    walk.next_notified = walk.first_op;
    for (size_t i = 0; i < count && !log->failed; i++) {
        if (i > 0 && events[i].lane != events[i - 1].lane)
            walk.in_zone = false;
        walk_event(&walk, &events[i]);
    }
    if (walk.notified_count != walk.go_count)
        tt_note(
            log->notes, TT_INFO_GO_SIGNALS, 0,
            "profile_log_device.csv: dispatch core %u,%u of device %u asked for %zu go signals and sent %zu: "
            "markers were dropped, waits may be those of other ops",
            (unsigned)core->x, (unsigned)core->y, (unsigned)core->device, walk.notified_count, walk.go_count);
}

static int compare_ops(const void *left, const void *right)
{
    const struct tt_dispatch_op *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return (a->total.start > b->total.start) - (a->total.start < b->total.start);
}

/* Of each id the first, and only ops with a command. */
static void keep_first_runs(struct tt_log *log)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->dispatch_op_count; i++) {
        if (log->dispatch_ops[i].total.is_set)
            log->dispatch_ops[kept++] = log->dispatch_ops[i];
    }
    log->dispatch_op_count = kept;
    if (kept > 1)
        qsort(log->dispatch_ops, kept, sizeof log->dispatch_ops[0], compare_ops);
    kept = 0;
    for (size_t i = 0; i < log->dispatch_op_count; i++) {
        const struct tt_dispatch_op *op = &log->dispatch_ops[i];
        if (kept == 0 || log->dispatch_ops[kept - 1].id != op->id ||
            log->dispatch_ops[kept - 1].device != op->device)
            log->dispatch_ops[kept++] = *op;
    }
    log->dispatch_op_count = kept;
}

/* A dispatch core's own firmware is not part of the ops that it hands out. */
static void leave_out_dispatch_cores(struct tt_log *log)
{
    size_t kept = 0;
    for (size_t i = 0; i < log->mark_count; i++) {
        const struct tt_mark *mark = &log->marks[i];
        if (log->cores[mark->core].is_dispatch)
            log->groups[log->keys[mark->key].group].mark_count--;
        else
            log->marks[kept++] = *mark;
    }
    log->mark_count = kept;
}

void tt_dispatch_find(struct tt_log *log)
{
    struct tt_dispatch_event *events = log->dispatch_events;
    size_t count = log->dispatch_event_count;
    bool has_dispatch_core = false;
    for (size_t i = 0; i < log->core_count; i++)
        has_dispatch_core |= log->cores[i].is_dispatch;
    if (has_dispatch_core)
        leave_out_dispatch_cores(log);
    if (count > 1)
        qsort(events, count, sizeof events[0], compare_events);
    for (size_t i = 0; i < count && !log->failed;) {
        size_t from = i;
        while (i < count && events[i].core == events[from].core)
            i++;
        walk_core(log, events + from, i - from);
    }
    free(events);
    log->dispatch_events = NULL;
    log->dispatch_event_count = log->dispatch_event_capacity = 0;
    keep_first_runs(log);
}

/* --- which run it was --- */

static uint32_t run_of(const struct map *runs, uint32_t device, uint64_t id, bool is_program)
{
    if (is_program && (device >> DEVICE_ID_BITS || id >= MAX_RUN_ID >> DEVICE_ID_BITS))
        return TT_NONE;
    return map_get(runs, (uint64_t)device << 40 | (is_program ? id << DEVICE_ID_BITS | device : id));
}

/* The dispatches of one device. Their ids are those of runs, or of programs, which do not have the device in them:
 * whichever finds more runs. */
static void attach_device(struct tt_log *log, const struct map *runs, const struct tt_dispatch_op *ops,
                          size_t count)
{
    size_t found[2] = {0, 0};
    for (size_t i = 0; i < count; i++) {
        for (int is_program = 0; is_program < 2; is_program++)
            found[is_program] += run_of(runs, ops[i].device, ops[i].id, is_program) != TT_NONE;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t run = run_of(runs, ops[i].device, ops[i].id, found[1] > found[0]);
        if (run == TT_NONE) {
            tt_note(log->notes, TT_UNMATCHED_DISPATCH, 0,
                    "profile_log_device.csv: op %" PRIu64
                    " was dispatched on device %u, which did not record it",
                    ops[i].id, (unsigned)ops[i].device);
            continue;
        }
        log->ops[run].spans[TT_SPAN_DISPATCH_TOTAL] = ops[i].total;
        log->ops[run].spans[TT_SPAN_DISPATCH_GO] = ops[i].go;
    }
}

void tt_dispatch_attach(struct tt_log *log)
{
    struct map runs = {0};
    if (log->dispatch_op_count == 0)
        return;
    for (size_t i = 0; i < log->op_count && !log->failed; i++) {
        uint64_t key = (uint64_t)log->ops[i].device << 40 | log->ops[i].id;
        /* ops of one id are in time order: the first one stays */
        if (map_get(&runs, key) == TT_NONE && !map_put(&runs, key, (uint32_t)i))
            log->failed = true;
    }
    for (size_t i = 0; i < log->dispatch_op_count && !log->failed;) {
        size_t from = i;
        while (i < log->dispatch_op_count && log->dispatch_ops[i].device == log->dispatch_ops[from].device)
            i++;
        attach_device(log, &runs, log->dispatch_ops + from, i - from);
    }
    map_free(&runs);
}
