/* SPDX-License-Identifier: Apache-2.0 */
/* What an op does and how much of it: FLOPs, bytes of DRAM, bytes over links. docs/roofline.md has the same formulas in
 * words; tests/unit/test_perf_model.c checks cases that were computed by hand.
 *
 * Sizes are the padded ones, where these are known: that is what the hardware works on. Only tensors that lie in DRAM
 * count as DRAM traffic; each is read or written once. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/report/attributes.h"
#include "analyze/report/internal.h"
#include "analyze/report/work/source.h"
#include "analyze/report/work/torch_ops.h"
#include "base/hash.h"
#include "ops/description.h"
#include "text/csv/cell.h"

/* "(3;3)" or "(3, 3)", from the front of a text. */
static bool take_pair(struct slice text, double *first, double *second)
{
    double *numbers[] = {first, second};
    for (unsigned i = 0; i < 2; i++) {
        while (text.length && strchr("(;, ", text.data[0]))
            text = slice_from(text.data + 1, text.length - 1);
        size_t digits = source_digits(text);
        if (!digits || cell_number(slice_from(text.data, digits), numbers[i]) != NUMBER_WHOLE ||
            !(*numbers[i] > 0))
            return false;
        text = slice_from(text.data + digits, text.length - digits);
    }
    return true;
}

static bool take_window(const struct source *source, double *height, double *width)
{
    return take_pair(source_text(source, PERF_ATTRIBUTE_WINDOW), height, width);
}

static void take_program_config(struct perf_work *work, const struct source *source)
{
    if (!source_has_text(source, PERF_ATTRIBUTE_PROGRAM_CONFIG) &&
        !source_text(source, PERF_ATTRIBUTE_PROGRAM_CONFIG).data)
        return;
    work->block_w = source_int(source, PERF_ATTRIBUTE_BLOCK_W);
    work->subblock_h = source_int(source, PERF_ATTRIBUTE_SUBBLOCK_H);
    work->subblock_w = source_int(source, PERF_ATTRIBUTE_SUBBLOCK_W);
}

/* --- texts --- */

static void append_slice(struct bytes *out, struct slice text)
{
    bytes_append(out, text.data, text.length);
}

static struct bytes *begin_text(struct perf *perf)
{
    bytes_clear(&perf->scratch);
    return &perf->scratch;
}

static uint32_t keep_text(struct perf *perf)
{
    return perf->scratch.length ? perf_intern(perf, perf->scratch.data, perf->scratch.length) : OPS_NONE;
}

/* "BF16, BFP8 => BF16" */
static uint32_t types_text(const struct source *source)
{
    struct bytes *text = begin_text(source->perf);
    struct slice in0 = source->tensors[IN(0)].type, in1 = source->tensors[IN(1)].type,
                 out = source->tensors[OUT(0)].type;
    append_slice(text, cell_type_name(in0));
    if (in1.length) {
        bytes_append_text(text, in0.length ? ", " : "");
        append_slice(text, cell_type_name(in1));
    }
    if (out.length) {
        bytes_append_text(text, text->length ? " => " : "=> ");
        append_slice(text, cell_type_name(out));
    }
    return keep_text(source->perf);
}

/* "HiFi2 BF16 x BFP8 => BF16", with ? for what is not known; nothing where nothing is. */
static uint32_t matmul_types_text(const struct source *source)
{
    static const char *const before[] = {" ", " x ", " => "};
    const struct slice types[] = {source->tensors[IN(0)].type, source->tensors[IN(1)].type,
                                  source->tensors[OUT(0)].type};
    const struct slice none = slice_of("?");
    struct bytes *text = begin_text(source->perf);
    if (!source->fidelity.length && !types[0].length && !types[1].length && !types[2].length)
        return OPS_NONE;
    append_slice(text, source->fidelity.length ? source->fidelity : none);
    for (unsigned i = 0; i < 3; i++) {
        bytes_append_text(text, before[i]);
        append_slice(text, types[i].length ? cell_type_name(types[i]) : none);
    }
    return keep_text(source->perf);
}

static void append_number_of(struct bytes *out, const struct source *source, enum perf_attribute name)
{
    double value = source_number(source, name);
    if (isnan(value))
        bytes_append_text(out, "x");
    else
        bytes_append_format(out, "%.0f", value);
}

/* Absent counts as on. */
static bool is_on(const struct source *source, enum perf_attribute name)
{
    struct slice value =
        ops_find_attribute(source->perf->ops, source->description, perf_attribute_names[name]);
    return !value.data || slice_begins(value, "true");
}

static void append_conv_marks(struct bytes *text, const struct source *source)
{
    bytes_append_text(text, " [ABH=");
    append_number_of(text, source, PERF_ATTRIBUTE_OUT_HEIGHT);
    bytes_append_text(text, "|");
    append_number_of(text, source, PERF_ATTRIBUTE_ACT_BLOCK_H);
    bytes_append_text(text, is_on(source, PERF_ATTRIBUTE_ACT_DOUBLE_BUFFER) ? " ADB" : "");
    bytes_append_text(text, is_on(source, PERF_ATTRIBUTE_SPLIT_READER) ? " SR" : "");
    bytes_append_text(text, "]");
}

/* The first `count` pieces between semicolons or commas of a value, joined by commas. */
static void append_pieces(struct bytes *out, const struct source *source, enum perf_attribute name,
                          unsigned count)
{
    struct slice rest = source_text(source, name);
    if (!rest.data) {
        bytes_append_text(out, "x");
        return;
    }
    for (unsigned i = 0; i < count && rest.length; i++) {
        size_t length = 0;
        while (length < rest.length && rest.data[length] != ';' && rest.data[length] != ',')
            length++;
        bytes_append_text(out, i ? "," : "");
        append_slice(out, slice_from(rest.data, length));
        rest = length < rest.length ? slice_from(rest.data + length + 1, rest.length - length - 1)
                                    : slice_from(NULL, 0);
    }
}

static uint32_t halo_text(const struct source *source)
{
    struct bytes *text = begin_text(source->perf);
    append_slice(text, source->name);
    bytes_append_text(text, " w=");
    append_pieces(text, source, PERF_ATTRIBUTE_WINDOW, 2);
    bytes_append_text(text, " s=");
    append_pieces(text, source, PERF_ATTRIBUTE_STRIDE, 2);
    bytes_append_text(text, " p=");
    append_pieces(text, source, PERF_ATTRIBUTE_PADDING, 4);
    bytes_append_text(text, " d=");
    append_pieces(text, source, PERF_ATTRIBUTE_DILATION, 2);
    bytes_append_text(text, " | ");
    struct slice layout =
        slice_before(slice_before(source_text(source, PERF_ATTRIBUTE_MEMORY_LAYOUT), ";"), ",");
    struct slice inner = slice_after(layout, "::");
    append_slice(text, !layout.data ? slice_of("x") : inner.data ? inner : layout);
    return keep_text(source->perf);
}

/* --- amounts --- */

static double elements(const struct source_tensor *tensor)
{
    return tensor->is_present && tensor->has_shape ? tensor->w * tensor->z * tensor->y * tensor->x : NAN;
}

static double tensor_bytes(const struct source_tensor *tensor)
{
    return elements(tensor) / tensor->repeats * (tensor->type.length ? cell_type_bytes(tensor->type) : NAN);
}

/* Bytes of a tensor that lies in DRAM; 0 elsewhere. What is not known is left out and marked. */
static double dram_part(struct perf_work *work, const struct source_tensor *tensor)
{
    if (!tensor->is_present)
        return 0;
    double bytes = tensor_bytes(tensor);
    if (tensor->memory.length && !slice_has(tensor->memory, "DRAM"))
        return 0;
    if (!tensor->memory.length || isnan(bytes)) {
        work->model_flags |= PERF_BYTES_AT_LEAST;
        return 0;
    }
    work->unpadded += (float)(bytes * tensor->unpadded);
    return bytes;
}

static void take_all_bytes(struct perf_work *work, const struct source *source)
{
    bool is_any = false;
    work->dram_bytes = 0;
    for (size_t t = 0; t < SOURCE_TENSORS; t++) {
        is_any |= source->tensors[t].is_present;
        work->dram_bytes += dram_part(work, &source->tensors[t]);
    }
    if (!is_any)
        work->dram_bytes = NAN;
}

/* Ops that touch only as much of their inputs as they write: slices, gathers, caches. */
static void take_written_bytes(struct perf_work *work, const struct source *source, size_t written)
{
    const struct source_tensor *in = &source->tensors[IN(0)], *out = &source->tensors[written];
    double amount = elements(out);
    work->dram_bytes = dram_part(work, out);
    if (in->is_present && slice_has(in->memory, "DRAM") && in->type.length && !isnan(amount)) {
        work->dram_bytes += amount * cell_type_bytes(in->type);
        work->unpadded += (float)(amount * cell_type_bytes(in->type) * out->unpadded);
    }
}

/* --- classes --- */

/* "NAME b={4} x 32 x 64 x 128", without the batch where it is 1. */
static struct bytes *begin_shape(const struct source *source, double batch, double m, double k, double n)
{
    struct bytes *text = begin_text(source->perf);
    append_slice(text, source->name);
    if (batch > 1)
        bytes_append_format(text, " b={%.0f} x", batch);
    bytes_append_format(text, " %.0f x %.0f x %.0f", m, k, n);
    return text;
}

/* A kernel that a program launched by itself has no tensors at all, and its name is enough. */
static void show_unknown_shape(struct perf_work *work, const struct source *source)
{
    const struct op_description *d = ops_get_description(source->perf->ops, source->description);
    if (!d->inputs && !d->outputs)
        return;
    struct bytes *text = begin_text(source->perf);
    append_slice(text, source->name);
    bytes_append_text(text, " unknown shape");
    work->shown = keep_text(source->perf);
}

static void take_matmul(struct perf_work *work, const struct source *source)
{
    const struct source_tensor *in0 = &source->tensors[IN(0)], *in1 = &source->tensors[IN(1)],
                               *out = &source->tensors[OUT(0)];
    work->is_matmul = true;
    work->is_dram_sharded = source_has_text(source, PERF_ATTRIBUTE_DRAM_SHARDED);
    work->math = matmul_types_text(source);
    work->has_shape = in0->has_shape && in1->has_shape && out->has_shape;
    if (!work->has_shape) {
        show_unknown_shape(work, source);
        return;
    }
    double w = fmax(in0->w, in1->w), z = fmax(in0->z, in1->z);
    work->dram_bytes = dram_part(work, in0) + dram_part(work, in1) + dram_part(work, out);
    work->flops = 2 * in0->y * in0->x * in1->x * w * z;
    begin_shape(source, w * z, in0->y, in0->x, in1->x);
    work->shown = keep_text(source->perf);
}

static const char kind_sparse[] = "sparse matmul";

static void take_sparse_matmul(struct perf_work *work, const struct source *source)
{
    const struct source_tensor *in0 = &source->tensors[IN(0)], *in1 = &source->tensors[IN(1)],
                               *out = &source->tensors[OUT(0)];
    struct perf *perf = source->perf;
    work->is_matmul = true;
    work->math = matmul_types_text(source);
    work->has_shape = in0->has_shape && in1->has_shape && out->has_shape;
    if (!work->has_shape) {
        show_unknown_shape(work, source);
        return;
    }
    double batch0 = in0->w * in0->z, batch1 = in1->w * in1->z;
    bool is_a_sparse = source_is_true(source, PERF_ATTRIBUTE_A_SPARSE);
    bool is_b_sparse = source_is_true(source, PERF_ATTRIBUTE_B_SPARSE);
    double groups = is_a_sparse && is_b_sparse ? 1 : is_a_sparse ? fmax(1, floor(batch0 / batch1)) : batch0;
    double dense = is_a_sparse && is_b_sparse ? batch0 : is_a_sparse ? groups * batch1 : batch0 * batch1;
    double active = source_number(source, PERF_ATTRIBUTE_ACTIVE);
    if (isnan(active) && perf->options.active_experts)
        active = (double)perf->options.active_experts * groups;
    struct bytes *text = begin_text(perf);
    append_slice(text, source->name);
    if (isnan(active)) {
        bytes_append_format(text, " active=?/%.0f", dense);
        perf_note(perf, PERF_NOTE_WARN, kind_sparse,
                  "a sparse matmul (%.*s) does not record how many blocks are active: no figures "
                  "(--active-experts K)",
                  (int)source->name.length, source->name.data);
    } else {
        double a = in0->y * in0->x, b = in1->y * in1->x, c = in0->y * in1->x;
        work->flops = 2 * in0->y * in0->x * in1->x * active;
        work->dram_bytes = active * ((dram_part(work, in0) > 0 ? a * cell_type_bytes(in0->type) : 0) +
                                     (dram_part(work, in1) > 0 ? b * cell_type_bytes(in1->type) : 0) +
                                     (dram_part(work, out) > 0 ? c * cell_type_bytes(out->type) : 0));
        bytes_append_format(text, " active=%.0f/%.0f", active, dense);
    }
    bytes_append_format(text, " x %.0f x %.0f x %.0f", in0->y, in0->x, in1->x);
    work->shown = keep_text(perf);
}

static void take_conv(struct perf_work *work, const struct source *source)
{
    const struct source_tensor *in0 = &source->tensors[IN(0)], *in1 = &source->tensors[IN(1)],
                               *out = &source->tensors[OUT(0)];
    double height, width;
    work->is_conv = true;
    work->math = matmul_types_text(source);
    work->has_shape =
        in0->has_shape && in1->has_shape && out->has_shape && take_window(source, &height, &width);
    take_all_bytes(work, source);
    if (!work->has_shape) {
        show_unknown_shape(work, source);
        return;
    }
    double m = out->y, k = in0->x * height * width, n = in1->x;
    double groups = source_number(source, PERF_ATTRIBUTE_GROUPS);
    work->flops = 2 * m * k * n;
    if (groups > 1) { /* each output channel sees one group of the inputs */
        work->flops /= groups;
        work->model_flags |= PERF_FLOPS_AT_LEAST;
    }
    append_conv_marks(begin_shape(source, 1, m, k, n), source);
    work->shown = keep_text(source->perf);
}

/* "{17; 3; -1}", the position that each user is at; one below 0 has none. Positions in use of all users together. */
static double positions_in_use(struct slice text, double *users)
{
    double sum = 0, position;
    *users = 0;
    while (text.length && text.data[0] != '}' && text.data[0] != ']') {
        size_t digits = source_digits(text);
        if (digits && cell_number(slice_from(text.data, digits), &position) == NUMBER_WHOLE) {
            sum += position + 1;
            *users += 1;
        } else if (text.data[0] == '-') {
            text = slice_from(text.data + 1, text.length - 1);
            digits = source_digits(text);
            *users += digits > 0;
        }
        digits = digits ? digits : 1;
        text =
            digits < text.length ? slice_from(text.data + digits, text.length - digits) : slice_from(NULL, 0);
    }
    return *users > 0 ? sum : NAN;
}

/* One position of each user, against a cache: its part that is in use, where the op says which that is. */
static void take_decode(struct perf_work *work, const struct source *source)
{
    const struct source_tensor *q = &source->tensors[IN(0)], *k = &source->tensors[IN(1)];
    bool is_paged = source_is_true(source, PERF_ATTRIBUTE_PAGED);
    struct perf_work cache = perf_no_work;
    double users, used = positions_in_use(source_text(source, PERF_ATTRIBUTE_POSITIONS), &users);
    double share = fmin(used / (k->w * k->y), 1);
    double window = source_number(source, PERF_ATTRIBUTE_SLIDING_WINDOW);
    work->flops = 4 * elements(q) *
                  (used > 0   ? fmin(used / users, k->y * (is_paged ? k->w : 1))
                   : is_paged ? k->w * k->y / q->z /* blocks of all users */
                              : k->y);
    if (used > 0 && isnan(window)) {
        work->dram_bytes -= (1 - share) * (dram_part(&cache, k) + dram_part(&cache, &source->tensors[IN(2)]));
        return;
    }
    work->model_flags |= PERF_FLOPS_AT_MOST | PERF_BYTES_AT_MOST; /* a cache need not be full */
}

/* Scores and their product with the values: 4 FLOPs for each element of Q and each position of K. */
static void take_attention(struct perf_work *work, const struct source *source, unsigned parts)
{
    const struct source_tensor *q = &source->tensors[IN(0)], *k = &source->tensors[IN(1)];
    take_all_bytes(work, source);
    if (!q->has_shape || !k->has_shape) {
        work->model_flags |= PERF_BYTES_AT_MOST;
        return;
    }
    work->has_shape = true;
    if (parts & PERF_PART_DECODE) {
        take_decode(work, source);
        return;
    }
    work->flops = 4 * elements(q) * k->y;
    if (source_is_true(source, PERF_ATTRIBUTE_CAUSAL))
        work->flops /= 2;
    if (!isnan(source_number(source, PERF_ATTRIBUTE_SLIDING_WINDOW)))
        work->model_flags |= PERF_FLOPS_AT_MOST | PERF_BYTES_AT_MOST;
    if (parts & PERF_PART_JOINT)
        work->model_flags |= PERF_FLOPS_AT_LEAST; /* the other devices' keys come in over links */
}

/* FLOPs for each element of a tensor. */
static void take_per_element(struct perf_work *work, const struct source *source, size_t tensor, double flops)
{
    take_all_bytes(work, source);
    double count = elements(&source->tensors[tensor]);
    if (isnan(count))
        return;
    work->has_shape = true;
    work->flops = flops * count;
}

static void take_pool(struct perf_work *work, const struct source *source)
{
    double height, width;
    double count = elements(&source->tensors[OUT(0)]);
    take_all_bytes(work, source);
    if (isnan(count))
        return;
    work->has_shape = true;
    if (take_window(source, &height, &width)) {
        work->flops = height * width * count;
    } else {
        work->flops = elements(&source->tensors[IN(0)]);
        work->model_flags |= PERF_FLOPS_AT_LEAST;
    }
}

/* Collectives list buffers for what is under way among their outputs. The result of a reduce-scatter is the smallest of
 * them, that of the others the largest. */
static double result_bytes(const struct source *source, bool is_smallest)
{
    double result = NAN;
    for (size_t i = 0; i < SOURCE_OUTPUTS; i++) {
        double bytes = tensor_bytes(&source->tensors[OUT(i)]);
        if (!isnan(bytes))
            result = isnan(result) ? bytes : is_smallest ? fmin(result, bytes) : fmax(result, bytes);
    }
    return result;
}

/* What a device sends in a ring: everything but its own share. */
static void take_collective(struct perf_work *work, const struct source *source, unsigned parts)
{
    const struct source_tensor *in = &source->tensors[IN(0)], *out = &source->tensors[OUT(0)];
    double in_bytes = tensor_bytes(in), out_bytes = result_bytes(source, parts & PERF_PART_REDUCE_SCATTER);
    bool is_linear = source_has_text(source, PERF_ATTRIBUTE_LINEAR);
    take_all_bytes(work, source);
    work->link_count = (float)source_number(source, PERF_ATTRIBUTE_LINKS);
    if (isnan(work->link_count))
        work->model_flags |= PERF_LINK_ASSUMED;
    double group = source_number(source, PERF_ATTRIBUTE_DISPATCH_GROUP);
    double experts = source_number(source, PERF_ATTRIBUTE_EXPERTS_PER_TOKEN);
    double routed = source_number(source, PERF_ATTRIBUTE_ROUTED_EXPERTS);
    if (isnan(in_bytes) || isnan(out_bytes))
        return;
    if ((parts & PERF_PART_ALL_GATHER) && in_bytes > 0) {
        double ring = floor(out_bytes / in_bytes);
        work->link_bytes = ring > 1 ? out_bytes * (ring - 1) / ring * (is_linear ? 2 : 1) : NAN;
    } else if ((parts & PERF_PART_REDUCE_SCATTER) && out_bytes > 0) {
        double ring = floor(in_bytes / out_bytes);
        work->link_bytes = ring > 1 ? in_bytes * (ring - 1) / ring * (is_linear ? 2 : 1) : NAN;
    } else if (parts & PERF_PART_ALL_REDUCE) {
        work->link_bytes = 2 * in_bytes * (is_linear ? 2 : 1); /* (n - 1) / n of it, n unknown */
        work->model_flags |= PERF_LINK_ASSUMED;
    } else if (group > 0 && experts > 0) {
        double total = parts & PERF_PART_COMBINE ? out_bytes / out->y : in_bytes;
        total *= group * experts / (isnan(routed) ? 256 : routed);
        work->link_bytes = total * group * group / (is_linear ? 4 : 8);
    } else {
        work->link_bytes = fmax(in_bytes, out_bytes);
        work->model_flags |= PERF_LINK_ASSUMED;
    }
}

static void take_move(struct perf_work *work, const struct source *source, unsigned parts)
{
    if (parts & PERF_PART_CACHE)
        take_written_bytes(work, source, IN(1)); /* the cache is written in place, where the input says */
    else if (parts & PERF_PART_COPY)
        work->dram_bytes =
            dram_part(work, &source->tensors[IN(0)]) + dram_part(work, &source->tensors[OUT(0)]);
    else if (parts & PERF_PART_SLICE)
        take_written_bytes(work, source, OUT(0));
    else
        take_all_bytes(work, source);
    work->has_shape = !isnan(work->dram_bytes);
}

static void take_embedding(struct perf_work *work, const struct source *source)
{
    const struct source_tensor *table = &source->tensors[IN(1)], *out = &source->tensors[OUT(0)];
    work->dram_bytes = dram_part(work, &source->tensors[IN(0)]) + dram_part(work, out);
    if (slice_has(table->memory, "DRAM") && table->type.length && out->has_shape)
        work->dram_bytes += elements(out) * cell_type_bytes(table->type);
    work->has_shape = out->has_shape;
}

static void take_by_class(struct perf_work *work, const struct source *source, struct perf_name name)
{
    switch (work->class_) {
    case PERF_CLASS_MATMUL:
        take_matmul(work, source);
        break;
    case PERF_CLASS_SPARSE_MATMUL:
        take_sparse_matmul(work, source);
        break;
    case PERF_CLASS_CONV:
        take_conv(work, source);
        break;
    case PERF_CLASS_ATTENTION:
        take_attention(work, source, name.parts);
        break;
    case PERF_CLASS_NORM:
        take_per_element(work, source, IN(0), name.parts & PERF_PART_RMS ? 4 : 7);
        work->model_flags |= PERF_FLOPS_AT_MOST;
        break;
    case PERF_CLASS_SOFTMAX:
        take_per_element(work, source, IN(0), 5);
        break;
    case PERF_CLASS_ELEMENTWISE:
        take_per_element(work, source, OUT(0), name.parts & PERF_PART_ROTARY ? 3 : 1);
        work->model_flags |= PERF_FLOPS_AT_LEAST;
        break;
    case PERF_CLASS_REDUCTION:
        take_per_element(work, source, IN(0), 1);
        work->model_flags |= PERF_FLOPS_AT_LEAST;
        break;
    case PERF_CLASS_POOL:
        take_pool(work, source);
        break;
    case PERF_CLASS_COLLECTIVE:
        take_collective(work, source, name.parts);
        break;
    case PERF_CLASS_EMBEDDING:
        take_embedding(work, source);
        break;
    case PERF_CLASS_MOVE:
        take_move(work, source, name.parts);
        if (name.parts & PERF_PART_HALO)
            work->shown = halo_text(source);
        break;
    default:
        take_all_bytes(work, source);
        work->model_flags |= PERF_BYTES_AT_MOST;
        break;
    }
}

/* Whoever recorded the op knows better than what its tensors let us guess. */
static void take_stated(struct perf_work *work, const struct source *source)
{
    double flops = source_number(source, PERF_ATTRIBUTE_FLOPS);
    double bytes = source_number(source, PERF_ATTRIBUTE_BYTES);
    if (!isnan(flops)) {
        work->flops = flops;
        work->shown = work->has_shape ? work->shown : work->name;
        work->has_shape = true;
        work->model_flags &= (uint8_t) ~(PERF_FLOPS_AT_MOST | PERF_FLOPS_AT_LEAST);
    }
    if (!isnan(bytes)) {
        work->dram_bytes = bytes;
        work->unpadded = 0;
        work->model_flags &= (uint8_t) ~(PERF_BYTES_AT_MOST | PERF_BYTES_AT_LEAST);
    }
}

/* An op of PyTorch whose amounts are not those of its class. */
static void take_torch(struct perf_work *work, const struct source *source, struct perf_name name)
{
    struct torch_amounts amounts = torch_amounts(source->perf->ops, name.model, source->description);
    work->flops = amounts.flops;
    work->dram_bytes = amounts.bytes;
    work->has_shape = amounts.flops >= 0 || amounts.bytes >= 0;
    work->is_without_work = name.model == TORCH_NOTHING;
    if (amounts.m > 0 && amounts.n > 0) {
        begin_shape(source, amounts.batch, amounts.m, amounts.k, amounts.n);
        work->shown = keep_text(source->perf);
    }
}

/* " 8x3x32x32"; false: its sizes are not recorded. */
static bool append_sizes(struct bytes *text, const struct ops *ops, uint32_t tensor_id)
{
    const struct op_tensor *tensor = &ops->tensors[tensor_id];
    if (!tensor->rank || tensor->shape == OPS_NONE)
        return false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        bytes_append_format(text, "%s%" PRId64, i ? "x" : " ", ops->sizes[tensor->shape + i]);
    return true;
}

/* The sizes that tell apart the calls of an op whose model has no m, k and n: of its input; of a convolution's and of
 * attention's first two, which is the weight or the keys. */
static uint32_t torch_text(const struct source *source, const struct perf_work *work)
{
    const struct ops *ops = source->perf->ops;
    const struct op_description *d = ops_get_description(ops, source->description);
    unsigned count = 0;
    switch ((enum perf_class)work->class_) {
    case PERF_CLASS_CONV:
    case PERF_CLASS_ATTENTION:
        count = 2;
        break;
    case PERF_CLASS_NORM:
    case PERF_CLASS_SOFTMAX:
    case PERF_CLASS_POOL:
    case PERF_CLASS_REDUCTION:
    case PERF_CLASS_EMBEDDING:
        count = 1;
        break;
    default: /* elementwise ops of one name and of many sizes are one thing to look at */
        return work->shown;
    }
    struct bytes *text = begin_text(source->perf);
    append_slice(text, source->name);
    for (unsigned i = 0; i < count && i < d->inputs; i++) {
        if (i)
            bytes_append_text(text, " x");
        if (!append_sizes(text, ops, ops_inputs(ops, d)[i]))
            return work->shown;
    }
    return keep_text(source->perf);
}

static struct perf_name known_name(struct perf *perf, uint32_t name)
{
    struct perf_known_name *known = &perf->known_names[name % PERF_KNOWN_NAMES];
    if (known->text_plus_1 != name + 1)
        *known = (struct perf_known_name){name + 1, perf_name_of(perf_text(perf, name))};
    return known->name;
}

/* Of an op whose name says nothing. */
static struct perf_name stated_class(struct perf *perf, uint32_t name, uint32_t description,
                                     struct perf_name known)
{
    struct perf_attribute_search search = {0};
    struct slice text = perf_next_attribute(perf->ops, description, PERF_ATTRIBUTE_CLASS, &search);
    for (unsigned c = 0; c < PERF_CLASSES && known.class_ == PERF_CLASS_OTHER && !known.is_torch; c++) {
        if (slice_is(text, perf_class_text(c)))
            known.class_ = (uint8_t)c;
    }
    if (text.length && !known.is_torch)
        known.category = (uint8_t)perf_category_of(perf_text(perf, name), known.class_);
    return known;
}

static struct perf_work make_work(struct perf *perf, uint32_t name, uint32_t description,
                                  enum perf_work_kind kind)
{
    const struct op_description *d = ops_get_description(perf->ops, description);
    struct perf_name known = stated_class(perf, name, description, known_name(perf, name));
    struct source source = {.perf = perf,
                            .name = ops_get_slice(perf->ops, name),
                            .fidelity = ops_get_slice(perf->ops, d->fidelity),
                            .description = description};
    struct perf_work work = perf_no_work;
    work.name = work.shown = name;
    work.class_ = known.class_;
    work.is_torch = known.is_torch;
    work.category = known.category;
    work.fidelity = (uint8_t)perf_fidelity_of(source.fidelity);
    if (d->inputs)
        work.memory = perf->ops->tensors[ops_inputs(perf->ops, d)[0]].memory;
    for (unsigned i = 0; i < 2 && i < d->inputs; i++)
        work.types[i] = perf->ops->tensors[ops_inputs(perf->ops, d)[i]].dtype;
    if (d->outputs)
        work.types[2] = perf->ops->tensors[ops_outputs(perf->ops, d)[0]].dtype;
    source_take_tensors(&source);
    work.math = types_text(&source);
    take_program_config(&work, &source);
    work.model = known.model;
    if (kind == PERF_WORK_INSIDE) {
        work.class_ = PERF_CLASS_OTHER;
        work.category = PERF_OTHER;
        work.is_without_work = true;
    } else if (kind == PERF_WORK_OWN) {
        if (known.model == TORCH_BY_CLASS)
            take_by_class(&work, &source, known);
        else
            take_torch(&work, &source, known);
        if (known.is_torch && work.shown == name && !work.is_without_work)
            work.shown = torch_text(&source, &work);
        take_stated(&work, &source);
    }
    bool is_padded = work.unpadded > 0 && (double)work.unpadded < work.dram_bytes;
    work.unpadded = is_padded ? work.unpadded / (float)work.dram_bytes : 1;
    return work;
}

/* All that make_work looks at. Descriptions differ in much that it does not look at: an op with an attribute of its own
 * still has the work of others. */
static void make_key(struct perf *perf, uint32_t name, uint32_t description, enum perf_work_kind kind)
{
    const struct ops *ops = perf->ops;
    const struct op_description *d = ops_get_description(ops, description);
    const uint32_t head[] = {name, kind, d->fidelity, d->inputs, d->outputs};
    struct bytes *key = &perf->work_key;
    bytes_clear(key);
    bytes_append(key, head, sizeof head);
    if (d->inputs || d->outputs)
        bytes_append(key, ops_inputs(ops, d), ((size_t)d->inputs + d->outputs) * sizeof(uint32_t));
    for (size_t i = 0; i < d->attributes; i++) {
        uint32_t attribute = ops_attributes(ops, d)[i];
        if (perf_attribute_matters(&perf->attributes, ops, attribute))
            bytes_append(key, &attribute, sizeof attribute);
    }
}

uint32_t perf_find_work(struct perf *perf, uint32_t name, uint32_t description, enum perf_work_kind kind)
{
    uint64_t key = ((uint64_t)name << 34 | (uint64_t)kind << 32 | description) + 1;
    struct perf_known_work *known = &perf->known_works[hash_mix(key, PERF_KNOWN_MIX) % PERF_KNOWN_WORKS];
    if (known->key == key)
        return known->work;
    make_key(perf, name, description, kind);
    size_t before = perf->work_index.count;
    uint32_t id = perf->work_key.failed || perf->attributes.failed
                      ? INTERN_NONE
                      : intern_add(&perf->work_index, perf->work_key.data, perf->work_key.length);
    if (id == INTERN_NONE ||
        !array_reserve(&perf->works, &perf->work_capacity, (size_t)id + 1, sizeof *perf->works)) {
        perf->failed = true;
        return OPS_NONE;
    }
    if (perf->work_index.count > before)
        perf->works[perf->work_count++] = make_work(perf, name, description, kind);
    *known = (struct perf_known_work){key, id};
    return id;
}
