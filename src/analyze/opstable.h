/* SPDX-License-Identifier: Apache-2.0 */
/* Ops with their runs: one entry for each call of an accelerator operation, joined with what ran on the device
 * for it by (process, call). An op has no, one or many runs (replay, several devices); runs that no op in the
 * trace belongs to are counted. */
#ifndef OPSCOPE_ANALYZE_OPSTABLE_H
#define OPSCOPE_ANALYZE_OPSTABLE_H

#include "analyze/filter.h"
#include "base/bytes.h"

struct op_entry {
    struct trace_op op;
    uint64_t run_count;
    uint64_t device_ns;       /* sum over its runs */
    uint64_t device_start_ns; /* earliest, host time; 0 without runs */
    uint64_t device_end_ns;
    uint32_t cores; /* most of any run */
};

struct op_table {
    struct op_entry *entries; /* in order of host start */
    size_t count, capacity;
    uint64_t run_count;           /* joined */
    uint64_t unmatched_run_count; /* no such call in the trace */
};

int op_table_make(struct op_table *table, struct trace *trace, const struct trace_filter *filter,
                  struct error *err);
void op_table_free(struct op_table *table);

/* The texts of an op's parts of one role, joined by "; ". Returns how many there were. */
size_t op_table_parts(const struct trace *trace, const struct trace_op *op, uint32_t role, struct bytes *out);
/* A tensor's "shape dtype layout memory", as far as it has them. */
void op_table_tensor(const char *text, struct bytes *out);

#endif
