/* SPDX-License-Identifier: Apache-2.0 */
/* Records that are not zones: texts in pieces, values, counters, memory events, ops and what the device feed sends.
 * Every length is checked against the slots that are there; a record that makes no sense is counted and skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/internal.h"

_Static_assert((int)PART_INPUT == (int)TRACE_PART_INPUT && (int)PART_OUTPUT == (int)TRACE_PART_OUTPUT &&
                   (int)PART_ATTRIBUTE == (int)TRACE_PART_ATTRIBUTE &&
                   (int)PART_KERNEL == (int)TRACE_PART_KERNEL,
               "the recorder's part roles are the trace's");

static struct slot load_slot(const struct slot *at)
{
    return (struct slot){__atomic_load_n(&at->time_kind, __ATOMIC_RELAXED),
                         __atomic_load_n(&at->word, __ATOMIC_RELAXED)};
}

static void lose(struct source *s, struct track *t, uint32_t reason, uint64_t ns)
{
    track_lose(t, reason, ns, ns, 0, 1);
    s->collector->stats.lost_records++;
}

static void damaged(struct source *s, struct track *t, uint64_t ns)
{
    lose(s, t, TRACE_LOSS_DAMAGED, ns);
}

/* --- what belongs to an open zone --- */

static struct pending_extra *add_extra(struct track *t, uint32_t kind, uint64_t value)
{
    if (t->depth == 0 ||
        !array_reserve(&t->extras, &t->extra_capacity, (size_t)t->extra_count + 1, sizeof *t->extras))
        return NULL;
    struct pending_extra *extra = &t->extras[t->extra_count++];
    *extra = (struct pending_extra){.depth = t->depth - 1, .kind = kind, .value = value};
    return extra;
}

void record_zone_extras(struct source *s, struct track *t, uint32_t depth)
{
    (void)s;
    uint32_t first = t->extra_count;
    while (first > 0 && t->extras[first - 1].depth >= depth)
        first--;
    for (uint32_t i = first; i < t->extra_count; i++) {
        struct pending_extra *e = &t->extras[i];
        struct trace_extra extra = {
            .kind = e->kind, .value = e->value, .text = e->text, .text_length = e->text_length};
        zone_sink_extra(t->lane.sink, &extra);
        free(e->text);
    }
    t->extra_count = first;
}

/* --- texts --- */

/* What an adapter of ours says inside the program; anybody may write such a message, so it is shown as it can be. */
static void note_notice(struct collector_stats *stats, const char *text)
{
    if (stats->notices++)
        return;
    snprintf(stats->notice, sizeof stats->notice, "%s", text);
    for (char *c = stats->notice; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    }
}

static void finish_text(struct source *s, struct track *t, struct pending_text *text)
{
    struct trace_writer *w = s->collector->writer;
    if (t->is_muted && text->kind != RECORD_ZONE_TEXT)
        return;
    if (text->kind == RECORD_ZONE_TEXT) {
        struct pending_extra *extra = add_extra(t, TRACE_EXTRA_TEXT, 0);
        if (!extra)
            return;
        extra->text = text->data;
        extra->text_length = text->total;
        text->data = NULL; /* handed over */
        return;
    }
    struct trace_point point = {.track = t->lane.trace_id,
                                .time = text->time,
                                .kind = TRACE_POINT_MESSAGE,
                                .header = "",
                                .text = text->data,
                                .text_length = text->total};
    if (text->kind == RECORD_SIGNPOST) {
        size_t header = strnlen(text->data, text->total);
        size_t skip = header < text->total ? header + 1 : header;
        point.kind = TRACE_POINT_SIGNPOST;
        point.header = text->data;
        point.text = text->data + skip;
        point.text_length = text->total - (uint32_t)skip;
    } else if (strncmp(text->data, COLLECTOR_NOTICE, strlen(COLLECTOR_NOTICE)) == 0)
        note_notice(&s->collector->stats, text->data);
    trace_writer_point(w, &point);
    s->collector->stats.other++;
    s->collector->known_rows.records += text->was_taken;
}

static void free_text(struct track *t)
{
    free(t->texts[--t->text_count].data);
}

/* It will be no row. */
static void drop_text(struct source *s, struct track *t)
{
    s->collector->taken.records -= t->texts[t->text_count - 1].kind != RECORD_ZONE_TEXT;
    free_text(t);
}

/* One piece. A signal handler's whole text may stand between two pieces of another, hence the stack. */
static void take_text(struct source *s, struct track *t, const struct slot *slots, uint32_t more,
                      uint32_t kind, uint64_t word, uint64_t ns)
{
    uint32_t total = (uint32_t)word, offset = (uint32_t)(word >> 32) & 0xffffff;
    if (total > TRACE_MAX_TEXT || offset > total) {
        damaged(s, t, ns);
        return;
    }
    if (offset == 0) {
        if (t->text_count == MAX_PENDING_TEXTS) {
            damaged(s, t, ns);
            drop_text(s, t);
        }
        char *data = malloc((size_t)total + 1);
        if (!data) {
            damaged(s, t, ns);
            return;
        }
        t->texts[t->text_count++] = (struct pending_text){
            .kind = kind, .total = total, .time = ns, .data = data, .was_taken = t->is_muted};
        s->collector->taken.records += kind != RECORD_ZONE_TEXT;
    }
    struct pending_text *text = t->text_count ? &t->texts[t->text_count - 1] : NULL;
    while (text && (text->kind != kind || text->total != total || text->received != offset)) {
        drop_text(s, t); /* its other pieces were lost, which the recorder has counted */
        text = t->text_count ? &t->texts[t->text_count - 1] : NULL;
    }
    if (!text)
        return;
    size_t bytes = total - offset;
    if (bytes > (size_t)more * sizeof *slots)
        bytes = (size_t)more * sizeof *slots;
    memcpy(text->data + offset, slots + 1, bytes);
    text->received += (uint32_t)bytes;
    if (text->received == total) {
        text->data[total] = '\0';
        finish_text(s, t, text);
        free_text(t);
    }
}

/* --- ops --- */

static void add_part(struct track *t, uint64_t word)
{
    struct open_op *op = t->op_count ? &t->ops[t->op_count - 1] : NULL;
    size_t capacity = op ? op->part_capacity : 0;
    if (!op || op->part_count >= MAX_OP_PARTS ||
        !array_reserve(&op->parts, &capacity, (size_t)op->part_count + 1, sizeof *op->parts))
        return;
    op->part_capacity = (uint32_t)capacity;
    op->parts[op->part_count].role = (uint32_t)(word >> 32) & 0xff;
    op->parts[op->part_count++].id = (uint32_t)word;
}

static void begin_op(struct source *s, struct track *t, uint64_t word, const struct slot *slots,
                     uint32_t more, uint64_t ns)
{
    struct slot second = load_slot(&slots[1]), third = more > 1 ? load_slot(&slots[2]) : (struct slot){0, 0};
    uint32_t name = source_name(s, (uint32_t)word);
    t->zones_begun++;
    if (!array_reserve(&t->ops, &t->op_capacity, (size_t)t->op_count + 1, sizeof *t->ops) ||
        !track_push(t, ns, name, ZONE_OP)) {
        damaged(s, t, ns);
        t->too_deep++;
        return;
    }
    t->ops[t->op_count++] = (struct open_op){
        .call = second.time_kind,
        .start = ns,
        .depth = t->depth - 1,
        .name = name,
        .type = (uint32_t)(word >> 32) & 0xff,
        .device = (uint32_t)second.word,
        .sequence = third.time_kind,
        .forward = third.word,
        .has_sequence = more > 1,
        .was_taken = t->is_muted,
    };
    s->collector->taken.records++;
    add_extra(t, TRACE_EXTRA_CALL, second.time_kind);
    if (second.word >> 32)
        add_part(t, second.word >> 32 | (uint64_t)PART_LIST << 32);
}

/* One part of a list, or a part by itself, as a text of the trace; false: there are too many. */
struct described {
    uint32_t count;
    struct {
        uint32_t role;
        size_t start, end; /* in the collector's scratch, which may move while it grows */
    } parts[MAX_OP_PARTS];
};

static bool add_described(struct described *d, uint32_t role, size_t start, size_t end)
{
    if (d->count == MAX_OP_PARTS)
        return false;
    d->parts[d->count].role = role;
    d->parts[d->count].start = start;
    d->parts[d->count++].end = end;
    return true;
}

/* The texts of a list stay where they are: each begins after the byte that says what it is and ends at a NUL, or with
 * the list. The byte of a part whose role is 0 is that NUL: it is no part. */
static void add_list(struct described *d, const struct bytes *text, size_t start)
{
    while (start < text->length) {
        const uint8_t *at = text->data + start, *nul = memchr(at, 0, text->length - start);
        size_t end = nul ? (size_t)(nul - text->data) : text->length;
        if (end > start && !add_described(d, at[0], start + 1, end))
            return;
        start = end + 1;
    }
}

static void add_texts(struct source *s, const struct open_op *op, struct described *d)
{
    struct bytes *text = &s->collector->scratch;
    bytes_clear(text);
    for (uint32_t i = 0; i < op->part_count; i++) {
        struct segment_name ignored;
        size_t start = text->length;
        session_segment_definition(s->segment, op->parts[i].id, &ignored, text);
        if (text->failed)
            return;
        if (op->parts[i].role == PART_LIST) {
            add_list(d, text, start);
            continue;
        }
        size_t length = text->length - start;
        char *nul = length ? memchr(text->data + start, 0, length) : NULL;
        if (op->parts[i].role == PART_ATTRIBUTE && nul) /* key NUL value */
            *nul = '=';
        add_described(d, op->parts[i].role, start, text->length);
    }
}

/* What an observer of many ops describes with ids that it keeps is described once. */
static uint64_t description_key(const struct open_op *op)
{
    uint64_t key = 0;
    for (uint32_t i = 0; i < op->part_count; i++) {
        if (op->part_count > 2 || op->parts[i].role != PART_LIST)
            return 0;
        key |= (uint64_t)op->parts[i].id << (32 * i);
    }
    return key;
}

/* The interned list of an op's parts, as texts of the trace. */
static uint32_t describe(struct source *s, const struct open_op *op)
{
    struct described d = {.count = 0};
    struct trace_part parts[MAX_OP_PARTS];
    uint64_t key = description_key(op);
    uint32_t known = key ? map_get(&s->descriptions, key) : MAP_NONE;
    if (known != MAP_NONE || !op->part_count)
        return op->part_count ? known : TRACE_NONE;
    add_texts(s, op, &d);
    if (s->collector->scratch.failed)
        return TRACE_NONE;
    const char *texts = bytes_text(&s->collector->scratch);
    for (uint32_t i = 0; i < d.count; i++)
        parts[i] = (struct trace_part){
            d.parts[i].role, slice_from(texts + d.parts[i].start, d.parts[i].end - d.parts[i].start)};
    known = trace_writer_description(s->collector->writer, parts, d.count);
    if (key && known != TRACE_NONE)
        map_put(&s->descriptions, key, known);
    return known;
}

void record_drop_zone(struct track *t, uint32_t depth, bool is_op)
{
    while (t->extra_count > 0 && t->extras[t->extra_count - 1].depth >= depth)
        free(t->extras[--t->extra_count].text);
    struct open_op *op = is_op && t->op_count ? &t->ops[t->op_count - 1] : NULL;
    if (op && op->depth == depth) {
        free(op->parts);
        t->op_count--;
    }
}

/* Autograd's figures of an op; how many. */
static uint32_t list_figures(struct source *s, const struct open_op *op, struct trace_run_part figures[2])
{
    struct trace_writer *w = s->collector->writer;
    uint32_t count = 0;
    if (!op->has_sequence)
        return 0;
    if (!s->has_figure_names) {
        s->sequence_name = trace_writer_name(w, TRACE_FIGURE_SEQUENCE, "", "", 0, 0);
        s->forward_name = trace_writer_name(w, TRACE_FIGURE_FORWARD, "", "", 0, 0);
        s->has_figure_names = true;
    }
    figures[count++] =
        (struct trace_run_part){.name = s->sequence_name, .kind = TRACE_FIGURE_COUNT, .whole = op->sequence};
    if (op->forward)
        figures[count++] = (struct trace_run_part){
            .name = s->forward_name, .kind = TRACE_FIGURE_COUNT, .whole = op->forward};
    return count;
}

void record_end_op(struct source *s, struct track *t, uint32_t depth, uint64_t end_ns)
{
    struct open_op *op = t->op_count ? &t->ops[t->op_count - 1] : NULL;
    struct trace_run_part figures[2];
    if (!op || op->depth != depth)
        return;
    struct trace_op row = {.call = op->call,
                           .process = t->process_id,
                           .track = t->lane.trace_id,
                           .name = op->name,
                           .type = op->type,
                           .device = op->device,
                           .description = describe(s, op),
                           .start_ns = op->start,
                           .end_ns = end_ns,
                           .part_count = list_figures(s, op, figures),
                           .parts = figures};
    if (!t->is_muted) {
        trace_writer_op(s->collector->writer, &row);
        s->collector->stats.ops++;
        s->collector->known_rows.records += op->was_taken;
    }
    free(op->parts);
    t->op_count--;
}

/* --- the rest --- */

static void take_run(struct source *s, struct track *t, const struct slot *slots, uint32_t more,
                     uint64_t time_kind, uint64_t word)
{
    struct trace_run_part parts[SESSION_PIECE_SLOTS];
    struct slot first = load_slot(&slots[1]), second = load_slot(&slots[2]);
    uint32_t count = more - 2;
    for (uint32_t i = 0; i < count; i++) {
        struct slot part = load_slot(&slots[3 + i]);
        parts[i] = (struct trace_run_part){.name = source_name(s, (uint32_t)part.time_kind),
                                           .kind = (uint32_t)(part.time_kind >> 32),
                                           .whole = part.word};
        if (parts[i].kind >= TRACE_FIGURE_KINDS)
            parts[i].kind = TRACE_FIGURE_COUNT;
        if (parts[i].kind == TRACE_FIGURE_TEXT)
            parts[i].whole = source_name(s, (uint32_t)part.word);
    }
    struct trace_run run = {
        .call = first.word,
        .process = t->process_id,
        .name = source_name(s, (uint32_t)word),
        .session = (uint32_t)(second.time_kind >> 32),
        .cores = (uint32_t)second.time_kind,
        .flags = (uint32_t)second.word,
        .part_count = count,
        .start = slot_device_ticks(time_kind, second.word),
        .duration = first.time_kind,
        .parts = parts,
    };
    uint32_t reason = device_run(s, t->process_id, (uint32_t)(word >> 32) & 0xffffff, &run);
    if (reason)
        lose(s, t, reason, t->last_ns);
}

static void take_counter(struct source *s, struct track *t, uint64_t word, uint64_t bits, uint64_t ns)
{
    if (t->is_muted)
        return;
    struct trace_counter counter = {
        .track = t->lane.trace_id, .name = source_name(s, (uint32_t)word), .time = ns};
    memcpy(&counter.value, &bits, sizeof bits);
    trace_writer_counter(s->collector->writer, &counter);
    s->collector->taken.records++;
}

static void take_memory(struct source *s, struct track *t, uint64_t word, struct slot second, uint64_t ns)
{
    if (t->is_muted)
        return;
    struct trace_memory memory = {.track = t->lane.trace_id,
                                  .time = ns,
                                  .address = second.time_kind,
                                  .size = second.word,
                                  .is_release = (word >> 32) & 1,
                                  .is_all = (word >> 32 & 3) == 3};
    memory.pool = (uint32_t)word ? source_name(s, (uint32_t)word) : TRACE_NONE;
    trace_writer_memory(s->collector->writer, &memory);
    s->collector->taken.records++;
}

/* Of the thread itself, or of the track of a device that it names. */
static void take_name(struct source *s, struct track *t, uint32_t device_track, uint32_t id)
{
    uint32_t track_id = device_track ? device_trace_track(s, t->process_id, device_track) : t->trace_id;
    const struct trace_track *known = trace_writer_get_track(s->collector->writer, track_id);
    struct bytes *text = &s->collector->scratch;
    struct segment_name ignored;
    bytes_clear(text);
    if (!known || !session_segment_definition(s->segment, id, &ignored, text))
        return;
    bytes_append_u8(text, 0);
    struct trace_track track = *known;
    track.name = (const char *)text->data;
    if (!text->failed)
        trace_writer_track(s->collector->writer, &track);
}

static void take_frame(struct source *s, struct track *t, uint32_t id, uint64_t ns)
{
    struct bytes *text = &s->collector->scratch;
    struct segment_name ignored;
    bytes_clear(text);
    if (t->is_muted || !session_segment_definition(s->segment, id, &ignored, text))
        return;
    bytes_append_u8(text, 0); /* a site's text begins with its name and a NUL */
    struct trace_point point = {.track = t->lane.trace_id,
                                .kind = TRACE_POINT_FRAME,
                                .time = ns,
                                .header = (const char *)text->data,
                                .text = ""};
    if (text->failed)
        return;
    trace_writer_point(s->collector->writer, &point);
    s->collector->taken.records++;
}

/* Records of one slot. */
static void take_short(struct source *s, struct track *t, unsigned kind, uint64_t word, uint64_t ns)
{
    switch (kind) {
    case RECORD_FRAME:
        take_frame(s, t, (uint32_t)word, ns);
        break;
    case RECORD_ZONE_COLOUR:
        add_extra(t, TRACE_EXTRA_COLOUR, (word >> 32) & 0xffffff);
        break;
    case RECORD_OP_PART:
        add_part(t, word);
        return;
    case RECORD_THREAD_NAME:
        take_name(s, t, (uint32_t)(word >> 32), (uint32_t)word);
        return;
    case RECORD_NOTHING:
        return;
    case RECORD_PAUSE:
        pause_note(s->collector, t->process_id, (uint32_t)word ? PAUSE_STOPS : PAUSE_GOES_ON, ns);
        return;
    case RECORD_TASK_BEGIN:
        task_begin(s, t, (uint32_t)word, ns);
        return;
    case RECORD_TASK_SWITCH:
        fiber_switch(s, t, (uint32_t)word, ns);
        return;
    case RECORD_LATE_ENDS:
        track_lose(t, TRACE_LOSS_LATE_ENDS, t->last_ns, ns, (uint32_t)word, 0);
        for (uint32_t i = 0; i < (uint32_t)word && (t->depth || t->too_deep); i++)
            track_end_zone(s, t, ns);
        return;
    default:
        damaged(s, t, ns);
        return;
    }
    s->collector->stats.other++;
}

uint32_t record_take(struct source *s, struct track *t, const struct slot *slots, uint32_t available,
                     uint64_t time_kind, uint64_t word, uint64_t ns)
{
    unsigned kind = (unsigned)(time_kind & 0xff);
    uint32_t more = slot_more(kind, word);
    if (!time_kind && more < available) /* never written: its call was left by siglongjmp */
        return 1 + more;
    if (kind < 128 && more < available) {
        take_short(s, t, kind, word, ns);
        return 1 + more;
    }
    if (more >= available) { /* says it is longer than what is there: nothing after it can be trusted */
        damaged(s, t, ns);
        return available;
    }
    struct slot second = more ? load_slot(&slots[1]) : (struct slot){0, 0};
    bool is_text = kind == RECORD_ZONE_TEXT || kind == RECORD_MESSAGE || kind == RECORD_SIGNPOST;
    if (is_text) {
        take_text(s, t, slots, more, kind, word, ns);
        return 1 + more;
    }
    uint32_t least = kind == RECORD_DEVICE_RUN ? 2 : 1;
    if (more < least) {
        damaged(s, t, ns);
        return 1 + more;
    }
    bool is_device = kind == RECORD_DEVICE_ZONE || kind == RECORD_DEVICE_RUN || kind == RECORD_CLOCK_SYNC;
    if (t->is_muted && is_device)
        return 1 + more;
    switch (kind) {
    case RECORD_COUNTER:
        take_counter(s, t, word, second.time_kind, ns);
        break;
    case RECORD_ZONE_VALUE:
        add_extra(t, TRACE_EXTRA_VALUE, second.time_kind);
        break;
    case RECORD_MEMORY:
        take_memory(s, t, word, second, ns);
        break;
    case RECORD_OP_BEGIN:
        begin_op(s, t, word, slots, more, ns);
        return 1 + more;
    case RECORD_SPAN_BEGIN:
        span_begin(s, t, source_name(s, (uint32_t)word), second.time_kind, ns);
        return 1 + more;
    case RECORD_SPAN_END:
        span_end(s, t, second.time_kind, ns);
        return 1 + more;
    case RECORD_ZONE_SUSPEND:
        span_from_zone(s, t, source_name(s, (uint32_t)word), second.time_kind);
        return 1 + more;
    case RECORD_LOCK:
        lock_step(s, t, word, second.time_kind, ns);
        break;
    case RECORD_DEVICE_ZONE: {
        struct device_row row = {slot_device_ticks(time_kind, second.word), second.time_kind,
                                 second.word & SLOT_LOW_BITS, source_name(s, (uint32_t)word), false};
        uint32_t reason = device_zone(s, t->process_id, (uint32_t)(word >> 32) & 0xffffff, &row);
        if (reason)
            lose(s, t, reason, t->last_ns);
        break;
    }
    case RECORD_DEVICE_RUN:
        take_run(s, t, slots, more, time_kind, word);
        break;
    case RECORD_CLOCK_SYNC:
        device_sync(s, (uint32_t)word, ns, second.time_kind, second.word);
        break;
    case RECORD_DEVICE_LOST:
        if (!t->is_muted && more >= 2) {
            const uint64_t ticks[2] = {second.time_kind, second.word};
            device_lost(s, t, (uint32_t)word, ticks, load_slot(&slots[2]).time_kind, ns);
        }
        break;
    default:
        break; /* from a newer recorder: skipped by its length */
    }
    s->collector->stats.other++;
    return 1 + more;
}

void record_free(struct track *t)
{
    while (t->text_count)
        free_text(t);
    for (uint32_t i = 0; i < t->extra_count; i++)
        free(t->extras[i].text);
    for (uint32_t i = 0; i < t->op_count; i++)
        free(t->ops[i].parts);
    free(t->extras);
    free(t->ops);
    t->extras = NULL;
    t->ops = NULL;
    t->extra_count = t->op_count = 0;
    t->extra_capacity = t->op_capacity = 0;
}
