/* SPDX-License-Identifier: Apache-2.0 */
#include "text/source_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "text/utf8.h"

#define TAB_COLUMNS 8u

/* "coding: latin-1" or "coding=iso-8859-1" in a comment of the first two lines. */
static bool declares_latin1(const char *data, size_t length)
{
    struct slice rest = slice_from(data, length);
    for (int line = 0; line < 2 && rest.length; line++) {
        struct slice text = slice_before(rest, "\n");
        size_t used = text.length < rest.length ? text.length + 1 : text.length;
        const char *hash = memchr(text.data, '#', text.length);
        const char *end = text.data + text.length;
        const char *word = hash ? memmem(hash, (size_t)(end - hash), "coding", 6) : NULL;
        if (word && end - word > 7 && (word[6] == ':' || word[6] == '=')) {
            struct slice name = slice_trim(slice_from(word + 7, (size_t)(end - word - 7)));
            char folded[16] = "";
            size_t n = 0;
            for (size_t i = 0; i < name.length && n + 1 < sizeof folded; i++) {
                if (isalnum((unsigned char)name.data[i]))
                    folded[n++] = (char)tolower((unsigned char)name.data[i]);
            }
            return strcmp(folded, "latin1") == 0 || strcmp(folded, "iso88591") == 0 ||
                   strncmp(folded, "isolatin1", 9) == 0;
        }
        rest = slice_from(rest.data + used, rest.length - used);
    }
    return false;
}

static void append_latin1(struct bytes *out, uint8_t byte)
{
    if (byte < 0x80) {
        bytes_append_u8(out, byte);
    } else {
        bytes_append_u8(out, (uint8_t)(0xc0 | byte >> 6));
        bytes_append_u8(out, (uint8_t)(0x80 | (byte & 0x3f)));
    }
}

static size_t ascii_length(const char *data, size_t length)
{
    size_t i = 0;
    while (i < length && (data[i] & 0x80) == 0)
        i++;
    return i;
}

/* Byte by byte where Latin-1 is declared, and where a sequence is not UTF-8. */
static void convert(const char *data, size_t length, bool is_latin1, struct bytes *out)
{
    for (size_t i = 0; i < length;) {
        uint32_t character;
        size_t plain = ascii_length(data + i, length - i);
        bytes_append(out, data + i, plain);
        i += plain;
        if (i == length)
            break;
        size_t taken = utf8_decode(data + i, length - i, &character);
        bool is_broken = character == UTF8_REPLACEMENT && memcmp(data + i, "\xef\xbf\xbd", taken) != 0;
        if (is_latin1 || is_broken) {
            append_latin1(out, (uint8_t)data[i]);
            taken = 1;
        } else {
            bytes_append(out, data + i, taken);
        }
        i += taken;
    }
}

static bool begin_line(struct source_text *source)
{
    if (!array_reserve(&source->line_starts, &source->start_capacity, source->start_count + 1,
                       sizeof source->line_starts[0]))
        return false;
    source->line_starts[source->start_count++] = source->text.length;
    return true;
}

/* Up to what needs a closer look. */
static size_t plain_length(const char *data, size_t length)
{
    size_t i = 0;
    while (i < length && (unsigned char)data[i] >= ' ' && (data[i] & 0x80) == 0)
        i++;
    return i;
}

/* Lines end with \n, \r\n or \r, as for Python; tabs become blanks, since a table has its own columns. */
static bool split_lines(struct source_text *source, const char *data, size_t length)
{
    size_t column = 0;
    bool is_new = true;
    for (size_t i = 0; i < length; i++) {
        if (is_new && !begin_line(source))
            return false;
        if (is_new)
            column = 0;
        is_new = false;
        size_t plain = plain_length(data + i, length - i);
        bytes_append(&source->text, data + i, plain);
        column += plain;
        i += plain;
        if (i == length)
            break;
        uint8_t c = (uint8_t)data[i];
        if (c == '\n' || c == '\r') {
            if (c == '\r' && i + 1 < length && data[i + 1] == '\n')
                i++;
            bytes_append_u8(&source->text, 0);
            is_new = true;
        } else if (c == '\t') {
            do
                bytes_append_u8(&source->text, ' ');
            while (++column % TAB_COLUMNS);
        } else if (c != 0 && c != '\f') {
            bytes_append_u8(&source->text, c);
            column += (c & 0xc0) != 0x80;
        }
    }
    bytes_append_u8(&source->text, 0);
    return !source->text.failed;
}

bool source_text_add(struct source_text *source, size_t first_line, const void *data, size_t length)
{
    if (!array_reserve(&source->stretches, &source->stretch_capacity, source->stretch_count + 1,
                       sizeof source->stretches[0]))
        return false;
    struct source_stretch *stretch = &source->stretches[source->stretch_count++];
    *stretch = (struct source_stretch){.first_line = first_line, .at = source->start_count};
    bool is_fine = split_lines(source, data, length);
    stretch->count = source->start_count - stretch->at;
    return is_fine;
}

int source_text_parse(struct source_text *source, const void *data, size_t length, struct error *err)
{
    const char *bytes = data;
    struct bytes text = {0};
    *source = (struct source_text){0};
    bool has_mark = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
    if (has_mark) {
        bytes += 3;
        length -= 3;
    }
    convert(bytes, length, !has_mark && declares_latin1(bytes, length), &text);
    bool is_fine = !text.failed && source_text_add(source, 1, text.data, text.length);
    source->line_count = source->start_count;
    bytes_free(&text);
    if (!is_fine) {
        source_text_free(source);
        return error_no_memory(err, "a source file");
    }
    return 0;
}

void source_text_free(struct source_text *source)
{
    if (!source)
        return;
    bytes_free(&source->text);
    free(source->line_starts);
    free(source->stretches);
    *source = (struct source_text){0};
}

const char *source_text_line(const struct source_text *source, uint32_t line)
{
    for (size_t i = 0; i < source->stretch_count; i++) {
        const struct source_stretch *stretch = &source->stretches[i];
        if (line >= stretch->first_line && line - stretch->first_line < stretch->count)
            return (const char *)source->text.data +
                   source->line_starts[stretch->at + (line - stretch->first_line)];
    }
    return NULL;
}
