/* SPDX-License-Identifier: Apache-2.0 */
/* A text as a CSV cell that other programs read back: quoted where it must be, else as it is. */
#ifndef OPSCOPE_TEXT_CSV_WRITE_H
#define OPSCOPE_TEXT_CSV_WRITE_H

#include <string.h>

#include "base/bytes.h"

static inline void csv_append_text(struct bytes *out, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        bytes_append_text(out, text);
        return;
    }
    bytes_append_u8(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            bytes_append_u8(out, '"');
        bytes_append_u8(out, (uint8_t)*text);
    }
    bytes_append_u8(out, '"');
}

#endif
