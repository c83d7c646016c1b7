/* SPDX-License-Identifier: Apache-2.0 */
/* tests/golden/trace/vN.opscope was written by the release that introduced format version N and is never
 * written again: whatever the reader learns, it must still find exactly this in it.
 *
 *     test_trace_golden --write FILE      writes what the current version makes of the same recording */
#include "test_trace_support.h"

#include "trace/format.h"

struct recording {
    struct trace_writer *w;
    struct ref_zones zones;
    uint32_t host, device, other, names[4];
};

static void define(struct recording *r)
{
    struct trace_process root = {.id = TRACE_NONE,
                                 .parent = TRACE_NONE,
                                 .pid = 4242,
                                 .start_ns = 1000,
                                 .end_ns = 9000000000,
                                 .exit_status = 3 << 8,
                                 .flags = TRACE_PROCESS_ROOT,
                                 .key = 1,
                                 .command = "train --steps 10",
                                 .host = "node7"};
    uint32_t parent = trace_writer_process(r->w, &root);
    struct trace_process child = {.id = TRACE_NONE,
                                  .parent = parent,
                                  .pid = 4243,
                                  .start_ns = 2000,
                                  .exit_status = TRACE_STATUS_UNKNOWN,
                                  .flags = TRACE_PROCESS_FORKED | TRACE_PROCESS_RUNNING_AT_END,
                                  .key = 2,
                                  .command = "loader",
                                  .host = "node7"};
    uint32_t loader = trace_writer_process(r->w, &child);
    struct trace_clock clock = {
        .id = TRACE_NONE, .is_device = true, .ticks_per_second = 1.35e9, .name = "chip 0"};
    uint32_t chip = trace_writer_clock(r->w, &clock);
    struct trace_clock_point points[3] = {
        {.clock = chip, .ticks = 1000, .host_ns = 2000000, .uncertainty_ns = 40},
        {.clock = chip,
         .ticks = 1351000,
         .host_ns = 3000000,
         .uncertainty_ns = 50,
         .realtime_ns = 1700000000},
        {.clock = chip, .ticks = 90000000, .host_ns = 90000000, .is_break = true}};
    for (size_t i = 0; i < 3; i++)
        trace_writer_clock_point(r->w, &points[i]);
    struct trace_track host = {
        .id = TRACE_NONE, .process = parent, .parent = TRACE_NONE, .number = 4242, .key = 10, .name = "main"};
    r->host = trace_writer_track(r->w, &host);
    struct trace_track device = {.id = TRACE_NONE,
                                 .process = parent,
                                 .parent = TRACE_NONE,
                                 .kind = TRACE_TRACK_CORE,
                                 .clock = chip,
                                 .number = 12,
                                 .key = 11,
                                 .name = "core 1,2",
                                 .architecture = "chip of tests"};
    r->device = trace_writer_track(r->w, &device);
    struct trace_track other = {.id = TRACE_NONE,
                                .process = loader,
                                .parent = r->host,
                                .kind = TRACE_TRACK_TASK,
                                .key = 12,
                                .name = "task"};
    r->other = trace_writer_track(r->w, &other);
    r->names[0] = trace_writer_name(r->w, "step", "train", "train.py", 10, 0);
    r->names[1] = trace_writer_name(r->w, "matmul", "forward", "model.py", 20, 0x00ff00);
    r->names[2] = trace_writer_name(r->w, "load", "", "", 0, 0);
    r->names[3] = trace_writer_name(r->w, "kernel", "", "k.cpp", 1, 0);
}

static void add_zones(struct recording *r)
{
    struct zone_sink *host = trace_writer_sink(r->w, r->host), *device = trace_writer_sink(r->w, r->device);
    struct call_maker maker = {.list = &r->zones,
                               .sink = host,
                               .names = r->names,
                               .name_count = 3,
                               .max_depth = 5,
                               .now = 1000000,
                               .step = 900};
    random_state = 20240229;
    make_calls(&maker, 1, 700);
    struct trace_extra extra = {.kind = TRACE_EXTRA_TEXT, .text = "batch 7", .text_length = 7};
    zone_sink_extra(host, &extra);
    extra = (struct trace_extra){.kind = TRACE_EXTRA_COLOUR, .value = 0x123456};
    zone_sink_extra(host, &extra);
    put_zone(&r->zones, host, 0, 900000, maker.now + UINT64_C(6000000000), maker.now, r->names[0]);
    for (uint64_t i = 0; i < 300; i++) { /* out of order now and then */
        uint64_t start = 5000 + i * 700 - (i % 10 == 0 ? 1500 : 0);
        put_zone(&r->zones, device, 0, start, start + 650, 0, r->names[3]);
    }
    struct zone_sink *task = trace_writer_sink(r->w, r->other);
    for (uint64_t i = 0; i < 5; i++)
        put_zone(&r->zones, task, 0, 2000000 + i * 100, 2000000 + i * 100 + 99, 0, r->names[2]);
    trace_writer_close_sink(r->w, task);
}

static void list_open(void *context, struct trace_writer *w)
{
    const struct recording *r = context;
    struct trace_open_zone zone = {
        .track = r->other, .depth = 1, .start = 2000777, .seen = 2000999, .child = 22, .name = r->names[2]};
    trace_writer_open_zone(w, &zone);
}

static void add_rows(struct recording *r)
{
    struct trace_part parts[3] = {{TRACE_PART_INPUT, SLICE("shape=1x1x32x32;dtype=BF16")},
                                  {TRACE_PART_ATTRIBUTE, SLICE("axis=1")},
                                  {TRACE_PART_LOCATION, SLICE("model.py:20")}};
    /* The first two are all that version 1 could hold. */
    struct trace_run_part run_parts[5] = {
        {.name = r->names[3], .whole = 111},
        {.name = r->names[1], .whole = 222},
        {.name = r->names[0], .kind = TRACE_FIGURE_BYTES, .whole = 4096},
        {.name = r->names[2], .kind = TRACE_FIGURE_PERCENT, .real = 12.5},
        {.name = r->names[2], .kind = TRACE_FIGURE_TEXT, .whole = r->names[3]}};
    struct trace_run_part op_part = {.name = r->names[0], .kind = TRACE_FIGURE_NS, .whole = 321};
    uint32_t frames[2] = {r->names[1], r->names[0]};
    struct trace_point signpost = {.track = r->host,
                                   .kind = TRACE_POINT_SIGNPOST,
                                   .time = 1500000,
                                   .header = "epoch",
                                   .text = "first",
                                   .text_length = 5};
    struct trace_point message = {
        .track = r->other, .kind = TRACE_POINT_MESSAGE, .time = 1600000, .text = "a\0b", .text_length = 3};
    struct trace_counter counter = {.track = r->host, .name = r->names[0], .time = 1700000, .value = -0.5};
    struct trace_memory memory = {
        .track = r->host, .pool = TRACE_NONE, .time = 1800000, .address = 0x7f0000001000, .size = 4096};
    struct trace_op op = {.call = 77,
                          .track = r->host,
                          .name = r->names[1],
                          .type = TRACE_OP_FALLBACK,
                          .device = 2,
                          .start_ns = 1900000,
                          .end_ns = 1900100,
                          .part_count = 1,
                          .parts = &op_part};
    struct trace_run run = {.call = 77,
                            .track = r->device,
                            .name = r->names[1],
                            .session = 3,
                            .cores = 64,
                            .flags = TRACE_RUN_ESTIMATED,
                            .part_count = 5,
                            .start = 7000,
                            .duration = 900,
                            .parts = run_parts};
    struct trace_sample sample = {.track = r->host, .time = 2000000, .frame_count = 2, .frames = frames};
    struct trace_loss loss = {.process = 1,
                              .track = r->other,
                              .reason = TRACE_LOSS_BUFFER_FULL,
                              .from_ns = 5,
                              .to_ns = 6,
                              .zones = 12,
                              .records = 4};
    op.description = trace_writer_description(r->w, parts, 3);
    trace_writer_point(r->w, &signpost);
    trace_writer_point(r->w, &message);
    trace_writer_counter(r->w, &counter);
    trace_writer_memory(r->w, &memory);
    trace_writer_op(r->w, &op);
    trace_writer_run(r->w, &run);
    trace_writer_sample(r->w, &sample);
    trace_writer_loss(r->w, &loss);
}

static int write_recording(struct recording *r, const char *path)
{
    struct error err = {0};
    struct trace_writer_options options = {
        .program = "opscope 0.1.0", .command = "train --steps 10", .host = "node7"};
    *r = (struct recording){0};
    int status = trace_writer_open(&r->w, path, &options, &err);
    if (!status) {
        define(r);
        trace_writer_set_open_zones(r->w, list_open, r);
        add_zones(r);
        add_rows(r);
        status = trace_writer_finish(r->w, &err);
    }
    if (status)
        fprintf(stderr, "%s\n", err.message);
    return status;
}

static const char *golden_path(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/golden/trace/%s", OPSCOPE_SOURCE_FOLDER, name);
    return path;
}

static bool find_rows(struct trace *t, uint32_t type, struct trace_rows *rows)
{
    struct trace_block_filter filter = {.type = type};
    size_t position = 0;
    const struct trace_block *block = trace_next_block(t, &filter, &position);
    if (!block)
        return false;
    assert_ok(trace_decode_rows(t, block, rows, ERR));
    return true;
}

static void check_definitions(struct trace *t, uint32_t version)
{
    assert_int_equal(trace_process_count(t), 2);
    const struct trace_process *root = trace_get_process(t, 0), *child = trace_get_process(t, 1);
    assert_int_equal(root->pid, 4242);
    assert_int_equal(root->end_ns, 9000000000);
    assert_int_equal(root->exit_status, 3 << 8);
    assert_string_equal(root->command, "train --steps 10");
    assert_int_equal(child->parent, 0);
    assert_int_equal(child->exit_status, TRACE_STATUS_UNKNOWN);
    assert_int_equal(child->flags, TRACE_PROCESS_FORKED | TRACE_PROCESS_RUNNING_AT_END);
    assert_int_equal(trace_track_count(t), 3);
    assert_string_equal(trace_get_track(t, 1)->name, "core 1,2");
    assert_int_equal(trace_get_track(t, 1)->clock, 1);
    assert_string_equal(trace_get_track(t, 1)->architecture, version > 1 ? "chip of tests" : "");
    assert_int_equal(trace_get_track(t, 2)->parent, 0);
    assert_int_equal(trace_get_track(t, 2)->process, 1);
    assert_string_equal(trace_get_name(t, 1)->file, "model.py");
    assert_int_equal(trace_get_name(t, 1)->colour, 0x00ff00);
    assert_string_equal(trace_get_clock(t, 1)->name, "chip 0");
    assert_int_equal(trace_host_ns(t, 1, 1000), 2000000);
    assert_int_equal(trace_host_ns(t, 1, 676000), 2500000);
    assert_int_equal(trace_host_ns(t, 1, 90000000), 90000000);
    size_t count;
    const struct trace_clock_point *points = trace_get_clock_points(t, &count);
    assert_int_equal(count, 3);
    assert_int_equal(points[1].realtime_ns, 1700000000);
    const struct trace_loss *losses = trace_get_losses(t, &count);
    assert_int_equal(count, 1);
    assert_int_equal(losses[0].zones, 12);
    const struct trace_open_zone *open = trace_get_open_zones(t, &count);
    assert_int_equal(count, 1);
    assert_int_equal(open[0].start, 2000777);
    if (version > 1) {
        assert_int_equal(open[0].seen, 2000999);
        assert_int_equal(open[0].child, 22);
    }
    const struct trace_part *parts = trace_get_description(t, 0, &count);
    assert_int_equal(count, 3);
    assert_string_equal(parts[2].text.data, "model.py:20");
}

static void check_figures(const struct trace_op *op, const struct trace_run *run, uint32_t version)
{
    assert_int_equal(op->part_count, version > 1 ? 1 : 0);
    assert_int_equal(run->part_count, version > 1 ? 5 : 2);
    assert_int_equal(run->parts[0].kind, TRACE_FIGURE_TICKS);
    assert_int_equal(run->parts[1].whole, 222);
    if (version == 1)
        return;
    assert_int_equal(op->parts[0].kind, TRACE_FIGURE_NS);
    assert_int_equal(op->parts[0].whole, 321);
    assert_int_equal(run->flags, TRACE_RUN_ESTIMATED);
    assert_int_equal(run->parts[2].kind, TRACE_FIGURE_BYTES);
    assert_int_equal(run->parts[2].whole, 4096);
    assert_true(run->parts[3].kind == TRACE_FIGURE_PERCENT && run->parts[3].real == 12.5);
    assert_int_equal(run->parts[4].kind, TRACE_FIGURE_TEXT);
    assert_int_equal(run->parts[4].whole, 3);
}

static void check_rows(struct trace *t, uint32_t version)
{
    struct trace_rows rows = {0};
    assert_true(find_rows(t, TRACE_BLOCK_POINTS, &rows));
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.points[0].header, "epoch");
    assert_string_equal(rows.points[0].text, "first");
    assert_memory_equal(rows.points[1].text, "a\0b", 4);
    assert_true(find_rows(t, TRACE_BLOCK_COUNTERS, &rows));
    assert_true(rows.counters[0].value == -0.5 && rows.counters[0].time == 1700000);
    assert_true(find_rows(t, TRACE_BLOCK_MEMORY, &rows));
    assert_int_equal(rows.memory[0].address, 0x7f0000001000);
    assert_int_equal(rows.memory[0].pool, TRACE_NONE);
    assert_true(find_rows(t, TRACE_BLOCK_OPS, &rows));
    assert_int_equal(rows.ops[0].call, 77);
    assert_int_equal(rows.ops[0].end_ns, 1900100);
    assert_int_equal(rows.ops[0].description, 0);
    struct trace_rows run_rows = {0};
    assert_true(find_rows(t, TRACE_BLOCK_RUNS, &run_rows));
    assert_int_equal(run_rows.runs[0].start, 7000);
    check_figures(&rows.ops[0], &run_rows.runs[0], version);
    trace_rows_free(&run_rows);
    assert_true(find_rows(t, TRACE_BLOCK_SAMPLES, &rows));
    assert_int_equal(rows.samples[0].frames[0], 1);
    trace_rows_free(&rows);
}

static void check_extras(struct trace *t)
{
    struct zone_rows rows = {0};
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    const struct trace_block *block;
    size_t position = 0, found = 0;
    while ((block = trace_next_block(t, &filter, &position))) {
        assert_ok(trace_decode_zones(t, block, TRACE_COLUMN_ALL, &rows, ERR));
        for (size_t i = 0; i < rows.extra_count; i++, found++)
            if (rows.extras[i].kind == TRACE_EXTRA_TEXT)
                assert_memory_equal(rows.extras[i].text, "batch 7", 7);
            else
                assert_int_equal(rows.extras[i].value, 0x123456);
    }
    assert_int_equal(found, 2);
    zone_rows_free(&rows);
}

static void check_drawing(struct trace *t, const struct ref_zones *zones)
{
    struct lod_rows rows = {0};
    uint64_t drawn = 0;
    for (uint32_t track = 0; track < 3; track++)
        for (uint32_t depth = 0; depth < trace_track_depth_count(t, track); depth++) {
            assert_ok(trace_lod(t, track, depth, 0, trace_get_info(t)->end_ns, 100, &rows, ERR));
            for (size_t i = 0; i < rows.count; i++)
                drawn += rows.rows[i].count;
        }
    assert_int_equal(drawn, zones->count);
    lod_rows_free(&rows);
}

static void check(const char *path, uint32_t version, const struct ref_zones *expected)
{
    struct trace *t = open_trace(path, 0);
    const struct trace_info *info = trace_get_info(t);
    assert_int_equal(info->format_version, version);
    assert_true(info->is_complete && !info->is_recovered && !info->is_salvaged);
    assert_string_equal(info->program, "opscope 0.1.0");
    assert_string_equal(info->host, "node7");
    assert_int_equal(info->points, 2);
    assert_int_equal(info->counters + info->memory_events + info->ops + info->runs + info->samples, 5);
    assert_int_equal(info->lost_zones, 12);
    assert_int_equal(info->start_ns, 900000);
    struct ref_zones got = read_zones(t, NULL, TRACE_COLUMN_RAW_TICKS);
    assert_same_zones(&got, expected);
    ref_free(&got);
    check_definitions(t, version);
    check_rows(t, version);
    check_extras(t);
    check_drawing(t, expected);
    trace_close(t);
}

static void test_versions(void **state)
{
    struct recording r;
    const char *fresh = test_path("fresh.opscope");
    (void)state;
    assert_int_equal(write_recording(&r, fresh), 0);
    ref_sort(&r.zones);
    assert_int_equal(r.zones.count, 2565);
    check(fresh, TRACE_FORMAT_VERSION, &r.zones);
    for (uint32_t version = 1; version <= TRACE_FORMAT_VERSION; version++) {
        char name[32];
        snprintf(name, sizeof name, "v%u.opscope", version);
        check(golden_path(name), version, &r.zones);
    }
    ref_free(&r.zones);
}

int main(int argc, char **argv)
{
    struct recording r;
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        int status = write_recording(&r, argv[2]);
        printf("%zu zones\n", r.zones.count);
        ref_free(&r.zones);
        return status ? 1 : 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_versions)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
