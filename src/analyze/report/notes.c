/* SPDX-License-Identifier: Apache-2.0 */
/* What is said about the input beside the report: which cell is not what its column should hold, in which file and
 * line, and what follows from that. Of each kind the first is told, and how many more there were.
 *
 * Empty cells are told only where a table has the column and the op needs it: of sources without lines (traces, log
 * folders) the cells are made by their readers, which tell themselves what is missing. */
#include "analyze/report/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8_valid.h"

#define SHOWN_MAX 40u

void perf_note(struct perf *perf, enum perf_note_level level, const void *kind, const char *format, ...)
{
    char text[600];
    va_list args;
    for (size_t i = 0; kind && i < perf->note_count; i++) {
        if (perf->notes[i].kind == kind) {
            perf->notes[i].count++;
            return;
        }
    }
    if (!array_reserve(&perf->notes, &perf->note_capacity, perf->note_count + 1, sizeof *perf->notes)) {
        perf->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *copy = strdup(text);
    if (copy)
        perf->notes[perf->note_count++] = (struct perf_note){level, copy, kind, 1};
}

static const char *current_path(const struct perf *perf)
{
    return perf_text(perf, perf->paths[perf->file_count - 1]);
}

/* --- cells that hold the wrong thing --- */

static void note_cell(struct perf *perf, const void *kind, size_t column, struct slice cell, uint64_t line,
                      const char *expected, const char *consequence)
{
    char name[64];
    perf_note(perf, PERF_NOTE_WARN, kind, "%s:%llu: column '%s': '%.*s%s' is not %s; %s", current_path(perf),
              (unsigned long long)line, perf_column_name(column, perf->has_old_header, name, sizeof name),
              (int)(cell.length < SHOWN_MAX ? cell.length : SHOWN_MAX), cell.data,
              cell.length > SHOWN_MAX ? "..." : "", expected, consequence);
}

void perf_note_bad_cell(struct perf *perf, size_t column, struct slice cell, uint64_t line,
                        const char *expected)
{
    static const char kinds[PERF_COLUMNS];
    note_cell(perf, &kinds[column], column, cell, line, expected, "taken as missing");
}

void perf_note_kept_cell(struct perf *perf, size_t column, struct slice cell, uint64_t line,
                         const char *expected)
{
    static const char kinds[PERF_COLUMNS];
    note_cell(perf, &kinds[column], column, cell, line, expected,
              "used all the same, as tt-perf-report does: do not trust this row");
}

void perf_note_name(struct perf *perf, struct slice name, uint64_t line)
{
    static const char kind_empty[] = "empty", kind_word[] = "no name", kind_nul[] = "NUL",
                      kind_bytes[] = "not UTF-8";
    const char *path = current_path(perf);
    unsigned long long at = line;
    if (name.length == 0)
        perf_note(perf, PERF_NOTE_WARN, kind_empty, "%s:%llu: column 'OP CODE' is empty; shown as (no name)",
                  path, at);
    else if (cell_is_missing(name))
        perf_note(perf, PERF_NOTE_WARN, kind_word,
                  "%s:%llu: column 'OP CODE': '%.*s' stands for a missing value; %s", path, at,
                  (int)name.length, name.data,
                  perf->options.compat ? "taken as the op's name" : "shown as (no name)");
    else if (memchr(name.data, 0, name.length))
        perf_note(perf, PERF_NOTE_WARN, kind_nul, "%s:%llu: column 'OP CODE' holds a NUL byte; %s", path, at,
                  perf->options.compat ? "the name ends there" : "shown as \\x00");
    else if (!utf8_is_valid(name.data, name.length))
        perf_note(perf, PERF_NOTE_WARN, kind_bytes,
                  "%s:%llu: column 'OP CODE' is not UTF-8 text; what cannot be shown is replaced", path, at);
}

/* --- cells that hold nothing --- */

static void note_empty(struct perf *perf, const struct perf_row *row, const struct perf_source *source,
                       size_t column, const char *consequence)
{
    static const char kinds[PERF_COLUMNS];
    char name[64];
    if (perf->has_column[column] && source->cells[column].data) /* else the reader has told */
        perf_note(perf, PERF_NOTE_WARN, &kinds[column], "%s:%llu: column '%s' is empty; %s",
                  current_path(perf), (unsigned long long)row->line,
                  perf_column_name(column, perf->has_old_header, name, sizeof name), consequence);
}

/* Of a tensor that a row has, all cells should be there. */
static void note_tensor(struct perf *perf, const struct perf_row *row, const struct perf_source *source,
                        size_t t)
{
    const struct slice *cells = source->cells + PERF_TENSOR + t * PERF_TENSOR_CELLS;
    if (!source->tensors[t].is_present)
        return;
    for (size_t i = 0; i < PERF_TENSOR_CELLS; i++) {
        if (cell_is_missing(cells[i]))
            note_empty(perf, row, source, PERF_TENSOR + t * PERF_TENSOR_CELLS + i,
                       i < 4                  ? "figures that need this size are missing"
                       : perf->options.compat ? "no figures are made of this op"
                                              : "the tensor is left out of its bytes");
    }
}

static void note_model_cells(struct perf *perf, const struct perf_row *row, const struct perf_source *source)
{
    static const char kind_fidelity[] = "fidelity", kind_window[] = "window";
    double height, width;
    if (source->fidelity.length == 0)
        note_empty(perf, row, source, PERF_FIDELITY, "no share of the FLOPs can be told");
    else if (row->fidelity == PERF_FIDELITY_UNKNOWN || (perf->options.compat && row->fidelity == PERF_HIFI3))
        note_cell(perf, kind_fidelity, PERF_FIDELITY, source->fidelity, row->line,
                  perf->options.compat ? "a fidelity that tt-perf-report 1.2.4 knows" : "a known fidelity",
                  "no share of the FLOPs is told");
    if (row->is_conv && source->attributes.length && !perf_conv_window(source->attributes, &height, &width))
        perf_note(perf, PERF_NOTE_WARN, kind_window,
                  "%s:%llu: column 'ATTRIBUTES' of a convolution has no window_hw; its FLOPs are not known",
                  current_path(perf), (unsigned long long)row->line);
}

void perf_note_missing_cells(struct perf *perf, const struct perf_row *row, const struct perf_source *source)
{
    static const char kind_zero[] = "zero";
    const struct slice *cells = source->cells;
    if (row->line == 0 || row->kind != PERF_DEVICE_OP)
        return;
    if (cell_is_missing(cells[PERF_OP_TYPE]))
        note_empty(perf, row, source, PERF_OP_TYPE, "taken as an op of the device");
    if (cell_is_missing(cells[PERF_DURATION]))
        note_empty(perf, row, source, PERF_DURATION, "the op's time is not known");
    else if (row->duration_ns == 0)
        perf_note(perf, PERF_NOTE_WARN, kind_zero,
                  "%s:%llu: column '%s' is 0; no figures can be made of an op that took no time",
                  current_path(perf), (unsigned long long)row->line, "DEVICE KERNEL DURATION [ns]");
    if (cell_is_missing(cells[PERF_CORES]) && !row->is_duration_missing)
        note_empty(perf, row, source, PERF_CORES,
                   perf->options.compat ? "no share of the FLOPs can be told"
                                        : "its FLOPs are measured against all cores it may use");
    if (cell_is_missing(cells[PERF_CALL]))
        note_empty(perf, row, source, PERF_CALL, "the op's call is not known");
    if (row->is_matmul || row->is_conv)
        note_model_cells(perf, row, source);
    note_tensor(perf, row, source, PERF_IN(0));
    note_tensor(perf, row, source, PERF_IN(1));
    note_tensor(perf, row, source, PERF_OUT(0));
}

void perf_note_stale(struct perf *perf, const struct perf_row *row)
{
    static const char kind_stale[] = "stale";
    perf_note(
        perf, PERF_NOTE_WARN, kind_stale,
        "%s:%llu: column 'OP TO OP LATENCY [ns]': a gap of %.0f ns before an op of %.0f ns cannot be (stale "
        "counters of a replayed trace); %s",
        perf_text(perf, perf->paths[row->file]), (unsigned long long)row->line, row->gap_ns, row->duration_ns,
        perf->options.compat ? "used all the same, as tt-perf-report does" : "both are left out");
}
