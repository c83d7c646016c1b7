/* SPDX-License-Identifier: Apache-2.0 */
/* Clients wait at their end until somebody was connected (TRACY_NO_EXIT). When opscope is gone, killed or because its
 * command has ended, there may be processes of its session left, and they may start more: a small process of its own
 * then connects to each and lets it go, until none is left. */
#ifndef OPSCOPE_COLLECT_TRACY_GUARD_H
#define OPSCOPE_COLLECT_TRACY_GUARD_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

struct tracy_guard {
    int fd; /* open as long as the clients are ours; -1: there is no guard */
    pid_t pid;
    int its_end; /* of the pipe, until it has been started */
    const char *session;
    pthread_t starter; /* starting takes long on a busy machine, and the collector must not stand still */
    bool has_starter;
};

/* The guard is `opscope tracy-guard` (collect/process/own_process.h). */
void tracy_guard_start(struct tracy_guard *guard, const char *session); /* both must stay where they are */
/* From now on the clients are the guard's. */
void tracy_guard_take_over(struct tracy_guard *guard);
/* After that: waits for a moment, since mostly nobody is left and it ends at once. */
void tracy_guard_leave(struct tracy_guard *guard);

/* What that process does: waits for the end of `fd`, then lets clients of the session go. */
void tracy_guard_work(const char *session, int fd);

#endif
