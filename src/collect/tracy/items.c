/* SPDX-License-Identifier: Apache-2.0 */
/* The records of a frame, one after the other: what they mean does not depend on the version any more when they leave
 * here. Kinds that nobody uses are passed over by their size, and counted. */
#include <errno.h>
#include <inttypes.h>

#include "collect/tracy/internal.h"

#define BIAS_16 65536                          /* what the 32-bit form of a difference leaves out */
#define BIAS_32 (BIAS_16 + (INT64_C(1) << 32)) /* and the 64-bit form, where there are shorter ones */
#define LONGEST_STEP 17u                       /* bytes of a begin with a time of 64 bits */
#define LONG_TEXT 256u /* what the length of a long text leaves out since version 80 */

/* A function that takes a record of fixed size; which records, records.def says. */
#define TAKES(function)                                                                                      \
    static void function(struct tracy_stream *s __attribute__((unused)),                                     \
                         unsigned record __attribute__((unused)), const uint8_t *at __attribute__((unused)), \
                         unsigned size __attribute__((unused)))

static int64_t add(int64_t time, int64_t delta)
{
    return (int64_t)((uint64_t)time + (uint64_t)delta);
}

static uint32_t colour_of(const uint8_t *bgr)
{
    return (uint32_t)bgr[2] << 16 | (uint32_t)bgr[1] << 8 | bgr[0];
}

/* The difference that a record of three possible lengths carries at `at`. */
static int64_t delta_of(const struct tracy_stream *s, const uint8_t *at, unsigned bytes, uint32_t since)
{
    if (bytes == 2)
        return tracy_u16(at);
    if (bytes == 4)
        return (int64_t)tracy_u32(at) + BIAS_16;
    int64_t stored = (int64_t)tracy_u64(at);
    return stored >= 0 && s->table.dialect.version >= since ? add(stored, BIAS_32) : stored;
}

static int64_t thread_time(struct tracy_stream *s, const uint8_t *at)
{
    return s->thread_time = add(s->thread_time, (int64_t)tracy_u64(at));
}

static int64_t serial_time(struct tracy_stream *s, const uint8_t *at)
{
    return s->serial_time = add(s->serial_time, (int64_t)tracy_u64(at));
}

static void emit(struct tracy_stream *s, const struct tracy_event *event)
{
    s->event(s->context, event);
}

/* --- texts that came before --- */

static void keep_text(struct pending_text *pending, const uint8_t *text, size_t length)
{
    bytes_clear(&pending->bytes);
    bytes_append(&pending->bytes, text, length);
    pending->is_there = !pending->bytes.failed;
}

/* A text that never came is an empty one. */
static void take_text(struct pending_text *pending, struct tracy_event *event)
{
    event->text = "";
    if (pending->is_there) {
        event->text = bytes_text(&pending->bytes);
        event->text_length = (uint32_t)pending->bytes.length;
    }
    pending->is_there = false;
}

static uint32_t take_location(struct tracy_stream *s)
{
    bool is_there = s->location.is_there;
    s->location.is_there = false;
    return is_there ? tracy_names_payload(&s->names, s->location.bytes.data, s->location.bytes.length)
                    : TRACY_NONE;
}

static inline uint32_t find_source(struct tracy_stream *s, uint64_t address)
{
    unsigned slot = (unsigned)(address >> 3 ^ address >> 11) & 255;
    if (s->recent[slot].address != address || !address) {
        s->recent[slot].source = tracy_names_source(&s->names, address);
        s->recent[slot].address = address;
    }
    return s->recent[slot].source;
}

/* --- zones --- */

static void emit_begin(struct tracy_stream *s, uint32_t source)
{
    if (s->steps)
        s->steps(s->context, s->thread, &(struct tracy_step){s->thread_time, source}, 1);
    else
        emit(s, &(struct tracy_event){.kind = TRACY_EVENT_ZONE_BEGIN,
                                      .thread = s->thread,
                                      .time = s->thread_time,
                                      .source = source});
}

TAKES(zone_begin)
{
    unsigned bytes = size - 9;
    s->thread_time = add(s->thread_time, delta_of(s, at + 1, bytes, 79));
    emit_begin(s, find_source(s, tracy_u64(at + 1 + bytes)));
}

TAKES(zone_begin_payload)
{
    thread_time(s, at + 1);
    emit_begin(s, take_location(s));
}

TAKES(zone_end)
{
    s->thread_time = add(s->thread_time, delta_of(s, at + 1, size - 1, 78));
    if (s->steps)
        s->steps(s->context, s->thread, &(struct tracy_step){s->thread_time, TRACY_END}, 1);
    else
        emit(s, &(struct tracy_event){
                    .kind = TRACY_EVENT_ZONE_END, .thread = s->thread, .time = s->thread_time});
}

TAKES(zone_detail)
{
    struct tracy_event event = {.thread = s->thread, .time = s->thread_time};
    switch (record) {
    case TRACY_ZONE_COLOR:
        event.kind = TRACY_EVENT_ZONE_COLOUR;
        event.value = colour_of(at + 1);
        break;
    case TRACY_ZONE_VALUE:
        event.kind = TRACY_EVENT_ZONE_VALUE;
        event.value = tracy_u64(at + 1);
        break;
    default:
        event.kind = record == TRACY_ZONE_NAME ? TRACY_EVENT_ZONE_NAME : TRACY_EVENT_ZONE_TEXT;
        take_text(&s->text, &event);
        break;
    }
    emit(s, &event);
}

/* --- messages, frames, plots, memory --- */

TAKES(message)
{
    uint32_t version = s->table.dialect.version;
    struct tracy_event event = {.kind = record == TRACY_MESSAGE_APP_INFO ? TRACY_EVENT_APP_INFO
                                                                         : TRACY_EVENT_MESSAGE,
                                .thread = s->thread,
                                .time = (int64_t)tracy_u64(at + 1),
                                .name = TRACY_NONE};
    if (record >= TRACY_MESSAGE_LITERAL && record <= TRACY_MESSAGE_LITERAL_COLOR_CALLSTACK) {
        uint64_t tagged = tracy_u64(at + size - 8), address = tagged;
        if (version >= 79) {
            address = tagged >> 8;
            event.number = tagged & 0xff;
        } else if (version >= 77) {
            address = tagged & (UINT64_MAX >> 8);
            event.number = (uint32_t)(tagged >> 56);
        }
        event.name = tracy_names_find(&s->names, TRACY_ASK_STRING, address);
    } else {
        take_text(&s->text, &event);
        if (version >= 77 && record != TRACY_MESSAGE_APP_INFO)
            event.number = at[size - 1];
    }
    emit(s, &event);
}

TAKES(frame)
{
    emit(s, &(struct tracy_event){.kind = record == TRACY_FRAME_MARK_MSG_START ? TRACY_EVENT_FRAME_START
                                          : record == TRACY_FRAME_MARK_MSG_END ? TRACY_EVENT_FRAME_END
                                                                               : TRACY_EVENT_FRAME,
                                  .thread = s->thread,
                                  .time = (int64_t)tracy_u64(at + 1),
                                  .name = tracy_names_find(&s->names, TRACY_ASK_FRAME, tracy_u64(at + 9))});
}

TAKES(plot)
{
    struct tracy_event event = {.kind = TRACY_EVENT_PLOT,
                                .thread = s->thread,
                                .time = thread_time(s, at + 9),
                                .name = tracy_names_find(&s->names, TRACY_ASK_PLOT, tracy_u64(at + 1))};
    float small;
    if (record == TRACY_PLOT_DATA_INT) {
        event.real = (double)(int64_t)tracy_u64(at + 17);
    } else if (record == TRACY_PLOT_DATA_FLOAT) {
        memcpy(&small, at + 17, sizeof small);
        event.real = (double)small;
    } else {
        memcpy(&event.real, at + 17, sizeof event.real);
    }
    emit(s, &event);
}

TAKES(memory)
{
    bool is_release = size == 21;
    struct tracy_event event = {.kind = is_release ? TRACY_EVENT_FREE : TRACY_EVENT_ALLOC,
                                .time = serial_time(s, at + 1),
                                .thread = tracy_u32(at + 9),
                                .address = tracy_u64(at + 13),
                                .name = tracy_names_find(&s->names, TRACY_ASK_STRING, s->pool)};
    if (!is_release)
        event.value = tracy_u32(at + 21) | (uint64_t)tracy_u16(at + 25) << 32;
    s->pool = 0;
    tracy_names_find(&s->names, TRACY_ASK_THREAD, event.thread);
    emit(s, &event);
}

/* All that a pool holds. */
TAKES(memory_discard)
{
    struct tracy_event event = {.kind = TRACY_EVENT_FREE_ALL,
                                .time = serial_time(s, at + 1),
                                .thread = tracy_u32(at + 9),
                                .name = tracy_names_find(&s->names, TRACY_ASK_STRING, tracy_u64(at + 13))};
    tracy_names_find(&s->names, TRACY_ASK_THREAD, event.thread);
    emit(s, &event);
}

/* --- locks --- */

TAKES(lock_step)
{
    struct tracy_event event = {.is_shared = record >= TRACY_LOCK_SHARED_WAIT};
    switch (record) {
    case TRACY_LOCK_RELEASE:
    case TRACY_LOCK_SHARED_RELEASE:
        event.kind = TRACY_EVENT_LOCK_RELEASE;
        event.number = tracy_u32(at + 1);
        event.time = serial_time(s, at + 5);
        event.thread = event.is_shared ? tracy_u32(at + 13) : 0;
        break;
    default:
        event.kind = record == TRACY_LOCK_WAIT || record == TRACY_LOCK_SHARED_WAIT ? TRACY_EVENT_LOCK_WAIT
                                                                                   : TRACY_EVENT_LOCK_OBTAIN;
        event.thread = tracy_u32(at + 1);
        event.number = tracy_u32(at + 5);
        event.time = serial_time(s, at + 9);
        tracy_names_find(&s->names, TRACY_ASK_THREAD, event.thread);
        break;
    }
    emit(s, &event);
}

TAKES(lock_fact)
{
    struct tracy_event event = {.number = tracy_u32(at + 1)};
    if (record == TRACY_LOCK_NAME) {
        event.kind = TRACY_EVENT_LOCK_NAME;
        take_text(&s->text, &event);
    } else {
        event.kind = TRACY_EVENT_LOCK;
        event.time = (int64_t)tracy_u64(at + 5);
        event.source = find_source(s, tracy_u64(at + 13));
        event.is_shared = at[21] != 0;
    }
    emit(s, &event);
}

/* --- GPU contexts --- */

static uint32_t context_at(const struct tracy_stream *s, const uint8_t *at)
{
    return s->table.dialect.has_wide_contexts ? tracy_u16(at) : *at;
}

TAKES(gpu_zone)
{
    bool is_serial = record >= TRACY_GPU_ZONE_BEGIN_SERIAL;
    bool is_end = record == TRACY_GPU_ZONE_END || record == TRACY_GPU_ZONE_END_SERIAL;
    struct tracy_event event = {.kind = is_end ? TRACY_EVENT_GPU_END : TRACY_EVENT_GPU_BEGIN,
                                .time = is_serial ? serial_time(s, at + 1) : thread_time(s, at + 1),
                                .thread = tracy_u32(at + 9),
                                .query = tracy_u16(at + 13),
                                .number = context_at(s, at + 15),
                                .source = TRACY_NONE};
    if (size >= 24)
        event.source = find_source(s, tracy_u64(at + size - 8));
    else if (!is_end)
        event.source = take_location(s);
    emit(s, &event);
}

TAKES(gpu_clock)
{
    struct tracy_event event = {.gpu_time = (int64_t)tracy_u64(at + 1)};
    switch (record) {
    case TRACY_GPU_TIME:
        event.kind = TRACY_EVENT_GPU_TIME;
        event.gpu_time = s->gpu_time = add(s->gpu_time, event.gpu_time);
        event.query = tracy_u16(at + 9);
        event.number = context_at(s, at + 11);
        break;
    case TRACY_GPU_CALIBRATION:
    case TRACY_GPU_TIME_SYNC:
        event.kind = TRACY_EVENT_GPU_SYNC;
        event.time = (int64_t)tracy_u64(at + 9);
        event.number = context_at(s, at + (record == TRACY_GPU_CALIBRATION ? 25 : 17));
        break;
    default: /* TRACY_GPU_WHOLE_ZONE */
        event.kind = TRACY_EVENT_GPU_ZONE;
        event.value = tracy_u64(at + 9);
        event.source = find_source(s, tracy_u64(at + 17));
        event.thread = tracy_u32(at + 25);
        event.number = context_at(s, at + 29);
        break;
    }
    emit(s, &event);
}

TAKES(gpu_context)
{
    struct tracy_event event = {0};
    if (record == TRACY_GPU_CONTEXT_NAME) {
        event.kind = TRACY_EVENT_GPU_CONTEXT_NAME;
        event.number = context_at(s, at + 1);
        take_text(&s->text, &event);
    } else {
        float period;
        memcpy(&period, at + 21, sizeof period);
        event.kind = TRACY_EVENT_GPU_CONTEXT;
        event.time = (int64_t)tracy_u64(at + 1);
        event.gpu_time = (int64_t)tracy_u64(at + 9);
        event.thread = tracy_u32(at + 17);
        event.real = (double)period;
        event.number = context_at(s, at + 25);
        event.value = at[size - 1];
    }
    emit(s, &event);
}

/* Whether contexts have 8 or 16 bits is not said: the first record that has one tells. With 16 bits, and less than 256
 * contexts, it is a byte longer than we think, and that byte is 0; after a record of the other kind, 0 would be the
 * text of a zone, whose text would have to stand before it. A new context ends with its flags, 0 or 1, and its type. */
static void find_width(struct tracy_stream *s, unsigned record, const uint8_t *at, size_t left, unsigned size)
{
    bool is_wide = left > size && at[size] == 0;
    if (record == TRACY_GPU_NEW_CONTEXT)
        is_wide = left > size && (at[27] == 0 || (at[27] == 1 && (at[28] == 6 || at[28] == 10)));
    s->is_width_known = true;
    if (is_wide)
        tracy_table_make(&s->table, (struct tracy_dialect){s->table.dialect.version, true});
}

/* --- the rest --- */

TAKES(fiber)
{
    bool is_enter = record == TRACY_FIBER_ENTER;
    struct tracy_event event = {.kind = is_enter ? TRACY_EVENT_FIBER_ENTER : TRACY_EVENT_FIBER_LEAVE,
                                .time = thread_time(s, at + 1),
                                .thread = tracy_u32(at + (is_enter ? 17 : 9)),
                                .name = TRACY_NONE};
    if (is_enter)
        event.name = tracy_names_find(&s->names, TRACY_ASK_FIBER, tracy_u64(at + 9));
    tracy_names_find(&s->names, TRACY_ASK_THREAD, event.thread);
    emit(s, &event);
}

TAKES(section)
{
    struct tracy_event event = {.kind = record == TRACY_SECTION_ENTER ? TRACY_EVENT_SECTION_ENTER
                                                                      : TRACY_EVENT_SECTION_LEAVE,
                                .thread = s->thread,
                                .time = thread_time(s, at + 1),
                                .number = tracy_u32(at + 9)};
    if (record == TRACY_SECTION_ENTER)
        take_text(&s->text, &event);
    emit(s, &event);
}

TAKES(sample)
{
    bool is_old = s->table.dialect.version <= 78;
    struct tracy_event event = {.kind = TRACY_EVENT_SAMPLE, .thread = tracy_u32(at + (is_old ? 9 : 1))};
    s->switch_time = add(s->switch_time, delta_of(s, at + (is_old ? 1 : 5), size - 5, 79));
    event.time = s->switch_time;
    take_text(&s->stack, &event);
    bool is_asked = s->table.dialect.version >= 66 && event.time >= s->welcome.first_tick;
    for (uint32_t i = 0; is_asked && i + 8 <= event.text_length; i += 8) {
        uint64_t address = tracy_u64((const uint8_t *)event.text + i);
        if (tracy_is_address(address)) /* the others are the kernel's */
            tracy_names_find(&s->names, TRACY_ASK_CODE, address);
    }
    tracy_names_find(&s->names, TRACY_ASK_THREAD, event.thread);
    emit(s, &event);
}

/* What is at an address of code: the number of functions, then each with its name (and file). */
TAKES(code)
{
    struct tracy_event name = {0};
    take_text(&s->text, &name);
    if (record == TRACY_CALLSTACK_FRAME_SIZE) {
        s->code = tracy_u64(at + 1);
        s->code_left = at[9];
        return;
    }
    if (s->code_left && --s->code_left == 0) /* the one that the others were inlined into */
        tracy_names_answer(&s->names, TRACY_ASK_CODE, s->code, name.text, name.text_length);
}

TAKES(system_state)
{
    struct tracy_event event = {.time = (int64_t)tracy_u64(at + 1), .thread = s->thread, .name = TRACY_NONE};
    float percent;
    switch (record) {
    case TRACY_CONTEXT_SWITCH:
        event.kind = TRACY_EVENT_CONTEXT_SWITCH;
        event.time = s->switch_time = add(s->switch_time, event.time);
        event.value = (uint64_t)tracy_u32(at + 9) << 32 | tracy_u32(at + 13);
        event.number = at[17];
        break;
    case TRACY_SYS_TIME_REPORT:
        event.kind = TRACY_EVENT_CPU_LOAD;
        memcpy(&percent, at + 9, sizeof percent);
        event.real = (double)percent;
        break;
    default: /* TRACY_CRASH_REPORT */
        event.kind = TRACY_EVENT_CRASH;
        event.name = tracy_names_find(&s->names, TRACY_ASK_STRING, tracy_u64(at + 9));
        break;
    }
    emit(s, &event);
}

static void answer(struct tracy_stream *s, unsigned record, const uint8_t *at, const uint8_t *text,
                   size_t length)
{
    enum tracy_query kind = record == TRACY_THREAD_NAME  ? TRACY_ASK_THREAD
                            : record == TRACY_PLOT_NAME  ? TRACY_ASK_PLOT
                            : record == TRACY_FRAME_NAME ? TRACY_ASK_FRAME
                            : record == TRACY_FIBER_NAME ? TRACY_ASK_FIBER
                                                         : TRACY_ASK_STRING;
    uint64_t address = tracy_u64(at + 1);
    tracy_names_answer(&s->names, kind, address, text, length);
    if (kind == TRACY_ASK_THREAD)
        emit(s, &(struct tracy_event){.kind = TRACY_EVENT_THREAD_NAME,
                                      .thread = (uint32_t)address,
                                      .text = (const char *)text,
                                      .text_length = (uint32_t)length});
}

/* A record with a body: `text` is the body. */
static void take_body(struct tracy_stream *s, unsigned record, const uint8_t *at, const uint8_t *text,
                      size_t length)
{
    switch (record) {
    case TRACY_SINGLE_STRING_DATA:
    case TRACY_SINGLE_STRING_DATA_8:
        keep_text(&s->text, text, length);
        break;
    case TRACY_SOURCE_LOCATION_PAYLOAD:
        keep_text(&s->location, text, length);
        break;
    case TRACY_CALLSTACK_PAYLOAD:
        keep_text(&s->stack, text, length);
        break;
    case TRACY_STRING_DATA:
    case TRACY_THREAD_NAME:
    case TRACY_PLOT_NAME:
    case TRACY_FRAME_NAME:
    case TRACY_FIBER_NAME:
        answer(s, record, at, text, length);
        break;
    default:
        s->counts.unused++;
        break;
    }
}

/* What only the records after it need. */
TAKES(state)
{
    switch (record) {
    case TRACY_THREAD_CONTEXT:
        s->thread = tracy_u32(at + 1);
        s->thread_time = 0;
        tracy_names_find(&s->names, TRACY_ASK_THREAD, s->thread);
        break;
    case TRACY_SOURCE_LOCATION:
        if (!tracy_names_answer_source(&s->names, at))
            tracy_names_stop(&s->names);
        break;
    case TRACY_MEM_NAME_PAYLOAD:
        s->pool = tracy_u64(at + 1);
        break;
    case TRACY_THREAD_WAKEUP:
        s->switch_time = add(s->switch_time, (int64_t)tracy_u64(at + 1));
        s->counts.unused++;
        break;
    case TRACY_LOCK_MARK:
        find_source(s, tracy_u64(at + 9));
        break;
    case TRACY_TERMINATE:
        s->is_ending = true;
        break;
    case TRACY_GPU_MARKER: /* how its time counts is not known */
        s->location.is_there = false;
        s->counts.unused++;
        break;
    case TRACY_SECTION_SETUP:
    case TRACY_GPU_MARKER_META:
        s->text.is_there = false;
        s->counts.unused++;
        break;
    default: /* the call stack of a zone, a message, an allocation */
        s->stack.is_there = false;
        s->counts.unused++;
        break;
    }
}

TAKES(nothing)
{
} /* that a trace could show */

TAKES(unused)
{
    s->counts.unused++;
}

TAKES(body) /* take_body does */
{
}

typedef void (*take_fn)(struct tracy_stream *s, unsigned record, const uint8_t *at, unsigned size);
static const take_fn takes[] = {
#define RECORD(name, since, size, wide, body, take) take,
#include "collect/tracy/records.def"
#undef RECORD
};

/* Length of the body after the fixed part, and where it begins; SIZE_MAX: not all of it is there. */
static size_t body_length(const struct tracy_stream *s, unsigned body, const uint8_t *at, size_t left,
                          size_t *prefix)
{
    *prefix = body == TRACY_BODY_TEXT8 ? 1 : body == TRACY_BODY_TEXT32 ? 4 : 2;
    if (left < *prefix)
        return SIZE_MAX;
    size_t length = *prefix == 1 ? at[0] : *prefix == 2 ? tracy_u16(at) : tracy_u32(at);
    if (body == TRACY_BODY_TEXT16_LONG && s->table.dialect.version >= 80)
        length += LONG_TEXT;
    return length <= left - *prefix ? length : SIZE_MAX;
}

static bool does_not_fit(struct tracy_stream *s, unsigned type, size_t at, const char *why)
{
    error_set(&s->error, EINVAL,
              "frame %" PRIu64 " of the stream, byte %zu: a record of type %u (%s) %s: not protocol %u?",
              s->counts.frames, at, type, tracy_record_name(s->table.record[type]), why,
              s->table.dialect.version);
    return false;
}

/* The shortest record of a zone has its difference as it is, in 2 or 8 bytes. */
static uint64_t mask_of(unsigned bytes)
{
    return bytes == 2 ? UINT16_MAX : UINT64_MAX;
}

/* Zones that follow one another, as many as go at once. Returns where the rest begins. The shortest records, which most
 * are, are compared with their numbers, and not looked up: where the next one begins can then be foreseen. */
static size_t take_steps(struct tracy_stream *s, const uint8_t *data, size_t length, size_t at)
{
    const struct tracy_table *table = &s->table;
    const unsigned begin = table->begin, begin_size = table->size[begin], end = table->end,
                   end_size = table->size[end];
    const uint64_t begin_mask = mask_of(begin_size - 9), end_mask = mask_of(end_size - 1);
    struct tracy_step steps[TRACY_MOST_STEPS];
    int64_t time = s->thread_time;
    size_t count = 0;
    while (at < length && count < TRACY_MOST_STEPS) {
        const uint8_t *item = data + at;
        unsigned type = item[0], record = table->record[type], size = table->size[type];
        bool is_whole = length - at >= LONGEST_STEP;
        if (type == end && is_whole) {
            time = add(time, (int64_t)(tracy_u64(item + 1) & end_mask));
            steps[count].source = TRACY_END;
            size = end_size;
        } else if (type == begin && is_whole) {
            time = add(time, (int64_t)(tracy_u64(item + 1) & begin_mask));
            steps[count].source = find_source(s, tracy_u64(item + begin_size - 8));
            size = begin_size;
        } else if (size > length - at) {
            break;
        } else if (record - TRACY_ZONE_END <= TRACY_ZONE_END_16 - TRACY_ZONE_END) {
            time = add(time, delta_of(s, item + 1, size - 1, 78));
            steps[count].source = TRACY_END;
        } else if (record - TRACY_ZONE_BEGIN <= TRACY_ZONE_BEGIN_16 - TRACY_ZONE_BEGIN) {
            time = add(time, delta_of(s, item + 1, size - 9, 79));
            steps[count].source = find_source(s, tracy_u64(item + size - 8));
        } else {
            break;
        }
        steps[count++].time = time;
        s->counts.records[record]++;
        at += size;
    }
    s->thread_time = time;
    s->counts.items += count;
    if (count)
        s->steps(s->context, s->thread, steps, count);
    return at;
}

bool tracy_items_take(struct tracy_stream *s, const uint8_t *data, size_t length)
{
    size_t at = 0;
    while (at < length) {
        size_t before = at;
        if (s->steps && (at = take_steps(s, data, length, at)) > before)
            continue;
        unsigned type = data[at], record = s->table.record[type];
        size_t left = length - at, taken = s->table.size[type], prefix;
        if (record == TRACY_NO_RECORD)
            return does_not_fit(s, type, at, "is not known");
        if (__builtin_expect(!s->is_width_known, 0) && s->table.has_context[type]) {
            find_width(s, record, data + at, left, s->table.size[type]);
            continue; /* with what is known now */
        }
        if (taken > left)
            return does_not_fit(s, type, at, "is longer than its frame");
        s->counts.items++;
        s->counts.records[record]++;
        if (__builtin_expect(s->table.body[type] == TRACY_BODY_NONE, 1)) {
            takes[record](s, record, data + at, (unsigned)taken);
        } else {
            const uint8_t *body = data + at + taken;
            size_t bytes = body_length(s, s->table.body[type], body, left - taken, &prefix);
            if (bytes == SIZE_MAX)
                return does_not_fit(s, type, at, "has a text longer than its frame");
            take_body(s, record, data + at, body + prefix, bytes);
            taken += prefix + bytes;
        }
        at += taken;
    }
    return true;
}
