/* SPDX-License-Identifier: Apache-2.0 */
/* The file: while it grows, when it is cut or damaged, in several segments, with a size limit, on a full
 * disk. */
#include "test_trace_support.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "trace/block.h"
#include "trace/format.h"
#include "trace/writer/internal.h"

/* --- something to write --- */

struct recording {
    struct trace_writer *w;
    struct zone_sink *sinks[3];
    uint32_t tracks[3];
    uint32_t names[5];
    uint64_t now;
    struct ref_zones zones;
    uint64_t points;
};

static void define(struct recording *r)
{
    uint32_t process = add_process(r->w, 7);
    for (uint32_t i = 0; i < 3; i++) {
        r->tracks[i] = add_track(r->w, process, i == 0 ? "main" : "worker", 0);
        r->sinks[i] = trace_writer_sink(r->w, r->tracks[i]);
    }
    for (uint32_t i = 0; i < 5; i++) {
        char text[16];
        snprintf(text, sizeof text, "zone %u", i);
        r->names[i] = add_name(r->w, text);
    }
    r->now = r->now ? r->now : 1000;
}

static void record(struct recording *r, uint32_t calls)
{
    for (uint32_t i = 0; i < calls; i++) {
        uint32_t k = (uint32_t)random_below(3), name = r->names[random_below(5)];
        uint64_t start = r->now, inner = start + random_below(50);
        r->now = inner + 1 + random_below(500);
        put_zone(&r->zones, r->sinks[k], 1, inner, r->now, 0, name);
        put_zone(&r->zones, r->sinks[k], 0, start, r->now + 3, r->now - inner, r->names[4]);
        r->now += 10;
        if (i % 50 == 0) {
            struct trace_point point = {.track = r->tracks[k],
                                        .kind = TRACE_POINT_MESSAGE,
                                        .time = r->now,
                                        .text = "hello",
                                        .text_length = 5};
            trace_writer_point(r->w, &point);
            r->points++;
        }
    }
}

static void begin_recording(struct recording *r, const char *path, uint64_t max_size)
{
    *r = (struct recording){.w = open_writer(path, max_size)};
    define(r);
}

/* A finished small trace as bytes. */
static struct bytes small_trace(struct recording *r)
{
    const char *path = test_path("small.opscope");
    begin_recording(r, path, 0);
    for (uint64_t i = 0; i < 6; i++) {
        record(r, 300);
        assert_ok(trace_writer_tick(r->w, 1 + i * 3000000000, ERR));
    }
    assert_ok(trace_writer_finish(r->w, ERR));
    return read_whole(path);
}

static bool contains(const struct ref_zones *all, const struct ref_zone *zone)
{
    return bsearch(zone, all->items, all->count, sizeof *zone, compare_ref) != NULL;
}

/* --- growing --- */

static void list_two(void *context, struct trace_writer *w)
{
    const struct recording *r = context;
    for (uint32_t depth = 0; depth < 2; depth++) {
        struct trace_open_zone zone = {
            .track = r->tracks[1], .depth = depth, .start = 4000 + depth, .name = r->names[depth]};
        trace_writer_open_zone(w, &zone);
    }
}

static void test_growing_file(void **state)
{
    const char *path = test_path("grow.opscope"), *partial = test_path("grow.opscope.partial");
    struct recording r;
    size_t open_count, seen = 0;
    (void)state;
    begin_recording(&r, path, 0);
    trace_writer_set_open_zones(r.w, list_two, &r);
    struct trace *t = open_trace(partial, 0); /* nothing but a header yet */
    assert_int_equal(trace_get_info(t)->zones, 0);
    assert_false(trace_get_info(t)->is_complete);
    trace_close(t);
    for (uint64_t i = 0; i < 30; i++) {
        record(&r, 200);
        assert_ok(trace_writer_tick(r.w, 1 + i * 2500000000, ERR));
        t = open_trace(partial, 0);
        struct ref_zones got = read_zones(t, NULL, 0);
        assert_int_equal(trace_writer_zone_count(r.w), r.zones.count); /* those in memory too */
        assert_true(got.count >= seen && got.count <= r.zones.count);
        seen = got.count;
        struct ref_zones all = {0};
        for (size_t k = 0; k < r.zones.count; k++)
            ref_add(&all, r.zones.items[k]);
        ref_sort(&all);
        for (size_t k = 0; k < got.count; k++)
            assert_true(contains(&all, &got.items[k]));
        if (i > 10) { /* a checkpoint has been written */
            const struct trace_open_zone *open = trace_get_open_zones(t, &open_count);
            assert_int_equal(open_count, 2);
            assert_int_equal(open[1].start, 4001);
            assert_int_equal(open[1].track, r.tracks[1]);
            assert_string_equal(trace_get_name(t, open[1].name)->name, "zone 1");
        }
        uint64_t sum = 0;
        for (uint32_t track = 0; track < 3; track++)
            sum += trace_track_zone_count(t, track);
        assert_int_equal(sum, got.count);
        ref_free(&got);
        ref_free(&all);
        trace_close(t);
    }
    assert_true(seen > r.zones.count / 2);
    trace_writer_set_open_zones(r.w, NULL, NULL);
    assert_ok(trace_writer_finish(r.w, ERR));
    assert_int_equal(access(partial, F_OK), -1);
    t = open_trace(path, 0);
    assert_true(trace_get_info(t)->is_complete);
    trace_get_open_zones(t, &open_count);
    assert_int_equal(open_count, 0);
    trace_close(t);
    ref_free(&r.zones);
}

static void test_two_writers(void **state)
{
    const char *path = test_path("twice.opscope");
    struct trace_writer *w = open_writer(path, 0), *other = NULL;
    struct error err = {0};
    (void)state;
    assert_int_equal(trace_writer_open(&other, path, NULL, &err), -EBUSY);
    assert_non_null(strstr(err.message, "another opscope"));
    trace_writer_abandon(w);
    assert_int_equal(trace_writer_open(&other, test_path("no/such/folder.opscope"), NULL, &err), -ENOENT);
}

/* --- damage --- */

/* Decodes whatever can be; counts the zones. Anything but a crash is fine. */
static size_t read_everything(struct trace *t)
{
    struct zone_rows zones = {0};
    struct trace_rows rows = {0};
    struct lod_rows lod = {0};
    const struct trace_block *block;
    size_t position = 0, count = 0;
    while ((block = trace_next_block(t, NULL, &position))) {
        if (block->type == TRACE_BLOCK_ZONES &&
            trace_decode_zones(t, block, TRACE_COLUMN_ALL, &zones, NULL) == 0)
            count += zones.count;
        else if (block->type != TRACE_BLOCK_ZONES)
            trace_decode_rows(t, block, &rows, NULL);
    }
    for (uint32_t track = 0; track < trace_track_count(t) && track < 4; track++)
        trace_lod(t, track, 0, trace_get_info(t)->start_ns, trace_get_info(t)->end_ns, 100, &lod, NULL);
    zone_rows_free(&zones);
    trace_rows_free(&rows);
    lod_rows_free(&lod);
    return count;
}

static void test_truncation(void **state)
{
    struct recording r;
    struct bytes whole = small_trace(&r);
    struct error err;
    struct trace *t;
    size_t last = 0;
    (void)state;
    ref_sort(&r.zones);
    for (size_t length = 0; length < whole.length; length += 97) {
        uint8_t *cut = malloc(length ? length : 1); /* its own memory: a sanitizer sees an overrun */
        assert_non_null(cut);
        memcpy(cut, whole.data, length);
        err = (struct error){0};
        assert_int_equal(trace_open_memory(&t, cut, length, 0, &err), -EINVAL);
        assert_true(strlen(err.message) > 10);
        if (length > SEGMENT_HEADER_BYTES)
            assert_non_null(strstr(err.message, "--salvage"));
        if (trace_open_memory(&t, cut, length, TRACE_OPEN_SALVAGE, &err) == 0) {
            struct ref_zones got = read_zones(t, NULL, 0);
            for (size_t i = 0; i < got.count; i++)
                assert_true(contains(&r.zones, &got.items[i]));
            assert_true(got.count >= last);
            last = got.count;
            ref_free(&got);
            read_everything(t);
            trace_close(t);
        } else {
            assert_true(length <= SEGMENT_HEADER_BYTES);
        }
        free(cut);
    }
    assert_int_equal(last, r.zones.count);
    bytes_free(&whole);
    ref_free(&r.zones);
}

/* A flipped bit costs at most the block it is in, and is never taken for data. */
static void test_bit_flips(void **state)
{
    struct recording r;
    struct bytes whole = small_trace(&r);
    struct error err;
    struct trace *t;
    uint64_t largest = 0;
    (void)state;
    ref_sort(&r.zones);
    assert_ok(trace_open_memory(&t, whole.data, whole.length, 0, ERR));
    size_t position = 0;
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    for (const struct trace_block *block; (block = trace_next_block(t, &filter, &position));)
        largest = block->count > largest ? block->count : largest;
    trace_close(t);
    for (size_t byte = 0; byte < whole.length; byte += 13) {
        uint8_t flip = (uint8_t)(1u << random_below(8));
        whole.data[byte] ^= flip;
        if (trace_open_memory(&t, whole.data, whole.length, 0, &err) == 0) {
            read_everything(t);
            trace_close(t);
        }
        assert_ok(trace_open_memory(&t, whole.data, whole.length, TRACE_OPEN_SALVAGE, ERR));
        struct ref_zones got = read_zones(t, NULL, 0);
        assert_true(got.count + largest >= r.zones.count);
        size_t unknown = 0;
        for (size_t i = 0; i < got.count; i++) /* a lost definition may turn names and tracks into "?" */
            unknown += !contains(&r.zones, &got.items[i]);
        assert_true(unknown == 0 || trace_get_info(t)->damaged_blocks > 0);
        if (got.count < r.zones.count)
            assert_true(trace_get_info(t)->damaged_blocks > 0);
        read_everything(t);
        ref_free(&got);
        trace_close(t);
        whole.data[byte] ^= flip;
    }
    bytes_free(&whole);
    ref_free(&r.zones);
}

/* Bytes that went missing, or that came in between, in the middle of the file. */
static void test_shifted(void **state)
{
    struct recording r;
    struct bytes whole = small_trace(&r);
    struct trace *t;
    (void)state;
    for (int round = 0; round < 40; round++) {
        size_t at = SEGMENT_HEADER_BYTES + random_below(whole.length - SEGMENT_HEADER_BYTES - 200);
        size_t gap = 1 + random_below(100);
        struct bytes changed = {0};
        bytes_append(&changed, whole.data, at);
        if (round % 2)
            bytes_append(&changed, whole.data, gap);
        bytes_append(&changed, whole.data + at + (round % 2 ? 0 : gap),
                     whole.length - at - (round % 2 ? 0 : gap));
        assert_ok(trace_open_memory(&t, changed.data, changed.length, TRACE_OPEN_SALVAGE, ERR));
        assert_true(read_everything(t) * 10 >= r.zones.count * 5);
        trace_close(t);
        bytes_free(&changed);
    }
    bytes_free(&whole);
    ref_free(&r.zones);
}

static void test_not_a_trace(void **state)
{
    struct error err = {0};
    struct trace *t;
    (void)state;
    assert_int_equal(trace_open(&t, test_path("missing"), 0, &err), -ENOENT);
    assert_int_equal(trace_open(&t, test_folder, 0, &err), -EISDIR);
    assert_int_equal(trace_open(&t, "/dev/null", 0, &err), -EINVAL);
    assert_int_equal(trace_open_memory(&t, "", 0, 0, &err), -EINVAL);
    assert_int_equal(trace_open_memory(&t, "name,value\n1,2\n", 15, 0, &err), -EINVAL);
    assert_non_null(strstr(err.message, "not an opscope trace"));
    assert_int_equal(trace_open_memory(&t, "name,value\n1,2\n", 15, TRACE_OPEN_SALVAGE, &err), -EINVAL);
}

/* Changes a field of the first segment's header and makes its hash right again. */
static void set_header_u32(struct bytes *file, size_t at, uint32_t value)
{
    uint8_t copy[SEGMENT_HEADER_BYTES];
    put_u32(file->data + at, value);
    memcpy(copy, file->data, sizeof copy);
    memset(copy + SEGMENT_SLOT_OFFSET, 0, 2 * SEGMENT_SLOT_BYTES);
    put_u32(copy + SEGMENT_HASH_OFFSET, 0);
    put_u32(file->data + SEGMENT_HASH_OFFSET, hash_fold32(hash_bytes(copy, sizeof copy, SEGMENT_HASH_SEED)));
}

/* A later version that this reader can read is read; one that it cannot is named. */
static void test_newer_version(void **state)
{
    struct recording r;
    struct bytes whole = small_trace(&r);
    struct error err = {0};
    struct trace *t;
    (void)state;
    set_header_u32(&whole, 8, 3); /* version 3, still readable by version 1 */
    assert_ok(trace_open_memory(&t, whole.data, whole.length, 0, ERR));
    assert_int_equal(trace_get_info(t)->format_version, 3);
    assert_int_equal(trace_get_info(t)->zones, r.zones.count);
    trace_close(t);
    set_header_u32(&whole, 12, 3); /* needs a reader of version 3 */
    assert_int_equal(trace_open_memory(&t, whole.data, whole.length, 0, &err), -EINVAL);
    assert_non_null(strstr(err.message, "trace format 3"));
    assert_non_null(strstr(err.message, "newer opscope"));
    bytes_free(&whole);
    ref_free(&r.zones);
}

/* Broken slots: the trailer of a finished file says where the index is. Without it too: salvage. */
static void test_broken_slots(void **state)
{
    struct recording r;
    struct bytes whole = small_trace(&r);
    struct error err = {0};
    struct trace *t;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(trace_open_memory(&t, whole.data, whole.length, 0, ERR));
        assert_int_equal(trace_get_info(t)->zones, r.zones.count);
        trace_close(t);
        whole.data[SEGMENT_SLOT_OFFSET + i * SEGMENT_SLOT_BYTES + 9] ^= 1;
    }
    assert_ok(trace_open_memory(&t, whole.data, whole.length, 0, ERR));
    assert_int_equal(trace_get_info(t)->zones, r.zones.count);
    assert_true(trace_get_info(t)->is_complete);
    trace_close(t);
    whole.data[whole.length - 1] ^= 1;
    assert_int_equal(trace_open_memory(&t, whole.data, whole.length, 0, &err), -EINVAL);
    assert_non_null(strstr(err.message, "--salvage"));
    assert_ok(trace_open_memory(&t, whole.data, whole.length, TRACE_OPEN_SALVAGE, ERR));
    assert_int_equal(trace_get_info(t)->zones, r.zones.count);
    trace_close(t);
    bytes_free(&whole);
    ref_free(&r.zones);
}

/* A block of a type from the future, with columns nobody knows, is stepped over. */
static void test_unknown_block(void **state)
{
    const char *path = test_path("future.opscope");
    static const uint32_t values[3] = {1, 2, 3};
    struct recording r;
    struct trace_rows rows = {0};
    size_t position = 0;
    (void)state;
    begin_recording(&r, path, 0);
    record(&r, 100);
    block_begin(&r.w->builder);
    block_add_u32(&r.w->builder, 60000, values, 3);
    struct block_header header = {.type = 777, .track = TRACE_NONE, .count = 3};
    assert_int_equal(file_write_block(r.w, &r.w->builder, &header), 0);
    record(&r, 100);
    assert_ok(trace_writer_finish(r.w, ERR));
    for (unsigned flags = 0; flags <= TRACE_OPEN_SALVAGE; flags++) {
        struct trace *t = open_trace(path, flags);
        struct trace_block_filter filter = {.type = 777};
        assert_int_equal(trace_get_info(t)->zones, r.zones.count);
        assert_int_equal(trace_get_info(t)->damaged_blocks, 0);
        position = 0;
        const struct trace_block *block = trace_next_block(t, &filter, &position);
        assert_non_null(block);
        assert_int_equal(trace_decode_rows(t, block, &rows, NULL), -EINVAL);
        trace_close(t);
    }
    trace_rows_free(&rows);
    ref_free(&r.zones);
}

/* --- segments --- */

static struct bytes joined(const struct bytes *a, const struct bytes *b)
{
    struct bytes both = {0};
    bytes_append(&both, a->data, a->length);
    bytes_append(&both, b->data, b->length);
    assert_false(both.failed);
    return both;
}

/* Two different traces one after the other: ids of the second are renumbered. */
static void test_concatenation(void **state)
{
    struct recording a, b;
    struct trace *t;
    (void)state;
    struct bytes first = small_trace(&a);
    random_state++;
    struct bytes second = small_trace(&b), both = joined(&first, &second);
    assert_ok(trace_open_memory(&t, both.data, both.length, 0, ERR));
    assert_int_equal(trace_get_info(t)->segment_count, 2);
    assert_true(trace_get_info(t)->is_complete);
    assert_int_equal(trace_track_count(t), 6);
    assert_int_equal(trace_process_count(t), 2);
    assert_int_equal(trace_name_count(t), 10);
    assert_int_equal(trace_clock_count(t), 1);
    assert_int_equal(trace_get_track(t, 3)->process, 1);
    assert_string_equal(trace_get_track(t, 3)->name, "main");
    for (size_t i = 0; i < b.zones.count; i++) {
        struct ref_zone zone = b.zones.items[i];
        zone.track += 3;
        zone.name += 5;
        ref_add(&a.zones, zone);
    }
    ref_sort(&a.zones);
    struct ref_zones got = read_zones(t, NULL, 0);
    assert_same_zones(&got, &a.zones);
    uint64_t drawn = 0;
    struct lod_rows rows = {0};
    for (uint32_t track = 0; track < 6; track++)
        for (uint32_t depth = 0; depth < 2; depth++) {
            assert_ok(trace_lod(t, track, depth, 0, trace_get_info(t)->end_ns, 500, &rows, ERR));
            for (size_t i = 0; i < rows.count; i++)
                drawn += rows.rows[i].count;
        }
    assert_int_equal(drawn, a.zones.count);
    lod_rows_free(&rows);
    trace_close(t);
    ref_free(&got);
    ref_free(&a.zones);
    ref_free(&b.zones);
    bytes_free(&first);
    bytes_free(&second);
    bytes_free(&both);
}

/* The same trace twice counts once. */
static void test_duplicate_segment(void **state)
{
    struct recording r;
    struct bytes once = small_trace(&r), twice = joined(&once, &once);
    struct trace *t;
    (void)state;
    assert_ok(trace_open_memory(&t, twice.data, twice.length, 0, ERR));
    assert_int_equal(trace_get_info(t)->zones, r.zones.count);
    assert_int_equal(trace_track_count(t), 3);
    uint64_t sum = 0;
    for (uint32_t track = 0; track < 3; track++)
        sum += trace_track_zone_count(t, track);
    assert_int_equal(sum, r.zones.count);
    trace_close(t);
    bytes_free(&once);
    bytes_free(&twice);
    ref_free(&r.zones);
}

/* --- flight recorder --- */

static uint64_t file_size(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return (uint64_t)status.st_size;
}

static void test_max_size(void **state)
{
    static const uint64_t limits[] = {128 << 10, 300 << 10, 1 << 20};
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        const char *path = test_path("flight.opscope");
        struct recording r;
        begin_recording(&r, path, limits[k]);
        struct trace_clock clock = {
            .id = TRACE_NONE, .is_device = true, .ticks_per_second = 1e9, .name = "chip"};
        uint32_t chip = trace_writer_clock(r.w, &clock);
        for (uint64_t i = 0; i < 2; i++) { /* sampled at the beginning alone */
            struct trace_clock_point point = {.clock = chip, .ticks = i * 1000, .host_ns = 500 + i * 2000};
            trace_writer_clock_point(r.w, &point);
        }
        for (uint64_t i = 0; i < 200; i++) {
            struct trace_clock_point point = {.clock = 0, .ticks = i, .host_ns = i, .realtime_ns = i};
            trace_writer_clock_point(r.w, &point);
            record(&r, k == 2 ? 3000 : 1000);
            assert_ok(trace_writer_tick(r.w, 1 + i * 20000000, ERR));
            assert_true(trace_writer_size_bytes(r.w) <= limits[k] + limits[k] / 4);
        }
        struct trace_loss loss = {
            .process = 0, .track = TRACE_NONE, .reason = TRACE_LOSS_BUFFER_FULL, .zones = 11, .records = 3};
        trace_writer_loss(r.w, &loss);
        record(&r, 10);
        assert_ok(trace_writer_finish(r.w, ERR));
        assert_true(file_size(path) <= limits[k]);
        assert_true(file_size(path) > limits[k] / 3);
        struct trace *t = open_trace(path, 0);
        const struct trace_info *info = trace_get_info(t);
        struct ref_zones got = read_zones(t, NULL, 0);
        size_t losses;
        uint64_t dropped_zones = 0, dropped_points = 0;
        const struct trace_loss *list = trace_get_losses(t, &losses);
        for (size_t i = 0; i < losses; i++)
            if (list[i].reason == TRACE_LOSS_DROPPED_OLD) {
                dropped_zones += list[i].zones;
                dropped_points += list[i].records;
                assert_true(list[i].from_ns < list[i].to_ns);
            }
        assert_true(dropped_zones > 0);
        assert_int_equal(got.count + dropped_zones, r.zones.count);
        assert_int_equal(info->points + dropped_points, r.points);
        assert_int_equal(info->lost_zones, 11);
        assert_true(info->segment_count > 2);
        assert_int_equal(info->end_ns, r.now - 10 + 3 > info->end_ns ? info->end_ns : r.now - 10 + 3);
        struct ref_zone newest = r.zones.items[r.zones.count - 1];
        ref_sort(&r.zones);
        for (size_t i = 0; i < got.count; i++)
            assert_true(contains(&r.zones, &got.items[i]));
        assert_true(contains(&got, &newest)); /* the newest data is what is kept */
        assert_string_equal(trace_get_name(t, 4)->name, "zone 4");
        assert_int_equal(trace_host_ns(t, chip, 2000), 4500); /* its sync points were restated */
        trace_close(t);
        ref_free(&got);
        ref_free(&r.zones);
    }
    char command[200];
    snprintf(command, sizeof command, "test -z \"$(ls %s | grep flight.opscope.)\"", test_folder);
    assert_int_equal(system(command), 0); /* no segment file is left */
}

static void test_max_size_too_small(void **state)
{
    struct trace_writer *w = NULL;
    struct error err = {0};
    struct trace_writer_options options = {.max_size_bytes = 1000};
    (void)state;
    assert_int_equal(trace_writer_open(&w, test_path("tiny.opscope"), &options, &err), -EINVAL);
}

/* --- resume --- */

static uint64_t zones_in_file(const char *path)
{
    struct trace *t = open_trace(path, 0);
    uint64_t zones = trace_get_info(t)->zones;
    trace_close(t);
    return zones;
}

/* Kills the writer (by abandoning it) and takes over, several times; nothing that was in a block is lost. */
static void resume_often(uint64_t max_size, bool with_garbage)
{
    const char *path = test_path("resume.opscope");
    struct recording r;
    uint64_t zones = 0;
    begin_recording(&r, path, max_size);
    for (int life = 0; life < 4; life++) {
        for (uint64_t i = 0; i < 12; i++) {
            record(&r, 150);
            assert_ok(trace_writer_tick(r.w, 1 + i * 1500000000, ERR));
        }
        trace_writer_abandon(r.w);
        uint64_t in_file = max_size ? 0 : zones_in_file(test_path("resume.opscope.partial"));
        if (with_garbage) { /* what a power cut leaves: half a block */
            char command[400];
            snprintf(command, sizeof command,
                     "f=$(ls %s.partial* | sort | tail -1); head -c 700 /dev/urandom >> $f", path);
            assert_int_equal(system(command), 0);
        }
        assert_ok(trace_writer_resume(&r.w, path, ERR));
        uint64_t kept = trace_writer_zone_count(r.w);
        assert_true(kept > zones + 500 && kept <= r.zones.count);
        if (!max_size)
            assert_int_equal(kept, in_file);
        zones = kept;
        uint64_t by_track = 0;
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(trace_writer_find_track(r.w, trace_writer_get_track(r.w, r.tracks[i])->key),
                             r.tracks[i]);
            by_track += trace_writer_track_zones(r.w, r.tracks[i]);
            r.sinks[i] = trace_writer_sink(r.w, r.tracks[i]);
            assert_non_null(r.sinks[i]);
        }
        assert_int_equal(by_track, kept);
        assert_int_equal(trace_writer_find_process(r.w, 70), 0);
        assert_int_equal(trace_writer_get_process(r.w, 0)->pid, 7);
        assert_int_equal(add_name(r.w, "zone 3"), r.names[3]); /* names keep their ids */
    }
    uint64_t before = trace_writer_zone_count(r.w);
    size_t written_before = r.zones.count;
    record(&r, 500);
    assert_ok(trace_writer_finish(r.w, ERR));
    struct trace *t = open_trace(path, 0);
    struct ref_zones got = read_zones(t, NULL, 0);
    assert_true(trace_get_info(t)->is_recovered);
    assert_true(trace_get_info(t)->is_complete);
    assert_int_equal(trace_get_info(t)->segment_count >= 5, 1);
    assert_int_equal(trace_track_count(t), 3);
    assert_int_equal(trace_name_count(t), 5);
    assert_int_equal(got.count, before + (r.zones.count - written_before));
    ref_sort(&r.zones);
    for (size_t i = 0; i < got.count; i++)
        assert_true(contains(&r.zones, &got.items[i]));
    struct lod_rows rows = {0}; /* levels of detail were made up for the part that had none */
    uint64_t drawn = 0;
    for (uint32_t track = 0; track < 3; track++)
        for (uint32_t depth = 0; depth < 2; depth++) {
            assert_ok(trace_lod(t, track, depth, 0, trace_get_info(t)->end_ns, 20, &rows, ERR));
            for (size_t i = 0; i < rows.count; i++)
                drawn += rows.rows[i].count;
        }
    assert_int_equal(drawn, got.count);
    lod_rows_free(&rows);
    trace_close(t);
    ref_free(&got);
    ref_free(&r.zones);
}

static void test_resume(void **state)
{
    (void)state;
    resume_often(0, false);
}

static void test_resume_after_power_cut(void **state)
{
    (void)state;
    resume_often(0, true);
}

static void test_resume_flight(void **state)
{
    (void)state;
    resume_often(4 << 20, false);
    resume_often(4 << 20, true);
}

static void test_resume_nothing(void **state)
{
    struct trace_writer *w = NULL;
    struct error err = {0};
    (void)state;
    assert_int_equal(trace_writer_resume(&w, test_path("nobody.opscope"), &err), -ENOENT);
    assert_null(w);
    write_whole(test_path("junk.opscope.partial"), "junk", 4);
    assert_int_equal(trace_writer_resume(&w, test_path("junk.opscope"), &err), -EINVAL);
}

/* What a dead recording left is neither mixed into a new one of the same name nor overwritten by it. */
static void test_leftovers(void **state)
{
    const char *path = test_path("again.opscope");
    struct recording r;
    struct trace_writer *other = NULL;
    struct error err = {0};
    (void)state;
    begin_recording(&r, path, 512 << 10);
    record(&r, 60000);
    struct trace_writer_options options = {.max_size_bytes = 1 << 20};
    assert_int_equal(trace_writer_open(&other, path, &options, &err), -EBUSY);
    trace_writer_abandon(r.w);
    assert_int_equal(access(test_path("again.opscope.partial.001"), F_OK), 0);
    ref_free(&r.zones);
    assert_int_equal(trace_writer_open(&other, path, NULL, &err), -EEXIST);
    assert_int_equal(access(test_path("again.opscope.partial.001"), F_OK), 0);
    assert_int_equal(trace_partial_move(path, test_path("aside.opscope"), &err), 1);
    begin_recording(&r, path, 0);
    record(&r, 10);
    assert_ok(trace_writer_finish(r.w, ERR));
    struct trace *t = open_trace(path, 0);
    assert_int_equal(trace_get_info(t)->zones, r.zones.count);
    trace_close(t);
    ref_free(&r.zones);
}

/* --- full disk --- */

/* In a process of its own, since the limit cannot be lifted: 0 = as it should be. */
static int fill_disk(const char *path, uint64_t limit)
{
    struct recording r;
    struct error err = {0};
    bool was_reported = false;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit rlimit = {.rlim_cur = limit, .rlim_max = limit};
    if (setrlimit(RLIMIT_FSIZE, &rlimit) != 0)
        return 10;
    begin_recording(&r, path, 0);
    for (uint64_t i = 0; i < 120; i++) {
        record(&r, 4000);
        int status = trace_writer_tick(r.w, 1 + i * 50000000, &err);
        if (status != 0 && status != -EFBIG)
            return 11;
        was_reported |= status == -EFBIG;
    }
    if (!was_reported || trace_writer_size_bytes(r.w) > limit)
        return 12;
    int status = trace_writer_finish(r.w, &err);
    if (status != 0 && status != -EFBIG)
        return 13;
    struct trace *t;
    if (trace_open(&t, path, 0, &err) != 0)
        return 14;
    const struct trace_info *info = trace_get_info(t);
    if (!info->is_complete || info->zones == 0 || info->zones + info->lost_zones != r.zones.count ||
        info->points + info->lost_records != r.points)
        return 15;
    size_t losses;
    const struct trace_loss *loss = trace_get_losses(t, &losses);
    for (size_t i = 0; i < losses; i++)
        if (loss[i].reason != TRACE_LOSS_DISK_FULL)
            return 16;
    trace_close(t);
    return losses ? 0 : 17;
}

static void test_full_disk(void **state)
{
    static const uint64_t limits[] = {200 << 10, 500 << 10, 2500 << 10};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const char *path = test_path("full.opscope");
        fflush(NULL);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            _exit(fill_disk(path, limits[i]));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(file_size(path) <= limits[i]);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing_file),
        cmocka_unit_test(test_two_writers),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_bit_flips),
        cmocka_unit_test(test_shifted),
        cmocka_unit_test(test_not_a_trace),
        cmocka_unit_test(test_newer_version),
        cmocka_unit_test(test_unknown_block),
        cmocka_unit_test(test_broken_slots),
        cmocka_unit_test(test_concatenation),
        cmocka_unit_test(test_duplicate_segment),
        cmocka_unit_test(test_max_size),
        cmocka_unit_test(test_max_size_too_small),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_resume_after_power_cut),
        cmocka_unit_test(test_resume_flight),
        cmocka_unit_test(test_resume_nothing),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
