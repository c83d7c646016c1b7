/* SPDX-License-Identifier: Apache-2.0 */
/* Where clients listen. A client is a process with a listening socket and the thread that Tracy makes: no port is
 * guessed, and nothing that is not a client is ever connected to. */
#ifndef OPSCOPE_COLLECT_TRACY_FIND_H
#define OPSCOPE_COLLECT_TRACY_FIND_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct tracy_place {
    int64_t pid;       /* 0: not known */
    bool is_local;     /* on this machine: its clock is ours */
    bool is_elsewhere; /* in another network than we are, that of the process */
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t length;
};

/* The clients among the processes of a session. */
struct tracy_finder {
    const char *session; /* "OPSCOPE_SESSION=...": the variable that they have in their environment */
    struct map seen;     /* inodes of sockets that were looked at */
    uint64_t next_ns, next_elsewhere_ns;
};

typedef void (*tracy_found_fn)(void *context, const struct tracy_place *place);

/* Before the first process is started: sockets that are there already are none of theirs. */
void tracy_finder_start(struct tracy_finder *finder, const char *session);
/* Calls back with each new client. Does nothing when it was called a moment ago: looking costs. */
void tracy_finder_look(struct tracy_finder *finder, uint64_t now_ns, tracy_found_fn found, void *context);
void tracy_finder_free(struct tracy_finder *finder);

/* Is any process left that has the variable, of those that were started after that one (0: of all)? */
bool tracy_session_has_processes(const char *session, int64_t after);

/* Where this process listens as a client; false: it does not. */
bool tracy_find_in_process(int64_t pid, struct tracy_place *place);

#endif
