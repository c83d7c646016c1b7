/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed pieces of work, measured in every run like ops: they say how fast this machine is, and how steady. Some
 * microseconds each, so that a burst of them fits between two interrupts. In a header because the Python extension has
 * them as well; a reference holds their times, so what they do must never change. */
#ifndef OPSCOPE_BASE_CALIBRATION_H
#define OPSCOPE_BASE_CALIBRATION_H

#include <stdint.h>
#include <stdlib.h>

/* A function of its own, on a boundary: the loops lie alike in every build, so they take alike. */
#define CALIBRATION_FUNCTION __attribute__((noinline, aligned(64), unused)) static

/* A chain of multiplications: each waits for the one before. */
CALIBRATION_FUNCTION uint64_t calibration_integer(void)
{
    uint64_t x = 88172645463325252u;
    for (unsigned i = 0; i < 1000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

/* Independent additions, as many as a core can do at once: the first to suffer when a neighbour shares the core. */
CALIBRATION_FUNCTION uint64_t calibration_throughput(void)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (uint64_t i = 0; i < 1000; i++) {
        a += i;
        b ^= i << 1;
        c += i >> 1;
        d ^= i + 7;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
    return a | b | c | d | 1;
}

#define CALIBRATION_CELLS 16384u /* of 4 bytes: 64 KiB, more than a first-level cache */

/* A chain of loads, in an order that no prefetcher follows. Each call goes on where the last one stopped: were the walk
 * the same each time, it would just about fit the first-level cache, and take now this long, now that. */
CALIBRATION_FUNCTION uint32_t calibration_memory(void)
{
    static uint32_t cells[CALIBRATION_CELLS], last;
    uint32_t at = last;
    if (!cells[0]) { /* a permutation of one cycle: a full-period generator modulo a power of two */
        for (uint32_t i = 0; i < CALIBRATION_CELLS; i++)
            cells[i] = (i * 4005u + 12345u) % CALIBRATION_CELLS;
    }
    for (unsigned i = 0; i < 500; i++) {
        at = cells[at];
        __asm__ volatile("" : "+r"(at));
    }
    last = at;
    return at;
}

/* The allocator, in the sizes that dispatching uses: all small enough that the state of the heap does not matter. */
CALIBRATION_FUNCTION void calibration_allocate(void)
{
    static const size_t sizes[] = {48, 96, 200, 64, 520, 960, 32, 160};
    void *blocks[8];
    for (unsigned round = 0; round < 8; round++) {
        for (unsigned i = 0; i < 8; i++) {
            blocks[i] = malloc(sizes[i]);
            __asm__ volatile("" : : "r"(blocks[i]) : "memory");
        }
        for (unsigned i = 0; i < 8; i++)
            free(blocks[i]);
    }
}

#endif
