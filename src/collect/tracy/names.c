/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tracy/names.h"

#include <stdlib.h>

void tracy_names_free(struct tracy_names *names)
{
    intern_free(&names->texts);
    free(names->names);
    map_free(&names->name_of);
    free(names->sources);
    map_free(&names->source_of);
    map_free(&names->payload_of);
    free(names->asked_sources);
    bytes_free(&names->queries);
    *names = (struct tracy_names){0};
}

void tracy_names_stop(struct tracy_names *names)
{
    names->is_silent = true;
    names->asked -= names->queries.length / TRACY_QUERY_BYTES; /* they are not sent any more */
    bytes_clear(&names->queries);
}

/* The id of a text; TRACY_NONE when there is too much of it, or no memory. */
static uint32_t keep(struct tracy_names *names, const void *text, size_t length)
{
    if (length > TRACY_MAX_TEXT_BYTES - names->text_bytes) {
        names->refused++;
        return TRACY_NONE;
    }
    size_t known = names->texts.count;
    uint32_t id = intern_add(&names->texts, length ? text : "", length);
    names->text_bytes += names->texts.count > known ? length : 0;
    return id;
}

static void ask(struct tracy_names *names, enum tracy_query kind, uint64_t address)
{
    if (kind != TRACY_ASK_THREAD && !tracy_is_address(address))
        tracy_names_stop(names);
    if (names->is_silent)
        return;
    bytes_append_u8(&names->queries, (uint8_t)kind);
    bytes_append_u64(&names->queries, address);
    bytes_append_u32(&names->queries, 0);
    names->asked++;
}

static uint32_t add_name(struct tracy_names *names, uint64_t address)
{
    if (names->count >= TRACY_MAX_NAMES ||
        !array_reserve(&names->names, &names->capacity, names->count + 1, sizeof *names->names)) {
        names->refused++;
        return TRACY_NONE;
    }
    names->names[names->count] = (struct tracy_name){address, TRACY_NONE};
    return (uint32_t)names->count++;
}

uint32_t tracy_names_find(struct tracy_names *names, enum tracy_query kind, uint64_t address)
{
    if (!address)
        return TRACY_NONE;
    uint64_t key = tracy_names_key(kind, address);
    uint32_t name = map_get(&names->name_of, key);
    if (name != MAP_NONE)
        return name;
    name = add_name(names, address);
    if (name == TRACY_NONE || !map_put(&names->name_of, key, name))
        return TRACY_NONE;
    ask(names, kind, address);
    return name;
}

static uint32_t add_source(struct tracy_names *names, uint64_t address)
{
    if (names->source_count >= TRACY_MAX_NAMES ||
        !array_reserve(&names->sources, &names->source_capacity, names->source_count + 1,
                       sizeof *names->sources)) {
        names->refused++;
        return TRACY_NONE;
    }
    names->sources[names->source_count] = (struct tracy_source){
        .address = address, .name = TRACY_NONE, .function = TRACY_NONE, .file = TRACY_NONE};
    return (uint32_t)names->source_count++;
}

uint32_t tracy_names_source(struct tracy_names *names, uint64_t address)
{
    uint32_t source = map_get(&names->source_of, address);
    if (source != MAP_NONE)
        return source;
    if (!array_reserve(&names->asked_sources, &names->asked_capacity, names->asked_count + 1,
                       sizeof *names->asked_sources))
        return TRACY_NONE;
    source = add_source(names, address);
    if (source == TRACY_NONE || !map_put(&names->source_of, address, source))
        return TRACY_NONE;
    names->asked_sources[names->asked_count++] = source;
    ask(names, TRACY_ASK_SOURCE_LOCATION, address);
    return source;
}

/* A name whose text is there already. */
static uint32_t own_name(struct tracy_names *names, const uint8_t *text, size_t length)
{
    uint32_t name = length ? add_name(names, 0) : TRACY_NONE;
    if (name != TRACY_NONE)
        names->names[name].text = keep(names, text, length);
    return name;
}

/* Colour and line, then function and file, each with its NUL, and the name. */
uint32_t tracy_names_payload(struct tracy_names *names, const uint8_t *body, size_t length)
{
    uint32_t text = length < 8 ? TRACY_NONE : keep(names, body, length);
    if (text == TRACY_NONE)
        return TRACY_NONE;
    uint32_t source = map_get(&names->payload_of, text);
    if (source != MAP_NONE)
        return source;
    source = add_source(names, 0);
    if (source == TRACY_NONE || !map_put(&names->payload_of, text, source))
        return TRACY_NONE;
    struct tracy_source *made = &names->sources[source];
    const uint8_t *at = body + 8, *end = body + length;
    const uint8_t *function_end = memchr(at, 0, (size_t)(end - at));
    const uint8_t *file = function_end ? function_end + 1 : end;
    const uint8_t *file_end = file < end ? memchr(file, 0, (size_t)(end - file)) : NULL;
    const uint8_t *name = file_end ? file_end + 1 : end;
    made->function = own_name(names, at, (size_t)((function_end ? function_end : end) - at));
    made->file = own_name(names, file, (size_t)((file_end ? file_end : end) - file));
    made->name = own_name(names, name, (size_t)(end - name));
    made->colour = tracy_u32(body) & 0xffffff;
    made->line = tracy_u32(body + 4);
    made->is_known = true;
    return source;
}

void tracy_names_answer(struct tracy_names *names, enum tracy_query kind, uint64_t address, const void *text,
                        size_t length)
{
    uint32_t name = map_get(&names->name_of, tracy_names_key(kind, address));
    if (name == MAP_NONE)
        return; /* another server asked, in a recorded stream */
    names->names[name].text = keep(names, text, length);
    names->answered++;
}

bool tracy_names_answer_source(struct tracy_names *names, const uint8_t *item)
{
    if (names->answered_sources == names->asked_count)
        return false;
    uint32_t index = names->asked_sources[names->answered_sources++];
    struct tracy_source source = {.address = names->sources[index].address,
                                  .line = tracy_u32(item + 25),
                                  .colour = (uint32_t)item[31] << 16 | (uint32_t)item[30] << 8 | item[29],
                                  .is_known = true};
    source.name = tracy_names_find(names, TRACY_ASK_STRING, tracy_u64(item + 1));
    source.function = tracy_names_find(names, TRACY_ASK_STRING, tracy_u64(item + 9));
    source.file = tracy_names_find(names, TRACY_ASK_STRING, tracy_u64(item + 17));
    names->sources[index] = source;
    names->answered++;
    return true;
}

const char *tracy_names_text(const struct tracy_names *names, uint32_t name)
{
    if (name >= names->count || names->names[name].text == TRACY_NONE)
        return NULL;
    return intern_text(&names->texts, names->names[name].text);
}

static bool is_answered(const struct tracy_names *names, uint32_t name)
{
    return name == TRACY_NONE || names->names[name].text != TRACY_NONE;
}

bool tracy_names_source_is_whole(const struct tracy_names *names, uint32_t source)
{
    if (source >= names->source_count)
        return true;
    const struct tracy_source *s = &names->sources[source];
    return s->is_known && is_answered(names, s->name) && is_answered(names, s->function) &&
           is_answered(names, s->file);
}
