/* SPDX-License-Identifier: Apache-2.0 */
/* opscope overhead --html: the page of opscope view without a trace, opened where dispatch times are shown. */
#ifndef OPSCOPE_SERVE_OVERHEAD_PAGE_H
#define OPSCOPE_SERVE_OVERHEAD_PAGE_H

#include "analyze/overhead/gate.h"
#include "analyze/overhead/overhead.h"

struct overhead_page {
    const struct overhead_run *run;
    const struct overhead_gate *gate; /* NULL: nothing was compared */
    const char *reference;            /* what the gate compared with */
    bool passes;
};

/* "-" is standard output. */
int overhead_page_write(const struct overhead_page *page, const char *path, struct error *err);

#endif
