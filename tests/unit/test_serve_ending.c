/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that nobody waits for any more, and a server that is to end while it does something else. */
#include "test_trace_support.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/ending.h"
#include "serve/query/query.h"

#define SECOND UINT64_C(1000000000)

static void write_trace(const char *name)
{
    struct error err = {0};
    struct trace_writer *w;
    struct trace_writer_options options = {.program = "test", .command = "x", .host = "h"};
    assert_int_equal(trace_writer_open(&w, test_path(name), &options, &err), 0);
    uint32_t process = trace_writer_process(w, &(struct trace_process){.id = TRACE_NONE,
                                                                       .parent = TRACE_NONE,
                                                                       .pid = 1,
                                                                       .exit_status = TRACE_STATUS_UNKNOWN,
                                                                       .command = "x",
                                                                       .host = "h"});
    uint32_t track = trace_writer_track(
        w, &(struct trace_track){
               .id = TRACE_NONE, .process = process, .parent = TRACE_NONE, .number = 1, .name = "main"});
    struct zone_sink *sink = trace_writer_sink(w, track);
    uint32_t zone = trace_writer_name(w, "work", "work", "a.c", 1, 0);
    for (uint64_t i = 0; i < 20000; i++)
        zone_sink_add_slow(sink, 0, SECOND + i * 1000, SECOND + i * 1000 + 500, 0, zone);
    assert_int_equal(trace_writer_finish(w, &err), 0);
}

static int ask(struct serve_trace *st, const struct query_entry *entry, const char *more, struct bytes *out)
{
    static const char parameters[] = "?track=0&depth=0&at=5&name=0&q=w";
    struct query query;
    struct error err = {0};
    char target[200];
    int length = snprintf(target, sizeof target, "/api/t/0/%s%s%s", entry->name, parameters, more);
    assert_int_equal(query_parse(&query, target, (size_t)length, &err), 0);
    bytes_clear(out);
    return entry->answer(st, &query, out, &err);
}

/* Whatever is asked ends where it next reads; what it has begun to find out is not taken for the whole later on. */
static void test_answers_are_stopped(void **state)
{
    (void)state;
    struct serve_trace stopped, fresh;
    struct error err = {0};
    struct bytes one = {0}, other = {0};
    unsigned ended = 0;
    write_trace("stopped.opscope");
    for (size_t i = 0; i < query_entry_count; i++) {
        const struct query_entry *entry = &query_entries[i];
        bool stop = true;
        assert_int_equal(serve_trace_open(&stopped, test_path("stopped.opscope"), &err), 0);
        assert_int_equal(serve_trace_open(&fresh, test_path("stopped.opscope"), &err), 0);
        trace_set_stop(stopped.trace, &stop);
        ended += ask(&stopped, entry, "", &one) == -ECANCELED;
        stop = false;
        int status = ask(&stopped, entry, "", &one);
        assert_int_equal(status, ask(&fresh, entry, "", &other));
        if (status == 0) {
            assert_int_equal(one.length, other.length);
            assert_memory_equal(one.data, other.data, one.length);
        }
        serve_trace_close(&stopped);
        serve_trace_close(&fresh);
    }
    assert_true(ended > 8); /* those that read zones */
    bytes_free(&one);
    bytes_free(&other);
}

/* A flame graph is counted once for a window, whichever way it is turned. */
static void test_a_flame_graph_is_kept(void **state)
{
    (void)state;
    struct serve_trace st;
    struct error err = {0};
    struct bytes first = {0}, again = {0};
    const struct query_entry *flame = query_find("flame");
    write_trace("kept.opscope");
    assert_int_equal(serve_trace_open(&st, test_path("kept.opscope"), &err), 0);
    assert_int_equal(ask(&st, flame, "", &first), 0);
    uint64_t read = trace_zones_read(st.trace);
    assert_true(read >= 20000);
    assert_int_equal(ask(&st, flame, "", &again), 0);
    assert_int_equal(ask(&st, flame, "&direction=up&min=0.1", &again), 0);
    assert_int_equal(trace_zones_read(st.trace), read);
    assert_int_equal(ask(&st, flame, "&from=1000000&to=2000000", &again), 0);
    assert_true(trace_zones_read(st.trace) > read);
    assert_int_equal(ask(&st, flame, "", &again), 0);
    assert_int_equal(again.length, first.length);
    assert_memory_equal(again.data, first.data, first.length);
    serve_trace_close(&st);
    bytes_free(&first);
    bytes_free(&again);
}

/* A loop that never comes back ends all the same, and well. */
static void test_a_busy_server_ends(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        int ready[2], number = i ? SIGINT : SIGTERM, status = 0;
        char byte;
        assert_int_equal(pipe(ready), 0);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct ending *ending;
            struct error err = {0};
            if (ending_start(&ending, false, &err) != 0 || write(ready[1], "x", 1) != 1)
                _exit(9);
            for (;;)
                sleep(1000);
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(kill(pid, number), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        close(ready[0]);
        close(ready[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_busy_server_ends),
        cmocka_unit_test(test_answers_are_stopped),
        cmocka_unit_test(test_a_flame_graph_is_kept),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
