/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine can do: peaks that a report measures ops against, and the marks from which it judges.
 *
 * Machines are data (machines/<name>.json, docs/roofline.md): every figure has its source beside it. This is
 * what is left of such a file once it is read; machine_files.c reads them. */
#ifndef OPSCOPE_ANALYZE_MACHINE_H
#define OPSCOPE_ANALYZE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/estimate/target.h"

#define MACHINE_ALIASES 12u
#define MACHINE_NAME_BYTES ESTIMATE_NAME_BYTES
#define MACHINE_FIGURES 128u
#define MACHINE_CACHES 2u /* levels that may be known: L2 and L3 */

enum machine_fidelity { MACHINE_LOFI, MACHINE_HIFI2, MACHINE_HIFI3, MACHINE_HIFI4, MACHINE_FIDELITIES };

/* A number of the file, with where it comes from. */
struct machine_figure {
    char key[32];
    double value;
    char unit[24];
    char source[200];
    bool is_estimate; /* of the section "estimate" */
};

/* A cache that data of an op can stay in from the op before; bytes 0: not known. */
struct machine_cache {
    double bytes, gb_s; /* of all of that level */
};

struct machine {
    char name[MACHINE_NAME_BYTES]; /* "h100" */
    char title[64];
    char path[200]; /* of the file; "built in" */
    char aliases[MACHINE_ALIASES][MACHINE_NAME_BYTES];
    size_t alias_count;
    struct machine_figure figures[MACHINE_FIGURES];
    size_t figure_count;
    /* the same numbers, by meaning */
    double worker_cores;       /* that ops can use */
    double dram_sharded_cores; /* that a DRAM-sharded matmul uses; 0: does not apply */
    double dram_gb_s;
    struct machine_cache caches[MACHINE_CACHES];
    double tflops_per_core[MACHINE_FIDELITIES]; /* matrix unit */
    double vector_tflops_per_core;              /* elementwise work */
    double fp64_tflops_per_core;                /* whatever work on 64-bit floats; 0: not known */
    double fp16_tflops_per_core;                /* matrix work on FLOAT16; 0: as any of 16 bits */
    double link_gb_s;                           /* of one link, one direction */
    double link_count;                          /* where an op does not say */
    /* marks */
    double target_percent;           /* of a roofline: from here on an op counts as bound by it */
    double gap_mark_us;              /* a longer gap before an op is marked */
    double gap_floor_us;             /* what is left of a gap when the host does not wait */
    double few_cores;                /* fewer are marked */
    struct estimate_target estimate; /* kind ESTIMATE_NO_TARGET: nothing can be estimated for it */
};

struct machine_set {
    struct machine *machines;
    size_t count, capacity;
    size_t newest;     /* that machine_add put there */
    size_t left_out;   /* files of the user's folders that cannot be used */
    char why_not[512]; /* of the first: "FILE: ..." */
};

/* The files of machines/, put into the program when it was built. */
struct machine_file {
    const char *name, *text;
    size_t length;
};
extern const struct machine_file machine_builtin_files[];
extern const size_t machine_builtin_count;

/* By name or alias, any case, "-" and "_" alike; NULL when there is none. */
const struct machine *machine_find(const struct machine_set *set, const char *name, size_t length);
/* Adds a copy; one of the same name is replaced. False: no memory. */
bool machine_add(struct machine_set *set, const struct machine *machine);
void machine_set_free(struct machine_set *set);

/* Takes a figure by its key into the field of that meaning; false for a key that has none. */
bool machine_take(struct machine *machine, const char *key, double value);
/* What must be there and is not, or NULL. */
const char *machine_missing(const struct machine *machine);
void machine_defaults(struct machine *machine);
/* A machine of which nothing is known: no peaks, the usual marks. */
extern const struct machine machine_unknown;
const char *machine_cache_text(unsigned level); /* "L2", "L3"; "" for others */

#endif
