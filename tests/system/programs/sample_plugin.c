/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that records, for plugin_host.c: its names live in memory that goes away with dlclose. */
#include <opscope/opscope.h>

__attribute__((visibility("default"))) void plugin_work(int count);

void plugin_work(int count)
{
    OPSCOPE_FUNCTION();
    for (int i = 0; i < count; i++) {
        OPSCOPE_ZONE("zone of a plug-in");
        opscope_zone_text("text of a plug-in");
    }
}
