/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled hardware IR of the Torq compiler (its executable-targets phase) as a timeline: what the compiler's own
 * profiling pass would say, from the dump alone.
 *
 * The IR is executed symbolically: host actions in order, the programs of the sequencer (NSS) that they start block by
 * block, and in each task the starts and waits of DMA, copies, slices and the processor (CSS). One clock; a start takes
 * no time of it (a slice's and the processor's one cycle), a wait goes on at the end of what it waits for. So work
 * overlaps as the compiler ordered starts and waits, and nothing is added for contention. */
#ifndef OPSCOPE_IMPORT_TORQ_TORQ_H
#define OPSCOPE_IMPORT_TORQ_TORQ_H

#include "import/mlir/edit.h"
#include "import/mlir/mlir.h"
#include "ops/timeline.h"

/* What the cost of a unit depends on. */
struct torq_target {
    double dma_bytes_per_cycle;       /* theoretical */
    double dma_factor;                /* that is reached of it */
    unsigned dma_in_mtu, dma_out_mtu; /* a burst is 2^mtu beats of 16 bytes */
    double dma_setup_beats;           /* lost per burst */
    double copy_bytes_per_cycle;      /* theoretical */
    double copy_factor;               /* that is reached of it */
    uint64_t css_cycles;              /* of any program */
    double clock_mhz;
};

/* Is there scheduled IR in it? */
bool torq_is_scheduled(const struct mlir *mlir);

/* Every dispatch, one after the other. `default_location` stands for ops that have none (a dump without debug info);
 * NULL: "loc(unknown)". timeline.source is the op of the IR. An op that has no place in such a program is an error that
 * names it and where it stands. */
int torq_execute(struct timeline *timeline, const struct mlir *mlir, const struct torq_target *target,
                 const char *default_location, struct error *err);

/* The IR with the times of its timeline in it (annotate.c); `has_own` adds attributes of ours to functions. */
int torq_annotate(const struct mlir *mlir, const struct timeline *timeline, bool has_own, struct bytes *out,
                  struct error *err);

/* --- cost (cost.c) --- */

#define TORQ_LISTS(X)                                                                                        \
    X(DEDR) X(DEWR) X(DEBR) X(DEQW) X(CEDW) X(CEDR) X(CEWW) X(CEWR) X(CEPR) X(ACBW) X(ACBR) X(ACPR)
enum torq_list {
#define X(name) TORQ_##name,
    TORQ_LISTS(X)
#undef X
        TORQ_LIST_COUNT
};

struct torq_slice_task {
    uint64_t cycles[TORQ_LIST_COUNT];
    uint64_t max_cycles; /* of the five buses */
    struct slice name;   /* "add" */
};
/* Of a torq_hw.slice_task; -EINVAL with the place of what is not understood. */
int torq_slice_cost(const struct mlir *mlir, uint32_t op, struct torq_slice_task *task, struct error *err);
/* Bytes of a list of DMA dimensions, #torq_hw<dma_ndl{dims = [[364, 1]]}>; false where it is none. */
bool torq_dma_bytes(struct slice list, uint64_t *bytes);
uint64_t torq_dma_cycles(const struct torq_target *target, uint64_t bytes, unsigned mtu);
/* Elements from the first to the last of a memref; false where its type is not understood. */
bool torq_elements(struct slice type, uint64_t *elements);
/* "lram", "dtcm", "itcm"; "xram" where the type says nothing. */
struct slice torq_memory(struct slice type);
/* Bytes of a memref's elements as they lie in memory; 0 where its type is not understood. */
uint64_t torq_bytes(struct slice type);

#endif
