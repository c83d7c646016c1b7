/* SPDX-License-Identifier: Apache-2.0 */
/* Values that people write, in options and configuration files: numbers, sizes, durations, percentages. Each returns 0,
 * or -EINVAL with what was expected in err. */
#ifndef OPSCOPE_TEXT_VALUES_H
#define OPSCOPE_TEXT_VALUES_H

#include <stdint.h>

#include "base/error.h"

int value_parse_number(const char *text, uint64_t *out, struct error *err);
int value_parse_size(const char *text, uint64_t *bytes, struct error *err);
int value_parse_duration(const char *text, uint64_t *ns, struct error *err);
int value_parse_percent(const char *text, double *percent, struct error *err);

#endif
