/* SPDX-License-Identifier: Apache-2.0 */
/* Reads configuration files in a strict subset of TOML 1.0: comments, tables, arrays of tables, bare, quoted and dotted
 * keys, strings on one line ("..." and '...'), decimal integers and reals, booleans, arrays. What TOML has beyond that
 * (dates, strings over several lines, inline tables, other bases, inf and nan) is refused by name rather than misread,
 * and so is every key that comes twice.
 *
 *     struct toml toml;
 *     if (toml_read(&toml, "opscope.toml", &err) == 0) {
 *         for (size_t i = 0; i < toml.root.child_count; i++)
 *             read_table(&toml.root.children[i]);
 *         ...
 *     }
 *     toml_free(&toml);
 *
 * Errors are "path:line:column: what is wrong"; nodes know where they stand, so that a reader of values can say so too
 * (toml_error). Columns count bytes, from 1. */
#ifndef OPSCOPE_TEXT_TOML_H
#define OPSCOPE_TEXT_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TOML_SIZE_MAX ((size_t)1 << 20)
#define TOML_DEPTH_MAX 32u

enum toml_type { TOML_TABLE, TOML_ARRAY, TOML_TEXT, TOML_INTEGER, TOML_REAL, TOML_BOOL };

struct toml_node {
    enum toml_type type;
    char *key;           /* in a table; NULL in an array */
    size_t line, column; /* of the key, of an array's element itself */
    char *text;          /* TOML_TEXT: NUL-terminated; holds no NUL */
    int64_t integer;
    double real; /* also of an integer */
    bool boolean;
    struct toml_node *children; /* in order; of a table and of an array */
    size_t child_count, child_capacity;
    uint8_t made_by; /* the parser's own: how a table came about */
};

struct toml {
    char *path;
    struct toml_node root;
};

/* -ENOENT and the like, or -EINVAL with the place. The struct is initialised and may be freed either way. */
int toml_read(struct toml *toml, const char *path, struct error *err);
int toml_parse(struct toml *toml, const char *path, const char *text, size_t length, struct error *err);
void toml_free(struct toml *toml);

/* Fills err with "path:line:column: ..." and returns -EINVAL. */
int toml_error(const struct toml *toml, const struct toml_node *node, struct error *err, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

#endif
