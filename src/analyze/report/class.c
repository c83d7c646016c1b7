/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/class.h"

#include <string.h>

#include "analyze/report/work/torch_ops.h"
#include "base/count_of.h"

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
    for (size_t i = 0; i < COUNT_OF(class_names); i++) {
        if (strcasestr(name, class_names[i].part))
            return (enum perf_class)class_names[i].class_;
    }
    return PERF_CLASS_OTHER;
}

/* Compilers call what they run after a function: "main_dispatch_3_matmul_64x64_f32". What follows says what it does. */
static const char *after_dispatch(const char *name)
{
    const char *at = strstr(name, "_dispatch_");
    at = at ? at + strlen("_dispatch_") : name;
    size_t digits = at == name ? 0 : strspn(at, "0123456789");
    return digits && at[digits] == '_' ? at + digits + 1 : name;
}

struct perf_name perf_name_of(const char *name)
{
    struct perf_name torch;
    if (torch_name_of(name, &torch))
        return torch;
    name = after_dispatch(name);
    struct perf_name known = {.class_ = (uint8_t)class_of(name)};
    known.category = (uint8_t)perf_category_of(name, known.class_);
    for (size_t i = 0; i < COUNT_OF(part_names); i++) {
        if (strcasestr(name, part_names[i].part))
            known.parts |= part_names[i].flag;
    }
    return known;
}

const char *perf_category_by_name(const char *name, bool is_host)
{
    return perf_category_text(is_host ? (unsigned)PERF_HOST : perf_name_of(name).category);
}

const char *perf_class_text(unsigned class_)
{
    static const char *const names[PERF_CLASSES] = {
        [PERF_CLASS_OTHER] = "other",
        [PERF_CLASS_MATMUL] = "matmul",
        [PERF_CLASS_SPARSE_MATMUL] = "sparse matmul",
        [PERF_CLASS_CONV] = "conv",
        [PERF_CLASS_ATTENTION] = "attention",
        [PERF_CLASS_NORM] = "norm",
        [PERF_CLASS_SOFTMAX] = "softmax",
        [PERF_CLASS_ELEMENTWISE] = "elementwise",
        [PERF_CLASS_REDUCTION] = "reduction",
        [PERF_CLASS_POOL] = "pool",
        [PERF_CLASS_COLLECTIVE] = "collective",
        [PERF_CLASS_EMBEDDING] = "embedding",
        [PERF_CLASS_MOVE] = "move",
    };
    return class_ < PERF_CLASSES ? names[class_] : "";
}
