/* SPDX-License-Identifier: Apache-2.0 */
/* The page is written from the same tables as the terminal's; cells carry the exact value for sorting. Everything that
 * comes from a file is escaped. */
#include "present/perf_html.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/perf_advice.h"
#include "present/perf_number.h"
#include "present/perf_svg.h"

static const char page_style[] =
    ":root{color-scheme:light dark;--line:#d5d7dd;--soft:#f4f5f8;--good:#1d7f45;--warn:#a86500;--bad:#bb2d2d}\n"
    "@media(prefers-color-scheme:dark){:root{--line:#3a3d46;--soft:#23252c;"
    "--good:#5fd08c;--warn:#f0b350;--bad:#ff7a70}}\n"
    "body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1280px;padding:20px 24px 60px}\n"
    "h1{font-size:22px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:17px;margin:34px 0 8px}\n"
    "p{margin:4px 0 10px}.dim{opacity:.7}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:10px;margin:14px 0}\n"
    ".fact{background:var(--soft);border-radius:8px;padding:8px 14px}.fact b{display:block;font-size:18px}\n"
    ".wide{overflow-x:auto;border:1px solid var(--line);border-radius:8px}\n"
    "table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:4px 9px;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}\n"
    "td.text{white-space:normal;overflow-wrap:break-word;min-width:270px;max-width:460px}\n"
    "th{background:var(--soft);position:sticky;top:0;cursor:pointer;user-select:none}\n"
    "td.n,th.n{text-align:right}tr:last-child td{border-bottom:0}tbody tr:hover{background:var(--soft)}\n"
    "th[aria-sort]::after{content:' \\2193'}th[aria-sort=ascending]::after{content:' \\2191'}\n"
    ".good{color:var(--good)}.warn{color:var(--warn)}.bad{color:var(--bad)}.bold{font-weight:600}\n"
    "input{font:inherit;padding:5px 9px;border:1px solid var(--line);border-radius:6px;margin:0 0 8px;width:300px}\n"
    "svg{width:100%;height:auto;display:block}\n";

static const char page_script[] =
    "for(const table of document.querySelectorAll('table')){\n"
    " const body=table.tBodies[0],first=[...body.rows];\n"
    " [...table.tHead.rows[0].cells].forEach((head,column)=>head.addEventListener('click',()=>{\n"
    "  const down=head.getAttribute('aria-sort')!=='descending';\n"
    "  for(const other of head.parentNode.cells)other.removeAttribute('aria-sort');\n"
    "  head.setAttribute('aria-sort',down?'descending':'ascending');\n"
    "  const key=row=>{const cell=row.cells[column],v=cell.dataset.v;return v===undefined?cell.textContent:+v};\n"
    "  const empty=row=>row.cells[column].textContent==='';\n"
    "  const rows=first.slice().sort((a,b)=>{\n"
    "   if(empty(a)||empty(b))return empty(a)-empty(b);\n"
    "   const x=key(a),y=key(b),both=typeof x==='number'&&typeof y==='number';\n"
    "   const order=both?x-y:String(x).localeCompare(String(y));\n"
    "   return down?-order:order});\n"
    "  body.append(...rows)}));\n"
    "}\n"
    "const find=document.getElementById('find');\n"
    "find.addEventListener('input',()=>{const text=find.value.toLowerCase();\n"
    " for(const row of document.querySelectorAll('#ops tbody tr'))\n"
    "  row.hidden=!row.textContent.toLowerCase().includes(text)});\n";

static void append_fact(struct bytes *out, const char *title, double value, int decimals, const char *unit)
{
    if (isnan(value))
        return;
    bytes_append_text(out, "<div class=\"fact\"><b>");
    perf_append_grouped(out, value, decimals);
    bytes_append_format(out, "%s%s</b>%s</div>\n", *unit ? " " : "", unit, title);
}

static void append_facts(const struct perf *perf, struct bytes *out)
{
    double seconds = perf->busy_us * 1e-6;
    bytes_append_text(out, "<div class=\"facts\">\n");
    append_fact(out, "device ops", (double)perf->device_op_count, 0, "");
    if (perf->host_op_count)
        append_fact(out, "host ops", (double)perf->host_op_count, 0, "");
    append_fact(out, "device time", perf->total_time_us, 1, "us");
    append_fact(out, "gaps", perf->total_gap_us, 1, "us");
    if (perf->overlap_us > 0)
        append_fact(out, "overlap", perf->overlap_us, 1, "us");
    if (seconds > 0 && perf->total_dram_bytes > 0)
        append_fact(out, "DRAM, while busy",
                    perf->total_dram_bytes / seconds / 1e9 / perf->machine->dram_gb_s * 100, 1, "%");
    if (seconds > 0 && perf->total_flops > 0)
        append_fact(out, "while busy", perf->total_flops / seconds / 1e12, 2, "TFLOP/s");
    append_fact(out, "advice could save", perf->advice_gain_us, 1, "us");
    bytes_append_text(out, "</div>\n");
}

static const char *class_of(unsigned style)
{
    static const char *const names[] = {
        [TABLE_GOOD] = " good", [TABLE_WARN] = " warn", [TABLE_BAD] = " bad", [TABLE_BOLD] = " bold"};
    const char *name = style < sizeof names / sizeof names[0] ? names[style] : NULL;
    return name ? name : "";
}

static void append_cell(const struct table *table, size_t row, size_t column, struct bytes *out)
{
    const struct table_column *about = &table->columns[column];
    const struct table_cell *cell = table_cell(table, row, column);
    const char *style = class_of(cell->style);
    struct bytes text = {0};
    if (cell->kind == TABLE_CELL_MISSING) {
        bytes_append_format(out, "<td%s></td>", about->type == TABLE_TEXT ? "" : " class=\"n\"");
        return;
    }
    if (cell->kind == TABLE_CELL_TEXT)
        bytes_append(&text, table_cell_text(table, cell), cell->text_length);
    else
        table_append_cell(table, about, cell, &text);
    bytes_append_u8(&text, 0);
    if (cell->kind == TABLE_CELL_TEXT) {
        bytes_append_format(out, "<td class=\"%s%s\">", about->shrink ? "text" : "", style);
    } else {
        double value = cell->kind == TABLE_CELL_REAL
                           ? cell->real
                           : (cell->is_negative ? -(double)cell->magnitude : (double)cell->magnitude);
        bytes_append_format(out, "<td class=\"n%s\" data-v=\"%.9g\">", style, value);
    }
    perf_svg_append_text(out, text.failed ? "" : (const char *)text.data);
    bytes_append_text(out, "</td>");
    bytes_free(&text);
}

static void append_table(const struct table *table, const char *id, struct bytes *out)
{
    bytes_append_format(out, "<div class=\"wide\"><table id=\"%s\"><thead><tr>", id);
    for (size_t c = 0; c < table->column_count; c++) {
        if (table->columns[c].shown != TABLE_DATA_ONLY)
            bytes_append_format(out, "<th%s>%s</th>",
                                table->columns[c].type == TABLE_TEXT ? "" : " class=\"n\"",
                                table->columns[c].title);
    }
    bytes_append_text(out, "</tr></thead><tbody>\n");
    for (size_t r = 0; r < table->row_count; r++) {
        bytes_append_text(out, "<tr>");
        for (size_t c = 0; c < table->column_count; c++) {
            if (table->columns[c].shown != TABLE_DATA_ONLY)
                append_cell(table, r, c, out);
        }
        bytes_append_text(out, "</tr>\n");
    }
    bytes_append_text(out, "</tbody></table></div>\n");
    out->failed |= table->failed;
}

static void append_advice(const struct perf *perf, struct bytes *out)
{
    struct table table;
    perf_make_advice_table(perf, 40, &table);
    bytes_append_text(out, "<h2>Advice, by what it would save</h2>\n");
    if (perf->advice_count == 0) {
        bytes_append_text(out, "<p>Nothing to say: every op reaches the target.</p>\n");
    } else {
        bytes_append_format(out,
                            "<p>If all of it were done: %.1f us (%.1f %% of the run), up to %.0f %% of each "
                            "roofline.</p>\n",
                            perf->advice_gain_us,
                            perf->total_us > 0 ? perf->advice_gain_us / perf->total_us * 100 : 0,
                            perf->options.target_percent);
        append_table(&table, "advice", out);
        if (perf->advice_count > table.row_count)
            bytes_append_format(out, "<p class=\"dim\">The first %zu of %zu lines.</p>\n", table.row_count,
                                perf->advice_count);
    }
    table_free(&table);
}

static void append_groups(const struct perf *perf, bool is_classic, struct bytes *out)
{
    struct table table;
    perf_make_groups_table(perf, 0, &table);
    bytes_append_format(out, "<h2>Time by %s</h2>\n", perf_group_by_text(perf->options.group_by));
    perf_svg_append_groups(perf, is_classic, out);
    append_table(&table, "groups", out);
    table_free(&table);
}

static void append_ops(const struct perf *perf, const struct perf_selection *selection, struct bytes *out)
{
    struct table table;
    perf_make_ops_table(perf, selection, &table);
    bytes_append_text(out, "<h2>Ops</h2>\n<input id=\"find\" type=\"search\" placeholder=\"Find\" "
                           "aria-label=\"Find in the table\">\n");
    append_table(&table, "ops", out);
    if (selection && selection->folded_count)
        bytes_append_format(out, "<p>%zu more ops that are not shown: %.1f us, %.1f %% of the run.</p>\n",
                            selection->folded_count, selection->folded_us, selection->folded_percent);
    bytes_append_text(
        out, "<p class=\"dim\">F and B behind a model: its FLOPs or bytes are at most (&lt;=) or at least "
             "(&gt;=) what was counted; L~: links were assumed.</p>\n");
    table_free(&table);
}

static void append_notes(const struct perf *perf, struct bytes *out)
{
    bool is_any = false;
    for (size_t i = 0; i < perf->note_count; i++) {
        if (perf->notes[i].level != PERF_NOTE_WARN)
            continue;
        bytes_append_text(out, is_any ? "<li>" : "<h2>Notes</h2>\n<ul><li>");
        perf_svg_append_text(out, perf->notes[i].text);
        if (perf->notes[i].count > 1)
            bytes_append_format(out, " (and %llu more)", (unsigned long long)(perf->notes[i].count - 1));
        bytes_append_text(out, "</li>\n");
        is_any = true;
    }
    if (is_any)
        bytes_append_text(out, "</ul>\n");
}

int perf_html_write(const struct perf *perf, const struct perf_html *html, FILE *out, struct error *err)
{
    struct bytes page = {0};
    bytes_append_text(&page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                             "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    perf_svg_append_text(&page, html->title);
    bytes_append_format(&page, "</title>\n<style>\n%s</style></head><body>\n<h1>", page_style);
    perf_svg_append_text(&page, html->title);
    bytes_append_text(&page, "</h1>\n<p class=\"dim\">measured against ");
    perf_svg_append_text(&page, perf->machine->title);
    bytes_append_format(&page, ": %.0f cores, %.0f GB/s, %.1f TFLOP/s at HiFi2</p>\n", perf->worker_cores,
                        perf->machine->dram_gb_s,
                        perf->machine->tflops_per_core[PERF_HIFI2] * perf->worker_cores);
    append_facts(perf, &page);
    if (html->has_advice)
        append_advice(perf, &page);
    if (html->has_groups)
        append_groups(perf, html->is_classic, &page);
    bytes_append_text(
        &page, "<h2>Roofline</h2>\n<p>Each op that computes and reads DRAM, as large as its share of the "
               "run; the nearer to its roof, the better.</p>\n");
    perf_svg_append_roofline(perf, &page);
    append_ops(perf, html->selection, &page);
    append_notes(perf, &page);
    bytes_append_format(&page, "<script>\n%s</script>\n</body></html>\n", page_script);
    bool failed = page.failed;
    if (!failed)
        fwrite(page.data, 1, page.length, out);
    bytes_free(&page);
    return failed ? error_set(err, ENOMEM, "no memory for the page") : 0;
}
