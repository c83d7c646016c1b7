/* SPDX-License-Identifier: Apache-2.0 */
/* The op table of a recorded trace: which rows and columns it has, and what stands in them. */
#include "test_trace_support.h"

#include "import/op_rows.h"

static struct trace_writer *writer;
static uint32_t process, other_process, thread, queue, other_queue;

static uint32_t define_track(uint32_t kind, uint64_t key, uint32_t clock)
{
    return trace_writer_track(writer, &(struct trace_track){.id = TRACE_NONE,
                                                            .process = process,
                                                            .parent = TRACE_NONE,
                                                            .kind = kind,
                                                            .clock = clock,
                                                            .number = key,
                                                            .key = key,
                                                            .name = "track"});
}

/* Two processes, a thread, and queues of two devices; the second device's clock has 2 ticks a nanosecond and begins at
 * 1,000 ns. */
static void begin(void)
{
    struct trace_writer_options options = {.program = "test", .command = "test", .host = "test"};
    struct error err = {0};
    assert_int_equal(trace_writer_open(&writer, test_path("t.opscope"), &options, &err), 0);
    for (unsigned i = 0; i < 2; i++)
        *(i ? &other_process : &process) =
            trace_writer_process(writer, &(struct trace_process){.id = TRACE_NONE,
                                                                 .parent = TRACE_NONE,
                                                                 .pid = 10 + i,
                                                                 .key = i + 1,
                                                                 .command = "p",
                                                                 .host = ""});
    uint32_t clock = trace_writer_clock(
        writer, &(struct trace_clock){
                    .id = TRACE_NONE, .is_device = true, .ticks_per_second = 2e9, .name = "device clock"});
    trace_writer_clock_point(writer, &(struct trace_clock_point){.clock = clock, .host_ns = 1000});
    thread = define_track(TRACE_TRACK_THREAD, 1, TRACE_HOST_CLOCK);
    queue = define_track(TRACE_TRACK_QUEUE, 2, TRACE_HOST_CLOCK);
    other_queue = define_track(TRACE_TRACK_QUEUE, 3, clock);
}

static void add_op(uint64_t call, uint32_t of_process, const char *name, const char *attribute,
                   uint64_t start_ns, uint64_t end_ns)
{
    struct trace_part part = {TRACE_PART_ATTRIBUTE, slice_of(attribute ? attribute : "")};
    trace_writer_op(
        writer,
        &(struct trace_op){.call = call,
                           .process = of_process,
                           .track = thread,
                           .name = trace_writer_name(writer, name, "", "", 0, 0),
                           .device = TRACE_NONE,
                           .description = attribute ? trace_writer_description(writer, &part, 1) : TRACE_NONE,
                           .start_ns = start_ns,
                           .end_ns = end_ns});
}

static void add_run(uint64_t call, uint32_t of_process, uint32_t track, uint32_t session, uint64_t start,
                    uint64_t duration)
{
    trace_writer_run(writer, &(struct trace_run){.call = call,
                                                 .process = of_process,
                                                 .track = track,
                                                 .name = trace_writer_name(writer, "run", "", "", 0, 0),
                                                 .session = session,
                                                 .start = start,
                                                 .duration = duration});
}

static void add_signpost(const char *header, uint64_t time_ns)
{
    trace_writer_point(writer, &(struct trace_point){.track = thread,
                                                     .kind = TRACE_POINT_SIGNPOST,
                                                     .time = time_ns,
                                                     .header = header,
                                                     .text = "why, so",
                                                     .text_length = 7});
}

/* The table as text: the header, then a line for each row; '-' is a cell that is missing. */
static void assert_table_with(size_t notices, const char *expected)
{
    struct error err = {0};
    struct op_rows *rows;
    struct op_row row;
    struct bytes text = {0};
    assert_int_equal(trace_writer_finish(writer, &err), 0);
    assert_int_equal(op_rows_open(&rows, test_path("t.opscope"), &err), 0);
    assert_string_equal(op_rows_kind(rows), "trace");
    for (size_t i = 0; i < op_rows_column_count(rows); i++)
        bytes_append_format(&text, "%s%s", i ? "|" : "", op_rows_column_name(rows, i));
    int status;
    while ((status = op_rows_next(rows, &row, &err)) > 0) {
        assert_int_equal(row.cell_count, op_rows_column_count(rows));
        for (size_t i = 0; i < row.cell_count; i++)
            bytes_append_format(&text, "%s%.*s", i ? "|" : "\n",
                                row.cells[i].data ? (int)row.cells[i].length : 1,
                                row.cells[i].data ? row.cells[i].data : "-");
    }
    assert_int_equal(status, 0);
    assert_int_equal(op_rows_notice_count(rows), notices);
    op_rows_close(rows);
    bytes_append_u8(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    bytes_free(&text);
}

static void assert_table(const char *expected)
{
    assert_table_with(0, expected);
}

static void test_no_ops(void **state)
{
    (void)state;
    begin();
    assert_table("GLOBAL CALL COUNT");
}

/* Ops that say the same share what they say, and nothing else does. */
static void test_ops(void **state)
{
    (void)state;
    begin();
    add_op(1, process, "add", "module=a", 100, 150);
    add_op(2, process, "add", "module=b, c", 200, 230);
    add_op(3, process, "add", "module=a", 300, 310);
    add_op(4, process, "mul", "module=a", 400, 400);
    add_op(5, process, "add", NULL, 500, 490);
    assert_table(
        "OP CODE|OP TYPE|GLOBAL CALL COUNT|ATTRIBUTES|HOST START TS|HOST END TS|HOST DURATION [ns]|MODULE PATH\n"
        "add|tt_dnn_device|1|{'module': 'a'}|100|150|50|a\n"
        "add|tt_dnn_device|2|{'module': 'b; c'}|200|230|30|b; c\n"
        "add|tt_dnn_device|3|{'module': 'a'}|300|310|10|a\n"
        "mul|tt_dnn_device|4|{'module': 'a'}|400|400|0|a\n"
        "add|tt_dnn_device|5|-|500|500|0|-");
}

/* An op that never ended has no host times; a number that comes again in its process is left out, that of another
 * process is another op; signposts stand where they were set. */
static void test_damage_and_signposts(void **state)
{
    (void)state;
    begin();
    add_op(1, process, "add", NULL, 100, 0);
    add_op(1, process, "again", NULL, 110, 120);
    add_op(1, other_process, "sub", NULL, 50, 60);
    add_signpost("here, now", 70);
    assert_table_with(
        1, "OP CODE|OP TYPE|GLOBAL CALL COUNT|ATTRIBUTES|HOST START TS|HOST END TS|HOST DURATION [ns]|NOTE\n"
           "sub|tt_dnn_device|1|-|50|60|10|\n"
           "here, now|signpost|-|why; so|70|-|-|\n"
           "add|tt_dnn_device|1|-|-|-|-|no host times");
}

/* The first run is on the op's row, further ones have theirs, placed by when they began. Gaps are those of the queue: a
 * run that begins before the last has ended has a negative one. A run that no op has is not a row, and ends a gap. */
static void test_runs(void **state)
{
    (void)state;
    begin();
    add_op(1, process, "add", NULL, 100, 110);
    add_op(2, process, "add", NULL, 120, 130);
    add_op(2, other_process, "sub", NULL, 140, 150);
    add_run(1, process, queue, 0, 200, 50);
    add_run(2, process, queue, 0, 240, 100);
    add_run(9, process, queue, 0, 400, 100);
    add_run(2, other_process, queue, 0, 600, 5);
    add_run(0, process, queue, 0, 700, 5);
    add_run(2, process, queue, 0, 3500, 5);
    add_run(1, process, other_queue, 6, 4000, 100);
    add_run(1, process, other_queue, 7, 6000, 200);
    assert_table(
        "OP CODE|OP TYPE|GLOBAL CALL COUNT|HOST START TS|HOST END TS|HOST DURATION [ns]|DEVICE FW START CYCLE|"
        "DEVICE FW END CYCLE|OP TO OP LATENCY [ns]|DEVICE FW DURATION [ns]|DEVICE KERNEL DURATION [ns]|"
        "METAL TRACE REPLAY SESSION ID\n"
        "add|tt_dnn_device|1|100|110|10|200|250|0|50|50|-\n"
        "add|tt_dnn_device|2|120|130|10|240|340|-10|100|100|-\n"
        "sub|tt_dnn_device|2|140|150|10|600|605|100|5|5|-\n"
        "add|tt_dnn_device|1|100|110|10|4000|4100|0|50|50|6\n"
        "add|tt_dnn_device|2|120|130|10|3500|3505|2795|5|5|-\n"
        "add|tt_dnn_device|1|100|110|10|6000|6200|950|100|100|7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_ops),
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_damage_and_signposts),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
