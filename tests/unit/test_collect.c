/* SPDX-License-Identifier: Apache-2.0 */
/* The collector over segments made by hand: records in, rows of a trace out. What a recorder writes comes out as it
 * was meant; what no recorder writes is counted as damaged, bounded, and harms nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collected_rows.h"

/* --- zones --- */

static void test_pairing(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a"), b = image_name(&image, "b"), c = image_name(&image, "c");
    image_chunk(&image, 3, 0, 0, CHUNK_SEALED);
    image_record(&image, 3, 10, RECORD_ZONE_BEGIN, a, 0);
    image_zone(&image, 3, 20, 25, b);
    image_record(&image, 3, 30, RECORD_ZONE_BEGIN, c, 0); /* goes on in the next chunk */
    image_chunk(&image, 1, 0, 1, CHUNK_OWNED)->depth_at_start = 2;
    image_record(&image, 1, 50, RECORD_ZONE_END, 0, 0);
    image_record(&image, 1, 70, RECORD_ZONE_END, 0, 0);
    image_record(&image, 1, 80, RECORD_ZONE_BEGIN, a, 0); /* and is never ended */
    finish();
    assert_int_equal(row_count, 3);
    assert_row("b", 20, 25, 0, 1);
    assert_row("c", 30, 50, 0, 1);
    assert_row("a", 10, 70, 25, 0);
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(open[0].start - IMAGE_BASE_TICKS, 80);
    assert_int_equal(stats.open_zones, 1);
    const struct trace_process *process = trace_get_process(trace, 0);
    assert_int_equal(process->pid, 100);
    assert_string_equal(process->command, "made by hand");
}

/* A copy of a segment that is being read has its keys: it is refused, and the original goes on. */
static void test_a_copy_of_a_segment(void **state)
{
    (void)state;
    struct image copy = {0};
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_zone(&image, 0, 10, 20, a);
    collector_poll(collection.collector, NULL);
    assert_true(image_map(&copy, CHUNKS));
    memcpy(copy.memory, image.memory, image.layout.total);
    assert_false(collection_add(&collection, copy.memory, copy.layout.total));
    image_chunk(&image, 1, 0, 1, CHUNK_SEALED);
    image_zone(&image, 1, 30, 40, a);
    finish();
    assert_int_equal(row_count, 2);
    image_unmap(&copy);
}

static void test_polls_see_a_chunk_grow(void **state)
{
    struct error err = {0};
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    image_zone(&image, 0, 1, 2, a);
    assert_int_equal(collector_poll(collection.collector, &err), 2);
    assert_int_equal(collector_poll(collection.collector, &err), 0);
    image_zone(&image, 0, 3, 4, a);
    image_descriptor(&image, 0)->state = CHUNK_SEALED;
    assert_int_equal(collector_poll(collection.collector, &err), 2); /* only what is new */
    assert_int_equal(image_descriptor(&image, 0)->state, CHUNK_FREE);
    image_chunk(&image, 0, 0, 1, CHUNK_SEALED); /* the same chunk again */
    image_zone(&image, 0, 5, 6, a);
    assert_int_equal(collector_poll(collection.collector, &err), 2);
    assert_int_equal(finish()->zones, 3);
    assert_int_equal(stats.lost_zones, 0);
}

static void test_a_chunk_waits_for_the_one_before_it(void **state)
{
    struct error err = {0};
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 5, 0, 1, CHUNK_SEALED);
    image_zone(&image, 5, 20, 21, a);
    assert_int_equal(collector_poll(collection.collector, &err), 0);
    assert_int_equal(image_descriptor(&image, 5)->state, CHUNK_SEALED);
    image_chunk(&image, 9, 0, 0, CHUNK_SEALED);
    image_zone(&image, 9, 10, 11, a);
    assert_int_equal(collector_poll(collection.collector, &err), 4);
    assert_int_equal(finish()->zones, 2);
    assert_int_equal(rows[0].start - IMAGE_BASE_TICKS, 10);
}

static void test_times_never_run_backwards(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a"), b = image_name(&image, "b");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 100, RECORD_ZONE_BEGIN, a, 0);
    image_record(&image, 0, 90, RECORD_ZONE_BEGIN, b, 0); /* a handler's, a little older */
    image_record(&image, 0, 95, RECORD_ZONE_END, 0, 0);
    image_record(&image, 0, 110, RECORD_ZONE_END, 0, 0);
    finish();
    assert_row("b", 100, 100, 0, 1);
    assert_row("a", 100, 110, 0, 0);
}

static void test_ends_without_a_begin(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 1, RECORD_ZONE_END, 0, 0);
    image_record(&image, 0, 2, RECORD_ZONE_END, 0, 0);
    image_zone(&image, 0, 3, 4, a);
    assert_int_equal(finish()->zones, 1);
    assert_int_equal(lost(TRACE_LOSS_UNMATCHED, true), 2);
}

static void test_late_ends(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    for (uint64_t i = 0; i < 5; i++)
        image_record(&image, 0, i, RECORD_ZONE_BEGIN, a, 0);
    image_record(&image, 0, 50, RECORD_LATE_ENDS, 3, 0);
    image_record(&image, 0, 60, RECORD_ZONE_END, 0, 0);
    image_record(&image, 0, 70, RECORD_LATE_ENDS, UINT32_MAX, 0); /* more than are open */
    assert_int_equal(finish()->zones, 5);
    assert_true(lost(TRACE_LOSS_LATE_ENDS, true) >= 4);
    assert_int_equal(trace_get_info(trace)->lost_zones, 0); /* closed late is not lost */
}

static void test_too_deep(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a"), begun = 0, chunk = 0;
    const uint32_t depth = TRACE_MAX_DEPTH + 5000;
    for (; begun < depth; chunk++) {
        image_chunk(&image, chunk, 0, chunk, CHUNK_SEALED)->zones_before = begun;
        for (uint32_t i = 0; i < CHUNK_SLOTS && begun < depth; i++, begun++)
            image_record(&image, chunk, begun, RECORD_ZONE_BEGIN, a, 0);
    }
    image_chunk(&image, chunk, 0, chunk, CHUNK_SEALED);
    for (uint32_t i = 0; i < 1000; i++)
        image_record(&image, chunk, begun + i, RECORD_ZONE_END, 0, 0);
    finish();
    /* The ends belong to the innermost, which are those that were not kept. */
    assert_int_equal(row_count, 0);
    size_t open;
    trace_get_open_zones(trace, &open);
    assert_int_equal(open + lost(TRACE_LOSS_TOO_DEEP, true), depth);
    assert_true(lost(TRACE_LOSS_TOO_DEEP, true) > 4000);
}

/* --- losses --- */

static void test_losses_are_differences(void **state)
{
    struct error err = {0};
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_zone(&image, 0, 1, 2, a);
    image_descriptor(&image, 0)->lost_zones = UINT32_MAX - 1; /* about to wrap */
    image_descriptor(&image, 0)->flags = CHUNK_LOST_FULL;
    collector_poll(collection.collector, &err);
    image_chunk(&image, 1, 0, 1, CHUNK_SEALED)->base_ticks = IMAGE_BASE_TICKS + 1000;
    image_zone(&image, 1, 1001, 1002, a);
    image_descriptor(&image, 1)->lost_zones = 3;
    image_descriptor(&image, 1)->lost_records = 7;
    image_descriptor(&image, 1)->flags = CHUNK_LOST_NESTED;
    collector_poll(collection.collector, &err);
    finish();
    assert_true(lost(TRACE_LOSS_BUFFER_FULL, true) == UINT32_MAX - 1);
    assert_int_equal(lost(TRACE_LOSS_NESTED, true), 5);
    assert_int_equal(lost(TRACE_LOSS_NESTED, false), 7);
    size_t count;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    assert_int_equal(count, 2);
    assert_int_equal(losses[0].from_ns - IMAGE_BASE_TICKS, 2);  /* after the last record before it ... */
    assert_int_equal(losses[0].to_ns - IMAGE_BASE_TICKS, 1000); /* ... and before the first one after it */
}

static void test_losses_without_a_chunk(void **state)
{
    (void)state;
    image_process(&image, 0)->lost_zones = 11;
    image_process(&image, 0)->lost_records = 12;
    image.header->growth_failures = 1;
    image.header->lost_zones = 100;
    image.header->lost_records = 200;
    finish();
    assert_int_equal(lost(TRACE_LOSS_NO_MEMORY, true), 111);
    assert_int_equal(lost(TRACE_LOSS_NO_MEMORY, false), 212);
    assert_int_equal(stats.lost_zones, 111);
}

/* --- texts --- */

static void add_text(uint32_t chunk, unsigned kind, uint32_t total, uint32_t offset, const char *text,
                     uint32_t slots)
{
    struct slot more[SESSION_PIECE_SLOTS] = {{0, 0}};
    memcpy(more, text, strlen(text));
    image_long_record(&image, chunk, 1, kind, total, offset, more, slots);
}

static const struct trace_point *points(struct trace_rows *decoded)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_POINTS};
    struct error err = {0};
    size_t position = 0;
    const struct trace_block *block = trace_next_block(trace, &filter, &position);
    if (!block)
        return NULL;
    assert_int_equal(trace_decode_rows(trace, block, decoded, &err), 0);
    return decoded->points;
}

static void test_texts_in_pieces(void **state)
{
    struct trace_rows decoded = {0};
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_text(0, RECORD_MESSAGE, 40, 0, "0123456789abcdef0123456789abcdef", 2);
    add_text(0, RECORD_MESSAGE, 5, 0, "inner", 1); /* a handler's, whole, between the two pieces */
    add_text(0, RECORD_MESSAGE, 40, 32, "the last", 1);
    add_text(0, RECORD_SIGNPOST, 9, 0, "head", 1); /* header NUL message */
    add_text(0, RECORD_SIGNPOST, 3, 0, "all", 1);  /* a header alone */
    add_text(0, RECORD_MESSAGE, 100, 64, "a piece whose beginning was lost", 2);
    add_text(0, RECORD_MESSAGE, 100, 0, "a beginning whose rest never comes", 3);
    add_text(0, RECORD_MESSAGE, 2, 0, "ok", 1);
    finish();
    const struct trace_point *p = points(&decoded);
    assert_int_equal(decoded.count, 5);
    assert_string_equal(p[0].text, "inner");
    assert_string_equal(p[1].text, "0123456789abcdef0123456789abcdefthe last");
    assert_string_equal(p[2].header, "head");
    assert_int_equal(p[2].text_length, 4);
    assert_string_equal(p[3].header, "all");
    assert_int_equal(p[3].text_length, 0);
    assert_string_equal(p[4].text, "ok");
    trace_rows_free(&decoded);
}

static void test_texts_that_make_no_sense(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_text(0, RECORD_MESSAGE, UINT32_MAX, 0, "too long", 1);
    add_text(0, RECORD_MESSAGE, 10, 0xffff, "beyond its end", 1);
    for (uint32_t i = 0; i < 100; i++) /* begun and never finished */
        add_text(0, i % 2 ? RECORD_MESSAGE : RECORD_ZONE_TEXT, 1 << 20, 0, "begun", 1);
    image_zone(&image, 0, 5, 6, a);
    assert_int_equal(finish()->zones, 1);
    assert_true(lost(TRACE_LOSS_DAMAGED, false) >= 2);
}

/* --- everything else --- */

static void test_records_that_make_no_sense(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    for (unsigned kind = RECORD_PAUSE + 1; kind < 128; kind++)
        image_record(&image, 0, 1, kind, 0, 0);
    image_record(&image, 0, 1, RECORD_NONE, 0, 0);
    struct slot more[3] = {{1, 1}, {2, 2}, {3, 3}};
    for (unsigned kind = RECORD_ZONE_SUSPEND + 1; kind < 256;
         kind++) /* from a newer recorder: skipped by its length */
        image_long_record(&image, 0, 2, kind, 7, 0, more, 3);
    image_record(&image, 0, 3, RECORD_COUNTER, a, 0);    /* without its value */
    image_record(&image, 0, 3, RECORD_DEVICE_RUN, a, 0); /* without anything */
    image_zone(&image, 0, 5, 6, a);
    image_record(&image, 0, 7, RECORD_COUNTER, a, 200u << 24); /* longer than what is there */
    assert_int_equal(finish()->zones, 1);
    assert_int_equal(lost(TRACE_LOSS_DAMAGED, false), 117 + 2 + 1);
}

/* Calls that a handler interrupted and left by siglongjmp: their slots are passed over, as far as they are known. */
static void test_records_that_were_never_finished(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a");
    const struct slot more[2] = {{slot_time_kind(1, RECORD_ZONE_BEGIN), a}, {2, 2}};
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_zone(&image, 0, 1, 2, a);
    image_record(&image, 0, 3, RECORD_ZONE_BEGIN, a, 0);
    image_zone(&image, 0, 4, 5, a);
    image_long_record(&image, 0, 6, RECORD_MESSAGE, 32, 0, more, 2);
    image_zone(&image, 0, 7, 8, a);
    image_slots(&image, 0)[2].time_kind = image_slots(&image, 0)[5].time_kind = 0;
    assert_int_equal(finish()->zones, 3);
    assert_int_equal(lost(TRACE_LOSS_DAMAGED, false), 0);
}

/* A handler interrupted the recorder, recorded and ended the process: the record that it interrupted was never
 * finished, what came after it was. A record that was being written when the process died says nothing. */
static void test_a_process_that_ended_in_a_handler(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a");
    const struct slot more[2] = {{slot_time_kind(1, RECORD_ZONE_BEGIN), a}, {2, 2}};
    for (uint32_t track = 0; track < 2; track++) {
        image_chunk(&image, track, track, 0, CHUNK_OWNED);
        image_zone(&image, track, 1, 2, a);
        image_record(&image, track, 3, RECORD_ZONE_BEGIN, a, 0);
        image_slots(&image, track)[2].time_kind = 0;
    }
    image_zone(&image, 0, 4, 5, a);
    image_zone(&image, 0, 6, 7, a);
    image_long_record(&image, 0, 8, RECORD_MESSAGE, 32, 0, more, 2);
    image_slots(&image, 0)[7].time_kind = 0;
    collection.collector->sources[0]->is_closed = true;
    assert_int_equal(finish()->zones, 4);
    assert_int_equal(lost(TRACE_LOSS_DAMAGED, false), 0);
    assert_int_equal(image_slots(&image, 0)[8].time_kind, 0);
}

static void test_numbers_that_make_no_sense(void **state)
{
    (void)state;
    image_chunk(&image, 0, UINT32_MAX, 0, CHUNK_SEALED)->process = UINT32_MAX;
    image_zone(&image, 0, 1, 2, UINT32_MAX); /* no such name */
    image_zone(&image, 0, 3, 4, 0);
    image_chunk(&image, 1, 5, UINT64_MAX, CHUNK_SEALED)->zones_before = UINT64_MAX;
    image_zone(&image, 1, 1, 2, 1);
    image_chunk(&image, 2, 6, 0, CHUNK_SEALED)->base_ticks = UINT64_MAX;
    image_zone(&image, 2, 1, 2, 1);
    image_chunk(&image, 4, 6, 0, CHUNK_SEALED); /* claims to be the same one */
    image_zone(&image, 4, 1, 2, 1);
    finish();
    assert_true(row_count >= 4);
    assert_non_null(find_row("(unknown)"));
}

/* Losses that nobody can have had are an unknown number of damaged data. */
static void test_losses_that_are_not_possible(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED)->lost_zones = 5;
    image_zone(&image, 0, 1, 2, image_name(&image, "a"));
    image_chunk(&image, 1, 1, 9, CHUNK_SEALED)->zones_before = UINT64_MAX / 2; /* a gap before it */
    image_zone(&image, 1, 1, 2, 1);
    struct session_process *row = (struct session_process *)(void *)(image.memory + image.layout.processes);
    row->lost_zones = UINT64_MAX;
    row->lost_records = UINT64_MAX / 2 + 9;
    image.header->lost_zones = UINT64_MAX;
    finish();
    assert_int_equal(stats.lost_zones, 5);
    assert_int_equal(stats.lost_records, 0);
    size_t count, doubted = 0;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    for (size_t i = 0; i < count; i++)
        doubted += losses[i].reason == TRACE_LOSS_DAMAGED && !losses[i].zones && !losses[i].records;
    assert_int_equal(doubted, 3);
}

static uint32_t define(uint32_t kind, uint32_t aux, uint64_t value, uint32_t owner, uint32_t parent,
                       const char *text)
{
    struct name_entry entry = {.length = (uint32_t)strlen(text),
                               .kind = kind,
                               .aux = aux,
                               .value = value,
                               .owner = owner,
                               .parent = parent};
    uint32_t id = image_define(&image, &entry, text);
    assert_true(id > 0);
    return id;
}

static uint32_t define_device(void)
{
    double hz = 1e9;
    uint64_t bits;
    memcpy(&bits, &hz, sizeof bits);
    return define(NAME_DEVICE, 3, bits, 0, 0, "chip");
}

static void device_zone_record(uint32_t chunk, uint32_t track, uint64_t start, uint64_t length, uint32_t name)
{
    struct slot more = {length, 0};
    struct chunk_descriptor *d = image_descriptor(&image, chunk);
    image_long_record(&image, chunk, 0, RECORD_DEVICE_ZONE, name, track, &more, 1);
    image_slots(&image, chunk)[d->slots - 2].time_kind = slot_time_kind(start, RECORD_DEVICE_ZONE);
}

static void test_device_zones_are_sorted_and_nested(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "outer"), b = image_name(&image, "inner"),
             c = image_name(&image, "after");
    uint32_t device = define_device();
    uint32_t queue = define(NAME_DEVICE_TRACK, TRACE_TRACK_QUEUE, 0, device, 0, "queue");
    uint32_t core = define(NAME_DEVICE_TRACK, TRACE_TRACK_CORE, 1, device, queue, "core");
    struct slot sync = {1000, 10};
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_long_record(&image, 0, 0, RECORD_CLOCK_SYNC, device, 0, &sync, 1);
    device_zone_record(0, core, 1500, 10, c);
    device_zone_record(0, core, 1100, 50, b);
    device_zone_record(0, core, 1000, 400, a);
    device_zone_record(0, 77, 1000, 400, a);     /* no such track */
    device_zone_record(0, device, 1000, 400, a); /* a definition of another kind */
    finish();
    assert_int_equal(row_count, 3);
    assert_row("outer", 0, 400, 50, 0);
    assert_row("inner", 100, 150, 0, 1);
    assert_row("after", 500, 510, 0, 0);
    assert_int_equal(lost(TRACE_LOSS_DAMAGED, false), 2);
    const struct trace_track *track = trace_get_track(trace, find_row("outer")->track);
    assert_string_equal(track->name, "core");
    assert_string_equal(trace_get_track(trace, track->parent)->name, "queue");
}

/* Parents of parents of parents: the chain is followed without using up the stack. */
static void test_a_long_chain_of_device_tracks(void **state)
{
    enum { CHAIN = 200000 };
    (void)state;
    uint32_t a = image_name(&image, "a"), device = define_device(), parent = 0;
    image.header->ids_committed = CHAIN + 100;
    image.header->names_committed = SESSION_NAMES_BYTES;
    for (uint32_t i = 0; i < CHAIN; i++)
        parent = define(NAME_DEVICE_TRACK, TRACE_TRACK_CORE, i, device, parent, "core");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    device_zone_record(0, parent, 10, 5, a);
    finish();
    assert_true(row_count + lost(TRACE_LOSS_DEVICE, false) == 1);
}

static void test_ops(void **state)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_OPS};
    struct trace_rows decoded = {0};
    struct error err = {0};
    size_t position = 0, count;
    (void)state;
    uint32_t matmul = image_name(&image, "matmul"), in = image_name(&image, "shape=1x2;dtype=F32");
    struct name_entry attribute = {.length = 9, .kind = NAME_TEXT};
    uint32_t pair = image_define(&image, &attribute, "key\0value");
    struct slot begin = {7, 3};
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 1, RECORD_OP_PART, in, PART_INPUT); /* belongs to no op: ignored */
    image_long_record(&image, 0, 10, RECORD_OP_BEGIN, matmul, 1, &begin, 1);
    image_record(&image, 0, 11, RECORD_OP_PART, in, PART_INPUT);
    image_record(&image, 0, 12, RECORD_OP_PART, pair, PART_ATTRIBUTE);
    image_record(&image, 0, 20, RECORD_ZONE_END, 0, 0);
    begin.time_kind = 8;
    image_long_record(&image, 0, 30, RECORD_OP_BEGIN, matmul, 0, &begin, 1);
    for (int i = 0; i < 400; i++) /* more parts than an op may have */
        image_record(&image, 0, 31, RECORD_OP_PART, in, PART_INPUT);
    finish();
    const struct trace_block *block = trace_next_block(trace, &filter, &position);
    assert_non_null(block);
    assert_int_equal(trace_decode_rows(trace, block, &decoded, &err), 0);
    assert_int_equal(decoded.count, 2);
    assert_int_equal(decoded.ops[0].call, 7);
    assert_int_equal(decoded.ops[0].device, 3);
    assert_int_equal(decoded.ops[0].type, TRACE_OP_HOST);
    assert_int_equal(decoded.ops[0].end_ns - IMAGE_BASE_TICKS, 20);
    const struct trace_part *parts = trace_get_description(trace, decoded.ops[0].description, &count);
    assert_int_equal(count, 2);
    assert_string_equal(parts[0].text.data, "shape=1x2;dtype=F32");
    assert_string_equal(parts[1].text.data, "key=value");
    assert_int_equal(decoded.ops[1].end_ns, 0); /* still open */
    trace_rows_free(&decoded);
}

/* What a hostile program may write: lists that end in the middle of a part, or have one of no kind. */
static void test_lists_of_an_op_end_with_their_bytes(void **state)
{
    static const char full[] = "\1an input that is longer than all that comes after it\0";
    static const struct {
        const char *text;
        uint32_t length, count;
    } lists[] = {{full, sizeof full - 1, 1}, {"\1in\0\0", 5, 1}, {"\1in\0\2", 5, 2},
                 {"\1in\0\2out", 8, 2},      {"\0\0\0", 3, 0},   {"\3", 1, 1}};
    struct trace_block_filter filter = {.type = TRACE_BLOCK_OPS};
    struct trace_rows decoded = {0};
    struct error err = {0};
    size_t position = 0;
    (void)state;
    uint32_t matmul = image_name(&image, "matmul");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    for (uint32_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct name_entry entry = {.length = lists[i].length, .kind = NAME_TEXT};
        uint64_t list = image_define(&image, &entry, lists[i].text);
        image_long_record(&image, 0, 10 * i, RECORD_OP_BEGIN, matmul, 1, &(struct slot){i + 1, list << 32},
                          1);
        image_record(&image, 0, 10 * i + 5, RECORD_ZONE_END, 0, 0);
    }
    finish();
    const struct trace_block *block = trace_next_block(trace, &filter, &position);
    assert_non_null(block);
    assert_int_equal(trace_decode_rows(trace, block, &decoded, &err), 0);
    assert_int_equal(decoded.count, sizeof lists / sizeof lists[0]);
    for (uint32_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        size_t count = 0;
        const struct trace_part *parts = trace_get_description(trace, decoded.ops[i].description, &count);
        assert_int_equal(count, lists[i].count);
        for (size_t k = 0; k < count; k++)
            assert_true(slice_is(parts[k].text, k == 1 && lists[i].length == 8 ? "out"
                                                : k == 1 || i == 5             ? ""
                                                : i == 0                       ? full + 1
                                                                               : "in"));
    }
    trace_rows_free(&decoded);
}

static void test_threads_that_end_are_forgotten(void **state)
{
    struct error err = {0};
    (void)state;
    uint32_t a = image_name(&image, "a");
    for (uint32_t track = 0; track < 500; track++) {
        image_chunk(&image, 0, track, 0, CHUNK_SEALED)->flags = CHUNK_LAST;
        image_zone(&image, 0, track, track + 1, a);
        assert_int_equal(collector_poll(collection.collector, &err), 2);
        assert_int_equal(collection.collector->sources[0]->track_count, 0);
    }
    assert_int_equal(finish()->zones, 500);
    assert_int_equal(stats.threads, 500);
}

/* Between two programs of one run nobody records for an hour: clocks drift apart meanwhile, and a map that had not
 * followed them would take that for a sleep of the machine. */
static void test_the_clock_is_followed_while_nobody_records(void **state)
{
    struct error err = {0};
    struct collector *c = collection.collector;
    (void)state;
    c->clock.next_sample_ns = 0;
    collector_poll(c, &err);
    uint64_t samples = c->clock.sample_count;
    struct source *source = c->sources[--c->source_count];
    c->clock.next_sample_ns = 0;
    collector_poll(c, &err);
    assert_int_equal(c->clock.sample_count, samples + 1);
    c->sources[c->source_count++] = source;
    finish();
}

static void test_short_zones_are_left_out(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a"), b = image_name(&image, "b"), c = image_name(&image, "c");
    collection.collector->min_duration_ns = 10;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 10, RECORD_ZONE_BEGIN, a, 0);
    image_zone(&image, 0, 20, 29, b);
    image_record(&image, 0, 30, RECORD_ZONE_BEGIN, b, 0);
    image_zone(&image, 0, 31, 32, b);
    add_text(0, RECORD_ZONE_TEXT, 4, 0, "text", 1);
    image_record(&image, 0, 39, RECORD_ZONE_END, 0, 0);
    image_zone(&image, 0, 40, 50, c);
    image_record(&image, 0, 60, RECORD_ZONE_END, 0, 0);
    image_long_record(&image, 0, 61, RECORD_OP_BEGIN, a, 0, &(struct slot){1, 0}, 1);
    image_record(&image, 0, 62, RECORD_ZONE_END, 0, 0);
    assert_int_equal(finish()->zones, 3); /* an op stays */
    assert_row("c", 40, 50, 0, 1);
    assert_int_equal(stats.short_zones, 3);
    for (size_t i = 0; i < row_count; i++) {
        if (rows[i].end - rows[i].start == 50)
            assert_int_equal(rows[i].child, 10); /* their time is their parent's own */
    }
}

/* A segment of this very process, begun at `start_ns`, with a zone that is open and was entered 10 ns later. */
static void add_image(struct image *one, uint64_t start_ns, const char *name)
{
    assert_true(image_map(one, 4));
    one->header->pid = image_process(one, 0)->pid = (uint32_t)getpid();
    one->header->pid_namespace = collection.collector->own_namespace;
    one->header->segment_id = start_ns;
    image_process(one, 0)->start_raw_ns = start_ns;
    uint32_t id = image_name(one, name);
    image_chunk(one, 0, 0, 0, CHUNK_SEALED)->thread_id = (uint32_t)getpid();
    image_record(one, 0, start_ns - IMAGE_BASE_TICKS + 10, RECORD_ZONE_BEGIN, id, 0);
    assert_true(collection_add(&collection, one->memory, one->layout.total));
}

/* exec: two segments of one process. Whichever is found first, what the older image had open ended with its last
 * record, and what the newer one has lasts as long as the process was seen to live. */
static void test_the_image_before_an_exec(void **state)
{
    struct image first, second;
    uint64_t old_ns = IMAGE_BASE_TICKS + 1000, new_ns = IMAGE_BASE_TICKS + 2000;
    bool new_is_first = *state != NULL;
    add_image(&first, new_is_first ? new_ns : old_ns, new_is_first ? "new" : "old");
    add_image(&second, new_is_first ? old_ns : new_ns, new_is_first ? "old" : "new");
    finish();
    size_t count, seen = 0;
    const struct trace_open_zone *open = trace_get_open_zones(trace, &count);
    for (size_t i = 0; i < count; i++) {
        const char *name = trace_get_name(trace, open[i].name)->name;
        if (strcmp(name, "old") == 0)
            assert_int_equal(open[i].seen, old_ns + 10);
        else
            assert_true(open[i].seen > new_ns + 10);
        seen++;
    }
    assert_int_equal(seen, 2);
    image_unmap(&first);
    image_unmap(&second);
}

/* A zone that begins and ends a pause each time, in a thread that fills one chunk after the other: what waits to be put
 * in order does not grow with the recording. */
static void test_pauses_without_end(void **state)
{
    (void)state;
    const uint32_t per_chunk = 1000, chunks = 40;
    const struct collector *c = collection.collector;
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t chunk = 0; chunk < chunks; chunk++) {
            image_chunk(&image, chunk, 0, i * chunks + chunk, CHUNK_SEALED);
            for (uint32_t at = 0; at < per_chunk; at++)
                image_record(&image, chunk, ((i * chunks + chunk) * per_chunk + at) * 10, RECORD_PAUSE,
                             at % 2, 0);
        }
        collection.collector->next_peek_ns = 0;
        assert_int_equal(collector_poll(collection.collector, NULL), chunks * per_chunk);
        assert_true(c->pause.edge_count <= 16384);
    }
    finish();
    size_t count;
    trace_get_losses(trace, &count);
    assert_int_equal(count, 4 * chunks * per_chunk / 2);
}

/* While the machine slept the CPU's counter went on, by which records are timed, and the other clock did not. What the
 * collector sees by that one is where the records are. */
static void test_times_after_a_sleep(void **state)
{
    (void)state;
    struct collector *c = collection.collector;
    const uint64_t hour = UINT64_C(3600) * 1000000000;
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    image_record(&image, 0, 10, RECORD_PAUSE, 1, 0);
    c->clock.ahead_ns = hour;
    uint64_t before_ns = clock_raw_ns();
    collector_poll(c, NULL);
    process_end(c, source_process_id(c->sources[0], 0), 0, 0);
    finish();
    const struct trace_process *process = trace_get_process(trace, 0);
    assert_int_equal(process->start_ns, IMAGE_BASE_TICKS + hour);
    assert_true(process->end_ns >= before_ns + hour);
    size_t count;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(losses[0].reason, TRACE_LOSS_PAUSED);
    assert_true(losses[0].to_ns >= before_ns + hour);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COLLECTED_TEST(test_a_copy_of_a_segment),
        COLLECTED_TEST(test_pairing),
        COLLECTED_TEST(test_polls_see_a_chunk_grow),
        COLLECTED_TEST(test_a_chunk_waits_for_the_one_before_it),
        COLLECTED_TEST(test_times_never_run_backwards),
        COLLECTED_TEST(test_ends_without_a_begin),
        COLLECTED_TEST(test_late_ends),
        COLLECTED_TEST(test_too_deep),
        COLLECTED_TEST(test_losses_are_differences),
        COLLECTED_TEST(test_losses_without_a_chunk),
        COLLECTED_TEST(test_texts_in_pieces),
        COLLECTED_TEST(test_texts_that_make_no_sense),
        COLLECTED_TEST(test_records_that_make_no_sense),
        COLLECTED_TEST(test_records_that_were_never_finished),
        COLLECTED_TEST(test_a_process_that_ended_in_a_handler),
        COLLECTED_TEST(test_numbers_that_make_no_sense),
        COLLECTED_TEST(test_losses_that_are_not_possible),
        COLLECTED_TEST(test_device_zones_are_sorted_and_nested),
        COLLECTED_TEST(test_a_long_chain_of_device_tracks),
        COLLECTED_TEST(test_ops),
        COLLECTED_TEST(test_lists_of_an_op_end_with_their_bytes),
        COLLECTED_TEST(test_the_clock_is_followed_while_nobody_records),
        COLLECTED_TEST(test_pauses_without_end),
        COLLECTED_TEST(test_times_after_a_sleep),
        COLLECTED_TEST(test_threads_that_end_are_forgotten),
        COLLECTED_TEST(test_short_zones_are_left_out),
        COLLECTED_TEST(test_the_image_before_an_exec),
        {"test_the_image_before_an_exec, found last", test_the_image_before_an_exec, set_up_reversed,
         tear_down, NULL},
    };
    return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
