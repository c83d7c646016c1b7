/* SPDX-License-Identifier: Apache-2.0 */
/* Collapsed stacks for flame graphs: "program (pid);thread;outer;inner 1234", one line for each stack, with the
 * self time of all its occurrences, sorted frame by frame, so that two exports can be compared.
 *
 * Stacks are nodes of a tree, found by their parent and frame: memory grows with the number of different stacks, not
 * of zones.
 * A window cuts zones at its borders. Zones that the filter leaves out are left out of the stacks: their time
 * is self time of what encloses them. ';' in a name becomes ':' and a line break a blank, since the format has
 * no escape. */
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/map.h"
#include "present/export/order.h"
#include "text/utf8.h"

#define NO_NODE UINT32_MAX

struct node {
    uint32_t parent; /* NO_NODE: a thread */
    uint32_t frame;  /* in `frames` */
    uint64_t self_ns;
};

struct path { /* of a lane: the open zones */
    uint32_t *nodes;
    size_t count, capacity;
};

struct track_paths {
    struct path *lanes;
    size_t count, capacity;
    uint32_t root; /* the thread's node + 1 */
};

struct collapsed {
    struct export_job *job;
    struct intern frames;  /* texts of frames, cleaned */
    uint32_t *name_frames; /* by name id: frame + 1 */
    size_t name_count;
    struct node *nodes;
    size_t node_count, node_capacity;
    struct map children; /* from parent and frame to the node */
    struct track_paths *tracks;
    struct bytes scratch;
};

/* --- frames and nodes --- */

static uint32_t clean_frame(struct collapsed *c, const char *text)
{
    bytes_clear(&c->scratch);
    utf8_append_visible_lines(&c->scratch, text[0] ? text : "?", text[0] ? strlen(text) : 1);
    for (size_t i = 0; i < c->scratch.length; i++) {
        uint8_t *at = &c->scratch.data[i];
        *at = *at == ';' ? ':' : *at == '\n' || *at == '\r' || *at == '\t' ? ' ' : *at;
    }
    return c->scratch.failed ? INTERN_NONE : intern_add(&c->frames, c->scratch.data, c->scratch.length);
}

static uint32_t name_frame(struct collapsed *c, uint32_t name)
{
    uint32_t unknown = (uint32_t)c->name_count, at = name < c->name_count ? name : unknown;
    if (c->name_frames[at] == 0) {
        uint32_t frame = clean_frame(c, trace_get_name(c->job->trace, name)->name);
        if (frame == INTERN_NONE)
            return INTERN_NONE;
        c->name_frames[at] = frame + 1;
    }
    return c->name_frames[at] - 1;
}

/* The node of a frame below another, made when it is new; NO_NODE: no memory. */
static uint32_t child_node(struct collapsed *c, uint32_t parent, uint32_t frame)
{
    uint64_t key = (uint64_t)parent << 32 | frame;
    uint32_t node = map_get(&c->children, key);
    if (node != MAP_NONE)
        return node;
    if (frame == INTERN_NONE || c->node_count >= NO_NODE - 1 ||
        !array_reserve(&c->nodes, &c->node_capacity, c->node_count + 1, sizeof *c->nodes) ||
        !map_put(&c->children, key, (uint32_t)c->node_count))
        return NO_NODE;
    c->nodes[c->node_count] = (struct node){.parent = parent, .frame = frame};
    return (uint32_t)c->node_count++;
}

/* "program (pid)" and below it the thread. */
static uint32_t thread_node(struct collapsed *c, uint32_t track)
{
    struct export_job *job = c->job;
    uint32_t process_id = export_track_process(job, track);
    const struct trace_process *process = trace_get_process(job->trace, process_id);
    struct bytes label = {0};
    bytes_append_text(&label, export_process_label(job, process_id));
    if (process)
        bytes_append_format(&label, " (%lld)", (long long)process->pid);
    uint32_t frame = label.failed ? INTERN_NONE : clean_frame(c, bytes_text(&label));
    bytes_free(&label);
    uint32_t node = child_node(c, NO_NODE, frame);
    return node == NO_NODE ? NO_NODE : child_node(c, node, clean_frame(c, export_track_label(job, track)));
}

/* --- zones --- */

static int zone_begin(void *context, const struct export_zone *zone, uint32_t lane,
                      const struct export_zone_rest *rest)
{
    (void)rest;
    struct collapsed *c = context;
    struct track_paths *track = &c->tracks[zone->track];
    if (lane >= track->count) {
        if (!array_reserve(&track->lanes, &track->capacity, lane + (size_t)1, sizeof *track->lanes))
            return export_no_memory(c->job);
        memset(track->lanes + track->count, 0, (lane + (size_t)1 - track->count) * sizeof *track->lanes);
        track->count = lane + (size_t)1;
    }
    struct path *path = &track->lanes[lane];
    uint32_t parent = path->count ? path->nodes[path->count - 1] : track->root - 1;
    if (!path->count && track->root == 0) {
        parent = thread_node(c, zone->track);
        if (parent == NO_NODE)
            return export_no_memory(c->job);
        track->root = parent + 1;
    }
    uint32_t node = child_node(c, parent, name_frame(c, zone->name));
    if (node == NO_NODE ||
        !array_reserve(&path->nodes, &path->capacity, path->count + 1, sizeof *path->nodes))
        return export_no_memory(c->job);
    path->nodes[path->count++] = node;
    return 0;
}

static int zone_end(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    struct collapsed *c = context;
    struct path *path = &c->tracks[zone->track].lanes[lane];
    uint64_t duration = zone->end_ns - zone->start_ns;
    c->nodes[path->nodes[--path->count]].self_ns += duration > rest->child_ns ? duration - rest->child_ns : 0;
    return 0;
}

/* --- lines --- */

/* Orders nodes by parent and, below one parent, by the text of the frame. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct collapsed *c = context;
    const struct node *left = &c->nodes[*(const uint32_t *)a], *right = &c->nodes[*(const uint32_t *)b];
    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    return strcmp(intern_text(&c->frames, left->frame), intern_text(&c->frames, right->frame));
}

struct level {            /* of the walk: the children of one node that are still to come */
    size_t next, end;     /* in the order of compare_nodes */
    size_t parent_length; /* of the line without this level */
};

struct walk {
    struct collapsed *c;
    uint32_t *order;
    struct level *levels;
    size_t level_count, level_capacity;
    struct bytes stack; /* the frames down to the current node */
};

static size_t first_child(const struct walk *walk, uint32_t parent)
{
    size_t low = 0, high = walk->c->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (walk->c->nodes[walk->order[middle]].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool descend(struct walk *walk, uint32_t parent)
{
    struct level level = {.next = first_child(walk, parent), .parent_length = walk->stack.length};
    level.end = level.next;
    while (level.end < walk->c->node_count && walk->c->nodes[walk->order[level.end]].parent == parent)
        level.end++;
    if (level.next == level.end)
        return true;
    if (!array_reserve(&walk->levels, &walk->level_capacity, walk->level_count + 1, sizeof *walk->levels))
        return false;
    walk->levels[walk->level_count++] = level;
    return true;
}

static int put_line(struct walk *walk, const struct node *node)
{
    struct export_job *job = walk->c->job;
    uint64_t weight = job->options->in_microseconds ? node->self_ns / 1000 : node->self_ns;
    if (walk->stack.failed)
        return export_no_memory(job);
    if (weight == 0)
        return 0;
    bytes_append(&job->out, walk->stack.data, walk->stack.length);
    bytes_append(&job->out, " ", 1);
    export_append_unsigned(&job->out, weight);
    bytes_append(&job->out, "\n", 1);
    return export_flush(job, false);
}

/* Depth first, a stack before those below it; no line but the current one is in memory. */
static int put_lines(struct collapsed *c)
{
    struct walk walk = {.c = c, .order = calloc(c->node_count + 1, sizeof(uint32_t))};
    int result = 0;
    for (uint32_t i = 0; walk.order && i < c->node_count; i++)
        walk.order[i] = i;
    if (walk.order)
        qsort_r(walk.order, c->node_count, sizeof *walk.order, compare_nodes, c);
    if (!walk.order || !descend(&walk, NO_NODE))
        result = export_no_memory(c->job);
    while (result == 0 && walk.level_count) {
        struct level *level = &walk.levels[walk.level_count - 1];
        walk.stack.length = level->parent_length;
        if (level->next == level->end) {
            walk.level_count--;
            continue;
        }
        uint32_t number = walk.order[level->next++];
        const struct intern_entry *frame = &c->frames.entries[c->nodes[number].frame];
        if (walk.stack.length)
            bytes_append(&walk.stack, ";", 1);
        bytes_append(&walk.stack, frame->data, frame->length);
        result = put_line(&walk, &c->nodes[number]);
        if (result == 0 && !descend(&walk, number))
            result = export_no_memory(c->job);
    }
    free(walk.order);
    free(walk.levels);
    bytes_free(&walk.stack);
    return result;
}

static void free_collapsed(struct collapsed *c)
{
    for (size_t t = 0; c->tracks && t < c->job->track_count; t++) {
        for (size_t i = 0; i < c->tracks[t].count; i++)
            free(c->tracks[t].lanes[i].nodes);
        free(c->tracks[t].lanes);
    }
    free(c->tracks);
    free(c->nodes);
    map_free(&c->children);
    free(c->name_frames);
    intern_free(&c->frames);
    bytes_free(&c->scratch);
}

int export_write_collapsed(struct export_job *job)
{
    struct collapsed c = {.job = job, .name_count = trace_name_count(job->trace)};
    const struct export_visitor visitor = {.context = &c, .begin = zone_begin, .end = zone_end};
    job->progress_total = EXPORT_ORDER_PASSES * export_block_count(job, TRACE_BLOCK_ZONES);
    c.name_frames = calloc(c.name_count + 1, sizeof *c.name_frames);
    c.tracks = calloc(job->track_count + 1, sizeof *c.tracks);
    int result = c.name_frames && c.tracks ? 0 : export_no_memory(job);
    if (result == 0)
        result = export_order_zones(job, &visitor);
    if (result == 0)
        result = put_lines(&c);
    free_collapsed(&c);
    return result;
}
