/* SPDX-License-Identifier: Apache-2.0 */
/* What to draw of tracks in a window: binary, since it is asked for at every step of a pan or a zoom.
 *
 * Summaries lie on tiles of 2^k ns of host time, so that the same zones are summed up wherever the window begins. The
 * reader sums up what is in the window alone; so it is asked for a little more on both sides, and what begins in the
 * added tiles without reaching the window is left out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "serve/query/query.h"

#define ROWS_MAGIC 0x3152504fu
#define ROWS_SECTIONS_MAX 8192u
#define NODES_INSIDE 3u /* the reader's nodes may be this many levels above a tile */

enum row_flag { ROW_OPEN = 1, ROW_WAIT = 2, ROW_GAP = 4, ROW_ESTIMATED = 16, ROW_SUMMARY = 32 };
enum section_kind { SECTION_ZONES = 0, SECTION_RUNS = 1 };

struct drawn {
    uint64_t start, end, busy; /* host ns */
    uint32_t name, zones;
    uint8_t flags;
};

struct rows_answer {
    struct serve_trace *st;
    struct bytes *out;
    struct query_window window;
    unsigned tile;
    uint64_t since_ns, until_ns; /* the window with what is added on both sides */
    uint32_t sections;
    uint64_t put; /* rows of all sections */
    struct drawn *drawn;
    size_t count, capacity;
    bool failed;
};

/* --- putting --- */

static void put_f64(uint8_t *at, double value)
{
    memcpy(at, &value, sizeof value);
}

static void add(struct rows_answer *a, const struct drawn *row)
{
    if (row->end < a->window.since_ns || row->start > a->window.until_ns)
        return;
    if (!array_reserve(&a->drawn, &a->capacity, a->count + 1, sizeof *a->drawn)) {
        a->failed = true;
        return;
    }
    a->drawn[a->count++] = *row;
}

/* Columns of the rows that were drawn since the last section, and forgets them. */
static int put_section(struct rows_answer *a, uint32_t track, uint32_t kind, uint32_t depth,
                       struct error *err)
{
    size_t n = a->count, flag_bytes = (n + 7) / 8 * 8;
    size_t size = 16 + n * (8 + 8 + 4 + 4 + 4) + flag_bytes;
    if (a->failed || !bytes_reserve(a->out, size))
        return error_no_memory(err, "the rows");
    if (a->out->length + size > QUERY_ANSWER_MAX || a->sections >= ROWS_SECTIONS_MAX)
        return error_set(err, QUERY_REFUSED, "tracks: too many rows at once, ask for fewer tracks or pixels");
    bytes_append_u32(a->out, track);
    bytes_append_u32(a->out, kind);
    bytes_append_u32(a->out, depth);
    bytes_append_u32(a->out, (uint32_t)n);
    uint8_t *start = a->out->data + a->out->length, *end = start + 8 * n, *busy = end + 8 * n;
    uint8_t *name = busy + 4 * n, *zones = name + 4 * n, *flags = zones + 4 * n;
    memset(flags, 0, flag_bytes);
    for (size_t i = 0; i < n; i++) {
        const struct drawn *row = &a->drawn[i];
        uint64_t length = row->end - row->start;
        float share = length == 0 || row->busy >= length ? 1.0f : (float)row->busy / (float)length;
        put_f64(start + 8 * i, (double)(int64_t)(row->start - a->st->start_ns));
        put_f64(end + 8 * i, (double)(int64_t)(row->end - a->st->start_ns));
        memcpy(busy + 4 * i, &share, 4);
        memcpy(name + 4 * i, &row->name, 4);
        memcpy(zones + 4 * i, &row->zones, 4);
        flags[i] = row->flags;
    }
    a->out->length += size - 16;
    a->sections++;
    a->put += n;
    a->count = 0;
    return 0;
}

/* --- zones --- */

static uint8_t wait_flag(const struct serve_trace *st, uint32_t name)
{
    return name < st->name_count && st->is_wait[name] ? ROW_WAIT : 0;
}

static void add_zones(struct rows_answer *a, uint32_t track, uint32_t depth)
{
    size_t open_count, placed = 0;
    const struct trace_open_zone *open = trace_get_open_zones(a->st->trace, &open_count);
    for (size_t i = 0; i < a->st->rows.count; i++) {
        const struct lod_row *row = &a->st->rows.rows[i];
        add(a, &(struct drawn){
                   .start = row->start_ns,
                   .end = row->end_ns,
                   .busy = row->busy_ns,
                   .name = row->name,
                   .zones = row->count,
                   .flags = (uint8_t)((row->count > 1 ? ROW_SUMMARY : 0) | wait_flag(a->st, row->name))});
    }
    placed = a->count;
    for (size_t i = 0; i < open_count; i++) {
        if (open[i].track != track || open[i].depth != depth)
            continue;
        uint64_t end = open[i].seen > open[i].start ? open[i].seen : open[i].start;
        add(a, &(struct drawn){.start = open[i].start,
                               .end = end,
                               .busy = end - open[i].start,
                               .name = open[i].name,
                               .zones = 1,
                               .flags = (uint8_t)(ROW_OPEN | wait_flag(a->st, open[i].name))});
    }
    /* An open zone begins after all that ended at its depth, unless times are wrong: put it in its place. */
    for (; placed < a->count; placed++) {
        struct drawn row = a->drawn[placed];
        size_t at = placed;
        for (; at > 0 && a->drawn[at - 1].start > row.start; at--)
            a->drawn[at] = a->drawn[at - 1];
        a->drawn[at] = row;
    }
}

static int draw_depth(struct rows_answer *a, uint32_t track, uint32_t depth, struct error *err)
{
    uint64_t length = a->until_ns - a->since_ns, tile_ns = UINT64_C(1) << a->tile;
    uint64_t pixels = length / tile_ns + 1; /* so that the reader chooses the same tile */
    int status = trace_lod(a->st->trace, track, depth, a->since_ns, a->until_ns,
                           pixels < UINT32_MAX ? (uint32_t)pixels : UINT32_MAX, &a->st->rows, err);
    if (status)
        return status;
    add_zones(a, track, depth);
    return put_section(a, track, SECTION_ZONES, depth, err);
}

/* --- runs --- */

static size_t first_reaching(const struct node *nodes, size_t count, uint64_t since_ns)
{
    size_t low = 0, high = count; /* runs of a lane do not overlap, but for the last lane */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (nodes[middle].end < since_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_node(struct rows_answer *a, const struct node *node, uint8_t flags)
{
    add(a, &(struct drawn){.start = node->start,
                           .end = node->end,
                           .busy = node->busy,
                           .name = node->name,
                           .zones = node->count,
                           .flags = (uint8_t)(flags | (node->count > 1 ? ROW_SUMMARY : 0))});
}

static void add_lane(struct rows_answer *a, const struct run_lane *lane)
{
    const struct node *nodes = lane->runs;
    size_t count = lane->count;
    for (unsigned i = 0; i < lane->level_count && lane->levels[i].level <= a->tile; i++) {
        nodes = lane->levels[i].nodes;
        count = lane->levels[i].count;
    }
    uint8_t estimated = lane->count && lane->flags[0] & TRACE_RUN_ESTIMATED ? ROW_ESTIMATED : 0;
    struct node open = {0};
    uint8_t open_flags = 0;
    for (size_t i = first_reaching(nodes, count, a->since_ns); i < count && nodes[i].start <= a->until_ns;
         i++) {
        if (open.count && node_takes(&open, &nodes[i], a->tile)) {
            node_add(&open, &nodes[i]);
            continue;
        }
        if (open.count)
            add_node(a, &open, open_flags);
        open = nodes[i];
        open_flags =
            nodes == lane->runs ? (lane->flags[i] & TRACE_RUN_ESTIMATED ? ROW_ESTIMATED : 0) : estimated;
    }
    if (open.count)
        add_node(a, &open, open_flags);
}

/* Gaps narrower than a tile are seen in the shares of the summaries. */
static void add_gaps(struct rows_answer *a, const struct run_track *rt)
{
    size_t low = 0, high = rt->gap_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rt->gaps[middle].end_ns < a->since_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < rt->gap_count && rt->gaps[low].start_ns <= a->until_ns; low++) {
        const struct run_gap *gap = &rt->gaps[low];
        if ((gap->end_ns - gap->start_ns) >> a->tile == 0)
            continue;
        add(a, &(struct drawn){.start = gap->start_ns,
                               .end = gap->end_ns,
                               .name = TRACE_NONE,
                               .zones = 1,
                               .flags = ROW_GAP});
    }
}

static int compare_drawn(const void *left, const void *right)
{
    const struct drawn *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start ? 1 : a->end < b->end ? -1 : a->end > b->end;
}

static int draw_runs(struct rows_answer *a, uint32_t track, struct error *err)
{
    const struct run_track *rt = run_index_find(&a->st->runs, track);
    for (unsigned lane = 0; rt && lane < rt->lane_count; lane++) {
        add_lane(a, &rt->lanes[lane]);
        if (lane == 0) {
            add_gaps(a, rt);
            if (a->count)
                qsort(a->drawn, a->count, sizeof *a->drawn, compare_drawn);
        }
        int status = put_section(a, track, SECTION_RUNS, lane, err);
        if (status)
            return status;
    }
    return 0;
}

/* --- the question --- */

/* "7:0-3", "7:2", "9:r" */
static int draw_spec(struct rows_answer *a, struct slice spec, struct error *err)
{
    struct slice rest = slice_after(spec, ":"), id = slice_before(spec, ":");
    uint32_t track, first, last;
    int status = 0;
    if (!rest.data || !slice_unsigned32(id, &track))
        return error_set(err, QUERY_REFUSED, "tracks: '%.*s' is not ID:FIRST-LAST or ID:r",
                         (int)(spec.length < 60 ? spec.length : 60), spec.data);
    if (track >= trace_track_count(a->st->trace))
        return error_set(err, ENOENT, "there is no track %" PRIu32, track);
    if (slice_is(rest, "r"))
        return draw_runs(a, track, err);
    struct slice second = slice_after(rest, "-");
    if (!slice_unsigned32(slice_before(rest, "-"), &first) ||
        !(second.data ? slice_unsigned32(second, &last) : (last = first, true)))
        return error_set(err, QUERY_REFUSED, "tracks: '%.*s' is not ID:FIRST-LAST or ID:r",
                         (int)(spec.length < 60 ? spec.length : 60), spec.data);
    uint32_t deepest = trace_track_all_depths(a->st->trace, track);
    for (uint32_t depth = first; depth <= last && depth < deepest && !status; depth++)
        status = draw_depth(a, track, depth, err);
    return status;
}

static int draw_all(struct rows_answer *a, const char *specs, struct error *err)
{
    struct slice rest = slice_of(specs);
    int status = 0;
    while (rest.length && !status) {
        struct slice spec = slice_before(rest, ",");
        if (spec.length)
            status = draw_spec(a, spec, err);
        rest = slice_from(rest.data + spec.length, rest.length - spec.length);
        if (rest.length)
            rest = slice_from(rest.data + 1, rest.length - 1);
    }
    return status;
}

static void widen_window(struct rows_answer *a)
{
    unsigned grid = a->tile + NODES_INSIDE;
    uint64_t step = grid < 63 ? UINT64_C(1) << grid : UINT64_C(1) << 63;
    uint64_t since = a->window.since_ns & ~(step - 1), until = a->window.until_ns | (step - 1);
    a->since_ns = since > step ? since - step : 0;
    a->until_ns = until < UINT64_MAX - step ? until + step : UINT64_MAX;
}

static int answer_rows(struct rows_answer *a, const char *specs, struct error *err)
{
    struct bytes *out = a->out;
    size_t head = out->length;
    uint8_t times[16];
    int status = serve_trace_waits(a->st, err);
    if (status)
        return status;
    widen_window(a);
    put_f64(times, (double)(a->window.since_ns - a->st->start_ns));
    put_f64(times + 8, (double)(a->window.until_ns - a->st->start_ns));
    bytes_append_u32(out, ROWS_MAGIC);
    bytes_append_u32(out, 0);
    bytes_append(out, times, sizeof times);
    status = draw_all(a, specs, err);
    free(a->drawn);
    if (!status && out->failed)
        status = error_no_memory(err, "the rows");
    if (!status)
        memcpy(out->data + head + 4, &a->sections, 4);
    return status;
}

int query_rows(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct rows_answer a = {.st = st, .out = out};
    const char *specs = query_text(q, "tracks");
    uint32_t pixels;
    int status = query_window(q, st, &a.window, err);
    if (!status)
        status = query_pixels(q, &pixels, err);
    if (status)
        return status;
    a.tile = trace_lod_tile(a.window.since_ns, a.window.until_ns, pixels);
    return answer_rows(&a, specs ? specs : "", err);
}

/* --- all of a trace --- */

static void append_all_tracks(struct serve_trace *st, struct bytes *specs, uint64_t *sections)
{
    size_t tracks = trace_track_count(st->trace);
    for (uint32_t track = 0; track < tracks; track++) {
        uint32_t depths = trace_track_all_depths(st->trace, track);
        const struct run_track *runs = run_index_find(&st->runs, track);
        if (depths)
            bytes_append_format(specs, "%" PRIu32 ":0-%" PRIu32 ",", track, depths - 1);
        if (runs)
            bytes_append_format(specs, "%" PRIu32 ":r,", track);
        *sections += depths + (runs ? runs->lane_count : 0);
    }
}

static int draw_whole(struct serve_trace *st, const char *specs, unsigned tile, uint64_t *rows,
                      struct bytes *out, struct error *err)
{
    struct rows_answer a = {.st = st, .out = out, .window = {st->start_ns, st->end_ns, true}, .tile = tile};
    bytes_clear(out);
    int status = answer_rows(&a, specs, err);
    *rows = a.put;
    return status;
}

/* The finest tile with which no more than `most` are drawn, beginning with one that is coarse enough unless runs
 * overlap: a tile has at most a summary and a zone that goes on. */
static int draw_at_most(struct serve_trace *st, const char *specs, uint32_t pixels, uint64_t most,
                        unsigned *tile, struct bytes *out, struct error *err)
{
    struct bytes finer = {0};
    uint64_t rows;
    *tile = trace_lod_tile(st->start_ns, st->end_ns, pixels);
    int status = draw_whole(st, specs, *tile, &rows, out, err);
    while (!status && rows > most && *tile < QUERY_NO_ROWS - 1)
        status = draw_whole(st, specs, ++*tile, &rows, out, err);
    while (!status && *tile > 0) {
        status = draw_whole(st, specs, *tile - 1, &rows, &finer, err);
        if (status || rows > most)
            break;
        struct bytes coarser = *out;
        *out = finer;
        finer = coarser;
        *tile -= 1;
    }
    bytes_free(&finer);
    return status;
}

int query_all_rows(struct serve_trace *st, uint64_t most, unsigned *tile, struct bytes *out,
                   struct error *err)
{
    const struct trace_info *info = trace_get_info(st->trace);
    struct bytes specs = {0};
    uint64_t sections = 0, rows;
    int status;
    *tile = 0;
    append_all_tracks(st, &specs, &sections);
    uint64_t pixels = sections ? most / 2 / sections : most;
    if (specs.failed)
        status = error_no_memory(err, "the rows");
    else if (sections > ROWS_SECTIONS_MAX || pixels == 0) {
        *tile = QUERY_NO_ROWS;
        status = draw_whole(st, "", 0, &rows, out, err);
    } else if (info->zones + info->runs <= most)
        status = draw_whole(st, bytes_text(&specs), 0, &rows, out, err);
    else
        status = draw_at_most(st, bytes_text(&specs), (uint32_t)pixels, most, tile, out, err);
    bytes_free(&specs);
    return status;
}
