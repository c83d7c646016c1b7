/* SPDX-License-Identifier: Apache-2.0 */
#include "present/perf_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits of the shortest form, without point and sign; returns the exponent of the first one. */
static int shortest_digits(double value, char *digits, size_t size)
{
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, value);
        if (strtod(text, NULL) == value)
            break;
    }
    size_t count = 0;
    const char *at = text;
    for (; *at && *at != 'e' && count + 1 < size; at++) {
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    }
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = 0;
    return *at == 'e' ? (int)strtol(at + 1, NULL, 10) : 0;
}

void perf_append_exact(struct bytes *out, double value)
{
    char digits[24];
    if (isnan(value) || isinf(value)) {
        bytes_append_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(value))
        bytes_append_text(out, "-");
    int exponent = shortest_digits(fabs(value), digits, sizeof digits);
    int count = (int)strlen(digits);
    if (exponent < -4 || exponent >= 16) {
        bytes_append(out, digits, 1);
        if (count > 1)
            bytes_append_format(out, ".%s", digits + 1);
        bytes_append_format(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        bytes_append_text(out, "0.");
        for (int i = -1; i > exponent; i--)
            bytes_append_text(out, "0");
        bytes_append_text(out, digits);
        return;
    }
    for (int i = 0; i <= exponent; i++)
        bytes_append_u8(out, i < count ? (uint8_t)digits[i] : '0');
    bytes_append_text(out, ".");
    bytes_append_text(out, count > exponent + 1 ? digits + exponent + 1 : "0");
}

void perf_append_grouped(struct bytes *out, double value, int decimals)
{
    char text[400];
    if (isnan(value) || isinf(value)) {
        bytes_append_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    snprintf(text, sizeof text, "%.*f", decimals, value);
    const char *at = text;
    if (*at == '-')
        bytes_append(out, at++, 1);
    size_t whole = strspn(at, "0123456789");
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0)
            bytes_append_text(out, ",");
        bytes_append(out, at + i, 1);
    }
    bytes_append_text(out, at + whole);
}
