/* SPDX-License-Identifier: Apache-2.0 */
/* What the report groups ops by: the name, the name and where input 0 lies, the category, the signpost before the op,
 * its place in the source or its layer. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/internal.h"
#include "ops/description.h"

static const char no_layer[] = "(no layer)";

static uint32_t text_key(struct perf *perf, const char *text)
{
    return perf_intern(perf, text, strlen(text));
}

static uint32_t work_key(struct perf *perf, const struct perf_work *work)
{
    bytes_clear(&perf->scratch);
    perf_append_group_key(&perf->scratch, perf_text(perf, work->name),
                          perf->options.group_by == PERF_BY_MEMORY ? perf_text(perf, work->memory) : "");
    return perf_intern(perf, perf->scratch.data, perf->scratch.length);
}

static struct perf_group_values values_of(const void *context, uint32_t index)
{
    const struct perf *perf = context;
    const struct perf_row *row = perf_at(perf, index);
    struct perf_figures figures = perf_figures(perf, row);
    return (struct perf_group_values){perf_time_us(row), row->shown_gap_us, figures.ideal_us,
                                      row->doubt ? NAN : figures.flops_percent, perf_category(perf, row)};
}

/* The keys of works, found once each. */
static uint32_t *find_work_keys(struct perf *perf)
{
    uint32_t *keys = malloc((perf->work_count ? perf->work_count : 1) * sizeof *keys);
    for (size_t i = 0; keys && i < perf->work_count; i++)
        keys[i] = work_key(perf, &perf->works[i]);
    return keys;
}

static uint32_t row_key(struct perf *perf, const struct perf_row *row, uint32_t signpost,
                        const uint32_t *work_keys)
{
    const struct op_description *d = perf_description(perf, row);
    uint32_t location = perf_location(perf, row);
    switch (perf->options.group_by) {
    case PERF_BY_CATEGORY:
        return text_key(perf, perf_category_text(perf_category(perf, row)));
    case PERF_BY_SIGNPOST:
        return signpost;
    case PERF_BY_LOCATION:
        return location == OPS_NONE ? text_key(perf, "(no location)") : location;
    case PERF_BY_LAYER:
        return d->module == OPS_NONE ? text_key(perf, no_layer) : d->module;
    default:
        return work_keys[row->work];
    }
}

static size_t list_members(struct perf *perf, struct perf_group_member *members, const uint32_t *work_keys)
{
    uint32_t signpost = text_key(perf, "(before the first signpost)");
    size_t count = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        int32_t device = perf->options.no_merge_devices ? perf_device(perf, row) : PERF_NO_NUMBER;
        if (row->kind == PERF_SIGNPOST) {
            signpost = perf->ops->signposts[perf_line(perf, row)->signpost].header;
            continue;
        }
        if (perf->options.no_merge_devices && device == PERF_NO_NUMBER)
            continue;
        uint32_t key = row_key(perf, row, signpost, work_keys);
        members[count++] = (struct perf_group_member){key, device, (uint32_t)i};
    }
    return count;
}

static bool has_layers(const struct perf *perf)
{
    for (size_t i = 0; i < perf->groups.count; i++) {
        if (strcmp(perf_text(perf, perf->groups.items[i].key), no_layer) != 0)
            return true;
    }
    return false;
}

/* All in one group: what to do so that there are more. */
static void note_no_layers(struct perf *perf)
{
    if (perf->options.group_by == PERF_BY_LAYER && perf->groups.count && !has_layers(perf))
        perf_note(
            perf, PERF_NOTE_INFO, NULL,
            "no op says in which layer it is: record PyTorch with opscope run --python-torch-modules, or give "
            "ops the attribute \"module\" (opscope_op_attribute, opscope.op)");
}

int perf_make_groups(struct perf *perf, struct error *err)
{
    struct perf_group_member *members = malloc((perf->count ? perf->count : 1) * sizeof *members);
    uint32_t *work_keys = find_work_keys(perf);
    struct perf_group_rows rows = {.members = members,
                                   .is_by_device = perf->options.no_merge_devices,
                                   .values = values_of,
                                   .context = perf};
    int status = 0;
    if (!members || !work_keys)
        status = error_set(err, ENOMEM, "no memory to group %zu ops", perf->count);
    else
        rows.count = list_members(perf, members, work_keys);
    perf->groups.texts = &perf->ops->texts;
    if (!status && perf->ops->failed)
        status = error_set(err, ENOMEM, "no memory to group %zu ops", perf->count);
    if (!status)
        status = perf_groups_make(&perf->groups, &rows, err);
    free(members);
    free(work_keys);
    perf_groups_sort(&perf->groups);
    perf_groups_fill_percent(&perf->groups, perf->options.no_merge_devices);
    note_no_layers(perf);
    return status;
}
