/* SPDX-License-Identifier: Apache-2.0 */
/* What ops are called where they are grouped by shape. The report shows the sizes of those that have a model, and all
 * others of one name as one; of PyTorch's ops, which have few names, that would add up what has nothing in common. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "base/map.h"
#include "ops/description.h"

static bool is_torch(const char *name)
{
    return strncmp(name, "aten::", 6) == 0;
}

/* " 8x3x32x32"; false: its sizes are not recorded. */
static bool append_sizes(struct bytes *text, const struct ops *ops, const struct op_tensor *tensor)
{
    if (!tensor->rank || tensor->shape == OPS_NONE)
        return false;
    for (uint32_t i = 0; i < tensor->rank; i++)
        bytes_append_format(text, "%s%" PRId64, i ? "x" : " ", ops->sizes[tensor->shape + i]);
    return true;
}

/* The name with the sizes of its first tensor; the name alone where none is recorded. */
static uint32_t name_with_sizes(struct ops *ops, uint32_t name, uint32_t description)
{
    const struct op_description *d = ops_get_description(ops, description);
    struct bytes text = {0};
    uint32_t made = name;
    bytes_append_text(&text, ops_get_text(ops, name));
    if (d->inputs && append_sizes(&text, ops, &ops->tensors[ops_inputs(ops, d)[0]]))
        made = ops_text(ops, slice_from((const char *)text.data, text.length));
    ops->failed |= text.failed;
    bytes_free(&text);
    return made;
}

int overview_name_rows(struct overview *o, struct error *err)
{
    struct perf *perf = &o->perf;
    struct map made = {0}; /* by name and description */
    o->names = malloc((perf->row_count + 1) * sizeof o->names[0]);
    bool is_done = o->names != NULL;
    for (size_t i = 0; i < perf->row_count && is_done; i++) {
        const struct perf_row *row = &perf->rows[i];
        const struct perf_work *work = perf_work_of(perf, row);
        const struct op_call *call = perf_call(perf, row);
        o->names[i] = work->shown;
        if (work->shown != work->name || !call || call->description == OPS_NONE ||
            !is_torch(perf_text(perf, work->name)))
            continue;
        uint64_t key = (uint64_t)work->name << 32 | call->description;
        uint32_t name = map_get(&made, key);
        if (name == MAP_NONE) {
            name = name_with_sizes(perf->ops, work->name, call->description);
            is_done = map_put(&made, key, name);
        }
        o->names[i] = name;
    }
    map_free(&made);
    return is_done && !perf->ops->failed ? 0 : error_no_memory(err, "the names of ops");
}

uint32_t overview_row_name(const struct overview *o, const struct perf_row *row)
{
    return o->names ? o->names[row - o->perf.rows] : perf_work_of(&o->perf, row)->shown;
}
