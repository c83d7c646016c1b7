/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that Torq's runtime wrote, in every form that it had:
 *
 *     EVENTS    dispatch_name,invocation_id,action_id,timestamp_us,event       begins and ends of scopes and actions
 *     ACTIONS   actionIndex, elapsed_time(us), timestamp(us), event, location  one row per action (2025-12 to 2026-02)
 *     PROGRAMS  id;time_since_open;time_since_start;location                   one row per program (2025-10)
 *
 * Rows that cannot be read, begins without ends, ends without begins and times that go backwards are counted, not
 * errors; a file in none of these forms is one. */
#ifndef OPSCOPE_IMPORT_TORQ_RUNTIME_H
#define OPSCOPE_IMPORT_TORQ_RUNTIME_H

#include "base/error.h"
#include "base/intern.h"
#include "base/slice.h"

enum torq_runtime_form { TORQ_EVENTS, TORQ_ACTIONS, TORQ_PROGRAMS };

struct torq_scope { /* one invocation_id */
    uint64_t invocation;
    uint32_t name; /* text: the dispatch, or "__HAL_..." */
};

struct torq_event {
    uint32_t scope;
    uint32_t type;     /* text: "NSS_START" */
    uint32_t location; /* text, of the older forms; INTERN_NONE */
    int64_t action;    /* -1: of the scope; of PROGRAMS the number of the program */
    uint64_t start_ns, end_ns;
    bool has_start, has_end;
};

struct torq_run {
    enum torq_runtime_form form;
    struct intern texts;
    struct torq_scope *scopes; /* in the order of their ids */
    size_t scope_count, scope_capacity;
    struct torq_event *events; /* in the order of the file */
    size_t event_count, event_capacity;
    uint64_t bad_rows, unpaired, backwards;
    uint64_t first_bad_line;
};

/* Does a file that begins like this hold one? Its first lines decide. */
bool torq_run_is_one(struct slice beginning);
/* The caller frees the run, whatever is returned. */
int torq_run_read(struct torq_run *run, const char *path, struct error *err);
/* The text must not be needed any longer. */
int torq_run_read_text(struct torq_run *run, const char *path, struct slice text, struct error *err);
void torq_run_free(struct torq_run *run);

#endif
