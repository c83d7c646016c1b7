/* SPDX-License-Identifier: Apache-2.0 */
/* What an output may be written over. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/count_of.h"
#include "base/output_path.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void touch(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY, 0666);
    assert_true(fd >= 0);
    close(fd);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/opscope-output-%d-XXXXXX", (int)getpid());
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void test_files(void **state)
{
    (void)state;
    const char *a = in_folder("a"), *b = in_folder("b");
    enum output_way way = OUTPUT_INTO;
    struct error err = {0};
    assert_int_equal(output_path_check(a, NULL, 0, &way, &err), 0);
    assert_int_equal(way, OUTPUT_REPLACE);
    touch(a);
    const char *const inputs[] = {NULL, "-", b};
    assert_int_equal(output_path_check(a, inputs, COUNT_OF(inputs), &way, &err), 0);
    assert_int_equal(way, OUTPUT_REPLACE);
    assert_int_equal(output_path_check(folder, NULL, 0, NULL, &err), -EISDIR);
}

static void test_inputs(void **state)
{
    (void)state;
    const char *trace = in_folder("trace"), *hard = in_folder("hard"), *soft = in_folder("soft");
    char roundabout[128];
    struct error err = {0};
    touch(trace);
    assert_int_equal(link(trace, hard), 0);
    assert_int_equal(symlink("trace", soft), 0);
    snprintf(roundabout, sizeof roundabout, "%s/../%s/trace", folder, strrchr(folder, '/') + 1);
    const char *const inputs[] = {in_folder("other"), trace};
    const char *const same[] = {trace, hard, soft, roundabout};
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        assert_int_equal(output_path_check(same[i], inputs, COUNT_OF(inputs), NULL, &err), -EEXIST);
        assert_non_null(strstr(err.message, same[i]));
    }
    /* An output that is not there yet cannot be written twice. */
    const char *const twice[] = {in_folder("page.html")};
    assert_int_equal(output_path_check(in_folder("page.html"), twice, 1, NULL, &err), -EEXIST);
}

static void test_devices(void **state)
{
    (void)state;
    const char *fifo = in_folder("fifo"), *nothing = in_folder("nothing");
    const char *const inputs[] = {"/dev/null"};
    enum output_way way = OUTPUT_REPLACE;
    struct error err = {0};
    assert_int_equal(mkfifo(fifo, 0666), 0);
    assert_int_equal(symlink("/dev/null", nothing), 0);
    const char *const into[] = {"/dev/null", "/dev/full", fifo, nothing};
    for (size_t i = 0; i < COUNT_OF(into); i++) {
        way = OUTPUT_REPLACE;
        assert_int_equal(output_path_check(into[i], inputs, 1, &way, &err), 0);
        assert_int_equal(way, OUTPUT_INTO);
    }
    char open_file[64];
    touch(in_folder("open"));
    int descriptor = open(in_folder("open"), O_WRONLY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        snprintf(open_file, sizeof open_file, i ? "/dev/fd/%d" : "/proc/self/fd/%d", descriptor);
        assert_int_equal(output_path_check(open_file, inputs, 1, &way, &err), 0);
        assert_int_equal(way, OUTPUT_INTO);
    }
    close(descriptor);
    assert_true(output_path_is_null("/dev/null"));
    assert_true(output_path_is_null(nothing));
    assert_false(output_path_is_null("/dev/full"));
    assert_false(output_path_is_null(in_folder("a")));
}

static void test_names_made_from_others(void **state)
{
    (void)state;
    const char *fifo = in_folder("made"), *pointer = in_folder("pointer"), *link = in_folder("link"),
               *file = in_folder("file");
    struct error err = {0};
    assert_int_equal(mkfifo(fifo, 0666), 0);
    assert_int_equal(symlink("/dev/null", pointer), 0);
    touch(file);
    assert_int_equal(symlink(file, link), 0);
    assert_int_equal(output_path_check_made(fifo, NULL, 0, &err), -EINVAL);
    assert_non_null(strstr(err.message, fifo));
    assert_int_equal(output_path_check_made(pointer, NULL, 0, &err), -EINVAL);
    assert_int_equal(output_path_check_made(file, (const char *const *)&link, 1, &err), -EEXIST);
    assert_int_equal(output_path_check_made(file, NULL, 0, &err), 0);
    assert_int_equal(output_path_check_made(in_folder("new"), NULL, 0, &err), 0);

    const char *const alone[] = {"/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", fifo, pointer};
    for (size_t i = 0; i < COUNT_OF(alone); i++)
        assert_false(output_path_takes_company(alone[i]));
    assert_true(output_path_takes_company(file));
    assert_true(output_path_takes_company(link));
    assert_true(output_path_takes_company(in_folder(".")));
    assert_true(output_path_takes_company(in_folder("new")));
}

/* As root: a link that another user has put into a folder of his. */
static void test_links_of_others(void **state)
{
    (void)state;
    const char *path = in_folder("trap");
    struct error err = {0};
    if (geteuid() != 0) {
        printf("SKIP: only root can make a link of another user\n");
        skip();
    }
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(output_path_check(path, NULL, 0, NULL, &err), 0); /* root's own */
    assert_int_equal(lchown(path, 65534, 65534), 0);
    assert_int_equal(output_path_check(path, NULL, 0, NULL, &err), -EACCES);
    assert_int_equal(output_path_check("/dev/stdout", NULL, 0, NULL, &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),           cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_devices),         cmocka_unit_test(test_names_made_from_others),
        cmocka_unit_test(test_links_of_others),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
