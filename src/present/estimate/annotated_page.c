/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/metrics.h"
#include "present/estimate/annotated.h"
#include "present/estimate/estimate.h"
#include "present/format.h"
#include "present/html_page.h"

static int append_facts(const struct measured *measured, struct bytes *page, struct error *err)
{
    static const struct {
        enum timeline_metric metric;
        const char *title;
    } facts[] = {{TIMELINE_METRIC_OVERALL, "in all"},
                 {TIMELINE_METRIC_NPU, "NPU"},
                 {TIMELINE_METRIC_DMA_ONLY, "only data movement"},
                 {TIMELINE_METRIC_COMPUTE_ONLY, "only computation"},
                 {TIMELINE_METRIC_OVERLAP, "both at once"},
                 {TIMELINE_METRIC_HOST_COPY, "copies by the host"},
                 {TIMELINE_METRIC_IDLE, "idle"}};
    struct timeline_metrics metrics;
    struct number_text text;
    int status = timeline_measure(&measured->timeline, TIMELINE_NONE, &metrics, err);
    bytes_append_text(page, "<div class=\"facts\">\n");
    for (size_t i = 0; i < sizeof facts / sizeof facts[0] && status == 0; i++)
        html_append_fact(page, facts[i].title,
                         format_time_real(&text, (double)metrics.cycles[facts[i].metric]));
    bytes_append_text(page, "</div>\n");
    return status;
}

static void append_notes(const struct timeline *timeline, struct bytes *page)
{
    if (!timeline->notice_count)
        return;
    bytes_append_text(page, "<ul class=\"warn\">\n");
    for (size_t i = 0; i < timeline->notice_count; i++) {
        bytes_append_text(page, "<li>");
        html_append_text(page, timeline_get_text(timeline, timeline->notices[i].text));
        bytes_append_text(page, "</li>\n");
    }
    bytes_append_text(page, "</ul>\n");
}

static int fill(const struct measured *measured, const struct annotated_page *about, struct bytes *page,
                struct error *err)
{
    struct table metrics, rows;
    bytes_append_text(page, "<style>td.text{min-width:70px}</style>\n<p class=\"dim\">");
    html_append_text(page, about->profile);
    bytes_append_text(page, " with ");
    html_append_text(page, about->phase);
    bytes_append_text(page, "</p>\n");
    int status = append_facts(measured, page, err);
    if (status)
        return status;
    append_notes(&measured->timeline, page);
    bytes_append_text(
        page, "<h2>Run</h2>\n<p class=\"dim\">Programs as long as they ran; what they used, as long as they "
              "did: the runtime measures programs, not transfers.</p>\n");
    estimate_append_lanes(&measured->timeline, timeline_end(&measured->timeline), page);
    status = measured_make_metrics(measured, &metrics, err);
    bytes_append_text(page, "<h2>Where the time went</h2>\n");
    html_append_table(&metrics, "metrics", page);
    measured_make_rows(measured, &rows);
    bytes_append_text(page, "<h2>Actions</h2>\n");
    html_append_find(page, "actions");
    html_append_table(&rows, "actions", page);
    table_free(&metrics);
    table_free(&rows);
    return status;
}

int measured_write_html(const struct measured *measured, const struct annotated_page *about, FILE *out,
                        struct error *err)
{
    struct bytes page = {0};
    html_page_begin(&page, "Annotated run");
    int status = fill(measured, about, &page, err);
    if (status) {
        bytes_free(&page);
        return status;
    }
    return html_page_finish(&page, out, err);
}
