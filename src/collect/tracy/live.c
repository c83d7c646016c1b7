/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is made before the first client is found: most commands have none. A client takes 0.3 s to come up, so nobody
 * looks in the first 0.1 s. */
#include "collect/tracy/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collect/tracy/guard.h"

#define FIRST_LOOK_NS UINT64_C(100000000)
#define FIRST_ELSEWHERE_NS UINT64_C(1000000000) /* few are there, and it costs some milliseconds */

struct tracy_live {
    struct tracy_live_options options;
    char *session;
    struct tracy_finder finder;
    struct tracy_hub *hub; /* NULL: no client yet */
    struct tracy_guard guard;
    bool has_guard; /* or none could be started */
    bool is_stopped;
};

void tracy_live_environment(char **list, size_t count)
{
    static const char *const variables[TRACY_LIVE_VARIABLES] = {"TRACY_NO_EXIT=1", "TRACY_ONLY_LOCALHOST=1",
                                                                "TRACY_NO_SAMPLING=1"};
    size_t n = count;
    for (size_t i = 0; i < TRACY_LIVE_VARIABLES; i++) {
        size_t prefix = strcspn(variables[i], "=") + 1, k = 0;
        while (k < count && strncmp(list[k], variables[i], prefix) != 0)
            k++;
        if (k == count)
            list[n++] = (char *)(uintptr_t)variables[i];
    }
}

static void pass_on(void *context, const char *text)
{
    const struct tracy_live *live = context;
    if (live->options.notice)
        live->options.notice(live->options.context, text);
}

/* In a PID namespace of its own a client has another pid than here: then it gets a row of its own. */
static uint32_t find_process(void *context, int64_t pid, uint64_t start_ns)
{
    const struct tracy_live *live = context;
    return live->is_stopped ? TRACE_NONE : collector_process(live->options.collector, pid, start_ns);
}

static void list_open(void *context, struct trace_writer *w)
{
    const struct tracy_live *live = context;
    if (live->hub)
        tracy_hub_list_open(live->hub, w);
}

struct tracy_live *tracy_live_new(const struct tracy_live_options *options)
{
    struct tracy_live *live = calloc(1, sizeof *live);
    if (!live)
        return NULL;
    live->options = *options;
    live->guard.fd = -1;
    live->session = strdup(options->session);
    if (!live->session) {
        free(live);
        return NULL;
    }
    tracy_finder_start(&live->finder, live->session);
    live->finder.next_ns = clock_raw_ns() + FIRST_LOOK_NS;
    live->finder.next_elsewhere_ns = clock_raw_ns() + FIRST_ELSEWHERE_NS;
    collector_set_more_open_zones(options->collector, list_open, live);
    return live;
}

static bool make_hub(struct tracy_live *live)
{
    struct tracy_hub_options options = {.writer = live->options.writer,
                                        .dialect = live->options.dialect,
                                        .min_duration_ns = live->options.min_duration_ns,
                                        .is_patient = true,
                                        .notice = pass_on,
                                        .process = find_process,
                                        .listener = live->options.listener,
                                        .capture_tool = live->options.capture_tool,
                                        .capture_output = live->options.capture_output,
                                        .context = live};
    if (!live->hub && tracy_hub_new(&live->hub, &options, NULL) == 0 && live->is_stopped)
        tracy_hub_stop(live->hub);
    return live->hub != NULL;
}

static void found(void *context, const struct tracy_place *place)
{
    struct tracy_live *live = context;
    if (make_hub(live))
        tracy_hub_connect(live->hub, place, 1);
}

int tracy_live_fd(const struct tracy_live *live)
{
    return live->hub ? tracy_hub_fd(live->hub) : -1;
}

uint64_t tracy_live_poll(struct tracy_live *live, uint64_t now_ns)
{
    if (!live->has_guard && now_ns >= live->finder.next_ns) {
        live->has_guard = true;
        tracy_guard_start(&live->guard, live->session);
    }
    tracy_finder_look(&live->finder, now_ns, found, live);
    return live->hub ? tracy_hub_poll(live->hub) : 0;
}

bool tracy_live_is_idle(const struct tracy_live *live)
{
    return !live->hub || tracy_hub_is_idle(live->hub);
}

void tracy_live_stop(struct tracy_live *live)
{
    live->is_stopped = true;
    if (!live->hub)
        return;
    tracy_hub_poll(live->hub);
    tracy_hub_stop(live->hub);
}

void tracy_live_leave(struct tracy_live *live, int64_t root)
{
    if (!live->has_guard && tracy_session_has_processes(live->session, root))
        tracy_guard_start(&live->guard, live->session);
    live->has_guard = true;
    tracy_guard_take_over(&live->guard);
}

uint32_t tracy_live_threads(const struct tracy_live *live)
{
    struct tracy_hub_stats stats = {0};
    if (live->hub)
        tracy_hub_get_stats(live->hub, &stats);
    return stats.sum.threads;
}

void tracy_live_free(struct tracy_live *live)
{
    if (!live)
        return;
    tracy_guard_leave(&live->guard);
    tracy_hub_free(live->hub);
    tracy_finder_free(&live->finder);
    free(live->session);
    free(live);
}
