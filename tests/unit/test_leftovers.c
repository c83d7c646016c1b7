/* SPDX-License-Identifier: Apache-2.0 */
/* What is left of temporary files when a process is interrupted (base/leftovers.h). */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/leftovers.h"

struct place {
    char folder[64], kept[96], file[96];
};

static void make_file(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
}

static void make_place(struct place *place)
{
    snprintf(place->folder, sizeof place->folder, "/tmp/opscope-leftovers-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    snprintf(place->kept, sizeof place->kept, "%s.kept", place->folder);
    snprintf(place->file, sizeof place->file, "%s/file", place->folder);
    make_file(place->kept);
    make_file(place->file);
}

/* A process that notes folder and file, forgets what is to be kept, and is sent a signal; how it ended. */
static int interrupt(const struct place *place, int number, void (*disposition)(int))
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(number, disposition);
        leftover_note(place->folder);
        int kept = leftover_note(place->kept);
        leftover_note(place->file);
        leftover_forget(kept);
        raise(number);
        _exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

static void test_interrupted(void **state)
{
    (void)state;
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct place place;
        make_place(&place);
        int status = interrupt(&place, numbers[i], SIG_DFL);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), numbers[i]);
        assert_false(is_there(place.file));
        assert_false(is_there(place.folder));
        assert_true(is_there(place.kept));
        unlink(place.kept);
    }
}

static void test_a_signal_that_is_ignored(void **state)
{
    (void)state;
    struct place place;
    make_place(&place);
    int status = interrupt(&place, SIGHUP, SIG_IGN);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_true(is_there(place.file));
    unlink(place.file);
    unlink(place.kept);
    rmdir(place.folder);
}

static void test_no_room(void **state)
{
    (void)state;
    int numbers[20], given = 0;
    for (size_t i = 0; i < 20; i++) {
        numbers[i] = leftover_note("/nonexistent/file");
        given += numbers[i] >= 0;
    }
    assert_int_equal(given, 16);
    for (size_t i = 0; i < 20; i++)
        leftover_forget(numbers[i]);
    int again = leftover_note("/nonexistent/file");
    assert_true(again >= 0);
    leftover_forget(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_a_signal_that_is_ignored),
        cmocka_unit_test(test_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
