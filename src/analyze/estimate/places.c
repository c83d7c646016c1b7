/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/slice.h"

#define KEY_MAX 300u

struct place {
    struct slice file; /* without folders; length 0: none */
    uint64_t line, column;
};

static bool take_number(const char **at, uint64_t *number)
{
    const char *text = *at;
    for (*number = 0; **at >= '0' && **at <= '9'; (*at)++)
        *number = *number < UINT32_MAX ? *number * 10 + (uint64_t)(**at - '0') : *number;
    return *at > text;
}

/* After the quote: the text, and the quote that ends it. */
static struct slice take_string(const char **at)
{
    const char *text = *at;
    while (**at && **at != '"')
        *at += **at == '\\' && (*at)[1] ? 2 : 1;
    struct slice string = slice_from(text, (size_t)(*at - text));
    *at += **at == '"';
    return string;
}

/* From " at " of a call on to the parenthesis that ends it: from where it was called does not count. */
static const char *skip_caller(const char *at)
{
    unsigned depth = 0;
    while (*at && !(depth == 0 && *at == ')')) {
        if (*at == '"') {
            at++;
            take_string(&at);
            continue;
        }
        depth += *at == '(' || *at == '[';
        depth -= depth && (*at == ')' || *at == ']');
        at++;
    }
    return at;
}

/* The next place of a location; false at its end. */
static bool next_place(const char **at, struct place *place)
{
    while (**at) {
        if (strncmp(*at, " at ", 4) == 0) {
            *at = skip_caller(*at + 4);
        } else if (**at == '"') {
            (*at)++;
            struct slice file = take_string(at);
            const char *rest = *at + 1;
            if (**at != ':' || !take_number(&rest, &place->line))
                continue;
            place->column = 0;
            if (*rest == ':') {
                rest++;
                take_number(&rest, &place->column);
            }
            const char *slash = file.length ? memrchr(file.data, '/', file.length) : NULL;
            place->file = slash ? slice_from(slash + 1, file.length - (size_t)(slash + 1 - file.data)) : file;
            *at = rest;
            return true;
        } else if ((*at)[0] == '@' && (*at)[1] == 'L') {
            const char *rest = *at + 2;
            place->file = slice_from(NULL, 0);
            *at += 2;
            if (!take_number(&rest, &place->line) || *rest++ != 'C' || !take_number(&rest, &place->column))
                continue;
            *at = rest;
            return true;
        } else {
            (*at)++;
        }
    }
    return false;
}

static uint32_t root_of(uint32_t *parents, uint32_t id)
{
    while (parents[id] != id)
        id = parents[id] = parents[parents[id]];
    return id;
}

/* Adds a place to the set that `set` is of. */
static uint32_t join(struct place_sets *sets, struct intern *texts, uint32_t **parents, size_t *capacity,
                     const char *key, uint32_t set)
{
    size_t before = texts->count;
    uint32_t id = intern_add(texts, key, strlen(key));
    if (id == INTERN_NONE || !array_reserve(parents, capacity, texts->count, sizeof **parents)) {
        sets->failed = true;
        return set;
    }
    if (texts->count > before)
        (*parents)[id] = id;
    uint32_t root = root_of(*parents, id);
    if (set != PLACE_NONE)
        (*parents)[root] = root_of(*parents, set);
    return set != PLACE_NONE ? root_of(*parents, set) : root;
}

static void key_of(const struct place *place, bool has_file, char *key)
{
    int length = has_file && place->file.length < KEY_MAX - 50 ? (int)place->file.length : 0;
    snprintf(key, KEY_MAX, "%.*s:%" PRIu64 ":%" PRIu64, length, length ? place->file.data : "", place->line,
             place->column);
}

void place_sets_add(struct place_sets *sets, const char *location)
{
    struct place place;
    uint32_t with_file = PLACE_NONE, without_file = PLACE_NONE;
    char key[KEY_MAX];
    while (!sets->failed && next_place(&location, &place)) {
        sets->lacks_files |= !place.file.length;
        key_of(&place, true, key);
        with_file = join(sets, &sets->with_file, &sets->file_parents, &sets->file_capacity, key, with_file);
        key_of(&place, false, key);
        without_file = join(sets, &sets->without_file, &sets->parents, &sets->capacity, key, without_file);
    }
}

uint32_t place_sets_find(struct place_sets *sets, const char *location)
{
    struct place place;
    char key[KEY_MAX];
    if (sets->failed || !next_place(&location, &place))
        return PLACE_NONE;
    key_of(&place, !sets->lacks_files, key);
    struct intern *texts = sets->lacks_files ? &sets->without_file : &sets->with_file;
    uint32_t id = intern_find(texts, key, strlen(key));
    return id == INTERN_NONE ? PLACE_NONE
                             : root_of(sets->lacks_files ? sets->parents : sets->file_parents, id);
}

void place_sets_free(struct place_sets *sets)
{
    intern_free(&sets->with_file);
    intern_free(&sets->without_file);
    free(sets->file_parents);
    free(sets->parents);
    *sets = (struct place_sets){0};
}
