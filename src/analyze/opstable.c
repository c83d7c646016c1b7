/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/opstable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Slots of entry index + 1, by (process, call). Call numbers are unique in their process. */
struct call_index {
    size_t *slots;
    size_t slot_count;
};

static uint64_t call_hash(uint32_t process, uint64_t call)
{
    return hash_mix(call ^ UINT64_C(0x9e3779b97f4a7c15), process + UINT64_C(0xd6e8feb86659fd93));
}

static bool index_make(struct call_index *index, const struct op_table *table)
{
    index->slot_count = 64;
    while (index->slot_count < 2 * table->count)
        index->slot_count *= 2;
    index->slots = calloc(index->slot_count, sizeof *index->slots);
    if (!index->slots)
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const struct trace_op *op = &table->entries[i].op;
        size_t slot = call_hash(op->process, op->call) & (index->slot_count - 1);
        while (index->slots[slot])
            slot = (slot + 1) & (index->slot_count - 1);
        index->slots[slot] = i + 1;
    }
    return true;
}

static struct op_entry *index_find(const struct call_index *index, struct op_table *table, uint32_t process,
                                   uint64_t call)
{
    size_t slot = call_hash(process, call) & (index->slot_count - 1);
    for (; index->slots[slot]; slot = (slot + 1) & (index->slot_count - 1)) {
        struct op_entry *entry = &table->entries[index->slots[slot] - 1];
        if (entry->op.process == process && entry->op.call == call)
            return entry;
    }
    return NULL;
}

static bool wants_op(const struct trace_filter *filter, const struct trace_op *op)
{
    return trace_filter_wants_process(filter, op->process) && trace_filter_wants_track(filter, op->track) &&
           trace_filter_wants_name(filter, op->name) &&
           trace_filter_wants_span(filter, op->start_ns, op->end_ns ? op->end_ns : UINT64_MAX);
}

static int read_ops(struct op_table *table, struct trace *trace, const struct trace_filter *filter,
                    struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_OPS};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(trace, &blocks, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count; i++) {
            if (!wants_op(filter, &rows.ops[i]))
                continue;
            if (!array_reserve(&table->entries, &table->capacity, table->count + 1, sizeof table->entries[0]))
                result = error_set_errno(err, ENOMEM, "%zu ops", table->count);
            else
                table->entries[table->count++] = (struct op_entry){.op = rows.ops[i]};
        }
    }
    trace_rows_free(&rows);
    return result;
}

static void join_run(struct op_table *table, const struct call_index *index, const struct trace *trace,
                     const struct trace_run *run)
{
    const struct trace_track *track = trace_get_track(trace, run->track);
    uint32_t clock = track ? track->clock : TRACE_HOST_CLOCK;
    struct op_entry *entry = index_find(index, table, run->process, run->call);
    if (!entry) {
        table->unmatched_run_count++;
        return;
    }
    uint64_t start_ns = trace_host_ns(trace, clock, run->start);
    uint64_t end_ns = trace_host_ns(trace, clock, run->start + run->duration);
    table->run_count++;
    if (entry->run_count == 0 || start_ns < entry->device_start_ns)
        entry->device_start_ns = start_ns;
    if (end_ns > entry->device_end_ns)
        entry->device_end_ns = end_ns;
    entry->run_count++;
    entry->device_ns += end_ns > start_ns ? end_ns - start_ns : 0;
    entry->cores = run->cores > entry->cores ? run->cores : entry->cores;
}

static int read_runs(struct op_table *table, struct trace *trace, struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_RUNS};
    struct call_index index = {0};
    struct trace_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    if (!index_make(&index, table))
        return error_set_errno(err, ENOMEM, "%zu ops", table->count);
    while (result == 0 && (block = trace_next_block(trace, &blocks, &position))) {
        result = trace_decode_rows(trace, block, &rows, err);
        for (size_t i = 0; result == 0 && i < rows.count; i++)
            join_run(table, &index, trace, &rows.runs[i]);
    }
    trace_rows_free(&rows);
    free(index.slots);
    return result;
}

static int compare_entries(const void *left, const void *right)
{
    const struct trace_op *a = &((const struct op_entry *)left)->op,
                          *b = &((const struct op_entry *)right)->op;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->call > b->call) - (a->call < b->call);
}

int op_table_make(struct op_table *table, struct trace *trace, const struct trace_filter *filter,
                  struct error *err)
{
    *table = (struct op_table){0};
    int result = read_ops(table, trace, filter, err);
    if (result == 0 && table->count > 1)
        qsort(table->entries, table->count, sizeof table->entries[0], compare_entries);
    if (result == 0)
        result = read_runs(table, trace, err);
    if (result != 0)
        op_table_free(table);
    return result;
}

void op_table_free(struct op_table *table)
{
    if (!table)
        return;
    free(table->entries);
    *table = (struct op_table){0};
}

size_t op_table_parts(const struct trace *trace, const struct trace_op *op, uint32_t role, struct bytes *out)
{
    size_t count = 0, found = 0;
    if (op->description == TRACE_NONE)
        return 0;
    const struct trace_part *parts = trace_get_description(trace, op->description, &count);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].role != role)
            continue;
        if (found++)
            bytes_append_text(out, "; ");
        if (role == TRACE_PART_INPUT || role == TRACE_PART_OUTPUT)
            op_table_tensor(parts[i].text, out);
        else
            bytes_append_text(out, parts[i].text);
    }
    return found;
}

void op_table_tensor(const char *text, struct bytes *out)
{
    static const char *const keys[] = {"shape", "dtype", "layout", "memory"};
    bool is_first = true, is_known = false;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        size_t key_length = strlen(keys[k]);
        for (const char *at = text; *at;) {
            size_t length = strcspn(at, ";");
            if (length > key_length && at[key_length] == '=' && memcmp(at, keys[k], key_length) == 0) {
                is_known = true;
                if (length == key_length + 1) /* the shape of a scalar */
                    break;
                bytes_append_text(out, is_first ? "" : " ");
                bytes_append(out, at + key_length + 1, length - key_length - 1);
                is_first = false;
                break;
            }
            at += length + (at[length] == ';');
        }
    }
    if (!is_known) /* as it is */
        bytes_append_text(out, text);
}
