/* SPDX-License-Identifier: Apache-2.0 */
/* What `opscope gpu-sampler` says to the `opscope run` that started it, through a pipe; both are the same program. */
#ifndef OPSCOPE_COLLECT_GPU_WIRE_H
#define OPSCOPE_COLLECT_GPU_WIRE_H

#include <stdint.h>

#define GPU_METRICS 7u
#define GPU_DEVICES 64u

enum gpu_message_kind {
    GPU_MESSAGE_DEVICE = 1, /* text: its name; metrics: those that it has, one bit each */
    GPU_MESSAGE_READY = 2,  /* waits for a byte to begin */
    GPU_MESSAGE_SAMPLE = 3,
    GPU_MESSAGE_LOST = 4,    /* from start_ns to end_ns; count */
    GPU_MESSAGE_TROUBLE = 5, /* text */
};

struct gpu_message {
    uint32_t kind; /* enum gpu_message_kind */
    uint32_t device;
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC_RAW */
    union {
        double values[GPU_METRICS];
        uint64_t count;
        uint32_t metrics;
    } u;
    uint32_t text_length; /* of the text that follows */
    uint32_t reserved;
};
#define GPU_TEXT_BYTES 1024u

#endif
