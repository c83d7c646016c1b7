/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tracy/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/process/own_process.h"
#include "collect/tracy/hub.h"

#define LOOK_MS 100
#define LEAVE_NS UINT64_C(50000000)   /* for a guard that has nothing to do */
#define ALIVE_NS UINT64_C(1000000000) /* between two looks whether anybody is left */

static void *start(void *context)
{
    struct tracy_guard *guard = context;
    char *const arguments[] = {"opscope", "tracy-guard", (char *)(uintptr_t)guard->session, NULL};
    if (own_process_spawn(&guard->pid, arguments, guard->its_end, -1) != 0)
        guard->pid = 0;
    close(guard->its_end);
    return NULL;
}

void tracy_guard_start(struct tracy_guard *guard, const char *session)
{
    int ends[2];
    sigset_t all, saved;
    *guard = (struct tracy_guard){.fd = -1, .session = session};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    guard->fd = ends[1];
    guard->its_end = ends[0];
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved); /* signals are the main thread's */
    guard->has_starter = pthread_create(&guard->starter, NULL, start, guard) == 0;
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (!guard->has_starter)
        start(guard);
}

void tracy_guard_take_over(struct tracy_guard *guard)
{
    if (guard->has_starter)
        pthread_join(guard->starter, NULL);
    guard->has_starter = false;
    if (guard->fd >= 0)
        close(guard->fd);
    guard->fd = -1;
}

void tracy_guard_leave(struct tracy_guard *guard)
{
    uint64_t until_ns = clock_raw_ns() + LEAVE_NS;
    tracy_guard_take_over(guard);
    while (guard->pid > 0 && waitpid(guard->pid, NULL, WNOHANG) == 0 && clock_raw_ns() < until_ns)
        usleep(500);
    guard->pid = 0;
}

/* --- the guard itself --- */

static void say_nothing(void *context, const char *text)
{
    (void)context;
    (void)text;
}

static void let_go(void *context, const struct tracy_place *place)
{
    tracy_hub_connect(context, place, 1);
}

void tracy_guard_work(const char *session, int fd)
{
    struct tracy_finder finder = {.session = session};
    struct tracy_hub *hub = NULL;
    char byte;
    if (chdir("/") != 0) /* no folder is kept in use */
        return;
    while (read(fd, &byte, 1) < 0 && errno == EINTR)
        ;
    if (!tracy_session_has_processes(session, 0)) /* as mostly */
        return;
    if (tracy_hub_new(&hub, &(struct tracy_hub_options){.notice = say_nothing, .is_patient = true}, NULL) !=
        0)
        return;
    tracy_hub_stop(hub);
    uint64_t now_ns = clock_raw_ns(), next_ns = now_ns;
    while (now_ns < next_ns || tracy_session_has_processes(session, 0)) {
        if (now_ns >= next_ns)
            next_ns = now_ns + ALIVE_NS;
        tracy_finder_look(&finder, now_ns, let_go, hub);
        poll(&(struct pollfd){.fd = tracy_hub_fd(hub), .events = POLLIN}, 1, LOOK_MS);
        tracy_hub_poll(hub);
        now_ns = clock_raw_ns();
    }
    tracy_hub_free(hub);
    tracy_finder_free(&finder);
}
