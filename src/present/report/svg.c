/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings. Coordinates are plain numbers of a fixed canvas that a page scales; colours go by category, with lighter
 * shades for the smaller groups of one. */
#include "present/report/svg.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "present/html_page.h"
#include "text/utf8.h"

static const uint8_t category_rgb[PERF_CATEGORIES][3] = {
    [PERF_COMPUTE] = {94, 72, 168}, [PERF_CCL] = {38, 112, 190}, [PERF_TM] = {34, 134, 84},
    [PERF_DM] = {204, 102, 22},     [PERF_HOST] = {190, 52, 52}, [PERF_OTHER] = {112, 112, 118},
};

static const char *category_colour(unsigned category)
{
    static const char *const colours[PERF_CATEGORIES] = {"#5e48a8", "#2670be", "#228654",
                                                         "#cc6616", "#be3434", "#707076"};
    return colours[category < PERF_CATEGORIES ? category : PERF_OTHER];
}

/* The n-th shade of a category, from dark to light; or one of twelve in turn. */
static void append_colour(struct bytes *out, const struct perf_group *group, unsigned nth, bool is_classic)
{
    static const char *const classic[] = {"#1f77b4", "#aec7e8", "#ff7f0e", "#ffbb78", "#2ca02c", "#98df8a",
                                          "#d62728", "#ff9896", "#9467bd", "#c5b0d5", "#8c564b", "#c49c94"};
    const uint8_t *rgb = category_rgb[group->category < PERF_CATEGORIES ? group->category : PERF_OTHER];
    double lighter = fmin(0.6, 0.12 * nth);
    if (is_classic) {
        bytes_append_text(out, classic[nth % 12]);
        return;
    }
    bytes_append_text(out, "#");
    for (unsigned i = 0; i < 3; i++)
        bytes_append_format(out, "%02x", (unsigned)(rgb[i] + (255 - rgb[i]) * lighter));
}

/* --- groups: one stacked bar for each device, and a bar for each of the largest groups --- */

#define WIDTH 960.0
#define BAR_LEFT 60.0
#define BAR_WIDTH (WIDTH - BAR_LEFT - 10)
#define LIST_ROWS 16u

static void append_segment(const struct perf_groups *groups, const struct perf_group *group, double x,
                           double width, double y, unsigned nth, bool is_classic, struct bytes *out)
{
    bytes_append_format(out,
                        "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"34\" stroke=\"#fff\" "
                        "stroke-width=\".6\" fill=\"",
                        x, y, width);
    append_colour(out, group, nth, is_classic);
    bytes_append_text(out, "\"><title>");
    html_append_text(out, intern_text(groups->texts, group->key));
    bytes_append_format(out, ": %.1f us, %.1f %%, %llu ops</title></rect>\n", group->time_us, group->percent,
                        (unsigned long long)group->count);
    if (width > 46)
        bytes_append_format(out,
                            "<text x=\"%.1f\" y=\"%.1f\" fill=\"#fff\" font-size=\"11\" "
                            "text-anchor=\"middle\" pointer-events=\"none\">%.1f %%</text>\n",
                            x + width / 2, y + 21, group->percent);
}

/* The bar of one device (PERF_NO_NUMBER: of all), categories beside each other. */
static void append_bar(const struct perf_groups *groups, int32_t device, double y, bool is_classic,
                       struct bytes *out)
{
    double x = BAR_LEFT;
    unsigned drawn = 0;
    if (device != PERF_NO_NUMBER)
        bytes_append_format(
            out, "<text x=\"0\" y=\"%.1f\" font-size=\"12\" fill=\"currentColor\">device %d</text>\n", y + 21,
            device);
    for (unsigned category = 0; category < PERF_CATEGORIES; category++) {
        unsigned nth = 0;
        for (size_t i = 0; i < groups->count; i++) {
            const struct perf_group *group = &groups->items[i];
            double width = BAR_WIDTH * group->percent / 100;
            if (group->category != category || group->device != device || !(width > 0))
                continue;
            append_segment(groups, group, x, width, y, is_classic ? drawn : nth, is_classic, out);
            x += width;
            nth++;
            drawn++;
        }
    }
}

static void append_list(const struct perf_groups *groups, double top, size_t rows, struct bytes *out)
{
    double most = groups->count ? groups->items[0].time_us : 0;
    for (size_t i = 0; i < rows; i++) {
        const struct perf_group *group = &groups->items[i];
        double y = top + (double)i * 22;
        double width = most > 0 ? 330 * group->time_us / most : 0;
        bytes_append_format(out,
                            "<text x=\"430\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\" "
                            "fill=\"currentColor\">",
                            y + 13);
        const char *key = intern_text(groups->texts, group->key);
        struct bytes shortened = {0};
        utf8_append_shortened(&shortened, key, strlen(key), 58, "\xe2\x80\xa6");
        html_append_text(out, bytes_text(&shortened));
        bytes_free(&shortened);
        if (group->device != PERF_NO_NUMBER)
            bytes_append_format(out, " (device %d)", group->device);
        bytes_append_format(out,
                            "</text><rect x=\"440\" y=\"%.1f\" width=\"%.2f\" height=\"16\" fill=\"%s\"/>"
                            "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\" fill=\"currentColor\">%.1f us, "
                            "%.1f %%, %llu ops</text>\n",
                            y, width, category_colour(group->category), 446 + width, y + 13, group->time_us,
                            group->percent, (unsigned long long)group->count);
    }
}

static void append_legend(double y, struct bytes *out)
{
    for (unsigned i = 0; i < PERF_CATEGORIES; i++)
        bytes_append_format(out,
                            "<rect x=\"%.0f\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/><text "
                            "x=\"%.0f\" y=\"%.1f\" font-size=\"12\" fill=\"currentColor\">%s</text>\n",
                            BAR_LEFT + i * 100, y, category_colour(i), BAR_LEFT + 17 + i * 100, y + 11,
                            perf_category_text(i));
}

void perf_svg_append_groups(const struct perf_groups *groups, bool is_classic, struct bytes *out)
{
    int32_t devices[64];
    size_t device_count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        size_t k = 0;
        while (k < device_count && devices[k] != groups->items[i].device)
            k++;
        if (k == device_count && device_count < sizeof devices / sizeof devices[0])
            devices[device_count++] = groups->items[i].device;
    }
    for (size_t i = 1; i < device_count; i++) { /* few: in order */
        for (size_t k = i; k > 0 && devices[k] < devices[k - 1]; k--) {
            int32_t other = devices[k];
            devices[k] = devices[k - 1];
            devices[k - 1] = other;
        }
    }
    size_t rows = groups->count < LIST_ROWS ? groups->count : LIST_ROWS;
    double list_top = 30 + (double)device_count * 44 + 30;
    bytes_append_format(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"system-ui, sans-serif\" role=\"img\" aria-label=\"Device time by group\">\n",
        WIDTH, list_top + (double)rows * 22 + 10);
    append_legend(2, out);
    for (size_t i = 0; i < device_count; i++)
        append_bar(groups, devices[i], 30 + (double)i * 44, is_classic, out);
    append_list(groups, list_top, rows, out);
    bytes_append_text(out, "</svg>\n");
}

int perf_svg_write_groups(const struct perf_groups *groups, bool is_classic, FILE *out, struct error *err)
{
    struct bytes text = {0};
    bytes_append_text(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    perf_svg_append_groups(groups, is_classic, &text);
    if (!text.failed)
        fwrite(text.data, 1, text.length, out);
    bool failed = text.failed;
    bytes_free(&text);
    return failed ? error_set(err, ENOMEM, "no memory for the drawing") : 0;
}

/* --- roofline --- */

#define PLOT_LEFT 64.0
#define PLOT_RIGHT 940.0
#define PLOT_TOP 16.0
#define PLOT_BOTTOM 400.0
#define POINTS_MAX 3000u

struct axes {
    double x_from, x_to, y_from, y_to; /* powers of ten */
};

static double at_x(const struct axes *axes, double intensity)
{
    return PLOT_LEFT +
           (log10(intensity) - axes->x_from) / (axes->x_to - axes->x_from) * (PLOT_RIGHT - PLOT_LEFT);
}

static double at_y(const struct axes *axes, double tflops)
{
    return PLOT_BOTTOM -
           (log10(tflops) - axes->y_from) / (axes->y_to - axes->y_from) * (PLOT_BOTTOM - PLOT_TOP);
}

static bool is_on_plot(const struct perf *perf, const struct perf_row *row)
{
    const struct perf_work *work = perf_work_of(perf, row);
    return work->flops > 0 && work->dram_bytes > 0 && perf_time_us(row) > 0;
}

static struct axes find_axes(const struct perf *perf, double peak)
{
    double x_from = 0, x_to = 2, y_from = 0, y_to = log10(peak);
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        const struct perf_work *work = perf_work_of(perf, row);
        if (!is_on_plot(perf, row))
            continue;
        double x = log10(work->flops / work->dram_bytes), y = log10(perf_figures(perf, row).tflops);
        x_from = fmin(x_from, x);
        x_to = fmax(x_to, x);
        y_from = fmin(y_from, y);
        y_to = fmax(y_to, y);
    }
    return (struct axes){floor(fmax(x_from, -6)), ceil(fmin(x_to, 9)), floor(fmax(y_from, -6)),
                         ceil(fmin(y_to, 9) + 0.05)};
}

static void append_grid(const struct axes *axes, struct bytes *out)
{
    for (double x = axes->x_from; x <= axes->x_to; x++) {
        double at = at_x(axes, pow(10, x));
        bytes_append_format(out,
                            "<line x1=\"%.1f\" y1=\"%.0f\" x2=\"%.1f\" y2=\"%.0f\" stroke=\"currentColor\" "
                            "stroke-opacity=\".13\"/><text x=\"%.1f\" y=\"%.0f\" font-size=\"11\" "
                            "text-anchor=\"middle\" fill=\"currentColor\">%g</text>\n",
                            at, PLOT_TOP, at, PLOT_BOTTOM, at, PLOT_BOTTOM + 16, pow(10, x));
    }
    for (double y = axes->y_from; y <= axes->y_to; y++) {
        double at = at_y(axes, pow(10, y));
        bytes_append_format(out,
                            "<line x1=\"%.0f\" y1=\"%.1f\" x2=\"%.0f\" y2=\"%.1f\" stroke=\"currentColor\" "
                            "stroke-opacity=\".13\"/><text x=\"%.0f\" y=\"%.1f\" font-size=\"11\" "
                            "text-anchor=\"end\" fill=\"currentColor\">%g</text>\n",
                            PLOT_LEFT, at, PLOT_RIGHT, at, PLOT_LEFT - 6, at + 4, pow(10, y));
    }
    bytes_append_format(out,
                        "<text x=\"%.0f\" y=\"%.0f\" font-size=\"12\" text-anchor=\"middle\" "
                        "fill=\"currentColor\">FLOPs for each byte of DRAM traffic</text>\n"
                        "<text transform=\"translate(14 %.0f) rotate(-90)\" font-size=\"12\" "
                        "text-anchor=\"middle\" fill=\"currentColor\">TFLOP/s</text>\n",
                        (PLOT_LEFT + PLOT_RIGHT) / 2, PLOT_BOTTOM + 36, (PLOT_TOP + PLOT_BOTTOM) / 2);
}

/* A roof: up the DRAM slope to the peak, then level. */
static void append_roof(const struct perf *perf, const struct axes *axes, double peak, const char *name,
                        const char *colour, unsigned nth, struct bytes *out)
{
    double legend_y = PLOT_TOP + 16 + 16 * nth;
    bytes_append_format(
        out,
        "<line x1=\"%.0f\" y1=\"%.0f\" x2=\"%.0f\" y2=\"%.0f\" stroke=\"%s\" stroke-width=\"2\"/>"
        "<text x=\"%.0f\" y=\"%.0f\" font-size=\"11\" fill=\"currentColor\">%s %.1f "
        "TFLOP/s</text>\n",
        PLOT_LEFT + 10, legend_y - 4, PLOT_LEFT + 28, legend_y - 4, colour, PLOT_LEFT + 34, legend_y, name,
        peak);
    double slope = perf->machine->dram_gb_s / 1e3; /* TFLOP/s for each FLOP per byte */
    double from = fmax(pow(10, axes->x_from), pow(10, axes->y_from) / slope), ridge = peak / slope;
    double to = pow(10, axes->x_to);
    if (!(peak > 0) || log10(peak) < axes->y_from)
        return;
    bytes_append_format(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" points=\"", colour);
    if (ridge > from)
        bytes_append_format(out, "%.1f,%.1f ", at_x(axes, from), at_y(axes, from * slope));
    double bend = fmax(from, fmin(ridge, to));
    bytes_append_format(out, "%.1f,%.1f %.1f,%.1f\"/>\n", at_x(axes, bend),
                        at_y(axes, fmin(peak, bend * slope)), PLOT_RIGHT, at_y(axes, fmin(peak, to * slope)));
}

static void append_point(const struct perf *perf, const struct perf_row *row, const struct axes *axes,
                         struct bytes *out)
{
    const struct perf_work *work = perf_work_of(perf, row);
    struct perf_figures figures = perf_figures(perf, row);
    double share = fmax(perf_total_percent(perf, row), 0);
    bytes_append_format(out,
                        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\" fill-opacity=\".6\"><title>",
                        at_x(axes, work->flops / work->dram_bytes), at_y(axes, figures.tflops),
                        2.5 + 1.6 * sqrt(share), category_colour(work->category));
    html_append_text(out, perf_text(perf, work->shown));
    bytes_append_format(out,
                        " (id %llu): %.1f us, %.2f TFLOP/s, DRAM %.1f %%, FLOPs %.1f %%</title></circle>\n",
                        (unsigned long long)row->id, perf_time_us(row), figures.tflops, figures.dram_percent,
                        figures.flops_percent);
}

void perf_svg_append_roofline(const struct perf *perf, struct bytes *out)
{
    static const char *const names[] = {"LoFi", "HiFi2", "HiFi3", "HiFi4"};
    static const char *const colours[] = {"#b0413e", "#cf7a30", "#8a8d2c", "#3f7f4f"};
    const double *peaks = perf->machine->tflops_per_core;
    struct axes axes = find_axes(perf, peaks[PERF_LOFI] * perf->worker_cores);
    size_t drawn = 0;
    bytes_append_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 444\" "
                           "font-family=\"system-ui, sans-serif\" role=\"img\" aria-label=\"Roofline\">\n");
    append_grid(&axes, out);
    for (unsigned i = 0; i < 4; i++)
        append_roof(perf, &axes, peaks[i] * perf->worker_cores, names[i], colours[i], i, out);
    append_roof(perf, &axes, perf->machine->vector_tflops_per_core * perf->worker_cores, "vector", "#5577aa",
                4, out);
    for (size_t i = 0; i < perf->count && drawn < POINTS_MAX; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (is_on_plot(perf, row)) {
            append_point(perf, row, &axes, out);
            drawn++;
        }
    }
    bytes_append_text(out, "</svg>\n");
}
