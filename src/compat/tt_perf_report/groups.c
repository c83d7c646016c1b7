/* SPDX-License-Identifier: Apache-2.0 */
/* The stacked report: categories, of which 1.2.4 does not know collectives, and the original's order. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "compat/tt_perf_report/order.h"
#include "compat/tt_perf_report/ttpr.h"

/* Ops that came, or got another category, after 1.2.4. */
static const struct {
    const char *name;
    uint8_t category;
} other_categories[] = {
    {"RMSAllGather", PERF_OTHER},
    {"SdpaDecode", PERF_OTHER},
    {"RotaryEmbedding", PERF_OTHER},
    {"FastReduceNC", PERF_OTHER},
    {"ArgMax", PERF_OTHER},
    {"SparseMatmul", PERF_OTHER},
    {"MoeGroupedTopk", PERF_OTHER},
    {"MaskedBincount", PERF_OTHER},
    {"OffsetCumsum", PERF_OTHER},
    {"UnifiedRoutedExpertFfn", PERF_OTHER},
    {"PostCombineReduce", PERF_OTHER},
    {"PaddedSlice", PERF_DM},
    {"SliceWrite", PERF_DM},
    {"ReduceScatter", PERF_DM},
    {"NLPCreateQKVHeadsDecodeDeviceOperation", PERF_OTHER},
    {"ReshapeView", PERF_OTHER},
    {"Repeat", PERF_OTHER},
    {"AllGather", PERF_OTHER},
    {"AllGatherAsync", PERF_OTHER},
    {"AllGatherConcat", PERF_OTHER},
    {"ReduceScatterMinimalAsync", PERF_OTHER},
    {"ReduceScatterMinimalDirect", PERF_OTHER},
    {"StridedReduceScatterAsync", PERF_OTHER},
    {"LlamaReduceScatter", PERF_OTHER},
    {"DeepseekMoEReduceScatter", PERF_OTHER},
    {"StridedAllGatherAsync", PERF_OTHER},
    {"SliceReshardAsync", PERF_OTHER},
    {"SelectiveReduceCombine", PERF_OTHER},
    {"ReduceToRootOp", PERF_OTHER},
    {"AllReduceAsync", PERF_OTHER},
    {"AllToAllAsync", PERF_OTHER},
    {"AllToAllAsyncGeneric", PERF_OTHER},
    {"AllToAllDispatch", PERF_OTHER},
    {"AllToAllDispatchMetadata", PERF_OTHER},
    {"AllToAllCombine", PERF_OTHER},
    {"AllBroadcast", PERF_OTHER},
    {"Broadcast", PERF_OTHER},
    {"SendAsync", PERF_OTHER},
    {"RecvAsync", PERF_OTHER},
    {"SendDirectAsync", PERF_OTHER},
    {"RecvDirectAsync", PERF_OTHER},
    {"Dispatch", PERF_OTHER},
    {"Combine", PERF_OTHER},
};

enum perf_category ttpr_category_of(const struct ttpr *perf, const char *name)
{
    name += strspn(name, " \t\n\r\f\v");
    size_t length = strcspn(name, " \t\n\r\f\v");
    if (ttpr_is_1_4(perf))
        return strstr(name, "(torch)") ? PERF_HOST : perf_known_category(name, length);
    if (length == 7 && memcmp(name, "(torch)", 7) == 0)
        return PERF_HOST;
    for (size_t i = 0; i < COUNT_OF(other_categories); i++) {
        if (perf_is_op(other_categories[i].name, name, length))
            return (enum perf_category)other_categories[i].category;
    }
    return perf_known_category(name, length);
}

static uint32_t key_of(struct ttpr *perf, const struct ttpr_row *row)
{
    unsigned group_by = perf->request->group_by;
    bytes_clear(&perf->scratch);
    if (group_by == TTPR_BY_CATEGORY)
        bytes_append_text(&perf->scratch, perf_category_text(row->category));
    else
        perf_append_group_key(&perf->scratch, ttpr_text(perf, row->op_code),
                              group_by == TTPR_BY_MEMORY ? ttpr_text(perf, row->in0_memory) : "");
    return ttpr_intern(perf, perf->scratch.data, perf->scratch.length);
}

static struct perf_group_values values_of(const void *context, uint32_t index)
{
    const struct ttpr_row *row = ttpr_at(context, index);
    double time_us = row->kind == TTPR_HOST_OP ? 0 : row->time_us; /* the device had none of it */
    return (struct perf_group_values){time_us, row->shown_gap_us, NAN, row->flops_percent, row->category};
}

/* By time, the longest first; equal ones in the original's order, which sorts the reversed list upwards. */
static bool sort_as_original(struct perf_groups *groups)
{
    size_t count = groups->count;
    int64_t *keys = malloc(count * sizeof *keys);
    uint32_t *order = malloc(count * sizeof *order);
    struct perf_group *sorted = malloc(count * sizeof *sorted);
    bool is_done = keys && order && sorted;
    if (is_done) {
        qsort_r(groups->items, count, sizeof *groups->items, perf_groups_compare_keys, groups);
        for (size_t i = 0; i < count; i++) {
            keys[i] = ttpr_order_key(groups->items[count - 1 - i].time_us);
            order[i] = (uint32_t)i;
        }
        ttpr_order_sort(keys, order, count);
        for (size_t i = 0; i < count; i++)
            sorted[i] = groups->items[count - 1 - order[count - 1 - i]];
        memcpy(groups->items, sorted, count * sizeof *sorted);
    }
    free(keys);
    free(order);
    free(sorted);
    return is_done;
}

int ttpr_make_groups(struct ttpr *perf, struct error *err)
{
    bool is_by_device = perf->request->no_merge_devices;
    struct perf_group_member *members = malloc((perf->count ? perf->count : 1) * sizeof *members);
    struct perf_group_rows rows = {
        .members = members, .is_by_device = is_by_device, .values = values_of, .context = perf};
    for (size_t i = 0; members && i < perf->count; i++) {
        const struct ttpr_row *row = ttpr_at(perf, i);
        if (row->kind != TTPR_SIGNPOST && (!is_by_device || row->device != PERF_NO_NUMBER))
            members[rows.count++] = (struct perf_group_member){
                key_of(perf, row), is_by_device ? row->device : PERF_NO_NUMBER, (uint32_t)i};
    }
    perf->groups.texts = &perf->texts;
    int status = !members || perf->failed ? -ENOMEM : perf_groups_make(&perf->groups, &rows, err);
    free(members);
    if (!status && perf->groups.count && !sort_as_original(&perf->groups))
        status = -ENOMEM;
    if (status)
        return error_set(err, ENOMEM, "no memory to group %zu ops", perf->count);
    perf_groups_fill_percent(&perf->groups, is_by_device);
    return 0;
}
