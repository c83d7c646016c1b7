/* SPDX-License-Identifier: Apache-2.0 */
#include "text/csv/writer.h"

#include <stdbool.h>
#include <string.h>

#include "text/utf8.h"

void csv_append_exact(struct bytes *out, const char *text, size_t length)
{
    bool is_plain = true;
    for (size_t i = 0; i < length && is_plain; i++)
        is_plain = text[i] != '"' && text[i] != ',' && text[i] != '\n' && text[i] != '\r';
    if (is_plain) {
        bytes_append(out, text, length);
        return;
    }
    bytes_append_u8(out, '"');
    for (size_t begin = 0, i = 0; i <= length; i++) {
        if (i < length && text[i] != '"')
            continue;
        bytes_append(out, text + begin, i - begin);
        if (i < length)
            bytes_append_u8(out, '"'); /* doubled: the quote itself begins the next piece */
        begin = i;
    }
    bytes_append_u8(out, '"');
}

static bool is_formula(const char *text, size_t length)
{
    if (length < 2 || !memchr("=+-@\t", text[0], 5))
        return false;
    if (text[0] != '+' && text[0] != '-')
        return true;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] < '0' || text[i] > '9') && text[i] != '.')
            return true;
    }
    return false;
}

/* Nearly all text is such: it needs no look at its characters. */
static bool is_harmless(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] > 0x7e)
            return false;
    }
    return true;
}

void csv_append_text(struct bytes *out, const char *text, size_t length)
{
    bool has_formula = is_formula(text, length);
    if (!has_formula && is_harmless(text, length)) {
        csv_append_exact(out, text, length);
        return;
    }
    struct bytes clean = {0};
    if (has_formula)
        bytes_append_u8(&clean, '\'');
    utf8_append_visible_lines(&clean, text, length);
    csv_append_exact(out, bytes_text(&clean), clean.length);
    out->failed |= clean.failed;
    bytes_free(&clean);
}
