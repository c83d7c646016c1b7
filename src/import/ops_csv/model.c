/* SPDX-License-Identifier: Apache-2.0 */
#include "import/ops_csv/model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/map.h"
#include "base/utf8_valid.h"
#include "import/ops_csv/columns.h"
#include "import/ops_csv/known.h"
#include "ops/finish.h"
#include "ops/known_figures.h"
#include "text/csv/cell.h"

#define TENSORS_MAX 16384u /* that are known by their cells */
#define SHOWN_MAX 40u
#define COUNT_MAX 1048576.0
#define SIZE_MAX_USABLE 4294967296.0

/* Kinds of notices: per column what is wrong with its cells, and a few others. */
enum { NOTICE_BAD, NOTICE_EMPTY, NOTICE_OTHER, NOTICES_PER_COLUMN };
enum {
    NOTICE_NAME_EMPTY = OP_NOTICE_KIND_OWN + OPS_CSV_COLUMNS * NOTICES_PER_COLUMN,
    NOTICE_NAME_WORD,
    NOTICE_NAME_NUL,
    NOTICE_NAME_BYTES,
    NOTICE_ZERO_TIME,
    NOTICE_NO_WINDOW,
    NOTICE_OTHER_ARCHITECTURE,
    NOTICE_NO_START,
    NOTICE_NO_DEVICE,
    NOTICE_NO_TIMES,
    NOTICE_STALE,
};

/* Names without faults, by a few bits of them. */
#define NAMES 64u
struct known_name {
    uint32_t text_plus_1; /* 0: nothing here yet */
    bool is_torch;
};

struct filling {
    struct ops *ops;
    const char *path;
    const struct slice *cells;
    uint64_t line; /* 0: a source without lines, which reports itself what is missing */
    bool is_old_header, times_only;
    bool has[OPS_CSV_COLUMNS];
    uint32_t first_device;
    struct map devices;         /* by number */
    struct ops_csv_known known; /* descriptions */
    struct intern tensor_cells; /* of tensors ... */
    uint32_t *tensors;          /* ... and which they are */
    size_t tensor_capacity;
    uint64_t notes; /* that were made about cells */
    struct known_name names[NAMES];
    struct bytes name;
    uint32_t available_cores, sub_device, ticks_ns; /* names of figures */
    uint64_t rows, missing_starts, first_missing_start;
    double device_max;
};

/* --- what is wrong with a cell --- */

static uint32_t notice_kind(size_t column, unsigned what)
{
    return (uint32_t)(OP_NOTICE_KIND_OWN + column * NOTICES_PER_COLUMN + what);
}

static const char *name_of(const struct filling *f, size_t column, char *buffer, size_t size)
{
    return ops_csv_column_name(column, f->is_old_header, buffer, size);
}

static void note_cell(struct filling *f, size_t column, unsigned what, const char *expected,
                      const char *consequence)
{
    struct slice cell = f->cells[column];
    char name[64];
    f->notes++;
    ops_add_notice(f->ops, notice_kind(column, what), OP_NOTICE_DAMAGED, f->line,
                   "%s:%" PRIu64 ": column '%s': '%.*s%s' is not %s; %s", f->path, f->line,
                   name_of(f, column, name, sizeof name),
                   (int)(cell.length < SHOWN_MAX ? cell.length : SHOWN_MAX), cell.data,
                   cell.length > SHOWN_MAX ? "..." : "", expected, consequence);
}

static double refuse(struct filling *f, size_t column, const char *expected)
{
    note_cell(f, column, NOTICE_BAD, expected, "taken as missing");
    return NAN;
}

/* Only where a table has the column, and the row is long enough; else the reader has said it. */
static void note_empty(struct filling *f, size_t column, const char *consequence)
{
    char name[64];
    f->notes++;
    if (f->line && f->has[column] && f->cells[column].data)
        ops_add_notice(f->ops, notice_kind(column, NOTICE_EMPTY), OP_NOTICE_DAMAGED, f->line,
                       "%s:%" PRIu64 ": column '%s' is empty; %s", f->path, f->line,
                       name_of(f, column, name, sizeof name), consequence);
}

static void note_name(struct filling *f, uint32_t kind, const char *says)
{
    ops_add_notice(f->ops, kind, OP_NOTICE_DAMAGED, f->line, "%s:%" PRIu64 ": column 'OP CODE' %s", f->path,
                   f->line, says);
}

/* --- numbers --- */

static double take_number(struct filling *f, size_t column)
{
    double value;
    enum number_kind kind = cell_number(f->cells[column], &value);
    if (kind == NUMBER_BAD)
        return refuse(f, column, "a number");
    if (isinf(value) || fabs(value) >= 9.2e18)
        return refuse(f, column, "a number that can be");
    return value;
}

/* A count: whole and not negative. 0: not known. */
static uint32_t take_count(struct filling *f, size_t column)
{
    int64_t whole;
    if (cell_int64(f->cells[column], &whole) && whole > 0 && whole <= (int64_t)COUNT_MAX)
        return (uint32_t)whole;
    double value = take_number(f, column);
    bool is_too_low = value < 0 || (value == 0 && column == OPS_CSV_CORES);
    if (!isnan(value) && (is_too_low || value > COUNT_MAX || floor(value) != value))
        value = refuse(f, column, "a count");
    return isnan(value) ? 0 : (uint32_t)value;
}

static uint64_t take_duration(struct filling *f, size_t column)
{
    int64_t whole;
    if (cell_int64(f->cells[column], &whole) && whole >= 0)
        return (uint64_t)whole;
    double value = take_number(f, column);
    if (value < 0)
        value = refuse(f, column, "a duration");
    return isnan(value) ? OPS_NO_DURATION : (uint64_t)llround(value);
}

static int64_t take_gap(struct filling *f)
{
    int64_t whole;
    if (cell_int64(f->cells[OPS_CSV_GAP], &whole))
        return whole;
    double value = take_number(f, OPS_CSV_GAP);
    return isnan(value) ? OPS_NO_GAP : (int64_t)llround(value);
}

static bool take_start(struct filling *f, uint64_t *start_ns)
{
    int64_t whole;
    double value = NAN;
    if (!cell_int64(f->cells[OPS_CSV_HOST_START], &whole)) {
        value = take_number(f, OPS_CSV_HOST_START);
        if (isnan(value))
            return false;
        whole = (int64_t)llround(value);
    }
    *start_ns = whole > 0 ? (uint64_t)whole : 0;
    return true;
}

/* In ops.devices; OPS_NONE. */
static uint32_t take_device(struct filling *f)
{
    int64_t whole;
    double value =
        cell_int64(f->cells[OPS_CSV_DEVICE], &whole) ? (double)whole : take_number(f, OPS_CSV_DEVICE);
    if (!isnan(value) && !(floor(value) == value && value >= 0 && value <= 1000000))
        value = refuse(f, OPS_CSV_DEVICE, "a device number");
    if (isnan(value))
        return OPS_NONE;
    if (value > f->device_max)
        f->device_max = value;
    uint32_t number = (uint32_t)value + f->first_device, device = map_get(&f->devices, number);
    if (device == MAP_NONE) {
        device = ops_device(f->ops, number);
        if (device != OPS_NONE && !map_put(&f->devices, number, device))
            f->ops->failed = true;
    }
    return device;
}

static void take_architecture(struct filling *f, uint32_t device)
{
    struct slice cell = f->cells[OPS_CSV_ARCHITECTURE];
    if (cell_is_missing(cell) || device == OPS_NONE)
        return;
    struct op_device *known = &f->ops->devices[device];
    if (known->architecture == OPS_NONE)
        known->architecture = ops_text(f->ops, cell);
    else if (!slice_equal(cell, ops_get_slice(f->ops, known->architecture)))
        ops_add_notice(f->ops, NOTICE_OTHER_ARCHITECTURE, OP_NOTICE_DAMAGED, f->line,
                       "%s:%" PRIu64
                       ": column 'DEVICE ARCH': '%.*s' where others have '%.60s'; all are measured "
                       "against one machine",
                       f->path, f->line, (int)(cell.length < 60 ? cell.length : 60), cell.data,
                       ops_get_text(f->ops, known->architecture));
}

/* --- descriptions --- */

/* "32[17]" is padded to 32; "32" is both. */
static enum number_kind take_size(struct slice cell, int64_t *padded, int64_t *logical)
{
    struct slice inside = slice_after(cell, "[");
    double value, within;
    enum number_kind kind = cell_dimension(cell, &value);
    if (kind != NUMBER_WHOLE || !(value >= 0 && value <= SIZE_MAX_USABLE))
        return kind == NUMBER_MISSING ? kind : NUMBER_BAD;
    *padded = *logical = (int64_t)value;
    if (inside.length > 1 &&
        cell_number(slice_from(inside.data, inside.length - 1), &within) == NUMBER_WHOLE && within >= 0 &&
        within <= SIZE_MAX_USABLE)
        *logical = (int64_t)within;
    return NUMBER_WHOLE;
}

static uint32_t text_of_cell(struct ops *ops, struct slice cell)
{
    return cell_is_missing(cell) ? OPS_NONE : ops_text(ops, cell);
}

static uint32_t text_of(struct filling *f, size_t column)
{
    return text_of_cell(f->ops, f->cells[column]);
}

uint32_t ops_csv_tensor(struct ops *ops, const struct slice *cells, unsigned *wrong)
{
    struct op_tensor tensor = {.shape = OPS_NONE, .padded = OPS_NONE, .strides = OPS_NONE, .rest = OPS_NONE};
    int64_t padded[4], logical[4];
    bool has_sizes = true;
    *wrong = 0;
    if (!ops_csv_has_tensor(cells))
        return OPS_NONE;
    for (unsigned i = 0; i < 4; i++) {
        enum number_kind kind = take_size(cells[i], &padded[i], &logical[i]);
        has_sizes &= kind == NUMBER_WHOLE;
        *wrong |= kind == NUMBER_BAD ? 1u << i : 0;
    }
    if (has_sizes) {
        tensor.rank = 4;
        tensor.padded = ops_sizes(ops, padded, 4);
        tensor.shape = ops_sizes(ops, logical, 4);
    }
    tensor.layout = text_of_cell(ops, cells[OPS_CSV_TENSOR_LAYOUT]);
    tensor.dtype = text_of_cell(ops, cells[OPS_CSV_TENSOR_TYPE]);
    tensor.memory = text_of_cell(ops, cells[OPS_CSV_TENSOR_MEMORY]);
    return ops_tensor(ops, &tensor);
}

static uint32_t parse_tensor(struct filling *f, size_t t)
{
    size_t first = OPS_CSV_TENSOR + t * OPS_CSV_TENSOR_CELLS;
    const struct slice *cells = f->cells + first;
    unsigned wrong;
    uint32_t id = ops_csv_tensor(f->ops, cells, &wrong);
    for (unsigned i = 0; i < 4; i++) {
        if (wrong >> i & 1)
            refuse(f, first + i, "a size");
    }
    for (size_t i = 0; i < OPS_CSV_TENSOR_CELLS; i++) {
        if (i == OPS_CSV_TENSOR_LAYOUT || !cell_is_missing(cells[i]))
            continue;
        f->notes++; /* of any tensor: whether it is said depends on its place */
        if (t < 2 || t == OPS_CSV_INPUTS)
            note_empty(f, first + i,
                       i < 4 ? "figures that need this size are missing"
                             : "the tensor is left out of its bytes");
    }
    return id;
}

/* The id of a tensor; OPS_NONE where the row has none at this place. Few tensors, many descriptions: one whose cells
 * were without fault before is known by them, where they are one piece of the file. */
static uint32_t take_tensor(struct filling *f, size_t t)
{
    const struct slice *cells = f->cells + OPS_CSV_TENSOR + t * OPS_CSV_TENSOR_CELLS;
    struct intern *known = &f->tensor_cells;
    uint64_t notes = f->notes;
    if (!ops_csv_has_tensor(cells))
        return OPS_NONE;
    const struct slice *last = &cells[OPS_CSV_TENSOR_CELLS - 1];
    for (const struct slice *cell = cells; cell < last; cell++) {
        if (!cell->data || cell[1].data != cell->data + cell->length + 1)
            return parse_tensor(f, t);
    }
    size_t length = (size_t)(last->data + last->length - cells[0].data);
    uint32_t place = intern_find(known, cells[0].data, length);
    if (place != INTERN_NONE)
        return f->tensors[place];
    uint32_t id = parse_tensor(f, t);
    if (notes != f->notes || known->count >= TENSORS_MAX)
        return id;
    place = intern_add(known, cells[0].data, length);
    if (place == INTERN_NONE ||
        !array_reserve(&f->tensors, &f->tensor_capacity, (size_t)place + 1, sizeof *f->tensors))
        f->ops->failed = true;
    else
        f->tensors[place] = id;
    return id;
}

/* The first quote with one of two texts after it, and which; NULL: there is none. */
static const char *find_quote(struct slice text, const char *one, const char *other, const char **found)
{
    const char *end = text.data + text.length, *quote = text.data;
    for (; (quote = memchr(quote, '\'', (size_t)(end - quote))); quote++) {
        struct slice rest = slice_from(quote + 1, (size_t)(end - quote) - 1);
        *found = slice_begins(rest, one) ? one : slice_begins(rest, other) ? other : NULL;
        if (*found)
            return quote;
    }
    return NULL;
}

/* What follows the end of a quoted value, from the next key's quote on: "'; '" or "'} | {'". */
static struct slice next_key(struct slice value, size_t *value_length)
{
    const char *mark, *quote = find_quote(value, "; '", "} | {'", &mark);
    *value_length = quote ? (size_t)(quote - value.data) : value.length;
    if (!quote)
        return slice_from(NULL, 0);
    const char *next = quote + strlen(mark); /* its last byte is the quote */
    return slice_from(next, value.length - (size_t)(next - value.data));
}

/* {'key': 'value'; 'other': 'Config(a=1;b=(2;3))'} | {'more': 'value'}. From where it does not look so, the rest is one
 * attribute. */
size_t ops_csv_attributes(struct ops *ops, struct slice text, uint32_t *ids, size_t room)
{
    size_t count = 0, length;
    struct slice rest = slice_trim(text);
    bool is_list = rest.length > 2 && rest.data[0] == '{' && rest.data[rest.length - 1] == '}';
    if (is_list)
        rest = slice_from(rest.data + 1, rest.length - 2);
    while (is_list && rest.length && rest.data[0] == '\'' && count + 1 < room) {
        struct slice key = slice_from(rest.data + 1, rest.length - 1);
        const char *mark, *key_end = find_quote(key, ": ", ": ", &mark);
        if (!key_end)
            break;
        struct slice value = slice_from(key_end + 3, key.length - (size_t)(key_end + 3 - key.data));
        key.length = (size_t)(key_end - key.data);
        bool is_quoted = value.length && value.data[0] == '\'';
        if (is_quoted)
            value = slice_from(value.data + 1, value.length - 1);
        struct slice next = next_key(value, &length);
        if (is_quoted && !next.data && length && value.data[length - 1] == '\'')
            length--;
        ids[count++] = ops_attribute(ops, ops_text(ops, key), ops_text(ops, slice_from(value.data, length)));
        rest = next;
    }
    if (rest.length)
        ids[count++] = ops_attribute(ops, ops_text(ops, slice_of("attributes")), ops_text(ops, rest));
    return count;
}

static bool is_part(struct slice name, const char *part)
{
    return slice_has(name, part);
}

/* Cells without which an op of this name has no figures. */
static void note_work(struct filling *f)
{
    struct slice name = f->cells[OPS_CSV_NAME], fidelity = f->cells[OPS_CSV_FIDELITY],
                 attributes = f->cells[OPS_CSV_ATTRIBUTES];
    bool is_conv = is_part(name, "Conv2d") || is_part(name, "OptimizedConv");
    if (!f->line || (!is_conv && !is_part(name, "Matmul")))
        return;
    if (cell_is_missing(fidelity))
        note_empty(f, OPS_CSV_FIDELITY, "its share of the FLOPs is not known");
    else if (!slice_is(fidelity, "LoFi") && !slice_is(fidelity, "HiFi2") && !slice_is(fidelity, "HiFi3") &&
             !slice_is(fidelity, "HiFi4"))
        note_cell(f, OPS_CSV_FIDELITY, NOTICE_OTHER, "a known fidelity",
                  "its share of the FLOPs is not known");
    if (is_conv && !cell_is_missing(attributes) && !is_part(attributes, "window_hw"))
        ops_add_notice(f->ops, NOTICE_NO_WINDOW, OP_NOTICE_DAMAGED, f->line,
                       "%s:%" PRIu64
                       ": column 'ATTRIBUTES' of a convolution has no window_hw; its FLOPs are not known",
                       f->path, f->line);
}

#define ATTRIBUTES_MAX 256u

static uint32_t parse_description(struct filling *f, bool is_device_op)
{
    struct op_description d = {.location = text_of(f, OPS_CSV_LOCATION),
                               .module = text_of(f, OPS_CSV_MODULE),
                               .fidelity = text_of(f, OPS_CSV_FIDELITY)};
    uint32_t ids[OPS_CSV_TENSORS + ATTRIBUTES_MAX];
    size_t at = 0;
    struct slice attributes = f->cells[OPS_CSV_ATTRIBUTES];
    for (size_t t = 0; t < OPS_CSV_TENSORS; t++) {
        uint32_t id = take_tensor(f, t);
        if (id == OPS_NONE)
            continue;
        if (t < OPS_CSV_INPUTS)
            d.inputs++;
        else
            d.outputs++;
        ids[at++] = id;
    }
    if (!cell_is_missing(attributes))
        d.attributes = (uint16_t)ops_csv_attributes(f->ops, attributes, ids + at, ATTRIBUTES_MAX);
    if (is_device_op)
        note_work(f);
    return f->ops->failed ? OPS_NONE : ops_description(f->ops, &d, ids);
}

static uint32_t take_description(struct filling *f, bool is_device_op)
{
    struct ops_csv_known *known = &f->known;
    bool is_new;
    uint32_t id = ops_csv_known_find(known, f->cells, &is_new);
    f->ops->failed |= known->failed;
    if (id == OPS_NONE)
        return f->ops->failed ? OPS_NONE : parse_description(f, is_device_op);
    if (is_new)
        known->descriptions[id] = parse_description(f, is_device_op);
    return known->descriptions[id];
}

/* --- rows --- */

/* What the op is called: never empty, never with a NUL byte, which would cut it short where it is shown. */
static uint32_t take_name(struct filling *f, bool *is_torch)
{
    struct slice name = f->cells[OPS_CSV_NAME];
    struct known_name *known =
        &f->names[name.length ? (name.length * 7 + (unsigned char)name.data[name.length / 2]) % NAMES : 0];
    if (known->text_plus_1 && slice_equal(name, ops_get_slice(f->ops, known->text_plus_1 - 1))) {
        *is_torch = known->is_torch;
        return known->text_plus_1 - 1;
    }
    *is_torch = slice_has(name, "(torch)");
    if (name.length == 0) {
        note_name(f, NOTICE_NAME_EMPTY, "is empty; shown as (no name)");
        return ops_text(f->ops, slice_of("(no name)"));
    }
    if (cell_is_missing(name)) {
        ops_add_notice(f->ops, NOTICE_NAME_WORD, OP_NOTICE_DAMAGED, f->line,
                       "%s:%" PRIu64
                       ": column 'OP CODE': '%.*s' stands for a missing value; shown as (no name)",
                       f->path, f->line, (int)name.length, name.data);
        return ops_text(f->ops, slice_of("(no name)"));
    }
    if (memchr(name.data, 0, name.length)) {
        note_name(f, NOTICE_NAME_NUL, "holds a NUL byte; shown as \\x00");
        bytes_clear(&f->name);
        for (size_t i = 0; i < name.length; i++)
            bytes_append(&f->name, name.data[i] ? &name.data[i] : "\\x00", name.data[i] ? 1 : 4);
        f->ops->failed |= f->name.failed;
        name = slice_from((const char *)f->name.data, f->name.length);
    } else if (!utf8_is_valid(name.data, name.length)) {
        note_name(f, NOTICE_NAME_BYTES, "is not UTF-8 text; what cannot be shown is replaced");
    } else {
        uint32_t text = ops_text(f->ops, name);
        *known = (struct known_name){text + 1, *is_torch};
        return text;
    }
    return ops_text(f->ops, name);
}

static void note_device_op(struct filling *f, uint64_t duration_ns, uint32_t device)
{
    if (!f->line)
        return;
    if (cell_is_missing(f->cells[OPS_CSV_TYPE]))
        note_empty(f, OPS_CSV_TYPE, "taken as an op of the device");
    if (cell_is_missing(f->cells[OPS_CSV_DURATION]))
        note_empty(f, OPS_CSV_DURATION, "the op's time is not known");
    else if (duration_ns == 0)
        ops_add_notice(f->ops, NOTICE_ZERO_TIME, OP_NOTICE_DAMAGED, f->line,
                       "%s:%" PRIu64
                       ": column 'DEVICE KERNEL DURATION [ns]' is 0; no figures can be made of an op that "
                       "took no time",
                       f->path, f->line);
    if (cell_is_missing(f->cells[OPS_CSV_CORES]) && duration_ns != OPS_NO_DURATION)
        note_empty(f, OPS_CSV_CORES, "its FLOPs are measured against all cores it may use");
    if (cell_is_missing(f->cells[OPS_CSV_CALL]))
        note_empty(f, OPS_CSV_CALL, "the op's call is not known");
    if (device == OPS_NONE && slice_is(f->cells[OPS_CSV_TYPE], "tt_dnn_device"))
        ops_add_notice(f->ops, NOTICE_NO_DEVICE, OP_NOTICE_INFO, f->line,
                       "%s:%" PRIu64 ": a device op without DEVICE ID: not merged", f->path, f->line);
}

/* The report leaves such times out (analyze/report/model.c, ops/finish.c); here it is said where they stand. */
static void note_stale(struct filling *f, uint64_t duration_ns, int64_t gap_ns)
{
    uint64_t limit = duration_ns / 2 > OPS_STALE_NS ? duration_ns / 2 : OPS_STALE_NS;
    if (f->line && duration_ns != OPS_NO_DURATION && gap_ns != OPS_NO_GAP && gap_ns < -OPS_STALE_NS &&
        (uint64_t)-gap_ns > limit)
        ops_add_notice(f->ops, NOTICE_STALE, OP_NOTICE_DAMAGED, f->line,
                       "%s:%" PRIu64 ": column 'OP TO OP LATENCY [ns]': a gap of %" PRId64
                       " ns before an op of %" PRIu64 " ns cannot be "
                       "(stale counters of a replayed trace); both are left out",
                       f->path, f->line, gap_ns, duration_ns);
}

static void add_figures(struct filling *f, uint32_t device)
{
    struct slice sub_device = f->cells[OPS_CSV_SUB_DEVICE];
    uint32_t available = take_count(f, OPS_CSV_AVAILABLE_CORES);
    struct op_device *known = device == OPS_NONE ? NULL : &f->ops->devices[device];
    if (known && !known->cores)
        known->cores = available;
    if (available != (known ? known->cores : 0))
        ops_add_figure(f->ops, (struct op_figure){
                                   .name = f->available_cores, .kind = OP_FIGURE_COUNT, .whole = available});
    if (!f->has[OPS_CSV_SUB_DEVICE])
        return;
    uint64_t ticks_ns = take_duration(f, OPS_CSV_FW_DURATION);
    if (!cell_is_missing(sub_device))
        ops_add_figure(f->ops, (struct op_figure){.name = f->sub_device,
                                                  .kind = OP_FIGURE_TEXT,
                                                  .whole = ops_text(f->ops, sub_device)});
    if (ticks_ns != OPS_NO_DURATION)
        ops_add_figure(f->ops,
                       (struct op_figure){.name = f->ticks_ns, .kind = OP_FIGURE_NS, .whole = ticks_ns});
}

static uint32_t add_run(struct filling *f, uint32_t call, uint32_t device, uint64_t duration_ns)
{
    struct op_run run = {.call = call,
                         .track = OPS_NONE,
                         .duration_ns = duration_ns,
                         .gap_ns = take_gap(f),
                         .cores = take_count(f, OPS_CSV_CORES),
                         .device = device == OPS_NONE ? OPS_NO_DEVICE : (uint16_t)device,
                         .name = OPS_NONE};
    struct op_ticks ticks = {0, 0};
    if (f->has[OPS_CSV_SUB_DEVICE]) {
        double start = take_number(f, OPS_CSV_FW_START), end = take_number(f, OPS_CSV_FW_END);
        ticks = (struct op_ticks){start >= 0 ? (uint64_t)start : 0, end >= 0 ? (uint64_t)end : 0};
    }
    if (call != OPS_NONE && f->ops->calls[call].type == OP_TYPE_DEVICE)
        note_stale(f, duration_ns, run.gap_ns);
    uint32_t id = ops_add_run(f->ops, &run);
    if (id != OPS_NONE)
        ops_set_ticks(f->ops, ticks.start, ticks.end);
    add_figures(f, device);
    return id;
}

static void add_signpost(struct filling *f, struct op_line *line)
{
    uint64_t time_ns;
    bool is_torch;
    if (!take_start(f, &time_ns))
        time_ns = UINT64_MAX;
    ops_add_signpost(f->ops, time_ns, ops_get_slice(f->ops, take_name(f, &is_torch)), slice_from(NULL, 0));
    line->signpost = (uint32_t)f->ops->signpost_count - 1;
}

static void add_row(struct filling *f)
{
    struct slice type = f->cells[OPS_CSV_TYPE];
    struct op_line line = {OPS_NONE, OPS_NONE, OPS_NONE,
                           f->line < UINT32_MAX ? (uint32_t)f->line : UINT32_MAX};
    double number;
    f->rows++;
    if (slice_is(type, "signpost")) {
        add_signpost(f, &line);
        ops_add_line(f->ops, line);
        return;
    }
    bool is_torch;
    uint32_t name = take_name(f, &is_torch);
    bool is_host = slice_is(type, "tt_dnn_cpu") || slice_is(type, "python_fallback") || is_torch;
    struct op_call call = {.process = OPS_NONE,
                           .track = OPS_NONE,
                           .number = OPS_NO_NUMBER,
                           .name = name,
                           .type = (uint8_t)(!is_host                            ? OP_TYPE_DEVICE
                                             : slice_is(type, "python_fallback") ? OP_TYPE_FALLBACK
                                                                                 : OP_TYPE_HOST)};
    uint64_t host_ns = take_duration(f, OPS_CSV_HOST_DURATION);
    if (!take_start(f, &call.start_ns)) {
        call.faults |= OP_FAULT_NO_HOST_TIME;
        if (f->line && !f->missing_starts++)
            f->first_missing_start = f->line;
    }
    call.end_ns = call.start_ns + (host_ns == OPS_NO_DURATION ? 0 : host_ns);
    if (host_ns == OPS_NO_DURATION)
        call.faults |= OP_FAULT_OPEN;
    if (cell_number(f->cells[OPS_CSV_CALL], &number) != NUMBER_BAD && number >= 0 && number < 1e18)
        call.number = (uint64_t)number;
    call.device = take_device(f);
    take_architecture(f, call.device);
    uint64_t duration_ns = take_duration(f, OPS_CSV_DURATION);
    if (!is_host)
        note_device_op(f, duration_ns, call.device);
    call.description = take_description(f, !is_host);
    line.call = ops_add_call(f->ops, &call);
    line.run = add_run(f, line.call, call.device, duration_ns);
    ops_add_line(f->ops, line);
}

static bool is_for_times(size_t column)
{
    static const size_t fixed[] = {OPS_CSV_NAME,       OPS_CSV_TYPE,          OPS_CSV_DEVICE,
                                   OPS_CSV_HOST_START, OPS_CSV_HOST_DURATION, OPS_CSV_GAP,
                                   OPS_CSV_DURATION,   OPS_CSV_LOCATION,      OPS_CSV_MODULE};
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        if (column == fixed[i])
            return true;
    }
    size_t part = column < OPS_CSV_TENSOR ? 0 : (column - OPS_CSV_TENSOR) % OPS_CSV_TENSOR_CELLS;
    return column >= OPS_CSV_TENSOR && (part < 4 || part == OPS_CSV_TENSOR_TYPE);
}

static int select_columns(struct filling *f, struct op_rows *rows, struct error *err)
{
    char buffers[OPS_CSV_COLUMNS][40];
    const char *names[OPS_CSV_COLUMNS];
    f->is_old_header = ops_csv_header_is_old(rows);
    for (size_t i = 0; i < OPS_CSV_COLUMNS; i++) {
        bool is_wanted = !f->times_only || is_for_times(i);
        names[i] = is_wanted ? name_of(f, i, buffers[i], sizeof buffers[i]) : "\x01";
        f->has[i] = is_wanted && op_rows_find_column(rows, names[i]) != SIZE_MAX;
    }
    ops_csv_known_begin(&f->known, rows, names, f->has);
    return op_rows_select(rows, names, OPS_CSV_COLUMNS, err);
}

/* What the source itself could not read, and what only the end of the file shows. */
static void note_end(struct filling *f, const struct op_rows *rows)
{
    static const char no_column[] = "line 1: no column";
    const struct op_row_notice *notice;
    struct bytes text = {0};
    for (size_t i = 0; (notice = op_rows_notice(rows, i)); i++) {
        if (f->times_only && strncmp(notice->text, no_column, strlen(no_column)) == 0)
            continue;
        bytes_clear(&text);
        op_rows_append_notice(rows, notice, &text);
        ops_add_notice(f->ops, UINT32_MAX - (uint32_t)(f->ops->notice_count), OP_NOTICE_DAMAGED,
                       notice->first_line, "%.*s", text.failed ? 0 : (int)text.length,
                       (const char *)text.data);
    }
    bytes_free(&text);
    if (f->times_only && !f->has[OPS_CSV_DURATION])
        ops_add_notice(f->ops, NOTICE_NO_TIMES, OP_NOTICE_DAMAGED, 1,
                       "%s: line 1: no column 'DEVICE KERNEL DURATION [ns]': no op has a time on the device",
                       f->path);
    if (f->missing_starts && f->missing_starts < f->rows && f->has[OPS_CSV_HOST_START])
        ops_add_notice(f->ops, NOTICE_NO_START, OP_NOTICE_DAMAGED, f->first_missing_start,
                       "%s:%" PRIu64
                       ": column 'HOST START TS' has no time; the op counts as started last (%" PRIu64
                       " in all)",
                       f->path, f->first_missing_start, f->missing_starts);
}

int ops_csv_to_model(struct ops *ops, struct op_rows *rows, const struct ops_csv_request *request,
                     struct ops_csv_summary *summary, struct error *err)
{
    struct filling f = {.ops = ops,
                        .path = op_rows_path(rows),
                        .first_device = request->first_device,
                        .times_only = request->times_only,
                        .device_max = -1,
                        .available_cores = ops_text(ops, slice_of(OPS_FIGURE_AVAILABLE_CORES)),
                        .sub_device = ops_text(ops, slice_of(OPS_FIGURE_SUB_DEVICE)),
                        .ticks_ns = ops_text(ops, slice_of(OPS_FIGURE_TICKS_NS))};
    struct op_row row;
    int status = select_columns(&f, rows, err);
    while (!status && !ops->failed && (status = op_rows_next(rows, &row, err)) > 0) {
        f.cells = row.cells;
        f.line = row.line;
        add_row(&f);
        status = 0;
    }
    note_end(&f, rows);
    *summary = (struct ops_csv_summary){.devices = (uint32_t)(f.device_max + 1),
                                        .has_host_start = f.has[OPS_CSV_HOST_START]};
    map_free(&f.devices);
    ops_csv_known_free(&f.known);
    intern_free(&f.tensor_cells);
    free(f.tensors);
    bytes_free(&f.name);
    return status < 0 ? status : ops_check(ops, err);
}
