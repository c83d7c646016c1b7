/* SPDX-License-Identifier: Apache-2.0 */
/* As many ops of the host as its argument says. */
#include <stdlib.h>

#include <opscope/opscope.h>

int main(int argc, char **argv)
{
    for (long i = argc > 1 ? strtol(argv[1], NULL, 10) : 1; i > 0; i--) {
        opscope_op_begin("op", OPSCOPE_OP_HOST, 0);
        opscope_op_end();
    }
    return 0;
}
