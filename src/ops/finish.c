/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/finish.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "ops/description.h"

/* --- runs of a call, next to each other --- */

static bool group_runs(struct ops *ops)
{
    size_t first_call = ops->finished.calls, first = ops->finished.runs, count = ops->run_count;
    uint32_t at = (uint32_t)first;
    uint32_t *order = realloc(ops->run_order, (count + 1) * sizeof order[0]);
    if (!order)
        return false;
    ops->run_order = order;
    for (size_t i = first_call; i < ops->call_count; i++)
        ops->calls[i].first_run = ops->calls[i].runs = 0;
    for (size_t i = first; i < count; i++) {
        struct op_call *call = ops->runs[i].call < ops->call_count ? &ops->calls[ops->runs[i].call] : NULL;
        if (call && call->runs < OPS_MOST_RUNS)
            call->runs++;
    }
    for (size_t i = first_call; i < ops->call_count; i++) {
        ops->calls[i].first_run = at;
        at += ops->calls[i].runs;
        ops->calls[i].runs = 0;
    }
    for (size_t i = first; i < count; i++) {
        struct op_run *run = &ops->runs[i];
        struct op_call *call = run->call < ops->call_count ? &ops->calls[run->call] : NULL;
        if (call && call->runs < OPS_MOST_RUNS) {
            ops->run_order[call->first_run + call->runs++] = (uint32_t)i;
        } else {
            run->faults |= OP_FAULT_NO_CALL;
            ops->unmatched_runs++;
        }
    }
    return true;
}

uint32_t ops_own_run(const struct ops *ops, const struct op_call *call)
{
    for (uint32_t i = 0; i < call->runs; i++) {
        uint32_t run = ops->run_order[call->first_run + i];
        if (!ops->runs[run].session)
            return run;
    }
    return OPS_NONE;
}

/* Kernels of one execution of an op: same call, same replay, same device, one after the other. */
static void join_kernels(struct ops *ops, struct op_call *call)
{
    for (uint32_t i = 1; i < call->runs; i++) {
        const struct op_run *before = &ops->runs[ops->run_order[call->first_run + i - 1]];
        struct op_run *run = &ops->runs[ops->run_order[call->first_run + i]];
        if (run->session == before->session && run->device == before->device && run->device != OPS_NO_DEVICE)
            run->flags |= OP_RUN_FURTHER;
    }
}

static void join_all_kernels(struct ops *ops)
{
    for (size_t i = ops->finished.calls; i < ops->call_count; i++) {
        if (ops->calls[i].runs > 1)
            join_kernels(ops, &ops->calls[i]);
    }
}

/* The runs of a call are in the order of their ids: a call that was captured may have as many as there were replays,
 * each on a line of its own. */
size_t ops_line_runs(const struct ops *ops, const struct op_line *line, const uint32_t **runs)
{
    const struct op_call *call = line->call == OPS_NONE ? NULL : &ops->calls[line->call];
    *runs = &line->run;
    if (line->run == OPS_NONE)
        return 0;
    if (!call || call->runs < 2)
        return 1;
    size_t low = call->first_run, high = low + call->runs, end = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ops->run_order[middle] < line->run)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end || ops->run_order[low] != line->run)
        return 1;
    size_t count = 1;
    while (low + count < end && ops->runs[ops->run_order[low + count]].flags & OP_RUN_FURTHER)
        count++;
    *runs = &ops->run_order[low];
    return count;
}

void ops_append_kernels(const struct ops *ops, const struct op_call *call, const uint32_t *runs, size_t count,
                        struct bytes *out)
{
    enum { MOST = 16 };
    const struct op_description *d = ops_get_description(ops, call->description);
    uint32_t names[MOST];
    size_t known = 0;
    for (size_t i = 0; i < d->kernels; i++)
        bytes_append_format(out, "%s%s", i ? "; " : "",
                            ops_get_text(ops, ops->kernels[ops_kernels(ops, d)[i]].name));
    for (size_t i = 0; i < count && !d->kernels; i++) {
        uint32_t name = ops->runs[runs[i]].name;
        size_t k = 0;
        while (k < known && names[k] != name)
            k++;
        if (k < known || name == OPS_NONE || name == call->name)
            continue;
        if (known == MOST) {
            bytes_append_text(out, "; ...");
            return;
        }
        bytes_append_format(out, "%s%s", known ? "; " : "", ops_get_text(ops, name));
        names[known++] = name;
    }
}

/* An estimate says of each piece of an op when it is, beside others: the op is from the first to the last. */
static struct op_line_sum sum_estimate(const struct ops *ops, const uint32_t *runs, size_t count)
{
    const struct op_run *first = &ops->runs[runs[0]];
    uint64_t end_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct op_run *run = &ops->runs[runs[i]];
        uint64_t own_end_ns = run->start_ns + (run->duration_ns == OPS_NO_DURATION ? 0 : run->duration_ns);
        first = run->start_ns < first->start_ns ? run : first;
        end_ns = own_end_ns > end_ns ? own_end_ns : end_ns;
    }
    return (struct op_line_sum){end_ns - first->start_ns, first->gap_ns, (uint32_t)count};
}

struct op_line_sum ops_sum_line(const struct ops *ops, const struct op_line *line)
{
    struct op_line_sum sum = {.gap_ns = OPS_NO_GAP};
    const uint32_t *runs;
    size_t count = ops_line_runs(ops, line, &runs);
    if (count && ops->runs[runs[0]].flags & OP_RUN_ESTIMATED)
        return sum_estimate(ops, runs, count);
    for (size_t i = 0; i < count; i++) {
        const struct op_run *run = &ops->runs[runs[i]];
        if (i == 0) {
            sum = (struct op_line_sum){run->duration_ns, run->gap_ns, 1};
            continue;
        }
        if (sum.duration_ns != OPS_NO_DURATION && run->duration_ns != OPS_NO_DURATION)
            sum.duration_ns += run->duration_ns;
        if (run->gap_ns > 0 && sum.gap_ns != OPS_NO_GAP)
            sum.gap_ns += run->gap_ns;
        sum.runs++;
    }
    return sum;
}

/* A host op that a device ran something for is a device op: a framework knows this of none of its ops. Of one that was
 * captured, and ran in replays alone, nothing is shown but the replays. */
static bool is_captured(const struct ops *ops, const struct op_call *call)
{
    return call->type == OP_TYPE_HOST && call->runs && ops_own_run(ops, call) == OPS_NONE;
}

static void take_for_device_ops(struct ops *ops)
{
    for (size_t i = ops->finished.calls; i < ops->call_count; i++) {
        if (ops->calls[i].type == OP_TYPE_HOST && ops->calls[i].runs)
            ops->calls[i].type = OP_TYPE_DEVICE;
    }
}

/* A call says which device it is for its process; where it ran, the trace knows which of all devices that was. */
static void take_device_of_runs(struct ops *ops, struct op_call *call)
{
    uint16_t first = ops->runs[ops->run_order[call->first_run]].device;
    for (uint32_t i = 0; i < call->runs; i++) {
        if (ops->runs[ops->run_order[call->first_run + i]].device == call->device)
            return;
    }
    if (first != OPS_NO_DEVICE)
        call->device = first;
}

static void take_devices_of_runs(struct ops *ops)
{
    for (size_t i = ops->finished.calls; i < ops->call_count; i++) {
        if (ops->calls[i].device != OPS_NONE && ops->calls[i].runs)
            take_device_of_runs(ops, &ops->calls[i]);
    }
}

/* --- order by time --- */

struct place { /* of something that has a line, or a gap */
    uint64_t time_ns;
    uint64_t number; /* further runs: of their call */
    uint32_t session, id;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* --- gaps --- */

/* A gap is time in which nothing ran on the device: a copy engine that waits beside a busy queue has none. So runs are
 * taken in the order of their times, those of all tracks of a device together; one that began before the others had
 * ended has the time until then as a gap below zero. They are stored as they were reported, which need not be that
 * order even on one track: launches of two threads into one queue of CUDA come in buffers of their own.
 *
 * Where a run of the device cannot be where its time says, before its call, or an importer knows no call of it, the
 * times are not to be trusted, and each track is taken by itself in the order of the reports (is_stale). */
struct lane { /* of runs: a device, or one of its tracks */
    uint64_t start_ns, end_ns;
    bool has_run, is_disordered, is_doubtful;
};

struct lanes {
    struct lane *tracks, *devices;
};

static bool is_before_its_call(const struct ops *ops, const struct op_run *run)
{
    return run->call < ops->call_count ? run->start_ns + OPS_STALE_NS < ops->calls[run->call].start_ns
                                       : !ops->is_recorded;
}

static void take_gap(struct op_run *run, struct lane *lane)
{
    if (run->gap_ns == OPS_NO_GAP)
        run->gap_ns = lane->has_run ? (int64_t)(run->start_ns - lane->end_ns) : 0;
    uint64_t end_ns = run->start_ns + run->duration_ns;
    if (lane->is_doubtful || end_ns > lane->end_ns) /* else it ran beside a longer one */
        lane->end_ns = end_ns;
    lane->has_run = true;
}

static struct lane *lane_of(const struct lanes *lanes, const struct op_run *run)
{
    struct lane *device = run->device == OPS_NO_DEVICE ? NULL : &lanes->devices[run->device];
    return device && !device->is_doubtful ? device : &lanes->tracks[run->track];
}

static void look_at(struct lane *lane, const struct op_run *run, bool is_doubtful)
{
    lane->is_disordered |= run->start_ns < lane->start_ns;
    lane->is_doubtful |= is_doubtful;
    lane->start_ns = run->start_ns;
}

/* How many runs are to be sorted. */
static size_t look_at_lanes(const struct ops *ops, const struct lanes *lanes)
{
    size_t to_sort = 0;
    for (size_t i = ops->finished.runs; i < ops->run_count; i++) {
        const struct op_run *run = &ops->runs[i];
        if (run->track == OPS_NONE)
            continue;
        bool is_doubtful = run->gap_ns != OPS_NO_GAP || is_before_its_call(ops, run);
        look_at(&lanes->tracks[run->track], run, is_doubtful);
        if (run->device != OPS_NO_DEVICE)
            look_at(&lanes->devices[run->device], run, is_doubtful);
    }
    for (size_t i = ops->finished.runs; i < ops->run_count; i++) {
        const struct lane *lane = ops->runs[i].track == OPS_NONE ? NULL : lane_of(lanes, &ops->runs[i]);
        to_sort += lane && lane->is_disordered && !lane->is_doubtful;
    }
    return to_sort;
}

static bool make_lanes(const struct ops *ops, struct lanes *lanes)
{
    size_t tracks = 0, devices = 0;
    for (size_t i = ops->finished.runs; i < ops->run_count; i++) {
        uint32_t track = ops->runs[i].track, device = ops->runs[i].device;
        if (track != OPS_NONE && track >= tracks)
            tracks = (size_t)track + 1;
        if (device != OPS_NO_DEVICE && device >= devices)
            devices = (size_t)device + 1;
    }
    lanes->tracks = calloc(tracks + 1, sizeof *lanes->tracks);
    lanes->devices = calloc(devices + 1, sizeof *lanes->devices);
    return lanes->tracks && lanes->devices;
}

static bool take_gaps(struct ops *ops, const struct lanes *lanes)
{
    size_t to_sort = look_at_lanes(ops, lanes), sorted = 0;
    struct place *places = to_sort ? malloc(to_sort * sizeof *places) : NULL;
    if (to_sort && !places)
        return false;
    for (size_t i = ops->finished.runs; i < ops->run_count; i++) {
        struct op_run *run = &ops->runs[i];
        struct lane *lane = run->track == OPS_NONE ? NULL : lane_of(lanes, run);
        if (lane && lane->is_disordered && !lane->is_doubtful)
            places[sorted++] = (struct place){.time_ns = run->start_ns, .id = (uint32_t)i};
        else if (lane)
            take_gap(run, lane);
    }
    if (sorted)
        qsort(places, sorted, sizeof *places, compare_places);
    for (size_t i = 0; i < sorted; i++) {
        struct op_run *run = &ops->runs[places[i].id];
        take_gap(run, lane_of(lanes, run));
    }
    free(places);
    return true;
}

static bool find_gaps(struct ops *ops)
{
    struct lanes lanes;
    bool is_fine = make_lanes(ops, &lanes) && take_gaps(ops, &lanes);
    free(lanes.tracks);
    free(lanes.devices);
    return is_fine;
}

/* --- lines --- */

/* Calls and signposts mostly lie in the order of their times already; then nothing is sorted and no place is kept. */
struct places {
    struct place (*at)(const struct ops *ops, uint32_t i);
    struct place *items; /* NULL: in order as they are */
    size_t first;        /* of the array that `at` looks into */
    size_t count, next;
};

static struct place call_at(const struct ops *ops, uint32_t i)
{
    return (struct place){.time_ns = ops->calls[i].start_ns, .id = i};
}

static struct place signpost_at(const struct ops *ops, uint32_t i)
{
    return (struct place){.time_ns = ops->signposts[i].time_ns, .id = i};
}

static struct place run_at(const struct ops *ops, uint32_t i)
{
    return (struct place){.time_ns = ops->runs[i].start_ns, .id = i};
}

static struct place place_at(const struct ops *ops, const struct places *places, size_t i)
{
    return places->items ? places->items[i] : places->at(ops, (uint32_t)(places->first + i));
}

static bool sort_places(const struct ops *ops, struct places *places)
{
    bool is_sorted = true;
    for (size_t i = 1; i < places->count && is_sorted; i++) {
        struct place before = place_at(ops, places, i - 1), here = place_at(ops, places, i);
        is_sorted = compare_places(&before, &here) <= 0;
    }
    if (is_sorted)
        return true;
    if (!places->items) {
        struct place *items = malloc(places->count * sizeof items[0]);
        for (size_t i = 0; items && i < places->count; i++)
            items[i] = places->at(ops, (uint32_t)(places->first + i));
        places->items = items;
    }
    if (places->items)
        qsort(places->items, places->count, sizeof places->items[0], compare_places);
    return places->items != NULL;
}

/* Runs that are not on their call's own line. */
static bool list_further(const struct ops *ops, struct places *further)
{
    size_t capacity = 0;
    for (size_t i = ops->finished.calls; i < ops->call_count; i++) {
        const struct op_call *call = &ops->calls[i];
        uint32_t own = ops_own_run(ops, call);
        for (uint32_t k = 0; k < call->runs; k++) {
            uint32_t run = ops->run_order[call->first_run + k];
            if (run == own || ops->runs[run].flags & OP_RUN_FURTHER)
                continue;
            if (!array_reserve(&further->items, &capacity, further->count + 1, sizeof further->items[0]))
                return false;
            further->items[further->count++] = (struct place){.time_ns = ops->runs[run].start_ns,
                                                              .number = call->number,
                                                              .session = ops->runs[run].session,
                                                              .id = run};
        }
    }
    return true;
}

/* The list whose next place is the earliest; of equal times the first list. */
static struct places *earliest(const struct ops *ops, struct places **lists, size_t count, uint32_t *id)
{
    struct places *best = NULL;
    uint64_t best_ns = 0;
    for (size_t i = 0; i < count; i++) {
        if (lists[i]->next == lists[i]->count)
            continue;
        struct place place = place_at(ops, lists[i], lists[i]->next);
        if (!best || place.time_ns < best_ns) {
            best = lists[i];
            best_ns = place.time_ns;
            *id = place.id;
        }
    }
    if (best)
        best->next++;
    return best;
}

static bool make_lines(struct ops *ops)
{
    size_t first_call = ops->finished.calls, first_signpost = ops->finished.signposts;
    struct places calls = {.at = call_at, .first = first_call, .count = ops->call_count - first_call};
    struct places signposts = {
        .at = signpost_at, .first = first_signpost, .count = ops->signpost_count - first_signpost};
    /* Runs of no call have lines where there is no other: in the order of a table, or of their times. */
    size_t runs = calls.count ? 0 : ops->run_count - ops->finished.runs;
    struct places alone = {.at = run_at, .first = ops->finished.runs, .count = ops->is_recorded ? runs : 0};
    struct places further = {0}, *lists[] = {&signposts, &calls, &further, &alone}, *from;
    uint32_t id = OPS_NONE;
    bool is_fine = list_further(ops, &further) && sort_places(ops, &calls) && sort_places(ops, &further) &&
                   sort_places(ops, &signposts) && sort_places(ops, &alone);
    size_t count = ops->line_count + calls.count + further.count + signposts.count + runs + 1;
    if (is_fine && count > ops->line_capacity) { /* not more than are needed: there may be many */
        struct op_line *lines = realloc(ops->lines, count * sizeof lines[0]);
        is_fine = lines != NULL;
        ops->lines = lines ? lines : ops->lines;
        ops->line_capacity = lines ? count : ops->line_capacity;
    }
    while (is_fine && (from = earliest(ops, lists, COUNT_OF(lists), &id))) {
        struct op_line line = {OPS_NONE, OPS_NONE, OPS_NONE, 0};
        if (from == &calls && is_captured(ops, &ops->calls[id]))
            continue;
        if (from == &signposts)
            line.signpost = id;
        else if (from == &calls)
            line = (struct op_line){id, ops_own_run(ops, &ops->calls[id]), OPS_NONE, 0};
        else
            line = (struct op_line){ops->runs[id].call, id, OPS_NONE, 0};
        ops->lines[ops->line_count++] = line;
    }
    for (size_t i = 0; is_fine && !alone.count && i < runs; i++)
        ops->lines[ops->line_count++] =
            (struct op_line){OPS_NONE, (uint32_t)(ops->finished.runs + i), OPS_NONE, 0};
    free(calls.items);
    free(further.items);
    free(alone.items);
    free(signposts.items);
    return is_fine;
}

/* --- wrong times --- */

static bool is_stale(const struct ops *ops, const struct op_run *run)
{
    uint64_t limit = run->duration_ns / 2 > OPS_STALE_NS ? run->duration_ns / 2 : OPS_STALE_NS;
    return run->gap_ns != OPS_NO_GAP && run->gap_ns < -OPS_STALE_NS && (uint64_t)-run->gap_ns > limit &&
           (run->track == OPS_NONE || is_before_its_call(ops, run));
}

/* A large gap beside a wrong time is wrong as well. */
static void mark_wrong_times(struct ops *ops)
{
    bool was_wrong = false;
    for (size_t i = ops->finished.lines; i < ops->line_count; i++) {
        const struct op_line *line = &ops->lines[i];
        struct op_run *run = line->run == OPS_NONE ? NULL : &ops->runs[line->run];
        struct op_call *call = line->call == OPS_NONE ? NULL : &ops->calls[line->call];
        bool is_device = !call || call->type == OP_TYPE_DEVICE, is_wrong = false;
        if (line->signpost != OPS_NONE)
            continue;
        if (is_device && !run) {
            is_wrong = call->runs == 0; /* else it was captured, and only its replays ran */
            call->faults |= OP_FAULT_NO_RUN;
        } else if (is_device && is_stale(ops, run)) {
            is_wrong = true;
            run->faults |= OP_FAULT_STALE;
        }
        if (run && run->gap_ns != OPS_NO_GAP && (is_wrong || was_wrong) &&
            (run->gap_ns > OPS_STALE_NS || run->gap_ns < -OPS_STALE_NS))
            run->flags |= OP_RUN_WRONG_GAP;
        was_wrong = is_wrong;
    }
}

void ops_mark_finished(struct ops *ops)
{
    ops_forget_numbers(ops);
    ops_forget_indexes(ops);
    ops->finished.calls = ops->call_count;
    ops->finished.runs = ops->run_count;
    ops->finished.signposts = ops->signpost_count;
    ops->finished.lines = ops->line_count;
}

int ops_finish(struct ops *ops, struct error *err)
{
    ops_forget_numbers(ops);
    ops_forget_indexes(ops); /* here and not at the end: what follows takes the most memory */
    if (ops->failed || !group_runs(ops) || !find_gaps(ops)) {
        ops->failed = true;
    } else {
        join_all_kernels(ops);
        ops->failed |= !make_lines(ops);
        take_for_device_ops(ops);
        take_devices_of_runs(ops);
        mark_wrong_times(ops);
    }
    ops_mark_finished(ops);
    return ops_check(ops, err);
}
