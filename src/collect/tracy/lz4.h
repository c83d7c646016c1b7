/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes LZ4 blocks, one stream of them per connection: a block may refer to the 64 KiB that came out before it. */
#ifndef OPSCOPE_COLLECT_TRACY_LZ4_H
#define OPSCOPE_COLLECT_TRACY_LZ4_H

#include <stddef.h>
#include <stdint.h>

#define LZ4_HISTORY_BYTES 65536u

/* Decodes `length` bytes into `out`, which has room for `room`; `history` bytes before `out` are of earlier blocks.
 * Returns the number of bytes that came out, or -1 when the block is damaged or does not fit. */
ptrdiff_t lz4_decode(const uint8_t *block, size_t length, uint8_t *out, size_t room, size_t history);

#endif
