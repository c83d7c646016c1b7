/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of ops by name, as two versions of the vendor's report sort them: 1.2.4 and the newer one, which
 * knows collectives (CCL). A name matches as it is or with "DeviceOperation" behind it. */
#include "analyze/report/internal.h"

#include <stdlib.h>

#define NONE PERF_OTHER

static const struct {
    const char *name;
    uint8_t compat, category;
} known_ops[] = {
    /* compute */
    {"AllGatherMatmul", PERF_COMPUTE, PERF_COMPUTE},
    {"ScaledDotProductAttentionDecode", PERF_COMPUTE, PERF_COMPUTE},
    {"RotaryEmbeddingLlama", PERF_COMPUTE, PERF_COMPUTE},
    {"SDPAOperation", PERF_COMPUTE, PERF_COMPUTE},
    {"OptimizedConvNew", PERF_COMPUTE, PERF_COMPUTE},
    {"Conv2d", PERF_COMPUTE, PERF_COMPUTE},
    {"Matmul", PERF_COMPUTE, PERF_COMPUTE},
    {"BinaryNg", PERF_COMPUTE, PERF_COMPUTE},
    {"Binary", PERF_COMPUTE, PERF_COMPUTE},
    {"Unary", PERF_COMPUTE, PERF_COMPUTE},
    {"Pool2D", PERF_COMPUTE, PERF_COMPUTE},
    {"UpSample", PERF_COMPUTE, PERF_COMPUTE},
    {"UpsampleOperation", PERF_COMPUTE, PERF_COMPUTE},
    {"GroupNorm", PERF_COMPUTE, PERF_COMPUTE},
    {"GridSample", PERF_COMPUTE, PERF_COMPUTE},
    {"Accumulation", PERF_COMPUTE, PERF_COMPUTE},
    {"LayerNorm", PERF_COMPUTE, PERF_COMPUTE},
    {"ScaledDotProductAttention", PERF_COMPUTE, PERF_COMPUTE},
    {"Reduce", PERF_COMPUTE, PERF_COMPUTE},
    {"Softmax", PERF_COMPUTE, PERF_COMPUTE},
    {"Embeddings", PERF_COMPUTE, PERF_COMPUTE},
    {"MinimalMatmulOp", PERF_COMPUTE, PERF_COMPUTE},
    {"IntImg", PERF_COMPUTE, PERF_COMPUTE},
    {"GridSampleOperation", PERF_COMPUTE, PERF_COMPUTE},
    {"RMSAllGather", NONE, PERF_COMPUTE},
    {"SdpaDecode", NONE, PERF_COMPUTE},
    {"RotaryEmbedding", NONE, PERF_COMPUTE},
    {"FastReduceNC", NONE, PERF_COMPUTE},
    {"ArgMax", NONE, PERF_COMPUTE},
    {"SparseMatmul", NONE, PERF_COMPUTE},
    {"MoeGroupedTopk", NONE, PERF_COMPUTE},
    {"MaskedBincount", NONE, PERF_COMPUTE},
    {"OffsetCumsum", NONE, PERF_COMPUTE},
    {"UnifiedRoutedExpertFfn", NONE, PERF_COMPUTE},
    {"PostCombineReduce", NONE, PERF_COMPUTE},
    /* data movement */
    {"PagedUpdateCacheDeviceOperation", PERF_DM, PERF_DM},
    {"Move", PERF_DM, PERF_DM},
    {"Copy", PERF_DM, PERF_DM},
    {"InterleavedToSharded", PERF_DM, PERF_DM},
    {"ShardedToInterleaved", PERF_DM, PERF_DM},
    {"InterleavedToShardedPartial", PERF_DM, PERF_DM},
    {"ShardedToInterleavedPartial", PERF_DM, PERF_DM},
    {"Halo", PERF_DM, PERF_DM},
    {"Where", PERF_DM, PERF_DM},
    {"CloneOperation", PERF_DM, PERF_DM},
    {"Reshard", PERF_DM, PERF_DM},
    {"PaddedSlice", PERF_DM, PERF_TM},
    {"SliceWrite", PERF_DM, PERF_TM},
    {"ReduceScatter", PERF_DM, PERF_CCL},
    /* tensor manipulation */
    {"NLPCreateHeadsDecodeDeviceOperation", PERF_TM, PERF_TM},
    {"NLPConcatHeadsDecodeDeviceOperation", PERF_TM, PERF_TM},
    {"Fold", PERF_TM, PERF_TM},
    {"CreateQKVHeadsDeviceOperation", PERF_TM, PERF_TM},
    {"ConcatenateHeads", PERF_TM, PERF_TM},
    {"Reshape", PERF_TM, PERF_TM},
    {"Transpose", PERF_TM, PERF_TM},
    {"Permute", PERF_TM, PERF_TM},
    {"Slice", PERF_TM, PERF_TM},
    {"Concat", PERF_TM, PERF_TM},
    {"Split", PERF_TM, PERF_TM},
    {"TilizeWithValPadding", PERF_TM, PERF_TM},
    {"Tilize", PERF_TM, PERF_TM},
    {"UntilizeWithUnpadding", PERF_TM, PERF_TM},
    {"Untilize", PERF_TM, PERF_TM},
    {"Typecast", PERF_TM, PERF_TM},
    {"NLPConcatHeads", PERF_TM, PERF_TM},
    {"NlpCreateHeads", PERF_TM, PERF_TM},
    {"Ternary", PERF_TM, PERF_TM},
    {"FillPad", PERF_TM, PERF_TM},
    {"PadDeviceOperation", PERF_TM, PERF_TM},
    {"NLPCreateQKVHeadsDecodeDeviceOperation", NONE, PERF_TM},
    {"ReshapeView", NONE, PERF_TM},
    {"Repeat", NONE, PERF_TM},
    /* collectives */
    {"AllGather", NONE, PERF_CCL},
    {"AllGatherAsync", NONE, PERF_CCL},
    {"AllGatherConcat", NONE, PERF_CCL},
    {"ReduceScatterMinimalAsync", NONE, PERF_CCL},
    {"ReduceScatterMinimalDirect", NONE, PERF_CCL},
    {"StridedReduceScatterAsync", NONE, PERF_CCL},
    {"LlamaReduceScatter", NONE, PERF_CCL},
    {"DeepseekMoEReduceScatter", NONE, PERF_CCL},
    {"StridedAllGatherAsync", NONE, PERF_CCL},
    {"SliceReshardAsync", NONE, PERF_CCL},
    {"SelectiveReduceCombine", NONE, PERF_CCL},
    {"ReduceToRootOp", NONE, PERF_CCL},
    {"AllReduceAsync", NONE, PERF_CCL},
    {"AllToAllAsync", NONE, PERF_CCL},
    {"AllToAllAsyncGeneric", NONE, PERF_CCL},
    {"AllToAllDispatch", NONE, PERF_CCL},
    {"AllToAllDispatchMetadata", NONE, PERF_CCL},
    {"AllToAllCombine", NONE, PERF_CCL},
    {"AllBroadcast", NONE, PERF_CCL},
    {"Broadcast", NONE, PERF_CCL},
    {"SendAsync", NONE, PERF_CCL},
    {"RecvAsync", NONE, PERF_CCL},
    {"SendDirectAsync", NONE, PERF_CCL},
    {"RecvDirectAsync", NONE, PERF_CCL},
    {"Dispatch", NONE, PERF_CCL},
    {"Combine", NONE, PERF_CCL},
};

static bool is_op(const char *known, const char *word, size_t length)
{
    static const char suffix[] = "DeviceOperation";
    size_t size = strlen(known);
    if (length < size || memcmp(known, word, size) != 0)
        return false;
    return length == size ||
           (length == size + sizeof suffix - 1 && memcmp(word + size, suffix, length - size) == 0);
}

/* Ops that the list does not know, by what their class says. */
static enum perf_category category_of_class(unsigned class_)
{
    switch (class_) {
    case PERF_CLASS_COLLECTIVE:
        return PERF_CCL;
    case PERF_CLASS_OTHER:
        return PERF_OTHER;
    case PERF_CLASS_MOVE:
        return PERF_DM;
    default:
        return PERF_COMPUTE;
    }
}

enum perf_category perf_category_of(const struct perf *perf, const char *word, unsigned class_)
{
    bool is_compat = perf->options.compat;
    size_t length = strcspn(word, " \t\n\r\f\v");
    if (is_compat ? length == 7 && memcmp(word, "(torch)", 7) == 0 : strstr(word, "(torch)") != NULL)
        return PERF_HOST;
    for (size_t i = 0; i < sizeof known_ops / sizeof known_ops[0]; i++) {
        unsigned category = is_compat ? known_ops[i].compat : known_ops[i].category;
        if (category != PERF_OTHER && is_op(known_ops[i].name, word, length))
            return (enum perf_category)category;
    }
    return is_compat ? PERF_OTHER : category_of_class(class_);
}

const char *perf_category_text(unsigned category)
{
    static const char *const names[PERF_CATEGORIES] = {"Compute", "CCL", "TM", "DM", "Host", "Other"};
    return category < PERF_CATEGORIES ? names[category] : "";
}
