/* SPDX-License-Identifier: Apache-2.0 */
/* A collection of one image (collect_image.h) per test, and every zone of the trace that it gave. For test_collect.c
 * and test_collect_tasks.c. */
#ifndef OPSCOPE_TESTS_COLLECTED_ROWS_H
#define OPSCOPE_TESTS_COLLECTED_ROWS_H

#include <stdlib.h>

#include "collect_image.h"
#include "trace/reader.h"

enum { CHUNKS = 80 };

static char base[64];
static struct image image;
static struct collection collection;
static struct collector_stats stats;
static struct trace *trace;

/* Every zone of the trace, in the order of the file. */
struct row {
    uint64_t start, end, child;
    const char *name;
    uint32_t track, depth;
};
static struct row *rows;
static size_t row_count;

static inline int set_up_group(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/opscope-test-collect-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static inline int tear_down_group(void **state)
{
    (void)state;
    return rmdir(base);
}

static inline int set_up(void **state)
{
    (void)state;
    if (!image_map(&image, CHUNKS))
        return -1;
    trace = NULL;
    rows = NULL;
    row_count = 0;
    return collection_open(&collection, base, 0) ||
           !collection_add(&collection, image.memory, image.layout.total);
}

static inline int set_up_reversed(void **state)
{
    static bool reversed = true;
    int status = set_up(state);
    *state = &reversed;
    return status;
}

static inline int tear_down(void **state)
{
    (void)state;
    trace_close(trace);
    free(rows);
    image_unmap(&image);
    return unlink(collection.path);
}

static inline void read_rows(void)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows decoded = {0};
    struct error err = {0};
    const struct trace_block *block;
    size_t position = 0, capacity = 0;
    while ((block = trace_next_block(trace, &filter, &position))) {
        assert_int_equal(trace_decode_zones(trace, block, TRACE_COLUMN_ALL, &decoded, &err), 0);
        assert_true(array_reserve(&rows, &capacity, row_count + decoded.count, sizeof *rows));
        for (size_t g = 0; g < decoded.group_count; g++) {
            const struct zone_rows_group *group = &decoded.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++)
                rows[row_count++] =
                    (struct row){decoded.start[i], decoded.start[i] + decoded.duration[i],
                                 decoded.child[i], trace_get_name(trace, decoded.name[i])->name,
                                 group->track,     group->depth};
        }
    }
    zone_rows_free(&decoded);
}

/* Ends the collection and opens the trace it wrote. */
static inline const struct trace_info *finish(void)
{
    struct error err = {0};
    assert_int_equal(collection_finish(&collection, &stats), 0);
    assert_int_equal(trace_open(&trace, collection.path, 0, &err), 0);
    read_rows();
    const struct trace_info *info = trace_get_info(trace);
    assert_true(info->is_complete);
    assert_int_equal(info->zones, row_count);
    assert_int_equal(info->zones, stats.zones);
    return info;
}

static inline const struct row *find_row(const char *name)
{
    for (size_t i = 0; i < row_count; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    }
    return NULL;
}

static inline uint64_t lost(uint32_t reason, bool is_zones)
{
    size_t count;
    uint64_t sum = 0;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    for (size_t i = 0; i < count; i++)
        sum += losses[i].reason == reason ? (is_zones ? losses[i].zones : losses[i].records) : 0;
    return sum;
}

static inline void assert_row(const char *name, uint64_t start, uint64_t end, uint64_t child, uint32_t depth)
{
    const struct row *row = find_row(name);
    assert_non_null(row);
    assert_int_equal(row->start - IMAGE_BASE_TICKS, start);
    assert_int_equal(row->end - IMAGE_BASE_TICKS, end);
    assert_int_equal(row->child, child);
    assert_int_equal(row->depth, depth);
}

#define COLLECTED_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
