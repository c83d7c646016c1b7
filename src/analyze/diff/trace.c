/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a recorded trace, straight from its op and run blocks: the road through the vendor's columns would turn every
 * number into text and back (docs/decisions/014-comparing-runs.md has the figures). The rows are those of `opscope
 * report`: an op with its run, a row more for each further run (replay), in the order of their start on the host;
 * gaps from the end of a run to the start of the next one on its track.
 *
 * Assumes that descriptions repeat: each is turned into the text of a shape once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/shape.h"
#include "analyze/report/internal.h"
#include "base/hash.h"
#include "trace/reader.h"

#define STALE_NS 1e6 /* a run that seems to begin so long before its predecessor's end has a wrong time */
#define SEVERAL_DEVICES 1

struct row { /* an op of the run, before they are in order */
    struct diff_op op;
    uint64_t order_ns;
    bool has_run;
};

struct described { /* what a description says */
    uint32_t shape, location;
    bool is_known;
};

struct reading {
    struct diff *diff;
    struct trace *trace;
    struct row *rows;
    size_t row_count, row_capacity, op_count;
    uint64_t *calls; /* by row: call and process, for the runs to find it */
    size_t call_capacity;
    uint32_t *processes;
    size_t process_capacity;
    uint32_t *slots; /* row + 1 */
    size_t slot_count;
    struct described *described;
    size_t described_count;
    struct perf names; /* for the categories */
    uint32_t device;
    bool has_device, has_several_devices;
    struct bytes text;
};

/* Commas become semicolons, as in the tables that the same trace is exported to. */
static uint32_t intern_clean(struct reading *r, const char *text)
{
    bytes_clear(&r->text);
    bytes_append_text(&r->text, text);
    for (size_t i = 0; i < r->text.length; i++) {
        if (r->text.data[i] == ',')
            r->text.data[i] = ';';
    }
    return r->text.failed ? DIFF_NO_TEXT : diff_intern(r->diff, r->text.data, r->text.length);
}

static const struct described *describe(struct reading *r, uint32_t description)
{
    static const struct described nothing = {DIFF_NO_TEXT, DIFF_NO_TEXT, true};
    size_t count = 0;
    if (description == TRACE_NONE)
        return &nothing;
    const struct trace_part *parts = trace_get_description(r->trace, description, &count);
    if (!parts)
        return &nothing;
    if (description >= r->described_count) {
        size_t known = r->described_count, wanted = (size_t)description + 1;
        if (!array_reserve(&r->described, &r->described_count, wanted, sizeof *r->described))
            return NULL;
        memset(r->described + known, 0, (r->described_count - known) * sizeof *r->described);
    }
    struct described *about = &r->described[description];
    if (about->is_known)
        return about;
    *about = (struct described){DIFF_NO_TEXT, DIFF_NO_TEXT, true};
    for (size_t i = 0; i < count; i++) {
        if (parts[i].role == TRACE_PART_LOCATION && parts[i].text[0])
            about->location = intern_clean(r, parts[i].text);
    }
    bytes_clear(&r->text);
    diff_append_parts_shape(&r->text, parts, count);
    about->shape = r->text.failed ? DIFF_NO_TEXT : diff_intern(r->diff, r->text.data, r->text.length);
    return about;
}

static uint32_t category_of(struct reading *r, const char *name, unsigned kind)
{
    uint32_t id = perf_intern(&r->names, name, strlen(name));
    const char *text =
        perf_category_text(kind == DIFF_HOST_OP || id == PERF_NO_TEXT ? (unsigned)PERF_HOST
                                                                      : perf_name_of(&r->names, id).category);
    return diff_intern(r->diff, text, strlen(text));
}

static uint32_t key_of(struct reading *r, const struct trace_op *op)
{
    const struct described *about = describe(r, op->description);
    const char *name = trace_get_name(r->trace, op->name)->name;
    if (!about)
        return INTERN_NONE;
    bool is_torch = strstr(name, "(torch)") != NULL;
    struct diff_key key = {.name = intern_clean(r, *name ? name : "(no name)"),
                           .shape = about->shape,
                           .location = about->location};
    key.kind = op->type != TRACE_OP_DEVICE || is_torch ? DIFF_HOST_OP : DIFF_DEVICE_OP;
    key.group = r->diff->options.group_by == DIFF_BY_CATEGORY   ? category_of(r, name, key.kind)
                : r->diff->options.group_by == DIFF_BY_LOCATION ? key.location
                : r->diff->options.group_by == DIFF_BY_LAYER    ? DIFF_NO_TEXT
                                                                : key.name;
    if (key.shape == DIFF_NO_TEXT)
        key.shape = diff_intern(r->diff, "", 0);
    return diff_find_key(r->diff, &key);
}

static struct row *add_row(struct reading *r, uint64_t call, uint32_t process, uint64_t order_ns)
{
    if (!array_reserve(&r->rows, &r->row_capacity, r->row_count + 1, sizeof *r->rows) ||
        !array_reserve(&r->calls, &r->call_capacity, r->row_count + 1, sizeof *r->calls) ||
        !array_reserve(&r->processes, &r->process_capacity, r->row_count + 1, sizeof *r->processes))
        return NULL;
    r->calls[r->row_count] = call;
    r->processes[r->row_count] = process;
    struct row *row = &r->rows[r->row_count++];
    *row = (struct row){.op = {.time_ns = NAN, .gap_ns = NAN, .host_ns = NAN}, .order_ns = order_ns};
    return row;
}

static uint32_t *find_slot(const struct reading *r, uint64_t call, uint32_t process)
{
    size_t at = (size_t)hash_mix(call ^ UINT64_C(0x9e3779b97f4a7c15), process + UINT64_C(0xd6e8feb86659fd93));
    for (at &= r->slot_count - 1; r->slots[at]; at = (at + 1) & (r->slot_count - 1)) {
        uint32_t row = r->slots[at] - 1;
        if (r->calls[row] == call && r->processes[row] == process)
            break;
    }
    return &r->slots[at];
}

static bool read_op(struct reading *r, const struct trace_op *op)
{
    uint32_t *slot = find_slot(r, op->call, op->process);
    if (*slot)
        return true; /* a call number that comes again: damaged */
    struct row *row = add_row(r, op->call, op->process, op->start_ns);
    uint32_t key = key_of(r, op);
    if (!row || key == INTERN_NONE)
        return false;
    *slot = (uint32_t)r->row_count;
    row->op.key = key;
    if (op->end_ns)
        row->op.host_ns = op->end_ns > op->start_ns ? (double)(op->end_ns - op->start_ns) : 0;
    if (r->diff->keys[key].kind == DIFF_HOST_OP)
        row->op.time_ns = row->op.host_ns;
    if (op->device != TRACE_NONE) {
        r->has_several_devices |= r->has_device && r->device != op->device;
        r->device = op->device;
        r->has_device = true;
    }
    return true;
}

struct end_of_track {
    uint64_t end_ns;
    bool has_end;
};

static bool read_run(struct reading *r, const struct trace_run *run, struct end_of_track *ends, size_t tracks)
{
    const struct trace_track *track = trace_get_track(r->trace, run->track);
    uint32_t clock = track ? track->clock : TRACE_HOST_CLOCK;
    uint64_t start_ns = trace_host_ns(r->trace, clock, run->start);
    uint64_t end_ns = trace_host_ns(r->trace, clock, run->start + run->duration);
    double gap = NAN;
    if (run->track < tracks) {
        struct end_of_track *last = &ends[run->track];
        gap = last->has_end ? (double)(int64_t)(start_ns - last->end_ns) : 0;
        *last = (struct end_of_track){end_ns, true};
    }
    uint32_t slot = run->call && r->slots ? *find_slot(r, run->call, run->process) : 0;
    if (!slot)
        return true; /* a run whose op was not recorded */
    struct row *row = &r->rows[slot - 1];
    if (row->has_run || run->session) {
        struct diff_op op = row->op;
        row = add_row(r, 0, TRACE_NONE, start_ns);
        if (!row)
            return false;
        row->op = op;
    }
    row->has_run = true;
    row->op.gap_ns = gap;
    if (r->diff->keys[row->op.key].kind == DIFF_DEVICE_OP)
        row->op.time_ns = end_ns > start_ns ? (double)(end_ns - start_ns) : 0;
    return true;
}

static bool read_signpost(struct reading *r, const struct trace_point *point)
{
    if (point->kind != TRACE_POINT_SIGNPOST)
        return true;
    struct diff_key key = {.name = intern_clean(r, point->header),
                           .shape = diff_intern(r->diff, "", 0),
                           .location = DIFF_NO_TEXT,
                           .group = DIFF_NO_TEXT,
                           .kind = DIFF_SIGNPOST};
    uint32_t id = diff_find_key(r->diff, &key);
    struct row *row = id == INTERN_NONE ? NULL : add_row(r, 0, TRACE_NONE, point->time);
    if (row)
        row->op.key = id;
    return row != NULL;
}

static int read_blocks(struct reading *r, uint32_t type, struct error *err)
{
    struct trace_block_filter filter = {.type = type};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0, tracks = trace_track_count(r->trace);
    struct end_of_track *ends = calloc(tracks + 1, sizeof *ends);
    bool is_kept = ends != NULL;
    int status = 0;
    while (!status && is_kept && (block = trace_next_block(r->trace, &filter, &position))) {
        status = trace_decode_rows(r->trace, block, &rows, err);
        for (size_t i = 0; !status && i < rows.count && is_kept; i++) {
            is_kept = type == TRACE_BLOCK_OPS    ? read_op(r, &rows.ops[i])
                      : type == TRACE_BLOCK_RUNS ? read_run(r, &rows.runs[i], ends, tracks)
                                                 : read_signpost(r, &rows.points[i]);
        }
    }
    trace_rows_free(&rows);
    free(ends);
    return status || is_kept ? status : error_set(err, ENOMEM, "no memory for %zu ops", r->row_count);
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->order_ns != b->order_ns)
        return a->order_ns < b->order_ns ? -1 : 1;
    return (a->op.id > b->op.id) - (a->op.id < b->op.id);
}

static void sort_rows(struct reading *r)
{
    bool is_sorted = true;
    for (size_t i = 0; i < r->row_count; i++) {
        r->rows[i].op.id = (uint32_t)i;
        is_sorted = is_sorted && (i == 0 || r->rows[i - 1].order_ns <= r->rows[i].order_ns);
    }
    if (!is_sorted)
        qsort(r->rows, r->row_count, sizeof *r->rows, compare_rows);
}

static bool is_signpost(const struct reading *r, size_t i, const char *name)
{
    const struct diff_key *key = &r->diff->keys[r->rows[i].op.key];
    return key->kind == DIFF_SIGNPOST && strcmp(diff_text(r->diff, key->name), name) == 0;
}

/* Between the signposts that were asked for. */
static int find_window(const struct reading *r, int side, size_t *first, size_t *end, struct error *err)
{
    const char *start_name = r->diff->options.start_signpost, *end_name = r->diff->options.end_signpost;
    bool is_same = start_name && end_name && strcmp(start_name, end_name) == 0;
    *first = 0;
    *end = r->row_count;
    for (size_t i = 0; start_name && i < r->row_count && !*first; i++)
        *first = is_signpost(r, i, start_name) ? i + 1 : 0;
    if (start_name && !*first)
        return diff_no_signpost(r->diff, side, start_name, err);
    for (size_t i = is_same ? *first : 0; end_name && i < *end; i++)
        *end = is_signpost(r, i, end_name) ? i : *end;
    if (end_name && *end == r->row_count)
        return diff_no_signpost(r->diff, side, end_name, err);
    if (*end < *first)
        *end = *first;
    return 0;
}

/* The rules of the report (perf_model.c): no gap before the first op, none that a wrong time makes. */
static int keep_rows(struct reading *r, int side, struct error *err)
{
    size_t first, end;
    bool had_op = false, was_invalid = false;
    int status = find_window(r, side, &first, &end, err);
    if (status)
        return status;
    for (size_t i = first; i < end; i++) {
        struct diff_op *op = diff_add_op(r->diff, side), *from = &r->rows[i].op;
        unsigned kind = r->diff->keys[from->key].kind;
        if (!op)
            return error_set(err, ENOMEM, "no memory for %zu ops", r->row_count);
        bool is_invalid = kind == DIFF_DEVICE_OP &&
                          (isnan(from->time_ns) ||
                           (from->gap_ns < -STALE_NS && -from->gap_ns > fmax(from->time_ns / 2, STALE_NS)));
        *op = *from;
        op->id = (uint32_t)(i - first) + 1;
        if (is_invalid)
            op->time_ns = NAN;
        if (!had_op || kind == DIFF_SIGNPOST || (fabs(op->gap_ns) > STALE_NS && (is_invalid || was_invalid)))
            op->gap_ns = NAN;
        if (kind != DIFF_SIGNPOST) {
            had_op = true;
            was_invalid = is_invalid;
        }
    }
    return 0;
}

int diff_take_trace_ops(struct diff *diff, int side, struct trace *trace, struct error *err)
{
    struct reading r = {.diff = diff, .trace = trace};
    const struct trace_info *info = trace_get_info(trace);
    int status = perf_begin(&r.names, &(struct perf_options){0}, err);
    for (r.slot_count = 64; r.slot_count / 2 < info->ops && r.slot_count < SIZE_MAX / 16;)
        r.slot_count *= 2;
    r.slots = info->ops < UINT32_MAX / 2 ? calloc(r.slot_count, sizeof *r.slots) : NULL;
    if (!status && !r.slots)
        status = error_set(err, ENOMEM, "no memory for %llu ops", (unsigned long long)info->ops);
    if (!status)
        status = read_blocks(&r, TRACE_BLOCK_OPS, err);
    if (!status && !r.has_several_devices)
        status = read_blocks(&r, TRACE_BLOCK_RUNS, err);
    if (!status && !r.has_several_devices && r.row_count)
        status = read_blocks(&r, TRACE_BLOCK_POINTS, err);
    if (!status && r.has_several_devices) {
        status = SEVERAL_DEVICES;
    } else if (!status) {
        sort_rows(&r);
        status = keep_rows(&r, side, err);
    }
    free(r.rows);
    free(r.calls);
    free(r.processes);
    free(r.slots);
    free(r.described);
    bytes_free(&r.text);
    perf_free(&r.names);
    return status;
}
