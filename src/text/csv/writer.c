/* SPDX-License-Identifier: Apache-2.0 */
#include "text/csv/writer.h"

#include <stdbool.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "text/utf8.h"

enum { NEEDS_QUOTES = 1, NEEDS_CLEANING = 2 };

/* What is special about a text: quotes for a comma, a quote or a line end; cleaning for all that is not printable
 * ASCII. */
static unsigned look_at(const char *text, size_t length)
{
    size_t i = 0;
    unsigned found = 0;
#if defined(__SSE2__)
    const __m128i comma = _mm_set1_epi8(','), quote = _mm_set1_epi8('"'), feed = _mm_set1_epi8('\n'),
                  carriage = _mm_set1_epi8('\r'), space = _mm_set1_epi8(0x20), tilde = _mm_set1_epi8(0x7e);
    __m128i quoted = _mm_setzero_si128(), unclean = quoted;
    for (; i < length && length >= 16; i += 16) {
        size_t at = i + 16 <= length ? i : length - 16; /* the last ones again, rather than one by one */
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + at));
        __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, feed), _mm_cmpeq_epi8(bytes, carriage));
        __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, comma), _mm_cmpeq_epi8(bytes, quote));
        quoted = _mm_or_si128(quoted, _mm_or_si128(ends, marks));
        /* as signed numbers: bytes above 0x7f are below the space */
        unclean =
            _mm_or_si128(unclean, _mm_or_si128(_mm_cmplt_epi8(bytes, space), _mm_cmpgt_epi8(bytes, tilde)));
    }
    found =
        (_mm_movemask_epi8(quoted) ? NEEDS_QUOTES : 0) | (_mm_movemask_epi8(unclean) ? NEEDS_CLEANING : 0);
#endif
    for (; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c > '"' && c <= 0x7e && c != ',')
            continue; /* nearly all */
        found |= c == ',' || c == '"' || c == '\n' || c == '\r' ? NEEDS_QUOTES : 0;
        found |= c < 0x20 || c > 0x7e ? NEEDS_CLEANING : 0;
    }
    return found;
}

static void append_cell(struct bytes *out, const char *text, size_t length, unsigned found)
{
    if (!(found & NEEDS_QUOTES)) {
        bytes_append(out, text, length);
        return;
    }
    bytes_append_u8(out, '"');
    for (const char *end = text + length, *quote; text < end; text = quote) {
        quote = memchr(text, '"', (size_t)(end - text));
        quote = quote ? quote + 1 : end;
        bytes_append(out, text, (size_t)(quote - text));
        if (quote[-1] == '"')
            bytes_append_u8(out, '"');
    }
    bytes_append_u8(out, '"');
}

void csv_append_exact(struct bytes *out, const char *text, size_t length)
{
    append_cell(out, text, length, look_at(text, length));
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

void csv_append_text(struct bytes *out, const char *text, size_t length)
{
    unsigned found = look_at(text, length);
    bool has_formula = is_formula(text, length);
    if (!has_formula && !(found & NEEDS_CLEANING)) {
        append_cell(out, text, length, found);
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
