/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json/writer.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

#if LDBL_MANT_DIG == 64
/* The digits of `scaled`, rounded to a whole number; false where the 64 bits of a long double cannot tell which way. */
static bool round_digits(long double scaled, long double doubt, uint64_t *digits)
{
    uint64_t whole = (uint64_t)scaled;
    long double rest = scaled - (long double)whole;
    *digits = whole + (rest > 0.5L);
    return rest < 0.5L - doubt || rest > 0.5L + doubt;
}

/* The double that digits / power is; false where a long double cannot tell, being half-way between two. */
static bool divide_digits(uint64_t digits, long double power, double *value)
{
    union {
        long double real;
        uint64_t mantissa;
    } quotient = {(long double)digits / power};
    *value = (double)quotient.real;
    return (quotient.mantissa & 0x7ff) != 0x400;
}

/* digits / 10^places without zeros at the end. */
static size_t put_decimal(char *text, bool is_negative, uint64_t digits, int places)
{
    char reversed[32];
    size_t count = 0, length = 0;
    while (places > 0 && digits % 10 == 0) {
        digits /= 10;
        places--;
    }
    do {
        reversed[count++] = (char)('0' + digits % 10);
        digits /= 10;
        if (--places == 0)
            reversed[count++] = '.';
    } while (digits || places >= 0);
    if (is_negative)
        text[length++] = '-';
    while (count)
        text[length++] = reversed[--count];
    return length;
}

/* What the loop below gives, for numbers of ordinary size: two multiplications instead of printf and strtod. 0: not
 * one of them, or too close to call (1 in some hundreds). */
static size_t put_ordinary_real(char *text, double value)
{
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,
                                         1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L,
                                         1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L};
    double size = fabs(value);
    int before = 1; /* digits before the point */
    if (!(size >= 1e-4 && size < 1e14))
        return 0;
    while (before < 15 && (long double)size >= powers[before])
        before++;
    while (before <= 1 && (long double)size * powers[1 - before] < 1) /* zeros after it count against them */
        before--;
    for (int digits = 15; digits <= 17; digits++) {
        int places = digits - before;
        uint64_t whole;
        double back = 0;
        if (!round_digits((long double)size * powers[places], digits == 17 ? 0x1p-7L : 0x1p-10L, &whole))
            return 0;
        if (digits < 17 && !divide_digits(whole, powers[places], &back))
            return 0;
        if (digits == 17 || back == size)
            return put_decimal(text, value < 0, whole, places);
    }
    return 0;
}
#endif

void json_append_real(struct bytes *out, double value)
{
    char text[40];
    if (!isfinite(value)) {
        bytes_append_text(out, "null");
        return;
    }
#if LDBL_MANT_DIG == 64
    size_t length = put_ordinary_real(text, value);
    if (length) {
        bytes_append(out, text, length);
        return;
    }
#endif
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    bytes_append_text(out, text);
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
    bytes_append_format(&j->buffer, "\n%*s", (int)(2 * j->depth), "");
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
    before_value(j);
    bytes_append_format(&j->buffer, "%" PRIu64, value);
}

void json_integer(struct json *j, int64_t value)
{
    before_value(j);
    bytes_append_format(&j->buffer, "%" PRId64, value);
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
    if (!failed && j->stream)
        fwrite(j->buffer.data, 1, j->buffer.length, j->stream);
    int result = failed ? -ENOMEM : j->stream && ferror(j->stream) ? -EIO : 0;
    bytes_free(&j->buffer);
    return result;
}
