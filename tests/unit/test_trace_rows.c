/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions and every row type other than zones, through the writer and back. */
#include "test_trace_support.h"
#include "trace/block.h"

static struct trace *finish_and_open(struct trace_writer *w, const char *path)
{
    assert_ok(trace_writer_finish(w, ERR));
    return open_trace(path, 0);
}

/* The next block of a type, decoded; false at the end. */
static bool next_rows(struct trace *t, uint32_t type, size_t *position, struct trace_rows *rows)
{
    struct trace_block_filter filter = {.type = type};
    const struct trace_block *block = trace_next_block(t, &filter, position);
    if (!block)
        return false;
    assert_ok(trace_decode_rows(t, block, rows, ERR));
    assert_int_equal(rows->count, block->count);
    return true;
}

static void check_info(struct trace *t)
{
    const struct trace_info *info = trace_get_info(t);
    assert_string_equal(info->program, "test 1.0");
    assert_string_equal(info->command, "sh -c true");
    assert_string_equal(info->host, "box");
    assert_int_equal(info->format_version, 2);
    assert_int_equal(info->start_ns | info->end_ns | info->zones, 0);
}

static void check_processes(struct trace *t, uint32_t parent, uint32_t child)
{
    assert_int_equal(trace_process_count(t), 2);
    const struct trace_process *process = trace_get_process(t, parent);
    assert_int_equal(process->end_ns, 900);
    assert_int_equal(process->exit_status, 7 << 8);
    assert_int_equal(process->flags, TRACE_PROCESS_ROOT);
    assert_string_equal(process->command, "make all");
    assert_int_equal(trace_get_process(t, child)->parent, parent);
    assert_int_equal(trace_get_process(t, child)->pid, -5);
    assert_int_equal(trace_get_process(t, child)->exit_status, TRACE_STATUS_UNKNOWN);
    assert_null(trace_get_process(t, 2));
}

static void check_tracks_and_names(struct trace *t, uint32_t queue, uint32_t dma, uint32_t process)
{
    assert_int_equal(trace_track_count(t), 2);
    assert_int_equal(trace_get_track(t, dma)->parent, queue);
    assert_int_equal(trace_get_track(t, dma)->process, process);
    assert_int_equal(trace_get_track(t, dma)->number, UINT64_MAX);
    assert_string_equal(trace_get_track(t, dma)->name, "dma \xc3\xa9");
    assert_string_equal(trace_get_track(t, dma)->architecture, "chip_b0");
    assert_string_equal(trace_get_track(t, queue)->architecture, "");
    assert_int_equal(trace_name_count(t), 3);
    assert_int_equal(trace_get_name(t, 1)->colour, 0xff8000);
    assert_string_equal(trace_get_name(t, 77)->name, "?");
    assert_string_equal(trace_get_clock(t, TRACE_HOST_CLOCK)->name, "host");
}

static void test_definitions(void **state)
{
    const char *path = test_path("definitions.opscope");
    struct trace_writer *w = open_writer(path, 0);
    (void)state;
    struct trace_process parent = {.id = TRACE_NONE,
                                   .parent = TRACE_NONE,
                                   .pid = 100,
                                   .start_ns = 1,
                                   .flags = TRACE_PROCESS_ROOT,
                                   .exit_status = TRACE_STATUS_UNKNOWN,
                                   .key = 11,
                                   .command = "make all",
                                   .host = "box"};
    uint32_t p = trace_writer_process(w, &parent);
    struct trace_process child = {.id = TRACE_NONE,
                                  .parent = p,
                                  .pid = -5,
                                  .flags = TRACE_PROCESS_FORKED,
                                  .exit_status = TRACE_STATUS_UNKNOWN,
                                  .key = 12,
                                  .command = "",
                                  .host = NULL};
    uint32_t c = trace_writer_process(w, &child);
    assert_int_equal(trace_writer_find_process(w, 12), c);
    assert_int_equal(trace_writer_find_process(w, 99), TRACE_NONE);
    uint32_t queue = add_track(w, p, "queue", 0);
    struct trace_track core = {.id = TRACE_NONE,
                               .process = c,
                               .parent = queue,
                               .kind = TRACE_TRACK_DMA,
                               .number = UINT64_MAX,
                               .key = 5,
                               .name = "dma \xc3\xa9",
                               .architecture = "chip_b0"};
    uint32_t d = trace_writer_track(w, &core);
    assert_int_equal(trace_writer_find_track(w, 5), d);
    assert_string_equal(trace_writer_get_track(w, d)->name, "dma \xc3\xa9");
    uint32_t a = trace_writer_name(w, "zone", "f", "x.c", 3, 0xff8000);
    uint32_t b = trace_writer_name(w, "zone", "f", "x.c", 4, 0xff8000);
    uint32_t e = trace_writer_name(w, "", NULL, NULL, 0, 0);
    assert_int_equal(trace_writer_name(w, "zone", "f", "x.c", 3, 0xff8000), a);
    assert_true(a != b && b != e);
    struct trace_part parts[] = {
        {TRACE_PART_INPUT, SLICE("shape=1x2")}, {TRACE_PART_OUTPUT, SLICE("")}, {7, SLICE("unknown role")}};
    uint32_t one = trace_writer_description(w, parts, 3), none = trace_writer_description(w, parts, 0);
    assert_int_equal(trace_writer_description(w, parts, 3), one);
    assert_true(one != none);
    parent.id = p; /* it ended meanwhile */
    parent.end_ns = 900;
    parent.exit_status = 7 << 8;
    assert_int_equal(trace_writer_process(w, &parent), p);

    struct trace *t = finish_and_open(w, path);
    check_info(t);
    check_processes(t, p, c);
    check_tracks_and_names(t, queue, d, c);
    assert_int_equal(trace_get_name(t, b)->line, 4);
    assert_string_equal(trace_get_name(t, e)->name, "");
    size_t count;
    const struct trace_part *read = trace_get_description(t, one, &count);
    assert_int_equal(count, 3);
    assert_string_equal(read[0].text.data, "shape=1x2");
    assert_string_equal(read[1].text.data, "");
    assert_int_equal(read[2].role, 7);
    trace_get_description(t, none, &count);
    assert_int_equal(count, 0);
    trace_get_description(t, 50, &count);
    assert_int_equal(count, 0);
    trace_close(t);
}

/* 200,000 names, each found again by its text, over several blocks of definitions. */
static void test_many_names(void **state)
{
    const char *path = test_path("names.opscope");
    struct trace_writer *w = open_writer(path, 0);
    (void)state;
    for (uint32_t i = 0; i < 200000; i++) {
        char text[32];
        snprintf(text, sizeof text, "name number %u", i);
        assert_int_equal(trace_writer_name(w, text, "", "", i, 0), i);
    }
    assert_int_equal(trace_writer_name(w, "name number 4711", "", "", 4711, 0), 4711);
    struct trace *t = finish_and_open(w, path);
    assert_int_equal(trace_name_count(t), 200000);
    for (uint32_t i = 0; i < 200000; i += 1234) {
        char text[32];
        snprintf(text, sizeof text, "name number %u", i);
        assert_string_equal(trace_get_name(t, i)->name, text);
    }
    trace_close(t);
}

static void test_points(void **state)
{
    const char *path = test_path("points.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), track = add_track(w, process, "t", 0);
    struct trace_rows rows = {0};
    size_t position = 0, seen = 0;
    (void)state;
    for (uint64_t i = 0; i < 40000; i++) {
        char text[64];
        int length = snprintf(text, sizeof text, "message %llu", (unsigned long long)i);
        struct trace_point point = {.track = track,
                                    .kind = 1 + (uint32_t)(i % 3),
                                    .time = 1000 + i * 10 - i % 7,
                                    .header = i % 2 ? "header" : "",
                                    .text = i % 5 ? text : NULL,
                                    .text_length = i % 5 ? (uint32_t)length : 0};
        trace_writer_point(w, &point);
    }
    char *large = malloc(TRACE_MAX_TEXT);
    assert_non_null(large);
    memset(large, 0, TRACE_MAX_TEXT); /* a text may hold anything */
    struct trace_point point = {
        .track = track, .kind = TRACE_POINT_MESSAGE, .time = 5, .text = large, .text_length = TRACE_MAX_TEXT};
    trace_writer_point(w, &point);
    free(large);
    struct trace *t = finish_and_open(w, path);
    assert_int_equal(trace_get_info(t)->points, 40001);
    assert_int_equal(trace_get_info(t)->start_ns, 5);
    while (next_rows(t, TRACE_BLOCK_POINTS, &position, &rows))
        for (size_t i = 0; i < rows.count; i++, seen++) {
            const struct trace_point *p = &rows.points[i];
            char text[64];
            assert_int_equal(p->track, track);
            if (seen == 40000) {
                assert_int_equal(p->text_length, TRACE_MAX_TEXT);
                assert_int_equal(p->time, 5);
                continue;
            }
            assert_int_equal(p->kind, 1 + seen % 3);
            assert_int_equal(p->time, 1000 + seen * 10 - seen % 7);
            assert_string_equal(p->header, seen % 2 ? "header" : "");
            snprintf(text, sizeof text, "message %zu", seen);
            assert_string_equal(p->text, seen % 5 ? text : "");
            assert_int_equal(p->text_length, strlen(p->text));
        }
    assert_int_equal(seen, 40001);
    trace_rows_free(&rows);
    trace_close(t);
}

static void test_counters_and_memory(void **state)
{
    const char *path = test_path("counters.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), track = add_track(w, process, "t", 0);
    uint32_t name = add_name(w, "queue length"), pool = add_name(w, "pool");
    static const double values[] = {0.0, -1.5, 1e300, 3.0};
    struct trace_rows rows = {0};
    size_t position = 0, seen = 0;
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        struct trace_counter counter = {.track = track, .name = name, .time = i * 7, .value = values[i % 4]};
        trace_writer_counter(w, &counter);
        struct trace_memory memory = {.track = track,
                                      .pool = i % 2 ? pool : TRACE_NONE,
                                      .time = i * 9,
                                      .address = UINT64_MAX - i,
                                      .size = i % 3 ? i << 30 : 0,
                                      .is_release = i % 3 == 0};
        trace_writer_memory(w, &memory);
    }
    struct trace *t = finish_and_open(w, path);
    assert_int_equal(trace_get_info(t)->counters, 20000);
    assert_int_equal(trace_get_info(t)->memory_events, 20000);
    for (; next_rows(t, TRACE_BLOCK_COUNTERS, &position, &rows);)
        for (size_t i = 0; i < rows.count; i++, seen++) {
            assert_int_equal(rows.counters[i].name, name);
            assert_int_equal(rows.counters[i].time, seen * 7);
            assert_true(rows.counters[i].value == values[seen % 4]);
        }
    assert_int_equal(seen, 20000);
    position = seen = 0;
    for (; next_rows(t, TRACE_BLOCK_MEMORY, &position, &rows);)
        for (size_t i = 0; i < rows.count; i++, seen++) {
            const struct trace_memory *m = &rows.memory[i];
            assert_int_equal(m->pool, seen % 2 ? pool : TRACE_NONE);
            assert_int_equal(m->time, seen * 9);
            assert_true(m->address == UINT64_MAX - seen);
            assert_int_equal(m->size, seen % 3 ? seen << 30 : 0);
            assert_int_equal(m->is_release, seen % 3 == 0);
        }
    assert_int_equal(seen, 20000);
    trace_rows_free(&rows);
    trace_close(t);
}

static void test_locks(void **state)
{
    const char *path = test_path("locks.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), track = add_track(w, process, "t", 0);
    uint32_t names[] = {add_name(w, "queue"), add_name(w, "log")};
    struct trace_rows rows = {0};
    size_t position = 0, seen = 0;
    (void)state;
    for (uint64_t i = 0; i < 20000; i++) /* they come in the order of their ends; one ends before it begins */
        trace_writer_lock(w, &(struct trace_lock){.track = track,
                                                  .name = names[i % 2],
                                                  .kind = i % 3 ? TRACE_LOCK_HOLD : TRACE_LOCK_WAIT,
                                                  .number = UINT64_MAX - i,
                                                  .start_ns = i * 9 - i % 5,
                                                  .end_ns = i == 7 ? 3 : i * 10,
                                                  .is_shared = i % 4 == 0,
                                                  .is_open = i % 7 == 0});
    struct trace *t = finish_and_open(w, path);
    assert_int_equal(trace_get_info(t)->locks, 20000);
    assert_int_equal(trace_get_info(t)->end_ns, 199990);
    for (; next_rows(t, TRACE_BLOCK_LOCKS, &position, &rows);)
        for (size_t i = 0; i < rows.count; i++, seen++) {
            const struct trace_lock *row = &rows.locks[i];
            assert_int_equal(row->track, track);
            assert_int_equal(row->name, names[seen % 2]);
            assert_int_equal(row->kind, seen % 3 ? TRACE_LOCK_HOLD : TRACE_LOCK_WAIT);
            assert_true(row->number == UINT64_MAX - seen);
            assert_int_equal(row->start_ns, seen * 9 - seen % 5);
            assert_int_equal(row->end_ns, seen == 7 ? row->start_ns : seen * 10);
            assert_int_equal(row->is_shared, seen % 4 == 0);
            assert_int_equal(row->is_open, seen % 7 == 0);
        }
    assert_int_equal(seen, 20000);
    trace_rows_free(&rows);
    trace_close(t);
}

static void check_ops(struct trace *t, uint32_t description)
{
    struct trace_rows rows = {0};
    size_t position = 0, seen = 0;
    for (; next_rows(t, TRACE_BLOCK_OPS, &position, &rows);)
        for (size_t i = 0; i < rows.count; i++, seen++) {
            const struct trace_op *op = &rows.ops[i];
            assert_int_equal(op->call, seen + 1);
            assert_int_equal(op->type, seen % 3);
            assert_int_equal(op->device, seen % 2 ? 4 : TRACE_NONE);
            assert_int_equal(op->description, seen % 2 ? description : TRACE_NONE);
            assert_int_equal(op->start_ns, 10000 + seen * 100);
            assert_int_equal(op->end_ns, seen % 10 ? 10060 + seen * 100 : 0);
        }
    assert_int_equal(seen, 5000);
    assert_int_equal(trace_get_info(t)->ops, 5000);
    trace_rows_free(&rows);
}

static void check_runs(struct trace *t, uint32_t brisc)
{
    struct trace_rows rows = {0};
    size_t position = 0, seen = 0;
    for (; next_rows(t, TRACE_BLOCK_RUNS, &position, &rows);)
        for (size_t i = 0; i < rows.count; i++, seen++) {
            const struct trace_run *run = &rows.runs[i];
            assert_int_equal(run->call, seen + 1);
            assert_int_equal(run->session, seen % 4);
            assert_int_equal(run->cores, 64);
            assert_int_equal(run->start, 500 + seen * 50); /* ticks */
            assert_int_equal(run->part_count, seen % 4);
            if (seen % 4 == 3) {
                assert_int_equal(run->parts[0].name, brisc);
                assert_int_equal(run->parts[1].whole, seen * 2);
                assert_true(run->parts[2].whole == UINT64_MAX);
            }
        }
    assert_int_equal(seen, 5000);
    assert_int_equal(trace_get_info(t)->runs, 5000);
    trace_rows_free(&rows);
}

static void check_samples(struct trace *t, uint32_t name)
{
    struct trace_rows rows = {0};
    size_t position = 0, seen = 0;
    for (; next_rows(t, TRACE_BLOCK_SAMPLES, &position, &rows);)
        for (size_t i = 0; i < rows.count; i++, seen++) {
            assert_int_equal(rows.samples[i].time, seen * 13);
            assert_int_equal(rows.samples[i].frame_count, seen % 6);
            if (seen % 6 > 2)
                assert_int_equal(rows.samples[i].frames[2], name);
        }
    assert_int_equal(seen, 5000);
    assert_int_equal(trace_get_info(t)->samples, 5000);
    trace_rows_free(&rows);
}

/* Ops, their runs on a device (in ticks) with parts, and samples with frames. */
static void test_ops_runs_samples(void **state)
{
    const char *path = test_path("ops.opscope");
    struct trace_writer *w = open_writer(path, 0);
    struct trace_clock clock = {.id = TRACE_NONE, .is_device = true, .ticks_per_second = 5e8, .name = "chip"};
    uint32_t process = add_process(w, 1), host = add_track(w, process, "t", 0);
    uint32_t device = add_track(w, process, "core", trace_writer_clock(w, &clock));
    uint32_t name = add_name(w, "matmul"), brisc = add_name(w, "BRISC"), trisc = add_name(w, "TRISC");
    struct trace_clock_point point = {.clock = 1, .ticks = 0, .host_ns = 1000};
    struct trace_part part = {TRACE_PART_INPUT, SLICE("shape=32x32")};
    uint32_t description = trace_writer_description(w, &part, 1);
    (void)state;
    trace_writer_clock_point(w, &point);
    for (uint64_t i = 0; i < 5000; i++) {
        struct trace_op op = {.call = i + 1,
                              .process = process,
                              .track = host,
                              .name = name,
                              .type = (uint32_t)(i % 3),
                              .device = i % 2 ? 4 : TRACE_NONE,
                              .description = i % 2 ? description : TRACE_NONE,
                              .start_ns = 10000 + i * 100,
                              .end_ns = i % 10 ? 10000 + i * 100 + 60 : 0};
        trace_writer_op(w, &op);
        struct trace_run_part parts[3] = {{.name = brisc, .whole = i},
                                          {.name = trisc, .whole = i * 2},
                                          {.name = brisc, .whole = UINT64_MAX}};
        struct trace_run run = {.call = i + 1,
                                .process = process,
                                .track = device,
                                .name = name,
                                .session = (uint32_t)(i % 4),
                                .cores = 64,
                                .part_count = (uint32_t)(i % 4),
                                .start = 500 + i * 50,
                                .duration = 20,
                                .parts = parts};
        trace_writer_run(w, &run);
        uint32_t frames[5] = {brisc, trisc, name, brisc, trisc};
        struct trace_sample sample = {
            .track = host, .time = i * 13, .frame_count = (uint32_t)(i % 6), .frames = frames};
        trace_writer_sample(w, &sample);
    }
    struct trace *t = finish_and_open(w, path);
    check_ops(t, description);
    check_runs(t, brisc);
    check_samples(t, name);
    trace_close(t);
}

/* A full disk makes one record per track, however often it is reported and however many tracks there are. */
static void test_losses_melt(void **state)
{
    enum { TRACKS = 3000, TIMES = 5 };
    const char *path = test_path("melt.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1);
    size_t count;
    (void)state;
    for (uint32_t i = 0; i < TRACKS; i++)
        add_track(w, process, "t", 0);
    for (uint32_t k = 0; k < TIMES; k++) {
        for (uint32_t i = 0; i < TRACKS; i++) {
            struct trace_loss loss = {.process = process,
                                      .track = i,
                                      .reason = TRACE_LOSS_DISK_FULL,
                                      .from_ns = 1000 - k,
                                      .to_ns = 2000 + k,
                                      .zones = i,
                                      .records = 1};
            trace_writer_loss(w, &loss);
            loss.reason = TRACE_LOSS_BUFFER_FULL; /* each of these is reported by itself */
            if (i == 7)
                trace_writer_loss(w, &loss);
        }
    }
    struct trace *t = finish_and_open(w, path);
    const struct trace_loss *losses = trace_get_losses(t, &count);
    size_t melted = 0;
    assert_int_equal(count, TRACKS + TIMES);
    for (size_t i = 0; i < count; i++) {
        if (losses[i].reason != TRACE_LOSS_DISK_FULL)
            continue;
        assert_int_equal(losses[i].zones, losses[i].track * TIMES);
        assert_int_equal(losses[i].records, TIMES);
        assert_int_equal(losses[i].from_ns, 1000 - (TIMES - 1));
        assert_int_equal(losses[i].to_ns, 2000 + (TIMES - 1));
        melted++;
    }
    assert_int_equal(melted, TRACKS);
    trace_close(t);
}

static void test_losses_and_open_zones(void **state)
{
    const char *path = test_path("losses.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), track = add_track(w, process, "t", 0);
    size_t count;
    (void)state;
    for (uint32_t i = 1; i < TRACE_LOSS_REASONS; i++) {
        struct trace_loss loss = {.process = i % 2 ? process : TRACE_NONE,
                                  .track = i % 3 ? track : TRACE_NONE,
                                  .reason = i,
                                  .from_ns = i,
                                  .to_ns = i * 2,
                                  .zones = i * 100,
                                  .records = i * 10};
        trace_writer_loss(w, &loss);
        assert_string_not_equal(trace_loss_reason_text(i), "unknown");
    }
    struct trace *t = finish_and_open(w, path);
    const struct trace_loss *losses = trace_get_losses(t, &count);
    uint64_t zones = 0, records = 0;
    assert_int_equal(count, TRACE_LOSS_REASONS - 1);
    for (uint32_t i = 1; i < TRACE_LOSS_REASONS; i++) {
        assert_int_equal(losses[i - 1].process, i % 2 ? process : TRACE_NONE);
        assert_int_equal(losses[i - 1].track, i % 3 ? track : TRACE_NONE);
        assert_int_equal(losses[i - 1].reason, i);
        assert_int_equal(losses[i - 1].from_ns, i);
        assert_int_equal(losses[i - 1].to_ns, i * 2);
        assert_int_equal(losses[i - 1].zones, i * 100);
        assert_int_equal(losses[i - 1].records, i * 10);
        if (i != TRACE_LOSS_LATE_ENDS && i != TRACE_LOSS_DROPPED_OLD && i != TRACE_LOSS_PAUSED) {
            zones += i * 100;
            records += i * 10;
        }
    }
    assert_int_equal(trace_get_info(t)->lost_zones, zones);
    assert_int_equal(trace_get_info(t)->lost_records, records);
    trace_get_open_zones(t, &count);
    assert_int_equal(count, 0);
    trace_close(t);
}

static void list_three(void *context, struct trace_writer *w)
{
    const struct trace_open_zone *zones = context;
    for (size_t i = 0; i < 3; i++)
        trace_writer_open_zone(w, &zones[i]);
}

/* A trace of nothing but zones that never ended reaches from the first of them to when its thread was last seen. */
static void test_open_zones_alone(void **state)
{
    const char *path = test_path("open.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), track = add_track(w, process, "t", 0);
    uint32_t other = add_track(w, process, "u", 0), name = trace_writer_name(w, "serve", "", "", 0, 0);
    struct trace_open_zone zones[3] = {
        {.track = track, .start = 5000000, .seen = 9000000, .child = 2500000, .name = name},
        {.track = track, .depth = 1, .start = 6500000, .seen = 9000000, .name = name},
        {.track = other, .start = 4000000, .name = name}, /* last seen: not known */
    };
    size_t count;
    (void)state;
    trace_writer_set_open_zones(w, list_three, zones);
    struct trace *t = finish_and_open(w, path);
    const struct trace_open_zone *open = trace_get_open_zones(t, &count);
    assert_int_equal(count, 3);
    assert_int_equal(open[0].seen, 9000000);
    assert_int_equal(open[0].child, 2500000);
    assert_int_equal(open[1].seen, 9000000);
    assert_int_equal(open[2].seen, open[2].start); /* no row says more */
    assert_int_equal(trace_get_info(t)->start_ns, 4000000);
    assert_int_equal(trace_get_info(t)->end_ns, 9000000);
    assert_int_equal(trace_track_seen_ns(t, track), 9000000);
    assert_int_equal(trace_track_seen_ns(t, 77), 9000000);
    trace_close(t);
}

/* Figures keep their kinds; those in ticks come first. An estimated run says so. */
static void test_figures(void **state)
{
    const char *path = test_path("figures.opscope");
    struct trace_writer *w = open_writer(path, 0);
    uint32_t process = add_process(w, 1), track = add_track(w, process, "chip", 0);
    uint32_t name = add_name(w, "matmul"), text = add_name(w, "HiFi4");
    struct trace_run_part parts[TRACE_FIGURE_KINDS];
    struct trace_rows rows = {0};
    size_t position = 0;
    (void)state;
    for (uint32_t kind = 0; kind < TRACE_FIGURE_KINDS; kind++) {
        parts[kind] = (struct trace_run_part){.name = name, .kind = kind, .whole = kind + 100};
        if (trace_figure_is_real(kind))
            parts[kind].real = kind + 0.25;
    }
    parts[TRACE_FIGURE_TEXT].whole = text;
    for (uint64_t i = 0; i < 3; i++) {
        struct trace_run run = {.call = i + 1,
                                .process = process,
                                .track = track,
                                .name = name,
                                .flags = i == 1 ? TRACE_RUN_ESTIMATED : 0,
                                .part_count = i == 2 ? 0 : TRACE_FIGURE_KINDS,
                                .parts = parts};
        trace_writer_run(w, &run);
    }
    assert_ok(trace_writer_finish(w, ERR));
    struct trace *t = open_trace(path, 0);
    assert_true(next_rows(t, TRACE_BLOCK_RUNS, &position, &rows));
    assert_int_equal(rows.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct trace_run *run = &rows.runs[i];
        assert_int_equal(run->flags, i == 1 ? TRACE_RUN_ESTIMATED : 0);
        assert_int_equal(run->part_count, i == 2 ? 0 : TRACE_FIGURE_KINDS);
        for (uint32_t k = 0; k < run->part_count; k++) {
            assert_int_equal(run->parts[k].kind, k);
            if (k == TRACE_FIGURE_TEXT)
                assert_string_equal(trace_get_name(t, (uint32_t)run->parts[k].whole)->name, "HiFi4");
            else if (trace_figure_is_real(k))
                assert_true(run->parts[k].real == k + 0.25);
            else
                assert_int_equal(run->parts[k].whole, k + 100);
        }
    }
    trace_rows_free(&rows);
    trace_close(t);
}

static const struct trace_source_part two_parts[] = {{3, 9, "line 3\n4\n"}, {90, 4, "end\n"}};

static void check_source_lines(struct trace *t)
{
    assert_int_equal(trace_source_count(t), 3);
    const struct trace_source_file *file = trace_find_source(t, "/a/b.py");
    assert_non_null(file);
    assert_int_equal(file->line_count, 90);
    assert_int_equal(file->part_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(file->parts[i].first_line, two_parts[i].first_line);
        assert_int_equal(file->parts[i].length, two_parts[i].length);
        assert_memory_equal(file->parts[i].text, two_parts[i].text, two_parts[i].length);
    }
    file = trace_find_source(t, "newer.c");
    assert_non_null(file);
    assert_int_equal(file->state, TRACE_SOURCE_CHANGED);
    assert_int_equal(file->part_count, 0);
    assert_null(trace_find_source(t, "b.py"));
    assert_null(trace_get_source(t, 3));
}

/* Also through the flight recorder, which has dropped what was before; the last of two of one name counts. */
static void test_source_lines(void **state)
{
    (void)state;
    const struct trace_source_file files[] = {
        {.file = "/a/b.py", .line_count = 90, .part_count = 2, .parts = two_parts},
        {.file = "newer.c", .state = TRACE_SOURCE_CHANGED}};
    for (uint64_t limit = 0; limit <= 256 << 10; limit += 256 << 10) {
        const char *path = test_path("sources.opscope");
        struct trace_writer *w = open_writer(path, limit);
        struct zone_sink *sink = trace_writer_sink(w, add_track(w, add_process(w, 1), "main", 0));
        for (uint64_t i = 0; i < (limit ? 400000 : 4); i++)
            zone_sink_add(sink, 0, 100 * i, 100 * i + random_below(100), 0, add_name(w, "zone"));
        assert_true(trace_writer_source_room(w) >= 4096);
        assert_true(
            trace_writer_sources(w, &(struct trace_source_file){.file = "/a/b.py", .line_count = 1}, 1) > 0);
        assert_true(trace_writer_sources(w, files, 2) > 0);
        assert_int_equal(trace_writer_sources(w, files, 0), 0);
        struct trace *t = finish_and_open(w, path);
        check_source_lines(t);
        trace_close(t);
        t = open_trace(path, TRACE_OPEN_SALVAGE);
        check_source_lines(t);
        trace_close(t);
    }
}

/* A block in which one length is larger than what is there is as if it were not there. */
static void test_source_lines_that_lie(void **state)
{
    (void)state;
    static const struct trace_source_part part = {1, 4, "abc\n"};
    const struct trace_source_file file = {.file = "x.c", .line_count = 1, .part_count = 1, .parts = &part};
    const char *path = test_path("lie.opscope");
    struct trace_writer *w = open_writer(path, 0);
    assert_true(trace_writer_sources(w, &file, 1) > 0);
    assert_ok(trace_writer_finish(w, ERR));
    static uint8_t data[1 << 16];
    FILE *stream = fopen(path, "re");
    size_t length = stream ? fread(data, 1, sizeof data, stream) : 0;
    assert_true(length > 0);
    fclose(stream);
    struct trace *t;
    assert_ok(trace_open_memory(&t, data, length, 0, ERR));
    size_t position = 0;
    const struct trace_block *block =
        trace_next_block(t, &(struct trace_block_filter){.type = TRACE_BLOCK_SOURCES}, &position);
    assert_non_null(block);
    uint8_t *at = data + block->offset;
    size_t size = block->size;
    assert_non_null(trace_find_source(t, "x.c"));
    trace_close(t);
    size_t lies = 0;
    for (size_t i = 96; i < size; i++) { /* every byte of the columns, and of the table of columns */
        uint8_t was = at[i];
        at[i] = (uint8_t)(was + 7);
        block_rehash(at, size);
        assert_ok(trace_open_memory(&t, data, length, 0, ERR));
        const struct trace_source_file *found = trace_find_source(t, "x.c");
        lies += !found;
        for (size_t k = 0; found && k < found->part_count; k++)
            assert_true(strnlen(found->parts[k].text, found->parts[k].length) <= 4);
        trace_close(t);
        at[i] = was;
    }
    assert_true(lies > 0);
}

static void test_words(void **state)
{
    (void)state;
    assert_string_equal(trace_track_kind_text(TRACE_TRACK_DMA), "DMA");
    assert_string_equal(trace_track_kind_text(99), "unknown");
    assert_string_equal(trace_point_kind_text(TRACE_POINT_SIGNPOST), "signpost");
    assert_string_equal(trace_point_kind_text(0), "unknown");
    assert_string_equal(trace_op_type_text(TRACE_OP_FALLBACK), "fallback");
    assert_string_equal(trace_part_role_text(TRACE_PART_KERNEL), "kernel");
    assert_string_equal(trace_loss_reason_text(0), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_counters_and_memory),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_ops_runs_samples),
        cmocka_unit_test(test_losses_and_open_zones),
        cmocka_unit_test(test_open_zones_alone),
        cmocka_unit_test(test_losses_melt),
        cmocka_unit_test(test_source_lines),
        cmocka_unit_test(test_source_lines_that_lie),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_figures),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
