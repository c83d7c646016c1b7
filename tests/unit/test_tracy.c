/* SPDX-License-Identifier: Apache-2.0 */
/* Tracy's protocol: the tables of all versions, LZ4 with linked blocks, records, questions, and what stops them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "collect/tracy/lz4.h"
#include "collect/tracy/stream.h"
#include "tracy_client.h"

/* Counts and numbers as the releases have them. */
static void test_tables(void **state)
{
    (void)state;
    static const uint8_t records[] = {TRACY_ZONE_BEGIN,     TRACY_ZONE_END,        TRACY_TERMINATE,
                                      TRACY_THREAD_CONTEXT, TRACY_SOURCE_LOCATION, TRACY_SINGLE_STRING_DATA,
                                      TRACY_STRING_DATA};
    static const struct {
        uint8_t from, to, count, numbers[7];
    } expected[] = {
        {63, 63, 110, {15, 17, 57, 59, 70, 94, 97}},   {64, 64, 111, {15, 17, 57, 59, 70, 95, 98}},
        {66, 66, 112, {15, 17, 57, 59, 71, 96, 99}},   {67, 71, 113, {15, 17, 57, 59, 71, 96, 100}},
        {72, 75, 115, {15, 17, 59, 61, 73, 98, 102}},  {76, 77, 117, {15, 17, 60, 62, 74, 99, 104}},
        {78, 78, 119, {15, 17, 62, 64, 76, 101, 106}}, {79, 79, 127, {19, 25, 70, 72, 84, 109, 114}},
        {80, 80, 129, {19, 25, 70, 72, 84, 109, 116}}, {81, 81, 131, {19, 25, 72, 74, 86, 111, 118}},
        {82, 82, 132, {19, 25, 73, 75, 87, 112, 119}},
    };
    struct tracy_table table;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        for (uint32_t version = expected[i].from; version <= expected[i].to; version++) {
            assert_true(tracy_table_make(&table, (struct tracy_dialect){version, false}));
            assert_int_equal(table.count, expected[i].count);
            for (size_t k = 0; k < COUNT_OF(records); k++)
                assert_int_equal(table.record[expected[i].numbers[k]], records[k]);
        }
    }
    assert_false(tracy_table_make(&table, (struct tracy_dialect){62, false}));
    assert_false(tracy_table_make(&table, (struct tracy_dialect){83, false}));
    assert_true(tracy_table_make(&table, (struct tracy_dialect){66, true}));
    assert_int_equal(table.size[79], 29); /* a new context */
    assert_true(tracy_table_make(&table, (struct tracy_dialect){79, true}));
    assert_int_equal(table.count, 130);
    struct tracy_dialect dialect;
    assert_true(tracy_dialect_parse("tt66", &dialect) && dialect.has_wide_contexts && dialect.version == 66);
    assert_true(tracy_dialect_parse("82", &dialect) && !dialect.has_wide_contexts && dialect.version == 82);
    assert_false(tracy_dialect_parse("62", &dialect) || tracy_dialect_parse("83", &dialect) ||
                 tracy_dialect_parse("tt", &dialect) || tracy_dialect_parse("", &dialect));
}

/* LZ4 as its description says it, byte by byte. */
static ptrdiff_t plain_lz4(const uint8_t *block, size_t length, uint8_t *out, size_t room, size_t history)
{
    size_t at = 0, to = 0;
    while (at < length) {
        size_t token = block[at++], counts[2] = {token >> 4, token & 15}, offset = 0;
        for (unsigned part = 0; part < 2; part++) {
            for (uint8_t more = 255; (token >> (4 - 4 * part) & 15) == 15 && more == 255;) {
                if (at == length)
                    return -1;
                counts[part] += more = block[at++];
            }
            counts[part] += part ? 4 : 0;
            if (counts[part] > room - to || (part == 0 && counts[0] > length - at) ||
                (part == 1 && (!offset || offset > to + history)))
                return -1;
            for (size_t i = 0; i < counts[part]; i++, to++)
                out[to] = part ? out[(ptrdiff_t)to - (ptrdiff_t)offset] : block[at++];
            if (part == 0 && at == length)
                return (ptrdiff_t)to;
            if (part == 0 && length - at < 2)
                return -1;
            if (part == 0) {
                offset = (size_t)block[at] | (size_t)block[at + 1] << 8;
                at += 2;
            }
        }
    }
    return length ? -1 : 0;
}

static uint32_t below(uint32_t *seed, size_t limit)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % (uint32_t)limit;
}

/* Sequences of all lengths and distances, most of them short, some of them wrong, and cut anywhere: both decoders say
 * the same, in buffers that end where they may not be read or written any further. */
static void test_lz4_sequences(void **state)
{
    (void)state;
    enum { HISTORY = 100, ROOM = 3000, LONGEST = 1024 };
    uint32_t seed = 1;
    unsigned good = 0, bad = 0;
    for (unsigned round = 0; round < 4000; round++) {
        uint8_t block[LONGEST];
        size_t length = 0, sequences = below(&seed, 60), far = below(&seed, 4) ? HISTORY : 400;
        for (size_t i = 0; i < sequences; i++) {
            size_t literals = below(&seed, 8) ? below(&seed, 3) : below(&seed, 15),
                   distance = 1 + below(&seed, below(&seed, 4) ? far : 16);
            block[length++] = (uint8_t)(literals << 4 | below(&seed, below(&seed, 8) ? 8 : 15));
            while (literals--)
                block[length++] = (uint8_t)below(&seed, 256);
            block[length++] = (uint8_t)distance;
            block[length++] = (uint8_t)(distance >> 8);
        }
        block[length++] = 0x20;
        block[length++] = 'y';
        block[length++] = 'z';
        if (below(&seed, 4) == 0)
            length -= below(&seed, length);
        size_t room = below(&seed, 4) ? ROOM : below(&seed, 400);
        uint8_t *copy = malloc(length), *ours = malloc(HISTORY + room), *plain = malloc(HISTORY + room);
        memcpy(copy, block, length);
        for (size_t i = 0; i < HISTORY; i++)
            ours[i] = plain[i] = (uint8_t)i;
        ptrdiff_t size = plain_lz4(copy, length, plain + HISTORY, room, HISTORY);
        assert_int_equal(lz4_decode(copy, length, ours + HISTORY, room, HISTORY), size);
        if (size > 0)
            assert_memory_equal(ours, plain, HISTORY + (size_t)size);
        *(size < 0 ? &bad : &good) += 1;
        free(copy);
        free(ours);
        free(plain);
    }
    assert_true(good > 1000 && bad > 500);
}

static void test_lz4(void **state)
{
    (void)state;
    uint8_t out[400] = "history!";
    /* 3 literals, 20 bytes from 3 back; then 5 literals */
    static const uint8_t repeats[] = {0x3f, 'a', 'b', 'c', 3, 0, 1, 0x50, 'v', 'w', 'x', 'y', 'z'};
    assert_int_equal(lz4_decode(repeats, sizeof repeats, out + 8, 100, 0), 28);
    assert_memory_equal(out + 8, "abcabcabcabcabcabcabcabvwxyz", 28);
    /* 8 bytes of what came before the block, then one literal */
    static const uint8_t linked[] = {0x04, 8, 0, 0x10, '.'};
    assert_int_equal(lz4_decode(linked, sizeof linked, out + 8, 9, 8), 9);
    assert_memory_equal(out + 8, "history!.", 9);
    assert_int_equal(lz4_decode(linked, sizeof linked, out + 8, 9, 7), -1); /* farther back than there is */
    assert_int_equal(lz4_decode(linked, sizeof linked, out + 8, 8, 8), -1); /* no room */
    for (size_t cut = 1; cut < sizeof repeats; cut++) {
        if (cut != 7) /* ends after literals alone there */
            assert_int_equal(lz4_decode(repeats, cut, out + 8, 100, 0), cut == 4 ? 3 : -1);
    }
    static const uint8_t no_offset[] = {0x10, 'a', 0, 0, 0x10, 'b'};
    assert_int_equal(lz4_decode(no_offset, sizeof no_offset, out + 8, 100, 8), -1);
    /* 300 literals, their number in two more bytes */
    uint8_t many[303] = {0xf0, 255, 30};
    assert_int_equal(lz4_decode(many, sizeof many, out, sizeof out, 0), 300);
    assert_int_equal(lz4_decode(many, 2, out, sizeof out, 0), -1);
}

/* --- streams --- */

struct log {
    struct tracy_stream *stream;
    struct tracy_event events[64];
    char texts[64][300];
    size_t count;
};

static void keep(void *context, const struct tracy_event *event)
{
    struct log *log = context;
    assert_true(log->count < 64);
    if (event->text)
        snprintf(log->texts[log->count], sizeof log->texts[0], "%.*s", (int)event->text_length, event->text);
    log->events[log->count++] = *event;
}

static void open_log(struct log *log, uint32_t version, enum tracy_wide wide)
{
    *log = (struct log){0};
    log->stream = tracy_stream_new(version, wide, keep, log);
    assert_non_null(log->stream);
}

static int feed(struct log *log, struct client *client, struct error *err)
{
    client_flush(client);
    int status = tracy_stream_feed(log->stream, client->sent.data, client->sent.length, err);
    bytes_clear(&client->sent);
    return status;
}

/* The questions since the last call; their bytes are `kind`, then the address. */
static void expect_queries(struct log *log, size_t count, const uint64_t (*expected)[2])
{
    struct bytes *queries = tracy_stream_queries(log->stream);
    assert_int_equal(queries->length, count * TRACY_QUERY_BYTES);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *query = queries->data + i * TRACY_QUERY_BYTES;
        assert_int_equal(query[0], expected[i][0]);
        assert_int_equal(tracy_u64(query + 1), expected[i][1]);
        assert_int_equal(tracy_u32(query + 9), 0);
    }
    bytes_clear(queries);
}

static void test_zone_and_names(void **state)
{
    (void)state;
    struct client client;
    struct log log;
    struct error err = {0};
    client_begin(&client, 72, false, 0);
    open_log(&log, 72, TRACY_WIDE_DETECT);
    client_thread(&client, 77);
    client_begin_zone(&client, 5000, 0x401000);
    client_begin_zone(&client, 20, 0x401000);
    client_text(&client, "inner");
    record(&client, TRACY_ZONE_NAME);
    client_end_zone(&client, 7);
    client_end_zone(&client, -2);
    assert_int_equal(feed(&log, &client, &err), 0);
    assert_int_equal(log.count, 5);
    assert_int_equal(log.events[0].time, 5000);
    assert_int_equal(log.events[1].time, 5020);
    assert_int_equal(log.events[0].source, log.events[1].source);
    assert_int_equal(log.events[2].kind, TRACY_EVENT_ZONE_NAME);
    assert_string_equal(log.texts[2], "inner");
    assert_int_equal(log.events[4].time, 5025); /* time may run backwards */
    assert_int_equal(tracy_stream_welcome(log.stream)->pid, 4321);
    assert_string_equal(tracy_stream_welcome(log.stream)->program, "made by hand");
    const uint64_t first[][2] = {{TRACY_ASK_THREAD, 77}, {TRACY_ASK_SOURCE_LOCATION, 0x401000}};
    expect_queries(&log, 2, first);
    client_location(&client, 0x5000, 0x5010, 0x5020, 12, 0x112233);
    client_answer(&client, TRACY_THREAD_NAME, 77, "main", 4);
    assert_int_equal(feed(&log, &client, &err), 0);
    const uint64_t second[][2] = {
        {TRACY_ASK_STRING, 0x5000}, {TRACY_ASK_STRING, 0x5010}, {TRACY_ASK_STRING, 0x5020}};
    expect_queries(&log, 3, second);
    const struct tracy_names *names = tracy_stream_names(log.stream);
    uint32_t source = log.events[0].source;
    assert_false(tracy_names_source_is_whole(names, source));
    assert_true(tracy_stream_has_open_questions(log.stream));
    client_string(&client, 0x5020, "a.c");
    client_string(&client, 0x5000, "outer");
    client_string(&client, 0x5010, "");
    record(&client, TRACY_TERMINATE);
    assert_int_equal(feed(&log, &client, &err), 0);
    assert_true(tracy_names_source_is_whole(names, source));
    assert_string_equal(tracy_names_text(names, names->sources[source].name), "outer");
    assert_string_equal(tracy_names_text(names, names->sources[source].function), "");
    assert_int_equal(names->sources[source].line, 12);
    assert_int_equal(names->sources[source].colour, 0x112233);
    assert_false(tracy_stream_has_open_questions(log.stream));
    assert_true(tracy_stream_is_ending(log.stream));
    expect_queries(&log, 0, NULL);
    tracy_stream_free(log.stream);
    client_free(&client);
}

/* Every split of the bytes gives the same events; the second frame refers to the first. */
static void test_pieces(void **state)
{
    (void)state;
    struct client client;
    client_begin(&client, 82, false, TRACY_ON_DEMAND);
    client_thread(&client, 1);
    bytes_append_u64(record(&client, TRACY_ZONE_END), (uint64_t)-4); /* negative: not biased */
    put_u16(record(&client, TRACY_ZONE_END_16), 7);
    bytes_append_u32(record(&client, TRACY_ZONE_END_32), 1);
    client_end_zone(&client, 2);
    size_t length = client.frame.length;
    client_flush(&client);
    assert_true(length >= 19 && length < 4 + 15 + 255);
    record(&client, TRACY_TERMINATE);
    /* no literals, the whole frame before once more, then one literal */
    const uint8_t block[] = {0x0f, (uint8_t)length,     0, (uint8_t)(length - 4 - 15),
                             0x10, client.frame.data[0]};
    bytes_append_u32(&client.sent, sizeof block);
    put(&client.sent, block, sizeof block);
    for (size_t piece = 1; piece < client.sent.length; piece += piece < 60 ? 1 : 97) {
        struct log log;
        struct error err = {0};
        open_log(&log, 82, TRACY_WIDE_DETECT);
        for (size_t at = 0; at < client.sent.length; at += piece) {
            size_t left = client.sent.length - at;
            assert_int_equal(
                tracy_stream_feed(log.stream, client.sent.data + at, left < piece ? left : piece, &err), 0);
        }
        assert_int_equal(log.count, 8);
        for (size_t i = 0; i < 2; i++) { /* a new thread section begins at 0 each time */
            assert_int_equal(log.events[4 * i].time, -4);
            assert_int_equal(log.events[4 * i + 1].time, 3);
            assert_int_equal(log.events[4 * i + 2].time, 3 + 65537);
            assert_int_equal(log.events[4 * i + 3].time, 3 + 65537 + 2 + 65536 + (INT64_C(1) << 32));
        }
        assert_true(tracy_stream_is_ending(log.stream));
        assert_true(tracy_stream_is_between(log.stream));
        assert_int_equal(tracy_stream_counts(log.stream)->frames, 2);
        tracy_stream_free(log.stream);
    }
    client_free(&client);
}

/* --- zones, many at once --- */

#define STEPS (3 * TRACY_MOST_STEPS + 5)

struct step_log {
    struct tracy_step steps[STEPS];
    uint32_t threads[STEPS];
    size_t count, most;
};

static void keep_steps(void *context, uint32_t thread, const struct tracy_step *steps, size_t count)
{
    struct step_log *log = context;
    assert_in_range(count, 1, TRACY_MOST_STEPS);
    assert_true(log->count + count <= STEPS);
    log->most = count > log->most ? count : log->most;
    for (size_t i = 0; i < count; i++) {
        log->threads[log->count] = thread;
        log->steps[log->count++] = steps[i];
    }
}

static void ignore_event(void *context, const struct tracy_event *event)
{
    (void)context;
    assert_true(event->kind != TRACY_EVENT_ZONE_BEGIN && event->kind != TRACY_EVENT_ZONE_END);
}

/* A begin or an end in one of the forms that the version has, with what it means. */
static struct tracy_step put_step(struct client *client, unsigned number, int64_t time)
{
    static const unsigned begins[] = {TRACY_ZONE_BEGIN_16, TRACY_ZONE_BEGIN, TRACY_ZONE_BEGIN_32},
                          ends[] = {TRACY_ZONE_END_16, TRACY_ZONE_END, TRACY_ZONE_END_32};
    uint32_t version = client->table.dialect.version;
    bool is_begin = number % 5 < 2, is_short = version >= (is_begin ? 79 : 78);
    unsigned form = is_short ? number % 4 : 1;
    struct tracy_step step = {.source = is_begin ? number % 2 : TRACY_END};
    struct bytes *out = record(client, is_begin ? begins[form % 3] : ends[form % 3]);
    if (form % 3 == 0) {
        put_u16(out, (uint16_t)(number * 211));
        step.time = time + (uint16_t)(number * 211);
    } else if (form == 2) {
        bytes_append_u32(out, number);
        step.time = time + number + 65536;
    } else {
        int64_t delta = number % 3 ? (int64_t)number : -(int64_t)number;
        bytes_append_u64(out, (uint64_t)delta);
        step.time = time + delta + (is_short && delta >= 0 ? 65536 + (INT64_C(1) << 32) : 0);
    }
    if (is_begin)
        bytes_append_u64(out, 0x401000 + 8 * (number % 2));
    return step;
}

/* All forms of all versions, more than go at once, two threads, a frame that ends with each form. */
static void test_steps(void **state)
{
    (void)state;
    static struct step_log log, wanted;
    for (uint32_t version = TRACY_OLDEST; version <= TRACY_NEWEST; version++) {
        struct client client;
        int64_t time = 0;
        client_begin(&client, version, false, 0);
        memset(&log, 0, sizeof log);
        memset(&wanted, 0, sizeof wanted);
        client_thread(&client, 1);
        client_begin_zone(&client, -1, 0x401000); /* so that the places have their numbers */
        client_begin_zone(&client, -1, 0x401008);
        wanted.steps[0] = (struct tracy_step){.time = -1, .source = 0};
        wanted.steps[1] = (struct tracy_step){.time = -2, .source = 1};
        time = -2;
        for (unsigned i = 2; i < STEPS; i++) {
            if (i == STEPS - 40) {
                client_thread(&client, 2);
                time = 0;
            }
            wanted.steps[i] = put_step(&client, i, time);
            time = wanted.steps[i].time;
            if (i > STEPS - 20)
                client_flush(&client);
        }
        struct tracy_stream *stream = tracy_stream_new(version, TRACY_WIDE_DETECT, ignore_event, &log);
        assert_non_null(stream);
        tracy_stream_set_zones(stream, keep_steps);
        assert_int_equal(tracy_stream_feed(stream, client.sent.data, client.sent.length, NULL), 0);
        assert_int_equal(log.count, STEPS);
        assert_int_equal(log.most, TRACY_MOST_STEPS);
        for (size_t i = 0; i < STEPS; i++) {
            assert_int_equal(log.steps[i].time, wanted.steps[i].time);
            assert_int_equal(log.steps[i].source, wanted.steps[i].source);
            assert_int_equal(log.threads[i], i < STEPS - 40 ? 1 : 2);
        }
        assert_int_equal(tracy_stream_counts(stream)->items, STEPS + 2);
        tracy_stream_free(stream);
        client_free(&client);
    }
}

static void test_text_lengths(void **state)
{
    (void)state;
    static const uint32_t versions[] = {79, 80};
    static const size_t lengths[] = {0, 1, 255, 256, 257};
    char text[300];
    memset(text, 'x', sizeof text);
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        struct client client;
        struct log log;
        client_begin(&client, versions[v], false, 0);
        open_log(&log, versions[v], TRACY_WIDE_DETECT);
        for (size_t i = 0; i < COUNT_OF(lengths); i++) {
            text[lengths[i]] = '\0';
            client_text(&client, text);
            text[lengths[i]] = 'x';
            client_flush(&client); /* the text and what it belongs to in two frames */
            bytes_append_u64(record(&client, TRACY_MESSAGE), 10 + i);
            bytes_append_u8(&client.frame, 0x31);
        }
        assert_int_equal(feed(&log, &client, NULL), 0);
        assert_int_equal(log.count, COUNT_OF(lengths));
        for (size_t i = 0; i < COUNT_OF(lengths); i++) {
            assert_int_equal(log.events[i].text_length, lengths[i]);
            assert_int_equal(log.events[i].time, 10 + i);
            assert_int_equal(log.events[i].number, 0x31);
        }
        tracy_stream_free(log.stream);
        client_free(&client);
    }
}

/* The address of a literal message, in the three ways in which it was packed. */
static void test_tagged_addresses(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        uint64_t stored;
        uint32_t tag;
    } cases[] = {{76, 0x7f1234567890, 0},
                 {77, 0x7f1234567890 | UINT64_C(0x31) << 56, 0x31},
                 {79, UINT64_C(0x7f1234567890) << 8 | 0x31, 0x31}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client client;
        struct log log;
        client_begin(&client, cases[i].version, false, 0);
        open_log(&log, cases[i].version, TRACY_WIDE_DETECT);
        bytes_append_u64(record(&client, TRACY_MESSAGE_LITERAL), 99);
        bytes_append_u64(&client.frame, cases[i].stored);
        assert_int_equal(feed(&log, &client, NULL), 0);
        const uint64_t asked[][2] = {{TRACY_ASK_STRING, 0x7f1234567890}};
        expect_queries(&log, 1, asked);
        assert_int_equal(log.events[0].number, cases[i].tag);
        tracy_stream_free(log.stream);
        client_free(&client);
    }
}

static void put_context(struct client *client, uint16_t number, uint8_t flags, uint8_t type)
{
    float period = 2;
    bytes_append_u64(record(client, TRACY_GPU_NEW_CONTEXT), 1500);
    bytes_append_u64(&client->frame, 30);
    bytes_append_u32(&client->frame, 9);
    put(&client->frame, &period, 4);
    put(&client->frame, &number, client->table.dialect.has_wide_contexts ? 2 : 1);
    bytes_append_u8(&client->frame, flags);
    bytes_append_u8(&client->frame, type);
}

static void put_gpu_end(struct client *client, uint16_t number)
{
    bytes_append_u64(record(client, TRACY_GPU_ZONE_END_SERIAL), 50);
    bytes_append_u32(&client->frame, 9);
    put_u16(&client->frame, 3);
    put(&client->frame, &number, client->table.dialect.has_wide_contexts ? 2 : 1);
}

/* The width of GPU contexts is found by the first record that has one, whichever it is; or it is given. */
static void test_context_width(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 24; i++) {
        bool is_wide = i & 1, is_end_first = i & 2, is_calibrated = i & 4;
        unsigned how = i / 8; /* found, given, given */
        struct client client;
        struct log log;
        client_begin(&client, 66, is_wide, 0);
        open_log(&log, 66, how == 0 ? TRACY_WIDE_DETECT : is_wide ? TRACY_WIDE_YES : TRACY_WIDE_NO);
        if (is_end_first)
            put_gpu_end(&client, 5);
        put_context(&client, 5, is_calibrated, 6);
        put_gpu_end(&client, 5);
        record(&client, TRACY_KEEP_ALIVE);
        assert_int_equal(feed(&log, &client, NULL), 0);
        assert_int_equal(tracy_stream_dialect(log.stream).has_wide_contexts, is_wide);
        assert_int_equal(log.count, is_end_first ? 3 : 2);
        const struct tracy_event *context = &log.events[is_end_first];
        assert_int_equal(context->kind, TRACY_EVENT_GPU_CONTEXT);
        assert_int_equal(context->number, 5);
        assert_int_equal(context->value, 6);
        assert_true(context->real > 1.99 && context->real < 2.01);
        assert_int_equal(log.events[log.count - 1].number, 5);
        assert_int_equal(log.events[log.count - 1].query, 3);
        tracy_stream_free(log.stream);
        client_free(&client);
    }
}

/* Whatever does not fit ends the stream, with what came before kept, and nothing is asked any more. */
static void test_damage(void **state)
{
    (void)state;
    enum { UNKNOWN_TYPE, TOO_SHORT, LONG_TEXT, LZ4, LENGTH, STATUS, KINDS };
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct client client;
        struct log log;
        struct error err = {0};
        client_begin(&client, 72, false, 0);
        open_log(&log, 72, TRACY_WIDE_DETECT);
        if (kind == STATUS)
            client.sent.data[0] = TRACY_MISMATCH;
        client_thread(&client, 3);
        client_begin_zone(&client, 9, 0x401000);
        client_flush(&client);
        if (kind == UNKNOWN_TYPE)
            bytes_append_u8(&client.frame, 115);
        else if (kind == TOO_SHORT)
            put(record(&client, TRACY_ZONE_BEGIN), "1234567", 7);
        else if (kind == LONG_TEXT)
            put_u16(record(&client, TRACY_SINGLE_STRING_DATA), 1);
        client_flush(&client);
        if (kind == LZ4)
            put(&client.sent, "\x03\0\0\0\x10\xff\xff", 7);
        else if (kind == LENGTH)
            put(&client.sent, "\x15\x04\x04\x00", 4);
        assert_int_not_equal(feed(&log, &client, &err), 0);
        assert_true(err.message[0] != '\0');
        assert_int_equal(tracy_stream_queries(log.stream)->length, 0);
        assert_int_equal(log.count, kind == STATUS ? 0 : 1);
        assert_false(tracy_stream_is_trusted(log.stream));
        client_begin_zone(&client, 9, 0x402000);
        assert_int_not_equal(feed(&log, &client, &err), 0); /* and stays so */
        assert_int_equal(tracy_stream_queries(log.stream)->length, 0);
        tracy_stream_free(log.stream);
        client_free(&client);
    }
}

/* Addresses that no program has, and answers that nobody asked for, end the questions and not the stream. */
static void test_distrust(void **state)
{
    (void)state;
    static const uint64_t wrong[] = {1, 4095, UINT64_C(1) << 48, UINT64_MAX};
    for (size_t i = 0; i <= COUNT_OF(wrong); i++) {
        struct client client;
        struct log log;
        client_begin(&client, 72, false, 0);
        open_log(&log, 72, TRACY_WIDE_DETECT);
        if (i < COUNT_OF(wrong))
            client_begin_zone(&client, 5, wrong[i]);
        else
            client_location(&client, 0x5000, 0, 0, 1, 0);
        client_begin_zone(&client, 5, 0x401000);
        client_thread(&client, 8);
        assert_int_equal(feed(&log, &client, NULL), 0);
        expect_queries(&log, 0, NULL);
        assert_int_equal(log.count, i < COUNT_OF(wrong) ? 2 : 1);
        tracy_stream_free(log.stream);
        client_free(&client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_lz4),
        cmocka_unit_test(test_lz4_sequences),
        cmocka_unit_test(test_zone_and_names),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_text_lengths),
        cmocka_unit_test(test_tagged_addresses),
        cmocka_unit_test(test_context_width),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_distrust),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
