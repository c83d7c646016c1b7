/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "analyze/clockquality.h"
#include "base/count_of.h"
#include "present/format.h"
#include "present/info/info.h"
#include "present/loss_text.h"

static const char *state_text(const struct trace_info *info, const struct loss_sums *losses)
{
    if (info->is_salvaged)
        return "salvaged: whole blocks found by a scan";
    if (!info->is_complete)
        return "unfinished: still being written, or its collector died (see opscope recover)";
    if (losses->by_reason[TRACE_LOSS_DISK_FULL].events)
        return "cut short: the disk was full, or the file too large";
    return info->is_recovered ? "complete, finished by opscope recover" : "complete";
}

static void add_started(struct view *view, const struct trace_info *info)
{
    uint64_t realtime_ns = info->end_ns ? clock_quality_realtime(view->trace, info->start_ns) : 0;
    time_t seconds = (time_t)(realtime_ns / UINT64_C(1000000000));
    struct tm parts;
    char text[64] = "";
    if (realtime_ns == 0)
        return;
    if (localtime_r(&seconds, &parts))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &parts);
    report_number(&view->report, "start_realtime", NULL, TABLE_TIME, realtime_ns);
    if (!report_is_json(&view->report))
        report_text(&view->report, "started", "started", text);
}

enum { POINT_KINDS = TRACE_POINT_FRAME + 1 };

/* How many points of each kind; unknown ones under 0. */
static int count_points(struct trace *trace, uint64_t *kinds, struct error *err)
{
    struct trace_block_filter filter = {.type = TRACE_BLOCK_POINTS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(trace, &filter, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count; i++)
            kinds[rows.points[i].kind < POINT_KINDS ? rows.points[i].kind : 0]++;
    }
    trace_rows_free(&rows);
    return result;
}

static void add_counts(struct view *view, const struct trace_info *info)
{
    struct error err = {0};
    uint64_t kinds[POINT_KINDS] = {0};
    if (count_points(view->trace, kinds, &err) != 0)
        report_note(&view->report, TABLE_BAD, "%s", err.message);
    const struct {
        const char *key, *word; /* no word: not for people */
        uint64_t value;
    } counts[] = {
        {"points", NULL, info->points},
        {"messages", "message", kinds[TRACE_POINT_MESSAGE]},
        {"signposts", "signpost", kinds[TRACE_POINT_SIGNPOST]},
        {"frames", "frame", kinds[TRACE_POINT_FRAME]},
        {"counters", "counter value", info->counters},
        {"memory_events", "memory event", info->memory_events},
        {"ops", "op", info->ops},
        {"runs", "device run", info->runs},
        {"samples", "sample", info->samples},
        {"lock_events", "lock event", info->locks},
    };
    struct bytes text = {0};
    struct number_text number;
    report_number(&view->report, "zones", "zones", TABLE_INTEGER, info->zones);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        report_number(&view->report, counts[i].key, NULL, TABLE_INTEGER, counts[i].value);
        if (counts[i].value && counts[i].word)
            bytes_append_format(&text, "%s%s", text.length ? ", " : "",
                                format_things(&number, counts[i].value, counts[i].word));
    }
    if (text.length && !report_is_json(&view->report))
        report_text(&view->report, "others", "others", bytes_text(&text));
    bytes_free(&text);
}

static void add_lost(struct view *view, const struct loss_sums *losses)
{
    struct loss_text text;
    report_text(&view->report, "lost", "lost",
                losses->lost.events ? loss_sum_text(&text, &losses->lost) : "nothing");
    if (losses->old.events)
        report_text(&view->report, "dropped", "dropped (--max-size)", loss_sum_text(&text, &losses->old));
}

void info_add_facts(struct view *view)
{
    const struct trace_info *info = trace_get_info(view->trace);
    struct report *report = &view->report;
    struct loss_sums losses;
    struct number_text number;
    char size[80];
    loss_sums_make(&losses, view->trace, NULL);
    if (!report_is_json(report))
        report_text(report, "file", "trace", view->path);
    report_text(report, "state", "state", state_text(info, &losses));
    report_bool(report, "is_complete", NULL, info->is_complete);
    report_bool(report, "is_recovered", NULL, info->is_recovered);
    report_bool(report, "is_salvaged", NULL, info->is_salvaged);
    report_number(report, "damaged_blocks", info->damaged_blocks ? "damaged" : NULL, TABLE_INTEGER,
                  info->damaged_blocks);
    report_text(report, "command", "command", info->command);
    report_text(report, "host", "host", info->host);
    report_text(report, "program", "written by", info->program);
    report_number(report, "format_version", NULL, TABLE_IDENTIFIER, info->format_version);
    report_number(report, "segments", info->segment_count > 1 ? "segments" : NULL, TABLE_INTEGER,
                  info->segment_count);
    add_started(view, info);
    report_number(report, "length", "length", TABLE_TIME, info->end_ns - info->start_ns);
    if (report_is_json(report)) {
        report_number(report, "size", NULL, TABLE_BYTES, info->size_bytes);
        report_number(report, "zone_size", NULL, TABLE_BYTES, info->zone_bytes);
        report_number(report, "names", NULL, TABLE_INTEGER, trace_name_count(view->trace));
    } else {
        int length = snprintf(size, sizeof size, "%s", format_bytes(&number, info->size_bytes));
        if (info->zones)
            snprintf(size + length, sizeof size - (size_t)length, " (zones: %.2f bytes each)",
                     (double)info->zone_bytes / (double)info->zones);
        report_text(report, "size", "size", size);
    }
    add_counts(view, info);
    if (!report_is_json(report))
        add_lost(view, &losses);
    report_number(report, "lost_zones", NULL, TABLE_INTEGER, info->lost_zones);
    report_number(report, "lost_records", NULL, TABLE_INTEGER, info->lost_records);
    report_number(report, "dropped_zones", NULL, TABLE_INTEGER, losses.old.zones);
    report_number(report, "dropped_records", NULL, TABLE_INTEGER, losses.old.records);
    report_number(report, "paused", losses.paused_ns ? "paused" : NULL, TABLE_TIME, losses.paused_ns);
}
