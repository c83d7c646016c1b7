/* SPDX-License-Identifier: Apache-2.0 */
/* CUPTI fetches times when a buffer is full or when it is asked to. Our own thread asks every 10 ms as long as
 * something was launched or is still open, and lets an idle program alone: a flush of nothing costs 28 us, and makes
 * the next launch some microseconds slower. (The flush period that CUPTI offers returns full buffers alone, later.) */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/cuda/cuda.h"

#define FLUSH_NS 10000000L
#define SYNC_NS UINT64_C(250000000)
#define GIVE_UP_NS UINT64_C(1000000000) /* at the end of the program, without progress */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void flush(void)
{
    pthread_mutex_lock(&lock);
    if (!__atomic_load_n(&cuda.is_over, __ATOMIC_RELAXED))
        cuda.cupti.cuptiActivityFlushAll(0);
    pthread_mutex_unlock(&lock);
}

static void *flush_loop(void *unused)
{
    uint64_t next_sync_ns = 0;
    (void)unused;
    pthread_setname_np(pthread_self(), "opscope-cuda");
    while (!__atomic_load_n(&cuda.is_over, __ATOMIC_RELAXED)) {
        nanosleep(&(struct timespec){.tv_nsec = FLUSH_NS}, NULL);
        if (!opscope_has_session() || __atomic_load_n(&cuda.is_over, __ATOMIC_RELAXED))
            continue;
        if (!opscope_is_recording())
            cuda_pause(); /* the next call that is recorded goes on */
        tracks_make_expected();
        bool was_launched = __atomic_exchange_n(&cuda.was_launched, 0, __ATOMIC_RELAXED);
        if (was_launched || file_open_records())
            flush();
        uint64_t now_ns = clock_raw_ns();
        if (now_ns >= next_sync_ns) {
            tracks_sync_clocks();
            next_sync_ns = now_ns + SYNC_NS;
        }
    }
    return NULL;
}

void flush_start(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, saved;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved); /* the program's handlers run on the program's threads */
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, flush_loop, NULL) != 0)
        cuda_say("no thread to fetch the times of kernels with: they come when the program ends");
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* Many programs end with kernels under way and without destroying their contexts. Threads that go on launching must
 * not keep it from ending: nothing new is recorded. How many are still without times after a while. */
static uint32_t take_all(void)
{
    uint32_t open = 0;
    cuda_set_active(false);
    uint64_t since_ns = clock_raw_ns();
    tracks_make_expected();
    flush();
    for (open = file_open_records(); open && clock_raw_ns() - since_ns < GIVE_UP_NS;) {
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
        flush();
        uint32_t now = file_open_records();
        if (now != open)
            since_ns = clock_raw_ns();
        open = now;
    }
    tracks_sync_clocks();
    return open;
}

void flush_finish(void)
{
    take_all();
    pthread_mutex_lock(&lock); /* no flush is under way from here on */
    __atomic_store_n(&cuda.is_over, true, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

/* A recording that the program ends itself (opscope.record()): what it launched before belongs to it. The collector
 * looks for what is left in the file of the first session alone. */
void flush_on_leave(int is_over)
{
    static bool was_off;
    if (cuda.owner_pid != getpid() || __atomic_load_n(&cuda.is_over, __ATOMIC_RELAXED))
        return;
    if (is_over) { /* records go on with the next session's calls */
        __atomic_store_n(&cuda.is_off, was_off, __ATOMIC_RELAXED);
        return;
    }
    was_off = __atomic_load_n(&cuda.is_off, __ATOMIC_RELAXED);
    uint32_t open = take_all();
    char text[96];
    if (open) {
        snprintf(text, sizeof text, "CUDA: %u kernels and copies had not ended with the recording", open);
        opscope_message_(text, strlen(text));
    }
}
