/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "serve/listen.h"

extern char **environ;

/* The server's standard input is the pipe that ends with us, its standard output the link. Its process group is not
 * ours: Ctrl+C is for the command. */
static int spawn_server(struct run_view *view, int control, int link)
{
    char file[4200], port[24];
    const char *words[10] = {"opscope", "view", "--until-eof"};
    size_t count = 3;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    snprintf(file, sizeof file, "%s.partial", view->output);
    snprintf(port, sizeof port, "%" PRIu64, view->port);
    if (view->port != LISTEN_NO_PORT) {
        words[count++] = "--port";
        words[count++] = port;
    }
    if (view->opens_browser)
        words[count++] = "--open";
    words[count++] = "--";
    words[count] = file;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, control, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, link, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    int failed = posix_spawn(&view->pid, "/proc/self/exe", &actions, &attributes,
                             (char *const *)(uintptr_t)words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        view->pid = 0;
    return failed;
}

/* The line that the server prints when it is ready; false: it ended instead. */
static bool read_link(struct run_view *view, int fd)
{
    size_t length = 0;
    ssize_t n;
    while (length + 1 < sizeof view->url &&
           ((n = read(fd, view->url + length, 1)) == 1 || (n < 0 && errno == EINTR))) {
        if (n == 1 && view->url[length++] == '\n')
            break;
    }
    bool is_whole = length && view->url[length - 1] == '\n';
    view->url[is_whole ? length - 1 : 0] = '\0';
    return is_whole;
}

int run_view_start(void *context, struct error *err)
{
    struct run_view *view = context;
    int control[2], link[2];
    if (pipe2(control, O_CLOEXEC) != 0)
        return error_set_errno(err, errno, "the page");
    if (pipe2(link, O_CLOEXEC) != 0) {
        int code = errno;
        close(control[0]);
        close(control[1]);
        return error_set_errno(err, code, "the page");
    }
    int failed = spawn_server(view, control[0], link[1]);
    view->control = control[1];
    close(control[0]);
    close(link[1]);
    bool is_ready = !failed && read_link(view, link[0]);
    close(link[0]);
    if (is_ready) {
        command_say("opscope: live page: %s", view->url);
        return 0;
    }
    run_view_end(view);
    return failed
               ? error_set_errno(err, failed, "the server of the page cannot be started")
               : error_set(err, EIO,
                           "the page cannot be served, so the command was not started; without --view it is "
                           "recorded all the same");
}

void run_view_stay(struct run_view *view)
{
    sigset_t set, before;
    int number = 0;
    if (!view->pid)
        return;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    command_say("opscope: the page stays at %s until Ctrl+C", view->url);
    for (;;) {
        if (waitpid(view->pid, NULL, WNOHANG) == view->pid) {
            view->pid = 0;
            command_say("opscope: the server of the page has ended; opscope view %s shows the trace",
                        view->output);
            break;
        }
        if (sigwait(&set, &number) == 0 && number != SIGCHLD)
            break;
    }
    run_view_end(view);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* The server is woken before it is asked to end: a SIGCONT takes back any stop that is on its way, also that of a tool
 * that looks at the process while it ends (LeakSanitizer), which then waits for ever. */
void run_view_end(struct run_view *view)
{
    if (view->pid)
        kill(view->pid, SIGCONT); /* it may have been stopped */
    if (view->control >= 0)
        close(view->control);
    if (view->pid)
        waitpid(view->pid, NULL, 0);
    view->control = -1;
    view->pid = 0;
}
