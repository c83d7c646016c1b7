/* SPDX-License-Identifier: Apache-2.0 */
/* What all pages share: one self-contained file (no network, no other file), light and dark, tables that sort by a
 * click on a heading and can be searched. A page is put together in memory:
 *
 *     struct bytes page = {0};
 *     html_page_begin(&page, "Host overhead");
 *     bytes_append_text(&page, "<div class=\"facts\">");
 *     html_append_fact(&page, "ops", "383");
 *     bytes_append_text(&page, "</div>");
 *     html_append_find(&page, "ops");
 *     html_append_table(&table, "ops", &page);
 *     html_page_finish(&page, out, &err);
 *
 * Everything that comes from a file goes through html_append_text. */
#ifndef OPSCOPE_PRESENT_HTML_PAGE_H
#define OPSCOPE_PRESENT_HTML_PAGE_H

#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "present/table.h"
#include "text/markup_write.h"

/* Head, styles and <h1>. Classes: facts, wide, dim, good, warn, bad, bold. */
void html_page_begin(struct bytes *page, const char *title);
/* Ends the page, writes it and frees it. */
int html_page_finish(struct bytes *page, FILE *out, struct error *err);

/* A figure above its name, inside <div class="facts">. */
void html_append_fact(struct bytes *out, const char *title, const char *value);
/* A field that hides the rows of the table `id` that do not hold what is typed. */
void html_append_find(struct bytes *out, const char *id);

void html_append_table(const struct table *table, const char *id, struct bytes *out);

/* The same with drawings: the cells of `column` are what `draw` appends. */
struct html_drawn_column {
    size_t column;
    void (*draw)(const void *context, size_t row, struct bytes *out);
    const void *context;
};
void html_append_drawn_table(const struct table *table, const char *id, const struct html_drawn_column *drawn,
                             struct bytes *out);

#endif
