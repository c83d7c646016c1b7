/* SPDX-License-Identifier: Apache-2.0 */
/* Five ops on a device whose clock this program makes up: matmul (200 us) and softmax (100 us) of two layers, which say
 * what module they belong to, and a copy (50 us) that does not. */
#include <stdint.h>

#include <opscope/opscope.h>

static uint32_t queue;
static uint64_t now_ticks = 1000;

static void run_op(const char *name, const char *key, const char *module, uint64_t duration_ticks)
{
    uint64_t call = opscope_op_begin(name, OPSCOPE_OP_DEVICE, 0);
    if (module)
        opscope_op_attribute(key, module);
    opscope_op_end();
    struct opscope_run run = {.struct_size = sizeof run,
                              .track = queue,
                              .op_call = call,
                              .name = name,
                              .start_ticks = now_ticks,
                              .duration_ticks = duration_ticks,
                              .cores = 4};
    opscope_device_run(&run);
    now_ticks += duration_ticks + 1000;
}

int main(void)
{
    uint32_t device = opscope_device_open("made up", 0, 1e9);
    queue = opscope_device_track(device, 0, OPSCOPE_TRACK_QUEUE, "queue", 0);
    opscope_device_sync(device, opscope_now(), 1000, 0);
    run_op("matmul", "module", "encoder.layer.0", 200000);
    run_op("softmax", "module", "encoder.layer.0", 100000);
    run_op("matmul", "module_path", "encoder.layer.1", 200000);
    run_op("softmax", "module_path", "encoder.layer.1", 100000);
    run_op("copy", NULL, NULL, 50000);
    return 0;
}
