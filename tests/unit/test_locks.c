/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: what threads did with them as rows of a trace, and what `opscope locks` makes of such rows. */
#include "test_trace_support.h"

#include "analyze/events/locks.h"
#include "collect_image.h"

enum { CHUNKS = 16, SHARED = RECORD_LOCK_SHARED };

static struct image image;
static struct collection collection;

/* All rows as lines "track kind name number start+duration", with what else is said of them. */
static const char *rows_text(struct trace *t)
{
    static char text[4000];
    struct trace_block_filter filter = {.type = TRACE_BLOCK_LOCKS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, length = 0;
    text[0] = '\0';
    while ((block = trace_next_block(t, &filter, &position))) {
        assert_ok(trace_decode_rows(t, block, &rows, ERR));
        for (size_t i = 0; i < rows.count && length < sizeof text - 200; i++) {
            const struct trace_lock *row = &rows.locks[i];
            length += (size_t)snprintf(text + length, sizeof text - length, "%u %s %s %llu %llu+%llu%s%s\n",
                                       (unsigned)trace_get_track(t, row->track)->number,
                                       row->kind == TRACE_LOCK_WAIT ? "wait" : "hold",
                                       trace_get_name(t, row->name)->name, (unsigned long long)row->number,
                                       (unsigned long long)row->start_ns % 10000,
                                       (unsigned long long)(row->end_ns - row->start_ns),
                                       row->is_shared ? " shared" : "", row->is_open ? " open" : "");
        }
    }
    trace_rows_free(&rows);
    return text;
}

/* --- the collector --- */

static void begin_image(void)
{
    assert_true(image_map(&image, CHUNKS));
    assert_ok(collection_open(&collection, test_folder, 0));
    assert_true(collection_add(&collection, image.memory, image.layout.total));
}

static struct trace *end_image(struct collector_stats *stats)
{
    assert_ok(collection_finish(&collection, stats));
    image_unmap(&image);
    return open_trace(collection.path, 0);
}

static void put_step(uint32_t chunk, uint64_t at, uint32_t name, uint32_t step, uint64_t number)
{
    bool is_named = (step & RECORD_LOCK_STEPS) <= RECORD_LOCK_OBTAINED;
    image_long_record(&image, chunk, at, RECORD_LOCK, is_named ? name : 0, step, &(struct slot){number, 0},
                      1);
}

static void test_steps(void **state)
{
    (void)state;
    struct collector_stats stats;
    begin_image();
    uint32_t name = image_name(&image, "lock");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED)->thread_id = 7;
    put_step(0, 100, name, RECORD_LOCK_WAIT, 1);
    put_step(0, 110, name, RECORD_LOCK_OBTAINED, 1);
    put_step(0, 120, name, RECORD_LOCK_OBTAINED | SHARED, 2); /* of the same name, was free */
    put_step(0, 130, name, RECORD_LOCK_RELEASED, 1);
    put_step(0, 140, name, RECORD_LOCK_RELEASED, 1); /* once more: nobody held it */
    put_step(0, 150, name, RECORD_LOCK_RELEASED | SHARED, 2);
    put_step(0, 160, name, RECORD_LOCK_WAIT, 1);
    put_step(0, 170, name, RECORD_LOCK_GAVE_UP, 1);
    put_step(0, 180, name, RECORD_LOCK_GAVE_UP, 9); /* which it never waited for */
    put_step(0, 190, name, RECORD_LOCK_WAIT | SHARED, 2);
    put_step(0, 200, name, RECORD_LOCK_WAIT | SHARED, 2); /* the end of the first was lost */
    image_chunk(&image, 1, 1, 0, CHUNK_SEALED)->thread_id = 8;
    put_step(1, 125, name, RECORD_LOCK_OBTAINED | SHARED, 2); /* both hold it */
    image_zone(&image, 1, 300, 310, name);
    struct trace *t = end_image(&stats);
    const char *text = rows_text(t);
    const char *const lines[] = {"7 wait lock 1 100+10\n",
                                 "7 hold lock 1 110+20\n",
                                 "7 hold lock 2 120+30 shared\n",
                                 "7 wait lock 1 160+10\n",
                                 "7 wait lock 2 200+0 shared open\n",
                                 "8 hold lock 2 125+185 shared open\n"};
    size_t length = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strstr(text, lines[i]))
            print_error("no '%s' in\n%s", lines[i], text);
        assert_non_null(strstr(text, lines[i]));
        length += strlen(lines[i]);
    }
    assert_int_equal(strlen(text), length);
    const struct trace_info *info = trace_get_info(t);
    assert_int_equal(info->locks, 6);
    assert_int_equal(info->zones, 3); /* a span for each hold that ended */
    assert_int_equal(stats.lost_records, 0);
    trace_close(t);
    assert_ok(unlink(collection.path));
}

/* A program that never releases anything. */
static void test_bound(void **state)
{
    (void)state;
    enum { CHUNKS_USED = 10, LOCKS = CHUNKS_USED * CHUNK_SLOTS / 2, MOST = 4096 };
    struct collector_stats stats;
    begin_image();
    uint32_t name = image_name(&image, "lock");
    for (uint32_t i = 0; i < LOCKS; i++) {
        uint32_t chunk = i / (CHUNK_SLOTS / 2);
        if (i % (CHUNK_SLOTS / 2) == 0)
            image_chunk(&image, chunk, 0, chunk, CHUNK_SEALED);
        put_step(chunk, 100 + i, name, RECORD_LOCK_OBTAINED, i);
    }
    struct trace *t = end_image(&stats);
    assert_int_equal(trace_get_info(t)->locks, MOST);
    assert_int_equal(stats.lost_records, LOCKS - MOST);
    assert_int_equal(trace_get_info(t)->lost_records, LOCKS - MOST);
    trace_close(t);
    assert_ok(unlink(collection.path));
}

/* --- the table --- */

struct table {
    struct trace_writer *w;
    uint32_t tracks[4];
    uint32_t name;
};

static void put_row(struct table *table, uint32_t thread, uint32_t kind, uint64_t number, uint64_t start,
                    uint64_t end)
{
    trace_writer_lock(table->w, &(struct trace_lock){.track = table->tracks[thread],
                                                     .name = table->name,
                                                     .kind = kind,
                                                     .number = number,
                                                     .start_ns = start,
                                                     .end_ns = end});
}

static struct trace *end_table(struct table *table, const char *path)
{
    assert_ok(trace_writer_finish(table->w, ERR));
    return open_trace(path, 0);
}

static struct table begin_table(const char *path)
{
    struct table table = {.w = open_writer(path, 0)};
    uint32_t process = add_process(table.w, 1);
    for (uint32_t i = 0; i < 3; i++)
        table.tracks[i] = add_track(table.w, process, "t", 0);
    table.tracks[3] = add_track(table.w, add_process(table.w, 2), "t", 0);
    table.name = add_name(table.w, "queue");
    return table;
}

static struct lock_stats make_stats(struct trace *t, uint64_t since, uint64_t until)
{
    struct trace_filter_options options = {0};
    struct trace_filter filter;
    struct lock_stats stats;
    if (until) {
        uint64_t start = trace_get_info(t)->start_ns;
        options.since = (struct trace_time){.kind = TRACE_TIME_NS, .ns = since - start};
        options.until = (struct trace_time){.kind = TRACE_TIME_NS, .ns = until - start};
    }
    assert_ok(trace_filter_resolve(&filter, t, &options, ERR));
    assert_ok(lock_stats_make(&stats, t, &filter, ERR));
    trace_filter_free(&filter);
    return stats;
}

/* Thread 0 waits for lock 1, which thread 1 holds for a little of that time; thread 2 holds lock 2, of the same name,
 * all the time. Another process has a lock of that name and number. */
static void test_locks_of_one_name(void **state)
{
    (void)state;
    const char *path = test_path("names.opscope");
    struct table table = begin_table(path);
    put_row(&table, 1, TRACE_LOCK_HOLD, 1, 150, 160);
    put_row(&table, 0, TRACE_LOCK_WAIT, 1, 100, 200);
    put_row(&table, 0, TRACE_LOCK_HOLD, 1, 200, 300);
    put_row(&table, 2, TRACE_LOCK_HOLD, 2, 50, 400);
    put_row(&table, 3, TRACE_LOCK_HOLD, 1, 90, 300);
    struct trace *t = end_table(&table, path);
    struct lock_stats stats = make_stats(t, 0, 0);
    assert_int_equal(stats.row_count, 2);
    const struct lock_row *row = &stats.rows[0];
    assert_int_equal(row->locks, 2);
    assert_int_equal(row->holds, 3);
    assert_int_equal(row->held_ns, 10 + 100 + 350);
    assert_int_equal(row->waits, 1);
    assert_int_equal(row->waiter, table.tracks[0]);
    assert_int_equal(row->holder, table.tracks[1]);
    assert_int_equal(row->longest_wait_lock, 1);
    assert_int_equal(stats.rows[1].locks, 1);
    assert_int_equal(stats.rows[1].holder, TRACE_NONE);
    lock_stats_free(&stats);
    trace_close(t);
}

/* Two hold a lock at once; who wants it alone waits for both, for the one that came later for longer. */
static void test_shared_holders(void **state)
{
    (void)state;
    const char *path = test_path("shared.opscope");
    struct table table = begin_table(path);
    for (uint32_t i = 1; i < 3; i++)
        trace_writer_lock(table.w, &(struct trace_lock){.track = table.tracks[i],
                                                        .name = table.name,
                                                        .kind = TRACE_LOCK_HOLD,
                                                        .number = 1,
                                                        .start_ns = 100 + i,
                                                        .end_ns = 300 * i,
                                                        .is_shared = true});
    put_row(&table, 0, TRACE_LOCK_WAIT, 1, 150, 600);
    put_row(&table, 0, TRACE_LOCK_HOLD, 1, 600, 610);
    struct trace *t = end_table(&table, path);
    struct lock_stats stats = make_stats(t, 0, 0);
    assert_int_equal(stats.row_count, 1);
    assert_int_equal(stats.rows[0].holds, 3);
    assert_int_equal(stats.rows[0].shared_holds, 2);
    assert_int_equal(stats.rows[0].holder, table.tracks[2]);
    lock_stats_free(&stats);
    trace_close(t);
}

/* Each holds the lock that the other waits for. */
static void test_deadlock(void **state)
{
    (void)state;
    const char *path = test_path("deadlock.opscope");
    struct table table = begin_table(path);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t name = add_name(table.w, i ? "second" : "first");
        struct trace_lock hold = {.track = table.tracks[i],
                                  .name = name,
                                  .kind = TRACE_LOCK_HOLD,
                                  .number = i,
                                  .start_ns = 100,
                                  .end_ns = 1000,
                                  .is_open = true};
        struct trace_lock wait = hold;
        wait.track = table.tracks[1 - i];
        wait.kind = TRACE_LOCK_WAIT;
        wait.start_ns = 200 + i;
        trace_writer_lock(table.w, &hold);
        trace_writer_lock(table.w, &wait);
    }
    struct trace *t = end_table(&table, path);
    struct lock_stats stats = make_stats(t, 0, 0);
    assert_int_equal(stats.row_count, 2);
    for (uint32_t i = 0; i < 2; i++) { /* the first is waited for longer */
        assert_int_equal(stats.rows[i].open_waits, 1);
        assert_int_equal(stats.rows[i].waiter, table.tracks[1 - i]);
        assert_int_equal(stats.rows[i].holder, table.tracks[i]);
        assert_int_equal(stats.rows[i].waited_ns, 800 - i);
    }
    lock_stats_free(&stats);
    stats = make_stats(t, 150, 300); /* a wait that goes on after the window is none that never ended */
    assert_int_equal(stats.row_count, 2);
    assert_int_equal(stats.rows[0].open_waits, 0);
    assert_int_equal(stats.rows[0].waited_ns, 100);
    assert_int_equal(stats.rows[0].held_ns, 150);
    lock_stats_free(&stats);
    trace_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_locks_of_one_name),
        cmocka_unit_test(test_shared_holders),
        cmocka_unit_test(test_deadlock),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
