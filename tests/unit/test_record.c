/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder, seen from its segment. Each case forks a child that joins a session of its own and records; the
 * parent then reads the raw slots back and compares with what the child did, exactly: every loss must be counted. Also
 * run under TSan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "fork_wipes.h"
#include "record_child.h"

static void test_nothing_without_a_session(void **state)
{
    (void)state;
    assert_int_equal(opscope_is_recording(), 0);
    nested(3);
    opscope_message("nobody listens");
    assert_true(opscope_op_begin("op", OPSCOPE_OP_DEVICE, 0) == 0);
    opscope_op_end();
}

static void work_zones(void)
{
    for (int i = 0; i < 2500; i++)
        nested(4);
    for (int i = 0; i < 10; i++) {
        opscope_zone_begin("made up at run time");
        opscope_zone_value(7);
        opscope_zone_end();
    }
    OPSCOPE_BEGIN("explicit");
    OPSCOPE_END();
    opscope_zone_end(); /* one too many: ignored */
}

static void test_zones(void **state)
{
    struct seen seen;
    (void)state;
    record(work_zones, 4 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.segments, 1);
    assert_int_equal(seen.processes, 1);
    assert_int_equal(seen.tracks, 1);
    assert_int_equal(seen.begins, 10011);
    assert_int_equal(seen.ends, 10011);
    assert_int_equal(seen.unbalanced, 0);
    assert_int_equal(seen.disorder, 0);
    assert_int_equal(seen.values, 10);
    assert_int_equal(seen.distinct_names, 3);
    assert_int_equal(seen.lost_zones, 0);
}

static void *thread_zones(void *unused)
{
    for (int i = 0; i < 2000; i++)
        nested(2);
    return unused;
}

static void work_threads(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, thread_zones, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static void test_threads(void **state)
{
    struct seen seen;
    (void)state;
    record(work_threads, 8 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.tracks, 8);
    assert_int_equal(seen.last_chunks, 8); /* each thread said that it ended */
    assert_int_equal(seen.begins, 8 * 4000);
    assert_int_equal(seen.ends, 8 * 4000);
    assert_int_equal(seen.lost_zones, 0);
}

static void test_drop_counts_whole_zones(void **state)
{
    struct seen seen;
    (void)state;
    record(work_threads, 64 << 10, SESSION_ON_FULL_DROP, &seen); /* four chunks for eight threads */
    assert_true(seen.lost_zones > 0);
    assert_int_equal(seen.begins, seen.ends);
    assert_int_equal(seen.begins + seen.lost_zones, 8 * 4000);
    assert_int_equal(seen.unbalanced, 0);
}

static void work_little(void)
{
    for (int i = 0; i < 3000; i++)
        nested(1);
}

static void test_wait_gives_up_without_a_collector(void **state)
{
    struct seen seen;
    (void)state;
    record(work_little, 64 << 10, SESSION_ON_FULL_WAIT, &seen);
    assert_int_equal(seen.begins, seen.ends);
    assert_int_equal(seen.begins + seen.lost_zones, 3000);
    assert_true(seen.lost_zones > 0);
}

static void work_deep(void)
{
    nested(3000);
}

static void test_deep_stack(void **state)
{
    struct seen seen;
    (void)state;
    record(work_deep, 4 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.begins, 3000);
    assert_int_equal(seen.ends, 3000);
    record(work_deep, 64 << 10, SESSION_ON_FULL_DROP, &seen); /* no room for all the ends */
    assert_int_equal(seen.begins + seen.lost_zones, 3000);
    assert_true(seen.ends + seen.late_ends <= seen.begins);
    assert_int_equal(seen.unbalanced, 0);
}

static void work_forks(void)
{
    nested(1);
    for (int i = 0; i < 20; i++) {
        OPSCOPE_ZONE("around fork"); /* begun here, ended in both: counts once */
        long child = i % 2 ? fork() : syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
        if (child == 0) {
            for (int k = 0; k < 100; k++)
                nested(1);
            if (i % 4 == 0)
                raise(SIGKILL);
            _exit(0);
        }
        waitpid((pid_t)child, NULL, 0);
    }
}

static void test_forks(void **state)
{
    struct seen seen;
    (void)state;
    if (!fork_wipes()) {
        print_message("SKIP: MADV_WIPEONFORK has no effect here\n");
        skip();
    }
    record(work_forks, 8 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.segments, 1);
    assert_int_equal(seen.processes, 21);
    assert_int_equal(seen.tracks, 21);
    assert_int_equal(seen.begins, 1 + 20 + 20 * 100);
    assert_int_equal(seen.ends, 1 + 20 + 20 * 100);
    assert_int_equal(seen.unbalanced, 0);
}

static void work_texts(void)
{
    size_t most = (size_t)1 << 20;
    char *text = malloc(most + 100);
    memset(text, 'x', most + 99);
    text[most + 99] = '\0';
    opscope_message("short one");
    opscope_message("");
    text[most] = '\0';
    opscope_message(text);
    text[most] = 'x';
    opscope_message(text); /* 99 bytes too long: cut and counted */
    opscope_signpost("header", NULL);
    opscope_signpost(NULL, "message");
    opscope_zone_text("no zone is open");
    free(text);
}

static void test_texts(void **state)
{
    struct seen seen;
    (void)state;
    record(work_texts, 8 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.messages, 4);
    assert_int_equal(seen.lost_records, 1);
    assert_int_equal(seen.message_bytes, 16 + 2 * ((size_t)1 << 20));
    assert_string_equal(seen.first_message, "short one");
}

static void work_names(void)
{
    char name[32];
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 50000; i++) {
            snprintf(name, sizeof name, "name %d", i);
            opscope_zone_begin(name);
            opscope_zone_end();
        }
    }
}

static void test_many_names(void **state)
{
    struct seen seen;
    (void)state;
    record(work_names, 16 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.begins, 100000);
    assert_int_equal(seen.names, 100000);
    assert_int_equal(seen.distinct_names, 50000);
}

static void work_everything(void)
{
    int64_t shape[] = {1, 32, 64}, padded[] = {1, 32, 128};
    struct opscope_tensor tensor = {sizeof tensor, 3, shape, padded, "BFLOAT16", "TILE", "DRAM"};
    uint64_t call = opscope_op_begin("matmul", OPSCOPE_OP_DEVICE, 3);
    figures->other = call;
    opscope_op_input(&tensor);
    opscope_op_output(&tensor);
    opscope_op_attribute("fidelity", "HiFi4");
    opscope_op_kernel("matmul.cpp");
    opscope_op_end();
    uint32_t device = opscope_device_open("chip", 3, 1e9);
    uint32_t core = opscope_device_track(device, 0, OPSCOPE_TRACK_CORE, "core 1-1", 1);
    opscope_device_sync(device, opscope_now(), 1000, 10);
    opscope_device_zone(core, "kernel", 1000, 50);
    struct opscope_run_part part = {"BRISC", 40};
    struct opscope_run run = {sizeof run, core, call, "matmul", 1000, 50, 64, 0, 1, 0, &part, NULL, 0, 0};
    opscope_device_run(&run);
    opscope_device_zone(0, "nowhere", 1, 1); /* ignored */
    OPSCOPE_COUNTER("level", 1.5);
    opscope_counter("level", 2.5);
    OPSCOPE_FRAME("step");
    opscope_alloc(&call, 64, "pool");
    opscope_free(&call, "pool");
}

static void test_every_kind(void **state)
{
    struct seen seen;
    (void)state;
    record(work_everything, 4 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(figures->other, 1);
    assert_int_equal(seen.op_begins, 1);
    assert_int_equal(seen.ends, 1);
    assert_int_equal(seen.op_parts, 4);
    assert_int_equal(seen.device_zones, 1);
    assert_int_equal(seen.runs, 1);
    assert_int_equal(seen.syncs, 1);
    assert_int_equal(seen.counters, 2);
    assert_int_equal(seen.frames, 1);
    assert_int_equal(seen.memory, 2);
}

/* What opscope_op_current says, in the child; each false is counted. */
static void expect_op(uint64_t call)
{
    figures->failed_children += opscope_op_current() != call;
}

static void work_current_op(void)
{
    expect_op(0);
    uint64_t outer = opscope_op_begin("outer", OPSCOPE_OP_DEVICE, 0);
    expect_op(outer);
    opscope_zone_begin("between");
    uint64_t inner = opscope_op_begin("inner", OPSCOPE_OP_DEVICE, 0);
    opscope_zone_begin("inside");
    expect_op(inner);
    pid_t child = fork();
    if (child == 0) { /* knows nothing of its parent's ops, and begins its own */
        expect_op(0);
        opscope_zone_begin("of the child");
        opscope_zone_begin("deeper");
        expect_op(0);
        uint64_t own = opscope_op_begin("of the child", OPSCOPE_OP_DEVICE, 0);
        expect_op(own);
        figures->failed_children += own == 0;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    opscope_zone_end();
    expect_op(inner);
    opscope_op_end();
    expect_op(outer);
    opscope_op_begin("ended as a zone", OPSCOPE_OP_DEVICE, 0);
    opscope_zone_end();
    expect_op(outer);
    opscope_op_end(); /* of the zone between: no op */
    expect_op(outer);
    opscope_op_end();
    expect_op(0);
    opscope_op_end(); /* one too many */
    expect_op(0);
    opscope_op_begin("again", OPSCOPE_OP_DEVICE, 0);
    figures->failed_children += opscope_op_current() != inner + 2;
    uint64_t deep[64];
    for (int i = 0; i < 64; i++) {
        deep[i] = opscope_op_begin("deep", OPSCOPE_OP_DEVICE, 0);
        expect_op(deep[i < 29 ? i : 28]); /* 30 are known, with the one around them */
    }
    for (int i = 63; i > 0; i--) {
        opscope_op_end();
        expect_op(deep[i - 1 < 29 ? i - 1 : 28]);
    }
    figures->other = outer && inner > outer;
}

static void test_current_op(void **state)
{
    struct seen seen;
    (void)state;
    if (!fork_wipes()) {
        print_message("SKIP: MADV_WIPEONFORK has no effect here\n");
        skip();
    }
    record(work_current_op, 4 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(figures->other, 1);
    assert_int_equal(figures->failed_children, 0);
}

/* Threads that begin ops at the same time, some of them one after another in the same cursor: no number comes twice. */
enum { CALL_THREADS = 4, CALLS = 1000 };
static volatile uint8_t used_calls[16 * CALL_THREADS * CALLS];

static void *take_calls(void *unused)
{
    for (int i = 0; i < CALLS; i++) {
        uint64_t call = opscope_op_begin("op", OPSCOPE_OP_DEVICE, 0);
        opscope_op_end();
        bool is_new =
            call && call < sizeof used_calls && !__atomic_fetch_add(&used_calls[call], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&figures->failed_children, !is_new, __ATOMIC_RELAXED);
    }
    return unused;
}

static void work_calls(void)
{
    pthread_t threads[CALL_THREADS];
    uint64_t first = opscope_op_begin("first", OPSCOPE_OP_DEVICE, 0);
    figures->other = first == 1 && opscope_op_begin("second", OPSCOPE_OP_DEVICE, 0) == 2;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < CALL_THREADS; i++)
            pthread_create(&threads[i], NULL, take_calls, NULL);
        for (int i = 0; i < CALL_THREADS; i++)
            pthread_join(threads[i], NULL);
    }
}

static void test_numbers_of_calls(void **state)
{
    struct seen seen;
    (void)state;
    record(work_calls, 16 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(figures->other, 1);
    assert_int_equal(figures->failed_children, 0);
    assert_int_equal(seen.op_begins, 2 + 2 * CALL_THREADS * CALLS);
}

/* Inside an op that found no room the one around it stays the innermost. */
static void work_lost_op(void)
{
    uint64_t outer = opscope_op_begin("outer", OPSCOPE_OP_DEVICE, 0), lost;
    for (;;) {
        lost = opscope_op_begin("inner", OPSCOPE_OP_DEVICE, 0);
        if (!lost)
            break;
        expect_op(lost);
        opscope_op_end();
    }
    expect_op(outer);
    opscope_op_begin("in the lost one", OPSCOPE_OP_DEVICE, 0);
    expect_op(outer);
    opscope_op_end();
    expect_op(outer);
    opscope_op_end();
    expect_op(outer);
    opscope_op_end();
    expect_op(0);
    figures->other = outer;
}

static void test_lost_op(void **state)
{
    struct seen seen;
    (void)state;
    record(work_lost_op, 1 << 16, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(figures->other, 1);
    assert_int_equal(figures->failed_children, 0);
    assert_true(seen.lost_zones > 0);
}

int main(void)
{
    share_figures();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_without_a_session),
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_drop_counts_whole_zones),
        cmocka_unit_test(test_wait_gives_up_without_a_collector),
        cmocka_unit_test(test_deep_stack),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_current_op),
        cmocka_unit_test(test_numbers_of_calls),
        cmocka_unit_test(test_lost_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
