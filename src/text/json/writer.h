/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON as it goes: objects, arrays and values in the order of the calls. Text that is not UTF-8 becomes UTF-8
 * with U+FFFD; control characters and marks of direction are written as \uXXXX. Numbers are exact; NaN and infinity,
 * which JSON does not have, become null. The writer adds commas, line breaks and indentation: containers opened with
 * JSON_LINES have one member per line. */
#ifndef OPSCOPE_TEXT_JSON_WRITER_H
#define OPSCOPE_TEXT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"

enum json_layout { JSON_INLINE = 0, JSON_LINES = 1 };

#define JSON_DEEPEST 64u

struct json { /* zero-initialise with a stream; json_finish at the end */
    FILE *stream;
    struct bytes buffer;
    unsigned depth;
    bool after_key;
    struct {
        bool is_object, is_lines, has_members;
    } levels[JSON_DEEPEST];
};

void json_object(struct json *j, enum json_layout layout);
void json_array(struct json *j, enum json_layout layout);
void json_end(struct json *j); /* of the innermost object or array */

void json_key(struct json *j, const char *key);
void json_text(struct json *j, const char *text); /* NULL is null */
void json_text_length(struct json *j, const char *text, size_t length);
void json_unsigned(struct json *j, uint64_t value);
void json_integer(struct json *j, int64_t value);
void json_real(struct json *j, double value); /* the shortest digits that read back as the same double */
void json_null(struct json *j);

/* key and value in one call */
void json_member_text(struct json *j, const char *key, const char *text);
void json_member_unsigned(struct json *j, const char *key, uint64_t value);
void json_member_real(struct json *j, const char *key, double value);
void json_member_bool(struct json *j, const char *key, bool value);

/* Ends with a line break, writes what is buffered and frees the buffer. -errno when something failed. */
int json_finish(struct json *j);

/* The pieces, for writers that make their own layout. */
void json_append_string(struct bytes *out, const char *text, size_t length); /* with the quotes */
void json_append_real(struct bytes *out, double value);

#endif
