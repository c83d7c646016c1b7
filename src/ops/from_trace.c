/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/from_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "ops/cpu_runs.h"
#include "ops/description.h"
#include "ops/known_figures.h"
#include "ops/places.h"
#include "trace/ids.h"

_Static_assert((unsigned)OP_FIGURE_TICKS == TRACE_FIGURE_TICKS && (unsigned)OP_FIGURE_NS == TRACE_FIGURE_NS &&
                   (unsigned)OP_FIGURE_COUNT == TRACE_FIGURE_COUNT &&
                   (unsigned)OP_FIGURE_BYTES == TRACE_FIGURE_BYTES &&
                   (unsigned)OP_FIGURE_REAL == TRACE_FIGURE_REAL &&
                   (unsigned)OP_FIGURE_PERCENT == TRACE_FIGURE_PERCENT &&
                   (unsigned)OP_FIGURE_TEXT == TRACE_FIGURE_TEXT &&
                   (unsigned)OP_FIGURE_KINDS == TRACE_FIGURE_KINDS,
               "figures have the same kinds in a trace");
_Static_assert((unsigned)OP_TYPE_DEVICE == TRACE_OP_DEVICE && (unsigned)OP_TYPE_HOST == TRACE_OP_HOST &&
                   (unsigned)OP_TYPE_FALLBACK == TRACE_OP_FALLBACK && (unsigned)OP_TYPE_CPU == TRACE_OP_CPU,
               "ops have the same types in a trace");
_Static_assert((unsigned)OP_RUN_ESTIMATED == TRACE_RUN_ESTIMATED, "runs have the same flags in a trace");

#define UNKNOWN (UINT32_MAX - 1) /* an id of the model that was not asked for yet */

struct reading {
    struct ops *ops;
    struct trace *trace;
    const struct ops_wanted *wanted;
    struct trace_ids names, descriptions, devices; /* to those of the model; devices: by track */
    struct trace_ids figures;                      /* by name: their role */
    uint32_t last_call;                            /* of the run before */
    const struct trace_track *import;              /* what an importer said; NULL */
    struct run_order *order;                       /* by run, where an importer kept it */
    size_t order_capacity, order_count;
    bool is_version_1; /* and an import of other things than tables */
    struct cpu_runs cpu;
    uint32_t cpu_device;    /* OPS_NONE: not asked for yet */
    struct ops_links links; /* where places are wanted */
    uint32_t forward_name;  /* of the figure; TRACE_NONE: not seen yet */
    bool has_runs;          /* a device ran something: what the CPU computed is the host's work then */
};
#define ROLE_FAULTS (UINT32_MAX - 2)
#define ROLE_ORDER (UINT32_MAX - 3)

struct run_order {
    uint64_t place;
    uint32_t run;
};

/* NULL for an id that the trace does not have. The table is made when it is first used. */
static uint32_t *id_at(struct reading *r, struct trace_ids *ids, enum trace_id_kind kind, uint32_t id)
{
    r->ops->failed |= !trace_ids_make(ids, r->trace, kind, UNKNOWN);
    return trace_ids_at(ids, id);
}

static uint32_t name_of(struct reading *r, uint32_t name)
{
    uint32_t *id = id_at(r, &r->names, TRACE_ID_NAME, name);
    if (id && *id == UNKNOWN)
        *id = ops_text(r->ops, slice_of(trace_get_name(r->trace, name)->name));
    return id ? *id : OPS_NONE;
}

static uint32_t description_of(struct reading *r, uint32_t description)
{
    uint32_t *id = id_at(r, &r->descriptions, TRACE_ID_DESCRIPTION, description);
    if (id && *id == UNKNOWN) {
        size_t count = 0;
        const struct trace_part *parts = trace_get_description(r->trace, description, &count);
        *id = parts ? ops_parse_parts(r->ops, parts, count) : OPS_NONE;
    }
    return id ? *id : OPS_NONE;
}

/* --- figures --- */

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

/* A figure as it is meant: version 1 kept less of it (OPS_TABLE_TRACK_ENDING). */
struct figure {
    struct slice name;
    struct trace_run_part part;
    const char *text; /* of its kind */
};

static struct figure figure_of(const struct reading *r, const struct trace_run_part *part)
{
    const char *name = trace_get_name(r->trace, part->name)->name, *equals;
    struct figure figure = {.name = slice_of(name), .part = *part, .text = ""};
    if (r->is_version_1 && (equals = strchr(name, '='))) {
        figure.name = slice_from(name, (size_t)(equals - name));
        figure.part.kind = TRACE_FIGURE_TEXT;
        figure.text = equals + 1;
    } else if (r->is_version_1 && ends_with(name, "(%)")) {
        figure.part.kind = TRACE_FIGURE_PERCENT;
    } else if (part->kind == TRACE_FIGURE_TEXT) {
        figure.text = trace_get_name(r->trace, (uint32_t)part->whole)->name;
    }
    return figure;
}

/* What is done with the figures of this name; found once for each. */
static uint32_t role_of(struct reading *r, const struct trace_run_part *part)
{
    uint32_t *role = id_at(r, &r->figures, TRACE_ID_NAME, part->name);
    char text[256];
    if (!role || *role != UNKNOWN)
        return role ? *role : (uint32_t)OPS_ROLE_SKIP;
    struct slice name = figure_of(r, part).name;
    snprintf(text, sizeof text, "%.*s", (int)(name.length < sizeof text ? name.length : sizeof text - 1),
             name.data);
    if (r->import && strcmp(text, OPS_FIGURE_FAULTS) == 0)
        *role = ROLE_FAULTS;
    else if (r->import && strcmp(text, OPS_FIGURE_ORDER) == 0)
        *role = ROLE_ORDER;
    else if (r->wanted->figure_role)
        *role = r->wanted->figure_role(r->wanted->context, text);
    else
        *role = r->wanted->figures ? OPS_ROLE_KEEP : OPS_ROLE_SKIP;
    return *role;
}

/* Runs whose place was not written stand before the others. */
static void set_order(struct reading *r, uint64_t place)
{
    size_t run = r->ops->run_count - 1;
    if (!array_reserve(&r->order, &r->order_capacity, run + 1, sizeof r->order[0])) {
        r->ops->failed = true;
        return;
    }
    for (size_t i = r->order_count; i < run; i++)
        r->order[i] = (struct run_order){0, (uint32_t)i};
    r->order[run] = (struct run_order){place, (uint32_t)run};
    r->order_count = run + 1;
}

static struct op_figure kept_figure(struct reading *r, const struct trace_run_part *part)
{
    struct op_figure kept = {.name = OPS_NONE, .kind = part->kind, .whole = part->whole};
    if (r->is_version_1) {
        struct figure figure = figure_of(r, part);
        kept.name = ops_text(r->ops, figure.name);
        kept.kind = figure.part.kind;
        if (kept.kind == TRACE_FIGURE_TEXT)
            kept.whole = ops_text(r->ops, slice_of(figure.text));
        return kept;
    }
    kept.name = name_of(r, part->name);
    if (part->kind == TRACE_FIGURE_TEXT)
        kept.whole = name_of(r, (uint32_t)part->whole);
    return kept;
}

/* Figures of the call or the run that was added last. */
static void read_figures(struct reading *r, const struct trace_run_part *parts, uint32_t count, bool is_run)
{
    struct ops *ops = r->ops;
    for (uint32_t i = 0; i < count && !ops->failed; i++) {
        const struct trace_run_part *part = &parts[i];
        uint32_t role = role_of(r, part);
        if (role == OPS_ROLE_KEEP) {
            struct op_figure figure = kept_figure(r, part);
            if (is_run)
                ops_add_figure(ops, figure);
            else
                ops_add_call_figure(ops, figure);
        } else if (role == ROLE_FAULTS) {
            *(is_run ? &ops->runs[ops->run_count - 1].faults : &ops->calls[ops->call_count - 1].faults) |=
                (uint16_t)part->whole;
        } else if (role == ROLE_ORDER) {
            if (is_run)
                set_order(r, part->whole);
        } else if (role != OPS_ROLE_SKIP) {
            struct figure figure = figure_of(r, part);
            r->wanted->take_figure(r->wanted->context, role, &figure.part, figure.text);
        }
    }
}

static int compare_orders(const void *left, const void *right)
{
    const struct run_order *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->run > b->run) - (a->run < b->run);
}

/* Blocks are kept apart by clock: runs of several devices come back one device after the other. */
static void restore_order(struct reading *r, size_t first)
{
    struct ops *ops = r->ops;
    size_t count = ops->run_count - first;
    if (!r->order_count || ops->failed)
        return;
    struct op_run *sorted = malloc((count + 1) * sizeof sorted[0]);
    struct op_ticks *ticks = malloc((count + 1) * sizeof ticks[0]);
    bool has_ticks = ops->tick_count > first;
    if (!sorted || !ticks ||
        (has_ticks &&
         !array_reserve(&ops->ticks, &ops->tick_capacity, ops->run_count, sizeof ops->ticks[0])) ||
        !array_reserve(&r->order, &r->order_capacity, ops->run_count, sizeof r->order[0])) {
        free(sorted);
        free(ticks);
        ops->failed = true;
        return;
    }
    for (size_t i = r->order_count; i < ops->run_count; i++)
        r->order[i] = (struct run_order){0, (uint32_t)i};
    qsort(r->order + first, count, sizeof r->order[0], compare_orders);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = ops->runs[r->order[first + i].run];
        ticks[i] = ops_ticks(ops, &ops->runs[r->order[first + i].run]);
    }
    if (count)
        memcpy(ops->runs + first, sorted, count * sizeof sorted[0]);
    if (count && has_ticks) {
        memcpy(ops->ticks + first, ticks, count * sizeof ticks[0]);
        ops->tick_count = ops->run_count;
    }
    free(sorted);
    free(ticks);
}

/* The device on whose track, or below it, something ran. */
static uint32_t device_of(struct reading *r, uint32_t track)
{
    const struct trace_track *at = trace_get_track(r->trace, track), *device = NULL;
    uint32_t *id = id_at(r, &r->devices, TRACE_ID_TRACK, track);
    if (!id || *id != UNKNOWN)
        return id ? *id : OPS_NONE;
    *id = OPS_NONE;
    for (unsigned steps = 0; at && steps < 64; steps++) { /* a damaged trace may have parents in a circle */
        if (at->kind == TRACE_TRACK_DEVICE)
            device = at;
        at = at->parent == TRACE_NONE ? NULL : trace_get_track(r->trace, at->parent);
    }
    if (!device || device->number > UINT32_MAX - 1)
        return OPS_NONE;
    *id = ops_device(r->ops, (uint32_t)device->number + r->wanted->first_device);
    if (*id == OPS_NONE)
        return OPS_NONE;
    struct op_device *known = &r->ops->devices[*id];
    const struct trace_clock *clock = trace_get_clock(r->trace, device->clock);
    if (known->name == OPS_NONE)
        known->name = ops_text(r->ops, slice_of(device->name));
    if (known->architecture == OPS_NONE && device->architecture && device->architecture[0])
        known->architecture = ops_text(r->ops, slice_of(device->architecture));
    if (clock && clock->is_device && known->ticks_per_second == 0)
        known->ticks_per_second = clock->ticks_per_second;
    return *id;
}

/* --- calls --- */

static uint32_t cpu_device(struct reading *r)
{
    char architecture[64];
    if (r->cpu_device != OPS_NONE)
        return r->cpu_device;
    r->cpu_device = ops_device(r->ops, r->wanted->first_device);
    if (r->cpu_device != OPS_NONE) {
        struct op_device *device = &r->ops->devices[r->cpu_device];
        snprintf(architecture, sizeof architecture, OPS_CPU_ARCHITECTURE, trace_get_info(r->trace)->host);
        device->name = ops_text(r->ops, slice_of(OPS_CPU_DEVICE));
        device->architecture = ops_text(r->ops, slice_of(architecture));
    }
    return r->cpu_device;
}

/* What the CPU computed is a run of its own, where there is no device. */
static void derive_run(struct reading *r, const struct trace_op *op, uint32_t call)
{
    if (op->type != TRACE_OP_CPU || r->has_runs || r->wanted->without_runs || op->track == TRACE_NONE ||
        !op->end_ns || r->ops->failed || cpu_device(r) == OPS_NONE)
        return;
    if (call != OPS_NONE) {
        r->ops->calls[call].type = OP_TYPE_DEVICE;
        r->ops->calls[call].device = r->cpu_device;
    }
    cpu_runs_add(&r->cpu, r->ops, op->track, op->start_ns, op->end_ns, call, r->cpu_device);
}

static uint8_t type_of(const struct trace_op *op)
{
    return op->type <= TRACE_OP_FALLBACK ? (uint8_t)op->type : OP_TYPE_HOST;
}

static void add_call(struct reading *r, const struct trace_op *op, uint32_t process)
{
    const struct ops_wanted *wanted = r->wanted;
    uint32_t device =
        op->device == TRACE_NONE ? OPS_NONE : ops_device(r->ops, op->device + wanted->first_device);
    ops_add_call(r->ops, &(struct op_call){
                             .number = op->call,
                             .start_ns = op->start_ns,
                             .end_ns = op->end_ns > op->start_ns || !op->end_ns ? op->end_ns : op->start_ns,
                             .process = process,
                             .track = op->track == TRACE_NONE ? OPS_NONE : op->track + wanted->first_track,
                             .name = name_of(r, op->name),
                             .description = description_of(r, op->description),
                             .device = device,
                             .faults = op->end_ns ? 0 : OP_FAULT_OPEN,
                             .type = type_of(op)});
}

static bool is_forward(struct reading *r, const struct trace_run_part *part)
{
    if (r->forward_name == TRACE_NONE &&
        strcmp(trace_get_name(r->trace, part->name)->name, TRACE_FIGURE_FORWARD) == 0)
        r->forward_name = part->name;
    return part->name == r->forward_name && part->name != TRACE_NONE;
}

/* Of the call that was added last. */
static void keep_link(struct reading *r, const struct trace_op *op)
{
    struct ops_links *links = &r->links;
    for (uint32_t i = 0; i < op->part_count && !r->ops->failed; i++) {
        if (!is_forward(r, &op->parts[i]))
            continue;
        if (array_reserve(&links->items, &links->capacity, links->count + 1, sizeof *links->items))
            links->items[links->count++] =
                (struct ops_link){(uint32_t)r->ops->call_count - 1, op->parts[i].whole};
        else
            r->ops->failed = true;
        return;
    }
}

static void read_op(struct reading *r, const struct trace_op *op)
{
    struct ops *ops = r->ops;
    const struct ops_wanted *wanted = r->wanted;
    uint32_t process =
        op->process == TRACE_NONE || wanted->without_runs ? OPS_NONE : op->process + wanted->first_process;
    if (wanted->wants_call && !wanted->wants_call(wanted->context, op)) {
        derive_run(r, op, OPS_NONE);
        return;
    }
    if (ops_find_call(ops, process, op->call) != OPS_NONE) {
        ops_add_notice(ops, OP_NOTICE_KIND_REPEATED, OP_NOTICE_DAMAGED, 0,
                       "call %" PRIu64 " comes again: the second is left out", op->call);
        return;
    }
    add_call(r, op, process);
    if (op->part_count && !ops->failed)
        read_figures(r, op->parts, op->part_count, false);
    if (wanted->places)
        keep_link(r, op);
    if (wanted->call_read && !ops->failed)
        wanted->call_read(wanted->context, ops);
    derive_run(r, op, ops->failed ? OPS_NONE : (uint32_t)ops->call_count - 1);
}

/* Devices mostly run ops in the order in which they were called: the call after the last one is tried first. */
static uint32_t call_of(struct reading *r, const struct trace_run *run)
{
    const struct ops *ops = r->ops;
    uint32_t next = r->last_call + 1, process = run->process + r->wanted->first_process;
    if (run->call == 0)
        return OPS_NONE;
    if (next >= ops->call_count || ops->calls[next].number != run->call ||
        ops->calls[next].process != process)
        next = ops_find_call(ops, process, run->call);
    r->last_call = next;
    return next;
}

static void read_run(struct reading *r, const struct trace_run *run)
{
    const struct trace_track *track = trace_get_track(r->trace, run->track);
    uint32_t device = device_of(r, run->track);
    uint32_t call = call_of(r, run);
    uint64_t start_ns = trace_track_host_ns(r->trace, run->track, run->start);
    uint64_t end_ns = trace_track_host_ns(r->trace, run->track, run->start + run->duration);
    ops_add_run(r->ops, &(struct op_run){.start_ns = start_ns,
                                         .duration_ns = end_ns > start_ns ? end_ns - start_ns : 0,
                                         .gap_ns = OPS_NO_GAP,
                                         .call = call,
                                         .track = track ? run->track + r->wanted->first_track : OPS_NONE,
                                         .session = run->session,
                                         .cores = run->cores,
                                         .device = device == OPS_NONE ? OPS_NO_DEVICE : (uint16_t)device,
                                         .flags = (uint16_t)(run->flags & TRACE_RUN_ESTIMATED),
                                         .name = name_of(r, run->name)});
    if (!r->wanted->without_ticks && !r->ops->failed)
        ops_set_ticks(r->ops, run->start, run->start + run->duration);
    if (run->part_count && !r->ops->failed)
        read_figures(r, run->parts, run->part_count, true);
    if (r->wanted->run_read && !r->ops->failed)
        r->wanted->run_read(r->wanted->context, r->ops);
}

/* What an importer said: each notice was written once, with its count in the text. */
static void read_remark(struct reading *r, const struct trace_point *point)
{
    struct ops *ops = r->ops;
    if (strcmp(point->header, OPS_REMARK_NOTICE) == 0)
        ops_add_notice(ops, UINT32_MAX - (uint32_t)ops->notice_count, OP_NOTICE_UNMATCHED, 0, "%s",
                       point->text);
    else
        ops_add_fact(ops, slice_of(point->header), slice_from(point->text, point->text_length));
}

static void read_point(struct reading *r, const struct trace_point *point)
{
    if (r->wanted->remarks && r->import && point->track == r->import->id &&
        point->kind == TRACE_POINT_MESSAGE)
        read_remark(r, point);
    if (!r->wanted->signposts || point->kind != TRACE_POINT_SIGNPOST ||
        (r->wanted->wants_point && !r->wanted->wants_point(r->wanted->context, point)))
        return;
    ops_add_signpost(r->ops, point->time, slice_of(point->header),
                     slice_from(point->text, point->text_length));
    if (!r->ops->failed)
        r->ops->signposts[r->ops->signpost_count - 1].track =
            point->track == TRACE_NONE ? OPS_NONE : point->track + r->wanted->first_track;
}

static int read_block(struct reading *r, const struct trace_block *block, struct trace_rows *rows,
                      struct error *err)
{
    int result = trace_decode_rows(r->trace, block, rows, err);
    for (size_t i = 0; result == 0 && i < rows->count && !r->ops->failed; i++) {
        if (block->type == TRACE_BLOCK_OPS)
            read_op(r, &rows->ops[i]);
        else if (block->type == TRACE_BLOCK_RUNS)
            read_run(r, &rows->runs[i]);
        else
            read_point(r, &rows->points[i]);
    }
    return result;
}

static int read_blocks(struct reading *r, uint32_t type, struct error *err)
{
    struct trace_block_filter filter = {.type = type};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && !r->ops->failed && (block = trace_next_block(r->trace, &filter, &position)))
        result = read_block(r, block, &rows, err);
    trace_rows_free(&rows);
    return result;
}

const struct trace_track *ops_import_track(const struct trace *trace)
{
    static const char ending[] = OPS_IMPORT_TRACK_ENDING;
    for (size_t i = 0; i < trace_track_count(trace); i++) {
        const struct trace_track *track = trace_get_track(trace, (uint32_t)i);
        size_t length = track && track->kind == TRACE_TRACK_OTHER ? strlen(track->name) : 0;
        if (length >= sizeof ending && strcmp(track->name + length - (sizeof ending - 1), ending) == 0)
            return track;
    }
    return NULL;
}

static struct reading begin(struct ops *ops, struct trace *trace, const struct ops_wanted *wanted)
{
    static const struct ops_wanted everything = {0};
    struct reading r = {.ops = ops,
                        .trace = trace,
                        .wanted = wanted ? wanted : &everything,
                        .last_call = OPS_NONE,
                        .cpu_device = OPS_NONE,
                        .forward_name = TRACE_NONE,
                        .cpu = {.track_count = trace_track_count(trace)},
                        .import = ops_import_track(trace)};
    r.is_version_1 = r.import && trace_get_info(trace)->format_version == 1 &&
                     !ends_with(r.import->name, OPS_TABLE_TRACK_ENDING);
    if (r.import && r.wanted->remarks)
        ops_add_fact(ops, slice_of(OPS_FACT_IMPORT), slice_of(r.import->name));
    ops->is_recorded = !r.import;
    size_t position = 0;
    r.has_runs = trace_next_block(trace, &(struct trace_block_filter){.type = TRACE_BLOCK_RUNS}, &position);
    return r;
}

static void forget_ids(struct reading *r)
{
    struct trace_ids *const all[] = {&r->names, &r->descriptions, &r->devices, &r->figures};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        trace_ids_free(all[i]);
}

static void end(struct reading *r)
{
    forget_ids(r);
    free(r->order);
    free(r->links.items);
    cpu_runs_free(&r->cpu);
}

static int read_points(struct reading *r, struct error *err)
{
    return r->wanted->signposts || (r->wanted->remarks && r->import) ? read_blocks(r, TRACE_BLOCK_POINTS, err)
                                                                     : 0;
}

int ops_from_trace(struct ops *ops, struct trace *trace, const struct ops_wanted *wanted, struct error *err)
{
    size_t first_run = ops->run_count;
    struct reading r = begin(ops, trace, wanted);
    int result = read_blocks(&r, TRACE_BLOCK_OPS, err);
    if (result == 0)
        cpu_runs_find_gaps(&r.cpu, ops);
    if (result == 0 && !r.wanted->without_runs)
        result = read_blocks(&r, TRACE_BLOCK_RUNS, err);
    ops_forget_indexes(ops); /* what follows takes the most memory */
    if (result == 0)
        restore_order(&r, first_run);
    if (result == 0)
        result = read_points(&r, err);
    forget_ids(&r);
    if (result == 0 && r.wanted->places && !r.import && !r.wanted->first_track)
        result = ops_find_places(ops, trace, &r.links, err);
    end(&r);
    return result ? result : ops_check(ops, err);
}

/* --- piece by piece --- */

struct ops_pieces {
    struct reading reading;
    struct ops_wanted wanted;
    struct trace_rows rows;
    size_t position;
};

int ops_pieces_open(struct ops_pieces **pieces, struct ops *ops, struct trace *trace,
                    const struct ops_wanted *wanted, struct error *err)
{
    struct ops_pieces *p = calloc(1, sizeof *p);
    *pieces = NULL;
    if (!p)
        return error_set_errno(err, ENOMEM, "a trace");
    p->wanted = *wanted;
    p->reading = begin(ops, trace, &p->wanted);
    int result = read_points(&p->reading, err);
    if (result == 0)
        result = ops_check(ops, err);
    if (result == 0)
        *pieces = p;
    else
        ops_pieces_close(p);
    return result;
}

int ops_pieces_next(struct ops_pieces *p, struct error *err)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_OPS};
    const struct trace_block *block = trace_next_block(p->reading.trace, &filter, &p->position);
    ops_clear_calls(p->reading.ops);
    if (!block)
        return 0;
    int result = read_block(&p->reading, block, &p->rows, err);
    if (result == 0)
        result = ops_check(p->reading.ops, err);
    return result == 0 ? 1 : result;
}

void ops_pieces_close(struct ops_pieces *p)
{
    if (!p)
        return;
    trace_rows_free(&p->rows);
    end(&p->reading);
    free(p);
}
