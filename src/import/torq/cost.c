/* SPDX-License-Identifier: Apache-2.0 */
/* What one unit of work costs, in cycles.
 *
 * A slice works through loop nests, one per port; each dimension is "T(H) [count, stride]". A port's cycles are the
 * product of the counts of its H dimensions; ports of the memory side of one kind add up, of the register side the last
 * one counts. The five buses overlap perfectly, so the slowest decides. */
#include "base/count_of.h"
#include "import/torq/torq.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "import/mlir/scan.h"
#include "import/mlir/types.h"

static const char *const list_names[TORQ_LIST_COUNT] = {
#define X(name) #name,
    TORQ_LISTS(X)
#undef X
};

static uint64_t saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Digits at the head of a text. */
static bool leading_number(struct slice text, uint64_t *value)
{
    size_t digits = 0;
    text = slice_trim(text);
    while (digits < text.length && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    return slice_unsigned(slice_from(text.data, digits), value);
}

/* The cycles of "B(L) [4, #map],  O(H) [2, #map3]". */
static bool nest_cycles(struct slice dims, uint64_t *cycles)
{
    *cycles = 1;
    for (size_t at = 0; at < dims.length;) {
        const char *open = memchr(dims.data + at, '(', dims.length - at);
        if (!open)
            return true;
        size_t type = (size_t)(open - dims.data) + 1;
        const char *count = memchr(open, '[', dims.length - type);
        uint64_t number;
        if (type >= dims.length || !count)
            return false;
        size_t begin = (size_t)(count - dims.data) + 1, end = scan_until(dims.data, begin, dims.length, "");
        if (!leading_number(slice_from(dims.data + begin, end - begin), &number))
            return false;
        if (dims.data[type] == 'H')
            *cycles = saturating_mul(*cycles, number);
        at = end + 1;
    }
    return true;
}

static int list_of(struct slice name)
{
    for (int i = 0; i < TORQ_LIST_COUNT; i++) {
        if (slice_is(name, list_names[i]))
            return i;
    }
    return -1; /* REF, CEPW, ACPW, ALDW: not on a bus that is counted */
}

static uint64_t most(const uint64_t *cycles, int a, int b, int c)
{
    uint64_t value = cycles[a] > cycles[b] ? cycles[a] : cycles[b];
    return c >= 0 && cycles[c] > value ? cycles[c] : value;
}

static uint64_t slowest_bus(const uint64_t *cycles)
{
    const uint64_t buses[] = {most(cycles, TORQ_DEDR, TORQ_CEDW, TORQ_CEDR),
                              most(cycles, TORQ_DEWR, TORQ_CEWW, TORQ_CEWR),
                              most(cycles, TORQ_DEBR, TORQ_ACBW, TORQ_ACBR),
                              most(cycles, TORQ_DEQW, TORQ_ACPR, -1), cycles[TORQ_CEPR]};
    uint64_t slowest = 0;
    for (size_t i = 0; i < COUNT_OF(buses); i++)
        slowest = buses[i] > slowest ? buses[i] : slowest;
    return slowest;
}

int torq_slice_cost(const struct mlir *mlir, uint32_t op, struct torq_slice_task *task, struct error *err)
{
    struct slice text = mlir_head(mlir, op);
    *task = (struct torq_slice_task){0};
    struct slice name = slice_after(text, "op : \"");
    task->name = slice_before(name, "\"");
    for (struct slice rest = slice_after(text, "dims = ["); rest.data; rest = slice_after(rest, "dims = [")) {
        const char *begin = rest.data - strlen("dims = [");
        const char *word = begin;
        while (word > text.data && (word[-1] == ' ' || scan_is_word(word[-1])))
            word--;
        struct slice kind = slice_trim(slice_from(word, (size_t)(begin - word)));
        size_t end = scan_until(rest.data, 0, rest.length, "");
        uint64_t cycles;
        if (!nest_cycles(slice_from(rest.data, end), &cycles))
            return mlir_error(mlir, (uint32_t)(begin - mlir->text), err,
                              "the dimensions of %.*s are not understood", (int)kind.length, kind.data);
        int list = list_of(kind);
        if (list < 0)
            continue;
        bool adds = kind.data[0] == 'D'; /* the memory's side */
        task->cycles[list] = adds ? saturating_add(task->cycles[list], cycles) : cycles;
    }
    task->max_cycles = slowest_bus(task->cycles);
    return 0;
}

bool torq_dma_bytes(struct slice list, uint64_t *bytes)
{
    struct slice dims = slice_after(list, "dims = [");
    *bytes = 1;
    if (!dims.data)
        return false;
    size_t end = scan_until(dims.data, 0, dims.length, "");
    for (size_t at = 0; at < end; at++) {
        uint64_t count;
        if (dims.data[at] != '[')
            continue;
        if (!leading_number(slice_from(dims.data + at + 1, end - at - 1), &count))
            return false;
        *bytes = saturating_mul(*bytes, count);
        at = scan_until(dims.data, at + 1, end, "");
    }
    return true;
}

uint64_t torq_dma_cycles(const struct torq_target *target, uint64_t bytes, unsigned mtu)
{
    double beats = ldexp(1, (int)mtu), rate = target->dma_bytes_per_cycle * target->dma_factor * beats /
                                              (beats + target->dma_setup_beats);
    return rate > 0 ? (uint64_t)ceil((double)bytes / rate) : 0;
}

/* --- memrefs: memref<2x8xi8, strided<[8, 1]>, #torq_hl<enc mem_space = lram>> --- */

/* The shape at the head of a text, and how far apart the elements of each dimension lie. */
static bool read_memref(struct slice text, struct mlir_shape *shape, uint64_t *strides)
{
    struct slice inside = slice_after(text, "memref<");
    if (!inside.data)
        return false;
    size_t begin = (size_t)(inside.data - text.data) - strlen("memref<");
    if (mlir_read_shape(slice_from(text.data + begin, text.length - begin), shape) != MLIR_SHAPE ||
        shape->is_dynamic)
        return false;
    inside = slice_from(inside.data, scan_until(inside.data, 0, inside.length, ""));
    uint64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0; stride = saturating_mul(stride, shape->sizes[i]))
        strides[i] = stride;
    struct slice strided = slice_after(inside, "strided<["), counted = slice_after(inside, "strides = [");
    struct slice list = slice_before(strided.data ? strided : counted, "]");
    for (uint32_t i = 0; list.data && i < shape->rank; i++) {
        leading_number(list, &strides[i]);
        list = slice_after(list, ",");
    }
    return true;
}

static uint64_t elements_of(const struct mlir_shape *shape, const uint64_t *strides)
{
    uint64_t elements = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (shape->sizes[i] == 0)
            return 0;
        elements = saturating_add(elements, saturating_mul(shape->sizes[i] - 1, strides[i]));
    }
    return elements;
}

bool torq_elements(struct slice type, uint64_t *elements)
{
    struct mlir_shape shape = {0};
    uint64_t strides[MLIR_RANK_MAX];
    if (!read_memref(type, &shape, strides))
        return false;
    *elements = elements_of(&shape, strides);
    return true;
}

uint64_t torq_bytes(struct slice type)
{
    struct mlir_shape shape = {0};
    uint64_t strides[MLIR_RANK_MAX];
    uint64_t elements = read_memref(type, &shape, strides) ? elements_of(&shape, strides) : 0;
    return elements <= UINT64_MAX / UINT16_MAX ? (elements * shape.element.bits + 7) / 8 : 0;
}

struct slice torq_memory(struct slice type)
{
    struct slice space = slice_after(type, "mem_space = ");
    size_t length = 0;
    while (length < space.length && scan_is_word(space.data[length]))
        length++;
    return space.data ? slice_from(space.data, length) : slice_of("xram");
}
