/* SPDX-License-Identifier: Apache-2.0 */
/* Four ops on a device whose clock this program makes up: each runs 100 us, and 2 ms pass before the next. Between the
 * ops the host is in the zone "prepare", and inside it in "load". */
#include <stdint.h>
#include <time.h>

#include <opscope/opscope.h>

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

int main(void)
{
    uint32_t device = opscope_device_open("made up", 0, 1e9);
    uint32_t queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", 0);
    opscope_device_sync(device, opscope_now(), 1000, 0);
    for (uint64_t i = 0; i < 4; i++) {
        uint64_t call = opscope_op_begin("copy", OPSCOPE_OP_DEVICE, 0);
        opscope_op_end();
        struct opscope_run run = {.struct_size = sizeof run,
                                  .track = queue,
                                  .op_call = call,
                                  .name = "copy",
                                  .start_ticks = 1000 + i * 2100000,
                                  .duration_ticks = 100000,
                                  .cores = 4};
        opscope_device_run(&run);
        OPSCOPE_ZONE("prepare");
        {
            OPSCOPE_ZONE("load");
            sleep_ms(20);
        }
    }
    return 0;
}
