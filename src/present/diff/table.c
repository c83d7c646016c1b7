/* SPDX-License-Identifier: Apache-2.0 */
#include "present/diff/table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/count_of.h"
#include "present/format.h"

const char *diff_format_time(struct number_text *out, double ns)
{
    struct number_text plain;
    if (isnan(ns)) {
        out->text[0] = '\0';
        return out->text;
    }
    snprintf(out->text, sizeof out->text, "%s%.40s", ns > 0 ? "+" : "", format_time_real(&plain, ns));
    return out->text;
}

const char *diff_format_percent(struct number_text *out, double percent)
{
    if (isnan(percent))
        out->text[0] = '\0';
    else if (fabs(percent) >= 1e6)
        snprintf(out->text, sizeof out->text, "%s", percent > 0 ? "much more" : "-100%");
    else if (fabs(percent) < 0.05)
        snprintf(out->text, sizeof out->text, "0.0%%");
    else if (fabs(percent) >= 1000)
        snprintf(out->text, sizeof out->text, "%+.0f%%", percent);
    else
        snprintf(out->text, sizeof out->text, "%+.1f%%", percent);
    return out->text;
}

bool diff_row_changed(const struct diff_row *row)
{
    return row->state != DIFF_SAME && row->state != DIFF_NOISE && row->state != DIFF_OUTLIERS;
}

uint64_t diff_count_state(const struct diff *diff, unsigned kind, unsigned state)
{
    uint64_t count = 0;
    for (size_t i = 0; i < diff->row_count; i++)
        count += diff->rows[i].kind == kind && diff->rows[i].state == state;
    return count;
}

/* --- rows --- */

enum {
    COLUMN_KIND,
    COLUMN_STATE,
    COLUMN_NAME,
    COLUMN_TENSORS,
    COLUMN_TENSORS_A,
    COLUMN_TENSORS_B,
    COLUMN_LOCATION,
    COLUMN_GROUP,
    COLUMN_CALLS,
    COLUMN_COUNT_A,
    COLUMN_COUNT_B,
    COLUMN_MATCHED,
    COLUMN_TOTAL_A,
    COLUMN_TOTAL_B,
    COLUMN_CHANGE,
    COLUMN_PERCENT,
    COLUMN_SELF_A,
    COLUMN_SELF_B,
    COLUMN_SELF_CHANGE,
    COLUMN_EACH_A,
    COLUMN_EACH_B,
    COLUMN_EACH,
    COLUMN_P,
    COLUMN_EVIDENCE,
    COLUMN_SURE,
    COLUMNS
};

static const struct table_column row_columns[COLUMNS] = {
    [COLUMN_KIND] = {.key = "kind"},
    [COLUMN_STATE] = {.key = "state", .title = "what"},
    [COLUMN_NAME] = {.key = "name", .title = "op", .shrink = 18},
    [COLUMN_TENSORS] = {.key = "tensors", .title = "tensors", .shrink = 16, .drop = 6},
    [COLUMN_TENSORS_A] = {.key = "a_tensors"},
    [COLUMN_TENSORS_B] = {.key = "b_tensors"},
    [COLUMN_LOCATION] = {.key = "location", .title = "location", .shrink = 14, .drop = 7},
    [COLUMN_GROUP] = {.key = "group"},
    [COLUMN_CALLS] = {.key = "calls", .title = "calls", .type = TABLE_INTEGER, .drop = 3},
    [COLUMN_COUNT_A] = {.key = "a_count", .type = TABLE_INTEGER},
    [COLUMN_COUNT_B] = {.key = "b_count", .type = TABLE_INTEGER},
    [COLUMN_MATCHED] = {.key = "matched", .type = TABLE_INTEGER},
    [COLUMN_TOTAL_A] = {.key = "a_total", .title = "A", .type = TABLE_TIME, .drop = 2},
    [COLUMN_TOTAL_B] = {.key = "b_total", .title = "B", .type = TABLE_TIME, .drop = 1},
    [COLUMN_CHANGE] = {.key = "change", .title = "change", .type = TABLE_TIME, .is_change = true},
    [COLUMN_PERCENT] =
        {.key = "change", .title = "%", .type = TABLE_PERCENT, .decimals = 1, .is_change = true},
    [COLUMN_SELF_A] = {.key = "a_self", .type = TABLE_TIME},
    [COLUMN_SELF_B] = {.key = "b_self", .type = TABLE_TIME},
    [COLUMN_SELF_CHANGE] = {.key = "self_change",
                            .title = "own change",
                            .type = TABLE_TIME,
                            .is_change = true},
    [COLUMN_EACH_A] = {.key = "a_median", .type = TABLE_TIME},
    [COLUMN_EACH_B] = {.key = "b_median", .type = TABLE_TIME},
    [COLUMN_EACH] = {.key = "each_change",
                     .title = "per call",
                     .type = TABLE_PERCENT,
                     .decimals = 1,
                     .drop = 5,
                     .is_change = true},
    [COLUMN_P] = {.key = "p", .type = TABLE_REAL, .decimals = 4},
    [COLUMN_EVIDENCE] = {.key = "evidence"},
    [COLUMN_SURE] = {.key = "sure", .title = "noise?", .drop = 4},
};

static bool has_column(unsigned column, enum diff_look look, uint64_t kinds, bool has_location,
                       bool has_tensors)
{
    bool is_zone = kinds == 1u << DIFF_ZONE_ROW, is_call = kinds == 1u << DIFF_CALL_ROW;
    switch (column) {
    case COLUMN_KIND:
    case COLUMN_GROUP:
    case COLUMN_TENSORS_A:
    case COLUMN_TENSORS_B:
    case COLUMN_COUNT_A:
    case COLUMN_COUNT_B:
    case COLUMN_MATCHED:
    case COLUMN_SELF_A:
    case COLUMN_SELF_B:
    case COLUMN_EACH_A:
    case COLUMN_EACH_B:
    case COLUMN_P:
    case COLUMN_EVIDENCE:
        return look == DIFF_LOOK_DATA;
    case COLUMN_TENSORS:
        return look != DIFF_LOOK_DATA && has_tensors && !is_zone && !is_call;
    case COLUMN_LOCATION:
        return look == DIFF_LOOK_DATA || (has_location && !is_call);
    case COLUMN_CALLS:
    case COLUMN_SURE:
        return look != DIFF_LOOK_DATA;
    case COLUMN_SELF_CHANGE:
        return look == DIFF_LOOK_DATA || is_zone;
    case COLUMN_EACH:
        return look == DIFF_LOOK_DATA || !is_call;
    default:
        return true;
    }
}

static const char *kind_text(unsigned kind)
{
    static const char *const names[] = {"op", "zone", "dispatch"};
    return kind < COUNT_OF(names) ? names[kind] : "";
}

static enum table_style style_of(unsigned state)
{
    static const enum table_style styles[DIFF_STATES] = {
        [DIFF_SAME] = TABLE_DIM,    [DIFF_NOISE] = TABLE_DIM,   [DIFF_SLOWER] = TABLE_BAD,
        [DIFF_FASTER] = TABLE_GOOD, [DIFF_NEW] = TABLE_WARN,    [DIFF_GONE] = TABLE_WARN,
        [DIFF_MORE] = TABLE_WARN,   [DIFF_FEWER] = TABLE_WARN,  [DIFF_RESHAPED] = TABLE_WARN,
        [DIFF_MIXED] = TABLE_WARN,  [DIFF_OUTLIERS] = TABLE_DIM};
    return state < DIFF_STATES ? styles[state] : TABLE_NORMAL;
}

struct row_writer {
    const struct diff *diff;
    struct table *table;
    enum diff_look look;
    size_t at[COLUMNS]; /* of the table; SIZE_MAX: not there */
};

static void set_text(struct row_writer *w, unsigned column, const char *text)
{
    if (w->at[column] != SIZE_MAX)
        table_set_text(w->table, w->at[column], text);
}

static void set_text_id(struct row_writer *w, unsigned column, uint32_t id)
{
    if (id != DIFF_NO_TEXT)
        set_text(w, column, diff_text(w->diff, id));
}

static void set_count(struct row_writer *w, unsigned column, uint64_t value)
{
    if (w->at[column] != SIZE_MAX)
        table_set_unsigned(w->table, w->at[column], value);
}

static void set_real(struct row_writer *w, unsigned column, double value)
{
    if (w->at[column] != SIZE_MAX && isfinite(value))
        table_set_real(w->table, w->at[column], value);
}

static void set_signed_time(struct row_writer *w, unsigned column, double ns)
{
    struct number_text text;
    if (w->look == DIFF_LOOK_TERMINAL && !isnan(ns))
        set_text(w, column, diff_format_time(&text, ns));
    else
        set_real(w, column, ns);
}

static void set_signed_percent(struct row_writer *w, unsigned column, double percent)
{
    struct number_text text;
    if (w->look == DIFF_LOOK_TERMINAL && !isnan(percent))
        set_text(w, column, diff_format_percent(&text, percent));
    else
        set_real(w, column, percent);
}

static void set_tensors(struct row_writer *w, const struct diff_row *row)
{
    const char *a = diff_text(w->diff, row->shapes[DIFF_A]), *b = diff_text(w->diff, row->shapes[DIFF_B]);
    set_text_id(w, COLUMN_TENSORS_A, row->shapes[DIFF_A]);
    set_text_id(w, COLUMN_TENSORS_B, row->shapes[DIFF_B]);
    if (w->at[COLUMN_TENSORS] == SIZE_MAX || (!*a && !*b))
        return;
    if (row->matched && strcmp(a, b) != 0)
        table_set_format(w->table, w->at[COLUMN_TENSORS], "%s, before: %s", *b ? b : "(none)",
                         *a ? a : "(none)");
    else
        set_text(w, COLUMN_TENSORS, *b ? b : a);
}

static void set_calls(struct row_writer *w, const struct diff_row *row)
{
    struct number_text a, b;
    if (w->at[COLUMN_CALLS] == SIZE_MAX)
        return;
    if (!row->counts[DIFF_B])
        set_count(w, COLUMN_CALLS, row->counts[DIFF_A]);
    else if (!row->counts[DIFF_A] || row->counts[DIFF_A] == row->counts[DIFF_B] ||
             w->look != DIFF_LOOK_TERMINAL)
        set_count(w, COLUMN_CALLS, row->counts[DIFF_B]);
    else
        table_set_format(w->table, w->at[COLUMN_CALLS], "%s > %s", format_count(&a, row->counts[DIFF_A]),
                         format_count(&b, row->counts[DIFF_B]));
}

/* How certain it is that this is not noise, in a few letters. */
static void set_sure(struct row_writer *w, const struct diff_row *row)
{
    size_t at = w->at[COLUMN_SURE];
    if (at == SIZE_MAX || row->state == DIFF_NEW || row->state == DIFF_GONE || !row->matched)
        return;
    switch (row->evidence) {
    case DIFF_TESTED:
        if (row->p < 0.001)
            table_set_text(w->table, at, "p<0.001");
        else
            table_set_format(w->table, at, "p=%.3f", row->p);
        break;
    case DIFF_TOO_FEW:
        table_set_format(
            w->table, at, "only %" PRIu64,
            row->kind == DIFF_OP_ROW
                ? row->matched
                : (row->counts[DIFF_A] < row->counts[DIFF_B] ? row->counts[DIFF_A] : row->counts[DIFF_B]));
        break;
    case DIFF_RUNS:
        if (isnan(row->p))
            table_set_text(w->table, at,
                           diff_row_changed(row) ? "beyond runs' spread" : "within runs' spread");
        else
            table_set_format(w->table, at, row->p < 0.001 ? "p<0.001" : "p=%.3f", row->p);
        break;
    case DIFF_INTERVALS:
        table_set_text(w->table, at, diff_row_changed(row) ? "intervals apart" : "intervals overlap");
        break;
    case DIFF_ROUNDED:
        table_set_text(w->table, at, diff_row_changed(row) ? "above rounding" : "rounding");
        break;
    default:
        table_set_text(w->table, at, "no spread");
    }
}

static void add_row(struct row_writer *w, const struct diff_row *row)
{
    table_add_row(w->table);
    set_text(w, COLUMN_KIND, kind_text(row->kind));
    set_text(w, COLUMN_STATE, diff_state_text(row->state));
    if (w->at[COLUMN_STATE] != SIZE_MAX)
        table_set_style(w->table, w->at[COLUMN_STATE], style_of(row->state));
    set_text_id(w, COLUMN_NAME, row->name);
    set_tensors(w, row);
    set_text_id(w, COLUMN_LOCATION, row->location);
    set_text_id(w, COLUMN_GROUP, row->group);
    set_calls(w, row);
    set_count(w, COLUMN_COUNT_A, row->counts[DIFF_A]);
    set_count(w, COLUMN_COUNT_B, row->counts[DIFF_B]);
    set_count(w, COLUMN_MATCHED, row->matched);
    if (row->counts[DIFF_A])
        set_real(w, COLUMN_TOTAL_A, row->total_ns[DIFF_A]);
    if (row->counts[DIFF_B])
        set_real(w, COLUMN_TOTAL_B, row->total_ns[DIFF_B]);
    set_signed_time(w, COLUMN_CHANGE, row->total_ns[DIFF_B] - row->total_ns[DIFF_A]);
    set_signed_percent(w, COLUMN_PERCENT, row->counts[DIFF_B] ? row->change_percent : NAN);
    set_real(w, COLUMN_SELF_A, row->self_ns[DIFF_A]);
    set_real(w, COLUMN_SELF_B, row->self_ns[DIFF_B]);
    set_signed_time(w, COLUMN_SELF_CHANGE, row->self_ns[DIFF_B] - row->self_ns[DIFF_A]);
    set_real(w, COLUMN_EACH_A, row->typical_ns[DIFF_A]);
    set_real(w, COLUMN_EACH_B, row->typical_ns[DIFF_B]);
    set_signed_percent(w, COLUMN_EACH, row->typical_percent);
    set_real(w, COLUMN_P, row->p);
    set_text(w, COLUMN_EVIDENCE, row->matched ? diff_evidence_text(row->evidence) : NULL);
    set_sure(w, row);
}

size_t diff_make_rows_table(const struct diff *diff, const struct diff_selection *selection,
                            enum diff_look look, struct diff_rows_table *rows)
{
    _Static_assert(COLUMNS == DIFF_ROW_COLUMNS, "room for all columns");
    struct table *table = &rows->table;
    struct row_writer w = {.diff = diff, .table = table, .look = look};
    size_t count = 0, left_out = 0;
    bool has_location = false, has_tensors = false;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        bool is_wanted = selection->kinds >> row->kind & 1;
        has_location |= is_wanted && row->location != DIFF_NO_TEXT;
        has_tensors |=
            is_wanted && (*diff_text(diff, row->shapes[DIFF_A]) || *diff_text(diff, row->shapes[DIFF_B]));
    }
    for (unsigned c = 0; c < COLUMNS; c++) {
        w.at[c] = has_column(c, look, selection->kinds, has_location, has_tensors) ? count : SIZE_MAX;
        if (w.at[c] == SIZE_MAX)
            continue;
        rows->columns[count] = row_columns[c];
        if (c == COLUMN_NAME && selection->kinds == 1u << DIFF_ZONE_ROW)
            rows->columns[count].title = "zone";
        count++;
    }
    table_init(table, "diff", rows->columns, count);
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        if (!(selection->kinds >> row->kind & 1) || (!selection->is_all && !diff_row_changed(row)))
            continue;
        if (selection->top && table->row_count >= selection->top)
            left_out++;
        else
            add_row(&w, row);
    }
    return left_out;
}

/* --- groups --- */

enum {
    GROUP_NAME,
    GROUP_COUNT_A,
    GROUP_COUNT_B,
    GROUP_TIME_A,
    GROUP_TIME_B,
    GROUP_CHANGE,
    GROUP_PERCENT,
    GROUP_GAP_A,
    GROUP_GAP_B,
    GROUP_COLUMNS
};

static const struct table_column group_columns[GROUP_COLUMNS] = {
    [GROUP_NAME] = {.key = "group", .title = "group", .shrink = 20},
    [GROUP_COUNT_A] = {.key = "a_count", .title = "ops A", .type = TABLE_INTEGER, .drop = 1},
    [GROUP_COUNT_B] = {.key = "b_count", .title = "ops B", .type = TABLE_INTEGER, .drop = 1},
    [GROUP_TIME_A] = {.key = "a_time", .title = "A", .type = TABLE_TIME},
    [GROUP_TIME_B] = {.key = "b_time", .title = "B", .type = TABLE_TIME},
    [GROUP_CHANGE] = {.key = "change", .title = "change", .type = TABLE_TIME, .is_change = true},
    [GROUP_PERCENT] =
        {.key = "change", .title = "%", .type = TABLE_PERCENT, .decimals = 1, .is_change = true},
    [GROUP_GAP_A] = {.key = "a_gap", .title = "gaps A", .type = TABLE_TIME, .drop = 2},
    [GROUP_GAP_B] = {.key = "b_gap", .title = "gaps B", .type = TABLE_TIME, .drop = 2},
};

size_t diff_make_groups_table(const struct diff *diff, uint64_t top, enum diff_look look, struct table *table)
{
    struct number_text text;
    table_init(table, "groups", group_columns, GROUP_COLUMNS);
    for (size_t i = 0; i < diff->group_count; i++) {
        const struct diff_group *group = &diff->groups[i];
        if (top && table->row_count >= top)
            return diff->group_count - i;
        table_add_row(table);
        table_set_text(table, GROUP_NAME,
                       group->name == DIFF_NO_TEXT ? "(none)" : diff_text(diff, group->name));
        table_set_unsigned(table, GROUP_COUNT_A, group->counts[DIFF_A]);
        table_set_unsigned(table, GROUP_COUNT_B, group->counts[DIFF_B]);
        table_set_real(table, GROUP_TIME_A, group->time_ns[DIFF_A]);
        table_set_real(table, GROUP_TIME_B, group->time_ns[DIFF_B]);
        table_set_real(table, GROUP_GAP_A, group->gap_ns[DIFF_A]);
        table_set_real(table, GROUP_GAP_B, group->gap_ns[DIFF_B]);
        if (look == DIFF_LOOK_TERMINAL) {
            table_set_text(table, GROUP_CHANGE, diff_format_time(&text, group->change_ns));
            if (!isnan(group->change_percent))
                table_set_text(table, GROUP_PERCENT, diff_format_percent(&text, group->change_percent));
        } else {
            table_set_real(table, GROUP_CHANGE, group->change_ns);
            table_set_real(table, GROUP_PERCENT, group->change_percent);
        }
    }
    return 0;
}

/* --- totals --- */

enum { TOTAL_WHAT, TOTAL_A, TOTAL_B, TOTAL_CHANGE, TOTAL_PERCENT, TOTAL_NOISE, TOTAL_COLUMNS };

/* Times and counts in one column: texts for people, numbers (ns or a count) for programs. */
static const struct table_column total_columns[TOTAL_COLUMNS] = {
    [TOTAL_WHAT] = {.key = "total", .title = ""},
    [TOTAL_A] = {.key = "a", .title = "A", .type = TABLE_INTEGER},
    [TOTAL_B] = {.key = "b", .title = "B", .type = TABLE_INTEGER},
    [TOTAL_CHANGE] = {.key = "change", .title = "change", .type = TABLE_INTEGER, .is_change = true},
    [TOTAL_PERCENT] =
        {.key = "change", .title = "%", .type = TABLE_PERCENT, .decimals = 1, .is_change = true},
    [TOTAL_NOISE] = {.key = "noise", .title = "noise", .type = TABLE_INTEGER, .drop = 1},
};

static void add_total_text(const struct diff_total *total, struct table *table)
{
    struct number_text text;
    for (int side = 0; side < DIFF_SIDES; side++)
        table_set_text(table, side ? TOTAL_B : TOTAL_A,
                       total->is_time ? format_time_real(&text, total->values[side])
                                      : format_count(&text, (uint64_t)total->values[side]));
    if (total->is_time)
        table_set_text(table, TOTAL_CHANGE, diff_format_time(&text, total->change));
    else
        table_set_format(table, TOTAL_CHANGE, total->change != 0 ? "%+.0f" : "%.0f", total->change);
    if (!isnan(total->change_percent))
        table_set_text(table, TOTAL_PERCENT, diff_format_percent(&text, total->change_percent));
    if (!isnan(total->margin) && total->is_time)
        table_set_format(table, TOTAL_NOISE, "+-%s", format_time_real(&text, total->margin));
}

void diff_make_totals_table(const struct diff *diff, enum diff_look look, struct table *table)
{
    table_init(table, "totals", total_columns, TOTAL_COLUMNS);
    for (unsigned i = 0; i < DIFF_TOTALS; i++) {
        const struct diff_total *total = &diff->totals[i];
        bool is_double = i == DIFF_TOTAL && !diff->totals[DIFF_DEVICE_TIME].is_there;
        bool is_of_all = i == DIFF_WALL && diff->is_per_step; /* another basis than the rest */
        if (!total->is_there || is_of_all || (is_double && look != DIFF_LOOK_DATA))
            continue;
        table_add_row(table);
        table_set_text(table, TOTAL_WHAT, diff_total_text(i));
        if (look != DIFF_LOOK_DATA) {
            add_total_text(total, table);
            continue;
        }
        table_set_real(table, TOTAL_A, total->values[DIFF_A]);
        table_set_real(table, TOTAL_B, total->values[DIFF_B]);
        table_set_real(table, TOTAL_CHANGE, total->change);
        table_set_real(table, TOTAL_PERCENT, total->change_percent);
        table_set_real(table, TOTAL_NOISE, total->margin);
    }
}
