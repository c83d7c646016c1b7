/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/spill.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"

#define SHEAF_CHUNK_BYTES ((size_t)4096) /* of each text in memory: 10,000 threads take 40 MB */

static int open_in(const char *folder)
{
    char *path = NULL;
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
        return file;
    /* Not every file system has nameless files. */
    if (asprintf(&path, "%s/opscope-export-XXXXXX", folder) < 0) {
        errno = ENOMEM;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    free(path);
    return file;
}

int export_temporary_file(struct error *err)
{
    const char *chosen = getenv("TMPDIR");
    const char *folders[] = {chosen && *chosen ? chosen : "/var/tmp", "/var/tmp", "/tmp"};
    int code = 0;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        int file = open_in(folders[i]);
        if (file >= 0)
            return file;
        code = code ? code : errno;
    }
    error_set_errno(err, code, "cannot make a temporary file in %s", folders[0]);
    return -1;
}

static int write_at(int file, const uint8_t *data, size_t length, uint64_t offset, struct error *err)
{
    while (length) {
        ssize_t n = pwrite(file, data, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(err, n < 0 ? errno : EIO,
                                   "cannot write the temporary file (TMPDIR says where it goes)");
        data += n;
        length -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

static int read_at(int file, uint8_t *data, size_t length, uint64_t offset, struct error *err)
{
    while (length) {
        ssize_t n = pread(file, data, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set_errno(err, n < 0 ? errno : EIO, "cannot read the temporary file");
        data += n;
        length -= (size_t)n;
        offset += (uint64_t)n;
    }
    return 0;
}

int export_stack_open(struct export_stack *stack, size_t record_bytes, size_t page_bytes, struct error *err)
{
    *stack = (struct export_stack){.record_bytes = record_bytes, .file = -1};
    stack->page_records = page_bytes / record_bytes ? page_bytes / record_bytes : 1;
    stack->page = malloc(stack->page_records * record_bytes); /* untouched pages cost nothing */
    return stack->page ? 0 : error_set(err, ENOMEM, "not enough memory for the export");
}

void export_stack_close(struct export_stack *stack)
{
    free(stack->page);
    if (stack->page && stack->file >= 0)
        close(stack->file);
    *stack = (struct export_stack){.file = -1};
}

int export_stack_push(struct export_stack *stack, const void *record, struct error *err)
{
    if (stack->count == stack->page_records) {
        size_t page_bytes = stack->page_records * stack->record_bytes;
        if (stack->file < 0 && (stack->file = export_temporary_file(err)) < 0)
            return -EIO;
        int result = write_at(stack->file, stack->page, page_bytes, stack->page_count * page_bytes, err);
        if (result != 0)
            return result;
        stack->page_count++;
        stack->count = 0;
    }
    memcpy(stack->page + stack->count * stack->record_bytes, record, stack->record_bytes);
    stack->count++;
    return 0;
}

const void *export_stack_top(struct export_stack *stack, int *result, struct error *err)
{
    *result = 0;
    if (stack->count == 0 && stack->page_count > 0) {
        size_t page_bytes = stack->page_records * stack->record_bytes;
        *result = read_at(stack->file, stack->page, page_bytes, (stack->page_count - 1) * page_bytes, err);
        if (*result != 0)
            return NULL;
        stack->page_count--;
        stack->count = stack->page_records;
    }
    return stack->count ? stack->page + (stack->count - 1) * stack->record_bytes : NULL;
}

void export_stack_drop(struct export_stack *stack)
{
    assert(stack->count > 0);
    stack->count--;
}

void export_sheaf_open(struct export_sheaf *sheaf)
{
    *sheaf = (struct export_sheaf){.file = -1};
}

void export_sheaf_close(struct export_sheaf *sheaf)
{
    for (size_t i = 0; i < sheaf->count; i++) {
        free(sheaf->texts[i].chunk);
        free(sheaf->texts[i].chunks);
    }
    free(sheaf->texts);
    if (sheaf->file >= 0)
        close(sheaf->file);
    export_sheaf_open(sheaf);
}

static int no_memory(struct error *err)
{
    return error_set(err, ENOMEM, "not enough memory for the export");
}

/* A full chunk goes to the end of the file; its number is the text's. */
static int put_chunk(struct export_sheaf *sheaf, struct export_sheaf_text *text, struct error *err)
{
    if (sheaf->file < 0 && (sheaf->file = export_temporary_file(err)) < 0)
        return -EIO;
    if (sheaf->file_chunks == UINT32_MAX)
        return error_set(err, EFBIG, "the temporary file would be larger than 16 TiB");
    if (!array_reserve(&text->chunks, &text->chunk_capacity, text->chunk_count + 1, sizeof *text->chunks))
        return no_memory(err);
    int result = write_at(sheaf->file, text->chunk, SHEAF_CHUNK_BYTES,
                          (uint64_t)sheaf->file_chunks * SHEAF_CHUNK_BYTES, err);
    if (result != 0)
        return result;
    text->chunks[text->chunk_count++] = sheaf->file_chunks++;
    text->used = 0;
    return 0;
}

int export_sheaf_append(struct export_sheaf *sheaf, size_t number, const void *data, size_t length,
                        struct error *err)
{
    const uint8_t *from = data;
    if (number >= sheaf->count) {
        size_t old = sheaf->count;
        if (!array_reserve(&sheaf->texts, &sheaf->capacity, number + 1, sizeof *sheaf->texts))
            return no_memory(err);
        memset(sheaf->texts + old, 0, (number + 1 - old) * sizeof *sheaf->texts);
        sheaf->count = number + 1;
    }
    struct export_sheaf_text *text = &sheaf->texts[number];
    if (!text->chunk && !(text->chunk = malloc(SHEAF_CHUNK_BYTES)))
        return no_memory(err);
    while (length) {
        size_t room = SHEAF_CHUNK_BYTES - text->used, part = length < room ? length : room;
        memcpy(text->chunk + text->used, from, part);
        text->used += part;
        from += part;
        length -= part;
        int result = text->used == SHEAF_CHUNK_BYTES ? put_chunk(sheaf, text, err) : 0;
        if (result != 0)
            return result;
    }
    return 0;
}

int export_sheaf_read(struct export_sheaf *sheaf, size_t number,
                      int (*take)(void *context, const void *data, size_t length), void *context,
                      struct error *err)
{
    uint8_t chunk[SHEAF_CHUNK_BYTES];
    if (number >= sheaf->count)
        return 0;
    struct export_sheaf_text *text = &sheaf->texts[number];
    for (size_t i = 0; i < text->chunk_count; i++) {
        int result =
            read_at(sheaf->file, chunk, sizeof chunk, (uint64_t)text->chunks[i] * SHEAF_CHUNK_BYTES, err);
        if (result == 0)
            result = take(context, chunk, sizeof chunk);
        if (result != 0)
            return result;
    }
    return text->used ? take(context, text->chunk, text->used) : 0;
}
