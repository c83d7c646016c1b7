/* SPDX-License-Identifier: Apache-2.0 */
/* Zones as begins and ends, in the order in which they happened on each track and properly nested, from a file
 * that stores each zone where it ended. Private to this folder.
 *
 * The problem. Blocks of a track follow each other in time of END; a zone that lasted an hour stands in the
 * block of its last moment, but its begin must come before everything inside it. Reading everything first is
 * not possible for traces that are larger than memory.
 *
 * How it works. Three passes over the blocks:
 *   1. forward: for each block and track the window (lo, hi]: hi is the latest end so far, lo that of the blocks
 *      before. Rows that begin before lo are early: their begin belongs to a window further up the file.
 *   2. backward: early rows wait, by track, until the block is met whose window ends before they begin. There
 *      they are put on a stack, with the number of that block. Going backwards, a waiting zone is one that is
 *      open at that moment, so there are no more of them than the track is deep. The stack goes to a temporary
 *      file when it outgrows its memory.
 *   3. forward: what lies on the stack for a block is handed to its tracks, and each window's rows are merged
 *      by (start, depth) with what was handed over. Ends come from the stack of open zones.
 * Rows that a device delivered late are early rows, too, and find their place in the same way.
 *
 * Ties. At equal times: what ends, ends before the next begins; a parent begins before its child and ends after
 * it. Zones of zero length at the border of two others belong to the second, which is as good as any.
 *
 * Lanes. Zones that overlap without nesting, as on a device queue, cannot be begins and ends of one row: the
 * second goes to lane 1, and so on. Threads have lane 0 only.
 *
 * Memory: one decoded block, the open and the waiting zones, 24 bytes a block and track, 32 MiB of stack. */
#ifndef OPSCOPE_PRESENT_EXPORT_ORDER_H
#define OPSCOPE_PRESENT_EXPORT_ORDER_H

#include "present/export/job.h"

#define EXPORT_NO_BLOCK UINT32_MAX

struct export_zone {
    uint64_t start_ns, end_ns;
    uint32_t track, name, depth;
    uint32_t block, row; /* where it is stored, for its extras; EXPORT_NO_BLOCK: an open zone */
    bool is_open;        /* never ended: end_ns is when its process or the recording did */
    bool has_extras;
    bool is_cut; /* for the visitor: it reaches out of the window */
};

struct export_tag {
    double values[2];
};

struct export_zone_rest {
    const struct trace_extra *extras; /* as the visitor wants them: at the begin or at the end */
    size_t extra_count;
    uint64_t child_ns;                   /* at the end: in zones that were exported directly inside it */
    struct export_tag *tag;              /* the visitor's own, kept with the zone while it is open */
    const struct export_tag *parent_tag; /* at the begin: of the zone around it; NULL when there is none */
    uint64_t parent_end_ns;
};

enum export_extras_when {
    EXPORT_EXTRAS_NEVER = 0,
    EXPORT_EXTRAS_AT_BEGIN, /* a zone that ends in another block costs a decoding of that block's extras */
    EXPORT_EXTRAS_AT_END,
};

struct export_visitor {
    void *context;
    int (*begin)(void *context, const struct export_zone *zone, uint32_t lane,
                 const struct export_zone_rest *rest);
    int (*end)(void *context, const struct export_zone *zone, uint32_t lane,
               const struct export_zone_rest *rest);
    enum export_extras_when extras;
};

/* Calls the visitor for every zone that passes the filter, cut at the borders of the window, and counts them; tracks
 * are interleaved. Either of its functions may be NULL. */
int export_order_zones(struct export_job *job, const struct export_visitor *visitor);

/* How often each zone block is decoded or looked at, for the progress. */
#define EXPORT_ORDER_PASSES 3u

#endif
