/* SPDX-License-Identifier: Apache-2.0 */
/* Hardware counters of a run: what each core counted, made into the metrics of the op table.
 *
 * A metric is computed for each core that counted everything it needs and whose denominator is not 0; a cell is
 * the least, the middle, the largest or the average of those. The average is a compensated sum in the order in
 * which the cores' first counters came, as the reference makes it. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_DEVICE_COUNTERS_H
#define OPSCOPE_IMPORT_TENSTORRENT_DEVICE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "import/ops_csv/layout.h"

/* In the order of the hardware's numbers. */
#define TT_COUNTERS(X)                                                                                       \
    X(UNDEF)                                                                                                 \
    X(FPU_COUNTER)                                                                                           \
    X(SFPU_COUNTER)                                                                                          \
    X(MATH_COUNTER)                                                                                          \
    X(MATH_SRC_DATA_READY)                                                                                   \
    X(DATA_HAZARD_STALLS_MOVD2A)                                                                             \
    X(MATH_FIDELITY_STALL)                                                                                   \
    X(MATH_INSTRN_STARTED)                                                                                   \
    X(MATH_INSTRN_AVAILABLE)                                                                                 \
    X(SRCB_WRITE_AVAILABLE)                                                                                  \
    X(SRCA_WRITE_AVAILABLE)                                                                                  \
    X(UNPACK0_BUSY_THREAD0)                                                                                  \
    X(UNPACK1_BUSY_THREAD0)                                                                                  \
    X(UNPACK0_BUSY_THREAD1)                                                                                  \
    X(UNPACK1_BUSY_THREAD1)                                                                                  \
    X(MATH_INSTRN_HF_1_CYCLE)                                                                                \
    X(MATH_INSTRN_HF_2_CYCLE)                                                                                \
    X(MATH_INSTRN_HF_4_CYCLE)                                                                                \
    X(PACKER_DEST_READ_AVAILABLE)                                                                            \
    X(PACKER_BUSY)                                                                                           \
    X(AVAILABLE_MATH)                                                                                        \
    X(CFG_INSTRN_AVAILABLE_0)                                                                                \
    X(CFG_INSTRN_AVAILABLE_1)                                                                                \
    X(CFG_INSTRN_AVAILABLE_2)                                                                                \
    X(SYNC_INSTRN_AVAILABLE_0)                                                                               \
    X(SYNC_INSTRN_AVAILABLE_1)                                                                               \
    X(SYNC_INSTRN_AVAILABLE_2)                                                                               \
    X(THCON_INSTRN_AVAILABLE_0)                                                                              \
    X(THCON_INSTRN_AVAILABLE_1)                                                                              \
    X(THCON_INSTRN_AVAILABLE_2)                                                                              \
    X(MOVE_INSTRN_AVAILABLE_0)                                                                               \
    X(MOVE_INSTRN_AVAILABLE_1)                                                                               \
    X(MOVE_INSTRN_AVAILABLE_2)                                                                               \
    X(FPU_INSTRN_AVAILABLE_0)                                                                                \
    X(FPU_INSTRN_AVAILABLE_1)                                                                                \
    X(FPU_INSTRN_AVAILABLE_2)                                                                                \
    X(UNPACK_INSTRN_AVAILABLE_0)                                                                             \
    X(UNPACK_INSTRN_AVAILABLE_1)                                                                             \
    X(UNPACK_INSTRN_AVAILABLE_2)                                                                             \
    X(PACK_INSTRN_AVAILABLE_0)                                                                               \
    X(PACK_INSTRN_AVAILABLE_1)                                                                               \
    X(PACK_INSTRN_AVAILABLE_2)                                                                               \
    X(THREAD_STALLS_0)                                                                                       \
    X(THREAD_STALLS_1)                                                                                       \
    X(THREAD_STALLS_2)                                                                                       \
    X(WAITING_FOR_SRCA_CLEAR)                                                                                \
    X(WAITING_FOR_SRCB_CLEAR)                                                                                \
    X(WAITING_FOR_SRCA_VALID)                                                                                \
    X(WAITING_FOR_SRCB_VALID)                                                                                \
    X(WAITING_FOR_THCON_IDLE_0)                                                                              \
    X(WAITING_FOR_THCON_IDLE_1)                                                                              \
    X(WAITING_FOR_THCON_IDLE_2)                                                                              \
    X(WAITING_FOR_UNPACK_IDLE_0)                                                                             \
    X(WAITING_FOR_UNPACK_IDLE_1)                                                                             \
    X(WAITING_FOR_UNPACK_IDLE_2)                                                                             \
    X(WAITING_FOR_PACK_IDLE_0)                                                                               \
    X(WAITING_FOR_PACK_IDLE_1)                                                                               \
    X(WAITING_FOR_PACK_IDLE_2)                                                                               \
    X(WAITING_FOR_MATH_IDLE_0)                                                                               \
    X(WAITING_FOR_MATH_IDLE_1)                                                                               \
    X(WAITING_FOR_MATH_IDLE_2)                                                                               \
    X(WAITING_FOR_NONZERO_SEM_0)                                                                             \
    X(WAITING_FOR_NONZERO_SEM_1)                                                                             \
    X(WAITING_FOR_NONZERO_SEM_2)                                                                             \
    X(WAITING_FOR_NONFULL_SEM_0)                                                                             \
    X(WAITING_FOR_NONFULL_SEM_1)                                                                             \
    X(WAITING_FOR_NONFULL_SEM_2)                                                                             \
    X(WAITING_FOR_MOVE_IDLE_0)                                                                               \
    X(WAITING_FOR_MOVE_IDLE_1)                                                                               \
    X(WAITING_FOR_MOVE_IDLE_2)                                                                               \
    X(WAITING_FOR_MMIO_IDLE_0)                                                                               \
    X(WAITING_FOR_MMIO_IDLE_1)                                                                               \
    X(WAITING_FOR_MMIO_IDLE_2)                                                                               \
    X(WAITING_FOR_SFPU_IDLE_0)                                                                               \
    X(WAITING_FOR_SFPU_IDLE_1)                                                                               \
    X(WAITING_FOR_SFPU_IDLE_2)                                                                               \
    X(L1_0_UNPACKER_0)                                                                                       \
    X(L1_0_UNPACKER_1_ECC_PACK1)                                                                             \
    X(L1_0_TDMA_BUNDLE_0_RISC)                                                                               \
    X(L1_0_TDMA_BUNDLE_1_TRISC)                                                                              \
    X(L1_0_NOC_RING0_OUTGOING_0)                                                                             \
    X(L1_0_NOC_RING0_OUTGOING_1)                                                                             \
    X(L1_0_NOC_RING0_INCOMING_0)                                                                             \
    X(L1_0_NOC_RING0_INCOMING_1)                                                                             \
    X(L1_1_TDMA_PACKER_2)                                                                                    \
    X(L1_1_EXT_UNPACKER_1)                                                                                   \
    X(L1_1_EXT_UNPACKER_2)                                                                                   \
    X(L1_1_EXT_UNPACKER_3)                                                                                   \
    X(L1_1_NOC_RING1_OUTGOING_0)                                                                             \
    X(L1_1_NOC_RING1_OUTGOING_1)                                                                             \
    X(L1_1_NOC_RING1_INCOMING_0)                                                                             \
    X(L1_1_NOC_RING1_INCOMING_1)                                                                             \
    X(L1_0_UNIFIED_PACKER)                                                                                   \
    X(L1_1_RISC_CORE)                                                                                        \
    X(L1_0_UNPACKER_0_GRANT)                                                                                 \
    X(L1_0_PORT1_GRANT)                                                                                      \
    X(L1_0_TDMA_BUNDLE_0_GRANT)                                                                              \
    X(L1_0_TDMA_BUNDLE_1_GRANT)                                                                              \
    X(L1_0_NOC_RING0_OUTGOING_0_GRANT)                                                                       \
    X(L1_0_NOC_RING0_OUTGOING_1_GRANT)                                                                       \
    X(L1_0_NOC_RING0_INCOMING_0_GRANT)                                                                       \
    X(L1_0_NOC_RING0_INCOMING_1_GRANT)                                                                       \
    X(L1_1_PORT8_GRANT)                                                                                      \
    X(L1_1_EXT_UNPACKER_1_GRANT)                                                                             \
    X(L1_1_EXT_UNPACKER_2_GRANT)                                                                             \
    X(L1_1_EXT_UNPACKER_3_GRANT)                                                                             \
    X(L1_1_NOC_RING1_OUTGOING_0_GRANT)                                                                       \
    X(L1_1_NOC_RING1_OUTGOING_1_GRANT)                                                                       \
    X(L1_1_NOC_RING1_INCOMING_0_GRANT)                                                                       \
    X(L1_1_NOC_RING1_INCOMING_1_GRANT)                                                                       \
    X(THREAD_INSTRUCTIONS_0)                                                                                 \
    X(THREAD_INSTRUCTIONS_1)                                                                                 \
    X(THREAD_INSTRUCTIONS_2)                                                                                 \
    X(SRCB_WRITE_ACTUAL)                                                                                     \
    X(SRCA_WRITE_NOT_BLOCKED_OVR)                                                                            \
    X(SRCA_WRITE_ACTUAL)                                                                                     \
    X(SRCB_WRITE_NOT_BLOCKED_PORT)                                                                           \
    X(SRCA_WRITE_THREAD0)                                                                                    \
    X(SRCB_WRITE_THREAD0)                                                                                    \
    X(SRCA_WRITE_THREAD1)                                                                                    \
    X(SRCB_WRITE_THREAD1)                                                                                    \
    X(PACKER_DEST_READ_1)                                                                                    \
    X(PACKER_DEST_READ_2)                                                                                    \
    X(PACKER_DEST_READ_3)                                                                                    \
    X(PACKER_BUSY_0)                                                                                         \
    X(PACKER_BUSY_1)                                                                                         \
    X(PACKER_BUSY_2)                                                                                         \
    X(DEST_READ_GRANTED_0)                                                                                   \
    X(DEST_READ_GRANTED_1)                                                                                   \
    X(DEST_READ_GRANTED_2)                                                                                   \
    X(DEST_READ_GRANTED_3)                                                                                   \
    X(MATH_NOT_STALLED_DEST_WR_PORT)                                                                         \
    X(L1_4_MISC_PORT_0)                                                                                      \
    X(L1_4_MISC_PORT_1)                                                                                      \
    X(L1_4_MISC_PORT_2)                                                                                      \
    X(L1_4_MISC_PORT_3)                                                                                      \
    X(L1_4_MISC_PORT_4)                                                                                      \
    X(L1_4_MISC_PORT_5)                                                                                      \
    X(L1_4_MISC_PORT_6)                                                                                      \
    X(L1_4_MISC_PORT_7)                                                                                      \
    X(L1_4_MISC_PORT_0_GRANT)                                                                                \
    X(L1_4_MISC_PORT_1_GRANT)                                                                                \
    X(L1_4_MISC_PORT_2_GRANT)                                                                                \
    X(L1_4_MISC_PORT_3_GRANT)                                                                                \
    X(L1_4_MISC_PORT_4_GRANT)                                                                                \
    X(L1_4_MISC_PORT_5_GRANT)                                                                                \
    X(L1_4_MISC_PORT_6_GRANT)                                                                                \
    X(L1_4_MISC_PORT_7_GRANT)                                                                                \
    X(L1_2_NOC_RING2_PORT_0)                                                                                 \
    X(L1_2_NOC_RING2_PORT_1)                                                                                 \
    X(L1_2_NOC_RING2_PORT_2)                                                                                 \
    X(L1_2_NOC_RING2_PORT_3)                                                                                 \
    X(L1_2_NOC_RING2_PORT_4)                                                                                 \
    X(L1_2_NOC_RING2_PORT_5)                                                                                 \
    X(L1_2_NOC_RING2_PORT_6)                                                                                 \
    X(L1_2_NOC_RING2_PORT_7)                                                                                 \
    X(L1_2_NOC_RING2_PORT_0_GRANT)                                                                           \
    X(L1_2_NOC_RING2_PORT_1_GRANT)                                                                           \
    X(L1_2_NOC_RING2_PORT_2_GRANT)                                                                           \
    X(L1_2_NOC_RING2_PORT_3_GRANT)                                                                           \
    X(L1_2_NOC_RING2_PORT_4_GRANT)                                                                           \
    X(L1_2_NOC_RING2_PORT_5_GRANT)                                                                           \
    X(L1_2_NOC_RING2_PORT_6_GRANT)                                                                           \
    X(L1_2_NOC_RING2_PORT_7_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_0)                                                                                 \
    X(L1_3_NOC_RING3_PORT_1)                                                                                 \
    X(L1_3_NOC_RING3_PORT_2)                                                                                 \
    X(L1_3_NOC_RING3_PORT_3)                                                                                 \
    X(L1_3_NOC_RING3_PORT_4)                                                                                 \
    X(L1_3_NOC_RING3_PORT_5)                                                                                 \
    X(L1_3_NOC_RING3_PORT_6)                                                                                 \
    X(L1_3_NOC_RING3_PORT_7)                                                                                 \
    X(L1_3_NOC_RING3_PORT_0_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_1_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_2_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_3_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_4_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_5_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_6_GRANT)                                                                           \
    X(L1_3_NOC_RING3_PORT_7_GRANT)                                                                           \
    X(ANY_THREAD_STALL)

enum tt_counter {
#define X(name) TT_COUNTER_##name,
    TT_COUNTERS(X)
#undef X
        TT_COUNTER_COUNT
};

/* The counter of this name, or TT_COUNTER_COUNT. */
enum tt_counter tt_counter_find(const char *name, size_t length);

struct tt_core_counters { /* of one core in one run */
    uint64_t value[TT_COUNTER_COUNT];
    uint64_t reference[TT_COUNTER_COUNT]; /* cycles in which it counted */
    bool is_set[TT_COUNTER_COUNT];
};

/* Of all cores of all runs: some metrics look at the whole log. */
struct tt_counter_sums {
    uint64_t value[TT_COUNTER_COUNT];
    double unpacker_grant_ratio; /* the middle one of L1_0_UNPACKER_0_GRANT / L1_0_UNPACKER_0; NaN: none */
};

struct tt_metric_input {
    const struct tt_core_counters *const *cores; /* in time order of their first counters */
    size_t core_count;
    const struct tt_counter_sums *sums;
    uint32_t max_compute_cores;      /* 0: not known */
    uint64_t kernel_duration_cycles; /* 0: not known */
    bool is_device_only;             /* that report has five metrics more */
};

/* False: the metric cannot be made. `scratch` has room for core_count doubles. */
bool tt_metric(enum op_counter_metric metric, const struct tt_metric_input *input, double *scratch,
               double out[OP_METRIC_STATISTICS]);

#endif
