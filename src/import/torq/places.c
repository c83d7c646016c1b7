/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "import/mlir/scan.h"
#include "import/torq/join.h"
#include "text/file_map.h"

#define DEPTH_MAX 16u

/* Without loc( ) around it, aliases resolved. */
static struct slice inside_of(const struct mlir *mlir, struct slice text)
{
    text = mlir_resolve(mlir, slice_trim(text));
    if (slice_begins(text, "loc(") && text.data[text.length - 1] == ')')
        text = slice_from(text.data + 4, text.length - 5);
    return slice_trim(text);
}

static uint64_t leading_number(struct slice *text)
{
    uint64_t number = 0;
    while (text->length && text->data[0] >= '0' && text->data[0] <= '9') {
        number = number < UINT32_MAX ? number * 10 + (uint64_t)(text->data[0] - '0') : number;
        *text = slice_from(text->data + 1, text->length - 1);
    }
    return number;
}

/* `"file":3:10` at the head of a text; what follows stays in it. */
static bool take_file(struct slice *text, struct slice *file, uint64_t *line, uint64_t *column)
{
    if (!text->length || text->data[0] != '"')
        return false;
    size_t end = scan_string(text->data, 0, text->length);
    struct slice rest = slice_from(text->data + end, text->length - end);
    if (end < 2 || rest.length < 2 || rest.data[0] != ':' || rest.data[1] < '0' || rest.data[1] > '9')
        return false;
    *file = slice_from(text->data + 1, end - 2);
    rest = slice_from(rest.data + 1, rest.length - 1);
    *line = leading_number(&rest);
    *column = 0;
    if (rest.length && rest.data[0] == ':') {
        rest = slice_from(rest.data + 1, rest.length - 1);
        *column = leading_number(&rest);
    }
    *text = rest;
    return true;
}

static void append_place(const struct mlir *mlir, struct slice location, unsigned depth, struct bytes *out)
{
    struct slice text = inside_of(mlir, location), file;
    uint64_t line, column;
    if (depth >= DEPTH_MAX || !text.length)
        return;
    if (slice_begins(text, "callsite(")) { /* where it was called, not from where */
        size_t end = scan_until(text.data, 9, text.length, " ");
        append_place(mlir, slice_from(text.data + 9, end - 9), depth + 1, out);
    } else if (slice_begins(text, "fused")) {
        struct slice list = slice_after(text, "[");
        size_t stop = list.data ? scan_until(list.data, 0, list.length, "") : 0;
        for (size_t at = 0; at < stop;) {
            size_t end = scan_until(list.data, at, stop, ","), before = out->length;
            bytes_append_text(out, at ? "+" : "");
            size_t empty = out->length;
            append_place(mlir, slice_from(list.data + at, end - at), depth + 1, out);
            if (out->length == empty)
                out->length = before;
            at = end + 1;
        }
    } else if (take_file(&text, &file, &line, &column)) {
        bytes_append_format(out, "@L%" PRIu64 "C%" PRIu64, line, column);
    } else if (text.data[0] == '"') {
        size_t end = scan_string(text.data, 0, text.length), before = out->length;
        if (end < text.length && text.data[end] == '(')
            append_place(mlir, slice_from(text.data + end + 1, text.length - end - 2), depth + 1, out);
        if (out->length == before && end >= 2)
            bytes_append(out, text.data + 1, end - 2);
    }
}

void torq_append_place(const struct mlir *mlir, struct slice location, struct bytes *out)
{
    append_place(mlir, location, 0, out);
}

/* The text of a line, from 1. */
static struct slice line_of(struct slice text, uint64_t line)
{
    for (; line > 1 && text.length; line--) {
        const char *newline = memchr(text.data, '\n', text.length);
        size_t skipped = newline ? (size_t)(newline - text.data) + 1 : text.length;
        text = slice_from(text.data + skipped, text.length - skipped);
    }
    return slice_trim(slice_before(text, "\n"));
}

/* `%0 = tosa.add ...` is "tosa.add", `torch.operator "onnx.Add"(...)` is "onnx.Add"; of others nothing is said. */
static struct slice operator_in(struct slice line)
{
    struct slice text = line.length && line.data[0] == '%' ? slice_trim(slice_after(line, "=")) : line;
    if (slice_begins(text, "torch.operator \""))
        return slice_before(slice_after(text, "\""), "\"");
    if (text.length && text.data[0] == '"')
        text = slice_before(slice_from(text.data + 1, text.length - 1), "\"");
    if (!slice_begins(text, "tosa."))
        return (struct slice){0};
    return slice_from(text.data, scan_word(text.data, 0, text.length));
}

static void append_operator(const char *folder, struct slice file, uint64_t line, struct bytes *out)
{
    char path[4096], found[256];
    struct file_map map;
    bool is_relative = folder && file.length && file.data[0] != '/';
    snprintf(path, sizeof path, "%s%s%.*s", is_relative ? folder : "", is_relative ? "/" : "",
             (int)file.length, file.data);
    if (strcmp(path, "-") == 0 || file_map_open(&map, path, NULL) != 0)
        return;
    struct slice name = operator_in(line_of(slice_from(map.data ? map.data : "", map.length), line));
    snprintf(found, sizeof found, "%.*s@L%" PRIu64, (int)name.length, name.data ? name.data : "", line);
    if (name.length && !slice_has(slice_of(bytes_text(out)), found))
        bytes_append_format(out, "%s%s", out->length ? " " : "", found);
    file_map_close(&map);
}

void torq_append_operators(const char *folder, struct slice location, struct bytes *out)
{
    while (location.length) {
        struct slice file, at = location;
        uint64_t line, column;
        if (take_file(&at, &file, &line, &column)) {
            append_operator(folder, file, line, out);
            location = at;
        } else {
            size_t skipped = location.data[0] == '"' ? scan_string(location.data, 0, location.length) : 1;
            location = slice_from(location.data + skipped, location.length - skipped);
        }
    }
}
