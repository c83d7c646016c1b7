/* SPDX-License-Identifier: Apache-2.0 */
/* Times whole commands against each other: starts each in turn, many times over, so that all see the same machine.
 * Prints NAME VALUE UNIT lines, one pair a command, numbered from 1.
 *
 *     bench_spawn ROUNDS COMMAND... [-- COMMAND...]... */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"

#define MAX_COMMANDS 8
#define MAX_ROUNDS 2000

extern char **environ;

static double run_ms(char **argv)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    pid_t pid;
    int status = 0;
    uint64_t start = clock_raw_ns();
    if (posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) != pid) {
        fprintf(stderr, "bench_spawn: cannot run %s\n", argv[0]);
        exit(1);
    }
    double ms = (double)(clock_raw_ns() - start) / 1e6;
    posix_spawn_file_actions_destroy(&actions);
    return ms;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static double times[MAX_COMMANDS][MAX_ROUNDS];
    char **commands[MAX_COMMANDS];
    int count = 0, rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    if (argc < 3 || rounds < 1 || rounds > MAX_ROUNDS)
        return 2;
    commands[count++] = argv + 2;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0 && i + 1 < argc && count < MAX_COMMANDS) {
            argv[i] = NULL;
            commands[count++] = argv + i + 1;
        }
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < count; i++)
            times[i][round] = run_ms(commands[i]);
    }
    for (int i = 0; i < count; i++) {
        qsort(times[i], (size_t)rounds, sizeof times[i][0], by_value);
        printf("command_%d_min %.3f ms\ncommand_%d_median %.3f ms\n", i + 1, times[i][0], i + 1,
               times[i][rounds / 2]);
    }
    return 0;
}
