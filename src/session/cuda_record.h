/* SPDX-License-Identifier: Apache-2.0 */
/* What one record of CUPTI says, read from its bytes: the offsets are the same in libcupti 12.8 to 13.4 (
 * tests/system/programs/cuda/abi_check.c compares them with the vendor's headers), the lengths are not. */
#ifndef OPSCOPE_SESSION_CUDA_RECORD_H
#define OPSCOPE_SESSION_CUDA_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/count_of.h"
#include "session/cuda_file.h"

struct cuda_record {
    uint32_t kind; /* without CUDA_RECORD_OPEN */
    bool is_open;
    uint32_t device, context, stream, correlation;
    uint64_t start_ns, end_ns;
    uint64_t node;  /* of a graph; 0 = none */
    uint64_t name;  /* address in the process; kernels */
    uint64_t bytes; /* copies and sets */
    uint32_t copy_kind;
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared, dynamic_shared;
};

/* Has ended, and CUPTI could find out when; else both may be 0, or the end before the start. */
static inline bool cuda_record_has_times(const struct cuda_record *r)
{
    return !r->is_open && r->end_ns && r->end_ns >= r->start_ns;
}

#define CUDA_RECORD_LEAST 80u /* bytes that are looked at in a copy or a set */
#define CUDA_KERNEL_LEAST 160u

static inline uint32_t cuda_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t cuda_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* False: not a kind that we ask for, or too short for it. */
static inline bool cuda_record_read(const uint8_t *at, size_t length, struct cuda_record *out)
{
    *out = (struct cuda_record){0};
    if (length < CUDA_RECORD_LEAST)
        return false;
    out->kind = cuda_u32(at) & ~CUDA_RECORD_OPEN;
    out->is_open = cuda_u32(at) & CUDA_RECORD_OPEN;
    out->start_ns = cuda_u64(at + 16);
    out->end_ns = cuda_u64(at + 24);
    if (out->kind == CUDA_KIND_KERNEL) {
        if (length < CUDA_KERNEL_LEAST)
            return false;
        out->registers = cuda_u32(at + 4) >> 16;
        out->device = cuda_u32(at + 40);
        out->context = cuda_u32(at + 44);
        out->stream = cuda_u32(at + 48);
        for (unsigned i = 0; i < 3; i++) {
            out->grid[i] = cuda_u32(at + 52 + 4 * i);
            out->block[i] = cuda_u32(at + 64 + 4 * i);
        }
        out->static_shared = cuda_u32(at + 76);
        out->dynamic_shared = cuda_u32(at + 80);
        out->correlation = cuda_u32(at + 92);
        out->name = cuda_u64(at + 104);
        out->node = cuda_u64(at + 144);
        return true;
    }
    bool is_peer = out->kind == CUDA_KIND_PEER_COPY;
    if (out->kind != CUDA_KIND_MEMCPY && out->kind != CUDA_KIND_MEMSET && !is_peer)
        return false;
    out->copy_kind = out->kind == CUDA_KIND_MEMSET ? 0 : at[4];
    out->bytes = cuda_u64(at + 8);
    out->device = cuda_u32(at + 32);
    out->context = cuda_u32(at + 36);
    out->stream = cuda_u32(at + 40);
    out->correlation = cuda_u32(at + (is_peer ? 60 : 44));
    out->node = cuda_u64(at + (is_peer ? 72 : 64));
    return true;
}

/* Lengths of records in the versions that we know, by the number that cuptiGetVersion gives, where libcupti does not
 * say them beforehand; 0 in another, which is measured when it hands over its first buffer. */
static inline uint32_t cuda_record_stride(uint32_t cupti_version, uint32_t kind)
{
    static const struct {
        uint32_t from, to, kernel, copy, set, peer_copy;
    } known[] = {
        {18, 18, 0, 88, 88, 96}, /* 11.8 and 12.1 both: kernels of 200 and of 208 bytes */
        {19, 24, 208, 88, 88, 96},         {26, 28, 208, 96, 88, 96},
        {130000, 130001, 216, 96, 88, 96}, {130100, 130202, 224, 96, 88, 96},
        {130300, 130301, 232, 96, 88, 96}, {130400, 130401, 248, 112, 104, 96},
    };
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (cupti_version < known[i].from || cupti_version > known[i].to)
            continue;
        return kind == CUDA_KIND_KERNEL      ? known[i].kernel
               : kind == CUDA_KIND_MEMCPY    ? known[i].copy
               : kind == CUDA_KIND_MEMSET    ? known[i].set
               : kind == CUDA_KIND_PEER_COPY ? known[i].peer_copy
                                             : 0;
    }
    return 0;
}

/* "memcpy HtoD": CUpti_ActivityMemcpyKind. */
static inline const char *cuda_record_title(const struct cuda_record *r)
{
    static const char *const copies[] = {"memcpy",      "memcpy HtoD", "memcpy DtoH", "memcpy HtoA",
                                         "memcpy AtoH", "memcpy AtoA", "memcpy AtoD", "memcpy DtoA",
                                         "memcpy DtoD", "memcpy HtoH", "memcpy PtoP"};
    if (r->kind == CUDA_KIND_KERNEL)
        return "(kernel without a name)";
    if (r->kind == CUDA_KIND_MEMSET)
        return "memset";
    return copies[r->copy_kind < COUNT_OF(copies) ? r->copy_kind : 0];
}

#define CUDA_SHAPE_BYTES 160
#define CUDA_SHAPE_FIGURE "LAUNCH" /* of the run of a kernel: the text below */
#define CUDA_BYTES_FIGURE "SIZE"   /* of that of a copy or a set */

/* "grid 128x1x1 block 256x1x1 registers 32 shared 1024+0": what was launched, as one text. Returns its length. */
static inline size_t cuda_shape_text(const struct cuda_record *r, char out[CUDA_SHAPE_BYTES])
{
    const struct {
        const char *before;
        uint32_t value;
    } parts[] = {{"grid ", r->grid[0]},
                 {"x", r->grid[1]},
                 {"x", r->grid[2]},
                 {" block ", r->block[0]},
                 {"x", r->block[1]},
                 {"x", r->block[2]},
                 {" registers ", r->registers},
                 {" shared ", r->static_shared},
                 {"+", r->dynamic_shared}};
    size_t at = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        char digits[10];
        size_t count = 0;
        uint32_t value = parts[i].value;
        size_t length = strlen(parts[i].before);
        memcpy(out + at, parts[i].before, length);
        at += length;
        do
            digits[count++] = (char)('0' + value % 10);
        while (value /= 10);
        while (count)
            out[at++] = digits[--count];
    }
    out[at] = '\0';
    return at;
}

/* Blocks that can run at the same time, as far as the grid goes; 0 = not known. */
static inline uint32_t cuda_record_cores(const struct cuda_record *r, uint32_t multiprocessors)
{
    uint64_t blocks = (uint64_t)r->grid[0] * r->grid[1];
    blocks = r->grid[2] && blocks > UINT64_MAX / r->grid[2] ? UINT64_MAX : blocks * r->grid[2];
    return blocks < multiprocessors ? (uint32_t)blocks : multiprocessors;
}

#endif
