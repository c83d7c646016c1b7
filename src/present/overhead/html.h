/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch times as one self-contained page: ops ranked, how their times are distributed, and the gate's verdicts. */
#ifndef OPSCOPE_PRESENT_OVERHEAD_HTML_H
#define OPSCOPE_PRESENT_OVERHEAD_HTML_H

#include <stdio.h>

#include "analyze/overhead/overhead.h"
#include "analyze/overhead/gate.h"
#include "base/error.h"

/* `gate` may be NULL. */
int overhead_html_write(const struct overhead_run *run, const struct overhead_gate *gate, const char *title,
                        FILE *out, struct error *err);

#endif
