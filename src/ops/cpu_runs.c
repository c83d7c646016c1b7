/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/cpu_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* Ops in the order in which they end: those inside an op are right before it. */
struct ended_op {
    uint64_t start_ns, end_ns, own_ns;
    uint32_t run;  /* in the model; OPS_NONE */
    uint32_t size; /* ops from the first inside it up to this one */
};

struct cpu_track {
    struct ended_op *ops;
    size_t count, capacity;
};

static struct cpu_track *track_of(struct cpu_runs *runs, struct ops *ops, uint32_t track)
{
    if (!runs->tracks)
        runs->tracks = calloc(runs->track_count + 1, sizeof *runs->tracks);
    ops->failed |= !runs->tracks;
    return runs->tracks && track < runs->track_count ? &runs->tracks[track] : NULL;
}

/* How many of the last ops are inside one that began then; *inner_ns: the time of the outermost of them. */
static size_t find_inner(const struct cpu_track *t, uint64_t start_ns, uint64_t *inner_ns)
{
    size_t at = t->count;
    *inner_ns = 0;
    while (at && t->ops[at - 1].start_ns >= start_ns) {
        *inner_ns += t->ops[at - 1].end_ns - t->ops[at - 1].start_ns;
        at -= t->ops[at - 1].size;
    }
    return t->count - at;
}

/* One after the other, without gaps. */
static void place(struct ops *ops, struct ended_op *first, size_t count, uint64_t start_ns)
{
    for (size_t i = 0; i < count; i++) {
        if (first[i].run != OPS_NONE) {
            ops->runs[first[i].run].start_ns = start_ns;
            ops->runs[first[i].run].gap_ns = 0;
        }
        start_ns += first[i].own_ns;
    }
}

void cpu_runs_add(struct cpu_runs *runs, struct ops *ops, uint32_t track, uint64_t start_ns, uint64_t end_ns,
                  uint32_t call, uint32_t device)
{
    struct cpu_track *t = track_of(runs, ops, track);
    uint64_t inner_ns;
    if (t && !array_reserve(&t->ops, &t->capacity, t->count + 1, sizeof *t->ops))
        ops->failed = true;
    if (!t || ops->failed)
        return;
    size_t inner = find_inner(t, start_ns, &inner_ns);
    uint64_t whole_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    struct ended_op op = {.start_ns = start_ns,
                          .end_ns = start_ns + whole_ns,
                          .own_ns = whole_ns > inner_ns ? whole_ns - inner_ns : 0,
                          .run = OPS_NONE,
                          .size = (uint32_t)inner + 1};
    place(ops, t->ops + t->count - inner, inner, start_ns);
    if (call != OPS_NONE)
        op.run = ops_add_run(ops, &(struct op_run){.start_ns = op.end_ns - op.own_ns,
                                                   .duration_ns = op.own_ns,
                                                   .gap_ns = 0,
                                                   .call = call,
                                                   .track = ops->calls[call].track,
                                                   .device = (uint16_t)device,
                                                   .name = OPS_NONE});
    t->ops[t->count++] = op;
}

/* --- gaps --- */

static int compare_starts(const void *left, const void *right)
{
    const struct ended_op *const *a = left, *const *b = right;
    if ((*a)->start_ns != (*b)->start_ns)
        return (*a)->start_ns < (*b)->start_ns ? -1 : 1;
    return ((*a)->run > (*b)->run) - ((*a)->run < (*b)->run);
}

/* Those that are inside no other. */
static size_t list_outermost(const struct cpu_runs *runs, const struct ended_op **into)
{
    size_t count = 0;
    for (size_t i = 0; runs->tracks && i < runs->track_count; i++) {
        const struct cpu_track *t = &runs->tracks[i];
        for (size_t at = t->count; at; at -= t->ops[at - 1].size) {
            if (into)
                into[count] = &t->ops[at - 1];
            count++;
        }
    }
    return count;
}

void cpu_runs_find_gaps(const struct cpu_runs *runs, struct ops *ops)
{
    size_t count = list_outermost(runs, NULL);
    const struct ended_op **outermost = count ? malloc(count * sizeof *outermost) : NULL;
    if (!outermost) {
        ops->failed |= count != 0;
        return;
    }
    list_outermost(runs, outermost);
    qsort(outermost, count, sizeof *outermost, compare_starts);
    uint64_t busy_until_ns = outermost[0]->start_ns;
    for (size_t i = 0; i < count; i++) {
        const struct ended_op *op = outermost[i];
        if (op->start_ns > busy_until_ns && op->run != OPS_NONE)
            ops->runs[op->run].gap_ns = (int64_t)(op->start_ns - busy_until_ns);
        if (op->end_ns > busy_until_ns)
            busy_until_ns = op->end_ns;
    }
    free(outermost);
}

void cpu_runs_free(struct cpu_runs *runs)
{
    for (size_t i = 0; runs->tracks && i < runs->track_count; i++)
        free(runs->tracks[i].ops);
    free(runs->tracks);
    *runs = (struct cpu_runs){0};
}
