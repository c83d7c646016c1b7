/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/proto.h"

#include <stdbool.h>
#include <string.h>

#include "text/utf8.h"

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void put_tag(struct bytes *message, uint32_t field, enum wire_type type)
{
    bytes_append_varint(message, (uint64_t)field << 3 | type);
}

void proto_unsigned(struct bytes *message, uint32_t field, uint64_t value)
{
    put_tag(message, field, WIRE_VARINT);
    bytes_append_varint(message, value);
}

void proto_signed(struct bytes *message, uint32_t field, int64_t value)
{
    proto_unsigned(message, field, (uint64_t)value);
}

void proto_fixed64(struct bytes *message, uint32_t field, uint64_t value)
{
    put_tag(message, field, WIRE_FIXED64);
    bytes_append_u64(message, value);
}

void proto_double(struct bytes *message, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    proto_fixed64(message, field, bits);
}

void proto_message(struct bytes *message, uint32_t field, const struct bytes *inner)
{
    put_tag(message, field, WIRE_BYTES);
    bytes_append_varint(message, inner->length);
    bytes_append(message, inner->data, inner->length);
    message->failed |= inner->failed;
}

/* Bytes that the text takes once it is whole UTF-8. */
static size_t whole_length(const char *text, size_t length, bool *is_whole)
{
    size_t total = 0;
    *is_whole = true;
    for (size_t i = 0; i < length;) {
        uint32_t character = 0;
        size_t taken = (unsigned char)text[i] < 0x80 ? 1 : utf8_decode(text + i, length - i, &character);
        if (character == UTF8_REPLACEMENT) {
            *is_whole = false;
            total += 3;
        } else {
            total += taken;
        }
        i += taken;
    }
    return total;
}

void proto_text_length(struct bytes *message, uint32_t field, const char *text, size_t length)
{
    bool is_whole;
    size_t total = whole_length(text, length, &is_whole);
    put_tag(message, field, WIRE_BYTES);
    bytes_append_varint(message, total);
    if (is_whole) {
        bytes_append(message, text, length);
        return;
    }
    for (size_t i = 0; i < length;) {
        uint32_t character = 0;
        size_t taken = utf8_decode(text + i, length - i, &character);
        if (character == UTF8_REPLACEMENT)
            bytes_append(message, "\xef\xbf\xbd", 3);
        else
            bytes_append(message, text + i, taken);
        i += taken;
    }
}

void proto_text(struct bytes *message, uint32_t field, const char *text)
{
    proto_text_length(message, field, text, strlen(text));
}
