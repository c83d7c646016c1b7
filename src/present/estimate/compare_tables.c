/* SPDX-License-Identifier: Apache-2.0 */
#include "present/estimate/compare_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct table_column pair_columns[PAIR_COLUMNS] = {
    [PAIR_NAME] = {.shrink = 16}, /* what a pair is */
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
    [PAIR_BARS] = {.key = "bars", .title = "estimate over measured"},
};

static double error_percent(double estimate_ns, double measured_ns)
{
    return measured_ns > 0 ? 100 * (estimate_ns - measured_ns) / measured_ns : NAN;
}

void compare_make_pairs(const struct compare *compare, bool has_bars,
                        struct table_column columns[PAIR_COLUMNS], struct table *table)
{
    memcpy(columns, pair_columns, sizeof pair_columns);
    columns[PAIR_NAME].key = columns[PAIR_NAME].title = compare->what;
    table_init(table, "pairs", columns, has_bars ? PAIR_COLUMNS : PAIR_BARS);
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
        [GROUP_PAIRS] = {.key = "count", .title = "count", .type = TABLE_INTEGER},                           \
        [GROUP_RUNS] = {.key = "runs", .title = "runs", .type = TABLE_INTEGER},                              \
        [GROUP_WORST] = {.key = "worst", .title = "furthest off", .shrink = 12, .drop = 1},                  \
    }

static const struct table_column location_columns[GROUP_COLUMNS] = GROUP_COLUMNS_OF("location");
static const struct table_column type_columns[GROUP_COLUMNS] = GROUP_COLUMNS_OF("type");

int compare_make_groups(const struct compare *compare, enum compare_by by, struct table *table,
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

const char *compare_title(const struct compare *compare)
{
    return strcmp(compare->what, "dispatch") == 0 ? "Dispatches"
           : strcmp(compare->what, "op") == 0     ? "Ops"
                                                  : "Programs";
}
