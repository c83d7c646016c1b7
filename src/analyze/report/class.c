/* SPDX-License-Identifier: Apache-2.0 */
/* What an op does and how much of it: FLOPs, bytes of DRAM, bytes over links. docs/roofline.md has the same formulas
 * in words; tests/unit/test_perf_model.c checks cases that were computed by hand.
 *
 * Sizes are the padded ones: that is what the hardware works on. Only tensors that lie in DRAM count as DRAM
 * traffic; each is read or written once. */
#include "analyze/report/class.h"

#include "analyze/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

/* First match wins; any case. */
static const struct {
    const char *part;
    uint8_t class_;
} class_names[] = {
    {"sparsematmul", PERF_CLASS_SPARSE_MATMUL},
    {"sparse_matmul", PERF_CLASS_SPARSE_MATMUL},
    {"matmul", PERF_CLASS_MATMUL},
    {"gemm", PERF_CLASS_MATMUL},
    {"linear", PERF_CLASS_MATMUL},
    {"sdpa", PERF_CLASS_ATTENTION},
    {"scaleddotproduct", PERF_CLASS_ATTENTION},
    {"attention", PERF_CLASS_ATTENTION},
    {"halo", PERF_CLASS_MOVE},
    {"conv2d", PERF_CLASS_CONV},
    {"optimizedconv", PERF_CLASS_CONV},
    {"conv3d", PERF_CLASS_CONV},
    {"rmsallgather", PERF_CLASS_NORM},
    {"norm", PERF_CLASS_NORM},
    {"softmax", PERF_CLASS_SOFTMAX},
    {"allgather", PERF_CLASS_COLLECTIVE},
    {"reducescatter", PERF_CLASS_COLLECTIVE},
    {"allreduce", PERF_CLASS_COLLECTIVE},
    {"alltoall", PERF_CLASS_COLLECTIVE},
    {"allbroadcast", PERF_CLASS_COLLECTIVE},
    {"reducetoroot", PERF_CLASS_COLLECTIVE},
    {"slicereshardasync", PERF_CLASS_COLLECTIVE},
    {"sendasync", PERF_CLASS_COLLECTIVE},
    {"recvasync", PERF_CLASS_COLLECTIVE},
    {"senddirect", PERF_CLASS_COLLECTIVE},
    {"recvdirect", PERF_CLASS_COLLECTIVE},
    {"postcombinereduce", PERF_CLASS_REDUCTION},
    {"dispatch", PERF_CLASS_COLLECTIVE},
    {"combine", PERF_CLASS_COLLECTIVE},
    {"rotaryembedding", PERF_CLASS_ELEMENTWISE},
    {"embedding", PERF_CLASS_EMBEDDING},
    {"pool", PERF_CLASS_POOL},
    {"reduce", PERF_CLASS_REDUCTION},
    {"argmax", PERF_CLASS_REDUCTION},
    {"topk", PERF_CLASS_REDUCTION},
    {"cumsum", PERF_CLASS_REDUCTION},
    {"accumulation", PERF_CLASS_REDUCTION},
    {"bincount", PERF_CLASS_REDUCTION},
    {"binary", PERF_CLASS_ELEMENTWISE},
    {"unary", PERF_CLASS_ELEMENTWISE},
    {"ternary", PERF_CLASS_ELEMENTWISE},
    {"where", PERF_CLASS_ELEMENTWISE},
    {"eltwise", PERF_CLASS_ELEMENTWISE},
    {"typecast", PERF_CLASS_ELEMENTWISE},
    {"reshape", PERF_CLASS_MOVE},
    {"transpose", PERF_CLASS_MOVE},
    {"permute", PERF_CLASS_MOVE},
    {"slice", PERF_CLASS_MOVE},
    {"concat", PERF_CLASS_MOVE},
    {"split", PERF_CLASS_MOVE},
    {"tilize", PERF_CLASS_MOVE},
    {"sharded", PERF_CLASS_MOVE},
    {"reshard", PERF_CLASS_MOVE},
    {"updatecache", PERF_CLASS_MOVE},
    {"updatekvcache", PERF_CLASS_MOVE},
    {"fillcache", PERF_CLASS_MOVE},
    {"move", PERF_CLASS_MOVE},
    {"copy", PERF_CLASS_MOVE},
    {"clone", PERF_CLASS_MOVE},
    {"pad", PERF_CLASS_MOVE},
    {"fold", PERF_CLASS_MOVE},
    {"heads", PERF_CLASS_MOVE},
    {"repeat", PERF_CLASS_MOVE},
    {"upsample", PERF_CLASS_MOVE},
};

static const struct {
    const char *part;
    uint16_t flag;
} part_names[] = {
    {"decode", PERF_PART_DECODE},
    {"paged", PERF_PART_DECODE},
    {"chunked", PERF_PART_DECODE},
    {"joint", PERF_PART_JOINT},
    {"ring", PERF_PART_JOINT},
    {"rms", PERF_PART_RMS},
    {"rotary", PERF_PART_ROTARY},
    {"allgather", PERF_PART_ALL_GATHER},
    {"reducescatter", PERF_PART_REDUCE_SCATTER},
    {"allreduce", PERF_PART_ALL_REDUCE},
    {"combine", PERF_PART_COMBINE},
    {"slice", PERF_PART_SLICE},
    {"split", PERF_PART_SLICE},
    {"updatecache", PERF_PART_CACHE},
    {"updatekvcache", PERF_PART_CACHE},
    {"fillcache", PERF_PART_CACHE},
    {"halodeviceoperation", PERF_PART_HALO},
    {"copy", PERF_PART_COPY},
    {"move", PERF_PART_COPY},
};

static enum perf_class class_of(const char *name)
{
    for (size_t i = 0; i < sizeof class_names / sizeof class_names[0]; i++) {
        if (strcasestr(name, class_names[i].part))
            return (enum perf_class)class_names[i].class_;
    }
    return PERF_CLASS_OTHER;
}

struct perf_name perf_name_of(struct perf *perf, uint32_t op_code)
{
    if (op_code >= perf->name_capacity) {
        size_t before = perf->name_capacity;
        if (op_code == PERF_NO_TEXT ||
            !array_reserve(&perf->names, &perf->name_capacity, (size_t)op_code + 1, sizeof *perf->names)) {
            perf->failed = true;
            return (struct perf_name){.category = PERF_OTHER};
        }
        memset(perf->names + before, 0, (perf->name_capacity - before) * sizeof *perf->names);
    }
    struct perf_name *known = &perf->names[op_code];
    if (!known->is_known) {
        const char *name = perf_text(perf, op_code);
        *known = (struct perf_name){.is_known = true, .class_ = (uint8_t)class_of(name)};
        known->category = (uint8_t)perf_category_of(perf, name, known->class_);
        for (size_t i = 0; i < sizeof part_names / sizeof part_names[0]; i++) {
            if (strcasestr(name, part_names[i].part))
                known->parts |= part_names[i].flag;
        }
    }
    return *known;
}

const char *perf_category_by_name(const char *name, bool is_host)
{
    static const struct perf newest = {0}; /* the newer report's categories */
    return perf_category_text(is_host ? (unsigned)PERF_HOST
                                      : (unsigned)perf_category_of(&newest, name, class_of(name)));
}

/* --- amounts --- */

static double elements(const struct perf_tensor *tensor)
{
    return tensor->is_present && tensor->has_shape ? tensor->w * tensor->z * tensor->y * tensor->x : NAN;
}

static double tensor_bytes(const struct perf_tensor *tensor)
{
    return elements(tensor) * (tensor->type.length ? cell_type_bytes(tensor->type) : NAN);
}

/* Bytes of a tensor that lies in DRAM; 0 elsewhere. What is not known is left out and marked. */
static double dram_part(struct perf_row *row, const struct perf_tensor *tensor)
{
    if (!tensor->is_present)
        return 0;
    double bytes = tensor_bytes(tensor);
    if (tensor->memory.length && !slice_has(tensor->memory, "DRAM"))
        return 0;
    if (!tensor->memory.length || isnan(bytes)) {
        row->model_flags |= PERF_BYTES_AT_LEAST;
        return 0;
    }
    return bytes;
}

static void take_all_bytes(struct perf_row *row, const struct perf_source *source)
{
    bool is_any = false;
    row->dram_bytes = 0;
    for (size_t t = 0; t < PERF_TENSORS; t++) {
        is_any |= source->tensors[t].is_present;
        row->dram_bytes += dram_part(row, &source->tensors[t]);
    }
    if (!is_any)
        row->dram_bytes = NAN;
}

/* Ops that touch only as much of their inputs as they write: slices, gathers, caches. */
static void take_written_bytes(struct perf_row *row, const struct perf_source *source, size_t written)
{
    const struct perf_tensor *in = &source->tensors[PERF_IN(0)], *out = &source->tensors[written];
    double amount = elements(out);
    row->dram_bytes = dram_part(row, out);
    if (in->is_present && slice_has(in->memory, "DRAM") && in->type.length && !isnan(amount))
        row->dram_bytes += amount * cell_type_bytes(in->type);
}

/* --- classes --- */

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* "NAME b={4} x 32 x 64 x 128", without the batch where it is 1. */
static void show_shape(struct perf *perf, struct perf_row *row, const struct perf_source *source,
                       double batch, double m, double k, double n)
{
    const uint64_t key[6] = {3, row->op_code, bits_of(batch), bits_of(m), bits_of(k), bits_of(n)};
    struct perf_made_text *made = perf_find_made(perf, key);
    struct bytes *text = &perf->scratch;
    if (!made->is_used) {
        bytes_clear(text);
        bytes_append(text, source->op_code.data, source->op_code.length);
        if (batch > 1)
            bytes_append_format(text, " b={%.0f} x", batch);
        bytes_append_format(text, " %.0f x %.0f x %.0f", m, k, n);
        made->text = perf_intern(perf, text->data, text->length);
        made->is_used = true;
    }
    row->shown = made->text;
}

static void show_unknown_shape(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    struct bytes *text = &perf->scratch;
    bytes_clear(text);
    bytes_append(text, source->op_code.data, source->op_code.length);
    bytes_append_text(text, " unknown shape");
    row->shown = perf_intern(perf, text->data, text->length);
}

static void take_matmul(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    const struct perf_tensor *in0 = &source->tensors[PERF_IN(0)], *in1 = &source->tensors[PERF_IN(1)],
                             *out = &source->tensors[PERF_OUT(0)];
    row->is_matmul = true;
    row->is_dram_sharded =
        slice_has(source->attributes, "MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig");
    row->fidelity_text = perf_matmul_types_text(perf, row, source);
    row->has_shape = in0->has_shape && in1->has_shape && out->has_shape;
    if (!row->has_shape) {
        show_unknown_shape(perf, row, source);
        return;
    }
    double w = fmax(in0->w, in1->w), z = fmax(in0->z, in1->z);
    row->dram_bytes = dram_part(row, in0) + dram_part(row, in1) + dram_part(row, out);
    row->flops = 2 * in0->y * in0->x * in1->x * w * z;
    show_shape(perf, row, source, w * z, in0->y, in0->x, in1->x);
}

/* A numeric attribute: 'nnz': '12' or nnz=12; NaN when there is none. */
static double attribute_number(struct slice attributes, const char *name)
{
    struct slice rest = attributes;
    while ((rest = slice_after(rest, name)).data) {
        size_t i = 0;
        while (i < rest.length && (rest.data[i] == '\'' || rest.data[i] == ':' || rest.data[i] == '=' ||
                                   rest.data[i] == ' ' || rest.data[i] == '"'))
            i++;
        size_t from = i;
        while (i < rest.length && rest.data[i] >= '0' && rest.data[i] <= '9')
            i++;
        double value;
        if (from > 0 && i > from &&
            cell_number((struct slice){rest.data + from, i - from}, &value) == NUMBER_WHOLE)
            return value;
    }
    return NAN;
}

static bool attribute_is_true(struct slice attributes, const char *name)
{
    struct slice rest = slice_after(attributes, name);
    size_t i = 0;
    while (i < rest.length && strchr("':= \"", rest.data[i]))
        i++;
    return rest.length - i >= 4 && strncasecmp(rest.data + i, "true", 4) == 0;
}

static const char kind_sparse[] = "sparse matmul";

static void take_sparse_matmul(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    const struct perf_tensor *in0 = &source->tensors[PERF_IN(0)], *in1 = &source->tensors[PERF_IN(1)],
                             *out = &source->tensors[PERF_OUT(0)];
    struct bytes *text = &perf->scratch;
    row->is_matmul = true;
    row->fidelity_text = perf_matmul_types_text(perf, row, source);
    row->has_shape = in0->has_shape && in1->has_shape && out->has_shape;
    if (!row->has_shape) {
        show_unknown_shape(perf, row, source);
        return;
    }
    double batch0 = in0->w * in0->z, batch1 = in1->w * in1->z;
    bool is_a_sparse = attribute_is_true(source->attributes, "is_input_a_sparse");
    bool is_b_sparse = attribute_is_true(source->attributes, "is_input_b_sparse");
    double groups = is_a_sparse && is_b_sparse ? 1 : is_a_sparse ? fmax(1, floor(batch0 / batch1)) : batch0;
    double dense = is_a_sparse && is_b_sparse ? batch0 : is_a_sparse ? groups * batch1 : batch0 * batch1;
    double active = attribute_number(source->attributes, "nnz");
    if (isnan(active) && perf->options.active_experts)
        active = (double)perf->options.active_experts * groups;
    bytes_clear(text);
    bytes_append(text, source->op_code.data, source->op_code.length);
    if (isnan(active)) {
        bytes_append_format(text, " active=?/%.0f", dense);
        perf_note(perf, PERF_NOTE_WARN, kind_sparse,
                  "%s:%llu: a sparse matmul that does not record how many blocks are active: no figures "
                  "(--active-experts K)",
                  perf_text(perf, perf->paths[row->file]), (unsigned long long)row->line);
    } else {
        double a = in0->y * in0->x, b = in1->y * in1->x, c = in0->y * in1->x;
        row->flops = 2 * in0->y * in0->x * in1->x * active;
        row->dram_bytes = active * ((dram_part(row, in0) > 0 ? a * cell_type_bytes(in0->type) : 0) +
                                    (dram_part(row, in1) > 0 ? b * cell_type_bytes(in1->type) : 0) +
                                    (dram_part(row, out) > 0 ? c * cell_type_bytes(out->type) : 0));
        bytes_append_format(text, " active=%.0f/%.0f", active, dense);
    }
    bytes_append_format(text, " x %.0f x %.0f x %.0f", in0->y, in0->x, in1->x);
    row->shown = perf_intern(perf, text->data, text->length);
}

static void take_conv(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    const struct perf_tensor *in0 = &source->tensors[PERF_IN(0)], *in1 = &source->tensors[PERF_IN(1)],
                             *out = &source->tensors[PERF_OUT(0)];
    double height, width;
    row->is_conv = true;
    row->fidelity_text = perf_matmul_types_text(perf, row, source);
    row->has_shape = in0->has_shape && in1->has_shape && out->has_shape &&
                     perf_conv_window(source->attributes, &height, &width);
    take_all_bytes(row, source);
    if (!row->has_shape) {
        show_unknown_shape(perf, row, source);
        return;
    }
    double m = out->y, k = in0->x * height * width, n = in1->x;
    double groups = attribute_number(source->attributes, "groups");
    row->flops = 2 * m * k * n;
    if (groups > 1) { /* each output channel sees one group of the inputs */
        row->flops /= groups;
        row->model_flags |= PERF_FLOPS_AT_LEAST;
    }
    show_shape(perf, row, source, 1, m, k, n);
    bytes_clear(&perf->scratch);
    bytes_append_text(&perf->scratch, perf_text(perf, row->shown));
    perf_append_conv_marks(perf, source->attributes);
    row->shown = perf_intern(perf, perf->scratch.data, perf->scratch.length);
}

/* Scores and their product with the values: 4 FLOPs for each element of Q and each position of K. */
static void take_attention(struct perf_row *row, const struct perf_source *source, unsigned parts)
{
    const struct perf_tensor *q = &source->tensors[PERF_IN(0)], *k = &source->tensors[PERF_IN(1)];
    take_all_bytes(row, source);
    row->model_flags |= PERF_BYTES_AT_MOST; /* a cache need not be full */
    if (!q->has_shape || !k->has_shape)
        return;
    row->has_shape = true;
    row->flops = 4 * elements(q) * k->y;
    if (attribute_is_true(source->attributes, "is_causal"))
        row->flops /= 2;
    if (parts & PERF_PART_DECODE)
        row->model_flags |= PERF_FLOPS_AT_MOST;
    if (parts & PERF_PART_JOINT)
        row->model_flags |= PERF_FLOPS_AT_LEAST; /* the other devices' keys come in over links */
}

/* FLOPs for each element of a tensor. */
static void take_per_element(struct perf_row *row, const struct perf_source *source, size_t tensor,
                             double flops)
{
    take_all_bytes(row, source);
    double count = elements(&source->tensors[tensor]);
    if (isnan(count))
        return;
    row->has_shape = true;
    row->flops = flops * count;
}

static void take_pool(struct perf_row *row, const struct perf_source *source)
{
    double height, width;
    double count = elements(&source->tensors[PERF_OUT(0)]);
    take_all_bytes(row, source);
    if (isnan(count))
        return;
    row->has_shape = true;
    if (perf_conv_window(source->attributes, &height, &width)) {
        row->flops = height * width * count;
    } else {
        row->flops = elements(&source->tensors[PERF_IN(0)]);
        row->model_flags |= PERF_FLOPS_AT_LEAST;
    }
}

/* Collectives list buffers for what is under way among their outputs. The result of a reduce-scatter is the smallest of
 * them, that of the others the largest. */
static double result_bytes(const struct perf_source *source, bool is_smallest)
{
    double result = NAN;
    for (size_t i = 0; i < PERF_OUTPUTS; i++) {
        double bytes = tensor_bytes(&source->tensors[PERF_OUT(i)]);
        if (!isnan(bytes))
            result = isnan(result) ? bytes : is_smallest ? fmin(result, bytes) : fmax(result, bytes);
    }
    return result;
}

/* What a device sends in a ring: everything but its own share. */
static void take_collective(struct perf_row *row, const struct perf_source *source, unsigned parts)
{
    const struct perf_tensor *in = &source->tensors[PERF_IN(0)], *out = &source->tensors[PERF_OUT(0)];
    double in_bytes = tensor_bytes(in), out_bytes = result_bytes(source, parts & PERF_PART_REDUCE_SCATTER);
    bool is_linear = slice_has(source->attributes, "Topology::Linear");
    take_all_bytes(row, source);
    row->link_count = attribute_number(source->attributes, "num_links");
    if (isnan(row->link_count))
        row->model_flags |= PERF_LINK_ASSUMED;
    double group = attribute_number(source->attributes, "dispatch_group_size");
    double experts = attribute_number(source->attributes, "num_experts_per_tok");
    double routed = attribute_number(source->attributes, "num_routed_experts");
    if (isnan(in_bytes) || isnan(out_bytes))
        return;
    if ((parts & PERF_PART_ALL_GATHER) && in_bytes > 0) {
        double ring = floor(out_bytes / in_bytes);
        row->link_bytes = ring > 1 ? out_bytes * (ring - 1) / ring * (is_linear ? 2 : 1) : NAN;
    } else if ((parts & PERF_PART_REDUCE_SCATTER) && out_bytes > 0) {
        double ring = floor(in_bytes / out_bytes);
        row->link_bytes = ring > 1 ? in_bytes * (ring - 1) / ring * (is_linear ? 2 : 1) : NAN;
    } else if (parts & PERF_PART_ALL_REDUCE) {
        row->link_bytes = 2 * in_bytes * (is_linear ? 2 : 1); /* (n - 1) / n of it, n unknown */
        row->model_flags |= PERF_LINK_ASSUMED;
    } else if (group > 0 && experts > 0) {
        double total = parts & PERF_PART_COMBINE ? out_bytes / out->y : in_bytes;
        total *= group * experts / (isnan(routed) ? 256 : routed);
        row->link_bytes = total * group * group / (is_linear ? 4 : 8);
    } else {
        row->link_bytes = fmax(in_bytes, out_bytes);
        row->model_flags |= PERF_LINK_ASSUMED;
    }
}

static void take_move(struct perf_row *row, const struct perf_source *source, unsigned parts)
{
    if (parts & PERF_PART_CACHE)
        take_written_bytes(row, source, PERF_IN(1)); /* the cache is written in place, where the input says */
    else if (parts & PERF_PART_COPY)
        row->dram_bytes =
            dram_part(row, &source->tensors[PERF_IN(0)]) + dram_part(row, &source->tensors[PERF_OUT(0)]);
    else if (parts & PERF_PART_SLICE)
        take_written_bytes(row, source, PERF_OUT(0));
    else
        take_all_bytes(row, source);
    row->has_shape = !isnan(row->dram_bytes);
}

static void take_embedding(struct perf_row *row, const struct perf_source *source)
{
    const struct perf_tensor *table = &source->tensors[PERF_IN(1)], *out = &source->tensors[PERF_OUT(0)];
    row->dram_bytes = dram_part(row, &source->tensors[PERF_IN(0)]) + dram_part(row, out);
    if (slice_has(table->memory, "DRAM") && table->type.length && out->has_shape)
        row->dram_bytes += elements(out) * cell_type_bytes(table->type);
    row->has_shape = out->has_shape;
}

void perf_model_take(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    if (row->kind == PERF_SIGNPOST)
        return;
    struct perf_name name = perf_name_of(perf, row->op_code);
    row->class_ = name.class_;
    row->fidelity_text = perf_types_text(perf, row, source);
    perf_take_program_config(row, source->attributes);
    if (row->kind == PERF_HOST_OP)
        return;
    switch (row->class_) {
    case PERF_CLASS_MATMUL:
        take_matmul(perf, row, source);
        break;
    case PERF_CLASS_SPARSE_MATMUL:
        take_sparse_matmul(perf, row, source);
        break;
    case PERF_CLASS_CONV:
        take_conv(perf, row, source);
        break;
    case PERF_CLASS_ATTENTION:
        take_attention(row, source, name.parts);
        break;
    case PERF_CLASS_NORM:
        take_per_element(row, source, PERF_IN(0), name.parts & PERF_PART_RMS ? 4 : 7);
        row->model_flags |= PERF_FLOPS_AT_MOST;
        break;
    case PERF_CLASS_SOFTMAX:
        take_per_element(row, source, PERF_IN(0), 5);
        break;
    case PERF_CLASS_ELEMENTWISE:
        take_per_element(row, source, PERF_OUT(0), name.parts & PERF_PART_ROTARY ? 3 : 1);
        row->model_flags |= PERF_FLOPS_AT_LEAST;
        break;
    case PERF_CLASS_REDUCTION:
        take_per_element(row, source, PERF_IN(0), 1);
        row->model_flags |= PERF_FLOPS_AT_LEAST;
        break;
    case PERF_CLASS_POOL:
        take_pool(row, source);
        break;
    case PERF_CLASS_COLLECTIVE:
        take_collective(row, source, name.parts);
        break;
    case PERF_CLASS_EMBEDDING:
        take_embedding(row, source);
        break;
    case PERF_CLASS_MOVE:
        take_move(row, source, name.parts);
        if (name.parts & PERF_PART_HALO) {
            bytes_clear(&perf->scratch);
            bytes_append(&perf->scratch, source->op_code.data, source->op_code.length);
            perf_append_halo(perf, source->attributes);
            row->shown = perf_intern(perf, perf->scratch.data, perf->scratch.length);
        }
        break;
    default:
        take_all_bytes(row, source);
        row->model_flags |= PERF_BYTES_AT_MOST;
        break;
    }
}
