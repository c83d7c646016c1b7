/* SPDX-License-Identifier: Apache-2.0 */
/* Tracy's own capture tool as a process of ours, for those who want its file beside the trace. It never outlives us. */
#ifndef OPSCOPE_COLLECT_TRACY_CAPTURE_H
#define OPSCOPE_COLLECT_TRACY_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct tracy_capture {
    pid_t pid;        /* 0: none was started, or it has been waited for */
    int wait_status;  /* as from waitpid */
    bool was_stopped; /* by us, since its time was over */
    char output[4200];
};

/* The tool in that folder, by any of its names. */
int tracy_capture_find(const char *folder, char *out, size_t size, struct error *err);
/* It connects to that port of this machine. */
int tracy_capture_start(struct tracy_capture *capture, const char *tool, const char *output, unsigned port,
                        struct error *err);
/* Without waiting; true also when none was started. */
bool tracy_capture_has_ended(struct tracy_capture *capture);
/* Waits that long for its end; what still runs then is ended. */
void tracy_capture_end(struct tracy_capture *capture, uint64_t limit_ns);

#endif
