/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops of two runs belong together: of several threads, in another order, several times, and not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/diff/diff.h"

#define MOST 70000u

struct op { /* of a made-up run */
    uint32_t name, shape, role;
};

struct sequence {
    struct op *ops;
    size_t count;
};

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % limit;
}

static void add(struct sequence *s, uint32_t name, uint32_t shape, uint32_t role)
{
    assert_true(s->count < MOST);
    s->ops[s->count++] = (struct op){name, shape, role};
}

static struct sequence empty(void)
{
    struct sequence s = {malloc(MOST * sizeof *s.ops), 0};
    assert_non_null(s.ops);
    return s;
}

static uint32_t text_id(struct diff *diff, const char *what, uint32_t number)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%s%u", what, number);
    return diff_intern(diff, text, (size_t)length);
}

static void take(struct diff *diff, int side, const struct sequence *s)
{
    struct diff_run *run = &diff->runs[side];
    run->roles = malloc((s->count + 1) * sizeof *run->roles);
    assert_non_null(run->roles);
    for (size_t i = 0; i < s->count; i++) {
        struct diff_key key = {.name = text_id(diff, "op", s->ops[i].name),
                               .shape = text_id(diff, "shape", s->ops[i].shape),
                               .location = DIFF_NO_TEXT,
                               .kind = DIFF_DEVICE_OP};
        key.group = key.name;
        uint32_t id = diff_find_key(diff, &key);
        struct diff_op *op = diff_add_op(diff, side);
        assert_non_null(op);
        op->key = id;
        op->id = (uint32_t)i + 1;
        op->time_ns = 1000;
        run->roles[i] = s->ops[i].role;
    }
    run->kind = "trace";
    run->path = strdup("made up");
}

/* Each op has one partner at most, of its name. */
static void check_pairs(const struct diff *diff)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    uint64_t matched = 0;
    for (size_t i = 0; i < a->op_count; i++) {
        uint32_t other = diff->align.b_of_a[i];
        if (other == ALIGN_NONE)
            continue;
        assert_true(other < b->op_count);
        assert_int_equal(diff->a_of_b[other], i);
        assert_int_equal(diff->keys[a->ops[i].key].name, diff->keys[b->ops[other].key].name);
        matched++;
    }
    assert_int_equal(matched, diff->matched);
    assert_int_equal(matched + diff->removed, a->op_count);
    assert_int_equal(matched + diff->added, b->op_count);
}

static struct diff compared(struct sequence *a, struct sequence *b)
{
    struct diff diff;
    struct error err = {0};
    diff_begin(&diff, &(struct diff_options){.threshold_percent = 2});
    take(&diff, DIFF_A, a);
    take(&diff, DIFF_B, b);
    assert_int_equal(diff_finish(&diff, &err), 0);
    check_pairs(&diff);
    free(a->ops);
    free(b->ops);
    return diff;
}

/* A main thread and four workers; what they do comes in any order between them. In the main thread `moved` of the ops
 * that unpickle a batch come elsewhere. */
static struct sequence loader(uint32_t rounds, uint32_t moved)
{
    struct sequence s = empty();
    uint32_t done[5] = {0}, left = 5 * rounds;
    while (left) {
        uint32_t role = random_below(5);
        if (done[role] == rounds)
            continue;
        uint32_t k = done[role]++;
        left--;
        if (role) {
            for (uint32_t i = 0; i < 12; i++)
                add(&s, 100 + (k + i) % 7, i % 3, role);
            continue;
        }
        uint32_t at = random_below(moved);
        for (uint32_t i = 0; i < moved; i++) {
            if (i == at) {
                add(&s, 50, 0, 0); /* the batch is there */
                add(&s, 51, 0, 0);
            }
            add(&s, i % 20, (k + i) % 4, 0);
        }
    }
    return s;
}

static void test_workers_beside_the_main_thread(void **state)
{
    (void)state;
    struct sequence a = loader(900, 24), b = loader(900, 24);
    size_t count = a.count;
    struct diff diff = compared(&a, &b);
    assert_int_equal(diff.matched, count);
    assert_int_equal(diff.align.missed_most, 0);
    assert_int_equal(diff.reshaped, 0);
    for (size_t i = 0; i < count; i++) /* a worker's ops go with a worker's */
        assert_int_equal(diff.runs[DIFF_A].roles[i], diff.runs[DIFF_B].roles[diff.align.b_of_a[i]]);
    diff_free(&diff);
}

/* The same ops in quite another order, of which some came twice and some not at all. */
static void test_any_order(void **state)
{
    (void)state;
    struct sequence a = empty(), b = empty();
    const uint32_t count = 30000, doubled = 500, missing = 300;
    for (uint32_t i = 0; i < count; i++)
        add(&a, random_below(40), random_below(5), 0);
    for (uint32_t i = 0; i < count; i++)
        b.ops[i] = a.ops[i];
    for (uint32_t i = count; i-- > 1;) {
        uint32_t k = random_below(i + 1);
        struct op other = b.ops[i];
        b.ops[i] = b.ops[k];
        b.ops[k] = other;
    }
    b.count = count - missing;
    for (uint32_t i = 0; i < doubled; i++)
        add(&b, 1000 + i, 0, 0);
    struct diff diff = compared(&a, &b);
    assert_int_equal(diff.matched, count - missing);
    assert_int_equal(diff.reshaped, 0);
    assert_int_equal(diff.added, doubled);
    assert_int_equal(diff.removed, missing);
    assert_int_equal(diff.align.missed_most, 0);
    diff_free(&diff);
}

/* Ops that moved are no ops with other tensors, and those with other tensors are still found. */
static void test_moved_and_reshaped(void **state)
{
    (void)state;
    struct sequence a = empty(), b = empty();
    for (uint32_t i = 0; i < 200; i++) {
        add(&a, 1, 0, 0);
        add(&a, 2, i % 4, 0);
        add(&a, 3, 0, 0);
        add(&b, 1, 0, 0);
        add(&b, 2, i == 150 ? 9 : i < 100 ? (i ^ 1) % 4 : i % 4, 0);
        add(&b, 3, 0, 0);
    }
    struct diff diff = compared(&a, &b);
    assert_int_equal(diff.matched, 600);
    assert_int_equal(diff.reshaped, 1);
    diff_free(&diff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workers_beside_the_main_thread),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_moved_and_reshaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
