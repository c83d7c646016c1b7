/* SPDX-License-Identifier: Apache-2.0 */
/* The page has two drawings beside the tables: bars of the slowest ops, with what synchronisation adds, and in each row
 * of the ranked table a strip with one mark a repeat. A strip has a scale of its own, from the op's minimum to its 99th
 * percentile: what matters is the shape (one peak, two, a tail), and where the reference lies in it. */
#include "present/overhead/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "present/format.h"
#include "present/html_page.h"
#include "present/overhead/tables.h"
#include "text/utf8.h"

#define BARS 30u
#define STRIP_WIDTH 220.0
#define STRIP_HEIGHT 22.0
#define STRIP_MARKS 400u /* of a long run every n-th repeat is drawn */

/* --- bars of the slowest ops --- */

static void append_short(struct bytes *out, const char *text, size_t columns)
{
    struct bytes shortened = {0};
    utf8_append_shortened(&shortened, text, strlen(text), columns, "\xe2\x80\xa6");
    html_append_text(out, bytes_text(&shortened));
    bytes_free(&shortened);
}

static void append_bar(const struct overhead_op *op, double y, double scale, struct bytes *out)
{
    struct number_text dispatch, total;
    double width = scale * op->min_ns, whole = isnan(op->mean_total_ns) ? 0 : scale * op->mean_total_ns;
    bytes_append_format(
        out, "<text x=\"300\" y=\"%.1f\" font-size=\"12\" text-anchor=\"end\" fill=\"currentColor\">",
        y + 13);
    append_short(out, op->name, 44);
    bytes_append_format(out, "</text><g><title>");
    html_append_text(out, op->name);
    bytes_append_format(out, ": min dispatch %s", format_time_real(&dispatch, op->min_ns));
    if (!isnan(op->mean_total_ns))
        bytes_append_format(out, ", mean dispatch + sync %s", format_time_real(&total, op->mean_total_ns));
    bytes_append_text(out, "</title>");
    if (whole > width)
        bytes_append_format(out,
                            "<rect x=\"308\" y=\"%.1f\" width=\"%.2f\" height=\"16\" fill=\"#2670be\" "
                            "fill-opacity=\".28\"/>",
                            y, whole);
    bytes_append_format(out,
                        "<rect x=\"308\" y=\"%.1f\" width=\"%.2f\" height=\"16\" fill=\"#2670be\"/></g>"
                        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"12\" fill=\"currentColor\">%s</text>\n",
                        y, width, 314 + fmax(width, whole), y + 13, dispatch.text);
}

static void append_bars(const struct overhead_run *run, const size_t *order, size_t count, struct bytes *out)
{
    double most = 0;
    size_t rows = 0;
    while (rows < count && rows < BARS && !isnan(run->ops[order[rows]].min_ns)) {
        const struct overhead_op *op = &run->ops[order[rows++]];
        most = fmax(most, fmax(op->min_ns, isnan(op->mean_total_ns) ? 0 : op->mean_total_ns));
    }
    if (rows == 0 || !(most > 0))
        return;
    bytes_append_format(
        out,
        "<h2>The %zu slowest to dispatch</h2>\n<p>Dark: the least time a call took to return. "
        "Pale: the mean until its work was done.</p>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 %zu\" "
        "font-family=\"system-ui, sans-serif\" role=\"img\" aria-label=\"Slowest ops\">\n",
        rows, rows * 22);
    for (size_t i = 0; i < rows; i++)
        append_bar(&run->ops[order[i]], (double)i * 22, 560 / most, out);
    bytes_append_text(out, "</svg>\n");
}

/* --- strips --- */

struct strips {
    const struct overhead_run *run;
    const struct overhead_gate *gate;
    const size_t *order;
};

static double place(double value, double low, double high)
{
    double at = high > low ? (value - low) / (high - low) : 0;
    return 4 + (STRIP_WIDTH - 8) * fmin(fmax(at, 0), 1);
}

static void append_mark(struct bytes *out, double x, const char *colour, const char *what, double ns)
{
    struct number_text text;
    bytes_append_format(out,
                        "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"1\" y2=\"%.0f\" stroke=\"%s\" "
                        "stroke-width=\"2\"><title>%s %s</title></line>",
                        x, x, STRIP_HEIGHT - 1, colour, what, format_time_real(&text, ns));
}

/* The reference on this machine: what the gate expected. */
static double expected_ns(const struct overhead_gate *gate, const char *name)
{
    for (size_t i = 0; gate && i < gate->row_count; i++) {
        if (strcmp(gate->rows[i].name, name) == 0)
            return gate->rows[i].reference_ns * gate->factor;
    }
    return NAN;
}

static void append_repeats(const struct overhead_op *op, double low, double high, struct bytes *out)
{
    size_t step = op->repeat_count / STRIP_MARKS + 1;
    bytes_append_text(out, "<path stroke=\"currentColor\" stroke-opacity=\".4\" d=\"");
    for (size_t i = 0; i < op->repeat_count; i += step) {
        if (op->dispatch_ns[i] <= high)
            bytes_append_format(out, "M%.1f 6V%.0f", place(op->dispatch_ns[i], low, high), STRIP_HEIGHT - 6);
    }
    bytes_append_text(out, "\"/>");
}

static void draw_strip(const void *context, size_t row, struct bytes *out)
{
    const struct strips *strips = context;
    const struct overhead_op *op = &strips->run->ops[strips->order[row]];
    double expected = expected_ns(strips->gate, op->name);
    double low = op->min_ns, high = isnan(op->p99_ns) ? op->mean_ns : op->p99_ns;
    if (isnan(low) || isnan(high))
        return;
    if (!isnan(expected)) {
        low = fmin(low, expected);
        high = fmax(high, expected);
    }
    if (!(high > low * 1.02)) /* all alike: show it so */
        high = low * 1.02 + 1;
    bytes_append_format(out,
                        "<svg class=\"strip\" style=\"width:%.0fpx;height:%.0fpx\" viewBox=\"0 0 %.0f %.0f\">"
                        "<line x1=\"4\" x2=\"%.0f\" y1=\"%.0f\" y2=\"%.0f\" stroke=\"currentColor\" "
                        "stroke-opacity=\".25\"/>",
                        STRIP_WIDTH, STRIP_HEIGHT, STRIP_WIDTH, STRIP_HEIGHT, STRIP_WIDTH - 4,
                        STRIP_HEIGHT / 2, STRIP_HEIGHT / 2);
    if (!isnan(op->ci_low_ns))
        bytes_append_format(out,
                            "<rect x=\"%.1f\" y=\"3\" width=\"%.1f\" height=\"%.0f\" fill=\"#2670be\" "
                            "fill-opacity=\".25\"><title>95 %% interval of the median</title></rect>",
                            place(op->ci_low_ns, low, high),
                            place(op->ci_high_ns, low, high) - place(op->ci_low_ns, low, high),
                            STRIP_HEIGHT - 6);
    if (op->repeat_count)
        append_repeats(op, low, high, out);
    if (!isnan(op->p50_ns))
        append_mark(out, place(op->p50_ns, low, high), "#2670be", "median", op->p50_ns);
    append_mark(out, place(op->min_ns, low, high), "#228654", "least", op->min_ns);
    if (!isnan(expected))
        append_mark(out, place(expected, low, high), "#cc6616", "reference", expected);
    bytes_append_text(out, "</svg>");
}

/* --- the page --- */

static void append_count(struct bytes *out, const char *title, size_t count)
{
    struct number_text text;
    html_append_fact(out, title, format_count(&text, count));
}

static void append_facts(const struct overhead_run *run, struct bytes *out)
{
    size_t measured = 0, left_out = 0, failed = 0;
    struct number_text text;
    for (size_t i = 0; i < run->op_count; i++) {
        if (run->ops[i].is_calibration)
            continue;
        measured += run->ops[i].state == OVERHEAD_MEASURED;
        left_out += run->ops[i].state == OVERHEAD_LEFT_OUT;
        failed += run->ops[i].state != OVERHEAD_MEASURED && run->ops[i].state != OVERHEAD_LEFT_OUT;
    }
    bytes_append_text(out, "<div class=\"facts\">\n");
    append_count(out, "ops measured", measured);
    if (failed)
        append_count(out, "failed", failed);
    if (left_out)
        append_count(out, "left out", left_out);
    if (run->loop_ns > 0)
        html_append_fact(out, "a call of nothing, taken off", format_time_real(&text, run->loop_ns));
    if (!isnan(run->noise) && run->noise > 0)
        html_append_fact(out, run->is_noisy ? "noise: too much to trust small differences" : "noise",
                         format_percent(&text, run->noise * 100, 1));
    bytes_append_text(out, "</div>\n");
}

static void append_verdict_counts(const struct overhead_gate *gate, struct bytes *out)
{
    bytes_append_text(out, "<div class=\"facts\">\n");
    for (unsigned v = 0; v < OVERHEAD_VERDICTS; v++) {
        if (gate->counts[v])
            append_count(out, overhead_verdict_name((enum overhead_verdict)v), gate->counts[v]);
    }
    bytes_append_text(out, "</div>\n");
}

static void append_gate(const struct overhead_gate *gate, struct bytes *out)
{
    struct table table;
    bool passes = overhead_gate_passes(gate, false, false);
    bytes_append_format(out, "<h2>Gate: <span class=\"%s\">%s</span></h2>\n", passes ? "good" : "bad",
                        passes ? "passed" : "failed");
    if (gate->is_normalised)
        bytes_append_format(
            out,
            "<p>Compared with the reference, machines evened out by %zu calibration ops: this "
            "one takes %.3f times as long, and up to %.3f times that proves nothing. "
            "Tolerance %.2f; %u more rounds, %u of them quiet.</p>\n",
            gate->calibration_count, gate->factor, gate->margin, gate->tolerance, gate->rounds,
            gate->quiet_rounds);
    else
        bytes_append_format(
            out,
            "<p>Compared with the reference as it is (%s). Tolerance %.2f; %u more rounds, %u "
            "of them quiet.</p>\n",
            gate->why_absolute ? gate->why_absolute : "", gate->tolerance, gate->rounds, gate->quiet_rounds);
    append_verdict_counts(gate, out);
    overhead_make_gate_table(gate, false, &table);
    if (table.row_count)
        html_append_table(&table, "gate", out);
    table_free(&table);
    if (gate->calibration_count) {
        overhead_make_calibration_table(gate, &table);
        bytes_append_text(out, "<h2>Calibration</h2>\n");
        html_append_table(&table, "calibration", out);
        table_free(&table);
    }
}

static void append_source(const struct overhead_run *run, struct bytes *out)
{
    const char *const parts[] = {run->provider, run->provider_version, run->machine};
    bool is_any = false;
    bytes_append_text(out, "<p class=\"dim\">");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!parts[i] || !*parts[i])
            continue;
        bytes_append_text(out, is_any ? (i == 1 ? " " : ", ") : "");
        html_append_text(out, parts[i]);
        is_any = true;
    }
    if (!is_any)
        html_append_text(out, run->source ? run->source : "");
    bytes_append_text(out, "</p>\n");
}

static void append_failed(const struct overhead_run *run, struct bytes *out)
{
    struct table table;
    overhead_make_failed_table(run, &table);
    if (table.row_count) {
        bytes_append_text(out, "<h2>Not measured</h2>\n");
        html_append_table(&table, "failed", out);
    }
    table_free(&table);
}

/* Repeats, or at least percentiles: a plain CSV has neither. */
static bool has_distributions(const struct overhead_run *run)
{
    for (size_t i = 0; i < run->op_count; i++) {
        if (!isnan(run->ops[i].p50_ns))
            return true;
    }
    return false;
}

int overhead_html_write(const struct overhead_run *run, const struct overhead_gate *gate, const char *title,
                        FILE *out, struct error *err)
{
    struct bytes page = {0};
    struct overhead_times times;
    size_t count = 0;
    size_t *order = overhead_rank(run, &count);
    if (!order)
        return error_set(err, ENOMEM, "no memory for the page");
    html_page_begin(&page, title);
    append_source(run, &page);
    append_facts(run, &page);
    if (gate)
        append_gate(gate, &page);
    append_bars(run, order, count, &page);
    bytes_append_text(&page, "<h2>Ops by dispatch time</h2>\n");
    bool has_drawing = has_distributions(run);
    if (has_drawing)
        bytes_append_format(&page, "<p>A mark for each repeat; green: the least, blue: the middle%s.</p>\n",
                            gate ? ", orange: what the reference says for this machine" : "");
    html_append_find(&page, "ops");
    struct strips strips = {run, gate, order};
    struct html_drawn_column drawn = {OVERHEAD_TIMES_DRAWING, draw_strip, &strips};
    while (count && run->ops[order[count - 1]].state != OVERHEAD_MEASURED)
        count--; /* they are last, and have a table of their own */
    overhead_make_times_table(run, order, count, has_drawing, &times);
    html_append_drawn_table(&times.table, "ops", &drawn, &page);
    table_free(&times.table);
    append_failed(run, &page);
    free(order);
    return html_page_finish(&page, out, err);
}
