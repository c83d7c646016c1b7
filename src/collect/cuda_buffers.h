/* SPDX-License-Identifier: Apache-2.0 */
/* What a process that used CUDA left in its file (session/cuda_file.h), read from a copy of the file's bytes. Nothing
 * in them is trusted. */
#ifndef OPSCOPE_COLLECT_CUDA_BUFFERS_H
#define OPSCOPE_COLLECT_CUDA_BUFFERS_H

#include "session/cuda_record.h"

struct cuda_left_run { /* a kernel, copy or set that has its times and was not handed over */
    struct cuda_record record;
    uint64_t call;     /* the op that launched it; 0 = not known */
    uint32_t track;    /* id in the segment */
    uint32_t name;     /* likewise; 0: cuda_record_title */
    uint32_t session;  /* replay of a graph */
    bool may_be_known; /* the process died while it handed this one over: it may have come through */
};

struct cuda_left { /* what else there is to say */
    uint64_t runs;
    uint64_t open;       /* launched, without an end */
    uint64_t unplaced;   /* with times, but of a stream that has no track */
    uint64_t unreadable; /* buffers with records of unknown length */
    uint64_t dropped;
};

typedef void cuda_left_fn(void *context, const struct cuda_left_run *run);

/* How many bytes of the file matter, from its header; 0: not such a file, or one that has been taken. */
size_t cuda_buffers_length(const struct cuda_file_header *header);
void cuda_buffers_read(const uint8_t *bytes, size_t length, struct cuda_left *left, cuda_left_fn *found,
                       void *context);

#endif
