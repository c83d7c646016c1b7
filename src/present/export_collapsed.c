/* SPDX-License-Identifier: Apache-2.0 */
/* Collapsed stacks for flame graphs: "program (pid);thread;outer;inner 1234", one line for each stack, with the
 * self time of all its occurrences. Sorted bytewise, so that two exports can be compared.
 *
 * Stacks are nodes of a tree in a hash table: memory grows with the number of different stacks, not of zones.
 * A window cuts zones at its borders. Zones that the filter leaves out are left out of the stacks: their time
 * is self time of what encloses them. ';' in a name becomes ':' and a line break a blank, since the format has
 * no escape. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "present/export_order.h"

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
    uint32_t *table; /* node + 1, by hash of (parent, frame) */
    size_t table_size;
    struct track_paths *tracks;
    struct bytes scratch;
};

/* --- frames and nodes --- */

static uint32_t clean_frame(struct collapsed *c, const char *text)
{
    bytes_clear(&c->scratch);
    bytes_append_text(&c->scratch, text[0] ? text : "?");
    for (size_t i = 0; i < c->scratch.length; i++) {
        uint8_t *at = &c->scratch.data[i];
        *at = *at == ';' ? ':' : *at == '\n' || *at == '\r' ? ' ' : *at;
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

static size_t slot_of(const struct collapsed *c, uint32_t parent, uint32_t frame)
{
    return (size_t)hash_mix((uint64_t)parent << 32 | frame, UINT64_C(0x9e3779b97f4a7c15)) &
           (c->table_size - 1);
}

static bool grow_table(struct collapsed *c)
{
    size_t size = c->table_size ? 2 * c->table_size : 1024;
    uint32_t *table = calloc(size, sizeof *table);
    if (!table)
        return false;
    free(c->table);
    c->table = table;
    c->table_size = size;
    for (uint32_t n = 0; n < c->node_count; n++) {
        size_t i = slot_of(c, c->nodes[n].parent, c->nodes[n].frame);
        while (table[i])
            i = (i + 1) & (size - 1);
        table[i] = n + 1;
    }
    return true;
}

/* The node of a frame below another, made when it is new; NO_NODE: no memory. */
static uint32_t child_node(struct collapsed *c, uint32_t parent, uint32_t frame)
{
    if (frame == INTERN_NONE || (2 * c->node_count >= c->table_size && !grow_table(c)))
        return NO_NODE;
    size_t i = slot_of(c, parent, frame);
    for (; c->table[i]; i = (i + 1) & (c->table_size - 1)) {
        const struct node *node = &c->nodes[c->table[i] - 1];
        if (node->parent == parent && node->frame == frame)
            return c->table[i] - 1;
    }
    if (c->node_count >= NO_NODE - 1 ||
        !array_reserve(&c->nodes, &c->node_capacity, c->node_count + 1, sizeof *c->nodes))
        return NO_NODE;
    c->nodes[c->node_count] = (struct node){.parent = parent, .frame = frame};
    c->table[i] = (uint32_t)++c->node_count;
    return c->table[i] - 1;
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
    bytes_append_u8(&label, 0);
    uint32_t frame = label.failed ? INTERN_NONE : clean_frame(c, (const char *)label.data);
    bytes_free(&label);
    uint32_t node = child_node(c, NO_NODE, frame);
    return node == NO_NODE ? NO_NODE : child_node(c, node, clean_frame(c, export_track_label(job, track)));
}

/* --- zones --- */

static int zone_begin(void *context, const struct export_zone *zone, uint32_t lane)
{
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

static void append_stack(struct collapsed *c, uint32_t node, struct bytes *line)
{
    uint32_t way[64], *up = way, *larger = NULL;
    size_t count = 0, capacity = sizeof way / sizeof way[0];
    for (; node != NO_NODE; node = c->nodes[node].parent) {
        if (count == capacity) {
            uint32_t *grown = realloc(larger, 2 * capacity * sizeof *grown);
            if (!grown) {
                line->failed = true;
                break;
            }
            if (!larger)
                memcpy(grown, way, sizeof way);
            up = larger = grown;
            capacity *= 2;
        }
        up[count++] = c->nodes[node].frame;
    }
    while (count) {
        const struct intern_entry *frame = &c->frames.entries[up[--count]];
        bytes_append(line, frame->data, frame->length);
        if (count)
            bytes_append(line, ";", 1);
    }
    free(larger);
}

struct line {
    const char *text;
    uint64_t weight;
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* All stacks with a weight, as texts, sorted. The texts are in `texts`. */
static int make_lines(struct collapsed *c, struct line **lines, size_t *count, struct intern *texts)
{
    struct bytes stack = {0};
    uint64_t divisor = c->job->options->in_microseconds ? 1000 : 1;
    int result = 0;
    *count = 0;
    *lines = calloc(c->node_count + 1, sizeof **lines);
    if (!*lines)
        return export_no_memory(c->job);
    for (uint32_t n = 0; n < c->node_count && result == 0; n++) {
        uint64_t weight = c->nodes[n].self_ns / divisor;
        if (weight == 0)
            continue;
        bytes_clear(&stack);
        append_stack(c, n, &stack);
        uint32_t text = stack.failed ? INTERN_NONE : intern_add(texts, stack.data, stack.length);
        if (text == INTERN_NONE)
            result = export_no_memory(c->job);
        else
            (*lines)[(*count)++] = (struct line){.text = intern_text(texts, text), .weight = weight};
    }
    bytes_free(&stack);
    if (*count)
        qsort(*lines, *count, sizeof **lines, compare_lines);
    return result;
}

static int put_lines(struct collapsed *c)
{
    struct intern texts = {0};
    struct line *lines = NULL;
    size_t count = 0;
    int result = make_lines(c, &lines, &count, &texts);
    for (size_t i = 0; i < count && result == 0; i++) {
        bytes_append_text(&c->job->out, lines[i].text);
        bytes_append(&c->job->out, " ", 1);
        export_append_unsigned(&c->job->out, lines[i].weight);
        bytes_append(&c->job->out, "\n", 1);
        result = export_flush(c->job, false);
    }
    free(lines);
    intern_free(&texts);
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
    free(c->table);
    free(c->name_frames);
    intern_free(&c->frames);
    bytes_free(&c->scratch);
}

int export_write_collapsed(struct export_job *job)
{
    struct collapsed c = {.job = job, .name_count = trace_name_count(job->trace)};
    const struct export_visitor visitor = {
        .context = &c, .begin = zone_begin, .end = zone_end, .is_clipped = true};
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
