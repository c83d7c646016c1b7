/* SPDX-License-Identifier: Apache-2.0 */
/* CSV (RFC 4180): a header, then a row for each zone, message, counter value, memory event, op, run or loss.
 *
 * Rows stand in the order of the file: by block, in it by track and depth, then by time. Sorting is what the
 * reader of a CSV does anyway. Times are ns since the start of the trace. What is not known is empty: the
 * pid of an unknown process. A zone that never ended has the time until its thread was last seen, and 1 in the
 * column "open". */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "present/export/order.h"
#include "text/csv/writer.h"
#include "text/json/writer.h"

struct csv {
    struct export_job *job;
    struct bytes *out;
    bool is_row_begun;
    struct bytes scratch;
    struct zone_rows rows;
    /* Of zones, most of a row depends on the name and on the track only: those parts are made once. */
    struct bytes *name_parts,
        *track_parts; /* by name id, by track id; one more each for what is not defined */
    size_t name_count;
    /* With a window only. */
    const struct trace_filter *wanted;
    uint64_t zone_counts[2]; /* that ended, that did not */
};

/* --- fields --- */

static void separate(struct csv *csv)
{
    if (csv->is_row_begun)
        bytes_append(csv->out, ",", 1);
    csv->is_row_begun = true;
}

static void put_text_length(struct csv *csv, const char *text, size_t length)
{
    separate(csv);
    csv_append_text(csv->out, text, length);
}

static void put_text(struct csv *csv, const char *text)
{
    if (text)
        put_text_length(csv, text, strlen(text));
    else
        separate(csv);
}

static void put_unsigned(struct csv *csv, uint64_t value)
{
    separate(csv);
    export_append_unsigned(csv->out, value);
}

static void put_nothing(struct csv *csv)
{
    separate(csv);
}

static void put_time(struct csv *csv, uint64_t host_ns)
{
    put_unsigned(csv, export_relative_ns(csv->job, host_ns));
}

static int end_row(struct csv *csv)
{
    bytes_append(csv->out, "\n", 1);
    csv->is_row_begun = false;
    return export_flush(csv->job, false);
}

static void put_process(struct csv *csv, uint32_t id)
{
    const struct trace_process *process = trace_get_process(csv->job->trace, id);
    if (!process) {
        put_nothing(csv);
        put_nothing(csv);
        return;
    }
    put_text(csv, export_process_label(csv->job, id));
    separate(csv);
    bytes_append_format(csv->out, "%" PRId64, process->pid);
}

/* process, pid, thread, tid */
static void put_track(struct csv *csv, uint32_t id)
{
    const struct trace_track *track = trace_get_track(csv->job->trace, id);
    put_process(csv, track ? track->process : TRACE_NONE);
    if (track) {
        put_text(csv, export_track_label(csv->job, id));
        put_unsigned(csv, track->number);
    } else {
        put_nothing(csv);
        put_nothing(csv);
    }
}

/* --- zones --- */

static void put_name(struct csv *csv, uint32_t name_id)
{
    const struct trace_name *name = trace_get_name(csv->job->trace, name_id);
    put_text(csv, name->name);
    put_text(csv, name->file);
    if (name->line)
        put_unsigned(csv, name->line);
    else
        put_nothing(csv);
    put_text(csv, name->function);
}

/* Fields that were made before, or are made now; `make` writes them to csv->out. */
static void put_part(struct csv *csv, struct bytes *part, void (*make)(struct csv *csv, uint32_t id),
                     uint32_t id)
{
    if (part->length) {
        separate(csv);
        bytes_append(csv->out, part->data, part->length);
        return;
    }
    size_t begin = csv->out->length + (csv->is_row_begun ? 1 : 0); /* after the comma */
    make(csv, id);
    if (!csv->out->failed)
        bytes_append(part, csv->out->data + begin, csv->out->length - begin);
}

static void put_zone_head(struct csv *csv, uint32_t name, uint32_t track)
{
    size_t track_count = csv->job->track_count;
    put_part(csv, &csv->name_parts[name < csv->name_count ? name : csv->name_count], put_name, name);
    put_part(csv, &csv->track_parts[track < track_count ? track : track_count], put_track, track);
}

/* Several texts are the lines of one cell; of several values the last. */
static void put_extras(struct csv *csv, const struct trace_extra *extras, size_t count)
{
    const struct trace_extra *text = NULL, *value = NULL;
    struct bytes lines = {0};
    for (size_t i = 0; i < count; i++) {
        if (extras[i].kind == TRACE_EXTRA_VALUE)
            value = &extras[i];
        if (extras[i].kind != TRACE_EXTRA_TEXT)
            continue;
        if (text && lines.length == 0)
            bytes_append(&lines, text->text, text->text_length);
        if (text) {
            bytes_append_u8(&lines, '\n');
            bytes_append(&lines, extras[i].text, extras[i].text_length);
        }
        text = &extras[i];
    }
    csv->out->failed |= lines.failed;
    if (lines.length)
        put_text_length(csv, (const char *)lines.data, lines.length);
    else if (text)
        put_text_length(csv, text->text, text->text_length);
    else
        put_nothing(csv);
    if (value)
        put_unsigned(csv, value->value);
    else
        put_nothing(csv);
    bytes_free(&lines);
}

static size_t extras_of(const struct zone_rows *rows, uint32_t row, size_t *position)
{
    size_t count = 0;
    if (*position > 0 && rows->extras[*position - 1].row >= row)
        *position = 0; /* groups need not come in order of row */
    while (*position < rows->extra_count && rows->extras[*position].row < row)
        ++*position;
    while (*position + count < rows->extra_count && rows->extras[*position + count].row == row)
        count++;
    return count;
}

/* Then put_cut_zones writes it. */
static bool is_cut(const struct csv *csv, uint64_t start_ns, uint64_t end_ns)
{
    const struct trace_filter *filter = csv->job->filter;
    return filter->has_window && (start_ns < filter->since_ns || end_ns > filter->until_ns);
}

static int put_zone_group(struct csv *csv, const struct zone_rows_group *group, size_t *position)
{
    const struct zone_rows *rows = &csv->rows;
    int result = 0;
    for (uint32_t row = group->first; row < group->first + group->count && result == 0; row++) {
        uint64_t end = saturating_add_u64(rows->start[row], rows->duration[row]);
        if (!export_wants_zone(csv->job, group->track, rows->name[row], rows->start[row], end) ||
            is_cut(csv, rows->start[row], end))
            continue;
        size_t extra_count = extras_of(rows, row, position);
        put_zone_head(csv, rows->name[row], group->track);
        put_time(csv, rows->start[row]);
        put_unsigned(csv, rows->duration[row]);
        put_unsigned(csv,
                     rows->duration[row] > rows->child[row] ? rows->duration[row] - rows->child[row] : 0);
        put_unsigned(csv, group->depth);
        put_extras(csv, extra_count ? rows->extras + *position : NULL, extra_count);
        put_nothing(csv);
        csv->job->counts->zones++;
        result = end_row(csv);
    }
    return result;
}

static int put_open_zones(struct csv *csv)
{
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(csv->job->trace, &count);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!export_wants_zone(csv->job, open[i].track, open[i].name, open[i].start, open[i].seen) ||
            is_cut(csv, open[i].start, open[i].seen))
            continue;
        put_zone_head(csv, open[i].name, open[i].track);
        uint64_t duration = open[i].seen - open[i].start;
        put_time(csv, open[i].start);
        put_unsigned(csv, duration);
        put_unsigned(csv, duration > open[i].child ? duration - open[i].child : 0);
        put_unsigned(csv, open[i].depth);
        put_extras(csv, NULL, 0);
        put_unsigned(csv, 1);
        csv->job->counts->open_zones++;
        result = end_row(csv);
    }
    return result;
}

static int put_cut_zone(void *context, const struct export_zone *zone, uint32_t lane,
                        const struct export_zone_rest *rest)
{
    struct csv *csv = context;
    uint64_t duration = zone->end_ns - zone->start_ns;
    (void)lane;
    if (!zone->is_cut || !trace_filter_wants_name(csv->wanted, zone->name))
        return 0;
    put_zone_head(csv, zone->name, zone->track);
    put_time(csv, zone->start_ns);
    put_unsigned(csv, duration);
    put_unsigned(csv, duration > rest->child_ns ? duration - rest->child_ns : 0);
    put_unsigned(csv, zone->depth);
    put_extras(csv, rest->extras, rest->extra_count);
    if (zone->is_open)
        put_unsigned(csv, 1);
    else
        put_nothing(csv);
    csv->zone_counts[zone->is_open]++;
    return end_row(csv);
}

/* Zones that reach out of the window are cut at its borders, and so are those inside them: their self time is known
 * only after all of these, whatever their names. */
static int put_cut_zones(struct csv *csv)
{
    struct export_job *job = csv->job;
    struct trace_filter every_name = *job->filter;
    struct export_counts before = *job->counts;
    struct export_visitor visitor = {.context = csv, .end = put_cut_zone, .extras = EXPORT_EXTRAS_AT_END};
    every_name.name_count = 0;
    every_name.wants_all_names = true;
    csv->wanted = job->filter;
    job->filter = &every_name;
    int result = export_order_zones(job, &visitor);
    job->filter = csv->wanted;
    *job->counts = before;
    job->counts->zones += csv->zone_counts[false];
    job->counts->open_zones += csv->zone_counts[true];
    return result;
}

static int put_zones(struct csv *csv)
{
    struct export_job *job = csv->job;
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    csv->name_count = trace_name_count(job->trace);
    csv->name_parts = calloc(csv->name_count + 1, sizeof *csv->name_parts);
    csv->track_parts = calloc(job->track_count + 1, sizeof *csv->track_parts);
    if (!csv->name_parts || !csv->track_parts)
        return export_no_memory(job);
    if (job->filter->has_window) {
        filter.since_ns = job->filter->since_ns;
        filter.until_ns = job->filter->until_ns;
        job->progress_total *= 1 + EXPORT_ORDER_PASSES;
    }
    while (result == 0 && (block = trace_next_block(job->trace, &filter, &position))) {
        size_t extra = 0;
        result = trace_decode_zones(job->trace, block, TRACE_COLUMN_ALL, &csv->rows, job->err);
        for (size_t i = 0; result == 0 && i < csv->rows.group_count; i++)
            result = put_zone_group(csv, &csv->rows.groups[i], &extra);
        export_progress(job);
    }
    if (result == 0)
        result = put_open_zones(csv);
    return result == 0 && job->filter->has_window ? put_cut_zones(csv) : result;
}

/* --- the other rows --- */

static int visit_points(void *context, const struct trace_rows *rows)
{
    struct csv *csv = context;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_point *point = &rows->points[i];
        uint64_t ns = point->time;
        if (!export_wants_point(csv->job, point, ns))
            continue;
        put_text(csv, trace_point_kind_text(point->kind));
        put_text(csv, point->header);
        put_text_length(csv, point->text, point->text_length);
        put_track(csv, point->track);
        put_time(csv, ns);
        csv->job->counts->points++;
        result = end_row(csv);
    }
    return result;
}

static int visit_counters(void *context, const struct trace_rows *rows)
{
    struct csv *csv = context;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_counter *counter = &rows->counters[i];
        uint64_t ns = counter->time;
        if (!export_wants_zone(csv->job, counter->track, counter->name, ns, ns))
            continue;
        put_text(csv, trace_get_name(csv->job->trace, counter->name)->name);
        put_track(csv, counter->track);
        put_time(csv, ns);
        separate(csv);
        if (isfinite(counter->value))
            json_append_real(csv->out, counter->value);
        else
            bytes_append_format(csv->out, "%f", counter->value);
        csv->job->counts->counters++;
        result = end_row(csv);
    }
    return result;
}

static int visit_memory(void *context, const struct trace_rows *rows)
{
    struct csv *csv = context;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_memory *memory = &rows->memory[i];
        const struct trace_filter *filter = csv->job->filter;
        uint64_t ns = memory->time;
        const char *pool =
            memory->pool == TRACE_NONE ? "" : trace_get_name(csv->job->trace, memory->pool)->name;
        if (!trace_filter_wants_track(filter, memory->track) || !trace_filter_wants_span(filter, ns, ns) ||
            !trace_filter_text_matches(filter, pool))
            continue;
        put_text(csv, memory->is_all ? "release of all" : memory->is_release ? "release" : "allocation");
        put_text(csv, pool);
        separate(csv);
        bytes_append_format(csv->out, "0x%" PRIx64, memory->address);
        if (memory->is_release)
            put_nothing(csv);
        else
            put_unsigned(csv, memory->size);
        put_track(csv, memory->track);
        put_time(csv, ns);
        csv->job->counts->memory_events++;
        result = end_row(csv);
    }
    return result;
}

/* Cut at the borders of the window, as zones are. */
static int visit_locks(void *context, const struct trace_rows *rows)
{
    struct csv *csv = context;
    const struct trace_filter *filter = csv->job->filter;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_lock *lock = &rows->locks[i];
        uint64_t start_ns = lock->start_ns, duration_ns = lock->end_ns - lock->start_ns;
        if (!trace_filter_wants_track(filter, lock->track) || !trace_filter_wants_name(filter, lock->name) ||
            !trace_filter_clip(filter, &start_ns, &duration_ns))
            continue;
        put_text(csv, lock->kind == TRACE_LOCK_WAIT ? "wait" : "hold");
        put_text(csv, trace_get_name(csv->job->trace, lock->name)->name);
        put_unsigned(csv, lock->number);
        put_unsigned(csv, lock->is_shared);
        put_track(csv, lock->track);
        put_time(csv, start_ns);
        put_unsigned(csv, duration_ns);
        put_unsigned(csv, lock->is_open);
        csv->job->counts->locks++;
        result = end_row(csv);
    }
    return result;
}

/* The parts of one role in one field, joined by " | " (a tensor's own separator is ';'). */
static void put_parts(struct csv *csv, const struct trace_part *parts, size_t count, uint32_t role)
{
    bytes_clear(&csv->scratch);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].role != role)
            continue;
        if (csv->scratch.length)
            bytes_append_text(&csv->scratch, " | ");
        bytes_append(&csv->scratch, parts[i].text.data, parts[i].text.length);
    }
    csv->out->failed |= csv->scratch.failed;
    put_text_length(csv, (const char *)csv->scratch.data, csv->scratch.length);
}

/* "name=value" pairs in one field. */
static void put_figures(struct csv *csv, const struct trace_run_part *figures, uint32_t count)
{
    bytes_clear(&csv->scratch);
    for (uint32_t i = 0; i < count; i++) {
        bytes_append_format(&csv->scratch, "%s%s=", i ? ";" : "",
                            trace_get_name(csv->job->trace, figures[i].name)->name);
        export_append_figure_value(csv->job, &figures[i], &csv->scratch);
    }
    put_text_length(csv, (const char *)csv->scratch.data, csv->scratch.length);
}

static int visit_ops(void *context, const struct trace_rows *rows)
{
    struct csv *csv = context;
    struct export_job *job = csv->job;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_op *op = &rows->ops[i];
        size_t count = 0;
        if (!export_wants_zone(job, op->track, op->name, op->start_ns, op->end_ns ? op->end_ns : UINT64_MAX))
            continue;
        const struct trace_part *parts =
            op->description == TRACE_NONE ? NULL : trace_get_description(job->trace, op->description, &count);
        put_unsigned(csv, op->call);
        put_text(csv, trace_get_name(job->trace, op->name)->name);
        put_text(csv, trace_op_type_text(op->type));
        if (op->device == TRACE_NONE)
            put_nothing(csv);
        else
            put_unsigned(csv, op->device);
        put_track(csv, op->track);
        put_time(csv, op->start_ns);
        if (op->end_ns)
            put_unsigned(csv, op->end_ns > op->start_ns ? op->end_ns - op->start_ns : 0);
        else
            put_nothing(csv);
        for (uint32_t role = TRACE_PART_INPUT; role <= TRACE_PART_LOCATION; role++)
            put_parts(csv, parts, count, role);
        put_figures(csv, op->parts, op->part_count);
        job->counts->ops++;
        result = end_row(csv);
    }
    return result;
}

static int visit_runs(void *context, const struct trace_rows *rows)
{
    struct csv *csv = context;
    struct export_job *job = csv->job;
    int result = 0;
    for (size_t i = 0; i < rows->count && result == 0; i++) {
        const struct trace_run *run = &rows->runs[i];
        uint64_t start_ns = export_host_ns(job, run->track, run->start);
        uint64_t end_ns = export_host_ns(job, run->track, saturating_add_u64(run->start, run->duration));
        if (!export_wants_zone(job, run->track, run->name, start_ns, end_ns))
            continue;
        put_unsigned(csv, run->call);
        put_text(csv, trace_get_name(job->trace, run->name)->name);
        put_track(csv, run->track);
        put_time(csv, start_ns);
        put_unsigned(csv, end_ns > start_ns ? end_ns - start_ns : 0);
        put_unsigned(csv, run->start);
        put_unsigned(csv, run->duration);
        put_unsigned(csv, run->session);
        put_unsigned(csv, run->cores);
        put_figures(csv, run->parts, run->part_count);
        job->counts->runs++;
        result = end_row(csv);
    }
    return result;
}

static int put_losses(struct csv *csv)
{
    size_t count;
    const struct trace_loss *losses = trace_get_losses(csv->job->trace, &count);
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        const struct trace_loss *loss = &losses[i];
        if (!export_wants_loss(csv->job, loss))
            continue;
        put_text(csv, trace_loss_reason_text(loss->reason));
        if (loss->track == TRACE_NONE) {
            put_process(csv, loss->process);
            put_nothing(csv);
            put_nothing(csv);
        } else {
            put_track(csv, loss->track);
        }
        put_time(csv, loss->from_ns);
        put_time(csv, loss->to_ns);
        put_unsigned(csv, loss->zones);
        put_unsigned(csv, loss->records);
        csv->job->counts->losses++;
        result = end_row(csv);
    }
    return result;
}

/* --- all of it --- */

static const struct {
    const char *header;
    uint32_t block_type; /* 0: not in blocks of its own */
    export_rows_fn visit;
} kinds[] = {
    [EXPORT_ROWS_ZONES] =
        {"name,file,line,function,process,pid,thread,tid,start_ns,duration_ns,self_ns,depth,text,value,open",
         TRACE_BLOCK_ZONES, NULL},
    [EXPORT_ROWS_MESSAGES] = {"kind,header,text,process,pid,thread,tid,time_ns", TRACE_BLOCK_POINTS,
                              visit_points},
    [EXPORT_ROWS_COUNTERS] = {"name,process,pid,thread,tid,time_ns,value", TRACE_BLOCK_COUNTERS,
                              visit_counters},
    [EXPORT_ROWS_MEMORY] = {"event,pool,address,size_bytes,process,pid,thread,tid,time_ns",
                            TRACE_BLOCK_MEMORY, visit_memory},
    [EXPORT_ROWS_OPS] = {"call,name,type,device,process,pid,thread,tid,start_ns,duration_ns,inputs,outputs,"
                         "attributes,kernels,location,figures",
                         TRACE_BLOCK_OPS, visit_ops},
    [EXPORT_ROWS_RUNS] =
        {"call,name,process,pid,track,number,start_ns,duration_ns,start_ticks,duration_ticks,"
         "session,cores,parts_ticks",
         TRACE_BLOCK_RUNS, visit_runs},
    [EXPORT_ROWS_LOCKS] = {"event,name,lock,shared,process,pid,thread,tid,start_ns,duration_ns,open",
                           TRACE_BLOCK_LOCKS, visit_locks},
    [EXPORT_ROWS_LOSSES] = {"reason,process,pid,thread,tid,from_ns,to_ns,zones,records", 0, NULL},
};

int export_write_csv(struct export_job *job)
{
    struct csv csv = {.job = job, .out = &job->out};
    enum export_rows rows = job->options->rows;
    int result;
    bytes_append_text(csv.out, kinds[rows].header);
    bytes_append(csv.out, "\n", 1);
    if (kinds[rows].block_type)
        job->progress_total = export_block_count(job, kinds[rows].block_type);
    if (rows == EXPORT_ROWS_ZONES)
        result = put_zones(&csv);
    else if (rows == EXPORT_ROWS_LOSSES)
        result = put_losses(&csv);
    else
        result = export_each_rows(job, kinds[rows].block_type, kinds[rows].visit, &csv);
    for (size_t i = 0; csv.name_parts && i <= csv.name_count; i++)
        bytes_free(&csv.name_parts[i]);
    for (size_t i = 0; csv.track_parts && i <= job->track_count; i++)
        bytes_free(&csv.track_parts[i]);
    free(csv.name_parts);
    free(csv.track_parts);
    zone_rows_free(&csv.rows);
    bytes_free(&csv.scratch);
    return result;
}
