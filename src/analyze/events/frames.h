/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: the time from one frame mark to the next of the same name on the same thread, per name and process. The first
 * mark of a thread ends a frame whose start is not known; it begins the next. So does the first one after a pause of
 * the recording.
 *
 * A frame has the number of the mark that begins it, from 1, among those of its name and thread in the trace. Marks of
 * an optimizer's step are made where that ends: there the first step is the one before the first mark, and the frames,
 * which begin after it, count from 2. */
#ifndef OPSCOPE_ANALYZE_EVENTS_FRAMES_H
#define OPSCOPE_ANALYZE_EVENTS_FRAMES_H

#include "analyze/pointlist.h"

struct frame {
    uint64_t start_ns, duration_ns;
    uint64_t number;
    uint32_t row; /* index of its statistics */
    uint32_t track;
};

struct frame_row {
    uint64_t name; /* offset in marks.texts */
    uint32_t process;
    uint64_t marks, count; /* count: frames */
    uint64_t total_ns, min_ns, p50_ns, p95_ns, p99_ns, max_ns;
};

struct frame_stats {
    struct frame_row *rows; /* in the order of their first marks */
    size_t row_count, row_capacity;
    struct frame *frames; /* in order of start */
    size_t frame_count;
    struct point_list marks;
};

int frame_stats_make(struct frame_stats *stats, struct trace *trace, const struct trace_filter *filter,
                     struct error *err);
void frame_stats_free(struct frame_stats *stats);
/* The frame that a mark begins, by its time and thread and a name (`length` bytes); NULL: none. */
const struct frame *frame_stats_find(const struct frame_stats *stats, uint32_t track, uint64_t time_ns,
                                     const char *name, size_t length);

/* The frames in order of duration, longest first: `count` indices into stats->frames. False: no memory. */
bool frame_stats_slowest(const struct frame_stats *stats, size_t count, size_t *indices);

static inline const char *frame_row_name(const struct frame_stats *stats, const struct frame_row *row)
{
    return point_list_text(&stats->marks, row->name);
}

#endif
