/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/peaks/kinds.h"

#if defined(__x86_64__) && (defined(__clang__) ? __clang_major__ >= 15 : __GNUC__ >= 12)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* --- FP16 in vectors of 512 bits --- */

__extension__ typedef _Float16 half;
#define SUMS 12u /* independent ones: more than a multiply-add takes, in units of those begun at once */
#define EACH_SUM(F) F(s0) F(s1) F(s2) F(s3) F(s4) F(s5) F(s6) F(s7) F(s8) F(s9) F(s10) F(s11)
#define BEGIN_ONE(sum) __m512h sum = factor;
#define MULTIPLY_ADD_ONE(sum)                                                                                \
    sum = _mm512_fmadd_ph(sum, factor, term);                                                                \
    __asm__ volatile("" : "+v"(sum));

__attribute__((target("avx512f,avx512bw,avx512vl,avx512fp16"))) static double half_floats(uint64_t n)
{
    const __m512h factor = _mm512_set1_ph((half)0.99F), term = _mm512_set1_ph((half)0.01F);
    EACH_SUM(BEGIN_ONE)
    for (uint64_t i = 0; i < n; i++) {
        EACH_SUM(MULTIPLY_ADD_ONE)
    }
    return 2.0 * (double)n * SUMS * 32;
}

/* --- AMX: products of tiles of 16 rows of 64 bytes, added up in 16 x 16 sums --- */

struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Tiles 0 to 3 are sums, 4 and 5 left, 6 and 7 right factors: each factor is used twice. */
#define TILES_BEGIN(bits)                                                                                    \
    struct tile_config config __attribute__((aligned(64))) = {.palette = 1};                                 \
    uint16_t values[16 * 32] __attribute__((aligned(64)));                                                   \
    for (unsigned t = 0; t < 8; t++) {                                                                       \
        config.row_bytes[t] = 64;                                                                            \
        config.rows[t] = 16;                                                                                 \
    }                                                                                                        \
    for (unsigned i = 0; i < 16 * 32; i++)                                                                   \
        values[i] = (bits);                                                                                  \
    _tile_loadconfig(&config);                                                                               \
    _tile_zero(0);                                                                                           \
    _tile_zero(1);                                                                                           \
    _tile_zero(2);                                                                                           \
    _tile_zero(3);                                                                                           \
    _tile_loadd(4, values, 64);                                                                              \
    _tile_loadd(5, values, 64);                                                                              \
    _tile_loadd(6, values, 64);                                                                              \
    _tile_loadd(7, values, 64);

#define TILES_MULTIPLY(product)                                                                              \
    for (uint64_t i = 0; i < n; i++) {                                                                       \
        product(0, 4, 6);                                                                                    \
        product(1, 4, 7);                                                                                    \
        product(2, 5, 6);                                                                                    \
        product(3, 5, 7);                                                                                    \
    }                                                                                                        \
    _tile_release();

__attribute__((target("amx-tile,amx-bf16"))) static double tiles_bf16(uint64_t n)
{
    TILES_BEGIN(0x3c00)
    TILES_MULTIPLY(_tile_dpbf16ps)
    return 2.0 * (double)n * 4 * 16 * 16 * 32;
}

__attribute__((target("amx-tile,amx-int8"))) static double tiles_int8(uint64_t n)
{
    TILES_BEGIN(0x0101)
    TILES_MULTIPLY(_tile_dpbssd)
    return 2.0 * (double)n * 4 * 16 * 16 * 64;
}

/* --- what there is --- */

/* Leaf 7, EDX. */
enum {
    HAS_AMX_BF16 = 1u << 22,
    HAS_AVX512_FP16 = 1u << 23,
    HAS_AMX_TILE = 1u << 24,
    HAS_AMX_INT8 = 1u << 25
};
/* Of XCR0: what the kernel keeps of threads. */
enum { STATE_AVX512 = 7u << 5, STATE_TILES = 3u << 17 };
#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18

static uint32_t features_of_leaf_7(void)
{
    uint32_t a, b, c, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? d : 0;
}

static uint32_t kept_states(void)
{
    uint32_t a = 0, b = 0, c = 0, d = 0, low = 0, high = 0;
    const uint32_t has_xgetbv = 1u << 27;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & has_xgetbv))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Tiles are large: a process that uses them says so first. */
static bool may_use_tiles(void)
{
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

size_t peak_kinds_late(struct peak_kind kinds[PEAK_KINDS_LATE])
{
    size_t count = 0;
    uint32_t features = features_of_leaf_7(), states = kept_states();
    if (features & HAS_AVX512_FP16 && (states & STATE_AVX512) == STATE_AVX512)
        kinds[count++] = (struct peak_kind){PEAK_FP16, half_floats, "FP16", "AVX-512 FP16"};
    if (!(features & HAS_AMX_TILE) || (states & STATE_TILES) != STATE_TILES || !may_use_tiles())
        return count;
    if (features & HAS_AMX_BF16)
        kinds[count++] = (struct peak_kind){PEAK_16_BIT, tiles_bf16, "BF16", "AMX"};
    if (features & HAS_AMX_INT8)
        kinds[count++] = (struct peak_kind){PEAK_8_BIT, tiles_int8, "INT8", "AMX"};
    return count;
}

#else

size_t peak_kinds_late(struct peak_kind kinds[PEAK_KINDS_LATE])
{
    (void)kinds;
    return 0;
}

#endif
