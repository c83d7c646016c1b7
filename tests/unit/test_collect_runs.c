/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's fast path against a plain model: runs of zones with nothing inside them, and all that breaks them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "collect_image.h"
#include "trace/reader.h"

enum { CHUNKS = 80 };

static struct image image;
static struct collection collection;

struct row {
    uint64_t start, end, child;
    uint32_t name, depth;
};

struct rows {
    struct row *rows;
    size_t count, capacity;
};

static void add_row(struct rows *list, struct row row)
{
    assert_true(array_reserve(&list->rows, &list->capacity, list->count + 1, sizeof *list->rows));
    list->rows[list->count++] = row;
}

static void read_rows(const char *path, struct rows *list)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows decoded = {0};
    struct error err = {0};
    struct trace *trace;
    const struct trace_block *block;
    size_t position = 0;
    assert_int_equal(trace_open(&trace, path, 0, &err), 0);
    while ((block = trace_next_block(trace, &filter, &position))) {
        assert_int_equal(trace_decode_zones(trace, block, TRACE_COLUMN_ALL, &decoded, &err), 0);
        for (size_t g = 0; g < decoded.group_count; g++) {
            const struct zone_rows_group *group = &decoded.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++)
                add_row(list, (struct row){.start = decoded.start[i],
                                           .end = decoded.start[i] + decoded.duration[i],
                                           .child = decoded.child[i],
                                           .name = (uint32_t)strtoul(
                                               trace_get_name(trace, decoded.name[i])->name + strlen("zone "),
                                               NULL, 10),
                                           .depth = group->depth});
        }
    }
    size_t losses;
    trace_get_losses(trace, &losses);
    assert_int_equal(losses, 0);
    zone_rows_free(&decoded);
    trace_close(trace);
}

/* What is recorded, and what has to come out. */
struct expected {
    struct rows zones;
    struct row open[4];
    uint32_t depth;
    uint64_t last;
};

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end < b->end ? -1 : a->end > b->end;
}

static void add_begin(struct expected *e, uint32_t chunk, uint64_t ticks, const uint32_t *names,
                      uint32_t name)
{
    image_record(&image, chunk, ticks, RECORD_ZONE_BEGIN, names[name], 0);
    e->last = ticks > e->last ? ticks : e->last;
    e->open[e->depth] = (struct row){.start = IMAGE_BASE_TICKS + e->last, .name = name, .depth = e->depth};
    e->depth++;
}

static void add_end(struct expected *e, uint32_t chunk, uint64_t ticks)
{
    image_record(&image, chunk, ticks, RECORD_ZONE_END, 0, 0);
    e->last = ticks > e->last ? ticks : e->last;
    struct row *zone = &e->open[--e->depth];
    zone->end = IMAGE_BASE_TICKS + e->last;
    if (zone->end - zone->start < collection.collector->min_duration_ns)
        return;
    if (e->depth)
        e->open[e->depth - 1].child += zone->end - zone->start;
    add_row(&e->zones, *zone);
}

/* A zone with others inside, times that run backwards, one that is too short, or longer than 32 bits, a long pause, a
 * name that was not seen before; over several blocks. */
static void record_runs(struct expected *e, const uint32_t *names)
{
    uint64_t seed = 1, ticks = 1000;
    uint32_t known = 1;
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++) {
        struct chunk_descriptor *d = image_chunk(&image, chunk, 0, chunk, CHUNK_SEALED);
        while (d->slots + 8 < CHUNK_SLOTS) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            uint32_t what = (uint32_t)(seed >> 40) % 512;
            uint64_t length = 1 + (seed >> 33) % 40;
            known += what == 0 && known < 100;
            if (what == 1 && chunk > CHUNKS / 2)
                length = UINT64_C(5000000000);
            if (what == 2 && chunk > CHUNKS / 2)
                ticks += UINT64_C(5000000000);
            if (what >= 3 && what < 8 && e->depth < 3)
                add_begin(e, chunk, ticks, names, what % known);
            if (what >= 8 && what < 12 && e->depth)
                add_end(e, chunk, ticks - 2);
            add_begin(e, chunk, ticks - (what == 12 ? 5 : 0), names, (uint32_t)(seed >> 50) % known);
            add_end(e, chunk, ticks + length);
            ticks += length + (seed >> 57) % 16;
        }
    }
    while (e->depth)
        add_end(e, CHUNKS - 1, ticks);
}

static void test_runs_of_zones(void **state)
{
    (void)state;
    char base[] = "/tmp/opscope-test-runs-XXXXXX";
    struct expected e = {0};
    struct rows found = {0};
    struct collector_stats stats;
    uint32_t names[100];
    assert_non_null(mkdtemp(base));
    assert_true(image_map(&image, CHUNKS));
    assert_int_equal(collection_open(&collection, base, 0), 0);
    assert_true(collection_add(&collection, image.memory, image.layout.total));
    collection.collector->min_duration_ns = 4;
    for (uint32_t i = 0; i < 100; i++) {
        char text[32];
        snprintf(text, sizeof text, "zone %u", i);
        names[i] = image_name(&image, text);
    }
    record_runs(&e, names);
    assert_true(e.zones.count > 30000);
    assert_int_equal(collection_finish(&collection, &stats), 0);
    read_rows(collection.path, &found);
    assert_int_equal(found.count, e.zones.count);
    assert_int_equal(stats.zones, e.zones.count);
    qsort(e.zones.rows, e.zones.count, sizeof *e.zones.rows, compare_rows);
    qsort(found.rows, found.count, sizeof *found.rows, compare_rows);
    assert_memory_equal(found.rows, e.zones.rows, found.count * sizeof *found.rows);
    free(e.zones.rows);
    free(found.rows);
    image_unmap(&image);
    assert_int_equal(unlink(collection.path), 0);
    assert_int_equal(rmdir(base), 0);
}

/* Spans of one thread that another ends. Its chunk may be read first or last: the rows are the same. */
static void record_spans(uint32_t begins, uint32_t ends, const uint32_t *names)
{
    const uint64_t any = SESSION_SPAN_ANY_THREAD;
    const struct slot numbers[] = {{any | 1, 0}, {any | 2, 0}, {any | 3, 0}, {4, 0}};
    image_chunk(&image, begins, 0, 0, CHUNK_SEALED);
    image_chunk(&image, ends, 1, 0, CHUNK_SEALED);
    for (uint32_t i = 0; i < 4; i++)
        image_long_record(&image, begins, 10 + 10 * i, RECORD_SPAN_BEGIN, names[i], 0, &numbers[i], 1);
    image_long_record(&image, ends, 35, RECORD_SPAN_END, 0, 0, &numbers[0], 1);
    image_long_record(&image, ends, 36, RECORD_SPAN_END, 0, 0, &numbers[1], 1);
    image_long_record(&image, ends, 37, RECORD_SPAN_END, 0, 0, &numbers[1], 1); /* once more */
    image_long_record(&image, ends, 50, RECORD_SPAN_END, 0, 0, &numbers[2], 1);
    image_long_record(&image, ends, 60, RECORD_SPAN_END, 0, 0, &numbers[3], 1); /* may not end there */
}

static void test_spans_that_end_on_another_thread(void **state)
{
    (void)state;
    for (uint32_t order = 0; order < 2; order++) {
        char base[] = "/tmp/opscope-test-XXXXXX";
        struct rows found = {0};
        uint32_t names[4];
        assert_non_null(mkdtemp(base));
        assert_true(image_map(&image, CHUNKS));
        assert_int_equal(collection_open(&collection, base, 0), 0);
        assert_true(collection_add(&collection, image.memory, image.layout.total));
        for (uint32_t i = 0; i < 4; i++) {
            char text[16];
            snprintf(text, sizeof text, "zone %u", i);
            names[i] = image_name(&image, text);
        }
        record_spans(order, 1 - order, names);
        assert_int_equal(collection_finish(&collection, NULL), 0);
        read_rows(collection.path, &found);
        qsort(found.rows, found.count, sizeof *found.rows, compare_rows);
        const uint64_t ends[] = {35, 36, 50};
        assert_int_equal(found.count, 3);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(found.rows[i].start - IMAGE_BASE_TICKS, 10 + 10 * i);
            assert_int_equal(found.rows[i].end - IMAGE_BASE_TICKS, ends[i]);
            assert_int_equal(found.rows[i].name, i);
        }
        free(found.rows);
        image_unmap(&image);
        assert_int_equal(unlink(collection.path), 0);
        assert_int_equal(rmdir(base), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs_of_zones),
                                       cmocka_unit_test(test_spans_that_end_on_another_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
