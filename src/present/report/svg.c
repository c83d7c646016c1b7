/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings. Coordinates are plain numbers of a fixed canvas that a page scales; colours go by category, with lighter
 * shades for the smaller groups of one. */
#include "present/report/svg.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/count_of.h"
#include "text/markup_write.h"
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
    bytes_append_format(out, ": %.1f us, %.1f %%, %" PRIu64 " ops</title></rect>\n", group->time_us,
                        group->percent, group->count);
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
                            "%.1f %%, %" PRIu64 " ops</text>\n",
                            y, width, category_colour(group->category), 446 + width, y + 13, group->time_us,
                            group->percent, group->count);
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

static void append_groups(const struct perf_groups *groups, bool is_classic, struct bytes *out)
{
    int32_t devices[64];
    size_t device_count = 0;
    for (size_t i = 0; i < groups->count; i++) {
        size_t k = 0;
        while (k < device_count && devices[k] != groups->items[i].device)
            k++;
        if (k == device_count && device_count < COUNT_OF(devices))
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
    append_groups(groups, is_classic, &text);
    if (!text.failed)
        fwrite(text.data, 1, text.length, out);
    bool failed = text.failed;
    bytes_free(&text);
    return failed ? error_no_memory(err, "the drawing") : 0;
}
