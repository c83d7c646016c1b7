/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/range.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

int perf_range_parse(struct perf_range *range, const char *text, struct error *err)
{
    uint64_t numbers[2] = {0, 0};
    size_t digits[2] = {0, 0}, part = 0;
    bool is_good = true;
    for (const char *at = text; *at && is_good; at++) {
        if (*at == '-' && part == 0) {
            part = 1;
        } else if (*at >= '0' && *at <= '9' && digits[part] < 18) {
            numbers[part] = numbers[part] * 10 + (uint64_t)(*at - '0');
            digits[part]++;
        } else if (*at != ',' && *at != ' ') {
            is_good = false;
        }
    }
    if (!is_good || part == 0 || (digits[0] == 0 && digits[1] == 0))
        return error_set(err, EINVAL, "--id-range '%s': give A-B, A- or -B", text);
    range->first = digits[0] ? numbers[0] : 0;
    range->last = digits[1] ? numbers[1] : UINT64_MAX;
    return 0;
}
