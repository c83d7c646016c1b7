/* SPDX-License-Identifier: Apache-2.0 */
/* A collector that dies at a moment of our choice, and recover after it: each zone is in the trace once or counted as
 * lost once. The death is simulated: the collector and its writer are dropped without a word, as SIGKILL does; what
 * stays is the file, the segment and the ledger. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "collect_image.h"
#include "trace/reader.h"

enum { CHUNKS = 8 };

static char base[64];
static struct image image;
static struct collection first, second;
static struct session_control ledger;
static struct collector_stats stats;
static struct trace *trace;
static uint32_t name;

static int set_up_group(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/opscope-test-recover-XXXXXX");
    return mkdtemp(base) ? 0 : -1;
}

static int tear_down_group(void **state)
{
    (void)state;
    return rmdir(base);
}

static int set_up(void **state)
{
    (void)state;
    if (!image_map(&image, CHUNKS))
        return -1;
    name = image_name(&image, "zone");
    trace = NULL;
    ledger = (struct session_control){0};
    if (collection_open(&first, base, 0) != 0)
        return -1;
    first.folder.ledger = &ledger;
    return !collection_add(&first, image.memory, image.layout.total);
}

static int tear_down(void **state)
{
    (void)state;
    trace_close(trace);
    image_unmap(&image);
    char path[80];
    snprintf(path, sizeof path, "%s/ledger", base);
    unlink(path); /* where a chunk was given back */
    return unlink(first.path);
}

/* Zones one after the other, `count` of them, the first at `start`. */
static void add_zones(uint32_t chunk, uint64_t start, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        image_zone(&image, chunk, start + 10 * i, start + 10 * i + 5, name);
}

static void add_message(uint32_t chunk, uint64_t ticks, const char *text)
{
    struct slot more = {0, 0};
    memcpy(&more, text, strlen(text));
    image_long_record(&image, chunk, ticks, RECORD_MESSAGE, (uint32_t)strlen(text), 0, &more, 1);
}

static void poll(void)
{
    struct error err = {0};
    first.collector->next_peek_ns = 0;
    collector_poll(first.collector, &err);
    assert_int_equal(err.code, 0);
}

/* Lets everything reach the file that is in the writer's memory. */
static void write_all(void)
{
    struct error err = {0};
    uint64_t later = clock_raw_ns() + UINT64_C(60000000000);
    assert_int_equal(trace_writer_tick(first.writer, later, &err), 0);
}

static void die(void)
{
    trace_writer_abandon(first.writer);
    collector_free(first.collector);
    close(first.folder.fd);
}

static const struct trace_info *recover(void)
{
    struct error err = {0};
    second = first;
    second.folder.ledger = NULL;
    ledger.session_id = first.folder.control.session_id;
    ledger.clock_source = first.folder.control.clock_source;
    ledger.start_ticks = first.folder.control.start_ticks;
    ledger.start_raw_ns = first.folder.control.start_raw_ns;
    second.folder.control = ledger;
    second.folder.fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (trace_writer_resume(&second.writer, first.path, &err) != 0)
        fail_msg("%s", err.message);
    assert_int_equal(
        collector_create(&second.collector, &second.folder, second.writer, COLLECTOR_RECOVER, &err), 0);
    assert_true(collection_add(&second, image.memory, image.layout.total));
    assert_int_equal(collection_finish(&second, &stats), 0);
    assert_int_equal(trace_open(&trace, first.path, 0, &err), 0);
    assert_true(trace_get_info(trace)->is_recovered);
    return trace_get_info(trace);
}

static void test_written_and_met_again(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    add_zones(0, 0, 20);
    add_message(0, 300, "one");
    poll();
    write_all();
    add_zones(0, 400, 7); /* after the collector has looked for the last time */
    add_message(0, 500, "two");
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 27);
    assert_int_equal(info->lost_zones, 0);
    assert_int_equal(info->points, 2);
}

static void test_taken_but_not_written(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    add_zones(0, 0, 20);
    add_message(0, 300, "one");
    poll();
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 20); /* still in the chunk: nothing is lost */
    assert_int_equal(info->lost_zones, 0);
    assert_int_equal(info->points,
                     0); /* whether it was written cannot be known: rather once too few than twice */
    assert_int_equal(info->lost_records, 1);
}

/* Pauses: one that was written, one that was taken but not written, and one that goes on when the collector dies. */
static void test_pauses_are_there_once(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    for (uint64_t i = 0; i < 3; i++) {
        image_record(&image, 0, 100 + 100 * i, RECORD_PAUSE, 1, 0);
        add_zones(0, 110 + 100 * i, 1);
        if (i < 2)
            image_record(&image, 0, 150 + 100 * i, RECORD_PAUSE, 0, 0);
        poll();
        if (i == 0)
            write_all();
    }
    die();
    recover();
    size_t count;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    uint32_t found[4] = {0};
    for (size_t i = 0; i < count; i++) {
        uint64_t from = losses[i].from_ns - IMAGE_BASE_TICKS;
        assert_int_equal(losses[i].reason, TRACE_LOSS_PAUSED);
        assert_true(from % 100 == 0 && from <= 300);
        found[from / 100]++;
    }
    assert_int_equal(found[1], 1);
    assert_int_equal(found[2], 1);
    assert_int_equal(found[3], 1);
}

/* --- records that are not zones --- */

enum { POINTS = 3, RECORDS = POINTS + 6, ZONES_APART = 4 }; /* of add_every_record */

static uint32_t define_queue(void)
{
    double hertz = 1e9;
    struct name_entry device = {.length = 4, .kind = NAME_DEVICE};
    memcpy(&device.value, &hertz, sizeof hertz);
    struct name_entry queue = {.length = 5, .kind = NAME_DEVICE_TRACK, .aux = TRACE_TRACK_QUEUE};
    queue.owner = image_define(&image, &device, "chip");
    return image_define(&image, &queue, "queue");
}

/* Device 0 of its process, which is called `identity`; a run on its queue. */
static uint32_t define_device(const char *identity)
{
    char text[32] = "chip";
    snprintf(text + 6, sizeof text - 6, "%s", identity);
    struct name_entry device = {.length = 6 + (uint32_t)strlen(identity), .kind = NAME_DEVICE};
    struct name_entry queue = {.kind = NAME_DEVICE_TRACK, .aux = TRACE_TRACK_QUEUE};
    queue.owner = image_define(&image, &device, text);
    return image_define(&image, &queue, "");
}

static void add_run(uint32_t chunk, uint32_t queue)
{
    struct slot more[2] = {{5, 0}, {1, 0}};
    image_long_record(&image, chunk, 5, RECORD_DEVICE_RUN, name, queue, more, 2);
}

/* Which of several devices is number 0 does not depend on who is met first. */
static void test_devices_keep_their_numbers(void **state)
{
    (void)state;
    uint32_t one = define_device("one"), two = define_device("two"), numbers[4], count = 0;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_run(0, one);
    add_run(0, two);
    poll();
    write_all();
    die();
    image_chunk(&image, 1, 0, 1, CHUNK_OWNED);
    add_run(1, two);
    add_run(1, one);
    recover();
    for (uint32_t i = 0; i < trace_track_count(trace); i++) {
        const struct trace_track *track = trace_get_track(trace, i);
        if (track->kind == TRACE_TRACK_DEVICE && count < 4)
            numbers[count++] = (uint32_t)track->number;
    }
    assert_int_equal(count, 4);
    assert_true(numbers[0] == 0 && numbers[1] == 1 && numbers[2] == 1 && numbers[3] == 0);
}

/* Three points, a counter, a memory event, an op (with its zone), a run, a lock that is waited for and held; a span,
 * that of who holds the lock, and two zones of the device: the run's and another. */
static void add_every_record(uint32_t chunk, uint64_t at, uint32_t queue)
{
    struct slot more[2] = {{at, 5}, {1, 0}};
    add_message(chunk, at, "said");
    image_long_record(&image, chunk, at + 1, RECORD_SIGNPOST, 2, 0, &(struct slot){'a', 0}, 1);
    image_record(&image, chunk, at + 2, RECORD_FRAME, name, 0);
    image_long_record(&image, chunk, at + 3, RECORD_COUNTER, name, 0, more, 1);
    image_long_record(&image, chunk, at + 4, RECORD_MEMORY, 0, 0, more, 1);
    image_long_record(&image, chunk, at + 5, RECORD_OP_BEGIN, name, 0, more, 1);
    image_record(&image, chunk, at + 6, RECORD_ZONE_END, 0, 0);
    image_long_record(&image, chunk, at + 7, RECORD_SPAN_BEGIN, name, 0, more, 1);
    image_long_record(&image, chunk, at + 8, RECORD_SPAN_END, 0, 0, more, 1);
    image_long_record(&image, chunk, at + 9, RECORD_DEVICE_ZONE, name, queue, more, 1);
    image_long_record(&image, chunk, at + 9, RECORD_DEVICE_RUN, name, queue, more, 2);
    image_long_record(&image, chunk, at + 10, RECORD_LOCK, name, RECORD_LOCK_WAIT, more, 1);
    image_long_record(&image, chunk, at + 11, RECORD_LOCK, name, RECORD_LOCK_OBTAINED, more, 1);
    image_long_record(&image, chunk, at + 12, RECORD_LOCK, 0, RECORD_LOCK_RELEASED, more, 1);
}

static uint64_t count_records(const struct trace_info *info)
{
    return info->points + info->counters + info->memory_events + info->ops + info->runs + info->locks;
}

static void test_every_record_is_found_or_lost(void **state)
{
    (void)state;
    uint32_t queue = define_queue();
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    add_every_record(0, 100, queue);
    poll();
    device_flush(first.collector->sources[0], clock_raw_ns() + UINT64_C(60000000000), false);
    write_all();
    add_every_record(0, 200, queue); /* taken, not written */
    poll();
    add_every_record(0, 300, queue); /* never taken */
    die();
    const struct trace_info *info = recover();
    assert_int_equal(count_records(info), 2 * RECORDS);
    assert_int_equal(info->points, 2 * POINTS);
    assert_int_equal(info->lost_records, RECORDS);
    assert_int_equal(info->zones, 3 + 2 * ZONES_APART); /* the zones of ops are in the chunk: none is lost */
    assert_int_equal(info->lost_zones, ZONES_APART);
}

static void test_records_of_chunks_that_were_given_back(void **state)
{
    (void)state;
    uint32_t queue = define_queue();
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED)->flags = CHUNK_LAST;
    add_every_record(0, 100, queue);
    image_long_record(&image, 0, 200, RECORD_SPAN_BEGIN, name, 0, &(struct slot){9, 0}, 1); /* stays open */
    poll();
    assert_int_equal(image_descriptor(&image, 0)->state, CHUNK_FREE);
    die();
    const struct trace_info *info = recover();
    assert_int_equal(count_records(info), 0);
    assert_int_equal(info->lost_records, RECORDS);
    assert_int_equal(info->lost_zones, 1 + ZONES_APART);
}

/* An op and a message in two pieces that began before the death and end after it. */
static void add_beginnings(uint32_t chunk)
{
    struct slot more[256] = {{1, 5}};
    image_long_record(&image, chunk, 1, RECORD_OP_BEGIN, name, 0, more, 1);
    image_long_record(&image, chunk, 2, RECORD_MESSAGE, 4090, 0, more, 255);
}

static void add_ends(uint32_t chunk)
{
    struct slot more = {0, 0};
    image_long_record(&image, chunk, 10, RECORD_MESSAGE, 4090, 4080, &more, 1);
    image_record(&image, chunk, 11, RECORD_ZONE_END, 0, 0);
}

static void test_records_around_the_death(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    add_beginnings(0);
    poll();
    add_ends(0);
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->ops, 1);
    assert_int_equal(info->points, 1);
    assert_int_equal(info->lost_records, 0);
    assert_int_equal(info->zones, 1);
}

static void test_records_whose_begin_is_gone(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_beginnings(0);
    poll();
    struct chunk_descriptor *d = image_chunk(&image, 1, 0, 1, CHUNK_OWNED);
    d->zones_before = d->depth_at_start = 1;
    add_ends(1);
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->ops, 0);
    assert_int_equal(info->points, 0);
    assert_int_equal(info->lost_records, 2);
    assert_int_equal(info->zones, 1); /* "begun before the collector died" */
}

/* Killed between counting the records of a chunk and marking them as taken, or after that. */
static void test_death_while_records_are_counted(void **state)
{
    (void)state;
    for (int is_marked = 0; is_marked < 2; is_marked++) {
        if (is_marked) {
            assert_int_equal(tear_down(state), 0);
            assert_int_equal(set_up(state), 0);
        }
        image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
        add_message(0, 1, "one");
        poll();
        assert_int_equal(ledger.taken.records, 1);
        add_message(0, 2, "two");
        add_message(0, 3, "three");
        struct source *source = first.collector->sources[0];
        ledger.taking.records = 3;
        ledger.taking_slots = image_descriptor(&image, 0)->slots;
        ledger.taking_chunk = source_key(source, 5, 0);
        if (is_marked)
            ((uint16_t *)(void *)(image.memory + image.layout.taken))[0] = (uint16_t)ledger.taking_slots;
        die();
        const struct trace_info *info = recover();
        assert_int_equal(info->points, is_marked ? 0 : 2);
        assert_int_equal(info->lost_records, is_marked ? 3 : 1);
    }
}

static void test_chunks_that_were_given_back(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_zones(0, 0, 100);
    poll();
    write_all();
    image_chunk(&image, 0, 0, 1, CHUNK_SEALED)->zones_before = 100;
    add_zones(0, 2000, 50);
    poll(); /* these 50 are in the collector's memory only */
    image_chunk(&image, 1, 0, 2, CHUNK_OWNED)->zones_before = 150;
    add_zones(1, 4000, 3);
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 103);
    assert_int_equal(info->lost_zones, 50);
    size_t count;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(losses[0].reason, TRACE_LOSS_COLLECTOR);
    assert_true(losses[0].track != TRACE_NONE);
}

static void end_a_thread(uint32_t track, uint32_t zones)
{
    image_chunk(&image, 0, track, 0, CHUNK_SEALED)->flags = CHUNK_LAST;
    add_zones(0, 0, zones);
    image_descriptor(&image, 0)->lost_zones = 4;
    poll();
    assert_int_equal(image_descriptor(&image, 0)->state, CHUNK_FREE);
}

static void test_threads_that_ended(void **state)
{
    (void)state;
    end_a_thread(0, 10);
    end_a_thread(1, 20);
    write_all();
    end_a_thread(2, 30);
    assert_int_equal(first.collector->ledger_rows.count, 3);
    assert_int_equal(ledger.threads_without_row, 0);
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones + info->lost_zones, 60 + 3 * 4);
    assert_int_equal(info->zones, 30);
}

static void test_nothing_was_written(void **state)
{
    (void)state;
    end_a_thread(0, 10);
    end_a_thread(1, 20);
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 0);
    assert_int_equal(info->lost_zones, 38);
}

/* Killed before the thread's last chunk goes back, and after that. */
static void test_death_between_the_steps(void **state)
{
    (void)state;
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        if (is_gone) {
            assert_int_equal(tear_down(state), 0);
            assert_int_equal(set_up(state), 0);
        }
        struct chunk_descriptor *d = image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
        add_zones(0, 0, 25);
        poll();
        *d = (struct chunk_descriptor){
            .state = CHUNK_OWNED, .sequence = 1, .zones_before = 25, .flags = CHUNK_LAST};
        d->base_ticks = IMAGE_BASE_TICKS;
        add_zones(0, 1000, 5);
        struct track *track = first.collector->sources[0]->tracks[0];
        for (size_t i = 0; !track; i++)
            track = first.collector->sources[0]->tracks[i];
        track->zones_begun = 30;
        ledger_note(first.collector, track);
        assert_int_equal(first.collector->ledger_rows.row[0].zones, 30);
        if (is_gone)
            d->state = CHUNK_FREE;
        die();
        const struct trace_info *info = recover();
        assert_int_equal(info->zones, is_gone ? 0 : 5);
        assert_int_equal(info->lost_zones, is_gone ? 30 : 25);
    }
}

/* With --on-full=wait a thread gives its full chunk away before it has another. */
static void test_a_thread_that_waits_for_a_chunk(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_zones(0, 0, 40);
    poll();
    write_all();
    image_chunk(&image, 1, 0, 1, CHUNK_SEALED)->zones_before = 40;
    add_zones(1, 1000, 30);
    image_descriptor(&image, 1)->lost_zones = 3;
    image_record(&image, 1, 2000, RECORD_ZONE_BEGIN, name, 0);
    image_record(&image, 1, 2001, RECORD_ZONE_BEGIN, name, 0);
    poll(); /* in the collector's memory only */
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 40);
    assert_int_equal(info->lost_zones, 33);
    size_t count;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    assert_int_equal(count, 1);
    assert_true(losses[0].track != TRACE_NONE);
}

/* It gave up waiting, and one of the two zones that it had open ended after that. */
static void test_late_ends_of_a_thread_without_a_chunk(void **state)
{
    (void)state;
    image.header->track_count = 1;
    image.header->late_pages[0] = 1;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_zones(0, 0, 10);
    image_record(&image, 0, 200, RECORD_ZONE_BEGIN, name, 0);
    image_record(&image, 0, 201, RECORD_ZONE_BEGIN, name, 0);
    poll();
    struct late_ends *late = (struct late_ends *)(void *)(image.memory + image.layout.late);
    *late = (struct late_ends){.count = 1, .sequence = 1};
    die();
    assert_int_equal(recover()->lost_zones, 11);
}

static void test_a_ledger_without_memory(void **state)
{
    (void)state;
    char path[80];
    snprintf(path, sizeof path, "%s/ledger", base);
    assert_int_equal(symlink("/dev/null", path), 0); /* it cannot be made */
    end_a_thread(0, 10);
    assert_true(ledger.threads_without_row > 0);
    die();
    recover();
    size_t count;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    bool is_said = false; /* an unknown number was lost */
    for (size_t i = 0; i < count; i++)
        is_said |= losses[i].reason == TRACE_LOSS_COLLECTOR && losses[i].zones == 0;
    assert_true(is_said);
}

static void test_zones_that_began_before(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    for (uint64_t i = 0; i < 3; i++)
        image_record(&image, 0, i, RECORD_ZONE_BEGIN, name, 0);
    poll();
    image_chunk(&image, 1, 0, 1, CHUNK_OWNED)->zones_before = 3;
    image_descriptor(&image, 1)->depth_at_start = 3;
    add_zones(1, 100, 1);
    image_record(&image, 1, 200, RECORD_ZONE_END, 0, 0);
    die();
    const struct trace_info *info = recover();
    size_t open;
    trace_get_open_zones(trace, &open);
    assert_int_equal(info->zones, 2);
    assert_int_equal(open, 2);
    assert_int_equal(info->lost_zones, 0);
}

static void test_late_ends_are_reported_in_the_next_chunk(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    for (uint64_t i = 0; i < 10; i++)
        image_record(&image, 0, i, RECORD_ZONE_BEGIN, name, 0);
    poll();
    image_chunk(&image, 1, 0, 1, CHUNK_OWNED)->zones_before = 10;
    image_descriptor(&image, 1)->depth_at_start = 4; /* six had ended without room to say so */
    image_record(&image, 1, 100, RECORD_LATE_ENDS, 6, 0);
    add_zones(1, 200, 2);
    die();
    const struct trace_info *info = recover();
    size_t open;
    trace_get_open_zones(trace, &open);
    assert_int_equal(info->zones, 8);
    assert_int_equal(open, 4);
    assert_int_equal(info->lost_zones, 0);
}

static void test_numbers_that_make_no_sense(void **state)
{
    (void)state;
    struct chunk_descriptor *d = image_chunk(&image, 0, 0, 7, CHUNK_OWNED);
    d->depth_at_start = UINT16_MAX;
    d->zones_before = UINT64_MAX;
    image_record(&image, 0, 1, RECORD_LATE_ENDS, UINT32_MAX, 0);
    add_zones(0, 100, 2);
    uint16_t *taken = (uint16_t *)(void *)(image.memory + image.layout.taken);
    taken[0] = UINT16_MAX;
    ledger.taken.zones = ledger.taken.records = UINT64_MAX;
    die();
    recover();
    assert_true(trace_get_info(trace)->is_complete);
}

/* What the program itself lost is reported once: the file has some of it, the descriptor all. */
static void test_losses_of_the_program(void **state)
{
    (void)state;
    struct chunk_descriptor *d = image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    add_zones(0, 0, 5);
    d->lost_zones = 100;
    d->flags = CHUNK_LOST_FULL;
    poll();
    d->state = CHUNK_SEALED;
    poll();
    d = image_chunk(&image, 1, 0, 1, CHUNK_OWNED);
    d->zones_before = 5;
    d->lost_zones = 100;
    add_zones(1, 1000, 5);
    poll(); /* now it is known where the loss of 100 ends: it becomes a row */
    write_all();
    struct error err = {0};
    assert_int_equal(trace_writer_tick(first.writer, clock_raw_ns() + UINT64_C(120000000000), &err), 0);
    d->lost_zones = 130;
    d->lost_records = 2;
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 10);
    assert_int_equal(info->lost_zones, 130);
    assert_int_equal(info->lost_records, 2);
}

/* A zone, a turn of a task with two zones, a zone: five of them. */
static void add_turn(uint32_t task, uint64_t start)
{
    image_zone(&image, 0, start, start + 1, name);
    image_record(&image, 0, start + 2, RECORD_TASK_BEGIN, task, 0);
    image_zone(&image, 0, start + 3, start + 4, name);
    image_zone(&image, 0, start + 5, start + 6, name);
    image_record(&image, 0, start + 7, RECORD_ZONE_END, 0, 0);
    image_zone(&image, 0, start + 8, start + 9, name);
}

static void test_zones_of_tasks(void **state)
{
    (void)state;
    uint32_t one = image_task(&image, "one", 1), two = image_task(&image, "two", 2);
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    add_turn(one, 0);
    add_turn(two, 10);
    poll();
    write_all();
    add_turn(one, 20); /* never taken */
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 15);
    assert_int_equal(info->lost_zones, 0);
}

static void test_zones_of_tasks_that_were_not_written(void **state)
{
    (void)state;
    uint32_t one = image_task(&image, "one", 1), two = image_task(&image, "two", 2);
    image_chunk(&image, 0, 0, 0, CHUNK_OWNED);
    add_turn(one, 0);
    poll();
    write_all();
    add_turn(two, 10);
    add_turn(one, 20);
    poll();
    add_turn(one, 30); /* never taken */
    die();
    const struct trace_info *info = recover();
    assert_int_equal(info->zones, 10);
    assert_int_equal(info->lost_zones, 10); /* those that the dead collector had taken */
}

/* Without a death: what has no track is counted once, at a poll or at the end. */
static void test_chunks_without_a_track_are_lost(void **state)
{
    (void)state;
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    add_zones(0, 1, 1);
    poll();
    first.collector->sources[0]->track_count += MAX_TRACKS_PER_SOURCE;
    image_chunk(&image, 1, 1, 0, CHUNK_SEALED);
    add_zones(1, 20, 2);
    add_message(1, 50, "hello");
    image_chunk(&image, 2, 2, 0, CHUNK_OWNED);
    add_zones(2, 60, 1);
    poll();
    poll();
    assert_int_equal(collection_finish(&first, &stats), 0);
    assert_int_equal(stats.zones, 1);
    assert_int_equal(stats.lost_zones, 3);
    assert_int_equal(stats.lost_records, 1);
    assert_int_equal(trace_open(&trace, first.path, 0, NULL), 0);
    assert_int_equal(trace_get_info(trace)->lost_zones, 3);
    assert_int_equal(trace_get_info(trace)->lost_records, 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_written_and_met_again),
        CASE(test_taken_but_not_written),
        CASE(test_pauses_are_there_once),
        CASE(test_devices_keep_their_numbers),
        CASE(test_every_record_is_found_or_lost),
        CASE(test_records_of_chunks_that_were_given_back),
        CASE(test_records_around_the_death),
        CASE(test_records_whose_begin_is_gone),
        CASE(test_death_while_records_are_counted),
        CASE(test_chunks_that_were_given_back),
        CASE(test_threads_that_ended),
        CASE(test_nothing_was_written),
        CASE(test_death_between_the_steps),
        CASE(test_a_thread_that_waits_for_a_chunk),
        CASE(test_late_ends_of_a_thread_without_a_chunk),
        CASE(test_a_ledger_without_memory),
        CASE(test_zones_that_began_before),
        CASE(test_late_ends_are_reported_in_the_next_chunk),
        CASE(test_numbers_that_make_no_sense),
        CASE(test_losses_of_the_program),
        CASE(test_zones_of_tasks),
        CASE(test_zones_of_tasks_that_were_not_written),
        CASE(test_chunks_without_a_track_are_lost),
    };
    return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
