/* SPDX-License-Identifier: Apache-2.0 */
#include "present/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/real_write.h"

const char *format_count(struct number_text *out, uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out->text[used++] = ',';
        out->text[used++] = digits[i];
    }
    out->text[used] = '\0';
    return out->text;
}

/* "process" is "processes" and "entry" is "entries"; other words get an s. */
const char *format_things(struct number_text *out, uint64_t value, const char *one)
{
    struct number_text count;
    size_t length = strlen(one);
    bool has_y = length > 1 && one[length - 1] == 'y' && !strchr("aeiou", one[length - 2]);
    bool has_s = length > 1 &&
                 (one[length - 1] == 's' || one[length - 1] == 'x' || strcmp(one + length - 2, "ch") == 0);
    size_t stem = has_y && value != 1 ? length - 1 : length;
    size_t used = strlen(format_count(&count, value)), room = sizeof out->text - used - sizeof " ies";
    const char *ending = value == 1 ? "" : has_y ? "ies" : has_s ? "es" : "s";
    stem = stem < room ? stem : room;
    memcpy(out->text, count.text, used);
    out->text[used++] = ' ';
    memcpy(out->text + used, one, stem);
    memcpy(out->text + used + stem, ending, strlen(ending) + 1);
    return out->text;
}

/* "%.*f %s" */
static void put_with_unit(struct number_text *out, double value, unsigned decimals, const char *unit)
{
    size_t used = real_put_fixed(out->text, sizeof out->text, value, decimals), length = strlen(unit);
    if (used + length + 2 > sizeof out->text)
        return; /* hours of more than 40 digits */
    out->text[used] = ' ';
    memcpy(out->text + used + 1, unit, length + 1);
}

/* The unit is the largest in which the rounded value is not below 1, so that 999.9996 us is 1.000 ms. */
const char *format_time_real(struct number_text *out, double ns)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e3, "us"}, {1e6, "ms"}, {1e9, "s"}, {3.6e12, "h"}};
    const double below[] = {999.9995e3, 999.9995e6, 9999.9995e9, INFINITY};
    double size = fabs(ns);
    if (!isfinite(ns)) {
        snprintf(out->text, sizeof out->text, "-");
    } else if (size < 999.95) {
        put_with_unit(out, ns, 1, "ns");
    } else {
        unsigned i = 0;
        while (size >= below[i])
            i++;
        put_with_unit(out, ns / units[i].ns, 3, units[i].name);
    }
    return out->text;
}

const char *format_time(struct number_text *out, uint64_t ns)
{
    if (ns >= 1000)
        return format_time_real(out, (double)ns);
    snprintf(out->text, sizeof out->text, "%" PRIu64 " ns", ns);
    return out->text;
}

/* From a minute on in two units, of which the larger is rounded down. */
static void put_long(struct number_text *out, uint64_t seconds)
{
    const uint64_t minute = 60, hour = 60 * minute, day = 24 * hour;
    if (seconds < hour) {
        snprintf(out->text, sizeof out->text, "%" PRIu64 " min %" PRIu64 " s", seconds / minute,
                 seconds % minute);
    } else if (seconds < day) {
        snprintf(out->text, sizeof out->text, "%" PRIu64 " h %02" PRIu64 " min", seconds / hour,
                 seconds % hour / minute);
    } else {
        snprintf(out->text, sizeof out->text, "%" PRIu64 " d %" PRIu64 " h", seconds / day,
                 seconds % day / hour);
    }
}

const char *format_duration(struct number_text *out, uint64_t ns)
{
    static const char *const units[] = {"\xc2\xb5s", "ms", "s"};
    double value = (double)ns / 1e3;
    unsigned i = 0;
    if (ns < 1000) {
        snprintf(out->text, sizeof out->text, "%" PRIu64 " ns", ns);
        return out->text;
    }
    if (ns >= UINT64_C(59950000000)) {
        put_long(out, ns / 1000000000 + (ns % 1000000000 >= 500000000));
        return out->text;
    }
    for (; value >= 999.5 && i < 2; i++)
        value /= 1000;
    put_with_unit(out, value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[i]);
    return out->text;
}

const char *format_instant(struct number_text *out, uint64_t ns)
{
    uint64_t us = ns / 1000 + (ns % 1000 >= 500);
    snprintf(out->text, sizeof out->text, "%" PRIu64 ".%06" PRIu64 " s", us / 1000000, us % 1000000);
    return out->text;
}

const char *format_bytes(struct number_text *out, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(out->text, sizeof out->text, "%" PRIu64 " B", bytes);
        return out->text;
    }
    double value = (double)bytes / 1024;
    unsigned i = 0;
    for (; value >= 1023.95 && i < 5; i++)
        value /= 1024;
    snprintf(out->text, sizeof out->text, "%.1f %s", value, units[i]);
    return out->text;
}

const char *format_percent(struct number_text *out, double percent, unsigned decimals)
{
    double least = pow(10, -(double)decimals);
    if (!isfinite(percent))
        snprintf(out->text, sizeof out->text, "-");
    else if (percent > 0 && percent < least / 2)
        snprintf(out->text, sizeof out->text, "<%.*f%%", (int)decimals, least);
    else
        snprintf(out->text, sizeof out->text, "%.*f%%", (int)decimals, percent);
    return out->text;
}

const char *format_share(struct number_text *out, double share)
{
    double percent = share * 100;
    bool is_extreme = (percent > 0 && percent < 9.95) || (percent >= 90 && percent < 100);
    if (percent >= 99.95 && percent < 100) { /* not all of it */
        snprintf(out->text, sizeof out->text, ">99.9%%");
        return out->text;
    }
    return format_percent(out, percent, is_extreme ? 1 : 0);
}
