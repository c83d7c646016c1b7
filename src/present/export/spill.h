/* SPDX-License-Identifier: Apache-2.0 */
/* Two stores that go to a temporary file when they outgrow their memory. The file has no name and is gone with
 * the process. Private to this folder. */
#ifndef OPSCOPE_PRESENT_EXPORT_SPILL_H
#define OPSCOPE_PRESENT_EXPORT_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"

/* A nameless file in $TMPDIR, else /var/tmp, else /tmp. -1 with the sentence in err. */
int export_temporary_file(struct error *err);

/* --- last in, first out, of records of one size --- */
struct export_stack {
    size_t record_bytes;
    size_t page_records; /* this many are kept in memory; the rest is in pages of that many in the file */
    uint8_t *page;
    size_t count; /* in the page */
    uint64_t page_count;
    int file;
};

/* page_bytes: how much memory it may use. */
int export_stack_open(struct export_stack *stack, size_t record_bytes, size_t page_bytes, struct error *err);
void export_stack_close(struct export_stack *stack);
int export_stack_push(struct export_stack *stack, const void *record, struct error *err);
/* The newest record, or NULL when there is none or (with *result < 0) it cannot be read back. It stays valid
 * until the next push. */
const void *export_stack_top(struct export_stack *stack, int *result, struct error *err);
void export_stack_drop(struct export_stack *stack); /* the newest, after export_stack_top gave it */

/* --- many texts that grow at the same time, read back one after the other --- */
struct export_sheaf {
    struct export_sheaf_text {
        uint8_t *chunk;
        size_t used;
        uint32_t *chunks; /* numbers of the whole chunks in the file */
        size_t chunk_count, chunk_capacity;
    } * texts;
    size_t count, capacity;
    uint32_t file_chunks;
    int file;
};

void export_sheaf_open(struct export_sheaf *sheaf);
void export_sheaf_close(struct export_sheaf *sheaf);
/* Texts are numbered 0, 1, 2 ...; the first append to a number makes it. */
int export_sheaf_append(struct export_sheaf *sheaf, size_t text, const void *data, size_t length,
                        struct error *err);
/* Hands the text over piece by piece. */
int export_sheaf_read(struct export_sheaf *sheaf, size_t text,
                      int (*take)(void *context, const void *data, size_t length), void *context,
                      struct error *err);

#endif
