/* SPDX-License-Identifier: Apache-2.0 */
#include "text/python_text.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

/* One code point at text; 0 bytes when these are not UTF-8. */
static size_t decode(const char *text, size_t length, uint32_t *code)
{
    uint8_t first = (uint8_t)text[0];
    size_t need = first < 0x80         ? 1
                  : (first >> 5) == 6  ? 2
                  : (first >> 4) == 14 ? 3
                  : (first >> 3) == 30 ? 4
                                       : 0;
    static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (need == 0 || need > length)
        return 0;
    *code = first & masks[need];
    for (size_t i = 1; i < need; i++) {
        if (((uint8_t)text[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | ((uint8_t)text[i] & 0x3f);
    }
    return *code >= least[need] && *code <= 0x10ffff ? need : 0;
}

/* str.isprintable for the ranges that do not print: controls, format characters, separators other than the
 * blank, surrogates, private use and what is not assigned for good. */
static bool prints(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } not_printed[] = {
        {0x00, 0x1f},     {0x7f, 0xa0},     {0xad, 0xad},     {0x600, 0x605},     {0x61c, 0x61c},
        {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x1680, 0x1680}, {0x180e, 0x180e},   {0x2000, 0x200f},
        {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000}, {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},
        {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff},
    };
    if (c < 0x7f)
        return c >= 0x20;
    for (size_t i = 0; i < COUNT_OF(not_printed); i++) {
        if (c >= not_printed[i].first && c <= not_printed[i].last)
            return false;
    }
    return true;
}

static void append_escaped(struct bytes *out, uint32_t code)
{
    const char *known = code == '\n' ? "\\n" : code == '\r' ? "\\r" : code == '\t' ? "\\t" : NULL;
    if (known)
        bytes_append_text(out, known);
    else if (code < 0x100)
        bytes_append_format(out, "\\x%02x", (unsigned)code);
    else if (code < 0x10000)
        bytes_append_format(out, "\\u%04x", (unsigned)code);
    else
        bytes_append_format(out, "\\U%08x", (unsigned)code);
}

void python_append_string(struct bytes *out, const char *text, size_t length)
{
    bool has_single = length > 0 && memchr(text, '\'', length);
    bool has_double = length > 0 && memchr(text, '"', length);
    char quote = has_single && !has_double ? '"' : '\'';
    size_t plain = 0; /* where the run of bytes that stay as they are began */
    bytes_append(out, &quote, 1);
    for (size_t i = 0; i < length;) {
        char c = text[i];
        uint32_t code = (uint8_t)c;
        size_t size = 1;
        bool is_kept = c != quote && c != '\\';
        if ((uint8_t)c >= 0x80)
            size = decode(text + i, length - i, &code);
        if (size == 0)
            size = 1; /* not UTF-8 */
        else if (!prints(code))
            is_kept = false;
        if (!is_kept) {
            bytes_append(out, text + plain, i - plain);
            if (c == quote || c == '\\') {
                bytes_append_text(out, "\\");
                bytes_append(out, &c, 1);
            } else {
                append_escaped(out, code);
            }
            plain = i + size;
        }
        i += size;
    }
    if (length > plain)
        bytes_append(out, text + plain, length - plain);
    bytes_append(out, &quote, 1);
}

void python_append_whole(struct bytes *out, double value)
{
    double whole = nearbyint(value); /* ties to even */
    bytes_append_format(out, "%.0f", whole == 0 ? 0.0 : whole);
}

double python_round_3(double value)
{
    char text[400];
    if (!isfinite(value))
        return value;
    snprintf(text, sizeof text, "%.3f", value); /* the C library rounds the exact value, ties to even */
    return strtod(text, NULL);
}
