/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a run from the typed model: its lines are the run's ops in order, its gaps and wrong times are already judged
 * (ops/finish.h). No number becomes text on this path (docs/decisions/014-comparing-runs.md has the figures).
 *
 * Assumes that descriptions repeat: each becomes the text of a shape once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/shape.h"
#include "analyze/report/class.h"
#include "base/count_of.h"
#include "ops/description.h"
#include "ops/finish.h"
#include "ops/known_figures.h"

struct call_key { /* what the key of an op is made of */
    uint32_t name, description, type;
};

struct taking {
    struct diff *diff;
    struct ops *ops;
    uint32_t *shape_of, *location_of; /* by description; UNKNOWN */
    struct intern calls;              /* distinct call_keys ... */
    uint32_t *key_of;                 /* ... and the key of each */
    size_t key_capacity;
};
#define UNKNOWN (UINT32_MAX - 1)
#define LINES_AT_ONCE 65536u

static bool describe(struct taking *t, uint32_t description, uint32_t *shape, uint32_t *location)
{
    struct bytes *text = &t->diff->scratch;
    *shape = *location = DIFF_NO_TEXT;
    if (description == OPS_NONE)
        return true;
    if (t->shape_of[description] == UNKNOWN) {
        const struct op_description *d = ops_get_description(t->ops, description);
        struct slice place = ops_get_slice(t->ops, d->location);
        bytes_clear(text);
        diff_append_ops_shape(text, t->ops, d);
        if (text->failed)
            return false;
        t->shape_of[description] = diff_intern(t->diff, text->data, text->length);
        t->location_of[description] =
            place.length ? diff_intern(t->diff, place.data, place.length) : DIFF_NO_TEXT;
    }
    *shape = t->shape_of[description];
    *location = t->location_of[description];
    return true;
}

static uint32_t category_of(struct taking *t, const char *name, unsigned kind)
{
    const char *text = perf_category_by_name(name, kind == DIFF_HOST_OP);
    return diff_intern(t->diff, text, strlen(text));
}

static uint32_t make_key(struct taking *t, const struct call_key *call)
{
    struct diff *diff = t->diff;
    const char *name = ops_get_text(t->ops, call->name);
    struct diff_key key = {0};
    if (!describe(t, call->description, &key.shape, &key.location))
        return INTERN_NONE;
    bool is_torch = strstr(name, "(torch)") != NULL;
    key.name = *name ? diff_intern(diff, name, strlen(name)) : diff_intern(diff, "(no name)", 9);
    key.kind = call->type != OP_TYPE_DEVICE || is_torch ? DIFF_HOST_OP : DIFF_DEVICE_OP;
    key.group = diff->options.group_by == DIFF_BY_CATEGORY   ? category_of(t, name, key.kind)
                : diff->options.group_by == DIFF_BY_LOCATION ? key.location
                : diff->options.group_by == DIFF_BY_LAYER    ? DIFF_NO_TEXT
                                                             : key.name;
    if (key.shape == DIFF_NO_TEXT)
        key.shape = diff_intern(diff, "", 0);
    return diff_find_key(diff, &key);
}

/* The key of an op, made once for each kind of call. */
static uint32_t key_of(struct taking *t, const struct op_call *call)
{
    struct call_key kind = {call->name, call->description, call->type};
    size_t known = t->calls.count;
    uint32_t id = intern_add(&t->calls, &kind, sizeof kind);
    if (id == INTERN_NONE || !array_reserve(&t->key_of, &t->key_capacity, (size_t)id + 1, sizeof *t->key_of))
        return INTERN_NONE;
    if (id == known)
        t->key_of[id] = make_key(t, &kind);
    return t->key_of[id];
}

static uint32_t signpost_key(struct taking *t, const struct op_signpost *signpost)
{
    struct slice header = ops_get_slice(t->ops, signpost->header);
    struct diff_key key = {.name = diff_intern(t->diff, header.length ? header.data : "", header.length),
                           .shape = diff_intern(t->diff, "", 0),
                           .location = DIFF_NO_TEXT,
                           .group = DIFF_NO_TEXT,
                           .kind = DIFF_SIGNPOST};
    return diff_find_key(t->diff, &key);
}

static bool is_signpost(const struct ops *ops, size_t i, const char *name)
{
    return ops->lines[i].signpost != OPS_NONE &&
           strcmp(ops_get_text(ops, ops->signposts[ops->lines[i].signpost].header), name) == 0;
}

/* A window that is not there would compare something else than was asked for. */
int diff_no_signpost(const struct diff *diff, int side, const char *name, struct error *err)
{
    return error_set(err, EINVAL, "%s has no signpost '%s'", diff->runs[side].path, name);
}

/* Between the signposts that were asked for. */
static int find_window(const struct taking *t, int side, size_t *first, size_t *end, struct error *err)
{
    const char *start_name = t->diff->options.start_signpost, *end_name = t->diff->options.end_signpost;
    bool is_same = start_name && end_name && strcmp(start_name, end_name) == 0;
    *first = 0;
    *end = t->ops->line_count;
    for (size_t i = 0; start_name && i < *end && !*first; i++)
        *first = is_signpost(t->ops, i, start_name) ? i + 1 : 0;
    if (start_name && !*first)
        return diff_no_signpost(t->diff, side, start_name, err);
    for (size_t i = is_same ? *first : 0; end_name && i < *end; i++)
        *end = is_signpost(t->ops, i, end_name) ? i : *end;
    if (end_name && *end == t->ops->line_count)
        return diff_no_signpost(t->diff, side, end_name, err);
    if (*end < *first)
        *end = *first;
    return 0;
}

static uint32_t line_key(struct taking *t, const struct op_line *line)
{
    const struct ops *ops = t->ops;
    if (line->signpost != OPS_NONE)
        return signpost_key(t, &ops->signposts[line->signpost]);
    const struct op_call unknown = {.name = line->run == OPS_NONE ? OPS_NONE : ops->runs[line->run].name,
                                    .description = OPS_NONE};
    return key_of(t, line->call == OPS_NONE ? &unknown : &ops->calls[line->call]);
}

/* When its run began, where the host's clock knows that, else its call. */
static uint64_t line_time(const struct ops *ops, const struct op_line *line)
{
    if (line->signpost != OPS_NONE)
        return ops->signposts[line->signpost].time_ns;
    if (line->run != OPS_NONE && (line->call == OPS_NONE || ops->runs[line->run].track != OPS_NONE))
        return ops->runs[line->run].start_ns;
    return line->call == OPS_NONE ? 0 : ops->calls[line->call].start_ns;
}

void diff_cut_lines(const struct diff *diff, int side, struct ops *ops)
{
    const struct diff_window *window = &diff->runs[side].window;
    size_t kept = 0;
    if (!window->is_set)
        return;
    for (size_t i = 0; i < ops->line_count; i++) {
        uint64_t time = line_time(ops, &ops->lines[i]);
        if (time >= window->since_ns && time <= window->until_ns)
            ops->lines[kept++] = ops->lines[i];
    }
    ops->line_count = kept;
}

static bool has_device_op(const struct ops *ops)
{
    for (size_t i = 0; i < ops->line_count; i++) {
        uint32_t call = ops->lines[i].call;
        if (call != OPS_NONE && ops->calls[call].type == OP_TYPE_DEVICE)
            return true;
    }
    return false;
}

/* One op after the other has one of few names. */
struct known_names {
    struct {
        uint32_t name_plus_1;
        bool is_torch;
    } names[256];
};

static bool is_of_torch(const struct ops *ops, uint32_t name, struct known_names *known)
{
    size_t at = name % COUNT_OF(known->names);
    if (known->names[at].name_plus_1 != name + 1) {
        known->names[at].name_plus_1 = name + 1;
        known->names[at].is_torch = perf_name_of(ops_get_text(ops, name)).is_torch;
    }
    return known->names[at].is_torch;
}

size_t diff_drop_idle_ops(struct ops *ops)
{
    struct known_names known = {0};
    size_t before = ops->line_count, kept = 0;
    if (!has_device_op(ops))
        return 0;
    for (size_t i = 0; i < before; i++) {
        const struct op_call *call = ops->lines[i].call == OPS_NONE ? NULL : &ops->calls[ops->lines[i].call];
        if (!call || call->type == OP_TYPE_DEVICE || !is_of_torch(ops, call->name, &known))
            ops->lines[kept++] = ops->lines[i];
    }
    ops->line_count = kept;
    return before - kept;
}

/* A line becomes an op of the run; the first op of a window has no gap before it. */
static bool take_line(struct taking *t, const struct op_line *line, struct diff_op *op, bool is_first)
{
    const struct ops *ops = t->ops;
    const struct op_call *call = line->call == OPS_NONE ? NULL : &ops->calls[line->call];
    const struct op_run *run = line->run == OPS_NONE ? NULL : &ops->runs[line->run];
    struct op_line_sum sum = ops_sum_line(ops, line);
    op->time_ns = op->gap_ns = op->host_ns = NAN;
    op->key = line_key(t, line);
    if (op->key == INTERN_NONE)
        return false;
    if (call && !(call->faults & OP_FAULT_OPEN) && !(run && run->session)) /* a replay calls no op */
        op->host_ns = (double)(call->end_ns - call->start_ns);
    if (t->diff->keys[op->key].kind == DIFF_HOST_OP)
        op->time_ns = op->host_ns;
    else if (run && !(run->faults & OP_FAULT_STALE) && sum.duration_ns != OPS_NO_DURATION)
        op->time_ns = (double)sum.duration_ns;
    if (!is_first && run && ops_has_gap(run))
        op->gap_ns = (double)sum.gap_ns;
    return true;
}

/* Keys are numbered in the order of the lines. Says which op is the first, and whether calls and runs are in the order
 * of the lines. */
static bool find_keys(struct taking *t, size_t first, size_t end, size_t *first_op, bool *in_order)
{
    const struct op_line *before = NULL;
    *first_op = end;
    *in_order = true;
    for (size_t i = first; i < end; i++) {
        const struct op_line *line = &t->ops->lines[i];
        if (line_key(t, line) == INTERN_NONE)
            return false;
        if (line->call == OPS_NONE)
            continue;
        *first_op = *first_op == end ? i : *first_op;
        *in_order &=
            line->run != OPS_NONE && (!before || (before->call <= line->call && before->run <= line->run));
        before = line;
    }
    return true;
}

static void shrink(void *array_pointer, size_t *count, size_t *capacity, size_t wanted, size_t size)
{
    void *array, *smaller;
    memcpy(&array, array_pointer, sizeof array);
    smaller = wanted < *count ? realloc(array, (wanted + 1) * size) : NULL;
    if (!smaller)
        return;
    memcpy(array_pointer, &smaller, sizeof smaller);
    *count = wanted;
    *capacity = wanted + 1;
}

/* From the last line to the first: what was taken is given back as it goes, so that a run is not in memory twice. */
static bool take_lines(struct taking *t, int side, size_t first, size_t end)
{
    struct ops *ops = t->ops;
    size_t first_op;
    bool in_order;
    struct diff_op *taken =
        find_keys(t, first, end, &first_op, &in_order) ? diff_add_ops(t->diff, side, end - first) : NULL;
    for (size_t i = end; taken && i-- > first;) {
        struct op_line line = ops->lines[i];
        taken[i - first].id = (uint32_t)(i - first) + 1;
        if (!take_line(t, &line, &taken[i - first], i == first_op))
            return false;
        if (i % LINES_AT_ONCE)
            continue;
        shrink(&ops->lines, &ops->line_count, &ops->line_capacity, i, sizeof ops->lines[0]);
        if (in_order && line.call != OPS_NONE) {
            shrink(&ops->calls, &ops->call_count, &ops->call_capacity, (size_t)line.call + 1,
                   sizeof ops->calls[0]);
            shrink(&ops->runs, &ops->run_count, &ops->run_capacity, (size_t)line.run + 1,
                   sizeof ops->runs[0]);
        }
    }
    return taken || first == end;
}

/* --- threads --- */

struct role {
    uint32_t process, track, number;
};

static int compare_processes(const void *left, const void *right)
{
    const struct role *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The threads that called ops, numbered as they are met. */
static bool find_roles(const struct ops *ops, size_t first, size_t end, struct intern *threads,
                       struct role **roles, uint32_t *of_line)
{
    size_t capacity = 0;
    uint32_t last = 0;
    for (size_t i = first; i < end; i++) {
        const struct op_call *call = ops->lines[i].call == OPS_NONE ? NULL : &ops->calls[ops->lines[i].call];
        if (call) { /* what is not called belongs where it stands */
            const uint32_t thread[2] = {call->process, call->track};
            size_t known = threads->count;
            last = intern_add(threads, thread, sizeof thread);
            if (last == INTERN_NONE || !array_reserve(roles, &capacity, (size_t)last + 1, sizeof **roles))
                return false;
            if (last == known)
                (*roles)[last] = (struct role){call->process, call->track, last};
        }
        of_line[i - first] = last;
    }
    return true;
}

/* By process, as the trace has them, then by their first ops: so they are numbered alike in two runs of one program. */
static bool take_roles(struct taking *t, int side, size_t first, size_t end)
{
    struct diff_run *run = &t->diff->runs[side];
    struct intern threads = {0};
    struct role *roles = NULL;
    uint32_t *of_line = malloc((end - first + 1) * sizeof *of_line), *place = NULL;
    bool is_fine = of_line && find_roles(t->ops, first, end, &threads, &roles, of_line);
    if (is_fine && threads.count > 1) {
        qsort(roles, threads.count, sizeof *roles, compare_processes);
        place = malloc(threads.count * sizeof *place);
        is_fine = place != NULL;
        for (size_t i = 0; is_fine && i < threads.count; i++)
            place[roles[i].number] = (uint32_t)i;
        for (size_t i = 0; is_fine && i < end - first; i++)
            of_line[i] = place[of_line[i]];
        run->roles = of_line;
        of_line = NULL;
    }
    intern_free(&threads);
    free(place);
    free(roles);
    free(of_line);
    return is_fine;
}

/* Calls of two devices are to be merged. */
static bool has_several_devices(const struct ops *ops)
{
    uint32_t device = OPS_NONE;
    for (size_t i = 0; i < ops->call_count; i++) {
        if (ops->calls[i].device == OPS_NONE)
            continue;
        if (device != OPS_NONE && ops->calls[i].device != device)
            return true;
        device = ops->calls[i].device;
    }
    return false;
}

int diff_take_ops(struct diff *diff, int side, struct ops *ops, struct error *err)
{
    struct taking t = {.diff = diff, .ops = ops};
    size_t first = 0, end = 0, count = ops->description_count + 1;
    bool is_fine;
    if (has_several_devices(ops))
        return DIFF_SEVERAL_DEVICES;
    diff->runs[side].is_cpu =
        ops->device_count && strcmp(ops_get_text(ops, ops->devices[0].name), OPS_CPU_DEVICE) == 0;
    t.shape_of = malloc(count * sizeof *t.shape_of);
    t.location_of = malloc(count * sizeof *t.location_of);
    is_fine = t.shape_of && t.location_of;
    for (size_t i = 0; is_fine && i < count; i++)
        t.shape_of[i] = UNKNOWN;
    int status = find_window(&t, side, &first, &end, err);
    is_fine = is_fine && (status || take_roles(&t, side, first, end));
    if (!status && !(is_fine && take_lines(&t, side, first, end)))
        status = error_set_errno(err, ENOMEM, "%zu ops", end - first);
    free(t.shape_of);
    free(t.location_of);
    free(t.key_of);
    intern_free(&t.calls);
    return status;
}
