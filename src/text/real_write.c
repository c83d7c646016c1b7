/* SPDX-License-Identifier: Apache-2.0 */
#include "text/real_write.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

__extension__ typedef unsigned __int128 wide;

/* 5^27 is the last one of 64 bits. */
#define POWERS 28u
static const uint64_t powers_of_5[POWERS] = {1,
                                             5,
                                             25,
                                             125,
                                             625,
                                             3125,
                                             15625,
                                             78125,
                                             390625,
                                             1953125,
                                             9765625,
                                             48828125,
                                             244140625,
                                             1220703125,
                                             6103515625,
                                             30517578125,
                                             152587890625,
                                             762939453125,
                                             3814697265625,
                                             19073486328125,
                                             95367431640625,
                                             476837158203125,
                                             2384185791015625,
                                             11920928955078125,
                                             59604644775390625,
                                             298023223876953125,
                                             1490116119384765625,
                                             7450580596923828125};

#define MANTISSA_BITS 52
#define HIDDEN_BIT (UINT64_C(1) << MANTISSA_BITS)

/* A normal number: mantissa * 2^exponent. */
static uint64_t take_apart(double magnitude, int *exponent)
{
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    *exponent = (int)(bits >> MANTISSA_BITS) - 1075;
    return (bits & (HIDDEN_BIT - 1)) | HIDDEN_BIT;
}

/* --- the fewest digits --- */

#define DIGITS_MAX 17
#define LIMIT UINT64_C(100000000000000000) /* 10^17 */

/* magnitude * 10^k, which lies between 10^16 and 10^17: `whole` and rest / 2^shift. `ulp` is the distance to the next
 * double, in units of the rest. */
struct scaled {
    uint64_t whole, mantissa;
    wide rest, ulp;
    unsigned shift;
};

/* 53 bits and the 75 of 5^32 fit into 128. */
static bool scale(double magnitude, struct scaled *out, int *exponent)
{
    int binary;
    if (!(magnitude >= 1e-15 && magnitude < 1e17))
        return false;
    out->mantissa = take_apart(magnitude, &binary);
    /* at most one too small: floor((binary + 52) * log10(2)) */
    for (*exponent = ((binary + MANTISSA_BITS) * 1233) >> 12;; ++*exponent) {
        unsigned k = (unsigned)(16 - *exponent);
        int shift = -(binary + (int)k);
        out->ulp = k < POWERS ? powers_of_5[k] : (wide)powers_of_5[POWERS - 1] * powers_of_5[k - POWERS + 1];
        wide product = out->mantissa * out->ulp;
        if (shift < 0) { /* a whole number of more than 53 bits */
            product <<= -shift;
            out->ulp <<= -shift;
            shift = 0;
        }
        if (product >> shift >= LIMIT)
            continue;
        out->shift = (unsigned)shift;
        out->whole = (uint64_t)(product >> shift);
        out->rest = product - ((wide)out->whole << shift);
        return true;
    }
}

/* The nearest multiple of `step`, of equally near ones the even one, in steps. False: it reads back as another number.
 */
static inline bool round_to(const struct scaled *s, uint64_t step, uint64_t *digits)
{
    uint64_t below = s->whole / step, over = s->whole - below * step;
    uint64_t near = (uint64_t)(s->ulp >> s->shift) / 2 + 2; /* what is farther off is another number */
    if (over > near && step - over > near)
        return false; /* nearly all that have more digits, without long arithmetic */
    wide above_it = ((wide)over << s->shift) + s->rest;
    wide to_next = ((wide)step << s->shift) - above_it;
    bool is_up = above_it > to_next || (above_it == to_next && below % 2);
    *digits = below + is_up;
    wide twice = 2 * (is_up ? to_next : above_it);
    /* the double before a power of two is only half as far away */
    wide ulp = s->ulp;
    if (!is_up && s->mantissa == HIDDEN_BIT)
        twice *= 2;
    return twice < ulp || (twice == ulp && s->mantissa % 2 == 0);
}

static void find_by_printf(double magnitude, int least, struct real_digits *out)
{
    char text[40];
    for (out->precision = magnitude < DBL_MIN ? least : DBL_DIG;; out->precision++) {
        snprintf(text, sizeof text, "%.*e", out->precision - 1, magnitude);
        if (out->precision == DIGITS_MAX || strtod(text, NULL) == magnitude)
            break;
    }
    out->digits = 0;
    const char *at = text;
    for (; *at && *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9')
            out->digits = out->digits * 10 + (uint64_t)(*at - '0');
    }
    out->exponent = *at == 'e' ? (int)strtol(at + 1, NULL, 10) : 0;
}

void real_shortest(double magnitude, int least, struct real_digits *out)
{
    static const uint64_t steps[] = {100, 10, 1};
    struct scaled scaled;
    if (magnitude == 0) {
        *out = (struct real_digits){.count = 1, .precision = DBL_DIG};
        return;
    }
    if (scale(magnitude, &scaled, &out->exponent)) {
        /* one by one: division by a constant is none */
        unsigned i = round_to(&scaled, 100, &out->digits) ? 0 : round_to(&scaled, 10, &out->digits) ? 1 : 2;
        if (i == 2)
            round_to(&scaled, 1, &out->digits);
        out->precision = DBL_DIG + (int)i;
        if (out->digits == LIMIT / steps[i]) { /* 9.99... became 10 */
            out->digits /= 10;
            out->exponent++;
        }
    } else {
        find_by_printf(magnitude, least, out);
    }
    out->count = out->precision;
    while (out->count > 8 && out->digits % 10000 == 0) {
        out->digits /= 10000;
        out->count -= 4;
    }
    while (out->count > 1 && out->digits % 10 == 0) {
        out->digits /= 10;
        out->count--;
    }
}

/* --- putting digits --- */

size_t real_put_whole(char *text, uint64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    char digits[20];
    size_t at = sizeof digits;
    while (value >= 100) {
        at -= 2;
        memcpy(digits + at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + value * 2, 2);
    } else {
        digits[--at] = (char)('0' + value);
    }
    memcpy(text, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

size_t real_put_fixed(char *text, size_t size, double value, unsigned decimals)
{
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
    double magnitude = fabs(value);
    if (!(magnitude >= 1e-6 && magnitude < 1e12) || decimals >= COUNT_OF(tens) || size < 24)
        return (size_t)snprintf(text, size, "%.*f", (int)decimals, value);
    int binary;
    wide product = (wide)take_apart(magnitude, &binary) * powers_of_5[decimals];
    unsigned shift = (unsigned)-(binary + (int)decimals); /* 6 to 73 */
    uint64_t digits = (uint64_t)(product >> shift);
    wide twice = 2 * (product - ((wide)digits << shift)), one = (wide)1 << shift;
    digits += twice > one || (twice == one && digits % 2);
    size_t length = 0;
    if (value < 0)
        text[length++] = '-';
    length += real_put_whole(text + length, digits / tens[decimals]);
    if (decimals) {
        text[length++] = '.';
        uint64_t rest = digits % tens[decimals];
        for (unsigned i = decimals; i-- > 0;)
            text[length++] = (char)('0' + rest / tens[i] % 10);
    }
    text[length] = 0;
    return length;
}
