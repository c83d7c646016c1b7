/* SPDX-License-Identifier: Apache-2.0 */
/* As many zones as the argument says, in nests of ten: a trace with many blocks. */
#include <stdlib.h>

#include <opscope/opscope.h>

static void nest(unsigned depth)
{
    OPSCOPE_ZONE("nest");
    if (depth > 1)
        nest(depth - 1);
}

int main(int argc, char **argv)
{
    unsigned long zones = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    OPSCOPE_ZONE("all");
    for (unsigned long i = 0; i < zones; i += 10)
        nest(10);
    return 0;
}
