/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about the input beside the report: which cell is not what its column should hold, in which file and
 * line, and what follows from that. Of each kind the first is reported, and how many more there were.
 *
 * Empty cells are reported only where a table has the column and the op needs it: of sources without lines (traces, log
 * folders) the cells are made by their readers, which report themselves what is missing. */
#include <math.h>
#include <string.h>

#include "base/utf8_valid.h"
#include "compat/tt_perf_report/ttpr.h"

#define SHOWN_MAX 40u
#define STALE_NS 1e6

static const char *current_path(const struct ttpr *perf)
{
    return ttpr_text(perf, perf->paths[perf->file_count - 1]);
}

/* --- cells that hold the wrong thing --- */

static void note_cell(struct ttpr *perf, const void *kind, size_t column, struct slice cell, uint64_t line,
                      const char *expected, const char *consequence)
{
    char name[64];
    ttpr_note(perf, PERF_NOTE_WARN, kind, "%s:%llu: column '%s': '%.*s%s' is not %s; %s", current_path(perf),
              (unsigned long long)line, ttpr_column_name(column, perf->has_old_header, name, sizeof name),
              (int)(cell.length < SHOWN_MAX ? cell.length : SHOWN_MAX), cell.data,
              cell.length > SHOWN_MAX ? "..." : "", expected, consequence);
}

void ttpr_note_bad_cell(struct ttpr *perf, size_t column, struct slice cell, uint64_t line,
                        const char *expected)
{
    static const char kinds[TTPR_COLUMNS];
    note_cell(perf, &kinds[column], column, cell, line, expected, "taken as missing");
}

void ttpr_note_kept_cell(struct ttpr *perf, size_t column, struct slice cell, uint64_t line,
                         const char *expected)
{
    static const char kinds[TTPR_COLUMNS];
    note_cell(perf, &kinds[column], column, cell, line, expected,
              "used all the same, as tt-perf-report does: do not trust this row");
}

void ttpr_note_name(struct ttpr *perf, struct slice name, uint64_t line)
{
    static const char kind_empty[] = "empty", kind_word[] = "no name", kind_nul[] = "NUL",
                      kind_bytes[] = "not UTF-8";
    const char *path = current_path(perf);
    unsigned long long at = line;
    if (name.length == 0)
        ttpr_note(perf, PERF_NOTE_WARN, kind_empty, "%s:%llu: column 'OP CODE' is empty; shown as (no name)",
                  path, at);
    else if (cell_is_missing(name))
        ttpr_note(perf, PERF_NOTE_WARN, kind_word,
                  "%s:%llu: column 'OP CODE': '%.*s' stands for a missing value; %s", path, at,
                  (int)name.length, name.data, "taken as the op's name");
    else if (memchr(name.data, 0, name.length))
        ttpr_note(perf, PERF_NOTE_WARN, kind_nul, "%s:%llu: column 'OP CODE' holds a NUL byte; %s", path, at,
                  "the name ends there");
    else if (!utf8_is_valid(name.data, name.length))
        ttpr_note(perf, PERF_NOTE_WARN, kind_bytes,
                  "%s:%llu: column 'OP CODE' is not UTF-8 text; what cannot be shown is replaced", path, at);
}

/* --- cells that hold nothing --- */

static void note_empty(struct ttpr *perf, const struct ttpr_row *row, const struct ttpr_source *source,
                       size_t column, const char *consequence)
{
    static const char kinds[TTPR_COLUMNS];
    char name[64];
    if (perf->has_column[column] && source->cells[column].data) /* else the reader has said it */
        ttpr_note(perf, PERF_NOTE_WARN, &kinds[column], "%s:%llu: column '%s' is empty; %s",
                  current_path(perf), (unsigned long long)row->line,
                  ttpr_column_name(column, perf->has_old_header, name, sizeof name), consequence);
}

/* Of a tensor that a row has, all cells should be there. */
static void note_tensor(struct ttpr *perf, const struct ttpr_row *row, const struct ttpr_source *source,
                        size_t t)
{
    const struct slice *cells = source->cells + TTPR_TENSOR + t * TTPR_TENSOR_CELLS;
    if (!source->tensors[t].is_present)
        return;
    for (size_t i = 0; i < TTPR_TENSOR_CELLS; i++) {
        if (cell_is_missing(cells[i]))
            note_empty(perf, row, source, TTPR_TENSOR + t * TTPR_TENSOR_CELLS + i,
                       i < 4 ? "figures that need this size are missing" : "no figures are made of this op");
    }
}

static void note_model_cells(struct ttpr *perf, const struct ttpr_row *row, const struct ttpr_source *source)
{
    static const char kind_fidelity[] = "fidelity", kind_window[] = "window";
    double height, width;
    if (source->fidelity.length == 0)
        note_empty(perf, row, source, TTPR_FIDELITY, "its share of the FLOPs is not known");
    else if (row->fidelity == PERF_FIDELITY_UNKNOWN || (row->fidelity == PERF_HIFI3 && !ttpr_is_1_4(perf)))
        note_cell(perf, kind_fidelity, TTPR_FIDELITY, source->fidelity, row->line,
                  "a fidelity that this release of tt-perf-report knows",
                  "its share of the FLOPs is not known");
    if (row->is_conv && source->attributes.length && !ttpr_conv_window(source->attributes, &height, &width))
        ttpr_note(perf, PERF_NOTE_WARN, kind_window,
                  "%s:%llu: column 'ATTRIBUTES' of a convolution has no window_hw; its FLOPs are not known",
                  current_path(perf), (unsigned long long)row->line);
}

void ttpr_note_missing_cells(struct ttpr *perf, const struct ttpr_row *row, const struct ttpr_source *source)
{
    static const char kind_zero[] = "zero";
    const struct slice *cells = source->cells;
    if (row->line == 0 || row->kind != TTPR_DEVICE_OP)
        return;
    if (cell_is_missing(cells[TTPR_OP_TYPE]))
        note_empty(perf, row, source, TTPR_OP_TYPE, "taken as an op of the device");
    if (cell_is_missing(cells[TTPR_DURATION]))
        note_empty(perf, row, source, TTPR_DURATION, "the op's time is not known");
    else if (row->duration_ns == 0)
        ttpr_note(perf, PERF_NOTE_WARN, kind_zero,
                  "%s:%llu: column '%s' is 0; no figures can be made of an op that took no time",
                  current_path(perf), (unsigned long long)row->line, "DEVICE KERNEL DURATION [ns]");
    if (cell_is_missing(cells[TTPR_CORES]) && !row->is_duration_missing)
        note_empty(perf, row, source, TTPR_CORES, "its share of the FLOPs is not known");
    if (cell_is_missing(cells[TTPR_CALL]))
        note_empty(perf, row, source, TTPR_CALL, "the op's call is not known");
    if (row->is_matmul || row->is_conv)
        note_model_cells(perf, row, source);
    note_tensor(perf, row, source, TTPR_IN0);
    note_tensor(perf, row, source, TTPR_IN1);
    note_tensor(perf, row, source, TTPR_OUT);
}

void ttpr_note_if_stale(struct ttpr *perf, const struct ttpr_row *row)
{
    static const char kind_stale[] = "stale";
    bool is_stale = row->kind == TTPR_DEVICE_OP && row->gap_ns < -STALE_NS &&
                    -row->gap_ns > fmax(row->duration_ns / 2, STALE_NS);
    if (is_stale)
        ttpr_note(
            perf, PERF_NOTE_WARN, kind_stale,
            "%s:%llu: column 'OP TO OP LATENCY [ns]': a gap of %.0f ns before an op of %.0f ns cannot be "
            "(stale counters of a replayed trace); used all the same, as tt-perf-report does",
            ttpr_text(perf, perf->paths[row->file]), (unsigned long long)row->line, row->gap_ns,
            row->duration_ns);
}
