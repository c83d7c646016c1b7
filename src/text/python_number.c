/* SPDX-License-Identifier: Apache-2.0 */
#include "text/python_number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DIGITS_MAX 17

/* The digits of the shortest form that reads back, without point and trailing zeros, and the exponent of the
 * first. A decimal of up to 15 digits survives the way through a normal double: any shorter form shows as these
 * 15 with zeros after it, and shorter precisions need not be tried. Numbers below the normal ones have fewer
 * significant bits. */
static int shortest_digits(double magnitude, char digits[DIGITS_MAX + 1], int *exponent)
{
    char text[40];
    for (int precision = magnitude < DBL_MIN ? 1 : DBL_DIG; precision <= DIGITS_MAX; precision++) {
        snprintf(text, sizeof text, "%.*e", precision - 1, magnitude);
        if (strtod(text, NULL) == magnitude)
            break;
    }
    int count = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9' && count < DIGITS_MAX)
            digits[count++] = *at;
    }
    *exponent = *at == 'e' ? (int)strtol(at + 1, NULL, 10) : 0;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    digits[count] = 0;
    return count;
}

void python_append_float(struct bytes *out, double value)
{
    char digits[DIGITS_MAX + 1];
    int exponent;
    if (isnan(value)) {
        bytes_append_text(out, "nan");
        return;
    }
    if (signbit(value))
        bytes_append_text(out, "-");
    if (isinf(value)) {
        bytes_append_text(out, "inf");
        return;
    }
    int count = shortest_digits(fabs(value), digits, &exponent);
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
