/* SPDX-License-Identifier: Apache-2.0 */
/* The page is written from the same tables as the terminal's; cells carry the exact value for sorting. Everything that
 * comes from a file is escaped. */
#include "present/report/html.h"

#include <math.h>

#include "present/html_page.h"
#include "present/report/number.h"
#include "present/report/svg.h"
#include "present/report/words.h"

#define HOST_ZONES_MAX 20u

static void append_fact(struct bytes *out, const char *title, double value, int decimals, const char *unit)
{
    struct bytes text = {0};
    if (isnan(value))
        return;
    perf_append_grouped(&text, value, decimals);
    bytes_append_format(&text, "%s%s", *unit ? " " : "", unit);
    html_append_fact(out, title, bytes_text(&text));
    bytes_free(&text);
}

static void append_time_fact(struct bytes *out, const char *title, double us)
{
    struct number_text text;
    html_append_fact(out, title, perf_format_us(&text, us));
}

static void append_facts(const struct perf *perf, struct bytes *out)
{
    double seconds = perf->busy_us * 1e-6;
    bytes_append_text(out, "<div class=\"facts\">\n");
    append_fact(out, "device ops", (double)perf->device_op_count, 0, "");
    if (perf->host_op_count)
        append_fact(out, "host ops", (double)perf->host_op_count, 0, "");
    append_time_fact(out, "device time", perf->total_time_us);
    append_time_fact(out, "gaps", perf->total_gap_us);
    if (perf->overlap_us > 0)
        append_time_fact(out, "overlap", perf->overlap_us);
    if (seconds > 0 && perf->total_dram_bytes > 0 && perf->has_machine)
        append_fact(out, "DRAM, while busy",
                    perf->total_dram_bytes / seconds / 1e9 / perf->machine->dram_gb_s * 100, 1, "%");
    if (seconds > 0 && perf->total_flops > 0)
        append_fact(out, "while busy", perf->total_flops / seconds / 1e12, 2, "TFLOP/s");
    append_time_fact(out, "advice could save", perf->advice_gain_us);
    bytes_append_text(out, "</div>\n");
}

static void append_advice(const struct perf *perf, struct bytes *out)
{
    struct table table;
    perf_make_advice_table(perf, 40, &table);
    bytes_append_text(out, "<h2>Advice, by what it would save");
    if (perf->has_machine)
        bytes_append_format(out, " up to %.0f %% of each roofline", perf->options.target_percent);
    bytes_append_text(out, "</h2>\n");
    if (perf->advice_count == 0) {
        bytes_append_format(out, "<p>%s.</p>\n", perf_no_advice_text(perf));
    } else {
        bytes_append_text(out, "<p>");
        perf_append_advice_sum(perf, out);
        bytes_append_text(out, "</p>\n");
        html_append_table(&table, "advice", out);
        if (perf->advice_count > table.row_count)
            bytes_append_format(out, "<p class=\"dim\">The first %zu of %zu lines.</p>\n", table.row_count,
                                perf->advice_count);
    }
    table_free(&table);
}

/* What the host did while the device waited. */
static void append_host_zones(const struct perf *perf, struct bytes *out)
{
    struct table table;
    double share = perf->total_us > 0 ? perf->total_gap_us / perf->total_us * 100 : 0;
    if (perf->host_zone_count == 0)
        return;
    perf_make_host_zones_table(perf, HOST_ZONES_MAX, &table);
    bytes_append_format(
        out,
        "<h2>What the host did in the gaps</h2>\n<p>The device waited for %.1f %% of the time. The "
        "innermost zone of each thread, at moments spread over the longest gaps; threads run side by "
        "side, so that shares may sum up to more than 100 %%.</p>\n",
        share);
    html_append_table(&table, "host-zones", out);
    if (perf->host_zone_count > table.row_count)
        bytes_append_format(out, "<p class=\"dim\">The first %zu of %zu zones.</p>\n", table.row_count,
                            perf->host_zone_count);
    table_free(&table);
}

static void append_groups(const struct perf *perf, bool is_classic, struct bytes *out)
{
    struct table table;
    perf_make_groups_table(perf, 0, &table);
    bytes_append_format(out, "<h2>Time by %s</h2>\n", perf_group_by_text(perf->options.group_by));
    bytes_append_text(out,
                      "<p class=\"dim\">CCL: collectives between devices; TM: changes of a tensor's shape or "
                      "layout; DM: data movement.</p>\n");
    perf_svg_append_groups(&perf->groups, is_classic, out);
    html_append_table(&table, "groups", out);
    table_free(&table);
}

static void append_ops(const struct perf *perf, const struct perf_selection *selection, struct bytes *out)
{
    struct number_text folded;
    struct table table;
    perf_make_ops_table(perf, selection, PERF_FOR_PEOPLE, &table);
    bytes_append_text(out, "<h2>Ops</h2>\n");
    html_append_find(out, "ops");
    html_append_table(&table, "ops", out);
    if (selection && selection->folded_count)
        bytes_append_format(out, "<p>%zu more ops that are not shown: %s, %.1f %% %s.</p>\n",
                            selection->folded_count, perf_format_us(&folded, selection->folded_us),
                            selection->folded_percent, perf_share_text(perf));
    bytes_append_text(
        out, "<p class=\"dim\">F and B after a model: its FLOPs or bytes are at most (&lt;=) or at least "
             "(&gt;=) what was counted; L~: links were assumed.</p>\n");
    table_free(&table);
}

static void append_notes(const struct perf *perf, struct bytes *out)
{
    bool is_any = false;
    for (size_t i = 0; i < perf->notes.count; i++) {
        if (perf->notes.items[i].level != PERF_NOTE_WARN)
            continue;
        bytes_append_text(out, is_any ? "<li>" : "<h2>Notes</h2>\n<ul><li>");
        html_append_text(out, perf->notes.items[i].text);
        if (perf->notes.items[i].count > 1)
            bytes_append_format(out, " (and %llu more)",
                                (unsigned long long)(perf->notes.items[i].count - 1));
        bytes_append_text(out, "</li>\n");
        is_any = true;
    }
    if (is_any)
        bytes_append_text(out, "</ul>\n");
}

/* What the figures are measured against, which ops they are about, and what the gaps look like. */
static void append_basis(const struct perf *perf, struct bytes *page)
{
    struct bytes text = {0};
    perf_append_window(perf, &text);
    bytes_append_text(page, "<p class=\"dim\">");
    if (perf->has_machine) {
        bytes_append_text(page, "measured against ");
        html_append_text(page, perf->machine->title);
        bytes_append_format(page, ": %.0f cores, %.0f GB/s, %.1f TFLOP/s at HiFi2", perf->worker_cores,
                            perf->machine->dram_gb_s,
                            perf->machine->tflops_per_core[PERF_HIFI2] * perf->worker_cores);
    } else {
        bytes_append_text(page, "what this machine can do is not known: no rooflines");
    }
    if (text.length > 1 && !text.failed) {
        bytes_append_text(page, "<br>");
        html_append_text(page, bytes_text(&text));
        bytes_append_text(page, " (--ignore-signposts takes all)");
    }
    bytes_append_text(page, "</p>\n");
    bytes_clear(&text);
    perf_append_gap_verdict(perf, &text);
    if (text.length > 1 && !text.failed) {
        bytes_append_text(page, "<p class=\"bad\">");
        html_append_text(page, bytes_text(&text));
        bytes_append_text(page, "</p>\n");
    }
    page->failed |= text.failed;
    bytes_free(&text);
}

static void append_roofline(const struct perf *perf, struct bytes *page)
{
    if (!perf->has_machine)
        return;
    bytes_append_text(
        page, "<h2>Roofline</h2>\n<p>Each op that computes and reads DRAM, as large as its share of the "
              "run; the nearer to its roof, the better.</p>\n");
    perf_svg_append_roofline(perf, page);
}

int perf_html_write(const struct perf *perf, const struct perf_html *html, FILE *out, struct error *err)
{
    struct bytes page = {0};
    html_page_begin(&page, html->title);
    append_basis(perf, &page);
    append_facts(perf, &page);
    if (html->has_advice)
        append_advice(perf, &page);
    append_host_zones(perf, &page);
    if (html->has_groups)
        append_groups(perf, html->is_classic, &page);
    append_roofline(perf, &page);
    append_ops(perf, html->selection, &page);
    append_notes(perf, &page);
    return html_page_finish(&page, out, err);
}
