/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace is: its processes, tracks, counters, pools and losses, and its names by the page. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "analyze/clockquality.h"
#include "analyze/labels.h"
#include "analyze/zones/waiting.h"
#include "import/open.h"
#include "serve/query/query.h"

#define NAMES_PER_PAGE 1024u

static void member_id(struct json *j, const char *key, uint32_t id)
{
    json_key(j, key);
    if (id == TRACE_NONE)
        json_null(j);
    else
        json_unsigned(j, id);
}

/* --- processes --- */

static void member_status(struct json *j, int32_t status)
{
    bool is_known = status != TRACE_STATUS_UNKNOWN;
    json_key(j, "exit_status");
    if (is_known && WIFEXITED(status))
        json_integer(j, WEXITSTATUS(status));
    else
        json_null(j);
    json_key(j, "signal");
    if (is_known && WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        char text[32];
        if (name)
            snprintf(text, sizeof text, "SIG%s", name);
        else
            snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
        json_text(j, text);
    } else {
        json_null(j);
    }
}

/* What was imported has the path of its file for a command: where that lay is not for those who read the page. */
static const char *command_of(const struct serve_trace *st, const char *command)
{
    const char *slash = import_trace_has_table(st->trace) ? strrchr(command, '/') : NULL;
    return slash && slash[1] ? slash + 1 : command;
}

static void put_processes(struct json *j, const struct serve_trace *st)
{
    json_key(j, "processes");
    json_array(j, JSON_LINES);
    for (uint32_t i = 0; i < trace_process_count(st->trace); i++) {
        const struct trace_process *process = trace_get_process(st->trace, i);
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "id", i);
        member_id(j, "parent", process->parent);
        json_key(j, "pid");
        json_integer(j, process->pid);
        json_member_text(j, "command", command_of(st, process->command));
        json_member_text(j, "host", process->host);
        json_member_unsigned(j, "start", serve_since(st, process->start_ns));
        json_key(j, "end");
        if (process->end_ns)
            json_unsigned(j, serve_since(st, process->end_ns));
        else
            json_null(j);
        member_status(j, process->exit_status);
        json_key(j, "flags");
        json_array(j, JSON_INLINE);
        if (process->flags & TRACE_PROCESS_ROOT)
            json_text(j, "root");
        if (process->flags & TRACE_PROCESS_FORKED)
            json_text(j, "forked");
        if (process->flags & TRACE_PROCESS_RUNNING_AT_END)
            json_text(j, "running");
        json_end(j);
        json_end(j);
    }
    json_end(j);
}

/* --- tracks --- */

static bool has_counters(const struct serve_facts *facts, uint32_t track)
{
    for (size_t i = 0; i < facts->counter_count; i++) {
        if (facts->counters[i].track == track)
            return true;
    }
    return false;
}

static void put_tracks(struct json *j, const struct serve_trace *st)
{
    char label[256];
    json_key(j, "tracks");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < trace_track_count(st->trace); i++) {
        uint32_t id = st->facts->track_order[i];
        const struct trace_track *track = trace_get_track(st->trace, id);
        const struct run_track *runs = run_index_find(&st->runs, id);
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "id", id);
        json_member_unsigned(j, "process", track->process);
        member_id(j, "parent", track->parent);
        json_member_text(j, "kind", trace_track_kind_text(track->kind));
        json_member_text(j, "name", label_track(st->trace, id, label, sizeof label));
        json_member_unsigned(j, "number", track->number);
        json_member_text(j, "architecture", track->architecture);
        json_member_unsigned(j, "depths", trace_track_all_depths(st->trace, id));
        json_member_unsigned(j, "zones", trace_track_zone_count(st->trace, id));
        json_member_unsigned(j, "runs", runs ? runs->run_count : 0);
        json_member_unsigned(j, "run_lanes", runs ? runs->lane_count : 0);
        json_member_unsigned(j, "busy_ns", st->facts->busy_ns[id]);
        json_member_bool(j, "has_counters", has_counters(st->facts, id));
        json_member_bool(j, "has_memory", st->facts->has_memory[id]);
        json_end(j);
    }
    json_end(j);
}

/* --- the rest --- */

static void put_counters(struct json *j, const struct serve_trace *st)
{
    json_key(j, "counters");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < st->facts->counter_count; i++) {
        const struct serve_counter *counter = &st->facts->counters[i];
        json_object(j, JSON_INLINE);
        json_member_unsigned(j, "track", counter->track);
        json_member_unsigned(j, "name", counter->name);
        json_member_text(j, "text", trace_get_name(st->trace, counter->name)->name);
        json_member_unsigned(j, "samples", counter->samples);
        json_member_real(j, "min", counter->min);
        json_member_real(j, "max", counter->max);
        json_end(j);
    }
    json_end(j);
}

static void put_pools(struct json *j, const struct serve_trace *st)
{
    json_key(j, "pools");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < st->facts->pool_count; i++) {
        const struct serve_pool *pool = &st->facts->pools[i];
        json_object(j, JSON_INLINE);
        member_id(j, "name", pool->name);
        json_member_text(j, "text",
                         pool->name == TRACE_NONE ? "" : trace_get_name(st->trace, pool->name)->name);
        json_member_unsigned(j, "peak_bytes", pool->peak_bytes);
        json_member_unsigned(j, "events", pool->events);
        json_end(j);
    }
    json_end(j);
}

static void put_losses(struct json *j, const struct serve_trace *st)
{
    size_t count;
    const struct trace_loss *losses = trace_get_losses(st->trace, &count);
    json_key(j, "losses");
    json_array(j, JSON_LINES);
    for (size_t i = 0; i < count; i++) {
        if (losses[i].reason == TRACE_LOSS_LATE_ENDS) /* nothing is missing */
            continue;
        json_object(j, JSON_INLINE);
        member_id(j, "process", losses[i].process);
        member_id(j, "track", losses[i].track);
        json_member_text(j, "reason", trace_loss_reason_text(losses[i].reason));
        json_member_unsigned(j, "from", serve_since(st, losses[i].from_ns));
        json_member_unsigned(j, "to", serve_since(st, losses[i].to_ns));
        json_member_unsigned(j, "zones", losses[i].zones);
        json_member_unsigned(j, "records", losses[i].records);
        json_end(j);
    }
    json_end(j);
}

static void put_info(struct json *j, const struct serve_trace *st)
{
    const struct trace_info *info = trace_get_info(st->trace);
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64,
             info->end_ns ? clock_quality_realtime(st->trace, info->start_ns) : UINT64_C(0));
    json_member_unsigned(j, "id", st->id);
    json_member_text(j, "name", st->name);
    json_member_text(j, "path", st->path);
    json_member_text(j, "program", info->program);
    json_member_text(j, "command", command_of(st, info->command));
    json_member_text(j, "host", info->host);
    json_member_text(j, "start_unix_ns", text);
    json_member_unsigned(j, "duration_ns", st->end_ns - st->start_ns);
    json_member_unsigned(j, "zones", info->zones);
    json_member_unsigned(j, "points", info->points);
    json_member_unsigned(j, "counter_samples", info->counters);
    json_member_unsigned(j, "memory_events", info->memory_events);
    json_member_unsigned(j, "ops", info->ops);
    json_member_unsigned(j, "runs", info->runs);
    json_member_unsigned(j, "samples", info->samples);
    json_member_unsigned(j, "lock_events", info->locks);
    json_member_unsigned(j, "lost_zones", info->lost_zones);
    json_member_unsigned(j, "lost_records", info->lost_records);
    json_member_bool(j, "complete", info->is_complete);
    json_member_bool(j, "salvaged", info->is_salvaged);
    json_member_unsigned(j, "damaged_blocks", info->damaged_blocks);
    int32_t status = TRACE_STATUS_UNKNOWN;
    for (uint32_t i = 0; i < trace_process_count(st->trace); i++) {
        const struct trace_process *process = trace_get_process(st->trace, i);
        if (process->flags & TRACE_PROCESS_ROOT)
            status = process->exit_status;
    }
    member_status(j, status);
    json_member_unsigned(j, "generation", st->generation);
}

int query_trace(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    (void)q;
    int status = serve_trace_facts(st, err);
    if (status)
        return status;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    put_info(&j, st);
    put_processes(&j, st);
    put_tracks(&j, st);
    put_counters(&j, st);
    put_pools(&j, st);
    put_losses(&j, st);
    json_end(&j);
    return query_json_end(&j, out, err);
}

int query_names(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    uint64_t page = 0, count = trace_name_count(st->trace);
    int status = query_unsigned(q, "page", UINT32_MAX, &page, err);
    if (!status)
        status = serve_trace_name_ratios(st, err);
    if (status)
        return status;
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_unsigned(&j, "page", page);
    json_member_unsigned(&j, "count", count);
    json_key(&j, "names");
    json_array(&j, JSON_LINES);
    uint64_t first = page * NAMES_PER_PAGE;
    for (uint64_t id = first; id < count && id < first + NAMES_PER_PAGE; id++) {
        const struct trace_name *name = trace_get_name(st->trace, (uint32_t)id);
        const struct name_ratio *ratio = &st->name_ratios[id];
        json_array(&j, JSON_INLINE);
        json_unsigned(&j, id);
        json_text(&j, name->name);
        json_text(&j, trace_name_place(name));
        json_unsigned(&j, name->line);
        json_unsigned(&j, serve_name_colour(st, (uint32_t)id));
        json_real(&j, ratio->total_ns ? (double)ratio->self_ns / (double)ratio->total_ns : 1.0);
        json_unsigned(&j, waiting_is_name(name->name));
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    return query_json_end(&j, out, err);
}
