/* SPDX-License-Identifier: Apache-2.0 */
/* The op table as text, in the original's layout. Rows are formatted twice: once for the widths, once to be
 * written, so that memory does not follow the number of rows. */
#include "base/count_of.h"
#include "compat/tt_perf_report/ttpr.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "present/report/number.h"
#include "text/utf8.h"

enum column {
    COLUMN_ID,
    COLUMN_TOTAL,
    COLUMN_BOUND,
    COLUMN_OP,
    COLUMN_DEVICE,
    COLUMN_SUB_DEVICE, /* these two only where they say something */
    COLUMN_TIME,
    COLUMN_GAP,
    COLUMN_CORES,
    COLUMN_AVAILABLE,
    COLUMN_DRAM,
    COLUMN_DRAM_PERCENT,
    COLUMN_FLOPS,
    COLUMN_FLOPS_PERCENT,
    COLUMN_FIDELITY,
    COLUMNS
};

static const char *const titles[COLUMNS] = {
    "ID",    "Total %",         "Bound", "OP Code", "Device", "Sub Device ID", "Device Time",  "Op-to-Op Gap",
    "Cores", "Available Cores", "DRAM",  "DRAM %",  "FLOPs",  "FLOPs %",       "Math Fidelity"};

/* Terminal colours of the original: numbers of the 256-colour palette; 0 = none. */
enum colour {
    PLAIN = 0,
    GREY = 8,
    RED = 9,
    GREEN = 10,
    YELLOW = 11,
    BLUE = 12,
    MAGENTA = 13,
    CYAN = 14,
    WHITE = 15,
    ORANGE = 208
};

struct cell {
    struct bytes text; /* visible */
    size_t split;      /* bytes before the blank that keeps its own colour; 0 = none */
    unsigned colour;
};

struct writer {
    const struct ttpr *perf;
    bool is_coloured;
    FILE *out;
    struct bytes line;
    struct cell cells[COLUMNS];
    size_t widths[COLUMNS];
};

static bool has_column(const struct writer *w, unsigned column)
{
    return column == COLUMN_SUB_DEVICE  ? w->perf->shows_sub_devices
           : column == COLUMN_AVAILABLE ? w->perf->shows_available_cores
                                        : true;
}

static size_t code_points(const struct bytes *text)
{
    size_t count = 0;
    for (size_t i = 0; i < text->length; i++)
        count += (text->data[i] & 0xc0) != 0x80;
    return count;
}

static void set_number(struct cell *cell, double value, int decimals, const char *unit)
{
    if (isnan(value))
        return;
    perf_append_grouped(&cell->text, value, decimals);
    if (unit) {
        cell->split = cell->text.length;
        bytes_append_text(&cell->text, " ");
        bytes_append_text(&cell->text, unit);
    }
}

/* A text that reads as a number is shown as one, as the original does. */
static void set_text(struct cell *cell, const char *text)
{
    double value;
    if (cell_number((struct slice){text, strlen(text)}, &value) == NUMBER_WHOLE ||
        (!isnan(value) && *text != 0)) {
        perf_append_grouped(&cell->text, value, 0);
        return;
    }
    utf8_append_visible(&cell->text, text, strlen(text));
}

#define SIGN "\xf0\x9f\xaa\xa7 "
#define SIGN_COLUMNS 2u

static void set_op(struct cell *cell, const struct ttpr *perf, const struct ttpr_row *row)
{
    static const char *const split_names[] = {"Matmul", "OptimizedConvNew", "Conv2dDeviceOperation",
                                              "HaloDeviceOperation"};
    const char *shown = ttpr_text(perf, row->shown);
    if (row->kind == TTPR_SIGNPOST) {
        bytes_append_text(&cell->text, SIGN);
        utf8_append_visible(&cell->text, shown, strlen(shown));
        return;
    }
    set_text(cell, shown);
    for (size_t i = 0; i < COUNT_OF(split_names); i++) {
        const uint8_t *blank =
            memchr(cell->text.data ? (const void *)cell->text.data : "", ' ', cell->text.length);
        if (strstr(shown, split_names[i]) && blank)
            cell->split = (size_t)(blank - cell->text.data);
    }
}

static void fill_cells(struct writer *w, const struct ttpr_row *row)
{
    struct cell *cells = w->cells;
    for (unsigned i = 0; i < COLUMNS; i++) {
        bytes_clear(&cells[i].text);
        cells[i].split = 0;
        cells[i].colour = PLAIN;
    }
    bytes_append_format(&cells[COLUMN_ID].text, "%" PRIu64, row->id);
    set_number(&cells[COLUMN_TOTAL], row->total_percent, 1, "%");
    bytes_append_text(&cells[COLUMN_BOUND].text, perf_bound_text(row->bound));
    set_op(&cells[COLUMN_OP], w->perf, row);
    if (row->device != PERF_NO_NUMBER)
        set_number(&cells[COLUMN_DEVICE], row->device, 0, NULL);
    if (w->perf->shows_sub_devices) {
        const char *sub_device = ttpr_text(w->perf, row->sub_device);
        utf8_append_visible(&cells[COLUMN_SUB_DEVICE].text, sub_device, strlen(sub_device));
    }
    if (w->perf->shows_available_cores)
        set_number(&cells[COLUMN_AVAILABLE], row->available_cores, 0, NULL);
    set_number(&cells[COLUMN_TIME], row->time_us, 0, "\xce\xbcs");
    set_number(&cells[COLUMN_GAP], row->shown_gap_us, 0, "\xce\xbcs");
    set_number(&cells[COLUMN_CORES], row->cores, 0, NULL);
    set_number(&cells[COLUMN_DRAM], row->dram_gb_s, 0, "GB/s");
    set_number(&cells[COLUMN_DRAM_PERCENT], row->dram_percent, 1, "%");
    set_number(&cells[COLUMN_FLOPS], row->tflops, 1, "TFLOPs");
    set_number(&cells[COLUMN_FLOPS_PERCENT], row->flops_percent, 1, "%");
    if (row->fidelity_text != TTPR_NO_TEXT)
        set_text(&cells[COLUMN_FIDELITY], ttpr_text(w->perf, row->fidelity_text));
}

/* --- colours --- */

static unsigned op_colour(const char *name)
{
    static const struct {
        const char *part;
        unsigned colour;
    } rules[] = {{"(torch)", RED},
                 {"Matmul", MAGENTA},
                 {"OptimizedConvNew", ORANGE},
                 {"Conv2d", ORANGE},
                 {"LayerNorm", CYAN},
                 {"AllGather", CYAN},
                 {"AllReduce", CYAN},
                 {"ScaledDotProductAttentionDecode", BLUE},
                 {"ScaledDotProductAttentionGQADecode", BLUE},
                 {"NlpCreateHeadsDeviceOperation", BLUE},
                 {"NLPConcatHeadsDecodeDeviceOperation", BLUE},
                 {"UpdateCache", BLUE}};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        if (strstr(name, rules[i].part))
            return rules[i].colour;
    }
    return WHITE;
}

static void colour_bound(struct cell *cells, const struct ttpr_row *row)
{
    bool is_dram_larger = row->dram_percent > row->flops_percent;
    switch (row->bound) {
    case PERF_BOUND_DRAM:
        cells[COLUMN_BOUND].colour = cells[COLUMN_DRAM].colour = cells[COLUMN_DRAM_PERCENT].colour = GREEN;
        break;
    case PERF_BOUND_FLOP:
        cells[COLUMN_BOUND].colour = cells[COLUMN_FLOPS].colour = cells[COLUMN_FLOPS_PERCENT].colour = GREEN;
        break;
    case PERF_BOUND_SLOW:
        cells[COLUMN_BOUND].colour = YELLOW;
        cells[is_dram_larger ? COLUMN_DRAM : COLUMN_FLOPS].colour = YELLOW;
        cells[is_dram_larger ? COLUMN_DRAM_PERCENT : COLUMN_FLOPS_PERCENT].colour = YELLOW;
        break;
    case PERF_BOUND_HOST:
        cells[COLUMN_BOUND].colour = RED;
        break;
    default:
        break;
    }
}

/* Green: all that it was given; red: few of them. */
static unsigned cores_colour(const struct ttpr *perf, const struct ttpr_row *row)
{
    bool is_new = ttpr_is_1_4(perf);
    if (isnan(row->cores))
        return GREY;
    if (is_new && row->is_dram_sharded)
        return GREEN;
    if (row->cores < 10 && (!is_new || row->cores < row->available_cores / 2))
        return RED;
    return row->cores == (is_new ? row->available_cores : 64) ? GREEN : PLAIN;
}

static void colour_cells(struct writer *w, const struct ttpr_row *row)
{
    struct cell *cells = w->cells;
    const char *name = ttpr_text(w->perf, row->shown);
    if (row->total_percent < w->perf->request->min_percent && row->kind != TTPR_HOST_OP) {
        for (unsigned i = 0; i < COLUMNS; i++)
            cells[i].colour = GREY;
        return;
    }
    cells[COLUMN_OP].colour = op_colour(name);
    cells[COLUMN_CORES].colour = cores_colour(w->perf, row);
    colour_bound(cells, row);
    if (row->shown_gap_us > 6.5)
        cells[COLUMN_GAP].colour = RED;
    if (strstr(name, "Matmul") || strstr(name, "OptimizedConvNew")) {
        static const unsigned colours[] = {[PERF_VERDICT_SUFFICIENT] = GREEN,
                                           [PERF_VERDICT_TOO_HIGH] = RED,
                                           [PERF_VERDICT_TOO_LOW] = CYAN,
                                           [PERF_VERDICT_NONE] = WHITE};
        struct perf_matmul matmul = ttpr_matmul_of(w->perf, row);
        cells[COLUMN_FIDELITY].colour = colours[perf_fidelity_verdict(&matmul, NULL)];
    }
}

/* --- lines --- */

static void append_coloured(struct bytes *line, unsigned colour, const uint8_t *text, size_t length)
{
    if (colour)
        bytes_append_format(line, "\x1b[38;5;%um", colour);
    bytes_append(line, text, length);
    if (colour)
        bytes_append_text(line, "\x1b[0m");
}

static void append_cell(struct writer *w, unsigned column, bool is_left)
{
    struct cell *cell = &w->cells[column];
    size_t width = code_points(&cell->text);
    size_t blanks = w->widths[column] > width ? w->widths[column] - width : 0;
    unsigned colour = w->is_coloured ? cell->colour : PLAIN;
    for (size_t i = 0; i < blanks && !is_left; i++)
        bytes_append_u8(&w->line, ' ');
    if (cell->split && colour) {
        append_coloured(&w->line, colour, cell->text.data, cell->split);
        bytes_append_u8(&w->line, ' ');
        append_coloured(&w->line, colour, cell->text.data + cell->split + 1,
                        cell->text.length - cell->split - 1);
    } else if (cell->text.length) {
        append_coloured(&w->line, colour, cell->text.data, cell->text.length);
    }
    for (size_t i = 0; i < blanks && is_left; i++)
        bytes_append_u8(&w->line, ' ');
}

static void write_cells(struct writer *w, bool is_header)
{
    bytes_clear(&w->line);
    for (unsigned i = 0; i < COLUMNS; i++) {
        if (!has_column(w, i))
            continue;
        if (i > 0)
            bytes_append_text(&w->line, "  ");
        append_cell(w, i, is_header || i == COLUMN_OP);
    }
    bytes_append_text(&w->line, "\n");
    fwrite(w->line.data, 1, w->line.length, w->out);
}

static void write_row(struct writer *w, const struct ttpr_row *row)
{
    fill_cells(w, row);
    if (w->is_coloured)
        colour_cells(w, row);
    write_cells(w, false);
}

static void write_rule(struct writer *w)
{
    size_t length = 0;
    for (unsigned i = 0; i < COLUMNS; i++)
        length += has_column(w, i) ? w->widths[i] + (i > 0 ? 2 : 0) : 0;
    bytes_clear(&w->line);
    for (size_t i = 0; i < length; i++)
        bytes_append_u8(&w->line, '-');
    bytes_append_text(&w->line, "\n");
    fwrite(w->line.data, 1, w->line.length, w->out);
}

static void fill_footer(struct writer *w)
{
    const struct ttpr *perf = w->perf;
    static const struct ttpr_row nothing;
    fill_cells(w, &nothing);
    for (unsigned i = 0; i < COLUMNS; i++) {
        bytes_clear(&w->cells[i].text);
        w->cells[i].split = 0;
        w->cells[i].colour = GREY;
    }
    set_number(&w->cells[COLUMN_TOTAL], 100, 1, "%");
    bytes_append_format(&w->cells[COLUMN_OP].text,
                        "%" PRIu64 " device ops, %" PRIu64 " host ops, %" PRIu64 " signposts",
                        perf->device_op_count, perf->host_op_count, perf->signpost_count);
    set_number(&w->cells[COLUMN_TIME], perf->total_time_us, 0, "\xce\xbcs");
    set_number(&w->cells[COLUMN_GAP], perf->total_gap_us, 0, "\xce\xbcs");
    set_number(&w->cells[COLUMN_DRAM], perf->all_dram_gb_s, 0, "GB/s");
    set_number(&w->cells[COLUMN_DRAM_PERCENT], perf->all_dram_percent, 1, "%");
}

static void widen(struct writer *w)
{
    for (unsigned i = 0; i < COLUMNS; i++) {
        size_t width = code_points(&w->cells[i].text);
        w->widths[i] = width > w->widths[i] ? width : w->widths[i];
    }
}

/* The original counts the mark " (signpost)" that its CSV has, and prints the shorter sign in its place. */
static void widen_for_signpost(struct writer *w)
{
    size_t width = code_points(&w->cells[COLUMN_OP].text) - SIGN_COLUMNS + sizeof " (signpost)" - 1;
    if (width > w->widths[COLUMN_OP])
        w->widths[COLUMN_OP] = width;
}

static void find_widths(struct writer *w)
{
    struct bytes id = {0};
    for (unsigned i = 0; i < COLUMNS; i++)
        w->widths[i] = strlen(titles[i]);
    w->widths[COLUMN_DEVICE] = 7;
    for (size_t i = 0; i < w->perf->count; i++) {
        const struct ttpr_row *row = ttpr_at(w->perf, i);
        fill_cells(w, row);
        widen(w);
        bytes_clear(&id);
        perf_append_grouped(&id, (double)row->id,
                            0); /* the original counts the comma that it does not print */
        if (id.length > w->widths[COLUMN_ID])
            w->widths[COLUMN_ID] = id.length;
        if (row->kind == TTPR_SIGNPOST)
            widen_for_signpost(w);
    }
    bytes_free(&id);
}

/* --- advice --- */

static void write_section(struct writer *w, const char *title)
{
    fprintf(w->out, "%s\n", title);
    for (size_t i = 0; i < strlen(title); i++)
        fputc('-', w->out);
    fputc('\n', w->out);
}

static void write_gap_advice(struct writer *w)
{
    double saved = 0;
    bool is_any = false;
    for (size_t i = 0; i < w->perf->count; i++) {
        const struct ttpr_row *row = ttpr_at(w->perf, i);
        if (!(row->shown_gap_us > 6.5))
            continue;
        if (!is_any)
            write_section(w, "High Op-to-Op Gap");
        is_any = true;
        write_row(w, row);
        saved += row->shown_gap_us - 6;
    }
    if (is_any)
        fprintf(
            w->out,
            "\nThe device stood idle for more than 6 \xce\xbcs before each of these. Replaying a recorded trace would "
            "save about %.0f \xce\xbcs (%.1f%% of the whole).\n\n",
            saved, w->perf->total_us != 0 ? saved / w->perf->total_us * 100 : 0);
}

/* Where the original ends with an error (no shape, no time, no cores, a fidelity it does not know), nothing is good. */
static bool is_judged(const struct ttpr_row *row)
{
    return row->has_shape && !row->lacks_active && row->duration_ns != 0 && row->cores != 0 &&
           row->fidelity != PERF_HIFI3 && row->fidelity != PERF_FIDELITY_UNKNOWN;
}

static void write_matmul_advice(struct writer *w)
{
    bool is_any = false;
    for (size_t i = 0; i < w->perf->count; i++) {
        const struct ttpr_row *row = ttpr_at(w->perf, i);
        struct perf_matmul_advice advice;
        if (!row->is_matmul)
            continue;
        if (!is_any)
            write_section(w, "Matmul Optimization");
        is_any = true;
        write_row(w, row);
        struct perf_matmul matmul = ttpr_matmul_of(w->perf, row);
        perf_advise_matmul(&matmul, &advice);
        for (size_t k = 0; k < advice.count; k++)
            fprintf(w->out, "- %s\n", advice.texts[k]);
        if (row->lacks_active)
            fprintf(w->out, "- %s\n", TTPR_LACKS_ACTIVE);
        else if (advice.count == 0 && is_judged(row))
            fprintf(w->out, "\xe2\x9c\x85 Optimized\n");
        else if (advice.count == 0)
            fprintf(w->out, "nothing is known: cells of this row are missing\n");
        fputc('\n', w->out);
    }
}

static void write_advice(struct writer *w)
{
    bool is_any = false;
    fprintf(w->out, "\n\xf0\x9f\x92\xa1 Advice \xf0\x9f\x92\xa1\n============\n\n");
    for (size_t i = 0; i < w->perf->count; i++) {
        const struct ttpr_row *row = ttpr_at(w->perf, i);
        if (row->kind != TTPR_HOST_OP)
            continue;
        if (!is_any)
            write_section(w, "Fallback");
        is_any = true;
        write_row(w, row);
    }
    if (is_any)
        fprintf(w->out,
                "\nThese ran on the host; the device waits for them. Use an op that runs on the device.\n\n");
    write_gap_advice(w);
    write_matmul_advice(w);
}

int ttpr_write_table(const struct ttpr *perf, bool is_coloured, FILE *out, struct error *err)
{
    struct writer w = {.perf = perf, .is_coloured = is_coloured, .out = out};
    find_widths(&w);
    fprintf(out, "\n\xf0\x9f\x9a\x80 Performance Report \xf0\x9f\x9a\x80\n========================\n\n");
    for (unsigned i = 0; i < COLUMNS; i++) {
        bytes_clear(&w.cells[i].text);
        bytes_append_text(&w.cells[i].text, titles[i]);
        w.cells[i].split = 0;
        w.cells[i].colour = PLAIN;
    }
    write_cells(&w, true);
    write_rule(&w);
    for (size_t i = 0; i < perf->count; i++)
        write_row(&w, ttpr_at(perf, i));
    write_rule(&w);
    fill_footer(&w);
    write_cells(&w, false);
    if (perf->request->has_advice)
        write_advice(&w);
    bool failed = w.line.failed;
    for (unsigned i = 0; i < COLUMNS; i++) {
        failed |= w.cells[i].text.failed;
        bytes_free(&w.cells[i].text);
    }
    bytes_free(&w.line);
    return failed ? error_set(err, ENOMEM, "no memory to write the table") : 0;
}
