/* SPDX-License-Identifier: Apache-2.0 */
/* The road from rows to the report, and the names of what is in it. */
#include "analyze/report/report.h"

#include <errno.h>

#include "analyze/report/internal.h"

int perf_finish(struct perf *perf, struct error *err)
{
    if (perf->row_count == 0 && !perf->options.compat)
        return 0; /* nothing to say about nothing */
    int status = perf_sort_rows(perf, err);
    if (!status)
        status = perf_apply_signposts(perf, err);
    if (!status)
        status = perf_merge_devices(perf, err);
    if (!status)
        status = perf->options.compat ? perf_compat_figures(perf, err) : perf_model_figures(perf, err);
    if (!status)
        status = perf_make_groups(perf, err);
    if (!status)
        status = perf_make_advice(perf, err);
    if (!status && perf->failed)
        status = error_set(err, ENOMEM, "no memory for the report of %zu ops", perf->row_count);
    return status;
}

const char *perf_bound_text(unsigned bound)
{
    static const char *const names[] = {"", "DRAM", "FLOP", "BOTH", "SLOW", "HOST", "LINK", "GAP"};
    return bound < sizeof names / sizeof names[0] ? names[bound] : "";
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

const char *perf_group_by_text(unsigned group_by)
{
    static const char *const names[] = {"op", "memory", "category", "signpost", "location", "layer"};
    return group_by < sizeof names / sizeof names[0] ? names[group_by] : "";
}
