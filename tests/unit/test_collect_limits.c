/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of one image. Many short processes: the rows of those that are gone are used again, in the segment and in the
 * collector, and every one has its row and its zone in the trace. More threads than the collector keeps: counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "base/clock.h"
#include "collect/internal.h"
#include "collect_image.h"
#include "session/folder.h"
#include "fork_wipes.h"

#define BATCH 100u
#define BATCHES 3u

static struct session_folder folder;
static int orders[2], answers[2];

static void zone(void)
{
    OPSCOPE_ZONE("short");
}

/* Forks a batch of processes, one after another, whenever it gets a byte. */
static int program(void)
{
    char variable[4000], byte;
    session_folder_variable(&folder, variable, sizeof variable);
    setenv(SESSION_VARIABLE, variable, 1);
    opscope_recording = 1; /* the constructor ran without a session */
    close(orders[1]);
    zone();
    while (read(orders[0], &byte, 1) == 1) {
        for (unsigned i = 0; i < BATCH; i++) {
            pid_t child = fork();
            if (child == 0) {
                zone();
                _exit(0);
            }
            int status;
            if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
                return 1;
        }
        if (write(answers[1], &byte, 1) != 1)
            return 1;
    }
    return 0;
}

static uint32_t used_rows(const struct source *s)
{
    struct session_process p;
    uint32_t used = 0;
    for (uint32_t i = 0; i < session_segment_process_count(s->segment); i++)
        used += session_segment_process(s->segment, i, &p);
    return used;
}

/* Lets a batch run, and polls until all of them are known to be gone. */
static void run_batch(struct collector *c)
{
    char byte = 0;
    struct error err = {0};
    assert_int_equal(write(orders[1], &byte, 1), 1);
    assert_int_equal(read(answers[0], &byte, 1), 1);
    collector_scan_folder(c);
    assert_int_equal(c->source_count, 1);
    do {
        collector_poll(c, &err);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    } while (used_rows(c->sources[0]) > 1);
}

static void test_rows_are_used_again(void **state)
{
    struct trace_writer_options options = {.program = "test", .command = "", .host = "host"};
    struct trace_writer *writer;
    struct collector *c;
    struct error err = {0};
    char path[] = "/tmp/opscope-test-XXXXXX", output[64];
    (void)state;
    if (!fork_wipes()) {
        print_message("SKIP: MADV_WIPEONFORK has no effect here\n");
        skip();
    }
    assert_non_null(mkdtemp(path));
    snprintf(output, sizeof output, "%s/t.opscope", path);
    folder = (struct session_folder){
        .control = {.session_id = 7, .clock_source = CLOCK_SOURCE_RAW, .buffer_bytes = (uint64_t)8 << 20}};
    assert_int_equal(session_folder_create(&folder, &err), 0);
    assert_true(pipe(orders) == 0 && pipe(answers) == 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(program());
    assert_int_equal(trace_writer_open(&writer, output, &options, &err), 0);
    assert_int_equal(collector_create(&c, &folder, writer, 0, &err), 0);
    for (unsigned i = 0; i < BATCHES; i++)
        run_batch(c);
    /* The collector has seen up to a batch at the same time, and the program itself. */
    assert_true(session_segment_process_count(c->sources[0]->segment) <= BATCH + 1);
    assert_true(c->sources[0]->process_count <= BATCH + 1);
    close(orders[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    collector_finish(c);
    const struct collector_stats *stats = collector_get_stats(c);
    assert_int_equal(stats->processes, 1 + BATCHES * BATCH);
    assert_int_equal(stats->threads, 1 + BATCHES * BATCH);
    assert_int_equal(stats->zones, 1 + BATCHES * BATCH);
    assert_int_equal(stats->lost_zones + stats->lost_records, 0);
    assert_int_equal(trace_writer_finish(writer, &err), 0); /* it asks the collector for open zones */
    collector_free(c);
    session_folder_close(&folder);
    assert_int_equal(session_folder_remove(folder.path, &err), 0);
    unlink(output);
    rmdir(path);
}

static void image_zones(struct image *image, uint32_t chunk, uint32_t name, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        image_record(image, chunk, 10 + i * 10, RECORD_ZONE_BEGIN, name, 0);
        image_record(image, chunk, 15 + i * 10, RECORD_ZONE_END, 0, 0);
    }
}

/* The first chunk of a thread came when there was no room for another thread, the second one when there was. */
static void test_zones_without_a_track_are_counted_once(void **state)
{
    struct collection collection;
    struct collector_stats stats;
    struct error err = {0};
    struct image image = {0};
    char path[] = "/tmp/opscope-test-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(path));
    assert_true(image_map(&image, 8));
    assert_int_equal(collection_open(&collection, path, 0), 0);
    assert_true(collection_add(&collection, image.memory, image.layout.total));
    collection.collector->max_tracks = 1;
    uint32_t name = image_name(&image, "zone");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_zones(&image, 0, name, 1);
    image_chunk(&image, 1, 1, 0, CHUNK_SEALED);
    image_zones(&image, 1, name, 3);
    collector_poll(collection.collector, &err);
    assert_int_equal(collector_get_stats(collection.collector)->lost_zones, 3);
    image_chunk(&image, 2, 0, 1, CHUNK_SEALED)->flags = CHUNK_LAST; /* the other thread ends */
    collector_poll(collection.collector, &err);
    image_chunk(&image, 3, 1, 1, CHUNK_SEALED)->zones_before = 3;
    image_zones(&image, 3, name, 2);
    assert_int_equal(collection_finish(&collection, &stats), 0);
    assert_int_equal(stats.zones, 1 + 2);
    assert_int_equal(stats.lost_zones, 3);
    image_unmap(&image);
    unlink(collection.path);
    rmdir(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_used_again),
        cmocka_unit_test(test_zones_without_a_track_are_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
