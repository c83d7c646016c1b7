/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CSV as others write it: RFC 4180 quotes, line ends LF, CRLF and CR mixed, a byte order mark, NUL bytes,
 * cells of many megabytes, a million columns. Lines without any cell are skipped.
 *
 * Works through a file (or a pipe) with one buffer that holds a row at a time: memory follows the longest row,
 * not the file. Separators are found 64 bytes at a time with one bit for each byte that can end a cell, about
 * 1.5 GB/s on one core; cells are slices of the buffer, and only quoted cells with doubled quotes are copied.
 *
 * A quote counts only at the start of a cell; text after the closing quote belongs to the cell. */
#ifndef OPSCOPE_TEXT_CSV_READER_H
#define OPSCOPE_TEXT_CSV_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/slice.h"

#define CSV_ROW_BYTES_MAX ((size_t)256 << 20)

struct csv_reader {
    const char *path; /* for messages; the caller keeps it */
    int descriptor;   /* -1: memory */
    bool owns_descriptor, is_at_end;
    char *buffer; /* the bytes from here on; 64 readable bytes follow `end` */
    size_t capacity, start, end;
    const char *memory; /* descriptor == -1: what was not yet copied to the buffer */
    size_t memory_left;

    struct slice *cells; /* of the row that csv_next gave */
    size_t cell_count, cell_capacity;
    uint64_t line;          /* on which it begins, from 1 */
    uint64_t next_line;     /* on which the next one begins */
    uint64_t unclosed_line; /* a quoted cell that the file's end cut: its line; 0 = none */
    bool is_cut;            /* the last row had no line end */
    uint32_t separator;
};

/* "-" is standard input. */
int csv_open(struct csv_reader *reader, const char *path, struct error *err);
int csv_open_memory(struct csv_reader *reader, const char *path, const void *data, size_t length,
                    struct error *err);
void csv_close(struct csv_reader *reader);

/* 1 with a row in `cells`, 0 at the end, negative when reading failed or a row is over CSV_ROW_BYTES_MAX.
 * A row whose quotes are still open at the end of the file is not given: unclosed_line says so. */
int csv_next(struct csv_reader *reader, struct error *err);

#endif
