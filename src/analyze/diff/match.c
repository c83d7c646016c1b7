/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops of two runs belong together.
 *
 * As sequences first (align.h), each thread's ops by themselves: what threads and processes do at the same time has no
 * order that two runs would share. Threads go with threads by their processes and by when they called their first op.
 * What is left then is the same op in another order, as where the main thread unpickles what workers send: equal ops
 * are paired as they come, those of one thread first. At last, what lies between the matches is matched by name alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/diff/diff.h"

/* What counts of a key at each level of strictness. */
enum level { LEVEL_PLACE, LEVEL_SHAPE, LEVEL_NAME, LEVELS };

struct matching {
    struct diff *diff;
    uint32_t *class_of[LEVELS]; /* by key */
    size_t class_count[LEVELS];
    uint32_t *order[DIFF_SIDES];   /* ops of each side, thread by thread */
    uint32_t *classes[DIFF_SIDES]; /* of these at one level */
    uint32_t *paired;       /* by place in A's order: the place in B's, of pairs that are out of order */
    bool *is_taken;         /* of B's */
    uint32_t *first, *next; /* by class, by place in B's order: lists of what is left */
};

static uint32_t role_of(const struct diff_run *run, uint32_t op)
{
    return run->roles ? run->roles[op] : 0;
}

/* --- classes --- */

static int make_level(struct matching *m, enum level level)
{
    struct diff *diff = m->diff;
    struct intern classes = {0};
    m->class_of[level] = malloc((diff->key_count + 1) * sizeof(uint32_t));
    if (!m->class_of[level])
        return -ENOMEM;
    for (size_t i = 0; i < diff->key_count; i++) {
        struct diff_key key = diff->keys[i];
        key.group = 0;
        if (level > LEVEL_PLACE)
            key.location = 0;
        if (level > LEVEL_SHAPE)
            key.shape = 0;
        m->class_of[level][i] = intern_add(&classes, &key, sizeof key);
        if (m->class_of[level][i] == INTERN_NONE) {
            intern_free(&classes);
            return -ENOMEM;
        }
    }
    m->class_count[level] = classes.count;
    intern_free(&classes);
    return 0;
}

static void fill_level(struct matching *m, enum level level)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_run *run = &m->diff->runs[side];
        for (size_t i = 0; i < run->op_count; i++)
            m->classes[side][i] = m->class_of[level][run->ops[m->order[side][i]].key];
    }
}

static uint64_t count_shared(const struct matching *m, uint32_t *uses)
{
    const struct diff_run *a = &m->diff->runs[DIFF_A], *b = &m->diff->runs[DIFF_B];
    uint64_t shared = 0;
    for (size_t i = 0; i < a->op_count; i++)
        uses[m->classes[DIFF_A][i]]++;
    for (size_t i = 0; i < b->op_count; i++) {
        if (uses[m->classes[DIFF_B][i]]) {
            uses[m->classes[DIFF_B][i]]--;
            shared++;
        }
    }
    for (size_t i = 0; i < a->op_count; i++)
        uses[m->classes[DIFF_A][i]] = 0;
    return shared;
}

/* Lines moved when the source was edited: then few places fit, and they would only mislead. */
static int find_moved_locations(struct matching *m)
{
    uint32_t *uses = calloc(m->diff->key_count + 1, sizeof *uses);
    if (!uses)
        return -ENOMEM;
    fill_level(m, LEVEL_PLACE);
    uint64_t strict = count_shared(m, uses);
    fill_level(m, LEVEL_SHAPE);
    m->diff->is_location_moved = strict * 2 < count_shared(m, uses);
    free(uses);
    return 0;
}

/* --- thread by thread --- */

static bool order_by_role(const struct diff_run *run, uint32_t *order)
{
    size_t roles = 1;
    for (size_t i = 0; i < run->op_count; i++)
        roles = role_of(run, (uint32_t)i) >= roles ? (size_t)role_of(run, (uint32_t)i) + 1 : roles;
    size_t *begin = calloc(roles + 1, sizeof *begin);
    if (!begin)
        return false;
    for (size_t i = 0; i < run->op_count; i++)
        begin[role_of(run, (uint32_t)i) + 1]++;
    for (size_t r = 0; r < roles; r++)
        begin[r + 1] += begin[r];
    for (size_t i = 0; i < run->op_count; i++)
        order[begin[role_of(run, (uint32_t)i)]++] = (uint32_t)i;
    free(begin);
    return true;
}

static int begin_matching(struct matching *m)
{
    struct diff *diff = m->diff;
    bool is_short = false;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_run *run = &diff->runs[side];
        m->order[side] = malloc((run->op_count + 1) * sizeof(uint32_t));
        m->classes[side] = malloc((run->op_count + 1) * sizeof(uint32_t));
        is_short |= !m->order[side] || !m->classes[side] || !order_by_role(run, m->order[side]);
    }
    size_t a_count = diff->runs[DIFF_A].op_count, b_count = diff->runs[DIFF_B].op_count;
    m->paired = malloc((a_count + 1) * sizeof *m->paired);
    m->is_taken = calloc(b_count + 1, sizeof *m->is_taken);
    m->first = malloc((diff->key_count + 1) * sizeof *m->first);
    m->next = malloc((b_count + 1) * sizeof *m->next);
    is_short |= !m->paired || !m->is_taken || !m->first || !m->next;
    for (unsigned level = 0; level < LEVELS && !is_short; level++)
        is_short = make_level(m, (enum level)level) != 0;
    for (size_t i = 0; i < a_count && !is_short; i++)
        m->paired[i] = ALIGN_NONE;
    for (size_t i = 0; i <= diff->key_count && !is_short; i++)
        m->first[i] = ALIGN_NONE;
    return is_short || find_moved_locations(m) != 0 ? -ENOMEM : 0;
}

static void end_matching(struct matching *m)
{
    for (unsigned level = 0; level < LEVELS; level++)
        free(m->class_of[level]);
    for (int side = 0; side < DIFF_SIDES; side++) {
        free(m->order[side]);
        free(m->classes[side]);
    }
    free(m->paired);
    free(m->is_taken);
    free(m->first);
    free(m->next);
}

/* --- what is left --- */

struct stretch { /* of the two orders, half open */
    size_t a, a_end, b, b_end;
};

static void pair_stretch(struct matching *m, const struct stretch *s)
{
    const uint32_t *a = m->classes[DIFF_A], *b = m->classes[DIFF_B];
    for (size_t k = s->b_end; k-- > s->b;) {
        if (m->is_taken[k])
            continue;
        m->next[k] = m->first[b[k]];
        m->first[b[k]] = (uint32_t)k;
    }
    for (size_t i = s->a; i < s->a_end; i++) {
        uint32_t k = m->first[a[i]];
        if (m->paired[i] != ALIGN_NONE || m->diff->align.b_of_a[i] != ALIGN_NONE || k == ALIGN_NONE)
            continue;
        m->first[a[i]] = m->next[k];
        m->paired[i] = k;
        m->is_taken[k] = true;
    }
    for (size_t k = s->b; k < s->b_end; k++)
        m->first[b[k]] = ALIGN_NONE;
}

/* Equal ops in the order in which they come: those of the same thread, then all. */
static void pair_rest(struct matching *m, enum level level)
{
    const struct diff_run *a = &m->diff->runs[DIFF_A], *b = &m->diff->runs[DIFF_B];
    struct stretch s = {0};
    fill_level(m, level);
    while (s.a < a->op_count && s.b < b->op_count) {
        uint32_t left = role_of(a, m->order[DIFF_A][s.a]), right = role_of(b, m->order[DIFF_B][s.b]);
        uint32_t role = left < right ? left : right;
        for (s.a_end = s.a; s.a_end < a->op_count && role_of(a, m->order[DIFF_A][s.a_end]) == role;)
            s.a_end++;
        for (s.b_end = s.b; s.b_end < b->op_count && role_of(b, m->order[DIFF_B][s.b_end]) == role;)
            s.b_end++;
        pair_stretch(m, &s);
        s = (struct stretch){.a = s.a_end, .b = s.b_end};
    }
    pair_stretch(m, &(struct stretch){0, a->op_count, 0, b->op_count});
}

static void mark_taken(struct matching *m)
{
    const struct align *align = &m->diff->align;
    for (size_t i = 0; i < align->a_count; i++) {
        if (align->b_of_a[i] != ALIGN_NONE)
            m->is_taken[align->b_of_a[i]] = true;
    }
}

/* --- --- */

static bool is_wanted(const struct diff *diff, enum level level)
{
    if (level == LEVEL_PLACE)
        return !diff->options.ignore_location && !diff->is_location_moved;
    return level != LEVEL_SHAPE || !diff->options.ignore_shape;
}

static int align_level(struct matching *m, enum level level, struct error *err)
{
    struct align *align = &m->diff->align;
    if (!is_wanted(m->diff, level) ||
        (level > LEVEL_PLACE && m->class_count[level] == m->class_count[level - 1] && align->matched))
        return 0; /* it would find the same again */
    fill_level(m, level);
    size_t other = m->class_count[level]; /* what is paired already fits nothing */
    for (size_t i = 0; i < align->a_count; i++)
        m->classes[DIFF_A][i] = m->paired[i] == ALIGN_NONE ? m->classes[DIFF_A][i] : (uint32_t)other;
    for (size_t i = 0; i < align->a_count; i++) {
        if (m->paired[i] != ALIGN_NONE)
            m->classes[DIFF_B][m->paired[i]] = (uint32_t)other + 1;
    }
    return align_by(align, m->classes[DIFF_A], m->classes[DIFF_B], other + 2, err);
}

/* From places in the orders to places in the runs. */
static int place_matches(struct matching *m, struct error *err)
{
    struct align *align = &m->diff->align;
    uint32_t *b_of_a = malloc((align->a_count + 1) * sizeof *b_of_a);
    if (!b_of_a)
        return error_no_memory(err, "the matches of ops");
    for (size_t i = 0; i < align->a_count; i++) {
        uint32_t k = m->paired[i] != ALIGN_NONE ? m->paired[i] : align->b_of_a[i];
        align->matched += m->paired[i] != ALIGN_NONE;
        b_of_a[m->order[DIFF_A][i]] = k == ALIGN_NONE ? ALIGN_NONE : m->order[DIFF_B][k];
    }
    free(align->b_of_a);
    align->b_of_a = b_of_a;
    return 0;
}

int diff_match_ops(struct diff *diff, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    struct matching m = {.diff = diff};
    int status = align_begin(&diff->align, a->op_count, b->op_count, err);
    if (!status && begin_matching(&m) != 0)
        status = error_set(err, ENOMEM, "no memory to match %zu with %zu ops", a->op_count, b->op_count);
    for (unsigned level = LEVEL_PLACE; level < LEVEL_NAME && !status; level++)
        status = align_level(&m, (enum level)level, err);
    if (!status)
        mark_taken(&m);
    for (unsigned level = LEVEL_PLACE; level < LEVEL_NAME && !status; level++) {
        if (is_wanted(diff, (enum level)level))
            pair_rest(&m, (enum level)level);
    }
    diff->align.cut_count = diff->align.missed_most = 0; /* whatever the search had missed is paired now */
    if (!status)
        status = align_level(&m, LEVEL_NAME, err);
    if (!status && diff->options.ignore_shape) {
        mark_taken(&m);
        pair_rest(&m, LEVEL_NAME);
        diff->align.missed_most = 0;
    }
    if (!status)
        status = place_matches(&m, err);
    end_matching(&m);
    return status;
}
