/* SPDX-License-Identifier: Apache-2.0 */
/* A producer for the end-to-end figures, to be run under `opscope run`: this many zones, at a given rate or as fast as
 * it can. Prints the rate it reached and how much its own memory grew. NAME VALUE UNIT lines.
 *
 *     bench_rate MILLIONS [MILLIONS_A_SECOND] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opscope/opscope.h>

#include "base/clock.h"

#define BURST 64 /* zones between looks at the clock */

static long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = strtol(line + 6, NULL, 10);
    }
    if (file)
        fclose(file);
    return kib;
}

static void burst(void)
{
    for (int i = 0; i < BURST; i++) {
        OPSCOPE_ZONE("paced zone");
        __asm__ volatile("" : : : "memory");
    }
}

int main(int argc, char **argv)
{
    long zones = (argc > 1 ? strtol(argv[1], NULL, 10) : 10) * 1000000;
    double rate = argc > 2 ? strtod(argv[2], NULL) * 1e6 : 0;
    long before = resident_kib();
    uint64_t start = clock_raw_ns();
    double ns_a_burst = rate > 0 ? BURST * 1e9 / rate : 0;
    for (long done = 0; done < zones; done += BURST) {
        burst();
        /* Behind schedule there is no waiting; ahead of it, wait for the moment this burst is due. */
        uint64_t due = start + (uint64_t)((double)(done / BURST + 1) * ns_a_burst);
        while (rate > 0 && clock_raw_ns() < due)
            ;
    }
    double seconds = (double)(clock_raw_ns() - start) / 1e9;
    printf("rate %.1f M zones/s\nzones %ld\ngrowth %.1f MiB\n",
           (double)((zones + BURST - 1) / BURST * BURST) / seconds / 1e6, (zones + BURST - 1) / BURST * BURST,
           (double)(resident_kib() - before) / 1024);
    return 0;
}
