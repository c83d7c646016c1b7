/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison: what goes to the terminal, as JSON and as CSV. */
#include "present/diff/view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "present/diff/about.h"
#include "present/diff/json.h"
#include "present/diff/table.h"
#include "present/format.h"
#include "present/document.h"

#define ROWS_SHOWN 20u
#define GROUPS_SHOWN 12u

static uint64_t kinds_of(const struct diff_command_options *options)
{
    static const uint64_t wanted[] = {7, 1u << DIFF_OP_ROW, 1u << DIFF_ZONE_ROW};
    return wanted[options->only];
}

/* --- terminal --- */

static void add_run(struct report *report, const struct diff_run *run, const char *side)
{
    struct number_text ops, zones, calls;
    struct bytes about = {0};
    uint64_t op_count = run->device_op_count + run->host_op_count;
    if (op_count)
        bytes_append_format(&about, ", %s", format_things(&ops, op_count, "op"));
    if (run->zones_total)
        bytes_append_format(&about, ", %s", format_things(&zones, run->zones_total, "zone"));
    if (run->call_count)
        bytes_append_format(&about, ", %s", format_things(&calls, run->call_count, "op"));
    report_note(report, TABLE_NORMAL, "%s  %s (%s%s)", side, run->path, run->kind, bytes_text(&about));
    bytes_free(&about);
}

static void add_about(struct report *report, const struct diff *diff)
{
    struct bytes about = {0};
    diff_append_about(diff, &about);
    if (about.length)
        report_note(report, TABLE_NORMAL, "%s (--include-warm-up takes all)", bytes_text(&about));
    if (diff->is_per_step)
        report_note(report, TABLE_NORMAL, "times are of one step: the mean of %zu in A and %zu in B",
                    diff->runs[DIFF_A].steps.count, diff->runs[DIFF_B].steps.count);
    bytes_free(&about);
}

static void append_state(struct bytes *out, const struct diff *diff, unsigned kind, unsigned state)
{
    struct number_text number;
    uint64_t count = diff_count_state(diff, kind, state);
    if (count)
        bytes_append_format(out, "%s%s %s", out->length ? ", " : "", format_count(&number, count),
                            diff_state_text(state));
}

/* "2 slower, 1 faster, 1 new, 1 gone; 34 the same" */
static void add_summary(struct report *report, const struct diff *diff, unsigned kind, const char *what)
{
    static const unsigned reported[] = {DIFF_SLOWER, DIFF_FASTER, DIFF_NEW,      DIFF_GONE,
                                        DIFF_MORE,   DIFF_FEWER,  DIFF_RESHAPED, DIFF_MIXED};
    struct bytes text = {0};
    struct number_text same, noise;
    uint64_t noisy = diff_count_state(diff, kind, DIFF_NOISE) + diff_count_state(diff, kind, DIFF_OUTLIERS);
    for (size_t i = 0; i < COUNT_OF(reported); i++)
        append_state(&text, diff, kind, reported[i]);
    bool has_changes = text.length > 0;
    bytes_append_format(&text, "%s%s the same", has_changes ? "; " : "",
                        format_count(&same, diff_count_state(diff, kind, DIFF_SAME)));
    if (noisy)
        bytes_append_format(&text, ", %s changed within the noise", format_count(&noise, noisy));
    report_heading(report, "%s: %s", what, bytes_text(&text));
    bytes_free(&text);
}

static void add_rows(struct report *report, const struct diff *diff,
                     const struct diff_command_options *options, unsigned kind)
{
    static const char *const names[] = {"Ops", "Zones", "Dispatch times"};
    struct diff_rows_table rows;
    struct diff_selection selection = {.kinds = UINT64_C(1) << kind,
                                       .is_all = options->all,
                                       .top = options->top   ? options->top
                                              : options->all ? 0
                                                             : ROWS_SHOWN};
    add_summary(report, diff, kind, names[kind]);
    struct number_text number;
    size_t left_out = diff_make_rows_table(diff, &selection, DIFF_LOOK_TERMINAL, &rows);
    if (rows.table.row_count)
        report_table(report, "rows", &rows.table);
    if (left_out)
        report_note(report, TABLE_DIM, "and %s more (--top N)", format_things(&number, left_out, "row"));
    table_free(&rows.table);
}

static void add_groups(struct report *report, const struct diff *diff,
                       const struct diff_command_options *options)
{
    struct table groups;
    struct number_text number;
    uint64_t top = options->top ? options->top : options->all ? 0 : GROUPS_SHOWN;
    size_t left_out = diff_make_groups_table(diff, top, DIFF_LOOK_TERMINAL, &groups);
    report_heading(report, "Time by %s", diff_group_by_text(options->group_by));
    report_table(report, "groups", &groups);
    if (left_out)
        report_note(report, TABLE_DIM, "and %s more", format_things(&number, left_out, "group"));
    table_free(&groups);
}

/* How the rows came about and how far they can be trusted. */
static void add_remarks(struct report *report, const struct diff *diff)
{
    struct number_text a, b, c, d;
    if (diff->has_ops && (diff->added || diff->removed || diff->reshaped))
        report_note(report, TABLE_DIM,
                    "matched %s, %s of them with other tensors; %s only in A, %s only in B",
                    format_things(&a, diff->matched, "op"), format_count(&b, diff->reshaped),
                    format_count(&c, diff->removed), format_count(&d, diff->added));
    if (diff->is_location_moved)
        report_note(report, TABLE_WARN, "most places in the source differ: ops were matched without them");
    if (diff->align.missed_most)
        report_note(
            report, TABLE_WARN,
            "the runs differ so much that the search for matching ops was cut short: up to %s of the ops that "
            "are only in one of them may belong together",
            format_count(&a, diff->align.missed_most));
    if (diff->is_host_time && diff->has_ops)
        report_note(report, TABLE_WARN,
                    "no device times in either run: the ops' times on the host are compared");
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (diff->runs[side].untimed_count && !diff->is_host_time)
            report_note(report, TABLE_WARN, "%s: no usable time on the device for %s: counted as 0",
                        diff->runs[side].path, format_things(&a, diff->runs[side].untimed_count, "op"));
    }
    bool has_single = false, has_tested = false;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        bool is_change = row->matched && diff_row_changed(row);
        has_single |= is_change && (row->evidence == DIFF_NO_SPREAD || row->evidence == DIFF_ROUNDED);
        has_tested |= row->evidence == DIFF_TESTED;
    }
    if (diff->extra_count[DIFF_A] + diff->extra_count[DIFF_B])
        report_note(
            report, TABLE_DIM,
            "%zu runs against %zu: times are medians over the runs, changes tested from run to run; the ops of "
            "the first runs were matched, and groups are theirs",
            diff_run_count(diff, DIFF_A), diff_run_count(diff, DIFF_B));
    else if (has_tested)
        report_note(report, TABLE_DIM,
                    "slower, faster: the median changed by more than %.3g %%, and a %s says so (p < %.3g)",
                    diff->options.threshold_percent,
                    diff->has_ops && diff->has_zones ? "rank test"
                    : diff->has_ops                  ? "signed-rank test over the pairs"
                                                     : "rank-sum test",
                    diff->options.alpha_percent / 100);
    if (has_single)
        report_note(
            report, TABLE_DIM,
            "no spread: it happened once in each run, so nothing says whether this is noise; more than %.3g %% "
            "counts as a change",
            diff->options.threshold_percent);
}

static void fill_terminal(struct report *report, const struct diff *diff,
                          const struct diff_command_options *options)
{
    struct table totals;
    uint64_t kinds = kinds_of(options);
    for (int side = 0; side < DIFF_SIDES; side++) {
        add_run(report, &diff->runs[side], side == DIFF_A ? "A" : "B");
        for (size_t i = 0; i < diff->extra_count[side]; i++)
            add_run(report, &diff->extras[side][i].run, " ");
    }
    add_about(report, diff);
    report_note(report, TABLE_NORMAL, "%s", "");
    diff_make_totals_table(diff, DIFF_LOOK_TERMINAL, &totals);
    report_table(report, "totals", &totals);
    table_free(&totals);
    for (unsigned kind = 0; kind < 3; kind++) {
        bool is_there = kind == DIFF_OP_ROW     ? diff->has_ops
                        : kind == DIFF_ZONE_ROW ? diff->has_zones
                                                : diff->has_calls;
        if (is_there && (kinds >> kind & 1))
            add_rows(report, diff, options, kind);
        bool has_changes = diff->group_count > 1 && (options->all || diff->groups[0].change_ns != 0);
        if (kind == DIFF_OP_ROW && has_changes && (kinds & 1))
            add_groups(report, diff, options);
    }
    report_note(report, TABLE_NORMAL, "%s", "");
    add_remarks(report, diff);
}

/* --- data --- */

static void fill_data(struct report *report, const struct diff *diff,
                      const struct diff_command_options *options)
{
    struct diff_rows_table rows;
    struct diff_selection selection = {
        .kinds = kinds_of(options), .is_all = options->all, .top = options->top};
    if (report_is_json(report)) {
        report->failed |= !diff_write_json(diff, &selection, &report->json);
        return;
    }
    diff_make_rows_table(diff, &selection, DIFF_LOOK_DATA, &rows);
    report_table(report, "rows", &rows.table);
    table_free(&rows.table);
}

/* --- files --- */

static int write_pairs(const void *context, FILE *out, struct error *err)
{
    return diff_write_pairs(context, out, err);
}

int diff_show(const struct diff *diff, const struct diff_command_options *options, const char *notes,
              struct error *err)
{
    struct output output;
    struct report report;
    int status = 0;
    if (options->pairs)
        status = output_write_file(options->pairs, write_pairs, diff, err);
    if (!status)
        status = output_open(&output, &options->output, err);
    if (status)
        return status;
    report_begin(&report, &output, "diff");
    if (output.format == OUTPUT_TERMINAL)
        fill_terminal(&report, diff, options);
    else
        fill_data(&report, diff, options);
    for (const char *at = notes; report_is_json(&report) && *at; at += strcspn(at, "\n") + 1)
        report_note(&report, TABLE_WARN, "%.*s", (int)strcspn(at, "\n"), at);
    return report_close(&report, 0, NULL, err);
}
