/* SPDX-License-Identifier: Apache-2.0 */
/* The page of an estimate against a run: both timelines one above the other, on one scale where that can be read, each
 * op in the same colour in both; the pointer on one shows its other half. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "present/estimate/compare_tables.h"
#include "present/estimate/compare_view.h"
#include "present/format.h"
#include "present/html_page.h"

#define SCALES_MAX 5 /* times that one timeline may be the other to be drawn on one scale */
#define DRAWING_WIDTH 1200.0
#define LABEL_WIDTH 120.0
#define LANE_HEIGHT 24.0
#define AXIS_HEIGHT 20.0
#define LETTER_WIDTH 6.2
#define JOINED_BELOW 0.5 /* gaps between parts of one op that are narrower are not drawn */
#define RECTS_MAX 20000u

static const char *const colours[] = {"#3b6fb6", "#b3562d", "#3f7f4f", "#8a5aa8", "#96701a", "#2d7d8a",
                                      "#a8446f", "#5c6b2f", "#6058b8", "#8c4b3f", "#2f6f63", "#7a6048"};
#define COLOURS (sizeof colours / sizeof colours[0])

static const char styles[] =
    "<style>.tl rect{stroke:Canvas;stroke-width:.4}.tl text{font-size:12px;fill:currentColor}"
    ".tl .in{fill:#fff;font-size:11px;pointer-events:none}.tl line{stroke:currentColor;stroke-opacity:.15}"
    ".tl.on rect{opacity:.25}.tl.on rect.hot{opacity:1}.tl .none{fill:#8d8d8d}"
    "td.text{min-width:70px}.bars{width:150px;height:14px}.bars .e{fill:#9aa7bd}.bars .m{fill:#3b6fb6}</style>\n";

/* Both drawings light up what belongs together. */
static const char script[] =
    "<script>for(const s of document.querySelectorAll('.tl'))for(const[t,on]of[['mouseover',1],['mouseout',0]])"
    "s.addEventListener(t,e=>{const p=e.target.dataset&&e.target.dataset.p;if(p===undefined)return;"
    "for(const d of document.querySelectorAll('.tl')){d.classList.toggle('on',!!on);"
    "for(const r of d.querySelectorAll('rect'))r.classList.toggle('hot',!!on&&r.dataset.p===p)}})</script>\n";

/* --- one timeline --- */

struct drawing {
    const struct compare_view *view;
    const struct timeline *timeline;
    const uint32_t *pairs; /* by unit; NULL */
    double scale;          /* units of the drawing per cycle */
    struct bytes *out;
    size_t rects;
};

struct bar { /* of one lane, which the next unit may make longer */
    double x, end;
    uint32_t pair, unit;
    uint64_t cycles;
    bool is_open;
};

static const char *name_of(const struct drawing *d, const struct bar *bar)
{
    const struct timeline *t = d->timeline;
    const struct timeline_unit *unit = &t->units[bar->unit];
    if (bar->pair != COMPARE_NO_PAIR)
        return compare_get_text(d->view->compare, d->view->compare->pairs[bar->pair].name);
    return unit->name != TIMELINE_NONE ? timeline_get_text(t, unit->name)
                                       : timeline_get_text(t, t->lanes[unit->lane].name);
}

static void append_tooltip(const struct drawing *d, const struct bar *bar)
{
    const struct timeline *t = d->timeline;
    const struct timeline_unit *unit = &t->units[bar->unit];
    struct number_text own, estimate, measured;
    bytes_append_text(d->out, "<title>");
    html_append_text(d->out, name_of(d, bar));
    bytes_append_text(d->out, "\n");
    html_append_text(d->out, timeline_get_text(t, t->lanes[unit->lane].name));
    bytes_append_format(d->out, ": %s", format_time_real(&own, (double)bar->cycles * 1000 / t->clock_mhz));
    if (bar->pair != COMPARE_NO_PAIR) {
        const struct compare_pair *pair = &d->view->compare->pairs[bar->pair];
        bytes_append_format(d->out, "\nestimate %s", format_time_real(&estimate, pair->estimate_ns));
        if (pair->runs)
            bytes_append_format(d->out, ", measured %s", format_time_real(&measured, pair->measured_ns));
    }
    bytes_append_text(d->out, "\n");
    html_append_text(d->out, unit->location == TIMELINE_NONE ? "" : timeline_get_text(t, unit->location));
    bytes_append_text(d->out, "</title>");
}

static void append_bar(struct drawing *d, struct bar *bar, uint32_t lane)
{
    double width = fmax(bar->end - bar->x, 0.6), y = AXIS_HEIGHT + (double)lane * LANE_HEIGHT;
    size_t letters = (size_t)((width - 6) / LETTER_WIDTH);
    if (!bar->is_open || d->rects++ >= RECTS_MAX)
        return;
    bar->is_open = false;
    bytes_append_format(d->out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"", bar->x, y + 2,
                        width, LANE_HEIGHT - 4);
    if (bar->pair == COMPARE_NO_PAIR)
        bytes_append_text(d->out, " class=\"none\">");
    else
        bytes_append_format(d->out, " fill=\"%s\" data-p=\"%u\">", colours[bar->pair % COLOURS], bar->pair);
    append_tooltip(d, bar);
    bytes_append_text(d->out, "</rect>\n");
    if (width < 30)
        return;
    struct bytes label = {0};
    const char *name = name_of(d, bar);
    size_t length = strlen(name), cut = length <= letters ? length : letters - 1;
    while (cut < length && cut && (name[cut] & 0xc0) == 0x80)
        cut--; /* not within a character */
    bytes_append(&label, name, cut);
    bytes_append_format(d->out, "<text class=\"in\" x=\"%.2f\" y=\"%.1f\">", bar->x + 3, y + 16);
    html_append_text(d->out, bytes_text(&label));
    bytes_append_text(d->out, length <= letters ? "</text>\n" : "\xe2\x80\xa6</text>\n");
    bytes_free(&label);
}

static void append_units(struct drawing *d)
{
    const struct timeline *t = d->timeline;
    struct bar *bars = calloc(t->lane_count + 1, sizeof bars[0]);
    d->out->failed |= !bars;
    for (uint32_t i = 0; i < t->unit_count && bars; i++) {
        const struct timeline_unit *unit = &t->units[i];
        struct bar *bar = &bars[unit->lane];
        uint32_t pair = d->pairs ? d->pairs[i] : COMPARE_NO_PAIR;
        double x = LABEL_WIDTH + (double)unit->start * d->scale,
               end = LABEL_WIDTH + (double)unit->end * d->scale;
        bool is_same = bar->is_open && bar->pair == pair &&
                       (pair != COMPARE_NO_PAIR || t->units[bar->unit].name == unit->name);
        if (is_same && x >= bar->x && x - bar->end < JOINED_BELOW) {
            bar->end = fmax(bar->end, end);
            bar->cycles += unit->end - unit->start;
            continue;
        }
        append_bar(d, bar, unit->lane);
        *bar = (struct bar){x, end, pair, i, unit->end - unit->start, true};
    }
    for (uint32_t i = 0; i < t->lane_count && bars; i++)
        append_bar(d, &bars[i], i);
    free(bars);
}

/* 1, 2 or 5 times a power of ten, so that there are 4 to 10 of them. */
static double step_of(double whole)
{
    double step = pow(10, floor(log10(whole)));
    while (whole / step < 4)
        step /= fmod(round(log10(step) * 1000), 1000) == 0 ? 2 : 2.5;
    return step;
}

static void append_axis(struct drawing *d, double whole_ns, double height)
{
    double step = whole_ns > 0 ? step_of(whole_ns) : 1;
    for (double at = 0; at <= whole_ns * 1.0001; at += step) {
        struct number_text time;
        double x = LABEL_WIDTH + at / whole_ns * (DRAWING_WIDTH - LABEL_WIDTH);
        bool is_last = x > DRAWING_WIDTH - 40;
        bytes_append_format(
            d->out,
            "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"14\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"11\"%s>%s</text>\n", x,
            x, height, x,
            at <= 0   ? ""
            : is_last ? " text-anchor=\"end\""
                      : " text-anchor=\"middle\"",
            at <= 0 ? "0" : format_time_real(&time, at));
    }
}

static void append_timeline(const struct compare_view *view, int side, double whole_ns, struct bytes *out)
{
    const struct timeline *t = side ? view->measured : view->estimate;
    struct drawing d = {.view = view, .timeline = t, .pairs = view->compare->pair_of[side], .out = out};
    double height = AXIS_HEIGHT + (double)t->lane_count * LANE_HEIGHT + 4;
    d.scale = whole_ns > 0 ? (DRAWING_WIDTH - LABEL_WIDTH) / whole_ns * 1000 / t->clock_mhz : 0;
    bytes_append_format(out,
                        "<svg class=\"wide tl\" viewBox=\"0 0 %.0f %.0f\" width=\"100%%\" role=\"img\" "
                        "aria-label=\"timeline\" font-family=\"inherit\">\n",
                        DRAWING_WIDTH, height);
    append_axis(&d, whole_ns, height);
    for (size_t i = 0; i < t->lane_count; i++) {
        bytes_append_format(out, "<text x=\"6\" y=\"%.1f\">", AXIS_HEIGHT + (double)i * LANE_HEIGHT + 16);
        html_append_text(out, timeline_get_text(t, t->lanes[i].name));
        bytes_append_text(out, "</text>\n");
    }
    append_units(&d);
    bytes_append_text(out, "</svg>\n");
    if (d.rects > RECTS_MAX)
        bytes_append_format(out, "<p class=\"dim\">%u of %zu bars are drawn.</p>\n", RECTS_MAX, d.rects);
}

/* --- tables --- */

struct bar_rows {
    const struct compare *compare;
    const uint32_t *pairs; /* by row */
    double longest_ns;
};

static void draw_bars(const void *context, size_t row, struct bytes *out)
{
    const struct bar_rows *rows = context;
    const struct compare_pair *pair = &rows->compare->pairs[rows->pairs[row]];
    double scale = rows->longest_ns > 0 ? 150 / rows->longest_ns : 0;
    bytes_append_format(out,
                        "<svg class=\"bars\" viewBox=\"0 0 150 14\"><rect class=\"e\" y=\"0\" width=\"%.1f\" "
                        "height=\"6\"/><rect class=\"m\" y=\"7\" width=\"%.1f\" height=\"6\"/></svg>",
                        fmax(pair->estimate_ns * scale, 0.5), fmax(pair->measured_ns * scale, 0.5));
}

static void append_pairs(const struct compare *compare, struct bytes *page)
{
    struct table_column columns[PAIR_COLUMNS];
    struct table table;
    struct bar_rows rows = {.compare = compare};
    uint32_t *measured = malloc((compare->pair_count + 1) * sizeof measured[0]);
    size_t count = 0;
    page->failed |= !measured;
    for (uint32_t i = 0; i < compare->pair_count && measured; i++) {
        const struct compare_pair *pair = &compare->pairs[i];
        if (!pair->runs)
            continue;
        measured[count++] = i;
        rows.longest_ns = fmax(rows.longest_ns, fmax(pair->estimate_ns, pair->measured_ns));
    }
    rows.pairs = measured;
    compare_make_pairs(compare, true, columns, &table);
    bytes_append_format(page, "<h2>%s</h2>\n", compare_title(compare));
    html_append_find(page, "pairs");
    if (measured)
        html_append_drawn_table(&table, "pairs", &(struct html_drawn_column){PAIR_BARS, draw_bars, &rows},
                                page);
    table_free(&table);
    free(measured);
}

static int append_groups(const struct compare *compare, enum compare_by by, struct bytes *page,
                         struct error *err)
{
    struct table table;
    const char *id = by == COMPARE_BY_TYPE ? "types" : "locations";
    int status = compare_make_groups(compare, by, &table, err);
    bytes_append_format(page, "<h2>By %s</h2>\n", by == COMPARE_BY_TYPE ? "type of op" : "location");
    html_append_find(page, id);
    html_append_table(&table, id, page);
    table_free(&table);
    return status;
}

/* --- the page --- */

static void append_facts(const struct compare_view *view, const struct compare_total *total,
                         struct bytes *page)
{
    struct number_text text;
    char number[32];
    bytes_append_text(page, "<p class=\"dim\">");
    html_append_text(page, view->model);
    bytes_append_text(page, " against ");
    html_append_text(page, view->profile);
    bytes_append_text(page, "</p>\n<div class=\"facts\">\n");
    html_append_fact(page, "estimate", format_time_real(&text, total->estimate_ns));
    html_append_fact(page, "measured", format_time_real(&text, total->measured_ns));
    snprintf(number, sizeof number, "%+.1f %%", total->bias_percent);
    html_append_fact(page, "bias", number);
    snprintf(number, sizeof number, "%.2f", total->median);
    html_append_fact(page, "median factor", number);
    snprintf(number, sizeof number, "%.2f", total->p90);
    html_append_fact(page, "p90 factor", number);
    if (view->target)
        html_append_fact(page, "target", view->target);
    bytes_append_text(page, "</div>\n");
}

static void append_notes(const struct compare_view *view, struct bytes *page)
{
    const struct timeline *timelines[] = {view->measured, view->estimate};
    struct number_text text;
    bytes_append_text(page, "<ul class=\"dim\">\n");
    if (view->compare->is_shortest)
        bytes_append_text(page, "<li>measured: the shortest run of each</li>\n");
    if (view->compare->unmeasured)
        bytes_append_format(page, "<li>of the estimate not measured: %s</li>\n",
                            format_things(&text, view->compare->unmeasured, view->compare->what));
    if (view->compare->outside_ns > 0)
        bytes_append_format(page, "<li>not part of the estimate: %s of the host's copies and programs</li>\n",
                            format_time_real(&text, view->compare->outside_ns));
    for (size_t side = 0; side < 2; side++) {
        for (size_t i = 0; i < timelines[side]->notice_count; i++) {
            bytes_append_text(page, "<li>");
            html_append_text(page, timeline_get_text(timelines[side], timelines[side]->notices[i].text));
            bytes_append_text(page, "</li>\n");
        }
    }
    bytes_append_text(page, "</ul>\n");
}

static void append_timelines(const struct compare_view *view, struct bytes *page)
{
    double estimate_ns = view->estimate->clock_mhz > 0
                             ? (double)timeline_end(view->estimate) * 1000 / view->estimate->clock_mhz
                             : 0;
    double measured_ns = (double)timeline_end(view->measured) * 1000 / view->measured->clock_mhz;
    double whole_ns = fmax(estimate_ns, measured_ns);
    bool has_one_scale = whole_ns <= SCALES_MAX * fmin(estimate_ns, measured_ns);
    bytes_append_text(page, "<h2>Estimate</h2>\n");
    append_timeline(view, 0, has_one_scale ? whole_ns : estimate_ns, page);
    bytes_append_format(page, "<h2>Run</h2>\n");
    append_timeline(view, 1, has_one_scale ? whole_ns : measured_ns, page);
    bytes_append_format(
        page, "<p class=\"dim\">%s. An op has one colour in both; what is grey is in one of them alone.",
        has_one_scale ? "Both are on the same scale"
                      : "Each has a scale of its own, since one is many times the other");
    if (view->compare->whole_runs > 1)
        bytes_append_format(page, " The run is the shortest of %zu runs.", view->compare->whole_runs);
    bytes_append_text(page, "</p>\n");
}

static int fill_page(const struct compare_view *view, struct bytes *page, struct error *err)
{
    struct compare_total total;
    int status = compare_sum(view->compare, &total, err);
    if (status)
        return status;
    bytes_append_text(page, styles);
    append_facts(view, &total, page);
    append_timelines(view, page);
    append_notes(view, page);
    status = append_groups(view->compare, COMPARE_BY_TYPE, page, err);
    if (status == 0)
        status = append_groups(view->compare, COMPARE_BY_LOCATION, page, err);
    append_pairs(view->compare, page);
    bytes_append_text(page, script);
    return status;
}

int compare_write_page(const struct compare_view *view, struct error *err)
{
    struct output output;
    struct bytes page = {0};
    int status = output_open(&output, &(struct output_options){.output = view->html}, err);
    if (status)
        return status;
    html_page_begin(&page, "Estimate against run");
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
