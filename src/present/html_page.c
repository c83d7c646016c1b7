/* SPDX-License-Identifier: Apache-2.0 */
/* Cells carry the exact value for sorting, so that what is shown may be rounded. */
#include "present/html_page.h"

#include "base/count_of.h"
#include "present/assets.h"

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
    const char *name = style < COUNT_OF(names) ? names[style] : NULL;
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
    if (cell->kind == TABLE_CELL_TEXT) {
        bytes_append_format(out, "<td class=\"%s%s\">", about->shrink ? "text" : "", style);
    } else {
        double value = cell->kind == TABLE_CELL_REAL
                           ? cell->real
                           : (cell->is_negative ? -(double)cell->magnitude : (double)cell->magnitude);
        bytes_append_format(out, "<td class=\"n%s\" data-v=\"%.9g\">", style, value);
    }
    html_append_text(out, bytes_text(&text));
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
    bytes_append_format(page, "</title>\n<style>\n%s</style></head><body>\n<h1>", asset_page_css);
    html_append_text(page, title);
    bytes_append_text(page, "</h1>\n");
}

int html_page_finish(struct bytes *page, FILE *out, struct error *err)
{
    bytes_append_format(page, "<script>\n%s</script>\n</body></html>\n", asset_page_js);
    bool failed = page->failed;
    if (!failed)
        fwrite(page->data, 1, page->length, out);
    bytes_free(page);
    return failed ? error_no_memory(err, "the page") : 0;
}
