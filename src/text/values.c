/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal fractions are read exactly (digits, not doubles), so that 1.5s is 1500000000 ns and not nearly so. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/count_of.h"
#include "text/values.h"

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", UINT64_C(1) << 10},
    {"KB", UINT64_C(1) << 10},
    {"KiB", UINT64_C(1) << 10},
    {"M", UINT64_C(1) << 20},
    {"MB", UINT64_C(1) << 20},
    {"MiB", UINT64_C(1) << 20},
    {"G", UINT64_C(1) << 30},
    {"GB", UINT64_C(1) << 30},
    {"GiB", UINT64_C(1) << 30},
    {"T", UINT64_C(1) << 40},
    {"TB", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
};

static const struct unit duration_units[] = {
    {"", UINT64_C(1000000000)},
    {"s", UINT64_C(1000000000)},
    {"ms", 1000000},
    {"us", 1000},
    {"\xc2\xb5s", 1000},
    {"ns", 1},
    {"min", UINT64_C(60000000000)},
    {"m", UINT64_C(60000000000)},
    {"h", UINT64_C(3600000000000)},
};

/* Digits, perhaps a point and more digits, then a unit out of the list. A fraction of a base unit is cut off.
 */
static int parse_with_unit(const char *text, const struct unit *units, size_t unit_count, uint64_t *out)
{
    const char *at = text;
    uint64_t whole = 0, fraction = 0, scale = 1;
    bool has_digits = false;
    for (; isdigit((unsigned char)*at); at++, has_digits = true) {
        if (__builtin_mul_overflow(whole, UINT64_C(10), &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(*at - '0'), &whole))
            return -EINVAL;
    }
    if (*at == '.') {
        for (at++; isdigit((unsigned char)*at); at++, has_digits = true) {
            if (scale < UINT64_C(1000000000000)) {
                fraction = fraction * 10 + (uint64_t)(*at - '0');
                scale *= 10;
            }
        }
    }
    if (!has_digits)
        return -EINVAL;
    if (*at == ' ')
        at++;
    for (size_t i = 0; i < unit_count; i++) {
        if (strcasecmp(at, units[i].name) != 0)
            continue;
        __uint128_t value = (__uint128_t)whole * units[i].factor;
        value += (__uint128_t)fraction * units[i].factor / scale;
        if (value > UINT64_MAX)
            return -EINVAL;
        *out = (uint64_t)value;
        return 0;
    }
    return -EINVAL;
}

int value_parse_number(const char *text, uint64_t *out, struct error *err)
{
    static const struct unit none[] = {{"", 1}};
    if (strchr(text, '.') || parse_with_unit(text, none, 1, out) != 0)
        return error_set(err, EINVAL, "'%s' is not a whole number", text);
    return 0;
}

int value_parse_size(const char *text, uint64_t *bytes, struct error *err)
{
    if (parse_with_unit(text, size_units, COUNT_OF(size_units), bytes) != 0)
        return error_set(err, EINVAL, "'%s' is not a size; write it as 4096, 64K, 32M or 1.5G", text);
    return 0;
}

int value_parse_duration(const char *text, uint64_t *ns, struct error *err)
{
    if (parse_with_unit(text, duration_units, COUNT_OF(duration_units), ns) != 0)
        return error_set(err, EINVAL,
                         "'%s' is not a duration; write it as 2 (seconds), 1.5s, 200ms, 10us or 3min", text);
    return 0;
}

int value_parse_percent(const char *text, double *percent, struct error *err)
{
    size_t length = strspn(text, "0123456789."); /* nothing else that strtod would take */
    char *end = NULL;
    double value = strtod(text, &end);
    if (length > 0 && end == text + length && (*end == '\0' || strcmp(end, "%") == 0) && value >= 0 &&
        value <= 100) {
        *percent = value;
        return 0;
    }
    return error_set(err, EINVAL, "'%s' is not a percentage between 0 and 100", text);
}
