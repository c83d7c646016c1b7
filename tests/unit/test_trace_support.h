/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of src/trace: a random generator with a fixed seed, a folder for files, zones as a plain
 * list, and the zones of a trace as the same list. */
#ifndef OPSCOPE_TEST_TRACE_SUPPORT_H
#define OPSCOPE_TEST_TRACE_SUPPORT_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "trace/reader.h"
#include "trace/writer.h"

static uint64_t random_state = UINT64_C(88172645463325252);

static inline uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint64_t random_below(uint64_t limit)
{
    return random_u64() % limit;
}

/* --- files --- */

static char test_folder[64];

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(test_folder, sizeof test_folder, "/tmp/opscope-test-XXXXXX");
    return mkdtemp(test_folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", test_folder);
    return system(command);
}

static inline const char *test_path(const char *name)
{
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", test_folder, name);
    return path;
}

static inline struct bytes read_whole(const char *path)
{
    struct bytes data = {0};
    uint8_t buffer[65536];
    size_t got;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0)
        bytes_append(&data, buffer, got);
    fclose(file);
    assert_false(data.failed);
    return data;
}

static inline void write_whole(const char *path, const void *data, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* --- writing --- */

#define assert_ok(call)                                                                                      \
    do {                                                                                                     \
        struct error err_ = {0};                                                                             \
        int status_ = (call);                                                                                \
        if (status_)                                                                                         \
            fail_msg("%s: %d %s", #call, status_, err_.message);                                             \
    } while (0)
#define ERR (&err_) /* inside assert_ok */

static inline struct trace_writer *open_writer(const char *path, uint64_t max_size_bytes)
{
    struct trace_writer *w = NULL;
    struct trace_writer_options options = {
        .max_size_bytes = max_size_bytes, .program = "test 1.0", .command = "sh -c true", .host = "box"};
    assert_ok(trace_writer_open(&w, path, &options, ERR));
    return w;
}

static inline uint32_t add_process(struct trace_writer *w, int64_t pid)
{
    struct trace_process process = {.id = TRACE_NONE,
                                    .parent = TRACE_NONE,
                                    .pid = pid,
                                    .start_ns = 5,
                                    .exit_status = TRACE_STATUS_UNKNOWN,
                                    .key = (uint64_t)pid * 10,
                                    .command = "program --flag",
                                    .host = "box"};
    return trace_writer_process(w, &process);
}

static inline uint32_t add_track(struct trace_writer *w, uint32_t process, const char *name, uint32_t clock)
{
    static uint64_t number;
    number++;
    struct trace_track track = {.id = TRACE_NONE,
                                .process = process,
                                .parent = TRACE_NONE,
                                .kind = clock ? TRACE_TRACK_CORE : TRACE_TRACK_THREAD,
                                .clock = clock,
                                .number = number,
                                .key = number + 1000,
                                .name = name};
    return trace_writer_track(w, &track);
}

static inline uint32_t add_name(struct trace_writer *w, const char *text)
{
    return trace_writer_name(w, text, "function", "file.c", 7, 0);
}

/* --- zones as a list --- */

struct ref_zone {
    uint32_t track, depth, name;
    uint64_t start, duration, child;
};

struct ref_zones {
    struct ref_zone *items;
    size_t count, capacity;
};

static inline void ref_add(struct ref_zones *list, struct ref_zone zone)
{
    assert_true(array_reserve(&list->items, &list->capacity, list->count + 1, sizeof zone));
    list->items[list->count++] = zone;
}

/* Adds the zone to the trace and to the list. */
static inline void put_zone(struct ref_zones *list, struct zone_sink *sink, uint32_t depth, uint64_t start,
                            uint64_t end, uint64_t child, uint32_t name)
{
    zone_sink_add(sink, depth, start, end, child, name);
    ref_add(list, (struct ref_zone){sink->track, depth, name, start, end - start, child});
}

static inline int compare_ref(const void *left, const void *right)
{
    const struct ref_zone *a = left, *b = right;
#define BY(field)                                                                                            \
    if (a->field != b->field)                                                                                \
    return a->field < b->field ? -1 : 1
    BY(track);
    BY(depth);
    BY(start);
    BY(duration);
    BY(child);
    BY(name);
#undef BY
    return 0;
}

static inline void ref_sort(struct ref_zones *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, compare_ref);
}

static inline void ref_free(struct ref_zones *list)
{
    free(list->items);
    *list = (struct ref_zones){0};
}

/* All zones that the reader gives for a filter, checking on the way that groups are in order. */
static inline struct ref_zones read_zones(struct trace *t, const struct trace_block_filter *filter,
                                          unsigned flags)
{
    struct ref_zones list = {0};
    struct zone_rows rows = {0};
    struct trace_block_filter own = filter ? *filter : (struct trace_block_filter){0};
    const struct trace_block *block;
    size_t position = 0;
    own.type = TRACE_BLOCK_ZONES;
    while ((block = trace_next_block(t, &own, &position))) {
        assert_ok(trace_decode_zones(t, block, TRACE_COLUMN_ALL | flags, &rows, ERR));
        assert_int_equal(rows.count, block->count);
        uint32_t next = 0;
        for (size_t g = 0; g < rows.group_count; g++) {
            const struct zone_rows_group *group = &rows.groups[g];
            assert_int_equal(group->first, next);
            next += group->count;
            for (uint32_t i = group->first; i < next; i++) {
                if (i > group->first)
                    assert_true(rows.start[i] >= rows.start[i - 1]);
                ref_add(&list, (struct ref_zone){group->track, group->depth, rows.name[i], rows.start[i],
                                                 rows.duration[i], rows.child[i]});
            }
        }
        assert_int_equal(next, rows.count);
    }
    zone_rows_free(&rows);
    ref_sort(&list);
    return list;
}

static inline void assert_same_zones(const struct ref_zones *a, const struct ref_zones *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        if (compare_ref(&a->items[i], &b->items[i]) != 0)
            fail_msg("zone %zu: track %u depth %u name %u start %llu duration %llu child %llu is not "
                     "track %u depth %u name %u start %llu duration %llu child %llu",
                     i, a->items[i].track, a->items[i].depth, a->items[i].name,
                     (unsigned long long)a->items[i].start, (unsigned long long)a->items[i].duration,
                     (unsigned long long)a->items[i].child, b->items[i].track, b->items[i].depth,
                     b->items[i].name, (unsigned long long)b->items[i].start,
                     (unsigned long long)b->items[i].duration, (unsigned long long)b->items[i].child);
}

static inline struct trace *open_trace(const char *path, unsigned flags)
{
    struct trace *t = NULL;
    assert_ok(trace_open(&t, path, flags, ERR));
    return t;
}

/* --- random calls: a stack of zones that ends in order --- */

struct call_maker {
    struct ref_zones *list;
    struct zone_sink *sink;
    const uint32_t *names;
    uint32_t name_count;
    uint32_t max_depth;
    uint64_t now;
    uint64_t step; /* times move by up to this much */
};

static inline void make_calls(struct call_maker *m, uint32_t depth, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t start = m->now += random_below(m->step);
        uint64_t before = m->list->count, child = 0;
        if (depth < m->max_depth && random_below(3) == 0)
            make_calls(m, depth + 1, (uint32_t)random_below(6));
        for (size_t k = (size_t)before; k < m->list->count; k++)
            if (m->list->items[k].depth == depth + 1)
                child += m->list->items[k].duration;
        m->now += random_below(m->step);
        put_zone(m->list, m->sink, depth, start, m->now, child, m->names[random_below(m->name_count)]);
    }
}

#endif
