/* SPDX-License-Identifier: Apache-2.0 */
/* A measured run and the IR that it was compiled to, joined: by dispatch and action id, in the older form by the number
 * of the program. */
#ifndef OPSCOPE_IMPORT_TORQ_JOIN_H
#define OPSCOPE_IMPORT_TORQ_JOIN_H

#include "import/mlir/mlir.h"
#include "import/torq/runtime.h"
#include "ops/measured.h"

struct torq_join {
    const struct mlir *mlir;
    const struct timeline *estimate; /* of this IR: its actions and what they start */
    const struct torq_run *run;
    const char *default_location; /* as loc("f":1:2), for actions that have none; NULL */
    const char *folder;           /* where source files with relative names are looked for; NULL: here */
};

/* What does not fit (invocations of other dispatches, actions without times, damaged rows) becomes notices of the
 * measured timeline; -EINVAL when nothing of the run is in the IR. */
int torq_join(struct measured *measured, const struct torq_join *join, struct error *err);

/* --- places (places.c) --- */

/* "@L3C10" of a location, "@L3C10+@L4C2" of a fused one, a name where there is no place; nothing of an unknown one. */
void torq_append_place(const struct mlir *mlir, struct slice location, struct bytes *out);
/* The operators of the source at all places that a location names, "tosa.add@L3", blanks between; texts that are there
 * already are not added again. */
void torq_append_operators(const char *folder, struct slice location, struct bytes *out);

#endif
