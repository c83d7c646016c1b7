/* SPDX-License-Identifier: Apache-2.0 */
#include "import/ops_csv/layout.h"

#include <string.h>

#include "base/count_of.h"

enum section {
    SECTION_FIRST,
    SECTION_INPUTS,
    SECTION_OUTPUTS,
    SECTION_BEFORE_SIZES,
    SECTION_SIZES,
    SECTION_BEFORE_COUNTERS,
    SECTION_COUNTERS,
    SECTION_HOST_FUNCTIONS,
    SECTION_UNKNOWN,
    SECTION_LAST,
};

#define X(id, name, kind, flags) {name, OP_COLUMN_##kind, flags},
const struct op_column op_fixed_columns[OP_FIXED_COLUMN_COUNT] = {OP_FIXED_COLUMNS(X)};
#undef X

static const struct {
    const char *name;
    bool is_percent;
} metrics[OP_METRIC_COUNT] = {
#define X(id, name, is_percent) {name, is_percent},
    OP_COUNTER_METRICS(X)
#undef X
};

static const char *const tensor_fields[OP_TENSOR_FIELDS] = {
    "W_PAD[LOGICAL]", "Z_PAD[LOGICAL]", "Y_PAD[LOGICAL]", "X_PAD[LOGICAL]", "LAYOUT", "DATATYPE", "MEMORY",
};

static const char host_function_suffix[] = "_TT_HOST_FUNC [ns]";
static const char kernel_size_suffix[] = " MAX KERNEL SIZE [B]";

void op_counter_column(enum op_counter_metric metric, enum op_counter_statistic statistic, struct bytes *out)
{
    static const char *const statistics[] = {"Min", "Median", "Max", "Avg"};
    static const char *const full_grid[] = {"SFPU", "FPU", "Math"};
    if (statistic == OP_METRIC_AVG && metric <= OP_METRIC_MATH_UTIL)
        bytes_append_format(out, "Avg %s util on full grid (%%)", full_grid[metric]);
    else
        bytes_append_format(out, "%s %s%s", metrics[metric].name, statistics[statistic],
                            metrics[metric].is_percent ? " (%)" : "");
}

void op_tensor_column(bool is_output, uint32_t index, enum op_tensor_field field, struct bytes *out)
{
    char digits[12];
    size_t at = sizeof digits;
    do { /* without printf: this is asked for each tensor of each op */
        digits[--at] = (char)('0' + index % 10);
        index /= 10;
    } while (index);
    bytes_append_text(out, is_output ? "OUTPUT_" : "INPUT_");
    bytes_append(out, digits + at, sizeof digits - at);
    bytes_append_u8(out, '_');
    bytes_append_text(out, tensor_fields[field]);
}

static bool equals(const char *name, size_t length, const char *text)
{
    return strlen(text) == length && memcmp(name, text, length) == 0;
}

static bool ends_with(const char *name, size_t length, const char *suffix)
{
    size_t suffix_length = strlen(suffix);
    return length >= suffix_length && memcmp(name + length - suffix_length, suffix, suffix_length) == 0;
}

/* Reads digits at *at; false when there are none or too many. */
static bool take_number(const char *name, size_t length, size_t *at, uint32_t *number)
{
    size_t begin = *at;
    *number = 0;
    for (; *at < length && name[*at] >= '0' && name[*at] <= '9'; (*at)++) {
        if (*at - begin == 8)
            return false;
        *number = *number * 10 + (uint32_t)(name[*at] - '0');
    }
    return *at > begin;
}

static bool find_tensor(const char *name, size_t length, bool *is_output, uint32_t *index, unsigned *field,
                        bool *is_v1)
{
    size_t at;
    *is_output = length > 7 && memcmp(name, "OUTPUT_", 7) == 0;
    if (!*is_output && (length <= 6 || memcmp(name, "INPUT_", 6) != 0))
        return false;
    at = *is_output ? 7 : 6;
    if (!take_number(name, length, &at, index) || at >= length || name[at] != '_')
        return false;
    at++;
    for (*field = 0; *field < OP_TENSOR_FIELDS; (*field)++) {
        *is_v1 = *field <= OP_TENSOR_X && length - at == 1 && name[at] == tensor_fields[*field][0];
        if (*is_v1 || equals(name + at, length - at, tensor_fields[*field]))
            return true;
    }
    return false;
}

static const struct {
    const char *prefix;
    const char *v1; /* the names of its processors in the report of 2024, one after the other */
} kernel_classes[] = {
    {"TENSIX DM ", "BRISC\0NCRISC\0"},
    {"TENSIX COMPUTE ", "TRISC 0\0TRISC 1\0TRISC 2\0"},
    {"ACTIVE ETH DM ", "ERISC\0"},
    {"IDLE ETH DM ", ""},
};
#define KERNEL_CLASSES COUNT_OF(kernel_classes)

static bool find_kernel_size(const char *name, size_t length, uint32_t *class, uint32_t *index)
{
    if (!ends_with(name, length, kernel_size_suffix))
        return false;
    length -= sizeof kernel_size_suffix - 1;
    *index = 0;
    for (*class = 0; *class < KERNEL_CLASSES; (*class)++) {
        size_t at = strlen(kernel_classes[*class].prefix);
        if (length > at && memcmp(name, kernel_classes[*class].prefix, at) == 0 &&
            take_number(name, length, &at, index) && at == length)
            return true;
    }
    return true; /* of an unknown processor: after the others */
}

static bool find_metric(const char *name, size_t length, unsigned *metric, unsigned *statistic)
{
    struct bytes text = {0};
    bool is_found = false;
    for (*metric = 0; *metric < OP_METRIC_COUNT; (*metric)++) {
        const char *base = metrics[*metric].name;
        if (name[0] != base[0] && name[0] != 'A')
            continue;
        for (*statistic = 0; *statistic < OP_METRIC_STATISTICS; (*statistic)++) {
            bytes_clear(&text);
            op_counter_column((enum op_counter_metric) * metric, (enum op_counter_statistic) * statistic,
                              &text);
            is_found = text.length == length && memcmp(bytes_text(&text), name, length) == 0;
            if (is_found)
                goto out;
        }
    }
out:
    bytes_free(&text);
    return is_found;
}

enum op_fixed_column op_column_find(const char *name, size_t length)
{
    for (unsigned i = 0; i < OP_FIXED_COLUMN_COUNT; i++) {
        if (equals(name, length, op_fixed_columns[i].name))
            return (enum op_fixed_column)i;
    }
    return OP_FIXED_COLUMN_COUNT;
}

static uint64_t rank(enum section section, uint64_t place)
{
    return (uint64_t)section << 48 | place;
}

uint64_t op_column_rank(const char *name, size_t length)
{
    bool is_output, is_v1;
    uint32_t index, class;
    unsigned field, metric, statistic;
    enum op_fixed_column fixed = op_column_find(name, length);
    if (fixed < OP_COLUMN_ID_TRACE_ID)
        return rank(SECTION_FIRST, fixed);
    if (fixed < OP_COLUMN_ID_PM_IDEAL)
        return rank(SECTION_BEFORE_SIZES, fixed);
    if (fixed < OP_COLUMN_ID_LOC)
        return rank(SECTION_BEFORE_COUNTERS, fixed);
    if (fixed < OP_FIXED_COLUMN_COUNT)
        return rank(SECTION_LAST, fixed);
    if (find_tensor(name, length, &is_output, &index, &field, &is_v1))
        return rank(is_output ? SECTION_OUTPUTS : SECTION_INPUTS, (uint64_t)index << 4 | field);
    if (find_kernel_size(name, length, &class, &index))
        return rank(SECTION_SIZES, (uint64_t) class << 32 | index);
    if (ends_with(name, length, host_function_suffix))
        return rank(SECTION_HOST_FUNCTIONS, 0);
    if (find_metric(name, length, &metric, &statistic))
        return rank(SECTION_COUNTERS, metric * OP_METRIC_STATISTICS + statistic);
    return rank(SECTION_UNKNOWN, 0);
}

enum op_column_kind op_column_kind_of(const char *name, size_t length)
{
    bool is_output, is_v1;
    unsigned field, metric, statistic;
    uint32_t class, index;
    enum op_fixed_column fixed = op_column_find(name, length);
    if (fixed < OP_FIXED_COLUMN_COUNT)
        return op_fixed_columns[fixed].kind;
    if (find_tensor(name, length, &is_output, &index, &field, &is_v1))
        return is_v1 ? OP_COLUMN_INTEGER : OP_COLUMN_TEXT;
    if (find_kernel_size(name, length, &class, &index) || ends_with(name, length, host_function_suffix))
        return OP_COLUMN_INTEGER;
    return find_metric(name, length, &metric, &statistic) ? OP_COLUMN_REAL : OP_COLUMN_TEXT;
}

bool op_column_is_compact(const char *name, size_t length)
{
    enum op_fixed_column fixed = op_column_find(name, length);
    return fixed < OP_FIXED_COLUMN_COUNT && (op_fixed_columns[fixed].flags & OP_COLUMN_COMPACT);
}

bool op_column_v1_name(const char *name, size_t length, struct bytes *out, bool *is_padded_only)
{
    bool is_output, is_v1;
    unsigned field;
    uint32_t class, index;
    enum op_fixed_column fixed = op_column_find(name, length);
    *is_padded_only = false;
    if (fixed < OP_FIXED_COLUMN_COUNT) {
        bytes_append(out, name, length);
        return (op_fixed_columns[fixed].flags & OP_COLUMN_V1) != 0;
    }
    if (find_tensor(name, length, &is_output, &index, &field, &is_v1)) {
        *is_padded_only = field <= OP_TENSOR_X;
        if (*is_padded_only)
            bytes_append_format(out, "%s_%u_%c", is_output ? "OUTPUT" : "INPUT", (unsigned)index,
                                tensor_fields[field][0]);
        else
            bytes_append(out, name, length);
        return true;
    }
    if (find_kernel_size(name, length, &class, &index)) {
        const char *known = class < KERNEL_CLASSES ? kernel_classes[class].v1 : "";
        for (; *known && index > 0; index--)
            known += strlen(known) + 1;
        bytes_append_format(out, "%s%s", known, kernel_size_suffix);
        return *known != 0;
    }
    bytes_append(out, name, length);
    return ends_with(name, length, host_function_suffix);
}
