/* SPDX-License-Identifier: Apache-2.0 */
/* Zones of two versions of a program, chosen by the argument: "slow part" takes 1 ms in version 1 and 40 ms in version
 * 2, "old part" is in version 1 alone, "new part" in version 2. The times are so far apart that no load brings their
 * medians near each other. */
#include <stdlib.h>
#include <time.h>

#include <opscope/opscope.h>

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

int main(int argc, char **argv)
{
    long version = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    for (int i = 0; i < 30; i++) {
        OPSCOPE_ZONE("step");
        {
            OPSCOPE_ZONE("slow part");
            sleep_ms(version == 1 ? 1 : 40);
        }
        if (version == 1) {
            OPSCOPE_ZONE("old part");
        } else {
            OPSCOPE_ZONE("new part");
        }
    }
    return 0;
}
