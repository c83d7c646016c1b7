/* SPDX-License-Identifier: Apache-2.0 */
/* From amounts to cycles of one engine.
 *
 * A "dma" target's engine streams: its cycles are the largest of reading operands, of element-wise results, and of
 * MACs.
 * A "cache" target's engine runs loops one after the other: the cycles of all kinds of work add up. */
#include <math.h>

#include "analyze/estimate/groups.h"

/* A register holds this many rows and columns of a matmul; fewer leave lanes idle. */
#define MATMUL_TILE 8.0

double estimate_scale(const struct estimate_target *target, unsigned class, unsigned format)
{
#define SCALES(key)                                                                                          \
    {                                                                                                        \
        target->key##_int8, target->key##_int, target->key##_float, target->key##_bf16, target->key##_f16    \
    }
    const double scales[][MODEL_FORMATS] = {
        SCALES(scale_matmul),      SCALES(scale_conv),   SCALES(scale_depthwise),
        SCALES(scale_elementwise), SCALES(scale_reduce), SCALES(scale_transcendental),
        SCALES(scale_move),
    };
#undef SCALES
    static const uint8_t row[MODEL_CLASSES] = {
        [MODEL_MATMUL] = 0,    [MODEL_CONV] = 1, [MODEL_DEPTHWISE] = 2,      [MODEL_ELEMENTWISE] = 3,
        [MODEL_REDUCTION] = 4, [MODEL_POOL] = 4, [MODEL_TRANSCENDENTAL] = 5, [MODEL_SOFTMAX] = 5,
        [MODEL_MOVE] = 6,      [MODEL_FILL] = 6, [MODEL_UNKNOWN] = 6,        [MODEL_FREE] = 6,
    };
    double scale = class < MODEL_CLASSES && format < MODEL_FORMATS ? scales[row[class]][format] : 1;
    return scale > 0 ? scale : 1;
}

static double rate_of(const struct estimate_target *target, unsigned number, unsigned bits)
{
    if (number == MODEL_BFLOAT)
        return target->macs_bf16;
    if (number == MODEL_FLOAT)
        return bits <= 16 ? target->macs_f16 : bits <= 32 ? target->macs_f32 : target->macs_f32 / 2;
    return bits <= 8 ? target->macs_i8 : bits <= 16 ? target->macs_i16 : bits <= 32 ? target->macs_i32 : 0;
}

double estimate_mac_rate(const struct estimate_target *target, unsigned number, unsigned data_bits,
                         unsigned weight_bits)
{
    double data = rate_of(target, number, data_bits), weights = rate_of(target, number, weight_bits);
    return number == MODEL_INTEGER ? sqrt(data * weights) : data < weights ? data : weights;
}

static double of_macs(const struct model_op *op, const struct estimate_target *target)
{
    double rate = estimate_mac_rate(target, op->number, op->data_bits, op->weight_bits);
    if (op->macs == 0)
        return 0;
    if (op->class == MODEL_DEPTHWISE)
        rate *= target->depthwise_factor;
    else
        rate *= op->class == MODEL_CONV ? target->conv_factor : target->matmul_factor;
    if (target->kind == ESTIMATE_CACHE && op->class == MODEL_MATMUL)
        rate *=
            fmin((double)op->m, MATMUL_TILE) / MATMUL_TILE * fmin((double)op->n, MATMUL_TILE) / MATMUL_TILE;
    if (op->number == MODEL_BFLOAT && op->class != MODEL_MATMUL)
        rate /= op->class == MODEL_CONV ? target->bf16_conv_slowdown : target->bf16_depthwise_slowdown;
    return rate > 0 ? (double)op->macs / rate : -1;
}

/* Rates are of 32-bit numbers; narrower ones go faster where the compiler vectorises. The powers are read off measured
 * pools and transposes of i8, i16 and f32. */
static double widened(double rate, const struct model_op *op, double power)
{
    return op->data_bits && op->number != MODEL_FLOAT ? rate * pow(32.0 / fmax(op->data_bits, 8), power)
                                                      : rate;
}

#define SHORT_REDUCTION 16u

static double reduction_rate(const struct model_op *op, const struct estimate_target *target, uint64_t bytes)
{
    bool is_short = !op->reduces_outer && op->k < SHORT_REDUCTION && op->data_bits <= 16;
    if (target->scalar_per_cycle > 0 && (op->is_scalar || is_short))
        return target->scalar_per_cycle * (op->number == MODEL_BFLOAT ? target->bf16_reduce_slowdown : 1);
    if (op->reduces_outer && (double)bytes > target->local_bytes)
        return target->reduce_far_per_cycle;
    if (op->reduces_outer) /* whole vectors: the narrower, the more */
        return target->reduce_outer_per_cycle * 32 / (op->data_bits > 8 ? op->data_bits : 8);
    return op->number != MODEL_INTEGER ? target->reduce_f32_per_cycle
           : op->data_bits <= 8        ? target->reduce_i8_per_cycle
                                       : target->reduce_i32_per_cycle;
}

static double per(uint64_t amount, double rate)
{
    return rate > 0 ? (double)amount / rate : 0;
}

static double vector_rate(const struct model_op *op, const struct estimate_target *target)
{
    double width = op->data_bits > 8 ? op->data_bits / 8.0 : 1;
    double lanes = target->vector_bytes * target->vector_factor / width;
    return target->vector_results > 0 ? fmin(lanes, target->vector_results * target->vector_factor) : lanes;
}

/* Loops of a core, one after the other. */
static double of_loop(const struct model_op *op, const struct model_work_amount *work,
                      const struct estimate_target *target, uint64_t read_bytes)
{
    bool is_bf16 = op->number == MODEL_BFLOAT;
    double gathering = is_bf16 ? target->bf16_reduce_slowdown : 1;
    switch ((enum model_work)work->kind) {
    case MODEL_ARITHMETIC:
        return per(work->amount, vector_rate(op, target)) * (is_bf16 ? target->bf16_elementwise_slowdown : 1);
    case MODEL_EXP:
        return per(work->amount, target->exp_per_cycle);
    case MODEL_LOG:
        return per(work->amount, target->log_per_cycle);
    case MODEL_RSQRT:
        return per(work->amount, target->rsqrt_per_cycle);
    case MODEL_REDUCED:
        return per(work->amount, reduction_rate(op, target, read_bytes)) * gathering;
    case MODEL_WINDOW:
        return per(work->amount, is_bf16 ? target->pool_per_cycle : widened(target->pool_per_cycle, op, 2)) *
               gathering;
    case MODEL_SOFT:
        return (double)work->amount * target->softmax_cycles;
    case MODEL_SHUFFLE:
        return per(work->amount, widened(target->transpose_per_cycle, op, 1.5));
    default:
        return 0;
    }
}

/* Element-wise steps of a streaming engine. */
static double steps_of(const struct model_work_amount *work, const struct estimate_target *target)
{
    switch ((enum model_work)work->kind) {
    case MODEL_EXP:
    case MODEL_LOG:
    case MODEL_RSQRT:
        return (double)work->amount * target->transcendental_ops;
    case MODEL_SOFT:
        return (double)work->amount * (target->transcendental_ops + 1);
    case MODEL_SHUFFLE:
        return 0;
    default:
        return (double)work->amount;
    }
}

static bool has_engine(const struct model_op *op, const struct estimate_target *target)
{
    return op->class == MODEL_MOVE || op->class == MODEL_FILL || op->class == MODEL_UNKNOWN ||
           rate_of(target, op->number, op->data_bits) > 0;
}

double estimate_engine_cycles(const struct estimate_groups *groups, const struct estimate_group *group,
                              const struct model *model, const struct estimate_target *target)
{
    double macs = 0, loops = 0, steps = 0, reading = 0;
    for (uint32_t i = 0; i < group->members; i++) {
        const struct model_op *op = &model->ops[groups->members[group->first_member + i]];
        double cycles = of_macs(op, target);
        if (cycles < 0 || (target->kind == ESTIMATE_DMA && !has_engine(op, target)))
            return -1;
        macs += cycles;
        for (uint32_t k = 0; k < op->works; k++) {
            const struct model_work_amount *work = &model->works[op->first_work + k];
            loops += of_loop(op, work, target, group->read_bytes);
            steps += steps_of(work, target);
        }
    }
    if (target->kind == ESTIMATE_CACHE)
        return macs + loops;
    for (uint32_t i = 0; i < group->inputs; i++)
        reading += ceil((double)groups->inputs[group->first_input + i].bytes / target->vector_bytes);
    double results =
        target->vector_results > 0 ? ceil(steps / (target->vector_results * target->vector_factor)) : 0;
    return fmax(ceil(macs), fmax(results, reading));
}
