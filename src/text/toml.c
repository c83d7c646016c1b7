/* SPDX-License-Identifier: Apache-2.0 */
/* See toml.h. A recursive descent over the bytes; only arrays nest, and their depth is bounded. Children of a table are
 * a plain list: configuration files are short. Nodes are stored by value, so that a pointer into a list ends with the
 * next child that is added to it; the parser finds its way from the root for each header and each dotted key. */
#include "text/toml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "text/file_map.h"

/* How a table came about decides what may be added to it. */
enum { BY_PATH = 0, BY_HEADER, BY_KEYS, BY_ARRAY };

#define KEY_PARTS 8u
#define KEY_BYTES 256u

struct parser {
    struct toml *toml;
    const char *text;
    size_t length, at, line, line_start;
    struct error *err;
};

struct key_path {
    char parts[KEY_PARTS][KEY_BYTES];
    size_t count, line, column;
};

static int fail_at(const struct parser *p, size_t line, size_t column, const char *format, va_list args)
{
    char text[300];
    vsnprintf(text, sizeof text, format, args);
    return error_set(p->err, EINVAL, "%s:%zu:%zu: %s", p->toml->path, line, column, text);
}

__attribute__((format(printf, 2, 3))) static int fail(const struct parser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int status = fail_at(p, p->line, p->at - p->line_start + 1, format, args);
    va_end(args);
    return status;
}

__attribute__((format(printf, 3, 4))) static int fail_key(const struct parser *p, const struct key_path *key,
                                                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int status = fail_at(p, key->line, key->column, format, args);
    va_end(args);
    return status;
}

static int no_memory(const struct parser *p)
{
    return error_set(p->err, ENOMEM, "%s: no memory", p->toml->path);
}

static const char *type_text(enum toml_type type)
{
    static const char *const names[] = {"a table",        "an array", "a text",
                                        "a whole number", "a number", "true or false"};
    return names[type];
}

static int peek(const struct parser *p)
{
    return p->at < p->length ? (unsigned char)p->text[p->at] : -1;
}

static bool begins_with(const struct parser *p, const char *text)
{
    size_t length = strlen(text);
    return p->length - p->at >= length && memcmp(p->text + p->at, text, length) == 0;
}

static void skip_blanks(struct parser *p)
{
    while (peek(p) == ' ' || peek(p) == '\t')
        p->at++;
}

static bool is_line_end(const struct parser *p)
{
    return peek(p) == '\n' || begins_with(p, "\r\n");
}

static void take_line_end(struct parser *p)
{
    p->at += peek(p) == '\r' ? 2 : 1;
    p->line++;
    p->line_start = p->at;
}

static int skip_comment(struct parser *p)
{
    if (peek(p) != '#')
        return 0;
    while (p->at < p->length && !is_line_end(p)) {
        int c = peek(p);
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return fail(p, "a control character (0x%02x) in a comment", (unsigned)c);
        p->at++;
    }
    return 0;
}

/* What may follow a header or a value. */
static int end_line(struct parser *p)
{
    skip_blanks(p);
    int status = skip_comment(p);
    if (status)
        return status;
    if (p->at < p->length && !is_line_end(p))
        return fail(p, "the line should end here");
    if (p->at < p->length)
        take_line_end(p);
    return 0;
}

/* --- strings --- */

static void append_utf8(struct bytes *out, uint32_t c)
{
    if (c < 0x80) {
        bytes_append_u8(out, (uint8_t)c);
    } else if (c < 0x800) {
        bytes_append_u8(out, (uint8_t)(0xc0 | c >> 6));
        bytes_append_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        bytes_append_u8(out, (uint8_t)(0xe0 | c >> 12));
        bytes_append_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        bytes_append_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
    } else {
        bytes_append_u8(out, (uint8_t)(0xf0 | c >> 18));
        bytes_append_u8(out, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        bytes_append_u8(out, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
        bytes_append_u8(out, (uint8_t)(0x80 | (c & 0x3f)));
    }
}

static int take_code_point(struct parser *p, unsigned digits, struct bytes *out)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < digits; i++) {
        int c = peek(p);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return fail(p, "\\%c needs %u hexadecimal digits", digits == 4 ? 'u' : 'U', digits);
        value = value << 4 | (uint32_t)digit;
        p->at++;
    }
    if (value == 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
        return fail(p, "not a character that a text can hold: U+%04X", (unsigned)value);
    append_utf8(out, value);
    return 0;
}

static int take_escape(struct parser *p, struct bytes *out)
{
    static const char names[] = "btnfr\"\\", values[] = "\b\t\n\f\r\"\\";
    int c = peek(p);
    const char *known = c > 0 ? strchr(names, c) : NULL;
    if (c == 'u' || c == 'U') {
        p->at++;
        return take_code_point(p, c == 'u' ? 4 : 8, out);
    }
    if (!known)
        return fail(p, "not an escape; these are: \\b \\t \\n \\f \\r \\\" \\\\ \\uXXXX \\UXXXXXXXX");
    bytes_append_u8(out, (uint8_t)values[known - names]);
    p->at++;
    return 0;
}

static int take_string(struct parser *p, struct bytes *out)
{
    char quote = (char)peek(p);
    if (begins_with(p, "\"\"\"") || begins_with(p, "'''"))
        return fail(p, "texts over several lines are not supported");
    p->at++;
    for (;;) {
        int c = peek(p);
        if (c < 0 || is_line_end(p))
            return fail(p, "the text is not closed with %c before the line ends", quote);
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return fail(p, "a control character (0x%02x) in a text; write it as \\u%04x", (unsigned)c,
                        (unsigned)c);
        p->at++;
        if (c == quote)
            return 0;
        if (c == '\\' && quote == '"') {
            int status = take_escape(p, out);
            if (status)
                return status;
        } else {
            bytes_append_u8(out, (uint8_t)c);
        }
    }
}

/* --- keys --- */

static bool is_bare(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static int take_key_part(struct parser *p, char *part)
{
    struct bytes text = {0};
    int status = 0;
    if (peek(p) == '"' || peek(p) == '\'')
        status = take_string(p, &text);
    else
        for (; is_bare(peek(p)); p->at++)
            bytes_append_u8(&text, (uint8_t)peek(p));
    if (!status && text.failed)
        status = no_memory(p);
    if (!status && text.length == 0)
        status = fail(p, "a key is missing here");
    if (!status && text.length >= KEY_BYTES)
        status = fail(p, "a key of %zu bytes; the longest has %u", text.length, KEY_BYTES - 1);
    if (!status) {
        memcpy(part, text.data, text.length);
        part[text.length] = '\0';
    }
    bytes_free(&text);
    return status;
}

static int take_key(struct parser *p, struct key_path *key)
{
    int status;
    key->count = 0;
    key->line = p->line;
    key->column = p->at - p->line_start + 1;
    for (;;) {
        if (key->count == KEY_PARTS)
            return fail(p, "a key of more than %u parts", KEY_PARTS);
        status = take_key_part(p, key->parts[key->count]);
        if (status)
            return status;
        key->count++;
        skip_blanks(p);
        if (peek(p) != '.')
            return 0;
        p->at++;
        skip_blanks(p);
    }
}

/* --- nodes --- */

static struct toml_node *add_child(struct parser *p, struct toml_node *parent, const char *key, size_t line,
                                   size_t column)
{
    char *copy = key ? strdup(key) : NULL;
    if ((key && !copy) || !array_reserve(&parent->children, &parent->child_capacity, parent->child_count + 1,
                                         sizeof *parent->children)) {
        free(copy);
        no_memory(p);
        return NULL;
    }
    struct toml_node *child = &parent->children[parent->child_count++];
    *child = (struct toml_node){.key = copy, .line = line, .column = column};
    return child;
}

static struct toml_node *find_child(struct toml_node *table, const char *key)
{
    for (size_t i = 0; table->type == TOML_TABLE && i < table->child_count; i++) {
        if (strcmp(table->children[i].key, key) == 0)
            return &table->children[i];
    }
    return NULL;
}

/* The table that a header's or key's leading parts name, made where it is not there. */
static struct toml_node *walk(struct parser *p, struct toml_node *from, const struct key_path *key,
                              size_t count, uint8_t made_by)
{
    for (size_t i = 0; i < count; i++) {
        struct toml_node *next = find_child(from, key->parts[i]);
        if (!next) {
            next = add_child(p, from, key->parts[i], key->line, key->column);
            if (!next)
                return NULL;
            next->type = TOML_TABLE;
            next->made_by = made_by;
        } else if (next->type == TOML_ARRAY && next->made_by == BY_ARRAY && made_by == BY_PATH) {
            next = &next->children[next->child_count - 1];
        } else if (next->type != TOML_TABLE || (made_by == BY_KEYS && next->made_by != BY_KEYS)) {
            fail_key(p, key, "'%s' is %s already (line %zu)", key->parts[i], type_text(next->type),
                     next->line);
            return NULL;
        }
        from = next;
    }
    return from;
}

/* --- values --- */

static int take_value(struct parser *p, struct toml_node *node, unsigned depth);

static int take_array(struct parser *p, struct toml_node *node, unsigned depth)
{
    bool needs_comma = false;
    if (depth >= TOML_DEPTH_MAX)
        return fail(p, "arrays inside each other more than %u times", TOML_DEPTH_MAX);
    node->type = TOML_ARRAY;
    p->at++;
    for (;;) {
        skip_blanks(p);
        int status = skip_comment(p);
        if (status)
            return status;
        int c = peek(p);
        if (c < 0)
            return fail(p, "the array that begins in line %zu is not closed with ]", node->line);
        if (is_line_end(p)) {
            take_line_end(p);
        } else if (c == ']') {
            p->at++;
            return 0;
        } else if (c == ',' && needs_comma) {
            p->at++;
            needs_comma = false;
        } else if (needs_comma || c == ',') {
            return fail(p, needs_comma ? "a comma or ] should stand here" : "a value should stand here");
        } else {
            struct toml_node *child = add_child(p, node, NULL, p->line, p->at - p->line_start + 1);
            status = child ? take_value(p, child, depth + 1) : -ENOMEM;
            if (status)
                return status;
            needs_comma = true;
        }
    }
}

/* Digits, with underscores only between them. */
static bool take_digits(struct parser *p, struct bytes *out)
{
    size_t count = 0;
    bool was_digit = false;
    for (;; p->at++) {
        int c = peek(p);
        if (c >= '0' && c <= '9') {
            bytes_append_u8(out, (uint8_t)c);
            was_digit = true;
            count++;
        } else if (c == '_' && was_digit) {
            was_digit = false;
        } else {
            return count > 0 && was_digit;
        }
    }
}

static int take_number(struct parser *p, struct toml_node *node)
{
    struct bytes text = {0};
    bool is_real = false, is_good = true;
    if (peek(p) == '+' || peek(p) == '-')
        bytes_append_u8(&text, (uint8_t)p->text[p->at++]);
    size_t sign = text.length;
    is_good = take_digits(p, &text);
    bool has_zero = text.length > sign + 1 && text.data[sign] == '0';
    if (is_good && peek(p) == '.') {
        is_real = true;
        bytes_append_u8(&text, (uint8_t)p->text[p->at++]);
        is_good = take_digits(p, &text);
    }
    if (is_good && (peek(p) == 'e' || peek(p) == 'E')) {
        is_real = true;
        bytes_append_u8(&text, (uint8_t)p->text[p->at++]);
        if (peek(p) == '+' || peek(p) == '-')
            bytes_append_u8(&text, (uint8_t)p->text[p->at++]);
        is_good = take_digits(p, &text);
    }
    bytes_append_u8(&text, 0);
    int status = text.failed ? no_memory(p) : 0;
    if (!status && (!is_good || is_bare(peek(p)) || peek(p) == '.' || peek(p) == ':' || peek(p) == '%'))
        status = fail(
            p,
            "not a value: a text needs quotes (\"5%%\", \"2ms\"); dates and other bases are not supported");
    if (!status && has_zero)
        status = fail(p, "a number does not begin with 0");
    if (!status) {
        errno = 0;
        node->type = is_real ? TOML_REAL : TOML_INTEGER;
        node->real = strtod((const char *)text.data, NULL);
        node->integer = is_real ? 0 : strtoll((const char *)text.data, NULL, 10);
        if (!is_real && errno == ERANGE)
            status = fail(p, "a number that does not fit into 64 bits");
    }
    bytes_free(&text);
    return status;
}

static int take_text(struct parser *p, struct toml_node *node)
{
    struct bytes text = {0};
    int status = take_string(p, &text);
    bytes_append_u8(&text, 0);
    if (!status && text.failed)
        status = no_memory(p);
    if (status) {
        bytes_free(&text);
        return status;
    }
    node->type = TOML_TEXT;
    node->text = (char *)text.data;
    return 0;
}

static int take_value(struct parser *p, struct toml_node *node, unsigned depth)
{
    int c = peek(p);
    if (c == '"' || c == '\'')
        return take_text(p, node);
    if (c == '[')
        return take_array(p, node, depth);
    if (c == '{')
        return fail(p, "tables in braces are not supported: write a [table] of its own");
    for (unsigned value = 0; value < 2; value++) {
        const char *word = value ? "true" : "false";
        if (begins_with(p, word)) {
            p->at += strlen(word);
            node->type = TOML_BOOL;
            node->boolean = value != 0;
            return is_bare(peek(p)) ? fail(p, "not a value: a text needs quotes") : 0;
        }
    }
    if ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')
        return take_number(p, node);
    if (c < 0 || is_line_end(p) || c == '#')
        return fail(p, "a value is missing here");
    return fail(p, "not a value: a text needs quotes");
}

/* --- lines --- */

static int take_header(struct parser *p, struct toml_node **current)
{
    bool is_array = begins_with(p, "[[");
    struct key_path key;
    p->at += is_array ? 2 : 1;
    skip_blanks(p);
    int status = take_key(p, &key);
    if (!status && !begins_with(p, is_array ? "]]" : "]"))
        status = fail(p, "the header should end with %s", is_array ? "]]" : "]");
    if (status)
        return status;
    p->at += is_array ? 2 : 1;
    const char *last = key.parts[key.count - 1];
    struct toml_node *parent = walk(p, &p->toml->root, &key, key.count - 1, BY_PATH);
    if (!parent)
        return -EINVAL;
    struct toml_node *node = find_child(parent, last);
    if (is_array) {
        if (node && node->made_by != BY_ARRAY)
            return fail_key(p, &key, "'%s' is %s already (line %zu)", last, type_text(node->type),
                            node->line);
        if (!node && (node = add_child(p, parent, last, key.line, key.column))) {
            node->type = TOML_ARRAY;
            node->made_by = BY_ARRAY;
        }
        node = node ? add_child(p, node, NULL, key.line, key.column) : NULL;
    } else if (node) {
        if (node->type != TOML_TABLE || node->made_by != BY_PATH)
            return fail_key(p, &key, "'%s' comes twice (first in line %zu)", last, node->line);
    } else {
        node = add_child(p, parent, last, key.line, key.column);
    }
    if (!node)
        return -ENOMEM;
    node->type = TOML_TABLE;
    if (!is_array)
        node->made_by = BY_HEADER;
    *current = node;
    return end_line(p);
}

static int take_assignment(struct parser *p, struct toml_node *table)
{
    struct key_path key;
    int status = take_key(p, &key);
    if (status)
        return status;
    if (peek(p) != '=')
        return fail(p, "'%s' should be followed by = and a value", key.parts[key.count - 1]);
    p->at++;
    skip_blanks(p);
    struct toml_node *parent = walk(p, table, &key, key.count - 1, BY_KEYS);
    if (!parent)
        return -EINVAL;
    const struct toml_node *known = find_child(parent, key.parts[key.count - 1]);
    if (known)
        return fail_key(p, &key, "'%s' comes twice (first in line %zu)", known->key, known->line);
    struct toml_node *node = add_child(p, parent, key.parts[key.count - 1], key.line, key.column);
    status = node ? take_value(p, node, 0) : -ENOMEM;
    return status ? status : end_line(p);
}

static bool is_continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* Where the text stops being UTF-8; its length when it never does. */
static size_t find_bad_utf8(const char *text, size_t length)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t i = 0; i < length;) {
        size_t more = at[i] < 0x80                              ? 0
                      : (at[i] & 0xe0) == 0xc0 && at[i] >= 0xc2 ? 1
                      : (at[i] & 0xf0) == 0xe0                  ? 2
                      : (at[i] & 0xf8) == 0xf0 && at[i] < 0xf5  ? 3
                                                                : SIZE_MAX;
        if (more == SIZE_MAX || more >= length - i)
            return i;
        for (size_t k = 1; k <= more; k++) {
            if (!is_continuation(at[i + k]))
                return i;
        }
        if ((at[i] == 0xe0 && at[i + 1] < 0xa0) || (at[i] == 0xed && at[i + 1] >= 0xa0) ||
            (at[i] == 0xf0 && at[i + 1] < 0x90) || (at[i] == 0xf4 && at[i + 1] >= 0x90))
            return i;
        i += more + 1;
    }
    return length;
}

static int parse_lines(struct parser *p)
{
    struct toml_node *current = &p->toml->root;
    size_t bad = find_bad_utf8(p->text, p->length);
    int status = 0;
    if (begins_with(p, "\xef\xbb\xbf"))
        p->at = p->line_start = 3;
    while (!status && p->at < p->length) {
        if (p->at >= bad)
            break;
        skip_blanks(p);
        if (peek(p) == '[')
            status = take_header(p, &current);
        else if (is_line_end(p) || peek(p) == '#' || peek(p) < 0)
            status = end_line(p);
        else
            status = take_assignment(p, current);
    }
    if (!status && bad < p->length)
        status = fail(p, "this line, or one before it, is not UTF-8");
    return status;
}

int toml_parse(struct toml *toml, const char *path, const char *text, size_t length, struct error *err)
{
    struct parser p = {.toml = toml, .text = text, .length = length, .line = 1, .err = err};
    *toml = (struct toml){.path = strdup(path), .root = {.type = TOML_TABLE, .line = 1, .column = 1}};
    if (!toml->path)
        return error_set(err, ENOMEM, "%s: no memory", path);
    if (length > TOML_SIZE_MAX)
        return error_set(err, EINVAL, "%s: not a configuration file: larger than 1 MiB", path);
    return parse_lines(&p);
}

int toml_read(struct toml *toml, const char *path, struct error *err)
{
    struct file_map map = {0};
    *toml = (struct toml){0};
    int status = file_map_open(&map, path, err);
    if (status)
        return status;
    status = toml_parse(toml, path, (const char *)map.data, map.length, err);
    file_map_close(&map);
    return status;
}

static void free_node(struct toml_node *node)
{
    for (size_t i = 0; i < node->child_count; i++)
        free_node(&node->children[i]);
    free(node->children);
    free(node->key);
    free(node->text);
}

void toml_free(struct toml *toml)
{
    free_node(&toml->root);
    free(toml->path);
    *toml = (struct toml){0};
}

int toml_error(const struct toml *toml, const struct toml_node *node, struct error *err, const char *format,
               ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(err, EINVAL, "%s:%zu:%zu: %s", toml->path, node->line, node->column, text);
}
