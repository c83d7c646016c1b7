/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace whose every time is known, from lines on standard input:
 *
 *     trace_script OUT.opscope < LINES
 *
 *     track NAME [PID [NUMBER]]                the rows that follow are this thread's; NAME "-" is none
 *     task|span NAME                           the same of a task or of spans of the thread, whose zones are its turns
 *     core NAME                                the same of a core of the device
 *     zone DEPTH START END NAME [FILE:LINE]    times in ns; a name that begins with "def " is a function's;
 *                                              "-" is one that the file does not define
 *     open DEPTH START SEEN NAME [FILE:LINE]   a zone that never ended
 *     frame|signpost|message TIME TEXT
 *     counter TIME VALUE NAME
 *     alloc TIME ADDRESS SIZE POOL             POOL "-" is the default one
 *     free TIME ADDRESS POOL
 *     device NAME [ARCHITECTURE]               runs that follow are this device's
 *     op CALL START END NAME                   a call of the thread
 *     run CALL START END NAME                  of the device, whose clock is the host's
 *     lost ZONES [FROM TO [PID]]               of the thread, or of no known thread of PID, because the buffer was full
 *     paused FROM TO                           nothing was to be recorded
 *     source FILE [CHANGED]                    the lines of this file, whole, as a recording takes them along
 *
 * Words are separated by tabs; zones may come in any order. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/writer.h"

#define MOST_ZONES (1u << 20)
#define MOST_WORDS 8u
#define LINE_BYTES 200000u

struct zone {
    uint64_t start, end, child;
    uint32_t track, parent, depth, name; /* parent: the thread of a task */
    bool is_open;
};

static struct trace_writer *writer;
static struct zone zones[MOST_ZONES];
static size_t zone_count;
static uint32_t track = TRACE_NONE, thread = TRACE_NONE, parent = TRACE_NONE, device = TRACE_NONE, devices;

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "trace_script: %s: %s\n", what, detail);
    exit(1);
}

static uint64_t number(const char *text)
{
    char *end = NULL;
    uint64_t value = strtoull(text, &end, 0);
    if (*end || end == text)
        fail("not a number", text);
    return value;
}

static uint32_t define_name(char *name, char *place)
{
    char *colon = place ? strrchr(place, ':') : NULL;
    bool is_function = strncmp(name, "def ", 4) == 0;
    if (colon)
        *colon = '\0';
    name += is_function ? 4 : 0;
    if (strcmp(name, "-") == 0)
        return TRACE_NONE - 1;
    return trace_writer_name(writer, name, is_function ? name : "", place ? place : "",
                             colon ? (uint32_t)number(colon + 1) : 0, 0);
}

static uint32_t define_process(int64_t pid)
{
    uint32_t process = trace_writer_find_process(writer, (uint64_t)pid);
    if (process == TRACE_NONE)
        process = trace_writer_process(writer, &(struct trace_process){.id = TRACE_NONE,
                                                                       .parent = TRACE_NONE,
                                                                       .pid = pid,
                                                                       .start_ns = 1,
                                                                       .key = (uint64_t)pid,
                                                                       .exit_status = 0,
                                                                       .command = "/bin/program",
                                                                       .host = "host"});
    return process;
}

static uint64_t next_key(void)
{
    static uint64_t key;
    return ++key;
}

static void define_track(char **words)
{
    uint64_t key = next_key();
    int64_t pid = words[2] ? (int64_t)number(words[2]) : 1;
    uint32_t process = define_process(pid);
    parent = TRACE_NONE;
    thread = track = trace_writer_track(
        writer, &(struct trace_track){.id = TRACE_NONE,
                                      .process = process,
                                      .parent = TRACE_NONE,
                                      .number = words[2] && words[3] ? number(words[3]) : 100 + key,
                                      .key = key,
                                      .name = strcmp(words[1], "-") ? words[1] : ""});
}

static void define_task(const char *name, bool is_task)
{
    uint64_t key = next_key();
    parent = is_task ? thread : TRACE_NONE;
    track = trace_writer_track(writer,
                               &(struct trace_track){.id = TRACE_NONE,
                                                     .process = define_process(1),
                                                     .parent = thread,
                                                     .kind = is_task ? TRACE_TRACK_TASK : TRACE_TRACK_SPAN,
                                                     .number = key,
                                                     .key = key,
                                                     .name = name});
}

static void define_core(const char *name)
{
    uint64_t key = next_key();
    track = trace_writer_track(writer, &(struct trace_track){.id = TRACE_NONE,
                                                             .process = define_process(1),
                                                             .parent = device,
                                                             .kind = TRACE_TRACK_CORE,
                                                             .clock = TRACE_HOST_CLOCK,
                                                             .number = key,
                                                             .key = key,
                                                             .name = name});
}

static void define_device(const char *name, const char *architecture)
{
    device = trace_writer_track(writer, &(struct trace_track){.id = TRACE_NONE,
                                                              .process = define_process(1),
                                                              .parent = TRACE_NONE,
                                                              .kind = TRACE_TRACK_DEVICE,
                                                              .clock = TRACE_HOST_CLOCK,
                                                              .number = devices++,
                                                              .key = next_key(),
                                                              .name = name,
                                                              .architecture = architecture});
}

static void add_op(char **words)
{
    trace_writer_op(writer, &(struct trace_op){.call = number(words[1]),
                                               .process = define_process(1),
                                               .track = track,
                                               .name = define_name(words[4], NULL),
                                               .type = TRACE_OP_DEVICE,
                                               .device = devices ? devices - 1 : TRACE_NONE,
                                               .description = TRACE_NONE,
                                               .start_ns = number(words[2]),
                                               .end_ns = number(words[3])});
}

static void add_run(char **words)
{
    uint64_t start = number(words[2]);
    trace_writer_run(writer, &(struct trace_run){.call = number(words[1]),
                                                 .process = define_process(1),
                                                 .track = device,
                                                 .name = define_name(words[4], NULL),
                                                 .cores = 1,
                                                 .start = start,
                                                 .duration = number(words[3]) - start});
}

static void add_zone(bool is_open, char **words)
{
    if (zone_count == MOST_ZONES)
        fail("too many zones", words[4]);
    zones[zone_count++] = (struct zone){.start = number(words[2]),
                                        .end = number(words[3]),
                                        .track = track,
                                        .parent = parent,
                                        .depth = (uint32_t)number(words[1]),
                                        .name = define_name(words[4], words[5]),
                                        .is_open = is_open};
}

static void add_point(uint32_t kind, char **words)
{
    bool is_message = kind == TRACE_POINT_MESSAGE;
    trace_writer_point(writer,
                       &(struct trace_point){.track = track,
                                             .kind = kind,
                                             .time = number(words[1]),
                                             .header = is_message ? "" : words[2],
                                             .text = is_message ? words[2] : "",
                                             .text_length = is_message ? (uint32_t)strlen(words[2]) : 0});
}

static void add_memory(bool is_release, char **words)
{
    char *pool = words[is_release ? 3 : 4];
    trace_writer_memory(
        writer, &(struct trace_memory){.track = track,
                                       .pool = strcmp(pool, "-") ? define_name(pool, NULL) : TRACE_NONE,
                                       .time = number(words[1]),
                                       .address = number(words[2]),
                                       .size = is_release ? 0 : number(words[3]),
                                       .is_release = is_release});
}

static void add_loss(size_t count, char **words)
{
    trace_writer_loss(
        writer,
        &(struct trace_loss){.process = count > 4 ? define_process((int64_t)number(words[4])) : TRACE_NONE,
                             .track = count > 4 ? TRACE_NONE : track,
                             .reason = TRACE_LOSS_BUFFER_FULL,
                             .from_ns = count > 3 ? number(words[2]) : 1,
                             .to_ns = count > 3 ? number(words[3]) : 2,
                             .zones = number(words[1])});
}

static void take_source(const char *path, bool is_changed)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    uint32_t lines = 0;
    if (!length)
        fail("source", path);
    fclose(file);
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    struct trace_source_part part = {.first_line = 1, .length = (uint32_t)length, .text = text};
    struct trace_source_file row = {.file = path,
                                    .state = is_changed ? TRACE_SOURCE_CHANGED : TRACE_SOURCE_READ,
                                    .line_count = is_changed ? 0 : lines,
                                    .part_count = !is_changed,
                                    .parts = &part};
    if (!trace_writer_sources(writer, &row, 1))
        fail("source", "was not written");
}

static void read_line(char *line)
{
    char *words[MOST_WORDS] = {0};
    size_t count = 0;
    for (char *word; count < MOST_WORDS && (word = strsep(&line, "\t"));)
        words[count++] = word;
    const char *what = words[0];
    if (strcmp(what, "track") == 0 && count >= 2)
        define_track(words);
    else if ((strcmp(what, "task") == 0 || strcmp(what, "span") == 0) && count == 2)
        define_task(words[1], *what == 't');
    else if (strcmp(what, "core") == 0 && count == 2)
        define_core(words[1]);
    else if ((strcmp(what, "zone") == 0 || strcmp(what, "open") == 0) && count >= 5)
        add_zone(*what == 'o', words);
    else if (strcmp(what, "frame") == 0 && count == 3)
        add_point(TRACE_POINT_FRAME, words);
    else if (strcmp(what, "signpost") == 0 && count == 3)
        add_point(TRACE_POINT_SIGNPOST, words);
    else if (strcmp(what, "message") == 0 && count == 3)
        add_point(TRACE_POINT_MESSAGE, words);
    else if (strcmp(what, "counter") == 0 && count == 4)
        trace_writer_counter(writer, &(struct trace_counter){.track = track,
                                                             .name = define_name(words[3], NULL),
                                                             .time = number(words[1]),
                                                             .value = strtod(words[2], NULL)});
    else if ((strcmp(what, "alloc") == 0 && count == 5) || (strcmp(what, "free") == 0 && count == 4))
        add_memory(*what == 'f', words);
    else if (strcmp(what, "device") == 0 && count >= 2)
        define_device(words[1], words[2] ? words[2] : "");
    else if (strcmp(what, "op") == 0 && count == 5)
        add_op(words);
    else if (strcmp(what, "run") == 0 && count == 5)
        add_run(words);
    else if (strcmp(what, "lost") == 0 && count >= 2)
        add_loss(count, words);
    else if (strcmp(what, "source") == 0 && count >= 2)
        take_source(words[1], count > 2);
    else if (strcmp(what, "paused") == 0 && count == 3)
        trace_writer_loss(writer, &(struct trace_loss){.process = TRACE_NONE,
                                                       .track = TRACE_NONE,
                                                       .reason = TRACE_LOSS_PAUSED,
                                                       .from_ns = number(words[1]),
                                                       .to_ns = number(words[2])});
    else
        fail("unknown line", what);
}

static int compare_ends(const void *left, const void *right)
{
    const struct zone *a = left, *b = right;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return (a->depth < b->depth) - (a->depth > b->depth);
}

/* What a thread runs in a turn of a task is the turn's, which is the innermost zone of the thread then. */
static void add_to_turn(const struct zone *inside)
{
    struct zone *turn = NULL;
    for (size_t k = 0; k < zone_count && inside->parent != TRACE_NONE && inside->depth == 0; k++) {
        if (zones[k].track == inside->parent && zones[k].start <= inside->start &&
            inside->end <= zones[k].end && (!turn || zones[k].depth > turn->depth))
            turn = &zones[k];
    }
    if (turn)
        turn->child += inside->end - inside->start;
}

static void sum_children(void)
{
    for (size_t i = 0; i < zone_count; i++) {
        add_to_turn(&zones[i]);
        for (size_t k = 0; k < zone_count && zones[i].depth; k++) {
            if (zones[k].track == zones[i].track && zones[k].depth + 1 == zones[i].depth &&
                zones[k].start <= zones[i].start && zones[i].end <= zones[k].end)
                zones[k].child += zones[i].end - zones[i].start;
        }
    }
}

static void list_open(void *context, struct trace_writer *to)
{
    (void)context;
    for (size_t i = 0; i < zone_count; i++) {
        const struct zone *zone = &zones[i];
        if (zone->is_open)
            trace_writer_open_zone(to, &(struct trace_open_zone){.track = zone->track,
                                                                 .depth = zone->depth,
                                                                 .start = zone->start,
                                                                 .seen = zone->end,
                                                                 .child = zone->child,
                                                                 .name = zone->name});
    }
}

int main(int argc, char **argv)
{
    struct error err = {0};
    struct trace_writer_options options = {.command = "program", .host = "host"};
    char *line = malloc(LINE_BYTES);
    if (argc != 2 || !line)
        fail("usage", "trace_script OUT < LINES");
    if (trace_writer_open(&writer, argv[1], &options, &err) != 0)
        fail(argv[1], err.message);
    trace_writer_set_open_zones(writer, list_open, NULL);
    while (fgets(line, (int)LINE_BYTES, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line)
            read_line(line);
    }
    sum_children();
    qsort(zones, zone_count, sizeof zones[0], compare_ends);
    for (size_t i = 0; i < zone_count; i++) {
        if (!zones[i].is_open)
            zone_sink_add(trace_writer_sink(writer, zones[i].track), zones[i].depth, zones[i].start,
                          zones[i].end, zones[i].child, zones[i].name);
    }
    free(line);
    if (trace_writer_finish(writer, &err) != 0)
        fail(argv[1], err.message);
    return 0;
}
