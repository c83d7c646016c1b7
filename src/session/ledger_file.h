/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's file in the session folder: what the collector has taken of each thread in chunks that it gave back
 * (collect/ledger.c). There may be any number of threads, so it grows; a collector that is killed leaves it to recover.
 * Memory is there before it is written to, so that a full tmpfs is an error and not a SIGBUS. */
#ifndef OPSCOPE_SESSION_LEDGER_FILE_H
#define OPSCOPE_SESSION_LEDGER_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one thread: zones that ended, or were lost, in chunks that were given back. */
struct ledger_row {
    uint64_t key;
    uint64_t zones;           /* and LEDGER_FINISHED */
    uint64_t unseen_sequence; /* of the thread's next chunk: late ends of it are not among the zones */
};
#define LEDGER_FINISHED (UINT64_C(1) << 63) /* the thread is gone: nothing is to come */

struct ledger_rows {
    struct ledger_row *row;
    uint32_t count, capacity;
    bool is_copy; /* recover's */
};

uint32_t ledger_row_new(struct ledger_rows *rows, int folder_fd); /* the first is number 1; 0: no memory */
bool ledger_rows_read(struct ledger_rows *rows, int folder_fd);   /* a copy; false: not all of them */
void ledger_rows_close(struct ledger_rows *rows);

#endif
