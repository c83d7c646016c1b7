/* SPDX-License-Identifier: Apache-2.0 */
#include "text/csv/cell.h"

#include <math.h>
#include <stdlib.h>

#include "base/count_of.h"

#define LONGEST_NUMBER 400u

bool cell_is_missing(struct slice cell)
{
    static const char *const words[] = {"nan",      "NaN",  "None",   "NA",      "N/A",     "n/a",
                                        "null",     "NULL", "-nan",   "-NaN",    "<NA>",    "#N/A",
                                        "#N/A N/A", "#NA",  "1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"};
    if (cell.length == 0)
        return true;
    char first = cell.data[0];
    if (cell.length > 8 || (first != 'n' && first != 'N' && first != '<' && first != '#' && first != '-' &&
                            (first != '1' || cell.length < 6 || cell.data[1] != '.')))
        return false; /* nearly all cells */
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (slice_is(cell, words[i]))
            return true;
    }
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool cell_int64(struct slice cell, int64_t *value)
{
    size_t at = cell.length && cell.data[0] == '-';
    uint64_t sum = 0;
    if (cell.length == at || cell.length - at > 18)
        return false;
    for (size_t i = at; i < cell.length; i++) {
        unsigned digit = (unsigned)(unsigned char)cell.data[i] - '0';
        if (digit > 9)
            return false;
        sum = sum * 10 + digit;
    }
    *value = at ? -(int64_t)sum : (int64_t)sum;
    return true;
}

static struct slice trimmed(struct slice cell)
{
    while (cell.length && (cell.data[0] == ' ' || cell.data[0] == '\t')) {
        cell.data++;
        cell.length--;
    }
    while (cell.length && (cell.data[cell.length - 1] == ' ' || cell.data[cell.length - 1] == '\t'))
        cell.length--;
    return cell;
}

/* strtod also reads hexadecimal numbers and "nan(...)": a table does not mean them as numbers. */
static bool is_decimal(struct slice cell)
{
    size_t at = cell.length && (cell.data[0] == '-' || cell.data[0] == '+');
    if (at == cell.length)
        return false;
    if (is_digit(cell.data[at]) || cell.data[at] == '.')
        return memchr(cell.data, 'x', cell.length) == NULL && memchr(cell.data, 'X', cell.length) == NULL;
    struct slice word = {cell.data + at, cell.length - at};
    return (word.length == 3 && strncasecmp(word.data, "inf", 3) == 0) ||
           (word.length == 8 && strncasecmp(word.data, "infinity", 8) == 0);
}

enum number_kind cell_number(struct slice cell, double *value)
{
    char text[LONGEST_NUMBER + 1];
    int64_t whole;
    *value = NAN;
    if (cell_int64(cell, &whole)) {
        *value = (double)whole;
        return NUMBER_WHOLE;
    }
    if (cell_is_missing(cell))
        return NUMBER_MISSING;
    cell = trimmed(cell);
    if (cell.length > LONGEST_NUMBER || !is_decimal(cell))
        return NUMBER_BAD;
    memcpy(text, cell.data, cell.length);
    text[cell.length] = 0;
    char *end;
    double number = strtod(text, &end);
    if (end != text + cell.length)
        return NUMBER_BAD;
    *value = number;
    return cell.length == strspn(text, "+-0123456789") ? NUMBER_WHOLE : NUMBER_REAL;
}

enum number_kind cell_dimension(struct slice cell, double *value)
{
    const char *bracket = cell.length ? memchr(cell.data, '[', cell.length) : NULL;
    if (bracket) {
        if (cell.data[cell.length - 1] != ']') {
            *value = NAN;
            return NUMBER_BAD;
        }
        cell.length = (size_t)(bracket - cell.data);
    }
    enum number_kind kind = cell_number(cell, value);
    if (kind == NUMBER_REAL && floor(*value) == *value && isfinite(*value))
        kind = NUMBER_WHOLE;
    return kind;
}

int32_t cell_find_number(struct slice cell, const char *key)
{
    for (;;) {
        cell = slice_after(cell, key);
        if (!cell.data)
            return CELL_NO_NUMBER;
        int64_t number = 0;
        size_t i = 0;
        while (i < cell.length && is_digit(cell.data[i]) && number < INT32_MAX / 10)
            number = number * 10 + (cell.data[i++] - '0');
        if (i > 0)
            return (int32_t)number;
    }
}

double cell_type_bytes(struct slice cell)
{
    size_t i = 0;
    double bits = 0;
    while (i < cell.length && !is_digit(cell.data[i]))
        i++;
    if (i == cell.length)
        return 4;
    while (i < cell.length && is_digit(cell.data[i]) && bits < 1e9)
        bits = bits * 10 + (cell.data[i++] - '0');
    return bits / 8;
}

/* The second name of the pair whose first it is, or the cell as it is. */
static struct slice other_name(struct slice cell, const char *const (*names)[2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_is(cell, names[i][0]))
            return slice_of(names[i][1]);
    }
    return cell;
}

struct slice cell_short_type(struct slice cell)
{
    static const char *const names[][2] = {
        {"FLOAT32", "FP32"}, {"BFLOAT16", "BF16"}, {"BFLOAT8_B", "BFP8"}, {"BFLOAT4_B", "BFP4"}};
    return other_name(cell, names, COUNT_OF(names));
}

struct slice cell_type_name(struct slice cell)
{
    static const char *const names[][2] = {{"FLOAT64", "FP64"}, {"FLOAT16", "FP16"}};
    return other_name(cell_short_type(cell), names, COUNT_OF(names));
}
