/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome trace events as JSON: what chrome://tracing, Perfetto, speedscope and the PyTorch tools read.
 *
 * One line an event. Times are microseconds since the start of the trace with three decimals, so that no digit
 * is lost where a reader parses them as double. Zones are complete events ("X") in the order of their begins:
 * a reader that keeps the order of the file for equal times must meet the parent first.
 *
 * Rows are (pid, tid) pairs. Real numbers are kept where they are unique; a reused pid or tid, a device track
 * and a second lane get made-up numbers above 1,000,000,000, which no Linux has (2^22 is the limit there).
 * Device tracks are processes of their own, one for each topmost track. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/intern.h"
#include "present/export/events.h"
#include "text/json/writer.h"
#include "text/utf8.h"

#define MADE_UP_PROCESS UINT64_C(1000000000)
#define MADE_UP_DEVICE UINT64_C(1200000000)
#define MADE_UP_THREAD UINT64_C(1000000000)
#define MADE_UP_LANE UINT64_C(2000000000)
#define RECORDING_PID UINT64_C(1999999999) /* losses that belong to no process */
#define MESSAGE_COLUMNS 120u

enum row_kind { ROW_ZONES = 0, ROW_OPS = 1, ROW_RUNS = 2 };

struct row_key { /* of a lane that got a number */
    uint32_t kind, track, lane;
};

struct moment {        /* as readers compute it, in microseconds: see put_span */
    double plain_us;   /* since the start of the trace */
    double rebased_us; /* since the first event of the row */
};

struct row {
    uint64_t pid, tid;
    bool has_events;
    double first_us;
    struct moment last;
};

struct chrome {
    struct export_job *job;
    struct bytes *out;
    bool has_events;
    uint64_t *process_pids; /* by process id */
    struct row *rows;       /* by track id; one for what has no track; then the lanes */
    size_t row_count, row_capacity;
    bool is_recording_named;
    struct intern lanes; /* struct row_key */
    struct intern taken; /* pids, and (pid, tid) pairs */
    struct bytes *names; /* by name id, made on first use: "name":"...","args":{"at":"..." */
    size_t name_count;
    struct bytes scratch;
};

static void text(struct chrome *chrome, const char *literal)
{
    bytes_append_text(chrome->out, literal);
}

static void quoted(struct chrome *chrome, const char *string)
{
    json_append_string(chrome->out, string, strlen(string));
}

static void number(struct chrome *chrome, uint64_t value)
{
    export_append_unsigned(chrome->out, value);
}

static void microseconds(struct chrome *chrome, uint64_t ns)
{
    char decimals[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10)};
    number(chrome, ns / 1000);
    bytes_append(chrome->out, decimals, sizeof decimals);
}

static void begin_event(struct chrome *chrome, const char *phase)
{
    text(chrome, chrome->has_events ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    chrome->has_events = true;
    text(chrome, phase);
    text(chrome, "\"");
}

static void put_row(struct chrome *chrome, uint64_t pid, uint64_t tid)
{
    text(chrome, ",\"pid\":");
    number(chrome, pid);
    text(chrome, ",\"tid\":");
    number(chrome, tid);
}

static void put_time(struct chrome *chrome, uint64_t host_ns)
{
    text(chrome, ",\"ts\":");
    microseconds(chrome, export_relative_ns(chrome->job, host_ns));
}

static struct moment end_moment(const struct row *row, double start_us, double duration_us)
{
    return (struct moment){start_us + duration_us, (start_us - row->first_us) + duration_us};
}

/* The start, not before what was written last. */
static double corrected_start(const struct row *row, double start_us)
{
    if (start_us < row->last.plain_us)
        start_us = row->last.plain_us;
    if (start_us - row->first_us < row->last.rebased_us)
        start_us = row->first_us + row->last.rebased_us;
    while (start_us - row->first_us < row->last.rebased_us)
        start_us = nextafter(start_us, INFINITY);
    return start_us;
}

/* The duration, not beyond the end of the event around it. */
static double corrected_duration(const struct row *row, double start_us, double duration_us,
                                 const struct moment *limit)
{
    struct moment end = end_moment(row, start_us, duration_us);
    if (end.plain_us > limit->plain_us)
        duration_us = limit->plain_us - start_us;
    if (end.rebased_us > limit->rebased_us)
        duration_us = fmin(duration_us, limit->rebased_us - (start_us - row->first_us));
    duration_us = fmax(duration_us, 0);
    for (end = end_moment(row, start_us, duration_us);
         duration_us > 0 && (end.plain_us > limit->plain_us || end.rebased_us > limit->rebased_us);
         end = end_moment(row, start_us, duration_us))
        duration_us = nextafter(duration_us, 0);
    return duration_us;
}

/* Writes start and duration of an event of this row and returns its end. `limit` is the end of the event around
 * it where both end in the same nanosecond, else NULL.
 *
 * Readers take both for doubles of microseconds and add them. Neither is exact in binary, so that a zone that
 * ends in the very nanosecond in which the zone around it does, or in which the next one begins, may seem to
 * overlap it by the last bit, and that is enough to confuse them: speedscope 1.25, which also subtracts the
 * first start of the row from all others, gives up on the rest of the thread. Where nanoseconds are equal, and
 * only there, the last bits are put right for both ways of reckoning: 0.1 becomes 0.10000000000000002. */
static struct moment put_span(struct chrome *chrome, struct row *row, uint64_t start_ns, uint64_t end_ns,
                              const struct moment *limit)
{
    uint64_t since_ns = export_relative_ns(chrome->job, start_ns);
    double exact_start_us = (double)since_ns / 1000.0,
           exact_duration_us = (double)(end_ns - start_ns) / 1000.0;
    if (!row->has_events) {
        row->has_events = true;
        row->first_us = exact_start_us;
        row->last = (struct moment){exact_start_us, 0};
    }
    double start_us = corrected_start(row, exact_start_us), duration_us = exact_duration_us;
    if (limit)
        duration_us = corrected_duration(row, start_us, duration_us, limit);
    text(chrome, ",\"ts\":");
    if (start_us == exact_start_us)
        microseconds(chrome, since_ns);
    else
        json_append_real(chrome->out, start_us);
    text(chrome, ",\"dur\":");
    if (duration_us == exact_duration_us)
        microseconds(chrome, end_ns - start_ns);
    else
        json_append_real(chrome->out, duration_us);
    row->last = end_moment(row, start_us, 0);
    return end_moment(row, start_us, duration_us);
}

/* --- rows --- */

static void name_row(struct chrome *chrome, const char *what, uint64_t pid, uint64_t tid, const char *label)
{
    begin_event(chrome, "M");
    text(chrome, ",\"name\":\"");
    text(chrome, what);
    text(chrome, "\"");
    put_row(chrome, pid, tid);
    text(chrome, ",\"args\":{\"name\":");
    quoted(chrome, label);
    text(chrome, "}}");
}

static void sort_row(struct chrome *chrome, const char *what, uint64_t pid, uint64_t tid, uint64_t index)
{
    begin_event(chrome, "M");
    text(chrome, ",\"name\":\"");
    text(chrome, what);
    text(chrome, "\"");
    put_row(chrome, pid, tid);
    text(chrome, ",\"args\":{\"sort_index\":");
    number(chrome, index);
    text(chrome, "}}");
}

/* The number if nobody has it yet, else the made-up one. */
static uint64_t unique(struct chrome *chrome, uint64_t scope, uint64_t wanted, uint64_t made_up)
{
    uint64_t key[2] = {scope, wanted};
    bool is_usable =
        wanted > 0 && wanted < MADE_UP_PROCESS && intern_find(&chrome->taken, key, sizeof key) == INTERN_NONE;
    if (is_usable)
        intern_add(&chrome->taken, key, sizeof key);
    return is_usable ? wanted : made_up;
}

static void describe_process(struct chrome *chrome, uint32_t id)
{
    const struct trace_process *process = trace_get_process(chrome->job->trace, id);
    uint64_t pid =
        unique(chrome, UINT64_MAX, process->pid > 0 ? (uint64_t)process->pid : 0, MADE_UP_PROCESS + id);
    chrome->process_pids[id] = pid;
    if (!trace_filter_wants_process(chrome->job->filter, id))
        return;
    name_row(chrome, "process_name", pid, 0, export_process_label(chrome->job, id));
    sort_row(chrome, "process_sort_index", pid, 0, id);
    if (process->command && process->command[0]) {
        begin_event(chrome, "M");
        text(chrome, ",\"name\":\"process_labels\"");
        put_row(chrome, pid, 0);
        text(chrome, ",\"args\":{\"labels\":");
        quoted(chrome, process->command);
        text(chrome, "}}");
    }
}

static void describe_track(struct chrome *chrome, uint32_t id)
{
    struct export_job *job = chrome->job;
    const struct trace_track *track = trace_get_track(job->trace, id);
    const char *label = export_track_label(job, id);
    bool is_host = export_is_host_track(track), is_wanted = trace_filter_wants_track(job->filter, id);
    uint32_t root = export_root_track(job, id);
    uint64_t pid = MADE_UP_DEVICE + root;
    if (is_host)
        pid = track->process < job->process_count ? chrome->process_pids[track->process] : RECORDING_PID;
    uint64_t tid = unique(chrome, pid, is_host ? track->number : 0, MADE_UP_THREAD + id);
    chrome->rows[id] = (struct row){.pid = pid, .tid = tid};
    if (!is_wanted)
        return;
    if (!is_host && unique(chrome, UINT64_MAX - 1, root + UINT64_C(1), 0)) {
        const char *device = export_track_label(job, root),
                   *program = export_process_label(job, track->process);
        bytes_clear(&chrome->scratch);
        bytes_append_format(&chrome->scratch, "%s (%s)", device, program);
        name_row(chrome, "process_name", pid, 0,
                 chrome->scratch.failed ? device : bytes_text(&chrome->scratch));
        sort_row(chrome, "process_sort_index", pid, 0, job->process_count + root);
    }
    name_row(chrome, "thread_name", pid, tid, label);
    sort_row(chrome, "thread_sort_index", pid, tid, id);
}

/* The row of a track, or of what lies beside it: its ops, its runs, what overlaps. Named when first used. */
static size_t find_row(struct chrome *chrome, enum row_kind kind, uint32_t track, uint32_t lane)
{
    struct export_job *job = chrome->job;
    static const char *const words[] = {"", " ops", " runs"};
    if (track >= job->track_count)
        return job->track_count;
    if (lane == 0 &&
        (kind == ROW_ZONES || (kind == ROW_RUNS && trace_track_zone_count(job->trace, track) == 0)))
        return track;
    struct row_key key = {.kind = kind, .track = track, .lane = lane};
    uint32_t lane_number = intern_add(&chrome->lanes, &key, sizeof key);
    size_t row = job->track_count + 1 + lane_number;
    if (lane_number == INTERN_NONE ||
        !array_reserve(&chrome->rows, &chrome->row_capacity, row + 1, sizeof *chrome->rows)) {
        chrome->out->failed = true;
        return job->track_count;
    }
    if (row == chrome->row_count) {
        uint64_t pid = chrome->rows[track].pid, tid = MADE_UP_LANE + lane_number;
        chrome->rows[chrome->row_count++] = (struct row){.pid = pid, .tid = tid};
        bytes_clear(&chrome->scratch);
        bytes_append_format(&chrome->scratch, "%s%s", export_track_label(job, track), words[kind]);
        if (lane)
            bytes_append_format(&chrome->scratch, " (%u)", lane + 1);
        name_row(chrome, "thread_name", pid, tid, bytes_text(&chrome->scratch));
        sort_row(chrome, "thread_sort_index", pid, tid, track);
    }
    return row;
}

static uint64_t process_pid(struct chrome *chrome, uint32_t process)
{
    if (process < chrome->job->process_count)
        return chrome->process_pids[process];
    if (!chrome->is_recording_named) {
        chrome->is_recording_named = true;
        name_row(chrome, "process_name", RECORDING_PID, 0, "recording");
    }
    return RECORDING_PID;
}

static void put_row_of(struct chrome *chrome, size_t row)
{
    put_row(chrome, chrome->rows[row].pid, chrome->rows[row].tid);
}

/* --- zones --- */

/* The part of an event that depends on its name only: nearly all of it. Ends inside the args. */
static void put_name(struct chrome *chrome, uint32_t id)
{
    struct bytes once = {0}, *cached = id < chrome->name_count ? &chrome->names[id] : &once;
    if (cached->length == 0) {
        const struct trace_name *name = trace_get_name(chrome->job->trace, id);
        bytes_append_text(cached, ",\"name\":");
        json_append_string(cached, name->name, strlen(name->name));
        bytes_append_text(cached, ",\"args\":{");
        if (name->file && name->file[0]) {
            bytes_clear(&chrome->scratch);
            bytes_append_format(&chrome->scratch, "%s:%u", name->file, name->line);
            bytes_append_text(cached, "\"at\":");
            json_append_string(cached, (const char *)chrome->scratch.data, chrome->scratch.length);
            bytes_append_text(cached, ",");
        }
        if (name->function && name->function[0] && strcmp(name->function, name->name) != 0) {
            bytes_append_text(cached, "\"function\":");
            json_append_string(cached, name->function, strlen(name->function));
            bytes_append_text(cached, ",");
        }
    }
    bytes_append(chrome->out, cached->data, cached->length);
    chrome->out->failed |= cached->failed;
    bytes_free(&once);
}

/* put_name and the arguments end in a comma each; here the last one goes. */
static void end_args(struct chrome *chrome)
{
    if (!chrome->out->failed && chrome->out->data[chrome->out->length - 1] == ',')
        chrome->out->length--;
    text(chrome, "}}");
}

static void put_unsigned(struct chrome *chrome, const char *key, uint64_t value)
{
    quoted(chrome, key);
    text(chrome, ":");
    /* A reader with doubles only would round it: such numbers are texts. */
    if (value > UINT64_C(1) << 53)
        text(chrome, "\"");
    number(chrome, value);
    text(chrome, value > UINT64_C(1) << 53 ? "\"," : ",");
}

static void put_text(struct chrome *chrome, const char *key, const char *string, size_t length)
{
    quoted(chrome, key);
    text(chrome, ":");
    json_append_string(chrome->out, string, length);
    text(chrome, ",");
}

/* The viewers' own colours have names and are few; this one is for whoever reads the file by program. */
static void put_colour(struct chrome *chrome, const char *key, uint64_t colour)
{
    char words[16];
    int length = snprintf(words, sizeof words, "#%06x", (unsigned)(colour & 0xffffff));
    put_text(chrome, key, words, (size_t)length);
}

static int put_zone(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    struct chrome *chrome = context;
    size_t row = find_row(chrome, ROW_ZONES, zone->track, lane);
    struct moment limit;
    bool has_limit = rest->parent_tag && rest->parent_end_ns == zone->end_ns;
    if (has_limit)
        limit = (struct moment){rest->parent_tag->values[0], rest->parent_tag->values[1]};
    begin_event(chrome, "X");
    text(chrome, ",\"cat\":\"zone\"");
    put_row_of(chrome, row);
    struct moment end =
        put_span(chrome, &chrome->rows[row], zone->start_ns, zone->end_ns, has_limit ? &limit : NULL);
    *rest->tag = (struct export_tag){{end.plain_us, end.rebased_us}};
    put_name(chrome, zone->name);
    struct export_extra_names names = {{0}, ""};
    for (size_t i = 0; i < rest->extra_count; i++) {
        const struct trace_extra *extra = &rest->extras[i];
        const char *key = export_extra_name(&names, extra->kind);
        if (extra->kind == TRACE_EXTRA_TEXT)
            put_text(chrome, key, extra->text, extra->text_length);
        else if (extra->kind == TRACE_EXTRA_COLOUR)
            put_colour(chrome, key, extra->value);
        else if (key)
            put_unsigned(chrome, key, extra->value);
    }
    if (zone->is_open)
        text(chrome, "\"open\":true,");
    end_args(chrome);
    return 0;
}

static int end_zone(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    struct chrome *chrome = context;
    struct row *row = &chrome->rows[find_row(chrome, ROW_ZONES, zone->track, lane)];
    row->last = (struct moment){rest->tag->values[0], rest->tag->values[1]};
    return 0;
}

/* --- everything else --- */

static void put_point_name(struct chrome *chrome, const struct trace_point *point)
{
    const char *header = point->header ? point->header : "";
    text(chrome, ",\"name\":");
    if (point->kind == TRACE_POINT_MESSAGE || !header[0]) {
        bytes_clear(&chrome->scratch);
        utf8_append_shortened(&chrome->scratch, point->text, point->text_length, MESSAGE_COLUMNS, "...");
        json_append_string(chrome->out, (const char *)chrome->scratch.data, chrome->scratch.length);
    } else {
        quoted(chrome, header);
    }
}

static int put_point(void *context, const struct trace_point *point, uint64_t ns)
{
    struct chrome *chrome = context;
    size_t row = find_row(chrome, ROW_ZONES, point->track, 0);
    begin_event(chrome, "i");
    text(chrome, ",\"cat\":");
    quoted(chrome, trace_point_kind_text(point->kind));
    text(chrome, point->kind == TRACE_POINT_FRAME ? ",\"s\":\"p\"" : ",\"s\":\"t\"");
    put_row_of(chrome, row);
    put_time(chrome, ns);
    put_point_name(chrome, point);
    text(chrome, ",\"args\":{");
    if (point->text && point->text_length)
        put_text(chrome, "text", point->text, point->text_length);
    end_args(chrome);
    return 0;
}

static void begin_counter(struct chrome *chrome, uint32_t process, const char *name, uint64_t ns)
{
    uint64_t pid = process_pid(chrome, process);
    begin_event(chrome, "C");
    text(chrome, ",\"name\":");
    quoted(chrome, name);
    put_row(chrome, pid, 0);
    put_time(chrome, ns);
}

static int put_counter(void *context, uint32_t process, const char *name, uint64_t ns, double value)
{
    struct chrome *chrome = context;
    begin_counter(chrome, process, name, ns);
    text(chrome, ",\"args\":{\"value\":");
    json_append_real(chrome->out, value);
    text(chrome, "}}");
    return 0;
}

static int put_memory(void *context, uint32_t process, const char *pool, uint64_t ns, uint64_t in_use_bytes)
{
    struct chrome *chrome = context;
    bytes_clear(&chrome->scratch);
    bytes_append_format(&chrome->scratch, pool[0] ? "memory: %s" : "memory%s", pool);
    begin_counter(chrome, process, bytes_text(&chrome->scratch), ns);
    text(chrome, ",\"args\":{\"bytes\":");
    number(chrome, in_use_bytes);
    text(chrome, "}}");
    return 0;
}

/* The parts of one role as a list. */
static void put_parts(struct chrome *chrome, const struct trace_part *parts, size_t count, uint32_t role,
                      const char *key)
{
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].role != role)
            continue;
        if (is_first)
            quoted(chrome, key);
        text(chrome, is_first ? ":[" : ",");
        quoted(chrome, parts[i].text.data);
        is_first = false;
    }
    if (!is_first)
        text(chrome, "],");
}

static void put_figures(struct chrome *chrome, const struct trace_run_part *figures, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_run_part *figure = &figures[i];
        bytes_clear(&chrome->scratch);
        export_append_figure_key(chrome->job, figure, &chrome->scratch);
        const char *key = bytes_text(&chrome->scratch);
        if (!trace_figure_is_real(figure->kind) && figure->kind != TRACE_FIGURE_TEXT) {
            put_unsigned(chrome, key, figure->whole);
            continue;
        }
        quoted(chrome, key);
        text(chrome, ":");
        if (figure->kind == TRACE_FIGURE_TEXT)
            quoted(chrome, trace_get_name(chrome->job->trace, (uint32_t)figure->whole)->name);
        else
            json_append_real(chrome->out, figure->real);
        text(chrome, ",");
    }
}

static int put_op(void *context, const struct trace_op *op, const struct export_span *span)
{
    struct chrome *chrome = context;
    size_t count = 0;
    const struct trace_part *parts = op->description == TRACE_NONE
                                         ? NULL
                                         : trace_get_description(chrome->job->trace, op->description, &count);
    size_t row = find_row(chrome, ROW_OPS, op->track, span->lane);
    begin_event(chrome, "X");
    text(chrome, ",\"cat\":\"op\"");
    put_row_of(chrome, row);
    chrome->rows[row].last = put_span(chrome, &chrome->rows[row], span->start_ns, span->end_ns, NULL);
    put_name(chrome, op->name);
    put_unsigned(chrome, "call", op->call);
    const char *type = trace_op_type_text(op->type);
    put_text(chrome, "type", type, strlen(type));
    if (op->device != TRACE_NONE)
        put_unsigned(chrome, "device", op->device);
    put_parts(chrome, parts, count, TRACE_PART_INPUT, "inputs");
    put_parts(chrome, parts, count, TRACE_PART_OUTPUT, "outputs");
    put_parts(chrome, parts, count, TRACE_PART_ATTRIBUTE, "attributes");
    put_parts(chrome, parts, count, TRACE_PART_KERNEL, "kernels");
    put_parts(chrome, parts, count, TRACE_PART_LOCATION, "location");
    put_figures(chrome, op->parts, op->part_count);
    if (span->is_open)
        text(chrome, "\"open\":true,");
    end_args(chrome);
    return 0;
}

static int put_run(void *context, const struct trace_run *run, const struct export_span *span)
{
    struct chrome *chrome = context;
    size_t row = find_row(chrome, ROW_RUNS, run->track, span->lane);
    begin_event(chrome, "X");
    text(chrome, ",\"cat\":\"run\"");
    put_row_of(chrome, row);
    chrome->rows[row].last = put_span(chrome, &chrome->rows[row], span->start_ns, span->end_ns, NULL);
    put_name(chrome, run->name);
    if (run->call)
        put_unsigned(chrome, "call", run->call);
    if (run->session)
        put_unsigned(chrome, "session", run->session);
    put_unsigned(chrome, "cores", run->cores);
    put_unsigned(chrome, "start ticks", run->start);
    put_unsigned(chrome, "ticks", run->duration);
    put_figures(chrome, run->parts, run->part_count);
    if (run->flags & TRACE_RUN_ESTIMATED)
        text(chrome, "\"estimated\":true,");
    end_args(chrome);
    return 0;
}

static int put_loss(void *context, const struct trace_loss *loss)
{
    struct chrome *chrome = context;
    char words[96];
    bool has_track = loss->track < chrome->job->track_count;
    const char *reason = trace_loss_reason_text(loss->reason);
    uint64_t pid = has_track ? 0 : process_pid(chrome, loss->process);
    export_loss_text(loss, words, sizeof words);
    begin_event(chrome, "i");
    text(chrome, ",\"cat\":\"loss\",\"s\":");
    text(chrome, has_track ? "\"t\"" : loss->process == TRACE_NONE ? "\"g\"" : "\"p\"");
    if (has_track)
        put_row_of(chrome, loss->track);
    else
        put_row(chrome, pid, 0);
    put_time(chrome, export_loss_ns(chrome->job, loss));
    text(chrome, ",\"name\":");
    quoted(chrome, words);
    text(chrome, ",\"args\":{");
    put_text(chrome, "reason", reason, strlen(reason));
    put_unsigned(chrome, "zones", loss->zones);
    put_unsigned(chrome, "records", loss->records);
    put_unsigned(chrome, "from_ns", export_relative_ns(chrome->job, loss->from_ns));
    put_unsigned(chrome, "to_ns", export_relative_ns(chrome->job, loss->to_ns));
    end_args(chrome);
    return 0;
}

/* --- all of it --- */

static void put_head(struct chrome *chrome)
{
    const struct trace_info *info = chrome->job->info;
    text(chrome, "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{");
    const char *pairs[][2] = {{"program", info->program}, {"command", info->command}, {"host", info->host}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        put_text(chrome, pairs[i][0], pairs[i][1] ? pairs[i][1] : "", pairs[i][1] ? strlen(pairs[i][1]) : 0);
    put_unsigned(chrome, "start_ns", info->start_ns);
    put_unsigned(chrome, "lost_zones", info->lost_zones);
    put_unsigned(chrome, "lost_records", info->lost_records);
    if (!chrome->out->failed)
        chrome->out->length--; /* the last comma */
    text(chrome, "},\n\"traceEvents\":[");
}

int export_write_chrome(struct export_job *job)
{
    struct chrome chrome = {.job = job, .out = &job->out};
    const struct export_events events = {
        .context = &chrome,
        .zones = {.context = &chrome, .begin = put_zone, .end = end_zone, .extras = EXPORT_EXTRAS_AT_BEGIN},
        .point = put_point,
        .counter = put_counter,
        .memory = put_memory,
        .op = put_op,
        .run = put_run,
        .loss = put_loss,
    };
    chrome.name_count = trace_name_count(job->trace);
    chrome.names = calloc(chrome.name_count + 1, sizeof *chrome.names);
    chrome.process_pids = calloc(job->process_count + 1, sizeof *chrome.process_pids);
    chrome.row_count = chrome.row_capacity = job->track_count + 1;
    chrome.rows = calloc(chrome.row_count, sizeof *chrome.rows);
    int result = chrome.names && chrome.process_pids && chrome.rows ? 0 : export_no_memory(job);
    if (result == 0) {
        chrome.rows[job->track_count].pid = RECORDING_PID;
        put_head(&chrome);
    }
    for (uint32_t i = 0; i < job->process_count && result == 0; i++) {
        describe_process(&chrome, i);
        result = export_flush(job, false);
    }
    for (uint32_t i = 0; i < job->track_count && result == 0; i++) {
        describe_track(&chrome, i);
        result = export_flush(job, false);
    }
    if (result == 0)
        result = export_each_event(job, &events);
    text(&chrome, "\n]}\n");
    for (size_t i = 0; chrome.names && i < chrome.name_count; i++)
        bytes_free(&chrome.names[i]);
    free(chrome.names);
    free(chrome.process_pids);
    free(chrome.rows);
    intern_free(&chrome.lanes);
    intern_free(&chrome.taken);
    bytes_free(&chrome.scratch);
    return result;
}
