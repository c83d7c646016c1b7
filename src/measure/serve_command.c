/* SPDX-License-Identifier: Apache-2.0 */
/* The worker for a program: one call starts it and waits for its end. Its output is discarded; of its errors the last
 * line is kept, to say why it failed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/run_delay.h"
#include "measure/serve.h"

#define OWN_DELAY_NS 500000u       /* shorter waits may have been for this process, which shares the CPU */
#define FAILED_WITH_STATUS 0x10000 /* | the wait status */

extern char **environ;

static struct {
    char **argv;
    int errors; /* a file in memory */
    posix_spawn_file_actions_t actions;
    uint64_t delay_ns; /* of all processes so far */
    char reason[400];
} command;

/* How long a process that has ended, and was not yet waited for, waited for the CPU itself. What it started in turn is
 * not in it. */
static uint64_t delay_of(pid_t child)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    uint64_t delay_ns = run_delay_read(descriptor);
    if (descriptor >= 0)
        close(descriptor);
    return delay_ns > OWN_DELAY_NS ? delay_ns : 0;
}

static uint64_t delay_so_far(void)
{
    return command.delay_ns;
}

static int start_and_wait(char **argv, int *status)
{
    pid_t child;
    siginfo_t info;
    int failed = posix_spawnp(&child, argv[0], &command.actions, NULL, argv, environ);
    if (failed)
        return failed;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0)
        if (errno != EINTR)
            return errno;
    command.delay_ns += delay_of(child);
    while (waitpid(child, status, 0) < 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static int call_command(void *context)
{
    (void)context;
    int status;
    if (command.errors >= 0 && (ftruncate(command.errors, 0) != 0 || lseek(command.errors, 0, SEEK_SET) != 0))
        return errno;
    int failed = start_and_wait(command.argv, &status);
    if (failed)
        return failed;
    return status ? FAILED_WITH_STATUS | status : 0;
}

/* What starting a process costs on this machine; a command that ends at once is the same everywhere. */
static int call_true(void *context)
{
    static char *argv[] = {(char *)(uintptr_t) "true", NULL};
    int status;
    (void)context;
    return start_and_wait(argv, &status);
}

static void append_last_line(char *out, size_t size)
{
    char tail[300];
    off_t end = command.errors >= 0 ? lseek(command.errors, 0, SEEK_END) : 0;
    size_t room = sizeof tail - 1;
    off_t from = end > (off_t)room ? end - (off_t)room : 0;
    ssize_t n = end > 0 ? pread(command.errors, tail, room, from) : 0;
    if (n <= 0)
        return;
    while (n > 0 && tail[n - 1] == '\n')
        n--;
    tail[n] = '\0';
    const char *line = strrchr(tail, '\n');
    size_t used = strlen(out);
    snprintf(out + used, size - used, ": %s", line ? line + 1 : tail);
}

static const char *say_reason(int code)
{
    if (!(code & FAILED_WITH_STATUS)) {
        snprintf(command.reason, sizeof command.reason, "cannot run %s: %s", command.argv[0], strerror(code));
        return command.reason;
    }
    int status = code & ~FAILED_WITH_STATUS;
    if (WIFSIGNALED(status))
        snprintf(command.reason, sizeof command.reason, "ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(command.reason, sizeof command.reason, "exit status %d", WEXITSTATUS(status));
    append_last_line(command.reason, sizeof command.reason);
    return command.reason;
}

int serve_command(const struct serve_options *options, char **argv)
{
    char name[200];
    const char *slash = strrchr(argv[0], '/');
    snprintf(name, sizeof name, "command.%.180s", slash && slash[1] ? slash + 1 : argv[0]);
    command.argv = argv;
    command.errors = memfd_create("errors", MFD_CLOEXEC);
    posix_spawn_file_actions_init(&command.actions);
    posix_spawn_file_actions_addopen(&command.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (command.errors >= 0)
        posix_spawn_file_actions_adddup2(&command.actions, command.errors, STDERR_FILENO);
    const struct opscope_overhead_op ops[] = {
        {.name = name, .group = "command", .call = call_command},
        {.name = "calibration.process", .group = "calibration", .call = call_true},
    };
    struct serve_options o = *options;
    o.loop_ns = 0; /* negligible beside a process */
    o.reason = say_reason;
    o.delay_ns = delay_so_far;
    return serve(&o, ops, 2);
}
