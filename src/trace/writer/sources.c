/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of source files, and what somebody who chooses them needs to know: the names and places that were defined. */
#include "trace/writer/internal.h"

#include <stdlib.h>
#include <string.h>

#define FLIGHT_SHARE 32u /* of the size limit of a flight recorder */

size_t trace_writer_name_count(const struct trace_writer *w)
{
    return definitions_name_count(&w->definitions);
}

struct trace_name trace_writer_get_name(const struct trace_writer *w, uint32_t id)
{
    const struct writer_name *name = &w->definitions.names[id];
    return (struct trace_name){.id = id,
                               .line = name->line,
                               .colour = name->colour,
                               .name = name->name,
                               .function = name->function,
                               .file = name->file};
}

/* A description is kept as role, length and text of each part. */
void trace_writer_each_part(const struct trace_writer *w, uint32_t role, trace_part_fn each, void *context)
{
    const struct intern *descriptions = &w->definitions.descriptions;
    for (size_t i = 0; i < descriptions->count; i++) {
        struct cursor at = cursor_over(descriptions->entries[i].data, descriptions->entries[i].length);
        while (at.position < at.length && !at.failed) {
            uint32_t found = cursor_u32(&at), length = cursor_u32(&at);
            const uint8_t *text = cursor_take(&at, length);
            if (found == role && text)
                each(context, (const char *)text, length);
        }
    }
}

uint64_t trace_writer_begun_unix_ns(const struct trace_writer *w)
{
    return w->begun_unix_ns;
}

size_t trace_writer_source_room(const struct trace_writer *w)
{
    if (w->is_full || w->is_discarded)
        return 0;
    return w->max_size_bytes ? (size_t)(w->max_size_bytes / FLIGHT_SHARE) : SIZE_MAX;
}

struct source_columns {
    uint32_t *lengths, *states, *lines, *parts; /* of each file */
    uint32_t *firsts, *sizes;                   /* of each stretch */
    uint32_t *values;                           /* all of them */
    struct bytes paths, text;
    size_t part_count;
};

static bool gather(struct source_columns *c, const struct trace_source_file *files, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        c->part_count += files[i].part_count;
    c->values = malloc((4 * count + 2 * c->part_count + 1) * sizeof *c->values);
    if (!c->values)
        return false;
    c->lengths = c->values;
    c->states = c->lengths + count;
    c->lines = c->states + count;
    c->parts = c->lines + count;
    c->firsts = c->parts + count;
    c->sizes = c->firsts + c->part_count;
    for (size_t i = 0; i < count; i++) {
        c->lengths[i] = (uint32_t)strlen(files[i].file);
        c->states[i] = files[i].state;
        c->lines[i] = files[i].line_count;
        c->parts[i] = files[i].part_count;
        bytes_append(&c->paths, files[i].file, c->lengths[i]);
        for (size_t k = 0; k < files[i].part_count; k++, at++) {
            c->firsts[at] = files[i].parts[k].first_line;
            c->sizes[at] = files[i].parts[k].length;
            bytes_append(&c->text, files[i].parts[k].text, files[i].parts[k].length);
        }
    }
    return !c->paths.failed && !c->text.failed && c->text.length <= SOURCE_BLOCK_TEXT;
}

static size_t put(struct trace_writer *w, const struct source_columns *c, size_t count)
{
    struct block_builder *builder = &w->builder;
    struct block_header header = {.type = TRACE_BLOCK_SOURCES, .track = TRACE_NONE, .count = (uint32_t)count};
    uint64_t end = w->end;
    block_begin(builder);
    builder->keep_zeros = true;
    block_add_u32(builder, SOURCE_FILE_LENGTH, c->lengths, count);
    block_add_u32(builder, SOURCE_FILE_STATE, c->states, count);
    block_add_u32(builder, SOURCE_FILE_LINES, c->lines, count);
    block_add_u32(builder, SOURCE_FILE_PARTS, c->parts, count);
    block_add_bytes(builder, SOURCE_PATHS, c->paths.data, c->paths.length);
    block_add_u32(builder, SOURCE_PART_FIRST, c->firsts, c->part_count);
    block_add_u32(builder, SOURCE_PART_LENGTH, c->sizes, c->part_count);
    block_add_bytes(builder, SOURCE_TEXT, c->text.data, c->text.length);
    return file_write_block(w, builder, &header) ? 0 : (size_t)(w->end - end);
}

/* A disk without room for them is no trouble of the trace: they are left out. */
size_t trace_writer_sources(struct trace_writer *w, const struct trace_source_file *files, size_t count)
{
    struct source_columns c = {0};
    size_t size = 0;
    sinks_flush(w);
    rows_flush(w, false);
    bool is_ready = count && gather(&c, files, count);
    if (is_ready && definitions_flush(w) == 0 &&
        file_has_room(w, c.text.length + c.paths.length + 8 * (4 * count + 2 * c.part_count) +
                             BLOCK_FIXED_BYTES + BLOCK_MAX_COLUMNS * BLOCK_COLUMN_BYTES))
        size = put(w, &c, count);
    free(c.values);
    bytes_free(&c.paths);
    bytes_free(&c.text);
    return size;
}
