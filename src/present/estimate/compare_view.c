/* SPDX-License-Identifier: Apache-2.0 */
#include "present/estimate/compare_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "present/document.h"
#include "present/estimate/estimate.h"
#include "present/format.h"
#include "present/html_page.h"

#define SCALES_MAX 5 /* times that one timeline may be the other to be drawn on one scale */

enum {
    PAIR_NAME,
    PAIR_ESTIMATE,
    PAIR_MEASURED,
    PAIR_MISS,
    PAIR_ERROR,
    PAIR_FACTOR,
    PAIR_RUNS,
    PAIR_LEAST,
    PAIR_MOST,
    PAIR_TYPE,
    PAIR_LOCATION,
    PAIR_COLUMNS
};

static const struct table_column pair_columns[PAIR_COLUMNS] = {
    [PAIR_NAME] = {.key = "program", .title = "program", .shrink = 16},
    [PAIR_ESTIMATE] = {.key = "estimate", .title = "estimate", .type = TABLE_TIME},
    [PAIR_MEASURED] = {.key = "measured", .title = "measured", .type = TABLE_TIME},
    [PAIR_MISS] = {.key = "difference", .title = "difference", .type = TABLE_TIME, .is_change = true},
    [PAIR_ERROR] =
        {.key = "error", .title = "error", .type = TABLE_PERCENT, .decimals = 1, .is_change = true},
    [PAIR_FACTOR] = {.key = "factor", .title = "factor", .type = TABLE_REAL, .decimals = 2},
    [PAIR_RUNS] = {.key = "runs", .title = "runs", .type = TABLE_INTEGER},
    [PAIR_LEAST] = {.key = "least", .title = "least", .type = TABLE_TIME, .shown = TABLE_DATA_ONLY},
    [PAIR_MOST] = {.key = "most", .title = "most", .type = TABLE_TIME, .shown = TABLE_DATA_ONLY},
    [PAIR_TYPE] = {.key = "type", .title = "type", .shrink = 10, .drop = 2},
    [PAIR_LOCATION] = {.key = "location", .title = "location", .shrink = 12, .drop = 1},
};

static double error_percent(double estimate_ns, double measured_ns)
{
    return measured_ns > 0 ? 100 * (estimate_ns - measured_ns) / measured_ns : NAN;
}

/* The first column is called after what the rows are; `columns` must live as long as the table. */
static void make_pairs(const struct compare *compare, struct table_column columns[PAIR_COLUMNS],
                       struct table *table)
{
    memcpy(columns, pair_columns, sizeof pair_columns);
    columns[PAIR_NAME].title = compare->what;
    table_init(table, "pairs", columns, PAIR_COLUMNS);
    for (size_t i = 0; i < compare->pair_count; i++) {
        const struct compare_pair *pair = &compare->pairs[i];
        if (!pair->runs)
            continue;
        table_add_row(table);
        table_set_text(table, PAIR_NAME, compare_get_text(compare, pair->name));
        table_set_real(table, PAIR_ESTIMATE, pair->estimate_ns);
        table_set_real(table, PAIR_MEASURED, pair->measured_ns);
        table_set_real(table, PAIR_MISS, pair->estimate_ns - pair->measured_ns);
        table_set_real(table, PAIR_ERROR, error_percent(pair->estimate_ns, pair->measured_ns));
        table_set_real(table, PAIR_FACTOR, compare_factor(pair->estimate_ns, pair->measured_ns));
        table_set_unsigned(table, PAIR_RUNS, pair->runs);
        table_set_real(table, PAIR_LEAST, pair->least_ns);
        table_set_real(table, PAIR_MOST, pair->most_ns);
        table_set_text(table, PAIR_TYPE, compare_get_text(compare, pair->type));
        table_set_text(table, PAIR_LOCATION, compare_get_text(compare, pair->location));
    }
}

enum {
    GROUP_KEY,
    GROUP_ESTIMATE,
    GROUP_MEASURED,
    GROUP_MISS,
    GROUP_ERROR,
    GROUP_FACTOR,
    GROUP_PAIRS,
    GROUP_RUNS,
    GROUP_WORST,
    GROUP_COLUMNS
};

#define GROUP_COLUMNS_OF(first_key)                                                                          \
    {                                                                                                        \
        [GROUP_KEY] = {.key = (first_key), .title = (first_key), .shrink = 16},                              \
        [GROUP_ESTIMATE] = {.key = "estimate", .title = "estimate", .type = TABLE_TIME},                     \
        [GROUP_MEASURED] = {.key = "measured", .title = "measured", .type = TABLE_TIME},                     \
        [GROUP_MISS] = {.key = "difference", .title = "difference", .type = TABLE_TIME, .is_change = true},  \
        [GROUP_ERROR] = {.key = "bias",                                                                      \
                         .title = "bias",                                                                    \
                         .type = TABLE_PERCENT,                                                              \
                         .decimals = 1,                                                                      \
                         .is_change = true},                                                                 \
        [GROUP_FACTOR] = {.key = "median_factor",                                                            \
                          .title = "median factor",                                                          \
                          .type = TABLE_REAL,                                                                \
                          .decimals = 2},                                                                    \
        [GROUP_PAIRS] = {.key = "programs", .title = "programs", .type = TABLE_INTEGER},                     \
        [GROUP_RUNS] = {.key = "runs", .title = "runs", .type = TABLE_INTEGER},                              \
        [GROUP_WORST] = {.key = "worst", .title = "furthest off", .shrink = 12, .drop = 1},                  \
    }

static const struct table_column location_columns[GROUP_COLUMNS] = GROUP_COLUMNS_OF("location");
static const struct table_column type_columns[GROUP_COLUMNS] = GROUP_COLUMNS_OF("type");

static int make_groups(const struct compare *compare, enum compare_by by, struct table *table,
                       struct error *err)
{
    struct compare_group *groups;
    size_t count;
    table_init(table, by == COMPARE_BY_TYPE ? "types" : "locations",
               by == COMPARE_BY_TYPE ? type_columns : location_columns, GROUP_COLUMNS);
    int status = compare_group(compare, by, &groups, &count, err);
    for (size_t i = 0; i < count; i++) {
        const struct compare_group *group = &groups[i];
        if (!group->pairs)
            continue;
        table_add_row(table);
        table_set_text(table, GROUP_KEY, compare_get_text(compare, group->key));
        table_set_real(table, GROUP_ESTIMATE, group->estimate_ns);
        table_set_real(table, GROUP_MEASURED, group->measured_ns);
        table_set_real(table, GROUP_MISS, group->estimate_ns - group->measured_ns);
        table_set_real(table, GROUP_ERROR, error_percent(group->estimate_ns, group->measured_ns));
        table_set_real(table, GROUP_FACTOR, isinf(group->factor) ? NAN : group->factor);
        table_set_unsigned(table, GROUP_PAIRS, group->pairs);
        table_set_unsigned(table, GROUP_RUNS, group->runs);
        table_set_text(table, GROUP_WORST, compare_get_text(compare, compare->pairs[group->worst].name));
    }
    free(groups);
    return status;
}

/* --- terminal, JSON, CSV --- */

static void add_notices(const struct timeline *timeline, struct report *report)
{
    for (size_t i = 0; i < timeline->notice_count; i++)
        report_note(report, TABLE_WARN, "%s", timeline_get_text(timeline, timeline->notices[i].text));
}

static bool is_what(const struct compare_view *view, const char *what)
{
    return strcmp(view->compare->what, what) == 0;
}

static const char *title_of(const struct compare_view *view)
{
    return is_what(view, "dispatch") ? "Dispatches" : is_what(view, "op") ? "Ops" : "Programs";
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
    make_pairs(view->compare, columns, &pairs);
    int grouped = make_groups(view->compare, COMPARE_BY_LOCATION, &locations, err);
    int typed = make_groups(view->compare, COMPARE_BY_TYPE, &types, err);
    status = status ? status : grouped ? grouped : typed;
    if (!status) {
        add_facts(view, &total, report);
        add_numbers(&total, report);
        if (!view->output.csv) {
            add_table(view, report, "types", "By type of op", &types);
            add_table(view, report, "locations", "By location", &locations);
        }
        add_table(view, report, "rows", title_of(view), &pairs);
    }
    table_free(&pairs);
    table_free(&locations);
    table_free(&types);
    return status;
}

/* --- page --- */

static int fill_page(const struct compare_view *view, struct bytes *page, struct error *err)
{
    struct compare_total total;
    struct table_column columns[PAIR_COLUMNS];
    struct table tables[3];
    struct number_text estimate, measured;
    char bias[32], median[32];
    const char *const titles[] = {"By type of op", "By location", title_of(view)};
    static const char *const ids[] = {"types", "locations", "programs"};
    int status = compare_sum(view->compare, &total, err);
    int typed = make_groups(view->compare, COMPARE_BY_TYPE, &tables[0], err);
    int grouped = make_groups(view->compare, COMPARE_BY_LOCATION, &tables[1], err);
    make_pairs(view->compare, columns, &tables[2]);
    status = status ? status : typed ? typed : grouped;
    double estimate_ns = view->estimate->clock_mhz > 0
                             ? (double)timeline_end(view->estimate) * 1000 / view->estimate->clock_mhz
                             : 0;
    double measured_ns = (double)timeline_end(view->measured), whole_ns = fmax(estimate_ns, measured_ns);
    bool has_one_scale = whole_ns <= SCALES_MAX * fmin(estimate_ns, measured_ns);
    snprintf(bias, sizeof bias, "%+.1f %%", total.bias_percent);
    snprintf(median, sizeof median, "%.2f", total.median);
    bytes_append_text(page, "<div class=\"facts\">\n");
    html_append_fact(page, "estimate", format_time_real(&estimate, total.estimate_ns));
    html_append_fact(page, "measured", format_time_real(&measured, total.measured_ns));
    html_append_fact(page, "bias", bias);
    html_append_fact(page, "median factor", median);
    bytes_append_text(page, "</div>\n<h2>Estimate</h2>\n");
    estimate_append_lanes(
        view->estimate,
        (uint64_t)((has_one_scale ? whole_ns : estimate_ns) * view->estimate->clock_mhz / 1000), page);
    bytes_append_format(page, "<h2>Run</h2>\n<p class=\"dim\">%s; programs as long as they ran%s.",
                        has_one_scale ? "On the same scale"
                                      : "Each on a scale of its own, since one is many times the other",
                        view->measured->lane_count > 1 ? ", and what they used" : "");
    if (view->compare->whole_runs > 1)
        bytes_append_format(page, " It is the shortest of %zu runs.", view->compare->whole_runs);
    bytes_append_text(page, "</p>\n");
    estimate_append_lanes(view->measured, (uint64_t)(has_one_scale ? whole_ns : measured_ns), page);
    for (size_t i = 0; i < 3; i++) {
        bytes_append_format(page, "<h2>%s</h2>\n", titles[i]);
        html_append_find(page, ids[i]);
        html_append_table(&tables[i], ids[i], page);
        page->failed |= tables[i].failed;
        table_free(&tables[i]);
    }
    return status;
}

static int write_page(const struct compare_view *view, struct error *err)
{
    struct output output;
    struct bytes page = {0};
    int status = output_open(&output, &(struct output_options){.output = view->html}, err);
    if (status)
        return status;
    html_page_begin(&page, "Estimate and run");
    status = fill_page(view, &page, err);
    if (status == 0)
        status = html_page_finish(&page, output.stream, err);
    else
        bytes_free(&page);
    if (status) {
        output_abandon(&output);
        return status;
    }
    return output_finish(&output, err);
}

int compare_show(const struct compare_view *view, struct error *err)
{
    struct output output;
    struct report report;
    int status = view->html ? write_page(view, err) : 0;
    if (status == 0)
        status = output_open(&output, &view->output, err);
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
