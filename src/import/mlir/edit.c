/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlir/edit.h"

#include <stdlib.h>
#include <string.h>

#include "import/mlir/scan.h"

void mlir_edits_free(struct mlir_edits *edits)
{
    free(edits->items);
    bytes_free(&edits->texts);
    *edits = (struct mlir_edits){0};
}

static void add(struct mlir_edits *edits, uint32_t at, uint32_t cut, const char *text, size_t length)
{
    if (!array_reserve(&edits->items, &edits->capacity, edits->count + 1, sizeof edits->items[0])) {
        edits->failed = true;
        return;
    }
    edits->items[edits->count] =
        (struct mlir_edit){at, cut, (uint32_t)edits->count, edits->texts.length, length};
    edits->count++;
    bytes_append(&edits->texts, text, length);
}

void mlir_edit_insert(struct mlir_edits *edits, uint32_t at, const char *text)
{
    add(edits, at, 0, text, strlen(text));
}

/* Is the key bare in MLIR? Else it stands in quotes. */
static bool is_bare(const char *key)
{
    for (const char *c = key; *c; c++) {
        if (!scan_is_word(*c))
            return false;
    }
    return *key && (*key < '0' || *key > '9');
}

static void append_attribute(struct bytes *out, const struct mlir_new_attribute *attribute)
{
    const char *quote = is_bare(attribute->key) ? "" : "\"";
    bytes_append_format(out, "%s%s%s = %s", quote, attribute->key, quote, attribute->value);
}

/* The properties of a generic op, <{...}>: from where to where; 0 when it has none. */
static size_t properties_end(const struct mlir *mlir, uint32_t op, size_t *begin)
{
    struct slice head = mlir_head(mlir, op), inside = slice_after(head, "<{");
    size_t head_begin = (size_t)(head.data - mlir->text);
    *begin = 0;
    if (!head.length || head.data[0] != '"' || !inside.data)
        return 0;
    *begin = (size_t)(inside.data - mlir->text);
    size_t end = scan_until(mlir->text, *begin, head_begin + head.length, "");
    return end + 2 <= head_begin + head.length ? end + 2 : 0;
}

static size_t trimmed_end(const struct mlir *mlir, size_t begin, size_t end)
{
    while (end > begin && memchr(" \t\r\n", mlir->text[end - 1], 4))
        end--;
    return end;
}

/* Where the dictionary of an op that has none would stand. */
static size_t dictionary_place(const struct mlir *mlir, uint32_t op)
{
    const struct mlir_op *o = &mlir->ops[op];
    struct slice head = mlir_head(mlir, op);
    size_t begin = (size_t)(head.data - mlir->text), end = o->head_end, properties;
    size_t after = properties_end(mlir, op, &properties);
    if (after)
        return after;
    if (head.length && head.data[0] == '"') { /* "d.op"(...) */
        size_t open = scan_string(mlir->text, begin, end);
        return open < end ? scan_until(mlir->text, open + 1, end, "") + 1 : end;
    }
    size_t name = scan_name(mlir->text, begin, end);
    if (o->first_region != MLIR_NONE || slice_begins(head, "linalg.") || slice_begins(head, "arith.constant"))
        return name;
    if (o->last_colon > begin + 1 && o->last_colon <= end)
        return trimmed_end(mlir, begin, o->last_colon - 1);
    if (o->location.length && o->location.begin >= begin + 4)
        return trimmed_end(mlir, begin, o->location.begin - 4);
    return trimmed_end(mlir, begin, end);
}

/* What follows in a comment's line is part of it. */
static bool ends_in_comment(const struct mlir *mlir, size_t begin, size_t end)
{
    size_t line = end;
    while (line > begin && mlir->text[line - 1] != '\n')
        line--;
    return slice_after(slice_from(mlir->text + line, end - line), "//").data != NULL;
}

void mlir_edit_place(struct mlir_edits *edits, struct mlir_lines *lines, uint32_t op)
{
    static const char before[] = " loc(";
    const struct mlir *mlir = edits->mlir;
    const struct mlir_op *o = &mlir->ops[op];
    size_t end = trimmed_end(mlir, o->begin, o->end), skip = sizeof before - 1;
    bool is_unknown = slice_is(slice_from(mlir->text + o->location.begin, o->location.length), "unknown");
    struct bytes text = {0};
    bytes_append_text(&text, before);
    bool has_place = (!o->location.length || is_unknown) && mlir_append_own_place(mlir, lines, op, &text);
    if (has_place && is_unknown) {
        add(edits, o->location.begin, o->location.length, bytes_text(&text) + skip, text.length - skip);
    } else if (has_place && !ends_in_comment(mlir, o->begin, end)) {
        bytes_append_text(&text, ")");
        add(edits, (uint32_t)end, 0, bytes_text(&text), text.length);
    }
    edits->failed |= text.failed || lines->failed;
    bytes_free(&text);
}

static bool is_quoted(const struct mlir *mlir, const struct mlir_attribute *attribute)
{
    return attribute->key.begin && mlir->text[attribute->key.begin - 1] == '"';
}

static size_t attribute_end(const struct mlir *mlir, const struct mlir_attribute *attribute)
{
    return attribute->value.length
               ? attribute->value.begin + attribute->value.length
               : attribute->key.begin + attribute->key.length + is_quoted(mlir, attribute);
}

static int compare_key(const struct mlir *mlir, const struct mlir_attribute *attribute, const char *key)
{
    size_t length = strlen(key), shorter = attribute->key.length < length ? attribute->key.length : length;
    int order = memcmp(mlir->text + attribute->key.begin, key, shorter);
    return order ? order : (attribute->key.length > length) - (attribute->key.length < length);
}

/* One attribute into a dictionary that has some: in its place, or instead of the one of this key. */
static void add_to_dictionary(struct mlir_edits *edits, const struct mlir_attribute *first, uint32_t count,
                              const struct mlir_new_attribute *attribute)
{
    const struct mlir *mlir = edits->mlir;
    struct bytes text = {0};
    uint32_t i = 0;
    while (i < count && compare_key(mlir, &first[i], attribute->key) < 0)
        i++;
    if (i < count && compare_key(mlir, &first[i], attribute->key) == 0 && first[i].value.length) {
        add(edits, first[i].value.begin, first[i].value.length, attribute->value, strlen(attribute->value));
    } else if (i < count) {
        append_attribute(&text, attribute);
        bytes_append_text(&text, ", ");
        add(edits, first[i].key.begin - is_quoted(mlir, &first[i]), 0, bytes_text(&text), text.length);
    } else {
        bytes_append_text(&text, ", ");
        append_attribute(&text, attribute);
        add(edits, (uint32_t)attribute_end(mlir, &first[count - 1]), 0, bytes_text(&text), text.length);
    }
    edits->failed |= text.failed;
    bytes_free(&text);
}

void mlir_edit_attributes(struct mlir_edits *edits, uint32_t op, const struct mlir_new_attribute *attributes,
                          size_t count)
{
    const struct mlir *mlir = edits->mlir;
    const struct mlir_op *o = &mlir->ops[op];
    const struct mlir_attribute *first = mlir->attributes + o->first_attribute;
    uint32_t old_count = o->attributes;
    size_t properties, after = properties_end(mlir, op, &properties);
    for (; old_count && after && first->key.begin < after; first++)
        old_count--;
    for (size_t i = 0; i < count && old_count; i++)
        add_to_dictionary(edits, first, old_count, &attributes[i]);
    if (old_count || !count)
        return;
    struct bytes text = {0};
    bytes_append_text(&text, " {");
    for (size_t i = 0; i < count; i++) {
        bytes_append_text(&text, i ? ", " : "");
        append_attribute(&text, &attributes[i]);
    }
    bytes_append_text(&text, "}");
    edits->failed |= text.failed;
    add(edits, (uint32_t)dictionary_place(mlir, op), 0, bytes_text(&text), text.length);
    bytes_free(&text);
}

static int by_place(const void *left, const void *right)
{
    const struct mlir_edit *a = left, *b = right;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

int mlir_edits_append(struct mlir_edits *edits, struct bytes *out, struct error *err)
{
    const struct mlir *mlir = edits->mlir;
    size_t at = 0;
    if (edits->count)
        qsort(edits->items, edits->count, sizeof edits->items[0], by_place);
    for (size_t i = 0; i < edits->count && !edits->texts.failed; i++) {
        const struct mlir_edit *edit = &edits->items[i];
        if (edit->at < at)
            continue; /* inside what another one replaced */
        bytes_append(out, mlir->text + at, edit->at - at);
        bytes_append(out, edits->texts.data + edit->text, edit->length);
        at = edit->at + edit->cut;
    }
    bytes_append(out, mlir->text + at, mlir->length - at);
    return edits->failed || edits->texts.failed || out->failed ? error_no_memory(err, mlir->path) : 0;
}
