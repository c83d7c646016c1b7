/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's trace format: a stream of TracePacket messages, field 1 of a Trace.
 *
 * Every row is a track with a uuid and a TrackDescriptor: processes, threads below them, device tracks as named
 * tracks below their parents, counters below their process. Zones are SLICE_BEGIN and SLICE_END on their track,
 * in order (order.h), so that also a reader that does not sort sees them nested; what is known only when
 * a zone ends (its text and value) is on the end, and readers merge both. Ops and runs have rows of their own;
 * a flow connects an op with its runs. Names and source locations are interned: they are sent once.
 *
 * Files of several hosts or ranks may be joined by cat: the uuids and the sequence id are derived from the host,
 * the command and the start of the recording, and differ. Timestamps are nanoseconds of the recorded host's
 * CLOCK_MONOTONIC_RAW as they are, which Perfetto takes for its own trace clock.
 *
 * A process whose pid was used before in the same recording, and a thread whose tid was, are plain named tracks:
 * Perfetto would take two descriptors with one pid for one process. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/hash.h"
#include "base/intern.h"
#include "present/export/events.h"
#include "present/export/perfetto_fields.h"
#include "present/export/proto.h"
#include "text/utf8.h"

enum event_type { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { STATE_CLEARED = 1, NEEDS_STATE = 2, UNIT_BYTES = 3 };
enum category { ZONE = 1, OP, RUN, SIGNPOST, MESSAGE, FRAME, LOSS, CATEGORIES };
static const char *const category_words[] = {"", "zone", "op", "run", "signpost", "message", "frame", "loss"};

enum row_kind { ROW_PROCESS = 1, ROW_ZONES, ROW_OPS, ROW_RUNS, ROW_COUNTER, ROW_MEMORY, ROW_RECORDING };

#define MESSAGE_COLUMNS 120u

struct row_key {
    uint32_t kind, id, lane;
};

struct perfetto {
    struct export_job *job;
    uint64_t uuid_base;
    uint32_t sequence;
    struct intern rows;     /* struct row_key, for counters with the name after it; uuid = base + number */
    struct intern taken;    /* pids, and (pid, tid) pairs */
    bool *is_native;        /* by process id: has a ProcessDescriptor */
    bool *is_native_thread; /* by track id */
    uint64_t *track_uuids;  /* by track id: of lane 0; 0 = not yet described */
    uint8_t *name_sent;     /* by name id */
    size_t name_count;
    struct bytes key, packet, event, inner, entry, interned, text, figure;
};

/* --- packets --- */

static void put_packet(struct perfetto *perfetto)
{
    proto_message(&perfetto->job->out, TRACE_PACKET, &perfetto->packet);
}

static void begin_packet(struct perfetto *perfetto)
{
    bytes_clear(&perfetto->packet);
    proto_unsigned(&perfetto->packet, PACKET_SEQUENCE, perfetto->sequence);
}

/* The first packet of the sequence: what the others refer to by number. */
static void put_first_packet(struct perfetto *perfetto)
{
    begin_packet(perfetto);
    proto_unsigned(&perfetto->packet, PACKET_FLAGS, STATE_CLEARED);
    bytes_clear(&perfetto->interned);
    for (unsigned i = 1; i < CATEGORIES; i++) {
        bytes_clear(&perfetto->entry);
        proto_unsigned(&perfetto->entry, ENTRY_IID, i);
        proto_text(&perfetto->entry, ENTRY_NAME, category_words[i]);
        proto_message(&perfetto->interned, INTERNED_CATEGORY, &perfetto->entry);
    }
    proto_message(&perfetto->packet, PACKET_INTERNED, &perfetto->interned);
    put_packet(perfetto);
}

static void begin_event(struct perfetto *perfetto, enum event_type type, uint64_t track_uuid)
{
    bytes_clear(&perfetto->event);
    bytes_clear(&perfetto->interned);
    proto_unsigned(&perfetto->event, EVENT_TYPE, type);
    proto_unsigned(&perfetto->event, EVENT_TRACK, track_uuid);
}

static void end_event(struct perfetto *perfetto, uint64_t ns)
{
    begin_packet(perfetto);
    proto_unsigned(&perfetto->packet, PACKET_TIMESTAMP, ns);
    proto_unsigned(&perfetto->packet, PACKET_FLAGS, NEEDS_STATE);
    if (perfetto->interned.length)
        proto_message(&perfetto->packet, PACKET_INTERNED, &perfetto->interned);
    proto_message(&perfetto->packet, PACKET_TRACK_EVENT, &perfetto->event);
    put_packet(perfetto);
}

static void put_category(struct perfetto *perfetto, enum category category)
{
    proto_unsigned(&perfetto->event, EVENT_CATEGORY_IID, category);
}

/* The event's name, from the trace's table; sent along when it is used for the first time. */
static void put_name(struct perfetto *perfetto, uint32_t id)
{
    const struct trace_name *name = trace_get_name(perfetto->job->trace, id);
    if (id >= perfetto->name_count) {
        proto_text(&perfetto->event, EVENT_NAME, name->name);
        return;
    }
    bool has_location = name->file && name->file[0];
    proto_unsigned(&perfetto->event, EVENT_NAME_IID, id + UINT64_C(1));
    if (has_location)
        proto_unsigned(&perfetto->event, EVENT_LOCATION_IID, id + UINT64_C(1));
    if (perfetto->name_sent[id])
        return;
    perfetto->name_sent[id] = 1;
    struct bytes *entry = &perfetto->entry;
    bytes_clear(entry);
    proto_unsigned(entry, ENTRY_IID, id + UINT64_C(1));
    proto_text(entry, ENTRY_NAME, name->name);
    proto_message(&perfetto->interned, INTERNED_NAME, entry);
    if (!has_location)
        return;
    bytes_clear(entry);
    proto_unsigned(entry, ENTRY_IID, id + UINT64_C(1));
    proto_text(entry, LOCATION_FILE, name->file);
    if (name->function && name->function[0])
        proto_text(entry, LOCATION_FUNCTION, name->function);
    if (name->line)
        proto_unsigned(entry, LOCATION_LINE, name->line);
    proto_message(&perfetto->interned, INTERNED_LOCATION, entry);
}

static void annotate_text(struct perfetto *perfetto, const char *name, const char *text, size_t length)
{
    bytes_clear(&perfetto->inner);
    proto_text(&perfetto->inner, ANNOTATION_NAME, name);
    proto_text_length(&perfetto->inner, ANNOTATION_TEXT, text, length);
    proto_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->inner);
}

static void annotate_unsigned(struct perfetto *perfetto, const char *name, uint64_t value)
{
    bytes_clear(&perfetto->inner);
    proto_text(&perfetto->inner, ANNOTATION_NAME, name);
    proto_unsigned(&perfetto->inner, ANNOTATION_UNSIGNED, value);
    proto_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->inner);
}

static void annotate_figure(struct perfetto *perfetto, const struct trace_run_part *figure)
{
    bytes_clear(&perfetto->figure);
    export_append_figure_key(perfetto->job, figure, &perfetto->figure);
    const char *key = bytes_text(&perfetto->figure);
    if (figure->kind == TRACE_FIGURE_TEXT) {
        const char *text = trace_get_name(perfetto->job->trace, (uint32_t)figure->whole)->name;
        annotate_text(perfetto, key, text, strlen(text));
    } else if (trace_figure_is_real(figure->kind)) {
        bytes_clear(&perfetto->inner);
        proto_text(&perfetto->inner, ANNOTATION_NAME, key);
        proto_double(&perfetto->inner, ANNOTATION_DOUBLE, figure->real);
        proto_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->inner);
    } else {
        annotate_unsigned(perfetto, key, figure->whole);
    }
}

static void annotate_true(struct perfetto *perfetto, const char *name)
{
    bytes_clear(&perfetto->inner);
    proto_text(&perfetto->inner, ANNOTATION_NAME, name);
    proto_unsigned(&perfetto->inner, ANNOTATION_BOOL, 1);
    proto_message(&perfetto->event, EVENT_ANNOTATION, &perfetto->inner);
}

/* --- rows --- */

/* The uuid of a row; *is_new when it needs a descriptor. */
static uint64_t row_uuid(struct perfetto *perfetto, struct row_key key, const char *name, bool *is_new)
{
    size_t before = perfetto->rows.count;
    bytes_clear(&perfetto->key);
    bytes_append(&perfetto->key, &key, sizeof key);
    bytes_append_text(&perfetto->key, name);
    uint32_t number = perfetto->key.failed
                          ? INTERN_NONE
                          : intern_add(&perfetto->rows, perfetto->key.data, perfetto->key.length);
    if (number == INTERN_NONE)
        perfetto->job->out.failed = true;
    *is_new = number != INTERN_NONE && number == before;
    return perfetto->uuid_base + number;
}

static void begin_descriptor(struct perfetto *perfetto, uint64_t uuid, uint64_t parent_uuid)
{
    bytes_clear(&perfetto->event);
    proto_unsigned(&perfetto->event, DESCRIPTOR_UUID, uuid);
    if (parent_uuid)
        proto_unsigned(&perfetto->event, DESCRIPTOR_PARENT, parent_uuid);
}

static void end_descriptor(struct perfetto *perfetto)
{
    begin_packet(perfetto);
    proto_message(&perfetto->packet, PACKET_TRACK_DESCRIPTOR, &perfetto->event);
    put_packet(perfetto);
}

static uint64_t recording_uuid(struct perfetto *perfetto)
{
    bool is_new;
    uint64_t uuid = row_uuid(perfetto, (struct row_key){.kind = ROW_RECORDING}, "", &is_new);
    if (is_new) {
        begin_descriptor(perfetto, uuid, 0);
        proto_text(&perfetto->event, DESCRIPTOR_NAME, "recording");
        end_descriptor(perfetto);
    }
    return uuid;
}

static uint64_t process_uuid(struct perfetto *perfetto, uint32_t id)
{
    const struct trace_process *process = trace_get_process(perfetto->job->trace, id);
    const char *label = export_process_label(perfetto->job, id);
    bool is_new;
    if (!process)
        return recording_uuid(perfetto);
    uint64_t uuid = row_uuid(perfetto, (struct row_key){.kind = ROW_PROCESS, .id = id}, "", &is_new);
    if (!is_new)
        return uuid;
    begin_descriptor(perfetto, uuid, 0);
    if (perfetto->is_native[id]) {
        bytes_clear(&perfetto->inner);
        proto_signed(&perfetto->inner, PROCESS_PID, process->pid);
        if (process->command && process->command[0])
            proto_text(&perfetto->inner, PROCESS_COMMAND, process->command);
        proto_text(&perfetto->inner, PROCESS_NAME, label);
        if (process->start_ns)
            proto_unsigned(&perfetto->inner, PROCESS_START, process->start_ns);
        proto_message(&perfetto->event, DESCRIPTOR_PROCESS, &perfetto->inner);
    } else {
        bytes_clear(&perfetto->text);
        bytes_append_format(&perfetto->text, "%s %" PRId64, label, process->pid);
        proto_text_length(&perfetto->event, DESCRIPTOR_NAME, (const char *)perfetto->text.data,
                          perfetto->text.length);
    }
    end_descriptor(perfetto);
    return uuid;
}

static uint64_t zones_uuid(struct perfetto *perfetto, uint32_t id, uint32_t lane);

/* The row above a track's own: its parent track, else its process. */
static uint64_t parent_uuid(struct perfetto *perfetto, uint32_t id)
{
    uint32_t parent = export_parent_track(perfetto->job, id);
    if (parent != TRACE_NONE)
        return zones_uuid(perfetto, parent, 0);
    return process_uuid(perfetto, export_track_process(perfetto->job, id));
}

static void put_thread(struct perfetto *perfetto, const struct trace_track *track, const char *label)
{
    const struct trace_process *process = trace_get_process(perfetto->job->trace, track->process);
    bytes_clear(&perfetto->inner);
    proto_signed(&perfetto->inner, THREAD_PID, process->pid);
    proto_unsigned(&perfetto->inner, THREAD_TID, track->number);
    proto_text(&perfetto->inner, THREAD_NAME, label);
    proto_message(&perfetto->event, DESCRIPTOR_THREAD, &perfetto->inner);
}

/* The row of a track's zones; further lanes have the same name and parent, which the viewer draws together. */
static uint64_t zones_uuid(struct perfetto *perfetto, uint32_t id, uint32_t lane)
{
    const struct trace_track *track = trace_get_track(perfetto->job->trace, id);
    bool is_new;
    if (!track)
        return recording_uuid(perfetto);
    if (lane == 0 && perfetto->track_uuids[id])
        return perfetto->track_uuids[id];
    uint64_t uuid =
        row_uuid(perfetto, (struct row_key){.kind = ROW_ZONES, .id = id, .lane = lane}, "", &is_new);
    if (!is_new)
        return uuid;
    if (lane == 0)
        perfetto->track_uuids[id] = uuid;
    /* Not more than 64 tracks up: export_parent_track sees to it. */
    uint64_t above = parent_uuid(perfetto, id);
    begin_descriptor(perfetto, uuid, above);
    if (lane == 0 && perfetto->is_native_thread[id])
        put_thread(perfetto, track, export_track_label(perfetto->job, id));
    else
        proto_text(&perfetto->event, DESCRIPTOR_NAME, export_track_label(perfetto->job, id));
    end_descriptor(perfetto);
    return uuid;
}

/* The row of a track's ops or runs. */
static uint64_t spans_uuid(struct perfetto *perfetto, enum row_kind kind, uint32_t id, uint32_t lane)
{
    bool is_new;
    if (id >= perfetto->job->track_count)
        return recording_uuid(perfetto);
    /* Nothing else is there: runs are the track. */
    if (kind == ROW_RUNS && trace_track_zone_count(perfetto->job->trace, id) == 0)
        return zones_uuid(perfetto, id, lane);
    uint64_t uuid = row_uuid(perfetto, (struct row_key){.kind = kind, .id = id, .lane = lane}, "", &is_new);
    if (is_new) {
        uint64_t above = zones_uuid(perfetto, id, 0);
        begin_descriptor(perfetto, uuid, above);
        proto_text(&perfetto->event, DESCRIPTOR_NAME, kind == ROW_OPS ? "ops" : "runs");
        end_descriptor(perfetto);
    }
    return uuid;
}

static uint64_t counter_uuid(struct perfetto *perfetto, enum row_kind kind, uint32_t process,
                             const char *name)
{
    bool is_new;
    uint64_t uuid = row_uuid(perfetto, (struct row_key){.kind = kind, .id = process}, name, &is_new);
    if (!is_new)
        return uuid;
    uint64_t above = process_uuid(perfetto, process);
    begin_descriptor(perfetto, uuid, above);
    bytes_clear(&perfetto->text);
    if (kind == ROW_MEMORY)
        bytes_append_text(&perfetto->text, name[0] ? "memory: " : "memory");
    bytes_append_text(&perfetto->text, name);
    proto_text_length(&perfetto->event, DESCRIPTOR_NAME, (const char *)perfetto->text.data,
                      perfetto->text.length);
    bytes_clear(&perfetto->inner);
    if (kind == ROW_MEMORY)
        proto_unsigned(&perfetto->inner, COUNTER_UNIT, UNIT_BYTES);
    proto_message(&perfetto->event, DESCRIPTOR_COUNTER, &perfetto->inner);
    end_descriptor(perfetto);
    return uuid;
}

/* --- events --- */

static int zone_begin(void *context, const struct export_zone *zone, uint32_t lane,
                      const struct export_zone_rest *rest)
{
    (void)rest;
    struct perfetto *perfetto = context;
    begin_event(perfetto, SLICE_BEGIN, zones_uuid(perfetto, zone->track, lane));
    put_category(perfetto, ZONE);
    put_name(perfetto, zone->name);
    end_event(perfetto, zone->start_ns);
    return 0;
}

static int zone_end(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    struct perfetto *perfetto = context;
    begin_event(perfetto, SLICE_END, zones_uuid(perfetto, zone->track, lane));
    struct export_extra_names names = {{0}, ""};
    for (size_t i = 0; i < rest->extra_count; i++) {
        const struct trace_extra *extra = &rest->extras[i];
        const char *key = export_extra_name(&names, extra->kind);
        if (extra->kind == TRACE_EXTRA_TEXT)
            annotate_text(perfetto, key, extra->text, extra->text_length);
        else if (key)
            annotate_unsigned(perfetto, key, extra->value);
    }
    if (zone->is_open)
        annotate_true(perfetto, "open");
    end_event(perfetto, zone->end_ns);
    return 0;
}

static int put_point(void *context, const struct trace_point *point, uint64_t ns)
{
    struct perfetto *perfetto = context;
    begin_event(perfetto, INSTANT, zones_uuid(perfetto, point->track, 0));
    put_category(perfetto, point->kind == TRACE_POINT_SIGNPOST ? SIGNPOST
                           : point->kind == TRACE_POINT_FRAME  ? FRAME
                                                               : MESSAGE);
    if (point->kind != TRACE_POINT_MESSAGE && point->header && point->header[0]) {
        proto_text(&perfetto->event, EVENT_NAME, point->header);
    } else {
        bytes_clear(&perfetto->text);
        utf8_append_shortened(&perfetto->text, point->text, point->text_length, MESSAGE_COLUMNS, "...");
        proto_text_length(&perfetto->event, EVENT_NAME, (const char *)perfetto->text.data,
                          perfetto->text.length);
    }
    if (point->text && point->text_length)
        annotate_text(perfetto, "text", point->text, point->text_length);
    end_event(perfetto, ns);
    return 0;
}

static int put_counter(void *context, uint32_t process, const char *name, uint64_t ns, double value)
{
    struct perfetto *perfetto = context;
    begin_event(perfetto, COUNTER, counter_uuid(perfetto, ROW_COUNTER, process, name));
    proto_double(&perfetto->event, EVENT_DOUBLE_COUNTER_VALUE, value);
    end_event(perfetto, ns);
    return 0;
}

static int put_memory(void *context, uint32_t process, const char *pool, uint64_t ns, uint64_t in_use_bytes)
{
    struct perfetto *perfetto = context;
    begin_event(perfetto, COUNTER, counter_uuid(perfetto, ROW_MEMORY, process, pool));
    proto_unsigned(&perfetto->event, EVENT_COUNTER_VALUE, in_use_bytes);
    end_event(perfetto, ns);
    return 0;
}

/* The same number for an op and its runs, and for nothing else. */
static uint64_t flow_id(const struct perfetto *perfetto, uint32_t process, uint64_t call)
{
    return hash_mix(perfetto->uuid_base + process, call ^ UINT64_C(0x9e3779b97f4a7c15));
}

static void put_parts(struct perfetto *perfetto, uint32_t description)
{
    size_t count = 0;
    unsigned inputs = 0, outputs = 0, kernels = 0;
    const struct trace_part *parts =
        description == TRACE_NONE ? NULL : trace_get_description(perfetto->job->trace, description, &count);
    for (size_t i = 0; parts && i < count; i++) {
        const char *text = parts[i].text.data, *equals = strchr(text, '=');
        char name[128];
        if (parts[i].role == TRACE_PART_INPUT)
            snprintf(name, sizeof name, "input %u", inputs++);
        else if (parts[i].role == TRACE_PART_OUTPUT)
            snprintf(name, sizeof name, "output %u", outputs++);
        else if (parts[i].role == TRACE_PART_KERNEL)
            snprintf(name, sizeof name, "kernel %u", kernels++);
        else if (parts[i].role == TRACE_PART_ATTRIBUTE && equals && equals - text < 100)
            snprintf(name, sizeof name, "attribute %.*s", (int)(equals - text), text);
        else
            snprintf(name, sizeof name, "%s", trace_part_role_text(parts[i].role));
        bool is_pair = strncmp(name, "attribute ", 10) == 0;
        const char *value = is_pair ? equals + 1 : text;
        annotate_text(perfetto, name, value, strlen(value));
    }
}

static int put_op(void *context, const struct trace_op *op, const struct export_span *span)
{
    struct perfetto *perfetto = context;
    const char *type = trace_op_type_text(op->type);
    uint64_t uuid = spans_uuid(perfetto, ROW_OPS, op->track, span->lane);
    begin_event(perfetto, SLICE_BEGIN, uuid);
    put_category(perfetto, OP);
    put_name(perfetto, op->name);
    if (op->call)
        proto_fixed64(&perfetto->event, EVENT_FLOW, flow_id(perfetto, op->process, op->call));
    annotate_unsigned(perfetto, "call", op->call);
    annotate_text(perfetto, "type", type, strlen(type));
    for (uint32_t i = 0; i < op->part_count; i++)
        annotate_figure(perfetto, &op->parts[i]);
    if (op->device != TRACE_NONE)
        annotate_unsigned(perfetto, "device", op->device);
    put_parts(perfetto, op->description);
    end_event(perfetto, span->start_ns);
    begin_event(perfetto, SLICE_END, uuid);
    if (span->is_open)
        annotate_true(perfetto, "open");
    end_event(perfetto, span->end_ns);
    return 0;
}

static int put_run(void *context, const struct trace_run *run, const struct export_span *span)
{
    struct perfetto *perfetto = context;
    uint64_t uuid = spans_uuid(perfetto, ROW_RUNS, run->track, span->lane);
    begin_event(perfetto, SLICE_BEGIN, uuid);
    put_category(perfetto, RUN);
    put_name(perfetto, run->name);
    if (run->call) {
        proto_fixed64(&perfetto->event, EVENT_FLOW, flow_id(perfetto, run->process, run->call));
        annotate_unsigned(perfetto, "call", run->call);
    }
    if (run->session)
        annotate_unsigned(perfetto, "session", run->session);
    annotate_unsigned(perfetto, "cores", run->cores);
    annotate_unsigned(perfetto, "start ticks", run->start);
    annotate_unsigned(perfetto, "ticks", run->duration);
    if (run->flags & TRACE_RUN_ESTIMATED)
        annotate_true(perfetto, "estimated");
    for (uint32_t i = 0; i < run->part_count; i++)
        annotate_figure(perfetto, &run->parts[i]);
    end_event(perfetto, span->start_ns);
    begin_event(perfetto, SLICE_END, uuid);
    end_event(perfetto, span->end_ns);
    return 0;
}

static int put_loss(void *context, const struct trace_loss *loss)
{
    struct perfetto *perfetto = context;
    const char *reason = trace_loss_reason_text(loss->reason);
    char words[96];
    bool has_track = loss->track < perfetto->job->track_count;
    begin_event(perfetto, INSTANT,
                has_track ? zones_uuid(perfetto, loss->track, 0) : process_uuid(perfetto, loss->process));
    put_category(perfetto, LOSS);
    export_loss_text(loss, words, sizeof words);
    proto_text(&perfetto->event, EVENT_NAME, words);
    annotate_text(perfetto, "reason", reason, strlen(reason));
    annotate_unsigned(perfetto, "zones", loss->zones);
    annotate_unsigned(perfetto, "records", loss->records);
    annotate_unsigned(perfetto, "from_ns", loss->from_ns);
    annotate_unsigned(perfetto, "to_ns", loss->to_ns);
    end_event(perfetto, export_loss_ns(perfetto->job, loss));
    return 0;
}

/* --- all of it --- */

static bool is_first(struct perfetto *perfetto, uint64_t scope, uint64_t number)
{
    uint64_t key[2] = {scope, number};
    if (number == 0 || number > INT32_MAX || intern_find(&perfetto->taken, key, sizeof key) != INTERN_NONE)
        return false;
    return intern_add(&perfetto->taken, key, sizeof key) != INTERN_NONE;
}

/* Who keeps its pid and tid: the first that has it. */
static void choose_native(struct perfetto *perfetto)
{
    const struct export_job *job = perfetto->job;
    for (uint32_t i = 0; i < job->process_count; i++) {
        const struct trace_process *process = trace_get_process(job->trace, i);
        perfetto->is_native[i] = process->pid > 0 && is_first(perfetto, UINT64_MAX, (uint64_t)process->pid);
    }
    for (uint32_t i = 0; i < job->track_count; i++) {
        const struct trace_track *track = trace_get_track(job->trace, i);
        if (track->kind == TRACE_TRACK_THREAD && track->process < job->process_count &&
            perfetto->is_native[track->process])
            perfetto->is_native_thread[i] = is_first(perfetto, track->process, track->number);
    }
}

/* Different for each recording, the same for each export of it. */
static uint64_t recording_hash(const struct export_job *job)
{
    const struct trace_info *info = job->info;
    uint64_t hash = hash_mix(info->start_ns ^ UINT64_C(0x6f7073636f7065), info->end_ns + 1);
    const char *texts[] = {info->host, info->command};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        hash = texts[i] ? hash_bytes(texts[i], strlen(texts[i]), hash) : hash;
    for (uint32_t i = 0; i < job->process_count && i < 16; i++)
        hash = hash_mix(hash ^ (uint64_t)trace_get_process(job->trace, i)->pid, UINT64_C(0x9e3779b97f4a7c15));
    return hash;
}

static int describe_rows(struct perfetto *perfetto)
{
    struct export_job *job = perfetto->job;
    int result = 0;
    for (uint32_t i = 0; i < job->process_count && result == 0; i++) {
        if (trace_filter_wants_process(job->filter, i))
            process_uuid(perfetto, i);
        result = export_flush(job, false);
    }
    for (uint32_t i = 0; i < job->track_count && result == 0; i++) {
        if (trace_filter_wants_track(job->filter, i))
            zones_uuid(perfetto, i, 0);
        result = export_flush(job, false);
    }
    return result;
}

static void free_perfetto(struct perfetto *perfetto)
{
    struct bytes *buffers[] = {&perfetto->figure, &perfetto->key,   &perfetto->packet,   &perfetto->event,
                               &perfetto->inner,  &perfetto->entry, &perfetto->interned, &perfetto->text};
    for (size_t i = 0; i < COUNT_OF(buffers); i++)
        bytes_free(buffers[i]);
    free(perfetto->is_native);
    free(perfetto->is_native_thread);
    free(perfetto->track_uuids);
    free(perfetto->name_sent);
    intern_free(&perfetto->rows);
    intern_free(&perfetto->taken);
}

int export_write_perfetto(struct export_job *job)
{
    struct perfetto perfetto = {.job = job};
    const struct export_events events = {
        .context = &perfetto,
        .zones = {.context = &perfetto, .begin = zone_begin, .end = zone_end, .extras = EXPORT_EXTRAS_AT_END},
        .point = put_point,
        .counter = put_counter,
        .memory = put_memory,
        .op = put_op,
        .run = put_run,
        .loss = put_loss,
    };
    uint64_t hash = recording_hash(job);
    /* Room for 2^32 rows above the base, and never 0, which means "no track". */
    perfetto.uuid_base = (hash & UINT64_C(0x7fffffff00000000)) | UINT64_C(0x100000000);
    perfetto.sequence = (uint32_t)hash | 1;
    perfetto.name_count = trace_name_count(job->trace);
    perfetto.name_sent = calloc(perfetto.name_count + 1, sizeof *perfetto.name_sent);
    perfetto.is_native = calloc(job->process_count + 1, sizeof *perfetto.is_native);
    perfetto.is_native_thread = calloc(job->track_count + 1, sizeof *perfetto.is_native_thread);
    perfetto.track_uuids = calloc(job->track_count + 1, sizeof *perfetto.track_uuids);
    int result = 0;
    if (!perfetto.name_sent || !perfetto.is_native || !perfetto.is_native_thread || !perfetto.track_uuids) {
        result = export_no_memory(job);
    } else {
        choose_native(&perfetto);
        put_first_packet(&perfetto);
        result = describe_rows(&perfetto);
    }
    if (result == 0)
        result = export_each_event(job, &events);
    free_perfetto(&perfetto);
    return result;
}
