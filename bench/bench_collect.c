/* SPDX-License-Identifier: Apache-2.0 */
/* How fast one core collects: in rounds, a child process fills a session of the default size and stops, then the
 * collector drains it into a trace, with pairing, grouping by depth, level of detail and compression; only the
 * draining is timed (CPU time of the collector). Prints NAME VALUE UNIT lines.
 *
 *     bench_collect OUT.opscope [uniform|random] [rounds of a million zones] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "base/clock.h"
#include "collect/clock_map.h"
#include "collect/collector.h"
#include "trace/reader.h"

#define ZONES_A_ROUND 1000000L

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void record_uniform(long zones)
{
    for (long i = 0; i < zones; i++) {
        OPSCOPE_ZONE("uniform loop");
        __asm__ volatile("" : : : "memory");
    }
}

/* 100 names in random order, durations spread over a few microseconds. */
static void record_random(long zones)
{
    char names[100][16];
    uint64_t seed = 1;
    for (int i = 0; i < 100; i++)
        snprintf(names[i], sizeof names[i], "zone %d", i);
    for (long i = 0; i < zones; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        opscope_zone_begin(names[(seed >> 33) % 100]);
        uint64_t until = clock_counter() + (seed >> 40) % 4096;
        while (clock_counter() < until)
            ;
        opscope_zone_end();
    }
}

/* The child: fills the session with one round of zones each time the parent asks. */
static void run_child(const struct session_folder *folder, bool is_random, int go, int done)
{
    char variable[4000], byte;
    session_folder_variable(folder, variable, sizeof variable);
    setenv(SESSION_VARIABLE, variable, 1);
    opscope_recording = 1; /* this process started without a session */
    while (read(go, &byte, 1) == 1) {
        if (is_random)
            record_random(ZONES_A_ROUND);
        else
            record_uniform(ZONES_A_ROUND);
        if (write(done, "", 1) != 1)
            break;
    }
    _exit(0);
}

/* What the durations and the pauses between zones take at least, each coded by how often it occurs: the jitter of the
 * machine's clock, which no trace can leave out. Bytes per zone. */
static double entropy(const char *path)
{
    enum { LONGEST = 65535 };
    static double counts[2][LONGEST + 1];
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    struct error err = {0};
    struct trace *t;
    const struct trace_block *block;
    size_t position = 0;
    double zones = 0, bits = 0;
    if (trace_open(&t, path, 0, &err) != 0)
        return 0;
    while ((block = trace_next_block(t, &filter, &position)) &&
           trace_decode_zones(t, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION, &rows, &err) == 0)
        for (size_t i = 1; i < rows.count; i++, zones++) {
            uint64_t pause = rows.start[i] - rows.start[i - 1] - rows.duration[i - 1];
            counts[0][rows.duration[i] < LONGEST ? rows.duration[i] : LONGEST]++;
            counts[1][pause < LONGEST ? pause : LONGEST]++;
        }
    for (size_t i = 0; i < 2 * (LONGEST + 1); i++) {
        double n = counts[i / (LONGEST + 1)][i % (LONGEST + 1)];
        bits += n > 0 ? n * log2(zones / n) : 0;
    }
    zone_rows_free(&rows);
    trace_close(t);
    return zones > 0 ? bits / zones / 8 : 0;
}

static void print_result(const char *path, uint64_t zones, double seconds)
{
    struct stat st = {0};
    struct rusage usage;
    stat(path, &st);
    getrusage(RUSAGE_SELF, &usage);
    printf("entropy_of_times %.3f B\n", entropy(path));
    printf("collected %.1f M zones/s\nzones %llu\nbytes_per_zone %.3f B\ncollector_rss %ld MiB\n",
           (double)zones / seconds / 1e6, (unsigned long long)zones, (double)st.st_size / (double)zones,
           usage.ru_maxrss / 1024);
}

static int collect(struct session_folder *folder, const char *path, bool is_random, long rounds)
{
    struct trace_writer_options options = {.program = "bench", .command = "bench", .host = ""};
    struct trace_writer *writer;
    struct collector *collector;
    struct error err = {0};
    int go[2], done[2];
    char byte;
    double seconds = 0;
    if (pipe(go) != 0 || pipe(done) != 0 || trace_writer_open(&writer, path, &options, &err) != 0 ||
        collector_create(&collector, folder, writer, 0, &err) != 0) {
        fprintf(stderr, "bench_collect: %s\n", err.message);
        return 1;
    }
    if (fork() == 0) {
        close(go[1]);
        run_child(folder, is_random, go[0], done[1]);
    }
    for (long i = 0; i < rounds; i++) {
        if (write(go[1], "", 1) != 1 || read(done[0], &byte, 1) != 1)
            return 1;
        collector_scan_folder(collector);
        double begin = cpu_s();
        while (collector_poll(collector, &err) > 0)
            ;
        seconds += cpu_s() - begin;
    }
    close(go[1]);
    wait(NULL);
    double begin = cpu_s();
    collector_finish(collector);
    trace_writer_set_open_zones(writer, NULL, NULL);
    if (trace_writer_finish(writer, &err) != 0)
        fprintf(stderr, "bench_collect: %s\n", err.message);
    seconds += cpu_s() - begin;
    collector_free(collector);
    print_result(path, (uint64_t)(rounds * ZONES_A_ROUND), seconds);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_collect OUT.opscope [uniform|random] [rounds]\n");
        return 2;
    }
    bool is_random = argc > 2 && strcmp(argv[2], "random") == 0;
    long rounds = argc > 3 ? strtol(argv[3], NULL, 10) : is_random ? 5 : 50;
    struct session_folder folder = {0};
    struct error err = {0};
    folder.control.session_id = 42;
    folder.control.clock_source = clock_map_choose_source();
    folder.control.buffer_bytes = SESSION_DEFAULT_BUFFER;
    if (session_folder_create(&folder, &err) != 0) {
        fprintf(stderr, "bench_collect: %s\n", err.message);
        return 1;
    }
    int status = collect(&folder, argv[1], is_random, rounds);
    session_folder_close(&folder);
    session_folder_remove(folder.path, NULL);
    return status;
}
