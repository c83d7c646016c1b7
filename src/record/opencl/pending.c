/* SPDX-License-Identifier: Apache-2.0 */
/* The program's thread puts a command into `incoming` and goes on; nothing is asked of OpenCL there but the
 * reference to the event. The adapter's thread takes them every few milliseconds. It asks of a queue that runs in
 * order only until the first command that has not ended.
 *
 * Device times are the nanoseconds of the device's own clock. Where the device says what its clock reads
 * (clGetDeviceAndHostTimer), sync points come from that; elsewhere from the commands themselves: OpenCL notes the
 * device's time when a command is enqueued (QUEUED), which is between the host's times before and after the call.
 * Points that lie closer together than SYNC_NS would make a rate out of their errors, and are not taken. */
#include "record/opencl/pending.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "base/map.h"

#define PERIOD_NS 5000000
#define SYNC_NS 300e6
#define TIMER_TRIES 5
#define LAST_WAIT_NS UINT64_C(1000000000) /* for commands that are under way when the program ends */
#define MAX_PENDING (1u << 20)
#define GOOD_NS 20e3  /* of a pair: good enough to be taken at once */
#define PATIENCE 200u /* rounds in which a better one may come */

struct list {
    struct opencl_pending *items;
    size_t count, capacity;
};

struct ended { /* a command with its times, in ns of the device */
    const struct opencl_pending *pending;
    uint64_t queued, submit, start, end;
};

static struct list incoming; /* under the lock */
static struct map shared;    /* events of the program that we hold, under the lock */
static struct list waiting;  /* the thread's */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool has_thread, is_ending, is_leaving; /* leaving: the session, when nothing is under way any more */
static uint64_t rounds, lost, without_times;
static uint64_t first_ticks, first_raw_ns;

static bool list_reserve(struct list *list, size_t more)
{
    if (list->count + more <= list->capacity)
        return true;
    size_t capacity = list->capacity ? list->capacity : 1024;
    while (capacity < list->count + more)
        capacity *= 2;
    struct opencl_pending *items =
        capacity <= MAX_PENDING ? realloc(list->items, capacity * sizeof *items) : NULL;
    if (!items)
        return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

static void let_go(const struct opencl_pending *p)
{
    if (p->is_shared) {
        pthread_mutex_lock(&lock);
        map_remove(&shared, (uintptr_t)p->event);
        pthread_mutex_unlock(&lock);
    }
    opencl_next()->clReleaseEvent(p->event);
}

/* --- clocks --- */

static double ns_per_tick(void)
{
    uint64_t ticks = opscope_now() - first_ticks, ns = clock_raw_ns() - first_raw_ns;
    return ticks ? (double)ns / (double)ticks : 1;
}

static bool is_due(const struct opencl_device *d, uint64_t ticks)
{
    return !d->synced_ticks ||
           (ticks > d->synced_ticks && (double)(ticks - d->synced_ticks) * ns_per_tick() >= SYNC_NS);
}

static void note_pair(struct opencl_device *d, uint64_t before, uint64_t after, uint64_t device_ns)
{
    if (after < before || (d->host_after && after - before >= d->host_after - d->host_before) ||
        !is_due(d, before))
        return;
    d->host_before = before;
    d->host_after = after;
    d->device_ns = device_ns;
}

static void sync_device(struct opencl_device *d, bool is_last)
{
    uint64_t device_ns, host_ns;
    for (int i = 0; d->has_timer && i < TIMER_TRIES && is_due(d, opscope_now()); i++) {
        uint64_t before = opscope_now();
        if (opencl_next()->clGetDeviceAndHostTimer(d->object, &device_ns, &host_ns) == OPENCL_SUCCESS)
            note_pair(d, before, opscope_now(), device_ns);
    }
    uint64_t width = d->host_after - d->host_before;
    double uncertainty_ns = (double)width / 2 * ns_per_tick();
    bool is_taken = uncertainty_ns < GOOD_NS || d->rounds++ >= PATIENCE || (is_last && !d->synced_ticks);
    if (!d->host_after || !is_taken)
        return;
    opscope_device_sync(d->id, d->host_before + width / 2, d->device_ns, (uint64_t)uncertainty_ns + 1);
    d->synced_ticks = d->host_before + width / 2;
    d->host_before = d->host_after = 0;
    d->rounds = 0;
}

static void sync_devices(bool is_last)
{
    for (struct opencl_device *d = opencl_devices(); d; d = d->older) {
        sync_device(d, is_last);
        __atomic_store_n(&d->wants_pair, !d->has_timer && is_due(d, opscope_now()), __ATOMIC_RELAXED);
    }
}

/* --- recording --- */

/* The first lane that is free at that time. */
static struct opencl_lane *find_lane(struct opencl_queue *q, uint64_t start_ns)
{
    struct opencl_lane *best = &q->lanes[0];
    for (uint32_t i = 0; i < q->lane_count; i++) {
        if (q->lanes[i].end_ns <= start_ns)
            return &q->lanes[i];
        best = q->lanes[i].end_ns < best->end_ns ? &q->lanes[i] : best;
    }
    if (q->lane_count == OPENCL_LANES)
        return best;
    char name[64];
    struct opencl_lane *lane = &q->lanes[q->lane_count];
    if (q->lane_count)
        snprintf(name, sizeof name, "queue %u, at the same time %u", q->number, q->lane_count);
    else
        snprintf(name, sizeof name, "queue %u", q->number);
    lane->track =
        opscope_device_track(q->device->id, q->lane_count ? q->lanes[0].track : 0, OPSCOPE_TRACK_QUEUE, name,
                             (uint64_t)q->number * OPENCL_LANES + q->lane_count);
    q->lane_count++;
    return lane;
}

static void record(const struct ended *e)
{
    const struct opencl_pending *p = e->pending;
    struct opencl_lane *lane = find_lane(p->queue, e->start);
    lane->end_ns = e->end > lane->end_ns ? e->end : lane->end_ns;
    if (p->is_marker) {
        opscope_device_zone(lane->track, p->name, e->start, e->end - e->start);
        return;
    }
    struct opscope_figure figures[3] = {
        {.name = "QUEUED [ns]", .kind = OPSCOPE_FIGURE_NS},
        {.name = "SUBMITTED [ns]", .kind = OPSCOPE_FIGURE_NS},
        {.name = "BYTES", .kind = OPSCOPE_FIGURE_BYTES},
    };
    figures[0].value.whole = e->submit > e->queued ? e->submit - e->queued : 0;
    figures[1].value.whole = e->start > e->submit ? e->start - e->submit : 0;
    figures[2].value.whole = p->bytes;
    opscope_device_run(&(struct opscope_run){.struct_size = sizeof(struct opscope_run),
                                             .track = lane->track,
                                             .op_call = p->call,
                                             .name = p->name,
                                             .start_ticks = e->start,
                                             .duration_ticks = e->end - e->start,
                                             .figures = figures,
                                             .figure_count = p->bytes ? 3 : 2});
}

static bool read_times(struct ended *e)
{
    handle event = e->pending->event;
    const struct opencl_next *next = opencl_next();
    const struct {
        uint32_t what;
        uint64_t *to;
    } times[] = {{OPENCL_PROFILING_QUEUED, &e->queued},
                 {OPENCL_PROFILING_SUBMIT, &e->submit},
                 {OPENCL_PROFILING_START, &e->start},
                 {OPENCL_PROFILING_END, &e->end}};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        if (next->clGetEventProfilingInfo(event, times[i].what, sizeof(uint64_t), times[i].to, NULL) !=
            OPENCL_SUCCESS)
            return false;
    }
    return e->start && e->end >= e->start;
}

static int by_start(const void *a, const void *b)
{
    const struct ended *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void record_all(struct ended *ended, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct opencl_device *d = ended[i].pending->queue->device;
        if (ended[i].pending->after && ended[i].queued)
            note_pair(d, ended[i].pending->before, ended[i].pending->after, ended[i].queued);
    }
    qsort(ended, count, sizeof *ended, by_start);
    for (size_t i = 0; i < count; i++)
        record(&ended[i]);
}

/* Has it ended, with success or not? */
static bool has_ended(const struct opencl_pending *p, bool *is_failed)
{
    int32_t status = 1;
    int32_t asked =
        opencl_next()->clGetEventInfo(p->event, OPENCL_EVENT_STATUS, sizeof status, &status, NULL);
    *is_failed = asked != OPENCL_SUCCESS || status < 0;
    return *is_failed || status == OPENCL_COMPLETE;
}

/* One look at all that is waiting. */
static void look(void)
{
    enum { AT_ONCE = 256 };
    struct ended ended[AT_ONCE];
    struct opencl_pending done[AT_ONCE];
    size_t kept = 0, n = 0;
    rounds++;
    for (size_t i = 0; i <= waiting.count; i++) {
        bool is_end = i == waiting.count, is_failed = false;
        struct opencl_pending *p = is_end ? NULL : &waiting.items[i];
        if (is_end || n == AT_ONCE) {
            record_all(ended, n);
            for (size_t k = 0; k < n; k++)
                let_go(&done[k]);
            n = 0;
        }
        if (is_end)
            break;
        if ((p->queue->is_in_order && p->queue->round == rounds) || !has_ended(p, &is_failed)) {
            p->queue->round = rounds;
            waiting.items[kept++] = *p;
            continue;
        }
        done[n] = *p;
        ended[n] = (struct ended){.pending = &done[n]};
        if (is_failed || !read_times(&ended[n])) {
            without_times++;
            let_go(p);
        } else {
            n++;
        }
    }
    waiting.count = kept;
}

/* Under the lock. */
static void take_incoming(void)
{
    if (!incoming.count)
        return;
    if (!waiting.count) {
        struct list empty = waiting;
        waiting = incoming;
        incoming = empty;
    } else if (list_reserve(&waiting, incoming.count)) {
        memcpy(waiting.items + waiting.count, incoming.items, incoming.count * sizeof *incoming.items);
        waiting.count += incoming.count;
        incoming.count = 0;
    }
}

/* The next session knows nothing of how they were related. */
static void forget_clocks(void)
{
    for (struct opencl_device *d = opencl_devices(); d; d = d->older)
        d->synced_ticks = d->host_before = d->host_after = 0;
}

static void *watch(void *unused)
{
    (void)unused;
    opscope_thread_name("opscope OpenCL");
    pthread_mutex_lock(&lock);
    while (!is_ending) {
        while (!is_ending && !is_leaving && !incoming.count && !waiting.count)
            pthread_cond_wait(&wake, &lock);
        take_incoming();
        bool may_leave = is_leaving;
        pthread_mutex_unlock(&lock);
        look();
        may_leave = may_leave && !waiting.count;
        sync_devices(may_leave);
        if (may_leave)
            forget_clocks();
        nanosleep(&(struct timespec){.tv_nsec = PERIOD_NS}, NULL);
        pthread_mutex_lock(&lock);
        is_leaving = is_leaving && !may_leave;
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* When the program ends: the thread calls OpenCL no more, and what is under way gets a moment, also while paused. */
static void finish(void)
{
    if (opencl_is_child() || !has_thread)
        return;
    pthread_mutex_lock(&lock);
    is_ending = true;
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    if (!opencl_has_session())
        return;
    uint64_t until_ns = clock_raw_ns() + LAST_WAIT_NS;
    for (;;) {
        pthread_mutex_lock(&lock);
        take_incoming();
        pthread_mutex_unlock(&lock);
        look();
        if (!waiting.count || clock_raw_ns() >= until_ns)
            break;
        nanosleep(&(struct timespec){.tv_nsec = PERIOD_NS / 5}, NULL);
    }
    sync_devices(true);
    char text[160];
    if (waiting.count + lost + without_times) {
        snprintf(text, sizeof text,
                 "OpenCL: %zu commands had not ended with the program, %" PRIu64 " had no times, %" PRIu64
                 " found no room",
                 waiting.count, without_times, lost);
        opscope_message(text);
    }
}

/* A recording that the program ends itself (opscope.record()): commands that it enqueued before belong to it. */
static void wait_on_leave(int is_over)
{
    if (is_over || opencl_is_child())
        return;
    uint64_t until_ns = clock_raw_ns() + LAST_WAIT_NS;
    bool is_waited_for = true;
    pthread_mutex_lock(&lock);
    is_leaving = true;
    pthread_cond_signal(&wake);
    while (is_leaving && !is_ending && is_waited_for) {
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){.tv_nsec = PERIOD_NS / 5}, NULL);
        is_waited_for = clock_raw_ns() < until_ns;
        pthread_mutex_lock(&lock);
    }
    bool is_left = is_leaving && !is_ending;
    is_leaving = false;
    pthread_mutex_unlock(&lock);
    if (is_left)
        opscope_message("OpenCL: commands had not ended with the recording");
}

static void start_thread(void)
{
    sigset_t all, old;
    first_ticks = opscope_now();
    first_raw_ns = clock_raw_ns();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    has_thread = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (has_thread) {
        atexit(finish); /* before OpenCL's own, which was there first */
        opscope_on_leave_(wait_on_leave);
    }
}

void opencl_pending_start(void)
{
    pthread_mutex_lock(&lock);
    if (!has_thread && !is_ending)
        start_thread();
    pthread_mutex_unlock(&lock);
}

void opencl_pending_add(const struct opencl_pending *pending)
{
    pthread_mutex_lock(&lock);
    bool is_kept = has_thread && list_reserve(&incoming, 1) &&
                   (!pending->is_shared || map_put(&shared, (uintptr_t)pending->event, 1));
    if (is_kept)
        incoming.items[incoming.count++] = *pending;
    else
        lost++;
    if (is_kept && incoming.count == 1)
        pthread_cond_signal(&wake);
    pthread_mutex_unlock(&lock);
    if (!is_kept)
        opencl_next()->clReleaseEvent(pending->event);
}

bool opencl_pending_holds(handle event)
{
    pthread_mutex_lock(&lock);
    bool is_held = map_get(&shared, (uintptr_t)event) != MAP_NONE;
    pthread_mutex_unlock(&lock);
    return is_held;
}
