/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as it comes from foreign programs: perhaps broken, perhaps full of control characters. */
#ifndef OPSCOPE_TEXT_UTF8_H
#define OPSCOPE_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each medium gets of such text:
 *   terminal   utf8_append_visible: control characters as \n, \x1b, \u202e; broken bytes as U+FFFD
 *   CSV        csv_append_text (csv/writer.h)
 *   JSON       json_append_string (json/writer.h)
 *   HTML, XML  html_append_text, xml_append_text (markup_write.h) */
#define UTF8_REPLACEMENT 0xfffdu

struct bytes;

/* Decodes the character at text[0..length), length > 0. Returns how many bytes it took; a broken sequence
 * takes the bytes that could have begun a character (at least 1) and gives UTF8_REPLACEMENT. */
size_t utf8_decode(const char *text, size_t length, uint32_t *character);

/* Columns that utf8_append_visible will fill. */
size_t utf8_width(const char *text, size_t length);

/* Control characters, separators of lines, and the marks that change the direction of a line. */
bool utf8_is_control(uint32_t character);

/* Appends text that is safe for a terminal: control characters as \n or \x1b, broken bytes as U+FFFD. */
void utf8_append_visible(struct bytes *out, const char *text, size_t length);
/* The same, but line ends (\n, \r\n) and tabs stay as they are. */
void utf8_append_visible_lines(struct bytes *out, const char *text, size_t length);

/* The same in at most `columns` columns; what does not fit is cut out of the middle, where `mark` ("…") is
 * put. Returns the columns used. */
size_t utf8_append_shortened(struct bytes *out, const char *text, size_t length, size_t columns,
                             const char *mark);
/* The same, but it is the end that is cut. */
size_t utf8_append_beginning(struct bytes *out, const char *text, size_t length, size_t columns,
                             const char *mark);

#endif
