/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as CSV, in the forms that people's scripts know.
 *
 * TASKS   `taskId, elapsed_time(us), timestamp(us), event, location, bytes`: transfers and copies in the order in which
 *         they were started, then slices, then the processor. The header says us and the values are cycles: that is how
 *         the form is defined, and `--clock` does not change it.
 * UNITS   `ID,Start,End,Location,Op Type`: DI0, DI1 ... (in), DO0 ... (out), S0 ... (slices), in cycles; copies and the
 *         processor have no place in it.
 * ALL     every unit in the order of starts with its dispatch, lane, op and location, in cycles and ns; quoted. */
#ifndef OPSCOPE_PRESENT_ESTIMATE_TIMELINE_CSV_H
#define OPSCOPE_PRESENT_ESTIMATE_TIMELINE_CSV_H

#include "base/bytes.h"
#include "ops/timeline.h"

enum timeline_csv_form { TIMELINE_CSV_TASKS, TIMELINE_CSV_UNITS, TIMELINE_CSV_ALL };

/* Of one dispatch, its times from its own start; of all with TIMELINE_NONE, one after the other. */
void timeline_append_csv(const struct timeline *timeline, uint32_t dispatch, enum timeline_csv_form form,
                         struct bytes *out);

#endif
