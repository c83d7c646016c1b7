/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a timeline whose rows do not say whose they are. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "import/timeline_csv.h"

static bool has_place(const struct timeline *t, const struct timeline_unit *unit)
{
    const char *place = unit->location == TIMELINE_NONE ? "" : timeline_get_text(t, unit->location);
    return *place && strcmp(place, "loc(unknown)") != 0;
}

static void find_op(struct timeline *t, struct timeline_unit *unit, struct map *by_key)
{
    bool is_placed = has_place(t, unit);
    uint32_t text = is_placed ? unit->location : unit->name;
    if (text == TIMELINE_NONE)
        return;
    uint64_t key = (uint64_t)is_placed << 32 | text;
    uint32_t found = map_get(by_key, key);
    if (found == MAP_NONE) {
        struct timeline_op *op = timeline_add_op(t);
        if (!op)
            return;
        op->name = unit->name;
        op->location = unit->location;
        found = (uint32_t)t->op_count - 1;
        t->failed |= !map_put(by_key, key, found);
    }
    unit->op = found;
    if (t->ops[found].name == TIMELINE_NONE)
        t->ops[found].name = unit->name;
}

static int by_start(const void *left, const void *right)
{
    const struct timeline_unit *a = *(const struct timeline_unit *const *)left,
                               *b = *(const struct timeline_unit *const *)right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Each op begins with its first unit and takes as long as any of its units does: `until` has the last end of each. */
static void sum_units(struct timeline *t, const struct timeline_unit **order, uint64_t *until)
{
    for (size_t i = 0; i < t->unit_count; i++)
        order[i] = &t->units[i];
    if (t->unit_count)
        qsort(order, t->unit_count, sizeof order[0], by_start);
    for (size_t i = 0; i < t->unit_count; i++) {
        const struct timeline_unit *unit = order[i];
        if (unit->op == TIMELINE_NONE)
            continue;
        struct timeline_op *op = &t->ops[unit->op];
        uint64_t *last = &until[unit->op];
        if (!op->end && !*last)
            op->start = op->end = *last = unit->start;
        uint64_t from = unit->start > *last ? unit->start : *last;
        op->end += unit->end > from ? unit->end - from : 0;
        *last = unit->end > *last ? unit->end : *last;
    }
}

void timeline_csv_make_ops(struct timeline *t)
{
    struct map by_key = {0};
    if (t->op_count)
        return;
    for (size_t i = 0; i < t->unit_count && !t->failed; i++)
        find_op(t, &t->units[i], &by_key);
    map_free(&by_key);
    const struct timeline_unit **order = malloc((t->unit_count + 1) * sizeof order[0]);
    uint64_t *until = calloc(t->op_count + 1, sizeof until[0]);
    t->failed |= !order || !until;
    if (!t->failed)
        sum_units(t, order, until);
    free(order);
    free(until);
    for (size_t i = 0; i < t->op_count && !t->failed; i++) /* the form that does not say what was computed */
        t->ops[i].name = t->ops[i].name == TIMELINE_NONE ? t->ops[i].location : t->ops[i].name;
}
