/* SPDX-License-Identifier: Apache-2.0 */
#include "present/overhead/verdict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "present/format.h"
#include "present/junit.h"
#include "present/overhead/tables.h"
#include "present/document.h"

/* --- verdicts --- */

static void add_machine(const struct overhead_gate *gate, struct report *report)
{
    char text[300];
    if (gate->is_normalised)
        snprintf(text, sizeof text,
                 "machine-normalised: calibration ops take %.3f times the reference's time, margin %.3f",
                 gate->factor, gate->margin);
    else
        snprintf(text, sizeof text, "absolute times: %s", gate->why_absolute);
    report_text(report, "compared", "compared", text);
    if (gate->margin > OVERHEAD_GATE_MARGIN_WIDE)
        report_note(
            report, TABLE_WARN,
            "the calibration ops do not agree (see below): this machine, or its load, is unlike the "
            "reference's. Make a reference on this machine (--update), or run again when it is quiet.");
}

static void add_json_figures(const struct overhead_gate *gate, bool passes, struct report *report)
{
    struct json *json = &report->json;
    json_member_bool(json, "passes", passes);
    json_member_real(json, "tolerance", gate->tolerance);
    json_member_bool(json, "is_normalised", gate->is_normalised);
    json_member_real(json, "factor", gate->factor);
    json_member_real(json, "margin", gate->margin);
    json_member_unsigned(json, "rounds", gate->rounds);
    json_member_unsigned(json, "quiet_rounds", gate->quiet_rounds);
    for (unsigned v = 0; v < OVERHEAD_VERDICTS; v++)
        json_member_unsigned(json, overhead_verdict_name((enum overhead_verdict)v), gate->counts[v]);
}

static void append_counts(const struct overhead_gate *gate, struct bytes *out)
{
    bool is_any = false;
    for (unsigned v = 1; v < OVERHEAD_VERDICTS; v++) {
        if (!gate->counts[v])
            continue;
        bytes_append_format(out, "%s%zu %s", is_any ? ", " : "", gate->counts[v],
                            overhead_verdict_name((enum overhead_verdict)v));
        is_any = true;
    }
    bytes_append_format(out, "%s%zu of %zu ops as they were", is_any ? ", " : "", gate->counts[OVERHEAD_SAME],
                        gate->row_count);
    bytes_append_u8(out, 0);
}

static void add_summary(const struct overhead_gate *gate, bool passes, struct report *report)
{
    struct bytes text = {0};
    append_counts(gate, &text);
    if (!text.failed)
        report_note(report, passes ? TABLE_GOOD : TABLE_BAD, "gate %s: %s", passes ? "passed" : "failed",
                    (const char *)text.data);
    if (gate->counts[OVERHEAD_UNDECIDED])
        report_note(report, TABLE_WARN,
                    "undecided ops pass (--strict fails them): measure on a quieter machine, or longer "
                    "(--patience)");
    if (gate->counts[OVERHEAD_FASTER])
        report_note(report, TABLE_NORMAL, "some ops are faster now: --update makes that the new reference");
    bytes_free(&text);
}

static void fill_verdict(const struct overhead_gate *gate, const struct overhead_verdict_options *options,
                         struct report *report)
{
    struct table table;
    bool passes = overhead_gate_passes(gate, options->allow_missing, options->strict);
    bool is_terminal = report->output->format == OUTPUT_TERMINAL;
    report_text(report, "reference", "reference", options->reference);
    if (report_is_json(report))
        add_json_figures(gate, passes, report);
    add_machine(gate, report);
    overhead_make_gate_table(gate, options->all || !is_terminal, &table);
    if (table.row_count)
        report_heading(report, "Dispatch times, tolerance %.2f", gate->tolerance);
    if (table.row_count || !is_terminal)
        report_table(report, "rows", &table);
    table_free(&table);
    bool is_wide = gate->margin > OVERHEAD_GATE_MARGIN_WIDE;
    if (report_is_json(report) || (is_terminal && (options->all || is_wide) && gate->calibration_count)) {
        overhead_make_calibration_table(gate, &table);
        report_heading(report, "Calibration");
        report_table(report, "calibration", &table);
        table_free(&table);
    }
    report_heading(report, "Verdict");
    add_summary(gate, passes, report);
}

int overhead_show_verdict(const struct overhead_gate *gate, const struct overhead_verdict_options *options,
                          const struct output_options *wanted, struct error *err)
{
    struct output output;
    struct report report;
    int status = output_open(&output, wanted, err);
    if (status)
        return status;
    report_begin(&report, &output, "overhead-check");
    fill_verdict(gate, options, &report);
    return report_close(&report, 0, stderr, err);
}

/* --- files --- */

static void add_junit_case(const struct overhead_gate_row *row,
                           const struct overhead_verdict_options *options, struct junit *junit)
{
    static const enum junit_result results[OVERHEAD_VERDICTS] = {
        [OVERHEAD_SLOWER] = JUNIT_FAILED,
        [OVERHEAD_UNDECIDED] = JUNIT_SKIPPED,
        [OVERHEAD_FAILED] = JUNIT_ERROR,
        [OVERHEAD_MISSING] = JUNIT_FAILED,
    };
    struct number_text then, now;
    char message[600], detail[300];
    enum junit_result result = results[row->verdict];
    if (row->verdict == OVERHEAD_UNDECIDED && options->strict)
        result = JUNIT_FAILED;
    if (row->verdict == OVERHEAD_MISSING && options->allow_missing)
        result = JUNIT_SKIPPED;
    int length = snprintf(message, sizeof message, "%s", overhead_verdict_name(row->verdict));
    if (!isnan(row->ratio))
        length += snprintf(message + length, sizeof message - (size_t)length, ", %.2f times the reference",
                           row->ratio);
    if (*row->reason)
        snprintf(message + length, sizeof message - (size_t)length, ": %.500s", row->reason);
    snprintf(detail, sizeof detail, "reference %s, now %s, ratio %.3f, rounds %u, of these quiet %u",
             isnan(row->reference_ns) ? "-" : format_time_real(&then, row->reference_ns),
             isnan(row->floor_ns) ? "-" : format_time_real(&now, row->floor_ns), row->ratio, row->rounds,
             row->quiet_rounds);
    junit_add(junit, &(struct junit_case){
                         .class_name = *row->group ? row->group : "overhead",
                         .name = row->name,
                         .seconds = isnan(row->floor_ns) ? 0 : row->floor_ns / 1e9,
                         .result = result,
                         .message = result == JUNIT_PASSED ? NULL : message,
                         .detail = result == JUNIT_PASSED ? NULL : detail,
                         .output = result == JUNIT_PASSED && row->verdict != OVERHEAD_SAME ? message : NULL});
}

struct verdicts {
    const struct overhead_gate *gate;
    const struct overhead_verdict_options *options;
    const struct overhead_run *run;
};

static int write_junit(const void *context, FILE *out, struct error *err)
{
    const struct verdicts *verdicts = context;
    const struct overhead_gate *gate = verdicts->gate;
    const struct overhead_run *run = verdicts->run;
    struct junit junit = {0};
    char text[120];
    junit_add_property(&junit, "reference", verdicts->options->reference);
    junit_add_property(&junit, "provider", run->provider ? run->provider : "");
    junit_add_property(&junit, "machine", run->machine ? run->machine : "");
    snprintf(text, sizeof text, "%.3f", gate->tolerance);
    junit_add_property(&junit, "tolerance", text);
    snprintf(text, sizeof text, "factor %.4f, margin %.4f", gate->factor, gate->margin);
    junit_add_property(&junit, "calibration", gate->is_normalised ? text : gate->why_absolute);
    for (size_t i = 0; i < gate->row_count; i++)
        add_junit_case(&gate->rows[i], verdicts->options, &junit);
    int status = junit_write(&junit, "opscope overhead", out, err);
    junit_free(&junit);
    return status;
}

int overhead_write_junit(const struct overhead_gate *gate, const struct overhead_verdict_options *options,
                         const struct overhead_run *run, const char *path, struct error *err)
{
    return output_write_file(path, write_junit, &(struct verdicts){gate, options, run}, err);
}

/* --- an earlier run --- */

static int fill_times(const struct overhead_run *run, uint64_t top, struct report *report, struct error *err)
{
    struct overhead_times times;
    size_t count, failed = 0, calibrations = 0, impossible = 0;
    size_t *order = overhead_rank(run, &count);
    if (!order)
        return error_no_memory(err, "the table");
    for (size_t i = 0; i < run->op_count; i++) {
        const struct overhead_op *op = &run->ops[i];
        calibrations += op->is_calibration;
        failed += !op->is_calibration && op->state != OVERHEAD_MEASURED;
        impossible += op->min_ns - op->rounding_ns > op->mean_ns + op->rounding_ns;
    }
    report_text(report, "file", "file", run->source);
    report_number(report, "ops", "ops", TABLE_INTEGER, count);
    report_number(report, "calibration_ops", calibrations ? "calibration" : NULL, TABLE_INTEGER,
                  calibrations);
    overhead_make_times_table(run, order, top && top < count ? (size_t)top : count, &times);
    report_heading(report, "Host dispatch time of a call, the slowest op first");
    report_table(report, "rows", &times.table);
    table_free(&times.table);
    free(order);
    if (failed)
        report_note(report, TABLE_WARN, "%zu of these ops could not be measured", failed);
    if (impossible)
        report_note(report, TABLE_WARN,
                    "%zu %s a minimum above the mean: these figures were not measured in one run", impossible,
                    impossible == 1 ? "op has" : "ops have");
    if (count && !calibrations)
        report_note(report, TABLE_NORMAL,
                    "no calibration ops: as a reference it is compared without regard to the machine");
    return 0;
}

int overhead_show_times(const struct overhead_run *run, uint64_t top, const struct output_options *wanted,
                        struct error *err)
{
    struct output output;
    struct report report;
    int status = output_open(&output, wanted, err);
    if (status)
        return status;
    report_begin(&report, &output, "overhead");
    return report_close(&report, fill_times(run, top, &report, err), stderr, err);
}
