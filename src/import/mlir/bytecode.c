/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a bytecode file, and its ops as text. Regions are walked with a stack of frames, so that they may be
 * nested to any depth. Counts from the file are never believed further than there are bytes left to hold them. */
#include "import/mlir/bytecode.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

#define MAGIC "ML\xefR"
#define VERSION_MAX 6u
#define TEXT_PER_BYTE 256u /* more text than this for a byte of the file, and it was made to explode */
#define NONE UINT32_MAX

enum section {
    SECTION_STRINGS,
    SECTION_DIALECTS,
    SECTION_ATTRIBUTES,
    SECTION_OFFSETS,
    SECTION_IR,
    SECTION_RESOURCES,
    SECTION_RESOURCE_OFFSETS,
    SECTION_VERSIONS,
    SECTION_PROPERTIES,
    SECTIONS
};

enum version {
    VERSION_DIALECTS = 1,
    VERSION_LAZY = 2,
    VERSION_USES = 3,
    VERSION_ELIDED = 4,
    VERSION_PROPERTIES = 5
};

enum mask {
    HAS_ATTRIBUTES = 1,
    HAS_RESULTS = 2,
    HAS_OPERANDS = 4,
    HAS_SUCCESSORS = 8,
    HAS_REGIONS = 16,
    HAS_USES = 32,
    HAS_PROPERTIES = 64
};

struct value {
    uint32_t name, type;
};

struct frame { /* regions of an op that are being written */
    struct bytecode_cursor cursor;
    bool is_isolated;
    uint64_t regions, blocks, ops; /* left */
    uint32_t block;                /* number of the block in its region */
    bool is_open;                  /* a region was begun and is to be closed */
    size_t scope;                  /* values that operands count from */
    size_t region_values;          /* where the values of the region begin */
    size_t next_value;
    size_t tail; /* of the op's own text after its regions, in `tails` */
};

struct walk {
    struct bytecode *b;
    struct frame *frames;
    size_t frame_count, frame_capacity;
    struct value *values;
    size_t value_count, value_capacity;
    struct bytes tails;
    uint32_t names;
    bool failed; /* no memory */
};

uint8_t bytecode_byte(struct bytecode_cursor *c)
{
    if (c->failed || c->at >= c->end) {
        c->failed = true;
        return 0;
    }
    return c->data[c->at++];
}

uint64_t bytecode_varint(struct bytecode_cursor *c)
{
    uint8_t first = bytecode_byte(c);
    uint64_t value = 0;
    if (first & 1)
        return first >> 1;
    unsigned more = first ? (unsigned)__builtin_ctz(first) : 8;
    if (c->failed || c->end - c->at < more) {
        c->failed = true;
        return 0;
    }
    memcpy(&value, c->data + c->at, more);
    c->at += more;
    if (more == 8)
        return value;
    return more == 7 ? value : (value << (7 - more)) | (uint64_t)(first >> (more + 1));
}

int64_t bytecode_signed(struct bytecode_cursor *c)
{
    uint64_t value = bytecode_varint(c);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

bool mlir_is_bytecode(const void *data, size_t length)
{
    return length >= 4 && memcmp(data, MAGIC, 4) == 0;
}

static int refuse(const struct bytecode *b, size_t at, const char *what, struct error *err)
{
    return error_set(err, EINVAL, "%s: byte %zu: %s", b->path, at, what);
}

/* --- sections --- */

/* The next section: its id and a cursor over its body. */
static unsigned next_section(struct bytecode_cursor *c, struct bytecode_cursor *body)
{
    unsigned id = bytecode_byte(c);
    uint64_t length = bytecode_varint(c);
    if (id & 0x80u) {
        uint64_t alignment = bytecode_varint(c);
        if (!alignment || alignment > 65536)
            c->failed = true;
        while (!c->failed && c->at % alignment)
            c->failed |= bytecode_byte(c) != 0xcb;
    }
    if (c->failed || length > c->end - c->at) {
        c->failed = true;
        length = 0;
    }
    *body = (struct bytecode_cursor){c->data, c->at, c->at + length, c->failed};
    c->at += length;
    return id & 0x7fu;
}

/* A count of things that take at least one byte each. */
static uint64_t read_count(struct bytecode_cursor *c)
{
    uint64_t count = bytecode_varint(c);
    if (count > c->end - c->at) {
        c->failed = true;
        return 0;
    }
    return count;
}

static bool read_strings(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t count = read_count(c), total = 0;
    b->strings = calloc(count + 1, sizeof b->strings[0]);
    if (!b->strings)
        return false;
    for (uint64_t i = count; i-- > 0 && !c->failed;) {
        uint64_t length = bytecode_varint(c);
        c->failed |= length == 0 || length > b->length || __builtin_add_overflow(total, length, &total);
        b->strings[i].length = (uint32_t)length;
    }
    c->failed |= total > c->end - c->at;
    for (uint64_t i = 0; i < count && !c->failed; i++) {
        b->strings[i].data = (const char *)c->data + c->at;
        c->at += b->strings[i].length--; /* its NUL is not part of it */
    }
    b->string_count = c->failed ? 0 : count;
    return true;
}

static bool add_name(struct bytecode *b, uint32_t dialect, uint32_t name)
{
    if (!array_reserve(&b->names, &b->name_capacity, b->name_count + 1, sizeof b->names[0]))
        return false;
    b->names[b->name_count].dialect = dialect;
    b->names[b->name_count++].name = name;
    return true;
}

static bool read_dialects(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t count = read_count(c);
    b->dialects = calloc(count + 1, sizeof b->dialects[0]);
    if (!b->dialects)
        return false;
    for (uint64_t i = 0; i < count && !c->failed; i++) {
        struct bytecode_cursor version;
        uint64_t name = bytecode_varint(c);
        if (b->version >= VERSION_DIALECTS) {
            if (name & 1)
                next_section(c, &version);
            name >>= 1;
        }
        c->failed |= name >= b->string_count;
        b->dialects[i] = (uint32_t)name;
    }
    b->dialect_count = c->failed ? 0 : count;
    if (b->version >= VERSION_ELIDED)
        bytecode_varint(c); /* of all op names */
    while (c->at < c->end && !c->failed) {
        uint64_t dialect = bytecode_varint(c), ops = read_count(c);
        c->failed |= dialect >= b->dialect_count;
        for (uint64_t i = 0; i < ops && !c->failed; i++) {
            uint64_t name = bytecode_varint(c) >> (b->version >= VERSION_PROPERTIES);
            c->failed |= name >= b->string_count;
            if (!c->failed && !add_name(b, (uint32_t)dialect, (uint32_t)name))
                return false;
        }
    }
    return true;
}

/* Groups of entries of one dialect, in the order in which their bodies lie in the other section. */
static void read_entries(struct bytecode *b, struct bytecode_cursor *c, struct bytecode_entry *entries,
                         uint64_t count, uint64_t *at, uint64_t end)
{
    for (uint64_t i = 0; i < count && !c->failed;) {
        uint64_t dialect = bytecode_varint(c), in_group = read_count(c);
        c->failed |= dialect >= b->dialect_count || in_group > count - i || !in_group;
        for (uint64_t k = 0; k < in_group && !c->failed; k++, i++) {
            uint64_t length = bytecode_varint(c);
            c->failed |= (length >> 1) > end - *at;
            entries[i] = (struct bytecode_entry){(uint32_t)*at, (uint32_t)(length >> 1), (uint32_t)dialect,
                                                 length & 1};
            *at += c->failed ? 0 : length >> 1;
        }
    }
}

static bool read_attributes(struct bytecode *b, struct bytecode_cursor *offsets,
                            const struct bytecode_cursor *bodies)
{
    uint64_t attributes = read_count(offsets), types = read_count(offsets), at = bodies->at;
    b->attributes = calloc(attributes + 1, sizeof b->attributes[0]);
    b->types = calloc(types + 1, sizeof b->types[0]);
    if (!b->attributes || !b->types)
        return false;
    read_entries(b, offsets, b->attributes, attributes, &at, bodies->end);
    read_entries(b, offsets, b->types, types, &at, bodies->end);
    b->attribute_count = offsets->failed ? 0 : attributes;
    b->type_count = offsets->failed ? 0 : types;
    return true;
}

static bool read_properties(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t count = read_count(c);
    b->properties = calloc(count + 1, sizeof b->properties[0]);
    if (!b->properties)
        return false;
    for (uint64_t i = 0; i < count && !c->failed; i++) {
        uint64_t length = read_count(c);
        b->properties[i] = (struct bytecode_entry){.begin = (uint32_t)c->at, .length = (uint32_t)length};
        c->at += length;
    }
    b->property_count = c->failed ? 0 : count;
    return true;
}

/* --- ops --- */

static const struct value *value_at(struct walk *w, const struct frame *frame, uint64_t id)
{
    if (id >= w->value_count - frame->scope) {
        w->b->is_damaged = true;
        return NULL;
    }
    return &w->values[frame->scope + id];
}

/* The next value of the region that is being read gets its type. */
static uint32_t define(struct walk *w, struct frame *frame, uint64_t type)
{
    if (frame->next_value >= w->value_count || type >= w->b->type_count) {
        w->b->is_damaged = true;
        return 0;
    }
    struct value *value = &w->values[frame->next_value++];
    value->type = (uint32_t)type;
    return value->name;
}

static void append_value_type(struct walk *w, const struct value *value, struct bytes *out)
{
    struct bytes *own = w->b->out;
    w->b->out = out;
    if (value->type == NONE)
        bytes_append_text(out, "none"); /* used before its block: its type comes later */
    else
        bytecode_append_type(w->b, value->type);
    w->b->out = own;
}

/* Orders of uses matter to nobody here. */
static void skip_uses(struct bytecode_cursor *c, uint64_t values)
{
    uint64_t listed = values > 1 ? read_count(c) : 1;
    for (uint64_t i = 0; i < listed && !c->failed; i++) {
        if (values > 1)
            bytecode_varint(c);
        uint64_t count = bytecode_varint(c) >> 1;
        for (uint64_t k = 0; k < count && !c->failed; k++)
            bytecode_varint(c);
    }
}

static void append_arguments(struct walk *w, struct frame *frame)
{
    struct bytecode *b = w->b;
    struct bytecode_cursor *c = &frame->cursor;
    uint64_t count = read_count(c);
    bytes_append_text(b->out, "(");
    for (uint64_t i = 0; i < count && !c->failed && !b->is_damaged; i++) {
        uint64_t type = bytecode_varint(c), location = UINT64_MAX;
        if (b->version < VERSION_ELIDED || type & 1)
            location = bytecode_varint(c);
        if (b->version >= VERSION_ELIDED)
            type >>= 1;
        if (b->version >= VERSION_ELIDED && location == UINT64_MAX)
            location = UINT64_MAX;
        bytes_append_format(b->out, "%s%%%u: ", i ? ", " : "", define(w, frame, type));
        bytecode_append_type(b, type);
        bytes_append_text(b->out, " loc(");
        if (location == UINT64_MAX)
            bytes_append_text(b->out, "unknown");
        else
            bytecode_append_location(b, location);
        bytes_append_text(b->out, ")");
    }
    bytes_append_text(b->out, ")");
    if (b->version >= VERSION_USES && bytecode_byte(c))
        skip_uses(c, count);
}

static void begin_block(struct walk *w, struct frame *frame)
{
    uint64_t head = bytecode_varint(&frame->cursor);
    frame->ops = head >> 1;
    frame->blocks--;
    bytes_append_format(w->b->out, "^bb%u", frame->block++);
    if (head & 1)
        append_arguments(w, frame);
    bytes_append_text(w->b->out, ":\n");
    if (frame->ops > frame->cursor.end - frame->cursor.at)
        frame->cursor.failed = true;
}

static void begin_region(struct walk *w, struct frame *frame)
{
    struct bytecode_cursor *c = &frame->cursor;
    bytes_append_text(w->b->out, "{\n");
    frame->is_open = true;
    frame->regions--;
    frame->block = 0;
    frame->ops = 0;
    frame->blocks = read_count(c);
    uint64_t values = frame->blocks ? bytecode_varint(c) : 0;
    if (values > c->end - c->at ||
        !array_reserve(&w->values, &w->value_capacity, w->value_count + values, sizeof w->values[0])) {
        c->failed = true;
        return;
    }
    frame->next_value = frame->region_values = w->value_count;
    for (uint64_t i = 0; i < values; i++)
        w->values[w->value_count++] = (struct value){w->names++, NONE};
}

/* What stands after the regions of an op: discardable attributes, types, location. */
static void append_tail(struct walk *w, const struct frame *frame, uint64_t attributes,
                        const uint64_t *operands, uint64_t operand_count, const struct bytes *results,
                        uint64_t location)
{
    struct bytes *own = w->b->out;
    w->b->out = &w->tails;
    if (attributes != UINT64_MAX) {
        bytes_append_text(&w->tails, " {");
        bytecode_append_members(w->b, attributes);
        bytes_append_text(&w->tails, "}");
    }
    bytes_append_text(&w->tails, " : (");
    for (uint64_t i = 0; i < operand_count && !w->b->is_damaged; i++) {
        const struct value *value = value_at(w, frame, operands[i]);
        bytes_append_text(&w->tails, i ? ", " : "");
        if (value)
            append_value_type(w, value, &w->tails);
    }
    bytes_append_text(&w->tails, ") -> (");
    bytes_append_text(&w->tails, bytes_text(results));
    bytes_append_text(&w->tails, ") loc(");
    bytecode_append_location(w->b, location);
    bytes_append_text(&w->tails, ")\n");
    w->b->out = own;
}

static void append_results(struct walk *w, struct frame *frame, struct bytes *types)
{
    struct bytecode *b = w->b;
    struct bytecode_cursor *c = &frame->cursor;
    uint64_t count = read_count(c);
    for (uint64_t i = 0; i < count && !c->failed && !b->is_damaged; i++) {
        uint64_t type = bytecode_varint(c);
        bytes_append_format(b->out, "%s%%%u", i ? ", " : "", define(w, frame, type));
        bytes_append_text(types, i ? ", " : "");
        if (!b->is_damaged)
            append_value_type(w, &(struct value){0, (uint32_t)type}, types);
    }
    bytes_append_text(b->out, count ? " = " : "");
}

/* Numbers of operands; freed by the caller. */
static uint64_t *read_operands(struct walk *w, struct bytecode_cursor *c, uint64_t *count)
{
    *count = read_count(c);
    uint64_t *operands = calloc(*count + 1, sizeof operands[0]);
    w->failed |= !operands;
    for (uint64_t i = 0; i < *count && operands; i++)
        operands[i] = bytecode_varint(c);
    return operands;
}

static void append_successors(struct walk *w, struct bytecode_cursor *c)
{
    uint64_t count = read_count(c);
    bytes_append_text(w->b->out, "[");
    for (uint64_t i = 0; i < count && !c->failed; i++)
        bytes_append_format(w->b->out, "%s^bb%" PRIu64, i ? ", " : "", bytecode_varint(c));
    bytes_append_text(w->b->out, "]");
}

static void push_regions(struct walk *w, size_t tail)
{
    if (!array_reserve(&w->frames, &w->frame_capacity, w->frame_count + 1, sizeof w->frames[0])) {
        w->failed = true;
        return;
    }
    struct frame *parent = &w->frames[w->frame_count - 1];
    uint64_t head = bytecode_varint(&parent->cursor);
    bool is_isolated = head & 1;
    struct bytecode_cursor cursor = parent->cursor;
    if (is_isolated && w->b->version >= VERSION_LAZY && next_section(&parent->cursor, &cursor) != SECTION_IR)
        cursor.failed = true;
    struct frame frame = {.cursor = cursor,
                          .is_isolated = is_isolated && w->b->version >= VERSION_LAZY,
                          .regions = head >> 1,
                          .scope = is_isolated ? w->value_count : parent->scope,
                          .region_values = w->value_count,
                          .tail = tail};
    if (frame.regions > cursor.end - cursor.at)
        frame.cursor.failed = true;
    w->frames[w->frame_count++] = frame;
    bytes_append_text(w->b->out, " (");
}

static void move_tail(struct walk *w, size_t tail)
{
    if (w->tails.length > tail)
        bytes_append(w->b->out, w->tails.data + tail, w->tails.length - tail);
    w->tails.length = tail;
}

static void append_op(struct walk *w)
{
    struct bytecode *b = w->b;
    struct frame *frame = &w->frames[w->frame_count - 1];
    struct bytecode_cursor *c = &frame->cursor;
    struct bytes types = {0};
    uint64_t name = bytecode_varint(c), properties = UINT64_MAX, attributes = UINT64_MAX, operand_count = 0;
    unsigned mask = bytecode_byte(c);
    uint64_t location = bytecode_varint(c), *operands = NULL;
    frame->ops--;
    if (name >= b->name_count || c->failed) {
        b->is_damaged = true;
        return;
    }
    if (mask & HAS_ATTRIBUTES)
        attributes = bytecode_varint(c);
    if (mask & HAS_PROPERTIES)
        properties = bytecode_varint(c);
    uint64_t values_before = frame->next_value;
    if (mask & HAS_RESULTS)
        append_results(w, frame, &types);
    uint64_t results = frame->next_value - values_before;
    struct bytecode_text dialect = b->strings[b->dialects[b->names[name].dialect]],
                         own = b->strings[b->names[name].name];
    bytes_append_format(b->out, "\"%.*s.%.*s\"(", (int)dialect.length, dialect.data, (int)own.length,
                        own.data);
    if (mask & HAS_OPERANDS)
        operands = read_operands(w, c, &operand_count);
    for (uint64_t i = 0; i < operand_count && operands && !b->is_damaged; i++) {
        const struct value *value = value_at(w, frame, operands[i]);
        bytes_append_format(b->out, "%s%%%u", i ? ", " : "", value ? value->name : 0);
    }
    bytes_append_text(b->out, ")");
    if (mask & HAS_SUCCESSORS)
        append_successors(w, c);
    if (mask & HAS_USES)
        skip_uses(c, results);
    if (properties != UINT64_MAX)
        bytecode_append_properties(b, dialect, own, properties);
    size_t tail = w->tails.length;
    if (!b->is_damaged && !c->failed && !w->failed)
        append_tail(w, frame, attributes, operands, operand_count, &types, location);
    free(operands);
    bytes_free(&types);
    if (mask & HAS_REGIONS) {
        push_regions(w, tail);
    } else {
        move_tail(w, tail);
    }
}

/* The regions of an op are done: its tail follows, and its parent goes on. */
static void pop_regions(struct walk *w)
{
    struct frame frame = w->frames[--w->frame_count];
    w->value_count = frame.region_values;
    bytes_append_text(w->b->out, ")");
    move_tail(w, frame.tail);
    if (!frame.is_isolated)
        w->frames[w->frame_count - 1].cursor.at = frame.cursor.at;
}

/* The next region of an op, or what comes after the last. */
static void end_region(struct walk *w, struct frame *frame)
{
    if (frame->is_open)
        bytes_append_text(w->b->out, frame->regions ? "}, " : "}");
    w->value_count = frame->region_values;
    if (frame->regions)
        begin_region(w, frame);
    else
        pop_regions(w);
}

static int walk_ops(struct walk *w, struct bytecode_cursor ir, struct error *err)
{
    struct bytecode *b = w->b;
    if (!array_reserve(&w->frames, &w->frame_capacity, 1, sizeof w->frames[0]))
        return error_no_memory(err, b->path);
    w->frames[0] = (struct frame){.cursor = ir};
    w->frame_count = 1;
    uint64_t head = bytecode_varint(&w->frames[0].cursor); /* the block at the top, which has no arguments */
    w->frames[0].ops = head >> 1;
    for (;;) {
        struct frame *frame = &w->frames[w->frame_count - 1];
        if (frame->cursor.failed || b->is_damaged || (head & 1) || b->out->length > b->out_max)
            return refuse(b, frame->cursor.at, "an op is damaged or cut off", err);
        if (w->failed || b->out->failed || w->tails.failed)
            return error_no_memory(err, b->path);
        if (frame->ops) {
            append_op(w);
        } else if (frame->blocks) {
            begin_block(w, frame);
        } else if (w->frame_count == 1) {
            return 0;
        } else {
            end_region(w, frame);
        }
    }
}

static int read_sections(struct bytecode *b, struct bytecode_cursor *c, struct bytecode_cursor *ir,
                         struct error *err)
{
    struct bytecode_cursor bodies[SECTIONS] = {0};
    while (c->at < c->end && !c->failed) {
        struct bytecode_cursor body;
        size_t at = c->at;
        unsigned id = next_section(c, &body);
        if (c->failed)
            return refuse(b, at, "a section is cut off", err);
        if (id < SECTIONS)
            bodies[id] = body;
    }
    static const unsigned needed[] = {SECTION_STRINGS, SECTION_DIALECTS, SECTION_OFFSETS, SECTION_ATTRIBUTES,
                                      SECTION_IR};
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        if (!bodies[needed[i]].data)
            return error_set(err, EINVAL, "%s: byte %zu: section %u is missing", b->path, c->at, needed[i]);
    }
    if (!read_strings(b, &bodies[SECTION_STRINGS]) || !read_dialects(b, &bodies[SECTION_DIALECTS]) ||
        !read_attributes(b, &bodies[SECTION_OFFSETS], &bodies[SECTION_ATTRIBUTES]) ||
        (bodies[SECTION_PROPERTIES].data && !read_properties(b, &bodies[SECTION_PROPERTIES])))
        return error_no_memory(err, b->path);
    static const struct {
        unsigned section;
        const char *what;
    } checked[] = {{SECTION_STRINGS, "the strings are damaged"},
                   {SECTION_DIALECTS, "the list of dialects is damaged"},
                   {SECTION_OFFSETS, "the list of attributes and types is damaged"},
                   {SECTION_PROPERTIES, "the properties are damaged"}};
    for (size_t i = 0; i < COUNT_OF(checked); i++) {
        if (bodies[checked[i].section].failed)
            return refuse(b, bodies[checked[i].section].at, checked[i].what, err);
    }
    *ir = bodies[SECTION_IR];
    return 0;
}

int mlir_bytecode_to_text(const char *path, const void *data, size_t length, struct bytes *out,
                          uint64_t *left_out, struct error *err)
{
    struct bytecode b = {.path = path, .data = data, .length = length, .out = out};
    struct walk walk = {.b = &b};
    struct bytecode_cursor c = {data, 4, length, false}, ir = {0};
    b.out_max = length * TEXT_PER_BYTE + 65536;
    b.version = bytecode_varint(&c);
    const uint8_t *producer = c.failed ? NULL : memchr(b.data + c.at, 0, length - c.at);
    int status = 0;
    if (!mlir_is_bytecode(data, length) || !producer)
        status = refuse(&b, 0, "not MLIR bytecode, or cut off", err);
    else if (length >= UINT32_MAX)
        status = refuse(&b, 0, "4 GiB of bytecode and more are not read", err);
    else if (b.version > VERSION_MAX)
        status = error_set(err, EINVAL, "%s: byte 4: bytecode of version %" PRIu64 "; this reads up to %u",
                           path, b.version, VERSION_MAX);
    else
        c.at = (size_t)(producer - b.data) + 1;
    if (status == 0)
        status = read_sections(&b, &c, &ir, err);
    if (status == 0)
        status = walk_ops(&walk, ir, err);
    *left_out = b.left_out;
    free(walk.frames);
    free(walk.values);
    bytes_free(&walk.tails);
    free(b.strings);
    free(b.dialects);
    free(b.names);
    free(b.attributes);
    free(b.types);
    free(b.properties);
    return status;
}
