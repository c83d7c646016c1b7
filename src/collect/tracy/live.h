/* SPDX-License-Identifier: Apache-2.0 */
/* Programs built with Tracy inside `opscope run`: found among the processes of the session, connected, let go. */
#ifndef OPSCOPE_COLLECT_TRACY_LIVE_H
#define OPSCOPE_COLLECT_TRACY_LIVE_H

#include "collect/collector.h"
#include "collect/tracy/hub.h"

#define TRACY_LIVE_VARIABLES 3u

struct tracy_live;

struct tracy_live_options {
    const char *session; /* "OPSCOPE_SESSION=...", as the processes have it; copied */
    struct collector *collector;
    struct trace_writer *writer;
    const struct tracy_dialect *dialect; /* NULL: found by trying */
    uint64_t min_duration_ns;
    void (*notice)(void *context, const char *text); /* may be NULL */
    void *context;
    const struct trace_listener *listener;     /* NULL: none */
    const char *capture_tool, *capture_output; /* as in struct tracy_hub_options */
};

/* Adds the variables that are not set to an environment of `count` entries. With them a client listens on loopback
 * alone, does not sample, and waits at its end until somebody was connected. */
void tracy_live_environment(char **list, size_t count);

struct tracy_live *tracy_live_new(const struct tracy_live_options *options); /* NULL: no memory */
int tracy_live_fd(const struct tracy_live *live);                            /* -1 while there is no client */
uint64_t tracy_live_poll(struct tracy_live *live, uint64_t now_ns);          /* bytes that were taken */
bool tracy_live_is_idle(const struct tracy_live *live);
/* Recording is over. Go on with tracy_live_poll as long as programs may still end: they wait for a server then. */
void tracy_live_stop(struct tracy_live *live);
/* The session is over, `root` was its first process: clients that are left are let go by a process that stays for
 * them. */
void tracy_live_leave(struct tracy_live *live, int64_t root);
uint32_t tracy_live_threads(const struct tracy_live *live); /* that were recorded */
void tracy_live_free(struct tracy_live *live);

#endif
