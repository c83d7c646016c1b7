/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a process which used CUDA leaves behind, made by hand: what has times becomes runs, what has none is
 * counted, and nothing that the bytes claim is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/cuda_buffers.h"

#define KERNEL_BYTES 216u
#define COPY_BYTES 96u
#define SET_BYTES 88u

struct image {
    uint8_t *bytes;
    size_t length;
    struct cuda_file_header *header;
    struct cuda_file_layout layout;
    size_t used; /* of the first buffer */
};

static struct cuda_left_run runs[64];
static size_t run_count;

static void found(void *context, const struct cuda_left_run *run)
{
    (void)context;
    assert_true(run_count < 64);
    runs[run_count++] = *run;
}

static struct cuda_left read_image(const struct image *image, size_t length)
{
    struct cuda_left left;
    run_count = 0;
    cuda_buffers_read(image->bytes, length, &left, found, NULL);
    assert_int_equal(left.runs, run_count);
    return left;
}

static void make_image(struct image *image, uint32_t buffers)
{
    *image = (struct image){.layout = cuda_file_layout()};
    image->length = image->layout.buffers + buffers * CUDA_BUFFER_BYTES;
    image->bytes = calloc(1, image->length);
    assert_non_null(image->bytes);
    image->header = (struct cuda_file_header *)(void *)image->bytes;
    image->header->magic = CUDA_FILE_MAGIC;
    image->header->version = CUDA_FILE_VERSION;
    image->header->buffers_used = buffers;
    for (uint32_t kind = 0; kind < CUDA_KINDS; kind++)
        image->header->strides[kind] = cuda_record_stride(130001, kind);
    for (uint32_t i = 0; i < buffers; i++)
        ((struct cuda_buffer *)(void *)(image->bytes + image->layout.states))[i].state = CUDA_BUFFER_LENT;
    image->header->stream_count = 1;
    *(struct cuda_stream *)(void *)(image->bytes + image->layout.streams) = (struct cuda_stream){0, 1, 7, 42};
}

static struct cuda_buffer *state_of(struct image *image, uint32_t buffer)
{
    return (struct cuda_buffer *)(void *)(image->bytes + image->layout.states) + buffer;
}

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static uint8_t *add_record(struct image *image, uint32_t kind, uint32_t bytes, uint64_t start, uint64_t end)
{
    uint8_t *at = image->bytes + image->layout.buffers + image->used;
    put32(at, end ? kind : kind | CUDA_RECORD_OPEN);
    put64(at + 16, start);
    put64(at + 24, end);
    image->used += bytes;
    return at;
}

static uint8_t *add_kernel(struct image *image, uint32_t stream, uint32_t correlation, uint64_t start,
                           uint64_t end)
{
    uint8_t *at = add_record(image, CUDA_KIND_KERNEL, KERNEL_BYTES, start, end);
    put32(at + 4, 40u << 16);
    put32(at + 44, 1);
    put32(at + 48, stream);
    for (uint32_t i = 0; i < 3; i++) {
        put32(at + 52 + 4 * i, 10 + i);
        put32(at + 64 + 4 * i, 20 + i);
    }
    put32(at + 76, 512);
    put32(at + 80, 1024);
    put32(at + 92, correlation);
    return at;
}

static void add_launch(struct image *image, uint32_t correlation, uint64_t call, uint32_t name,
                       uint32_t session)
{
    struct cuda_launch *l =
        (struct cuda_launch *)(void *)(image->bytes + image->layout.launches) + correlation % CUDA_LAUNCHES;
    *l = (struct cuda_launch){.call = call, .name = name, .correlation = correlation, .session = session};
}

static void test_kernel_copy_and_set(void **state)
{
    struct image image;
    char shape[CUDA_SHAPE_BYTES];
    (void)state;
    make_image(&image, 1);
    add_kernel(&image, 7, 5, 1000, 3000);
    add_launch(&image, 5, 77, 9, 0);
    uint8_t *copy = add_record(&image, CUDA_KIND_MEMCPY, COPY_BYTES, 3000, 4000);
    copy[4] = 2;
    put64(copy + 8, 65536);
    put32(copy + 36, 1);
    put32(copy + 40, 7);
    uint8_t *set = add_record(&image, CUDA_KIND_MEMSET, SET_BYTES, 4000, 4100);
    put64(set + 8, 256);
    struct cuda_left left = read_image(&image, image.length);
    assert_int_equal(left.runs, 3);
    assert_int_equal(left.open + left.unplaced + left.unreadable + left.dropped, 0);
    assert_int_equal(runs[0].call, 77);
    assert_int_equal(runs[0].name, 9);
    assert_int_equal(runs[0].track, 42);
    assert_int_equal(runs[0].record.start_ns, 1000);
    assert_int_equal(runs[0].record.end_ns, 3000);
    cuda_shape_text(&runs[0].record, shape);
    assert_string_equal(shape, "grid 10x11x12 block 20x21x22 registers 40 shared 512+1024");
    assert_int_equal(cuda_record_cores(&runs[0].record, 132), 132);
    assert_string_equal(cuda_record_title(&runs[1].record), "memcpy DtoH");
    assert_int_equal(runs[1].record.bytes, 65536);
    assert_int_equal(runs[1].call, 0);
    assert_string_equal(cuda_record_title(&runs[2].record), "memset");
    assert_int_equal(runs[2].track, 42); /* its stream is not known: another one of its device */
    free(image.bytes);
}

static void test_open_ones_are_counted(void **state)
{
    struct image image;
    (void)state;
    make_image(&image, 1);
    for (uint32_t i = 1; i <= 5; i++)
        add_kernel(&image, 7, i, i == 2 || i == 4 ? 0 : i * 100, i == 2 || i == 4 ? 0 : i * 100 + 50);
    struct cuda_left left = read_image(&image, image.length);
    assert_int_equal(left.runs, 3); /* those between two open ones, too */
    assert_int_equal(left.open, 2);
    free(image.bytes);
}

/* CUPTI gives 0 for both, or the end before the start, where it could not find out when a kernel ran. */
static void test_without_times(void **state)
{
    struct image image;
    (void)state;
    make_image(&image, 1);
    add_kernel(&image, 7, 1, 1000, 3000);
    put32(add_kernel(&image, 7, 2, 0, 0), CUDA_KIND_KERNEL);
    add_kernel(&image, 7, 3, 5000, 4000);
    image.header->dropped = 4;
    struct cuda_left left = read_image(&image, image.length);
    assert_int_equal(left.runs, 1);
    assert_int_equal(left.open, 0);
    assert_int_equal(left.dropped, 6);
    free(image.bytes);
}

/* As the vendor's libraries were seen to give them out. */
static void test_lengths_by_version(void **state)
{
    static const struct {
        uint32_t version, kernel, copy;
    } seen[] = {{18, 0, 88}, /* 11.8 and 12.1: 200 and 208 */
                {22, 208, 88},     {24, 208, 88},      {26, 208, 96},     {28, 208, 96},
                {130001, 216, 96}, {130401, 248, 112}, {130101, 224, 96}, {130202, 224, 96},
                {130301, 232, 96}, {130400, 248, 112}, {25, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++) {
        assert_int_equal(cuda_record_stride(seen[i].version, CUDA_KIND_KERNEL), seen[i].kernel);
        assert_int_equal(cuda_record_stride(seen[i].version, CUDA_KIND_MEMCPY), seen[i].copy);
    }
}

/* What the process has handed over is not taken again; of the one under way it is said that it may have come
 * through. */
static void test_partly_handed_over(void **state)
{
    struct image image;
    (void)state;
    make_image(&image, 2);
    for (uint32_t i = 1; i <= 4; i++)
        add_kernel(&image, 7, i, i * 100, i * 100 + 50);
    state_of(&image, 0)->done = 2 * KERNEL_BYTES;
    assert_int_equal(read_image(&image, image.length).runs, 2);
    assert_int_equal(runs[0].record.start_ns, 300);
    assert_false(runs[0].may_be_known);
    image.header->delivered = 2;
    image.header->delivering = 3;
    read_image(&image, image.length);
    assert_true(runs[0].may_be_known);
    assert_false(runs[1].may_be_known);
    state_of(&image, 0)->state = CUDA_BUFFER_FREE;
    assert_int_equal(read_image(&image, image.length).runs, 0);
    free(image.bytes);
}

static void test_nodes_of_graphs(void **state)
{
    struct image image;
    const uint64_t node = (UINT64_C(3) << 32) + 17;
    (void)state;
    make_image(&image, 1);
    put64(add_kernel(&image, 7, 5, 1000, 3000) + 144, node);
    put64(add_kernel(&image, 7, 5, 4000, 5000) + 144, node + 1); /* not known: of the launch's op */
    add_launch(&image, 5, 77, 0, 4);
    *(struct cuda_node *)(void *)(image.bytes + image.layout.nodes + cuda_node_offset(node, 3)) =
        (struct cuda_node){.id = node, .call = 12, .name = 34};
    assert_int_equal(read_image(&image, image.length).runs, 2);
    assert_int_equal(runs[0].call, 12);
    assert_int_equal(runs[0].name, 34);
    assert_int_equal(runs[0].session, 4);
    assert_int_equal(runs[1].call, 77);
    free(image.bytes);
}

static void test_damaged(void **state)
{
    struct image image;
    (void)state;
    make_image(&image, 1);
    add_kernel(&image, 7, 5, 1000, 3000);
    uint8_t *second = add_kernel(&image, 7, 6, 3000, 4000);
    add_kernel(&image, 7, 7, 4000, 5000);
    put32(second, 63); /* a kind of which the length is not known: what comes after it cannot be found */
    struct cuda_left left = read_image(&image, image.length);
    assert_int_equal(left.runs, 1);
    assert_int_equal(left.unreadable, 1);
    image.header->strides[63] = 3; /* nor with a length that is none */
    assert_int_equal(read_image(&image, image.length).unreadable, 1);
    image.header->strides[63] = UINT32_MAX;
    assert_int_equal(read_image(&image, image.length).unreadable, 1);
    state_of(&image, 0)->done = UINT32_MAX;
    assert_int_equal(read_image(&image, image.length).runs, 0);
    state_of(&image, 0)->done = 0;
    image.header->buffers_used = UINT32_MAX;
    image.header->stream_count = UINT32_MAX;
    assert_int_equal(read_image(&image, image.length).runs, 1);
    for (size_t length = 0; length < image.length; length += 1 + length / 3) /* cut short */
        assert_true(read_image(&image, length).runs <= 1);
    image.header->taken = 1;
    assert_int_equal(read_image(&image, image.length).runs, 0);
    assert_int_equal(cuda_buffers_length(image.header), 0);
    free(image.bytes);
}

static void test_stream_without_a_track(void **state)
{
    struct image image;
    (void)state;
    make_image(&image, 1);
    put32(add_kernel(&image, 7, 5, 1000, 3000) + 40, 3); /* of a device that has none */
    struct cuda_left left = read_image(&image, image.length);
    assert_int_equal(left.runs, 0);
    assert_int_equal(left.unplaced, 1);
    free(image.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_copy_and_set),
        cmocka_unit_test(test_open_ones_are_counted),
        cmocka_unit_test(test_without_times),
        cmocka_unit_test(test_lengths_by_version),
        cmocka_unit_test(test_partly_handed_over),
        cmocka_unit_test(test_nodes_of_graphs),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_stream_without_a_track),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
