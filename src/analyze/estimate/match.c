/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/match.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/estimate/places.h"
#include "base/bytes.h"
#include "base/intern.h"

#define NO_GROUP UINT32_MAX

enum { ESTIMATE, RUN };

struct item { /* an op, or all ops of a dispatch */
    uint64_t start, end;
    double ns;
    uint32_t op, first, ops; /* the longest of them; they are next to each other */
    uint32_t name;           /* in matching.names */
    uint32_t own;            /* the same, while split_places changes it */
    uint32_t dispatch;       /* its name, where both sides have such; NO_GROUP */
    uint32_t place;          /* the set of places that it is in; NO_GROUP */
    uint32_t group;          /* that it is matched in; NO_GROUP */
};

struct side {
    struct item *items;
    size_t count;
    /* the items of each group, in order: order[first[group]] to order[first[group + 1]] */
    uint32_t *order;
    size_t *first;
};

struct matching {
    struct match *match;
    const struct timeline *timelines[2];
    struct side sides[2];
    struct intern names, keys; /* texts of both; of keys, a group's */
    size_t groups, places;
    size_t pair_capacity;
    size_t repeats; /* how often the run goes through the whole model */
    bool failed;
};

void match_free(struct match *match)
{
    free(match->pairs);
    free(match->pair_of[0]);
    free(match->pair_of[1]);
    *match = (struct match){0};
}

/* --- items --- */

static uint32_t add_name(struct matching *m, const char *name)
{
    uint32_t id = intern_add(&m->names, name, strlen(name));
    m->failed |= id == INTERN_NONE;
    return id;
}

static double ns_of(const struct timeline *timeline, uint64_t cycles)
{
    return timeline->clock_mhz > 0 ? (double)cycles * 1000 / timeline->clock_mhz : (double)cycles;
}

static bool begin_side(struct matching *m, int side, size_t most)
{
    free(m->sides[side].items);
    m->sides[side] = (struct side){.items = calloc(most + 1, sizeof(struct item))};
    m->failed |= !m->sides[side].items;
    return !m->failed;
}

static void take_ops(struct matching *m, int side)
{
    const struct timeline *t = m->timelines[side];
    if (!begin_side(m, side, t->op_count))
        return;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct timeline_op *op = &t->ops[i];
        m->sides[side].items[m->sides[side].count++] = (struct item){
            .start = op->start,
            .end = op->end,
            .ns = ns_of(t, op->end - op->start),
            .op = i,
            .first = i,
            .ops = 1,
            .name = add_name(m, timeline_get_text(t, op->name)),
            .dispatch = op->dispatch < t->dispatch_count
                            ? add_name(m, timeline_get_text(t, t->dispatches[op->dispatch].name))
                            : NO_GROUP,
            .place = NO_GROUP};
    }
}

/* Names of dispatches tell ops apart only where both sides have the same ones. */
static void compare_dispatches(struct matching *m)
{
    uint8_t *seen = calloc(m->names.count + 1, sizeof seen[0]);
    bool is_common = false;
    m->failed |= !seen;
    for (int side = 0; side < 2 && !m->failed; side++) {
        for (size_t i = 0; i < m->sides[side].count; i++) {
            uint32_t name = m->sides[side].items[i].dispatch;
            if (name == NO_GROUP)
                continue;
            seen[name] |= (uint8_t)(1u << side);
            is_common |= seen[name] == 3;
        }
    }
    for (int side = 0; side < 2 && !m->failed && !is_common; side++) {
        for (size_t i = 0; i < m->sides[side].count; i++)
            m->sides[side].items[i].dispatch = NO_GROUP;
    }
    free(seen);
}

/* A dispatch of one op takes as long as that; of several, an estimate from its start to its end, a run as long as its
 * programs together: the host may have copied in between. */
static void take_dispatches(struct matching *m, int which)
{
    const struct timeline *t = m->timelines[which];
    struct side *side = &m->sides[which];
    if (!begin_side(m, which, t->op_count))
        return;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct timeline_op *op = &t->ops[i];
        struct item *last = side->count ? &side->items[side->count - 1] : NULL;
        double ns = ns_of(t, op->end - op->start);
        if (op->dispatch >= t->dispatch_count)
            continue;
        const struct timeline_dispatch *d = &t->dispatches[op->dispatch];
        if (last && t->ops[last->op].dispatch == op->dispatch) {
            if (op->end - op->start > t->ops[last->op].end - t->ops[last->op].start)
                last->op = i;
            last->ns = which == RUN ? last->ns + ns : ns_of(t, d->end - d->start);
            last->end = op->end > last->end ? op->end : last->end;
            last->ops++;
            continue;
        }
        side->items[side->count++] = (struct item){.start = op->start,
                                                   .end = op->end,
                                                   .ns = ns,
                                                   .op = i,
                                                   .first = i,
                                                   .ops = 1,
                                                   .name = add_name(m, timeline_get_text(t, d->name)),
                                                   .dispatch = NO_GROUP,
                                                   .place = NO_GROUP};
    }
}

/* --- groups --- */

static uint32_t group_of(struct matching *m, uint32_t place, uint32_t name, uint32_t dispatch)
{
    const uint32_t key[3] = {place, name, dispatch};
    uint32_t id = intern_add(&m->keys, key, sizeof key);
    m->failed |= id == INTERN_NONE;
    return id;
}

/* By place and name where `by` asks for them; true where both sides have one in common. */
static bool make_groups(struct matching *m, bool by_place, bool by_name)
{
    bool *seen = NULL;
    bool is_common = false;
    intern_free(&m->keys);
    m->keys = (struct intern){0};
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < m->sides[side].count && !m->failed; i++) {
            struct item *item = &m->sides[side].items[i];
            item->group =
                by_place && item->place == NO_GROUP
                    ? NO_GROUP
                    : group_of(m, by_place ? item->place : 0, by_name ? item->name : 0, item->dispatch);
        }
    }
    m->groups = m->keys.count;
    seen = calloc(m->groups + 1, sizeof seen[0]);
    m->failed |= !seen;
    for (size_t i = 0; i < m->sides[ESTIMATE].count && !m->failed; i++) {
        if (m->sides[ESTIMATE].items[i].group != NO_GROUP)
            seen[m->sides[ESTIMATE].items[i].group] = true;
    }
    for (size_t i = 0; i < m->sides[RUN].count && !m->failed; i++)
        is_common |= m->sides[RUN].items[i].group != NO_GROUP && seen[m->sides[RUN].items[i].group];
    free(seen);
    return is_common && !m->failed;
}

/* Items by group: a counting sort, which keeps their order. */
static void sort_side(struct matching *m, struct side *side)
{
    free(side->order);
    free(side->first);
    side->order = calloc(side->count + 1, sizeof side->order[0]);
    side->first = calloc(m->groups + 2, sizeof side->first[0]);
    size_t *at = calloc(m->groups + 1, sizeof at[0]);
    m->failed |= !side->order || !side->first || !at;
    for (size_t i = 0; i < side->count && !m->failed; i++) {
        if (side->items[i].group != NO_GROUP)
            side->first[side->items[i].group + 1]++;
    }
    for (size_t i = 0; i < m->groups && !m->failed; i++) {
        side->first[i + 1] += side->first[i];
        at[i] = side->first[i];
    }
    for (uint32_t i = 0; i < side->count && !m->failed; i++) {
        if (side->items[i].group != NO_GROUP)
            side->order[at[side->items[i].group]++] = i;
    }
    free(at);
}

static size_t group_count(const struct side *side, size_t group)
{
    return side->first[group + 1] - side->first[group];
}

static const struct item *group_item(const struct side *side, size_t group, size_t at)
{
    return &side->items[side->order[side->first[group] + at]];
}

/* --- how often the model ran --- */

static size_t common_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The same items come again and again, `period` of them. */
static bool repeats_after(const struct side *run, size_t period)
{
    for (size_t i = period; i < run->count; i++) {
        if (run->items[i].name != run->items[i - period].name ||
            run->items[i].group != run->items[i - period].group)
            return false;
    }
    return true;
}

/* What ops of one name and group were run so often, divided by how many of them the estimate has, is a multiple of how
 * often the model ran. */
static size_t count_repeats(struct matching *m)
{
    struct intern keys = {0};
    size_t all = 0, most = m->sides[ESTIMATE].count + m->sides[RUN].count;
    size_t(*counts)[2] = calloc(most + 1, sizeof counts[0]);
    m->failed |= !counts;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < m->sides[side].count && !m->failed; i++) {
            const uint32_t key[2] = {m->sides[side].items[i].name, m->sides[side].items[i].group};
            uint32_t id = intern_add(&keys, key, sizeof key);
            m->failed |= id == INTERN_NONE;
            if (!m->failed)
                counts[id][side]++;
        }
    }
    for (size_t i = 0; i < keys.count && !m->failed; i++) {
        size_t ops = counts[i][ESTIMATE], runs = counts[i][RUN];
        if (runs)
            all = common_divisor(ops ? (runs % ops ? 1 : runs / ops) : runs, all);
    }
    free(counts);
    intern_free(&keys);
    return all ? all : 1;
}

static void find_repeats(struct matching *m)
{
    const struct side *run = &m->sides[RUN];
    size_t all = count_repeats(m);
    m->repeats = all;
    for (size_t k = all; k >= 1 && !m->match->whole_runs; k--) {
        if (all % k == 0 && run->count % k == 0 && repeats_after(run, run->count / k))
            m->match->whole_runs = k;
    }
    if (m->match->whole_runs)
        m->repeats = m->match->whole_runs;
}

static void find_shortest(struct matching *m)
{
    const struct side *run = &m->sides[RUN];
    struct match *match = m->match;
    size_t period = match->whole_runs ? run->count / match->whole_runs : 0;
    for (size_t i = 0; period && i < match->whole_runs; i++) {
        uint64_t start = run->items[i * period].start, end = 0;
        for (size_t k = i * period; k < (i + 1) * period; k++) {
            start = run->items[k].start < start ? run->items[k].start : start;
            end = run->items[k].end > end ? run->items[k].end : end;
        }
        if (!i || end - start < match->shortest_end - match->shortest_start) {
            match->shortest_start = start;
            match->shortest_end = end;
        }
    }
}

/* --- pairs --- */

static struct match_pair *add_pair(struct matching *m, const struct item *item)
{
    struct match *match = m->match;
    if (!array_reserve(&match->pairs, &m->pair_capacity, match->pair_count + 1, sizeof match->pairs[0])) {
        m->failed = true;
        return NULL;
    }
    struct match_pair *pair = &match->pairs[match->pair_count++];
    *pair = (struct match_pair){.op = item->op,
                                .number = (uint32_t)match->pair_count - 1,
                                .ops = item->ops,
                                .is_dispatch = match->by == MATCH_DISPATCH,
                                .estimate_ns = item->ns};
    return pair;
}

static void add_run(struct match_pair *pair, double ns)
{
    if (!(ns > 0)) /* shorter than the clock's step: nothing was measured */
        return;
    pair->least_ns = !pair->runs || ns < pair->least_ns ? ns : pair->least_ns;
    pair->most_ns = ns > pair->most_ns ? ns : pair->most_ns;
    pair->runs++;
    pair->mean_ns += (ns - pair->mean_ns) / (double)pair->runs;
}

/* All ops of the item are of this pair. */
static void note_pair(struct matching *m, int side, const struct item *item, const struct match_pair *pair)
{
    for (uint32_t i = item->first; i < item->first + item->ops; i++)
        m->match->pair_of[side][i] = pair->number;
}

/* Each op with the runs that are its turn. */
static void pair_in_turn(struct matching *m, size_t group)
{
    const struct side *estimate = &m->sides[ESTIMATE], *run = &m->sides[RUN];
    size_t ops = group_count(estimate, group), runs = group_count(run, group);
    bool is_even = runs % ops == 0;
    for (size_t i = 0; i < ops; i++) {
        struct match_pair *pair = add_pair(m, group_item(estimate, group, i));
        if (pair)
            note_pair(m, ESTIMATE, group_item(estimate, group, i), pair);
        for (size_t k = is_even ? i : 0; pair && k < runs; k += is_even ? ops : 1) {
            add_run(pair, group_item(run, group, k)->ns);
            note_pair(m, RUN, group_item(run, group, k), pair);
        }
    }
}

/* All ops of a place with all that ran for it. */
static void pair_sums(struct matching *m, size_t group)
{
    const struct side *estimate = &m->sides[ESTIMATE], *run = &m->sides[RUN];
    size_t ops = group_count(estimate, group), runs = group_count(run, group);
    size_t times = runs % m->repeats == 0 ? m->repeats : 1, each = runs / times;
    struct match_pair *pair = add_pair(m, group_item(estimate, group, 0));
    double longest = 0;
    if (!pair)
        return;
    pair->estimate_ns = 0;
    pair->ops = 0;
    for (size_t i = 0; i < ops; i++) {
        const struct item *item = group_item(estimate, group, i);
        pair->op = item->ns > longest ? item->op : pair->op;
        longest = fmax(longest, item->ns);
        pair->estimate_ns += item->ns;
        pair->ops += item->ops;
        note_pair(m, ESTIMATE, item, pair);
    }
    for (size_t i = 0; i < times; i++) {
        double sum = 0;
        for (size_t k = i * each; k < (i + 1) * each; k++) {
            sum += group_item(run, group, k)->ns;
            note_pair(m, RUN, group_item(run, group, k), pair);
        }
        add_run(pair, sum);
    }
    m->match->uneven += each != ops;
}

static int by_op(const void *left, const void *right)
{
    const struct match_pair *a = left, *b = right;
    return (a->op > b->op) - (a->op < b->op);
}

/* In the order of the estimate; ops name their pairs again. */
static void sort_pairs(struct matching *m)
{
    struct match *match = m->match;
    uint32_t *places = malloc((match->pair_count + 1) * sizeof places[0]);
    m->failed |= !places;
    if (match->pair_count)
        qsort(match->pairs, match->pair_count, sizeof match->pairs[0], by_op);
    for (uint32_t i = 0; i < match->pair_count && !m->failed; i++)
        places[match->pairs[i].number] = i;
    for (int side = 0; side < 2 && !m->failed; side++) {
        for (size_t i = 0; i < m->timelines[side]->op_count; i++) {
            uint32_t *pair = &match->pair_of[side][i];
            *pair = *pair == MATCH_NO_PAIR ? MATCH_NO_PAIR : places[*pair];
        }
    }
    free(places);
}

static bool begin_pairs(struct matching *m)
{
    for (int side = 0; side < 2 && !m->failed; side++) {
        size_t count = m->timelines[side]->op_count;
        uint32_t *pairs = malloc((count + 1) * sizeof pairs[0]);
        m->match->pair_of[side] = pairs;
        m->failed |= !pairs;
        for (size_t i = 0; i < count && pairs; i++)
            pairs[i] = MATCH_NO_PAIR;
    }
    return !m->failed;
}

static void make_pairs(struct matching *m)
{
    if (!begin_pairs(m))
        return;
    const struct side *estimate = &m->sides[ESTIMATE], *run = &m->sides[RUN];
    for (size_t group = 0; group < m->groups && !m->failed; group++) {
        size_t ops = group_count(estimate, group), runs = group_count(run, group);
        if (!ops)
            m->match->unknown += runs;
        else if (!runs || m->match->by != MATCH_PLACE || runs == ops * m->repeats)
            pair_in_turn(m, group);
        else
            pair_sums(m, group);
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < m->sides[side].count && !m->failed; i++) {
            if (m->sides[side].items[i].group != NO_GROUP)
                continue;
            m->match->unknown += side == RUN;
            if (side == ESTIMATE)
                add_pair(m, &m->sides[side].items[i]);
        }
    }
    sort_pairs(m);
}

/* --- all of it --- */

static void find_places(struct matching *m)
{
    struct place_sets sets = {0};
    for (int pass = 0; pass < 2; pass++) {
        for (int side = 0; side < 2; side++) {
            const struct timeline *t = m->timelines[side];
            for (size_t i = 0; i < m->sides[side].count; i++) {
                struct item *item = &m->sides[side].items[i];
                uint32_t text = t->ops[item->op].location;
                const char *location = text == TIMELINE_NONE ? "" : timeline_get_text(t, text);
                if (pass == 0)
                    place_sets_add(&sets, location);
                else
                    item->place = place_sets_find(&sets, location);
                m->places = item->place != NO_GROUP && item->place >= m->places ? item->place + 1 : m->places;
            }
        }
    }
    m->failed |= sets.failed;
    place_sets_free(&sets);
}

/* By place, and by name as well in those places where both sides have the same names. */
static void split_places(struct matching *m)
{
    bool *differs = calloc(m->places + 1, sizeof differs[0]);
    m->failed |= !differs;
    if (!m->failed)
        make_groups(m, true, true);
    for (int side = 0; side < 2; side++)
        sort_side(m, &m->sides[side]);
    for (int side = 0; side < 2 && !m->failed; side++) {
        const struct side *own = &m->sides[side], *other = &m->sides[!side];
        for (size_t i = 0; i < own->count; i++) {
            const struct item *item = &own->items[i];
            if (item->group != NO_GROUP && !group_count(other, item->group))
                differs[item->place] = true;
        }
    }
    for (int side = 0; side < 2 && !m->failed; side++) {
        for (size_t i = 0; i < m->sides[side].count; i++) {
            struct item *item = &m->sides[side].items[i];
            item->own = item->name;
            if (item->place != NO_GROUP && differs[item->place])
                item->name = NO_GROUP;
        }
    }
    free(differs);
    if (!m->failed)
        make_groups(m, true, true);
    for (int side = 0; side < 2 && !m->failed; side++) {
        for (size_t i = 0; i < m->sides[side].count; i++)
            m->sides[side].items[i].name = m->sides[side].items[i].own;
    }
}

static enum match_by choose(struct matching *m)
{
    take_ops(m, RUN);
    take_dispatches(m, ESTIMATE);
    if (m->failed)
        return MATCH_NONE;
    for (size_t i = 0; i < m->sides[RUN].count; i++)
        m->sides[RUN].items[i].dispatch = NO_GROUP;
    if (make_groups(m, false, true))
        return MATCH_DISPATCH;
    take_ops(m, RUN);
    take_ops(m, ESTIMATE);
    if (m->failed)
        return MATCH_NONE;
    compare_dispatches(m);
    find_places(m);
    if (make_groups(m, true, false)) {
        split_places(m);
        return MATCH_PLACE;
    }
    if (make_groups(m, false, true))
        return MATCH_NAME;
    take_dispatches(m, RUN);
    take_dispatches(m, ESTIMATE);
    return !m->failed && make_groups(m, false, true) ? MATCH_DISPATCH : MATCH_NONE;
}

int match_runs(struct match *match, const struct timeline *estimate, const struct timeline *run,
               struct error *err)
{
    struct matching m = {.match = match, .timelines = {estimate, run}};
    *match = (struct match){0};
    match->by = choose(&m);
    for (int side = 0; side < 2 && !m.failed; side++)
        sort_side(&m, &m.sides[side]);
    if (!m.failed && match->by != MATCH_NONE) {
        find_repeats(&m);
        find_shortest(&m);
        make_pairs(&m);
    }
    for (int side = 0; side < 2; side++) {
        free(m.sides[side].items);
        free(m.sides[side].order);
        free(m.sides[side].first);
    }
    intern_free(&m.names);
    intern_free(&m.keys);
    return m.failed ? error_no_memory(err, "the runs of an estimate") : 0;
}
