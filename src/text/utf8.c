/* SPDX-License-Identifier: Apache-2.0 */
#include "text/utf8.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"

size_t utf8_decode(const char *text, size_t length, uint32_t *character)
{
    const unsigned char *at = (const unsigned char *)text;
    uint32_t lead = at[0];
    *character = UTF8_REPLACEMENT;
    if (lead < 0x80) {
        *character = lead;
        return 1;
    }
    size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4)
        return 1;
    uint32_t value = lead & (0x3fu >> more);
    for (size_t i = 1; i <= more; i++) {
        /* The second byte's range also rules out overlong forms, surrogates and what is past U+10FFFF. */
        unsigned char low = 0x80, high = 0xbf;
        if (i == 1) {
            low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
            high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
        }
        if (i >= length || at[i] < low || at[i] > high)
            return i;
        value = value << 6 | (at[i] & 0x3fu);
    }
    *character = value;
    return more + 1;
}

struct range {
    uint32_t first, last;
};

static bool is_in(const struct range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count && ranges[i].first <= character; i++) {
        if (character <= ranges[i].last)
            return true;
    }
    return false;
}

/* The common cases of Unicode's width tables: enough to keep columns straight for what programs call things. */
static unsigned character_width(uint32_t character)
{
    static const struct range zero[] = {
        {0x0300, 0x036f},   {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a}, {0x064b, 0x065f},
        {0x0900, 0x0902},   {0x093c, 0x093c}, {0x0941, 0x0948}, {0x0e31, 0x0e31}, {0x0e34, 0x0e3a},
        {0x0e47, 0x0e4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
        {0x2060, 0x2064},   {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff},
        {0xe0100, 0xe01ef},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},   {0x2e80, 0x303e},
        {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3},
        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
        {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd},
    };
    if (character < 0x300)
        return 1;
    if (is_in(zero, COUNT_OF(zero), character))
        return 0;
    return is_in(wide, COUNT_OF(wide), character) ? 2 : 1;
}

bool utf8_is_control(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x061c ||
           character == 0x200e || character == 0x200f || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

/* What stands for a control character; returns its length. */
static size_t escape(uint32_t character, char out[12])
{
    int n;
    if (character == '\n' || character == '\t' || character == '\r')
        n = snprintf(out, 12, "\\%c", character == '\n' ? 'n' : character == '\t' ? 't' : 'r');
    else
        n = snprintf(out, 12, character < 0x100 ? "\\x%02x" : "\\u%04x", character);
    return n > 0 ? (size_t)n : 0;
}

static size_t visible_width(uint32_t character)
{
    char text[12];
    return utf8_is_control(character) ? escape(character, text) : character_width(character);
}

static void append_character(struct bytes *out, const char *text, size_t length, uint32_t character)
{
    char escaped[12];
    if (utf8_is_control(character))
        bytes_append(out, escaped, escape(character, escaped));
    else if (character >= UTF8_REPLACEMENT && character <= 0xffff) /* U+FFFE and U+FFFF are not characters */
        bytes_append(out, "\xef\xbf\xbd", 3);
    else
        bytes_append(out, text, length);
}

size_t utf8_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length;) {
        uint32_t character;
        i += utf8_decode(text + i, length - i, &character);
        width += visible_width(character);
    }
    return width;
}

/* Appends the characters of text[from..length) that lie in columns [skip, skip + room), whole ones only.
 * Returns the columns filled. */
static size_t append_part(struct bytes *out, const char *text, size_t length, size_t skip, size_t room)
{
    size_t column = 0, used = 0;
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t taken = utf8_decode(text + i, length - i, &character);
        size_t width = visible_width(character);
        if (column >= skip) {
            if (used + width > room)
                break;
            append_character(out, text + i, taken, character);
            used += width;
        }
        column += width;
        i += taken;
    }
    return used;
}

void utf8_append_visible(struct bytes *out, const char *text, size_t length)
{
    append_part(out, text, length, 0, SIZE_MAX);
}

void utf8_append_visible_lines(struct bytes *out, const char *text, size_t length)
{
    for (size_t begin = 0, at = 0; at <= length; at++) {
        if (at < length && text[at] != '\n' && text[at] != '\t')
            continue;
        bool has_return = at < length && text[at] == '\n' && at > begin && text[at - 1] == '\r';
        utf8_append_visible(out, text + begin, at - begin - has_return);
        bytes_append(out, text + at - has_return, at < length ? 1u + has_return : 0);
        begin = at + 1;
    }
}

size_t utf8_append_shortened(struct bytes *out, const char *text, size_t length, size_t columns,
                             const char *mark)
{
    size_t width = utf8_width(text, length);
    size_t mark_width = utf8_width(mark, strlen(mark));
    if (width <= columns) {
        utf8_append_visible(out, text, length);
        return width;
    }
    if (columns <= mark_width + 1)
        return append_part(out, text, length, 0, columns);
    /* The beginning and the end of a name tell more than its middle. */
    size_t room = columns - mark_width;
    size_t tail = room / 2, head = room - tail;
    size_t used = append_part(out, text, length, 0, head);
    bytes_append_text(out, mark);
    used += mark_width;
    return used + append_part(out, text, length, width - tail, tail);
}

size_t utf8_append_beginning(struct bytes *out, const char *text, size_t length, size_t columns,
                             const char *mark)
{
    size_t mark_width = utf8_width(mark, strlen(mark));
    if (utf8_width(text, length) <= columns || columns <= mark_width + 1)
        return append_part(out, text, length, 0, columns);
    size_t used = append_part(out, text, length, 0, columns - mark_width);
    bytes_append_text(out, mark);
    return used + mark_width;
}
