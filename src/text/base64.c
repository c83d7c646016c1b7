/* SPDX-License-Identifier: Apache-2.0 */
#include "text/base64.h"

void base64_append(struct bytes *out, const uint8_t *data, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (!bytes_reserve(out, (length + 2) / 3 * 4))
        return;
    for (size_t i = 0; i < length; i += 3) {
        uint32_t bits = (uint32_t)data[i] << 16 | (i + 1 < length ? (uint32_t)data[i + 1] << 8 : 0) |
                        (i + 2 < length ? data[i + 2] : 0);
        char text[4] = {digits[bits >> 18], digits[bits >> 12 & 63],
                        i + 1 < length ? digits[bits >> 6 & 63] : '=',
                        i + 2 < length ? digits[bits & 63] : '='};
        bytes_append(out, text, sizeof text);
    }
}
