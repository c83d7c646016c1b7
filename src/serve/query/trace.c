/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/query/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/events/memory_use.h"
#include "analyze/machine_files.h"
#include "analyze/report/class.h"
#include "analyze/zones/waiting.h"
#include "base/count_of.h"
#include "load/trace.h"
#include "present/name_colour.h"
#include "present/overview/overview.h"

#define RATIO_BLOCKS 256u /* of zones that are read for the ratio of self to total */
#define BUSY_PIXELS 256u  /* drawn for the busy time of a track */

static int finish_opening(struct serve_trace *st, int status)
{
    if (status) {
        serve_trace_close(st);
        return status;
    }
    st->start_ns = trace_get_info(st->trace)->start_ns;
    st->end_ns = trace_get_info(st->trace)->end_ns;
    return 0;
}

int serve_trace_open(struct serve_trace *st, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    *st = (struct serve_trace){.path = strdup(path)};
    st->name = strdup(strcmp(path, "-") == 0 ? "standard input" : slash && slash[1] ? slash + 1 : path);
    int status = st->path && st->name ? 0 : error_no_memory(err, path);
    if (!status)
        status = load_trace(&st->trace, &st->stdin_data, path, false, err);
    if (!status)
        status = serve_trace_prepare(st, err);
    if (status == -EINVAL) { /* damaged: what is whole of it, if anything */
        trace_close(st->trace);
        st->trace = NULL;
        if (load_trace(&st->trace, &st->stdin_data, path, true, NULL) == 0)
            status = serve_trace_prepare(st, err);
    }
    return finish_opening(st, status);
}

int serve_trace_take(struct serve_trace *st, struct trace *trace, const char *name, struct error *err)
{
    *st = (struct serve_trace){.path = strdup(name), .name = strdup(name), .trace = trace};
    int status = st->path && st->name ? 0 : error_no_memory(err, name);
    if (!status)
        status = serve_trace_prepare(st, err);
    return finish_opening(st, status);
}

int serve_trace_open_again(struct serve_trace *st, const struct serve_trace *of, bool salvage,
                           struct error *err)
{
    *st = (struct serve_trace){.path = strdup(of->path),
                               .name = strdup(of->name),
                               .id = of->id,
                               .generation = of->generation,
                               .source_folders = of->source_folders};
    int status = st->path && st->name ? 0 : error_no_memory(err, of->path);
    if (!status)
        status = trace_open_again(&st->trace, of->trace, salvage ? TRACE_OPEN_SALVAGE : 0, err);
    return finish_opening(st, status);
}

int serve_trace_prepare(struct serve_trace *st, struct error *err)
{
    if (st->is_prepared)
        return 0;
    int status = st->machines.count ? 0 : machine_files_read(&st->machines, NULL, err);
    if (!status)
        status = run_index_make(&st->runs, st->trace, &st->machines, err);
    st->is_prepared = !status;
    return status;
}

static void free_facts(struct serve_trace *st)
{
    if (!st->facts)
        return;
    free(st->facts->counters);
    free(st->facts->pools);
    free(st->facts->has_memory);
    free(st->facts->busy_ns);
    free(st->facts->track_order);
    free(st->facts);
    st->facts = NULL;
}

void serve_trace_close(struct serve_trace *st)
{
    free_facts(st);
    free(st->name_ratios);
    free(st->is_wait);
    lod_rows_free(&st->rows);
    if (st->has_stats)
        zone_stats_free(&st->stats);
    serve_overview_free(st->own_overview);
    serve_overview_free(st->overview);
    serve_flame_free(st->flame);
    run_index_free(&st->runs);
    machine_set_free(&st->machines);
    if (st->trace)
        trace_close(st->trace);
    bytes_free(&st->stdin_data);
    free(st->path);
    free(st->name);
    *st = (struct serve_trace){0};
}

/* --- counters and memory --- */

static int read_counters(struct serve_trace *st, struct serve_facts *facts, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_COUNTERS};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    struct map places = {0};
    size_t position = 0;
    int status = 0;
    while (!status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_rows(st->trace, block, &rows, err);
        for (size_t i = 0; i < rows.count && !status; i++) {
            const struct trace_counter *c = &rows.counters[i];
            uint64_t key = (uint64_t)c->track << 32 | c->name;
            uint32_t place = map_get(&places, key);
            if (place == MAP_NONE) {
                place = (uint32_t)facts->counter_count;
                if (!array_reserve(&facts->counters, &facts->counter_capacity, facts->counter_count + 1,
                                   sizeof *facts->counters) ||
                    !map_put(&places, key, place)) {
                    status = error_no_memory(err, "the counters");
                    break;
                }
                facts->counters[facts->counter_count++] = (struct serve_counter){
                    .track = c->track, .name = c->name, .min = c->value, .max = c->value};
            }
            struct serve_counter *counter = &facts->counters[place];
            counter->samples++;
            counter->min = c->value < counter->min ? c->value : counter->min;
            counter->max = c->value > counter->max ? c->value : counter->max;
        }
    }
    map_free(&places);
    trace_rows_free(&rows);
    return status;
}

static int read_memory(struct serve_trace *st, struct serve_facts *facts, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_MEMORY};
    const struct trace_block *block;
    struct trace_rows rows = {0};
    struct map places = {0};
    size_t position = 0, tracks = trace_track_count(st->trace);
    int status = 0;
    while (!status && (block = trace_next_block(st->trace, &filter, &position))) {
        status = trace_decode_rows(st->trace, block, &rows, err);
        for (size_t i = 0; i < rows.count && !status; i++) {
            const struct trace_memory *m = &rows.memory[i];
            uint32_t place = map_get(&places, m->pool);
            if (m->track < tracks)
                facts->has_memory[m->track] = true;
            if (place == MAP_NONE) {
                place = (uint32_t)facts->pool_count;
                if (!array_reserve(&facts->pools, &facts->pool_capacity, facts->pool_count + 1,
                                   sizeof *facts->pools) ||
                    !map_put(&places, m->pool, place)) {
                    status = error_no_memory(err, "the memory pools");
                    break;
                }
                facts->pools[facts->pool_count++] = (struct serve_pool){.name = m->pool};
            }
            facts->pools[place].events++;
        }
    }
    map_free(&places);
    trace_rows_free(&rows);
    return status;
}

/* --- tracks --- */

static int measure_tracks(struct serve_trace *st, struct serve_facts *facts, struct error *err)
{
    for (uint32_t track = 0; track < trace_track_count(st->trace); track++) {
        const struct run_track *runs = run_index_find(&st->runs, track);
        if (runs)
            facts->busy_ns[track] = runs->busy_ns;
        if (runs || trace_track_zone_count(st->trace, track) == 0)
            continue;
        int status = trace_lod(st->trace, track, 0, st->start_ns, st->end_ns, BUSY_PIXELS, &st->rows, err);
        if (status == -ENOMEM || status == -ECANCELED)
            return status;
        for (size_t i = 0; status == 0 && i < st->rows.count; i++)
            facts->busy_ns[track] += st->rows.rows[i].busy_ns;
    }
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(st->trace, &count);
    for (size_t i = 0; i < count; i++) {
        if (open[i].depth == 0 && open[i].seen > open[i].start)
            facts->busy_ns[open[i].track] += open[i].seen - open[i].start;
    }
    return 0;
}

struct order_key {
    uint32_t group; /* 0 devices, 1 main threads, 2 the rest */
    uint32_t track, kind;
    uint64_t device, number; /* of a device's tracks: its own number, and theirs */
    uint64_t busy;
};

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_keys(const void *left, const void *right)
{
    const struct order_key *a = left, *b = right;
    int order = compare_u64(a->group, b->group);
    if (order == 0 && a->group == 0) {
        order = compare_u64(a->device, b->device);
        order = order ? order : compare_u64(a->kind, b->kind);
        order = order ? order : compare_u64(a->number, b->number);
    } else if (order == 0) {
        order = compare_u64(b->busy, a->busy);
    }
    return order ? order : compare_u64(a->track, b->track);
}

/* The number of the outermost track that this one belongs to. */
static uint64_t device_number(const struct trace *trace, const struct trace_track *track)
{
    for (unsigned up = 0; up < 16 && track->parent != TRACE_NONE; up++) {
        const struct trace_track *parent = trace_get_track(trace, track->parent);
        if (!parent)
            break;
        track = parent;
    }
    return track->number;
}

static bool is_device_track(uint32_t kind)
{
    return kind >= TRACE_TRACK_DEVICE && kind <= TRACE_TRACK_DMA;
}

static int order_tracks(struct serve_trace *st, struct serve_facts *facts, struct error *err)
{
    size_t count = trace_track_count(st->trace);
    struct order_key *keys = malloc((count + 1) * sizeof *keys);
    if (!keys)
        return error_no_memory(err, "the tracks");
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_track *track = trace_get_track(st->trace, i);
        const struct trace_process *process = trace_get_process(st->trace, track->process);
        bool is_main = track->kind == TRACE_TRACK_THREAD && process &&
                       process->pid == (int64_t)track->number &&
                       (process->flags & TRACE_PROCESS_ROOT || trace_process_count(st->trace) == 1);
        keys[i] = (struct order_key){.group = is_device_track(track->kind) ? 0
                                              : is_main                    ? 1
                                                                           : 2,
                                     .track = i,
                                     .kind = track->kind,
                                     .device = device_number(st->trace, track),
                                     .number = track->number,
                                     .busy = facts->busy_ns[i]};
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < count; i++)
        facts->track_order[i] = keys[i].track;
    free(keys);
    return 0;
}

struct pool_peaks {
    struct serve_trace *st;
    struct serve_facts *facts;
};

static int see_change(void *context, const struct memory_change *change)
{
    struct pool_peaks *peaks = context;
    for (size_t i = 0; i < peaks->facts->pool_count; i++) {
        struct serve_pool *pool = &peaks->facts->pools[i];
        const char *name = pool->name == TRACE_NONE ? "" : trace_get_name(peaks->st->trace, pool->name)->name;
        if (strcmp(name, change->pool_name) == 0 && change->in_use_bytes > pool->peak_bytes)
            pool->peak_bytes = change->in_use_bytes;
    }
    return 0;
}

int serve_trace_facts(struct serve_trace *st, struct error *err)
{
    size_t tracks = trace_track_count(st->trace);
    if (st->facts)
        return 0;
    struct serve_facts *facts = st->facts = calloc(1, sizeof *facts);
    if (!facts)
        return error_no_memory(err, st->path);
    facts->has_memory = calloc(tracks + 1, sizeof *facts->has_memory);
    facts->busy_ns = calloc(tracks + 1, sizeof *facts->busy_ns);
    facts->track_order = calloc(tracks + 1, sizeof *facts->track_order);
    int status =
        facts->has_memory && facts->busy_ns && facts->track_order ? 0 : error_no_memory(err, st->path);
    if (!status)
        status = read_counters(st, facts, err);
    if (!status)
        status = read_memory(st, facts, err);
    if (!status && facts->pool_count) {
        struct trace_filter filter = {0};
        struct trace_filter_options options = {0};
        struct pool_peaks peaks = {st, facts};
        status = trace_filter_resolve(&filter, st->trace, &options, err);
        if (!status)
            status = memory_use_read(
                &(struct memory_reader){
                    .trace = st->trace, .filter = &filter, .visit = see_change, .context = &peaks},
                NULL, NULL, err);
        trace_filter_free(&filter);
    }
    if (!status)
        status = measure_tracks(st, facts, err);
    if (!status)
        status = order_tracks(st, facts, err);
    if (status)
        free_facts(st);
    return status;
}

/* --- names --- */

static void add_ratios(struct serve_trace *st, const struct zone_rows *rows, size_t names)
{
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t name = rows->name[i];
        if (name >= names)
            continue;
        st->name_ratios[name].total_ns += rows->duration[i];
        st->name_ratios[name].self_ns +=
            rows->duration[i] > rows->child[i] ? rows->duration[i] - rows->child[i] : 0;
    }
}

/* Damaged blocks are counted by the reader: their names are painted as those of zones. */
static int find_ops(struct serve_trace *st, size_t names, struct error *err)
{
    static const uint32_t types[] = {TRACE_BLOCK_OPS, TRACE_BLOCK_RUNS};
    struct trace_rows rows = {0};
    int status = 0;
    for (unsigned t = 0; t < COUNT_OF(types); t++) {
        const struct trace_block_filter filter = {.type = types[t]};
        const struct trace_block *block;
        size_t position = 0;
        while (status != -ECANCELED && (block = trace_next_block(st->trace, &filter, &position))) {
            if ((status = trace_decode_rows(st->trace, block, &rows, err)))
                continue;
            for (size_t i = 0; i < rows.count; i++) {
                uint32_t name = types[t] == TRACE_BLOCK_OPS ? rows.ops[i].name : rows.runs[i].name;
                if (name < names)
                    st->name_ratios[name].is_op = true;
            }
        }
    }
    trace_rows_free(&rows);
    return status == -ECANCELED ? status : 0;
}

/* From all blocks of zones where they are few, else from some that are spread evenly: it decides how strongly a name is
 * painted, not what is said of it. */
int serve_trace_name_ratios(struct serve_trace *st, struct error *err)
{
    const struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    const struct trace_block *block;
    struct zone_rows rows = {0};
    size_t position = 0, names = trace_name_count(st->trace), at = 0;
    if (st->name_ratios)
        return 0;
    uint64_t count = trace_get_info(st->trace)->zone_blocks;
    uint64_t step = count / RATIO_BLOCKS + 1;
    st->name_ratios = calloc(names + 1, sizeof *st->name_ratios);
    if (!st->name_ratios)
        return error_no_memory(err, "the names");
    int status = 0;
    while (status != -ECANCELED && (block = trace_next_block(st->trace, &filter, &position))) {
        if (at++ % step)
            continue;
        status = trace_decode_zones(
            st->trace, block, TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD | TRACE_COLUMN_NAME, &rows, err);
        if (!status)
            add_ratios(st, &rows, names);
    }
    zone_rows_free(&rows);
    if (status == -ECANCELED || (status = find_ops(st, names, err)) != 0) {
        free(st->name_ratios);
        st->name_ratios = NULL;
    }
    return status == -ECANCELED ? status : 0;
}

int serve_trace_waits(struct serve_trace *st, struct error *err)
{
    if (st->is_wait)
        return 0;
    st->name_count = trace_name_count(st->trace);
    st->is_wait = calloc(st->name_count + 1, sizeof *st->is_wait);
    if (!st->is_wait)
        return error_no_memory(err, "the names");
    for (size_t i = 0; i < st->name_count; i++)
        st->is_wait[i] = waiting_is_name(trace_get_name(st->trace, (uint32_t)i)->name);
    return 0;
}

unsigned serve_name_colour(const struct serve_trace *st, uint32_t id)
{
    const char *name = trace_get_name(st->trace, id)->name;
    return st->name_ratios[id].is_op ? overview_colour(perf_name_of(name).class_) : name_colour(name);
}
