/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a run its numbers are about, where nobody asked for one: what is warm-up, what is start-up, and which
 * of the parts between signposts matters. One rule for summary, report, diff, check, the page and assistants' tools.
 *
 * Programs for accelerators import, compile, allocate and fill caches before and in their first iterations. Where
 * frames mark iterations and the first ones, or what comes before them, take more than 1.5 times the median, the window
 * is what follows. Where signposts are among ops, it is what follows the last signpost with at least 5 % of the device
 * time: a short tail after the last one is not what a run is about. */
#ifndef OPSCOPE_ANALYZE_WINDOW_H
#define OPSCOPE_ANALYZE_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/filter.h"
#include "base/error.h"

struct frame_stats;
struct ops;

/* --- steps --- */

struct window_step {
    uint64_t start_ns, duration_ns, number;
};

struct window_steps {
    char *name;     /* of the frames; NULL: no frames mark steps */
    bool is_window; /* something is left out: from_ns and to_ns are what the numbers are about */
    uint64_t from_ns, to_ns;
    uint64_t first, last; /* numbers of frames */
    uint64_t left_out;    /* first steps that are slower; 0 where it is what comes before them */
    uint64_t longest_left_out_ns, median_ns;
    uint64_t start_up_ns;             /* before the first step whose begin is known */
    uint64_t first_known, last_known; /* numbers, before any was left out */
    struct window_step *items;        /* of the window, in order; all where it is none */
    size_t count;
};

/* All steps, without a window. */
int window_list_steps(struct window_steps *found, struct trace *trace, const struct trace_filter *filter,
                      struct error *err);
/* The steps of the window. has_ops: the trace has ops, which need not all lie in frames. */
int window_find_steps(struct window_steps *found, struct trace *trace, const struct trace_filter *filter,
                      bool has_ops, struct error *err);
/* Keeps those that lie in a part of the trace. */
void window_cut_steps(struct window_steps *steps, uint64_t from_ns, uint64_t to_ns);
/* Keeps the numbers from..to, where at least two of them are there. */
void window_keep_numbers(struct window_steps *steps, uint64_t from, uint64_t to);
void window_steps_free(struct window_steps *steps);
/* The frames that most of the time is in: a row of the statistics; SIZE_MAX. */
size_t window_main_frames(const struct frame_stats *stats);

/* --- parts between signposts --- */

struct window_block { /* after one signpost, up to the next; the first one is what comes before any */
    size_t ops;
    double device_ns;
};

/* Which of `count` parts the numbers are about; SIZE_MAX where no op follows a signpost. */
size_t window_choose_block(const struct window_block *blocks, size_t count);
/* The same of all calls and runs: the times between which they lie; to_ns: UINT64_MAX where no other part follows.
 * False: none. */
bool window_find_block(const struct ops *ops, uint64_t *from_ns, uint64_t *to_ns, bool *is_found);

#endif
