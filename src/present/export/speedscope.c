/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's own format: a table of frames, and for each thread a profile of "open" and "close" events in ns
 * since the start of the trace. Zones only; a window cuts them at its borders, so that widths are true.
 *
 * The events of one profile must stand together, while the trace has the threads interleaved: they are kept in
 * a temporary file (struct export_sheaf) that is as large as the output, and copied from there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "present/export/order.h"
#include "present/export/spill.h"
#include "present/format.h"
#include "text/json/writer.h"

struct profile_key {
    uint32_t track, lane;
};

struct profile {
    struct profile_key key;
    uint64_t first_ns, last_ns;
};

struct speedscope {
    struct export_job *job;
    struct export_sheaf sheaf; /* text i: events of profile i */
    struct intern keys;
    struct profile *profiles;
    size_t capacity;
    uint32_t *lane_0; /* by track: its profile + 1 */
    size_t frame_count;
    struct bytes scratch;
};

/* The profile's number, or INTERN_NONE. */
static uint32_t profile_number(struct speedscope *s, uint32_t track, uint32_t lane)
{
    struct profile_key key = {.track = track, .lane = lane};
    if (lane == 0 && s->lane_0[track])
        return s->lane_0[track] - 1;
    size_t before = s->keys.count;
    uint32_t number = intern_add(&s->keys, &key, sizeof key);
    if (number == INTERN_NONE ||
        !array_reserve(&s->profiles, &s->capacity, s->keys.count, sizeof *s->profiles))
        return INTERN_NONE;
    if (number == before)
        s->profiles[number] = (struct profile){.key = key, .first_ns = UINT64_MAX};
    if (lane == 0)
        s->lane_0[track] = number + 1;
    return number;
}

static int put_event(struct speedscope *s, const struct export_zone *zone, uint32_t lane, bool is_open,
                     uint64_t ns)
{
    uint32_t number = profile_number(s, zone->track, lane);
    if (number == INTERN_NONE)
        return export_no_memory(s->job);
    struct profile *profile = &s->profiles[number];
    uint64_t at = export_relative_ns(s->job, ns);
    bytes_clear(&s->scratch);
    if (profile->first_ns != UINT64_MAX)
        bytes_append_text(&s->scratch, ",\n");
    bytes_append_text(&s->scratch, is_open ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
    /* Names that the file does not define share the last frame. */
    export_append_unsigned(&s->scratch, zone->name < s->frame_count ? zone->name : s->frame_count);
    bytes_append_text(&s->scratch, ",\"at\":");
    export_append_unsigned(&s->scratch, at);
    bytes_append_text(&s->scratch, "}");
    if (s->scratch.failed)
        return export_no_memory(s->job);
    profile->first_ns = profile->first_ns == UINT64_MAX ? at : profile->first_ns;
    profile->last_ns = at;
    return export_sheaf_append(&s->sheaf, number, s->scratch.data, s->scratch.length, s->job->err);
}

static int zone_begin(void *context, const struct export_zone *zone, uint32_t lane,
                      const struct export_zone_rest *rest)
{
    (void)rest;
    return put_event(context, zone, lane, true, zone->start_ns);
}

static int zone_end(void *context, const struct export_zone *zone, uint32_t lane,
                    const struct export_zone_rest *rest)
{
    (void)rest;
    return put_event(context, zone, lane, false, zone->end_ns);
}

static void member(struct bytes *out, const char *key, const char *text)
{
    json_append_string(out, key, strlen(key));
    bytes_append_text(out, ":");
    json_append_string(out, text, strlen(text));
}

static int put_frames(struct speedscope *s)
{
    struct bytes *out = &s->job->out;
    int result = 0;
    for (uint32_t i = 0; i <= s->frame_count && result == 0; i++) {
        const struct trace_name *name = trace_get_name(s->job->trace, i < s->frame_count ? i : TRACE_NONE);
        bytes_append_text(out, i ? ",\n{" : "\n{");
        member(out, "name", name->name);
        if (name->file && name->file[0]) {
            bytes_append_text(out, ",");
            member(out, "file", name->file);
            if (name->line)
                bytes_append_format(out, ",\"line\":%u", name->line);
        }
        bytes_append_text(out, "}");
        result = export_flush(s->job, false);
    }
    return result;
}

/* What the recording lost cannot be an event here: it is in the title, where nobody misses it. */
static void put_head(struct speedscope *s)
{
    struct export_job *job = s->job;
    struct bytes *out = &job->out, title = {0};
    struct number_text lost;
    bytes_append_text(&title, job->options->title ? job->options->title : "opscope");
    if (job->counts->lost_zones)
        bytes_append_format(&title, " (%s lost)", format_things(&lost, job->counts->lost_zones, "zone"));
    bytes_append_text(out,
                      "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":");
    json_append_string(out, "opscope " OPSCOPE_VERSION, strlen("opscope " OPSCOPE_VERSION));
    bytes_append_text(out, ",\n\"name\":");
    json_append_string(out, (const char *)title.data, title.length);
    bytes_append_text(out, ",\n\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
    out->failed |= title.failed;
    bytes_free(&title);
}

static int copy_events(void *context, const void *data, size_t length)
{
    struct export_job *job = context;
    bytes_append(&job->out, data, length);
    return export_flush(job, false);
}

static int put_profile(struct speedscope *s, uint32_t number)
{
    struct export_job *job = s->job;
    struct bytes *out = &job->out;
    const struct profile *profile = &s->profiles[number];
    uint32_t process_id = export_track_process(job, profile->key.track);
    const struct trace_process *process = trace_get_process(job->trace, process_id);
    bytes_clear(&s->scratch);
    bytes_append_format(&s->scratch, "%s %" PRId64 ": %s", export_process_label(job, process_id),
                        process ? process->pid : INT64_C(-1), export_track_label(job, profile->key.track));
    if (profile->key.lane)
        bytes_append_format(&s->scratch, " (%u)", profile->key.lane + 1);
    bytes_append_text(out,
                      number ? ",\n{\"type\":\"evented\",\"name\":" : "\n{\"type\":\"evented\",\"name\":");
    json_append_string(out, (const char *)s->scratch.data, s->scratch.length);
    bytes_append_text(out, ",\"unit\":\"nanoseconds\",\"startValue\":");
    export_append_unsigned(out, profile->first_ns);
    bytes_append_text(out, ",\"endValue\":");
    export_append_unsigned(out, profile->last_ns);
    bytes_append_text(out, ",\"events\":[\n");
    int result = export_sheaf_read(&s->sheaf, number, copy_events, job, job->err);
    bytes_append_text(out, "]}");
    return result;
}

int export_write_speedscope(struct export_job *job)
{
    struct speedscope s = {.job = job, .frame_count = trace_name_count(job->trace)};
    const struct export_visitor visitor = {.context = &s, .begin = zone_begin, .end = zone_end};
    export_sheaf_open(&s.sheaf);
    job->progress_total = EXPORT_ORDER_PASSES * export_block_count(job, TRACE_BLOCK_ZONES);
    s.lane_0 = calloc(job->track_count + 1, sizeof *s.lane_0);
    int result = s.lane_0 ? 0 : export_no_memory(job);
    if (result == 0)
        result = export_order_zones(job, &visitor);
    if (result == 0) {
        put_head(&s);
        result = put_frames(&s);
        bytes_append_text(&job->out, "\n]},\n\"profiles\":[");
    }
    for (uint32_t i = 0; i < s.keys.count && result == 0; i++)
        result = put_profile(&s, i);
    bytes_append_text(&job->out, "\n]}\n");
    export_sheaf_close(&s.sheaf);
    intern_free(&s.keys);
    free(s.profiles);
    free(s.lane_0);
    bytes_free(&s.scratch);
    return result;
}
