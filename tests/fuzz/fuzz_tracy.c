/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of Tracy's protocol, and what makes a trace of it. The first byte is the version, the second says
 * how the rest is meant: as the bytes of the wire, or as the records of frames, each after its length of 16 bits,
 * behind a good handshake; and whether a trace is made of it, with the ops that its messages and zones tell of.
 *
 * The client follows the addresses that it is asked about, so each of them must be one that it sent. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/tracy_client.h"
#include "collect/tracy/trace/trace.h"
#include "import/reported.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct reading {
    struct tracy_stream *stream;
    uint64_t sum;
};

static void look(void *context, const struct tracy_event *event)
{
    struct reading *reading = context;
    for (uint32_t i = 0; i < event->text_length; i++)
        reading->sum += (uint8_t)event->text[i]; /* every byte is touched: it must be there */
    assert(event->kind < TRACY_EVENT_KINDS);
    if (event->number == 0xdead)
        tracy_stream_distrust(reading->stream);
}

/* Addresses have 48 bits; some are packed into 56 bits of a field. */
static void check_queries(struct tracy_stream *stream, const uint8_t *records, size_t size)
{
    struct bytes *queries = tracy_stream_queries(stream);
    assert(queries->length % TRACY_QUERY_BYTES == 0);
    assert(tracy_stream_is_trusted(stream) || queries->length == 0);
    for (size_t at = 0; at < queries->length; at += TRACY_QUERY_BYTES) {
        uint8_t kind = queries->data[at];
        size_t bytes = kind == TRACY_ASK_THREAD ? 4 : 6;
        assert((kind >= TRACY_ASK_STRING && kind <= TRACY_ASK_FIBER) || kind == TRACY_ASK_CODE);
        assert(memmem(records, size, queries->data + at + 1, bytes));
        assert(queries->data[at + 7] == 0 && queries->data[at + 8] == 0);
    }
    bytes_clear(queries);
}

/* Frames out of what is to be in them. */
static void wrap(struct client *client, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t length = tracy_u16(data);
        data += 2;
        size -= 2;
        length = length < size ? length : size;
        put_literals(&client->sent, data, length);
        data += length;
        size -= length;
    }
}

static void list_open(void *context, struct trace_writer *w)
{
    tracy_trace_list_open(context, w);
}

/* The same bytes as a trace that is thrown away. */
static void make_trace(const struct client *client, uint32_t version, enum tracy_wide wide)
{
    struct tracy_trace_options options = {.version = version, .wide = wide};
    struct ops_reported *reported = ops_reported_new("/dev/null/nothing");
    struct trace_listener listener;
    struct import_counts counts;
    if (!reported ||
        trace_writer_open(&options.writer, "/dev/null", &(struct trace_writer_options){0}, NULL) != 0) {
        ops_reported_free(reported);
        return;
    }
    ops_reported_listener(reported, &listener);
    options.listener = &listener;
    struct tracy_trace *t = tracy_trace_new(&options);
    if (t) {
        trace_writer_set_open_zones(options.writer, list_open, t);
        tracy_trace_feed(t, client->sent.data, client->sent.length, NULL);
        tracy_trace_close(t);
        assert(tracy_stream_is_trusted(tracy_trace_stream(t)) ||
               tracy_stream_queries(tracy_trace_stream(t))->length == 0);
    }
    ops_reported_write(reported, options.writer, &counts, NULL);
    trace_writer_finish(options.writer, NULL);
    tracy_trace_free(t);
    ops_reported_free(reported);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reading reading = {0};
    struct client client = {0};
    struct error err = {0};
    if (size < 2)
        return 0;
    uint32_t version = TRACY_OLDEST + data[0] % (TRACY_NEWEST - TRACY_OLDEST + 1);
    enum tracy_wide wide = (enum tracy_wide)(data[1] % 3);
    bool is_wire = data[1] & 0x80, is_trace = data[1] & 0x40;
    reading.stream = tracy_stream_new(version, wide, look, &reading);
    data += 2;
    size -= 2;
    if (is_wire) {
        put(&client.sent, data, size);
    } else {
        client_begin(&client, version, false, 0);
        wrap(&client, data, size);
    }
    for (size_t at = 0; reading.stream && at < client.sent.length;) {
        size_t left = client.sent.length - at, piece = left < 700 ? left : 700;
        int status = tracy_stream_feed(reading.stream, client.sent.data + at, piece, &err);
        assert((status == 0) == (err.code == 0));
        if (!is_wire) /* else the records are not known */
            check_queries(reading.stream, data, size);
        at += piece;
    }
    tracy_stream_free(reading.stream);
    if (is_trace)
        make_trace(&client, version, wide);
    client_free(&client);
    return 0;
}
