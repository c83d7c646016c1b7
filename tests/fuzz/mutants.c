/* SPDX-License-Identifier: Apache-2.0 */
/* Damages traces and puts each through every command (trace_commands.h), in a process of its own that is forked from
 * this one: built with sanitizers, a program starts in 50 ms, and a fork in 2.
 *
 *     mutants [--seed N] [--count N] [--first N] [--jobs N] [--megabytes N] [--seconds N] [--keep DIR] TRACE...
 *
 * Mutant N of a seed is the same everywhere: it is made from one of the traces by flipped bits, a truncation, bytes
 * from elsewhere, moved blocks, values at their edges; of two in three the hashes are made right again, so that the
 * damage gets behind them. A mutant that crashes, takes more memory or more time is kept in DIR with what was said, and
 * the exit status is 1. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "rehash.h"
#include "small_trace.h"
#include "trace_commands.h"

/* The sanitizers ask for these: a blow-up is a finding, whoever asks for the memory. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:hard_rss_limit_mb=1024:max_allocation_size_mb=1024:allocator_may_return_null=0:"
           "quarantine_size_mb=16:abort_on_error=0:exitcode=99";
}

enum { MOST_TRACES = 256 };

struct options {
    uint64_t seed, first, count, jobs, megabytes, seconds;
    const char *keep; /* NULL: nothing */
};

struct original {
    uint8_t *data;
    size_t size;
};

static struct original originals[MOST_TRACES];
static size_t original_count;
static struct small_trace whole;
static unsigned problems;

/* --- mutants --- */

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t limit)
{
    return limit ? (size_t)(next_random(state) % limit) : 0;
}

/* Most of the header of a segment is empty: four in five places lie in blocks. */
static size_t place_in(uint64_t *state, const struct bytes *mutant)
{
    if (mutant->length > SEGMENT_HEADER_BYTES && below(state, 5))
        return SEGMENT_HEADER_BYTES + below(state, mutant->length - SEGMENT_HEADER_BYTES);
    return below(state, mutant->length);
}

/* The begin of a block, or of the segment; SIZE_MAX: there is none. */
static size_t block_in(uint64_t *state, const struct bytes *mutant)
{
    size_t from = below(state, mutant->length);
    for (size_t i = 0; i + BLOCK_FIXED_BYTES <= mutant->length; i++) {
        size_t at = (from + i) % (mutant->length - BLOCK_FIXED_BYTES + 1);
        if (get_u32(mutant->data + at) == BLOCK_MAGIC)
            return at;
    }
    return SIZE_MAX;
}

static void flip_bits(uint64_t *state, struct bytes *mutant)
{
    for (size_t i = 1 + below(state, 8); i; i--)
        mutant->data[place_in(state, mutant)] ^= (uint8_t)(1u << below(state, 8));
}

static void put_noise(uint64_t *state, struct bytes *mutant)
{
    size_t at = place_in(state, mutant), length = 1 + below(state, 64);
    for (size_t i = at; i < mutant->length && i < at + length; i++)
        mutant->data[i] = (uint8_t)next_random(state);
}

/* Numbers that are the first or the last of their kind, at places where numbers are. */
static void put_edge(uint64_t *state, struct bytes *mutant)
{
    static const uint64_t edges[] = {
        0,          1,          0x7f,       0x80,       0xff,        0x7fff,    0xffff,     0x10000,
        0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0x100000000, INT64_MAX, UINT64_MAX, UINT64_MAX - 1};
    static const size_t widths[] = {1, 2, 4, 8};
    size_t block = block_in(state, mutant), width = widths[below(state, 4)];
    size_t at = block != SIZE_MAX && below(state, 3) ? block + below(state, 400) / width * width
                                                     : place_in(state, mutant);
    uint64_t value = edges[below(state, sizeof edges / sizeof edges[0])];
    if (at + width <= mutant->length)
        memcpy(mutant->data + at, &value, width);
}

static void cut_short(uint64_t *state, struct bytes *mutant)
{
    mutant->length = place_in(state, mutant);
}

static void move_bytes(uint64_t *state, struct bytes *mutant)
{
    size_t from = place_in(state, mutant), to = place_in(state, mutant), length = 1 + below(state, 2048);
    length = length < mutant->length - from ? length : mutant->length - from;
    length = length < mutant->length - to ? length : mutant->length - to;
    memmove(mutant->data + to, mutant->data + from, length);
}

/* A block in the place of another one: its own numbers, at a place where others are looked for. */
static void swap_blocks(uint64_t *state, struct bytes *mutant)
{
    size_t a = block_in(state, mutant), b = block_in(state, mutant);
    if (a == SIZE_MAX || b == SIZE_MAX || a == b)
        return;
    size_t distance = a < b ? b - a : a - b, rest = mutant->length - (a < b ? b : a);
    size_t length = distance < rest ? distance : rest;
    for (size_t i = 0; i < length; i++) {
        uint8_t byte = mutant->data[a + i];
        mutant->data[a + i] = mutant->data[b + i];
        mutant->data[b + i] = byte;
    }
}

/* The header, or the tail, of another trace. */
static void take_other(uint64_t *state, struct bytes *mutant)
{
    const struct original *other = &originals[below(state, original_count)];
    size_t at = below(state, 2) ? SEGMENT_HEADER_BYTES : place_in(state, mutant);
    at = at < other->size ? at : other->size;
    at = at < mutant->length ? at : mutant->length;
    if (below(state, 2)) {
        memcpy(mutant->data, other->data, at);
        return;
    }
    mutant->length = at;
    bytes_append(mutant, other->data + at, other->size - at);
}

static void append_segment(uint64_t *state, struct bytes *mutant)
{
    const struct original *other = &originals[below(state, original_count)];
    if (mutant->length < (1 << 20))
        bytes_append(mutant, other->data, other->size);
}

static void make_mutant(uint64_t seed, uint64_t number, struct bytes *mutant)
{
    static void (*const damages[])(uint64_t *, struct bytes *) = {
        flip_bits,  flip_bits,   put_edge,   put_edge,       put_edge, put_noise,
        move_bytes, swap_blocks, take_other, append_segment, cut_short};
    uint64_t state = seed * UINT64_C(0x2545f4914f6cdd1d) + number;
    const struct original *original = &originals[below(&state, original_count)];
    bytes_clear(mutant);
    bytes_append(mutant, original->data, original->size);
    bool is_rehashed = below(&state, 3) != 0;
    for (size_t i = 1 + below(&state, 4); i && mutant->length; i--)
        damages[below(&state, sizeof damages / sizeof damages[0])](&state, mutant);
    if (is_rehashed)
        rehash(mutant->data, mutant->length);
}

/* --- running one --- */

struct place { /* of one job */
    char path[128], log[128], step[128];
};

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        fprintf(stderr, "mutants: %s: %s\n", path, strerror(errno));
        exit(2);
    }
}

/* In a process of its own: every step, with the name of the one that runs in a file. */
static void run_steps(const struct options *options, const struct place *place)
{
    int log = open(place->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int step = open(place->step, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (log < 0 || step < 0 || dup2(log, STDERR_FILENO) < 0 || !freopen("/dev/null", "w", stdout) ||
        !freopen("/dev/null", "r", stdin))
        _exit(2);
    for (size_t i = 0; i < trace_commands_count(); i++) {
        const char *text = trace_commands_text(i);
        if (pwrite(step, text, strlen(text) + 1, 0) < 0 || ftruncate(log, 0) != 0)
            _exit(2);
        lseek(log, 0, SEEK_SET);
        alarm((unsigned)options->seconds);
        trace_commands_run(i, place->path, whole.path);
    }
    _exit(0);
}

static void keep_file(const struct options *options, uint64_t number, const char *path, const char *ending)
{
    char kept[512], command[1200];
    snprintf(kept, sizeof kept, "%s/%" PRIu64 "-%" PRIu64 "%s", options->keep, options->seed, number, ending);
    snprintf(command, sizeof command, "cp '%s' '%s'", path, kept);
    if (system(command) != 0)
        fprintf(stderr, "mutants: could not keep %s\n", kept);
}

static void report(const struct options *options, const struct place *place, uint64_t number, int status,
                   const struct rusage *usage)
{
    char step[200] = "";
    const char *what = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "took too long"
                       : WIFSIGNALED(status)                              ? "crashed"
                       : WEXITSTATUS(status)                              ? "failed"
                                                                          : "took too much memory";
    int file = open(place->step, O_RDONLY);
    if (file >= 0 && read(file, step, sizeof step - 1) < 0)
        step[0] = 0;
    if (file >= 0)
        close(file);
    problems++;
    printf("mutant %" PRIu64 ": %s (status %d, %ld MB): %s\n", number, what, status, usage->ru_maxrss / 1024,
           step);
    fflush(stdout);
    if (options->keep) {
        keep_file(options, number, place->path, ".opscope");
        keep_file(options, number, place->log, ".log");
    }
}

static void run_mutant(const struct options *options, const struct place *place, uint64_t number)
{
    struct rusage usage;
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        run_steps(options, place);
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        fprintf(stderr, "mutants: %s\n", strerror(errno));
        exit(2);
    }
    if (status || (uint64_t)usage.ru_maxrss / 1024 > options->megabytes)
        report(options, place, number, status, &usage);
}

/* Every `jobs`-th mutant. */
static int run_job(const struct options *options, uint64_t job)
{
    struct bytes mutant = {0};
    struct place place;
    snprintf(place.path, sizeof place.path, "%s/%" PRIu64 ".opscope", whole.folder, job);
    snprintf(place.log, sizeof place.log, "%s/%" PRIu64 ".log", whole.folder, job);
    snprintf(place.step, sizeof place.step, "%s/%" PRIu64 ".step", whole.folder, job);
    for (uint64_t i = options->first + job; i < options->first + options->count; i += options->jobs) {
        make_mutant(options->seed, i, &mutant);
        write_file(place.path, mutant.data, mutant.length);
        run_mutant(options, &place, i);
    }
    bytes_free(&mutant);
    unlink(place.path);
    unlink(place.log);
    unlink(place.step);
    return problems != 0;
}

static int run_jobs(const struct options *options)
{
    int status, result = 0;
    for (uint64_t job = 0; job < options->jobs; job++) {
        pid_t child = fork();
        if (child < 0)
            return 2;
        if (child == 0)
            _exit(run_job(options, job));
    }
    while (wait(&status) > 0)
        result = status ? 1 : result;
    return result;
}

/* --- the command line --- */

static bool load_original(const char *path)
{
    struct original *original = &originals[original_count];
    struct stat about;
    FILE *file = fopen(path, "r");
    if (!file || original_count == MOST_TRACES || fstat(fileno(file), &about) != 0)
        return false;
    original->data = malloc((size_t)about.st_size + 1);
    original->size = (size_t)about.st_size;
    bool ok = original->data && fread(original->data, 1, original->size, file) == original->size;
    fclose(file);
    original_count++;
    return ok;
}

static bool take_option(struct options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"--seed", &options->seed},       {"--first", &options->first},
                   {"--count", &options->count},     {"--jobs", &options->jobs},
                   {"--seconds", &options->seconds}, {"--megabytes", &options->megabytes}};
    if (strcmp(name, "--keep") == 0) {
        options->keep = value;
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        char *end;
        if (strcmp(name, numbers[i].name) != 0)
            continue;
        *numbers[i].number = strtoull(value, &end, 10);
        return *value && !*end;
    }
    return false;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1, .count = 100, .jobs = 1, .megabytes = 1024, .seconds = 20};
    int at = 1;
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
        if (!take_option(&options, argv[at], argv[at + 1])) {
            fprintf(stderr, "mutants: %s %s: see the top of mutants.c\n", argv[at], argv[at + 1]);
            return 2;
        }
    for (; at < argc; at++)
        if (!load_original(argv[at])) {
            fprintf(stderr, "mutants: %s cannot be read\n", argv[at]);
            return 2;
        }
    if (!original_count || !options.jobs) {
        fprintf(stderr, "mutants: no traces\n");
        return 2;
    }
    small_trace_make(&whole);
    int result = run_jobs(&options);
    small_trace_remove(&whole);
    printf("%" PRIu64 " mutants of %zu traces, %zu steps each: %s\n", options.count, original_count,
           trace_commands_count(), result ? "see above" : "fine");
    return result;
}
