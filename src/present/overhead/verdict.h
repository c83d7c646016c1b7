/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate shows: verdicts on the terminal, as CSV or JSON, and as JUnit; and an earlier run's times. */
#ifndef OPSCOPE_PRESENT_OVERHEAD_VERDICT_H
#define OPSCOPE_PRESENT_OVERHEAD_VERDICT_H

#include "analyze/overhead/gate.h"
#include "analyze/overhead/overhead.h"
#include "present/output.h"

struct overhead_verdict_options {
    const char *reference; /* what was compared with */
    bool strict;           /* undecided ops fail */
    bool allow_missing;    /* missing ones do not */
    bool all;              /* unchanged ops are listed, too */
};

int overhead_show_verdict(const struct overhead_gate *gate, const struct overhead_verdict_options *options,
                          const struct output_options *output, struct error *err);
/* "-" is standard output. */
int overhead_write_junit(const struct overhead_gate *gate, const struct overhead_verdict_options *options,
                         const struct overhead_run *run, const char *path, struct error *err);
/* The times of a run, the `top` slowest ops; 0: all. */
int overhead_show_times(const struct overhead_run *run, uint64_t top, const struct output_options *output,
                        struct error *err);

#endif
