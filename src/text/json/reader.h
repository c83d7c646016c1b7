/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON that others wrote: one document in memory to a tree of nodes, in the order of the file.
 *
 * Numbers stay text, so that integers of any size are exact. Strings are decoded: escapes become UTF-8, a lone
 * surrogate becomes U+FFFD. Everything is checked: nesting is at most JSON_READ_DEEPEST, and a document that
 * ends early or has anything after its end is refused with the byte where it went wrong.
 *
 *     struct json_document document = {0};                  reuse for many texts, free at the end
 *     if (json_read(&document, text, length, &err) == 0)
 *         node = json_find(&document, json_root(&document), "op_code");
 *
 * The tree is an array: a node's children follow it, `next` leads past all of them. */
#ifndef OPSCOPE_TEXT_JSON_READER_H
#define OPSCOPE_TEXT_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

#define JSON_READ_DEEPEST 64u

enum json_kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_node {
    uint32_t kind;    /* enum json_kind */
    uint32_t next;    /* index of the node after this one and all that is in it */
    const char *text; /* JSON_NUMBER, JSON_STRING: not NUL-terminated */
    uint32_t length;
    uint32_t key_length;
    const char *key; /* of a member of an object; NULL elsewhere */
};

struct json_document {
    struct json_node *nodes;
    size_t count, capacity;
    struct bytes texts; /* of strings with escapes */
};

/* The text must stay while the nodes are used. */
int json_read(struct json_document *document, const char *text, size_t length, struct error *err);
void json_document_free(struct json_document *document);

static inline const struct json_node *json_root(const struct json_document *document)
{
    return document->count ? document->nodes : NULL;
}

/* Children, in order: for (n = json_first(d, parent); n; n = json_next(d, parent, n)). NULL is allowed. */
const struct json_node *json_first(const struct json_document *document, const struct json_node *parent);
const struct json_node *json_next(const struct json_document *document, const struct json_node *parent,
                                  const struct json_node *child);
/* The member of an object; the last one where a key comes twice. NULL when there is none. */
const struct json_node *json_find(const struct json_document *document, const struct json_node *object,
                                  const char *key);

/* A number that is a whole one and fits; false otherwise. */
bool json_unsigned_value(const struct json_node *node, uint64_t *value);
bool json_text_is(const struct json_node *node, const char *text);

#endif
