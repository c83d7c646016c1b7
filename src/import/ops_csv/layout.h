/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of an op table, declared once: names, order and kinds, as Tenstorrent's report has them.
 *
 * A table has fixed columns, and families that grow with what ran: seven columns for each input and output
 * tensor, a kernel size for each processor, four columns for each counter metric, one for each host function
 * under an op. Order is by rank, which is made from the name alone, so that columns of any source can be put
 * in order. */
#ifndef OPSCOPE_IMPORT_OPS_CSV_LAYOUT_H
#define OPSCOPE_IMPORT_OPS_CSV_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum op_column_kind { OP_COLUMN_TEXT, OP_COLUMN_INTEGER, OP_COLUMN_REAL };

enum op_column_flag {
    OP_COLUMN_V1 = 1,         /* in the report of 2024 */
    OP_COLUMN_COMPACT = 2,    /* in --columns compact */
    OP_COLUMN_QUASAR = 4,     /* only where a Quasar device was recorded */
    OP_COLUMN_NOT_QUASAR = 8, /* only elsewhere */
    OP_COLUMN_OWN = 16,       /* ours or another tool's: written only where a row fills it */
};

/* name in code, name in the table, kind, flags */
#define OP_FIXED_COLUMNS_BEFORE_TENSORS(X)                                                                   \
    X(OP_CODE, "OP CODE", TEXT, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                                            \
    X(OP_TYPE, "OP TYPE", TEXT, OP_COLUMN_V1)                                                                \
    X(CALL, "GLOBAL CALL COUNT", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                                  \
    X(DEVICE_ID, "DEVICE ID", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                                     \
    X(DEVICE_ARCH, "DEVICE ARCH", TEXT, 0)                                                                   \
    X(ATTRIBUTES, "ATTRIBUTES", TEXT, OP_COLUMN_V1)                                                          \
    X(MATH_FIDELITY, "MATH FIDELITY", TEXT, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                                \
    X(CORE_COUNT, "CORE COUNT", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                                   \
    X(WORKER_CORES, "AVAILABLE WORKER CORE COUNT", INTEGER, 0)                                               \
    X(SUB_DEVICE, "SUB DEVICE ID", INTEGER, 0)                                                               \
    X(STRATEGY, "PARALLELIZATION STRATEGY", TEXT, OP_COLUMN_V1)                                              \
    X(HOST_START, "HOST START TS", INTEGER, OP_COLUMN_V1)                                                    \
    X(HOST_END, "HOST END TS", INTEGER, OP_COLUMN_V1)                                                        \
    X(HOST_DURATION, "HOST DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                        \
    X(FW_START, "DEVICE FW START CYCLE", INTEGER, OP_COLUMN_V1)                                              \
    X(FW_END, "DEVICE FW END CYCLE", INTEGER, OP_COLUMN_V1)                                                  \
    X(OP_TO_OP, "OP TO OP LATENCY [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT | OP_COLUMN_NOT_QUASAR)   \
    X(OP_TO_OP_DM, "OP TO OP LATENCY BR/NRISC START [ns]", INTEGER, OP_COLUMN_NOT_QUASAR)                    \
    X(QUASAR_OP_TO_OP, "OP TO OP DM LATENCY [ns]", INTEGER, OP_COLUMN_COMPACT | OP_COLUMN_QUASAR)            \
    X(QUASAR_OP_TO_OP_TRISC, "OP TO OP TRISC LATENCY [ns]", INTEGER, OP_COLUMN_QUASAR)                       \
    X(FW, "DEVICE FW DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT | OP_COLUMN_NOT_QUASAR)       \
    X(QUASAR_DM_FW, "DEVICE DM FW DURATION [ns]", INTEGER, OP_COLUMN_COMPACT | OP_COLUMN_QUASAR)             \
    X(QUASAR_TRISC_FW, "DEVICE TRISC FW DURATION [ns]", INTEGER, OP_COLUMN_QUASAR)                           \
    X(KERNEL, "DEVICE KERNEL DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                      \
    X(KERNEL_DM, "DEVICE KERNEL DURATION DM START [ns]", INTEGER, 0)                                         \
    X(PER_CORE_MIN, "DEVICE KERNEL DURATION PER CORE MIN [ns]", INTEGER, 0)                                  \
    X(PER_CORE_MAX, "DEVICE KERNEL DURATION PER CORE MAX [ns]", INTEGER, 0)                                  \
    X(PER_CORE_AVG, "DEVICE KERNEL DURATION PER CORE AVG [ns]", INTEGER, 0)                                  \
    X(FIRST_TO_LAST, "DEVICE KERNEL FIRST TO LAST START [ns]", INTEGER, 0)                                   \
    X(BRISC, "DEVICE BRISC KERNEL DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_NOT_QUASAR)              \
    X(QUASAR_DM, "DEVICE QUASAR_DM KERNEL DURATION [ns]", INTEGER, OP_COLUMN_QUASAR)                         \
    X(QUASAR_TRISC, "DEVICE QUASAR_NEO_TRISC KERNEL DURATION [ns]", INTEGER, OP_COLUMN_QUASAR)               \
    X(NCRISC, "DEVICE NCRISC KERNEL DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_NOT_QUASAR)            \
    X(TRISC0, "DEVICE TRISC0 KERNEL DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_NOT_QUASAR)            \
    X(TRISC1, "DEVICE TRISC1 KERNEL DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_NOT_QUASAR)            \
    X(TRISC2, "DEVICE TRISC2 KERNEL DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_NOT_QUASAR)            \
    X(ERISC, "DEVICE ERISC KERNEL DURATION [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_NOT_QUASAR)              \
    X(CB_WAIT_FRONT, "DEVICE COMPUTE CB WAIT FRONT [ns]", INTEGER, OP_COLUMN_V1)                             \
    X(CB_RESERVE_BACK, "DEVICE COMPUTE CB RESERVE BACK [ns]", INTEGER, OP_COLUMN_V1)                         \
    X(DISPATCH_TOTAL, "DISPATCH TOTAL CQ CMD OP TIME [ns]", INTEGER, 0)                                      \
    X(DISPATCH_GO_WAIT, "DISPATCH GO SEND WAIT TIME [ns]", INTEGER, 0)

#define OP_FIXED_COLUMNS_BEFORE_SIZES(X)                                                                     \
    X(TRACE_ID, "METAL TRACE ID", INTEGER, OP_COLUMN_COMPACT)                                                \
    X(TRACE_SESSION, "METAL TRACE REPLAY SESSION ID", INTEGER, OP_COLUMN_COMPACT)                            \
    X(COMPUTE_SOURCE, "COMPUTE KERNEL SOURCE", TEXT, OP_COLUMN_V1)                                           \
    X(COMPUTE_HASH, "COMPUTE KERNEL HASH", TEXT, OP_COLUMN_V1)                                               \
    X(DATA_SOURCE, "DATA MOVEMENT KERNEL SOURCE", TEXT, OP_COLUMN_V1)                                        \
    X(DATA_HASH, "DATA MOVEMENT KERNEL HASH", TEXT, OP_COLUMN_V1)                                            \
    X(PROGRAM_HASH, "PROGRAM HASH", INTEGER, 0)                                                              \
    X(CACHE_HIT, "PROGRAM CACHE HIT", TEXT, 0)

#define OP_FIXED_COLUMNS_BEFORE_COUNTERS(X)                                                                  \
    X(PM_IDEAL, "PM IDEAL [ns]", INTEGER, OP_COLUMN_V1 | OP_COLUMN_COMPACT)                                  \
    X(PM_COMPUTE, "PM COMPUTE [ns]", INTEGER, OP_COLUMN_V1)                                                  \
    X(PM_BANDWIDTH, "PM BANDWIDTH [ns]", INTEGER, OP_COLUMN_V1)                                              \
    X(PM_INPUT_BW, "PM REQ I BW", TEXT, OP_COLUMN_V1)                                                        \
    X(PM_OUTPUT_BW, "PM REQ O BW", TEXT, OP_COLUMN_V1)                                                       \
    X(PM_FPU_UTIL, "PM FPU UTIL (%)", REAL, OP_COLUMN_COMPACT)                                               \
    X(NOC_UTIL, "NOC UTIL (%)", REAL, 0)                                                                     \
    X(MULTICAST_UTIL, "MULTICAST NOC UTIL (%)", REAL, 0)                                                     \
    X(DRAM_UTIL, "DRAM BW UTIL (%)", REAL, 0)                                                                \
    X(DRAM_UTIL_PER_CTRL, "DRAM BW UTIL PER CTRL (%)", TEXT, 0)                                              \
    X(ETH_UTIL, "ETH BW UTIL (%)", TEXT, 0)                                                                  \
    X(CONGESTION, "NPE CONG IMPACT (%)", REAL, 0)

#define OP_FIXED_COLUMNS_LAST(X)                                                                             \
    X(LOC, "LOC", TEXT, OP_COLUMN_OWN)                                                                       \
    X(CONST_EVAL, "CONST_EVAL_OP", TEXT, OP_COLUMN_OWN)                                                      \
    X(PROGRAM_METADATA, "PROGRAM_METADATA", TEXT, OP_COLUMN_OWN)                                             \
    X(MODULE_PATH, "MODULE PATH", TEXT, OP_COLUMN_OWN)                                                       \
    X(NOTE, "NOTE", TEXT, OP_COLUMN_OWN | OP_COLUMN_COMPACT)

#define OP_FIXED_COLUMNS(X)                                                                                  \
    OP_FIXED_COLUMNS_BEFORE_TENSORS(X)                                                                       \
    OP_FIXED_COLUMNS_BEFORE_SIZES(X) OP_FIXED_COLUMNS_BEFORE_COUNTERS(X) OP_FIXED_COLUMNS_LAST(X)

enum op_fixed_column {
#define X(id, name, kind, flags) OP_COLUMN_ID_##id,
    OP_FIXED_COLUMNS(X)
#undef X
        OP_FIXED_COLUMN_COUNT
};

struct op_column {
    const char *name;
    enum op_column_kind kind;
    unsigned flags; /* enum op_column_flag */
};

extern const struct op_column op_fixed_columns[OP_FIXED_COLUMN_COUNT];

/* Counter metrics, in the order of their columns: name in code, name in the table, a percentage or not. */
#define OP_COUNTER_METRICS(X)                                                                                \
    X(SFPU_UTIL, "SFPU Util", true)                                                                          \
    X(FPU_UTIL, "FPU Util", true)                                                                            \
    X(MATH_UTIL, "MATH Util", true)                                                                          \
    X(UNPACKER0_WRITE_EFFICIENCY, "Unpacker0 Write Efficiency", true)                                        \
    X(UNPACKER1_WRITE_EFFICIENCY, "Unpacker1 Write Efficiency", true)                                        \
    X(UNPACKER_WRITE_EFFICIENCY, "Unpacker Write Efficiency", true)                                          \
    X(PACKER_EFFICIENCY, "Packer Efficiency", true)                                                          \
    X(FPU_EXECUTION_EFFICIENCY, "FPU Execution Efficiency", true)                                            \
    X(MATH_PIPELINE_UTILIZATION, "Math Pipeline Utilization", true)                                          \
    X(MATH_TO_PACK_HANDOFF_EFFICIENCY, "Math-to-Pack Handoff Efficiency", true)                              \
    X(UNPACKER_TO_MATH_DATA_FLOW, "Unpacker-to-Math Data Flow", true)                                        \
    X(THREAD_0_STALL_RATE, "Thread 0 Stall Rate", true)                                                      \
    X(THREAD_1_STALL_RATE, "Thread 1 Stall Rate", true)                                                      \
    X(THREAD_2_STALL_RATE, "Thread 2 Stall Rate", true)                                                      \
    X(SRCA_VALID_WAIT, "SrcA Valid Wait", true)                                                              \
    X(SRCB_VALID_WAIT, "SrcB Valid Wait", true)                                                              \
    X(SRCA_CLEAR_WAIT, "SrcA Clear Wait", true)                                                              \
    X(SRCB_CLEAR_WAIT, "SrcB Clear Wait", true)                                                              \
    X(MATH_IDLE_WAIT_T1, "Math Idle Wait T1", true)                                                          \
    X(PACK_IDLE_WAIT_T2, "Pack Idle Wait T2", true)                                                          \
    X(UNPACK_IDLE_WAIT_T0, "Unpack Idle Wait T0", true)                                                      \
    X(SEMAPHORE_ZERO_WAIT_T0, "Semaphore Zero Wait T0", true)                                                \
    X(SEMAPHORE_ZERO_WAIT_T1, "Semaphore Zero Wait T1", true)                                                \
    X(SEMAPHORE_ZERO_WAIT_T2, "Semaphore Zero Wait T2", true)                                                \
    X(SEMAPHORE_FULL_WAIT_T0, "Semaphore Full Wait T0", true)                                                \
    X(SEMAPHORE_FULL_WAIT_T1, "Semaphore Full Wait T1", true)                                                \
    X(SEMAPHORE_FULL_WAIT_T2, "Semaphore Full Wait T2", true)                                                \
    X(DATA_HAZARD_STALL_RATE, "Data Hazard Stall Rate", true)                                                \
    X(FIDELITY_STALL_RATE, "Fidelity Stall Rate", true)                                                      \
    X(HIFI_FRACTION, "HiFi Fraction", true)                                                                  \
    X(AVG_HF_CYCLES_PER_INSTRN, "Avg HF Cycles Per Instrn", false)                                           \
    X(L1_UNPACKER_PORT_UTIL, "L1 Unpacker Port Util", true)                                                  \
    X(L1_TDMA_BUNDLE_UTIL, "L1 TDMA Bundle Util", true)                                                      \
    X(NOC_RING_0_OUTGOING_UTIL, "NOC Ring 0 Outgoing Util", true)                                            \
    X(NOC_RING_0_INCOMING_UTIL, "NOC Ring 0 Incoming Util", true)                                            \
    X(NOC_RING_1_OUTGOING_UTIL, "NOC Ring 1 Outgoing Util", true)                                            \
    X(NOC_RING_1_INCOMING_UTIL, "NOC Ring 1 Incoming Util", true)                                            \
    X(L1_PACKER_PORT_UTIL, "L1 Packer Port Util", true)                                                      \
    X(NOC_RING_0_OUTGOING_BACKPRESSURE, "NOC Ring 0 Outgoing Backpressure", true)                            \
    X(NOC_RING_0_INCOMING_BACKPRESSURE, "NOC Ring 0 Incoming Backpressure", true)                            \
    X(NOC_RING_1_OUTGOING_BACKPRESSURE, "NOC Ring 1 Outgoing Backpressure", true)                            \
    X(NOC_RING_1_INCOMING_BACKPRESSURE, "NOC Ring 1 Incoming Backpressure", true)                            \
    X(L1_UNPACKER_BACKPRESSURE, "L1 Unpacker Backpressure", true)                                            \
    X(L1_PACKER_PORT_BACKPRESSURE, "L1 Packer Port Backpressure", true)                                      \
    X(SRCA_WRITE_PORT_BLOCKED_RATE, "SrcA Write Port Blocked Rate", true)                                    \
    X(SRCA_WRITE_OVERWRITE_BLOCKED_RATE, "SrcA Write Overwrite Blocked Rate", true)                          \
    X(SRCB_WRITE_OVERWRITE_BLOCKED_RATE, "SrcB Write Overwrite Blocked Rate", true)                          \
    X(DEST_READ_BACKPRESSURE, "Dest Read Backpressure", true)                                                \
    X(MATH_DEST_WRITE_PORT_STALL_RATE, "Math Dest Write Port Stall Rate", true)                              \
    X(MATH_SCOREBOARD_STALL_RATE, "Math Scoreboard Stall Rate", true)                                        \
    X(T0_INSTRN_ISSUE_RATE, "T0 Instrn Issue Rate", false)                                                   \
    X(T1_INSTRN_ISSUE_RATE, "T1 Instrn Issue Rate", false)                                                   \
    X(T2_INSTRN_ISSUE_RATE, "T2 Instrn Issue Rate", false)                                                   \
    X(CFG_INSTRN_AVAIL_RATE_T0, "CFG Instrn Avail Rate T0", true)                                            \
    X(SYNC_INSTRN_AVAIL_RATE_T0, "SYNC Instrn Avail Rate T0", true)                                          \
    X(THCON_INSTRN_AVAIL_RATE_T0, "THCON Instrn Avail Rate T0", true)                                        \
    X(MOVE_INSTRN_AVAIL_RATE_T0, "MOVE Instrn Avail Rate T0", true)                                          \
    X(MATH_INSTRN_AVAIL_RATE_T1, "MATH Instrn Avail Rate T1", true)                                          \
    X(UNPACK_INSTRN_AVAIL_RATE_T0, "UNPACK Instrn Avail Rate T0", true)                                      \
    X(PACK_INSTRN_AVAIL_RATE_T2, "PACK Instrn Avail Rate T2", true)                                          \
    X(SRCB_WRITE_PORT_BLOCKED_RATE, "SrcB Write Port Blocked Rate", true)                                    \
    X(SRCA_WRITE_ACTUAL_EFFICIENCY, "SrcA Write Actual Efficiency", true)                                    \
    X(SRCB_WRITE_ACTUAL_EFFICIENCY, "SrcB Write Actual Efficiency", true)                                    \
    X(PACKER_ENGINE_0_UTIL, "Packer Engine 0 Util", true)                                                    \
    X(PACKER_ENGINE_1_UTIL, "Packer Engine 1 Util", true)                                                    \
    X(PACKER_ENGINE_2_UTIL, "Packer Engine 2 Util", true)                                                    \
    X(MMIO_IDLE_WAIT_T0, "MMIO Idle Wait T0", true)                                                          \
    X(SFPU_IDLE_WAIT_T1, "SFPU Idle Wait T1", true)                                                          \
    X(THCON_IDLE_WAIT_T0, "THCON Idle Wait T0", true)                                                        \
    X(MOVE_IDLE_WAIT_T0, "MOVE Idle Wait T0", true)                                                          \
    X(RISC_CORE_L1_UTIL, "RISC Core L1 Util", true)                                                          \
    X(L1_TOTAL_BANDWIDTH_UTIL, "L1 Total Bandwidth Util", true)                                              \
    X(L1_READ_VS_WRITE_RATIO, "L1 Read vs Write Ratio", true)                                                \
    X(NOC_RING_0_ASYMMETRY, "NOC Ring 0 Asymmetry", true)                                                    \
    X(L1_CONTENTION_INDEX, "L1 Contention Index", true)                                                      \
    X(UNPACKER_L1_EFFICIENCY, "Unpacker L1 Efficiency", true)                                                \
    X(PACKER_L1_EFFICIENCY, "Packer L1 Efficiency", true)                                                    \
    X(NOC_VS_COMPUTE_BALANCE, "NOC vs Compute Balance", true)                                                \
    X(TDMA_VS_NOC_L1_SHARE, "TDMA vs NOC L1 Share", true)                                                    \
    X(STALL_OVERLAP_T0, "Stall Overlap T0", true)                                                            \
    X(STALL_OVERLAP_T1, "Stall Overlap T1", true)                                                            \
    X(STALL_OVERLAP_T2, "Stall Overlap T2", true)                                                            \
    X(PACKER_LOAD_IMBALANCE, "Packer Load Imbalance", true)                                                  \
    X(COMPUTE_TO_UNPACK_RATIO, "Compute-to-Unpack Ratio", true)

enum op_counter_metric {
#define X(id, name, is_percent) OP_METRIC_##id,
    OP_COUNTER_METRICS(X)
#undef X
        OP_METRIC_COUNT
};

enum op_counter_statistic {
    OP_METRIC_MIN,
    OP_METRIC_MEDIAN,
    OP_METRIC_MAX,
    OP_METRIC_AVG,
    OP_METRIC_STATISTICS
};

/* The name of a metric's column: "FPU Util Min (%)". */
void op_counter_column(enum op_counter_metric metric, enum op_counter_statistic statistic, struct bytes *out);

/* Tensor columns: "INPUT_3_W_PAD[LOGICAL]". */
enum op_tensor_field {
    OP_TENSOR_W,
    OP_TENSOR_Z,
    OP_TENSOR_Y,
    OP_TENSOR_X,
    OP_TENSOR_LAYOUT,
    OP_TENSOR_TYPE,
    OP_TENSOR_MEMORY,
    OP_TENSOR_FIELDS
};
void op_tensor_column(bool is_output, uint32_t index, enum op_tensor_field field, struct bytes *out);

/* Where a column stands. Equal ranks (columns nobody knows; host functions) go by name. */
uint64_t op_column_rank(const char *name, size_t length);
/* The fixed column of this name, or OP_FIXED_COLUMN_COUNT. */
enum op_fixed_column op_column_find(const char *name, size_t length);
/* Of any column; OP_COLUMN_TEXT for what nobody knows. */
enum op_column_kind op_column_kind_of(const char *name, size_t length);
bool op_column_is_compact(const char *name, size_t length);

/* The column's name in the header of 2024: "INPUT_0_W", "BRISC MAX KERNEL SIZE [B]". False: it had none. A
 * cell of a dimension then holds the padded size alone (*is_padded_only). */
bool op_column_v1_name(const char *name, size_t length, struct bytes *out, bool *is_padded_only);

#endif
