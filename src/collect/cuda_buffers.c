/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/cuda_buffers.h"

struct reading {
    const uint8_t *bytes;
    size_t length;
    struct cuda_file_header header;
    struct cuda_file_layout layout;
    struct cuda_left *left;
    cuda_left_fn *found;
    void *context;
};

size_t cuda_buffers_length(const struct cuda_file_header *h)
{
    if (h->magic != CUDA_FILE_MAGIC || h->version != CUDA_FILE_VERSION || h->taken)
        return 0;
    uint32_t used = h->buffers_used < CUDA_BUFFERS ? h->buffers_used : CUDA_BUFFERS;
    return cuda_file_layout().buffers + used * CUDA_BUFFER_BYTES;
}

/* An entry of one of the tables; all zero where the file is too short. */
static void read_entry(const struct reading *r, size_t table, size_t index, void *out, size_t size)
{
    size_t at = table + index * size;
    if (at + size <= r->length)
        memcpy(out, r->bytes + at, size);
    else
        memset(out, 0, size);
}

/* Of the stream, else of any stream of the device: a kernel on a neighbour's track is better than none. */
static uint32_t track_of(const struct reading *r, const struct cuda_record *record)
{
    uint32_t of_device = 0;
    uint32_t count = r->header.stream_count < CUDA_STREAMS ? r->header.stream_count : CUDA_STREAMS;
    for (uint32_t i = 0; i < count; i++) {
        struct cuda_stream s;
        read_entry(r, r->layout.streams, i, &s, sizeof s);
        if (s.device != record->device)
            continue;
        if (s.context == record->context && s.stream == record->stream)
            return s.track;
        if (!of_device)
            of_device = s.track;
    }
    return of_device;
}

static bool find_node(const struct reading *r, uint64_t id, struct cuda_node *out)
{
    for (uint32_t i = 0; id && i < CUDA_NODE_PROBES; i++) {
        read_entry(r, r->layout.nodes + cuda_node_offset(id, i), 0, out, sizeof *out);
        if (out->id == id)
            return true;
    }
    return false;
}

static void take(struct reading *r, const struct cuda_record *record, bool may_be_known)
{
    struct cuda_launch launch;
    struct cuda_node node;
    struct cuda_left_run run = {.record = *record, .may_be_known = may_be_known};
    read_entry(r, r->layout.launches, record->correlation & (CUDA_LAUNCHES - 1), &launch, sizeof launch);
    bool is_known = launch.correlation == record->correlation;
    if (is_known && launch.is_paused)
        return;
    if (record->is_open) {
        r->left->open++;
        return;
    }
    if (!cuda_record_has_times(record)) {
        r->left->dropped++;
        return;
    }
    run.track = track_of(r, record);
    if (!run.track) {
        r->left->unplaced++;
        return;
    }
    if (is_known) {
        run.call = launch.call;
        run.name = launch.name;
        run.session = launch.session;
    }
    if (find_node(r, record->node, &node)) {
        run.call = node.call;
        run.name = node.name;
    }
    r->left->runs++;
    r->found(r->context, &run);
}

/* Up to the first record that was never written. */
static void read_buffer(struct reading *r, uint32_t index, bool is_under_way)
{
    struct cuda_buffer state;
    read_entry(r, r->layout.states, index, &state, sizeof state);
    size_t start = r->layout.buffers + index * CUDA_BUFFER_BYTES;
    if (state.state != CUDA_BUFFER_LENT || start + CUDA_BUFFER_BYTES > r->length)
        return;
    for (size_t at = state.done; at + CUDA_RECORD_LEAST <= CUDA_BUFFER_BYTES;) {
        const uint8_t *bytes = r->bytes + start + at;
        uint32_t kind = cuda_u32(bytes) & ~CUDA_RECORD_OPEN;
        uint32_t stride = kind < CUDA_KINDS ? r->header.strides[kind] : 0;
        struct cuda_record record;
        if (!kind)
            return;
        if (stride < CUDA_RECORD_LEAST || stride > CUDA_BUFFER_BYTES - at) {
            r->left->unreadable++;
            return;
        }
        /* Buffers are handed over from their beginning: one that was under way has some done, or is at its first. */
        if (cuda_record_read(bytes, stride, &record))
            take(r, &record, is_under_way && at == state.done);
        at += stride;
    }
}

void cuda_buffers_read(const uint8_t *bytes, size_t length, struct cuda_left *left, cuda_left_fn *found,
                       void *context)
{
    struct reading r = {.bytes = bytes,
                        .length = length,
                        .layout = cuda_file_layout(),
                        .left = left,
                        .found = found,
                        .context = context};
    *left = (struct cuda_left){0};
    if (length < sizeof r.header)
        return;
    memcpy(&r.header, bytes, sizeof r.header);
    if (!cuda_buffers_length(&r.header))
        return;
    left->dropped = r.header.dropped;
    uint32_t used = r.header.buffers_used < CUDA_BUFFERS ? r.header.buffers_used : CUDA_BUFFERS;
    for (uint32_t i = 0; i < used; i++)
        read_buffer(&r, i, r.header.delivering != r.header.delivered);
}
