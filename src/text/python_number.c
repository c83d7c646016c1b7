/* SPDX-License-Identifier: Apache-2.0 */
#include "text/python_number.h"

#include <math.h>
#include <stdlib.h>

#include "text/real_write.h"

void python_append_float(struct bytes *out, double value)
{
    struct real_digits real;
    char digits[21];
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
    real_shortest(fabs(value), 1, &real);
    digits[real_put_whole(digits, real.digits)] = 0;
    int count = real.count, exponent = real.exponent;
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
