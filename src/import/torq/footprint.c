/* SPDX-License-Identifier: Apache-2.0 */
/* The most bytes in use at once: a sweep over first and last uses in the order of time. The addresses at which a buffer
 * begins or ends cut the memory into pieces; a tree over the pieces knows how many bytes are covered. */
#include "import/torq/footprint.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "import/torq/torq.h"

void torq_footprint_free(struct torq_footprint *footprint)
{
    free(footprint->buffers);
    intern_free(&footprint->globals);
    map_free(&footprint->by_value);
    *footprint = (struct torq_footprint){0};
}

/* A buffer of this type at this address; false where one of them is not known. */
static bool add_buffer(struct torq_footprint *f, int64_t address, struct slice type)
{
    uint64_t bytes = torq_bytes(type);
    if (address < 0 || bytes > INT64_MAX)
        return false;
    if (!array_reserve(&f->buffers, &f->capacity, f->count + 1, sizeof f->buffers[0])) {
        f->failed = true;
        return false;
    }
    f->buffers[f->count++] =
        (struct torq_buffer){(uint64_t)address, (uint64_t)address + bytes, UINT64_MAX, 0};
    return true;
}

static int64_t address_of(const struct mlir *m, uint32_t op)
{
    struct slice text;
    int64_t address;
    return mlir_attribute(m, op, "lram_address", &text) && mlir_integer(text, &address) ? address : -1;
}

void torq_footprint_begin(struct torq_footprint *f, const struct mlir *m, uint32_t function)
{
    uint32_t block = m->ops[function].block;
    torq_footprint_free(f);
    for (uint32_t op = block == MLIR_NONE ? m->first_op : m->blocks[block].first_op; op != MLIR_NONE;
         op = m->ops[op].next) {
        struct slice name = mlir_slice(m, m->ops[op].symbol);
        if (strcmp(mlir_name(m, op), "memref.global") != 0 || !name.length ||
            intern_find(&f->globals, name.data, name.length) != INTERN_NONE ||
            !add_buffer(f, address_of(m, op), slice_after(mlir_head(m, op), ": ")))
            continue;
        f->failed |= intern_add(&f->globals, name.data, name.length) == INTERN_NONE;
    }
}

/* The n-th number of "array<i64: 640, 0>"; -1: none. */
static int64_t nth_address(struct slice list, uint32_t n)
{
    uint64_t address;
    list = slice_before(slice_after(list, ":"), ">");
    for (; n && list.data; n--)
        list = slice_after(list, ",");
    return slice_unsigned(slice_trim(slice_before(list, ",")), &address) && address <= INT64_MAX
               ? (int64_t)address
               : -1;
}

/* Buffers that a program hands back are ones that it was given. */
static uint32_t same_buffer(const struct torq_footprint *f, int64_t address, struct slice type)
{
    uint64_t bytes = torq_bytes(type);
    for (uint32_t i = 0; i < f->count; i++) {
        if (f->buffers[i].address == (uint64_t)address && f->buffers[i].end - f->buffers[i].address == bytes)
            return i;
    }
    return MAP_NONE;
}

/* The buffer that a value is; MAP_NONE: none on the chip. */
static uint32_t buffer_of(struct torq_footprint *f, const struct mlir *m, uint32_t value)
{
    const struct mlir_value *v = &m->values[value];
    const char *name = mlir_name(m, v->op);
    struct slice list, symbol = mlir_slice(m, m->ops[v->op].symbol);
    if (v->block != MLIR_NONE)
        return MAP_NONE;
    if (strcmp(name, "memref.get_global") == 0)
        return intern_find(&f->globals, symbol.data, symbol.length);
    uint32_t known = map_get(&f->by_value, value);
    if (known != MAP_NONE)
        return known;
    struct slice type = mlir_type(m, value);
    int64_t address = -1;
    if (strcmp(name, "memref.alloc") == 0)
        address = address_of(m, v->op);
    else if (strcmp(name, "torq_hl.wait_program") == 0 && slice_is(torq_memory(type), "lram") &&
             mlir_attribute(m, v->op, "result_addresses", &list)) {
        address = nth_address(list, v->index);
        known = same_buffer(f, address, type);
    }
    if (known == MAP_NONE) {
        if (!add_buffer(f, address, type))
            return MAP_NONE;
        known = (uint32_t)f->count - 1;
    }
    f->failed |= !map_put(&f->by_value, value, known);
    return known;
}

void torq_footprint_use(struct torq_footprint *f, const struct mlir *m, uint32_t value, uint64_t start,
                        uint64_t end)
{
    uint32_t id = value < m->value_count ? buffer_of(f, m, value) : MAP_NONE;
    if (id >= f->count)
        return;
    struct torq_buffer *buffer = &f->buffers[id];
    end = end > start ? end : start + 1; /* also what takes no time needs its place */
    buffer->first = start < buffer->first ? start : buffer->first;
    buffer->last = end > buffer->last ? end : buffer->last;
}

/* --- the sweep --- */

struct edge { /* a buffer begins or ends to be in use */
    uint64_t time;
    uint32_t buffer;
    bool is_end;
};

static int by_time(const void *left, const void *right)
{
    const struct edge *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (int)b->is_end - (int)a->is_end; /* what ends makes room for what begins */
}

static int by_address(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

struct coverage {
    uint64_t *addresses; /* in order: piece i lies between i and i + 1 */
    size_t pieces;
    uint32_t *users;   /* by node: buffers that cover all of it */
    uint64_t *covered; /* by node: bytes */
};

static size_t place_of(const struct coverage *c, uint64_t address)
{
    size_t low = 0, high = c->pieces;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->addresses[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of the node for the pieces [low, high), those in [from, to) get a user more or less. */
static void cover(struct coverage *c, size_t node, size_t low, size_t high, size_t from, size_t to,
                  bool is_end)
{
    if (from >= high || to <= low)
        return;
    if (from <= low && high <= to) {
        c->users[node] += is_end ? UINT32_MAX : 1;
    } else {
        size_t middle = (low + high) / 2;
        cover(c, 2 * node, low, middle, from, to, is_end);
        cover(c, 2 * node + 1, middle, high, from, to, is_end);
    }
    if (c->users[node])
        c->covered[node] = c->addresses[high] - c->addresses[low];
    else
        c->covered[node] = high - low == 1 ? 0 : c->covered[2 * node] + c->covered[2 * node + 1];
}

static uint64_t sweep(const struct torq_footprint *f, struct edge *edges, struct coverage *c)
{
    size_t count = 0, addresses = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct torq_buffer *buffer = &f->buffers[i];
        if (buffer->end == buffer->address)
            continue;
        edges[count++] = (struct edge){buffer->first, i, false};
        edges[count++] = (struct edge){buffer->last, i, true};
        c->addresses[addresses++] = buffer->address;
        c->addresses[addresses++] = buffer->end;
    }
    if (!count)
        return 0;
    qsort(edges, count, sizeof edges[0], by_time);
    qsort(c->addresses, addresses, sizeof c->addresses[0], by_address);
    for (size_t i = 1; i < addresses; i++) {
        if (c->addresses[i] != c->addresses[c->pieces])
            c->addresses[++c->pieces] = c->addresses[i];
    }
    for (size_t i = 0; i < count; i++) {
        const struct torq_buffer *buffer = &f->buffers[edges[i].buffer];
        cover(c, 1, 0, c->pieces, place_of(c, buffer->address), place_of(c, buffer->end), edges[i].is_end);
        most = c->covered[1] > most ? c->covered[1] : most;
    }
    return most;
}

bool torq_footprint_measure(struct torq_footprint *f, uint64_t start, uint64_t end, uint64_t *peak,
                            uint64_t *used)
{
    *peak = *used = 0;
    for (size_t i = 0; i < f->count; i++) {
        struct torq_buffer *buffer = &f->buffers[i];
        *peak = buffer->end > *peak ? buffer->end : *peak;
        if (!buffer->last) {
            buffer->first = start;
            buffer->last = end > start ? end : start + 1;
        }
    }
    struct edge *edges = malloc((2 * f->count + 1) * sizeof edges[0]);
    struct coverage c = {.addresses = malloc((2 * f->count + 1) * sizeof c.addresses[0]),
                         .users = calloc(8 * f->count + 4, sizeof c.users[0]),
                         .covered = calloc(8 * f->count + 4, sizeof c.covered[0])};
    bool is_fine = !f->failed && edges && c.addresses && c.users && c.covered;
    if (is_fine)
        *used = sweep(f, edges, &c);
    free(edges);
    free(c.addresses);
    free(c.users);
    free(c.covered);
    return is_fine;
}
