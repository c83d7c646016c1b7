// SPDX-License-Identifier: Apache-2.0
// Ops for the tests of `opscope overhead`: some that work, with zones in them, and one for each way to misbehave.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "opscope/opscope.h"
#include "opscope/overhead.h"

static void work(unsigned rounds)
{
    uint64_t x = 1;
    for (unsigned i = 0; i < rounds; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
}

// --- ops that work ---

static int call_empty(void *context)
{
    (void)context;
    OPSCOPE_ZONE("dispatch");
    return 0;
}

static int call_work(void *context)
{
    (void)context;
    OPSCOPE_ZONE("dispatch");
    work(500);
    {
        OPSCOPE_ZONE("enqueue");
        work(1500);
    }
    return 0;
}

static int call_plain(void *context)
{
    (void)context;
    work(200);
    return 0;
}

static int call_prints(void *context)
{
    (void)context;
    return puts("an op that prints") < 0;
}

// Takes longer each time: no number of repeats makes it steady.
static int call_grows(void *context)
{
    static unsigned calls;
    (void)context;
    work(10 * ++calls);
    return 0;
}

// Takes 5 ms of the CPU, and so the longer the more others want it.
static int call_spins(void *context)
{
    struct timespec begin, now;
    (void)context;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 5000000);
    return 0;
}

// --- what was asked for ---

static int prepare_shape(const struct opscope_overhead_inputs *inputs, void **context)
{
    bool is_right = inputs->struct_size >= sizeof *inputs && inputs->rank == 2 && inputs->shape[0] == 3 &&
                    inputs->shape[1] == 5 && inputs->dtype && strcmp(inputs->dtype, "bfloat16") == 0 &&
                    !inputs->layout;
    *context = malloc(64);
    return is_right ? 0 : EINVAL;
}

static int call_context(void *context)
{
    return context ? 0 : EFAULT;
}

// --- ops that misbehave ---

static int call_raises(void *context)
{
    (void)context;
    return EIO;
}

static int call_raises_later(void *context)
{
    static unsigned calls;
    (void)context;
    return ++calls > 30 ? EPROTO : 0;
}

static int call_hangs(void *context)
{
    (void)context;
    while (true)
        pause();
    return 0;
}

static int call_crashes(void *context)
{
    (void)context;
    raise(SIGSEGV);
    return 0;
}

static int call_exits(void *context)
{
    (void)context;
    _exit(7);
}

static int call_greedy(void *context)
{
    (void)context;
    for (unsigned i = 0; i < 4096; i++) {
        char *block = malloc((size_t)64 << 20); // kept: that is the point
        if (!block)
            return ENOMEM;
        block[0] = 1;
    }
    return 0;
}

// --- work that goes on after the call ---

static atomic_uint jobs;
static uint64_t first_ns;            // when the first call of the burst was made
static _Atomic(uint64_t) waiting_ns; // how long its jobs go on once they are waited for; 0: nobody waits yet

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *run_job(void *unused)
{
    (void)unused;
    while (!atomic_load(&waiting_ns))
        usleep(1000);
    usleep((useconds_t)(atomic_load(&waiting_ns) / 1000));
    atomic_fetch_sub(&jobs, 1);
    return NULL;
}

static int call_early(void *context)
{
    pthread_t thread;
    (void)context;
    if (atomic_fetch_add(&jobs, 1) == 0) {
        atomic_store(&waiting_ns, 0);
        first_ns = now_ns();
    }
    int failed = pthread_create(&thread, NULL, run_job, NULL);
    return failed ? failed : pthread_detach(thread);
}

// Takes as long again as the calls did, however busy the machine is.
static int wait_for_jobs(void *context)
{
    (void)context;
    if (atomic_load(&jobs))
        atomic_store(&waiting_ns, now_ns() - first_ns + 1000000);
    while (atomic_load(&jobs))
        usleep(50);
    return 0;
}

static const struct opscope_overhead_op ops[] = {
    {.name = "good.empty", .group = "good", .call = call_empty},
    {.name = "good.work", .group = "good", .call = call_work},
    {.name = "good.plain", .group = "good", .call = call_plain},
    {.name = "good.prints", .group = "loud", .call = call_prints},
    {.name = "long.spins", .group = "long", .call = call_spins},
    {.name = "uneven.grows", .group = "uneven", .call = call_grows},
    {.name = "inputs.shape",
     .group = "inputs",
     .prepare = prepare_shape,
     .call = call_context,
     .release = free},
    {.name = "bad.raises", .group = "bad", .call = call_raises},
    {.name = "bad.raises_later", .group = "bad", .call = call_raises_later},
    {.name = "bad.hangs", .group = "bad", .call = call_hangs},
    {.name = "bad.crashes", .group = "bad", .call = call_crashes},
    {.name = "bad.exits", .group = "bad", .call = call_exits},
    {.name = "bad.greedy", .group = "bad", .call = call_greedy},
    {.name = "async.early", .group = "async", .call = call_early, .synchronize = wait_for_jobs},
};

OPSCOPE_OVERHEAD_OPS("1.2", ops)
