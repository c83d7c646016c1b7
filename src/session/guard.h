/* SPDX-License-Identifier: Apache-2.0 */
/* Protection against a process that truncates its segment under us: reading the mapping would then raise
 * SIGBUS. The handler puts zero pages over the whole mapping and marks it dead; every other SIGBUS goes to whoever
 * handled it before. */
#ifndef OPSCOPE_SESSION_GUARD_H
#define OPSCOPE_SESSION_GUARD_H

#include <signal.h>
#include <stddef.h>

#define GUARD_MAX 16384u

struct guard {
    void *volatile memory;
    volatile size_t length;
    volatile sig_atomic_t is_dead;
};

/* Registers a mapping; NULL when there are too many. Installs the handler on first use. */
struct guard *guard_add(void *memory, size_t length);
void guard_remove(struct guard *guard);

#endif
