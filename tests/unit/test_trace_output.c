/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace may be written over: never a device, a link, a pipe, somebody's data, nor, being empty, a good one. */
#include "test_trace_support.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/count_of.h"

static mode_t kind_of(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 ? about.st_mode & S_IFMT : 0;
}

static struct trace_writer *begin(const char *path, uint64_t max_size, unsigned zones)
{
    struct trace_writer *w = open_writer(path, max_size);
    uint32_t track = add_track(w, add_process(w, 1), "main", 0), name = add_name(w, "work");
    for (uint64_t i = 0; i < zones; i++)
        zone_sink_add(trace_writer_sink(w, track), 0, 100 * i + 1, 100 * i + 50, 0, name);
    return w;
}

static uint64_t zones_of(const char *path)
{
    struct trace *t = NULL;
    assert_ok(trace_open(&t, path, 0, ERR));
    uint64_t zones = trace_get_info(t)->zones;
    trace_close(t);
    return zones;
}

static void test_null_device(void **state)
{
    (void)state;
    const char *link = test_path("nothing.opscope");
    struct error err = {0};
    for (unsigned max_size = 0; max_size < 2; max_size++) {
        struct trace_writer *w = begin("/dev/null", max_size << 20, 100000);
        struct trace_writer *other = begin("/dev/null", 0, 5);
        assert_int_equal(trace_writer_tick(w, 3000000000, &err), 0);
        assert_int_equal(trace_writer_zone_count(w), 100000);
        assert_true(trace_writer_size_bytes(w) > 1000);
        assert_ok(trace_writer_finish(w, ERR));
        trace_writer_discard(other);
        assert_int_equal(kind_of("/dev/null"), S_IFCHR);
        assert_int_equal(access("/dev/null.partial", F_OK), -1);
    }
    assert_int_equal(symlink("/dev/null", link), 0);
    assert_ok(trace_writer_finish(begin(link, 0, 5), ERR));
    assert_int_equal(kind_of(link), S_IFLNK);
}

static void test_devices_and_pipes(void **state)
{
    (void)state;
    const char *fifo = test_path("fifo.opscope"), *refused[] = {"/dev/full", fifo, "/dev/zero", test_folder};
    struct trace_writer *w = NULL;
    struct error err = {0};
    assert_int_equal(mkfifo(fifo, 0666), 0);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        mode_t kind = kind_of(refused[i]);
        struct trace_writer_options limited = {.max_size_bytes = 1 << 20};
        assert_true(trace_writer_open(&w, refused[i], NULL, &err) < 0);
        assert_non_null(strstr(err.message, refused[i]));
        assert_true(trace_writer_open(&w, refused[i], &limited, &err) < 0);
        assert_int_equal(kind_of(refused[i]), kind);
    }
    /* It became a pipe while the trace was written. */
    const char *late = test_path("late.opscope");
    w = begin(late, 0, 5);
    assert_int_equal(mkfifo(late, 0666), 0);
    assert_int_equal(trace_writer_finish(w, &err), -EINVAL);
    assert_int_equal(kind_of(late), S_IFIFO);
    assert_int_equal(zones_of(test_path("late.opscope.partial")), 5);
}

/* Files that the writer makes beside the trace, and that somebody has prepared. */
static void test_traps(void **state)
{
    (void)state;
    const char *trace = test_path("trap.opscope"), *victim = test_path("victim");
    static const char *const names[] = {"trap.opscope.partial", "trap.opscope.partial.000"};
    struct trace_writer *w = NULL;
    struct error err = {0};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct trace_writer_options options = {.max_size_bytes = i ? 1 << 20 : 0};
        const char *name = test_path(names[i]);
        assert_int_equal(symlink(victim, name), 0); /* dangling */
        assert_true(trace_writer_open(&w, trace, &options, &err) < 0);
        assert_int_equal(access(victim, F_OK), -1);
        write_whole(victim, "", 0);
        assert_true(trace_writer_open(&w, trace, &options, &err) < 0);
        unlink(name);
        assert_int_equal(mkfifo(name, 0666), 0);
        assert_true(trace_writer_open(&w, trace, &options, &err) < 0); /* and does not wait for a reader */
        unlink(name);
        write_whole(name, "data", 4);
        assert_int_equal(trace_writer_open(&w, trace, &options, &err), -EEXIST);
        struct bytes data = read_whole(name);
        assert_int_equal(data.length, 4);
        bytes_free(&data);
        unlink(name);
        unlink(victim);
    }
}

/* An empty .partial holds the name for its run, and is the file that its writer takes: were it replaced, another run
 * could choose the name between the two. */
static void test_a_held_name_is_never_free(void **state)
{
    (void)state;
    const char *trace = test_path("held.opscope"), *partial = test_path("held.opscope.partial");
    const char *first = test_path("held.opscope.partial.000");
    struct stat held, taken;
    write_whole(partial, "", 0);
    int fd = open(partial, O_RDONLY | O_CLOEXEC); /* its number is not given to another file */
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &held), 0);
    struct trace_writer *w = begin(trace, 0, 5);
    assert_int_equal(stat(partial, &taken), 0);
    assert_true(held.st_ino == taken.st_ino);
    trace_writer_discard(w);
    close(fd);
    assert_int_equal(access(partial, F_OK), -1);

    write_whole(partial, "", 0); /* a flight recorder holds its numbered files instead */
    assert_false(trace_partial_is_numbered(trace));
    w = begin(trace, 1 << 20, 5);
    assert_int_equal(access(partial, F_OK), -1);
    assert_int_equal(access(first, F_OK), 0);
    assert_true(trace_partial_is_numbered(trace));
    trace_writer_discard(w);
    assert_int_equal(access(first, F_OK), -1);
}

static void test_a_good_trace_is_kept(void **state)
{
    (void)state;
    const char *path = test_path("good.opscope");
    struct error err = {0};
    for (unsigned max_size = 0; max_size < 2; max_size++) {
        assert_ok(trace_writer_finish(begin(path, 0, 0), ERR)); /* nothing, over nothing */
        assert_int_equal(zones_of(path), 0);
        assert_ok(trace_writer_finish(begin(path, max_size << 20, 7), ERR));
        assert_int_equal(trace_writer_finish(begin(path, max_size << 20, 0), &err), -EEXIST);
        assert_non_null(strstr(err.message, "is kept"));
        assert_int_equal(zones_of(path), 7);
        assert_int_equal(access(test_path("good.opscope.partial"), F_OK), -1);
        assert_int_equal(access(test_path("good.opscope.partial.000"), F_OK), -1);
        assert_ok(trace_writer_finish(begin(path, max_size << 20, 3), ERR));
        assert_int_equal(zones_of(path), 3);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_device),
        cmocka_unit_test(test_devices_and_pipes),
        cmocka_unit_test(test_traps),
        cmocka_unit_test(test_a_held_name_is_never_free),
        cmocka_unit_test(test_a_good_trace_is_kept),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
