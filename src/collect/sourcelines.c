/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines for the trace, read when everything is recorded, as the user who records: around the places that names
 * and ops have, and not the files. Who looks at the trace later needs no file, and opens none.
 *
 * What is taken is bounded: SHARE_BYTES of trace a place, at least LEAST_BYTES and at most MOST_BYTES in all; of each
 * place some lines before and after it, or a function of Python to its end. Lines of installed packages come last. Only
 * files called as sources, older than the recording, are read (text/source_file.h); names of another user's processes
 * are not looked at: they may be names of files that are not theirs to read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/intern.h"
#include "collect/internal.h"
#include "text/source_file.h"
#include "text/source_text.h"

#define MOST_PLACES 200000u
#define SHARE_BYTES 180u
#define LEAST_BYTES ((size_t)64 << 10)
#define MOST_BYTES ((size_t)1 << 20)
#define READ_BYTES ((size_t)64 << 20) /* of all files */
#define BLOCK_TEXT ((size_t)128 << 10)
#define SMALLEST_BLOCK ((size_t)4 << 10)
#define LINE_BYTES 1000u
#define FEW_PLACES 400u /* with more, fewer lines around each */
#define FUNCTION_LINES 60u
#define STRETCH_LINES 128u

struct place {
    uint32_t file; /* in `files` */
    uint32_t line;
};

struct lines { /* of one file, from one to the other */
    size_t from, to;
};

struct taking {
    struct collector *collector;
    struct intern files;
    struct place *places;
    size_t place_count, place_capacity;
    size_t before, after; /* lines around a place */
    size_t room;          /* bytes of the trace that are left */
    size_t read_bytes;
    uint64_t begun_ns;
    /* a block that is being put together */
    struct trace_source_file *rows;
    size_t row_count, row_capacity;
    struct trace_source_part *parts; /* offsets stand for texts until it is written */
    size_t part_count, part_capacity;
    struct bytes text;
    struct lines *lines; /* scratch */
    size_t line_capacity;
    struct bytes data;
};

/* --- where processes worked --- */

static void add_folder(struct collector *c, const char *link)
{
    char path[PATH_MAX];
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || c->folder_count == MAX_WORKING_FOLDERS)
        return;
    path[length] = '\0';
    for (size_t i = 0; i < c->folder_count; i++) {
        if (strcmp(c->folders[i], path) == 0)
            return;
    }
    c->folders[c->folder_count] = strdup(path);
    c->folder_count += c->folders[c->folder_count] != NULL;
}

void sources_note_folder(struct collector *c, const struct session_segment *segment)
{
    char link[64];
    const struct segment_header *h = session_segment_header(segment);
    if (session_segment_is_foreign(segment))
        c->has_foreign = true;
    if (!c->own_namespace || h->pid_namespace != c->own_namespace)
        return;
    snprintf(link, sizeof link, "/proc/%u/cwd", h->pid);
    add_folder(c, link);
}

/* --- places --- */

static void add_place(struct taking *t, const char *file, size_t length, uint32_t line)
{
    char path[PATH_MAX];
    if (!length || length >= sizeof path || !line || t->place_count >= MOST_PLACES)
        return;
    memcpy(path, file, length);
    path[length] = '\0';
    if (strlen(path) != length || !source_file_is_named(path) ||
        !array_reserve(&t->places, &t->place_capacity, t->place_count + 1, sizeof *t->places))
        return;
    uint32_t id = intern_add(&t->files, path, length);
    if (id != INTERN_NONE)
        t->places[t->place_count++] = (struct place){id, line};
}

/* FILE:LINE, or FILE:LINE:COLUMN. */
static void add_location(void *context, const char *text, size_t length)
{
    uint64_t numbers[2] = {0};
    unsigned count = 0;
    size_t end = length;
    while (count < 2) {
        size_t at = end;
        while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9' && end - at < 9)
            at--;
        if (at == end || at < 2 || text[at - 1] != ':')
            break;
        numbers[count] = 0;
        for (size_t i = at; i < end; i++)
            numbers[count] = numbers[count] * 10 + (uint64_t)(text[i] - '0');
        count++;
        end = at - 1;
    }
    if (count)
        add_place(context, text, end, (uint32_t)numbers[count - 1]);
}

static void gather(struct taking *t)
{
    const struct collector *c = t->collector;
    size_t names = trace_writer_name_count(c->writer);
    for (uint32_t id = 0; id < names; id++) {
        struct trace_name name = trace_writer_get_name(c->writer, id);
        if (map_get(&c->foreign_names, id) == MAP_NONE)
            add_place(t, name.file, strlen(name.file), name.line);
    }
    if (!c->has_foreign) /* descriptions do not say whose they are */
        trace_writer_each_part(c->writer, TRACE_PART_LOCATION, add_location, t);
}

static bool is_installed(const char *file)
{
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
           strncmp(file, "/usr/", 5) == 0;
}

static int compare_places(const void *left, const void *right, void *context)
{
    const struct place *a = left, *b = right;
    const struct taking *t = context;
    if (a->file != b->file) {
        bool is_last[2] = {is_installed(intern_text(&t->files, a->file)),
                           is_installed(intern_text(&t->files, b->file))};
        return is_last[0] != is_last[1] ? is_last[0] - is_last[1] : a->file < b->file ? -1 : 1;
    }
    return (a->line > b->line) - (a->line < b->line);
}

/* --- files --- */

static bool read_in(const char *folder_path, const char *path, struct bytes *data, struct stat *info)
{
    int folder = open(folder_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is_read = folder >= 0 && source_file_read(folder, path, data, info);
    if (folder >= 0)
        close(folder);
    return is_read;
}

/* A relative path is in one of the folders in which the program worked; in two of them, nobody knows which it is. */
static bool read_relative(struct taking *t, const char *path, struct stat *info)
{
    const struct collector *c = t->collector;
    struct stat found = {0};
    size_t count = 0, which = 0;
    for (size_t i = 0; i < c->folder_count; i++) {
        if (!read_in(c->folders[i], path, &t->data, info))
            continue;
        count += count == 0 || info->st_ino != found.st_ino || info->st_dev != found.st_dev;
        found = *info;
        which = i;
    }
    return count == 1 && read_in(c->folders[which], path, &t->data, info);
}

static bool read_file(struct taking *t, const char *path, struct stat *info)
{
    bool is_read =
        path[0] == '/' ? source_file_read(AT_FDCWD, path, &t->data, info) : read_relative(t, path, info);
    t->read_bytes += is_read ? t->data.length : 0;
    return is_read;
}

static size_t indentation(const char *text)
{
    return strspn(text, " ");
}

/* The last line of the function of Python that begins here; the line itself where none does. */
static size_t function_end(const struct source_text *source, size_t line)
{
    const char *text = source_text_line(source, (uint32_t)line);
    while (text && text[indentation(text)] == '@') /* decorators */
        text = source_text_line(source, (uint32_t)++line);
    const char *word = text ? text + indentation(text) : "";
    if (strncmp(word, "def ", 4) != 0 && strncmp(word, "async def ", 10) != 0)
        return line;
    size_t own = indentation(text), end = line;
    for (size_t i = line + 1; i < line + FUNCTION_LINES; i++) {
        text = source_text_line(source, (uint32_t)i);
        size_t at = text ? indentation(text) : 0;
        if (!text || (text[at] && at <= own && text[at] != ')'))
            break;
        end = text[at] ? i : end;
    }
    return end;
}

/* What is wanted of one file, without overlaps. */
static size_t choose_lines(struct taking *t, const struct source_text *source, const struct place *places,
                           size_t count, bool is_python)
{
    size_t kept = 0;
    if (!array_reserve(&t->lines, &t->line_capacity, count, sizeof *t->lines))
        return 0;
    for (size_t i = 0; i < count; i++) {
        size_t line = places[i].line, to = line + t->after;
        if (line > source->line_count)
            break;
        size_t end = is_python && t->after > t->before ? function_end(source, line) : line;
        struct lines wanted = {line > t->before ? line - t->before : 1, end > to ? end : to};
        wanted.to = wanted.to > source->line_count ? source->line_count : wanted.to;
        struct lines *last = kept ? &t->lines[kept - 1] : NULL;
        if (last && wanted.from <= last->to)
            wanted.from = last->to + 1;
        if (wanted.from > wanted.to)
            continue;
        if (last && wanted.from == last->to + 1 && wanted.to - last->from < STRETCH_LINES)
            last->to = wanted.to;
        else
            t->lines[kept++] = wanted;
    }
    return kept;
}

/* --- blocks --- */

static void write_block(struct taking *t)
{
    size_t part = 0, at = 0;
    for (size_t i = 0; i < t->row_count; i++) {
        t->rows[i].parts = t->parts + part;
        for (size_t k = 0; k < t->rows[i].part_count; k++, part++) {
            t->parts[part].text = (const char *)t->text.data + at;
            at += t->parts[part].length;
        }
    }
    size_t size = t->text.failed ? 0 : trace_writer_sources(t->collector->writer, t->rows, t->row_count);
    t->room = size && size < t->room ? t->room - size : 0; /* none for this one: none for another */
    t->row_count = t->part_count = 0;
    bytes_clear(&t->text);
}

/* As much as can be taken before the block has to be written, whatever it compresses to. */
static size_t block_room(const struct taking *t)
{
    size_t most = t->room < BLOCK_TEXT ? t->room : BLOCK_TEXT;
    size_t used = t->text.length + 64 * t->row_count + 8 * t->part_count;
    return used < most ? most - used : 0;
}

static bool add_part(struct taking *t, const struct source_text *source, const struct lines *lines)
{
    size_t start = t->text.length;
    if (!array_reserve(&t->parts, &t->part_capacity, t->part_count + 1, sizeof *t->parts))
        return false;
    for (size_t i = lines->from; i <= lines->to; i++) {
        const char *text = source_text_line(source, (uint32_t)i);
        size_t length = text ? strlen(text) : 0;
        if (length > LINE_BYTES) { /* not in the middle of a character */
            for (length = LINE_BYTES; length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80;)
                length--;
        }
        bytes_append(&t->text, text, length);
        bytes_append_u8(&t->text, '\n');
    }
    t->parts[t->part_count++] = (struct trace_source_part){.first_line = (uint32_t)lines->from,
                                                           .length = (uint32_t)(t->text.length - start)};
    return true;
}

static struct trace_source_file *add_row(struct taking *t, const char *file, uint32_t state,
                                         size_t line_count)
{
    if (!array_reserve(&t->rows, &t->row_capacity, t->row_count + 1, sizeof *t->rows))
        return NULL;
    struct trace_source_file *row = &t->rows[t->row_count++];
    *row = (struct trace_source_file){.file = file, .state = state, .line_count = (uint32_t)line_count};
    return row;
}

static size_t lines_bytes(const struct source_text *source, const struct lines *lines)
{
    size_t size = 0;
    for (size_t i = lines->from; i <= lines->to; i++) {
        size_t length = strlen(source_text_line(source, (uint32_t)i));
        size += (length < LINE_BYTES ? length : LINE_BYTES) + 1;
    }
    return size;
}

static void add_lines(struct taking *t, const char *file, const struct source_text *source,
                      const struct place *places, size_t count)
{
    size_t length = strlen(file);
    bool is_python = length > 3 && strcmp(file + length - 3, ".py") == 0;
    size_t wanted = choose_lines(t, source, places, count, is_python);
    struct trace_source_file *row = NULL;
    for (size_t i = 0; i < wanted; i++) {
        size_t need = lines_bytes(source, &t->lines[i]) + length + 64;
        if (need > block_room(t) && t->row_count) {
            write_block(t);
            row = NULL;
        }
        if (need > block_room(t))
            continue;
        if (!row)
            row = add_row(t, file, TRACE_SOURCE_READ, source->line_count);
        if (!row || !add_part(t, source, &t->lines[i]))
            return;
        row->part_count++;
    }
}

static void take_file(struct taking *t, const struct place *places, size_t count)
{
    const char *file = intern_text(&t->files, places[0].file);
    struct source_text source = {0};
    struct stat info;
    if (t->read_bytes > READ_BYTES || !read_file(t, file, &info))
        return;
    uint64_t changed_ns =
        (uint64_t)info.st_mtim.tv_sec * UINT64_C(1000000000) + (uint64_t)info.st_mtim.tv_nsec;
    if (t->begun_ns && changed_ns > t->begun_ns) /* not what was run, or not only */
        add_row(t, file, TRACE_SOURCE_CHANGED, 0);
    else if (source_text_parse(&source, t->data.data, t->data.length, NULL) == 0)
        add_lines(t, file, &source, places, count);
    source_text_free(&source);
}

/* By how many places there are, so that many of them leave lines for each. */
static void set_bounds(struct taking *t)
{
    bool are_few = t->place_count <= FEW_PLACES;
    size_t most = trace_writer_source_room(t->collector->writer), wanted = SHARE_BYTES * t->place_count;
    t->before = are_few ? 8 : 4;
    t->after = are_few ? 15 : 7;
    wanted = wanted < LEAST_BYTES ? LEAST_BYTES : wanted > MOST_BYTES ? MOST_BYTES : wanted;
    t->room = wanted < most ? wanted : most;
    t->begun_ns = trace_writer_begun_unix_ns(t->collector->writer);
}

void collector_take_sources(struct collector *c)
{
    struct taking t = {.collector = c};
    if (session_folder_leaves_sources_out(c->folder) || trace_writer_source_room(c->writer) == 0)
        return;
    if (c->root_id != TRACE_NONE) /* the command began in the folder that is ours */
        add_folder(c, "/proc/self/cwd");
    gather(&t);
    set_bounds(&t);
    if (t.place_count)
        qsort_r(t.places, t.place_count, sizeof *t.places, compare_places, &t);
    for (size_t i = 0, next; i < t.place_count && t.room >= SMALLEST_BLOCK; i = next) {
        for (next = i + 1; next < t.place_count && t.places[next].file == t.places[i].file;)
            next++;
        take_file(&t, t.places + i, next - i);
    }
    if (t.row_count)
        write_block(&t);
    intern_free(&t.files);
    free(t.places);
    free(t.rows);
    free(t.parts);
    free(t.lines);
    bytes_free(&t.text);
    bytes_free(&t.data);
}
