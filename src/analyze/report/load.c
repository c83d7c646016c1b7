/* SPDX-License-Identifier: Apache-2.0 */
/* From cells to rows: the columns that are read, and what is kept of each row. */
#include "analyze/report/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

static const char *const fixed_names[PERF_TENSOR] = {
    [PERF_OP_CODE] = "OP CODE",
    [PERF_OP_TYPE] = "OP TYPE",
    [PERF_CALL] = "GLOBAL CALL COUNT",
    [PERF_DEVICE] = "DEVICE ID",
    [PERF_ARCH] = "DEVICE ARCH",
    [PERF_ATTRIBUTES] = "ATTRIBUTES",
    [PERF_FIDELITY] = "MATH FIDELITY",
    [PERF_CORES] = "CORE COUNT",
    [PERF_AVAILABLE_CORES] = "AVAILABLE WORKER CORE COUNT",
    [PERF_HOST_START] = "HOST START TS",
    [PERF_HOST_DURATION] = "HOST DURATION [ns]",
    [PERF_GAP] = "OP TO OP LATENCY [ns]",
    [PERF_DURATION] = "DEVICE KERNEL DURATION [ns]",
    [PERF_SUB_DEVICE] = "SUB DEVICE ID",
    [PERF_FW_START] = "DEVICE FW START CYCLE",
    [PERF_FW_END] = "DEVICE FW END CYCLE",
    [PERF_FW_DURATION] = "DEVICE FW DURATION [ns]",
    [PERF_LOCATION] = "LOC",
    [PERF_LAYER] = "MODULE PATH",
    [PERF_TRACE] = "METAL TRACE ID",
    [PERF_SESSION] = "METAL TRACE REPLAY SESSION ID",
};

const char *perf_column_name(size_t column, bool is_old_header, char *buffer, size_t size)
{
    static const char *const parts[PERF_TENSOR_CELLS] = {"W", "Z", "Y", "X", "DATATYPE", "MEMORY"};
    if (column < PERF_TENSOR)
        return fixed_names[column];
    size_t tensor = (column - PERF_TENSOR) / PERF_TENSOR_CELLS,
           part = (column - PERF_TENSOR) % PERF_TENSOR_CELLS;
    bool is_output = tensor >= PERF_INPUTS;
    snprintf(buffer, size, "%s_%zu_%s%s", is_output ? "OUTPUT" : "INPUT",
             is_output ? tensor - PERF_INPUTS : tensor, parts[part],
             part < 4 && !is_old_header ? "_PAD[LOGICAL]" : "");
    return buffer;
}

uint32_t perf_intern(struct perf *perf, const void *data, size_t length)
{
    uint32_t id = intern_add(&perf->texts, length ? data : "", length);
    if (id == INTERN_NONE)
        perf->failed = true;
    return id;
}

struct perf_made_text *perf_find_made(struct perf *perf, const uint64_t key[6])
{
    uint64_t hash = hash_bytes(key, 6 * sizeof *key, 1);
    struct perf_made_text *made = &perf->made_texts[hash % PERF_MADE_TEXTS];
    if (made->is_used && memcmp(made->key, key, sizeof made->key) != 0)
        made->is_used = false;
    memcpy(made->key, key, sizeof made->key);
    return made;
}

const char *perf_text(const struct perf *perf, uint32_t id)
{
    return id == PERF_NO_TEXT ? "" : intern_text(&perf->texts, id);
}

int perf_begin(struct perf *perf, const struct perf_options *options, struct error *err)
{
    (void)err;
    *perf = (struct perf){.options = *options,
                          .arch_text = PERF_NO_TEXT,
                          .window = PERF_NO_TEXT,
                          .devices_per_file = -1,
                          .machine = &machine_unknown};
    return 0;
}

void perf_free(struct perf *perf)
{
    intern_free(&perf->texts);
    free(perf->rows);
    free(perf->order);
    free(perf->paths);
    free(perf->groups);
    free(perf->advice);
    for (size_t i = 0; i < perf->note_count; i++)
        free(perf->notes[i].text);
    free(perf->notes);
    free(perf->names);
    free(perf->host_zones);
    bytes_free(&perf->scratch);
    bytes_free(&perf->name);
    *perf = (struct perf){0};
}

/* --- files --- */

int perf_begin_file(struct perf *perf, const char *path, const bool *has, bool is_old_header,
                    bool is_padded_header, struct error *err)
{
    if (!array_reserve(&perf->paths, &perf->file_capacity, perf->file_count + 1, sizeof *perf->paths))
        return error_set(err, ENOMEM, "no memory to read %s", path);
    perf->paths[perf->file_count++] = perf_intern(perf, path, strlen(path));
    perf->reads_cycles |= has[PERF_SUB_DEVICE];
    perf->has_host_start |= has[PERF_HOST_START];
    perf->has_arch_columns |= has[PERF_ARCH] || has[PERF_AVAILABLE_CORES];
    perf->has_old_header |= is_old_header;
    perf->has_padded_header |= is_padded_header;
    perf->file_device_max = -1;
    perf->file_first_row = perf->row_count;
    memcpy(perf->has_column, has, sizeof perf->has_column);
    if (perf->options.compat && !has[PERF_DEVICE])
        return error_set(err, EINVAL, "%s:1: there is no column 'DEVICE ID'", path);
    return 0;
}

int perf_end_file(struct perf *perf, struct error *err)
{
    int64_t devices = (int64_t)perf->file_device_max + 1;
    const char *path = perf_text(perf, perf->paths[perf->file_count - 1]);
    if (perf->row_count == perf->file_first_row)
        perf_note(perf, PERF_NOTE_WARN, NULL, "%s: there is no op in it", path);
    if (perf->devices_per_file < 0 || (!perf->options.compat && perf->devices_per_file == 0)) {
        perf->devices_per_file = devices;
    } else if (devices != perf->devices_per_file && (perf->options.compat || devices > 0)) {
        return error_set(err, EINVAL,
                         "%s has %lld devices (largest DEVICE ID %lld), but %s has %lld: files of one "
                         "run must have the same",
                         path, (long long)devices, (long long)devices - 1, perf_text(perf, perf->paths[0]),
                         (long long)perf->devices_per_file);
    }
    return 0;
}

/* --- rows --- */

/* A value that its column should not hold: missing, but in the compat mode kept where the original keeps it. */
static double refuse(struct perf *perf, const struct slice *cells, size_t column, uint64_t line,
                     const char *expected, double value)
{
    if (perf->options.compat)
        perf_note_kept_cell(perf, column, cells[column], line, expected);
    else
        perf_note_bad_cell(perf, column, cells[column], line, expected);
    return perf->options.compat ? value : NAN;
}

static double take_number(struct perf *perf, const struct slice *cells, size_t column, uint64_t line)
{
    double value;
    enum number_kind kind = cell_number(cells[column], &value);
    if (kind == NUMBER_BAD)
        perf_note_bad_cell(perf, column, cells[column], line, "a number");
    else if (isinf(value) || fabs(value) >= 9.2e18)
        return refuse(perf, cells, column, line, "a number that can be", value);
    return value;
}

/* A count: whole and not negative. */
static double take_count(struct perf *perf, const struct slice *cells, size_t column, uint64_t line)
{
    double value = take_number(perf, cells, column, line);
    bool is_too_low = value < 0 || (value == 0 && column == PERF_CORES);
    if (!isnan(value) && (is_too_low || value > 1048576 || floor(value) != value))
        return refuse(perf, cells, column, line, "a count", value);
    return value;
}

static void take_device(struct perf *perf, struct perf_row *row, const struct slice *cells)
{
    double value = take_number(perf, cells, PERF_DEVICE, row->line);
    row->device = PERF_NO_NUMBER;
    if (!isnan(value) && !(floor(value) == value && value >= 0 && value <= 1000000))
        value = refuse(perf, cells, PERF_DEVICE, row->line, "a device number", value);
    if (!(value > -1e9 && value < 1e9))
        return;
    if (value > perf->file_device_max)
        perf->file_device_max = value;
    int64_t base = perf->file_count > 1 && perf->devices_per_file > 0
                       ? (int64_t)(perf->file_count - 1) * perf->devices_per_file
                       : 0;
    row->device = (int32_t)((int64_t)value + base);
}

/* Beyond 2^53 a double is not exact: the compat mode, too, has no figures for such sizes. */
static void take_size(struct perf *perf, struct perf_tensor *tensor, size_t t, unsigned part,
                      const struct slice *cell, double *value, uint64_t line)
{
    enum number_kind kind = cell_dimension(*cell, value);
    double largest = perf->options.compat ? 9007199254740992.0 : 4294967296.0;
    bool is_usable = kind == NUMBER_WHOLE && *value <= largest && (perf->options.compat || *value >= 0);
    if (!is_usable)
        tensor->has_shape = false;
    if (!is_usable && kind != NUMBER_MISSING)
        perf_note_bad_cell(perf, PERF_TENSOR + t * PERF_TENSOR_CELLS + part, *cell, line, "a size");
}

static void take_tensors(struct perf *perf, struct perf_source *source, uint64_t line)
{
    for (size_t t = 0; t < PERF_TENSORS; t++) {
        const struct slice *cells = source->cells + PERF_TENSOR + t * PERF_TENSOR_CELLS;
        struct perf_tensor *tensor = &source->tensors[t];
        double *sizes[4] = {&tensor->w, &tensor->z, &tensor->y, &tensor->x};
        *tensor = (struct perf_tensor){0};
        if (!cells[3].length && !cells[4].length && !cells[5].length && !cells[0].length)
            continue;
        tensor->is_present = tensor->has_shape = true;
        for (unsigned i = 0; i < 4; i++)
            take_size(perf, tensor, t, i, &cells[i], sizes[i], line);
        if (!perf->options.compat && tensor->has_shape && tensor->w * tensor->z * tensor->y * tensor->x == 0)
            tensor->is_present = tensor->has_shape =
                false; /* an empty tensor: optional inputs are recorded so */
        tensor->type = cell_is_missing(cells[4]) ? (struct slice){0} : cells[4];
        tensor->memory = cell_is_missing(cells[5]) ? (struct slice){0} : cells[5];
    }
}

static void take_kind(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    struct slice type = source->cells[PERF_OP_TYPE];
    row->is_device_type = slice_is(type, "tt_dnn_device");
    row->is_host_type = slice_is(type, "tt_dnn_cpu") || slice_is(type, "python_fallback");
    if (slice_is(type, "signpost"))
        row->kind = PERF_SIGNPOST;
    else if (slice_has(source->op_code, "(torch)") || (!perf->options.compat && row->is_host_type))
        row->kind = PERF_HOST_OP;
    else
        row->kind = PERF_DEVICE_OP;
    if (!perf->options.compat && cell_is_missing(type) && row->kind == PERF_DEVICE_OP)
        row->is_device_type = row->device != PERF_NO_NUMBER;
}

static enum perf_fidelity fidelity_of(struct slice cell)
{
    static const char *const names[] = {
        [PERF_LOFI] = "LoFi", [PERF_HIFI2] = "HiFi2", [PERF_HIFI3] = "HiFi3", [PERF_HIFI4] = "HiFi4"};
    for (unsigned i = 0; i < PERF_FIDELITY_UNKNOWN; i++) {
        if (slice_is(cell, names[i]))
            return (enum perf_fidelity)i;
    }
    return PERF_FIDELITY_UNKNOWN;
}

static void take_times(struct perf *perf, struct perf_row *row, const struct slice *cells)
{
    int64_t start;
    double number;
    row->duration_ns = take_number(perf, cells, PERF_DURATION, row->line);
    if (row->duration_ns < 0)
        row->duration_ns = refuse(perf, cells, PERF_DURATION, row->line, "a duration", row->duration_ns);
    row->is_duration_missing = isnan(row->duration_ns);
    row->gap_ns = take_number(perf, cells, PERF_GAP, row->line);
    row->host_start_ns = INT64_MAX;
    if (cell_int64(cells[PERF_HOST_START], &start)) {
        row->host_start_ns = start;
    } else {
        number = take_number(perf, cells, PERF_HOST_START, row->line);
        if (fabs(number) < 9e18)
            row->host_start_ns = (int64_t)number;
    }
    row->host_duration_ns = row->fw_start_cycle = row->fw_end_cycle = row->fw_duration_ns = NAN;
    if (!perf->options.compat)
        row->host_duration_ns = take_number(perf, cells, PERF_HOST_DURATION, row->line);
    if (perf->reads_cycles && !perf->options.compat) {
        row->fw_start_cycle = take_number(perf, cells, PERF_FW_START, row->line);
        row->fw_end_cycle = take_number(perf, cells, PERF_FW_END, row->line);
        row->fw_duration_ns = take_number(perf, cells, PERF_FW_DURATION, row->line);
    }
}

static void take_counts(struct perf *perf, struct perf_row *row, const struct slice *cells)
{
    enum number_kind call = cell_number(cells[PERF_CALL], &row->call);
    row->call_text = call == NUMBER_BAD ? perf_intern_cell(perf, cells[PERF_CALL]) : PERF_NO_TEXT;
    if (call == NUMBER_MISSING || call == NUMBER_REAL)
        perf->call_is_float = true;
    row->cores = take_count(perf, cells, PERF_CORES, row->line);
    if (isnan(row->cores) || floor(row->cores) != row->cores)
        perf->cores_is_float = true;
    row->available_cores = take_count(perf, cells, PERF_AVAILABLE_CORES, row->line);
    if (!(row->available_cores > 0))
        row->available_cores = NAN;
}

/* The first one counts: all ops are measured against one machine. */
static void take_arch(struct perf *perf, const struct perf_row *row, struct slice arch)
{
    static const char kind_other_arch[] = "another architecture";
    if (perf->arch_text == PERF_NO_TEXT) {
        perf->arch_text = perf_intern_cell(perf, arch);
        perf->arch_file = row->file;
        perf->arch_line = row->line;
    } else if (!slice_is(arch, perf_text(perf, perf->arch_text))) {
        perf_note(perf, PERF_NOTE_WARN, kind_other_arch,
                  "%s:%llu: column 'DEVICE ARCH': '%.*s' where others have '%.60s'; all are measured against "
                  "one machine",
                  perf_text(perf, perf->paths[row->file]), (unsigned long long)row->line,
                  (int)(arch.length < 60 ? arch.length : 60), arch.data, perf_text(perf, perf->arch_text));
    }
}

static void take_texts(struct perf *perf, struct perf_row *row, const struct perf_source *source)
{
    const struct slice *cells = source->cells;
    static const size_t tensors[3] = {PERF_IN(0), PERF_IN(1), PERF_OUT(0)};
    row->op_code = row->shown = perf_intern(perf, source->op_code.data, source->op_code.length);
    for (unsigned i = 0; i < 3; i++)
        row->types[i] = perf_intern_cell(perf, source->tensors[tensors[i]].type);
    row->in0_memory = perf_intern_cell(perf, source->tensors[PERF_IN(0)].memory);
    row->sub_device = row->location = row->layer = row->group = PERF_NO_TEXT;
    if (!perf->options.compat) {
        if (!cell_is_missing(cells[PERF_SUB_DEVICE]))
            row->sub_device = perf_intern_cell(perf, cells[PERF_SUB_DEVICE]);
        row->location = perf_intern_cell(perf, cells[PERF_LOCATION]);
        row->layer = perf_intern_cell(perf, cells[PERF_LAYER]);
    }
    if (!cell_is_missing(cells[PERF_ARCH]))
        take_arch(perf, row, cells[PERF_ARCH]);
}

/* What the op is called: never empty, never with a NUL byte, which would cut it short where it is shown. */
static void take_name(struct perf *perf, struct perf_source *source, uint64_t line)
{
    static const char no_name[] = "(no name)";
    struct slice name = source->cells[PERF_OP_CODE];
    source->op_code = name;
    perf_note_name(perf, name, line);
    if (name.length == 0 || (!perf->options.compat && cell_is_missing(name))) {
        source->op_code = (struct slice){no_name, sizeof no_name - 1};
    } else if (memchr(name.data, 0, name.length)) {
        bytes_clear(&perf->name);
        for (size_t i = 0; i < name.length; i++)
            bytes_append(&perf->name, name.data[i] ? &name.data[i] : "\\x00", name.data[i] ? 1 : 4);
        if (perf->options.compat) /* there the name ends here */
            source->op_code.length = strnlen(name.data, name.length);
        else if (!perf->name.failed)
            source->op_code = (struct slice){(const char *)perf->name.data, perf->name.length};
    }
}

int perf_add_row(struct perf *perf, const struct slice *cells, uint64_t line, struct error *err)
{
    if (perf->row_count >= UINT32_MAX - 1 ||
        !array_reserve(&perf->rows, &perf->row_capacity, perf->row_count + 1, sizeof *perf->rows))
        return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count + 1);
    struct perf_row *row = &perf->rows[perf->row_count];
    struct perf_source source = {.cells = cells};
    memset(row, 0, sizeof *row);
    row->line = line;
    row->file = (uint32_t)perf->file_count - 1;
    row->source_index = perf->source_row_count++;
    row->block_w = row->subblock_h = row->subblock_w = PERF_NO_NUMBER;
    if (!cell_is_missing(cells[PERF_ATTRIBUTES]))
        source.attributes = cells[PERF_ATTRIBUTES];
    if (!cell_is_missing(cells[PERF_FIDELITY]))
        source.fidelity = cells[PERF_FIDELITY];
    take_name(perf, &source, line);
    row->fidelity = (uint8_t)fidelity_of(source.fidelity);
    take_times(perf, row, cells);
    take_counts(perf, row, cells);
    take_device(perf, row, cells);
    take_tensors(perf, &source, line);
    take_kind(perf, row, &source);
    take_texts(perf, row, &source);
    row->flops = row->dram_bytes = row->link_bytes = row->link_count = NAN;
    row->fidelity_text = PERF_NO_TEXT;
    if (perf->options.compat)
        perf_compat_take(perf, row, &source);
    else
        perf_model_take(perf, row, &source);
    perf_note_missing_cells(perf, row, &source);
    if (perf->failed)
        return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count + 1);
    perf->row_count++;
    return 0;
}
