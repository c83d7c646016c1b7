/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

struct path { /* of a lane: the open zones */
    uint32_t *nodes;
    size_t count, capacity;
};

struct stack_track {
    struct path *lanes;
    size_t count, capacity;
    uint32_t root;                    /* the thread's node + 1 */
    size_t next_launch, launches_end; /* in the launches */
};

/* --- frames and nodes --- */

/* Puts a text that is safe to show at the end of `scratch`. */
static void append_clean(struct stacks *s, const char *text)
{
    size_t begin = s->scratch.length;
    utf8_append_visible_lines(&s->scratch, text[0] ? text : "?", text[0] ? strlen(text) : 1);
    for (size_t i = begin; i < s->scratch.length; i++) {
        uint8_t *at = &s->scratch.data[i];
        if (*at == '\n' || *at == '\r' || *at == '\t')
            *at = ' ';
        else if (*at == ';' && s->options.is_semicolon_separated)
            *at = ':';
    }
}

static uint32_t intern_scratch(struct stacks *s)
{
    return s->scratch.failed ? INTERN_NONE : intern_add(&s->frames, s->scratch.data, s->scratch.length);
}

static uint32_t clean_frame(struct stacks *s, const char *text)
{
    bytes_clear(&s->scratch);
    append_clean(s, text);
    return intern_scratch(s);
}

static uint32_t name_frame(struct stacks *s, uint32_t id)
{
    uint32_t unknown = (uint32_t)s->name_count, at = id < s->name_count ? id : unknown;
    if (s->name_frames[at] == 0) {
        const struct trace_name *name = trace_get_name(s->job->trace, id);
        bytes_clear(&s->scratch);
        append_clean(s, name->name);
        if (s->options.has_places && name->file[0]) {
            bytes_append_text(&s->scratch, "\n");
            append_clean(s, name->file);
            if (name->line)
                bytes_append_format(&s->scratch, ":%u", (unsigned)name->line);
        }
        uint32_t frame = intern_scratch(s);
        if (frame == INTERN_NONE)
            return INTERN_NONE;
        s->name_frames[at] = frame + 1;
    }
    return s->name_frames[at] - 1;
}

/* The node of a frame below another, made when it is new; STACK_NONE: no memory. */
static uint32_t child_of(struct stacks *s, uint32_t parent, uint32_t frame, uint32_t name)
{
    uint64_t key = (uint64_t)parent << 32 | frame;
    uint32_t node = map_get(&s->children, key);
    if (node != MAP_NONE)
        return node;
    if (frame == INTERN_NONE || s->node_count >= STACK_NONE - 1 ||
        !array_reserve(&s->nodes, &s->node_capacity, s->node_count + 1, sizeof *s->nodes) ||
        !map_put(&s->children, key, (uint32_t)s->node_count))
        return STACK_NONE;
    s->nodes[s->node_count] =
        (struct stack_node){.parent = parent, .frame = frame, .name = name, .track = TRACE_NONE};
    return (uint32_t)s->node_count++;
}

/* "program (pid)" and below it the thread. */
static uint32_t make_thread_node(struct stacks *s, uint32_t track)
{
    struct export_job *job = s->job;
    uint32_t process_id = export_track_process(job, track);
    const struct trace_process *process = trace_get_process(job->trace, process_id);
    struct bytes label = {0};
    bytes_append_text(&label, export_process_label(job, process_id));
    if (process)
        bytes_append_format(&label, " (%" PRId64 ")", process->pid);
    uint32_t frame = label.failed ? INTERN_NONE : clean_frame(s, bytes_text(&label));
    bytes_free(&label);
    uint32_t node = child_of(s, STACK_NONE, frame, TRACE_NONE);
    return node == STACK_NONE ? STACK_NONE
                              : child_of(s, node, clean_frame(s, export_track_label(job, track)), TRACE_NONE);
}

static uint32_t thread_node(struct stacks *s, uint32_t track)
{
    struct stack_track *t = &s->tracks[track];
    if (t->root == 0) {
        uint32_t node = make_thread_node(s, track);
        if (node == STACK_NONE)
            return STACK_NONE;
        t->root = node + 1;
        s->nodes[node].track = track;
    }
    return t->root - 1;
}

/* --- device time --- */

static int add_launch(struct stacks *s, uint32_t parent, const struct stack_launch *launch)
{
    uint32_t node =
        parent == STACK_NONE ? STACK_NONE : child_of(s, parent, name_frame(s, launch->name), launch->name);
    if (node == STACK_NONE)
        return export_no_memory(s->job);
    s->nodes[node].device_ns += launch->device_ns;
    s->nodes[node].device_count += launch->device_count;
    return 0;
}

/* Launches of the track before this moment belong to the zones that are open now. */
static int take_launches(struct stacks *s, uint32_t track, uint64_t until_ns)
{
    struct stack_track *t = &s->tracks[track];
    int result = 0;
    while (result == 0 && t->next_launch < t->launches_end &&
           s->launches[t->next_launch].start_ns < until_ns) {
        const struct path *path = t->count ? &t->lanes[0] : NULL;
        uint32_t parent = path && path->count ? path->nodes[path->count - 1] : thread_node(s, track);
        result = add_launch(s, parent, &s->launches[t->next_launch++]);
    }
    return result;
}

/* What began after the last zone, and runs of which nobody knows who launched them. */
static int take_other_launches(struct stacks *s)
{
    int result = 0;
    for (uint32_t track = 0; track < s->job->track_count && result == 0; track++)
        result = take_launches(s, track, UINT64_MAX);
    for (size_t i = 0; i < s->launch_count && result == 0; i++) {
        const struct stack_launch *launch = &s->launches[i];
        if (launch->start_ns == UINT64_MAX)
            result = add_launch(s,
                                launch->track < s->job->track_count
                                    ? thread_node(s, launch->track)
                                    : child_of(s, STACK_NONE, clean_frame(s, "unknown device"), TRACE_NONE),
                                launch);
    }
    return result;
}

static void index_launches(struct stacks *s)
{
    for (size_t i = 0; i < s->launch_count; i++) {
        uint32_t track = s->launches[i].track;
        if (track >= s->job->track_count || s->launches[i].start_ns == UINT64_MAX)
            continue;
        if (s->tracks[track].launches_end == 0)
            s->tracks[track].next_launch = i;
        s->tracks[track].launches_end = i + 1;
    }
}

/* --- zones --- */

static bool is_wanted(const struct stacks *s, uint32_t track)
{
    const struct trace_track *what = s->options.is_host_only ? trace_get_track(s->job->trace, track) : NULL;
    return !what || export_is_host_track(what);
}

static int zone_begin(void *context, const struct export_zone *zone, uint32_t lane,
                      const struct export_zone_rest *rest)
{
    (void)rest;
    struct stacks *s = context;
    struct stack_track *track = &s->tracks[zone->track];
    if (!is_wanted(s, zone->track))
        return 0;
    int result = lane == 0 ? take_launches(s, zone->track, zone->start_ns) : 0;
    if (result)
        return result;
    if (lane >= track->count) {
        if (!array_reserve(&track->lanes, &track->capacity, lane + (size_t)1, sizeof *track->lanes))
            return export_no_memory(s->job);
        memset(track->lanes + track->count, 0, (lane + (size_t)1 - track->count) * sizeof *track->lanes);
        track->count = lane + (size_t)1;
    }
    struct path *path = &track->lanes[lane];
    uint32_t parent = path->count ? path->nodes[path->count - 1] : thread_node(s, zone->track);
    uint32_t node =
        parent == STACK_NONE ? STACK_NONE : child_of(s, parent, name_frame(s, zone->name), zone->name);
    if (node == STACK_NONE ||
        !array_reserve(&path->nodes, &path->capacity, path->count + 1, sizeof *path->nodes))
        return export_no_memory(s->job);
    path->nodes[path->count++] = node;
    return 0;
}

static int zone_end(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    struct stacks *s = context;
    if (!is_wanted(s, zone->track))
        return 0;
    int result = lane == 0 ? take_launches(s, zone->track, zone->end_ns) : 0;
    struct path *path = &s->tracks[zone->track].lanes[lane];
    uint64_t duration = zone->end_ns - zone->start_ns;
    struct stack_node *node = &s->nodes[path->nodes[--path->count]];
    node->self_ns += duration > rest->child_ns ? duration - rest->child_ns : 0;
    node->count++;
    return result;
}

static bool has_host_zones(const struct export_job *job)
{
    for (uint32_t i = 0; i < job->track_count; i++) {
        const struct trace_track *track = trace_get_track(job->trace, i);
        if (track && export_is_host_track(track) && trace_track_zone_count(job->trace, i))
            return true;
    }
    return false;
}

int stacks_make(struct stacks *s, struct export_job *job, const struct stacks_options *options)
{
    const struct export_visitor visitor = {.context = s, .begin = zone_begin, .end = zone_end};
    *s = (struct stacks){.job = job, .options = *options, .name_count = trace_name_count(job->trace)};
    s->options.is_host_only = options->is_host_only && has_host_zones(job);
    job->progress_total = EXPORT_ORDER_PASSES * export_block_count(job, TRACE_BLOCK_ZONES);
    if (options->has_device_time)
        job->progress_total +=
            export_block_count(job, TRACE_BLOCK_OPS) + export_block_count(job, TRACE_BLOCK_RUNS);
    s->name_frames = calloc(s->name_count + 1, sizeof *s->name_frames);
    s->tracks = calloc(job->track_count + 1, sizeof *s->tracks);
    const struct trace_filter *filter = job->filter;
    int result = s->name_frames && s->tracks ? 0 : export_no_memory(job);
    if (result == 0 && options->has_device_time)
        result = stacks_find_launches(s);
    if (result == 0)
        index_launches(s);
    if (result == 0 && (s->launch_count || !options->has_device_time))
        result = export_order_zones(job, &visitor);
    if (result == 0)
        result = take_other_launches(s);
    job->filter = filter;
    return result;
}

void stacks_free(struct stacks *s)
{
    for (size_t t = 0; s->tracks && t < s->job->track_count; t++) {
        for (size_t i = 0; i < s->tracks[t].count; i++)
            free(s->tracks[t].lanes[i].nodes);
        free(s->tracks[t].lanes);
    }
    free(s->tracks);
    free(s->nodes);
    free(s->launches);
    map_free(&s->children);
    free(s->name_frames);
    intern_free(&s->frames);
    bytes_free(&s->scratch);
}
