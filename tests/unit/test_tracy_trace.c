/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a Tracy client as rows of a trace: names that come after the zones, fibers, locks, devices, losses. */
#include "test_trace_support.h"

#include "collect/tracy/trace/trace.h"
#include "tracy_client.h"

struct making {
    struct client client;
    struct tracy_trace *trace;
    struct tracy_trace_options options;
    const char *path;
};

static void list_open(void *context, struct trace_writer *w)
{
    tracy_trace_list_open(context, w);
}

static void start_with(struct making *m, struct tracy_trace_options options, uint8_t flags)
{
    *m = (struct making){.options = options};
    m->path = test_path("tracy.opscope");
    client_begin(&m->client, options.version, false, flags);
    assert_int_equal(trace_writer_open(&m->options.writer, m->path, &(struct trace_writer_options){0}, NULL),
                     0);
    m->trace = tracy_trace_new(&m->options);
    assert_non_null(m->trace);
    trace_writer_set_open_zones(m->options.writer, list_open, m->trace);
}

static void start(struct making *m, uint32_t version, uint8_t flags)
{
    start_with(m, (struct tracy_trace_options){.version = version}, flags);
}

static void flush(struct making *m)
{
    client_flush(&m->client);
    assert_int_equal(tracy_trace_feed(m->trace, m->client.sent.data, m->client.sent.length, NULL), 0);
    bytes_clear(&m->client.sent);
}

static struct trace *finish(struct making *m, struct tracy_trace_stats *stats)
{
    struct trace *trace;
    struct error err = {0};
    tracy_trace_close(m->trace);
    tracy_trace_get_stats(m->trace, stats);
    assert_int_equal(trace_writer_finish(m->options.writer, &err), 0);
    tracy_trace_free(m->trace);
    client_free(&m->client);
    assert_int_equal(trace_open(&trace, m->path, 0, &err), 0);
    return trace;
}

/* All zones as lines "track/depth name start+duration", in the order of the file. */
static const char *zones_text(struct trace *trace)
{
    static char text[4000];
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, length = 0;
    text[0] = '\0';
    while ((block = trace_next_block(trace, &filter, &position))) {
        assert_int_equal(trace_decode_zones(trace, block, TRACE_COLUMN_ALL, &rows, NULL), 0);
        for (size_t g = 0; g < rows.group_count; g++) {
            const struct zone_rows_group *group = &rows.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++)
                length += (size_t)snprintf(text + length, sizeof text - length, "%s/%u %s %d+%d\n",
                                           trace_get_track(trace, group->track)->name, group->depth,
                                           trace_get_name(trace, rows.name[i])->name, (int)rows.start[i],
                                           (int)rows.duration[i]);
        }
    }
    zone_rows_free(&rows);
    return text;
}

static void assert_has(struct trace *trace, const char *line)
{
    const char *text = zones_text(trace);
    if (!strstr(text, line))
        print_error("no '%s' in\n%s", line, text);
    assert_non_null(strstr(text, line));
}

/* How many name ids the zones of that name have. */
static unsigned count_ids(struct trace *trace, const char *name)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    uint32_t ids[16];
    unsigned count = 0;
    while ((block = trace_next_block(trace, &filter, &position))) {
        assert_int_equal(trace_decode_zones(trace, block, TRACE_COLUMN_ALL, &rows, NULL), 0);
        for (size_t g = 0; g < rows.group_count; g++) {
            for (uint32_t i = rows.groups[g].first; i < rows.groups[g].first + rows.groups[g].count; i++) {
                unsigned k = 0;
                while (k < count && ids[k] != rows.name[i])
                    k++;
                if (k == count && strcmp(trace_get_name(trace, rows.name[i])->name, name) == 0)
                    ids[count++] = rows.name[i];
                assert_true(count < 16);
            }
        }
    }
    zone_rows_free(&rows);
    return count;
}

/* The first zone is in the file before its name is known; the second is named by itself. To a reader zones of one name
 * have one id, whenever they were named. */
static void test_late_names(void **state)
{
    (void)state;
    struct making m;
    struct tracy_trace_stats stats;
    struct error err = {0};
    start(&m, 72, 0);
    client_thread(&m.client, 7);
    client_begin_zone(&m.client, 2000, 0x401000);
    client_end_zone(&m.client, 10);
    client_begin_zone(&m.client, 5, 0x401000);
    client_text(&m.client, "mine");
    record(&m.client, TRACY_ZONE_NAME);
    client_end_zone(&m.client, 10);
    client_begin_zone(&m.client, 5, 0x402000); /* is never answered */
    client_end_zone(&m.client, 1);
    flush(&m);
    for (uint64_t ns = 1; ns < 5; ns++) /* so old that the blocks are written */
        trace_writer_tick(m.options.writer, ns * UINT64_C(3000000000), &err);
    client_location(&m.client, 0, 0x502000, 0x503000, 33, 0xaabbcc);
    client_string(&m.client, 0x502000, "function");
    client_string(&m.client, 0x503000, "a.c");
    client_answer(&m.client, TRACY_THREAD_NAME, 7, "main", 4);
    client_begin_zone(&m.client, 100, 0x401000);
    client_end_zone(&m.client, 1);
    flush(&m);
    struct trace *trace = finish(&m, &stats);
    assert_has(trace, "main/0 function 1000+10\n");
    assert_has(trace, "main/0 mine 1015+10\n");
    assert_has(trace, "main/0 0x402000 1030+1\n");
    assert_has(trace, "main/0 function 1131+1\n");
    assert_int_equal(count_ids(trace, "function"), 1);
    assert_int_equal(stats.zones, 4);
    assert_int_equal(stats.unnamed, 1);
    unsigned found = 0;
    for (uint32_t i = 0; i < trace_name_count(trace); i++) {
        const struct trace_name *name = trace_get_name(trace, i);
        if (strcmp(name->name, "mine") == 0 || strcmp(name->name, "function") == 0) {
            assert_string_equal(name->file, "a.c");
            assert_string_equal(name->function, "function");
            assert_int_equal(name->line, 33);
            assert_int_equal(name->colour, 0xaabbcc);
            found++;
        }
    }
    assert_true(found >= 2);
    trace_close(trace);
}

/* A writer that goes on with the file of another that died keeps names with equal texts apart. */
static void test_resumed_names(void **state)
{
    (void)state;
    struct trace_writer *w;
    struct error err = {0};
    const char *path = test_path("resumed.opscope");
    assert_int_equal(trace_writer_open(&w, path, &(struct trace_writer_options){0}, &err), 0);
    uint32_t process =
        trace_writer_process(w, &(struct trace_process){.id = TRACE_NONE, .parent = TRACE_NONE});
    uint32_t track =
        trace_writer_track(w, &(struct trace_track){.id = TRACE_NONE, .process = process, .name = "t"});
    uint32_t later = trace_writer_name_later(w), plain = trace_writer_name(w, "same", "f", "a.c", 1, 0);
    struct zone_sink *sink = trace_writer_sink(w, track);
    zone_sink_add(sink, 0, 10, 20, 0, later);
    zone_sink_add(sink, 0, 20, 30, 0, plain);
    trace_writer_close_sink(w, sink);
    for (uint64_t ns = 1; ns < 4; ns++) /* they are in the file before the name is */
        trace_writer_tick(w, ns * UINT64_C(12000000000), &err);
    struct trace_name name = {.id = later, .name = "same", .function = "f", .file = "a.c", .line = 1};
    assert_int_equal(trace_writer_set_name(w, &name), plain);
    sink = trace_writer_sink(w, track); /* definitions are written with the next block */
    zone_sink_add(sink, 0, 30, 40, 0, later);
    trace_writer_close_sink(w, sink);
    for (uint64_t ns = 4; ns < 8; ns++)
        trace_writer_tick(w, ns * UINT64_C(12000000000), &err);
    trace_writer_abandon(w);
    assert_int_equal(trace_writer_resume(&w, path, &err), 0);
    uint32_t known = trace_writer_name(w, "same", "f", "a.c", 1, 0);
    assert_true(known == plain || known == later);
    assert_int_equal(trace_writer_finish(w, &err), 0);
    struct trace *trace;
    assert_int_equal(trace_open(&trace, path, 0, &err), 0);
    assert_string_equal(zones_text(trace), "t/0 same 10+10\nt/0 same 20+10\nt/0 same 30+10\n");
    assert_int_equal(count_ids(trace, "same"), 1);
    trace_close(trace);
}

static void put_lock(struct client *c, unsigned number, uint32_t thread, int64_t delta)
{
    bytes_append_u32(record(c, number), thread);
    bytes_append_u32(&c->frame, 4);
    bytes_append_u64(&c->frame, (uint64_t)delta);
}

/* Rows of locks as lines "thread kind name number start+duration", in the order of the file. */
static void assert_locks(struct trace *trace, const char *lines)
{
    char text[1000] = "";
    struct trace_block_filter filter = {.type = TRACE_BLOCK_LOCKS};
    struct trace_rows rows = {0};
    size_t position = 0, length = 0;
    const struct trace_block *block = trace_next_block(trace, &filter, &position);
    assert_non_null(block);
    assert_int_equal(trace_decode_rows(trace, block, &rows, NULL), 0);
    for (size_t i = 0; i < rows.count; i++) {
        const struct trace_lock *row = &rows.locks[i];
        length += (size_t)snprintf(
            text + length, sizeof text - length, "%d %s %s %d %d+%d%s%s\n",
            (int)trace_get_track(trace, row->track)->number, row->kind == TRACE_LOCK_WAIT ? "wait" : "hold",
            trace_get_name(trace, row->name)->name, (int)row->number, (int)row->start_ns,
            (int)(row->end_ns - row->start_ns), row->is_shared ? " shared" : "", row->is_open ? " open" : "");
    }
    assert_string_equal(text, lines);
    trace_rows_free(&rows);
}

/* A stream of protocol 72 that announces lock 4. */
static void start_with_lock(struct making *m, bool is_shared)
{
    start(m, 72, 0);
    bytes_append_u32(record(&m->client, TRACY_LOCK_ANNOUNCE), 4);
    bytes_append_u64(&m->client.frame, 2000);
    bytes_append_u64(&m->client.frame, 0x401000);
    bytes_append_u8(&m->client.frame, is_shared);
}

static void test_locks(void **state)
{
    (void)state;
    struct making m;
    struct tracy_trace_stats stats;
    start_with_lock(&m, false);
    put_lock(&m.client, TRACY_LOCK_WAIT, 7, 2000);
    put_lock(&m.client, TRACY_LOCK_OBTAIN, 7, 10);
    put_lock(&m.client, TRACY_LOCK_WAIT, 8, 5);
    bytes_append_u32(record(&m.client, TRACY_LOCK_RELEASE), 4);
    bytes_append_u64(&m.client.frame, 85);
    put_lock(&m.client, TRACY_LOCK_OBTAIN, 8, 1); /* is not released */
    client_location(&m.client, 0x501000, 0x502000, 0, 3, 0);
    client_string(&m.client, 0x501000, "");
    client_string(&m.client, 0x502000, "mutex m");
    client_answer(&m.client, TRACY_THREAD_NAME, 7, "seven", 5);
    flush(&m);
    struct trace *trace = finish(&m, &stats);
    assert_has(trace, "locks held/0 mutex m 1010+90\n");
    assert_has(trace, "lock waits/0 wait for mutex m 1000+10\n");
    assert_has(trace, "lock waits/0 wait for mutex m 1015+86\n");
    assert_int_equal(stats.lock_zones, 3);
    assert_int_equal(stats.open_zones, 1);
    size_t open;
    const struct trace_open_zone *zones = trace_get_open_zones(trace, &open);
    assert_int_equal(open, 1);
    assert_int_equal(zones[0].start, 1101);
    assert_locks(trace, "7 wait mutex m 4 1000+10\n7 hold mutex m 4 1010+90\n8 wait mutex m 4 1015+86\n"
                        "8 hold mutex m 4 1101+0 open\n");
    trace_close(trace);
}

/* Two threads hold it at once; a third wants it alone, for ever. */
static void test_shared_locks(void **state)
{
    (void)state;
    struct making m;
    struct tracy_trace_stats stats;
    start_with_lock(&m, true);
    put_lock(&m.client, TRACY_LOCK_SHARED_WAIT, 7, 2000);
    put_lock(&m.client, TRACY_LOCK_SHARED_OBTAIN, 7, 0);
    put_lock(&m.client, TRACY_LOCK_SHARED_OBTAIN, 8, 10);
    put_lock(&m.client, TRACY_LOCK_WAIT, 9, 10);
    for (uint32_t thread = 8; thread >= 7; thread--) {
        bytes_append_u32(record(&m.client, TRACY_LOCK_SHARED_RELEASE), 4);
        bytes_append_u64(&m.client.frame, 100);
        bytes_append_u32(&m.client.frame, thread);
    }
    client_location(&m.client, 0x501000, 0x502000, 0, 3, 0);
    client_string(&m.client, 0x501000, "");
    client_string(&m.client, 0x502000, "mutex m");
    flush(&m);
    struct trace *trace = finish(&m, &stats);
    assert_locks(trace, "7 wait mutex m 4 1000+0 shared\n8 hold mutex m 4 1010+110 shared\n"
                        "7 hold mutex m 4 1000+220 shared\n9 wait mutex m 4 1020+200 open\n");
    trace_close(trace);
}

static void put_gpu(struct client *c, unsigned number, uint32_t thread, uint16_t query, uint64_t location)
{
    bytes_append_u64(record(c, number), 10);
    bytes_append_u32(&c->frame, thread);
    put_u16(&c->frame, query);
    bytes_append_u8(&c->frame, 5);
    if (location)
        bytes_append_u64(&c->frame, location);
}

static void put_gpu_time(struct client *c, uint16_t query, int64_t delta)
{
    bytes_append_u64(record(c, TRACY_GPU_TIME), (uint64_t)delta);
    put_u16(&c->frame, query);
    bytes_append_u8(&c->frame, 5);
}

/* Times come after the zones, in another order; numbers of queries are used again; one time never comes. */
static void test_devices(void **state)
{
    (void)state;
    struct making m;
    struct tracy_trace_stats stats;
    float period = 2;
    start(&m, 72, 0);
    bytes_append_u64(record(&m.client, TRACY_GPU_NEW_CONTEXT), 3000);
    bytes_append_u64(&m.client.frame, 100);
    bytes_append_u32(&m.client.frame, 0);
    put(&m.client.frame, &period, 4);
    put(&m.client.frame, "\5\0\3", 3);
    client_text(&m.client, "the gpu");
    bytes_append_u8(record(&m.client, TRACY_GPU_CONTEXT_NAME), 5);
    put_gpu(&m.client, TRACY_GPU_ZONE_BEGIN_SERIAL, 9, 0, 0x401000);
    put_gpu(&m.client, TRACY_GPU_ZONE_BEGIN_SERIAL, 9, 1, 0x402000);
    put_gpu(&m.client, TRACY_GPU_ZONE_END_SERIAL, 9, 2, 0);
    put_gpu(&m.client, TRACY_GPU_ZONE_END_SERIAL, 9, 3, 0);
    put_gpu_time(&m.client, 3, 400); /* of the outer one: until 400 */
    put_gpu_time(&m.client, 0, -200);
    put_gpu_time(&m.client, 1, 50);
    put_gpu_time(&m.client, 2, 10);
    put_gpu(&m.client, TRACY_GPU_ZONE_BEGIN_SERIAL, 9, 0, 0x402000);
    put_gpu(&m.client, TRACY_GPU_ZONE_END_SERIAL, 9, 1, 0);
    put_gpu_time(&m.client, 0, 300);
    put_gpu_time(&m.client, 9, 300); /* nobody asked */
    client_location(&m.client, 0x501000, 0, 0, 3, 0);
    client_location(&m.client, 0x502000, 0, 0, 4, 0);
    client_string(&m.client, 0x501000, "outer");
    client_string(&m.client, 0x502000, "inner");
    flush(&m);
    struct trace *trace = finish(&m, &stats);
    /* 100 ticks of 2 ns are 2000 ns after the start */
    assert_has(trace, "queue/0 outer 2200+400\n");
    assert_has(trace, "queue/1 inner 2300+20\n");
    assert_int_equal(stats.gpu_zones, 2);
    assert_int_equal(stats.lost_zones, 1);
    assert_int_equal(stats.lost_records, 1);
    bool is_named = false;
    for (uint32_t i = 0; i < trace_track_count(trace); i++) {
        const struct trace_track *track = trace_get_track(trace, i);
        is_named |= track->kind == TRACE_TRACK_DEVICE && strcmp(track->name, "the gpu") == 0;
    }
    assert_true(is_named);
    trace_close(trace);
}

static void put_fiber(struct client *c, unsigned number, int64_t delta, uint64_t fiber, uint32_t thread)
{
    bytes_append_u64(record(c, number), (uint64_t)delta);
    if (fiber)
        bytes_append_u64(&c->frame, fiber);
    bytes_append_u32(&c->frame, thread);
    if (fiber && c->table.dialect.version >= 68)
        bytes_append_u32(&c->frame, 0);
}

/* A fiber's zone begins on one thread and ends on another. */
static void test_fibers(void **state)
{
    (void)state;
    struct making m;
    struct tracy_trace_stats stats;
    start(&m, 66, 0);
    client_thread(&m.client, 7);
    client_begin_zone(&m.client, 2000, 0x401000);
    put_fiber(&m.client, TRACY_FIBER_ENTER, 10, 0x601000, 7);
    client_begin_zone(&m.client, 10, 0x402000);
    put_fiber(&m.client, TRACY_FIBER_LEAVE, 30, 0, 7);
    client_end_zone(&m.client, 10);
    client_thread(&m.client, 8);
    put_fiber(&m.client, TRACY_FIBER_ENTER, 2100, 0x601000, 8);
    client_end_zone(&m.client, 5);
    put_fiber(&m.client, TRACY_FIBER_LEAVE, 5, 0, 8);
    client_location(&m.client, 0x501000, 0, 0, 3, 0);
    client_location(&m.client, 0x502000, 0, 0, 4, 0);
    client_string(&m.client, 0x501000, "thread's");
    client_string(&m.client, 0x502000, "fiber's");
    client_answer(&m.client, TRACY_FIBER_NAME, 0x601000, "fiber 1", 7);
    client_answer(&m.client, TRACY_THREAD_NAME, 7, "seven", 5);
    client_answer(&m.client, TRACY_THREAD_NAME, 8, "eight", 5);
    flush(&m);
    struct trace *trace = finish(&m, &stats);
    assert_has(trace, "seven/0 thread's 1000+60\n");
    assert_has(trace, "seven/1 fiber 1 1010+40\n");
    assert_has(trace, "fiber 1/0 fiber's 1020+85\n");
    assert_has(trace, "eight/0 fiber 1 1100+10\n");
    assert_int_equal(stats.zones, 2);
    assert_int_equal(stats.other_zones, 2);
    trace_close(trace);
}

/* An end without a begin is counted, and nothing is asked any more; of an on-demand client it is nothing special. */
static void test_unmatched_end(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= TRACY_ON_DEMAND; flags++) {
        struct making m;
        struct tracy_trace_stats stats;
        start(&m, 72, (uint8_t)flags);
        client_thread(&m.client, 7);
        client_end_zone(&m.client, 2000);
        client_begin_zone(&m.client, 5, 0x401000);
        client_begin_zone(&m.client, 5, 0x401000);
        flush(&m);
        assert_int_equal(tracy_stream_is_trusted(tracy_trace_stream(m.trace)), flags != 0);
        struct trace *trace = finish(&m, &stats);
        size_t count;
        const struct trace_loss *losses = trace_get_losses(trace, &count);
        assert_int_equal(count, 1);
        assert_int_equal(losses[0].reason, TRACE_LOSS_UNMATCHED);
        assert_int_equal(losses[0].zones, 1);
        assert_int_equal(stats.open_zones, 2);
        trace_get_open_zones(trace, &count);
        assert_int_equal(count, 2);
        trace_close(trace);
    }
}

static bool wants(const char *name)
{
    return name[0] == 'w';
}

static void count_reported(void *context, const struct trace_reported *reported)
{
    assert_string_equal(reported->name, "wanted");
    ++*(unsigned *)context;
}

static void put_zones(struct making *m, uint64_t location, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        client_begin_zone(&m->client, 5, location);
        client_end_zone(&m->client, 5);
        if (m->client.frame.length > 100000)
            flush(m);
    }
}

/* Zones whose names are not known are kept for the listener, 65,536 of them; from the answer on all that it wants are
 * given to it, those that follow at once included. */
static void test_listener(void **state)
{
    (void)state;
    unsigned reported = 0;
    struct trace_listener listener = {.wants_zone = wants, .tell = count_reported, .context = &reported};
    struct making m;
    struct tracy_trace_stats stats;
    start_with(&m, (struct tracy_trace_options){.version = 72, .listener = &listener}, 0);
    client_thread(&m.client, 7);
    put_zones(&m, 0x401000, 1);
    put_zones(&m, 0x402000, 70000);
    put_zones(&m, 0x401000, 3); /* too many are kept by now */
    flush(&m);
    put_zones(&m, 0x402000, 10);
    client_location(&m.client, 0x501000, 0, 0, 3, 0);
    client_location(&m.client, 0x502000, 0, 0, 4, 0);
    client_string(&m.client, 0x501000, "wanted");
    put_zones(&m, 0x401000, 2);
    put_zones(&m, 0x402000, 2);
    assert_int_equal(reported, 0);
    flush(&m);
    assert_int_equal(reported, 3);
    put_zones(&m, 0x401000, 4);
    client_string(&m.client, 0x502000, "other");
    put_zones(&m, 0x402000, 200);
    flush(&m);
    assert_int_equal(reported, 7);
    struct trace *trace = finish(&m, &stats);
    assert_int_equal(reported, 7);
    assert_int_equal(stats.zones, 70222);
    trace_close(trace);
}

struct nested { /* a zone that the trace should have, or has */
    uint64_t depth, start, duration, child, name, texts;
};

static int compare_nested(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct nested));
}

static size_t read_nested(struct trace *trace, struct nested *zones, size_t room)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, count = 0;
    while ((block = trace_next_block(trace, &filter, &position))) {
        assert_int_equal(trace_decode_zones(trace, block, TRACE_COLUMN_ALL, &rows, NULL), 0);
        for (size_t g = 0; g < rows.group_count; g++) {
            const struct zone_rows_group *group = &rows.groups[g];
            for (uint32_t i = group->first; i < group->first + group->count; i++, count++) {
                const struct trace_extra *extra;
                assert_true(count < room);
                zones[count] = (struct nested){group->depth,
                                               rows.start[i],
                                               rows.duration[i],
                                               rows.child[i],
                                               (uint8_t)trace_get_name(trace, rows.name[i])->name[0],
                                               zone_rows_find_extras(&rows, i, &extra)};
            }
        }
    }
    zone_rows_free(&rows);
    return count;
}

enum { MOST_NESTED = 40000, DEEPEST = 300 };

struct nesting { /* what is expected */
    struct nested zones[MOST_NESTED], open[DEEPEST];
    size_t count, depth;
    uint64_t ticks, last, unmatched;
    uint64_t places[4]; /* as they are asked for */
    size_t place_count;
    unsigned asked;
};

static void expect_end(struct nesting *n, uint64_t ns, uint64_t least_ns)
{
    if (!n->depth) {
        n->unmatched++;
        return;
    }
    struct nested *zone = &n->open[--n->depth];
    zone->duration = ns - zone->start;
    if (n->depth)
        n->open[n->depth - 1].child += zone->duration;
    if (zone->duration >= least_ns)
        n->zones[n->count++] = *zone;
}

/* A begin or an end, at random; time may stand still, or run backwards, which the trace does not. */
static void put_step(struct client *c, struct nesting *n, uint32_t random,
                     const struct tracy_trace_options *o)
{
    int64_t delta = random % 97 == 0 ? -(int64_t)(random >> 8 & 255) : (int64_t)(random >> 8 & 63);
    bool is_rising = (n->ticks >> 14 & 7) == 0, is_begin = (random >> 20 & 15) < (is_rising ? 10 : 7);
    uint64_t before = o->clock ? 0 : 1000; /* the client's first tick */
    if (n->depth == DEEPEST)
        is_begin = false;
    n->ticks += (uint64_t)delta;
    uint64_t ns = n->ticks > before ? n->ticks - before : 0;
    if (o->clock && n->ticks >= 200000)
        ns += 5000; /* where its second piece begins */
    n->last = ns = ns > n->last ? ns : n->last;
    if (is_begin) {
        uint64_t place = random >> 16 & 3;
        client_begin_zone(c, delta, 0x401000 + 64 * place);
        if (!(n->asked & 1u << place))
            n->places[n->place_count++] = place;
        n->asked |= 1u << place;
        n->open[n->depth] = (struct nested){.depth = n->depth, .start = ns, .name = 'a' + place};
        n->depth++;
    } else {
        client_end_zone(c, delta);
        expect_end(n, ns, o->min_duration_ns);
    }
    if (random % 311 == 0 && n->depth) {
        client_text(c, "text");
        record(c, TRACY_ZONE_TEXT);
        n->open[n->depth - 1].texts = 1; /* several are lines of one */
    }
}

/* Zones are as a plain stack has them, whatever comes between them: steps by the hundred and alone, texts, ends without
 * begins, times out of order, clocks of two pieces, zones too short to be kept, blocks that are full. */
static void test_nesting(void **state)
{
    (void)state;
    struct clock_piece pieces[] = {{0, 0, UINT64_C(1) << 32, 200000},
                                   {200000, 205000, UINT64_C(1) << 32, UINT64_MAX}};
    struct clock_map map = {.pieces = pieces, .piece_count = 2, .piece_capacity = 2};
    const struct tracy_trace_options options[] = {
        {.version = 72},
        {.version = 72, .min_duration_ns = 100},
        {.version = 72, .time = TRACY_TIME_LOCAL, .clock = &map},
    };
    struct nesting *n = malloc(sizeof *n);
    struct nested *found = malloc(sizeof n->zones);
    assert_true(n && found);
    for (size_t k = 0; k < sizeof options / sizeof options[0]; k++) {
        struct making m;
        struct tracy_trace_stats stats;
        uint32_t seed = 7;
        *n = (struct nesting){.ticks = 1000};
        start_with(&m, options[k], TRACY_ON_DEMAND);
        client_thread(&m.client, 7);
        bytes_append_u64(record(&m.client, TRACY_ZONE_END), n->ticks); /* unmatched, too */
        n->unmatched++;
        n->last = options[k].clock ? 1000 : 0;
        for (size_t i = 0; i < 50000; i++) {
            seed = seed * 1664525u + 1013904223u;
            put_step(&m.client, n, seed, &options[k]);
            if (m.client.frame.length > 4000 || i < 20)
                flush(&m);
        }
        assert_int_equal(n->place_count, 4);
        for (uint64_t place = 0; place < 4; place++)
            client_location(&m.client, 0x501000 + 64 * n->places[place], 0, 0, 1, 0);
        for (uint64_t place = 0; place < 4; place++)
            client_string(&m.client, 0x501000 + 64 * place, (const char[]){(char)('a' + place), 0});
        flush(&m);
        struct trace *trace = finish(&m, &stats);
        assert_int_equal(stats.zones, n->count);
        assert_int_equal(stats.open_zones, n->depth);
        assert_int_equal(stats.lost_zones, n->unmatched);
        assert_int_equal(read_nested(trace, found, MOST_NESTED), n->count);
        assert_true(n->count > 5000 && n->unmatched > 10 && n->ticks > 300000);
        qsort(found, n->count, sizeof *found, compare_nested);
        qsort(n->zones, n->count, sizeof *found, compare_nested);
        assert_memory_equal(found, n->zones, n->count * sizeof *found);
        trace_close(trace);
    }
    free(found);
    free(n);
}

static void put_sample(struct client *c, int64_t delta, const uint64_t *addresses, size_t count)
{
    client_answer(c, TRACY_CALLSTACK_PAYLOAD, 0, addresses, count * sizeof *addresses);
    bytes_append_u64(record(c, TRACY_CALLSTACK_SAMPLE), (uint64_t)delta);
    bytes_append_u32(&c->frame, 7);
}

static void put_code(struct client *c, uint64_t address, const char *const *names, uint8_t count)
{
    client_text(c, "image");
    bytes_append_u64(record(c, TRACY_CALLSTACK_FRAME_SIZE), address);
    bytes_append_u8(&c->frame, count);
    for (uint8_t i = 0; i < count; i++) {
        client_text(c, names[i]);
        record(c, TRACY_SECOND_STRING_DATA);
        put_u16(&c->frame, 3);
        put(&c->frame, "a.c", 3);
        bytes_append_u32(record(c, TRACY_CALLSTACK_FRAME), 12);
        bytes_append_u64(&c->frame, address);
        bytes_append_u32(&c->frame, 40);
    }
}

/* Functions are asked for at addresses of the program, once; those of the kernel are shown as they are. A sample whose
 * time the client does not know is counted. */
static void test_samples(void **state)
{
    (void)state;
    struct making m;
    struct tracy_trace_stats stats;
    const uint64_t stack[] = {0x401234, 0x402234, UINT64_C(0xffffffff81000000)},
                   unknown[] = {0x401234, 0x403234};
    start(&m, 72, 0);
    put_sample(&m.client, 0, stack, 1);
    put_sample(&m.client, 2000, stack, 3);
    put_sample(&m.client, 10, unknown, 2);
    flush(&m);
    struct bytes *queries = tracy_stream_queries(tracy_trace_stream(m.trace));
    unsigned codes = 0;
    for (size_t at = 0; at < queries->length; at += TRACY_QUERY_BYTES)
        codes += queries->data[at] == TRACY_ASK_CODE;
    assert_int_equal(codes, 3);
    bytes_clear(queries);
    put_code(&m.client, 0x401234, (const char *const[]){"inlined", "leaf"}, 2);
    put_code(&m.client, 0x402234, (const char *const[]){"main"}, 1);
    flush(&m);
    assert_true(tracy_stream_is_trusted(tracy_trace_stream(m.trace)));
    struct trace *trace = finish(&m, &stats);
    assert_int_equal(stats.lost_records, 1);
    struct trace_block_filter filter = {.type = TRACE_BLOCK_SAMPLES};
    struct trace_rows rows = {0};
    size_t position = 0;
    const struct trace_block *block = trace_next_block(trace, &filter, &position);
    assert_non_null(block);
    assert_int_equal(trace_decode_rows(trace, block, &rows, NULL), 0);
    assert_int_equal(rows.count, 2);
    static const char *const names[2][3] = {{"leaf", "main", "0xffffffff81000000"}, {"leaf", "0x403234"}};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rows.samples[i].frame_count, i ? 2 : 3);
        for (uint32_t k = 0; k < rows.samples[i].frame_count; k++)
            assert_string_equal(trace_get_name(trace, rows.samples[i].frames[k])->name, names[i][k]);
    }
    trace_rows_free(&rows);
    trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),       cmocka_unit_test(test_late_names),
        cmocka_unit_test(test_resumed_names), cmocka_unit_test(test_locks),
        cmocka_unit_test(test_devices),       cmocka_unit_test(test_fibers),
        cmocka_unit_test(test_unmatched_end), cmocka_unit_test(test_shared_locks),
        cmocka_unit_test(test_nesting),       cmocka_unit_test(test_listener),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
