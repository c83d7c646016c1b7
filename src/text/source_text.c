/* SPDX-License-Identifier: Apache-2.0 */
#include "text/source_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/slice.h"
#include "text/utf8.h"

#define MOST_BYTES ((off_t)64 << 20)
#define TAB_COLUMNS 8u

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

/* Byte by byte where Latin-1 is declared, and where a sequence is not UTF-8. */
static void convert(const char *data, size_t length, bool is_latin1, struct bytes *out)
{
    for (size_t i = 0; i < length;) {
        uint32_t character;
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
    *source = (struct source_text){0};
    bool has_mark = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0;
    if (has_mark) {
        bytes += 3;
        length -= 3;
    }
    convert(bytes, length, !has_mark && declares_latin1(bytes, length), &text);
    bool is_fine = !text.failed && split_lines(source, &text);
    bytes_free(&text);
    if (!is_fine) {
        source_text_free(source);
        return error_no_memory(err, "a source file");
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
