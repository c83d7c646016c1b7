/* SPDX-License-Identifier: Apache-2.0 */
/* Categories of ops by name. A name matches as it is or with "DeviceOperation" after it. */
#include "analyze/report/class.h"
#include "base/count_of.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t category;
} known_ops[] = {
    /* compute */
    {"AllGatherMatmul", PERF_COMPUTE},
    {"ScaledDotProductAttentionDecode", PERF_COMPUTE},
    {"RotaryEmbeddingLlama", PERF_COMPUTE},
    {"SDPAOperation", PERF_COMPUTE},
    {"OptimizedConvNew", PERF_COMPUTE},
    {"Conv2d", PERF_COMPUTE},
    {"Matmul", PERF_COMPUTE},
    {"BinaryNg", PERF_COMPUTE},
    {"Binary", PERF_COMPUTE},
    {"Unary", PERF_COMPUTE},
    {"Pool2D", PERF_COMPUTE},
    {"UpSample", PERF_COMPUTE},
    {"UpsampleOperation", PERF_COMPUTE},
    {"GroupNorm", PERF_COMPUTE},
    {"GridSample", PERF_COMPUTE},
    {"Accumulation", PERF_COMPUTE},
    {"LayerNorm", PERF_COMPUTE},
    {"ScaledDotProductAttention", PERF_COMPUTE},
    {"Reduce", PERF_COMPUTE},
    {"Softmax", PERF_COMPUTE},
    {"Embeddings", PERF_COMPUTE},
    {"MinimalMatmulOp", PERF_COMPUTE},
    {"IntImg", PERF_COMPUTE},
    {"GridSampleOperation", PERF_COMPUTE},
    {"RMSAllGather", PERF_COMPUTE},
    {"SdpaDecode", PERF_COMPUTE},
    {"RotaryEmbedding", PERF_COMPUTE},
    {"FastReduceNC", PERF_COMPUTE},
    {"ArgMax", PERF_COMPUTE},
    {"SparseMatmul", PERF_COMPUTE},
    {"MoeGroupedTopk", PERF_COMPUTE},
    {"MaskedBincount", PERF_COMPUTE},
    {"OffsetCumsum", PERF_COMPUTE},
    {"UnifiedRoutedExpertFfn", PERF_COMPUTE},
    {"PostCombineReduce", PERF_COMPUTE},
    /* data movement */
    {"PagedUpdateCacheDeviceOperation", PERF_DM},
    {"Move", PERF_DM},
    {"Copy", PERF_DM},
    {"InterleavedToSharded", PERF_DM},
    {"ShardedToInterleaved", PERF_DM},
    {"InterleavedToShardedPartial", PERF_DM},
    {"ShardedToInterleavedPartial", PERF_DM},
    {"Halo", PERF_DM},
    {"Where", PERF_DM},
    {"CloneOperation", PERF_DM},
    {"Reshard", PERF_DM},
    {"PaddedSlice", PERF_TM},
    {"SliceWrite", PERF_TM},
    {"ReduceScatter", PERF_CCL},
    /* tensor manipulation */
    {"NLPCreateHeadsDecodeDeviceOperation", PERF_TM},
    {"NLPConcatHeadsDecodeDeviceOperation", PERF_TM},
    {"Fold", PERF_TM},
    {"CreateQKVHeadsDeviceOperation", PERF_TM},
    {"ConcatenateHeads", PERF_TM},
    {"Reshape", PERF_TM},
    {"Transpose", PERF_TM},
    {"Permute", PERF_TM},
    {"Slice", PERF_TM},
    {"Concat", PERF_TM},
    {"Split", PERF_TM},
    {"TilizeWithValPadding", PERF_TM},
    {"Tilize", PERF_TM},
    {"UntilizeWithUnpadding", PERF_TM},
    {"Untilize", PERF_TM},
    {"Typecast", PERF_TM},
    {"NLPConcatHeads", PERF_TM},
    {"NlpCreateHeads", PERF_TM},
    {"Ternary", PERF_TM},
    {"FillPad", PERF_TM},
    {"PadDeviceOperation", PERF_TM},
    {"NLPCreateQKVHeadsDecodeDeviceOperation", PERF_TM},
    {"ReshapeView", PERF_TM},
    {"Repeat", PERF_TM},
    /* collectives */
    {"AllGather", PERF_CCL},
    {"AllGatherAsync", PERF_CCL},
    {"AllGatherConcat", PERF_CCL},
    {"ReduceScatterMinimalAsync", PERF_CCL},
    {"ReduceScatterMinimalDirect", PERF_CCL},
    {"StridedReduceScatterAsync", PERF_CCL},
    {"LlamaReduceScatter", PERF_CCL},
    {"DeepseekMoEReduceScatter", PERF_CCL},
    {"StridedAllGatherAsync", PERF_CCL},
    {"SliceReshardAsync", PERF_CCL},
    {"SelectiveReduceCombine", PERF_CCL},
    {"ReduceToRootOp", PERF_CCL},
    {"AllReduceAsync", PERF_CCL},
    {"AllToAllAsync", PERF_CCL},
    {"AllToAllAsyncGeneric", PERF_CCL},
    {"AllToAllDispatch", PERF_CCL},
    {"AllToAllDispatchMetadata", PERF_CCL},
    {"AllToAllCombine", PERF_CCL},
    {"AllBroadcast", PERF_CCL},
    {"Broadcast", PERF_CCL},
    {"SendAsync", PERF_CCL},
    {"RecvAsync", PERF_CCL},
    {"SendDirectAsync", PERF_CCL},
    {"RecvDirectAsync", PERF_CCL},
    {"Dispatch", PERF_CCL},
    {"Combine", PERF_CCL},
};

bool perf_is_op(const char *known, const char *word, size_t length)
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

enum perf_category perf_known_category(const char *word, size_t length)
{
    for (size_t i = 0; i < COUNT_OF(known_ops); i++) {
        if (perf_is_op(known_ops[i].name, word, length))
            return (enum perf_category)known_ops[i].category;
    }
    return PERF_OTHER;
}

enum perf_category perf_category_of(const char *name, unsigned class_)
{
    if (strstr(name, "(torch)"))
        return PERF_HOST;
    enum perf_category category = perf_known_category(name, strcspn(name, " \t\n\r\f\v"));
    return category == PERF_OTHER ? category_of_class(class_) : category;
}

const char *perf_category_text(unsigned category)
{
    static const char *const names[PERF_CATEGORIES] = {"Compute", "CCL", "TM", "DM", "Host", "Other"};
    return category < PERF_CATEGORIES ? names[category] : "";
}
