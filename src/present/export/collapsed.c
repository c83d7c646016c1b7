/* SPDX-License-Identifier: Apache-2.0 */
/* Collapsed stacks for flame graphs: "program (pid);thread;outer;inner 1234", one line for each stack, with the
 * self time of all its occurrences (or the time of runs that it launched, or how many there are), sorted frame by
 * frame, so that two exports can be compared. ';' in a name becomes ':' and a line break a blank, since the format has
 * no escape. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "present/export/stacks.h"

/* Orders nodes by parent and, below one parent, by the text of the frame. */
static int compare_nodes(const void *a, const void *b, void *context)
{
    const struct stacks *s = context;
    const struct stack_node *left = &s->nodes[*(const uint32_t *)a], *right = &s->nodes[*(const uint32_t *)b];
    if (left->parent != right->parent)
        return left->parent < right->parent ? -1 : 1;
    return strcmp(intern_text(&s->frames, left->frame), intern_text(&s->frames, right->frame));
}

struct level {            /* of the walk: the children of one node that are still to come */
    size_t next, end;     /* in the order of compare_nodes */
    size_t parent_length; /* of the line without this level */
};

struct walk {
    struct stacks *s;
    uint32_t *order;
    struct level *levels;
    size_t level_count, level_capacity;
    struct bytes stack; /* the frames down to the current node */
};

static size_t first_child(const struct walk *walk, uint32_t parent)
{
    size_t low = 0, high = walk->s->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (walk->s->nodes[walk->order[middle]].parent < parent)
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
    while (level.end < walk->s->node_count && walk->s->nodes[walk->order[level.end]].parent == parent)
        level.end++;
    if (level.next == level.end)
        return true;
    if (!array_reserve(&walk->levels, &walk->level_capacity, walk->level_count + 1, sizeof *walk->levels))
        return false;
    walk->levels[walk->level_count++] = level;
    return true;
}

static int put_line(struct walk *walk, const struct stack_node *node)
{
    struct export_job *job = walk->s->job;
    enum export_flame_by by = job->options->flame_by;
    uint64_t weight = by == EXPORT_FLAME_COUNT    ? node->count
                      : by == EXPORT_FLAME_DEVICE ? node->device_ns
                                                  : node->self_ns;
    if (job->options->in_microseconds && by != EXPORT_FLAME_COUNT)
        weight /= 1000;
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
static int put_lines(struct stacks *s)
{
    struct walk walk = {.s = s, .order = calloc(s->node_count + 1, sizeof(uint32_t))};
    int result = 0;
    for (uint32_t i = 0; walk.order && i < s->node_count; i++)
        walk.order[i] = i;
    if (walk.order)
        qsort_r(walk.order, s->node_count, sizeof *walk.order, compare_nodes, s);
    if (!walk.order || !descend(&walk, STACK_NONE))
        result = export_no_memory(s->job);
    while (result == 0 && walk.level_count) {
        struct level *level = &walk.levels[walk.level_count - 1];
        walk.stack.length = level->parent_length;
        if (level->next == level->end) {
            walk.level_count--;
            continue;
        }
        uint32_t number = walk.order[level->next++];
        const struct intern_entry *frame = &s->frames.entries[s->nodes[number].frame];
        if (walk.stack.length)
            bytes_append(&walk.stack, ";", 1);
        bytes_append(&walk.stack, frame->data, frame->length);
        result = put_line(&walk, &s->nodes[number]);
        if (result == 0 && !descend(&walk, number))
            result = export_no_memory(s->job);
    }
    free(walk.order);
    free(walk.levels);
    bytes_free(&walk.stack);
    return result;
}

static bool has_device_time(const struct stacks *s)
{
    for (size_t i = 0; i < s->node_count; i++) {
        if (s->nodes[i].device_ns)
            return true;
    }
    return false;
}

int export_write_collapsed(struct export_job *job)
{
    struct stacks stacks;
    bool is_device = job->options->flame_by == EXPORT_FLAME_DEVICE;
    int result = stacks_make(&stacks, job,
                             &(struct stacks_options){.is_semicolon_separated = true,
                                                      .is_host_only = is_device,
                                                      .has_device_time = is_device});
    if (result == 0 && is_device && !has_device_time(&stacks))
        result =
            error_set(job->err, EINVAL, "no run on a device is there to write: --flame-by wall has the host");
    if (result == 0)
        result = put_lines(&stacks);
    stacks_free(&stacks);
    return result;
}
