/* SPDX-License-Identifier: Apache-2.0 */
/* Answers for somebody who reads all of them, and pays for it: without what only a page needs (colours, numbers of
 * names that are there as text) and without what is not known, and cut to a size with a list of what was cut. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "serve/mcp/internal.h"

#define CUTS 12u
#define KEY_LENGTH 80u

struct cut { /* arrays with this path */
    char path[KEY_LENGTH];
    uint64_t shown, all;
};

struct writing {
    const struct json_document *document;
    const struct bound *bound;
    struct bytes *out;
    size_t limit;
    size_t items, text; /* at most, of an array and of a text */
    struct cut cuts[CUTS];
    size_t cut_count;
    uint64_t texts_cut, arrays_cut; /* the latter: beyond those in `cuts` */
};

static bool key_is(const struct json_node *node, const char *key)
{
    size_t length = strlen(key);
    return node->key && node->key_length == length && memcmp(node->key, key, length) == 0;
}

/* --- what is left out --- */

static void note_cut(struct writing *w, const char *path, uint64_t shown, uint64_t all)
{
    size_t i = 0;
    while (i < w->cut_count && strcmp(w->cuts[i].path, path) != 0)
        i++;
    if (i == CUTS) {
        w->arrays_cut++;
        return;
    }
    if (i == w->cut_count) {
        w->cuts[w->cut_count++] = (struct cut){0};
        snprintf(w->cuts[i].path, sizeof w->cuts[i].path, "%s", path);
    }
    w->cuts[i].shown += shown;
    w->cuts[i].all += all;
}

/* "diff.rows" */
static const struct json_node *find_path(const struct json_document *document, const char *path)
{
    const struct json_node *node = json_root(document);
    char key[KEY_LENGTH];
    while (node && *path) {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof key, "%.*s", (int)length, path);
        node = json_find(document, node, key);
        path += length + (path[length] == '.');
    }
    return node;
}

/* Rows that the question itself left out. */
static void note_rows(struct writing *w)
{
    const struct json_node *rows = w->bound->rows ? find_path(w->document, w->bound->rows) : NULL;
    const struct json_node *count = rows ? find_path(w->document, w->bound->count) : NULL;
    uint64_t all, there = 0;
    if (!count || !json_unsigned_value(count, &all))
        return;
    for (const struct json_node *n = json_first(w->document, rows); n; n = json_next(w->document, rows, n))
        there++;
    if (all <= there)
        return;
    for (size_t i = 0; i < w->cut_count; i++) {
        if (strcmp(w->cuts[i].path, w->bound->rows) == 0) {
            w->cuts[i].all = all;
            return;
        }
    }
    note_cut(w, w->bound->rows, there, all);
}

static void write_cuts(const struct writing *w, struct bytes *out)
{
    const char *comma = "";
    bytes_append_text(out, "[");
    for (size_t i = 0; i < w->cut_count; i++) {
        bytes_append_text(out, comma);
        bytes_append_text(out, "{\"what\":");
        json_append_string(out, w->cuts[i].path, strlen(w->cuts[i].path));
        bytes_append_format(out, ",\"shown\":%" PRIu64 ",\"of\":%" PRIu64 "}", w->cuts[i].shown,
                            w->cuts[i].all);
        comma = ",";
    }
    if (w->arrays_cut) {
        bytes_append_format(out, "%s{\"what\":\"further lists\",\"cut\":%" PRIu64 "}", comma, w->arrays_cut);
        comma = ",";
    }
    if (w->texts_cut)
        bytes_append_format(out, "%s{\"what\":\"ends of texts, marked with ...\",\"cut\":%" PRIu64 "}", comma,
                            w->texts_cut);
    bytes_append_text(out, "]");
}

/* --- what is not wanted --- */

static bool is_skipped(const struct writing *w, const struct json_node *object,
                       const struct json_node *member)
{
    static const char *const always[] = {"colour", "strong", "meaning"};
    for (size_t i = 0; i < COUNT_OF(always); i++) {
        if (key_is(member, always[i]))
            return true;
    }
    for (size_t i = 0; w->bound->skip && w->bound->skip[i]; i++) {
        if (key_is(member, w->bound->skip[i]))
            return true;
    }
    if (member->kind == JSON_NULL) /* not known; the answer says what that means */
        return true;
    /* the number of a name that is there in words */
    return member->kind == JSON_NUMBER && key_is(member, "name") && json_find(w->document, object, "text");
}

/* --- writing --- */

static void put_text(struct writing *w, const struct json_node *node)
{
    size_t length = node->length;
    if (length <= w->text) {
        json_append_string(w->out, node->text, length);
        return;
    }
    length = w->text;
    while (length && ((uint8_t)node->text[length] & 0xc0) == 0x80)
        length--; /* not inside of a character */
    json_append_string(w->out, node->text, length);
    w->out->length -= w->out->length > 0; /* the closing quote */
    bytes_append_text(w->out, "...\"");
    w->texts_cut++;
}

/* Phrases of a sentence become one text. */
static bool put_sentence(struct writing *w, const struct json_node *array)
{
    struct bytes text = {0};
    for (const struct json_node *n = json_first(w->document, array); n;
         n = json_next(w->document, array, n)) {
        const struct json_node *part = n->kind == JSON_OBJECT ? json_find(w->document, n, "text") : NULL;
        if (!part || part->kind != JSON_STRING) {
            bytes_free(&text);
            return false;
        }
        bytes_append(&text, part->text, part->length);
    }
    json_append_string(w->out, bytes_text(&text), text.length);
    bytes_free(&text);
    return true;
}

static void put_value(struct writing *w, const struct json_node *node, const char *path, bool is_root);

static void put_object(struct writing *w, const struct json_node *object, const char *path, bool is_root)
{
    const char *comma = "";
    bytes_append_text(w->out, "{");
    for (const struct json_node *n = json_first(w->document, object); n;
         n = json_next(w->document, object, n)) {
        char inside[KEY_LENGTH];
        if (is_skipped(w, object, n) || w->out->length > w->limit)
            continue;
        snprintf(inside, sizeof inside, "%s%s%.*s", path, *path ? "." : "", (int)n->key_length, n->key);
        bytes_append_text(w->out, comma);
        json_append_string(w->out, n->key, n->key_length);
        bytes_append_text(w->out, ":");
        put_value(w, n, inside, false);
        comma = is_root ? ",\n" : ",";
    }
    bytes_append_text(w->out, "}");
}

static void put_array(struct writing *w, const struct json_node *array, const char *path)
{
    const char *comma = "";
    uint64_t shown = 0, all = 0;
    bytes_append_text(w->out, "[");
    for (const struct json_node *n = json_first(w->document, array); n;
         n = json_next(w->document, array, n)) {
        if (all++ >= w->items || w->out->length > w->limit)
            continue;
        bytes_append_text(w->out, comma);
        put_value(w, n, path, false);
        comma = n->kind == JSON_OBJECT ? ",\n" : ",";
        shown++;
    }
    bytes_append_text(w->out, "]");
    if (shown < all)
        note_cut(w, path, shown, all);
}

/* As deep as the reader allows. */
static void put_value(struct writing *w, const struct json_node *node, const char *path, bool is_root)
{
    switch (node->kind) {
    case JSON_OBJECT:
        put_object(w, node, path, is_root);
        break;
    case JSON_ARRAY:
        if (!key_is(node, "sentence") || !put_sentence(w, node))
            put_array(w, node, path);
        break;
    case JSON_STRING:
        put_text(w, node);
        break;
    case JSON_NUMBER:
        bytes_append(w->out, node->text, node->length);
        break;
    default:
        bytes_append_text(w->out, node->kind == JSON_TRUE    ? "true"
                                  : node->kind == JSON_FALSE ? "false"
                                                             : "null");
    }
}

bool bound_write(const struct json_document *document, const struct bound *bound, size_t limit,
                 struct bytes *out, struct bytes *left_out)
{
    static const struct {
        size_t items, text;
    } steps[] = {{1000, 2000}, {400, 1000}, {200, 500}, {100, 500}, {60, 300},
                 {40, 300},    {30, 300},   {20, 200},  {15, 200},  {10, 160},
                 {7, 160},     {5, 120},    {3, 120},   {2, 80},    {1, 60}};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct writing w = {.document = document,
                            .bound = bound,
                            .out = out,
                            .limit = limit,
                            .items = steps[i].items,
                            .text = steps[i].text};
        bytes_clear(out);
        put_value(&w, json_root(document), "", true);
        if (out->failed)
            return false;
        if (out->length > limit)
            continue;
        note_rows(&w);
        write_cuts(&w, left_out);
        return !left_out->failed;
    }
    return false;
}
