/* SPDX-License-Identifier: Apache-2.0 */
/* From cells to rows: the columns that are read, and what is kept of each row. */
#include "compat/tt_perf_report/ttpr.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const fixed_names[TTPR_TENSOR] = {
    [TTPR_OP_CODE] = "OP CODE",
    [TTPR_OP_TYPE] = "OP TYPE",
    [TTPR_CALL] = "GLOBAL CALL COUNT",
    [TTPR_DEVICE] = "DEVICE ID",
    [TTPR_ARCH] = "DEVICE ARCH",
    [TTPR_ATTRIBUTES] = "ATTRIBUTES",
    [TTPR_FIDELITY] = "MATH FIDELITY",
    [TTPR_CORES] = "CORE COUNT",
    [TTPR_AVAILABLE_CORES] = "AVAILABLE WORKER CORE COUNT",
    [TTPR_SUB_DEVICE] = "SUB DEVICE ID",
    [TTPR_HOST_START] = "HOST START TS",
    [TTPR_GAP] = "OP TO OP LATENCY [ns]",
    [TTPR_DURATION] = "DEVICE KERNEL DURATION [ns]",
};

const char *ttpr_column_name(size_t column, bool is_old_header, char *buffer, size_t size)
{
    static const char *const parts[TTPR_TENSOR_CELLS] = {"W", "Z", "Y", "X", "DATATYPE", "MEMORY"};
    if (column < TTPR_TENSOR)
        return fixed_names[column];
    static const char *const tensors[TTPR_TENSORS] = {"INPUT_0", "INPUT_1", "OUTPUT_0"};
    size_t part = (column - TTPR_TENSOR) % TTPR_TENSOR_CELLS;
    snprintf(buffer, size, "%s_%s%s", tensors[(column - TTPR_TENSOR) / TTPR_TENSOR_CELLS], parts[part],
             part < 4 && !is_old_header ? "_PAD[LOGICAL]" : "");
    return buffer;
}

uint32_t ttpr_intern(struct ttpr *perf, const void *data, size_t length)
{
    uint32_t id = intern_add(&perf->texts, length ? data : "", length);
    if (id == INTERN_NONE)
        perf->failed = true;
    return id;
}

const char *ttpr_text(const struct ttpr *perf, uint32_t id)
{
    return id == TTPR_NO_TEXT ? "" : intern_text(&perf->texts, id);
}

void ttpr_note(struct ttpr *perf, enum perf_note_level level, const void *kind, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    perf_notes_add_list(perf->notes, level, kind, format, arguments);
    va_end(arguments);
}

void ttpr_free(struct ttpr *perf)
{
    intern_free(&perf->texts);
    free(perf->rows);
    free(perf->order);
    free(perf->paths);
    perf_groups_free(&perf->groups);
    bytes_free(&perf->scratch);
    *perf = (struct ttpr){0};
}

/* --- files --- */

int ttpr_begin_file(struct ttpr *perf, const char *path, const bool *has, bool is_old_header,
                    struct error *err)
{
    if (!array_reserve(&perf->paths, &perf->file_capacity, perf->file_count + 1, sizeof *perf->paths))
        return error_set(err, ENOMEM, "no memory to read %s", path);
    perf->paths[perf->file_count++] = ttpr_intern(perf, path, strlen(path));
    perf->has_host_start |= has[TTPR_HOST_START];
    perf->has_arch_columns |= has[TTPR_ARCH] || has[TTPR_AVAILABLE_CORES];
    perf->has_old_header |= is_old_header;
    perf->file_device_max = -1;
    perf->file_first_row = perf->row_count;
    memcpy(perf->has_column, has, sizeof perf->has_column);
    if (!has[TTPR_DEVICE])
        return error_set(err, EINVAL, "%s:1: there is no column 'DEVICE ID'", path);
    return 0;
}

/* 1.4.1: a file that names no device says nothing of how many there are; devices that cannot be stay as they are. */
static void number_devices(struct ttpr *perf)
{
    int64_t base = perf->devices_per_file > 0 ? (int64_t)(perf->file_count - 1) * perf->devices_per_file : 0;
    for (size_t i = perf->file_first_row; i < perf->row_count; i++) {
        if (perf->rows[i].device != PERF_NO_NUMBER)
            perf->rows[i].device = (int32_t)((int64_t)perf->rows[i].device + base);
    }
}

int ttpr_end_file(struct ttpr *perf, struct error *err)
{
    int64_t devices = (int64_t)perf->file_device_max + 1;
    const char *path = ttpr_text(perf, perf->paths[perf->file_count - 1]);
    if (perf->row_count == perf->file_first_row)
        ttpr_note(perf, PERF_NOTE_WARN, NULL, "%s: there is no op in it", path);
    if (ttpr_is_1_4(perf) && devices == 0) {
        ttpr_note(perf, PERF_NOTE_WARN, NULL, "%s: column 'DEVICE ID' names no device", path);
    } else if (perf->devices_per_file < 0) {
        perf->devices_per_file = devices;
    } else if (devices != perf->devices_per_file) {
        return error_set(err, EINVAL,
                         "%s has %" PRId64 " devices (largest DEVICE ID %" PRId64 "), but %s has %" PRId64
                         ": files of one "
                         "run must have the same",
                         path, devices, devices - 1, ttpr_text(perf, perf->paths[0]), perf->devices_per_file);
    }
    if (ttpr_is_1_4(perf))
        number_devices(perf);
    return 0;
}

/* --- rows --- */

/* A value that its column should not hold: kept where the original keeps it, else missing. */
static double keep(struct ttpr *perf, const struct slice *cells, size_t column, uint64_t line,
                   const char *expected, double value)
{
    if (ttpr_is_1_4(perf)) {
        ttpr_note_bad_cell(perf, column, cells[column], line, expected);
        return NAN;
    }
    ttpr_note_kept_cell(perf, column, cells[column], line, expected);
    return value;
}

static double take_number(struct ttpr *perf, const struct slice *cells, size_t column, uint64_t line)
{
    double value;
    enum number_kind kind = cell_number(cells[column], &value);
    if (kind == NUMBER_BAD)
        ttpr_note_bad_cell(perf, column, cells[column], line, "a number");
    else if (isinf(value) || fabs(value) >= 9.2e18)
        return keep(perf, cells, column, line, "a number that can be", value);
    return value;
}

/* A count: whole and not negative. */
static double take_count(struct ttpr *perf, const struct slice *cells, size_t column, uint64_t line)
{
    double value = take_number(perf, cells, column, line);
    bool is_too_low = value < 0 || (value == 0 && (column == TTPR_CORES || ttpr_is_1_4(perf)));
    if (!isnan(value) && (is_too_low || value > 1048576 || floor(value) != value))
        return keep(perf, cells, column, line, "a count", value);
    return value;
}

static void take_device(struct ttpr *perf, struct ttpr_row *row, const struct slice *cells)
{
    double value = take_number(perf, cells, TTPR_DEVICE, row->line);
    row->device = PERF_NO_NUMBER;
    if (!isnan(value) && !(floor(value) == value && value >= 0 && value <= 1000000))
        value = keep(perf, cells, TTPR_DEVICE, row->line, "a device number", value);
    if (!(value > -1e9 && value < 1e9))
        return;
    if (value > perf->file_device_max)
        perf->file_device_max = value;
    int64_t base = !ttpr_is_1_4(perf) && perf->file_count > 1 && perf->devices_per_file > 0
                       ? (int64_t)(perf->file_count - 1) * perf->devices_per_file
                       : 0;
    row->device = (int32_t)((int64_t)value + base);
}

/* Beyond 2^53 a double is not exact: there are no figures for such sizes. */
static void take_size(struct ttpr *perf, struct ttpr_tensor *tensor, size_t t, unsigned part,
                      const struct slice *cell, double *value, uint64_t line)
{
    enum number_kind kind = cell_dimension(*cell, value);
    bool is_new = ttpr_is_1_4(perf);
    bool is_usable = kind == NUMBER_WHOLE &&
                     (is_new ? *value > 0 && *value <= 4294967296.0 : *value <= 9007199254740992.0);
    if (!is_usable) {
        tensor->has_shape = false;
        *value = is_new ? NAN : *value;
    }
    if (!is_usable && kind != NUMBER_MISSING)
        ttpr_note_bad_cell(perf, TTPR_TENSOR + t * TTPR_TENSOR_CELLS + part, *cell, line, "a size");
}

static void take_tensors(struct ttpr *perf, struct ttpr_source *source, uint64_t line)
{
    for (size_t t = 0; t < TTPR_TENSORS; t++) {
        const struct slice *cells = source->cells + TTPR_TENSOR + t * TTPR_TENSOR_CELLS;
        struct ttpr_tensor *tensor = &source->tensors[t];
        double *sizes[4] = {&tensor->w, &tensor->z, &tensor->y, &tensor->x};
        *tensor = (struct ttpr_tensor){0};
        if (ttpr_is_1_4(perf))
            tensor->w = tensor->z = tensor->y = tensor->x = NAN;
        if (!cells[3].length && !cells[4].length && !cells[5].length && !cells[0].length)
            continue;
        tensor->is_present = tensor->has_shape = true;
        for (unsigned i = 0; i < 4; i++)
            take_size(perf, tensor, t, i, &cells[i], sizes[i], line);
        tensor->type = cell_is_missing(cells[4]) ? (struct slice){0} : cells[4];
        tensor->memory = cell_is_missing(cells[5]) ? (struct slice){0} : cells[5];
    }
}

static void take_kind(struct ttpr_row *row, const struct ttpr_source *source)
{
    struct slice type = source->cells[TTPR_OP_TYPE];
    row->is_device_type = slice_is(type, "tt_dnn_device");
    row->kind = slice_is(type, "signpost")              ? TTPR_SIGNPOST
                : slice_has(source->op_code, "(torch)") ? TTPR_HOST_OP
                                                        : TTPR_DEVICE_OP;
}

static void take_times(struct ttpr *perf, struct ttpr_row *row, const struct slice *cells)
{
    int64_t start;
    double number;
    row->duration_ns = take_number(perf, cells, TTPR_DURATION, row->line);
    if (row->duration_ns < 0)
        row->duration_ns = keep(perf, cells, TTPR_DURATION, row->line, "a duration", row->duration_ns);
    row->gap_ns = take_number(perf, cells, TTPR_GAP, row->line);
    row->is_duration_missing = isnan(ttpr_is_1_4(perf) ? ttpr_usable_duration(row) : row->duration_ns);
    row->host_start_ns = INT64_MAX;
    if (cell_int64(cells[TTPR_HOST_START], &start)) {
        row->host_start_ns = start;
    } else {
        number = take_number(perf, cells, TTPR_HOST_START, row->line);
        if (fabs(number) < 9e18)
            row->host_start_ns = (int64_t)number;
    }
}

static void take_counts(struct ttpr *perf, struct ttpr_row *row, const struct slice *cells)
{
    enum number_kind call = cell_number(cells[TTPR_CALL], &row->call);
    row->call_text = call == NUMBER_BAD ? ttpr_intern_cell(perf, cells[TTPR_CALL]) : TTPR_NO_TEXT;
    if (call == NUMBER_MISSING || call == NUMBER_REAL)
        perf->call_is_float = true;
    row->cores = take_count(perf, cells, TTPR_CORES, row->line);
    if (isnan(row->cores) || floor(row->cores) != row->cores)
        perf->cores_is_float = true;
    row->available_cores = take_count(perf, cells, TTPR_AVAILABLE_CORES, row->line);
    if (!(row->available_cores > 0))
        row->available_cores = NAN;
}

/* The first one counts: all ops are measured against one machine. */
static void take_arch(struct ttpr *perf, const struct ttpr_row *row, struct slice arch)
{
    static const char kind_other_arch[] = "another architecture";
    if (perf->arch_text == TTPR_NO_TEXT) {
        perf->arch_text = ttpr_intern_cell(perf, arch);
        perf->arch_file = row->file;
        perf->arch_line = row->line;
    } else if (!slice_is(arch, ttpr_text(perf, perf->arch_text))) {
        ttpr_note(perf, PERF_NOTE_WARN, kind_other_arch,
                  "%s:%" PRIu64
                  ": column 'DEVICE ARCH': '%.*s' where others have '%.60s'; all are measured against "
                  "one machine",
                  ttpr_text(perf, perf->paths[row->file]), row->line,
                  (int)(arch.length < 60 ? arch.length : 60), arch.data, ttpr_text(perf, perf->arch_text));
    }
}

static void take_texts(struct ttpr *perf, struct ttpr_row *row, const struct ttpr_source *source)
{
    const struct slice *cells = source->cells;
    row->op_code = row->shown = ttpr_intern(perf, source->op_code.data, source->op_code.length);
    for (unsigned i = 0; i < 3; i++)
        row->types[i] = ttpr_intern_cell(perf, source->tensors[i].type);
    row->in0_memory = ttpr_intern_cell(perf, source->tensors[TTPR_IN0].memory);
    if (!cell_is_missing(cells[TTPR_ARCH]))
        take_arch(perf, row, cells[TTPR_ARCH]);
}

/* C0 without tab, DEL and, in UTF-8, C1: 1.4.1 drops them from texts. */
static size_t control_length(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    if ((first < 0x20 && first != '\t') || first == 0x7f)
        return 1;
    bool is_c1 =
        first == 0xc2 && length > 1 && (unsigned char)text[1] >= 0x80 && (unsigned char)text[1] <= 0x9f;
    return is_c1 ? 2 : 0;
}

/* The text without control characters: itself, or its copy among the texts. */
static struct slice without_controls(struct ttpr *perf, struct slice text)
{
    size_t i = 0;
    while (i < text.length && !control_length(text.data + i, text.length - i))
        i++;
    if (i == text.length)
        return text;
    bytes_clear(&perf->scratch);
    for (i = 0; i < text.length;) {
        size_t skipped = control_length(text.data + i, text.length - i);
        if (!skipped)
            bytes_append_u8(&perf->scratch, (uint8_t)text.data[i]);
        i += skipped ? skipped : 1;
    }
    uint32_t id = ttpr_intern(perf, perf->scratch.data, perf->scratch.length);
    return slice_of(id == INTERN_NONE ? "" : ttpr_text(perf, id));
}

/* What the op is called: never empty, and cut at a NUL byte, where it ends for whoever shows it. */
static void take_name(struct ttpr *perf, struct ttpr_source *source, uint64_t line)
{
    struct slice name = source->cells[TTPR_OP_CODE];
    ttpr_note_name(perf, name, line);
    if (ttpr_is_1_4(perf))
        name = without_controls(perf, name);
    source->op_code =
        name.length ? slice_from(name.data, strnlen(name.data, name.length)) : slice_of("(no name)");
}

#define SUB_DEVICE_CHARACTERS 32u

/* A whole number as such; anything else stays to be seen, cut where it would widen the table. */
static void take_sub_device(struct ttpr *perf, struct ttpr_row *row, struct slice cell)
{
    double value;
    row->sub_device = TTPR_NO_TEXT;
    if (!ttpr_is_1_4(perf) || cell_is_missing(cell))
        return;
    struct slice text = slice_trim(without_controls(perf, cell));
    if (text.length && cell_number(text, &value) != NUMBER_BAD && floor(value) == value &&
        fabs(value) < 9e15) {
        char number[32];
        snprintf(number, sizeof number, "%.0f", value);
        row->sub_device = ttpr_intern_cell(perf, slice_of(number));
    } else if (text.length) {
        size_t end = 0;
        for (unsigned count = 0; end < text.length; end++) {
            count += ((unsigned char)text.data[end] & 0xc0) != 0x80;
            if (count > SUB_DEVICE_CHARACTERS)
                break;
        }
        row->sub_device = ttpr_intern(perf, text.data, end);
    }
}

int ttpr_add_row(struct ttpr *perf, const struct slice *cells, uint64_t line, struct error *err)
{
    if (perf->row_count >= UINT32_MAX - 1 ||
        !array_reserve(&perf->rows, &perf->row_capacity, perf->row_count + 1, sizeof *perf->rows))
        return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count + 1);
    struct ttpr_row *row = &perf->rows[perf->row_count];
    struct ttpr_source source = {.cells = cells};
    memset(row, 0, sizeof *row);
    row->line = line;
    row->file = (uint32_t)perf->file_count - 1;
    row->source_index = perf->source_row_count++;
    row->block_w = row->subblock_h = row->subblock_w = PERF_NO_NUMBER;
    if (!cell_is_missing(cells[TTPR_ATTRIBUTES]))
        source.attributes = cells[TTPR_ATTRIBUTES];
    if (!cell_is_missing(cells[TTPR_FIDELITY]))
        source.fidelity = cells[TTPR_FIDELITY];
    take_name(perf, &source, line);
    row->fidelity = (uint8_t)perf_fidelity_of(source.fidelity);
    take_times(perf, row, cells);
    take_counts(perf, row, cells);
    take_device(perf, row, cells);
    take_sub_device(perf, row, cells[TTPR_SUB_DEVICE]);
    take_tensors(perf, &source, line);
    take_kind(row, &source);
    take_texts(perf, row, &source);
    row->flops = row->dram_bytes = NAN;
    row->fidelity_text = TTPR_NO_TEXT;
    ttpr_take_work(perf, row, &source);
    ttpr_note_missing_cells(perf, row, &source);
    if (perf->failed)
        return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count + 1);
    perf->row_count++;
    return 0;
}
