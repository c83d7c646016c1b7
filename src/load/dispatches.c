/* SPDX-License-Identifier: Apache-2.0 */
#include "load/dispatches.h"

#include <stdlib.h>
#include <string.h>

/* Dispatches of one name. */
struct named {
    uint32_t first, ops; /* in `order` */
    uint64_t runs, seen;
};

struct joining {
    struct dispatch_join *join;
    const struct timeline *timeline;
    const struct iree_profile *profile;
    struct named *named; /* by text of the profile */
    uint32_t *names;     /* by op: text of the profile; INTERN_NONE: never ran */
    uint32_t *order;     /* ops by name */
};

void dispatch_join_free(struct dispatch_join *join)
{
    free(join->runs);
    free(join->events);
    *join = (struct dispatch_join){0};
}

static void sort_ops(struct joining *j)
{
    const struct timeline *timeline = j->timeline;
    uint32_t at = 0;
    for (size_t i = 0; i < timeline->op_count; i++) {
        const char *name = timeline_get_text(timeline, timeline->dispatches[timeline->ops[i].dispatch].name);
        j->names[i] = intern_find(&j->profile->texts, name, strlen(name));
        if (j->names[i] != INTERN_NONE)
            j->named[j->names[i]].ops++;
    }
    for (uint32_t i = 0; i < j->profile->texts.count; i++) {
        j->named[i].first = at;
        at += j->named[i].ops;
        j->named[i].ops = 0;
    }
    for (uint32_t i = 0; i < timeline->op_count; i++) {
        struct named *named = j->names[i] == INTERN_NONE ? NULL : &j->named[j->names[i]];
        if (named)
            j->order[named->first + named->ops++] = i;
    }
}

static void find_events(struct joining *j)
{
    struct dispatch_join *join = j->join;
    size_t ops = j->timeline->op_count;
    bool is_in_order = ops > 0;
    for (uint32_t i = 0; i < j->profile->event_count; i++) {
        const struct iree_event *event = &j->profile->events[i];
        if (!event->is_dispatch)
            continue;
        is_in_order = is_in_order && event->name == j->names[join->event_count % ops];
        join->events[join->event_count++] = i;
        j->named[event->name].runs++;
        join->unknown += !j->named[event->name].ops;
    }
    join->whole_runs = is_in_order && join->event_count % ops == 0 ? join->event_count / ops : 0;
}

static void add_run(struct dispatch_runs *runs, uint64_t ns)
{
    if (!ns) /* shorter than the clock's step: nothing was measured */
        return;
    runs->least_ns = !runs->count || ns < runs->least_ns ? ns : runs->least_ns;
    runs->most_ns = ns > runs->most_ns ? ns : runs->most_ns;
    runs->count++;
}

static void share_out(struct joining *j)
{
    struct dispatch_runs *runs = j->join->runs;
    for (size_t i = 0; i < j->join->event_count; i++) {
        const struct iree_event *event = &j->profile->events[j->join->events[i]];
        struct named *named = &j->named[event->name];
        if (!named->ops)
            continue;
        uint64_t turn = named->runs % named->ops == 0 ? named->seen++ % named->ops : 0;
        add_run(&runs[j->order[named->first + turn]], event->end_ns - event->start_ns);
    }
    for (size_t i = 0; i < j->timeline->op_count; i++) {
        const struct named *named = j->names[i] == INTERN_NONE ? NULL : &j->named[j->names[i]];
        if (named && named->runs % named->ops)
            runs[i] = runs[j->order[named->first]];
    }
}

int dispatch_join(struct dispatch_join *join, const struct timeline *timeline,
                  const struct iree_profile *profile, struct error *err)
{
    struct joining j = {.join = join, .timeline = timeline, .profile = profile};
    *join = (struct dispatch_join){.runs = calloc(timeline->op_count + 1, sizeof join->runs[0]),
                                   .events = malloc((profile->event_count + 1) * sizeof join->events[0])};
    j.named = calloc(profile->texts.count + 1, sizeof j.named[0]);
    j.names = malloc((timeline->op_count + 1) * sizeof j.names[0]);
    j.order = malloc((timeline->op_count + 1) * sizeof j.order[0]);
    bool failed = !join->runs || !join->events || !j.named || !j.names || !j.order;
    if (!failed) {
        sort_ops(&j);
        find_events(&j);
        share_out(&j);
    }
    free(j.named);
    free(j.names);
    free(j.order);
    return failed ? error_no_memory(err, "the runs of dispatches") : 0;
}
