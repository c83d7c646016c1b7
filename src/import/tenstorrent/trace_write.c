/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text_copy.h"
#include "text/python_text.h"
#include "base/keyed_text.h"
#include "base/slice.h"
#include "import/tenstorrent/cells.h"
#include "import/ops_csv/reader.h"
#include "import/tenstorrent/trace.h"
#include "ops/from_trace.h"

/* --- tracks and clocks --- */

uint32_t tt_trace_thread_track(struct tt_trace_writer *w, uint32_t thread)
{
    uint32_t track = map_get(&w->track_of_thread, thread);
    char name[32];
    if (track != TT_NONE)
        return track;
    snprintf(name, sizeof name, "thread %u", (unsigned)thread);
    track = trace_writer_track(w->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                .process = w->process,
                                                                .parent = TRACE_NONE,
                                                                .kind = TRACE_TRACK_THREAD,
                                                                .clock = TRACE_HOST_CLOCK,
                                                                .number = thread,
                                                                .name = name});
    if (track == TRACE_NONE || !map_put(&w->track_of_thread, thread, track))
        w->failed = true;
    return track;
}

uint32_t tt_trace_device_track(struct tt_trace_writer *w, uint32_t id)
{
    uint32_t track = map_get(&w->track_of_device, id);
    char name[80];
    if (track != TT_NONE)
        return track;
    const struct tt_device *device = w->model ? tt_device_get(w->model, id) : NULL;
    struct slice arch = device && device->arch.data ? device->arch : w->architecture;
    double mhz = device && device->frequency_mhz ? device->frequency_mhz : w->mhz > 0 ? w->mhz : 1000;
    char architecture[48];
    snprintf(name, sizeof name, "device %u", (unsigned)id);
    uint32_t clock = trace_writer_clock(
        w->writer, &(struct trace_clock){
                       .id = TRACE_NONE, .is_device = true, .ticks_per_second = mhz * 1e6, .name = name});
    snprintf(architecture, sizeof architecture, "%.*s", (int)(arch.length < 40 ? arch.length : 40),
             arch.length ? arch.data : "");
    snprintf(name, sizeof name, "device %u%s%s", (unsigned)id, *architecture ? " " : "", architecture);
    track = trace_writer_track(w->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                .process = w->process,
                                                                .parent = TRACE_NONE,
                                                                .kind = TRACE_TRACK_DEVICE,
                                                                .clock = clock,
                                                                .number = id,
                                                                .name = name,
                                                                .architecture = architecture});
    if (track == TRACE_NONE || !map_put(&w->track_of_device, id, track) ||
        !map_put(&w->clock_of_device, id, clock))
        w->failed = true;
    return track;
}

/* The latest host time that the device's clock may show, by each run of which the dispatch is known. */
static void write_clock_points(struct tt_trace_writer *w)
{
    struct tt_model *model = w->model;
    for (size_t d = 0; d < model->device_count; d++) {
        const struct tt_device *device = &model->devices[d];
        double mhz = device->frequency_mhz ? device->frequency_mhz : 1000;
        struct trace_clock_point best = {0};
        bool has_any = false, is_dispatched = false;
        double best_offset = 0;
        for (size_t i = 0; i < model->run_count; i++) {
            const struct tt_run *run = &model->runs[i];
            if (run->device != device->id || !run->has_cycles)
                continue;
            const struct tt_op *op = run->op == TT_NONE ? NULL : &model->ops[run->op];
            bool is_known =
                op && (run->session ? !(run->flags & TT_RUN_NO_REPLAY) : !(op->flags & TT_OP_NO_TIMES));
            uint64_t host_ns = !is_known ? 0 : run->session ? run->replay_ns : op->start_ns;
            double offset = (is_known ? (double)host_ns : 0) - (double)run->start_cycle * 1000 / mhz;
            if (has_any && (is_dispatched > is_known || (is_dispatched == is_known && offset <= best_offset)))
                continue;
            has_any = true;
            is_dispatched = is_known;
            best_offset = offset;
            best = (struct trace_clock_point){
                .ticks = run->start_cycle, .host_ns = host_ns, .uncertainty_ns = op ? op->duration_ns : 0};
        }
        if (!has_any)
            continue;
        tt_trace_device_track(w, device->id);
        best.clock = map_get(&w->clock_of_device, device->id);
        trace_writer_clock_point(w->writer, &best);
    }
}

static void write_begin(struct tt_trace_writer *w, const char *path, const char *import_track)
{
    struct bytes command = {0};
    bytes_append_format(&command, "import %s", path);
    bytes_append_u8(&command, 0);
    w->process =
        trace_writer_process(w->writer, &(struct trace_process){.id = TRACE_NONE,
                                                                .parent = TRACE_NONE,
                                                                .exit_status = TRACE_STATUS_UNKNOWN,
                                                                .command = (const char *)command.data,
                                                                .host = ""});
    w->import_track = trace_writer_track(w->writer, &(struct trace_track){.id = TRACE_NONE,
                                                                          .process = w->process,
                                                                          .parent = TRACE_NONE,
                                                                          .kind = TRACE_TRACK_OTHER,
                                                                          .clock = TRACE_HOST_CLOCK,
                                                                          .name = import_track});
    w->failed |= command.failed || w->process == TRACE_NONE || w->import_track == TRACE_NONE;
    bytes_free(&command);
}

/* A trace that could not be finished helps nobody: it can be made again. */
static void remove_partial(const char *output)
{
    struct bytes path = {0};
    bytes_append_format(&path, "%s.partial", output);
    if (!path.failed)
        unlink(bytes_text(&path));
    bytes_free(&path);
}

int tt_trace_begin(struct tt_trace_writer *w, const char *path, const char *output, const char *import_track,
                   struct error *err)
{
    struct trace_writer_options about = {.program = "opscope " OPSCOPE_VERSION, .command = path, .host = ""};
    int result = trace_writer_open(&w->writer, output, &about, err);
    if (result != 0)
        return result;
    write_begin(w, path, import_track);
    ops_writing_begin(&w->ops, w->writer, w->process, w->import_track);
    return 0;
}

static void count_notices(struct import_counts *counts, const struct ops *ops)
{
    for (size_t i = 0; i < ops->notice_count; i++) {
        counts->notes++;
        if (ops->notices[i].severity != OP_NOTICE_INFO)
            counts->faults += ops->notices[i].count;
    }
}

int tt_trace_end_rows(struct tt_trace_writer *w, const struct ops *ops, int result, struct error *err)
{
    struct error ignored;
    if (w->writer && result == 0) {
        ops_remarks_to_trace(&w->ops, ops);
        count_notices(w->counts, ops);
        if (w->lost_zones)
            trace_writer_loss(w->writer, &(struct trace_loss){.process = w->process,
                                                              .track = w->import_track,
                                                              .reason = TRACE_LOSS_UNMATCHED,
                                                              .from_ns = w->ops.remark_ns,
                                                              .to_ns = w->ops.remark_ns,
                                                              .zones = w->lost_zones});
        w->counts->zones = trace_writer_zone_count(w->writer);
    }
    int written = w->writer ? ops_writing_end(&w->ops, result == 0 ? err : &ignored) : 0;
    map_free(&w->track_of_thread);
    map_free(&w->track_of_device);
    map_free(&w->clock_of_device);
    return result      ? result
           : written   ? written
           : w->failed ? error_set_errno(err, ENOMEM, "a trace of ops")
                       : 0;
}

/* Notes and facts about an import are records as well: the writer does not see that they are all there is. What an
 * import of nothing left there before is not a loss. */
static int keep_what_is_there(const char *output, struct error *err)
{
    struct trace *earlier;
    bool is_nothing_too = false;
    if (trace_open(&earlier, output, 0, NULL) == 0) {
        const struct trace_info *info = trace_get_info(earlier);
        is_nothing_too = ops_import_track(earlier) && !info->ops && !info->runs && !info->zones;
        trace_close(earlier);
    }
    return is_nothing_too ? 0 : trace_path_check_nothing(output, "imported", err);
}

int tt_trace_end(struct tt_trace_writer *w, const struct ops *ops, const char *output, int result,
                 struct error *err)
{
    result = tt_trace_end_rows(w, ops, result, err);
    if (!w->writer)
        return result;
    const struct import_counts *counts = w->counts;
    if (result == 0 && !counts->ops && !counts->runs && !counts->zones && !counts->signposts)
        result = keep_what_is_there(output, err);
    if (result == 0)
        result = trace_writer_finish(w->writer, err);
    else
        trace_writer_discard(w->writer);
    if (result != 0)
        remove_partial(output);
    return result;
}

int tt_trace_write_model(struct tt_trace_writer *w, struct ops *ops, const struct tt_files *files,
                         struct error *err)
{
    write_clock_points(w);
    int result = tt_to_ops(w->model, ops, w, NULL, err);
    w->ops.keeps_order = w->model->device_count > 1;
    if (result == 0)
        ops_to_trace(&w->ops, ops);
    w->counts->ops += ops->call_count;
    w->counts->runs += ops->run_count;
    w->counts->signposts += ops->signpost_count;
    return result ? result : tt_trace_write_zones(w, files, err);
}

int tt_import(const char *path, const char *output, const struct import_options *options,
              struct import_counts *counts, struct error *err)
{
    struct tt_model model;
    struct tt_files files = {0};
    struct ops ops;
    struct tt_trace_writer w = {.model = &model, .counts = counts};
    *counts = (struct import_counts){0};
    if (!tt_is_source(path)) {
        struct op_rows *rows;
        int status = op_rows_open(&rows, path, err);
        return status ? status : tt_import_rows(rows, output, counts, err);
    }
    tt_model_init(&model);
    ops_init(&ops);
    int result = tt_files_find(&files, path, err);
    if (result == 0)
        result = tt_load(&model, &files, options, err);
    if (result == 0)
        result = tt_trace_begin(&w, path, output, TT_TRACK_FOLDER, err);
    if (result == 0)
        result = tt_trace_write_model(&w, &ops, &files, err);
    result = tt_trace_end(&w, &ops, output, result, err);
    tt_files_free(&files);
    tt_model_free(&model);
    ops_free(&ops);
    return result;
}
