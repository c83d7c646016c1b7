/* SPDX-License-Identifier: Apache-2.0 */
/* Descendants of the command that cannot join its session, which is a folder of this user: another user's, or those
 * with another root or another /dev/shm. Their recorder finds no session and is silent, so nobody but us can say it. */
#ifndef OPSCOPE_COLLECT_PROCESS_STRANGERS_H
#define OPSCOPE_COLLECT_PROCESS_STRANGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct stranger_counts { /* processes */
    uint32_t of_other_users, elsewhere;
    uint32_t with_recorder; /* of them: those that are known to have the recorder in their memory */
};

struct strangers {      /* zero-initialise but for the first three */
    const char *folder; /* of the session */
    int64_t root;       /* the command */
    void (*has_recorder)(void *context, int64_t pid, bool is_other_user); /* once a process */
    void *context;
    uint64_t next_ns, pause_ns;
    struct map known; /* processes by pid: enum in strangers.c */
    struct stranger_counts counts;
};

/* Looks through the processes below the command, unless that was done a moment ago: looking costs. */
void strangers_look(struct strangers *s, uint64_t now_ns);
void strangers_free(struct strangers *s);

#endif
