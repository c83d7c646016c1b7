/* SPDX-License-Identifier: Apache-2.0 */
/* What `opscope run` says at its end: what the trace holds, what was lost and what helps against that. */
#ifndef OPSCOPE_CLI_RUN_SUMMARY_H
#define OPSCOPE_CLI_RUN_SUMMARY_H

#include "collect/launch.h"
#include "session/session.h"

/* Warnings always; the summary unless is_quiet. `command` is the argv that was run. */
void run_summary(const struct launch_result *result, char *const *command, const char *output,
                 const struct session_capture *capture, bool is_quiet);

#endif
