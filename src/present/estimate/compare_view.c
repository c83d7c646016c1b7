/* SPDX-License-Identifier: Apache-2.0 */
#include "present/estimate/compare_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "present/document.h"
#include "present/estimate/compare_tables.h"
#include "present/format.h"

/* --- terminal, JSON, CSV --- */

static void add_notices(const struct timeline *timeline, struct report *report)
{
    for (size_t i = 0; i < timeline->notice_count; i++)
        report_note(report, TABLE_WARN, "%s", timeline_get_text(timeline, timeline->notices[i].text));
}

static void add_facts(const struct compare_view *view, const struct compare_total *total,
                      struct report *report)
{
    struct number_text estimate, measured, outside, count;
    report_text(report, "model", "model", view->model);
    report_text(report, "run", "run", view->profile);
    if (view->target)
        report_text(report, "target", "target", view->target);
    report_note(report, TABLE_BOLD,
                "estimate %s, measured %s: bias %+.1f %%; median factor %.2f, p90 %.2f of %s",
                format_time_real(&estimate, total->estimate_ns),
                format_time_real(&measured, total->measured_ns), total->bias_percent, total->median,
                total->p90, format_things(&count, total->pairs, view->compare->what));
    if (view->compare->unmeasured)
        report_note(report, TABLE_WARN, "of the estimate not measured: %s",
                    format_things(&count, view->compare->unmeasured, view->compare->what));
    if (view->compare->outside_ns > 0)
        report_note(report, TABLE_NORMAL, "not part of the estimate: %s of the host's copies and programs",
                    format_time_real(&outside, view->compare->outside_ns));
    if (view->compare->is_shortest)
        report_note(report, TABLE_NORMAL, "measured: the shortest run of each");
    add_notices(view->measured, report);
    add_notices(view->estimate, report);
}

static void add_numbers(const struct compare_total *total, struct report *report)
{
    if (!report_is_json(report))
        return;
    json_member_real(&report->json, "estimate_ns", total->estimate_ns);
    json_member_real(&report->json, "measured_ns", total->measured_ns);
    json_member_real(&report->json, "bias_percent", total->bias_percent);
    json_member_real(&report->json, "median_factor", total->median);
    json_member_real(&report->json, "p90_factor", total->p90);
}

static void add_table(const struct compare_view *view, struct report *report, const char *key,
                      const char *title, struct table *table)
{
    if (!report_is_json(report) && view->output.csv == false) {
        if (view->top)
            table_truncate(table, view->top);
        report_heading(report, "%s", title);
    }
    report_table(report, key, table);
}

static int fill(const struct compare_view *view, struct report *report, struct error *err)
{
    struct compare_total total;
    struct table_column columns[PAIR_COLUMNS];
    struct table pairs, locations, types;
    int status = compare_sum(view->compare, &total, err);
    compare_make_pairs(view->compare, false, columns, &pairs);
    int grouped = compare_make_groups(view->compare, COMPARE_BY_LOCATION, &locations, err);
    int typed = compare_make_groups(view->compare, COMPARE_BY_TYPE, &types, err);
    status = status ? status : grouped ? grouped : typed;
    if (!status) {
        add_facts(view, &total, report);
        add_numbers(&total, report);
        if (!view->output.csv) {
            add_table(view, report, "types", "By type of op", &types);
            add_table(view, report, "locations", "By location", &locations);
        }
        add_table(view, report, "rows", compare_title(view->compare), &pairs);
    }
    table_free(&pairs);
    table_free(&locations);
    table_free(&types);
    return status;
}

int compare_show(const struct compare_view *view, struct error *err)
{
    struct output output;
    struct report report;
    int status = output_open(&output, &view->output, err);
    if (status)
        return status;
    report_begin(&report, &output, "estimate_diff");
    status = fill(view, &report, err);
    if (status == 0)
        status = report_finish(&report, err);
    report_free(&report);
    if (status) {
        output_abandon(&output);
        return status;
    }
    return output_finish(&output, err);
}
