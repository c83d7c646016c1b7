/* SPDX-License-Identifier: Apache-2.0 */
/* opscope annotate of a model that is not scheduled: op by op. */
#ifndef OPSCOPE_CLI_ANNOTATE_OPS_H
#define OPSCOPE_CLI_ANNOTATE_OPS_H

#include "cli/command/command.h"
#include "load/annotated.h"

struct annotate_ops_options {
    struct annotated_request request;
    const struct output_options *output;
    const char *out, *trace, *html; /* files to write: CSV, trace, page; NULL */
    uint64_t top;
};

int annotate_ops(const struct annotate_ops_options *options, struct error *err);

#endif
