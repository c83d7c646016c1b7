/* SPDX-License-Identifier: Apache-2.0 */
/* An overview of an open trace, with the ops and machines that it rests on. */
#ifndef OPSCOPE_LOAD_OVERVIEW_H
#define OPSCOPE_LOAD_OVERVIEW_H

#include "analyze/machine_files.h"
#include "analyze/overview/overview.h"

struct loaded_overview {
    struct machine_set machines;
    struct ops ops;
    struct overview overview;
};

/* options->machine may be a name or a file; machines, has_host_start and path are filled in. The caller frees it,
 * whatever is returned. */
int load_overview(struct loaded_overview *loaded, struct trace *trace, const char *path,
                  const struct overview_options *options, struct error *err);
void loaded_overview_free(struct loaded_overview *loaded);

#endif
