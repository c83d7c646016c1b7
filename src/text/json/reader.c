/* SPDX-License-Identifier: Apache-2.0 */
#include "text/json/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "base/checked.h"

struct parser {
    struct json_document *document;
    const char *text;
    size_t length, position;
    struct error *err;
};

static int refuse(struct parser *p, const char *what)
{
    return error_set(p->err, EINVAL, "JSON, byte %zu: %s", p->position + 1, what);
}

static void skip_blanks(struct parser *p)
{
    while (p->position < p->length) {
        char c = p->text[p->position];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
            return;
        p->position++;
    }
}

static int peek(const struct parser *p)
{
    return p->position < p->length ? (uint8_t)p->text[p->position] : -1;
}

static void append_utf8(struct bytes *out, uint32_t code)
{
    uint8_t raw[4];
    size_t n = 0;
    if (code < 0x80) {
        raw[n++] = (uint8_t)code;
    } else if (code < 0x800) {
        raw[n++] = (uint8_t)(0xc0 | code >> 6);
        raw[n++] = (uint8_t)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        raw[n++] = (uint8_t)(0xe0 | code >> 12);
        raw[n++] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        raw[n++] = (uint8_t)(0x80 | (code & 0x3f));
    } else {
        raw[n++] = (uint8_t)(0xf0 | code >> 18);
        raw[n++] = (uint8_t)(0x80 | (code >> 12 & 0x3f));
        raw[n++] = (uint8_t)(0x80 | (code >> 6 & 0x3f));
        raw[n++] = (uint8_t)(0x80 | (code & 0x3f));
    }
    bytes_append(out, raw, n);
}

static bool read_hex4(struct parser *p, uint32_t *value)
{
    *value = 0;
    if (!range_is_inside(p->position, 4, p->length))
        return false;
    for (size_t i = 0; i < 4; i++) {
        char c = p->text[p->position + i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 16;
        if (digit == 16)
            return false;
        *value = *value << 4 | digit;
    }
    p->position += 4;
    return true;
}

static int read_unicode_escape(struct parser *p)
{
    uint32_t code, low;
    if (!read_hex4(p, &code))
        return refuse(p, "\\u needs four hexadecimal digits");
    if (code >= 0xd800 && code <= 0xdbff && p->length - p->position >= 6 && p->text[p->position] == '\\' &&
        p->text[p->position + 1] == 'u') {
        size_t back = p->position;
        p->position += 2;
        if (read_hex4(p, &low) && low >= 0xdc00 && low <= 0xdfff)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        else
            p->position = back;
    }
    append_utf8(&p->document->texts, code >= 0xd800 && code <= 0xdfff ? 0xfffd : code);
    return 0;
}

static int read_escape(struct parser *p)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    int c = peek(p);
    if (c < 0)
        return refuse(p, "the text ends in an escape");
    p->position++;
    if (c == 'u')
        return read_unicode_escape(p);
    const char *at = c ? strchr(letters, c) : NULL;
    if (!at)
        return refuse(p, "an escape that JSON does not have");
    bytes_append(&p->document->texts, &values[at - letters], 1);
    return 0;
}

static int read_string(struct parser *p, struct slice *out)
{
    struct bytes *texts = &p->document->texts;
    size_t begin = ++p->position, plain = begin, copied = SIZE_MAX;
    for (;;) {
        while (p->position < p->length && p->text[p->position] != '"' && p->text[p->position] != '\\')
            p->position++;
        if (p->position >= p->length)
            return refuse(p, "the text ends in a string");
        bool is_end = p->text[p->position] == '"';
        if (is_end && copied == SIZE_MAX) {
            *out = (struct slice){p->text + begin, p->position++ - begin};
            return 0;
        }
        if (copied == SIZE_MAX)
            copied = texts->length;
        bytes_append(texts, p->text + plain, p->position - plain);
        p->position++;
        if (is_end) {
            *out = (struct slice){(const char *)texts->data + copied, texts->length - copied};
            return 0;
        }
        int result = read_escape(p);
        if (result != 0)
            return result;
        plain = p->position;
    }
}

static int read_number(struct parser *p, struct slice *out)
{
    size_t begin = p->position, digits = 0;
    if (peek(p) == '-')
        p->position++;
    for (; peek(p) >= '0' && peek(p) <= '9'; digits++)
        p->position++;
    if (digits == 0)
        return refuse(p, "no value");
    if (digits > 1 && p->text[p->position - digits] == '0')
        return refuse(p, "a number with a leading 0");
    if (peek(p) == '.') {
        p->position++;
        for (digits = 0; peek(p) >= '0' && peek(p) <= '9'; digits++)
            p->position++;
    }
    if (digits && (peek(p) == 'e' || peek(p) == 'E')) {
        p->position++;
        if (peek(p) == '+' || peek(p) == '-')
            p->position++;
        for (digits = 0; peek(p) >= '0' && peek(p) <= '9'; digits++)
            p->position++;
    }
    if (digits == 0)
        return refuse(p, "a number without digits");
    *out = (struct slice){p->text + begin, p->position - begin};
    return 0;
}

static bool read_word(struct parser *p, const char *word)
{
    size_t length = strlen(word);
    if (!range_is_inside(p->position, length, p->length) || memcmp(p->text + p->position, word, length) != 0)
        return false;
    p->position += length;
    return true;
}

static int read_value(struct parser *p, struct slice key, unsigned depth);

static int read_members(struct parser *p, bool is_object, unsigned depth)
{
    char close = is_object ? '}' : ']';
    p->position++;
    skip_blanks(p);
    if (peek(p) == close) {
        p->position++;
        return 0;
    }
    for (;;) {
        struct slice key = {0};
        int result = 0;
        skip_blanks(p);
        if (is_object) {
            if (peek(p) != '"')
                return refuse(p, p->position < p->length ? "no key" : "the text ends in an object");
            result = read_string(p, &key);
            skip_blanks(p);
            if (result == 0 && peek(p) != ':')
                return refuse(p, "no : after a key");
            p->position++;
        }
        if (result == 0)
            result = read_value(p, key, depth + 1);
        if (result != 0)
            return result;
        skip_blanks(p);
        int c = peek(p);
        if (c < 0)
            return refuse(p, is_object ? "the text ends in an object" : "the text ends in an array");
        p->position++;
        if (c == close)
            return 0;
        if (c != ',')
            return refuse(p, "neither , nor the end of the list");
    }
}

static int read_value(struct parser *p, struct slice key, unsigned depth)
{
    struct json_document *d = p->document;
    struct slice text = {0};
    uint32_t kind = JSON_NUMBER;
    int result = 0;
    if (depth > JSON_READ_DEEPEST)
        return refuse(p, "nested too deep");
    if (d->count >= UINT32_MAX / 2 ||
        !array_reserve(&d->nodes, &d->capacity, d->count + 1, sizeof d->nodes[0]))
        return error_set_errno(p->err, ENOMEM, "JSON of %zu bytes", p->length);
    size_t index = d->count++;
    skip_blanks(p);
    switch (peek(p)) {
    case '{':
    case '[':
        kind = peek(p) == '{' ? JSON_OBJECT : JSON_ARRAY;
        result = read_members(p, kind == JSON_OBJECT, depth);
        break;
    case '"':
        kind = JSON_STRING;
        result = read_string(p, &text);
        break;
    default:
        if (read_word(p, "true"))
            kind = JSON_TRUE;
        else if (read_word(p, "false"))
            kind = JSON_FALSE;
        else if (read_word(p, "null"))
            kind = JSON_NULL;
        else
            result = read_number(p, &text);
    }
    d->nodes[index] = (struct json_node){.kind = kind,
                                         .next = (uint32_t)d->count,
                                         .text = text.data,
                                         .length = (uint32_t)text.length,
                                         .key = key.data,
                                         .key_length = (uint32_t)key.length};
    return result;
}

int json_read(struct json_document *document, const char *text, size_t length, struct error *err)
{
    struct parser parser = {.document = document, .text = text, .length = length, .err = err};
    document->count = 0;
    bytes_clear(&document->texts);
    if (length > UINT32_MAX / 2)
        return error_set(err, EFBIG, "JSON of %zu bytes", length);
    /* What is decoded is never longer than it was, so that `texts` does not move while it is read. */
    if (!bytes_reserve(&document->texts, length + 1))
        return error_set_errno(err, ENOMEM, "JSON of %zu bytes", length);
    int result = read_value(&parser, (struct slice){0}, 0);
    skip_blanks(&parser);
    if (result == 0 && parser.position < length)
        result = refuse(&parser, "more text after the end");
    if (result != 0)
        document->count = 0;
    return result;
}

void json_document_free(struct json_document *document)
{
    if (!document)
        return;
    free(document->nodes);
    bytes_free(&document->texts);
    *document = (struct json_document){0};
}

const struct json_node *json_first(const struct json_document *document, const struct json_node *parent)
{
    if (!parent || parent->kind < JSON_ARRAY)
        return NULL;
    const struct json_node *first = parent + 1;
    return first < document->nodes + parent->next ? first : NULL;
}

const struct json_node *json_next(const struct json_document *document, const struct json_node *parent,
                                  const struct json_node *child)
{
    return child->next < parent->next ? document->nodes + child->next : NULL;
}

const struct json_node *json_find(const struct json_document *document, const struct json_node *object,
                                  const char *key)
{
    size_t length = strlen(key);
    const struct json_node *found = NULL;
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (const struct json_node *n = json_first(document, object); n; n = json_next(document, object, n)) {
        if (n->key_length == length && memcmp(n->key, key, length) == 0)
            found = n;
    }
    return found;
}

bool json_unsigned_value(const struct json_node *node, uint64_t *value)
{
    uint64_t sum = 0;
    if (!node || node->kind != JSON_NUMBER || node->length == 0)
        return false;
    for (uint32_t i = 0; i < node->length; i++) {
        char c = node->text[i];
        if (c < '0' || c > '9' || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(c - '0'), &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool json_text_is(const struct json_node *node, const char *text)
{
    return node && node->kind == JSON_STRING && node->length == strlen(text) &&
           memcmp(node->text, text, node->length) == 0;
}
