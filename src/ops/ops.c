/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "base/hash.h"

void ops_init(struct ops *ops)
{
    *ops = (struct ops){0};
}

void ops_free(struct ops *ops)
{
    struct intern *tables[] = {&ops->texts, &ops->tensor_index, &ops->kernel_index, &ops->size_index,
                               &ops->tensor_texts};
    ops_forget_indexes(ops);
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        intern_free(tables[i]);
    bytes_free(&ops->scratch);
    free(ops->sizes);
    free(ops->size_places);
    free(ops->tensors);
    free(ops->parsed_tensors);
    free(ops->kernels);
    free(ops->attributes);
    free(ops->descriptions);
    free(ops->lists);
    free(ops->figures);
    free(ops->calls);
    free(ops->runs);
    free(ops->own_places);
    free(ops->ticks);
    free(ops->run_order);
    free(ops->signposts);
    free(ops->lines);
    free(ops->devices);
    free(ops->notices);
    free(ops->facts);
    free(ops->call_slots);
    *ops = (struct ops){0};
}

int ops_check(const struct ops *ops, struct error *err)
{
    return ops->failed ? error_set_errno(err, ENOMEM, "%zu ops", ops->call_count) : 0;
}

static bool fail(struct ops *ops)
{
    ops->failed = true;
    return false;
}

/* Room for `more` elements, whose places must be ids. */
static bool room(struct ops *ops, void *array_pointer, size_t count, size_t *capacity, size_t more,
                 size_t size)
{
    if (ops->failed || count + more >= OPS_NONE ||
        !array_reserve(array_pointer, capacity, count + more, size))
        return fail(ops);
    return true;
}

uint32_t ops_text(struct ops *ops, struct slice text)
{
    if (!text.data)
        return OPS_NONE;
    uint32_t id = intern_add(&ops->texts, text.data, text.length);
    if (id == INTERN_NONE)
        fail(ops);
    return id;
}

/* The id of these bytes in an index whose entries are in the order of an array; *is_new: they are to be appended. */
static uint32_t find_or_add(struct ops *ops, struct intern *index, const void *data, size_t size,
                            bool *is_new)
{
    size_t before = index->count;
    uint32_t id = intern_add(index, data, size);
    *is_new = index->count > before;
    if (id == INTERN_NONE)
        fail(ops);
    return id;
}

uint32_t ops_prefix_text(struct ops *ops, const char *prefix, uint32_t text)
{
    struct bytes *made = &ops->scratch;
    bytes_clear(made);
    bytes_append_format(made, "%s: %s", prefix, ops_get_text(ops, text));
    ops->failed |= made->failed;
    return ops->failed ? OPS_NONE : ops_text(ops, slice_from((const char *)made->data, made->length));
}

uint32_t ops_sizes(struct ops *ops, const int64_t *sizes, uint32_t rank)
{
    bool is_new;
    uint32_t id = find_or_add(ops, &ops->size_index, sizes, rank * sizeof sizes[0], &is_new);
    if (id == INTERN_NONE)
        return OPS_NONE;
    if (is_new) {
        if (!room(ops, &ops->size_places, id, &ops->size_place_capacity, 1, sizeof ops->size_places[0]) ||
            !room(ops, &ops->sizes, ops->size_count, &ops->size_capacity, rank, sizeof ops->sizes[0]))
            return OPS_NONE;
        ops->size_places[id] = (uint32_t)ops->size_count;
        if (rank)
            memcpy(ops->sizes + ops->size_count, sizes, rank * sizeof sizes[0]);
        ops->size_count += rank;
    }
    return ops->size_places[id];
}

uint32_t ops_tensor(struct ops *ops, const struct op_tensor *tensor)
{
    bool is_new;
    uint32_t id = find_or_add(ops, &ops->tensor_index, tensor, sizeof *tensor, &is_new);
    if (is_new && room(ops, &ops->tensors, ops->tensor_count, &ops->tensor_capacity, 1, sizeof *tensor))
        ops->tensors[ops->tensor_count++] = *tensor;
    return ops->failed ? OPS_NONE : id;
}

uint32_t ops_kernel(struct ops *ops, const struct op_kernel *kernel)
{
    bool is_new;
    uint32_t id = find_or_add(ops, &ops->kernel_index, kernel, sizeof *kernel, &is_new);
    if (is_new && room(ops, &ops->kernels, ops->kernel_count, &ops->kernel_capacity, 1, sizeof *kernel))
        ops->kernels[ops->kernel_count++] = *kernel;
    return ops->failed ? OPS_NONE : id;
}

/* --- indexes of long arrays: no copy of what they point to --- */

void ops_forget_indexes(struct ops *ops)
{
    struct op_index *indexes[] = {&ops->attribute_index, &ops->description_index};
    for (size_t i = 0; i < COUNT_OF(indexes); i++) {
        slots_free(indexes[i]->slots, indexes[i]->slot_count);
        *indexes[i] = (struct op_index){0};
    }
}

static uint64_t make_slot(uint64_t hash, size_t id)
{
    return hash << 32 | (id + 1);
}

static bool slot_has(uint64_t slot, uint64_t hash)
{
    return (uint32_t)(slot >> 32) == (uint32_t)hash;
}

static uint32_t slot_id(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/* At most half of the slots are taken when one more of `count` elements is added. */
static bool grow_index(struct ops *ops, struct op_index *index, size_t count,
                       uint64_t (*hash_of)(const struct ops *ops, uint32_t id))
{
    size_t slot_count = index->slot_count ? index->slot_count : 64;
    while (slot_count <= 2 * count)
        slot_count *= 2;
    if (slot_count == index->slot_count)
        return true;
    uint64_t *slots = slots_alloc(slot_count);
    if (!slots)
        return fail(ops);
    for (uint32_t id = 0; id < count; id++) {
        uint64_t hash = hash_of(ops, id);
        size_t at = (size_t)hash & (slot_count - 1);
        while (slots[at])
            at = (at + 1) & (slot_count - 1);
        slots[at] = make_slot(hash, id);
    }
    slots_free(index->slots, index->slot_count);
    *index = (struct op_index){slots, slot_count};
    return true;
}

static uint64_t hash_attribute(const struct op_attribute *attribute)
{
    return hash_bytes(attribute, sizeof *attribute, 0);
}

static uint64_t hash_attribute_at(const struct ops *ops, uint32_t id)
{
    return hash_attribute(&ops->attributes[id]);
}

uint32_t ops_attribute(struct ops *ops, uint32_t key, uint32_t value)
{
    struct op_attribute attribute = {key, value};
    struct op_index *index = &ops->attribute_index;
    if (!room(ops, &ops->attributes, ops->attribute_count, &ops->attribute_capacity, 1, sizeof attribute) ||
        !grow_index(ops, index, ops->attribute_count, hash_attribute_at))
        return OPS_NONE;
    uint64_t hash = hash_attribute(&attribute);
    size_t at = (size_t)hash & (index->slot_count - 1);
    for (; index->slots[at]; at = (at + 1) & (index->slot_count - 1)) {
        if (!slot_has(index->slots[at], hash))
            continue;
        const struct op_attribute *known = &ops->attributes[slot_id(index->slots[at])];
        if (known->key == key && known->value == value)
            return slot_id(index->slots[at]);
    }
    ops->attributes[ops->attribute_count] = attribute;
    index->slots[at] = make_slot(hash, ops->attribute_count);
    return (uint32_t)ops->attribute_count++;
}

static size_t count_ids(const struct op_description *d)
{
    return (size_t)d->inputs + d->outputs + d->attributes + d->kernels;
}

static uint64_t hash_description(const struct op_description *description, const uint32_t *ids)
{
    struct op_description own = *description;
    own.first = 0;
    return hash_bytes(ids, count_ids(description) * sizeof ids[0], hash_bytes(&own, sizeof own, 0));
}

static uint64_t hash_description_at(const struct ops *ops, uint32_t id)
{
    return hash_description(&ops->descriptions[id], ops_list_at(ops, ops->descriptions[id].first));
}

static bool is_description(const struct ops *ops, const struct op_description *known,
                           const struct op_description *description, const uint32_t *ids)
{
    struct op_description own = *description;
    size_t count = count_ids(description);
    own.first = known->first;
    return memcmp(known, &own, sizeof own) == 0 &&
           (!count || memcmp(ops->lists + known->first, ids, count * sizeof ids[0]) == 0);
}

uint32_t ops_description(struct ops *ops, const struct op_description *description, const uint32_t *ids)
{
    size_t count = count_ids(description);
    struct op_index *index = &ops->description_index;
    if (!room(ops, &ops->lists, ops->list_count, &ops->list_capacity, count, sizeof ids[0]) ||
        !room(ops, &ops->descriptions, ops->description_count, &ops->description_capacity, 1,
              sizeof *description) ||
        !grow_index(ops, index, ops->description_count, hash_description_at))
        return OPS_NONE;
    uint64_t hash = hash_description(description, ids);
    size_t at = (size_t)hash & (index->slot_count - 1);
    for (; index->slots[at]; at = (at + 1) & (index->slot_count - 1)) {
        if (slot_has(index->slots[at], hash) &&
            is_description(ops, &ops->descriptions[slot_id(index->slots[at])], description, ids))
            return slot_id(index->slots[at]);
    }
    struct op_description *kept = &ops->descriptions[ops->description_count];
    *kept = *description;
    kept->first = (uint32_t)ops->list_count;
    if (count)
        memcpy(ops->lists + ops->list_count, ids, count * sizeof ids[0]);
    ops->list_count += count;
    index->slots[at] = make_slot(hash, ops->description_count);
    return (uint32_t)ops->description_count++;
}

void ops_rewrite_description(struct ops *ops, uint32_t id, const struct op_description *description,
                             const uint32_t *ids)
{
    size_t count = count_ids(description);
    if (ops->failed || !room(ops, &ops->lists, ops->list_count, &ops->list_capacity, count, sizeof ids[0]))
        return;
    ops->descriptions[id] = *description;
    ops->descriptions[id].first = (uint32_t)ops->list_count;
    if (count)
        memcpy(ops->lists + ops->list_count, ids, count * sizeof ids[0]);
    ops->list_count += count;
}

/* The slot of a call: its own, or the free one where it belongs. */
static uint32_t *call_slot(const struct ops *ops, uint32_t process, uint64_t number)
{
    size_t mask = ops->call_slot_count - 1;
    size_t at =
        (size_t)hash_mix(number ^ UINT64_C(0x9e3779b97f4a7c15), process + UINT64_C(0xd6e8feb86659fd93));
    for (at &= mask; ops->call_slots[at]; at = (at + 1) & mask) {
        const struct op_call *call = &ops->calls[ops->call_slots[at] - 1];
        if (call->number == number && call->process == process)
            break;
    }
    return &ops->call_slots[at];
}

/* At most half of the slots are taken. */
static bool grow_slots(struct ops *ops)
{
    uint32_t *old = ops->call_slots;
    size_t old_count = ops->call_slot_count, count = old_count ? 2 * old_count : 64;
    if (old_count > ops->call_count * 2)
        return true;
    uint32_t *slots = calloc(count, sizeof slots[0]);
    if (!slots)
        return fail(ops);
    ops->call_slots = slots;
    ops->call_slot_count = count;
    for (size_t i = 0; i < old_count; i++) {
        if (old[i])
            *call_slot(ops, ops->calls[old[i] - 1].process, ops->calls[old[i] - 1].number) = old[i];
    }
    free(old);
    return true;
}

uint32_t ops_find_call(const struct ops *ops, uint32_t process, uint64_t number)
{
    return ops->call_slot_count ? *call_slot(ops, process, number) - 1 : OPS_NONE; /* 0 - 1 is OPS_NONE */
}

void ops_forget_numbers(struct ops *ops)
{
    free(ops->call_slots);
    ops->call_slots = NULL;
    ops->call_slot_count = 0;
}

uint32_t ops_add_call(struct ops *ops, const struct op_call *call)
{
    if (!room(ops, &ops->calls, ops->call_count, &ops->call_capacity, 1, sizeof *call))
        return OPS_NONE;
    ops->calls[ops->call_count] = *call;
    ops->calls[ops->call_count].first_figure = (uint32_t)ops->figure_count;
    ops->calls[ops->call_count].figures = 0;
    ops->calls[ops->call_count].place = OPS_NONE;
    if (call->process == OPS_NONE) /* of a table: nobody asks for it by its number */
        return (uint32_t)ops->call_count++;
    if (!grow_slots(ops))
        return OPS_NONE;
    uint32_t *slot = call_slot(ops, call->process, call->number);
    if (!*slot)
        *slot = (uint32_t)ops->call_count + 1;
    return (uint32_t)ops->call_count++;
}

uint32_t ops_add_run(struct ops *ops, const struct op_run *run)
{
    if (!room(ops, &ops->runs, ops->run_count, &ops->run_capacity, 1, sizeof *run))
        return OPS_NONE;
    struct op_run *kept = &ops->runs[ops->run_count];
    *kept = *run;
    kept->first_figure = (uint32_t)ops->figure_count;
    kept->figures = 0;
    return (uint32_t)ops->run_count++;
}

void ops_set_ticks(struct ops *ops, uint64_t start, uint64_t end)
{
    size_t run = ops->run_count - 1;
    bool is_known = start || end || run < ops->tick_count;
    if (!ops->run_count || !is_known ||
        !room(ops, &ops->ticks, run, &ops->tick_capacity, 1, sizeof ops->ticks[0]))
        return;
    for (; ops->tick_count <= run; ops->tick_count++)
        ops->ticks[ops->tick_count] = (struct op_ticks){0, 0};
    ops->ticks[run] = (struct op_ticks){start, end};
}

static void add_figure(struct ops *ops, uint16_t *count, struct op_figure figure)
{
    if (*count == UINT16_MAX ||
        !room(ops, &ops->figures, ops->figure_count, &ops->figure_capacity, 1, sizeof figure))
        return;
    ops->figures[ops->figure_count++] = figure;
    ++*count;
}

void ops_add_figure(struct ops *ops, struct op_figure figure)
{
    if (ops->run_count)
        add_figure(ops, &ops->runs[ops->run_count - 1].figures, figure);
}

void ops_add_call_figure(struct ops *ops, struct op_figure figure)
{
    if (ops->call_count)
        add_figure(ops, &ops->calls[ops->call_count - 1].figures, figure);
}

const struct op_figure *ops_find_figure(const struct ops *ops, uint32_t first, uint32_t count, uint32_t name)
{
    for (uint32_t i = 0; i < count && name != OPS_NONE; i++) {
        if (ops->figures[first + i].name == name)
            return &ops->figures[first + i];
    }
    return NULL;
}

void ops_add_signpost(struct ops *ops, uint64_t time_ns, struct slice header, struct slice text)
{
    struct op_signpost signpost = {time_ns, ops_text(ops, header), ops_text(ops, text), OPS_NONE};
    if (room(ops, &ops->signposts, ops->signpost_count, &ops->signpost_capacity, 1, sizeof signpost))
        ops->signposts[ops->signpost_count++] = signpost;
}

void ops_add_line(struct ops *ops, struct op_line line)
{
    if (room(ops, &ops->lines, ops->line_count, &ops->line_capacity, 1, sizeof line))
        ops->lines[ops->line_count++] = line;
}

uint32_t ops_device(struct ops *ops, uint32_t number)
{
    for (uint32_t i = 0; i < ops->device_count; i++) {
        if (ops->devices[i].number == number)
            return i;
    }
    if (ops->device_count >= OPS_NO_DEVICE ||
        !room(ops, &ops->devices, ops->device_count, &ops->device_capacity, 1, sizeof ops->devices[0]))
        return OPS_NONE;
    ops->devices[ops->device_count] =
        (struct op_device){.number = number, .name = OPS_NONE, .architecture = OPS_NONE};
    return (uint32_t)ops->device_count++;
}

void ops_add_notice(struct ops *ops, uint32_t kind, enum op_notice_severity severity, uint64_t line,
                    const char *format, ...)
{
    for (size_t i = 0; i < ops->notice_count; i++) {
        if (ops->notices[i].kind == kind) {
            ops->notices[i].count++;
            return;
        }
    }
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!room(ops, &ops->notices, ops->notice_count, &ops->notice_capacity, 1, sizeof ops->notices[0]))
        return;
    ops->notices[ops->notice_count++] = (struct op_notice){.kind = kind,
                                                           .severity = (uint8_t)severity,
                                                           .count = 1,
                                                           .first_line = line,
                                                           .text = ops_text(ops, slice_of(text))};
}

void ops_add_fact(struct ops *ops, struct slice key, struct slice value)
{
    struct op_fact fact = {ops_text(ops, key), ops_text(ops, value)};
    if (room(ops, &ops->facts, ops->fact_count, &ops->fact_capacity, 1, sizeof fact))
        ops->facts[ops->fact_count++] = fact;
}

bool ops_has_fact(const struct ops *ops, const char *key, const char *value)
{
    for (size_t i = 0; i < ops->fact_count; i++) {
        if (strcmp(ops_get_text(ops, ops->facts[i].key), key) == 0 &&
            strcmp(ops_get_text(ops, ops->facts[i].value), value) == 0)
            return true;
    }
    return false;
}

void ops_clear_calls(struct ops *ops)
{
    ops->call_count = ops->own_place_count = ops->run_count = ops->tick_count = ops->figure_count =
        ops->line_count = ops->signpost_count = 0;
    ops_forget_numbers(ops);
}
