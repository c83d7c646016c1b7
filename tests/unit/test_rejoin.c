/* SPDX-License-Identifier: Apache-2.0 */
/* A process that records one session after another: each gets its own zones and no others, names keep their meaning,
 * and threads that live on find their way into the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "base/clock.h"
#include "record/recorder.h"
#include "session/folder.h"
#include "session/segment.h"
#include "fork_wipes.h"

#define MANY 5000u

struct seen {
    uint32_t begins, ends, tracks, segments;
    uint32_t main_zones, thread_zones, late_zones;
};

static struct session_folder folders[3];

static void make_waiting_session(struct session_folder *folder, struct session_capture rule)
{
    *folder = (struct session_folder){.control = {.session_id = 7 + (uint64_t)(folder - folders),
                                                  .clock_source = CLOCK_SOURCE_RAW,
                                                  .buffer_bytes = (uint64_t)4 << 20,
                                                  .is_paused = rule.kind != CAPTURE_ALWAYS,
                                                  .capture = rule}};
    struct error err = {0};
    assert_int_equal(session_folder_create(folder, &err), 0);
}

static void make_session(struct session_folder *folder)
{
    make_waiting_session(folder, (struct session_capture){.kind = CAPTURE_ALWAYS});
}

static int join(const struct session_folder *folder)
{
    char value[3200];
    session_folder_variable(folder, value, sizeof value);
    setenv(SESSION_VARIABLE, value, 1);
    return opscope_session_join_();
}

static void see_begin(struct seen *seen, struct session_segment *segment, uint32_t id)
{
    struct segment_name name;
    struct bytes text = {0};
    assert_true(session_segment_definition(segment, id, &name, &text));
    bytes_append_u8(&text, 0);
    const char *is = (const char *)text.data;
    seen->begins++;
    seen->main_zones += strcmp(is, "of main") == 0;
    seen->thread_zones += strcmp(is, "of the thread") == 0;
    seen->late_zones += strcmp(is, "only later") == 0;
    bytes_free(&text);
}

static void read_segment(struct seen *seen, const struct session_folder *folder, const char *name)
{
    struct session_segment *segment = NULL;
    struct error err = {0};
    size_t count;
    uint8_t known[64] = {0};
    assert_int_equal(session_segment_open(&segment, folder->fd, name, folder->control.session_id, &err), 0);
    const struct segment_chunk *list = session_segment_scan(segment, true, &count);
    for (size_t i = 0; i < count; i++) {
        assert_true(list[i].d.track < 64);
        seen->tracks += !known[list[i].d.track];
        known[list[i].d.track] = 1;
        for (uint32_t at = 0; at < list[i].d.slots; at++) {
            unsigned kind = list[i].slots[at].time_kind & 0xff;
            assert_true(kind < 128);
            seen->ends += kind == RECORD_ZONE_END;
            if (kind == RECORD_ZONE_BEGIN)
                see_begin(seen, segment, (uint32_t)list[i].slots[at].word);
        }
    }
    seen->segments++;
    session_segment_close(segment);
}

static struct seen read_session(const struct session_folder *folder)
{
    struct seen seen = {0};
    DIR *dir = opendir(folder->path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strstr(entry->d_name, SESSION_SEGMENT_SUFFIX))
            read_segment(&seen, folder, entry->d_name);
    }
    closedir(dir);
    return seen;
}

/* --- the program --- */

static pthread_barrier_t barrier;

static void *live_on(void *unused)
{
    for (unsigned session = 0; session < 3; session++) {
        pthread_barrier_wait(&barrier); /* joined */
        for (unsigned i = 0; i < (session == 1 ? 0 : MANY); i++) {
            OPSCOPE_ZONE("of the thread");
        }
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

static int program(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    _Static_assert(MANY > 4 * CHUNK_SLOTS / 2, "several chunks a session");
    if (pthread_create(&thread, NULL, live_on, NULL) != 0)
        return 1;
    for (unsigned session = 0; session < 3; session++) {
        if (join(&folders[session]) != 0 || !opscope_is_recording())
            return 2;
        pthread_barrier_wait(&barrier);
        OPSCOPE_ZONE("of main"); /* ends after the session was left, still in its segment */
        for (unsigned i = 0; i < MANY; i++) {
            OPSCOPE_ZONE("of main");
        }
        if (session) {
            OPSCOPE_ZONE("only later");
        }
        pthread_barrier_wait(&barrier);
        opscope_session_leave_();
        if (opscope_is_recording())
            return 3;
        for (unsigned i = 0; i < 10; i++) {
            OPSCOPE_ZONE("of nobody");
        }
    }
    pthread_join(thread, NULL);
    return 0;
}

static void test_each_session_has_its_own(void **state)
{
    (void)state;
    int status;
    for (unsigned i = 0; i < 3; i++)
        make_session(&folders[i]);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(program());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (unsigned i = 0; i < 3; i++) {
        struct seen seen = read_session(&folders[i]);
        uint32_t expected = i == 1 ? 0 : MANY;
        assert_int_equal(seen.segments, 1);
        assert_int_equal(seen.main_zones, MANY + 1);
        assert_int_equal(seen.thread_zones, expected);
        assert_int_equal(seen.late_zones, i > 0);
        assert_int_equal(seen.begins, MANY + 1 + expected + (i > 0));
        assert_int_equal(seen.ends, seen.begins);
        assert_int_equal(seen.tracks, i == 1 ? 1 : 2);
    }
    for (unsigned i = 0; i < 3; i++) {
        session_folder_remove(folders[i].path, NULL);
        session_folder_close(&folders[i]);
    }
}

/* The child leaves its parent's session, and its parent goes on in it. */
static void test_a_forked_child_may_leave(void **state)
{
    (void)state;
    int status;
    if (!fork_wipes()) {
        print_message("SKIP: MADV_WIPEONFORK has no effect here\n");
        skip();
    }
    make_session(&folders[0]);
    make_session(&folders[1]);
    fflush(NULL);
    pid_t parent = fork();
    if (parent == 0) {
        if (join(&folders[0]) != 0)
            _exit(1);
        for (unsigned i = 0; i < 10; i++) {
            OPSCOPE_ZONE("of main");
        }
        pid_t child = fork();
        if (child == 0) {
            for (unsigned i = 0; i < 10; i++) {
                OPSCOPE_ZONE("of the thread");
            }
            if (join(&folders[1]) != 0)
                _exit(2);
            for (unsigned i = 0; i < 20; i++) {
                OPSCOPE_ZONE("only later");
            }
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status)
            _exit(3);
        for (unsigned i = 0; i < 10; i++) {
            OPSCOPE_ZONE("of main");
        }
        _exit(0);
    }
    assert_int_equal(waitpid(parent, &status, 0), parent);
    assert_int_equal(status, 0);
    struct seen first = read_session(&folders[0]), second = read_session(&folders[1]);
    assert_int_equal(first.main_zones, 20);
    assert_int_equal(first.thread_zones, 10);
    assert_int_equal(first.late_zones, 0);
    assert_int_equal(second.begins, 20);
    assert_int_equal(second.late_zones, 20);
    for (unsigned i = 0; i < 2; i++) {
        session_folder_remove(folders[i].path, NULL);
        session_folder_close(&folders[i]);
    }
}

/* The first session waits for a zone (--capture zone:NAME) that never comes; the next one waits for nothing. */
static void test_what_was_waited_for_is_forgotten(void **state)
{
    (void)state;
    int status;
    make_waiting_session(&folders[0], (struct session_capture){.kind = CAPTURE_ZONE, .from = "never"});
    make_session(&folders[1]);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (unsigned session = 0; session < 2; session++) {
            if (join(&folders[session]) != 0)
                _exit(1);
            for (unsigned i = 0; i < 10; i++) {
                OPSCOPE_ZONE("of main");
            }
            opscope_session_leave_();
        }
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(read_session(&folders[i]).main_zones, i ? 10 : 0);
        session_folder_remove(folders[i].path, NULL);
        session_folder_close(&folders[i]);
    }
}

static void test_no_session_is_an_error(void **state)
{
    (void)state;
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        unsetenv(SESSION_VARIABLE);
        _exit(opscope_session_join_() == 0 || opscope_is_recording());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_session_has_its_own),
        cmocka_unit_test(test_a_forked_child_may_leave),
        cmocka_unit_test(test_what_was_waited_for_is_forgotten),
        cmocka_unit_test(test_no_session_is_an_error),
    };
    unsetenv(SESSION_VARIABLE);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
