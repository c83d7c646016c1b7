/* SPDX-License-Identifier: Apache-2.0 */
/* Signal handlers that record. A handler may interrupt the recorder at any instruction, so the first tests do that at
 * every one of them: they record with the CPU's trap flag set, so that a signal comes after each instruction, and its
 * handler records after the N-th, for every N. The others let a timer find the places by chance. The counts are exact
 * in all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <ucontext.h>

#include "record/recorder.h"
#include "fork_wipes.h"
#include "record_child.h"

static void check_counts(const struct seen *seen)
{
    assert_int_equal(seen->begins, seen->ends);
    assert_int_equal(seen->begins + seen->lost_zones, figures->zones + figures->handler_zones);
    assert_int_equal(seen->unbalanced, 0);
}

/* --- at every instruction --- */

#if defined(__x86_64__)

#define TRAP_FLAG 0x100u
#define ANY_LEVEL UINT32_MAX
#define NO_ROOM (UINT32_MAX - 1) /* the thread has no room, and will look for some at its next zone */

struct sweep {
    uint32_t level;  /* slots of the chunk that are taken before the zone that is interrupted */
    uint32_t zones;  /* that a handler records */
    uint32_t again;  /* a second handler comes up to so many instructions after the first has returned */
    uint32_t inside; /* handlers are interrupted, too, at one in so many instructions */
    bool forks;      /* the handler forks, and returns in the child, too */
    bool frees;      /* a collector gives a full chunk back just before the handler records */
    uint64_t buffer; /* bytes */
    uint32_t on_full;
    uint32_t from, to; /* instructions */
};

static struct sweep sweep;
static volatile uint32_t steps, inner_steps, stop_first, stop_second, stop_inner;
static volatile int stops;
static volatile bool is_inside, is_child;

static void set_trap_flag(void)
{
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
}

static void clear_trap_flag(void)
{
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(unsigned long long)TRAP_FLAG);
}

static void handler_zones(void)
{
    for (uint32_t i = 0; i < sweep.zones; i++) {
        OPSCOPE_ZONE("in a handler");
        __atomic_fetch_add(&figures->handler_zones, 1, __ATOMIC_RELAXED); /* it may be interrupted itself */
    }
}

/* What a collector does with the oldest chunk that is full. Its zones are counted here: nobody will see them. */
static void free_chunk(void)
{
    const struct segment_layout *l = &recorder_segment.layout;
    uint64_t *map = (uint64_t *)(void *)(recorder_segment.memory + l->free_map);
    uint32_t oldest = l->chunk_count;
    for (uint32_t i = 0; i < recorder_segment.header->chunks_committed; i++) {
        const struct chunk_descriptor *d = segment_descriptor(i);
        if (d->state == CHUNK_SEALED &&
            (oldest == l->chunk_count || d->sequence < segment_descriptor(oldest)->sequence))
            oldest = i;
    }
    if (oldest == l->chunk_count)
        return;
    struct slot *slots =
        (struct slot *)(void *)(recorder_segment.memory + l->chunks + (size_t)oldest * CHUNK_BYTES);
    for (uint32_t i = 0; i < segment_descriptor(oldest)->slots; i++)
        figures->freed_zones += (slots[i].time_kind & 0xff) == RECORD_ZONE_BEGIN;
    memset(slots, 0, CHUNK_BYTES);
    segment_descriptor(oldest)->state = CHUNK_FREE;
    __atomic_fetch_or(&map[oldest / 64], UINT64_C(1) << (oldest % 64), __ATOMIC_RELEASE);
}

/* The child goes on where the handler has interrupted the recorder. */
static void fork_here(void)
{
    int status = 1;
    pid_t child = fork();
    if (child == 0)
        is_child = true;
    else if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        figures->failed_children++;
}

static void on_step(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    if (is_inside) {
        if (++inner_steps % sweep.inside == stop_inner)
            handler_zones();
        return;
    }
    steps++;
    if (steps != stop_first && steps != stop_second)
        return;
    stops++;
    if (sweep.frees)
        free_chunk();
    if (sweep.inside) {
        is_inside = true;
        set_trap_flag();
    }
    handler_zones();
    clear_trap_flag();
    is_inside = false;
    if (sweep.forks)
        fork_here();
    if (steps >= stop_second)
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

static uint32_t next_slot(void)
{
    const struct thread_cursor *c = cursor_known();
    return cursor_index(c, (const struct slot *)(const void *)c->hot.at);
}

static void fill_all(void)
{
    uint32_t lost = cursor_known()->lost_zones;
    while (cursor_known()->lost_zones == lost || cursor_known()->retry) {
        nested(1);
        figures->zones++;
    }
}

/* Fills the chunk, or the next one, up to that slot. */
static void fill_chunk(uint32_t level)
{
    if (level == NO_ROOM)
        fill_all();
    while (level < NO_ROOM && next_slot() != level) {
        if (next_slot() + 1 == level) {
            OPSCOPE_FRAME("one slot");
        } else {
            nested(1);
            figures->zones++;
        }
    }
}

/* Interrupts one zone; false when it was over before all handlers had come. */
static bool interrupt_zone(uint32_t first, uint32_t apart, uint32_t inner)
{
    fill_chunk(sweep.level);
    steps = inner_steps = 0;
    stops = 0;
    stop_first = first;
    stop_second = first + apart;
    stop_inner = inner;
    set_trap_flag();
    nested(1);
    clear_trap_flag();
    if (is_child) {
        nested(1); /* the recorder has found out by now */
        _exit(0);
    }
    figures->zones++;
    return stops == 1 + (apart > 0);
}

static void work_sweep(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
    nested(1);
    figures->zones++;
    handler_zones();
    for (uint32_t i = 0; sweep.buffer < 1 << 20 && !sweep.frees && i < 20000; i++, figures->zones++)
        nested(1);
    bool is_over = false;
    uint32_t at = sweep.from;
    for (; at < sweep.to && !is_over; at++) {
        is_over = !interrupt_zone(at, 0, 0);
        for (uint32_t apart = 1; apart <= sweep.again && interrupt_zone(at, apart, 0); apart++)
            ;
        for (uint32_t inner = 1; inner < sweep.inside; inner++)
            interrupt_zone(at, 0, inner);
    }
    figures->other = is_over ? at - 1 : UINT32_MAX;
}

static bool sweep_is_exact(void)
{
    struct seen seen;
    record(work_sweep, sweep.buffer, sweep.on_full, &seen);
    if (sweep.forks) /* whether a child records the zone depends on where it was forked */
        return !figures->failed_children && !seen.unbalanced;
    return seen.begins == seen.ends && !seen.unbalanced &&
           seen.begins + seen.lost_zones + figures->freed_zones == figures->zones + figures->handler_zones;
}

/* A batch of instructions has a segment of its own. One that is not exact is searched for the instruction. */
static void check_sweep(struct sweep wanted, uint32_t batch)
{
    sweep = wanted;
    sweep.from = 1;
    do {
        sweep.to = sweep.from + batch;
        uint32_t from = sweep.from, to = sweep.to;
        if (!sweep_is_exact()) {
            for (sweep.to = from + 1; sweep.to < to && sweep_is_exact(); sweep.to++)
                sweep.from = sweep.to;
            fail_msg("slot %u, handler of %u zones: wrong counts when interrupted after instruction %u",
                     sweep.level, sweep.zones, sweep.from);
        }
        sweep.from = to;
    } while (figures->other == UINT32_MAX);
    print_message("slot %u: exact at %u instructions\n", wanted.level, (unsigned)figures->other - 1);
}

/* An emulator may know no trap flag. TSan's own code must not be interrupted by a handler that it runs at once; with
 * ASan, or without optimisation, a zone has many times the instructions, and the time goes with their square. */
static void need_trap_flag(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
    print_message("SKIP: interrupted at each instruction in optimised builds without sanitizers only\n");
    skip();
#endif
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO}, saved;
    steps = 0;
    sigaction(SIGTRAP, &action, &saved);
    set_trap_flag();
    clear_trap_flag();
    sigaction(SIGTRAP, &saved, NULL);
    if (!steps) {
        print_message("SKIP: the trap flag has no effect here\n");
        skip();
    }
}

#define LAST_LEVEL (CHUNK_SLOTS - OPSCOPE_ZONE_SLACK_ - 2) /* at which a zone has room */

static void test_one_handler_at_each_instruction(void **state)
{
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    for (uint32_t level = LAST_LEVEL - 4; level <= LAST_LEVEL + 1; level++)
        check_sweep((struct sweep){.level = level, .zones = 1, .buffer = 64 << 20}, 2048);
    clock_source = CLOCK_SOURCE_RAW; /* every zone takes the slow path */
    check_sweep((struct sweep){.level = LAST_LEVEL, .zones = 1, .buffer = 64 << 20}, 2048);
}

static void test_two_handlers_at_each_instruction(void **state)
{
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    for (uint32_t level = LAST_LEVEL - 3; level <= LAST_LEVEL; level++)
        check_sweep((struct sweep){.level = level, .zones = 1, .again = 16, .buffer = 128 << 20}, 128);
}

static void test_handlers_in_handlers_at_each_instruction(void **state)
{
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    check_sweep((struct sweep){.level = LAST_LEVEL - 3, .zones = 1, .inside = 24, .buffer = 256 << 20}, 128);
}

static void test_busy_handlers_at_each_instruction(void **state)
{
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    for (uint32_t level = LAST_LEVEL - 600; level <= LAST_LEVEL + 1; level += 601)
        check_sweep((struct sweep){.level = level, .zones = 600, .buffer = 64 << 20}, 512);
}

/* Of the fast path: a child that is forked in the middle of a chunk switch may go wrong. */
static void test_forking_handlers_at_each_instruction(void **state)
{
    (void)state;
    need_trap_flag();
    if (!fork_wipes()) {
        print_message("SKIP: MADV_WIPEONFORK has no effect here\n");
        skip();
    }
    clock_source = CLOCK_SOURCE_COUNTER;
    check_sweep((struct sweep){.level = CHUNK_SLOTS / 2, .zones = 1, .forks = true, .buffer = 64 << 20}, 512);
}

static void test_handlers_at_each_instruction_without_room(void **state)
{
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    check_sweep((struct sweep){.level = ANY_LEVEL, .zones = 1, .buffer = 64 << 10}, 4096);
    check_sweep(
        (struct sweep){.level = ANY_LEVEL, .zones = 1, .buffer = 64 << 10, .on_full = SESSION_ON_FULL_WAIT},
        4096);
}

/* With a collector that gives chunks back: the handler has room where the call that it interrupted found none. */
static void test_handlers_at_each_instruction_that_get_the_next_chunk(void **state)
{
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    may_miss_chunks = true;
    for (uint32_t zones = 1; zones <= 2 * LOST_RETRY + 1; zones += LOST_RETRY) {
        struct sweep wanted = {.level = NO_ROOM, .zones = zones, .buffer = 64 << 10, .frees = true};
        check_sweep(wanted, 4096);
    }
    may_miss_chunks = false;
}

#endif

/* --- whenever a timer goes off --- */

static void on_timer(int number)
{
    (void)number;
    OPSCOPE_ZONE("in a handler");
    __atomic_fetch_add(&figures->handler_zones, 1, __ATOMIC_RELAXED);
}

static void work_signals(void)
{
    struct sigaction action = {.sa_handler = on_timer};
    struct itimerval timer = {{0, 50}, {0, 50}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (figures->handler_zones < 2000 && figures->zones < 200000) {
        nested(2);
        figures->zones += 2;
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

static void check_signal_handlers(void)
{
    struct seen seen;
    record(work_signals, 32 << 20, SESSION_ON_FULL_DROP, &seen);
    check_counts(&seen);
    assert_true(seen.lost_zones < seen.begins / 10); /* handlers that met a chunk switch */
}

static void test_signal_handlers_are_exact(void **state)
{
    (void)state;
    check_signal_handlers();
}

/* With the CPU's counter as the clock, zones take the inline path. */
static void test_signal_handlers_on_the_fast_path(void **state)
{
    (void)state;
    clock_source = CLOCK_SOURCE_COUNTER;
    for (int i = 0; i < 5; i++)
        check_signal_handlers();
    clock_source = CLOCK_SOURCE_RAW;
}

static void test_signal_handlers_under_loss(void **state)
{
    struct seen seen;
    (void)state;
    record(work_signals, 128 << 10, SESSION_ON_FULL_DROP, &seen);
    check_counts(&seen);
}

static void work_capture(void)
{
    struct sigaction action = {.sa_handler = on_timer};
    struct itimerval timer = {{0, 50}, {0, 50}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (figures->handler_zones < 2000 && figures->zones < 200000) {
        OPSCOPE_ZONE("wanted");
        figures->other += recorder_is_paused();
        figures->zones++;
    }
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

/* With --capture zone:wanted: a zone of a handler that comes just before the wanted one begins does not end it. */
static void test_signal_handlers_in_a_capture(void **state)
{
    struct seen seen;
    (void)state;
    capture = (struct session_capture){.kind = CAPTURE_ZONE, .from = "wanted"};
    record(work_capture, 64 << 20, SESSION_ON_FULL_DROP, &seen);
    capture = (struct session_capture){.kind = CAPTURE_ALWAYS};
    assert_int_equal(figures->other, 0);
    assert_int_equal(seen.begins, seen.ends);
    assert_int_equal(seen.unbalanced, 0);
    assert_true(seen.begins + seen.lost_zones >= figures->zones);
}

static sigjmp_buf way_out;

static void on_jump(int number)
{
    (void)number;
    siglongjmp(way_out, 1);
}

#define JUMPS 200

static void work_jump(void)
{
    struct sigaction action = {.sa_handler = on_jump, .sa_flags = SA_NODEFER};
    volatile int jumps = 0;
    sigaction(SIGALRM, &action, NULL);
    if (sigsetjmp(way_out, 1))
        jumps++;
    if (jumps < JUMPS) {
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 200}}, NULL);
        for (;;) {
            nested(2);
            figures->zones += 2;
        }
    }
    uint32_t lost = cursor_known()->lost_zones;
    for (int i = 0; i < 20000; i++) { /* and it still records */
        opscope_message("after");
        nested(2);
        figures->zones += 2;
    }
    figures->other = cursor_known()->lost_zones - lost;
}

static void test_siglongjmp_out_of_a_handler(void **state)
{
    struct seen seen;
    (void)state;
    record(work_jump, 64 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.messages + seen.lost_records, 20000);
    assert_true(seen.messages > 10000); /* a jump out of a chunk switch is noticed after 4,096 failures */
    /* Of the two zones that a jump leaves, the inner one may have been begun, and counted as lost, or not. */
    uint64_t known = seen.begins + seen.lost_zones;
    assert_true(known >= figures->zones && known <= figures->zones + 2 * JUMPS);
    assert_true(figures->other <=
                CURSOR_STUCK); /* those that were left open and lost take nothing with them */
    assert_true(seen.lost_zones <= JUMPS * (CURSOR_STUCK + 1));
}

#if defined(__x86_64__)

static void on_step_jump(int number)
{
    (void)number;
    if (++steps == stop_first)
        siglongjmp(way_out, 1);
}

/* Jumps out of a chunk switch after each of its instructions, and records until the recorder has noticed. */
static void work_jump_sweep(void)
{
    struct sigaction action = {.sa_handler = on_step_jump, .sa_flags = SA_NODEFER};
    volatile uint32_t at = sweep.from;
    volatile bool is_over = false;
    sigaction(SIGTRAP, &action, NULL);
    nested(1);
    for (; at < sweep.to && !is_over; at++) {
        fill_chunk(LAST_LEVEL + 1);
        steps = 0;
        stop_first = at;
        if (sigsetjmp(way_out, 1) == 0) {
            set_trap_flag();
            nested(1);
            clear_trap_flag();
            is_over = true;
        }
        for (uint32_t i = 0; i < CURSOR_STUCK + CHUNK_SLOTS; i++) {
            if (sweep.zones)
                nested(1);
            else
                opscope_message("after");
            figures->zones += sweep.zones;
            figures->other_records += !sweep.zones;
        }
        while (cursor_depth(cursor_known())) /* zones that were left by the jump */
            opscope_zone_end_();
    }
    figures->other = is_over ? at : UINT32_MAX;
}

/* A chunk that stays open keeps all that come after it from being taken, one whose number another one has is taken for
 * a copy, and of one that says that it is empty nothing is read. */
static void test_siglongjmp_at_each_instruction(void **state)
{
    struct seen seen;
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    for (uint32_t zones = 0; zones < 2; zones++) {
        sweep = (struct sweep){.to = 1, .zones = zones};
        do {
            sweep.from = sweep.to;
            sweep.to += 64;
            record(work_jump_sweep, 64 << 20, SESSION_ON_FULL_DROP, &seen);
            assert_int_equal(seen.open_chunks, 1);
            assert_int_equal(seen.messages + seen.lost_records, figures->other_records);
            uint64_t known = seen.begins + seen.lost_zones, jumps = sweep.to - sweep.from;
            assert_true(known >= figures->zones && known <= figures->zones + jumps + 1);
            assert_true(seen.lost_zones <= jumps * (CURSOR_STUCK + 1));
        } while (figures->other == UINT32_MAX);
    }
    clock_source = CLOCK_SOURCE_RAW;
}

/* Jumps out of a chunk switch after each of its instructions; the program dies before the recorder has noticed. */
static void work_jump_and_die(void)
{
    struct sigaction action = {.sa_handler = on_step_jump, .sa_flags = SA_NODEFER};
    sigaction(SIGTRAP, &action, NULL);
    nested(1);
    figures->zones++;
    fill_chunk(LAST_LEVEL + 1);
    steps = 0;
    stop_first = sweep.from;
    if (sigsetjmp(way_out, 1) == 0) {
        set_trap_flag();
        nested(1);
        clear_trap_flag();
        figures->other = 1;
    }
    for (uint32_t i = 0; i < 20; i++, figures->zones++)
        nested(1);
}

static void test_death_after_a_siglongjmp(void **state)
{
    struct seen seen;
    (void)state;
    need_trap_flag();
    clock_source = CLOCK_SOURCE_COUNTER;
    sweep = (struct sweep){.from = 0};
    do {
        sweep.from++;
        record(work_jump_and_die, 1 << 20, SESSION_ON_FULL_DROP, &seen);
        uint64_t known = seen.begins + seen.lost_zones;
        if (known < figures->zones || known > figures->zones + 1)
            fail_msg("jumped after instruction %u: %u zones, %u known", sweep.from, (unsigned)figures->zones,
                     (unsigned)known);
    } while (!figures->other);
    print_message("exact at %u instructions\n", sweep.from - 1);
    clock_source = CLOCK_SOURCE_RAW;
}

#endif

int main(void)
{
    share_figures();
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_one_handler_at_each_instruction),
        cmocka_unit_test(test_two_handlers_at_each_instruction),
        cmocka_unit_test(test_handlers_in_handlers_at_each_instruction),
        cmocka_unit_test(test_busy_handlers_at_each_instruction),
        cmocka_unit_test(test_forking_handlers_at_each_instruction),
        cmocka_unit_test(test_handlers_at_each_instruction_without_room),
        cmocka_unit_test(test_handlers_at_each_instruction_that_get_the_next_chunk),
        cmocka_unit_test(test_siglongjmp_at_each_instruction),
        cmocka_unit_test(test_death_after_a_siglongjmp),
#endif
        cmocka_unit_test(test_signal_handlers_are_exact),
        cmocka_unit_test(test_signal_handlers_on_the_fast_path),
        cmocka_unit_test(test_signal_handlers_under_loss),
        cmocka_unit_test(test_signal_handlers_in_a_capture),
        cmocka_unit_test(test_siglongjmp_out_of_a_handler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
