/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about MLIR that was read: attributes, types, aliases, locations. */
#include "import/mlir/mlir.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/mlir/bytecode.h"
#include "import/mlir/scan.h"
#include "text/file_map.h"
#include "text/real_write.h"

#define ALIAS_STEPS 64u /* an alias of an alias ...: more is a circle */

static int read_bytecode(struct mlir **out, const char *path, const struct file_map *file, struct error *err)
{
    struct bytes text = {0};
    uint64_t left_out;
    int status = mlir_bytecode_to_text(path, file->data, file->length, &text, &left_out, err);
    if (status == 0)
        status = mlir_read_text(out, path, bytes_text(&text), text.length, err);
    if (status) {
        bytes_free(&text);
        return status;
    }
    (*out)->own_text = text;
    (*out)->left_out = left_out;
    return 0;
}

int mlir_open(struct mlir **out, const char *path, struct error *err)
{
    struct file_map *file = calloc(1, sizeof *file);
    *out = NULL;
    if (!file)
        return error_no_memory(err, path);
    int status = file_map_open(file, path, err);
    if (status == 0 && mlir_is_bytecode(file->data, file->length))
        status = read_bytecode(out, path, file, err);
    else if (status == 0)
        status = mlir_read_text(out, path, file->data ? file->data : "", file->length, err);
    if (status) {
        file_map_close(file);
        free(file);
        return status;
    }
    (*out)->file = file;
    return 0;
}

void mlir_close(struct mlir *mlir)
{
    if (!mlir)
        return;
    intern_free(&mlir->names);
    intern_free(&mlir->aliases_by_name);
    free(mlir->ops);
    free(mlir->blocks);
    free(mlir->regions);
    free(mlir->values);
    free(mlir->operands);
    free(mlir->attributes);
    free(mlir->aliases);
    bytes_free(&mlir->own_text);
    if (mlir->file)
        file_map_close(mlir->file);
    free(mlir->file);
    free(mlir);
}

void mlir_rest(struct mlir *mlir)
{
    free(mlir->values);
    free(mlir->operands);
    mlir->values = NULL;
    mlir->operands = NULL;
    mlir->value_count = mlir->value_capacity = mlir->operand_count = mlir->operand_capacity = 0;
    if (mlir->file)
        file_map_rest(mlir->file);
}

struct slice mlir_head(const struct mlir *mlir, uint32_t op)
{
    const struct mlir_op *o = &mlir->ops[op];
    size_t at = o->begin;
    if (o->results) { /* names have neither blanks nor signs of equality in them */
        const char *equal = memchr(mlir->text + at, '=', o->head_end - at);
        at = equal ? scan_space(mlir->text, (size_t)(equal - mlir->text) + 1, o->head_end) : at;
    }
    return slice_from(mlir->text + at, o->head_end - at);
}

bool mlir_attribute(const struct mlir *mlir, uint32_t op, const char *key, struct slice *value)
{
    const struct mlir_op *o = &mlir->ops[op];
    for (uint32_t i = 0; i < o->attributes; i++) {
        const struct mlir_attribute *a = &mlir->attributes[o->first_attribute + i];
        if (slice_is(mlir_slice(mlir, a->key), key)) {
            if (value)
                *value = mlir_slice(mlir, a->value);
            return true;
        }
    }
    return false;
}

bool mlir_integer(struct slice text, int64_t *value)
{
    uint64_t number;
    text = slice_trim(slice_before(text, ":"));
    bool is_negative = text.length && text.data[0] == '-';
    if (is_negative)
        text = slice_from(text.data + 1, text.length - 1);
    if (!slice_unsigned(text, &number) || number > INT64_MAX)
        return false;
    *value = is_negative ? -(int64_t)number : (int64_t)number;
    return true;
}

/* --- types --- */

/* One type at the head of a text: what follows it (` in ...`, a comma) is left. */
static struct slice first_type(struct slice text)
{
    text = slice_trim(text);
    size_t end = scan_until(text.data ? text.data : "", 0, text.length, ", \n\t\r");
    return slice_from(text.data, end);
}

/* The n-th of the types in "T, U" or "(T, U)". */
static struct slice nth_type(struct slice text, uint32_t n)
{
    text = slice_trim(text);
    if (text.length && text.data[0] == '(') {
        size_t end = scan_until(text.data, 1, text.length, "");
        text = slice_from(text.data + 1, end - 1);
    }
    for (; n; n--) {
        size_t end = scan_until(text.data ? text.data : "", 0, text.length, ",");
        if (end >= text.length || text.data[end] != ',')
            return (struct slice){0};
        text = slice_from(text.data + end + 1, text.length - end - 1);
    }
    return first_type(text);
}

static struct slice result_type(const struct mlir *mlir, uint32_t op, uint32_t index)
{
    const struct mlir_op *o = &mlir->ops[op];
    uint32_t begin = o->last_arrow > o->last_colon || !o->last_colon ? o->last_arrow : o->last_colon;
    if (!begin || begin > o->end)
        return (struct slice){0};
    struct slice text = slice_from(mlir->text + begin, o->end - begin);
    struct slice found = nth_type(text, index);
    if (!found.length && index) /* one type for all results */
        found = nth_type(text, 0);
    struct slice rest =
        slice_from(found.data + found.length,
                   found.data ? text.length - (size_t)(found.data - text.data) - found.length : 0);
    if (slice_begins(rest, " to ")) /* a cast: from one type to another */
        found = first_type(slice_from(rest.data + 4, rest.length - 4));
    return found;
}

struct slice mlir_type(const struct mlir *mlir, uint32_t value)
{
    if (value >= mlir->value_count)
        return (struct slice){0};
    const struct mlir_value *v = &mlir->values[value];
    struct slice type =
        v->block != MLIR_NONE ? mlir_slice(mlir, v->type) : result_type(mlir, v->op, v->index);
    return type.length ? mlir_resolve(mlir, slice_trim(type)) : (struct slice){0};
}

/* --- aliases and locations --- */

static const struct mlir_span *find_alias(const struct mlir *mlir, struct slice text)
{
    if (!text.length || (text.data[0] != '#' && text.data[0] != '!'))
        return NULL;
    uint32_t id = intern_find(&mlir->aliases_by_name, text.data, text.length);
    return id == INTERN_NONE ? NULL : &mlir->aliases[id];
}

struct slice mlir_resolve(const struct mlir *mlir, struct slice text)
{
    struct slice found = text;
    for (unsigned steps = 0; steps < ALIAS_STEPS; steps++) {
        const struct mlir_span *alias = find_alias(mlir, found);
        if (!alias)
            return found;
        found = slice_trim(mlir_slice(mlir, *alias));
    }
    return text;
}

/* The inside of a location, its alias resolved: what loc( ... ) holds. */
static struct slice location_inside(const struct mlir *mlir, struct slice text)
{
    text = mlir_resolve(mlir, slice_trim(text));
    if (slice_begins(text, "loc("))
        text = slice_from(text.data + 4, text.length - (text.data[text.length - 1] == ')' ? 5 : 4));
    return slice_trim(text);
}

void mlir_append_location(const struct mlir *mlir, uint32_t op, struct bytes *out)
{
    struct slice inside = location_inside(mlir, mlir_slice(mlir, mlir->ops[op].location));
    bytes_append_text(out, "loc(");
    if (inside.length)
        bytes_append(out, inside.data, inside.length);
    else
        bytes_append_text(out, "unknown");
    bytes_append_text(out, ")");
}

static uint32_t number_at(struct slice *text)
{
    uint64_t number = 0;
    while (text->length && text->data[0] >= '0' && text->data[0] <= '9') {
        number = number < UINT32_MAX ? number * 10 + (uint64_t)(text->data[0] - '0') : number;
        *text = slice_from(text->data + 1, text->length - 1);
    }
    return number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
}

struct mlir_place mlir_place(const struct mlir *mlir, uint32_t op)
{
    struct mlir_place place = {0};
    struct slice text = mlir_slice(mlir, mlir->ops[op].location);
    for (unsigned steps = 0; steps < ALIAS_STEPS; steps++) {
        text = location_inside(mlir, text);
        if (slice_begins(text, "fused") || slice_begins(text, "callsite(")) {
            const char *open = memchr(text.data, *text.data == 'f' ? '[' : '(', text.length);
            if (!open)
                return place;
            size_t from = (size_t)(open - text.data) + 1;
            size_t end = scan_until(text.data, from, text.length, *text.data == 'f' ? "," : " ");
            text = slice_from(text.data + from, end - from);
            continue;
        }
        if (!text.length || text.data[0] != '"')
            return place;
        size_t end = scan_string(text.data, 0, text.length);
        struct slice quoted = slice_from(text.data + 1, end >= 2 ? end - 2 : 0);
        text = slice_from(text.data + end, text.length - end);
        if (text.length && text.data[0] == ':') {
            place.file = quoted;
            const char *begin = quoted.data - 1;
            text = slice_from(text.data + 1, text.length - 1);
            place.line = number_at(&text);
            if (text.length && text.data[0] == ':') {
                text = slice_from(text.data + 1, text.length - 1);
                place.column = number_at(&text);
            }
            place.text = slice_from(begin, (size_t)(text.data - begin));
            return place;
        }
        place.name = quoted;
        if (!text.length || text.data[0] != '(')
            return place;
        text = slice_from(text.data + 1, text.length - (text.data[text.length - 1] == ')' ? 2 : 1));
    }
    return place;
}

/* Line and column, from 1, of a place in the text. */
static void line_at(const struct mlir *mlir, uint32_t offset, uint32_t *line, uint32_t *column)
{
    const char *at = mlir->text, *end = mlir->text + (offset < mlir->length ? offset : mlir->length);
    *line = 1;
    for (const char *next; (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1)
        ++*line;
    *column = (uint32_t)(end - at) + 1;
}

static void find_lines(struct mlir_lines *lines, const struct mlir *mlir)
{
    const char *at = mlir->text, *end = at + mlir->length;
    while (at && at < end) {
        if (!array_reserve(&lines->starts, &lines->capacity, lines->count + 1, sizeof lines->starts[0])) {
            lines->failed = true;
            return;
        }
        lines->starts[lines->count++] = (uint32_t)(at - mlir->text);
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
}

static void lines_find(struct mlir_lines *lines, const struct mlir *mlir, uint32_t offset, uint32_t *line,
                       uint32_t *column)
{
    if (!lines->count)
        find_lines(lines, mlir);
    size_t low = 0, high = lines->count, near = lines->last + 8;
    if (near < high && lines->starts[lines->last] <= offset && offset < lines->starts[near]) {
        low = lines->last;
        high = near;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (lines->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    lines->last = low;
    *line = (uint32_t)low + 1;
    *column = offset - (lines->count ? lines->starts[low] : 0) + 1;
}

bool mlir_append_own_place(const struct mlir *mlir, struct mlir_lines *lines, uint32_t op, struct bytes *out)
{
    const char *slash = strrchr(mlir->path, '/'), *file = slash ? slash + 1 : mlir->path;
    char numbers[2 * 20 + 3] = "\":";
    uint32_t line, column;
    if (mlir->own_text.length)
        return false;
    lines_find(lines, mlir, (uint32_t)(mlir_head(mlir, op).data - mlir->text), &line, &column);
    size_t length = 2;
    length += real_put_whole(numbers + length, line);
    numbers[length++] = ':';
    length += real_put_whole(numbers + length, column);
    bytes_append(out, "\"", 1);
    bytes_append_text(out, file);
    bytes_append(out, numbers, length);
    return true;
}

void mlir_lines_free(struct mlir_lines *lines)
{
    free(lines->starts);
    *lines = (struct mlir_lines){0};
}

int mlir_error(const struct mlir *mlir, uint32_t offset, struct error *err, const char *format, ...)
{
    char text[256];
    uint32_t line, column;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    line_at(mlir, offset, &line, &column);
    return error_set(err, EINVAL, "%s:%u:%u: %s", mlir->path, line, column, text);
}

uint32_t mlir_find_block(const struct mlir *mlir, uint32_t region, struct slice label)
{
    if (region >= mlir->region_count)
        return MLIR_NONE;
    for (uint32_t i = mlir->regions[region].first_block; i != MLIR_NONE; i = mlir->blocks[i].next) {
        if (slice_equal(mlir_slice(mlir, mlir->blocks[i].label), label))
            return i;
    }
    return MLIR_NONE;
}
