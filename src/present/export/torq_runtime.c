/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime profile of Torq (actionIndex, elapsed_time(us), timestamp(us), event, location): one row per run of an op
 * on a device, or per zone where a track has no runs, that says where in the MLIR it comes from. Of its forms it is the
 * one that has both a name and a location, and the reader of all of them (import/torq/runtime.h) reads it back.
 *
 * Rows are in order of time, numbered from 0 and again with each zone of a queue: a run, or a dispatch. Times count
 * from the start of the trace, in us with as many decimals as the ns need. The name is one of five fields between
 * commas without quotes: its commas become "+". Transfers are not rows: such a profile knows programs alone. Memory: 24
 * bytes per row. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/intern.h"
#include "base/map.h"
#include "present/export/order.h"

struct row {
    uint64_t start_ns, duration_ns;
    uint32_t name;     /* of the trace */
    uint32_t location; /* text */
};

struct profile {
    struct export_job *job;
    struct intern locations;
    struct map by_call; /* process and call: text of its location */
    bool *has_runs;     /* by track */
    bool has_place;     /* a row says more than that its location is unknown */
    struct row *rows;   /* those without a location are where the numbers begin again */
    size_t count, capacity;
    size_t beginnings; /* this many are */
    struct bytes scratch;
    bool failed;
};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), own = strlen(ending);
    return length > own && strcmp(text + length - own, ending) == 0;
}

/* As compilers print it: loc("m.mlir":3:10), or what annotated rows have, @L3C10. */
static bool is_location(const char *text)
{
    return strncmp(text, "loc(", 4) == 0 ||
           (text[0] == '@' && text[1] == 'L' && text[2] >= '0' && text[2] <= '9');
}

static uint32_t add_location(struct profile *p, const char *text, size_t length)
{
    uint32_t id = intern_add(&p->locations, text, length);
    p->failed |= id == INTERN_NONE;
    return id;
}

/* Of the place that a name has: a location itself, or a line of a file of MLIR. */
static uint32_t location_of_name(struct profile *p, uint32_t id)
{
    const struct trace_name *name = trace_get_name(p->job->trace, id);
    const char *file = name->file ? name->file : "";
    if (is_location(file))
        return add_location(p, file, strlen(file));
    if (!ends_with(file, ".mlir") && !ends_with(file, ".mlirbc") && !ends_with(file, ".mlirb"))
        return INTERN_NONE;
    bytes_clear(&p->scratch);
    bytes_append_format(&p->scratch, "loc(\"%s\":%u:1)", file, name->line);
    p->failed |= p->scratch.failed;
    return p->scratch.failed ? INTERN_NONE
                             : add_location(p, (const char *)p->scratch.data, p->scratch.length);
}

static int add_row(struct profile *p, uint32_t name, uint32_t location, uint64_t start_ns, uint64_t end_ns)
{
    if (p->failed || !array_reserve(&p->rows, &p->capacity, p->count + 1, sizeof p->rows[0]))
        return export_no_memory(p->job);
    p->beginnings += location == INTERN_NONE;
    p->has_place |=
        location != INTERN_NONE && strcmp(intern_text(&p->locations, location), "loc(unknown)") != 0;
    p->rows[p->count++] = (struct row){export_relative_ns(p->job, start_ns),
                                       end_ns > start_ns ? end_ns - start_ns : 0, name, location};
    return 0;
}

static uint64_t call_key(uint32_t process, uint64_t call)
{
    return (uint64_t)process << 44 ^ call;
}

static int visit_ops(void *context, const struct trace_rows *rows)
{
    struct profile *p = context;
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_op *op = &rows->ops[i];
        size_t count = 0;
        const struct trace_part *parts = op->description == TRACE_NONE
                                             ? NULL
                                             : trace_get_description(p->job->trace, op->description, &count);
        for (size_t k = 0; k < count; k++) {
            if (parts[k].role == TRACE_PART_LOCATION && is_location(parts[k].text.data))
                p->failed |= !map_put(&p->by_call, call_key(op->process, op->call),
                                      add_location(p, parts[k].text.data, parts[k].text.length));
        }
    }
    return p->failed ? export_no_memory(p->job) : 0;
}

static int visit_runs(void *context, const struct trace_rows *rows)
{
    struct profile *p = context;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_run *run = &rows->runs[i];
        uint64_t start_ns = export_host_ns(p->job, run->track, run->start);
        uint64_t end_ns = export_host_ns(p->job, run->track, saturating_add_u64(run->start, run->duration));
        uint32_t location = map_get(&p->by_call, call_key(run->process, run->call));
        if (location == MAP_NONE)
            location = location_of_name(p, run->name);
        if (location == INTERN_NONE || !export_wants_zone(p->job, run->track, run->name, start_ns, end_ns))
            continue;
        if (run->track < p->job->track_count)
            p->has_runs[run->track] = true;
        p->job->counts->runs++;
        result = add_row(p, run->name, location, start_ns, end_ns);
    }
    return result;
}

static int zone_end(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    struct profile *p = context;
    const struct trace_track *track = trace_get_track(p->job->trace, zone->track);
    (void)lane;
    (void)rest;
    if (zone->is_open || !track || track->kind == TRACE_TRACK_DMA ||
        (zone->track < p->job->track_count && p->has_runs[zone->track]))
        return 0;
    uint32_t location = location_of_name(p, zone->name);
    if (location == INTERN_NONE && track->kind != TRACE_TRACK_QUEUE)
        return p->failed ? export_no_memory(p->job) : 0;
    return add_row(p, zone->name, location, zone->start_ns, zone->end_ns);
}

static int by_start(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if ((a->location == INTERN_NONE) != (b->location == INTERN_NONE))
        return a->location == INTERN_NONE ? -1 : 1;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns < b->duration_ns ? -1 : 1;
    return a->name != b->name           ? (a->name > b->name ? 1 : -1)
           : a->location != b->location ? (a->location > b->location ? 1 : -1)
                                        : 0;
}

static void append_us(struct bytes *out, uint64_t ns)
{
    bytes_append_format(out, "%" PRIu64, ns / 1000);
    unsigned rest = (unsigned)(ns % 1000);
    if (rest)
        bytes_append_format(out,
                            rest % 10    ? ".%03u"
                            : rest % 100 ? ".%02u"
                                         : ".%u",
                            rest % 10    ? rest
                            : rest % 100 ? rest / 10
                                         : rest / 100);
}

static void append_text(struct bytes *out, const char *text, char comma)
{
    for (; *text; text++) {
        char sign = *text == ',' ? comma : (unsigned char)*text < ' ' ? ' ' : *text;
        bytes_append(out, &sign, 1);
    }
}

static int write_rows(struct profile *p)
{
    struct bytes *out = &p->job->out;
    uint64_t number = 0;
    int result = 0;
    if (p->count)
        qsort(p->rows, p->count, sizeof p->rows[0], by_start);
    bytes_append_text(out, "actionIndex, elapsed_time(us), timestamp(us), event, location\n");
    for (size_t i = 0; i < p->count && result == 0; i++) {
        const struct row *row = &p->rows[i];
        if (row->location == INTERN_NONE) {
            number = 0;
            continue;
        }
        bytes_append_format(out, "%" PRIu64 ",", number++);
        append_us(out, row->duration_ns);
        bytes_append_text(out, ",");
        append_us(out, row->start_ns);
        bytes_append_text(out, ",");
        append_text(out, trace_get_name(p->job->trace, row->name)->name, '+');
        bytes_append_text(out, ",");
        append_text(out, intern_text(&p->locations, row->location), ',');
        bytes_append_text(out, "\n");
        result = export_flush(p->job, false);
    }
    return result;
}

int export_write_torq_runtime(struct export_job *job)
{
    struct profile p = {.job = job};
    const struct export_visitor visitor = {.context = &p, .end = zone_end};
    p.has_runs = calloc(job->track_count + 1, sizeof p.has_runs[0]);
    int result = p.has_runs ? 0 : export_no_memory(job);
    if (result == 0)
        result = export_each_rows(job, TRACE_BLOCK_OPS, visit_ops, &p);
    if (result == 0)
        result = export_each_rows(job, TRACE_BLOCK_RUNS, visit_runs, &p);
    if (result == 0)
        result = export_order_zones(job, &visitor);
    job->counts->zones = p.count - p.beginnings - job->counts->runs;
    job->counts->open_zones = 0;
    if (result == 0 && !p.has_place)
        result = error_set(job->err, EINVAL,
                           "no zone and no run of this trace has a location of MLIR: traces that opscope run "
                           "--device-profile, annotate -o or estimate -o made of a model with locations do");
    if (result == 0)
        result = write_rows(&p);
    map_free(&p.by_call);
    intern_free(&p.locations);
    bytes_free(&p.scratch);
    free(p.has_runs);
    free(p.rows);
    return result;
}
