/* SPDX-License-Identifier: Apache-2.0 */
/* A table for a terminal. Each column is as wide as its widest cell. Where that does not fit, texts that may
 * shrink do so down to their least width; then columns are left out, the highest `drop` first, and the room
 * they leave goes back to the texts; then texts shrink below their least width, down to their headings, and only where
 * that is not enough are headings cut. Numbers are never cut. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "present/table.h"
#include "text/utf8.h"

#define GAP 2u
#define NARROWEST_TEXT 4u
#define LEAST_NAME 12u    /* columns for an indented text */
#define MOST_PADDING 100u /* without a limit: one long text does not widen all other rows */

struct layout {
    size_t *width;  /* of each column as it will be printed; */
    size_t *needed; /* and as it would like to be */
    bool *is_shown;
    size_t column_count;
};

static bool is_right_aligned(const struct table_column *column)
{
    return column->type != TABLE_TEXT;
}

/* Without a limit no text is cut, but a column is not padded to more than MOST_PADDING. */
static void measure(const struct table *table, struct layout *layout, bool is_limited)
{
    struct bytes text = {0};
    for (size_t c = 0; c < table->column_count; c++) {
        const struct table_column *column = &table->columns[c];
        layout->is_shown[c] = column->shown != TABLE_DATA_ONLY;
        if (!layout->is_shown[c])
            continue;
        size_t widest = utf8_width(column->title, strlen(column->title));
        for (size_t r = 0; r < table->row_count; r++) {
            const struct table_cell *cell = table_cell(table, r, c);
            size_t width;
            if (cell->kind == TABLE_CELL_TEXT) {
                width = 2u * cell->indent + utf8_width(table_cell_text(table, cell), cell->text_length);
            } else {
                bytes_clear(&text);
                table_append_cell(table, column, cell, &text);
                width = text.length; /* numbers are ASCII */
            }
            widest = width > widest ? width : widest;
        }
        if (!is_limited && column->type == TABLE_TEXT && widest > MOST_PADDING)
            widest = MOST_PADDING;
        layout->needed[c] = layout->width[c] = widest;
    }
    bytes_free(&text);
}

static size_t total_width(const struct layout *layout)
{
    size_t total = 0;
    for (size_t c = 0; c < layout->column_count; c++) {
        if (layout->is_shown[c])
            total += layout->width[c] + (total ? GAP : 0);
    }
    return total;
}

enum shrinking { TO_LEAST_WIDTH, TO_HEADING, TO_NARROWEST };

/* How narrow a text may become; SIZE_MAX: it stays as it is. */
static size_t least_width(const struct table_column *column, enum shrinking how)
{
    size_t heading = utf8_width(column->title, strlen(column->title));
    if (column->type != TABLE_TEXT || (how == TO_LEAST_WIDTH && !column->shrink))
        return SIZE_MAX;
    size_t least = how == TO_LEAST_WIDTH ? column->shrink : NARROWEST_TEXT;
    return how != TO_NARROWEST && heading > least ? heading : least;
}

/* Takes columns away from the widest text that may still shrink until it fits or none can. */
static void shrink_texts(const struct table *table, struct layout *layout, size_t limit, enum shrinking how)
{
    size_t total;
    while ((total = total_width(layout)) > limit) {
        size_t widest = SIZE_MAX;
        for (size_t c = 0; c < table->column_count; c++) {
            if (layout->is_shown[c] && layout->width[c] > least_width(&table->columns[c], how) &&
                (widest == SIZE_MAX || layout->width[c] > layout->width[widest]))
                widest = c;
        }
        if (widest == SIZE_MAX)
            return;
        layout->width[widest]--;
    }
}

/* The shown column to leave out next; SIZE_MAX when all others must stay. */
static size_t next_dropped(const struct table *table, const struct layout *layout)
{
    size_t choice = SIZE_MAX;
    for (size_t c = 0; c < table->column_count; c++) {
        if (layout->is_shown[c] && table->columns[c].drop &&
            (choice == SIZE_MAX || table->columns[c].drop >= table->columns[choice].drop))
            choice = c;
    }
    return choice;
}

static void widen_texts(struct layout *layout, size_t limit)
{
    size_t total = total_width(layout);
    for (size_t c = 0; c < layout->column_count && total < limit; c++) {
        if (!layout->is_shown[c] || layout->width[c] >= layout->needed[c])
            continue;
        size_t more = layout->needed[c] - layout->width[c];
        if (more > limit - total)
            more = limit - total;
        layout->width[c] += more;
        total += more;
    }
}

/* Returns how many columns were left out. */
static size_t fit(const struct table *table, struct layout *layout, size_t limit)
{
    size_t dropped = 0, choice;
    shrink_texts(table, layout, limit, TO_LEAST_WIDTH);
    while (total_width(layout) > limit && (choice = next_dropped(table, layout)) != SIZE_MAX) {
        layout->is_shown[choice] = false;
        dropped++;
    }
    shrink_texts(table, layout, limit, TO_HEADING);
    shrink_texts(table, layout, limit, TO_NARROWEST);
    widen_texts(layout, limit);
    return dropped;
}

static void pad(struct bytes *out, size_t columns)
{
    bytes_append_format(out, "%*s", (int)columns, "");
}

static const char *cut_mark(const struct table_look *look)
{
    return look->is_utf8 ? "\xe2\x80\xa6" : "..";
}

static void append_header(const struct table *table, const struct layout *layout,
                          const struct table_look *look, size_t last, struct bytes *out)
{
    bool is_first = true;
    if (look->is_coloured)
        bytes_append_text(out, table_style_begin(TABLE_BOLD));
    for (size_t c = 0; c <= last; c++) {
        const struct table_column *column = &table->columns[c];
        if (!layout->is_shown[c])
            continue;
        size_t length = strlen(column->title);
        size_t width = utf8_width(column->title, length);
        if (!is_first)
            pad(out, GAP);
        is_first = false;
        if (width > layout->width[c]) { /* a text column squeezed below its title */
            width = utf8_append_beginning(out, column->title, length, layout->width[c], cut_mark(look));
            length = 0;
        }
        if (is_right_aligned(column))
            pad(out, layout->width[c] - width);
        bytes_append(out, column->title, length);
        if (!is_right_aligned(column) && c != last)
            pad(out, layout->width[c] - width);
    }
    if (look->is_coloured)
        bytes_append_text(out, "\033[0m");
    bytes_append_text(out, "\n");
}

static void append_text_cell(const struct table *table, const struct table_cell *cell, size_t width,
                             bool is_last, const struct table_look *look, struct bytes *out)
{
    size_t indent = 2u * cell->indent;
    size_t wanted = utf8_width(table_cell_text(table, cell), cell->text_length);
    if (indent + wanted > width && look->width == 0)
        width = indent + wanted;   /* whole, whatever comes after it */
    if (indent + wanted > width) { /* deep in a tree: the name needs room more than the indentation */
        size_t least = wanted < LEAST_NAME ? wanted : LEAST_NAME;
        if (indent + least > width)
            indent = width > least ? width - least : 0;
    }
    pad(out, indent);
    size_t used = indent + utf8_append_shortened(out, table_cell_text(table, cell), cell->text_length,
                                                 width - indent, cut_mark(look));
    if (!is_last)
        pad(out, width - used);
}

static void append_row(const struct table *table, const struct layout *layout, const struct table_look *look,
                       size_t row, size_t last, struct bytes *out)
{
    struct bytes number = {0};
    bool is_first = true;
    for (size_t c = 0; c <= last; c++) {
        const struct table_column *column = &table->columns[c];
        const struct table_cell *cell = table_cell(table, row, c);
        if (!layout->is_shown[c])
            continue;
        if (!is_first)
            pad(out, GAP);
        is_first = false;
        unsigned style = cell->kind == TABLE_CELL_MISSING && !cell->style ? TABLE_DIM : cell->style;
        const char *begin = look->is_coloured ? table_style_begin(style) : "";
        bytes_append_text(out, begin);
        if (cell->kind == TABLE_CELL_TEXT && is_right_aligned(column)) { /* a number with a sign, a range */
            pad(out, layout->width[c] - utf8_width(table_cell_text(table, cell), cell->text_length));
            utf8_append_visible(out, table_cell_text(table, cell), cell->text_length);
        } else if (cell->kind == TABLE_CELL_TEXT) {
            append_text_cell(table, cell, layout->width[c], c == last, look, out);
        } else {
            bytes_clear(&number);
            table_append_cell(table, column, cell, &number);
            if (is_right_aligned(column))
                pad(out, layout->width[c] - number.length);
            bytes_append(out, number.data, number.length);
            if (!is_right_aligned(column) && c != last)
                pad(out, layout->width[c] - number.length);
        }
        if (*begin)
            bytes_append_text(out, "\033[0m");
    }
    bytes_append_text(out, "\n");
    bytes_free(&number);
}

static void append_dropped(const struct table *table, const struct layout *layout, size_t dropped,
                           const struct table_look *look, struct bytes *out)
{
    bytes_append_format(out,
                        "%s(%zu column%s not shown:", look->is_coloured ? table_style_begin(TABLE_DIM) : "",
                        dropped, dropped == 1 ? "" : "s");
    bool is_first = true;
    for (size_t c = 0; c < table->column_count; c++) {
        if (layout->is_shown[c] || table->columns[c].shown == TABLE_DATA_ONLY)
            continue;
        bytes_append_format(out, "%s %s", is_first ? "" : ",", table->columns[c].title);
        is_first = false;
    }
    bytes_append_format(out, "; --wide shows %s)%s\n", dropped == 1 ? "it" : "them",
                        look->is_coloured ? "\033[0m" : "");
}

void table_append_terminal(const struct table *table, const struct table_look *look, struct bytes *out)
{
    size_t count = table->column_count;
    if (!count)
        return;
    struct layout layout = {
        .width = calloc(count, sizeof(size_t)),
        .needed = calloc(count, sizeof(size_t)),
        .is_shown = calloc(count, sizeof(bool)),
        .column_count = count,
    };
    if (layout.width && layout.needed && layout.is_shown) {
        measure(table, &layout, look->width != 0);
        size_t dropped = look->width ? fit(table, &layout, look->width) : 0;
        size_t last = 0;
        for (size_t c = 0; c < count; c++)
            last = layout.is_shown[c] ? c : last;
        append_header(table, &layout, look, last, out);
        for (size_t r = 0; r < table->row_count; r++)
            append_row(table, &layout, look, r, last, out);
        if (dropped)
            append_dropped(table, &layout, dropped, look, out);
    } else {
        out->failed = true;
    }
    free(layout.width);
    free(layout.needed);
    free(layout.is_shown);
}
