/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/torq_tracks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/estimate/metrics.h"
#include "base/count_of.h"
#include "base/intern.h"
#include "base/map.h"
#include "present/export/perfetto_fields.h"
#include "present/export/proto.h"
#include "present/format.h"

enum { SLICE_BEGIN = 1, SLICE_END = 2, CHRONOLOGICAL = 2 };

/* A bar of a track. */
struct bar {
    uint64_t start, end; /* ns */
    uint32_t name;       /* in writing.names */
};

struct bars {
    struct bar *items;
    size_t count, capacity;
};

/* Units of the estimate that stand at the time of a run, by place. */
struct location {
    uint32_t text;            /* in writing.names: the place */
    uint32_t label;           /* the same, as people know it: "tosa.add@L3" */
    struct timeline timeline; /* its units; ns */
    uint64_t union_ns;
};

struct writing {
    const struct measured *measured;
    const struct timeline *estimate;
    struct bytes *out;
    struct bytes packet, inner, text;
    uint64_t uuid, origin_ns;
    struct intern names;
    uint32_t *units;   /* of the estimate, by the task that started them: */
    size_t *first;     /* units[first[task]] to units[first[task + 1]] */
    struct map rows;   /* dispatch and action: the first row */
    struct map waits;  /* dispatch and job: the action that waits */
    struct map places; /* a place: its location */
    struct location *locations;
    size_t location_count, location_capacity;
    bool failed;
};

/* --- packets --- */

static void put_packet(struct writing *w, uint32_t field, uint64_t ns, bool has_time)
{
    bytes_clear(&w->packet);
    if (has_time)
        proto_unsigned(&w->packet, PACKET_TIMESTAMP, ns);
    proto_unsigned(&w->packet, PACKET_SEQUENCE, 1);
    proto_message(&w->packet, field, &w->inner);
    proto_message(w->out, TRACE_PACKET, &w->packet);
}

static uint64_t put_track(struct writing *w, const char *name, const char *suffix, uint64_t parent)
{
    bytes_clear(&w->text);
    bytes_append_format(&w->text, "%s%s", name, suffix);
    bytes_clear(&w->inner);
    proto_unsigned(&w->inner, DESCRIPTOR_UUID, ++w->uuid);
    proto_text(&w->inner, DESCRIPTOR_NAME, bytes_text(&w->text));
    if (parent)
        proto_unsigned(&w->inner, DESCRIPTOR_PARENT, parent);
    else
        proto_unsigned(&w->inner, DESCRIPTOR_ORDERING, CHRONOLOGICAL);
    put_packet(w, PACKET_TRACK_DESCRIPTOR, 0, false);
    return w->uuid;
}

static void put_event(struct writing *w, uint64_t track, unsigned type, uint64_t ns, const char *name,
                      const char *category)
{
    bytes_clear(&w->inner);
    proto_unsigned(&w->inner, EVENT_TYPE, type);
    proto_unsigned(&w->inner, EVENT_TRACK, track);
    if (category)
        proto_text(&w->inner, EVENT_CATEGORY, category);
    if (name)
        proto_text(&w->inner, EVENT_NAME, name);
    put_packet(w, PACKET_TRACK_EVENT, w->origin_ns + ns, true);
}

static uint32_t add_name(struct writing *w, const struct bytes *text)
{
    uint32_t id = intern_add(&w->names, text->data ? (const char *)text->data : "", text->length);
    w->failed |= id == INTERN_NONE || text->failed;
    return id;
}

static void add_bar(struct writing *w, struct bars *bars, uint64_t start, uint64_t end, uint32_t name)
{
    if (!array_reserve(&bars->items, &bars->capacity, bars->count + 1, sizeof bars->items[0]))
        w->failed = true;
    else
        bars->items[bars->count++] = (struct bar){start, end > start ? end : start, name};
}

static int by_start(const void *left, const void *right)
{
    const struct bar *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end < b->end) - (a->end > b->end);
}

/* Bars of a track as begins and ends in the order of time: one that ends later than the one around it ends with it. */
static void put_bars(struct writing *w, uint64_t track, struct bars *bars, const char *category)
{
    uint64_t open[64];
    size_t depth = 0;
    if (bars->count)
        qsort(bars->items, bars->count, sizeof bars->items[0], by_start);
    for (size_t i = 0; i < bars->count && !w->failed; i++) {
        struct bar *bar = &bars->items[i];
        while (depth && (open[depth - 1] <= bar->start || depth == COUNT_OF(open)))
            put_event(w, track, SLICE_END, open[--depth], NULL, NULL);
        bar->end = depth && open[depth - 1] < bar->end ? open[depth - 1] : bar->end;
        put_event(w, track, SLICE_BEGIN, bar->start, intern_text(&w->names, bar->name), category);
        open[depth++] = bar->end;
    }
    while (depth)
        put_event(w, track, SLICE_END, open[--depth], NULL, NULL);
    free(bars->items);
    *bars = (struct bars){0};
}

/* --- what ran --- */

static const char *text_of(const struct timeline *t, uint32_t text)
{
    return text == TIMELINE_NONE ? "" : timeline_get_text(t, text);
}

static uint64_t row_key(uint32_t dispatch, int64_t number)
{
    return (uint64_t)dispatch << 32 | (uint32_t)number;
}

static void look_at_rows(struct writing *w)
{
    double first_us = INFINITY;
    for (uint32_t i = 0; i < w->measured->row_count; i++) {
        const struct measured_row *row = &w->measured->rows[i];
        if (row->has_times)
            first_us = fmin(first_us, row->start_us);
        if (row->action < 0)
            continue;
        if (map_get(&w->rows, row_key(row->dispatch, row->action)) == MAP_NONE)
            w->failed |= !map_put(&w->rows, row_key(row->dispatch, row->action), i);
        if (row->job >= 0 &&
            strcmp(text_of(&w->measured->timeline, row->operation), "torq_hl.wait_program") == 0)
            w->failed |= !map_put(&w->waits, row_key(row->dispatch, row->job), (uint32_t)row->action);
    }
    w->origin_ns = isinf(first_us) ? 0 : (uint64_t)llround(first_us * 1000);
}

static const struct timeline_action *action_of(const struct writing *w, const struct map *by_source,
                                               const struct timeline_unit *unit)
{
    uint32_t found = map_get(by_source, unit->source);
    return found == MAP_NONE ? NULL : &w->estimate->actions[found];
}

/* "Nss Program | name | loc | Torq Kernels: [..] | Job: j | Start Action: a | Wait Action: b" */
static uint32_t program_name(struct writing *w, const struct timeline_unit *unit,
                             const struct timeline_action *action)
{
    const struct timeline *t = &w->measured->timeline;
    struct bytes text = {0};
    uint32_t dispatch =
        unit->dispatch < t->dispatch_count ? t->dispatches[unit->dispatch].name : TIMELINE_NONE;
    uint32_t at = action ? map_get(&w->rows, row_key(dispatch, action->number)) : MAP_NONE;
    const struct measured_row *row = at == MAP_NONE ? NULL : &w->measured->rows[at];
    bytes_append_format(&text, "Nss Program | %s",
                        text_of(t, unit->program != TIMELINE_NONE ? unit->program : unit->name));
    if (unit->location != TIMELINE_NONE)
        bytes_append_format(&text, " | %s", text_of(t, unit->location));
    if (row && row->invocations != TIMELINE_NONE)
        bytes_append_format(&text, " | Torq Kernels: [%s]", text_of(t, row->invocations));
    if (row && row->job >= 0)
        bytes_append_format(&text, " | Job: %" PRId64, row->job);
    if (action)
        bytes_append_format(&text, " | Start Action: %" PRId64, action->number);
    uint32_t wait = row && row->job >= 0 ? map_get(&w->waits, row_key(dispatch, row->job)) : MAP_NONE;
    if (wait != MAP_NONE)
        bytes_append_format(&text, " | Wait Action: %u", wait);
    uint32_t name = add_name(w, &text);
    bytes_free(&text);
    return name;
}

static void put_lane(struct writing *w, uint64_t parent, const char *name, const char *lane,
                     const struct map *by_source)
{
    const struct timeline *t = &w->measured->timeline;
    struct bars bars = {0};
    uint64_t track = put_track(w, name, "", parent);
    for (size_t i = 0; i < t->unit_count && !w->failed; i++) {
        const struct timeline_unit *unit = &t->units[i];
        if (strcmp(text_of(t, t->lanes[unit->lane].name), lane) != 0)
            continue;
        unsigned kind = t->lanes[unit->lane].kind;
        bool is_program = kind != TIMELINE_HOST && kind != TIMELINE_HOST_COPY && kind != TIMELINE_DRIVER;
        struct bytes text = {0};
        if (!is_program)
            bytes_append_text(&text, text_of(t, unit->name));
        add_bar(w, &bars, unit->start, unit->end,
                is_program ? program_name(w, unit, action_of(w, by_source, unit)) : add_name(w, &text));
        bytes_free(&text);
    }
    put_bars(w, track, &bars, NULL);
}

/* --- the estimate at the time of the run --- */

enum { PART_TASKS, PART_COPY, PART_IN, PART_OUT, PART_SLICE_0, PART_SLICE_1, PART_CSS, PARTS };
static const char *const part_names[PARTS] = {"NSS CFG Tasks", "CDMA",    "NDMA In", "NDMA Out",
                                              "Slice 0",       "Slice 1", "CSS"};

static unsigned part_of(const struct timeline_lane *lane)
{
    switch (lane->kind) {
    case TIMELINE_COPY:
        return PART_COPY;
    case TIMELINE_DMA_IN:
        return PART_IN;
    case TIMELINE_DMA_OUT:
        return PART_OUT;
    case TIMELINE_SLICE:
        return lane->number == 1 ? PART_SLICE_1 : PART_SLICE_0;
    default:
        return PART_CSS;
    }
}

static uint32_t unit_name(struct writing *w, const struct timeline_unit *unit)
{
    const struct timeline *t = w->estimate;
    struct bytes text = {0};
    if (t->lanes[unit->lane].kind == TIMELINE_SLICE)
        bytes_append_format(&text, "Slice Program | %s",
                            text_of(t, unit->program != TIMELINE_NONE ? unit->program : unit->name));
    else
        bytes_append_format(&text, "%s | %s", part_names[part_of(&t->lanes[unit->lane])],
                            text_of(t, unit->location));
    uint32_t name = add_name(w, &text);
    bytes_free(&text);
    return name;
}

/* The place of a unit, as the rows of its program have it. */
static struct location *location_of(struct writing *w, const struct timeline_unit *program,
                                    const struct measured_row *row)
{
    const struct timeline *t = &w->measured->timeline;
    uint32_t found = map_get(&w->places, program->location);
    if (found != MAP_NONE)
        return &w->locations[found];
    if (!array_reserve(&w->locations, &w->location_capacity, w->location_count + 1, sizeof w->locations[0]) ||
        !map_put(&w->places, program->location, (uint32_t)w->location_count)) {
        w->failed = true;
        return NULL;
    }
    struct location *location = &w->locations[w->location_count++];
    struct bytes text = {0};
    const char *place = text_of(t, program->location);
    bytes_append_text(&text, *place ? place : "(unknown)");
    *location = (struct location){.text = add_name(w, &text), .timeline = {.clock_mhz = 1000}};
    location->label = location->text;
    if (row && row->operators != TIMELINE_NONE) {
        bytes_clear(&text);
        bytes_append_text(&text, text_of(t, row->operators));
        location->label = add_name(w, &text);
    }
    bytes_free(&text);
    return location;
}

static void place_unit(struct writing *w, struct location *location, const struct timeline_unit *unit,
                       uint64_t start, uint64_t end)
{
    const struct timeline_lane *lane = &w->estimate->lanes[unit->lane];
    if (!location)
        return;
    uint32_t own = timeline_lane(&location->timeline, part_names[part_of(lane)],
                                 (enum timeline_lane_kind)lane->kind, lane->number);
    struct timeline_unit *placed = timeline_add_unit(&location->timeline);
    if (!placed) {
        w->failed = true;
        return;
    }
    placed->lane = own;
    placed->start = start;
    placed->end = end;
    placed->bytes = unit->bytes;
    placed->name = unit_name(w, unit); /* of writing.names */
}

static uint64_t ns_of(const struct timeline *t, uint64_t cycles)
{
    return (uint64_t)((double)cycles * 1000 / t->clock_mhz);
}

/* One run of a program: its tasks, and what they started. */
static void place_program(struct writing *w, const struct timeline_unit *program,
                          const struct timeline_action *action, struct bars bars[PARTS])
{
    const struct timeline *t = w->estimate, *own = &w->measured->timeline;
    uint64_t zero = t->tasks[action->first_task].start;
    uint32_t dispatch =
        program->dispatch < own->dispatch_count ? own->dispatches[program->dispatch].name : TIMELINE_NONE;
    uint32_t at = map_get(&w->rows, row_key(dispatch, action->number));
    struct location *location = location_of(w, program, at == MAP_NONE ? NULL : &w->measured->rows[at]);
    for (uint32_t i = action->first_task; i < action->first_task + action->tasks && !w->failed; i++) {
        struct bytes text = {0};
        bytes_append_format(&text, "Nss Cfg | Task: %" PRId64 " | %s", t->tasks[i].number,
                            text_of(own, program->location));
        add_bar(w, &bars[PART_TASKS], program->start + ns_of(t, t->tasks[i].start - zero),
                program->start + ns_of(t, t->tasks[i].end - zero), add_name(w, &text));
        bytes_free(&text);
    }
    struct bytes waiting = {0};
    bytes_append_text(&waiting, "WAITING");
    for (size_t i = w->first[action->first_task];
         i < w->first[action->first_task + action->tasks] && !w->failed; i++) {
        const struct timeline_unit *unit = &t->units[w->units[i]];
        struct bars *track = &bars[part_of(&t->lanes[unit->lane])];
        uint64_t start = program->start + ns_of(t, unit->start - zero),
                 end = program->start + ns_of(t, unit->end - zero);
        add_bar(w, track, start, end, unit_name(w, unit));
        if (unit->ready > unit->end)
            add_bar(w, track, end, program->start + ns_of(t, unit->ready - zero), add_name(w, &waiting));
        place_unit(w, location, unit, start, end);
    }
    bytes_free(&waiting);
}

/* Units by task: a counting sort. */
static bool sort_units(struct writing *w)
{
    const struct timeline *t = w->estimate;
    w->units = calloc(t->unit_count + 1, sizeof w->units[0]);
    w->first = calloc(t->task_count + 3, sizeof w->first[0]);
    if (!w->units || !w->first)
        return false;
    for (size_t i = 0; i < t->unit_count; i++) {
        if (t->units[i].task < t->task_count)
            w->first[t->units[i].task + 2]++;
    }
    for (size_t i = 2; i <= t->task_count + 1; i++)
        w->first[i] += w->first[i - 1];
    for (uint32_t i = 0; i < t->unit_count; i++) {
        if (t->units[i].task < t->task_count)
            w->units[w->first[t->units[i].task + 1]++] = i;
    }
    return true;
}

static void put_estimate(struct writing *w, const struct map *by_source)
{
    const struct timeline *t = &w->measured->timeline;
    struct bars bars[PARTS] = {0};
    for (size_t i = 0; i < t->unit_count && !w->failed; i++) {
        const struct timeline_unit *unit = &t->units[i];
        const struct timeline_action *action =
            t->lanes[unit->lane].kind == TIMELINE_PROGRAM ? action_of(w, by_source, unit) : NULL;
        if (action && action->tasks)
            place_program(w, unit, action, bars);
    }
    uint64_t parent = put_track(w, "NPU Task Breakdown", "", 0);
    for (unsigned i = 0; i < PARTS; i++)
        put_bars(w, put_track(w, part_names[i], " (Compile)", parent), &bars[i], NULL);
}

/* --- places, types, overview --- */

static int by_time(const void *left, const void *right)
{
    const struct location *a = left, *b = right;
    return (a->union_ns < b->union_ns) - (a->union_ns > b->union_ns);
}

static void put_location(struct writing *w, struct location *location, uint64_t parent, struct error *err)
{
    static const unsigned shown[] = {TIMELINE_METRIC_SLICE,        TIMELINE_METRIC_DMA,
                                     TIMELINE_METRIC_DMA_IN,       TIMELINE_METRIC_DMA_OUT,
                                     TIMELINE_METRIC_CDMA,         TIMELINE_METRIC_CSS,
                                     TIMELINE_METRIC_DMA_COMBINED, TIMELINE_METRIC_COMPUTE_COMBINED,
                                     TIMELINE_METRIC_DMA_ONLY,     TIMELINE_METRIC_COMPUTE_ONLY,
                                     TIMELINE_METRIC_OVERLAP};
    struct timeline_metrics metrics;
    struct timeline *t = &location->timeline;
    struct number_text time;
    struct bytes label = {0};
    if (timeline_measure(t, TIMELINE_NONE, &metrics, err) != 0) {
        w->failed = true;
        return;
    }
    location->union_ns = metrics.cycles[TIMELINE_METRIC_OVERALL] - metrics.cycles[TIMELINE_METRIC_IDLE];
    bytes_append_format(&label, "%s - %s", intern_text(&w->names, location->label),
                        format_time_real(&time, (double)location->union_ns));
    for (size_t i = 0; i < COUNT_OF(shown); i++) {
        if (metrics.cycles[shown[i]])
            bytes_append_format(&label, " %s %s", timeline_metric_key(shown[i]),
                                format_time_real(&time, (double)metrics.cycles[shown[i]]));
    }
    for (uint32_t lane = 0; lane < t->lane_count && !w->failed; lane++) {
        struct bars bars = {0};
        struct bytes name = {0};
        bytes_append_format(&name, "%s | %s", bytes_text(&label), text_of(t, t->lanes[lane].name));
        uint64_t track = put_track(w, bytes_text(&name), "", parent);
        bytes_free(&name);
        for (size_t i = 0; i < t->unit_count; i++) {
            if (t->units[i].lane == lane)
                add_bar(w, &bars, t->units[i].start, t->units[i].end, t->units[i].name);
        }
        put_bars(w, track, &bars, NULL);
    }
    w->failed |= label.failed;
    bytes_free(&label);
}

static void put_total(struct writing *w, uint64_t parent, unsigned number, const char *name, uint64_t ns)
{
    struct bytes text = {0};
    struct bars bars = {0};
    bytes_append_format(&text, "%02u %s", number, name);
    uint64_t track = put_track(w, bytes_text(&text), "", parent);
    add_bar(w, &bars, 0, ns, add_name(w, &text));
    put_bars(w, track, &bars, "overview");
    bytes_free(&text);
}

static void put_places(struct writing *w, struct error *err)
{
    struct intern types = {0};
    struct location *sums = calloc(w->location_count + 1, sizeof sums[0]);
    uint64_t parent = put_track(w, "Compiler Input Locations", "", 0);
    w->failed |= !sums;
    for (size_t i = 0; i < w->location_count && !w->failed; i++) {
        struct location *location = &w->locations[i];
        put_location(w, location, parent, err);
        const char *label = intern_text(&w->names, location->label);
        size_t length = *label == '@' ? strlen(label) : strcspn(label, "@");
        uint32_t type = intern_add(&types, label, length);
        w->failed |= type == INTERN_NONE;
        if (!w->failed) {
            sums[type].text = type;
            sums[type].union_ns += location->union_ns;
        }
    }
    parent = put_track(w, "Operator Type Totals", "", 0);
    if (types.count && !w->failed)
        qsort(sums, types.count, sizeof sums[0], by_time);
    for (unsigned i = 0; i < types.count && !w->failed; i++)
        put_total(w, parent, i, intern_text(&types, sums[i].text), sums[i].union_ns);
    free(sums);
    intern_free(&types);
}

static int put_overview(struct writing *w, struct error *err)
{
    static const struct {
        unsigned metric;
        const char *name;
    } shown[] = {{TIMELINE_METRIC_DMA_COMBINED, "OVERVIEW DMA COMBINED"},
                 {TIMELINE_METRIC_DMA_IN, "DMA IN"},
                 {TIMELINE_METRIC_DMA_OUT, "DMA OUT"},
                 {TIMELINE_METRIC_CDMA, "CDMA"},
                 {TIMELINE_METRIC_COMPUTE_COMBINED, "COMPUTE"},
                 {TIMELINE_METRIC_SLICE_0, "SLICE 0"},
                 {TIMELINE_METRIC_SLICE_1, "SLICE 1"},
                 {TIMELINE_METRIC_CSS, "CSS"},
                 {TIMELINE_METRIC_DMA_ONLY, "DMA ONLY"},
                 {TIMELINE_METRIC_COMPUTE_ONLY, "COMPUTE ONLY"},
                 {TIMELINE_METRIC_OVERLAP, "OVERLAP"},
                 {TIMELINE_METRIC_HOST, "HOST"},
                 {TIMELINE_METRIC_HOST_COPY, "HOST COPY"},
                 {TIMELINE_METRIC_HAL, "HAL"},
                 {TIMELINE_METRIC_IDLE, "IDLE"},
                 {TIMELINE_METRIC_OVERALL, "OVERALL"}};
    struct timeline_metrics metrics;
    int status = timeline_measure(&w->measured->timeline, TIMELINE_NONE, &metrics, err);
    uint64_t parent = put_track(w, "Runtime Overview", "", 0);
    for (unsigned i = 0; i < COUNT_OF(shown) && status == 0; i++)
        put_total(w, parent, i, shown[i].name, metrics.cycles[shown[i].metric]);
    return status;
}

static void put_run(struct writing *w, const struct map *by_source)
{
    static const char *const host[] = {"HAL", "NSS Programs", "Host Programs", "Host Copy"};
    static const char *const used[] = {"DMA In Used",  "DMA Out Used", "CDMA Used",
                                       "Slice 0 Used", "Slice 1 Used", "CSS Used"};
    uint64_t parent = put_track(w, "Host", "", 0);
    for (size_t i = 0; i < COUNT_OF(host); i++)
        put_lane(w, parent, host[i], host[i], by_source);
    parent = put_track(w, "NPU Task Breakdown", "", 0);
    for (size_t i = 0; i < PARTS; i++)
        put_track(w, part_names[i], "", parent);
    parent = put_track(w, "NPU Task Measurements", "", 0);
    for (size_t i = 0; i < COUNT_OF(used); i++)
        put_lane(w, parent, used[i], used[i], by_source);
}

int torq_tracks_append(const struct measured *measured, const struct timeline *estimate, struct bytes *out,
                       struct error *err)
{
    struct writing w = {.measured = measured, .estimate = estimate, .out = out};
    struct map by_source = {0};
    for (uint32_t i = 0; i < estimate->action_count; i++)
        w.failed |= !map_put(&by_source, estimate->actions[i].source, i);
    w.failed |= !sort_units(&w);
    look_at_rows(&w);
    put_run(&w, &by_source);
    put_estimate(&w, &by_source);
    put_places(&w, err);
    int status = w.failed ? 0 : put_overview(&w, err);
    bool failed = w.failed || out->failed || w.packet.failed || w.inner.failed || w.text.failed;
    for (size_t i = 0; i < w.location_count; i++)
        timeline_free(&w.locations[i].timeline);
    free(w.locations);
    free(w.units);
    free(w.first);
    map_free(&by_source);
    map_free(&w.rows);
    map_free(&w.waits);
    map_free(&w.places);
    intern_free(&w.names);
    bytes_free(&w.packet);
    bytes_free(&w.inner);
    bytes_free(&w.text);
    return status ? status : failed ? error_no_memory(err, "the Perfetto trace") : 0;
}
