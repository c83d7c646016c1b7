/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/ending.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/leftovers.h"

struct ending {
    pthread_t thread;
    int signals, asked, ended; /* the last two are eventfds */
    bool until_eof, is_started;
};

/* False: the time was over before the server had ended. */
static bool wait_for_end(const struct ending *e)
{
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + UINT64_C(1000000) * ENDING_MS, now;
    while ((now = clock_ns(CLOCK_MONOTONIC)) < until) {
        struct pollfd one = {.fd = e->ended, .events = POLLIN};
        if (poll(&one, 1, (int)((until - now) / 1000000) + 1) > 0)
            return true;
    }
    return false;
}

static void *watch(void *context)
{
    struct ending *e = context;
    struct pollfd all[3] = {{.fd = e->ended, .events = POLLIN},
                            {.fd = e->signals, .events = POLLIN},
                            {.fd = e->until_eof ? STDIN_FILENO : -1, .events = POLLIN}};
    while (poll(all, 3, -1) < 0) {
    }
    if (all[0].revents)
        return NULL;
    eventfd_write(e->asked, 1);
    if (!wait_for_end(e)) {
        leftovers_remove();
        _exit(0); /* nothing of a server is lost: its traces are only read */
    }
    return NULL;
}

static int make_descriptors(struct ending *e, struct error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    e->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    e->asked = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    e->ended = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return e->signals < 0 || e->asked < 0 || e->ended < 0 ? error_set_errno(err, errno, "signals") : 0;
}

int ending_start(struct ending **out, bool until_eof, struct error *err)
{
    struct ending *e = *out = calloc(1, sizeof *e);
    if (!e)
        return error_no_memory(err, "the server");
    *e = (struct ending){.signals = -1, .asked = -1, .ended = -1, .until_eof = until_eof};
    int status = make_descriptors(e, err);
    int code = status ? 0 : pthread_create(&e->thread, NULL, watch, e);
    e->is_started = !status && !code;
    if (code)
        status = error_set_errno(err, code, "a thread that waits for signals");
    if (status) {
        ending_stop(e);
        *out = NULL;
    }
    return status;
}

int ending_fd(const struct ending *ending)
{
    return ending->asked;
}

void ending_stop(struct ending *e)
{
    if (!e)
        return;
    if (e->is_started) {
        eventfd_write(e->ended, 1);
        pthread_join(e->thread, NULL);
    }
    const int all[] = {e->signals, e->asked, e->ended};
    for (unsigned i = 0; i < 3; i++) {
        if (all[i] >= 0)
            close(all[i]);
    }
    free(e);
}
