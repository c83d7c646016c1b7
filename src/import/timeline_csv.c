/* SPDX-License-Identifier: Apache-2.0 */
#include "import/timeline_csv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "text/file_map.h"

#define SLICES_MAX 64u
#define LANES_MAX 256u
#define CYCLES_MAX 1000000000000000u /* beyond it, a time in ns would not be exact */

enum form { NO_FORM, FORM_TASKS, FORM_TASKS_WITHOUT_BYTES, FORM_UNITS, FORM_UNITS_WITHOUT_HEADER, FORM_ALL };

struct reading {
    struct timeline *timeline;
    struct timeline_csv_faults *faults;
    enum form form;
    uint64_t line;
    uint64_t slice_ends[SLICES_MAX];
    unsigned slices;
};

/* Spaces do not count. */
static bool is_header(struct slice line, const char *words)
{
    for (size_t i = 0; i < line.length; i++) {
        if (line.data[i] == ' ')
            continue;
        if (!*words || line.data[i] != *words)
            return false;
        words++;
    }
    return !*words;
}

/* The compiler's events; those of the runtime's profiles, one of which has the same header, are others. */
static bool is_compiler_row(struct slice row)
{
    static const char *const events[] = {"DMA", "CDMA", "Slice", "CSS"};
    for (int field = 0; field < 3 && row.length; field++)
        row = slice_after(row, ",");
    row = slice_trim(row);
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        if (slice_begins(row, events[i]))
            return true;
    }
    return false;
}

/* "DI0,0,77,": until 2026-02 there was no header. */
static bool is_unit_row(struct slice line)
{
    size_t at = slice_begins(line, "DI") || slice_begins(line, "DO") ? 2 : slice_begins(line, "S") ? 1 : 0;
    size_t commas = 0, digits = 0;
    for (; at && at < line.length && commas < 3; at++) {
        bool is_digit = line.data[at] >= '0' && line.data[at] <= '9';
        if (!is_digit && (line.data[at] != ',' || !digits))
            return false;
        digits = is_digit ? digits + 1 : 0;
        commas += !is_digit;
    }
    return commas == 3;
}

static enum form form_of(struct slice text)
{
    struct slice line = slice_trim(slice_before(text, "\n")), rest = slice_after(text, "\n");
    if (is_header(line, "taskId,elapsed_time(us),timestamp(us),event,location,bytes") ||
        is_header(line, "actionIndex,elapsed_time(us),timestamp(us),event,location,bytes"))
        return FORM_TASKS;
    if (is_header(line, "taskId,elapsed_time(us),timestamp(us),event,location") ||
        (is_header(line, "actionIndex,elapsed_time(us),timestamp(us),event,location") &&
         is_compiler_row(slice_before(rest, "\n"))))
        return FORM_TASKS_WITHOUT_BYTES;
    if (timeline_all_is_one(line))
        return FORM_ALL;
    return is_header(line, "ID,Start,End,Location,OpType") ? FORM_UNITS
           : is_unit_row(line)                             ? FORM_UNITS_WITHOUT_HEADER
                                                           : NO_FORM;
}

bool timeline_csv_is_one(struct slice beginning)
{
    return form_of(beginning) != NO_FORM;
}

/* Cuts off the field before the first comma; false where there is none. */
static bool take_first(struct slice *line, struct slice *field)
{
    const char *comma = line->length ? memchr(line->data, ',', line->length) : NULL;
    if (!comma)
        return false;
    size_t length = (size_t)(comma - line->data);
    *field = slice_trim(slice_from(line->data, length));
    *line = slice_from(comma + 1, line->length - length - 1);
    return true;
}

/* Cuts off the field after the last comma. */
static bool take_last(struct slice *line, struct slice *field)
{
    const char *comma = line->length ? memrchr(line->data, ',', line->length) : NULL;
    if (!comma)
        return false;
    size_t length = (size_t)(comma - line->data);
    *field = slice_trim(slice_from(comma + 1, line->length - length - 1));
    *line = slice_from(line->data, length);
    return true;
}

bool timeline_csv_cycles(struct slice field, uint64_t *cycles)
{
    return slice_unsigned(field, cycles) && *cycles < CYCLES_MAX;
}

bool timeline_csv_lane(struct timeline *timeline, struct slice event, uint32_t *lane)
{
    static const struct {
        const char *beginning;
        enum timeline_lane_kind kind;
    } kinds[] = {{"DMA In", TIMELINE_DMA_IN}, {"memory", TIMELINE_DMA_IN}, {"DMA Out", TIMELINE_DMA_OUT},
                 {"CDMA", TIMELINE_COPY},     {"Slice", TIMELINE_SLICE},   {"engines", TIMELINE_SLICE},
                 {"CSS", TIMELINE_CORE},      {"Host", TIMELINE_HOST}};
    char name[64];
    uint32_t number = 0;
    size_t i = 0;
    snprintf(name, sizeof name, "%.*s", (int)(event.length < sizeof name ? event.length : sizeof name - 1),
             event.data);
    while (i < COUNT_OF(kinds) && !slice_begins(event, kinds[i].beginning))
        i++;
    if (slice_begins(event, "Slice ") && !slice_unsigned32(slice_after(event, "Slice "), &number))
        number = 0;
    if (timeline->lane_count >= LANES_MAX)
        return false;
    *lane = timeline_lane(timeline, name, i < COUNT_OF(kinds) ? kinds[i].kind : TIMELINE_PROGRAM, number);
    return true;
}

static uint32_t free_slice(struct reading *r, uint64_t start, uint64_t end)
{
    char name[32];
    unsigned at = 0;
    while (at < r->slices && r->slice_ends[at] > start)
        at++;
    at = at < SLICES_MAX ? at : SLICES_MAX - 1;
    r->slices = at < r->slices ? r->slices : at + 1;
    r->slice_ends[at] = end;
    snprintf(name, sizeof name, "Slice %u", at);
    return timeline_lane(r->timeline, name, TIMELINE_SLICE, at);
}

static bool read_task(struct reading *r, struct slice line, struct timeline_unit *unit)
{
    struct slice task, elapsed, start, event, bytes = {0};
    uint64_t cycles;
    if (!take_first(&line, &task) || !take_first(&line, &elapsed) || !take_first(&line, &start) ||
        !take_first(&line, &event) || (r->form == FORM_TASKS && !take_last(&line, &bytes)) ||
        !timeline_csv_cycles(elapsed, &cycles) || !timeline_csv_cycles(start, &unit->start) ||
        !event.length || !timeline_csv_lane(r->timeline, event, &unit->lane))
        return false;
    unit->end = unit->start + cycles;
    unit->bytes = UINT64_MAX;
    if (bytes.length && !slice_unsigned(bytes, &unit->bytes))
        return false;
    unit->location = timeline_text(r->timeline, slice_trim(line));
    return true;
}

/* The type follows the location: its last parenthesis, where it has one, since types may be lists as well. */
static bool take_type(struct slice *line, struct slice *type)
{
    for (size_t i = line->length; i-- > 1;) {
        if (line->data[i] != ',' || line->data[i - 1] != ')')
            continue;
        *type = slice_trim(slice_from(line->data + i + 1, line->length - i - 1));
        *line = slice_from(line->data, i);
        return true;
    }
    return take_last(line, type);
}

static bool read_unit(struct reading *r, struct slice line, struct timeline_unit *unit)
{
    struct slice id, start, end, type;
    if (!take_first(&line, &id) || !take_first(&line, &start) || !take_first(&line, &end) ||
        !take_type(&line, &type) || !timeline_csv_cycles(start, &unit->start) ||
        !timeline_csv_cycles(end, &unit->end) || unit->end < unit->start)
        return false;
    unit->bytes = UINT64_MAX;
    bool is_slice = slice_begins(id, "S");
    if (slice_begins(id, "DI"))
        unit->lane = timeline_lane(r->timeline, "DMA In", TIMELINE_DMA_IN, 0);
    else if (slice_begins(id, "DO"))
        unit->lane = timeline_lane(r->timeline, "DMA Out", TIMELINE_DMA_OUT, 0);
    else if (is_slice)
        unit->lane = free_slice(r, unit->start, unit->end);
    else
        return false;
    if (is_slice)
        unit->name = timeline_text(r->timeline, type);
    unit->location = timeline_text(r->timeline, slice_trim(line));
    return true;
}

static void read_row(struct reading *r, struct slice line)
{
    struct timeline_unit *unit = timeline_add_unit(r->timeline);
    if (!unit || (r->form >= FORM_UNITS ? read_unit(r, line, unit) : read_task(r, line, unit)))
        return;
    r->timeline->unit_count--;
    if (!r->faults->rows++)
        r->faults->first_line = r->line;
}

/* What the rows belong to is not in them. */
static void add_dispatch(struct timeline *timeline)
{
    struct timeline_dispatch *dispatch = timeline_add_dispatch(timeline);
    if (!dispatch)
        return;
    dispatch->name = timeline_text(timeline, slice_of("timeline"));
    dispatch->start = timeline->units[0].start;
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        dispatch->start = unit->start < dispatch->start ? unit->start : dispatch->start;
        dispatch->end = unit->end > dispatch->end ? unit->end : dispatch->end;
    }
}

int timeline_csv_read_text(struct timeline *timeline, const char *path, struct slice text,
                           struct timeline_csv_faults *faults, struct error *err)
{
    struct reading r = {.timeline = timeline, .faults = faults};
    *timeline = (struct timeline){0};
    *faults = (struct timeline_csv_faults){0};
    r.form = form_of(text);
    if (text.length && r.form == NO_FORM)
        return error_set(err, EINVAL,
                         "%s:1: not a timeline: its header is neither 'taskId, elapsed_time(us), ...' nor "
                         "'ID,Start,End,Location,Op Type' nor 'dispatch,lane,task,...'",
                         path);
    int status = r.form == FORM_ALL ? timeline_all_read(timeline, path, text, faults, err) : 0;
    while (r.form != FORM_ALL && text.length && !timeline->failed) {
        const char *newline = memchr(text.data, '\n', text.length);
        size_t length = newline ? (size_t)(newline - text.data) : text.length;
        struct slice line = slice_trim(slice_from(text.data, length));
        text = slice_from(text.data + length + (newline != NULL), text.length - length - (newline != NULL));
        if ((r.line++ || r.form == FORM_UNITS_WITHOUT_HEADER) && line.length)
            read_row(&r, line);
    }
    if (status)
        return status;
    if (!timeline->failed && !timeline->unit_count)
        return error_set(err, EINVAL, "%s: a timeline without a row that can be read", path);
    if (!timeline->failed && r.form != FORM_ALL)
        add_dispatch(timeline);
    return timeline_check(timeline, err);
}

int timeline_csv_read(struct timeline *timeline, const char *path, struct timeline_csv_faults *faults,
                      struct error *err)
{
    struct file_map file;
    *timeline = (struct timeline){0};
    int status = file_map_open(&file, path, err);
    if (status)
        return status;
    status = timeline_csv_read_text(timeline, path, slice_from(file.data ? file.data : "", file.length),
                                    faults, err);
    file_map_close(&file);
    return status;
}
