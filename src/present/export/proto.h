/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers, the writing half: fields appended to a buffer. A message inside another is made in a buffer
 * of its own and appended as bytes. Private to this folder. */
#ifndef OPSCOPE_PRESENT_EXPORT_PROTO_H
#define OPSCOPE_PRESENT_EXPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

void proto_unsigned(struct bytes *message, uint32_t field, uint64_t value);
/* A negative int32 or int64 takes ten bytes, as the encoding wants it. */
void proto_signed(struct bytes *message, uint32_t field, int64_t value);
void proto_fixed64(struct bytes *message, uint32_t field, uint64_t value);
void proto_double(struct bytes *message, uint32_t field, double value);
void proto_message(struct bytes *message, uint32_t field, const struct bytes *inner);
/* Strings must be UTF-8, or parsers reject the whole file: what is not becomes U+FFFD. */
void proto_text(struct bytes *message, uint32_t field, const char *text);
void proto_text_length(struct bytes *message, uint32_t field, const char *text, size_t length);

#endif
