/* SPDX-License-Identifier: Apache-2.0 */
#include "present/diff/about.h"

#include <inttypes.h>
#include <string.h>

#include "present/format.h"

static void append_numbers(struct bytes *out, const char *what, uint64_t first, uint64_t last)
{
    bytes_append_format(out, "%s%s %" PRIu64, what, first != last ? "s" : "", first);
    if (first != last)
        bytes_append_format(out, " to %" PRIu64, last);
}

static void append_part(struct bytes *out, const struct diff_run *run)
{
    struct number_text length;
    switch (run->part) {
    case DIFF_PART_STEPS:
        append_numbers(out, "step", run->steps.first, run->steps.last);
        break;
    case DIFF_PART_ASKED:
        bytes_append_format(out, "%s that was chosen",
                            format_duration(&length, run->window.until_ns - run->window.since_ns));
        break;
    case DIFF_PART_SIGNPOST:
        bytes_append_text(out, run->part_name ? run->part_name : "what follows a signpost");
        break;
    default:
        bytes_append_text(out, "all");
    }
}

static void append_left_out(struct bytes *out, const struct diff_run *run)
{
    const struct window_steps *steps = &run->steps;
    struct number_text time;
    size_t before = out->length;
    if (run->part != DIFF_PART_STEPS || !steps->count)
        return;
    if (steps->start_up_ns)
        bytes_append_format(out, "start-up %s", format_duration(&time, steps->start_up_ns));
    if (steps->first > steps->first_known) {
        bytes_append_text(out, out->length > before ? ", " : "");
        append_numbers(out, "step", steps->first_known, steps->first - 1);
        bytes_append_text(out, " as warm-up");
    }
    if (steps->last < steps->last_known) {
        bytes_append_text(out, out->length > before ? ", " : "");
        append_numbers(out, "step", steps->last + 1, steps->last_known);
        bytes_append_text(out, ", which the other run does not have");
    }
}

/* Once, where it is the same of both. */
static void append_both(struct bytes *out, const struct bytes sides[DIFF_SIDES])
{
    const char *a = bytes_text(&sides[DIFF_A]), *b = bytes_text(&sides[DIFF_B]);
    if (strcmp(a, b) == 0)
        bytes_append_text(out, a);
    else if (!*a || !*b)
        bytes_append_format(out, "%s of %s", *a ? a : b, *a ? "A" : "B");
    else
        bytes_append_format(out, "%s of A, %s of B", a, b);
}

void diff_append_about(const struct diff *diff, struct bytes *out)
{
    struct bytes parts[DIFF_SIDES] = {0}, left_out[DIFF_SIDES] = {0};
    bool is_chosen = false;
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_run *run = &diff->runs[side];
        is_chosen |= run->part != DIFF_PART_WHOLE;
        append_part(&parts[side], run);
        append_left_out(&left_out[side], run);
    }
    if (is_chosen) {
        bytes_append_text(out, "about: ");
        append_both(out, parts);
        if (left_out[DIFF_A].length || left_out[DIFF_B].length)
            bytes_append_text(out, "; left out: ");
        append_both(out, left_out);
        out->failed |= parts[0].failed || parts[1].failed || left_out[0].failed || left_out[1].failed;
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        bytes_free(&parts[side]);
        bytes_free(&left_out[side]);
    }
}
