/* SPDX-License-Identifier: Apache-2.0 */
/* Cells carry the exact value for sorting, so that what is shown may be rounded. */
#include "present/html_page.h"

#include <errno.h>
#include <string.h>

#include "text/utf8.h"

static const char page_style[] =
    ":root{color-scheme:light dark;--line:#d5d7dd;--soft:#f4f5f8;--good:#1d7f45;--warn:#a86500;--bad:#bb2d2d}\n"
    "@media(prefers-color-scheme:dark){:root{--line:#3a3d46;--soft:#23252c;"
    "--good:#5fd08c;--warn:#f0b350;--bad:#ff7a70}}\n"
    "body{font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1280px;padding:20px 24px 60px}\n"
    "h1{font-size:22px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:17px;margin:34px 0 8px}\n"
    "p{margin:4px 0 10px}.dim{opacity:.7}\n"
    ".facts{display:flex;flex-wrap:wrap;gap:10px;margin:14px 0}\n"
    ".fact{background:var(--soft);border-radius:8px;padding:8px 14px}.fact b{display:block;font-size:18px}\n"
    ".wide{overflow:auto;max-height:85vh;border:1px solid var(--line);border-radius:8px}\n"
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
    "for(const find of document.querySelectorAll('input[type=search]'))\n"
    " find.addEventListener('input',()=>{const text=find.value.toLowerCase();\n"
    "  for(const row of document.querySelectorAll('#'+find.dataset.table+' tbody tr'))\n"
    "   row.hidden=!row.textContent.toLowerCase().includes(text)});\n";

void html_append_text(struct bytes *out, const char *text)
{
    struct bytes visible = {0};
    utf8_append_visible(&visible, text, strlen(text));
    for (size_t i = 0; i < visible.length; i++) {
        switch (visible.data[i]) {
        case '&':
            bytes_append_text(out, "&amp;");
            break;
        case '<':
            bytes_append_text(out, "&lt;");
            break;
        case '>':
            bytes_append_text(out, "&gt;");
            break;
        case '"':
            bytes_append_text(out, "&quot;");
            break;
        case '\'':
            bytes_append_text(out, "&#39;");
            break;
        default:
            bytes_append_u8(out, visible.data[i]);
        }
    }
    bytes_free(&visible);
}

void html_append_fact(struct bytes *out, const char *title, const char *value)
{
    bytes_append_text(out, "<div class=\"fact\"><b>");
    html_append_text(out, value);
    bytes_append_text(out, "</b>");
    html_append_text(out, title);
    bytes_append_text(out, "</div>\n");
}

void html_append_find(struct bytes *out, const char *id)
{
    bytes_append_format(out,
                        "<input type=\"search\" data-table=\"%s\" placeholder=\"Find\" "
                        "aria-label=\"Find in the table\">\n",
                        id);
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
    html_append_text(out, text.failed ? "" : (const char *)text.data);
    bytes_append_text(out, "</td>");
    bytes_free(&text);
}

void html_append_drawn_table(const struct table *table, const char *id, const struct html_drawn_column *drawn,
                             struct bytes *out)
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
            if (table->columns[c].shown != TABLE_DATA_ONLY) {
                if (drawn && drawn->column == c) {
                    bytes_append_text(out, "<td>");
                    drawn->draw(drawn->context, r, out);
                    bytes_append_text(out, "</td>");
                } else {
                    append_cell(table, r, c, out);
                }
            }
        }
        bytes_append_text(out, "</tr>\n");
    }
    bytes_append_text(out, "</tbody></table></div>\n");
    out->failed |= table->failed;
}

void html_append_table(const struct table *table, const char *id, struct bytes *out)
{
    html_append_drawn_table(table, id, NULL, out);
}

void html_page_begin(struct bytes *page, const char *title)
{
    bytes_append_text(page, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                            "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    html_append_text(page, title);
    bytes_append_format(page, "</title>\n<style>\n%s</style></head><body>\n<h1>", page_style);
    html_append_text(page, title);
    bytes_append_text(page, "</h1>\n");
}

int html_page_finish(struct bytes *page, FILE *out, struct error *err)
{
    bytes_append_format(page, "<script>\n%s</script>\n</body></html>\n", page_script);
    bool failed = page->failed;
    if (!failed)
        fwrite(page->data, 1, page->length, out);
    bytes_free(page);
    return failed ? error_set(err, ENOMEM, "no memory for the page") : 0;
}
