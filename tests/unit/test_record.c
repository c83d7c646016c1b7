/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder, seen from its segment. Each case forks a child that joins a session of its own and records; the
 * parent then reads the raw slots back and compares with what the child did, exactly. There is no collector, so what
 * does not fit stays lost, and every loss must be counted. Also run under TSan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "base/clock.h"
#include "session/folder.h"
#include "session/segment.h"
#include "fork_wipes.h"

struct figures { /* what the child says it did; shared with the parent */
    volatile uint64_t zones, handler_zones, other;
};

struct seen { /* what the segments hold */
    uint64_t begins, ends, late_ends, lost_zones, lost_records, messages, message_bytes, counters, memory,
        frames;
    uint64_t op_begins, op_parts, device_zones, runs, syncs, values;
    uint32_t segments, processes, tracks, last_chunks, disorder, unbalanced;
    uint32_t names, distinct_names;
    char first_message[64];
};

static struct figures *figures;
static bool may_repeat_chunks;
static uint32_t clock_source = CLOCK_SOURCE_RAW; /* sane under qemu-user as well */

/* --- reading --- */

struct reading {
    struct seen *seen;
    struct session_segment *segment;
    uint64_t depth[4096], time[4096];
    uint8_t known_track[4096];
    uint8_t *known_name;
};

static void see_name(struct reading *r, uint32_t id)
{
    struct segment_name name;
    struct bytes text = {0};
    if (session_segment_definition(r->segment, id, &name, &text)) {
        r->seen->names++;
        if (id < SESSION_MAX_NAMES && !r->known_name[id]) {
            r->known_name[id] = 1;
            r->seen->distinct_names++;
        }
    }
    bytes_free(&text);
}

static uint32_t see_record(struct reading *r, uint32_t track, const struct slot *slot, uint32_t left)
{
    struct seen *s = r->seen;
    unsigned kind = slot->time_kind & 0xff;
    uint32_t more = kind >= 128 ? (uint32_t)(slot->word >> 56) : 0;
    assert_true(more < left);
    if (kind != RECORD_DEVICE_ZONE && kind != RECORD_DEVICE_RUN && kind != RECORD_CLOCK_SYNC) {
        s->disorder += slot->time_kind >> 8 < r->time[track];
        r->time[track] = slot->time_kind >> 8;
    }
    if (kind == RECORD_ZONE_BEGIN) {
        s->begins++;
        r->depth[track]++;
        see_name(r, (uint32_t)slot->word);
    } else if (kind == RECORD_ZONE_END) {
        s->ends++;
        s->unbalanced += r->depth[track] == 0;
        r->depth[track] -= r->depth[track] > 0;
    } else if (kind == RECORD_LATE_ENDS) {
        s->late_ends += (uint32_t)slot->word;
    } else if (kind == RECORD_MESSAGE) {
        uint32_t offset = (uint32_t)(slot->word >> 32) & 0xffffff;
        s->messages += offset == 0;
        s->message_bytes += (uint64_t)more * 16;
        if (s->messages == 1 && offset == 0)
            memcpy(s->first_message, slot + 1, more ? 16 : 0);
    }
    s->counters += kind == RECORD_COUNTER;
    s->memory += kind == RECORD_MEMORY;
    s->frames += kind == RECORD_FRAME;
    s->op_begins += kind == RECORD_OP_BEGIN;
    s->op_parts += kind == RECORD_OP_PART;
    s->device_zones += kind == RECORD_DEVICE_ZONE;
    s->runs += kind == RECORD_DEVICE_RUN;
    s->syncs += kind == RECORD_CLOCK_SYNC;
    s->values += kind == RECORD_ZONE_VALUE;
    return 1 + more;
}

static void read_segment(struct session_segment *segment, struct seen *seen)
{
    struct reading *r = calloc(1, sizeof *r);
    size_t count;
    assert_non_null(r);
    r->seen = seen;
    r->segment = segment;
    r->known_name = calloc(SESSION_MAX_NAMES, 1);
    assert_non_null(r->known_name);
    const struct segment_chunk *list = session_segment_scan(segment, true, &count);
    uint64_t next_sequence[4096] = {0};
    uint32_t lost_zones[4096] = {0}, lost_records[4096] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct chunk_descriptor *d = &list[i].d;
        assert_true(d->track < 4096);
        /* Nobody gave chunks back: none is missing. Only a siglongjmp out of the recorder may repeat one. */
        assert_true(d->sequence == next_sequence[d->track] ||
                    (may_repeat_chunks && d->sequence + 1 == next_sequence[d->track]));
        next_sequence[d->track] = d->sequence + 1;
        seen->tracks += !r->known_track[d->track];
        r->known_track[d->track] = 1;
        seen->last_chunks += (d->flags & CHUNK_LAST) != 0;
        lost_zones[d->track] = d->lost_zones;
        lost_records[d->track] = d->lost_records;
        for (uint32_t at = 0; at < d->published;)
            at += see_record(r, d->track, &list[i].slots[at], d->published - at);
    }
    for (size_t i = 0; i < 4096; i++) {
        seen->lost_zones += lost_zones[i];
        seen->lost_records += lost_records[i];
    }
    uint32_t processes = session_segment_process_count(segment);
    for (uint32_t i = 0; i < processes; i++) {
        struct session_process p;
        if (session_segment_process(segment, i, &p)) {
            seen->processes++;
            seen->lost_zones += p.lost_zones;
            seen->lost_records += p.lost_records;
        }
    }
    free(r->known_name);
    free(r);
}

static void read_folder(const struct session_folder *folder, struct seen *seen)
{
    DIR *dir = opendir(folder->path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct session_segment *segment;
        if (!strstr(entry->d_name, SESSION_SEGMENT_SUFFIX) || entry->d_name[0] == '.')
            continue;
        assert_int_equal(
            session_segment_open(&segment, folder->fd, entry->d_name, folder->control.session_id, NULL), 0);
        seen->segments++;
        read_segment(segment, seen);
        session_segment_close(segment);
    }
    closedir(dir);
}

/* Runs `work` in a child that joins a session with this much buffer, and reads what it left. */
static void record(void (*work)(void), uint64_t buffer_bytes, uint32_t on_full, struct seen *seen)
{
    struct session_folder folder = {0};
    struct error err = {0};
    folder.control.session_id = UINT64_C(0x0123456789abcdef);
    folder.control.clock_source = clock_source;
    folder.control.buffer_bytes = buffer_bytes;
    folder.control.on_full = on_full;
    memset(seen, 0, sizeof *seen);
    assert_int_equal(session_folder_create(&folder, &err), 0);
    memset((void *)figures, 0, sizeof *figures);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char variable[4000];
        session_folder_variable(&folder, variable, sizeof variable);
        setenv(SESSION_VARIABLE, variable, 1);
        opscope_recording = 1; /* the constructor ran without a session */
        work();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    read_folder(&folder, seen);
    session_folder_close(&folder);
    assert_int_equal(session_folder_remove(folder.path, &err), 0);
}

/* --- cases --- */

static void nested(int depth)
{
    OPSCOPE_FUNCTION();
    if (depth > 1)
        nested(depth - 1);
}

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

static void on_timer(int number)
{
    (void)number;
    OPSCOPE_ZONE("in a handler");
    figures->handler_zones++;
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

/* TSan delays signals until a call that it intercepts, also past a mask that the program has set since: what a handler
 * meets there it can meet nowhere else. The counts are checked in the other builds. */
static void skip_under_tsan(void)
{
#if defined(__SANITIZE_THREAD__)
    print_message("SKIP: TSan delays signals to places of its own choice\n");
    skip();
#endif
}

static void check_signal_handlers(void)
{
    struct seen seen;
    record(work_signals, 32 << 20, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.begins, seen.ends);
    assert_int_equal(seen.begins + seen.lost_zones, figures->zones + figures->handler_zones);
    assert_int_equal(seen.unbalanced, 0);
    assert_true(seen.lost_zones < seen.begins / 10); /* handlers that met a chunk switch */
}

static void test_signal_handlers_are_exact(void **state)
{
    (void)state;
    skip_under_tsan();
    check_signal_handlers();
}

/* With the CPU's counter as the clock, zones take the inline path. */
static void test_signal_handlers_on_the_fast_path(void **state)
{
    (void)state;
    skip_under_tsan();
    clock_source = CLOCK_SOURCE_COUNTER;
    for (int i = 0; i < 5; i++)
        check_signal_handlers();
    clock_source = CLOCK_SOURCE_RAW;
}

static void test_signal_handlers_under_loss(void **state)
{
    struct seen seen;
    (void)state;
    skip_under_tsan();
    record(work_signals, 128 << 10, SESSION_ON_FULL_DROP, &seen);
    assert_int_equal(seen.begins, seen.ends);
    assert_int_equal(seen.begins + seen.lost_zones, figures->zones + figures->handler_zones);
}

static sigjmp_buf way_out;

static void on_jump(int number)
{
    (void)number;
    siglongjmp(way_out, 1);
}

static void work_jump(void)
{
    struct sigaction action = {.sa_handler = on_jump, .sa_flags = SA_NODEFER};
    volatile int jumps = 0;
    sigaction(SIGALRM, &action, NULL);
    if (sigsetjmp(way_out, 1))
        jumps++;
    if (jumps < 50) {
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 200}}, NULL);
        for (;;)
            nested(1);
    }
    for (int i = 0; i < 20000; i++) /* and it still records */
        opscope_message("after");
}

static void test_siglongjmp_out_of_a_handler(void **state)
{
    struct seen seen;
    (void)state;
    skip_under_tsan();
    may_repeat_chunks = true;
    record(work_jump, 64 << 20, SESSION_ON_FULL_DROP, &seen);
    may_repeat_chunks = false;
    assert_int_equal(seen.messages + seen.lost_records, 20000);
    assert_true(seen.messages > 10000); /* a jump out of a chunk switch is noticed after 4,096 failures */
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

int main(void)
{
    figures = mmap(NULL, sizeof *figures, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_without_a_session),
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_drop_counts_whole_zones),
        cmocka_unit_test(test_wait_gives_up_without_a_collector),
        cmocka_unit_test(test_deep_stack),
        cmocka_unit_test(test_signal_handlers_are_exact),
        cmocka_unit_test(test_signal_handlers_on_the_fast_path),
        cmocka_unit_test(test_signal_handlers_under_loss),
        cmocka_unit_test(test_siglongjmp_out_of_a_handler),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
