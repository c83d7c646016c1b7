/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/messages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/json/reader.h"
#include "base/keyed_text.h"
#include "base/slice.h"
#include "import/tenstorrent/record.h"

#define TRACE_ENDED (TT_NONE - 1)

struct tt_messages {
    struct tt_model *model;
    bool is_file;
    uint64_t message_line; /* of a file; else which message it is */
    char where[64];
    struct json_document document;
    struct bytes scratch;
    struct intern programs;      /* "DEVICE HASH" */
    uint32_t *record_of_program; /* by id in `programs` */
    size_t record_capacity;
    struct map trace_of_device; /* being captured */
    uint32_t location, const_eval, metadata;
};

struct message {
    struct slice text;
    uint64_t time_ns;
    uint32_t thread;
    bool is_cut;
};

/* For notes. */
static const char *where(struct tt_messages *r)
{
    snprintf(r->where, sizeof r->where, r->is_file ? "tracy_ops_data.csv, line %llu" : "message %llu",
             (unsigned long long)r->message_line);
    return r->where;
}

/* --- the file --- */

struct reader {
    const char *at, *end;
    uint64_t line; /* of `at` */
};

static void count_lines(struct reader *r, const char *from, const char *to)
{
    while (from < to && (from = memchr(from, '\n', (size_t)(to - from)))) {
        r->line++;
        from++;
    }
}

/* "TEXT;NS" of a line: the time follows the last ';'. */
static void split_time(struct slice line, struct message *message)
{
    line = slice_trim(line);
    const char *last = line.length ? memrchr(line.data, ';', line.length) : NULL;
    message->text = line;
    message->time_ns = 0;
    if (last && slice_unsigned(slice_trim(slice_from(last + 1, (size_t)(line.data + line.length - last - 1))),
                               &message->time_ns))
        message->text = slice_from(line.data, (size_t)(last - line.data));
}

/* The backtick that closes the message at r->at; NULL when it was cut. *end is where the message ends then. */
static const char *find_close(const struct reader *r, const char **end)
{
    const char *at = r->at + 1;
    while (at < r->end) {
        at = memchr(at, '`', (size_t)(r->end - at));
        if (!at)
            break;
        if (at[-1] == '\n' && at - r->at > 1) { /* the next message begins here */
            *end = at;
            return NULL;
        }
        if (at + 1 == r->end || at[1] == ';' || at[1] == '\n' || at[1] == '\r')
            return at;
        at += at[1] == '`' ? 2 : 1;
    }
    *end = r->end;
    return NULL;
}

static bool next_message(struct reader *r, struct message *message)
{
    const char *stop;
    *message = (struct message){0};
    if (r->at >= r->end)
        return false;
    if (*r->at != '`') {
        stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
        split_time(slice_from(r->at, (size_t)((stop ? stop : r->end) - r->at)), message);
        stop = stop ? stop + 1 : r->end;
    } else {
        const char *close = find_close(r, &stop);
        if (close) {
            struct message rest;
            stop = memchr(close, '\n', (size_t)(r->end - close));
            split_time(slice_from(close + 1, (size_t)((stop ? stop : r->end) - close - 1)), &rest);
            *message = (struct message){.text = slice_from(r->at + 1, (size_t)(close - r->at - 1)),
                                        .time_ns = rest.time_ns};
            stop = stop ? stop + 1 : r->end;
        } else {
            const char *text_end = stop;
            while (text_end > r->at + 1 && (text_end[-1] == '\n' || text_end[-1] == '\r'))
                text_end--;
            split_time(slice_from(r->at + 1, (size_t)(text_end - r->at - 1)), message);
            message->is_cut = true;
        }
    }
    count_lines(r, r->at, stop);
    r->at = stop;
    return true;
}

/* --- messages --- */

/* `"NAME", HASH, DEVICE, HIT, ID`, older: `"NAME", HASH, DEVICE, ID`. The name may hold anything. */
struct header {
    struct slice name, hash;
    uint32_t device;
    int8_t cache_hit;
    uint64_t id;
};

static bool take_last_field(struct slice *rest, struct slice *field)
{
    const char *comma = rest->length ? memrchr(rest->data, ',', rest->length) : NULL;
    if (!comma)
        return false;
    *field = slice_trim(slice_from(comma + 1, (size_t)(rest->data + rest->length - comma - 1)));
    rest->length = (size_t)(comma - rest->data);
    return true;
}

static struct slice unquote(struct slice text)
{
    text = slice_trim(text);
    if (text.length >= 2 && text.data[0] == '"' && text.data[text.length - 1] == '"')
        return slice_from(text.data + 1, text.length - 2);
    return text;
}

static bool parse_header(struct slice text, struct header *header)
{
    struct slice field;
    const char *colon = memchr(text.data, ':', text.length);
    *header = (struct header){.device = TT_NONE, .cache_hit = -1};
    if (!colon)
        return false;
    text = slice_trim(slice_from(colon + 1, (size_t)(text.data + text.length - colon - 1)));
    header->name = unquote(text);
    if (!take_last_field(&text, &field) || !slice_unsigned(field, &header->id) ||
        !take_last_field(&text, &field))
        return false;
    uint64_t number;
    bool is_number = slice_unsigned(field, &number);
    struct slice before = text, second, third;
    if (take_last_field(&before, &second) && slice_unsigned(second, &number) &&
        take_last_field(&before, &third) && slice_unsigned(third, &number)) { /* NAME, hash, device, hit */
        header->cache_hit = slice_is(field, "1") || slice_is(field, "true") || slice_is(field, "True");
        field = second;
        header->hash = third;
        text = before;
    } else {
        if (!is_number || !take_last_field(&text, &header->hash))
            return false;
    }
    header->name = unquote(text);
    return slice_unsigned32(field, &header->device);
}

static uint32_t *record_slot(struct tt_messages *r, uint32_t device, struct slice hash)
{
    bytes_clear(&r->scratch);
    bytes_append_format(&r->scratch, "%u ", (unsigned)device);
    bytes_append(&r->scratch, hash.data, hash.length);
    uint32_t id =
        r->scratch.failed ? INTERN_NONE : intern_add(&r->programs, r->scratch.data, r->scratch.length);
    size_t had = r->record_capacity;
    if (id == INTERN_NONE || !array_reserve(&r->record_of_program, &r->record_capacity, (size_t)id + 1,
                                            sizeof r->record_of_program[0])) {
        r->model->failed = true;
        return NULL;
    }
    for (size_t i = had; i < r->record_capacity; i++)
        r->record_of_program[i] = TT_NONE;
    return &r->record_of_program[id];
}

static struct slice keep(struct tt_messages *r, struct slice text)
{
    return slice_from(tt_keep(r->model, text.data, text.length), text.length);
}

/* The op's program, described in this message. */
static void read_program(struct tt_messages *r, struct tt_op *op, struct slice json)
{
    struct error err = {0};
    if (json_read(&r->document, json.data, json.length, &err) != 0) {
        op->flags |= TT_OP_CUT;
        tt_note(r->model, TT_DAMAGED_MESSAGE, r->message_line,
                "%s: the message of op %llu is cut or damaged: %s; only its name and id "
                "are known",
                where(r), (unsigned long long)op->id, err.message);
        return;
    }
    uint32_t record = tt_record_add(r->model, &r->document);
    const struct json_node *root = json_root(&r->document), *hash = json_find(&r->document, root, "op_hash");
    op->record = record;
    if (record == TT_NONE || op->device == TT_NONE || !hash || hash->kind != JSON_NUMBER)
        return;
    uint32_t *slot = record_slot(r, op->device, slice_from(hash->text, hash->length));
    if (slot)
        *slot = record;
}

static struct tt_op *add_op(struct tt_messages *r, const struct header *header, const struct message *message)
{
    struct tt_op *op = tt_op_add(r->model, header->id);
    if (!op)
        return NULL;
    op->name = keep(r, header->name);
    op->hash = keep(r, header->hash);
    op->device = header->device;
    op->cache_hit = header->cache_hit;
    op->message_ns = message->time_ns;
    op->thread = message->thread;
    op->location = r->location;
    op->const_eval = r->const_eval;
    op->metadata = r->metadata;
    if (op->device != TT_NONE) {
        uint32_t trace = map_get(&r->trace_of_device, op->device);
        op->trace = trace >= TRACE_ENDED ? TT_NO_TRACE : (int64_t)trace;
    }
    if (op->flags & TT_OP_REPEATED)
        tt_note(r->model, TT_UNMATCHED_ID_AGAIN, r->message_line,
                "%s: op id %llu comes again: its device data stays with the first", where(r),
                (unsigned long long)op->id);
    return op;
}

static void note_cut(struct tt_messages *r)
{
    tt_note(r->model, TT_DAMAGED_CUT, r->message_line, "%s: a message was cut before its end", where(r));
}

static void read_device_op(struct tt_messages *r, const struct message *message, struct slice head,
                           struct slice json)
{
    struct header header;
    if (!parse_header(head, &header)) {
        tt_note(r->model, TT_DAMAGED_HEADER, r->message_line,
                "%s: an op message without name, hash, device and id; it is left out", where(r));
        return;
    }
    struct tt_op *op = add_op(r, &header, message);
    if (!op)
        return;
    if (json.data) {
        read_program(r, op, json);
        return;
    }
    if (message->is_cut) {
        op->flags |= TT_OP_CUT;
        note_cut(r);
        return;
    }
    uint32_t *slot = record_slot(r, op->device, header.hash);
    op->record = slot ? *slot : TT_NONE;
    if (op->record == TT_NONE) {
        op->flags |= TT_OP_NO_RECORD;
        tt_note(r->model, TT_UNMATCHED_PROGRAM, r->message_line,
                "%s: op %llu refers to program %.*s, which no message before it describes", where(r),
                (unsigned long long)op->id, (int)header.hash.length, header.hash.data);
    }
}

/* Ops that ran on the host: the id is in the JSON alone. */
static void read_host_op(struct tt_messages *r, const struct message *message, struct slice head,
                         struct slice json)
{
    struct header header = {.device = TT_NONE, .cache_hit = -1};
    struct error err = {0};
    const char *colon = memchr(head.data, ':', head.length);
    if (colon)
        header.name = unquote(slice_from(colon + 1, (size_t)(head.data + head.length - colon - 1)));
    if (!json.data || json_read(&r->document, json.data, json.length, &err) != 0 ||
        !json_unsigned_value(json_find(&r->document, json_root(&r->document), "global_call_count"),
                             &header.id)) {
        tt_note(r->model, TT_DAMAGED_HOST_OP, r->message_line,
                "%s: the message of a host op is cut or damaged; it is left out", where(r));
        return;
    }
    const struct json_node *device = json_find(&r->document, json_root(&r->document), "device_id");
    uint64_t number;
    if (json_unsigned_value(device, &number) && number < TT_NONE)
        header.device = (uint32_t)number;
    struct tt_op *op = add_op(r, &header, message);
    const struct json_node *hit = json_find(&r->document, json_root(&r->document), "program_cache_hit");
    if (!op)
        return;
    op->cache_hit = hit && hit->kind == JSON_TRUE ? 1 : hit && hit->kind == JSON_FALSE ? 0 : -1;
    op->record = tt_record_add(r->model, &r->document);
}

static void read_op(struct tt_messages *r, const struct message *message)
{
    struct slice text = message->text, json = {0};
    const char *arrow = memmem(text.data, text.length, " ->\n", 4);
    if (arrow) {
        json = slice_from(arrow + 4, (size_t)(text.data + text.length - arrow - 4));
        text.length = (size_t)(arrow - text.data);
    }
    if (slice_begins(text, "TT_DNN_DEVICE_OP"))
        read_device_op(r, message, text, json);
    else
        read_host_op(r, message, text, json);
}

static void read_trace(struct tt_messages *r, const struct message *message)
{
    struct slice text = message->text, field;
    uint32_t device, trace;
    const char *colon = memchr(text.data, ':', text.length);
    struct slice rest =
        colon ? slice_from(colon + 1, (size_t)(text.data + text.length - colon - 1)) : (struct slice){0};
    if (!take_last_field(&rest, &field) || !slice_unsigned32(field, &trace) ||
        !slice_unsigned32(slice_trim(rest), &device)) {
        tt_note(r->model, TT_DAMAGED_TRACE_MESSAGE, r->message_line,
                "%s: a trace message without device and id", where(r));
        return;
    }
    if (slice_begins(text, "TT_METAL_TRACE_BEGIN")) {
        if (!map_put(&r->trace_of_device, device, trace))
            r->model->failed = true;
    } else if (slice_begins(text, "TT_METAL_TRACE_END")) {
        uint32_t current = map_get(&r->trace_of_device, device);
        if (current != trace)
            tt_note(r->model, TT_UNMATCHED_TRACE_END, r->message_line,
                    "%s: trace %u of device %u ends, which had not begun", where(r), (unsigned)trace,
                    (unsigned)device);
        if (current < TRACE_ENDED)
            map_put(&r->trace_of_device, device, TRACE_ENDED);
    } else if (slice_begins(text, "TT_METAL_TRACE_REPLAY")) {
        struct tt_replay *replay = tt_replay_find(r->model, device, trace, true);
        if (replay &&
            array_reserve(&replay->times_ns, &replay->capacity, replay->count + 1, sizeof(uint64_t)))
            replay->times_ns[replay->count++] = message->time_ns;
        else
            r->model->failed = true;
    }
}

/* The header is what follows the last ": " (the whole message when there is none), up to its line end. */
static void read_signpost(struct tt_messages *r, const struct message *message)
{
    struct tt_model *model = r->model;
    struct slice text = message->text, second = {0};
    for (size_t i = text.length; i-- > 1;) {
        if (text.data[i - 1] == ':' && text.data[i] == ' ') {
            text = slice_from(text.data + i + 1, text.length - i - 1);
            break;
        }
    }
    const char *line_end = text.length ? memchr(text.data, '\n', text.length) : NULL;
    if (line_end) {
        second = slice_from(line_end + 1, (size_t)(text.data + text.length - line_end - 1));
        text.length = (size_t)(line_end - text.data);
        const char *more = second.length ? memchr(second.data, '\n', second.length) : NULL;
        if (more)
            second.length = (size_t)(more - second.data);
    }
    if (!array_reserve(&model->signposts, &model->signpost_capacity, model->signpost_count + 1,
                       sizeof model->signposts[0])) {
        model->failed = true;
        return;
    }
    model->signposts[model->signpost_count++] =
        (struct tt_signpost){message->time_ns, keep(r, text), keep(r, second)};
}

static void read_compiler(struct tt_messages *r, const struct message *message)
{
    const char *separator = memchr(message->text.data, ';', message->text.length);
    struct slice key = message->text, value = {0};
    if (separator) {
        key.length = (size_t)(separator - key.data);
        value = slice_from(separator + 1, message->text.length - key.length - 1);
    }
    uint32_t *place = slice_is(key, "MLIR_OP_LOCATION")        ? &r->location
                      : slice_is(key, "MLIR_CONST_EVAL_OP")    ? &r->const_eval
                      : slice_is(key, "MLIR_PROGRAM_METADATA") ? &r->metadata
                                                               : NULL;
    if (!place)
        return;
    *place = intern_add(&r->model->texts, value.length ? value.data : "", value.length);
    if (*place == INTERN_NONE)
        r->model->failed = true;
    r->model->has_locations = true;
}

static void read_message(struct tt_messages *r, const struct message *message)
{
    struct slice text = message->text;
    if (slice_begins(text, "TT_SIGNPOST"))
        read_signpost(r, message);
    else if (slice_begins(text, "MLIR_"))
        read_compiler(r, message);
    else if (slice_begins(text, "TT_METAL_TRACE_") && !slice_begins(text, "TT_METAL_TRACE_ENQUEUE_PROGRAM"))
        read_trace(r, message);
    else if ((slice_begins(text, "TT_DNN") || slice_begins(text, "TT_METAL")) && slice_has(text, "OP"))
        read_op(r, message);
    else if (message->is_cut)
        note_cut(r);
}

struct tt_messages *tt_messages_new(struct tt_model *model)
{
    struct tt_messages *r = calloc(1, sizeof *r);
    if (r)
        *r = (struct tt_messages){
            .model = model, .location = TT_NONE, .const_eval = TT_NONE, .metadata = TT_NONE};
    else
        model->failed = true;
    return r;
}

void tt_messages_free(struct tt_messages *r)
{
    if (!r)
        return;
    json_document_free(&r->document);
    bytes_free(&r->scratch);
    intern_free(&r->programs);
    free(r->record_of_program);
    map_free(&r->trace_of_device);
    free(r);
}

void tt_messages_take(struct tt_messages *r, struct slice text, uint64_t time_ns, uint32_t thread)
{
    struct message message = {.text = text, .time_ns = time_ns, .thread = thread};
    r->message_line++;
    if (slice_begins(text, "`")) {
        bool is_whole = text.length > 1 && text.data[text.length - 1] == '`';
        message.text = slice_from(text.data + 1, text.length - 1 - is_whole);
        message.is_cut = !is_whole;
    }
    if (message.text.length)
        read_message(r, &message);
}

int tt_messages_read(struct tt_model *model, const char *data, size_t length, struct error *err)
{
    struct reader reader = {.at = data, .end = length ? data + length : data, .line = 1};
    struct tt_messages *messages = tt_messages_new(model);
    struct message message;
    if (messages)
        messages->is_file = true;
    while (!model->failed) {
        messages->message_line = reader.line;
        if (!next_message(&reader, &message))
            break;
        if (message.text.length)
            read_message(messages, &message);
    }
    tt_messages_free(messages);
    return tt_model_check(model, err);
}
