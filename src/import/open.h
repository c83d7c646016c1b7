/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of a file or a folder, whatever it is: a trace, a folder of device logs, an ops CSV. */
#ifndef OPSCOPE_IMPORT_OPEN_H
#define OPSCOPE_IMPORT_OPEN_H

#include "ops/ops.h"

struct trace;

struct ops_loading {
    /* what is asked for */
    uint32_t first_device; /* the file's device 0 is this one */
    bool is_one_of_many;   /* further files go into the same model */
    bool times_only;       /* names, tensors, times and places alone; nothing is said about the rest */
    /* what came of it */
    const char *kind;    /* for people: "ops CSV", "log folder", "trace" */
    struct trace *trace; /* still open, where it is one: the caller closes it; NULL */
    uint32_t devices;    /* the largest device number + 1; 0: no op names a device */
    bool has_host_start; /* ops say when they were called */
};

/* Adds the ops to the model, joined, with their lines. */
int ops_load(struct ops *ops, const char *path, struct ops_loading *loading, struct error *err);

#endif
