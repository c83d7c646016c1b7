/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/labels.h"
#include "analyze/losses.h"
#include "present/format.h"
#include "text/python_number.h"

#define FLUSH_BYTES ((size_t)256 << 10)
#define DEEPEST_TRACK 64u /* a longer way up, or a circle, is taken for a damaged file */

int export_no_memory(struct export_job *job)
{
    return error_set(job->err, ENOMEM, "not enough memory for the export");
}

int export_flush(struct export_job *job, bool is_last)
{
    struct bytes *out = &job->out;
    if (out->failed)
        return export_no_memory(job);
    if (out->length < FLUSH_BYTES && !is_last)
        return 0;
    errno = 0;
    if ((out->length && fwrite(out->data, 1, out->length, job->stream) != out->length) ||
        (is_last && fflush(job->stream) != 0)) {
        int code = errno ? errno : EIO;
        return error_set_errno(job->err, code, "cannot write the export");
    }
    job->counts->size_bytes += out->length;
    bytes_clear(out);
    return 0;
}

void export_progress(struct export_job *job)
{
    job->progress_done++;
    if (job->options->progress && job->progress_total)
        job->options->progress(job->options->progress_context,
                               (double)job->progress_done / (double)job->progress_total);
}

/* The same words as in the tables of the other commands. */
static char *make_process_label(const struct trace_process *process)
{
    char program[256];
    if (process->command && process->command[0])
        label_program(process, program, sizeof program);
    else
        snprintf(program, sizeof program, "process %" PRId64, process->pid);
    return strdup(program);
}

static char *make_track_label(const struct trace *trace, uint32_t track)
{
    char label[64];
    return strdup(label_track(trace, track, label, sizeof label));
}

/* What is gone, whether or not the format has rows for it. */
static void sum_losses(struct export_job *job)
{
    size_t count;
    const struct trace_loss *losses = trace_get_losses(job->trace, &count);
    for (size_t i = 0; i < count; i++) {
        if (!trace_loss_is_lost(losses[i].reason) || !export_wants_loss(job, &losses[i]))
            continue;
        job->counts->lost_zones += losses[i].zones;
        job->counts->lost_records += losses[i].records;
    }
}

int export_job_open(struct export_job *job)
{
    job->info = trace_get_info(job->trace);
    sum_losses(job);
    job->process_count = trace_process_count(job->trace);
    job->track_count = trace_track_count(job->trace);
    job->process_labels = calloc(job->process_count + 1, sizeof *job->process_labels);
    job->track_labels = calloc(job->track_count + 1, sizeof *job->track_labels);
    bool is_whole = job->process_labels && job->track_labels;
    for (uint32_t i = 0; is_whole && i < job->process_count; i++)
        is_whole = (job->process_labels[i] = make_process_label(trace_get_process(job->trace, i)));
    for (uint32_t i = 0; is_whole && i < job->track_count; i++)
        is_whole = (job->track_labels[i] = make_track_label(job->trace, i));
    return is_whole ? 0 : export_no_memory(job);
}

void export_job_close(struct export_job *job)
{
    for (size_t i = 0; job->process_labels && i < job->process_count; i++)
        free(job->process_labels[i]);
    for (size_t i = 0; job->track_labels && i < job->track_count; i++)
        free(job->track_labels[i]);
    free(job->process_labels);
    free(job->track_labels);
    bytes_free(&job->out);
}

const char *export_process_label(const struct export_job *job, uint32_t process)
{
    return process < job->process_count ? job->process_labels[process] : "unknown process";
}

const char *export_track_label(const struct export_job *job, uint32_t track)
{
    return track < job->track_count ? job->track_labels[track] : "unknown track";
}

uint32_t export_track_process(const struct export_job *job, uint32_t track)
{
    const struct trace_track *what = trace_get_track(job->trace, track);
    return what ? what->process : TRACE_NONE;
}

uint64_t export_host_ns(const struct export_job *job, uint32_t track, uint64_t time)
{
    return trace_track_host_ns(job->trace, track, time);
}

uint64_t export_relative_ns(const struct export_job *job, uint64_t host_ns)
{
    return host_ns > job->info->start_ns ? host_ns - job->info->start_ns : 0;
}

bool export_is_host_track(const struct trace_track *track)
{
    return track->kind == TRACE_TRACK_THREAD || track->kind == TRACE_TRACK_TASK ||
           track->kind == TRACE_TRACK_SPAN;
}

/* The parent, or TRACE_NONE. */
static uint32_t next_up(const struct export_job *job, uint32_t track)
{
    const struct trace_track *what = trace_get_track(job->trace, track);
    return what && trace_get_track(job->trace, what->parent) ? what->parent : TRACE_NONE;
}

uint32_t export_parent_track(const struct export_job *job, uint32_t track)
{
    uint32_t parent = next_up(job, track), above = parent;
    for (unsigned i = 0; above != TRACE_NONE; i++) {
        if (i == DEEPEST_TRACK || above == track)
            return TRACE_NONE;
        above = next_up(job, above);
    }
    return parent;
}

uint32_t export_root_track(const struct export_job *job, uint32_t track)
{
    const struct trace_track *what = trace_get_track(job->trace, track);
    uint32_t parent;
    while ((parent = export_parent_track(job, track)) != TRACE_NONE) {
        if (export_is_host_track(trace_get_track(job->trace, parent)) != export_is_host_track(what))
            break;
        track = parent;
    }
    return track;
}

static struct trace_block_filter block_filter(const struct export_job *job, uint32_t block_type)
{
    struct trace_block_filter filter = {.type = block_type};
    if (job->filter->has_window) {
        filter.since_ns = job->filter->since_ns;
        filter.until_ns = job->filter->until_ns;
    }
    return filter;
}

int export_each_rows(struct export_job *job, uint32_t block_type, export_rows_fn visit, void *context)
{
    struct trace_block_filter filter = block_filter(job, block_type);
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(job->trace, &filter, &position))) {
        result = trace_decode_rows(job->trace, block, &rows, job->err);
        if (result == 0)
            result = visit(context, &rows);
        export_progress(job);
    }
    trace_rows_free(&rows);
    return result;
}

uint64_t export_block_count(const struct export_job *job, uint32_t block_type)
{
    struct trace_block_filter filter = block_filter(job, block_type);
    size_t position = 0;
    uint64_t count = 0;
    while (trace_next_block(job->trace, &filter, &position))
        count++;
    return count;
}

bool export_wants_zone(const struct export_job *job, uint32_t track, uint32_t name, uint64_t start_ns,
                       uint64_t end_ns)
{
    const struct trace_filter *filter = job->filter;
    uint64_t duration_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    return filter->is_everything ||
           (trace_filter_wants_track(filter, track) && trace_filter_wants_name(filter, name) &&
            trace_filter_clip(filter, &start_ns, &duration_ns));
}

bool export_wants_point(const struct export_job *job, const struct trace_point *point, uint64_t ns)
{
    const struct trace_filter *filter = job->filter;
    return trace_filter_wants_track(filter, point->track) && trace_filter_wants_span(filter, ns, ns) &&
           (trace_filter_text_matches(filter, point->header ? point->header : "") ||
            trace_filter_text_matches(filter, point->text ? point->text : ""));
}

bool export_wants_loss(const struct export_job *job, const struct trace_loss *loss)
{
    const struct trace_filter *filter = job->filter;
    bool has_time = loss->from_ns || loss->to_ns;
    if (!loss_is_wanted(loss, filter))
        return false;
    return !filter->has_window || !has_time || trace_filter_wants_span(filter, loss->from_ns, loss->to_ns);
}

void export_loss_text(const struct trace_loss *loss, char *text, size_t size)
{
    struct number_text zones, records;
    format_things(&zones, loss->zones, "zone");
    format_things(&records, loss->records, "record");
    if (loss->reason == TRACE_LOSS_LATE_ENDS)
        snprintf(text, size, "%s ended late", zones.text);
    else if (loss->reason == TRACE_LOSS_PAUSED)
        snprintf(text, size, "paused for %s", format_time(&zones, loss->to_ns - loss->from_ns));
    else if (loss->records && loss->zones)
        snprintf(text, size, "lost %s and %s", zones.text, records.text);
    else
        snprintf(text, size, "lost %s", loss->records ? records.text : zones.text);
}

uint64_t export_loss_ns(const struct export_job *job, const struct trace_loss *loss)
{
    uint64_t ns = loss->from_ns;
    ns = ns > job->info->end_ns ? job->info->end_ns : ns;
    return ns < job->info->start_ns ? job->info->start_ns : ns;
}

void export_append_figure_key(const struct export_job *job, const struct trace_run_part *figure,
                              struct bytes *out)
{
    static const struct {
        const char *unit, *said; /* what a name holds that says the unit itself */
    } units[TRACE_FIGURE_KINDS] = {[TRACE_FIGURE_TICKS] = {" ticks", "\n"},
                                   [TRACE_FIGURE_NS] = {" ns", "[ns]"},
                                   [TRACE_FIGURE_BYTES] = {" bytes", "bytes"},
                                   [TRACE_FIGURE_PERCENT] = {" %", "%"}};
    const char *name = trace_get_name(job->trace, figure->name)->name;
    bytes_append_text(out, name);
    if (units[figure->kind].unit && !strstr(name, units[figure->kind].said))
        bytes_append_text(out, units[figure->kind].unit);
}

void export_append_figure_value(const struct export_job *job, const struct trace_run_part *figure,
                                struct bytes *out)
{
    if (figure->kind == TRACE_FIGURE_TEXT)
        bytes_append_text(out, trace_get_name(job->trace, (uint32_t)figure->whole)->name);
    else if (trace_figure_is_real(figure->kind))
        python_append_float(out, figure->real);
    else
        export_append_unsigned(out, figure->whole);
}

void export_append_unsigned(struct bytes *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    bytes_append(out, digits + at, sizeof digits - at);
}
