/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in with a recorder of its own (libopscope.a), for thread_plugin_host.c. */
#include <opscope/opscope.h>

__attribute__((visibility("default"))) void plugin_work(int count);

void plugin_work(int count)
{
    for (int i = 0; i < count; i++) {
        OPSCOPE_ZONE("zone of a plug-in");
        __asm__ volatile("" : : : "memory");
    }
}
