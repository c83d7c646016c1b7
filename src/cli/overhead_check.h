/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of `opscope overhead`: its options, and what the command calls once it has measured.
 *
 * The command puts overhead_check_option_table into its options, answers --show with overhead_show before it measures
 * anything, calls overhead_check_prepare before measuring, and hands the finished run to overhead_check where
 * overhead_check_is_wanted: that measures doubtful ops again, shows the verdicts (in place of the table of times),
 * writes JUnit, page and new reference, and gives the exit status. */
#ifndef OPSCOPE_CLI_OVERHEAD_CHECK_H
#define OPSCOPE_CLI_OVERHEAD_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command/command.h"
#include "measure/measure.h"
#include "present/overhead/verdict.h"

struct overhead_check_options {
    struct overhead_verdict_options verdict; /* its reference is that of --check */
    const char *tolerance;                   /* NULL: 1.13 */
    bool absolute;
    bool update;
    uint64_t patience_ns;
    const char *junit;
    const char *html;
    const char *show;
    bool is_quiet; /* no progress; set by the command */
};

extern const struct option_table overhead_check_option_table;

/* --check was given. */
bool overhead_check_is_wanted(const struct overhead_check_options *options);

/* Checks what can be checked before measuring, such as the reference: COMMAND_CONTINUE, or the exit status after the
 * message. */
int overhead_check_prepare(const struct command *command, const struct overhead_check_options *options,
                           const struct measure_options *measuring);

/* The exit status: 0; 1 when an op is slower, missing or failed; 2 when something could not be read or written.
 * `measure` is what made the run, before measure_finish: further rounds come from it. */
int overhead_check(const struct command *command, const struct overhead_check_options *options,
                   const struct output_options *output, struct measure *measure, struct overhead_run *run);

/* --show FILE: a CSV of an earlier run, ours or the vendor's, as table (the `top` slowest; 0: all), JSON or page. The
 * exit status. */
int overhead_show(const struct command *command, const struct overhead_check_options *options, uint64_t top,
                  const struct output_options *output);

#endif
