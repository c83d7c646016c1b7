/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate as one self-contained page: what it comes to, the lanes as a drawing, the ops, where the time goes. */
#include <inttypes.h>
#include <math.h>

#include "present/estimate/estimate.h"
#include "present/format.h"
#include "present/html_page.h"

#define DRAWING_WIDTH 1200.0
#define LANE_HEIGHT 22.0
#define LABEL_WIDTH 150.0
#define UNITS_MAX 20000u /* drawn; more of them would be thinner than a pixel */

static const char *const colours[TIMELINE_LANE_KINDS] = {
    [TIMELINE_DMA_IN] = "#4c8bd6",    [TIMELINE_DMA_OUT] = "#8a6fd1", [TIMELINE_COPY] = "#5aa7a7",
    [TIMELINE_SLICE] = "#4f9d55",     [TIMELINE_CORE] = "#c98a2b",    [TIMELINE_HOST] = "#a8606c",
    [TIMELINE_HOST_COPY] = "#b98794", [TIMELINE_DRIVER] = "#8d8d8d",  [TIMELINE_PROGRAM] = "#6f86a8",
};

static void append_unit(const struct timeline *timeline, const struct timeline_unit *unit, double scale,
                        struct bytes *out)
{
    struct number_text time;
    double x = LABEL_WIDTH + (double)unit->start * scale;
    double width = fmax((double)(unit->end - unit->start) * scale, 0.4);
    const char *name = unit->op < timeline->op_count
                           ? timeline_get_text(timeline, timeline->ops[unit->op].name)
                           : timeline_get_text(timeline, unit->name);
    bytes_append_format(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"><title>",
                        x, (double)unit->lane * LANE_HEIGHT + 2, width, LANE_HEIGHT - 4,
                        colours[timeline->lanes[unit->lane].kind]);
    html_append_text(out, name);
    if (!timeline->is_measured)
        bytes_append_format(out, "\n%" PRIu64 " to %" PRIu64 ": %" PRIu64 " cycles", unit->start, unit->end,
                            unit->end - unit->start);
    if (timeline->clock_mhz > 0)
        bytes_append_format(
            out, timeline->is_measured ? "\n%s" : " (%s)",
            format_time_real(&time, (double)(unit->end - unit->start) * 1000 / timeline->clock_mhz));
    if (unit->bytes != UINT64_MAX)
        bytes_append_format(out, "\n%" PRIu64 " bytes", unit->bytes);
    bytes_append_text(out, "\n");
    html_append_text(out, timeline_get_text(timeline, unit->location));
    bytes_append_text(out, "</title></rect>\n");
}

void estimate_append_lanes(const struct timeline *timeline, uint64_t cycles, struct bytes *out)
{
    double scale = cycles ? (DRAWING_WIDTH - LABEL_WIDTH) / (double)cycles : 0;
    bytes_append_format(out,
                        "<svg class=\"wide\" viewBox=\"0 0 %.0f %.0f\" width=\"100%%\" role=\"img\" "
                        "font-family=\"inherit\">\n",
                        DRAWING_WIDTH, (double)timeline->lane_count * LANE_HEIGHT + 4);
    for (size_t i = 0; i < timeline->lane_count; i++) {
        bytes_append_format(out, "<text x=\"0\" y=\"%.1f\" font-size=\"13\" fill=\"currentColor\">",
                            (double)i * LANE_HEIGHT + 15);
        html_append_text(out, timeline_get_text(timeline, timeline->lanes[i].name));
        bytes_append_format(
            out,
            "</text><line x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"currentColor\" "
            "stroke-opacity=\"0.15\"/>\n",
            LABEL_WIDTH, DRAWING_WIDTH, (double)(i + 1) * LANE_HEIGHT, (double)(i + 1) * LANE_HEIGHT);
    }
    for (size_t i = 0; i < timeline->unit_count && i < UNITS_MAX; i++)
        append_unit(timeline, &timeline->units[i], scale, out);
    bytes_append_text(out, "</svg>\n");
    if (timeline->unit_count > UNITS_MAX)
        bytes_append_format(out, "<p class=\"dim\">The first %u of %zu units are drawn.</p>\n", UNITS_MAX,
                            timeline->unit_count);
}

static void append_facts(const struct timeline *timeline, const struct estimate_page *about,
                         struct bytes *page)
{
    struct number_text text;
    char cycles[32];
    uint64_t end = timeline_end(timeline), macs = 0, peak = 0;
    for (size_t i = 0; i < timeline->op_count; i++)
        macs += timeline->ops[i].macs;
    for (size_t i = 0; i < timeline->dispatch_count; i++)
        peak = timeline->dispatches[i].peak_bytes > peak ? timeline->dispatches[i].peak_bytes : peak;
    snprintf(cycles, sizeof cycles, "%" PRIu64, end);
    bytes_append_text(page, "<div class=\"facts\">\n");
    html_append_fact(page, "target", about->target);
    html_append_fact(page, "cycles", cycles);
    if (timeline->clock_mhz > 0)
        html_append_fact(page, "time", format_time_real(&text, (double)end * 1000 / timeline->clock_mhz));
    if (macs)
        html_append_fact(page, "MACs", format_count(&text, macs));
    if (peak)
        html_append_fact(page, "peak on chip", format_bytes(&text, peak));
    bytes_append_text(page, "</div>\n<p class=\"dim\">");
    html_append_text(page, about->caveat);
    bytes_append_text(page, "</p>\n");
}

int estimate_write_html(const struct timeline *timeline, const struct estimate_page *about, FILE *out,
                        struct error *err)
{
    struct bytes page = {0}, title = {0};
    struct table ops, metrics;
    bytes_append_format(&title, "Estimate: %s", about->title);
    html_page_begin(&page, bytes_text(&title));
    append_facts(timeline, about, &page);
    bytes_append_text(&page, "<h2>Timeline</h2>\n");
    estimate_append_lanes(timeline, timeline_end(timeline), &page);
    int status = estimate_make_ops(timeline, 0, &ops, err);
    bytes_append_text(&page, "<h2>Ops</h2>\n");
    html_append_find(&page, "ops");
    html_append_table(&ops, "ops", &page);
    if (status == 0)
        status = estimate_make_metrics(timeline, &metrics, err);
    else
        table_init(&metrics, "metrics", NULL, 0);
    bytes_append_text(&page, "<h2>Where the time goes</h2>\n");
    html_append_table(&metrics, "metrics", &page);
    if (timeline->notice_count)
        bytes_append_text(&page, "<h2>Notes</h2>\n<ul>\n");
    for (size_t i = 0; i < timeline->notice_count; i++) {
        bytes_append_text(&page, "<li>");
        html_append_text(&page, timeline_get_text(timeline, timeline->notices[i].text));
        bytes_append_text(&page, "</li>\n");
    }
    if (timeline->notice_count)
        bytes_append_text(&page, "</ul>\n");
    page.failed |= ops.failed || metrics.failed || title.failed;
    table_free(&ops);
    table_free(&metrics);
    bytes_free(&title);
    if (status) {
        bytes_free(&page);
        return status;
    }
    return html_page_finish(&page, out, err);
}
