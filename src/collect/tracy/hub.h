/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to clients that run: found or given, connected, read, and ended so that their programs can end. Nothing
 * here waits: the caller polls a descriptor. */
#ifndef OPSCOPE_COLLECT_TRACY_HUB_H
#define OPSCOPE_COLLECT_TRACY_HUB_H

#include "base/error.h"
#include "collect/tracy/find.h"
#include "collect/tracy/trace/trace.h"

#define TRACY_MAX_PLACES 8u

struct tracy_hub;

struct tracy_hub_options {
    struct trace_writer *writer;
    const struct tracy_dialect *dialect; /* NULL: found by trying */
    uint64_t min_duration_ns;
    bool is_patient;                                 /* a client that does not answer is waited for */
    void (*notice)(void *context, const char *text); /* a line for the user */
    tracy_process_fn process;                        /* as in struct tracy_trace_options; may be NULL */
    void *context;
    const struct trace_listener *listener; /* NULL: none */
    const char *capture_tool;              /* Tracy's own, to be between; NULL: none */
    const char *capture_output;            /* its file, without ".tracy" */
};

struct tracy_hub_stats {
    uint32_t clients; /* that were connected */
    uint32_t cut;     /* whose connection ended before their program said so */
    uint32_t failed;  /* that could not be recorded */
    struct tracy_trace_stats sum;
};

int tracy_hub_new(struct tracy_hub **hub, const struct tracy_hub_options *options, struct error *err);
/* Readable when there is something to do; tracy_hub_poll should be called every 100 ms anyway. */
int tracy_hub_fd(const struct tracy_hub *hub);
/* To the first of these places where somebody is. */
void tracy_hub_connect(struct tracy_hub *hub, const struct tracy_place *places, size_t count);
/* Takes what there is. Returns the number of bytes. */
uint64_t tracy_hub_poll(struct tracy_hub *hub);
bool tracy_hub_is_idle(const struct tracy_hub *hub); /* no client is connected */
void tracy_hub_list_open(const struct tracy_hub *hub, struct trace_writer *w);
/* Recording is over: all sessions are ended, all rows are in the writer. Clients that are connected after this are let
 * go at once, since they would wait for somebody when they end. */
void tracy_hub_stop(struct tracy_hub *hub);
void tracy_hub_get_stats(const struct tracy_hub *hub, struct tracy_hub_stats *stats);
void tracy_hub_free(struct tracy_hub *hub); /* after the writer has finished */

#endif
