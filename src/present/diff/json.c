/* SPDX-License-Identifier: Apache-2.0 */
#include "present/diff/json.h"

#include <math.h>
#include <string.h>

#include "present/diff/about.h"
#include "present/format.h"

static void add_run(struct json *json, const struct diff_run *run, const char *key)
{
    json_key(json, key);
    json_object(json, JSON_INLINE);
    json_member_text(json, "path", run->path);
    json_member_text(json, "kind", run->kind);
    json_member_unsigned(json, "device_ops", run->device_op_count);
    json_member_unsigned(json, "host_ops", run->host_op_count);
    json_member_unsigned(json, "zones", run->zones_total);
    json_member_unsigned(json, "dispatched_ops", run->call_count);
    json_end(json);
}

static bool is_noise(const struct diff *diff, const struct diff_total *total)
{
    if (diff->is_per_step)
        return diff->step_test.is_noise;
    return !isnan(total->margin) && fabs(total->change) <= total->margin;
}

/* What the runs took, by the basis of the comparison. */
static const struct diff_total *main_total(const struct diff *diff)
{
    return &diff->totals[diff->is_per_step ? DIFF_STEP : DIFF_TOTAL];
}

static bool add_table(struct json *json, const char *key, struct table *table)
{
    bool is_whole = !table->failed;
    json_key(json, key);
    table_write_json_rows(table, json);
    table_free(table);
    return is_whole;
}

bool diff_write_json(const struct diff *diff, const struct diff_selection *selection, struct json *json)
{
    struct diff_rows_table rows;
    struct table table;
    add_run(json, &diff->runs[DIFF_A], "a");
    add_run(json, &diff->runs[DIFF_B], "b");
    json_member_unsigned(json, "a_runs", diff_run_count(diff, DIFF_A));
    json_member_unsigned(json, "b_runs", diff_run_count(diff, DIFF_B));
    json_member_real(json, "threshold_percent", diff->options.threshold_percent);
    json_member_real(json, "significance_percent", diff->options.alpha_percent);
    struct bytes about = {0};
    diff_append_about(diff, &about);
    json_member_text(json, "about", about.length ? bytes_text(&about) : NULL);
    bytes_free(&about);
    json_member_text(json, "basis", diff->is_per_step ? "step" : "run");
    json_member_unsigned(json, "a_steps", diff->runs[DIFF_A].steps.count);
    json_member_unsigned(json, "b_steps", diff->runs[DIFF_B].steps.count);
    json_member_bool(json, "is_noise", main_total(diff)->is_there && is_noise(diff, main_total(diff)));
    json_member_unsigned(json, "matched_ops", diff->matched);
    json_member_unsigned(json, "reshaped_ops", diff->reshaped);
    json_member_unsigned(json, "new_ops", diff->added);
    json_member_unsigned(json, "gone_ops", diff->removed);
    json_member_unsigned(json, "matches_missed_at_most", diff->align.missed_most);
    json_member_bool(json, "is_location_ignored", diff->is_location_moved || diff->options.ignore_location);
    json_member_bool(json, "is_host_time", diff->is_host_time && diff->has_ops);
    diff_make_totals_table(diff, DIFF_LOOK_DATA, &table);
    bool is_whole = add_table(json, "totals", &table);
    json_member_text(json, "group_by", diff_group_by_text(diff->options.group_by));
    diff_make_groups_table(diff, 0, DIFF_LOOK_DATA, &table);
    is_whole &= add_table(json, "groups", &table);
    size_t left_out = diff_make_rows_table(diff, selection, DIFF_LOOK_DATA, &rows);
    json_member_unsigned(json, "row_count", rows.table.row_count + left_out);
    return add_table(json, "rows", &rows.table) && is_whole;
}

/* --- the waterfall --- */

void diff_write_waterfall(const struct diff *diff, const struct diff_waterfall *waterfall, struct json *json)
{
    json_object(json, JSON_LINES);
    json_member_text(json, "basis", diff_basis_text(waterfall->basis));
    json_member_real(json, "a_ns", waterfall->from_ns);
    json_member_real(json, "b_ns", waterfall->to_ns);
    json_key(json, "steps");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < waterfall->count; i++) {
        const struct diff_step *step = &waterfall->steps[i];
        json_object(json, JSON_INLINE);
        json_member_text(json, "name",
                         step->is_gap                 ? "gaps"
                         : step->name == DIFF_NO_TEXT ? "(none)"
                                                      : diff_text(diff, step->name));
        json_member_bool(json, "gap", step->is_gap);
        json_member_bool(json, "noise", step->is_noise);
        json_member_real(json, "change_ns", step->change_ns);
        json_end(json);
    }
    json_end(json);
    json_member_unsigned(json, "rest_count", waterfall->rest_count);
    json_member_real(json, "rest_ns", waterfall->rest_ns);
    json_end(json);
}

/* --- the sentence --- */

static const char *signed_duration(struct number_text *out, double ns)
{
    struct number_text plain;
    snprintf(out->text, sizeof out->text, "%s%.40s", ns < 0 ? "\u2212" : "+",
             format_duration(&plain, (uint64_t)llround(fabs(ns))));
    return out->text;
}

/* " (+18% ± 1%)" */
static void say_share(const struct diff_total *total, struct sentence *s)
{
    struct number_text share, noise;
    if (isnan(total->change_percent))
        return;
    format_share(&share, fabs(total->change_percent) / 100);
    const char *sign = total->change < 0 ? "\u2212" : "+";
    if (isnan(total->margin) || !(total->values[DIFF_A] > 0))
        sentence_say(s, false, NULL, " (%s%s)", sign, share.text);
    else
        sentence_say(s, false, NULL, " (%s%s \u00b1 %s)", sign, share.text,
                     format_share(&noise, total->margin / total->values[DIFF_A]));
}

/* What the difference is made of: gaps and device where there is a device, else what changed most. */
static void say_parts(const struct diff *diff, struct sentence *s)
{
    struct number_text text;
    const struct diff_total *gap = &diff->totals[DIFF_GAP], *device = &diff->totals[DIFF_DEVICE_TIME];
    struct diff_waterfall waterfall;
    if (gap->is_there && device->is_there) {
        bool is_gap_first = fabs(gap->change) >= fabs(device->change);
        for (int i = 0; i < 2; i++) {
            bool is_gap = (i == 0) == is_gap_first;
            const struct diff_total *part = is_gap ? gap : device;
            if (llround(part->change) == 0)
                continue; /* of two that make up a difference the smaller one, which is said last */
            sentence_say(s, false, NULL, "%s%s ",
                         i                   ? ", "
                         : diff->is_per_step ? "; "
                                             : ": ",
                         is_gap ? "gaps" : "device");
            sentence_say(s, true, is_gap ? "gap" : "work", "%s", signed_duration(&text, part->change));
        }
        return;
    }
    diff_make_waterfall(diff, &waterfall);
    for (size_t i = 0; i < waterfall.count && i < 2; i++) {
        struct bytes name = {0};
        overview_append_short(&name, diff_text(diff, waterfall.steps[i].name));
        sentence_say(s, false, NULL, "%s%.60s ",
                     i                   ? ", "
                     : diff->is_per_step ? "; "
                                         : ": ",
                     bytes_text(&name));
        sentence_say(s, true, NULL, "%s", signed_duration(&text, waterfall.steps[i].change_ns));
        bytes_free(&name);
    }
}

/* What the times are of, where it is not a step. */
static const char *basis_text(const struct diff *diff)
{
    if (diff->has_calls)
        return " to dispatch the ops that both have";
    return diff->totals[DIFF_DEVICE_TIME].is_there ? " for ops and the gaps between them"
                                                   : " from the first record to the last";
}

static void say_same(const struct diff *diff, const struct diff_total *total, struct sentence *s)
{
    struct number_text time, noise;
    sentence_say(s, false, NULL,
                 diff->is_per_step ? "A step takes as long as before, " : "B takes as long as A, ");
    sentence_say(s, true, NULL, "%s", format_duration(&time, (uint64_t)llround(total->values[DIFF_B])));
    sentence_say(s, false, NULL, "%s", diff->is_per_step ? "" : basis_text(diff));
    if (llround(total->change) == 0)
        return;
    sentence_say(s, false, NULL, ": a difference of ");
    sentence_say(s, true, NULL, "%s", signed_duration(&time, total->change));
    sentence_say(s, false, NULL, " is within the noise");
    if (!isnan(total->margin) && fabs(total->change) <= total->margin)
        sentence_say(s, false, NULL, " (\u00b1 %s)",
                     format_duration(&noise, (uint64_t)llround(total->margin)));
}

static void say_change(const struct diff *diff, const struct diff_total *total, struct sentence *s)
{
    const char *meaning = total->change > 0 ? "wait" : "work";
    struct number_text a, b, change;
    format_duration(&a, (uint64_t)llround(total->values[DIFF_A]));
    format_duration(&b, (uint64_t)llround(total->values[DIFF_B]));
    if (diff->is_per_step) {
        sentence_say(s, false, NULL, "A step takes ");
        sentence_say(s, true, meaning, "%s", b.text);
        sentence_say(s, false, NULL, " instead of %s: %s", a.text, signed_duration(&change, total->change));
    } else {
        sentence_say(s, false, NULL, "B takes ");
        sentence_say(s, true, meaning, "%s %s",
                     format_duration(&change, (uint64_t)llround(fabs(total->change))),
                     total->change > 0 ? "longer" : "less");
        sentence_say(s, false, NULL, "%s", basis_text(diff));
    }
    say_share(total, s);
    say_parts(diff, s);
}

void diff_sentence(const struct diff *diff, struct sentence *s)
{
    const struct diff_total *total = main_total(diff);
    *s = (struct sentence){0};
    if (!total->is_there) {
        sentence_say(s, false, NULL, "Neither A nor B says how long it took.");
        return;
    }
    if (llround(total->change) == 0 || is_noise(diff, total))
        say_same(diff, total, s);
    else
        say_change(diff, total, s);
    sentence_say(s, false, NULL, ".");
}
