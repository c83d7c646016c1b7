/* SPDX-License-Identifier: Apache-2.0 */
/* No memory: each allocation fails once, in the writer and in the reader. Nothing crashes or leaks, an error
 * is returned, and zones that could not be kept are counted.
 *
 * Stands in for malloc, calloc and realloc of glibc; not possible under a sanitizer, which does the same. */
#include "test_trace_support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_OWN_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_OWN_MALLOC 0
#endif
#endif
#if !defined(HAS_OWN_MALLOC) && defined(__GLIBC__)
#define HAS_OWN_MALLOC 1
#endif

#if HAS_OWN_MALLOC
static long calls_left = -1; /* allocations until one fails; negative: never */
static long live;            /* allocations that were not freed */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *memory);

/* seen by libc and zstd, too, although everything here is hidden by default */
#define REPLACES_LIBC __attribute__((visibility("default")))

static bool fails_now(void)
{
    return calls_left >= 0 && calls_left-- == 0;
}

REPLACES_LIBC void *malloc(size_t size)
{
    void *memory = fails_now() ? NULL : __libc_malloc(size);
    live += memory != NULL;
    return memory;
}

REPLACES_LIBC void *calloc(size_t count, size_t size)
{
    void *memory = fails_now() ? NULL : __libc_calloc(count, size);
    live += memory != NULL;
    return memory;
}

REPLACES_LIBC void *realloc(void *old, size_t size)
{
    void *memory = fails_now() ? NULL : __libc_realloc(old, size);
    live += memory != NULL && old == NULL;
    return memory;
}

REPLACES_LIBC void free(void *memory)
{
    live -= memory != NULL;
    __libc_free(memory);
}

struct outcome {
    int status;
    uint64_t added;
};

/* A small recording with something of everything. */
static struct outcome write_trace(const char *path)
{
    struct outcome o = {0};
    struct trace_writer *w = NULL;
    struct error err;
    struct trace_writer_options options = {.program = "p", .command = "c", .host = "h"};
    o.status = trace_writer_open(&w, path, &options, &err);
    if (o.status)
        return o;
    uint32_t process = add_process(w, 1), track = add_track(w, process, "t", 0), name = add_name(w, "zone");
    struct zone_sink *sink = trace_writer_sink(w, track);
    for (uint64_t i = 0; sink && i < 300; i++, o.added++) {
        zone_sink_add(sink, (uint32_t)(i % 3), i * 100, i * 100 + 50, 0, name);
        if (i % 40 == 0) {
            struct trace_extra extra = {.kind = TRACE_EXTRA_TEXT, .text = "text", .text_length = 4};
            zone_sink_extra(sink, &extra);
        }
    }
    struct trace_point point = {
        .track = track, .kind = 2, .time = 7, .header = "h", .text = "t", .text_length = 1};
    trace_writer_point(w, &point);
    struct trace_part part = {TRACE_PART_INPUT, SLICE("shape=1")};
    struct trace_op op = {.process = process, .track = track, .name = name, .start_ns = 5};
    op.description = trace_writer_description(w, &part, 1);
    trace_writer_op(w, &op);
    trace_writer_tick(w, 1, &err);
    o.status = trace_writer_tick(w, 20000000000, &err);
    int finished = trace_writer_finish(w, &err);
    o.status = o.status ? o.status : finished;
    return o;
}

static int read_trace(const char *path, uint64_t *zones, uint64_t *lost)
{
    struct trace *t = NULL;
    struct error err;
    struct zone_rows rows = {0};
    struct trace_rows others = {0};
    struct lod_rows lod = {0};
    const struct trace_block *block;
    size_t position = 0;
    int status = trace_open(&t, path, 0, &err);
    if (status)
        return status;
    *zones = trace_get_info(t)->zones;
    *lost = trace_get_info(t)->lost_zones;
    while (!status && (block = trace_next_block(t, NULL, &position))) {
        if (block->type == TRACE_BLOCK_ZONES)
            status = trace_decode_zones(t, block, TRACE_COLUMN_ALL, &rows, &err);
        else if (block->type == TRACE_BLOCK_POINTS || block->type == TRACE_BLOCK_OPS)
            status = trace_decode_rows(t, block, &others, &err);
    }
    if (!status && trace_track_count(t))
        status = trace_lod(t, 0, 0, 0, 100000, 50, &lod, &err);
    zone_rows_free(&rows);
    trace_rows_free(&others);
    lod_rows_free(&lod);
    trace_close(t);
    return status;
}

static void test_writer(void **state)
{
    char path[160], partial[176]; /* test_path keeps no more than eight */
    long failures = 0, n = 0;
    (void)state;
    snprintf(path, sizeof path, "%s", test_path("memory.opscope"));
    snprintf(partial, sizeof partial, "%s.partial", path);
    for (bool reached = true; reached; n++) {
        long before = live;
        calls_left = n;
        struct outcome o = write_trace(path);
        reached = calls_left < 0; /* it got to the one that fails */
        calls_left = -1;
        assert_int_equal(live, before);
        failures += o.status != 0;
        uint64_t zones = 0, lost = 0;
        if (o.status == 0 && reached == false) {
            assert_int_equal(read_trace(path, &zones, &lost), 0);
            assert_int_equal(zones, o.added);
        } else if (access(path, F_OK) == 0 && read_trace(path, &zones, &lost) == 0) {
            assert_int_equal(zones + lost, o.added); /* nothing vanished */
        }
        unlink(path);
        unlink(partial);
    }
    assert_true(n > 30);
    assert_true(failures > 20);
}

static void test_reader(void **state)
{
    const char *path = test_path("memory.opscope");
    uint64_t zones, lost;
    long n = 0, failures = 0;
    (void)state;
    assert_int_equal(write_trace(path).status, 0);
    for (bool reached = true; reached; n++) {
        long before = live;
        calls_left = n;
        int status = read_trace(path, &zones, &lost);
        reached = calls_left < 0;
        calls_left = -1;
        assert_int_equal(live, before);
        if (reached && status)
            assert_int_equal(status, -ENOMEM);
        failures += status != 0;
    }
    assert_true(n > 40 && failures > 30);
}
#else
static void test_writer(void **state)
{
    (void)state;
    printf("SKIP: malloc cannot be replaced here\n");
    skip();
}

static void test_reader(void **state)
{
    test_writer(state);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_writer), cmocka_unit_test(test_reader)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
