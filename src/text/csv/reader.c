/* SPDX-License-Identifier: Apache-2.0 */
#include "text/csv/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/open_regular.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define BLOCK 64u
/* Fits the second-level cache: what was read is still there when it is scanned. */
#define FIRST_CAPACITY ((size_t)256 << 10)

enum scan_result { SCAN_ROW, SCAN_BLANK, SCAN_MORE, SCAN_UNCLOSED, SCAN_NO_MEMORY };

/* One bit for each of 64 bytes: separators, and what else can end a cell or begin one: quotes and line ends. */
struct marks {
    uint64_t separators, others;
};

#if defined(__SSE2__)
static inline void add_marks(struct marks *marks, const char *at, unsigned shift, char separator)
{
    const __m128i quote = _mm_set1_epi8('"'), feed = _mm_set1_epi8('\n'), carriage = _mm_set1_epi8('\r');
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + shift));
    __m128i separators = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(separator));
    __m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, feed), _mm_cmpeq_epi8(bytes, carriage));
    __m128i others = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), ends);
    marks->separators |= (uint64_t)(unsigned)_mm_movemask_epi8(separators) << shift;
    marks->others |= (uint64_t)(unsigned)_mm_movemask_epi8(others) << shift;
}
#endif

static inline struct marks find_marks(const char *at, char separator)
{
    struct marks marks = {0, 0};
#if defined(__SSE2__)
    add_marks(&marks, at, 0, separator);
    add_marks(&marks, at, 16, separator);
    add_marks(&marks, at, 32, separator);
    add_marks(&marks, at, 48, separator);
#else
    for (unsigned i = 0; i < BLOCK; i++) {
        char c = at[i];
        marks.separators |= (uint64_t)(c == separator) << i;
        marks.others |= (uint64_t)((c == '"') | (c == '\n') | (c == '\r')) << i;
    }
#endif
    return marks;
}

static bool reserve_cells(struct csv_reader *r, size_t more)
{
    return r->cell_capacity - r->cell_count >= more ||
           array_reserve(&r->cells, &r->cell_capacity, r->cell_count + more, sizeof *r->cells);
}

/* The place after the quote that closes the one at `at`; 0 when it is not in the buffer. */
static size_t skip_quoted(const struct csv_reader *r, size_t at)
{
    at++;
    for (;;) {
        const char *quote = memchr(r->buffer + at, '"', r->end - at);
        if (!quote)
            return 0;
        at = (size_t)(quote - r->buffer) + 1;
        if (at == r->end)
            return r->is_at_end ? at : 0;
        if (r->buffer[at] != '"')
            return at;
        at++;
    }
}

static bool is_blank_line(const struct csv_reader *r)
{
    if (r->cell_count != 1)
        return false;
    for (size_t i = 0; i < r->cells[0].length; i++) {
        if (r->cells[0].data[i] != ' ' && r->cells[0].data[i] != '\t')
            return false;
    }
    return true;
}

/* Ends the row at `at`, which is a line end or the end of the file. */
static enum scan_result end_row(struct csv_reader *r, size_t field, size_t at, size_t *next)
{
    *next = at;
    if (at < r->end) {
        *next = at + 1;
        if (r->buffer[at] == '\r') {
            if (*next == r->end && !r->is_at_end)
                return SCAN_MORE; /* a line feed may follow */
            if (*next < r->end && r->buffer[*next] == '\n')
                ++*next;
        }
    }
    if (!reserve_cells(r, 1))
        return SCAN_NO_MEMORY;
    r->cells[r->cell_count++] = (struct slice){r->buffer + field, at - field};
    return is_blank_line(r) ? SCAN_BLANK : SCAN_ROW;
}

/* Finds the cells of the row at `start`. Quoted cells still have their quotes. */
static enum scan_result scan_row(struct csv_reader *r, size_t *next, bool *has_quotes)
{
    const char *data = r->buffer;
    size_t field = r->start, block = r->start;
    r->cell_count = 0;
    while (block < r->end) {
        struct marks marks = find_marks(data + block, (char)r->separator);
        if (!reserve_cells(r, BLOCK))
            return SCAN_NO_MEMORY;
        for (;;) {
            uint64_t first_other = marks.others & (0 - marks.others);
            uint64_t before = marks.separators & (first_other - 1); /* all of them where there is no other */
            struct slice *cell = r->cells + r->cell_count;
            marks.separators ^= before;
            for (; before; before &= before - 1) {
                size_t at = block + (unsigned)__builtin_ctzll(before);
                *cell++ = (struct slice){data + field, at - field};
                field = at + 1;
            }
            r->cell_count = (size_t)(cell - r->cells);
            if (!first_other) {
                block += BLOCK;
                break;
            }
            size_t at = block + (unsigned)__builtin_ctzll(first_other);
            marks.others ^= first_other;
            if (data[at] != '"')
                return end_row(r, field, at, next);
            if (at != field)
                continue;
            block = skip_quoted(r, at);
            if (!block)
                return r->is_at_end ? SCAN_UNCLOSED : SCAN_MORE;
            *has_quotes = true;
            break;
        }
    }
    return r->is_at_end ? end_row(r, field, r->end, next) : SCAN_MORE;
}

/* Reads on; the row at `start` moves to the front when there is no room after it. */
static int fill(struct csv_reader *r, struct error *err)
{
    if (r->start > 0) {
        memmove(r->buffer, r->buffer + r->start, r->end - r->start);
        r->end -= r->start;
        r->start = 0;
    }
    if (r->capacity - r->end < r->capacity / 2) {
        size_t larger = r->capacity * 2;
        if (r->end > CSV_ROW_BYTES_MAX)
            return error_set(err, EFBIG, "%s:%" PRIu64 ": a row of more than %zu MiB", r->path, r->line,
                             CSV_ROW_BYTES_MAX >> 20);
        char *moved = realloc(r->buffer, larger + BLOCK);
        if (!moved)
            return error_set(err, ENOMEM, "%s:%" PRIu64 ": no memory for a row of %zu bytes", r->path,
                             r->line, r->end);
        r->buffer = moved;
        r->capacity = larger;
    }
    size_t room = r->capacity - r->end;
    if (r->descriptor < 0) {
        size_t take = r->memory_left < room ? r->memory_left : room;
        if (take)
            memcpy(r->buffer + r->end, r->memory, take);
        r->memory += take;
        r->memory_left -= take;
        r->end += take;
        r->is_at_end = r->memory_left == 0;
    } else {
        ssize_t got;
        do {
            got = read(r->descriptor, r->buffer + r->end, room);
        } while (got < 0 && errno == EINTR);
        if (got < 0)
            return error_set_errno(err, errno, "cannot read %s", r->path);
        r->end += (size_t)got;
        r->is_at_end = got == 0;
    }
    memset(r->buffer + r->end, 0, BLOCK);
    return 0;
}

/* Takes the quotes off a cell, in place. */
static void unquote(struct slice *cell, char *text)
{
    size_t length = cell->length, kept = 0;
    bool is_inside = true;
    for (size_t i = 1; i < length; i++) {
        if (is_inside && text[i] == '"') {
            if (i + 1 < length && text[i + 1] == '"')
                text[kept++] = text[i++];
            else
                is_inside = false;
        } else {
            text[kept++] = text[i];
        }
    }
    cell->length = kept;
}

static uint64_t count_line_ends(const char *text, size_t length)
{
    uint64_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += text[i] == '\n' || (text[i] == '\r' && (i + 1 == length || text[i + 1] != '\n'));
    return count;
}

static void finish_quoted(struct csv_reader *r)
{
    for (size_t i = 0; i < r->cell_count; i++) {
        struct slice *cell = &r->cells[i];
        if (cell->length == 0 || cell->data[0] != '"')
            continue;
        r->next_line += count_line_ends(cell->data, cell->length);
        const char *inner = memchr(cell->data + 1, '"', cell->length - 1);
        if (inner == cell->data + cell->length - 1) {
            cell->data++;
            cell->length -= 2;
        } else {
            unquote(cell, r->buffer + (cell->data - r->buffer));
        }
    }
}

int csv_next(struct csv_reader *r, struct error *err)
{
    for (;;) {
        size_t next = r->start;
        bool has_quotes = false;
        enum scan_result result = SCAN_MORE;
        r->line = r->next_line;
        if (r->start < r->end)
            result = scan_row(r, &next, &has_quotes);
        else if (r->is_at_end)
            return 0;
        switch (result) {
        case SCAN_MORE: {
            int status = fill(r, err);
            if (status)
                return status;
            break;
        }
        case SCAN_NO_MEMORY:
            return error_set(err, ENOMEM, "%s:%" PRIu64 ": no memory for %zu cells", r->path, r->line,
                             r->cell_count);
        case SCAN_UNCLOSED:
            r->unclosed_line = r->line;
            r->start = r->end;
            return 0;
        case SCAN_BLANK:
        case SCAN_ROW:
            r->is_cut = r->buffer[next - 1] != '\n' && r->buffer[next - 1] != '\r';
            r->start = next;
            r->next_line++;
            if (has_quotes)
                finish_quoted(r);
            if (result == SCAN_ROW)
                return 1;
            break;
        }
    }
}

static int start(struct csv_reader *r, struct error *err)
{
    static const char byte_order_mark[3] = {'\xef', '\xbb', '\xbf'};
    r->buffer = malloc(FIRST_CAPACITY + BLOCK);
    if (!r->buffer)
        return error_set(err, ENOMEM, "no memory to read %s", r->path);
    r->capacity = FIRST_CAPACITY;
    r->separator = ',';
    r->next_line = 1;
    while (!r->is_at_end && r->end < sizeof byte_order_mark) {
        int status = fill(r, err);
        if (status)
            return status;
    }
    if (r->end >= 3 && memcmp(r->buffer, byte_order_mark, 3) == 0)
        r->start = 3;
    if (r->end >= 2 && (memcmp(r->buffer, "\xff\xfe", 2) == 0 || memcmp(r->buffer, "\xfe\xff", 2) == 0))
        return error_set(err, EINVAL, "%s: this is UTF-16 text; save it as UTF-8", r->path);
    return 0;
}

int csv_open(struct csv_reader *r, const char *path, struct error *err)
{
    *r = (struct csv_reader){.path = path};
    if (strcmp(path, "-") == 0) {
        r->path = "standard input";
        r->descriptor = STDIN_FILENO;
    } else {
        r->descriptor = open_regular_or_pipe(path, err);
        r->owns_descriptor = true;
    }
    if (r->descriptor == -ENOENT || r->descriptor == -EACCES)
        return error_set_errno(err, -r->descriptor, "cannot open %s", path);
    if (r->descriptor < 0)
        return r->descriptor;
    int status = start(r, err);
    if (status)
        csv_close(r);
    return status;
}

int csv_open_memory(struct csv_reader *r, const char *path, const void *data, size_t length,
                    struct error *err)
{
    *r = (struct csv_reader){.path = path, .descriptor = -1, .memory = data, .memory_left = length};
    int status = start(r, err);
    if (status)
        csv_close(r);
    return status;
}

void csv_close(struct csv_reader *r)
{
    if (!r)
        return;
    if (r->owns_descriptor && r->descriptor >= 0)
        close(r->descriptor);
    free(r->buffer);
    free(r->cells);
    *r = (struct csv_reader){.descriptor = -1};
}
