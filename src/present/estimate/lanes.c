/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline's lanes as a drawing. */
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
