/* SPDX-License-Identifier: Apache-2.0 */
/* A producer for the delay of the live page, to be run under `opscope run --view`: for each line on standard input it
 * records one zone and prints when that was over, CLOCK_MONOTONIC in ns. */
#include <inttypes.h>
#include <stdio.h>

#include <opscope/opscope.h>

#include "base/clock.h"

static void record(void)
{
    OPSCOPE_ZONE("live zone");
    __asm__ volatile("" : : : "memory");
}

int main(void)
{
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        record();
        printf("%" PRIu64 "\n", clock_ns(CLOCK_MONOTONIC));
        fflush(stdout);
    }
    return 0;
}
