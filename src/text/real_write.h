/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point numbers as decimal digits, the same that printf gives, without it: a double of ordinary size times a
 * power of ten is an exact number of 128 bits, so rounding it and asking whether the digits read back is integer
 * arithmetic. */
#ifndef OPSCOPE_TEXT_REAL_WRITE_H
#define OPSCOPE_TEXT_REAL_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct real_digits {
    uint64_t digits; /* without zeros at the end; 0 for 0 */
    int count;       /* of the digits */
    int exponent;    /* of the first one: 4.2 has 0 */
    int precision;   /* how many were asked for: 15, 16 or 17 */
};

/* The fewest of 15, 16 or 17 digits that read back as the same number: finite, not negative. Numbers below the normal
 * ones are tried from `least` digits on. */
void real_shortest(double magnitude, int least, struct real_digits *out);

/* %.*f of a finite number, as snprintf gives it: how many bytes, of which `size` - 1 were put at most. */
size_t real_put_fixed(char *text, size_t size, double value, unsigned decimals);

/* Decimal digits, at most 20; how many. */
size_t real_put_whole(char *text, uint64_t value);

#endif
