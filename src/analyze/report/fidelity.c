/* SPDX-License-Identifier: Apache-2.0 */
/* Math fidelity against data types, and the compat mode's advice for a matmul.
 *
 * A multiplication takes as many passes as its fidelity says (LoFi 1, HiFi2 2, HiFi3 3, HiFi4 4), each with a few
 * bits of the operands' mantissas. Mantissas that the data types do not have need no pass; that is all there is to
 * the table below. */
#include "analyze/report/advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
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

enum perf_verdict perf_fidelity_verdict(const struct perf *perf, const struct perf_row *row,
                                        const char **text)
{
    int in0 = mantissa_bits(perf_text(perf, row->types[0])),
        in1 = mantissa_bits(perf_text(perf, row->types[1]));
    int out = mantissa_bits(perf_text(perf, row->types[2]));
    int which = -1;
    if (text)
        *text = NULL;
    if (in0 < 0 || in1 < 0 || out < 0 || row->fidelity == PERF_FIDELITY_UNKNOWN)
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
        *text = outcomes[which][row->fidelity].text;
    return outcomes[which][row->fidelity].verdict;
}

static void add(struct perf_row_advice *advice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct perf_row_advice *advice, const char *format, ...)
{
    va_list args;
    if (advice->count == PERF_ROW_ADVICE)
        return;
    va_start(args, format);
    vsnprintf(advice->texts[advice->count++], sizeof advice->texts[0], format, args);
    va_end(args);
}

static void advise_blocks(const struct perf_row *row, struct perf_row_advice *advice)
{
    bool has_block = row->block_w != PERF_NO_NUMBER;
    bool has_subblock = row->subblock_h != PERF_NO_NUMBER && row->subblock_w != PERF_NO_NUMBER;
    bool is_fine = has_block && has_subblock;
    if (!has_block) {
        add(advice, "the program config names no in0_block_w: give one");
    } else if (row->block_w < 2) {
        add(advice, "in0_block_w=%d makes the inner loop wait for data: use 2 or more", row->block_w);
        is_fine = false;
    }
    if (!has_subblock) {
        add(advice, "the program config names no output subblock: give out_subblock_h and out_subblock_w");
    } else if ((int64_t)row->subblock_h * row->subblock_w < 2) {
        add(advice,
            "the output subblock of %dx%d reuses nothing: make out_subblock_h * out_subblock_w 2 or more",
            row->subblock_h, row->subblock_w);
        is_fine = false;
    }
    if (is_fine)
        add(advice, "in0_block_w=%d and the output subblock of %dx%d are as they should be", row->block_w,
            row->subblock_h, row->subblock_w);
}

static void advise_slow(const struct perf *perf, const struct perf_row *row, const char *fidelity,
                        struct perf_row_advice *advice)
{
    const char *memory = perf_text(perf, row->in0_memory);
    if (*memory && !strstr(memory, "L1"))
        add(advice, "put input 0 into L1 if it fits (it is in %s)", memory);
    if (row->block_w == PERF_NO_NUMBER && row->subblock_h == PERF_NO_NUMBER &&
        row->subblock_w == PERF_NO_NUMBER) {
        add(advice, "give a program_config with in0_block_w and out_subblock_h/w: the defaults are used now");
        return;
    }
    advise_blocks(row, advice);
    if (fidelity)
        add(advice, "%s", fidelity);
}

void perf_compat_advice(const struct perf *perf, const struct perf_row *row, struct perf_row_advice *advice)
{
    const char *fidelity;
    enum perf_verdict verdict = perf_fidelity_verdict(perf, row, &fidelity);
    advice->count = 0;
    if (!row->is_matmul)
        return;
    switch (row->bound) {
    case PERF_BOUND_DRAM:
    case PERF_BOUND_BOTH:
        if (!row->is_dram_sharded)
            add(advice,
                "a DRAM-sharded program config (MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig) reads "
                "DRAM faster");
        if (fidelity && (verdict == PERF_VERDICT_TOO_HIGH ||
                         (verdict == PERF_VERDICT_TOO_LOW && row->flops_percent < 40)))
            add(advice, "%s", fidelity);
        break;
    case PERF_BOUND_FLOP:
        if (row->cores < 64)
            add(advice, "use more cores (%.0f now)", row->cores);
        if (fidelity && verdict == PERF_VERDICT_TOO_HIGH)
            add(advice, "%s", fidelity);
        break;
    case PERF_BOUND_SLOW:
        advise_slow(perf, row, fidelity, advice);
        break;
    default:
        break;
    }
}
