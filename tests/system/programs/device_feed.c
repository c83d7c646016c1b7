/* SPDX-License-Identifier: Apache-2.0 */
/* device_feed MODE [WHAT]: one device, fed by hand.
 *   ticks FIRST      10 runs of 1 us, 100 us apart, of a clock that counts from FIRST
 *   overlap          10 runs of 12 us on one queue, each beginning 10 us after the one before
 *   alone            10 runs of 10 us that no op has called, 5 ms apart, handed over in another order
 *   named TEXT       10 runs of 10 us on a queue that is called TEXT in the middle of them
 *   lost COUNT       the same, and so many events that were lost between the third and the sixth run
 *   identity TEXT    10 runs of 10 us of the device 0 of this process, which is called TEXT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opscope/opscope.h>

static uint64_t raw_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "", *what = argc > 2 ? argv[2] : "";
    int is_ticks = strcmp(mode, "ticks") == 0, is_overlap = strcmp(mode, "overlap") == 0,
        is_alone = strcmp(mode, "alone") == 0;
    uint64_t begin = raw_ns(), first = is_ticks ? strtoull(what, NULL, 0) : begin;
    struct opscope_device about = {.struct_size = sizeof about,
                                   .name = "made up",
                                   .ticks_per_second = 1e9,
                                   .identity = strcmp(mode, "identity") == 0 ? what : NULL};
    uint32_t device = opscope_device_open_as(&about);
    uint32_t queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", 0);
    opscope_device_sync(device, opscope_now(), first + (raw_ns() - begin), 50);
    for (uint64_t n = 0; n < 10; n++) {
        uint64_t i = is_alone ? n ^ 1 : n, call = 0;
        if (!is_alone) {
            call = opscope_op_begin("op", OPSCOPE_OP_DEVICE, 0);
            opscope_op_end();
        }
        struct opscope_run run = {
            .struct_size = sizeof run,
            .track = queue,
            .op_call = call,
            .name = i % 2 ? "odd" : "even",
            .start_ticks = first + i * (is_ticks     ? 100000
                                        : is_overlap ? 10000
                                        : is_alone   ? 5000000
                                                     : 50000),
            .duration_ticks = is_ticks     ? 1000
                              : is_overlap ? 12000
                                           : 10000,
        };
        opscope_device_run(&run);
        if (n == 5 && strcmp(mode, "named") == 0)
            opscope_device_track_name(queue, what);
        if (n == 5 && strcmp(mode, "lost") == 0) {
            opscope_device_lost(device, strtoull(what, NULL, 0), first + 2 * 50000, first + 5 * 50000);
            opscope_device_lost(queue, 1, 0, 0);
        }
    }
    return 0;
}
