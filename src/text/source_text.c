/* SPDX-License-Identifier: Apache-2.0 */
#include "text/source_text.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define MOST_BYTES ((off_t)64 << 20)
#define TAB_COLUMNS 8u
#define ENCODING_BYTES 40u

static bool read_file(const char *path, struct bytes *out, struct stat *info)
{
    FILE *file = fopen(path, "re");
    bool is_read = file && fstat(fileno(file), info) == 0 && S_ISREG(info->st_mode) &&
                   info->st_size <= MOST_BYTES && bytes_reserve(out, (size_t)info->st_size + 1);
    if (is_read) {
        out->length = fread(out->data, 1, (size_t)info->st_size, file);
        is_read = !ferror(file);
    }
    if (file)
        fclose(file);
    return is_read;
}

/* "coding: NAME" or "coding=NAME" in a comment of the first two lines; "" when there is none. */
static void find_encoding(const char *data, size_t length_bytes, char *name, size_t size)
{
    const char *at = data, *end = data + length_bytes;
    name[0] = '\0';
    for (int line = 0; line < 2 && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        const char *hash = memchr(at, '#', length);
        const char *word = hash ? memmem(hash, length - (size_t)(hash - at), "coding", 6) : NULL;
        const char *line_end = at + length;
        if (word && word + 7 < line_end && (word[6] == ':' || word[6] == '=')) {
            const char *value = word + 7;
            while (value < line_end && (*value == ' ' || *value == '\t'))
                value++;
            size_t n = 0;
            while (value + n < line_end && n + 1 < size &&
                   (isalnum((unsigned char)value[n]) || strchr("-_.", value[n])))
                n++;
            memcpy(name, value, n);
            name[n] = '\0';
            return;
        }
        at = stop ? stop + 1 : end;
    }
}

/* What iconv calls the encodings that Python calls so. */
static void translate_name(char *name)
{
    static const struct {
        const char *python, *iconv;
    } names[] = {{"latin-1", "ISO-8859-1"},          {"latin_1", "ISO-8859-1"}, {"iso-latin-1", "ISO-8859-1"},
                 {"iso-latin-1-unix", "ISO-8859-1"}, {"utf-8-sig", "UTF-8"},    {"utf8", "UTF-8"},
                 {"mac-roman", "MACINTOSH"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcasecmp(name, names[i].python) == 0) {
            snprintf(name, ENCODING_BYTES, "%s", names[i].iconv);
            return;
        }
    for (char *c = name; *c; c++)
        if (*c == '_' && strncasecmp(name, "shift", 5) != 0)
            *c = '-';
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

/* UTF-8, too, goes through iconv: a broken sequence is found there. */
static void convert(const char *data, size_t length, const char *encoding, struct bytes *out)
{
    iconv_t converter = iconv_open("UTF-8", encoding);
    char *in = (char *)(uintptr_t)data; /* iconv does not write to it */
    size_t left = length;
    while (left && !out->failed) {
        char piece[4096], *to = piece;
        size_t room = sizeof piece;
        size_t done = converter == (iconv_t)-1 ? (size_t)-1 : iconv(converter, &in, &left, &to, &room);
        bool is_stuck = done == (size_t)-1 && (converter == (iconv_t)-1 || errno != E2BIG);
        bytes_append(out, piece, sizeof piece - room);
        if (is_stuck && left) {
            append_latin1(out, (uint8_t)*in++);
            left--;
        }
    }
    if (converter != (iconv_t)-1)
        iconv_close(converter);
}

/* Lines end with \n, \r\n or \r, as for Python; tabs become blanks, since a table has its own columns. */
static bool split_lines(struct source_text *source, const struct bytes *text)
{
    size_t column = 0;
    bool is_new = true;
    for (size_t i = 0; i < text->length; i++) {
        uint8_t c = text->data[i];
        if (is_new) {
            if (!array_reserve(&source->line_starts, &source->line_capacity, source->line_count + 1,
                               sizeof source->line_starts[0]))
                return false;
            source->line_starts[source->line_count++] = source->text.length;
            column = 0;
            is_new = false;
        }
        if (c == '\n' || c == '\r') {
            if (c == '\r' && i + 1 < text->length && text->data[i + 1] == '\n')
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

int source_text_parse(struct source_text *source, const void *data, size_t length, struct error *err)
{
    const char *bytes = data;
    struct bytes text = {0};
    char encoding[ENCODING_BYTES];
    *source = (struct source_text){0};
    bool has_mark = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
    if (has_mark) {
        bytes += 3;
        length -= 3;
    }
    find_encoding(bytes, length, encoding, sizeof encoding);
    translate_name(encoding);
    if (length)
        convert(bytes, length, has_mark || !encoding[0] ? "UTF-8" : encoding, &text);
    bool is_fine = !text.failed && split_lines(source, &text);
    bytes_free(&text);
    if (!is_fine) {
        source_text_free(source);
        return error_set_errno(err, ENOMEM, "%zu bytes of source", length);
    }
    return 0;
}

int source_text_load(struct source_text *source, const char *path, uint64_t not_after_ns, struct error *err)
{
    struct bytes data = {0};
    struct stat info = {0};
    int result = 0;
    *source = (struct source_text){.state = SOURCE_MISSING};
    if (read_file(path, &data, &info)) {
        uint64_t changed_ns =
            (uint64_t)info.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)info.st_mtim.tv_nsec;
        if (not_after_ns && changed_ns > not_after_ns)
            source->state = SOURCE_CHANGED;
        else
            result = source_text_parse(source, data.data, data.length, err);
    }
    bytes_free(&data);
    return result;
}

void source_text_free(struct source_text *source)
{
    if (!source)
        return;
    bytes_free(&source->text);
    free(source->line_starts);
    *source = (struct source_text){0};
}

const char *source_text_line(const struct source_text *source, uint32_t line)
{
    if (source->state != SOURCE_READ || line == 0 || line > source->line_count)
        return NULL;
    return (const char *)source->text.data + source->line_starts[line - 1];
}
