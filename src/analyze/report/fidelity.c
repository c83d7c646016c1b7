/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/fidelity.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"

enum { BITS_INTEGER = -2, BITS_UNKNOWN = -1, BITS_BFP4 = 3, BITS_BFP8 = 7, BITS_BF16 = 8, BITS_FP32 = 23 };

static int mantissa_bits(const char *type)
{
    static const struct {
        const char *name;
        int bits;
    } types[] = {
        {"FLOAT32", BITS_FP32},  {"BFLOAT16", BITS_BF16},  {"BFLOAT8_B", BITS_BFP8}, {"BFLOAT4_B", BITS_BFP4},
        {"UINT8", BITS_INTEGER}, {"UINT16", BITS_INTEGER}, {"INT32", BITS_INTEGER},  {"UINT32", BITS_INTEGER},
    };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(types[i].name, type) == 0)
            return types[i].bits;
    }
    return BITS_UNKNOWN;
}

struct outcome {
    enum perf_verdict verdict;
    const char *text;
};

/* Rows: which operands; columns: LoFi, HiFi2, HiFi3, HiFi4. */
static const struct outcome outcomes[5][PERF_FIDELITY_UNKNOWN] = {
    /* BF16 activations, an output that keeps their bits */
    {{PERF_VERDICT_TOO_LOW, "LoFi drops bits of the BF16 activations: HiFi2 or HiFi4 is more accurate"},
     {PERF_VERDICT_TOO_LOW,
      "HiFi2 drops the last bit of the BF16 activations: HiFi4 is exact, and costs nothing "
      "where the matmul is not FLOP-bound"},
     {PERF_VERDICT_TOO_LOW,
      "HiFi3 drops the last bit of the BF16 activations: HiFi4 is exact, and costs nothing "
      "where the matmul is not FLOP-bound"},
     {PERF_VERDICT_SUFFICIENT,
      "HiFi2 is twice as fast as HiFi4 and drops only the last bit of the activations"}},
    /* BF16 activations, BFP4 output */
    {{PERF_VERDICT_TOO_LOW, "HiFi2 may be more accurate where many products are summed"},
     {PERF_VERDICT_SUFFICIENT, "LoFi, nearly twice as fast as HiFi2, may do for a BFP4 output"},
     {PERF_VERDICT_TOO_HIGH, "HiFi2 will do for a BFP4 output and is faster than HiFi3"},
     {PERF_VERDICT_TOO_HIGH, "HiFi2 will do for a BFP4 output and is twice as fast as HiFi4"}},
    /* weights of at least 7 bits, an output of at least 7 */
    {{PERF_VERDICT_TOO_LOW, "LoFi drops the last two bits of the weights: HiFi2 keeps them"},
     {PERF_VERDICT_SUFFICIENT, NULL},
     {PERF_VERDICT_TOO_HIGH, "HiFi2 keeps all bits of BFP8 operands and is faster than HiFi3"},
     {PERF_VERDICT_TOO_HIGH, "HiFi2 keeps all bits of BFP8 operands and is twice as fast as HiFi4"}},
    /* weights of at least 7 bits, BFP4 output */
    {{PERF_VERDICT_TOO_LOW, "HiFi2 may be a little more accurate where many products are summed"},
     {PERF_VERDICT_SUFFICIENT, "LoFi, nearly twice as fast as HiFi2, may do for a BFP4 output"},
     {PERF_VERDICT_TOO_HIGH, "HiFi2 keeps all bits of BFP8 operands and is faster than HiFi3"},
     {PERF_VERDICT_TOO_HIGH, "HiFi2 keeps all bits of BFP8 operands and is twice as fast as HiFi4"}},
    /* BFP4 weights */
    {{PERF_VERDICT_SUFFICIENT, NULL},
     {PERF_VERDICT_TOO_HIGH, "LoFi keeps all bits of BFP4 weights and is much faster"},
     {PERF_VERDICT_TOO_HIGH, "LoFi keeps all bits of BFP4 weights and is much faster"},
     {PERF_VERDICT_TOO_HIGH, "LoFi keeps all bits of BFP4 weights and is much faster"}},
};

enum perf_fidelity perf_fidelity_of(struct slice name)
{
    static const char *const names[] = {
        [PERF_LOFI] = "LoFi", [PERF_HIFI2] = "HiFi2", [PERF_HIFI3] = "HiFi3", [PERF_HIFI4] = "HiFi4"};
    for (unsigned i = 0; i < PERF_FIDELITY_UNKNOWN; i++) {
        if (slice_is(name, names[i]))
            return (enum perf_fidelity)i;
    }
    return PERF_FIDELITY_UNKNOWN;
}

const char *perf_bound_text(unsigned bound)
{
    static const char *const names[] = {"",     "DRAM", "FLOP", "BOTH", "SLOW",
                                        "HOST", "LINK", "GAP",  "L2",   "L3"};
    return bound < COUNT_OF(names) ? names[bound] : "";
}

enum perf_verdict perf_fidelity_verdict(const struct perf_matmul *matmul, const char **text)
{
    int in0 = mantissa_bits(matmul->types[0]), in1 = mantissa_bits(matmul->types[1]);
    int out = mantissa_bits(matmul->types[2]);
    int which = -1;
    if (text)
        *text = NULL;
    if (in0 < 0 || in1 < 0 || out < 0 || matmul->fidelity == PERF_FIDELITY_UNKNOWN)
        return PERF_VERDICT_NONE;
    if (in0 == BITS_BF16 && out >= BITS_BFP8)
        which = 0;
    else if (in0 == BITS_BF16 && out == BITS_BFP4)
        which = 1;
    else if (in1 >= BITS_BFP8 && out >= BITS_BFP8)
        which = 2;
    else if (in1 >= BITS_BFP8 && out == BITS_BFP4)
        which = 3;
    else if (in1 == BITS_BFP4)
        which = 4;
    if (which < 0)
        return PERF_VERDICT_NONE;
    if (text)
        *text = outcomes[which][matmul->fidelity].text;
    return outcomes[which][matmul->fidelity].verdict;
}

static void add(struct perf_matmul_advice *advice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct perf_matmul_advice *advice, const char *format, ...)
{
    va_list args;
    if (advice->count == PERF_MATMUL_ADVICE)
        return;
    va_start(args, format);
    vsnprintf(advice->texts[advice->count++], sizeof advice->texts[0], format, args);
    va_end(args);
}

static void advise_blocks(const struct perf_matmul *matmul, struct perf_matmul_advice *advice)
{
    bool has_block = matmul->block_w != PERF_NO_NUMBER;
    bool has_subblock = matmul->subblock_h != PERF_NO_NUMBER && matmul->subblock_w != PERF_NO_NUMBER;
    bool is_fine = has_block && has_subblock;
    if (!has_block) {
        add(advice, "the program config names no in0_block_w: give one");
    } else if (matmul->block_w < 2) {
        add(advice, "in0_block_w=%d makes the inner loop wait for data: use 2 or more", matmul->block_w);
        is_fine = false;
    }
    if (!has_subblock) {
        add(advice, "the program config names no output subblock: give out_subblock_h and out_subblock_w");
    } else if ((int64_t)matmul->subblock_h * matmul->subblock_w < 2) {
        add(advice,
            "the output subblock of %dx%d reuses nothing: make out_subblock_h * out_subblock_w 2 or more",
            matmul->subblock_h, matmul->subblock_w);
        is_fine = false;
    }
    if (is_fine)
        add(advice, "in0_block_w=%d and the output subblock of %dx%d are as they should be", matmul->block_w,
            matmul->subblock_h, matmul->subblock_w);
}

static void advise_slow(const struct perf_matmul *matmul, const char *fidelity,
                        struct perf_matmul_advice *advice)
{
    const char *memory = matmul->in0_memory;
    if (*memory && !strstr(memory, "L1"))
        add(advice, "put input 0 into L1 if it fits (it is in %s)", memory);
    if (matmul->block_w == PERF_NO_NUMBER && matmul->subblock_h == PERF_NO_NUMBER &&
        matmul->subblock_w == PERF_NO_NUMBER) {
        add(advice, "give a program_config with in0_block_w and out_subblock_h/w: the defaults are used now");
        return;
    }
    advise_blocks(matmul, advice);
    if (fidelity)
        add(advice, "%s", fidelity);
}

void perf_advise_matmul(const struct perf_matmul *matmul, struct perf_matmul_advice *advice)
{
    const char *fidelity;
    enum perf_verdict verdict = perf_fidelity_verdict(matmul, &fidelity);
    advice->count = 0;
    switch (matmul->bound) {
    case PERF_BOUND_DRAM:
    case PERF_BOUND_BOTH:
        if (!matmul->is_dram_sharded && !matmul->is_sparse)
            add(advice,
                "a DRAM-sharded program config (MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig) reads "
                "DRAM faster");
        if (fidelity && (verdict == PERF_VERDICT_TOO_HIGH ||
                         (verdict == PERF_VERDICT_TOO_LOW && matmul->flops_percent < 40)))
            add(advice, "%s", fidelity);
        break;
    case PERF_BOUND_FLOP:
        if (matmul->available_cores > 0 && !matmul->is_dram_sharded &&
            matmul->cores < matmul->available_cores)
            add(advice, "use more cores (%.0f of %.0f now)", matmul->cores, matmul->available_cores);
        else if (matmul->available_cores == 0 && matmul->cores < 64)
            add(advice, "use more cores (%.0f now)", matmul->cores);
        if (fidelity && verdict == PERF_VERDICT_TOO_HIGH)
            add(advice, "%s", fidelity);
        break;
    case PERF_BOUND_SLOW:
        advise_slow(matmul, fidelity, advice);
        break;
    default:
        break;
    }
}
