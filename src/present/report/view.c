/* SPDX-License-Identifier: Apache-2.0 */
/* A performance report: what goes to the terminal, as JSON and as CSV. */
#include "present/report/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/zones/waiting.h"
#include "present/output.h"
#include "present/report/files.h"
#include "present/report/table.h"
#include "present/report/words.h"
#include "present/document.h"

#define ADVICE_LINES 15u

/* A report and what was asked of it, for the writers of files. */
struct showing {
    const struct perf *perf;
    const struct report_options *options;
};

static bool has_groups(const struct report_options *options)
{
    return !options->no_summary && !options->no_stacked_report;
}

static enum perf_table_use table_use(const struct report_options *options)
{
    return options->no_advice ? PERF_FOR_PROGRAMS_WITHOUT_ADVICE : PERF_FOR_PROGRAMS;
}

static int write_ops_csv(const void *context, FILE *out, struct error *err)
{
    const struct showing *showing = context;
    return perf_write_csv(showing->perf, table_use(showing->options), out, err);
}

static int write_groups_csv(const void *context, FILE *out, struct error *err)
{
    return perf_write_groups_csv(((const struct showing *)context)->perf, out, err);
}

/* --- terminal and JSON --- */

static void add_totals(const struct perf *perf, struct report *report)
{
    struct number_text device, host, signposts, time, gaps, busy, overlap;
    struct bytes verdict = {0};
    double gap_share = perf->total_us > 0 ? perf->total_gap_us / perf->total_us * 100 : 0;
    report_note(report, TABLE_BOLD, "%s, %s, %s; %s time %s, gaps %s (%.1f %%)",
                format_things(&device, perf->device_op_count, perf_is_cpu(perf) ? "op" : "device op"),
                format_things(&host, perf->host_op_count, "host op"),
                format_things(&signposts, perf->signpost_count, "signpost"),
                perf_is_cpu(perf) ? "CPU" : "device", perf_format_us(&time, perf->total_time_us),
                perf_format_us(&gaps, perf->total_gap_us), gap_share);
    if (perf->overlap_us > 0)
        report_note(report, TABLE_NORMAL, "busy %s: the ops' times less %s in which %s overlapped",
                    perf_format_us(&busy, perf->busy_us), perf_format_us(&overlap, perf->overlap_us),
                    perf->has_sub_devices ? "sub-devices" : "they");
    double gb_s = perf->busy_us > 0 ? perf->total_dram_bytes / (perf->busy_us * 1e-6) / 1e9 : 0;
    if (gb_s >= 0.05) { /* of less there is nothing to say */
        int decimals = gb_s < 10 ? 1 : 0;
        if (perf->has_machine)
            report_note(report, TABLE_NORMAL,
                        "DRAM while busy: %.*f GB/s, %.1f %% of %.0f GB/s (ops whose traffic is "
                        "modelled)",
                        decimals, gb_s, gb_s / perf->machine->dram_gb_s * 100, perf->machine->dram_gb_s);
        else
            report_note(report, TABLE_NORMAL, "DRAM while busy: %.*f GB/s (ops whose traffic is modelled)",
                        decimals, gb_s);
    }
    perf_append_gap_verdict(perf, &verdict);
    if (verdict.length)
        report_note(report, TABLE_BAD, "%.*s", (int)verdict.length, (const char *)verdict.data);
    report->failed |= verdict.failed;
    bytes_free(&verdict);
}

#define HOST_ZONES 5u

/* Which zones of the host the device waited for: those that worked, then those that waited themselves. */
static void add_host_zones(const struct perf *perf, struct report *report)
{
    size_t shown = 0;
    for (int waits = 0; waits < 2 && !report_is_json(report); waits++) {
        for (size_t i = 0; i < perf->host_zone_count && shown < HOST_ZONES; i++) {
            const struct perf_host_zone *zone = &perf->host_zones[i];
            if (waiting_is_name(perf_text(perf, zone->name)) != (waits == 1))
                continue;
            report_note(report, TABLE_NORMAL, "  %5.1f %% of the gaps: the host %s in %s (%s)", zone->percent,
                        waits ? "waited" : "was", perf_text(perf, zone->name), perf_text(perf, zone->thread));
            shown++;
        }
    }
    if (!report_is_json(report))
        return;
    json_key(&report->json, "host_zones");
    json_array(&report->json, JSON_LINES);
    for (size_t i = 0; i < perf->host_zone_count; i++) {
        json_object(&report->json, JSON_INLINE);
        json_member_text(&report->json, "zone", perf_text(perf, perf->host_zones[i].name));
        json_member_text(&report->json, "thread", perf_text(perf, perf->host_zones[i].thread));
        json_member_real(&report->json, "covered_us", perf->host_zones[i].covered_us);
        json_member_real(&report->json, "percent", perf->host_zones[i].percent);
        json_member_bool(&report->json, "waits", waiting_is_name(perf_text(perf, perf->host_zones[i].name)));
        json_end(&report->json);
    }
    json_end(&report->json);
}

static int add_ops(const struct perf *perf, const struct report_options *options, struct report *report,
                   struct error *err)
{
    struct perf_selection selection = {0};
    struct number_text folded;
    struct table table;
    bool is_all = report_is_json(report);
    int status = is_all && !options->top
                     ? 0
                     : perf_select(perf, options->top < perf->count ? options->top : 0,
                                   is_all || options->top ? 0 : options->min_percentage, &selection, err);
    if (status)
        return status;
    perf_make_ops_table(perf, selection.is_shown ? &selection : NULL,
                        is_all ? table_use(options) : PERF_FOR_PEOPLE, &table);
    report_table(report, "rows", &table);
    if (selection.folded_count)
        report_note(report, TABLE_DIM, "and %zu op%s%s: %s, %.1f %% %s", selection.folded_count,
                    selection.folded_count == 1 ? "" : "s", options->top ? " more" : " below the least share",
                    perf_format_us(&folded, selection.folded_us), selection.folded_percent,
                    perf_share_text(perf));
    table_free(&table);
    perf_selection_free(&selection);
    return 0;
}

static void add_groups(const struct perf *perf, const struct report_options *options, struct report *report)
{
    struct table table;
    perf_make_groups_table(perf, report_is_json(report) ? 0 : options->top, &table);
    report_heading(report, "Time by %s", perf_group_by_text(options->group_by));
    report_table(report, "groups", &table);
    if (table.row_count < perf->groups.count)
        report_note(report, TABLE_DIM, "the first %zu of %zu groups", table.row_count, perf->groups.count);
    table_free(&table);
}

/* Lines that would save next to nothing are counted, not shown. */
#define LEAST_GAIN_PERCENT 0.05

/* On a terminal advice is sentences: a table would cut them. */
static void add_advice_lines(const struct perf *perf, const struct report_options *options,
                             struct report *report)
{
    size_t lines = options->top ? (size_t)options->top : ADVICE_LINES, shown = 0;
    struct bytes text = {0};
    for (size_t i = 0; i < perf->advice_count && shown < lines; i++) {
        const struct perf_advice *advice = &perf->advice[i];
        if (advice->weight_percent < LEAST_GAIN_PERCENT && !options->top)
            continue;
        bytes_clear(&text);
        bytes_append_format(&text, "%2zu. ", ++shown);
        perf_append_headline(perf, advice, &text);
        report_note(report, TABLE_BOLD, "%.*s", (int)text.length, (const char *)text.data);
        bytes_clear(&text);
        perf_append_evidence(perf, advice, true, &text);
        report_note(report, TABLE_NORMAL, "    %.*s", (int)text.length, (const char *)text.data);
        bytes_clear(&text);
        perf_append_action(perf, advice, &text);
        report_note(report, TABLE_NORMAL, "    %.*s", (int)text.length, (const char *)text.data);
    }
    if (shown < perf->advice_count)
        report_note(report, TABLE_DIM, "and %zu more line%s (--top N)", perf->advice_count - shown,
                    perf->advice_count - shown == 1 ? "" : "s");
    report->failed |= text.failed;
    bytes_free(&text);
}

static void add_advice(const struct perf *perf, const struct report_options *options, struct report *report)
{
    struct bytes sum = {0};
    if (report_is_json(report)) {
        struct table table;
        perf_make_advice_table(perf, 0, &table);
        report_table(report, "advice", &table);
        table_free(&table);
        json_member_real(&report->json, "advice_gain_us", perf->advice_gain_us);
        return;
    }
    if (perf->has_machine)
        report_heading(report, "Advice, by what it would save up to %.0f %% of each roofline",
                       perf->options.target_percent);
    else
        report_heading(report, "Advice, by what it would save");
    if (perf->advice_count == 0) {
        report_note(report, TABLE_NORMAL, "%s", perf_no_advice_text(perf));
        return;
    }
    add_advice_lines(perf, options, report);
    perf_append_advice_sum(perf, &sum);
    if (sum.length)
        report_note(report, TABLE_BOLD, "%.*s.", (int)sum.length, (const char *)sum.data);
    report->failed |= sum.failed;
    bytes_free(&sum);
}

static void add_json_facts(const struct perf *perf, struct report *report)
{
    struct json *json = &report->json;
    json_key(json, "files");
    json_array(json, JSON_INLINE);
    for (size_t i = 0; i < perf->file_count; i++)
        json_text(json, perf->files[i].path);
    json_end(json);
    json_key(json, "machine");
    if (perf->has_machine)
        json_text(json, perf->machine->name);
    else
        json_null(json);
    json_member_real(json, "worker_cores", perf->worker_cores > 0 ? perf->worker_cores : NAN);
    json_member_real(json, "target_percent", perf->options.target_percent);
    json_member_unsigned(json, "device_ops", perf->device_op_count);
    json_member_unsigned(json, "host_ops", perf->host_op_count);
    json_member_unsigned(json, "signposts", perf->signpost_count);
    json_member_unsigned(json, "invalid_durations", perf->invalid_count);
    json_member_text(json, "share_of", perf->gaps_dominate ? "device time" : "run");
    json_member_bool(json, "looks_like_compilation", perf->looks_like_compilation);
    json_member_real(json, "device_time_us", perf->total_time_us);
    json_member_real(json, "gap_us", perf->total_gap_us);
    json_member_real(json, "busy_us", perf->busy_us);
    json_member_real(json, "overlap_us", perf->overlap_us);
    json_member_real(json, "dram_bytes", perf->total_dram_bytes);
    json_member_real(json, "flops", perf->total_flops);
    json_member_text(json, "group_by", perf_group_by_text(perf->options.group_by));
}

static int fill_report(const struct perf *perf, const struct report_options *options, struct report *report,
                       struct error *err)
{
    if (report_is_json(report)) {
        add_json_facts(perf, report);
    } else if (perf->has_machine) {
        report_heading(report, "Performance report: %s, %.0f cores, %.0f GB/s", perf->machine->title,
                       perf->worker_cores, perf->machine->dram_gb_s);
    } else {
        report_heading(report, "Performance report: %s, no rooflines",
                       perf->device_text == OPS_NONE ? "a device that is not known"
                                                     : perf_text(perf, perf->device_text));
    }
    if (!options->output.csv) {
        int status = add_ops(perf, options, report, err);
        if (status)
            return status;
    }
    if (!report_is_json(report))
        add_totals(perf, report);
    add_host_zones(perf, report);
    if (has_groups(options))
        add_groups(perf, options, report);
    if (!options->no_advice)
        add_advice(perf, options, report);
    for (size_t i = 0; i < perf->notes.count && report_is_json(report); i++)
        report_note(report, TABLE_WARN, "%s", perf->notes.items[i].text);
    return 0;
}

int report_write_json(const struct perf *perf, const struct report_options *options, struct json *json,
                      struct error *err)
{
    struct output output = {.format = OUTPUT_JSON};
    struct report report;
    report_begin_members(&report, &output, json);
    int status = fill_report(perf, options, &report, err);
    return report_end_members(&report, status, json, err);
}

static int show_text(const struct perf *perf, const struct report_options *options, struct error *err)
{
    struct output output;
    struct report report;
    int status = output_open(&output, &options->output, err);
    if (status)
        return status;
    report_begin(&report, &output, "report");
    return report_close(&report, fill_report(perf, options, &report, err), NULL, err);
}

int report_show(const struct perf *perf, const struct report_options *options, struct error *err)
{
    const struct showing showing = {perf, options};
    const char *const *inputs = options->paths;
    const struct perf_files files = {inputs, options->path_count};
    const struct perf_group_files group_files = {
        .base = options->summary_file ? options->summary_file : options->stacked_csv,
        .table = options->output.csv ? options->output.output : NULL,
        .groups = &perf->groups,
        .is_classic = options->classic_colors,
    };
    int status = 0;
    if (options->output.csv)
        status = perf_write_file(&files, options->output.output, write_ops_csv, &showing, err);
    if (!status && perf->groups.count && has_groups(options))
        status = perf_write_group_files(&files, &group_files, write_groups_csv, &showing, err);
    if (status)
        return status;
    return options->output.csv || (perf->count == 0 && !options->output.json) ? 0
                                                                              : show_text(perf, options, err);
}
