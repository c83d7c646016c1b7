/* SPDX-License-Identifier: Apache-2.0 */
/* opscope run --capture: which part of a run is recorded. */
#ifndef OPSCOPE_CLI_RUN_CAPTURE_H
#define OPSCOPE_CLI_RUN_CAPTURE_H

#include "base/error.h"
#include "session/session.h"

int run_capture_parse(const char *text, struct session_capture *out, struct error *err);
bool run_capture_begins_paused(const struct session_capture *capture);
/* Why recording was paused from the begin to the end. */
void run_capture_why_nothing(const struct session_capture *capture, char *text, size_t size);

#endif
