/* SPDX-License-Identifier: Apache-2.0 */
/* The argument of record/fast.h and collect/ledger.c as a model: one thread, its signal handlers, the collector and
 * recover, in steps as small as their stores. Every order of the steps is tried, with a signal, a siglongjmp out of its
 * handler, and the death of the program and of the collector between any two of them. Wherever it ends, each zone that
 * has ended must be found or be counted as lost, and none twice.
 *
 * The model can be wrong in either direction, so it is also tried with mistakes that the code has made, or could make:
 * each of them must be found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "recorder_model.h"

/* --- every order --- */

struct search {
    struct world *world;
    uint64_t *seen; /* hashes */
    size_t seen_mask;
    struct state *list; /* to be gone on from */
    size_t count, capacity;
};

static uint64_t hash(const struct state *s)
{
    const uint8_t *bytes = (const uint8_t *)s;
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < sizeof *s; i++) {
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
        h ^= h >> 29;
    }
    return (h * UINT64_C(0xbf58476d1ce4e5b9)) | 1;
}

static void add(struct search *a, const struct state *s)
{
    uint64_t h = hash(s);
    size_t at = (size_t)(h >> 20) & a->seen_mask;
    while (a->seen[at] && a->seen[at] != h)
        at = (at + 1) & a->seen_mask;
    if (a->seen[at])
        return;
    a->seen[at] = h;
    assert_true(++a->world->states < a->seen_mask / 4 * 3);
    if (a->count == a->capacity) {
        a->capacity = a->capacity ? a->capacity * 2 : 1024;
        a->list = realloc(a->list, a->capacity * sizeof *a->list);
        assert_non_null(a->list);
    }
    a->list[a->count++] = *s;
}

static bool add_if(struct search *a, const struct state *s,
                   bool (*step)(const struct world *, struct state *))
{
    struct state after = *s;
    bool is_possible = step(a->world, &after);
    if (is_possible)
        add(a, &after);
    return is_possible;
}

static bool flush(const struct world *w, struct state *s)
{
    (void)w;
    bool has_some = s->memory || s->memory_lost;
    s->file += s->memory;
    s->file_lost += s->memory_lost;
    s->memory = s->memory_lost = 0;
    return has_some;
}

static bool signal_comes(const struct world *w, struct state *s)
{
    (void)w;
    if (!s->signals_left || s->frames == FRAMES)
        return false;
    s->signals_left--;
    s->frame[s->frames++] = (struct frame){0};
    return true;
}

static bool handler_jumps(const struct world *w, struct state *s)
{
    bool can = s->jumps_left && (s->frames == FRAMES || w->jumps_at_once);
    if (can)
        jump(s);
    return can;
}

static bool program_dies(const struct world *w, struct state *s)
{
    (void)w;
    bool can = s->kills_left > 0;
    s->kills_left--;
    s->program_is_over = 1;
    return can;
}

static bool collector_dies(const struct world *w, struct state *s)
{
    (void)w;
    s->is_dead = 1;
    return true;
}

static void go_on(struct search *a, const struct state *s)
{
    struct world *w = a->world;
    bool has_collector = w->has_collector && !s->is_dead, is_over = s->program_is_over;
    if (!is_over) {
        add_if(a, s, thread_step);
        add_if(a, s, signal_comes);
        add_if(a, s, handler_jumps);
        add_if(a, s, program_dies);
    }
    if (has_collector) {
        add_if(a, s, taker_step);
        add_if(a, s, flush);
        add_if(a, s, collector_dies);
    }
    if (is_over && (!has_collector || s->taker == OVER) && !end_is_right(w, s)) {
        w->is_wrong = true;
        w->wrong = *s;
    }
}

static void try_all(struct world *w, uint8_t zones, uint8_t signals, uint8_t jumps, uint8_t kills,
                    unsigned bits)
{
    struct search a = {.world = w, .seen_mask = ((size_t)1 << bits) - 1};
    struct state s;
    a.seen = calloc(a.seen_mask + 1, sizeof *a.seen);
    assert_non_null(a.seen);
    memset(&s, 0, sizeof s);
    s.frames = 1;
    s.zones_left = zones;
    s.signals_left = signals;
    s.jumps_left = jumps;
    s.kills_left = kills;
    s.base = s.descriptor = s.next_chunk = s.arriving = s.taking = NONE;
    for (uint8_t i = 0; i < w->chunks; i++)
        s.chunk[i].is_free = 1;
    add(&a, &s);
    while (a.count && !w->is_wrong) {
        s = a.list[--a.count];
        go_on(&a, &s);
    }
    free(a.seen);
    free(a.list);
}

static void print_state(const struct world *w)
{
    const struct state *s = &w->wrong;
    print_message(
        "begun %u ended %u jumps %u file %u+%u memory %u row %u lost %u by the process %u late %u\n",
        s->true_begun, s->true_ended, s->jumps, s->file, s->file_lost, s->memory, s->row, s->lost,
        s->process_lost, s->late_count);
    for (unsigned i = 0; i < w->chunks; i++)
        print_message("  chunk %u: state %u sequence %u slots %u: %u %u %u %u\n", i, s->chunk[i].state,
                      s->chunk[i].sequence, s->chunk[i].slots, s->chunk[i].slot[0], s->chunk[i].slot[1],
                      s->chunk[i].slot[2], s->chunk[i].slot[3]);
}

/* Is this mistake found by one of the worlds? Stops at the first. */
static bool is_found(enum mistake mistake, bool is_verbose)
{
    struct world small = {.mistake = mistake, .chunks = 2, .has_collector = true};
    struct world waiting = {.mistake = mistake, .chunks = 1, .waits = true, .has_collector = true};
    struct world jumping = {
        .mistake = mistake, .chunks = MOST_CHUNKS, .jumps_at_once = true, .most_lost = 3 * STUCK};
    struct world *worlds[] = {&waiting, &small, &jumping};
    static const struct {
        uint8_t zones, signals, jumps, kills;
        unsigned bits;
    } how[] = {{4, 1, 1, 1, 21}, {4, 1, 1, 1, 21}, {9, 0, 3, 0, 21}};
    for (size_t i = 0; i < 3; i++) {
        try_all(worlds[i], how[i].zones, how[i].signals, how[i].jumps, how[i].kills, how[i].bits);
        if (is_verbose)
            print_message("world %zu: %llu states\n", i, (unsigned long long)worlds[i]->states);
        if (worlds[i]->is_wrong) {
            if (is_verbose)
                print_state(worlds[i]);
            return true;
        }
    }
    return false;
}

static void test_every_zone_is_found_or_counted(void **state)
{
    (void)state;
    assert_false(is_found(RIGHT, true));
}

static void test_mistakes_are_found(void **state)
{
    (void)state;
    for (enum mistake mistake = RIGHT + 1; mistake < MISTAKES; mistake++) {
        if (!is_found(mistake, false))
            fail_msg("the model does not find: %s", mistake_names[mistake]);
        print_message("found: %s\n", mistake_names[mistake]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_zone_is_found_or_counted),
        cmocka_unit_test(test_mistakes_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
