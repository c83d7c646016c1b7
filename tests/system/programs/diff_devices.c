/* SPDX-License-Identifier: Apache-2.0 */
/* The same ops on two devices whose clocks this program makes up, then one op that is replayed three times; an op of
 * the host in between. The first argument is what "mul" takes on device 1, in ns; with a second there is one device. */
#include <stdint.h>
#include <stdlib.h>

#include <opscope/opscope.h>

static void run_on(uint32_t queue, uint64_t call, const char *name, uint64_t start, uint64_t duration,
                   uint32_t session)
{
    struct opscope_run run = {.struct_size = sizeof run,
                              .track = queue,
                              .op_call = call,
                              .name = name,
                              .start_ticks = start,
                              .duration_ticks = duration,
                              .cores = 4,
                              .session = session};
    opscope_device_run(&run);
}

int main(int argc, char **argv)
{
    uint64_t slow_ns = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    uint32_t queues[2];
    uint32_t device_count = argc > 2 ? 1 : 2;
    for (uint32_t i = 0; i < device_count; i++) {
        uint32_t device = opscope_device_open("made up", i, 1e9);
        queues[i] = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", i);
        opscope_device_sync(device, opscope_now(), 1000, 0);
    }
    for (uint64_t step = 0; step < 10; step++) {
        for (uint32_t i = 0; i < device_count; i++) {
            uint64_t start = 1000 + step * 10000;
            uint64_t call = opscope_op_begin("add", OPSCOPE_OP_DEVICE, i);
            opscope_op_end();
            run_on(queues[i], call, "add", start, 1000 + step, 0);
            call = opscope_op_begin("mul", OPSCOPE_OP_DEVICE, i);
            opscope_op_end();
            run_on(queues[i], call, "mul", start + 1500, i ? slow_ns : 2000, 0);
        }
        opscope_op_begin("load, then check", OPSCOPE_OP_HOST, 0);
        opscope_op_end();
    }
    uint64_t call = opscope_op_begin("replayed", OPSCOPE_OP_DEVICE, 0);
    opscope_op_end();
    for (uint32_t session = 1; session <= 3; session++)
        run_on(queues[0], call, "replayed", 200000 + session * 5000, 3000, session);
    return 0;
}
