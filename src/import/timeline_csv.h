/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of a compiler as CSV, read back. The first two forms are in cycles, whatever their headers say:
 *
 *     taskId, elapsed_time(us), timestamp(us), event, location, bytes   the event is the lane; bytes may be absent,
 *                                                                     and the first column be called actionIndex
 *     ID,Start,End,Location,Op Type                                     DI0 ... (in), DO0 ... (out), S0 ... (slices);
 *                                                                     the header may be absent
 *     dispatch,lane,task,start_cycles,end_cycles,start_ns,...           opscope estimate --csv-form all
 *
 * The first does not know what a slice computed, the second not which slice it was: each goes to the first that is
 * free. Nothing is quoted in them, and locations hold commas. The last has all that a trace of the estimate has but the
 * classes and MACs of ops, and its clock. */
#ifndef OPSCOPE_IMPORT_TIMELINE_CSV_H
#define OPSCOPE_IMPORT_TIMELINE_CSV_H

#include "base/slice.h"
#include "ops/timeline.h"

struct timeline_csv_faults {
    uint64_t rows; /* that cannot be read, or end before they begin */
    uint64_t first_line;
};

/* Does a file that begins like this hold a timeline? Its first lines decide. */
bool timeline_csv_is_one(struct slice beginning);
/* Fills an empty timeline; where the rows do not say, all of it is one dispatch, and its clock is not set. The caller
 * frees it, whatever is returned. */
int timeline_csv_read(struct timeline *timeline, const char *path, struct timeline_csv_faults *faults,
                      struct error *err);
/* The same from memory; `path` is for messages. */
int timeline_csv_read_text(struct timeline *timeline, const char *path, struct slice text,
                           struct timeline_csv_faults *faults, struct error *err);
/* Gives a timeline that has no ops some: what is at one place of the source is one, and takes as long as any of its
 * units does; what has no place, by what it computes. */
void timeline_csv_make_ops(struct timeline *timeline);

/* --- timeline_all.c, and what it shares --- */

bool timeline_all_is_one(struct slice beginning);
int timeline_all_read(struct timeline *timeline, const char *path, struct slice text,
                      struct timeline_csv_faults *faults, struct error *err);
/* A number of cycles that is not too large. */
bool timeline_csv_cycles(struct slice field, uint64_t *cycles);
/* The lane that a row names; false where there are too many. */
bool timeline_csv_lane(struct timeline *timeline, struct slice name, uint32_t *lane);

#endif
