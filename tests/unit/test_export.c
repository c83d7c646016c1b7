/* SPDX-License-Identifier: Apache-2.0 */
/* Each export format on a small trace whose rows are known, and the sums of memory in use. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "present/export/export.h"
#include "trace/writer.h"

struct fixture {
    char path[64];
    struct trace_writer *writer;
    struct trace *trace;
    struct trace_filter filter;
    struct trace_filter_options wanted;
    uint32_t process, thread, second;
    struct trace_open_zone open;
};

static void list_open_zones(void *context, struct trace_writer *writer)
{
    struct fixture *f = context;
    if (f->open.start)
        trace_writer_open_zone(writer, &f->open);
}

static uint32_t add_process(struct fixture *f, int64_t pid, const char *command)
{
    struct trace_process process = {.id = TRACE_NONE,
                                    .parent = TRACE_NONE,
                                    .pid = pid,
                                    .start_ns = 1000,
                                    .exit_status = TRACE_STATUS_UNKNOWN,
                                    .command = command,
                                    .host = "here"};
    return trace_writer_process(f->writer, &process);
}

static uint32_t add_track(struct fixture *f, struct trace_track track)
{
    track.id = TRACE_NONE;
    return trace_writer_track(f->writer, &track);
}

static void begin(struct fixture *f)
{
    struct error err = {0};
    *f = (struct fixture){.path = "/tmp/opscope-export-XXXXXX"};
    int file = mkstemp(f->path);
    assert_true(file >= 0);
    close(file);
    unlink(f->path);
    struct trace_writer_options options = {.program = "opscope test", .command = "prog -x", .host = "here"};
    assert_int_equal(trace_writer_open(&f->writer, f->path, &options, &err), 0);
    trace_writer_set_open_zones(f->writer, list_open_zones, f);
    f->process = add_process(f, 100, "/bin/prog -x");
    f->thread = add_track(f, (struct trace_track){.process = f->process,
                                                  .parent = TRACE_NONE,
                                                  .kind = TRACE_TRACK_THREAD,
                                                  .number = 100,
                                                  .name = "main"});
}

static uint32_t name(struct fixture *f, const char *text)
{
    return trace_writer_name(f->writer, text, "", "", 0, 0);
}

static void reopen(struct fixture *f)
{
    struct error err = {0};
    if (f->writer)
        assert_int_equal(trace_writer_finish(f->writer, &err), 0);
    f->writer = NULL;
    if (!f->trace)
        assert_int_equal(trace_open(&f->trace, f->path, 0, &err), 0);
    trace_filter_free(&f->filter);
    assert_int_equal(trace_filter_resolve(&f->filter, f->trace, &f->wanted, &err), 0);
}

static void end(struct fixture *f)
{
    trace_filter_free(&f->filter);
    trace_close(f->trace);
    unlink(f->path);
}

/* The export as text; freed by the caller. */
static char *export_text(struct fixture *f, struct export_options options, struct export_counts *counts)
{
    char *text = NULL;
    size_t length = 0;
    struct error err = {0};
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    int result = export_trace(f->trace, &f->filter, &options, stream, counts, &err);
    if (result != 0)
        print_error("%s\n", err.message);
    assert_int_equal(result, 0);
    fclose(stream);
    assert_int_equal(counts->size_bytes, length);
    return text;
}

static void assert_export(struct fixture *f, struct export_options options, const char *want)
{
    struct export_counts counts;
    char *text = export_text(f, options, &counts);
    assert_string_equal(text, want);
    free(text);
}

/* "step" with "load" and "compute" in it; the second has a text and a value. Starts at 1000 ns. */
static void add_zones(struct fixture *f)
{
    struct zone_sink *sink = trace_writer_sink(f->writer, f->thread);
    uint32_t step = trace_writer_name(f->writer, "step", "run", "a b.c", 7, 0);
    uint32_t load = name(f, "load;\"x\"\n"), compute = name(f, "compute");
    struct trace_extra text = {.kind = TRACE_EXTRA_TEXT, .text = "1,\x01\xff", .text_length = 4};
    struct trace_extra value = {.kind = TRACE_EXTRA_VALUE, .value = UINT64_MAX};
    zone_sink_add(sink, 1, 1500, 2600, 0, load);
    zone_sink_add(sink, 1, 3000, 1003000, 0, compute);
    zone_sink_extra(sink, &text);
    zone_sink_extra(sink, &value);
    zone_sink_add(sink, 0, 1000, 1003500, 1001100, step);
}

/* No export passes on what a terminal, a spreadsheet or a reader of text would act upon. */
static void test_hostile_names(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    struct zone_sink *sink = trace_writer_sink(f.writer, f.thread);
    zone_sink_add(sink, 0, 1000, 2000, 0, name(&f, "=1+\x1b[31m\xc2\x9b\xe2\x80\xae\r."));
    reopen(&f);
    assert_export(&f, (struct export_options){.format = EXPORT_COLLAPSED},
                  "prog (100);main;=1+\\x1b[31m\\x9b\\u202e\\r. 1000\n");
    for (unsigned format = EXPORT_CHROME; format <= EXPORT_COLLAPSED; format++) {
        struct export_counts counts;
        if (export_is_binary(format))
            continue;
        char *text = export_text(&f, (struct export_options){.format = format}, &counts);
        assert_null(strpbrk(text, "\x1b\r"));
        assert_null(strstr(text, "\xc2\x9b"));
        assert_null(strstr(text, "\xe2\x80\xae"));
        assert_true(format != EXPORT_CSV || strstr(text, "\n'=1+"));
        free(text);
    }
    end(&f);
}

static void test_csv_zones(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_zones(&f);
    f.open = (struct trace_open_zone){.track = f.thread, .start = 1003600, .name = name(&f, "last")};
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CSV}, &counts);
    assert_int_equal(counts.zones, 3);
    assert_int_equal(counts.open_zones, 1);
    const char *lines[] = {
        "name,file,line,function,process,pid,thread,tid,start_ns,duration_ns,self_ns,depth,text,value,open\n",
        "\nstep,a b.c,7,run,prog,100,main,100,0,1002500,1400,0,,,\n",
        "\n\"load;\"\"x\"\"\n\",,,,prog,100,main,100,500,1100,1100,1,,,\n",
        "\ncompute,,,,prog,100,main,100,2000,1000000,1000000,1,\"1,\\x01\xef\xbf\xbd\",18446744073709551615,\n",
        "\nlast,,,,prog,100,main,100,1002600,0,0,0,,,1\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (!strstr(text, lines[i]))
            fail_msg("no %s in %s", lines[i], text);
    }
    free(text);
    end(&f);
}

static void test_collapsed(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_zones(&f);
    reopen(&f);
    assert_export(&f, (struct export_options){.format = EXPORT_COLLAPSED},
                  "prog (100);main;step 1400\n"
                  "prog (100);main;step;compute 1000000\n"
                  "prog (100);main;step;load:\"x\"  1100\n");
    assert_export(&f, (struct export_options){.format = EXPORT_COLLAPSED, .in_microseconds = true},
                  "prog (100);main;step 1\n"
                  "prog (100);main;step;compute 1000\n"
                  "prog (100);main;step;load:\"x\"  1\n");
    assert_true(text_list_add(&f.wanted.names, "step"));
    reopen(&f);
    assert_export(&f, (struct export_options){.format = EXPORT_COLLAPSED}, "prog (100);main;step 1002500\n");
    end(&f);
}

static void test_collapsed_merges(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    /* The same name from two places in the source is one frame; recursion makes a deep stack. */
    uint32_t here = trace_writer_name(f.writer, "f", "", "a.c", 1, 0);
    uint32_t there = trace_writer_name(f.writer, "f", "", "b.c", 2, 0);
    struct zone_sink *sink = trace_writer_sink(f.writer, f.thread);
    zone_sink_add(sink, 0, 1000, 1010, 0, here);
    zone_sink_add(sink, 0, 1010, 1030, 0, there);
    for (uint32_t depth = 100; depth-- > 0;)
        zone_sink_add(sink, depth, 2000 + depth, 2300 - depth, depth == 99 ? 0 : 298 - 2 * (uint64_t)depth,
                      here);
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_COLLAPSED}, &counts);
    unsigned lines = 0, semicolons = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    for (const char *at = strrchr(text, 'f'); at > text && *at != '\n'; at--)
        semicolons += *at == ';';
    assert_int_equal(lines, 100);
    assert_int_equal(semicolons, 101);
    assert_non_null(strstr(text, "prog (100);main;f 32\n")); /* 10 + 20 + 2 of the recursion's outermost */
    assert_non_null(strstr(text, ";f;f 102\n"));             /* the innermost: 2201 - 2099 */
    free(text);
    end(&f);
}

/* What is in the picture is looked at by tests/system/test_flamegraph.py. */
static void test_flamegraph(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    uint32_t here = trace_writer_name(f.writer, "f", "", "a.c", 1, 0);
    uint32_t there = trace_writer_name(f.writer, "f", "", "b.c", 2, 0);
    struct zone_sink *sink = trace_writer_sink(f.writer, f.thread);
    zone_sink_add(sink, 1, 1000, 1010, 0, there);
    zone_sink_add(sink, 0, 1000, 1030, 10, here);
    zone_sink_add(sink, 0, 1030, 1070, 0, there);
    reopen(&f);
    static const char *const titles[] = {
        [EXPORT_FLAME_WALL] = "<title>f\n30 ns, 42.9%; own 20 ns; 1 call\na.c:1</title>",
        [EXPORT_FLAME_SELF] = "<title>f\n50 ns, 71.4%; 2 calls\nb.c:2</title>",
        [EXPORT_FLAME_COUNT] = "<title>f\n2 zones, 66.7%; own 1 zone\na.c:1</title>",
    };
    for (unsigned by = EXPORT_FLAME_WALL; by <= EXPORT_FLAME_COUNT; by++) {
        if (!titles[by])
            continue;
        for (unsigned is_html = 0; is_html < 2; is_html++) {
            struct export_counts counts;
            char *text = export_text(&f,
                                     (struct export_options){.format = EXPORT_FLAMEGRAPH,
                                                             .flame_by = (enum export_flame_by)by,
                                                             .is_html = is_html},
                                     &counts);
            if (!strstr(text, titles[by]))
                print_error("no %s in\n%s", titles[by], text);
            assert_non_null(strstr(text, titles[by]));
            assert_int_equal(strncmp(text, is_html ? "<!DOCTYPE html>" : "<?xml", 5), 0);
            free(text);
        }
    }
    end(&f);
}

static void test_speedscope(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_zones(&f);
    struct trace_loss loss = {.process = f.process,
                              .track = f.thread,
                              .reason = TRACE_LOSS_BUFFER_FULL,
                              .from_ns = 1100,
                              .to_ns = 1200,
                              .zones = 5};
    trace_writer_loss(f.writer, &loss);
    reopen(&f);
    struct export_counts counts;
    char *text =
        export_text(&f, (struct export_options){.format = EXPORT_SPEEDSCOPE, .title = "t.opscope"}, &counts);
    assert_int_equal(counts.lost_zones, 5);
    assert_non_null(strstr(text, "\"name\":\"t.opscope (5 zones lost)\""));
    assert_non_null(strstr(text, "{\"name\":\"step\",\"file\":\"a b.c\",\"line\":7}"));
    const char *profile = strstr(text, "\"profiles\":");
    assert_non_null(profile);
    assert_string_equal(profile, "\"profiles\":[\n"
                                 "{\"type\":\"evented\",\"name\":\"prog 100: main\",\"unit\":\"nanoseconds\","
                                 "\"startValue\":0,\"endValue\":1002500,\"events\":[\n"
                                 "{\"type\":\"O\",\"frame\":0,\"at\":0},\n"
                                 "{\"type\":\"O\",\"frame\":1,\"at\":500},\n"
                                 "{\"type\":\"C\",\"frame\":1,\"at\":1600},\n"
                                 "{\"type\":\"O\",\"frame\":2,\"at\":2000},\n"
                                 "{\"type\":\"C\",\"frame\":2,\"at\":1002000},\n"
                                 "{\"type\":\"C\",\"frame\":0,\"at\":1002500}]}\n"
                                 "]}\n");
    free(text);
    end(&f);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
}

static void test_chrome_zones(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_zones(&f);
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CHROME}, &counts);
    assert_has(text,
               "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":100,\"tid\":0,\"args\":{\"name\":\"prog\"}}");
    assert_has(
        text, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":100,\"tid\":100,\"args\":{\"name\":\"main\"}}");
    assert_has(text, "{\"ph\":\"X\",\"cat\":\"zone\",\"pid\":100,\"tid\":100,\"ts\":0.500,\"dur\":1.100,"
                     "\"name\":\"load;\\\"x\\\"\\n\",\"args\":{}}");
    assert_has(text, "\"ts\":2.000,\"dur\":1000.000,\"name\":\"compute\","
                     "\"args\":{\"text\":\"1,\\u0001\xef\xbf\xbd\",\"value\":\"18446744073709551615\"}}");
    assert_has(text, "\"ts\":0.000,\"dur\":1002.500,\"name\":\"step\","
                     "\"args\":{\"at\":\"a b.c:7\",\"function\":\"run\"}}");
    free(text);
    end(&f);
}

/* A program may attach a text or a value again: none hides another. */
static void test_zones_with_several_texts(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    struct zone_sink *sink = trace_writer_sink(f.writer, f.thread);
    struct trace_extra texts[] = {{.kind = TRACE_EXTRA_TEXT, .text = "one", .text_length = 3},
                                  {.kind = TRACE_EXTRA_VALUE, .value = 1},
                                  {.kind = TRACE_EXTRA_TEXT, .text = "two", .text_length = 3},
                                  {.kind = TRACE_EXTRA_VALUE, .value = 2},
                                  {.kind = TRACE_EXTRA_TEXT, .text = "three", .text_length = 5}};
    zone_sink_add(sink, 0, 1000, 2000, 0, name(&f, "many"));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        zone_sink_extra(sink, &texts[i]);
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CHROME}, &counts);
    assert_has(text, "\"args\":{\"text\":\"one\",\"value\":1,\"text 2\":\"two\",\"value 2\":2,\"text 3\":"
                     "\"three\"}}");
    free(text);
    text = export_text(&f, (struct export_options){.format = EXPORT_CSV}, &counts);
    assert_has(text, ",1000,1000,0,\"one\ntwo\nthree\",2,\n");
    free(text);
    end(&f);
}

/* Reads times as doubles, subtracts the base from the starts, adds the durations, and counts the events of a
 * trace with one row; fails when one overlaps another by as much as the last bit. */
static unsigned doubles_that_nest(const char *text, double base)
{
    double ends[8] = {0}, last_start = -INFINITY;
    unsigned depth = 0, seen = 0;
    static const char row[] = "\"tid\":100,\"ts\":";
    for (const char *at = text; (at = strstr(at, row)); seen++) {
        double start = strtod(at + strlen(row), NULL) - base;
        at = strstr(at, "\"dur\":");
        double end_us = start + strtod(at + 6, NULL);
        while (depth && ends[depth - 1] <= start && !(ends[depth - 1] == start && end_us == start))
            depth--;
        assert_true(start >= last_start);
        assert_true(depth == 0 || end_us <= ends[depth - 1]);
        assert_true(depth < 8);
        ends[depth++] = end_us;
        last_start = start;
    }
    return seen;
}

/* What a reader with doubles sees of zones that touch: no overlap. */
static void test_chrome_ties_in_doubles(void **state)
{
    (void)state;
    enum { NESTS = 2000 };
    struct fixture f;
    begin(&f);
    struct zone_sink *sink = trace_writer_sink(f.writer, f.thread);
    uint32_t outer = name(&f, "outer"), inner = name(&f, "inner"), empty = name(&f, "empty");
    uint64_t ns = 1123, random = 12345;
    f.second = add_track(&f, (struct trace_track){.process = f.process,
                                                  .parent = TRACE_NONE,
                                                  .kind = TRACE_TRACK_THREAD,
                                                  .number = 101,
                                                  .name = "second"});
    struct trace_counter first = {
        .track = f.second, .name = outer, .time = 1000}; /* the start of the trace */
    trace_writer_counter(f.writer, &first);
    for (unsigned i = 0; i < NESTS;
         i++) { /* each begins where the one before ended, all inner ones end together */
        uint64_t begin_ns = ns;
        random = random * 6364136223846793005u + 1442695040888963407u;
        ns += 1 + (random >> 33) % 1000;
        uint64_t middle_ns = ns;
        ns += 1 + (random >> 45) % 1000;
        zone_sink_add(sink, 3, ns, ns, 0, empty);
        zone_sink_add(sink, 2, middle_ns, ns, 0, inner);
        zone_sink_add(sink, 1, begin_ns, ns, ns - middle_ns, inner);
        zone_sink_add(sink, 0, begin_ns, ns, ns - begin_ns, outer);
    }
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CHROME}, &counts);
    assert_int_equal(doubles_that_nest(text, 0), 4 * NESTS);
    assert_int_equal(doubles_that_nest(text, 0.123), 4 * NESTS); /* the first start */
    unsigned corrected = 0;
    for (const char *at = text; (at = strstr(at, "\"dur\":")); at++)
        corrected += strcspn(at, ",") > strlen("\"dur\":1.000") + 2;
    assert_true(corrected > 0 && corrected < 2 * NESTS);
    free(text);
    end(&f);
}

/* An op of 200 ns on the thread, and its run of 50 ticks. */
static void add_op_and_run(struct fixture *f, uint32_t queue)
{
    const struct trace_part parts[] = {
        {TRACE_PART_INPUT, SLICE("shape=1x32;dtype=BF16")},
        {TRACE_PART_INPUT, SLICE("shape=32")},
        {TRACE_PART_OUTPUT, SLICE("shape=1")},
        {TRACE_PART_ATTRIBUTE, SLICE("axis=1")},
        {TRACE_PART_KERNEL, SLICE("reader.cpp")},
    };
    struct trace_op op = {.call = 7,
                          .process = f->process,
                          .track = f->thread,
                          .name = name(f, "matmul"),
                          .type = TRACE_OP_DEVICE,
                          .device = 0,
                          .description = trace_writer_description(f->writer, parts, 5),
                          .start_ns = 1500,
                          .end_ns = 1700};
    trace_writer_op(f->writer, &op);
    struct trace_run_part times[] = {{.name = name(f, "BRISC"), .whole = 20},
                                     {.name = name(f, "NCRISC"), .whole = 30}};
    struct trace_run run = {.call = 7,
                            .process = f->process,
                            .track = queue,
                            .name = op.name,
                            .session = 2,
                            .cores = 64,
                            .part_count = 2,
                            .start = 300,
                            .duration = 50,
                            .parts = times};
    trace_writer_run(f->writer, &run);
}

/* One row of everything else; the device's clock runs at half the host's speed and began at 1000 ns. */
static void add_everything(struct fixture *f)
{
    struct trace_clock clock = {
        .id = TRACE_NONE, .is_device = true, .ticks_per_second = 5e8, .name = "device"};
    uint32_t clock_id = trace_writer_clock(f->writer, &clock);
    for (unsigned i = 0; i < 2; i++) {
        struct trace_clock_point point = {
            .clock = clock_id, .ticks = (uint64_t)i * 1000, .host_ns = 1000 + (uint64_t)i * 2000};
        trace_writer_clock_point(f->writer, &point);
    }
    uint32_t device = add_track(f, (struct trace_track){.process = f->process,
                                                        .parent = TRACE_NONE,
                                                        .kind = TRACE_TRACK_DEVICE,
                                                        .clock = clock_id,
                                                        .name = "chip 0"});
    uint32_t queue = add_track(f, (struct trace_track){.process = f->process,
                                                       .parent = device,
                                                       .kind = TRACE_TRACK_QUEUE,
                                                       .clock = clock_id,
                                                       .number = 3,
                                                       .name = ""});
    struct trace_point points[] = {
        {.track = f->thread,
         .kind = TRACE_POINT_SIGNPOST,
         .time = 1100,
         .header = "epoch",
         .text = "1",
         .text_length = 1},
        {.track = f->thread,
         .kind = TRACE_POINT_MESSAGE,
         .time = 1200,
         .header = "",
         .text = "hi, you",
         .text_length = 7},
        {.track = f->thread,
         .kind = TRACE_POINT_FRAME,
         .time = 1300,
         .header = "frame",
         .text = "",
         .text_length = 0},
    };
    for (size_t i = 0; i < 3; i++)
        trace_writer_point(f->writer, &points[i]);
    struct trace_counter counter = {
        .track = f->thread, .name = name(f, "queue length"), .time = 1400, .value = 0.1};
    trace_writer_counter(f->writer, &counter);
    add_op_and_run(f, queue);
    struct trace_loss loss = {.process = f->process,
                              .track = TRACE_NONE,
                              .reason = TRACE_LOSS_BUFFER_FULL,
                              .from_ns = 1800,
                              .to_ns = 1900,
                              .zones = 1,
                              .records = 3};
    trace_writer_loss(f->writer, &loss);
    struct zone_sink *sink = trace_writer_sink(f->writer, f->thread);
    zone_sink_add(sink, 0, 1000, 2000, 0, name(f, "all"));
}

static void test_chrome_everything(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_everything(&f);
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CHROME}, &counts);
    assert_int_equal(counts.points, 3);
    assert_int_equal(counts.counters, 1);
    assert_int_equal(counts.ops, 1);
    assert_int_equal(counts.runs, 1);
    assert_int_equal(counts.losses, 1);
    assert_has(text,
               "\"cat\":\"signpost\",\"s\":\"t\",\"pid\":100,\"tid\":100,\"ts\":0.100,\"name\":\"epoch\","
               "\"args\":{\"text\":\"1\"}}");
    assert_has(text, "\"ts\":0.200,\"name\":\"hi, you\",\"args\":{\"text\":\"hi, you\"}}");
    assert_has(
        text,
        "\"cat\":\"frame\",\"s\":\"p\",\"pid\":100,\"tid\":100,\"ts\":0.300,\"name\":\"frame\",\"args\":{}}");
    assert_has(text, "{\"ph\":\"C\",\"name\":\"queue length\",\"pid\":100,\"tid\":0,\"ts\":0.400,"
                     "\"args\":{\"value\":0.1}}");
    assert_has(
        text,
        "\"ts\":0.500,\"dur\":0.200,\"name\":\"matmul\",\"args\":{\"call\":7,\"type\":\"device\",\"device\":0,"
        "\"inputs\":[\"shape=1x32;dtype=BF16\",\"shape=32\"],\"outputs\":[\"shape=1\"],"
        "\"attributes\":[\"axis=1\"],\"kernels\":[\"reader.cpp\"]}}");
    assert_has(text, "\"args\":{\"name\":\"main ops\"}}");
    /* 300 ticks of 2 ns: 600 ns after the device's start, which is the trace's */
    assert_has(
        text,
        "\"ts\":0.600,\"dur\":0.100,\"name\":\"matmul\",\"args\":{\"call\":7,\"session\":2,\"cores\":64,"
        "\"start ticks\":300,\"ticks\":50,\"BRISC ticks\":20,\"NCRISC ticks\":30}}");
    assert_has(text, "\"args\":{\"name\":\"chip 0 (prog)\"}}");
    assert_has(text, "\"args\":{\"name\":\"queue 3\"}}");
    assert_has(text, "\"cat\":\"loss\",\"s\":\"p\",\"pid\":100,\"tid\":0,\"ts\":0.800,"
                     "\"name\":\"lost 1 zone and 3 records\",\"args\":{\"reason\":");
    free(text);
    end(&f);
}

static void test_csv_everything(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_everything(&f);
    reopen(&f);
    assert_export(&f, (struct export_options){.format = EXPORT_CSV, .rows = EXPORT_ROWS_MESSAGES},
                  "kind,header,text,process,pid,thread,tid,time_ns\n"
                  "signpost,epoch,1,prog,100,main,100,100\n"
                  "message,,\"hi, you\",prog,100,main,100,200\n"
                  "frame,frame,,prog,100,main,100,300\n");
    assert_export(&f, (struct export_options){.format = EXPORT_CSV, .rows = EXPORT_ROWS_COUNTERS},
                  "name,process,pid,thread,tid,time_ns,value\n"
                  "queue length,prog,100,main,100,400,0.1\n");
    assert_export(
        &f, (struct export_options){.format = EXPORT_CSV, .rows = EXPORT_ROWS_OPS},
        "call,name,type,device,process,pid,thread,tid,start_ns,duration_ns,inputs,outputs,attributes,"
        "kernels,location,figures\n"
        "7,matmul,device,0,prog,100,main,100,500,200,shape=1x32;dtype=BF16 | shape=32,shape=1,axis=1,"
        "reader.cpp,,\n");
    assert_export(
        &f, (struct export_options){.format = EXPORT_CSV, .rows = EXPORT_ROWS_RUNS},
        "call,name,process,pid,track,number,start_ns,duration_ns,start_ticks,duration_ticks,session,"
        "cores,parts_ticks\n"
        "7,matmul,prog,100,queue 3,3,600,100,300,50,2,64,BRISC=20;NCRISC=30\n");
    struct export_counts counts;
    char *text =
        export_text(&f, (struct export_options){.format = EXPORT_CSV, .rows = EXPORT_ROWS_LOSSES}, &counts);
    assert_has(text, ",prog,100,,,800,900,1,3\n");
    free(text);
    end(&f);
}

static void add_memory(struct fixture *f, uint32_t track, uint64_t time, uint64_t address, uint64_t size,
                       const char *pool)
{
    struct trace_memory memory = {.track = track,
                                  .pool = pool ? name(f, pool) : TRACE_NONE,
                                  .time = time,
                                  .address = address,
                                  .size = size,
                                  .is_release = size == 0};
    trace_writer_memory(f->writer, &memory);
}

/* One thread releases what another allocated, and its records come first. */
static void test_memory_in_order_of_time(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    f.second = add_track(&f, (struct trace_track){.process = f.process,
                                                  .parent = TRACE_NONE,
                                                  .kind = TRACE_TRACK_THREAD,
                                                  .number = 101,
                                                  .name = "second"});
    add_memory(&f, f.second, 1300, 0x10, 0, NULL);
    add_memory(&f, f.second, 1400, 0x99, 0, NULL); /* was never allocated */
    add_memory(&f, f.thread, 1100, 0x10, 100, NULL);
    add_memory(&f, f.thread, 1200, 0x20, 50, NULL);
    add_memory(&f, f.thread, 1250, 0x30, 7, "L1");
    add_memory(&f, f.thread, 1350, 0x20, 60, NULL); /* allocated again: the release was lost */
    add_memory(&f, f.thread, 1500, 0x30, 0, "L1");
    zone_sink_add(trace_writer_sink(f.writer, f.thread), 0, 1000, 2000, 0, name(&f, "all"));
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CHROME}, &counts);
    const struct {
        const char *name, *ts;
        unsigned bytes;
    } want[] = {{"memory", "0.100", 100}, {"memory", "0.200", 150}, {"memory: L1", "0.250", 7},
                {"memory", "0.300", 50},  {"memory", "0.350", 60},  {"memory: L1", "0.500", 0}};
    const char *at = text;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        char line[200];
        snprintf(line, sizeof line,
                 "{\"ph\":\"C\",\"name\":\"%s\",\"pid\":100,\"tid\":0,\"ts\":%s,\"args\":{\"bytes\":%u}}",
                 want[i].name, want[i].ts, want[i].bytes);
        at = strstr(at, line); /* in this order */
        if (!at)
            fail_msg("no %s in its place in %s", line, text);
    }
    assert_int_equal(counts.memory_events, 6);
    free(text);
    end(&f);
}

/* Ten thousand live allocations, released in another order by a thread whose blocks come first in the file. */
static void test_memory_returns_to_zero(void **state)
{
    (void)state;
    enum { BLOCKS = 10000, OTHERS = 20000 };
    struct fixture f;
    begin(&f);
    for (uint64_t i = 0; i < BLOCKS; i++)
        add_memory(&f, f.thread, 20000 + i, 0x1000 + i * 7919 % BLOCKS * 64, 0, NULL);
    for (uint64_t i = 0; i < OTHERS; i++) /* enough to put a block between them */
        add_memory(&f, f.thread, 19500, 0x8, i % 2 ? 0 : 1, "other");
    for (uint64_t i = 0; i < BLOCKS; i++)
        add_memory(&f, f.thread, 1000 + i, 0x1000 + i * 64, 1 + i % 5, NULL);
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CHROME}, &counts);
    assert_int_equal(counts.memory_events, 2 * BLOCKS + OTHERS);
    assert_has(text, "\"ts\":9.999,\"args\":{\"bytes\":30000}}");
    const char *last = strstr(text, "\"ts\":28.999,\"args\":{\"bytes\":0}}");
    assert_non_null(last);
    free(text);
    end(&f);
}

/* A pid that was used twice, and a tid: rows must not be mixed. */
static void test_chrome_reused_numbers(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    uint32_t again = add_process(&f, 100, "other");
    struct trace_track twin = {.process = f.process,
                               .parent = TRACE_NONE,
                               .kind = TRACE_TRACK_THREAD,
                               .number = 100,
                               .name = "twin"};
    uint32_t twin_id = add_track(&f, twin);
    twin.process = again;
    uint32_t other_id = add_track(&f, twin);
    const uint32_t tracks[] = {f.thread, twin_id, other_id};
    for (size_t i = 0; i < 3; i++)
        zone_sink_add(trace_writer_sink(f.writer, tracks[i]), 0, 1000, 2000 + i, 0, name(&f, "z"));
    reopen(&f);
    struct export_counts counts;
    char *text = export_text(&f, (struct export_options){.format = EXPORT_CHROME}, &counts);
    assert_has(text, "\"pid\":100,\"tid\":100,\"ts\":0.000,\"dur\":1.000");
    assert_has(text, "\"pid\":100,\"tid\":1000000001,\"ts\":0.000,\"dur\":1.001");
    assert_has(text, "\"pid\":1000000001,\"tid\":100,\"ts\":0.000,\"dur\":1.002");
    free(text);
    end(&f);
}

static void test_write_errors_are_reported(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    add_zones(&f);
    reopen(&f);
    for (unsigned format = EXPORT_CHROME; format <= EXPORT_COLLAPSED; format++) {
        struct export_options options = {.format = format};
        struct export_counts counts;
        struct error err = {0};
        FILE *full = fopen("/dev/full", "w");
        assert_non_null(full);
        assert_int_equal(export_trace(f.trace, &f.filter, &options, full, &counts, &err), -ENOSPC);
        assert_non_null(strstr(err.message, "cannot write the export"));
        fclose(full);
    }
    end(&f);
}

static void test_empty_trace(void **state)
{
    (void)state;
    struct fixture f;
    struct export_counts counts;
    begin(&f);
    reopen(&f);
    for (unsigned format = EXPORT_CHROME; format <= EXPORT_COLLAPSED; format++) {
        char *text = export_text(&f, (struct export_options){.format = format}, &counts);
        assert_int_equal(counts.zones, 0);
        free(text);
    }
    assert_export(&f, (struct export_options){.format = EXPORT_COLLAPSED}, "");
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_names),
        cmocka_unit_test(test_csv_zones),
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_collapsed_merges),
        cmocka_unit_test(test_flamegraph),
        cmocka_unit_test(test_speedscope),
        cmocka_unit_test(test_chrome_zones),
        cmocka_unit_test(test_zones_with_several_texts),
        cmocka_unit_test(test_chrome_ties_in_doubles),
        cmocka_unit_test(test_chrome_everything),
        cmocka_unit_test(test_csv_everything),
        cmocka_unit_test(test_memory_in_order_of_time),
        cmocka_unit_test(test_memory_returns_to_zero),
        cmocka_unit_test(test_chrome_reused_numbers),
        cmocka_unit_test(test_write_errors_are_reported),
        cmocka_unit_test(test_empty_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
