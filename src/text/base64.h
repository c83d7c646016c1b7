/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as text, RFC 4648. */
#ifndef OPSCOPE_TEXT_BASE64_H
#define OPSCOPE_TEXT_BASE64_H

#include "base/bytes.h"

void base64_append(struct bytes *out, const uint8_t *data, size_t length);

#endif
