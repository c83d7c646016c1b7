/* SPDX-License-Identifier: Apache-2.0 */
/* Finishing the trace of a session whose collector died: the blocks it had written are kept, what is still in the
 * session's memory is added, what it held in its own memory is counted as lost. */
#ifndef OPSCOPE_COLLECT_RECOVER_H
#define OPSCOPE_COLLECT_RECOVER_H

#include "base/error.h"
#include "collect/collector.h"

struct recover_result {
    char output[4200];
    bool had_trace; /* a growing trace was found and continued */
    uint64_t size_bytes;
    struct collector_stats stats;
};

/* output NULL: where the run would have written it. -EBUSY: its collector still runs. */
int recover_session(const char *session, const char *output, bool keep_session, const char *program,
                    struct recover_result *result, struct error *err);

#endif
