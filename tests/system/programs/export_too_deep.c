/* SPDX-License-Identifier: Apache-2.0 */
/* More zones open at once than a trace has levels: those below the last level are lost, and counted. */
#include <opscope/opscope.h>

int main(void)
{
    for (unsigned i = 0; i < 66000; i++)
        OPSCOPE_BEGIN("down");
    for (unsigned i = 0; i < 66000; i++)
        OPSCOPE_END();
    return 0;
}
