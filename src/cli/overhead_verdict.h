/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate shows: verdicts on the terminal, as CSV or JSON, and as JUnit. */
#ifndef OPSCOPE_CLI_OVERHEAD_VERDICT_H
#define OPSCOPE_CLI_OVERHEAD_VERDICT_H

#include "cli/overhead_check.h"

int overhead_show_verdict(const struct overhead_gate *gate, const struct overhead_check_options *options,
                          const struct output_options *output, struct error *err);
int overhead_write_junit(const struct overhead_gate *gate, const struct overhead_check_options *options,
                         const struct overhead_run *run, struct error *err);

#endif
