/* SPDX-License-Identifier: Apache-2.0 */
/* What a zone costs the program that records it, beside the floor: two clock reads and two 16-byte stores in a loop.
 * Prints one line a figure: NAME VALUE UNIT. Run it under `opscope run` for the recording figures and by itself for
 * those without a session. Times are thread CPU time, the minimum and the median of many rounds; floor and zone rounds
 * alternate, so that both see the same machine. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "base/clock.h"
#include "session/session.h"

#define ROUNDS 41
#define MAX_THREADS 16

struct result {
    double floor[ROUNDS], zone[ROUNDS];
};

static struct slot buffer[CHUNK_SLOTS * 64];
static long zones_a_round = 200000;

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

__attribute__((noinline)) static void floor_loop(struct slot *out, long count, uint32_t source)
{
    for (long i = 0; i < count; i++) {
        struct slot *at = &out[(size_t)(i * 2) % CHUNK_SLOTS];
        at[0].time_kind = clock_ticks(source) << 8 | 1;
        at[0].word = 7;
        at[1].time_kind = clock_ticks(source) << 8 | 2;
        at[1].word = 0;
        __asm__ volatile("" : : "r"(at) : "memory");
    }
}

__attribute__((noinline)) static void zone_loop(long count)
{
    for (long i = 0; i < count; i++) {
        OPSCOPE_ZONE("bench zone");
        __asm__ volatile("" : : : "memory");
    }
}

static void *measure(void *context)
{
    struct result *r = context;
    struct slot *own = buffer + (size_t)(r->floor[0]) * CHUNK_SLOTS;
    zone_loop(1000);
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = cpu_ns();
        floor_loop(own, zones_a_round, CLOCK_SOURCE_COUNTER);
        double t1 = cpu_ns();
        zone_loop(zones_a_round);
        double t2 = cpu_ns();
        r->floor[i] = (t1 - t0) / (double)zones_a_round;
        r->zone[i] = (t2 - t1) / (double)zones_a_round;
        usleep(10000); /* bursts: the collector catches up between them */
    }
    return NULL;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Of rounds that followed one another: a machine that is slower for a while does not change it. */
static double median_ratio(const struct result *r)
{
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        ratios[i] = r->zone[i] / r->floor[i];
    qsort(ratios, ROUNDS, sizeof *ratios, by_value);
    return ratios[ROUNDS / 2];
}

static void print(const char *name, int threads, double *values)
{
    qsort(values, ROUNDS, sizeof *values, by_value);
    printf("%s_%dt_min %.2f ns\n%s_%dt_median %.2f ns\n", name, threads, values[0], name, threads,
           values[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    static struct result results[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    int count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    if (argc > 2)
        zones_a_round = strtol(argv[2], NULL, 10);
    count = count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
    for (int i = 0; i < count; i++) {
        results[i].floor[0] = i; /* which part of the buffer */
        pthread_create(&threads[i], NULL, measure, &results[i]);
    }
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("ratio_%dt_median %.4f x\n", count, median_ratio(&results[0]));
    print("floor", count, results[0].floor);
    print(getenv(SESSION_VARIABLE) ? "zone" : "zone_without_session", count, results[0].zone);
    return 0;
}
