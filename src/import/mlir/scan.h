/* SPDX-License-Identifier: Apache-2.0 */
/* Steps over pieces of MLIR text. Each takes a place and gives the place after the piece, never beyond `end`. */
#ifndef OPSCOPE_IMPORT_MLIR_SCAN_H
#define OPSCOPE_IMPORT_MLIR_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool scan_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '.';
}

static inline size_t scan_word(const char *text, size_t at, size_t end)
{
    while (at < end && scan_is_word(text[at]))
        at++;
    return at;
}

static inline size_t scan_name(const char *text, size_t at, size_t end)
{
    while (at < end && (scan_is_word(text[at]) || (text[at] == '-' && at + 1 < end && text[at + 1] != '>')))
        at++;
    return at;
}

static inline size_t scan_comment(const char *text, size_t at, size_t end)
{
    const char *line = memchr(text + at, '\n', end - at);
    return line ? (size_t)(line - text) : end;
}

/* Is this word a name with a dialect, "tosa.add", and no number? */
static inline bool scan_has_dot(const char *text, size_t begin, size_t end)
{
    return memchr(text + begin, '.', end - begin) != NULL && text[begin] != '.' &&
           (text[begin] < '0' || text[begin] > '9');
}

/* White space and comments. */
static inline size_t scan_space(const char *text, size_t at, size_t end)
{
    for (;;) {
        while (at < end && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
            at++;
        if (at + 1 < end && text[at] == '/' && text[at + 1] == '/')
            at = scan_comment(text, at, end);
        else
            return at;
    }
}

/* From an opening quote to after the closing one; `end` where there is none. */
static inline size_t scan_string(const char *text, size_t at, size_t end)
{
    for (at++; at < end; at++) {
        const char *quote = memchr(text + at, '"', end - at);
        if (!quote)
            return end;
        const char *escape = memchr(text + at, '\\', (size_t)(quote - text) - at);
        if (!escape)
            return (size_t)(quote - text) + 1;
        at = (size_t)(escape - text) + 1;
    }
    return end;
}

/* "->", "=>" and ">=" close nothing. */
static inline bool scan_closes_angle(const char *text, size_t at, size_t begin, size_t end)
{
    return !(at > begin && (text[at - 1] == '-' || text[at - 1] == '=')) &&
           !(at + 1 < end && text[at + 1] == '=');
}

/* To the first of `stops` outside brackets and strings, or to a bracket that closes what was open before. */
static inline size_t scan_until(const char *text, size_t at, size_t end, const char *stops)
{
    size_t depth = 0, begin = at;
    for (; at < end; at++) {
        char c = text[at];
        if (scan_is_word(c)) /* never a stop */
            continue;
        if (depth == 0 && c && strchr(stops, c))
            return at;
        if (c == '"')
            at = scan_string(text, at, end) - 1;
        else if (c == '/' && at + 1 < end && text[at + 1] == '/')
            at = scan_comment(text, at, end) - 1;
        else if (c == '(' || c == '[' || c == '{' || c == '<')
            depth++;
        else if (c == ')' || c == ']' || c == '}' || (c == '>' && scan_closes_angle(text, at, begin, end))) {
            if (depth == 0)
                return at;
            depth--;
        }
    }
    return end;
}

#endif
