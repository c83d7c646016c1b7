/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of opscope.h, compiled to nothing: no symbol of the library is needed, arguments are not
 * evaluated twice or at all, and unused results raise no warning. */
#define OPSCOPE_DISABLE
#include <opscope/opscope.h>

#include <stdio.h>

int main(void)
{
    int evaluated = 0;
    OPSCOPE_FUNCTION();
    OPSCOPE_ZONE("zone");
    OPSCOPE_ZONE_COLOUR("zone", 1);
    OPSCOPE_BEGIN("zone");
    OPSCOPE_END();
    OPSCOPE_COUNTER("counter", evaluated++);
    OPSCOPE_FRAME("frame");
    opscope_zone_begin("zone");
    opscope_zone_text("text");
    opscope_zone_value(1);
    opscope_zone_colour(1);
    opscope_zone_end();
    opscope_task_begin("task", 1);
    opscope_task_end();
    opscope_signpost("header", NULL);
    opscope_message("text");
    opscope_counter("counter", 1);
    opscope_alloc(&evaluated, 1, NULL);
    opscope_free(&evaluated, NULL);
    opscope_free_all(NULL);
    opscope_thread_name("name");
    uint64_t call = opscope_op_begin("op", OPSCOPE_OP_DEVICE, 0);
    opscope_op_input(NULL);
    opscope_op_output(NULL);
    opscope_op_attribute("key", "value");
    opscope_op_kernel("kernel");
    opscope_op_end();
    uint32_t device = opscope_device_open("device", 0, 1e9);
    device += opscope_device_open_as(NULL);
    uint32_t track = opscope_device_track(device, 0, OPSCOPE_TRACK_CORE, "core", 0);
    opscope_device_zone(track, "zone", 1, 1);
    opscope_device_run(NULL);
    opscope_device_sync(device, opscope_now(), 1, 1);
    opscope_device_lost(device, 1, 1, 2);
    printf("%d %d %d\n", evaluated, opscope_is_recording(), (int)(call + device + track));
    return 0;
}
