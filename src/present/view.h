/* SPDX-License-Identifier: Apache-2.0 */
/* A trace with its filters and the report that is made of it: what the views of a trace share. Who opens one fills
 * `trace`, `path`, `filter`, `output` and begins the report; commands do that in cli/view.h. */
#ifndef OPSCOPE_PRESENT_VIEW_H
#define OPSCOPE_PRESENT_VIEW_H

#include "analyze/filter.h"
#include "analyze/labels.h"
#include "base/bytes.h"
#include "present/document.h"
#include "trace/reader.h"

struct command;

struct view {
    const struct command *command; /* whose errors these are; for its owner alone */
    const char *path;              /* as given; "-" is stdin */
    struct trace *trace;
    struct bytes stdin_data;
    struct trace_filter_options options; /* of the filter */
    struct trace_filter filter;
    char *folder; /* of --mine */
    struct output output;
    struct report report;
    uint64_t origin_ns;    /* times are shown since then: the start of the trace */
    bool *has_shared_name; /* by track: another track of the process has its name; made when first needed */
    bool is_wide;          /* --wide */
    bool has_places;
    struct place_labels places; /* made when first needed */
};

/* All but the output, which is finished or abandoned by its owner. */
void view_free(struct view *view);

/* For people, where not all rows are shown: how many are, and how to see the rest. */
void view_note_rows(struct view *view, size_t shown, size_t count);
/* The table of a view; for people a line instead of an empty one: "no zones in this trace". */
void view_add_table(struct view *view, const struct table *table, const char *what);
/* Zones still open: a note for people, a member in JSON. */
void view_add_open_zones(struct view *view);
/* Losses, unfinished and damaged traces: likewise. */
void view_add_state(struct view *view);

/* Time since the start of the trace; 0 for what was before. */
uint64_t view_since_start(const struct view *view, uint64_t ns);
/* "4711 loader": pid and program. */
void view_set_process(struct view *view, struct table *table, size_t column, uint32_t process);
/* "main"; "worker 4711" where several tracks of the process have that name. In CSV and JSON the name alone. */
const char *view_track_name(struct view *view, uint32_t track, char *buffer, size_t size);
void view_set_track(struct view *view, struct table *table, size_t column, uint32_t track);
/* Where zones of this name are in the source: for people "train.py:37", with as much of the path as tells it from
 * other files (all of it with --wide), for programs file and line. Nothing of it where `place_count` places have the
 * name, but for people how many. */
void view_set_place(struct view *view, struct table *table, size_t location, size_t file, size_t line,
                    uint32_t name, uint32_t place_count);
/* The process of a track; NULL when the trace does not have it. */
const struct trace_process *view_process_of(const struct view *view, uint32_t track);

#endif
