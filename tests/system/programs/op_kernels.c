/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of PyTorch with the kernels that ran for them, as the adapter for CUDA records them: two products of 32-bit
 * floats, one without tensor cores (and a kernel that adds its parts up) inside an op that runs nothing itself, and one
 * with them, and a small elementwise op. With an argument: an op that was captured, and three replays of it; with
 * two: on another device one that was not. */
#include <stdint.h>

#include <opscope/opscope.h>

static uint32_t queue;
static uint64_t now = 1000;

static void run(uint64_t call, const char *kernel, uint64_t ticks, uint32_t cores, uint32_t replay)
{
    struct opscope_run run = {.struct_size = sizeof run,
                              .track = queue,
                              .op_call = call,
                              .name = kernel,
                              .start_ticks = now,
                              .duration_ticks = ticks,
                              .cores = cores,
                              .session = replay};
    opscope_device_run(&run);
    now += ticks + 100;
}

static uint64_t op(const char *name, uint32_t inputs)
{
    static const int64_t shape[] = {1024, 1024};
    struct opscope_tensor tensor = {
        .struct_size = sizeof tensor, .rank = 2, .shape = shape, .dtype = "FLOAT32", .memory = "CUDA0_DRAM"};
    uint64_t call = opscope_op_begin(name, OPSCOPE_OP_HOST, 0);
    for (uint32_t i = 0; i < inputs; i++)
        opscope_op_input(&tensor);
    opscope_op_output(&tensor);
    opscope_op_end();
    return call;
}

static void run_ops(void)
{
    opscope_op_begin("aten::matmul", OPSCOPE_OP_HOST, 0);
    uint64_t call = op("aten::mm", 2);
    opscope_op_end();
    run(call, "ampere_sgemm_128x64_nn", 100000, 128, 0);
    run(call, "splitKreduce_kernel", 5000, 128, 0);
    run(call, "splitKreduce_kernel", 5000, 128, 0);
    run(op("aten::bmm", 2), "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tensor16x8x8", 100000, 128, 0);
    run(op("aten::mul", 2), "aten::mul", 100000, 1, 0);
}

int main(int argc, char **argv)
{
    struct opscope_device about = {
        .struct_size = sizeof about, .name = "NVIDIA H200", .ticks_per_second = 1e9};
    uint32_t device = opscope_device_open_as(&about);
    (void)argv;
    queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "stream 7", 0);
    opscope_device_sync(device, opscope_now(), 1000, 0);
    if (argc < 2) {
        run_ops();
        return 0;
    }
    uint64_t call = op("aten::mul", 2);
    for (uint32_t replay = 1; replay <= 3; replay++)
        run(call, "mul_kernel", 100000, 1, replay);
    if (argc > 2) {
        about.number = 1;
        device = opscope_device_open_as(&about);
        queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "stream 8", 0);
        opscope_device_sync(device, opscope_now(), 1000, 0);
        run(op("aten::add", 2), "add_kernel", 100000, 1, 0);
    }
    return 0;
}
