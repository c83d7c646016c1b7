/* SPDX-License-Identifier: Apache-2.0 */
/* What -o of the commands that record may be, and what becomes of an unfinished trace of that name. */
#ifndef OPSCOPE_CLI_RUN_OUTPUT_H
#define OPSCOPE_CLI_RUN_OUTPUT_H

#include "base/error.h"
#include "collect/earlier.h"

/* -EINVAL for a name that promises another format than a trace's: train.json, with what to do in err. */
int run_output_check(const char *path, struct error *err);

/* The trace that an earlier run of this output left unfinished is kept beside it; a line says so. */
int run_output_keep_earlier(const char *output, struct earlier_run *earlier, struct error *err);

#endif
