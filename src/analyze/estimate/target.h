/* SPDX-License-Identifier: Apache-2.0 */
/* A target of estimates: the figures of a chip from which the cost of work is computed before anything runs.
 *
 * Targets are the section "estimate" of a machine file (machines/NAME.json, docs/estimate.md):
 *
 *     "estimate": {"kind": "dma", "figures": {"clock_mhz": {"value": 800, "unit": "MHz", "source": "..."}, ...}}
 *
 * `kind` says how memory is reached: "dma" = explicit transfers into memory on the chip, which overlap with compute;
 * "cache" = engines load and store, and work on one op at a time. Every figure is a number, 0 or more; a key that is
 * not in the table below is an error, and so is one that the kind requires and the file lacks. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_TARGET_H
#define OPSCOPE_ANALYZE_ESTIMATE_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Devices are called "NVIDIA RTX PRO 6000 Blackwell Workstation Edition". */
#define ESTIMATE_NAME_BYTES 64u

enum estimate_kind { ESTIMATE_NO_TARGET, ESTIMATE_DMA, ESTIMATE_CACHE };

/* Kinds that a figure is required for. */
#define ESTIMATE_FOR_DMA (1u << ESTIMATE_DMA)
#define ESTIMATE_FOR_CACHE (1u << ESTIMATE_CACHE)
#define ESTIMATE_FOR_ALL (ESTIMATE_FOR_DMA | ESTIMATE_FOR_CACHE)

/* key, required for, value where the file has none, what it is */
#define ESTIMATE_FIGURES(X)                                                                                  \
    X(clock_mhz, ESTIMATE_FOR_ALL, 0, "clock of the engines and of the estimate's cycles")                   \
    X(engines, ESTIMATE_FOR_ALL, 0, "compute engines: slices, cores, SMs")                                   \
    X(macs_i8, ESTIMATE_FOR_ALL, 0, "multiply-accumulates per engine and cycle")                             \
    X(macs_i16, 0, 0, "of 16-bit integers; 0: not on an engine")                                             \
    X(macs_i32, 0, 0, "of 32-bit integers; 0: not on an engine")                                             \
    X(macs_f16, 0, 0, "of 16-bit floats; 0: not on an engine")                                               \
    X(macs_bf16, 0, 0, "of bfloat16; 0: not on an engine")                                                   \
    X(macs_f32, 0, 0, "of 32-bit floats; 0: not on an engine")                                               \
    X(depthwise_factor, 0, 1, "share of these rates that a depthwise convolution reaches")                   \
    X(vector_bytes, ESTIMATE_FOR_ALL, 0, "operand bytes per engine and cycle of element-wise work")          \
    X(vector_results, 0, 0, "results per engine and cycle of element-wise work; 0: no limit")                \
    X(vector_factor, 0, 1, "share of these rates that compiled code reaches")                                \
    X(matmul_factor, 0, 1, "share of the MAC rate that a matmul reaches")                                    \
    X(conv_factor, 0, 1, "share of the MAC rate that a convolution reaches")                                 \
    X(transcendental_ops, 0, 4, "element-wise ops that one exp, tanh, ... counts as")                        \
    X(start_cycles, 0, 0, "between two starts of engines")                                                   \
    X(local_bytes, ESTIMATE_FOR_ALL, 0, "on-chip memory for tiles: all engines (dma), per engine (cache)")   \
    X(local_reserved_bytes, 0, 0, "of it that programs occupy")                                              \
    X(dma_bytes_per_cycle, ESTIMATE_FOR_DMA, 0, "theoretical rate of transfers")                             \
    X(dma_factor, 0, 1, "share of it that is reached")                                                       \
    X(dma_in_mtu, 0, 4, "a burst in is 2^mtu beats")                                                         \
    X(dma_out_mtu, 0, 4, "a burst out is 2^mtu beats")                                                       \
    X(dma_setup_beats, 0, 0, "beats lost per burst")                                                         \
    X(dma_duplex, 0, 1, "1: in and out share the rate; 2: each has all of it (analytic model)")              \
    X(copy_bytes_per_cycle, 0, 16, "copies between memories of the chip")                                    \
    X(copy_factor, 0, 1, "share of it that is reached")                                                      \
    X(processor_cycles, 0, 0, "of any program of the processor beside the engines")                          \
    X(processor_cycles_per_element, 0, 0, "of a program with more elements than that covers")                \
    X(processor_memory_bytes, 0, 0, "its memory; what does not fit goes to the host")                        \
    X(host_ns_per_element, 0, 1, "work that neither engine nor processor can do")                            \
    X(host_gb_s, 0, 2, "bytes to and from the host for it")                                                  \
    X(code_dma_bytes, 0, 0, "sequencer code per transfer, itself transferred")                               \
    X(code_start_bytes, 0, 0, "sequencer code per start and wait of an engine")                              \
    X(code_block_bytes, 0, 0, "sequencer code per change of its block")                                      \
    X(code_block_max_bytes, 0, 0, "largest block of sequencer code")                                         \
    X(code_program_bytes, 0, 0, "code of one program of an engine")                                          \
    X(split_bytes, 0, 0, "work above this is split over engines although it fits")                           \
    X(prefetch, 0, 0, "1: transfers for the next op may start before this one ends")                         \
    X(core_gb_s, ESTIMATE_FOR_CACHE, 0, "bandwidth of one engine")                                           \
    X(cache_bytes, ESTIMATE_FOR_CACHE, 0, "last-level cache that the engines share")                         \
    X(cache_gb_s, ESTIMATE_FOR_CACHE, 0, "its bandwidth")                                                    \
    X(dram_gb_s, ESTIMATE_FOR_CACHE, 0, "bandwidth of main memory")                                          \
    X(launch_us, 0, 0, "gap before an op on one engine")                                                     \
    X(fork_join_us, 0, 0, "gap before an op on several engines")                                             \
    X(floor_ns, 0, 0, "no op takes less")                                                                    \
    X(bytes_per_engine, 0, 65536, "work for which one more engine pays (16 MACs count as a byte)")           \
    X(exp_per_cycle, 0, 1, "exp, tanh, sigmoid: elements per engine and cycle")                              \
    X(log_per_cycle, 0, 0.55, "log, erf, pow: elements per engine and cycle")                                \
    X(rsqrt_per_cycle, 0, 2.5, "sqrt, rsqrt, reciprocal: elements per engine and cycle")                     \
    X(softmax_cycles, 0, 5, "per element and engine")                                                        \
    X(reduce_i8_per_cycle, 0, 5, "reduction over the innermost dimension, elements per engine and cycle")    \
    X(reduce_i32_per_cycle, 0, 2.2, "the same of 32-bit integers")                                           \
    X(reduce_f32_per_cycle, 0, 1.1, "the same of 32-bit floats")                                             \
    X(reduce_outer_per_cycle, 0, 4, "32-bit elements of a reduction over an outer dimension")                \
    X(reduce_far_per_cycle, 0, 0.6, "the same where it reads more than local_bytes")                         \
    X(scalar_per_cycle, 0, 0, "argmax and short reductions of narrow numbers; 0: as others")                 \
    X(pool_per_cycle, 0, 2, "window elements per engine and cycle")                                          \
    X(transpose_per_cycle, 0, 0.5, "elements per engine and cycle")                                          \
    X(bf16_elementwise_slowdown, 0, 1, "without instructions for it")                                        \
    X(bf16_reduce_slowdown, 0, 1, "reductions and pooling")                                                  \
    X(bf16_conv_slowdown, 0, 1, "convolutions")                                                              \
    X(bf16_depthwise_slowdown, 0, 1, "depthwise convolutions")                                               \
    X(scale_matmul_int8, 0, 1, "measured time / estimate: matmuls of integers up to 8 bits")                 \
    X(scale_matmul_int, 0, 1, "measured time / estimate: matmuls of wider integers")                         \
    X(scale_matmul_float, 0, 1, "measured time / estimate: matmuls of floats")                               \
    X(scale_matmul_bf16, 0, 1, "measured time / estimate: matmuls of bfloat16")                              \
    X(scale_matmul_f16, 0, 1, "measured time / estimate: matmuls of 16-bit floats")                          \
    X(scale_conv_int8, 0, 1, "measured time / estimate: convolutions of integers up to 8 bits")              \
    X(scale_conv_int, 0, 1, "measured time / estimate: convolutions of wider integers")                      \
    X(scale_conv_float, 0, 1, "measured time / estimate: convolutions of floats")                            \
    X(scale_conv_bf16, 0, 1, "measured time / estimate: convolutions of bfloat16")                           \
    X(scale_conv_f16, 0, 1, "measured time / estimate: convolutions of 16-bit floats")                       \
    X(scale_depthwise_int8, 0, 1,                                                                            \
      "measured time / estimate: depthwise convolutions of integers up to 8 bits")                           \
    X(scale_depthwise_int, 0, 1, "measured time / estimate: depthwise convolutions of wider integers")       \
    X(scale_depthwise_float, 0, 1, "measured time / estimate: depthwise convolutions of floats")             \
    X(scale_depthwise_bf16, 0, 1, "measured time / estimate: depthwise convolutions of bfloat16")            \
    X(scale_depthwise_f16, 0, 1, "measured time / estimate: depthwise convolutions of 16-bit floats")        \
    X(scale_elementwise_int8, 0, 1, "measured time / estimate: element-wise ops of integers up to 8 bits")   \
    X(scale_elementwise_int, 0, 1, "measured time / estimate: element-wise ops of wider integers")           \
    X(scale_elementwise_float, 0, 1, "measured time / estimate: element-wise ops of floats")                 \
    X(scale_elementwise_bf16, 0, 1, "measured time / estimate: element-wise ops of bfloat16")                \
    X(scale_elementwise_f16, 0, 1, "measured time / estimate: element-wise ops of 16-bit floats")            \
    X(scale_reduce_int8, 0, 1, "measured time / estimate: reductions and pools of integers up to 8 bits")    \
    X(scale_reduce_int, 0, 1, "measured time / estimate: reductions and pools of wider integers")            \
    X(scale_reduce_float, 0, 1, "measured time / estimate: reductions and pools of floats")                  \
    X(scale_reduce_bf16, 0, 1, "measured time / estimate: reductions and pools of bfloat16")                 \
    X(scale_reduce_f16, 0, 1, "measured time / estimate: reductions and pools of 16-bit floats")             \
    X(scale_transcendental_int8, 0, 1,                                                                       \
      "measured time / estimate: exp, log, softmax and the like of integers up to 8 bits")                   \
    X(scale_transcendental_int, 0, 1,                                                                        \
      "measured time / estimate: exp, log, softmax and the like of wider integers")                          \
    X(scale_transcendental_float, 0, 1,                                                                      \
      "measured time / estimate: exp, log, softmax and the like of floats")                                  \
    X(scale_transcendental_bf16, 0, 1,                                                                       \
      "measured time / estimate: exp, log, softmax and the like of bfloat16")                                \
    X(scale_transcendental_f16, 0, 1,                                                                        \
      "measured time / estimate: exp, log, softmax and the like of 16-bit floats")                           \
    X(scale_move_int8, 0, 1, "measured time / estimate: data movement of integers up to 8 bits")             \
    X(scale_move_int, 0, 1, "measured time / estimate: data movement of wider integers")                     \
    X(scale_move_float, 0, 1, "measured time / estimate: data movement of floats")                           \
    X(scale_move_bf16, 0, 1, "measured time / estimate: data movement of bfloat16")                          \
    X(scale_move_f16, 0, 1, "measured time / estimate: data movement of 16-bit floats")

struct estimate_target {
    char name[ESTIMATE_NAME_BYTES]; /* of its machine */
    enum estimate_kind kind;
#define X(key, required, value, what) double key;
    ESTIMATE_FIGURES(X)
#undef X
};

void estimate_target_defaults(struct estimate_target *target);
/* false: there is no such kind. */
bool estimate_target_set_kind(struct estimate_target *target, const char *kind);
const char *estimate_kind_text(enum estimate_kind kind);
/* One figure by its key; -EINVAL with the nearest key for one that is unknown, or a value below 0. */
int estimate_target_set(struct estimate_target *target, const char *key, double value, struct error *err);
double estimate_target_get(const struct estimate_target *target,
                           const char *key); /* 0: there is no such key */
/* "key=value", as --target-option takes it. */
int estimate_target_option(struct estimate_target *target, const char *text, struct error *err);
/* The first figure that the kind requires and that is 0, or NULL. */
const char *estimate_target_missing(const struct estimate_target *target);
/* Was it fitted to measured runs: is any of its scales other than 1? */
bool estimate_target_is_calibrated(const struct estimate_target *target);

#endif
