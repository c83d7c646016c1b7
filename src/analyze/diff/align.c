/* SPDX-License-Identifier: Apache-2.0 */
/* See align.h. The sequences are copied once, keys beside places; a stretch of both (struct box) is worked on in these
 * copies, and what can match nothing is squeezed out of it, so that nothing but the copies, two tables by key and the
 * two rows of Myers' algorithm is ever allocated. The recursion goes into the smaller part of a split and loops over
 * the larger one, or ends at DEEPEST. */
#include "analyze/diff/align.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/hash.h"

#define DEEPEST 24u
#define GRAM 16u

struct sequence {
    uint32_t *keys, *places;
};

struct uses { /* of a key inside the box that is being looked at */
    uint32_t a, b, b_at;
};

struct gram { /* GRAM keys in a row */
    uint64_t hash;
    uint32_t a, b;      /* where they begin */
    uint8_t in_a, in_b; /* 2: more than once */
};

struct box { /* half open */
    size_t a, a_end, b, b_end;
};

struct pair {
    uint32_t a, b;
};

struct aligner {
    struct align *align;
    struct sequence a, b;
    struct uses *uses;           /* by key, all 0 between uses */
    int64_t *forward, *backward; /* by diagonal: how far along a */
    bool failed;
};

static size_t box_size(const struct box *box)
{
    return box->a_end - box->a + (box->b_end - box->b);
}

static bool box_is_empty(const struct box *box)
{
    return box->a == box->a_end || box->b == box->b_end;
}

static void match(struct aligner *s, size_t a, size_t b)
{
    s->align->b_of_a[s->a.places[a]] = s->b.places[b];
    s->align->matched++;
}

/* Takes equal ends off. */
static void strip(struct aligner *s, struct box *box)
{
    while (!box_is_empty(box) && s->a.keys[box->a] == s->b.keys[box->b])
        match(s, box->a++, box->b++);
    while (!box_is_empty(box) && s->a.keys[box->a_end - 1] == s->b.keys[box->b_end - 1])
        match(s, --box->a_end, --box->b_end);
}

/* --- Myers --- */

struct reach { /* the diagonals that a direction has got to */
    int64_t *at;
    int64_t low, high;
};

/* One difference further on every diagonal from the start; true with the point where the ways meet. */
static bool step_forward(struct aligner *s, const struct box *box, struct reach *f, const struct reach *b,
                         bool is_odd, struct pair *meet)
{
    int64_t least = (int64_t)box->a - (int64_t)box->b_end, most = (int64_t)box->a_end - (int64_t)box->b;
    if (f->low > least)
        f->at[--f->low - 1] = -1;
    else
        f->low++;
    if (f->high < most)
        f->at[++f->high + 1] = -1;
    else
        f->high--;
    for (int64_t d = f->high; d >= f->low; d -= 2) {
        int64_t x = f->at[d - 1] >= f->at[d + 1] ? f->at[d - 1] + 1 : f->at[d + 1], y = x - d;
        while (x < (int64_t)box->a_end && y < (int64_t)box->b_end && s->a.keys[x] == s->b.keys[y])
            x++, y++;
        f->at[d] = x;
        if (is_odd && b->low <= d && d <= b->high && b->at[d] <= x) {
            *meet = (struct pair){(uint32_t)x, (uint32_t)y};
            return true;
        }
    }
    return false;
}

static bool step_backward(struct aligner *s, const struct box *box, struct reach *b, const struct reach *f,
                          bool is_odd, struct pair *meet)
{
    int64_t least = (int64_t)box->a - (int64_t)box->b_end, most = (int64_t)box->a_end - (int64_t)box->b;
    if (b->low > least)
        b->at[--b->low - 1] = INT64_MAX;
    else
        b->low++;
    if (b->high < most)
        b->at[++b->high + 1] = INT64_MAX;
    else
        b->high--;
    for (int64_t d = b->high; d >= b->low; d -= 2) {
        int64_t x = b->at[d - 1] < b->at[d + 1] ? b->at[d - 1] : b->at[d + 1] - 1, y = x - d;
        while (x > (int64_t)box->a && y > (int64_t)box->b && s->a.keys[x - 1] == s->b.keys[y - 1])
            x--, y--;
        b->at[d] = x;
        if (!is_odd && f->low <= d && d <= f->high && x <= f->at[d]) {
            *meet = (struct pair){(uint32_t)x, (uint32_t)y};
            return true;
        }
    }
    return false;
}

/* The point that either direction got furthest to. Ways out of the box do not count. */
static bool furthest(const struct box *box, const struct reach *f, const struct reach *b, struct pair *meet)
{
    int64_t best = -1;
    for (int64_t d = f->low; d <= f->high; d++) {
        int64_t x = f->at[d], y = x - d, done = x + y - (int64_t)(box->a + box->b);
        if ((d - f->low) % 2 == 0 && done > best && x >= (int64_t)box->a && x <= (int64_t)box->a_end &&
            y >= (int64_t)box->b && y <= (int64_t)box->b_end) {
            best = done;
            *meet = (struct pair){(uint32_t)x, (uint32_t)y};
        }
    }
    for (int64_t d = b->low; d <= b->high; d++) {
        int64_t x = b->at[d];
        if ((d - b->low) % 2 != 0 || x < (int64_t)box->a || x > (int64_t)box->a_end)
            continue;
        int64_t y = x - d, done = (int64_t)(box->a_end + box->b_end) - x - y;
        if (done > best && y >= (int64_t)box->b && y <= (int64_t)box->b_end) {
            best = done;
            *meet = (struct pair){(uint32_t)x, (uint32_t)y};
        }
    }
    return best > 0;
}

/* A point that the way goes through: the middle of a shortest one, or, when that is more than `cost_max` differences
 * from either end, the furthest that was reached. */
static struct pair find_middle(struct aligner *s, const struct box *box, size_t cost_max)
{
    int64_t first = (int64_t)box->a - (int64_t)box->b, last = (int64_t)box->a_end - (int64_t)box->b_end;
    bool is_odd = (first - last) % 2 != 0;
    struct reach f = {s->forward + s->align->b_count + 1, first, first};
    struct reach b = {s->backward + s->align->b_count + 1, last, last};
    struct pair meet = {(uint32_t)box->a, (uint32_t)box->b};
    f.at[first] = (int64_t)box->a;
    b.at[last] = (int64_t)box->a_end;
    for (size_t cost = 1;; cost++) {
        if (step_forward(s, box, &f, &b, is_odd, &meet) || step_backward(s, box, &b, &f, is_odd, &meet))
            return meet;
        if (cost >= cost_max && furthest(box, &f, &b, &meet)) {
            s->align->cut_count++;
            return meet;
        }
    }
}

static void align_myers(struct aligner *s, struct box box)
{
    for (;;) {
        strip(s, &box);
        if (box_is_empty(&box))
            return;
        struct pair middle = find_middle(s, &box, box_size(&box) <= ALIGN_SHORT ? SIZE_MAX : ALIGN_COST);
        struct box head = {box.a, middle.a, box.b, middle.b},
                   tail = {middle.a, box.a_end, middle.b, box.b_end};
        bool is_head_smaller = box_size(&head) < box_size(&tail);
        align_myers(s, is_head_smaller ? head : tail);
        box = is_head_smaller ? tail : head;
    }
}

/* --- anchors --- */

static void count_uses(struct aligner *s, const struct box *box)
{
    for (size_t i = box->a; i < box->a_end; i++)
        s->uses[s->a.keys[i]].a++;
    for (size_t i = box->b; i < box->b_end; i++) {
        s->uses[s->b.keys[i]].b++;
        s->uses[s->b.keys[i]].b_at = (uint32_t)i;
    }
}

static void forget_uses(struct aligner *s, const struct box *box)
{
    for (size_t i = box->a; i < box->a_end; i++)
        s->uses[s->a.keys[i]] = (struct uses){0};
    for (size_t i = box->b; i < box->b_end; i++)
        s->uses[s->b.keys[i]] = (struct uses){0};
}

static size_t squeeze(struct sequence *sequence, size_t from, size_t end, const struct uses *uses)
{
    size_t kept = from;
    for (size_t i = from; i < end; i++) {
        const struct uses *use = &uses[sequence->keys[i]];
        if (use->a && use->b) {
            sequence->keys[kept] = sequence->keys[i];
            sequence->places[kept++] = sequence->places[i];
        }
    }
    return kept;
}

/* Puts elements aside that the other side does not have in this box; true when there were any. */
static bool put_aside(struct aligner *s, struct box *box)
{
    struct box before = *box;
    struct uses *uses = s->uses;
    count_uses(s, box);
    /* The counts are forgotten by the keys, so before they are gone. */
    size_t a_left = 0, b_left = 0;
    for (size_t i = box->a; i < box->a_end; i++)
        a_left += uses[s->a.keys[i]].b == 0;
    for (size_t i = box->b; i < box->b_end; i++)
        b_left += uses[s->b.keys[i]].a == 0;
    if (a_left + b_left == 0) {
        forget_uses(s, &before);
        return false;
    }
    for (size_t i = box->a; i < box->a_end; i++) {
        if (uses[s->a.keys[i]].b == 0)
            uses[s->a.keys[i]].a = 0;
    }
    for (size_t i = box->b; i < box->b_end; i++) {
        if (uses[s->b.keys[i]].a == 0)
            uses[s->b.keys[i]] = (struct uses){0};
    }
    box->a_end = squeeze(&s->a, box->a, box->a_end, uses);
    box->b_end = squeeze(&s->b, box->b, box->b_end, uses);
    forget_uses(s, box);
    return true;
}

/* Keeps the most pairs that ascend in b as well; they ascend in a. Returns how many; 0 also without memory. */
static size_t keep_ascending(struct aligner *s, struct pair *pairs, size_t count)
{
    uint32_t *ends = malloc((count + 1) * sizeof *ends); /* by length: the pair that ends it lowest */
    uint32_t *before = malloc((count + 1) * sizeof *before);
    size_t longest = 0;
    if (!ends || !before) {
        s->failed = true;
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = longest;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (pairs[ends[middle]].b < pairs[i].b)
                low = middle + 1;
            else
                high = middle;
        }
        before[i] = low ? ends[low - 1] : UINT32_MAX;
        ends[low] = (uint32_t)i;
        longest = low == longest ? longest + 1 : longest;
    }
    uint32_t at = longest ? ends[longest - 1] : 0;
    for (size_t i = longest; i > 0; i--) { /* `ends` becomes the list */
        ends[i - 1] = at;
        at = before[at];
    }
    for (size_t i = 0; i < longest; i++)
        pairs[i] = pairs[ends[i]];
    free(ends);
    free(before);
    return longest;
}

static struct pair *find_unique_keys(struct aligner *s, const struct box *box, size_t *count)
{
    struct pair *pairs = NULL;
    size_t found = 0;
    count_uses(s, box);
    for (size_t i = box->a; i < box->a_end; i++)
        found += s->uses[s->a.keys[i]].a == 1 && s->uses[s->a.keys[i]].b == 1;
    if (found)
        pairs = malloc(found * sizeof *pairs);
    s->failed |= found && !pairs;
    *count = 0;
    for (size_t i = box->a; i < box->a_end && pairs; i++) {
        const struct uses *use = &s->uses[s->a.keys[i]];
        if (use->a == 1 && use->b == 1)
            pairs[(*count)++] = (struct pair){(uint32_t)i, use->b_at};
    }
    forget_uses(s, box);
    return pairs;
}

static struct gram *find_gram(struct gram *grams, size_t slots, uint64_t hash)
{
    size_t at = (size_t)hash & (slots - 1);
    while ((grams[at].in_a || grams[at].in_b) && grams[at].hash != hash)
        at = (at + 1) & (slots - 1);
    grams[at].hash = hash;
    return &grams[at];
}

static uint64_t hash_gram(const uint32_t *keys)
{
    return hash_bytes(keys, GRAM * sizeof *keys, 7);
}

/* Where no key is unique: stretches of keys that are. */
static struct pair *find_unique_grams(struct aligner *s, const struct box *box, size_t *count)
{
    size_t slots = 64, found = 0;
    *count = 0;
    if (box->a_end - box->a < GRAM || box->b_end - box->b < GRAM)
        return NULL;
    while (slots < box_size(box) * 2)
        slots *= 2;
    struct gram *grams = calloc(slots, sizeof *grams);
    for (size_t i = box->a; grams && i + GRAM <= box->a_end; i++) {
        struct gram *gram = find_gram(grams, slots, hash_gram(s->a.keys + i));
        gram->in_a = gram->in_a ? 2 : 1;
        gram->a = (uint32_t)i;
    }
    for (size_t i = box->b; grams && i + GRAM <= box->b_end; i++) {
        struct gram *gram = find_gram(grams, slots, hash_gram(s->b.keys + i));
        gram->in_b = gram->in_b ? 2 : 1;
        gram->b = (uint32_t)i;
        found += gram->in_a == 1 && gram->in_b == 1;
    }
    struct pair *pairs = grams && found ? malloc(found * sizeof *pairs) : NULL;
    s->failed |= !grams || (found && !pairs);
    for (size_t i = box->a; pairs && i + GRAM <= box->a_end; i++) {
        const struct gram *gram = find_gram(grams, slots, hash_gram(s->a.keys + i));
        if (gram->in_a == 1 && gram->in_b == 1 &&
            memcmp(s->a.keys + i, s->b.keys + gram->b, GRAM * sizeof *s->a.keys) == 0)
            pairs[(*count)++] = (struct pair){(uint32_t)i, gram->b};
    }
    free(grams);
    return pairs;
}

static void align_box(struct aligner *s, struct box box, unsigned depth);

/* The stretches between anchors, which are in b_of_a already: nothing else has to be remembered. */
static void align_between(struct aligner *s, struct box box, unsigned depth)
{
    struct box part = {box.a, box.a, box.b, box.b};
    for (size_t i = box.a; i < box.a_end; i++) {
        uint32_t place = s->align->b_of_a[s->a.places[i]];
        if (place == ALIGN_NONE)
            continue;
        part.a_end = i;
        for (part.b_end = part.b; s->b.places[part.b_end] != place;)
            part.b_end++;
        struct box next = {i + 1, i + 1, part.b_end + 1, part.b_end + 1};
        align_box(s, part, depth + 1);
        part = next;
    }
    part.a_end = box.a_end;
    part.b_end = box.b_end;
    align_box(s, part, depth + 1);
}

static void align_box(struct aligner *s, struct box box, unsigned depth)
{
    size_t count = 0;
    strip(s, &box);
    if (box_is_empty(&box) || s->failed)
        return;
    if (box_size(&box) > ALIGN_SHORT && put_aside(s, &box))
        strip(s, &box);
    if (box_is_empty(&box))
        return;
    if (box_size(&box) <= ALIGN_SHORT || depth >= DEEPEST) {
        align_myers(s, box);
        return;
    }
    struct pair *pairs = find_unique_keys(s, &box, &count);
    if (!pairs && !s->failed)
        pairs = find_unique_grams(s, &box, &count);
    count = keep_ascending(s, pairs, count);
    for (size_t i = 0; i < count; i++)
        match(s, pairs[i].a, pairs[i].b);
    free(pairs);
    if (count)
        align_between(s, box, depth);
    else if (!s->failed)
        align_myers(s, box);
}

/* --- --- */

int align_begin(struct align *align, size_t a_count, size_t b_count, struct error *err)
{
    *align = (struct align){.a_count = a_count, .b_count = b_count};
    if (a_count >= UINT32_MAX || b_count >= UINT32_MAX)
        return error_set(err, EINVAL, "%zu and %zu ops are too many to compare", a_count, b_count);
    align->b_of_a = malloc((a_count + 1) * sizeof *align->b_of_a);
    if (!align->b_of_a)
        return error_set(err, ENOMEM, "no memory to match %zu ops", a_count);
    for (size_t i = 0; i <= a_count; i++)
        align->b_of_a[i] = ALIGN_NONE;
    return 0;
}

void align_free(struct align *align)
{
    if (align)
        free(align->b_of_a);
}

static bool copy_side(struct sequence *to, const uint32_t *keys, size_t count)
{
    to->keys = malloc((count + 1) * sizeof *keys);
    to->places = malloc((count + 1) * sizeof *keys);
    if (!to->keys || !to->places)
        return false;
    for (size_t i = 0; i < count; i++) {
        to->keys[i] = keys[i];
        to->places[i] = (uint32_t)i;
    }
    return true;
}

/* Between matches that are there already; all of it on the first call. */
static void align_gaps(struct aligner *s)
{
    struct box box = {0, s->align->a_count, 0, s->align->b_count};
    if (s->align->matched)
        align_between(s, box, 0);
    else
        align_box(s, box, 0);
}

/* Equal keys that are left on both sides. */
static size_t count_missed(struct aligner *s, const uint32_t *a_keys, const uint32_t *b_keys)
{
    struct align *align = s->align;
    bool *is_matched = calloc(align->b_count + 1, sizeof *is_matched);
    size_t missed = 0;
    s->failed |= !is_matched;
    for (size_t i = 0; i < align->a_count && is_matched; i++) {
        if (align->b_of_a[i] == ALIGN_NONE)
            s->uses[a_keys[i]].a++;
        else
            is_matched[align->b_of_a[i]] = true;
    }
    for (size_t i = 0; i < align->b_count && is_matched; i++) {
        if (!is_matched[i] && s->uses[b_keys[i]].a) {
            s->uses[b_keys[i]].a--;
            missed++;
        }
    }
    free(is_matched);
    return missed;
}

int align_by(struct align *align, const uint32_t *a_keys, const uint32_t *b_keys, size_t key_count,
             struct error *err)
{
    struct aligner s = {.align = align};
    size_t diagonals, bytes;
    bool fits = checked_add_size(align->a_count, align->b_count, &diagonals) &&
                checked_mul_size(diagonals + 3, sizeof *s.forward, &bytes);
    if (fits) {
        s.forward = malloc(bytes);
        s.backward = malloc(bytes);
        s.uses = calloc(key_count + 1, sizeof *s.uses);
    }
    s.failed = !copy_side(&s.a, a_keys, align->a_count) || !copy_side(&s.b, b_keys, align->b_count) ||
               !s.forward || !s.backward || !s.uses;
    if (!s.failed)
        align_gaps(&s);
    if (!s.failed && align->cut_count)
        align->missed_most = count_missed(&s, a_keys, b_keys);
    free(s.a.keys);
    free(s.a.places);
    free(s.b.keys);
    free(s.b.places);
    free(s.uses);
    free(s.forward);
    free(s.backward);
    return s.failed
               ? error_set(err, ENOMEM, "no memory to match %zu with %zu ops", align->a_count, align->b_count)
               : 0;
}
