/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tracy/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/output_path.h"
#include "base/count_of.h"

#define LOOK_US 5000u
#define TERMINATE_NS UINT64_C(2000000000) /* for its own end, when it was asked to */

int tracy_capture_find(const char *folder, char *out, size_t size, struct error *err)
{
    static const char *const names[] = {"tracy-capture", "capture-release", "capture", "iree-tracy-capture"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(out, size, "%s/%s", folder, names[i]);
        if (access(out, X_OK) == 0)
            return 0;
    }
    return error_set(err, ENOENT,
                     "--tracy-tools %s: no capture tool in it: looked for tracy-capture, capture-release, "
                     "capture and iree-tracy-capture",
                     folder);
}

/* Between fork and exec. In a process group of its own, so that Ctrl+C does not cut its file short; it ends with us. */
static void become(const char *tool, const char *output, const char *port, pid_t parent)
{
    char *const words[] = {
        (char *)(uintptr_t)tool, "-f", "-o", (char *)(uintptr_t)output, "-a", "127.0.0.1", "-p",
        (char *)(uintptr_t)port, NULL};
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    if (getppid() == parent)
        execv(tool, words);
    _exit(127);
}

int tracy_capture_start(struct tracy_capture *capture, const char *tool, const char *output, unsigned port,
                        struct error *err)
{
    char text[16];
    pid_t parent = getpid();
    *capture = (struct tracy_capture){0};
    snprintf(capture->output, sizeof capture->output, "%s", output);
    snprintf(text, sizeof text, "%u", port);
    enum output_way way;
    int status = output_path_check(output, NULL, 0, &way, err);
    if (status)
        return status;
    if (way == OUTPUT_REPLACE)
        unlink(output); /* what is there afterwards is this run's */
    pid_t pid = fork();
    if (pid == 0)
        become(tool, output, text, parent);
    if (pid < 0)
        return error_set_errno(err, errno, "%s", tool);
    capture->pid = pid;
    return 0;
}

bool tracy_capture_has_ended(struct tracy_capture *capture)
{
    if (capture->pid && waitpid(capture->pid, &capture->wait_status, WNOHANG) == capture->pid)
        capture->pid = 0;
    return !capture->pid;
}

static bool wait_for(struct tracy_capture *capture, uint64_t limit_ns)
{
    uint64_t start_ns = clock_raw_ns();
    while (!tracy_capture_has_ended(capture)) {
        if (clock_raw_ns() - start_ns >= limit_ns)
            return false;
        usleep(LOOK_US);
    }
    return true;
}

void tracy_capture_end(struct tracy_capture *capture, uint64_t limit_ns)
{
    if (wait_for(capture, limit_ns))
        return;
    capture->was_stopped = true;
    kill(capture->pid, SIGTERM);
    if (wait_for(capture, TERMINATE_NS))
        return;
    kill(-capture->pid, SIGKILL);
    waitpid(capture->pid, &capture->wait_status, 0);
    capture->pid = 0;
}
