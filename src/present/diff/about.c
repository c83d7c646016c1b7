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

enum left_out { START_UP, WARM_UP, AFTER, LEFT_OUTS };

static void append_left_out(struct bytes *out, const struct diff_run *run, enum left_out what)
{
    const struct window_steps *steps = &run->steps;
    struct number_text time;
    if (run->part != DIFF_PART_STEPS || !steps->count)
        return;
    if (what == START_UP && steps->start_up_ns)
        bytes_append_format(out, "start-up %s", format_duration(&time, steps->start_up_ns));
    if (what == WARM_UP && steps->first > steps->first_known) {
        append_numbers(out, "step", steps->first_known, steps->first - 1);
        bytes_append_text(out, " as warm-up");
    }
    if (what == AFTER && steps->last < steps->last_known)
        append_numbers(out, "step", steps->last + 1, steps->last_known);
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

/* One thing of each run, after a separator where something is to be said. */
static void append_of_both(struct bytes *out, const struct diff *diff, enum left_out what, const char *before)
{
    struct bytes sides[DIFF_SIDES] = {0};
    for (int side = 0; side < DIFF_SIDES; side++)
        append_left_out(&sides[side], &diff->runs[side], what);
    if (sides[DIFF_A].length || sides[DIFF_B].length) {
        bytes_append_text(out, before);
        append_both(out, sides);
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        out->failed |= sides[side].failed;
        bytes_free(&sides[side]);
    }
}

void diff_append_about(const struct diff *diff, struct bytes *out)
{
    struct bytes parts[DIFF_SIDES] = {0};
    bool is_chosen = false;
    for (int side = 0; side < DIFF_SIDES; side++) {
        is_chosen |= diff->runs[side].part != DIFF_PART_WHOLE;
        append_part(&parts[side], &diff->runs[side]);
    }
    if (is_chosen) {
        bytes_append_text(out, "about: ");
        append_both(out, parts);
        size_t before = out->length;
        for (unsigned what = 0; what < LEFT_OUTS; what++)
            append_of_both(out, diff, (enum left_out)what, out->length > before ? ", " : "; left out: ");
        out->failed |= parts[DIFF_A].failed || parts[DIFF_B].failed;
    }
    bytes_free(&parts[DIFF_A]);
    bytes_free(&parts[DIFF_B]);
}
