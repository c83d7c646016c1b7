/* SPDX-License-Identifier: Apache-2.0 */
/* One matmul of 100 us on a device called "made up", which says that it is what the argument names, if there is one. */
#include <stdint.h>

#include <opscope/opscope.h>

int main(int argc, char **argv)
{
    static const int64_t shape[] = {256, 256};
    struct opscope_device about = {.struct_size = sizeof about,
                                   .name = "made up",
                                   .architecture = argc > 1 ? argv[1] : NULL,
                                   .ticks_per_second = 1e9};
    struct opscope_tensor tensor = {
        .struct_size = sizeof tensor, .rank = 2, .shape = shape, .dtype = "BFLOAT16", .memory = "DRAM"};
    uint32_t device = opscope_device_open_as(&about);
    uint32_t queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", 0);
    opscope_device_sync(device, opscope_now(), 1000, 0);
    uint64_t call = opscope_op_begin("matmul", OPSCOPE_OP_DEVICE, 0);
    opscope_op_input(&tensor);
    opscope_op_input(&tensor);
    opscope_op_output(&tensor);
    opscope_op_attribute("math_fidelity", "HiFi4");
    opscope_op_end();
    struct opscope_run run = {.struct_size = sizeof run,
                              .track = queue,
                              .op_call = call,
                              .name = "matmul",
                              .start_ticks = 1000,
                              .duration_ticks = 100000,
                              .cores = 4};
    opscope_device_run(&run);
    return 0;
}
