/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that used CUDA left behind: the input is its header, the states of its buffers and its first buffer,
 * since the file is 5 MiB of zeros otherwise; whatever it claims, every run lies in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cuda_buffers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds)
        __builtin_trap();
}

static void found(void *context, const struct cuda_left_run *run)
{
    char shape[CUDA_SHAPE_BYTES];
    size_t *count = context;
    require(run->track && run->record.end_ns && !run->record.is_open);
    require(cuda_shape_text(&run->record, shape) < sizeof shape);
    require(cuda_record_title(&run->record)[0]);
    ++*count;
}

/* One part of the file after the other, as much of each as matters. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *image;
    const struct cuda_file_layout l = cuda_file_layout();
    const size_t parts[][2] = {{0, sizeof(struct cuda_file_header)},
                               {l.states, 64},
                               {l.streams, 64},
                               {l.launches, 96},
                               {l.buffers, CUDA_BUFFER_BYTES}};
    size_t length = l.buffers + CUDA_BUFFER_BYTES, at = 0, count = 0;
    if (!image && !(image = calloc(1, length)))
        return 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        size_t bytes = size - at < parts[i][1] ? size - at : parts[i][1];
        memset(image + parts[i][0], 0, parts[i][1]);
        if (bytes)
            memcpy(image + parts[i][0], data + at, bytes);
        at += bytes;
    }
    struct cuda_left left;
    cuda_buffers_read(image, length, &left, found, &count);
    require(left.runs == count && count <= CUDA_BUFFER_BYTES / CUDA_RECORD_LEAST);
    return 0;
}
