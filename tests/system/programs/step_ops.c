/* SPDX-License-Identifier: Apache-2.0 */
/* Six steps, each with one op of a made-up device; the first takes far longer than the others. With an argument only
 * the ends of steps are marked, and nothing before the first. */
#include <stdint.h>
#include <unistd.h>

#include <opscope/opscope.h>

int main(int argc, char **argv)
{
    (void)argv;
    uint32_t device = opscope_device_open("made up", 0, 1e9);
    uint32_t queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", 0);
    opscope_device_sync(device, opscope_now(), 1000, 0);
    if (argc < 2)
        OPSCOPE_FRAME("step");
    for (uint64_t step = 0; step < 6; step++) {
        uint64_t call = opscope_op_begin("add", OPSCOPE_OP_DEVICE, 0);
        opscope_op_end();
        struct opscope_run run = {.struct_size = sizeof run,
                                  .track = queue,
                                  .op_call = call,
                                  .name = "add",
                                  .start_ticks = 2000 + step * 10000,
                                  .duration_ticks = 1000};
        opscope_device_run(&run);
        usleep(step ? 1000 : 500000);
        OPSCOPE_FRAME("step");
    }
    return 0;
}
