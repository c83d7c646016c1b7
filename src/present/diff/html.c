/* SPDX-License-Identifier: Apache-2.0 */
/* The bars share one scale, so that their lengths can be compared, and one colour a group; below the run's ops its gaps
 * are drawn. Traces without ops have bars of their zones' own time, which adds up without counting anything twice. */
#include "present/diff/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "present/format.h"
#include "present/html_page.h"
#include "text/utf8.h"

#define WIDTH 960.0
#define BAR_LEFT 30.0
#define BAR_WIDTH (WIDTH - BAR_LEFT - 10)
#define BAR_HEIGHT 40.0
#define COLOURS 12u
#define LIST_ROWS 14u
#define PAGE_ROWS 3000u

struct stack_part { /* what is stacked */
    const char *name;
    double values[DIFF_SIDES];
};

static const char *const colours[COLOURS] = {"#5e48a8", "#2670be", "#228654", "#cc6616",
                                             "#be3434", "#0f8b8d", "#a8518f", "#7a8b1f",
                                             "#8a5a3c", "#4b6584", "#c0872e", "#5c7cfa"};
static const char rest_colour[] = "#8b8d98", gap_colour[] = "#c9ccd6";

static int compare_slices(const void *left, const void *right)
{
    const struct stack_part *a = left, *b = right;
    double x = fmax(a->values[0], a->values[1]), y = fmax(b->values[0], b->values[1]);
    return (x < y) - (x > y);
}

/* Groups of ops, or zones; the largest first, what is behind COLOURS put together. Returns how many. */
static size_t make_slices(const struct diff *diff, struct stack_part **out)
{
    size_t most = diff->group_count ? diff->group_count : diff->row_count, count = 0;
    struct stack_part *slices = calloc(most + 1, sizeof *slices);
    for (size_t i = 0; slices && i < diff->group_count; i++) {
        const struct diff_group *group = &diff->groups[i];
        slices[count++] =
            (struct stack_part){group->name == DIFF_NO_TEXT ? "(none)" : diff_text(diff, group->name),
                                {group->time_ns[DIFF_A], group->time_ns[DIFF_B]}};
    }
    for (size_t i = 0; slices && !diff->group_count && i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        bool is_zone = row->kind == DIFF_ZONE_ROW;
        slices[count++] = (struct stack_part){diff_text(diff, row->name),
                                              {is_zone ? row->self_ns[DIFF_A] : row->total_ns[DIFF_A],
                                               is_zone ? row->self_ns[DIFF_B] : row->total_ns[DIFF_B]}};
    }
    if (slices)
        qsort(slices, count, sizeof *slices, compare_slices);
    if (slices && count > COLOURS + 1) {
        slices[COLOURS].name = "others";
        for (size_t i = COLOURS + 1; i < count; i++) {
            slices[COLOURS].values[0] += slices[i].values[0];
            slices[COLOURS].values[1] += slices[i].values[1];
        }
        count = COLOURS + 1;
    }
    *out = slices;
    return slices ? count : 0;
}

static const char *colour_of(size_t i)
{
    return i < COLOURS ? colours[i] : rest_colour;
}

static void append_segment(struct bytes *out, const char *name, double value, double x, double width,
                           double y, const char *colour)
{
    struct number_text time;
    bytes_append_format(out,
                        "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.0f\" stroke=\"#fff\" "
                        "stroke-width=\".6\" fill=\"%s\"><title>",
                        x, y, width, BAR_HEIGHT, colour);
    html_append_text(out, name);
    bytes_append_format(out, ": %s</title></rect>\n", format_time_real(&time, value));
    if (width < 76)
        return;
    bytes_append_format(out,
                        "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" font-size=\"11\" text-anchor=\"middle\" "
                        "pointer-events=\"none\">%s</text>\n",
                        x + width / 2, y + BAR_HEIGHT / 2 + 4, colour == gap_colour ? "#333" : "#fff",
                        time.text);
}

static void append_bar(const struct diff *diff, const struct stack_part *slices, size_t count, int side,
                       double scale, double y, struct bytes *out)
{
    double x = BAR_LEFT, gap = diff->is_host_time ? 0 : diff->runs[side].gap_ns;
    bytes_append_format(out, "<text x=\"0\" y=\"%.1f\" font-size=\"15\" fill=\"currentColor\">%s</text>\n",
                        y + BAR_HEIGHT / 2 + 5, side == DIFF_A ? "A" : "B");
    for (size_t i = 0; i < count; i++) {
        double width = slices[i].values[side] * scale;
        if (!(width > 0))
            continue;
        append_segment(out, slices[i].name, slices[i].values[side], x, width, y, colour_of(i));
        x += width;
    }
    if (gap > 0)
        append_segment(out, "gaps", gap, x, gap * scale, y, gap_colour);
}

/* The groups by name: a thin bar for each run. */
static void append_list(const struct stack_part *slices, size_t count, double top, struct bytes *out)
{
    double most = count ? fmax(slices[0].values[0], slices[0].values[1]) : 0;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fmax(slices[i].values[0], slices[i].values[1]));
    for (size_t i = 0; i < count; i++) {
        double y = top + (double)i * 30;
        struct number_text a, b;
        struct bytes name = {0};
        utf8_append_shortened(&name, slices[i].name, strlen(slices[i].name), 44, "\xe2\x80\xa6");
        bytes_append_format(out,
                            "<text x=\"330\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\" "
                            "fill=\"currentColor\">",
                            y + 16);
        html_append_text(out, bytes_text(&name));
        bytes_free(&name);
        bytes_append_text(out, "</text>\n");
        for (int side = 0; side < DIFF_SIDES; side++) {
            double width = most > 0 ? 400 * slices[i].values[side] / most : 0;
            bytes_append_format(out,
                                "<rect x=\"340\" y=\"%.1f\" width=\"%.2f\" height=\"10\" fill=\"%s\" "
                                "opacity=\"%s\"/>\n",
                                y + 2 + side * 11, width, colour_of(i), side == DIFF_A ? ".55" : "1");
        }
        bytes_append_format(
            out,
            "<text x=\"750\" y=\"%.1f\" font-size=\"12\" fill=\"currentColor\">%s \xe2\x86\x92 %s</text>\n",
            y + 16, format_time_real(&a, slices[i].values[0]), format_time_real(&b, slices[i].values[1]));
    }
}

static void append_drawing(const struct diff *diff, struct bytes *out)
{
    struct stack_part *slices;
    size_t count = make_slices(diff, &slices), rows = count < LIST_ROWS ? count : LIST_ROWS;
    double lengths[DIFF_SIDES] = {0};
    for (int side = 0; side < DIFF_SIDES; side++) {
        for (size_t i = 0; i < count; i++)
            lengths[side] += slices[i].values[side];
        lengths[side] += diff->is_host_time ? 0 : diff->runs[side].gap_ns;
    }
    double longest = fmax(lengths[0], lengths[1]);
    out->failed |= slices == NULL;
    if (longest > 0) {
        bytes_append_format(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"system-ui, sans-serif\" role=\"img\" aria-label=\"Time of both runs by "
            "group\">\n",
            WIDTH, 120 + (double)rows * 30);
        for (int side = 0; side < DIFF_SIDES; side++)
            append_bar(diff, slices, count, side, BAR_WIDTH / longest, 4 + side * (BAR_HEIGHT + 8), out);
        append_list(slices, rows, 112, out);
        bytes_append_text(out, "</svg>\n");
    }
    free(slices);
}

static void append_files(const struct diff *diff, struct bytes *page)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct diff_run *run = &diff->runs[side];
        bytes_append_format(page, "<p class=\"dim\">%s: ", side == DIFF_A ? "A" : "B");
        html_append_text(page, run->path);
        bytes_append_format(page, " (%s)</p>\n", run->kind);
    }
}

static void append_facts(const struct diff *diff, struct bytes *page)
{
    bytes_append_text(page, "<div class=\"facts\">\n");
    for (unsigned i = 0; i < DIFF_TOTALS; i++) {
        const struct diff_total *total = &diff->totals[i];
        struct number_text a, b, percent;
        char value[200];
        if (!total->is_there || (i == DIFF_TOTAL && !diff->totals[DIFF_DEVICE_TIME].is_there))
            continue;
        if (total->is_time)
            snprintf(value, sizeof value, "%s \xe2\x86\x92 %s (%s)", format_time_real(&a, total->values[0]),
                     format_time_real(&b, total->values[1]),
                     diff_format_percent(&percent, total->change_percent));
        else
            snprintf(value, sizeof value, "%s \xe2\x86\x92 %s", format_count(&a, (uint64_t)total->values[0]),
                     format_count(&b, (uint64_t)total->values[1]));
        html_append_fact(page, diff_total_text(i), value);
    }
    bytes_append_text(page, "</div>\n");
}

static void append_rows(const struct diff *diff, const struct diff_selection *selection, unsigned kind,
                        struct bytes *page)
{
    static const char *const titles[] = {"Ops that changed", "Zones that changed",
                                         "Dispatch times that changed"};
    static const char *const ids[] = {"ops", "zones", "calls"};
    struct diff_rows_table rows;
    struct diff_selection wanted = *selection;
    wanted.kinds = UINT64_C(1) << kind;
    if (!wanted.top)
        wanted.top = PAGE_ROWS;
    size_t left_out = diff_make_rows_table(diff, &wanted, DIFF_LOOK_PAGE, &rows);
    bytes_append_format(page, "<h2>%s</h2>\n", titles[kind]);
    if (rows.table.row_count == 0) {
        bytes_append_text(page, "<p>None.</p>\n");
    } else {
        html_append_find(page, ids[kind]);
        html_append_table(&rows.table, ids[kind], page);
    }
    if (left_out)
        bytes_append_format(page, "<p class=\"dim\">%zu more rows are not shown.</p>\n", left_out);
    uint64_t noise = diff_count_state(diff, kind, DIFF_NOISE);
    if (noise && !selection->is_all)
        bytes_append_format(page, "<p class=\"dim\">%" PRIu64 " more changed within the noise.</p>\n", noise);
    table_free(&rows.table);
}

static void append_notes(const char *notes, struct bytes *page)
{
    if (!*notes)
        return;
    bytes_append_text(page, "<h2>Notes</h2>\n<ul>\n");
    while (*notes) {
        size_t length = strcspn(notes, "\n");
        struct bytes line = {0};
        bytes_append(&line, notes, length);
        bytes_append_text(page, "<li>");
        html_append_text(page, bytes_text(&line));
        bytes_append_text(page, "</li>\n");
        bytes_free(&line);
        notes += length + (notes[length] == '\n');
    }
    bytes_append_text(page, "</ul>\n");
}

int diff_html_write(const struct diff *diff, const struct diff_selection *selection, const char *notes,
                    FILE *out, struct error *err)
{
    struct bytes page = {0};
    html_page_begin(&page, "What changed from A to B");
    append_files(diff, &page);
    append_facts(diff, &page);
    if (diff->has_ops)
        bytes_append_format(&page, "<h2>Time by %s</h2>\n", diff_group_by_text(diff->options.group_by));
    else
        bytes_append_text(&page,
                          diff->has_calls ? "<h2>Dispatch time by op</h2>\n" : "<h2>Own time by zone</h2>\n");
    append_drawing(diff, &page);
    if (diff->group_count) {
        struct table groups;
        diff_make_groups_table(diff, PAGE_ROWS, DIFF_LOOK_PAGE, &groups);
        html_append_table(&groups, "groups", &page);
        table_free(&groups);
    }
    if (diff->has_ops)
        append_rows(diff, selection, DIFF_OP_ROW, &page);
    if (diff->has_zones)
        append_rows(diff, selection, DIFF_ZONE_ROW, &page);
    if (diff->has_calls)
        append_rows(diff, selection, DIFF_CALL_ROW, &page);
    append_notes(notes, &page);
    return html_page_finish(&page, out, err);
}
