/* SPDX-License-Identifier: Apache-2.0 */
/* The shortest program that records: one zone. Prints what that first zone cost (joining the session, making the
 * segment, interning the name) in microseconds of wall time. */
#include <stdio.h>

#include <opscope/opscope.h>

#include "base/clock.h"

int main(void)
{
    uint64_t start = clock_raw_ns();
    {
        OPSCOPE_ZONE("first");
    }
    printf("first_zone %.1f us\n", (double)(clock_raw_ns() - start) / 1e3);
    return 0;
}
