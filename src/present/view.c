/* SPDX-License-Identifier: Apache-2.0 */
#include "present/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "present/format.h"
#include "present/loss_text.h"
#include "text/utf8.h"

#define NAMED_OPEN_ZONES 3u
#define NAME_COLUMNS 40u /* of a name in a sentence */

void view_free(struct view *view)
{
    report_free(&view->report);
    trace_filter_free(&view->filter);
    trace_close(view->trace);
    bytes_free(&view->stdin_data);
    free(view->has_shared_name);
    free(view->folder);
    place_labels_free(&view->places);
}

void view_note_rows(struct view *view, size_t shown, size_t count)
{
    struct number_text number;
    if (shown < count && view->output.format == OUTPUT_TERMINAL)
        report_note(&view->report, TABLE_DIM, "%zu of %s rows (--all shows all)", shown,
                    format_count(&number, count));
}

uint64_t view_since_start(const struct view *view, uint64_t ns)
{
    return ns > view->origin_ns ? ns - view->origin_ns : 0;
}

/* What is shown of a file's path. */
static const char *place_file(struct view *view, const struct trace_name *name)
{
    struct error err; /* without memory, whole paths are shown */
    if (!view->is_wide && !view->has_places && view->output.format == OUTPUT_TERMINAL) {
        view->has_places = true;
        place_labels_make(&view->places, view->trace, &err);
    }
    return place_label_file(&view->places, name);
}

void view_set_place(struct view *view, struct table *table, size_t location, size_t file, size_t line,
                    uint32_t name_id, uint32_t place_count)
{
    const struct trace_name *name = trace_get_name(view->trace, name_id);
    if (place_count > 1) {
        table_set_format(table, location, "%u places", place_count);
        table_set_style(table, location, TABLE_DIM);
        return;
    }
    const char *path = place_file(view, name);
    if (*path && name->line)
        table_set_format(table, location, "%s:%" PRIu32, path, name->line);
    else if (*path || name->function[0])
        table_set_text(table, location, *path ? path : name->function);
    if (name->file[0])
        table_set_text(table, file, name->file);
    if (name->line)
        table_set_unsigned(table, line, name->line);
}

const struct trace_process *view_process_of(const struct view *view, uint32_t track)
{
    const struct trace_track *t = track == TRACE_NONE ? NULL : trace_get_track(view->trace, track);
    return t && t->process != TRACE_NONE ? trace_get_process(view->trace, t->process) : NULL;
}

void view_set_process(struct view *view, struct table *table, size_t column, uint32_t process)
{
    const struct trace_process *p = process == TRACE_NONE ? NULL : trace_get_process(view->trace, process);
    char program[64];
    if (p)
        table_set_format(table, column, "%" PRId64 " %s", p->pid, label_program(p, program, sizeof program));
}

/* Marks the tracks that share their name with another one of their process. */
static bool *find_shared_names(const struct trace *trace)
{
    size_t count = trace_track_count(trace);
    bool *is_shared = calloc(count + 1, sizeof *is_shared);
    uint32_t *first = malloc((count + 1) * sizeof *first); /* track by id in `names` */
    struct intern names = {0};
    struct bytes key = {0};
    for (uint32_t i = 0; is_shared && first && i < count; i++) {
        const struct trace_track *track = trace_get_track(trace, i);
        if (!track->name || !*track->name)
            continue;
        bytes_clear(&key);
        bytes_append_u32(&key, track->process);
        bytes_append_text(&key, track->name);
        size_t known = names.count;
        uint32_t id = key.failed ? INTERN_NONE : intern_add(&names, key.data, key.length);
        if (id == INTERN_NONE)
            break; /* without memory the names stay bare */
        if (id == known)
            first[id] = i;
        else
            is_shared[i] = is_shared[first[id]] = true;
    }
    intern_free(&names);
    bytes_free(&key);
    free(first);
    return is_shared;
}

const char *view_track_name(struct view *view, uint32_t track, char *buffer, size_t size)
{
    const struct trace_track *t = track == TRACE_NONE ? NULL : trace_get_track(view->trace, track);
    if (!view->has_shared_name && view->output.format == OUTPUT_TERMINAL)
        view->has_shared_name = find_shared_names(view->trace);
    if (!t || !view->has_shared_name || !view->has_shared_name[track])
        return label_track(view->trace, track, buffer, size);
    snprintf(buffer, size, "%s %" PRIu64, t->name, t->number);
    return buffer;
}

void view_set_track(struct view *view, struct table *table, size_t column, uint32_t track)
{
    char label[160];
    if (track != TRACE_NONE)
        table_set_text(table, column, view_track_name(view, track, label, sizeof label));
}

static void note_losses(struct view *view, const struct loss_sums *sums)
{
    struct loss_text lost, part;
    struct number_text paused;
    struct bytes reasons = {0};
    for (uint32_t i = 0; i < TRACE_LOSS_REASONS; i++) {
        if (sums->by_reason[i].events == 0 || i == TRACE_LOSS_LATE_ENDS || i == TRACE_LOSS_DROPPED_OLD)
            continue;
        bytes_append_format(&reasons, "%s%s: %s", reasons.length ? "; " : "", trace_loss_reason_text(i),
                            loss_sum_text(&part, &sums->by_reason[i]));
    }
    if (sums->lost.events)
        report_note(&view->report, TABLE_BAD, "lost: %s (%.*s); see opscope info %s",
                    loss_sum_text(&lost, &sums->lost), (int)reasons.length, (const char *)reasons.data,
                    view->path);
    if (sums->late_ends.events)
        report_note(&view->report, TABLE_WARN, "late: %s closed later than they ended; see opscope info %s",
                    loss_sum_text(&lost, &sums->late_ends), view->path);
    if (sums->paused_ns)
        report_note(&view->report, TABLE_NORMAL, "paused: nothing was recorded for %s",
                    format_time(&paused, sums->paused_ns));
    if (sums->old.events)
        report_note(&view->report, TABLE_WARN, "dropped: %s older than the size limit (--max-size) holds",
                    loss_sum_text(&lost, &sums->old));
    bytes_free(&reasons);
}

static void json_losses(struct json *json, const struct loss_sums *sums)
{
    json_key(json, "losses");
    json_array(json, JSON_LINES);
    for (uint32_t i = 0; i < TRACE_LOSS_REASONS; i++) {
        if (sums->by_reason[i].events == 0)
            continue;
        json_object(json, JSON_INLINE);
        json_member_text(json, "reason", trace_loss_reason_text(i));
        json_member_unsigned(json, "zones", sums->by_reason[i].zones);
        json_member_unsigned(json, "records", sums->by_reason[i].records);
        json_end(json);
    }
    json_end(json);
}

static void json_open_zone(struct view *view, struct json *json, const struct trace_open_zone *zone)
{
    char label[64];
    const struct trace_process *process = view_process_of(view, zone->track);
    json_object(json, JSON_INLINE);
    json_member_text(json, "name", trace_get_name(view->trace, zone->name)->name);
    json_key(json, "pid");
    if (process)
        json_integer(json, process->pid);
    else
        json_null(json);
    json_member_text(json, "thread", label_track(view->trace, zone->track, label, sizeof label));
    json_member_unsigned(json, "depth", zone->depth);
    json_member_unsigned(json, "start_ns", view_since_start(view, zone->start));
    json_member_unsigned(json, "running_ns", zone->seen - zone->start);
    json_end(json);
}

void view_add_open_zones(struct view *view)
{
    size_t count = 0, wanted = 0;
    const struct trace_open_zone *zones = trace_get_open_zones(view->trace, &count);
    struct number_text number;
    struct bytes names = {0};
    bool is_json = report_is_json(&view->report);
    if (is_json) {
        json_key(&view->report.json, "open_zones");
        json_array(&view->report.json, JSON_LINES);
    }
    for (size_t i = 0; i < count; i++) {
        if (!trace_filter_wants_track(&view->filter, zones[i].track) ||
            !trace_filter_wants_name(&view->filter, zones[i].name))
            continue;
        struct number_text time;
        if (!trace_filter_wants_span(&view->filter, zones[i].start, zones[i].seen))
            continue;
        if (is_json)
            json_open_zone(view, &view->report.json, &zones[i]);
        if (wanted++ < NAMED_OPEN_ZONES) {
            const char *name = trace_get_name(view->trace, zones[i].name)->name;
            bytes_append_text(&names, wanted > 1 ? ", " : "");
            utf8_append_shortened(&names, name, strlen(name), NAME_COLUMNS, "..");
            bytes_append_format(&names, " (%s)", format_time(&time, zones[i].seen - zones[i].start));
        }
    }
    if (is_json)
        json_end(&view->report.json);
    if (wanted)
        report_note(&view->report, TABLE_WARN, "open: %s had not ended: %s%s",
                    format_things(&number, wanted, "zone"), bytes_text(&names),
                    wanted > NAMED_OPEN_ZONES ? " ..." : "");
    bytes_free(&names);
}

void view_add_table(struct view *view, const struct table *table, const char *what)
{
    if (table->row_count == 0 && view->output.format == OUTPUT_TERMINAL)
        report_note(&view->report, TABLE_NORMAL, "no %s%s", what,
                    view->filter.is_everything ? " in this trace" : " match the filters");
    else
        report_table(&view->report, "rows", table);
}

void view_add_state(struct view *view)
{
    const struct trace_info *info = trace_get_info(view->trace);
    struct number_text number;
    struct loss_sums sums;
    loss_sums_make(&sums, view->trace, &view->filter);
    if (report_is_json(&view->report)) {
        report_bool(&view->report, "is_complete", NULL, info->is_complete);
        report_bool(&view->report, "is_salvaged", NULL, info->is_salvaged);
        json_losses(&view->report.json, &sums);
    }
    note_losses(view, &sums);
    if (info->damaged_blocks)
        report_note(&view->report, TABLE_BAD, "damaged: %s could not be read",
                    format_things(&number, info->damaged_blocks, "block"));
    if (info->is_salvaged)
        report_note(&view->report, TABLE_WARN, "salvaged: only what was found whole by a scan of the file");
    else if (!info->is_complete)
        report_note(
            &view->report, TABLE_WARN,
            "unfinished: this trace is still being written, or its collector died (see opscope recover)");
}
