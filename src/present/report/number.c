/* SPDX-License-Identifier: Apache-2.0 */
#include "present/report/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
