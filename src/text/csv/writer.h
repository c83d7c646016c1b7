/* SPDX-License-Identifier: Apache-2.0 */
/* A text as a CSV cell: in quotes where it holds a comma, a quote or a line end (RFC 4180), else as it is. */
#ifndef OPSCOPE_TEXT_CSV_WRITER_H
#define OPSCOPE_TEXT_CSV_WRITER_H

#include <string.h>

#include "base/bytes.h"

/* For our own tables, which people look at on terminals and open in spreadsheets: control characters other than line
 * ends and tabs become visible (\x1b), broken bytes U+FFFD, and what a spreadsheet would take for a formula (it begins
 * with = + - @ or a tab and is not a number) gets an apostrophe in front. */
void csv_append_text(struct bytes *out, const char *text, size_t length);

/* Byte for byte: for cells of other tools' tables, and for tables that other tools or we read back. */
void csv_append_exact(struct bytes *out, const char *text, size_t length);
static inline void csv_append_exact_text(struct bytes *out, const char *text)
{
    csv_append_exact(out, text, strlen(text));
}

#endif
