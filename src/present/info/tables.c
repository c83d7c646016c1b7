/* SPDX-License-Identifier: Apache-2.0 */
#include "present/info/info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/clockquality.h"
#include "analyze/labels.h"
#include "analyze/losses.h"
#include "base/map.h"

#define TABLE_ROWS_SHOWN 24u /* of a long table among others on a terminal */

/* Shows a finished table under its heading, shortened when it is one of many. */
static void add_table(struct view *view, struct table *table, const char *heading, const char *key,
                      bool is_alone)
{
    size_t rows = table->row_count;
    bool is_terminal = view->output.format == OUTPUT_TERMINAL;
    if (is_terminal && !is_alone && rows == 0)
        return;
    if (is_terminal && !is_alone && view->output.width && rows > TABLE_ROWS_SHOWN + 4)
        table_truncate(table, TABLE_ROWS_SHOWN);
    if (!is_alone)
        report_heading(&view->report, "%s", heading);
    report_table(&view->report, key, table);
    if (is_terminal && rows == 0)
        report_note(&view->report, TABLE_NORMAL, "none");
    if (table->row_count < rows)
        report_note(&view->report, TABLE_DIM, "%zu more; --show %s lists all", rows - table->row_count,
                    table->name);
    table_free(table);
}

/* The ids 0 to count - 1 in an order; the caller frees them. */
static uint32_t *order_by(struct trace *trace, size_t count,
                          int (*compare)(const void *, const void *, void *))
{
    uint32_t *order = malloc((count + 1) * sizeof *order);
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i;
    if (order)
        qsort_r(order, count, sizeof *order, compare, trace);
    return order;
}

/* --- processes --- */
enum {
    PROCESS_PID,
    PROCESS_PARENT,
    PROCESS_STATUS,
    PROCESS_EXIT,
    PROCESS_SIGNAL,
    PROCESS_START,
    PROCESS_LENGTH,
    PROCESS_THREADS,
    PROCESS_ZONES,
    PROCESS_HOST,
    PROCESS_COMMAND,
    PROCESS_COLUMNS
};

static const struct table_column process_columns[PROCESS_COLUMNS] = {
    [PROCESS_PID] = {.key = "pid", .title = "pid", .type = TABLE_IDENTIFIER},
    [PROCESS_PARENT] = {.key = "parent", .title = "parent", .type = TABLE_IDENTIFIER, .drop = 4},
    [PROCESS_STATUS] = {.key = "status", .title = "status", .shrink = 16},
    [PROCESS_EXIT] = {.key = "exit_status", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [PROCESS_SIGNAL] = {.key = "signal", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [PROCESS_START] = {.key = "start", .title = "start", .type = TABLE_INSTANT, .drop = 2},
    [PROCESS_LENGTH] = {.key = "length", .title = "length", .type = TABLE_TIME, .drop = 1},
    [PROCESS_THREADS] = {.key = "tracks", .title = "tracks", .type = TABLE_INTEGER, .drop = 3},
    [PROCESS_ZONES] = {.key = "zones", .title = "zones", .type = TABLE_INTEGER},
    [PROCESS_HOST] = {.key = "host", .shown = TABLE_DATA_ONLY},
    [PROCESS_COMMAND] = {.key = "command", .title = "command", .shrink = 20},
};

static const char *signal_name(int number)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
    const char *name = sigabbrev_np(number);
    return name ? name : "?";
#else
    return strsignal(number);
#endif
}

static int compare_processes(const void *left, const void *right, void *context)
{
    const struct trace *trace = context;
    const struct trace_process *a = trace_get_process(trace, *(const uint32_t *)left);
    const struct trace_process *b = trace_get_process(trace, *(const uint32_t *)right);
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* What an exec does to the rows of a pid: the old image ends where the new one begins, and what is known of the end of
 * the process, which may be in the row of the first image, is that of the newest. */
struct image {
    bool is_replaced;
    uint64_t end_ns;
    int32_t exit_status;
};

/* By process. A pid can be used again after its process has ended: then the newer process was forked, or belongs to
 * another host. */
static struct image *find_images(const struct trace *trace, const uint32_t *order, size_t count)
{
    struct image *images = calloc(count + 1, sizeof *images);
    struct map newest = {0}; /* by pid */
    for (size_t k = 0; images && order && k < count; k++) {
        uint32_t i = order[k];
        const struct trace_process *process = trace_get_process(trace, i);
        uint32_t known = map_get(&newest, (uint64_t)process->pid);
        const struct trace_process *older = known == MAP_NONE ? NULL : trace_get_process(trace, known);
        images[i] = (struct image){.end_ns = process->end_ns, .exit_status = process->exit_status};
        if (older && !(process->flags & TRACE_PROCESS_FORKED) && strcmp(older->host, process->host) == 0) {
            if (images[known].end_ns > images[i].end_ns)
                images[i].end_ns = images[known].end_ns;
            if (images[i].exit_status == TRACE_STATUS_UNKNOWN)
                images[i].exit_status = images[known].exit_status;
            images[known] = (struct image){true, process->start_ns, TRACE_STATUS_UNKNOWN};
        }
        map_put(&newest, (uint64_t)process->pid, i);
    }
    map_free(&newest);
    return images;
}

static void set_status(struct table *table, const struct trace_process *process, const struct image *image)
{
    int status = image->exit_status;
    enum table_style style = TABLE_NORMAL;
    if (image->is_replaced) {
        table_set_text(table, PROCESS_STATUS, "called exec");
    } else if (process->flags & TRACE_PROCESS_RUNNING_AT_END) {
        table_set_text(table, PROCESS_STATUS, "still running");
        style = TABLE_WARN;
    } else if (status == TRACE_STATUS_UNKNOWN) {
        table_set_text(table, PROCESS_STATUS, image->end_ns ? "ended" : "unknown");
    } else {
        if (WIFEXITED(status)) {
            table_set_integer(table, PROCESS_EXIT, WEXITSTATUS(status));
            table_set_format(table, PROCESS_STATUS, "exit %d", WEXITSTATUS(status));
            style = WEXITSTATUS(status) ? TABLE_WARN : TABLE_GOOD;
        } else if (WIFSIGNALED(status)) {
            table_set_integer(table, PROCESS_SIGNAL, WTERMSIG(status));
            table_set_format(table, PROCESS_STATUS, "signal %d (%s)", WTERMSIG(status),
                             signal_name(WTERMSIG(status)));
            style = TABLE_BAD;
        } else {
            table_set_format(table, PROCESS_STATUS, "status %d", status);
        }
    }
    table_set_style(table, PROCESS_STATUS, style);
}

void info_add_processes(struct view *view, bool is_alone)
{
    size_t count = trace_process_count(view->trace);
    uint32_t *order = order_by(view->trace, count, compare_processes);
    struct image *images = find_images(view->trace, order, count);
    uint64_t *zones = calloc(count + 1, sizeof *zones), *tracks = calloc(count + 1, sizeof *tracks);
    struct table table;
    table_init(&table, "processes", process_columns, PROCESS_COLUMNS);
    table.failed = !zones || !tracks || !images || !order;
    for (uint32_t i = 0; !table.failed && i < trace_track_count(view->trace); i++) {
        uint32_t process = trace_get_track(view->trace, i)->process;
        if (process >= count)
            continue;
        zones[process] += trace_track_zone_count(view->trace, i);
        tracks[process]++;
    }
    for (size_t k = 0; !table.failed && k < count; k++) {
        uint32_t i = order[k];
        const struct trace_process *process = trace_get_process(view->trace, i);
        const struct trace_process *parent =
            process->parent == TRACE_NONE ? NULL : trace_get_process(view->trace, process->parent);
        if (!trace_filter_wants_process(&view->filter, i))
            continue;
        table_add_row(&table);
        table_set_integer(&table, PROCESS_PID, process->pid);
        if (parent)
            table_set_integer(&table, PROCESS_PARENT, parent->pid);
        set_status(&table, process, &images[i]);
        table_set_unsigned(&table, PROCESS_START, view_since_start(view, process->start_ns));
        if (images[i].end_ns > process->start_ns)
            table_set_unsigned(&table, PROCESS_LENGTH, images[i].end_ns - process->start_ns);
        table_set_unsigned(&table, PROCESS_THREADS, tracks[i]);
        table_set_unsigned(&table, PROCESS_ZONES, zones[i]);
        table_set_text(&table, PROCESS_HOST, process->host);
        table_set_text(&table, PROCESS_COMMAND, process->command);
    }
    free(zones);
    free(tracks);
    free(images);
    free(order);
    add_table(view, &table, "Processes", "processes", is_alone);
}

/* --- tracks --- */
enum {
    TRACK_PROCESS,
    TRACK_PID,
    TRACK_KIND,
    TRACK_NUMBER,
    TRACK_NAME,
    TRACK_PARENT,
    TRACK_ARCHITECTURE,
    TRACK_ZONES,
    TRACK_DEPTH,
    TRACK_LOST,
    TRACK_CLOCK,
    TRACK_COLUMNS
};

static const struct table_column track_columns[TRACK_COLUMNS] = {
    [TRACK_PROCESS] = {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12},
    [TRACK_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [TRACK_KIND] = {.key = "kind", .title = "kind", .drop = 3},
    [TRACK_NUMBER] = {.key = "number", .title = "number", .type = TABLE_IDENTIFIER, .drop = 2},
    [TRACK_NAME] = {.key = "name", .title = "name", .shrink = 16},
    [TRACK_PARENT] = {.key = "parent", .shown = TABLE_DATA_ONLY},
    [TRACK_ARCHITECTURE] = {.key = "architecture", .shown = TABLE_DATA_ONLY},
    [TRACK_ZONES] = {.key = "zones", .title = "zones", .type = TABLE_INTEGER},
    [TRACK_DEPTH] = {.key = "depth", .title = "depth", .type = TABLE_INTEGER, .drop = 1},
    [TRACK_LOST] = {.key = "lost_zones", .title = "lost", .type = TABLE_INTEGER},
    [TRACK_CLOCK] = {.key = "clock", .shown = TABLE_DATA_ONLY},
};

static uint64_t *lost_by_track(const struct view *view)
{
    size_t count = 0, track_count = trace_track_count(view->trace);
    const struct trace_loss *losses = trace_get_losses(view->trace, &count);
    uint64_t *lost = calloc(track_count + 1, sizeof *lost);
    for (size_t i = 0; lost && i < count; i++) {
        if (losses[i].track < track_count && trace_loss_is_lost(losses[i].reason))
            lost[losses[i].track] += losses[i].zones;
    }
    return lost;
}

/* A device says what it is after its name on a terminal, in a column of its own in data. */
static void set_track_name(const struct view *view, struct table *table, const struct trace_track *track)
{
    const struct trace_track *parent =
        track->parent == TRACE_NONE ? NULL : trace_get_track(view->trace, track->parent);
    char label[64];
    const char *above = parent ? label_track(view->trace, parent->id, label, sizeof label) : "";
    bool is_inside = parent && parent->kind == TRACE_TRACK_CORE && view->output.format == OUTPUT_TERMINAL;
    if (!track->name)
        return;
    if (*track->architecture && view->output.format == OUTPUT_TERMINAL &&
        !strstr(track->name, track->architecture))
        table_set_format(table, TRACK_NAME, "%s (%s)", track->name, track->architecture);
    else if (*track->name && is_inside) /* every core has processors of these names */
        table_set_format(table, TRACK_NAME, "%s %s", above, track->name);
    else if (*track->name)
        table_set_text(table, TRACK_NAME, track->name);
    if (parent)
        table_set_text(table, TRACK_PARENT, above);
    if (*track->architecture)
        table_set_text(table, TRACK_ARCHITECTURE, track->architecture);
}

static bool is_main(const struct trace *trace, const struct trace_track *track)
{
    const struct trace_process *process = trace_get_process(trace, track->process);
    return track->kind == TRACE_TRACK_THREAD && process && (int64_t)track->number == process->pid;
}

/* By process, its main thread first, threads by their number, other tracks as they came. */
static int compare_tracks(const void *left, const void *right, void *context)
{
    const struct trace *trace = context;
    const struct trace_track *a = trace_get_track(trace, *(const uint32_t *)left);
    const struct trace_track *b = trace_get_track(trace, *(const uint32_t *)right);
    bool a_main = is_main(trace, a), b_main = is_main(trace, b);
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a_main != b_main)
        return a_main ? -1 : 1;
    if (a->kind == TRACE_TRACK_THREAD && b->kind == TRACE_TRACK_THREAD && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

void info_add_tracks(struct view *view, bool is_alone)
{
    uint64_t *lost = lost_by_track(view);
    uint32_t *order = order_by(view->trace, trace_track_count(view->trace), compare_tracks);
    struct table table;
    table_init(&table, "tracks", track_columns, TRACK_COLUMNS);
    table.failed = !lost || !order;
    for (size_t k = 0; !table.failed && k < trace_track_count(view->trace); k++) {
        uint32_t i = order[k];
        const struct trace_track *track = trace_get_track(view->trace, i);
        const struct trace_process *process = view_process_of(view, i);
        const struct trace_clock *clock = trace_get_clock(view->trace, track->clock);
        if (!trace_filter_wants_track(&view->filter, i))
            continue;
        table_add_row(&table);
        view_set_process(view, &table, TRACK_PROCESS, track->process);
        if (process)
            table_set_integer(&table, TRACK_PID, process->pid);
        table_set_text(&table, TRACK_KIND, trace_track_kind_text(track->kind));
        table_set_unsigned(&table, TRACK_NUMBER, track->number);
        set_track_name(view, &table, track);
        table_set_unsigned(&table, TRACK_ZONES, trace_track_zone_count(view->trace, i));
        table_set_unsigned(&table, TRACK_DEPTH, trace_track_depth_count(view->trace, i));
        table_set_unsigned(&table, TRACK_LOST, lost[i]);
        if (lost[i])
            table_set_style(&table, TRACK_LOST, TABLE_BAD);
        table_set_text(&table, TRACK_CLOCK, clock ? clock->name : NULL);
    }
    free(lost);
    free(order);
    if (view->output.format == OUTPUT_TERMINAL && !is_alone && table.row_count > TABLE_ROWS_SHOWN + 4)
        table_sort(&table, TRACK_ZONES, true); /* only the busiest are shown */
    add_table(view, &table, "Threads and tracks", "tracks", is_alone);
}

/* --- clocks --- */
enum {
    CLOCK_NAME,
    CLOCK_DEVICE,
    CLOCK_NOMINAL,
    CLOCK_MEASURED,
    CLOCK_POINTS,
    CLOCK_BREAKS,
    CLOCK_UNCERTAINTY,
    CLOCK_RESIDUAL,
    CLOCK_COLUMNS
};

static const struct table_column clock_columns[CLOCK_COLUMNS] = {
    [CLOCK_NAME] = {.key = "clock", .title = "clock", .shrink = 16},
    [CLOCK_DEVICE] = {.key = "kind", .title = "kind", .drop = 3},
    [CLOCK_NOMINAL] = {.key = "nominal_hz", .title = "nominal Hz", .type = TABLE_REAL, .drop = 2},
    [CLOCK_MEASURED] = {.key = "measured_hz", .title = "measured Hz", .type = TABLE_REAL, .drop = 1},
    [CLOCK_POINTS] = {.key = "points", .title = "points", .type = TABLE_INTEGER},
    [CLOCK_BREAKS] = {.key = "breaks", .title = "breaks", .type = TABLE_INTEGER},
    [CLOCK_UNCERTAINTY] = {.key = "max_uncertainty", .title = "uncertainty", .type = TABLE_TIME},
    [CLOCK_RESIDUAL] = {.key = "max_residual", .title = "residual", .type = TABLE_TIME},
};

void info_add_clocks(struct view *view, bool is_alone)
{
    struct table table;
    table_init(&table, "clocks", clock_columns, CLOCK_COLUMNS);
    for (uint32_t i = 0; i < trace_clock_count(view->trace); i++) {
        const struct trace_clock *clock = trace_get_clock(view->trace, i);
        struct clock_quality quality;
        if (!clock)
            continue;
        clock_quality_make(&quality, view->trace, i);
        if (i == TRACE_HOST_CLOCK && quality.points == 0) /* the others are measured against it */
            continue;
        table_add_row(&table);
        table_set_text(&table, CLOCK_NAME, clock->name);
        table_set_text(&table, CLOCK_DEVICE, clock->is_device ? "device" : "host");
        if (clock->ticks_per_second > 0)
            table_set_real(&table, CLOCK_NOMINAL, clock->ticks_per_second);
        if (quality.ticks_per_second > 0)
            table_set_real(&table, CLOCK_MEASURED, quality.ticks_per_second);
        table_set_unsigned(&table, CLOCK_POINTS, quality.points);
        table_set_unsigned(&table, CLOCK_BREAKS, quality.breaks);
        if (quality.breaks)
            table_set_style(&table, CLOCK_BREAKS, TABLE_WARN);
        if (quality.points) {
            table_set_unsigned(&table, CLOCK_UNCERTAINTY, quality.max_uncertainty_ns);
            table_set_unsigned(&table, CLOCK_RESIDUAL, quality.max_residual_ns);
        }
    }
    add_table(view, &table, "Clocks", "clocks", is_alone);
}

/* --- zones still open --- */
enum { OPEN_PROCESS, OPEN_PID, OPEN_THREAD, OPEN_DEPTH, OPEN_START, OPEN_RUNNING, OPEN_NAME, OPEN_COLUMNS };

static const struct table_column open_columns[OPEN_COLUMNS] = {
    [OPEN_PROCESS] = {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12},
    [OPEN_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [OPEN_THREAD] = {.key = "thread", .title = "thread", .shrink = 12},
    [OPEN_DEPTH] = {.key = "depth", .title = "depth", .type = TABLE_IDENTIFIER, .drop = 1},
    [OPEN_START] = {.key = "start", .title = "start", .type = TABLE_INSTANT},
    [OPEN_RUNNING] = {.key = "running", .title = "running", .type = TABLE_TIME},
    [OPEN_NAME] = {.key = "name", .title = "zone", .shrink = 20},
};

void info_add_open_zones(struct view *view, bool is_alone)
{
    size_t count = 0;
    const struct trace_open_zone *zones = trace_get_open_zones(view->trace, &count);
    struct table table;
    table_init(&table, "open", open_columns, OPEN_COLUMNS);
    for (size_t i = 0; i < count; i++) {
        const struct trace_process *process = view_process_of(view, zones[i].track);
        if (!trace_filter_wants_track(&view->filter, zones[i].track) ||
            !trace_filter_wants_name(&view->filter, zones[i].name))
            continue;
        table_add_row(&table);
        if (process) {
            view_set_process(view, &table, OPEN_PROCESS, process->id);
            table_set_integer(&table, OPEN_PID, process->pid);
        }
        view_set_track(view, &table, OPEN_THREAD, zones[i].track);
        table_set_unsigned(&table, OPEN_DEPTH, zones[i].depth);
        table_set_unsigned(&table, OPEN_START, view_since_start(view, zones[i].start));
        table_set_unsigned(&table, OPEN_RUNNING, zones[i].seen - zones[i].start);
        table_set_text(&table, OPEN_NAME, trace_get_name(view->trace, zones[i].name)->name);
    }
    add_table(view, &table, "Zones that had not ended", "open_zones", is_alone);
}

/* --- losses --- */
enum {
    LOSS_PROCESS,
    LOSS_PID,
    LOSS_THREAD,
    LOSS_FROM,
    LOSS_TO,
    LOSS_ZONES,
    LOSS_RECORDS,
    LOSS_REASON,
    LOSS_COLUMNS
};

static const struct table_column loss_columns[LOSS_COLUMNS] = {
    [LOSS_PROCESS] = {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12},
    [LOSS_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [LOSS_THREAD] = {.key = "thread", .title = "thread", .shrink = 12},
    [LOSS_FROM] = {.key = "from", .title = "from", .type = TABLE_INSTANT},
    [LOSS_TO] = {.key = "to", .title = "to", .type = TABLE_INSTANT},
    [LOSS_ZONES] = {.key = "zones", .title = "zones", .type = TABLE_INTEGER},
    [LOSS_RECORDS] = {.key = "records", .title = "others", .type = TABLE_INTEGER, .drop = 1},
    [LOSS_REASON] = {.key = "reason", .title = "reason", .shrink = 16},
};

void info_add_losses(struct view *view, bool is_alone)
{
    size_t count = 0;
    const struct trace_loss *losses = trace_get_losses(view->trace, &count);
    struct table table;
    table_init(&table, "losses", loss_columns, LOSS_COLUMNS);
    for (size_t i = 0; i < count; i++) {
        const struct trace_loss *loss = &losses[i];
        const struct trace_process *process =
            loss->process == TRACE_NONE ? NULL : trace_get_process(view->trace, loss->process);
        if (!loss_is_wanted(loss, &view->filter))
            continue;
        table_add_row(&table);
        view_set_process(view, &table, LOSS_PROCESS, loss->process);
        if (process)
            table_set_integer(&table, LOSS_PID, process->pid);
        view_set_track(view, &table, LOSS_THREAD, loss->track);
        if (loss->to_ns) {
            table_set_unsigned(&table, LOSS_FROM, view_since_start(view, loss->from_ns));
            table_set_unsigned(&table, LOSS_TO, view_since_start(view, loss->to_ns));
        }
        table_set_unsigned(&table, LOSS_ZONES, loss->zones);
        table_set_unsigned(&table, LOSS_RECORDS, loss->records);
        table_set_text(&table, LOSS_REASON, trace_loss_reason_text(loss->reason));
    }
    add_table(view, &table, "Losses", "losses", is_alone);
}
