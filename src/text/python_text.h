/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Python prints them. Tables that were made by Python programs are compared by people and by scripts
 * down to the byte, so that these rules are kept exactly: repr of strings and (text/python_number.h) floats,
 * round(), "%.0f". */
#ifndef OPSCOPE_TEXT_PYTHON_TEXT_H
#define OPSCOPE_TEXT_PYTHON_TEXT_H

#include <stddef.h>

#include "base/bytes.h"
#include "text/python_number.h" /* repr of floats */

/* repr(str) of UTF-8 bytes: '...' unless the text holds ' and no "; what does not print is escaped. Bytes that
 * are not UTF-8 are kept as they are. */
void python_append_string(struct bytes *out, const char *text, size_t length);

/* "%.0f": to the nearest whole number, ties to even, without a sign in front of 0. */
void python_append_whole(struct bytes *out, double value);

/* round(value, 3): the decimal nearest to the exact value of the double. */
double python_round_3(double value);

#endif
