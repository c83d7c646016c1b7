/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of records, on CUPTI's own thread: each record becomes a run. The bytes that have been handed over are
 * counted in the file after each, so that a kill between two of them loses and doubles none; of a record that was under
 * way, the collector finds out whether it came through (collect/cuda.c). */
#include <string.h>

#include "base/hash.h"
#include "record/cuda/cuda.h"

#define SHAPES 256u

/* Texts of what was launched: a program has few of them. */
static const char *shape_of(const struct cuda_record *r)
{
    static struct shape {
        uint32_t facts[9];
        char text[CUDA_SHAPE_BYTES];
    } shapes[SHAPES];
    uint32_t facts[9] = {r->grid[0],  r->grid[1],   r->grid[2],       r->block[0],      r->block[1],
                         r->block[2], r->registers, r->static_shared, r->dynamic_shared};
    struct shape *s = &shapes[hash_bytes(facts, sizeof facts, 0) % SHAPES];
    if (!s->text[0] || memcmp(s->facts, facts, sizeof facts) != 0) {
        memcpy(s->facts, facts, sizeof facts);
        cuda_shape_text(r, s->text);
    }
    return s->text;
}

static void hand_over(const struct cuda_record *r)
{
    struct cuda_launch launch;
    struct cuda_node node = {0};
    if (!file_get_launch(r->correlation, &launch))
        cuda.header->without_launch++;
    if (launch.is_paused)
        return;
    bool has_node = r->node && file_get_node(r->node, &node);
    const char *symbol = r->kind == CUDA_KIND_KERNEL ? (const char *)(uintptr_t)r->name : NULL;
    const char *name = cuda_record_title(r);
    if (symbol) {
        struct kernel_name known = kernel_name_of(symbol, symbol);
        name = known.text;
        if (has_node && node.name != known.id) /* not captured from a launch, or replaced: now it is known */
            file_put_node(r->node, node.call, known.id);
    }
    struct opscope_figure figure = {
        .name = CUDA_BYTES_FIGURE, .kind = OPSCOPE_FIGURE_BYTES, .value = {.whole = r->bytes}};
    if (r->kind == CUDA_KIND_KERNEL)
        figure = (struct opscope_figure){
            .name = CUDA_SHAPE_FIGURE, .kind = OPSCOPE_FIGURE_TEXT, .value = {.text = shape_of(r)}};
    struct opscope_run run = {
        .struct_size = sizeof run,
        .track = tracks_of(r->device, r->context, r->stream),
        .op_call = has_node ? node.call : launch.call,
        .name = name,
        .start_ticks = r->start_ns,
        .duration_ticks = r->end_ns - r->start_ns,
        .session = launch.session,
        .figures = &figure,
        .figure_count = 1,
    };
    if (r->kind == CUDA_KIND_KERNEL)
        run.cores = cuda_record_cores(r, tracks_multiprocessors(r->device));
    opscope_device_run_(&run);
}

void buffer_requested(uint8_t **buffer, size_t *size, size_t *most_records)
{
    *buffer = file_lend_buffer();
    *size = *buffer ? CUDA_BUFFER_BYTES : 0;
    *most_records = 0;
}

/* The length of a record is where the next one begins. */
static void note_stride(const uint8_t *record, size_t length)
{
    uint32_t kind = cuda_u32(record) & ~CUDA_RECORD_OPEN;
    if (kind < CUDA_KINDS && cuda.header->strides[kind] != length)
        __atomic_store_n(&cuda.header->strides[kind], (uint32_t)length, __ATOMIC_RELAXED);
}

static void hand_over_one(struct cuda_buffer *state, const uint8_t *buffer, const uint8_t *at, size_t length)
{
    struct cuda_file_header *h = cuda.header;
    struct cuda_record record;
    struct cuda_launch launch;
    note_stride(at, length);
    bool is_known = cuda_record_read(at, length, &record);
    bool is_run = is_known && cuda_record_has_times(&record);
    /* An open one is handed out by a forced flush alone: it never gets times. */
    if (is_known && !is_run && !record.is_open &&
        !(file_get_launch(record.correlation, &launch) && launch.is_paused))
        __atomic_fetch_add(&h->dropped, 1, __ATOMIC_RELAXED);
    if (is_run && opscope_has_session()) {
        __atomic_store_n(&h->delivering, h->delivered + 1, __ATOMIC_RELEASE);
        hand_over(&record);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&state->done, (uint32_t)((size_t)(at - buffer) + length), __ATOMIC_RELEASE);
    if (is_run)
        __atomic_store_n(&h->delivered, h->delivering, __ATOMIC_RELEASE);
}

void buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
    const struct cupti *cupti = &cuda.cupti;
    struct cuda_buffer *state = file_buffer_state(buffer);
    void *record = NULL;
    uint8_t *before = NULL;
    size_t dropped = 0;
    (void)size;
    if (!state)
        return;
    while (valid && cupti->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_OK && record) {
        if (before)
            hand_over_one(state, buffer, before, (size_t)((uint8_t *)record - before));
        before = record;
    }
    if (before)
        hand_over_one(state, buffer, before, valid - (size_t)(before - buffer));
    file_take_back(buffer, valid);
    if (cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_OK && dropped)
        __atomic_fetch_add(&cuda.header->dropped, dropped, __ATOMIC_RELAXED);
}
