/* SPDX-License-Identifier: Apache-2.0 */
#include "import/op_check.h"

#include <string.h>

#include "base/count_of.h"
#include "base/utf8_valid.h"
#include "import/ops_csv/layout.h"

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* INPUT_3_W_PAD[LOGICAL], and INPUT_3_W of 2024. */
static bool is_size(const char *column)
{
    size_t at = strncmp(column, "INPUT_", 6) == 0 ? 6 : strncmp(column, "OUTPUT_", 7) == 0 ? 7 : 0;
    size_t digits = at ? strspn(column + at, "0123456789") : 0;
    if (digits == 0 || column[at + digits] != '_')
        return false;
    const char *side = column + at + digits + 1;
    return *side && strchr("WZYX", *side) && (side[1] == 0 || strcmp(side + 1, "_PAD[LOGICAL]") == 0);
}

enum op_check op_check_of(const char *column)
{
    size_t length = strlen(column);
    enum op_fixed_column fixed = op_column_find(column, length);
    if (is_size(column))
        return OP_CHECK_SIZE;
    if (fixed == OP_COLUMN_ID_OP_CODE)
        return OP_CHECK_NAME;
    if (op_column_kind_of(column, length) == OP_COLUMN_TEXT)
        return OP_CHECK_NOTHING;
    if (fixed == OP_COLUMN_ID_CORE_COUNT || fixed == OP_COLUMN_ID_WORKER_CORES)
        return OP_CHECK_COUNT;
    if (fixed == OP_COLUMN_ID_CALL || fixed == OP_COLUMN_ID_DEVICE_ID)
        return OP_CHECK_WHOLE;
    return ends_with(column, " DURATION [ns]") ? OP_CHECK_DURATION : OP_CHECK_NUMBER;
}

struct number {
    bool is_number, is_negative, has_fraction, is_beyond, is_zero;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Decimal numbers, as far as their form tells. An exponent is allowed up to e+18; what is larger is beyond. */
static struct number look_at(const char *text, size_t length)
{
    struct number number = {.is_zero = true};
    size_t at = length && (text[0] == '-' || text[0] == '+'), whole = 0;
    const char *first = text; /* of the digits, after zeros */
    unsigned exponent = 0;
    bool has_exponent = false, has_small_exponent = false;
    number.is_negative = length && text[0] == '-';
    for (; at < length && is_digit(text[at]); at++) {
        number.is_zero &= text[at] == '0';
        if (whole == 0)
            first = text + at;
        whole += whole || text[at] != '0';
        number.is_number = true;
    }
    if (at < length && text[at] == '.') {
        for (at++; at < length && is_digit(text[at]); at++) {
            number.has_fraction |= text[at] != '0';
            number.is_zero &= text[at] == '0';
            number.is_number = true;
        }
    }
    if (number.is_number && at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        has_small_exponent = at < length && text[at] == '-';
        at += at < length && (text[at] == '-' || text[at] == '+');
        for (; at < length && is_digit(text[at]); at++) {
            exponent = exponent < 1000 ? exponent * 10 + (unsigned)(text[at] - '0') : exponent;
            has_exponent = true;
        }
        number.is_number = has_exponent;
    }
    if (at != length)
        number.is_number = false;
    size_t digits = whole + (has_small_exponent ? 0 : exponent);
    number.is_beyond =
        !number.is_zero &&
        (digits > 20 || (whole == 20 && !has_exponent && memcmp(first, "18446744073709551615", 20) > 0));
    if (has_exponent) /* 1.5e3 has no fraction, 1e-3 has one: not worth telling apart */
        number.has_fraction = has_small_exponent && !number.is_zero;
    number.is_negative &= !number.is_zero;
    return number;
}

/* Words that tables use for "nothing". */
static bool is_nothing(struct slice cell)
{
    static const char *const words[] = {"", "nan", "NaN", "None", "NA", "N/A", "n/a", "null", "NULL"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (cell.length == strlen(words[i]) && memcmp(cell.data ? cell.data : "", words[i], cell.length) == 0)
            return true;
    }
    return false;
}

static const char *check_size(struct slice cell)
{
    const char *bracket = memchr(cell.data, '[', cell.length);
    size_t length = bracket ? (size_t)(bracket - cell.data) : cell.length;
    struct number padded = look_at(cell.data, length);
    bool is_good = padded.is_number && !padded.is_negative && !padded.has_fraction && !padded.is_beyond;
    if (is_good && bracket) {
        size_t inside = cell.length - length - 1; /* with the closing bracket */
        struct number logical = look_at(bracket + 1, inside ? inside - 1 : 0);
        is_good = inside > 1 && cell.data[cell.length - 1] == ']' && logical.is_number &&
                  !logical.is_negative && !logical.has_fraction;
    }
    return is_good && length <= 19 ? NULL : "is not a size";
}

static const char *check_name(struct slice cell)
{
    if (is_nothing(cell))
        return "names no op";
    if (memchr(cell.data, 0, cell.length))
        return "holds a NUL byte";
    return utf8_is_valid(cell.data, cell.length) ? NULL : "is not UTF-8";
}

const char *op_check_cell(enum op_check check, struct slice cell)
{
    if (check == OP_CHECK_NOTHING)
        return NULL;
    if (check == OP_CHECK_NAME)
        return check_name(cell);
    if (is_nothing(cell))
        return NULL;
    if (check == OP_CHECK_SIZE)
        return check_size(cell);
    struct number number = look_at(cell.data, cell.length);
    if (!number.is_number)
        return "is not a number";
    if (number.is_beyond)
        return "is beyond 64 bits";
    if (check == OP_CHECK_NUMBER)
        return NULL;
    if (check == OP_CHECK_DURATION)
        return number.is_negative ? "is not a duration" : NULL;
    if (number.is_negative || number.has_fraction)
        return "is not a whole number";
    return check == OP_CHECK_COUNT && number.is_zero ? "is not a count" : NULL;
}
