/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate from a file of MLIR and the name of a target. */
#ifndef OPSCOPE_LOAD_ESTIMATE_H
#define OPSCOPE_LOAD_ESTIMATE_H

#include "analyze/machine.h"
#include "base/text_list.h"
#include "import/mlir/mlir.h"
#include "ops/timeline.h"

struct estimate_request {
    const char *path;   /* "-": standard input; may be a folder (import/mlir/folder.h) */
    const char *target; /* a machine's name, or the path of its file; NULL: sl2610 for a schedule, else cpu */
    const struct text_list *options; /* key=value; may be NULL */
    const struct text_list *dims;    /* as mlir_dims_option takes them; may be NULL */
    double clock_mhz;                /* 0: the target's */
    /* for ops that have none; NULL: where they stand in the file, or, of a schedule, loc(unknown) */
    const char *default_location;
};

struct estimate {
    struct mlir *mlir;
    struct machine_set machines;
    const struct machine *machine;
    struct estimate_target target; /* with the options applied */
    struct timeline timeline;
};

/* "800", "800MHz", "1.2GHz" as MHz; below 0 where it is none. */
double estimate_clock_of(const char *text);
/* The machine of this name or file, which must have figures for estimates; the caller frees the set. */
int load_target(struct machine_set *machines, const char *name, const struct machine **machine,
                struct error *err);
/* The caller frees the estimate, whatever is returned. */
int load_estimate(struct estimate *estimate, const struct estimate_request *request, struct error *err);
/* The IR with the estimate in it: of a schedule what the compiler's pass writes (`is_exact`: nothing else), of other
 * models attributes of ours on the ops that stand for a group, as far as `step` goes. */
enum estimate_step { ESTIMATE_READ, ESTIMATE_COSTED, ESTIMATE_TILED, ESTIMATE_SCHEDULED };
struct estimate_annotating {
    enum estimate_step step;
    bool is_exact;   /* of scheduled IR: what the compiler's own pass writes and no more */
    bool has_places; /* ops that do not say where they stand in the source say so */
};
int estimate_annotate(const struct estimate *estimate, const struct estimate_annotating *how,
                      struct bytes *out, struct error *err);
/* How far it can be trusted, in a sentence. */
const char *estimate_caveat(const struct estimate *estimate);
/* As a trace; `source` is the model's path. */
int estimate_write_trace(const struct estimate *estimate, const char *source, const char *path,
                         struct error *err);
void estimate_free(struct estimate *estimate);

#endif
