/* SPDX-License-Identifier: Apache-2.0 */
/* Runtimes time with CLOCK_MONOTONIC (std::chrono::steady_clock is that clock), host times of a trace are
 * CLOCK_MONOTONIC_RAW: both are read before and after the command, and the line through the two pairs places the
 * profile. A profile whose times do not lie between them is of another clock (another machine, an earlier run, times
 * since a device was opened): it then begins with the command, and that is said. */
#include "cli/run/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/output_path.h"
#include "cli/command/command.h"
#include "load/profile.h"
#include "present/device_blocks.h"
#include "present/format.h"
#include "trace/reader.h"

#define ROWS_PER_TRACK 20u
#define CLOCK_TRIES 8
#define STEP_NS 1000u /* of the coarsest profile: its times are cut to us */

/* Both clocks at once, as nearly as it can be had: a try in which nothing came between. */
static struct trace_clock_point read_clocks(void)
{
    struct trace_clock_point best = {.uncertainty_ns = UINT64_MAX};
    for (unsigned i = 0; i < CLOCK_TRIES; i++) {
        uint64_t before = clock_raw_ns(), ticks = clock_ns(CLOCK_MONOTONIC), after = clock_raw_ns();
        if ((after - before + 1) / 2 < best.uncertainty_ns)
            best = (struct trace_clock_point){.ticks = ticks,
                                              .host_ns = before + (after - before) / 2,
                                              .uncertainty_ns = (after - before + 1) / 2};
    }
    return best;
}

int run_profile_begin(struct run_profile *profile, const char *path, struct error *err)
{
    *profile = (struct run_profile){.path = path};
    if (!path)
        return 0;
    profile->was_there = stat(path, &profile->before) == 0;
    if (profile->was_there && S_ISDIR(profile->before.st_mode))
        return error_set(err, EISDIR, "--device-profile %s: a folder, and not a file", path);
    if (profile->was_there && !S_ISREG(profile->before.st_mode))
        return error_set(err, EINVAL, "--device-profile %s: not a regular file", path);
    profile->start = read_clocks();
    return 0;
}

/* A file that is the same as before the run is not this run's. */
static int check_file(const struct run_profile *profile, struct error *err)
{
    const struct stat *old = &profile->before;
    struct stat now;
    if (stat(profile->path, &now) != 0)
        return error_set(err, errno, "the command wrote no device profile: %s: %s", profile->path,
                         strerror(errno));
    if (!S_ISREG(now.st_mode))
        return error_set(err, EINVAL, "%s is not a regular file", profile->path);
    if (profile->was_there && now.st_ino == old->st_ino && now.st_size == old->st_size &&
        memcmp(&now.st_mtim, &old->st_mtim, sizeof now.st_mtim) == 0 &&
        memcmp(&now.st_ctim, &old->st_ctim, sizeof now.st_ctim) == 0)
        return error_set(err, ESTALE, "%s is older than the run: the command did not write it",
                         profile->path);
    return 0;
}

static uint32_t find_root(const struct trace_writer *writer, uint32_t *count)
{
    const struct trace_process *process;
    uint32_t root = TRACE_NONE;
    for (*count = 0; (process = trace_writer_get_process(writer, *count)); ++*count) {
        if (process->flags & TRACE_PROCESS_ROOT && root == TRACE_NONE)
            root = *count;
    }
    return root;
}

/* How many tracks there are, and a number that no device has. */
static uint32_t count_tracks(const struct trace_writer *writer, uint32_t *free_device)
{
    const struct trace_track *track;
    uint32_t count = 0;
    *free_device = 0;
    for (; (track = trace_writer_get_track(writer, count)); count++) {
        if (track->kind == TRACE_TRACK_DEVICE && track->number >= *free_device && track->number < UINT32_MAX)
            *free_device = (uint32_t)track->number + 1;
    }
    return count;
}

static void find_place(struct run_profile *run, const struct device_profile *profile,
                       const struct trace_writer *writer, struct profile_place *place)
{
    const struct trace_process *root = trace_writer_get_process(writer, place->parent);
    place->points[0] = run->start;
    place->points[1] = read_clocks();
    run->is_aligned = profile->may_be_host_time && profile->first_ns + STEP_NS >= run->start.ticks &&
                      profile->last_ns <= place->points[1].ticks;
    place->clock = "CLOCK_MONOTONIC";
    if (run->is_aligned)
        return;
    uint64_t start_ns = root ? root->start_ns : run->start.host_ns;
    place->clock = "device profile, not aligned";
    place->points[0] = (struct trace_clock_point){.ticks = profile->first_ns, .host_ns = start_ns};
    place->points[1] = (struct trace_clock_point){.ticks = profile->last_ns,
                                                  .host_ns = start_ns + profile->last_ns - profile->first_ns};
}

static void write_remark(const struct run_profile *run, const struct profile_place *place,
                         const struct device_profile *profile, uint32_t track, struct trace_writer *writer)
{
    char text[4400];
    if (run->is_aligned)
        snprintf(text, sizeof text, "%s: its times are the host's, within %" PRIu64 " ns", run->path,
                 place->points[0].uncertainty_ns + place->points[1].uncertainty_ns);
    else
        snprintf(text, sizeof text,
                 "%s: not aligned with the host: its times are of another clock, and begin with the command",
                 run->path);
    trace_writer_point(writer, &(struct trace_point){.track = track,
                                                     .kind = TRACE_POINT_MESSAGE,
                                                     .time = profile->first_ns,
                                                     .header = "device profile",
                                                     .text = text,
                                                     .text_length = (uint32_t)strlen(text)});
}

void run_profile_add(void *context, struct trace_writer *writer)
{
    struct run_profile *run = context;
    struct device_profile profile = {0};
    struct profile_place place = {0};
    int status = check_file(run, &run->err);
    if (status == 0)
        status = device_profile_open(&profile, run->path, &run->err);
    if (status == 0) {
        place.parent = find_root(writer, &run->process);
        uint32_t first_track = count_tracks(writer, &place.device);
        find_place(run, &profile, writer, &place);
        status = device_profile_to_trace(&profile, run->path, &place, writer, &run->err);
        if (status == 0)
            write_remark(run, &place, &profile, first_track, writer);
        run->damaged = profile.damaged;
        run->is_added = status == 0;
    }
    device_profile_free(&profile);
}

static void show_blocks(const struct run_profile *run, const char *trace_path)
{
    struct trace *trace = NULL;
    struct table table = {0};
    struct bytes text = {0};
    struct error err = {0};
    struct number_text rows;
    size_t left_out = 0;
    bool is_terminal = isatty(STDERR_FILENO);
    struct table_look look = {.width = is_terminal ? output_terminal_width(STDERR_FILENO) : 0,
                              .is_coloured = output_may_colour(stderr, OUTPUT_COLOR_AUTO)};
    int status = trace_open(&trace, trace_path, 0, &err);
    if (status == 0)
        status = device_blocks_make(&table, trace, run->process, ROWS_PER_TRACK, &left_out, &err);
    if (status == 0)
        table_append_terminal(&table, &look, &text);
    if (status || text.failed)
        command_say("opscope: the blocks of %s cannot be shown: %s", run->path,
                    status ? err.message : "no memory");
    else
        fputs(bytes_text(&text), stderr);
    if (left_out)
        command_say("opscope: %s not shown: opscope zones %s --by location",
                    format_things(&rows, left_out, "block"), trace_path);
    bytes_free(&text);
    table_free(&table);
    trace_close(trace);
}

void run_profile_show(const struct run_profile *run, const char *trace_path, bool is_quiet)
{
    struct number_text count;
    if (!run->path)
        return;
    if (!run->is_added) {
        command_say("opscope: %s; the trace has no device profile",
                    run->err.code ? run->err.message : "nothing was recorded");
        return;
    }
    if (run->damaged)
        command_say("opscope: %s: %s cannot be used: damaged, or without a beginning or an end", run->path,
                    format_things(&count, run->damaged, "record"));
    if (!run->is_aligned)
        command_say("opscope: %s: not aligned with the host: its times are of another clock, and begin with "
                    "the command",
                    run->path);
    if (output_path_is_null(trace_path))
        command_say("opscope: the blocks of %s are not shown: the trace was thrown away", run->path);
    else if (!is_quiet)
        show_blocks(run, trace_path);
}
