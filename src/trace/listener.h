/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever wants to hear what a program says of itself while its rows are written: messages, and zones of some names.
 * Both are in the trace as well; times and tracks are the trace's. */
#ifndef OPSCOPE_TRACE_LISTENER_H
#define OPSCOPE_TRACE_LISTENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_reported {
    uint32_t process, track;
    uint64_t origin_ns; /* where the program's own times begin */
    uint64_t start_ns, end_ns;
    const char *name; /* of a zone; NULL: a message */
    const char *text; /* not NUL-terminated */
    size_t length;
};

struct trace_listener {
    bool (*wants_zone)(const char *name);
    void (*tell)(void *context,
                 const struct trace_reported *reported); /* in the order in which they became known */
    void *context;
};

#endif
