/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of source files. They are decoded when somebody asks for the first of them; how much a trace may make us keep
 * is bounded. Of a file that comes more than once, the last counts. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

#define MOST_TEXT ((size_t)32 << 20) /* of all blocks: what is beyond is not there */
#define MOST_FILES 65536u

struct source_page { /* texts of one block */
    struct source_page *next;
    uint8_t *paths; /* each ended by a NUL */
    uint8_t *text;
    struct trace_source_part *parts;
};

struct source_files {
    struct source_page *pages;
    struct trace_source_file *files;
    size_t count, capacity;
    size_t text_length;
};

void source_files_free(struct source_files *files)
{
    if (!files)
        return;
    while (files->pages) {
        struct source_page *next = files->pages->next;
        free(files->pages->paths);
        free(files->pages->text);
        free(files->pages->parts);
        free(files->pages);
        files->pages = next;
    }
    free(files->files);
    free(files);
}

struct source_block {
    size_t count, part_count, path_length, text_length;
    uint32_t *lengths, *states, *lines, *parts, *firsts, *sizes;
    uint32_t *values;
    uint8_t *paths; /* as they are stored, without NULs */
};

static int decode_columns(struct trace *t, const struct block_view *view, struct source_block *b,
                          struct source_page *page)
{
    const struct {
        uint16_t id;
        uint32_t **values;
        size_t count;
    } columns[] = {
        {SOURCE_FILE_LENGTH, &b->lengths, b->count},    {SOURCE_FILE_STATE, &b->states, b->count},
        {SOURCE_FILE_LINES, &b->lines, b->count},       {SOURCE_FILE_PARTS, &b->parts, b->count},
        {SOURCE_PART_FIRST, &b->firsts, b->part_count}, {SOURCE_PART_LENGTH, &b->sizes, b->part_count}};
    uint32_t *at = b->values = malloc((4 * b->count + 2 * b->part_count + 1) * sizeof *at);
    b->paths = malloc(b->path_length + 1);
    page->paths = malloc(b->path_length + b->count + 1);
    page->text = malloc(b->text_length + 1);
    page->parts = calloc(b->part_count + 1, sizeof *page->parts);
    if (!b->values || !b->paths || !page->paths || !page->text || !page->parts)
        return -ENOMEM;
    int status = 0;
    for (size_t i = 0; i < COUNT_OF(columns) && !status; i++) {
        *columns[i].values = at;
        at += columns[i].count;
        status = block_decode_u32(view, &t->codec, columns[i].id, *columns[i].values, columns[i].count);
    }
    if (!status)
        status = block_decode_bytes(view, &t->codec, SOURCE_PATHS, b->paths, b->path_length);
    if (!status)
        status = block_decode_bytes(view, &t->codec, SOURCE_TEXT, page->text, b->text_length);
    return status;
}

/* The files of a block that is decoded, each length checked against what is there. */
static int add_files(struct source_files *files, const struct source_block *b, struct source_page *page)
{
    size_t path = 0, part = 0, text = 0, at = 0;
    if (!array_reserve(&files->files, &files->capacity, files->count + b->count, sizeof *files->files))
        return -ENOMEM;
    for (size_t i = 0; i < b->count; i++) {
        if (b->lengths[i] > b->path_length - path || b->parts[i] > b->part_count - part)
            return -EINVAL;
        struct trace_source_file file = {.file = (char *)page->paths + at,
                                         .state = b->states[i],
                                         .line_count = b->lines[i],
                                         .part_count = b->parts[i],
                                         .parts = page->parts + part};
        memcpy(page->paths + at, b->paths + path, b->lengths[i]);
        at += b->lengths[i];
        page->paths[at++] = '\0';
        path += b->lengths[i];
        for (size_t end = part + b->parts[i]; part < end; part++) {
            if (b->sizes[part] > b->text_length - text)
                return -EINVAL;
            page->parts[part] =
                (struct trace_source_part){b->firsts[part], b->sizes[part], (char *)page->text + text};
            text += b->sizes[part];
        }
        files->files[files->count + i] = file;
    }
    files->count += b->count;
    return 0;
}

static int load_block(struct trace *t, const struct entry *entry)
{
    struct source_files *files = t->source_files;
    struct block_view view;
    int status = reader_open_block(t, entry, true, &view, NULL);
    if (status)
        return status;
    struct source_block b = {.count = view.header.count,
                             .part_count = block_count(&view, SOURCE_PART_FIRST),
                             .path_length = block_count(&view, SOURCE_PATHS),
                             .text_length = block_count(&view, SOURCE_TEXT)};
    if (b.count > MOST_FILES - files->count || b.part_count > BLOCK_MAX_ROWS ||
        b.path_length > SOURCE_BLOCK_TEXT || b.text_length > SOURCE_BLOCK_TEXT ||
        b.text_length + b.path_length > MOST_TEXT - files->text_length)
        return -EINVAL;
    struct source_page *page = calloc(1, sizeof *page);
    if (!page)
        return -ENOMEM;
    page->next = files->pages;
    files->pages = page;
    files->text_length += b.text_length + b.path_length;
    status = decode_columns(t, &view, &b, page);
    if (!status)
        status = add_files(files, &b, page);
    free(b.values);
    free(b.paths);
    return status;
}

static struct source_files *loaded(struct trace *t)
{
    if (t->source_files)
        return t->source_files;
    t->source_files = calloc(1, sizeof *t->source_files);
    for (size_t i = 0; t->source_files && i < t->entry_count; i++) {
        if (t->entries[i].block.type == TRACE_BLOCK_SOURCES)
            (void)load_block(t, &t->entries[i]); /* one that is damaged is not there */
    }
    return t->source_files;
}

size_t trace_source_count(struct trace *t)
{
    const struct source_files *files = loaded(t);
    return files ? files->count : 0;
}

const struct trace_source_file *trace_get_source(struct trace *t, size_t index)
{
    const struct source_files *files = loaded(t);
    return files && index < files->count ? &files->files[index] : NULL;
}

const struct trace_source_file *trace_find_source(struct trace *t, const char *file)
{
    for (size_t i = trace_source_count(t); i > 0; i--) {
        const struct trace_source_file *found = trace_get_source(t, i - 1);
        if (strcmp(found->file, file) == 0)
            return found;
    }
    return NULL;
}
