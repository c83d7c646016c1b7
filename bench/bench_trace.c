/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file by itself: what a zone costs the writer, how large it becomes, how fast it is read back,
 * and how long any window of it takes to draw. Prints NAME VALUE UNIT lines.
 *
 *     bench_trace FILE.opscope [millions of zones, 50]
 *
 * The uniform set is a tight loop as the recorder sees it (11 to 13 ns, an interrupt now and then); the
 * random set has 100 names, durations up to 8 us and gaps up to 2 us, all evenly spread: 3.83 bytes of
 * entropy. Both are spread over 64 tracks. The nested set has calls of four depths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/reader.h"
#include "trace/writer.h"

#define TRACKS 64u
#define PATTERN (1u << 20)
#define PIXELS 2000u

enum zone_set { SET_UNIFORM, SET_RANDOM, SET_NESTED, SETS };
static const char *const set_names[SETS] = {"uniform", "random", "nested"};

struct pattern { /* the zones of one track, repeated */
    uint32_t *gap, *duration, *name;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const struct error *err)
{
    fprintf(stderr, "bench_trace: %s\n", err->message);
    exit(1);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static struct pattern make_pattern(enum zone_set set)
{
    struct pattern p = {
        .gap = malloc(PATTERN * 4), .duration = malloc(PATTERN * 4), .name = malloc(PATTERN * 4)};
    uint64_t state = 88172645463325252u;
    if (!p.gap || !p.duration || !p.name)
        exit(1);
    for (size_t i = 0; i < PATTERN; i++) {
        uint64_t r = next_random(&state);
        if (set == SET_RANDOM) {
            p.gap[i] = (uint32_t)(r & 2047);
            p.duration[i] = (uint32_t)(r >> 16 & 8191);
            p.name[i] = (uint32_t)((r >> 32) % 100);
        } else {
            p.gap[i] = 11 + (r & 3 ? 0 : 1);
            p.duration[i] = 11u + (uint32_t)(r >> 8 & 1) + (r >> 16 & 15 ? 0 : 1);
            if ((r >> 24) % 50000 == 0)
                p.duration[i] += 2000 + (uint32_t)(r >> 50);
            p.name[i] = 0;
        }
    }
    return p;
}

static void free_pattern(struct pattern *p)
{
    free(p->gap);
    free(p->duration);
    free(p->name);
}

/* --- writing --- */

/* One track's zones in order of their ends. The sum keeps the empty run of the same loop from being removed. */
static uint64_t add_zones(struct zone_sink *sink, const struct pattern *p, const uint32_t *names,
                          uint64_t start, uint64_t count, size_t at)
{
    uint64_t time = start, sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        size_t k = (at + i) & (PATTERN - 1);
        uint64_t begin = time + p->gap[k], end = begin + p->duration[k];
        if (sink)
            zone_sink_add(sink, 0, begin, end, 0, names[p->name[k]]);
        else
            sum += begin ^ names[p->name[k]];
        time = end;
    }
    __asm__ volatile("" : : "r"(sum));
    return time;
}

/* Each zone of depth d holds 8 of depth d + 1. */
static uint64_t add_nested(struct zone_sink *sink, const struct pattern *p, const uint32_t *names,
                           uint64_t time, size_t *at, unsigned depth, uint64_t *left)
{
    uint64_t begin = time, child = 0;
    size_t k = (*at)++ & (PATTERN - 1);
    time += p->gap[k];
    if (depth < 3)
        for (unsigned i = 0; i < 8 && *left > 1; i++) {
            uint64_t end = add_nested(sink, p, names, time + 1, at, depth + 1, left);
            child += end - time - 1;
            time = end;
        }
    else
        time += p->duration[k];
    zone_sink_add(sink, depth, begin, time, child, names[p->name[k] % 10 + depth * 10]);
    *left -= *left > 0;
    return time;
}

struct write_state {
    struct trace_writer *writer;
    struct zone_sink *sinks[TRACKS];
    uint64_t times[TRACKS];
    size_t at[TRACKS];
    uint32_t names[100];
};

static void define(struct write_state *s)
{
    struct trace_process process = {
        .id = TRACE_NONE, .parent = TRACE_NONE, .pid = 1, .command = "bench", .host = ""};
    uint32_t process_id = trace_writer_process(s->writer, &process);
    for (uint32_t i = 0; i < TRACKS; i++) {
        struct trace_track track = {
            .id = TRACE_NONE, .process = process_id, .parent = TRACE_NONE, .number = i, .name = "track"};
        s->sinks[i] = trace_writer_sink(s->writer, trace_writer_track(s->writer, &track));
        s->times[i] = 1000000;
        s->at[i] = (size_t)i * 16381;
    }
    for (uint32_t i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "zone %u", i);
        s->names[i] = trace_writer_name(s->writer, name, "work", "bench.c", i, 0);
    }
}

static void write_round(struct write_state *s, enum zone_set set, const struct pattern *p, uint64_t each)
{
    for (uint32_t i = 0; i < TRACKS; i++) {
        uint64_t left = each;
        if (set != SET_NESTED) {
            s->times[i] = add_zones(s->sinks[i], p, s->names, s->times[i], each, s->at[i]);
            s->at[i] += each;
        }
        while (set == SET_NESTED && left > 1)
            s->times[i] = add_nested(s->sinks[i], p, s->names, s->times[i], &s->at[i], 0, &left);
    }
}

static void write_set(const char *path, enum zone_set set, uint64_t zones)
{
    struct error err;
    struct write_state *s = calloc(1, sizeof *s);
    struct trace_writer_options options = {.program = "bench_trace", .command = set_names[set]};
    struct pattern p = make_pattern(set);
    uint64_t each = 8192, rounds = zones / (each * TRACKS);
    if (!s || trace_writer_open(&s->writer, path, &options, &err))
        fail(&err);
    define(s);
    double begin = cpu_s();
    for (uint64_t r = 0; r < rounds; r++) {
        write_round(s, set, &p, each);
        if (trace_writer_tick(s->writer, 1 + r * 10000000, &err))
            fail(&err);
    }
    double adding = cpu_s() - begin;
    uint64_t written = trace_writer_zone_count(s->writer);
    if (trace_writer_finish(s->writer, &err))
        fail(&err);
    double spent = cpu_s() - begin, empty = 0;
    if (set != SET_NESTED) {
        begin = cpu_s();
        for (uint64_t r = 0; r < rounds * TRACKS; r++)
            add_zones(NULL, &p, s->names, r, each, r);
        empty = cpu_s() - begin;
    }
    double n = (double)(rounds * each * TRACKS);
    printf("write_%s %.2f ns/zone (loop %.2f, end %.1f ms, %llu in blocks before the end)\n", set_names[set],
           (spent - empty) / n * 1e9, empty / n * 1e9, (spent - adding) * 1e3, (unsigned long long)written);
    free_pattern(&p);
    free(s);
}

/* --- reading --- */

static void scan(struct trace *t, unsigned columns, const char *what, const char *set)
{
    struct error err;
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    uint64_t zones = 0, sum = 0;
    double begin = cpu_s();
    while ((block = trace_next_block(t, &filter, &position))) {
        if (trace_decode_zones(t, block, columns, &rows, &err))
            fail(&err);
        zones += rows.count;
        sum += rows.count ? rows.duration[rows.count - 1] : 0;
    }
    double spent = cpu_s() - begin;
    printf("scan_%s_%s %.3f s (%.0f M zones/s, %llu)\n", what, set, spent, (double)zones / spent / 1e6,
           (unsigned long long)sum);
    zone_rows_free(&rows);
}

/* All tracks of one depth in a window; returns ms. */
static double draw(struct trace *t, uint32_t depth, uint64_t since, uint64_t until, uint64_t *rows_out,
                   uint64_t *zones_out)
{
    struct error err;
    struct lod_rows rows = {0};
    uint64_t row_count = 0, zones = 0;
    double begin = cpu_s();
    for (uint32_t track = 0; track < TRACKS; track++) {
        if (trace_lod(t, track, depth, since, until, PIXELS, &rows, &err))
            fail(&err);
        row_count += rows.count;
        for (size_t i = 0; i < rows.count; i++)
            zones += rows.rows[i].count;
    }
    double spent = cpu_s() - begin;
    lod_rows_free(&rows);
    *rows_out = row_count;
    *zones_out = zones;
    return spent * 1e3;
}

/* Windows from the whole length down, each a sixth shorter than the one before, each drawn by a reader that
 * has nothing in its cache, then again, moved by a hundredth. */
static void draw_windows(const char *path, const char *set, uint32_t depth, bool verbose)
{
    struct error err;
    double worst = 0, worst_again = 0, worst_zoom = 1;
    for (double zoom = 1; zoom < 1e6; zoom *= 1.2) {
        struct trace *t;
        if (trace_open(&t, path, 0, &err))
            fail(&err);
        const struct trace_info *info = trace_get_info(t);
        uint64_t whole = info->end_ns - info->start_ns, length = (uint64_t)((double)whole / zoom);
        uint64_t since = info->start_ns + whole / 3, rows, zones, rows_again, zones_again;
        if (length < PIXELS) {
            trace_close(t);
            break;
        }
        if (since + length > info->end_ns)
            since = info->end_ns - length;
        double first = draw(t, depth, since, since + length, &rows, &zones);
        double again =
            draw(t, depth, since + length / 100, since + length / 100 + length, &rows_again, &zones_again);
        if (verbose)
            printf("  %s depth %u, 1/%.1f: %.2f ms, again %.2f ms, %llu rows, %llu zones, %.1f a pixel\n",
                   set, depth, zoom, first, again, (unsigned long long)rows, (unsigned long long)zones,
                   (double)zones / TRACKS / PIXELS);
        if (first > worst) {
            worst = first;
            worst_zoom = zoom;
        }
        worst_again = again > worst_again ? again : worst_again;
        trace_close(t);
    }
    printf("window_%s_depth%u %.2f ms (worst of all zooms, at 1/%.1f; drawn again: %.2f ms)\n", set, depth,
           worst, worst_zoom, worst_again);
}

static void read_set(const char *path, enum zone_set set, bool verbose)
{
    struct error err;
    struct trace *t;
    double begin = cpu_s();
    if (trace_open(&t, path, 0, &err))
        fail(&err);
    printf("open_%s %.2f ms\n", set_names[set], (cpu_s() - begin) * 1e3);
    const struct trace_info *info = trace_get_info(t);
    printf("size_%s %.3f bytes/zone (zone blocks %.3f, %llu zones)\n", set_names[set],
           (double)info->size_bytes / (double)info->zones, (double)info->zone_bytes / (double)info->zones,
           (unsigned long long)info->zones);
    scan(t, TRACE_COLUMN_DURATION, "durations", set_names[set]);
    scan(t, TRACE_COLUMN_ALL, "all", set_names[set]);
    trace_close(t);
    draw_windows(path, set_names[set], 0, verbose);
    if (set == SET_NESTED)
        draw_windows(path, set_names[set], 3, verbose);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_trace FILE.opscope [millions of zones] [-v]\n");
        return 2;
    }
    uint64_t zones = (argc > 2 ? strtoull(argv[2], NULL, 10) : 50) * 1000000;
    const char *only = getenv("BENCH_TRACE_SET");
    for (unsigned set = 0; set < SETS; set++) {
        if (only && strcmp(only, set_names[set]) != 0)
            continue;
        write_set(argv[1], (enum zone_set)set, zones);
        if (getenv("BENCH_TRACE_KEEP")) /* only the file is wanted, for another bench */
            return 0;
        read_set(argv[1], (enum zone_set)set, argc > 3);
        remove(argv[1]);
    }
    return 0;
}
