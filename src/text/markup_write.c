/* SPDX-License-Identifier: Apache-2.0 */
#include "text/markup_write.h"

#include <string.h>

#include "text/utf8.h"

static const char *reference(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void append_references(struct bytes *out, const struct bytes *clean, bool is_attribute)
{
    for (size_t i = 0; i < clean->length; i++) {
        char c = (char)clean->data[i];
        const char *name = reference(c);
        if (name)
            bytes_append_text(out, name);
        else if (is_attribute && (c == '\n' || c == '\t'))
            bytes_append_format(out, "&#%d;", c); /* a parser would make a space of it */
        else
            bytes_append_u8(out, (uint8_t)c);
    }
    out->failed |= clean->failed;
}

void html_append_text(struct bytes *out, const char *text)
{
    struct bytes clean = {0};
    utf8_append_visible(&clean, text, strlen(text));
    append_references(out, &clean, false);
    bytes_free(&clean);
}

void xml_append_text(struct bytes *out, const char *text, bool is_attribute)
{
    struct bytes clean = {0};
    for (;;) {
        size_t length = strcspn(text, "\r");
        bytes_clear(&clean);
        utf8_append_visible_lines(&clean, text, length);
        append_references(out, &clean, is_attribute);
        text += length;
        if (!*text++)
            break;
        bytes_append_text(out, "&#13;"); /* a parser would make a line feed of the character */
    }
    bytes_free(&clean);
}
