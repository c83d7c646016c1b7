/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json/writer.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/real_write.h"
#include "text/utf8.h"

#define FLUSH_BYTES ((size_t)64 << 10)

/* Ordinary text, which nearly all of it is, needs no escape: the length of the run that can be copied. */
static size_t plain_run(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length && (unsigned char)text[i] >= 0x20 && (unsigned char)text[i] < 0x7f && text[i] != '"' &&
           text[i] != '\\')
        i++;
    return i;
}

void json_append_string(struct bytes *out, const char *text, size_t length)
{
    bytes_append(out, "\"", 1);
    for (size_t i = 0; i < length;) {
        size_t run = plain_run(text + i, length - i);
        bytes_append(out, text + i, run);
        i += run;
        if (i == length)
            break;
        uint32_t character;
        size_t taken = utf8_decode(text + i, length - i, &character);
        if (character == '"' || character == '\\')
            bytes_append_format(out, "\\%c", (int)character);
        else if (character == '\n')
            bytes_append(out, "\\n", 2);
        else if (character == '\t')
            bytes_append(out, "\\t", 2);
        else if (utf8_is_control(character))
            bytes_append_format(out, "\\u%04x", character);
        else if (character == UTF8_REPLACEMENT)
            bytes_append(out, "\xef\xbf\xbd", 3);
        else
            bytes_append(out, text + i, taken);
        i += taken;
    }
    bytes_append(out, "\"", 1);
}

/* %.*g with as few of 15, 16 or 17 digits as read back. */
void json_append_real(struct bytes *out, double value)
{
    struct real_digits real;
    char text[40], digits[20];
    size_t length = 0;
    if (!isfinite(value)) {
        bytes_append_text(out, "null");
        return;
    }
    real_shortest(fabs(value), 15, &real);
    real_put_whole(digits, real.digits);
    if (signbit(value))
        text[length++] = '-';
    int before = real.exponent + 1; /* digits before the point */
    bool is_scientific = real.exponent < -4 || real.exponent >= real.precision;
    if (is_scientific) {
        before = 1;
    } else if (before <= 0) {
        memcpy(text + length, "0.0000", 6);
        length += 2 + (size_t)-before;
        before = 0;
    }
    size_t whole = (size_t)before, count = (size_t)real.count;
    if (count <= whole) {
        memset(text + length, '0', whole);
        memcpy(text + length, digits, count);
        length += whole;
    } else {
        memcpy(text + length, digits, whole);
        length += whole;
        if (whole)
            text[length++] = '.';
        memcpy(text + length, digits + whole, count - whole);
        length += count - whole;
    }
    if (is_scientific) {
        unsigned size = (unsigned)abs(real.exponent);
        text[length++] = 'e';
        text[length++] = real.exponent < 0 ? '-' : '+';
        if (size < 10)
            text[length++] = '0';
        length += real_put_whole(text + length, size);
    }
    bytes_append(out, text, length);
}

static void flush_if_large(struct json *j)
{
    if (j->stream && j->buffer.length >= FLUSH_BYTES) {
        fwrite(j->buffer.data, 1, j->buffer.length, j->stream);
        bytes_clear(&j->buffer);
    }
}

static void line_break(struct json *j)
{
    char line[1 + 2 * JSON_DEEPEST];
    line[0] = '\n';
    memset(line + 1, ' ', 2 * (size_t)j->depth);
    bytes_append(&j->buffer, line, 1 + 2 * (size_t)j->depth);
}

/* Puts what has to stand between the previous thing and the next value or key. */
static void before_value(struct json *j)
{
    flush_if_large(j);
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->depth == 0)
        return;
    bool is_lines = j->levels[j->depth - 1].is_lines;
    if (j->levels[j->depth - 1].has_members)
        bytes_append_text(&j->buffer, is_lines ? "," : ", ");
    j->levels[j->depth - 1].has_members = true;
    if (is_lines)
        line_break(j);
}

static void open_level(struct json *j, bool is_object, enum json_layout layout)
{
    assert(j->depth < JSON_DEEPEST);
    before_value(j);
    bytes_append_text(&j->buffer, is_object ? "{" : "[");
    j->levels[j->depth].is_object = is_object;
    j->levels[j->depth].is_lines = layout == JSON_LINES;
    j->levels[j->depth].has_members = false;
    j->depth++;
}

void json_object(struct json *j, enum json_layout layout)
{
    open_level(j, true, layout);
}

void json_array(struct json *j, enum json_layout layout)
{
    open_level(j, false, layout);
}

void json_end(struct json *j)
{
    assert(j->depth > 0);
    j->depth--;
    if (j->levels[j->depth].is_lines && j->levels[j->depth].has_members)
        line_break(j);
    bytes_append_text(&j->buffer, j->levels[j->depth].is_object ? "}" : "]");
}

void json_key(struct json *j, const char *key)
{
    before_value(j);
    json_append_string(&j->buffer, key, strlen(key));
    bytes_append_text(&j->buffer, ": ");
    j->after_key = true;
}

void json_text_length(struct json *j, const char *text, size_t length)
{
    before_value(j);
    json_append_string(&j->buffer, text, length);
}

void json_text(struct json *j, const char *text)
{
    if (text)
        json_text_length(j, text, strlen(text));
    else
        json_null(j);
}

void json_unsigned(struct json *j, uint64_t value)
{
    char digits[24]; /* without printf: long tables have tens of millions of numbers */
    before_value(j);
    bytes_append(&j->buffer, digits, real_put_whole(digits, value));
}

void json_integer(struct json *j, int64_t value)
{
    char digits[24] = "-";
    size_t sign = value < 0;
    before_value(j);
    bytes_append(&j->buffer, digits,
                 sign + real_put_whole(digits + sign, sign ? 0 - (uint64_t)value : (uint64_t)value));
}

void json_real(struct json *j, double value)
{
    before_value(j);
    json_append_real(&j->buffer, value);
}

static void json_bool(struct json *j, bool value)
{
    before_value(j);
    bytes_append_text(&j->buffer, value ? "true" : "false");
}

void json_null(struct json *j)
{
    before_value(j);
    bytes_append_text(&j->buffer, "null");
}

void json_member_text(struct json *j, const char *key, const char *text)
{
    json_key(j, key);
    json_text(j, text);
}

void json_member_unsigned(struct json *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_unsigned(j, value);
}

void json_member_real(struct json *j, const char *key, double value)
{
    json_key(j, key);
    json_real(j, value);
}

void json_member_bool(struct json *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

int json_finish(struct json *j)
{
    bool failed = j->buffer.failed;
    assert(j->depth == 0);
    bytes_append_text(&j->buffer, "\n");
    failed = failed || j->buffer.failed;
    errno = 0;
    if (!failed && j->stream)
        fwrite(j->buffer.data, 1, j->buffer.length, j->stream);
    int why = errno ? errno : EIO;
    int result = failed ? -ENOMEM : j->stream && ferror(j->stream) ? -why : 0;
    bytes_free(&j->buffer);
    return result;
}
