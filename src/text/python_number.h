/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point numbers as Python prints them. Tables that were made by Python programs are compared by people
 * and by scripts down to the byte, so that its rule is kept exactly. */
#ifndef OPSCOPE_TEXT_PYTHON_NUMBER_H
#define OPSCOPE_TEXT_PYTHON_NUMBER_H

#include "base/bytes.h"

/* repr(float): the fewest digits that read back as the same double, "1.0" with its point, exponents below 1e-4
 * and from 1e16 on; nan, inf, -inf. */
void python_append_float(struct bytes *out, double value);

#endif
