/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and types of the builtin dialect, from bytecode to text. An attribute refers to others by number, so a
 * damaged file may have circles: depth and length of what is written are limited. */
#include "base/count_of.h"
#include "import/mlir/bytecode.h"

#include <inttypes.h>
#include <string.h>

#include "base/slice.h"

#define DEPTH_MAX 64u
#define LITERAL_BYTES_MAX 64u

enum attribute_code {
    ATTRIBUTE_ARRAY,
    ATTRIBUTE_DICTIONARY,
    ATTRIBUTE_STRING,
    ATTRIBUTE_TYPED_STRING,
    ATTRIBUTE_FLAT_SYMBOL,
    ATTRIBUTE_SYMBOL,
    ATTRIBUTE_TYPE,
    ATTRIBUTE_UNIT,
    ATTRIBUTE_INTEGER,
    ATTRIBUTE_FLOAT,
    LOCATION_CALL,
    LOCATION_FILE,
    LOCATION_FUSED,
    LOCATION_FUSED_METADATA,
    LOCATION_NAME,
    LOCATION_UNKNOWN,
    ATTRIBUTE_RESOURCE,
    ATTRIBUTE_DENSE_ARRAY,
    ATTRIBUTE_DENSE
};

enum type_code {
    TYPE_INTEGER,
    TYPE_INDEX,
    TYPE_FUNCTION,
    TYPE_BF16,
    TYPE_F16,
    TYPE_F32,
    TYPE_F64,
    TYPE_F80,
    TYPE_F128,
    TYPE_COMPLEX,
    TYPE_MEMREF,
    TYPE_MEMREF_SPACE,
    TYPE_NONE,
    TYPE_TENSOR,
    TYPE_TENSOR_ENCODING,
    TYPE_TUPLE,
    TYPE_UNRANKED_MEMREF,
    TYPE_UNRANKED_MEMREF_SPACE,
    TYPE_UNRANKED_TENSOR,
    TYPE_VECTOR
};

static const char *const plain_types[] = {
    [TYPE_INDEX] = "index", [TYPE_BF16] = "bf16", [TYPE_F16] = "f16",   [TYPE_F32] = "f32",
    [TYPE_F64] = "f64",     [TYPE_F80] = "f80",   [TYPE_F128] = "f128", [TYPE_NONE] = "none"};

static bool is_builtin(const struct bytecode *b, const struct bytecode_entry *entry)
{
    const struct bytecode_text *name = &b->strings[b->dialects[entry->dialect]];
    return name->length == 7 && memcmp(name->data, "builtin", 7) == 0;
}

static struct bytecode_cursor inside(const struct bytecode *b, const struct bytecode_entry *entry)
{
    return (struct bytecode_cursor){b->data, entry->begin, (size_t)entry->begin + entry->length, false};
}

/* Text, or what stands for an encoding that is not known. True: it was one of these. */
static bool append_foreign(struct bytecode *b, const struct bytecode_entry *entry, char sign)
{
    if (!entry->is_custom) {
        const char *text = (const char *)b->data + entry->begin;
        bytes_append(b->out, text, strnlen(text, entry->length));
        return true;
    }
    if (is_builtin(b, entry))
        return false;
    bytes_append_format(b->out, "%c%.*s.unknown", sign, (int)b->strings[b->dialects[entry->dialect]].length,
                        b->strings[b->dialects[entry->dialect]].data);
    return true;
}

static const struct bytecode_entry *enter(struct bytecode *b, const struct bytecode_entry *entries,
                                          size_t count, uint64_t number)
{
    if (number >= count || b->depth >= DEPTH_MAX || b->out->length > b->out_max) {
        b->is_damaged = true;
        return NULL;
    }
    b->depth++;
    return &entries[number];
}

static void append_quoted(struct bytecode *b, struct bytecode_text text)
{
    bytes_append_text(b->out, "\"");
    for (uint32_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f)
            bytes_append_format(b->out, "\\%02X", c);
        else
            bytes_append(b->out, &text.data[i], 1);
    }
    bytes_append_text(b->out, "\"");
}

static struct bytecode_text string_at(struct bytecode *b, uint64_t string)
{
    if (string < b->string_count)
        return b->strings[string];
    b->is_damaged = true;
    return (struct bytecode_text){"", 0};
}

static void append_string(struct bytecode *b, uint64_t string)
{
    append_quoted(b, string_at(b, string));
}

/* --- types --- */

static void append_types(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t count = bytecode_varint(c);
    for (uint64_t i = 0; i < count && !c->failed && !b->is_damaged; i++) {
        bytes_append_text(b->out, i ? ", " : "");
        bytecode_append_type(b, bytecode_varint(c));
    }
}

static void append_shape(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t count = bytecode_varint(c);
    for (uint64_t i = 0; i < count && !c->failed; i++) {
        int64_t size = bytecode_signed(c);
        if (size < 0)
            bytes_append_text(b->out, "?x");
        else
            bytes_append_format(b->out, "%" PRId64 "x", size);
    }
}

static void append_integer_type(struct bytecode *b, struct bytecode_cursor *c)
{
    static const char *const signs[] = {"i", "si", "ui", "i"};
    uint64_t bits = bytecode_varint(c);
    bytes_append_format(b->out, "%s%" PRIu64, signs[bits & 3], bits >> 2);
}

static void append_shaped(struct bytecode *b, struct bytecode_cursor *c, const char *name, unsigned code)
{
    bytes_append_format(b->out, "%s<", name);
    bool is_ranked = code == TYPE_TENSOR || code == TYPE_TENSOR_ENCODING || code == TYPE_MEMREF ||
                     code == TYPE_MEMREF_SPACE || code == TYPE_VECTOR;
    if (is_ranked)
        append_shape(b, c);
    else
        bytes_append_text(b->out, "*x");
    bytecode_append_type(b, bytecode_varint(c));
    if (code == TYPE_MEMREF || code == TYPE_MEMREF_SPACE) {
        size_t before = b->out->length;
        bytes_append_text(b->out, ", ");
        bytecode_append_attribute(
            b, bytecode_varint(c)); /* the layout: a map, the identity where it says nothing */
        if (memmem(b->out->data + before, b->out->length - before, "-> (d", 5) &&
            !memmem(b->out->data + before, b->out->length - before, "strided", 7) &&
            !memmem(b->out->data + before, b->out->length - before, "*", 1))
            b->out->length = before;
    }
    if (code == TYPE_TENSOR_ENCODING || code == TYPE_MEMREF_SPACE || code == TYPE_UNRANKED_MEMREF_SPACE) {
        bytes_append_text(b->out, ", ");
        bytecode_append_attribute(b, bytecode_varint(c));
    }
    bytes_append_text(b->out, ">");
}

static void append_builtin_type(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t code = bytecode_varint(c);
    if (code < COUNT_OF(plain_types) && plain_types[code]) {
        bytes_append_text(b->out, plain_types[code]);
        return;
    }
    switch (code) {
    case TYPE_INTEGER:
        append_integer_type(b, c);
        break;
    case TYPE_FUNCTION:
        bytes_append_text(b->out, "(");
        append_types(b, c);
        bytes_append_text(b->out, ") -> (");
        append_types(b, c);
        bytes_append_text(b->out, ")");
        break;
    case TYPE_COMPLEX:
        bytes_append_text(b->out, "complex<");
        bytecode_append_type(b, bytecode_varint(c));
        bytes_append_text(b->out, ">");
        break;
    case TYPE_TUPLE:
        bytes_append_text(b->out, "tuple<");
        append_types(b, c);
        bytes_append_text(b->out, ">");
        break;
    case TYPE_MEMREF:
    case TYPE_MEMREF_SPACE:
    case TYPE_UNRANKED_MEMREF:
    case TYPE_UNRANKED_MEMREF_SPACE:
        append_shaped(b, c, "memref", (unsigned)code);
        break;
    case TYPE_TENSOR:
    case TYPE_TENSOR_ENCODING:
    case TYPE_UNRANKED_TENSOR:
        append_shaped(b, c, "tensor", (unsigned)code);
        break;
    case TYPE_VECTOR:
        append_shaped(b, c, "vector", (unsigned)code);
        break;
    default:
        bytes_append_text(b->out, "!builtin.unknown");
    }
}

void bytecode_append_type(struct bytecode *b, uint64_t type)
{
    const struct bytecode_entry *entry = enter(b, b->types, b->type_count, type);
    if (!entry)
        return;
    if (!append_foreign(b, entry, '!')) {
        struct bytecode_cursor c = inside(b, entry);
        append_builtin_type(b, &c);
        b->is_damaged |= c.failed;
    }
    b->depth--;
}

/* The width and the kind of number of a scalar type, or of the elements of a shaped one; 0: not known. */
static unsigned width_of(const struct bytecode *b, uint64_t type, bool *is_float)
{
    *is_float = false;
    for (unsigned depth = 0; depth < DEPTH_MAX && type < b->type_count; depth++) {
        const struct bytecode_entry *entry = &b->types[type];
        struct bytecode_cursor c = inside(b, entry);
        if (!entry->is_custom || !is_builtin(b, entry))
            return 0;
        uint64_t code = bytecode_varint(&c);
        *is_float = code >= TYPE_BF16 && code <= TYPE_F128;
        if (code == TYPE_INTEGER)
            return (unsigned)(bytecode_varint(&c) >> 2 & 0xffffff);
        if (code == TYPE_INDEX || code == TYPE_F64)
            return 64;
        if (*is_float)
            return code == TYPE_F32 ? 32 : code <= TYPE_F16 ? 16 : 128;
        if (code != TYPE_TENSOR && code != TYPE_TENSOR_ENCODING && code != TYPE_VECTOR)
            return 0;
        uint64_t rank = bytecode_varint(&c);
        for (uint64_t i = 0; i < rank && !c.failed; i++)
            bytecode_signed(&c);
        type = bytecode_varint(&c);
        if (c.failed)
            return 0;
    }
    return 0;
}

/* --- attributes --- */

static void append_list(struct bytecode *b, struct bytecode_cursor *c,
                        void append(struct bytecode *, uint64_t))
{
    uint64_t count = bytecode_varint(c);
    for (uint64_t i = 0; i < count && !c->failed && !b->is_damaged; i++) {
        bytes_append_text(b->out, i ? ", " : "");
        append(b, bytecode_varint(c));
    }
}

/* The string of a string attribute. */
static struct bytecode_text attribute_string(struct bytecode *b, uint64_t attribute)
{
    if (attribute < b->attribute_count && b->attributes[attribute].is_custom) {
        struct bytecode_cursor c = inside(b, &b->attributes[attribute]);
        uint64_t code = bytecode_varint(&c), string = bytecode_varint(&c);
        if (code == ATTRIBUTE_STRING && !c.failed)
            return string_at(b, string);
    }
    b->is_damaged = true;
    return (struct bytecode_text){"", 0};
}

static void append_members(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t count = bytecode_varint(c);
    for (uint64_t i = 0; i < count && !c->failed && !b->is_damaged; i++) {
        bytes_append_text(b->out, i ? ", " : "");
        append_quoted(b, attribute_string(b, bytecode_varint(c)));
        bytes_append_text(b->out, " = ");
        bytecode_append_attribute(b, bytecode_varint(c));
    }
}

void bytecode_append_members(struct bytecode *b, uint64_t attribute)
{
    if (attribute >= b->attribute_count || !b->attributes[attribute].is_custom) {
        b->is_damaged = true;
        return;
    }
    struct bytecode_cursor c = inside(b, &b->attributes[attribute]);
    if (bytecode_varint(&c) == ATTRIBUTE_DICTIONARY)
        append_members(b, &c);
    else
        b->is_damaged = true;
    b->is_damaged |= c.failed;
}

static void append_symbol(struct bytecode *b, struct bytecode_text name)
{
    bool is_plain = name.length != 0;
    for (uint32_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        is_plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                    c == '.' || c == '$';
    }
    bytes_append_text(b->out, "@");
    if (is_plain)
        bytes_append(b->out, name.data, name.length);
    else
        append_quoted(b, name);
}

/* Numbers of up to 8 bits are a byte, of up to 64 a signed varint. */
static bool read_number(struct bytecode_cursor *c, unsigned width, int64_t *value)
{
    if (width == 0 || width > 64)
        return false;
    if (width > 8) {
        *value = bytecode_signed(c);
    } else {
        uint8_t byte = bytecode_byte(c);
        *value = width == 8 ? (int8_t)byte : byte;
    }
    return true;
}

static void append_number(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t type = bytecode_varint(c);
    bool is_float;
    unsigned width = width_of(b, type, &is_float);
    int64_t value;
    if (!read_number(c, width, &value))
        bytes_append_text(b->out, "0");
    else if (width == 1 && !is_float) {
        bytes_append_text(b->out, value & 1 ? "true" : "false");
        return;
    } else if (is_float)
        bytes_append_format(b->out, "0x%0*" PRIX64, (int)width / 4,
                            width < 64 ? (uint64_t)value & ((UINT64_C(1) << width) - 1) : (uint64_t)value);
    else
        bytes_append_format(b->out, "%" PRId64, value);
    bytes_append_text(b->out, " : ");
    bytecode_append_type(b, type);
}

/* One element of this many bytes, little-endian. */
static void append_element(struct bytecode *b, const uint8_t *data, unsigned width, bool is_float)
{
    uint64_t bits = 0;
    unsigned bytes = (width + 7) / 8;
    memcpy(&bits, data, bytes);
    if (is_float) {
        bytes_append_format(b->out, "0x%0*" PRIX64, (int)bytes * 2, bits);
        return;
    }
    uint64_t sign = UINT64_C(1) << (width - 1);
    int64_t value =
        width < 64 && width > 1 && (bits & sign) ? (int64_t)(bits | ~(sign | (sign - 1))) : (int64_t)bits;
    bytes_append_format(b->out, "%" PRId64, value);
}

static const uint8_t *take_blob(struct bytecode_cursor *c, uint64_t *length)
{
    *length = bytecode_varint(c);
    if (c->failed || *length > c->end - c->at) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *data = c->data + c->at;
    c->at += *length;
    return data;
}

static void append_dense_array(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t type = bytecode_varint(c), count = bytecode_varint(c), length;
    bool is_float;
    unsigned width = width_of(b, type, &is_float), bytes = (width + 7) / 8;
    const uint8_t *data = take_blob(c, &length);
    bytes_append_text(b->out, "array<");
    bytecode_append_type(b, type);
    if (data && width && width <= 64 && count <= length / bytes) {
        for (uint64_t i = 0; i < count; i++) {
            bytes_append_text(b->out, i ? ", " : ": ");
            append_element(b, data + i * bytes, width, is_float);
        }
    }
    bytes_append_text(b->out, ">");
}

static void append_dense(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t type = bytecode_varint(c), length;
    bool is_float;
    unsigned width = width_of(b, type, &is_float);
    const uint8_t *data = take_blob(c, &length);
    if (!data)
        return;
    if (width && width <= 64 && length == (width + 7) / 8) {
        bytes_append_text(b->out, "dense<");
        append_element(b, data, width, is_float);
        bytes_append_text(b->out, ">");
    } else if (length > LITERAL_BYTES_MAX) {
        bytes_append_text(b->out, "dense_resource<__elided__>");
    } else {
        bytes_append_text(b->out, "dense<\"0x");
        for (uint64_t i = 0; i < length; i++)
            bytes_append_format(b->out, "%02X", data[i]);
        bytes_append_text(b->out, "\">");
    }
    bytes_append_text(b->out, " : ");
    bytecode_append_type(b, type);
}

static void append_place(struct bytecode *b, struct bytecode_cursor *c)
{
    append_quoted(b, attribute_string(b, bytecode_varint(c)));
    uint64_t line = bytecode_varint(c), column = bytecode_varint(c);
    bytes_append_format(b->out, ":%" PRIu64 ":%" PRIu64, line, column);
}

/* A location, or false: the attribute is none. */
static bool append_location(struct bytecode *b, struct bytecode_cursor *c, uint64_t code)
{
    uint64_t metadata;
    switch (code) {
    case LOCATION_CALL:
        bytes_append_text(b->out, "callsite(");
        bytecode_append_location(b, bytecode_varint(c));
        bytes_append_text(b->out, " at ");
        bytecode_append_location(b, bytecode_varint(c));
        bytes_append_text(b->out, ")");
        return true;
    case LOCATION_FILE:
        append_place(b, c);
        return true;
    case LOCATION_FUSED:
        bytes_append_text(b->out, "fused[");
        append_list(b, c, bytecode_append_location);
        bytes_append_text(b->out, "]");
        return true;
    case LOCATION_FUSED_METADATA: { /* the metadata comes after the list, and is printed before it */
        struct bytecode_cursor list = *c;
        uint64_t count = bytecode_varint(c);
        for (uint64_t i = 0; i < count && !c->failed; i++)
            bytecode_varint(c);
        metadata = bytecode_varint(c);
        bytes_append_text(b->out, "fused<");
        bytecode_append_attribute(b, metadata);
        bytes_append_text(b->out, ">[");
        append_list(b, &list, bytecode_append_location);
        bytes_append_text(b->out, "]");
        return true;
    }
    case LOCATION_NAME:
        append_quoted(b, attribute_string(b, bytecode_varint(c)));
        bytes_append_text(b->out, "(");
        bytecode_append_location(b, bytecode_varint(c));
        bytes_append_text(b->out, ")");
        return true;
    case LOCATION_UNKNOWN:
        bytes_append_text(b->out, "unknown");
        return true;
    default:
        return false;
    }
}

void bytecode_append_location(struct bytecode *b, uint64_t attribute)
{
    const struct bytecode_entry *entry = enter(b, b->attributes, b->attribute_count, attribute);
    if (!entry)
        return;
    struct bytecode_cursor c = inside(b, entry);
    if (!entry->is_custom || !is_builtin(b, entry) || !append_location(b, &c, bytecode_varint(&c)))
        bytes_append_text(b->out, "unknown");
    b->is_damaged |= c.failed;
    b->depth--;
}

static void append_builtin_attribute(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t code = bytecode_varint(c), type;
    switch (code) {
    case ATTRIBUTE_ARRAY:
        bytes_append_text(b->out, "[");
        append_list(b, c, bytecode_append_attribute);
        bytes_append_text(b->out, "]");
        break;
    case ATTRIBUTE_DICTIONARY:
        bytes_append_text(b->out, "{");
        append_members(b, c);
        bytes_append_text(b->out, "}");
        break;
    case ATTRIBUTE_STRING:
    case ATTRIBUTE_TYPED_STRING:
        append_string(b, bytecode_varint(c));
        break;
    case ATTRIBUTE_FLAT_SYMBOL:
        append_symbol(b, attribute_string(b, bytecode_varint(c)));
        break;
    case ATTRIBUTE_SYMBOL:
        append_symbol(b, attribute_string(b, bytecode_varint(c)));
        for (uint64_t count = bytecode_varint(c); count && !c->failed && !b->is_damaged; count--) {
            bytes_append_text(b->out, "::");
            bytecode_append_attribute(b, bytecode_varint(c));
        }
        break;
    case ATTRIBUTE_TYPE:
        bytecode_append_type(b, bytecode_varint(c));
        break;
    case ATTRIBUTE_UNIT:
        bytes_append_text(b->out, "unit");
        break;
    case ATTRIBUTE_INTEGER:
    case ATTRIBUTE_FLOAT:
        append_number(b, c);
        break;
    case ATTRIBUTE_RESOURCE:
        type = bytecode_varint(c);
        bytes_append_text(b->out, "dense_resource<__elided__> : ");
        bytecode_append_type(b, type);
        break;
    case ATTRIBUTE_DENSE_ARRAY:
        append_dense_array(b, c);
        break;
    case ATTRIBUTE_DENSE:
        append_dense(b, c);
        break;
    default:
        bytes_append_text(b->out, "loc(");
        if (!append_location(b, c, code))
            bytes_append_text(b->out, "unknown");
        bytes_append_text(b->out, ")");
    }
}

void bytecode_append_attribute(struct bytecode *b, uint64_t attribute)
{
    const struct bytecode_entry *entry = enter(b, b->attributes, b->attribute_count, attribute);
    if (!entry)
        return;
    if (!append_foreign(b, entry, '#')) {
        struct bytecode_cursor c = inside(b, entry);
        append_builtin_attribute(b, &c);
        b->is_damaged |= c.failed;
    }
    b->depth--;
}
