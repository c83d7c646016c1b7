/* SPDX-License-Identifier: Apache-2.0 */
#include "present/diff/check_view.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "present/diff/about.h"
#include "present/diff/table.h"
#include "present/format.h"
#include "present/junit.h"
#include "present/document.h"

#define CAUSES 5u /* rows of the comparison that are named when something failed */

static bool is_count(const struct check_rule *rule)
{
    return rule->figure == CHECK_CALLS || (rule->subject == CHECK_COUNT);
}

/* "zone load batch" */
static const char *subject_text(const struct check_rule *rule, struct bytes *text)
{
    bytes_clear(text);
    bytes_append_text(text, check_subject_text(rule->subject));
    if (rule->name)
        bytes_append_format(text, " %s", rule->name);
    return bytes_text(text);
}

static const char *value_text(const struct check_rule *rule, double value, struct number_text *out)
{
    if (isnan(value))
        snprintf(out->text, sizeof out->text, "-");
    else if (is_count(rule))
        format_count(out, (uint64_t)value);
    else
        format_time_real(out, value);
    return out->text;
}

static const char *limit_text(const struct check_rule *rule, struct number_text *out)
{
    if (rule->figure == CHECK_REGRESS)
        snprintf(out->text, sizeof out->text, "+%.4g%%", rule->limit);
    else
        value_text(rule, rule->limit, out);
    return out->text;
}

/* --- the table --- */

enum {
    COLUMN_RESULT,
    COLUMN_WHAT,
    COLUMN_SUBJECT,
    COLUMN_NAME,
    COLUMN_RULE,
    COLUMN_BEFORE,
    COLUMN_NOW,
    COLUMN_CHANGE,
    COLUMN_LIMIT,
    COLUMN_UNIT,
    COLUMN_ORIGIN,
    COLUMN_REMARK,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_RESULT] = {.key = "result", .title = "result"},
    [COLUMN_WHAT] = {.key = "what", .title = "what", .shown = TABLE_TERMINAL_ONLY, .shrink = 20},
    [COLUMN_SUBJECT] = {.key = "subject", .shown = TABLE_DATA_ONLY},
    [COLUMN_NAME] = {.key = "name", .shown = TABLE_DATA_ONLY},
    [COLUMN_RULE] = {.key = "rule", .title = "rule"},
    [COLUMN_BEFORE] = {.key = "baseline", .title = "baseline", .type = TABLE_REAL, .drop = 1},
    [COLUMN_NOW] = {.key = "now", .title = "now", .type = TABLE_REAL},
    [COLUMN_CHANGE] = {.key = "change", .title = "change", .type = TABLE_PERCENT, .decimals = 1, .drop = 2},
    [COLUMN_LIMIT] = {.key = "limit", .title = "limit", .type = TABLE_REAL},
    [COLUMN_UNIT] = {.key = "limit_unit", .shown = TABLE_DATA_ONLY},
    [COLUMN_ORIGIN] = {.key = "origin", .title = "from", .drop = 4},
    [COLUMN_REMARK] = {.key = "remark", .title = "why", .shrink = 40, .drop = 3},
};

static enum table_style style_of(enum check_verdict verdict)
{
    return verdict == CHECK_FAILED   ? TABLE_BAD
           : verdict == CHECK_PASSED ? TABLE_GOOD
           : verdict == CHECK_NOISE  ? TABLE_WARN
                                     : TABLE_DIM;
}

static void add_row(struct table *table, const struct check_result *result, bool is_terminal,
                    struct bytes *scratch)
{
    const struct check_rule *rule = result->rule;
    struct number_text text;
    table_add_row(table);
    table_set_text(table, COLUMN_RESULT, check_verdict_text(result->verdict));
    table_set_style(table, COLUMN_RESULT, style_of(result->verdict));
    table_set_text(table, COLUMN_WHAT, subject_text(rule, scratch));
    table_set_text(table, COLUMN_SUBJECT, check_subject_text(rule->subject));
    table_set_text(table, COLUMN_NAME, rule->name);
    table_set_text(table, COLUMN_RULE, check_figure_text(rule->figure));
    table_set_text(table, COLUMN_ORIGIN, rule->origin);
    if (result->remark[0])
        table_set_text(table, COLUMN_REMARK, result->remark);
    else if (is_terminal)
        table_set_text(table, COLUMN_REMARK, "");
    table_set_text(table, COLUMN_UNIT,
                   rule->figure == CHECK_REGRESS ? "percent"
                   : is_count(rule)              ? "count"
                                                 : "ns");
    if (!is_terminal) {
        table_set_real(table, COLUMN_BEFORE, result->before);
        table_set_real(table, COLUMN_NOW, result->now);
        table_set_real(table, COLUMN_CHANGE, result->change_percent);
        table_set_real(table, COLUMN_LIMIT, rule->limit);
        return;
    }
    if (!isnan(result->before))
        table_set_text(table, COLUMN_BEFORE, value_text(rule, result->before, &text));
    if (!isnan(result->now))
        table_set_text(table, COLUMN_NOW, value_text(rule, result->now, &text));
    if (!isnan(result->change_percent))
        table_set_text(table, COLUMN_CHANGE, diff_format_percent(&text, result->change_percent));
    table_set_text(table, COLUMN_LIMIT, limit_text(rule, &text));
}

/* --- what to look at --- */

/* The rows that made it slower, for whoever reads the log of a failed build. */
static void append_causes(const struct diff *diff, struct bytes *out)
{
    size_t listed = 0;
    for (size_t i = 0; i < diff->row_count && listed < CAUSES; i++) {
        const struct diff_row *row = &diff->rows[i];
        struct number_text change, each;
        double total = row->total_ns[DIFF_B] - row->total_ns[DIFF_A];
        if (!(total > 0) || (row->state != DIFF_SLOWER && row->state != DIFF_NEW && row->state != DIFF_MORE))
            continue;
        bytes_append_format(out, "  %s: %s", diff_state_text(row->state), diff_text(diff, row->name));
        if (row->shapes[DIFF_B] != DIFF_NO_TEXT && *diff_text(diff, row->shapes[DIFF_B]))
            bytes_append_format(out, " [%s]", diff_text(diff, row->shapes[DIFF_B]));
        bytes_append_format(out, ", %s", diff_format_time(&change, total));
        if (row->state == DIFF_SLOWER)
            bytes_append_format(out, ", each %s", diff_format_percent(&each, row->typical_percent));
        bytes_append_text(out, "\n");
        listed++;
    }
}

static void add_causes(struct report *report, const struct check_view *view, const char *causes)
{
    if (!*causes || report->output->format != OUTPUT_TERMINAL)
        return;
    report_heading(report, "What grew most (opscope diff %s %s shows all)", view->baseline, view->path);
    for (const char *at = causes; *at; at += strcspn(at, "\n") + 1)
        report_note(report, TABLE_NORMAL, "%.*s", (int)strcspn(at, "\n"), at);
}

/* --- JUnit --- */

static void add_case(struct junit *junit, const struct check_result *result, const char *causes,
                     struct bytes *scratch)
{
    static const enum junit_result results[] = {[CHECK_PASSED] = JUNIT_PASSED,
                                                [CHECK_FAILED] = JUNIT_FAILED,
                                                [CHECK_NOISE] = JUNIT_PASSED,
                                                [CHECK_SKIPPED] = JUNIT_SKIPPED};
    const struct check_rule *rule = result->rule;
    struct number_text before, now, limit, change;
    struct bytes name = {0}, message = {0};
    bytes_append_format(&name, "%s %s ", subject_text(rule, scratch), check_figure_text(rule->figure));
    bytes_append_text(&name, limit_text(rule, &limit));
    if (!isnan(result->before))
        bytes_append_format(&message, "baseline %s, ", value_text(rule, result->before, &before));
    if (!isnan(result->now))
        bytes_append_format(&message, "now %s", value_text(rule, result->now, &now));
    if (!isnan(result->change_percent))
        bytes_append_format(&message, " (%s)", diff_format_percent(&change, result->change_percent));
    bytes_append_format(&message, "%slimit %s%s%s", message.length ? ", " : "", limit.text,
                        result->remark[0] ? "; " : "", result->remark);
    bool is_usable = !name.failed && !message.failed;
    bool is_failed = result->verdict == CHECK_FAILED, is_regress = rule->figure == CHECK_REGRESS;
    junit_add(
        junit,
        &(struct junit_case){
            .class_name = "opscope.check",
            .name = is_usable ? bytes_text(&name) : "",
            .result = results[result->verdict],
            .message = is_usable && results[result->verdict] != JUNIT_PASSED ? bytes_text(&message) : NULL,
            .detail = is_failed && is_regress && *causes ? causes : NULL,
            .output = is_usable && results[result->verdict] == JUNIT_PASSED ? bytes_text(&message) : NULL});
    bytes_free(&name);
    bytes_free(&message);
}

static int write_junit(const struct check_view *view, const char *causes, struct error *err)
{
    struct junit junit = {0};
    struct bytes scratch = {0};
    struct output output;
    struct output_options wanted = {.output = view->junit, .wide = true};
    int status = output_open(&output, &wanted, err);
    if (status)
        return status;
    if (view->baseline)
        junit_add_property(&junit, "baseline", view->baseline);
    junit_add_property(&junit, "run", view->path);
    if (view->config)
        junit_add_property(&junit, "configuration", view->config);
    for (size_t i = 0; i < view->count; i++)
        add_case(&junit, &view->results[i], causes, &scratch);
    status = junit_write(&junit, "opscope check", output.stream, err);
    junit_free(&junit);
    bytes_free(&scratch);
    return output_close(&output, status, err);
}

/* --- --- */

static void fill_report(const struct check_view *view, struct report *report, const char *causes)
{
    struct table table;
    struct bytes scratch = {0};
    struct number_text rules;
    bool is_terminal = report->output->format == OUTPUT_TERMINAL;
    report_text(report, "baseline", NULL, view->baseline);
    report_text(report, "run", NULL, view->path);
    report_text(report, "configuration", NULL, view->config);
    report_bool(report, "is_passed", NULL, view->failed_count == 0);
    table_init(&table, "check", columns, COLUMNS);
    for (size_t i = 0; i < view->count; i++)
        add_row(&table, &view->results[i], is_terminal, &scratch);
    report_table(report, "rows", &table);
    table_free(&table);
    bytes_free(&scratch);
    add_causes(report, view, causes);
    struct bytes about = {0};
    if (view->baseline)
        diff_append_about(view->diff, &about);
    report_text(report, "about", NULL, about.length ? bytes_text(&about) : NULL);
    if (is_terminal)
        report_note(report, TABLE_NORMAL, "%s", "");
    if (is_terminal && about.length)
        report_note(report, TABLE_NORMAL, "%s (--include-warm-up takes all)", bytes_text(&about));
    bytes_free(&about);
    if (!is_terminal)
        return;
    format_things(&rules, view->count, "rule");
    if (view->failed_count)
        report_note(report, TABLE_BAD, "%zu of %s broken", view->failed_count, rules.text);
    else
        report_note(report, TABLE_GOOD, "%s kept", rules.text);
}

int check_show(struct check_view *view, struct error *err)
{
    struct output output;
    struct report report;
    struct bytes causes = {0};
    bool is_regress = false;
    int status = 0;
    view->failed_count = 0;
    for (size_t i = 0; i < view->count; i++) {
        view->failed_count += view->results[i].verdict == CHECK_FAILED;
        is_regress |= view->results[i].verdict == CHECK_FAILED && view->results[i].change_percent > 0;
    }
    if (is_regress)
        append_causes(view->diff, &causes);
    const char *causes_text = bytes_text(&causes);
    if (view->junit)
        status = write_junit(view, causes_text, err);
    if (!status)
        status = output_open(&output, view->output, err);
    if (!status) {
        report_begin(&report, &output, "check");
        fill_report(view, &report, causes_text);
        status = report_close(&report, 0, NULL, err);
    }
    bytes_free(&causes);
    return status;
}
