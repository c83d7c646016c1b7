/* SPDX-License-Identifier: Apache-2.0 */
#include "present/estimate/annotated_ops.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/estimate/compare.h"
#include "base/count_of.h"

enum {
    OP_NAME,
    OP_SOURCE,
    OP_LOCATION,
    OP_CLASS,
    OP_RUNS,
    OP_TIME,
    OP_MEAN,
    OP_MOST,
    OP_SHARE,
    OP_ESTIMATE,
    OP_FACTOR,
    OP_MACS,
    OP_FLOPS,
    OP_BYTES,
    OP_GFLOPS,
    OP_GBS,
    OP_INTENSITY,
    OP_BOUND,
    OP_WITH,
    OP_COLUMNS
};

static const struct table_column columns[OP_COLUMNS] = {
    [OP_NAME] = {.key = "dispatch", .title = "dispatch", .shrink = 16},
    [OP_SOURCE] = {.key = "op", .title = "op", .shrink = 12, .drop = 2},
    [OP_LOCATION] = {.key = "location", .title = "location", .shrink = 12, .drop = 1},
    [OP_CLASS] = {.key = "class", .title = "class", .drop = 8},
    [OP_RUNS] = {.key = "runs", .title = "runs", .type = TABLE_INTEGER},
    [OP_TIME] = {.key = "least", .title = "time", .type = TABLE_TIME},
    [OP_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME, .drop = 6},
    [OP_MOST] = {.key = "most", .type = TABLE_TIME, .shown = TABLE_DATA_ONLY},
    [OP_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [OP_ESTIMATE] = {.key = "estimate", .title = "estimate", .type = TABLE_TIME},
    [OP_FACTOR] = {.key = "factor", .title = "factor", .type = TABLE_REAL, .decimals = 2},
    [OP_MACS] = {.key = "macs", .title = "MACs", .type = TABLE_INTEGER, .drop = 7},
    [OP_FLOPS] = {.key = "flops", .type = TABLE_INTEGER, .shown = TABLE_DATA_ONLY},
    [OP_BYTES] = {.key = "moved", .title = "data", .type = TABLE_BYTES, .drop = 5},
    [OP_GFLOPS] = {.key = "gflop_s", .title = "GFLOP/s", .type = TABLE_REAL, .decimals = 1, .drop = 3},
    [OP_GBS] = {.key = "gb_s", .title = "GB/s", .type = TABLE_REAL, .decimals = 1, .drop = 4},
    [OP_INTENSITY] = {.key = "flops_per_byte", .type = TABLE_REAL, .shown = TABLE_DATA_ONLY},
    [OP_BOUND] = {.key = "estimated_bound", .title = "estimated bound", .drop = 9},
    [OP_WITH] = {.key = "note", .title = "note", .shrink = 8, .drop = 10},
};

static const char *text_of(const struct timeline *t, uint32_t text)
{
    return text == TIMELINE_NONE ? NULL : timeline_get_text(t, text);
}

static void add_row(struct table *table, const struct timeline *t, const struct match_pair *pair,
                    const struct timeline_op *sums, double total_ns)
{
    static const char *const bounds[] = {NULL, "compute", "memory", "launch"};
    const struct timeline_op *op = &t->ops[pair->op];
    uint64_t flops = 2 * sums->macs + sums->operations, bytes = sums->read_bytes + sums->write_bytes;
    table_add_row(table);
    if (pair->is_dispatch)
        table_set_text(table, OP_NAME, timeline_get_text(t, t->dispatches[op->dispatch].name));
    if (pair->ops > 1 && !pair->is_dispatch)
        table_set_format(table, OP_SOURCE, "%s and %u more", timeline_get_text(t, op->name), pair->ops - 1);
    else
        table_set_text(table, OP_SOURCE, text_of(t, op->name));
    table_set_text(table, OP_LOCATION, text_of(t, op->location));
    table_set_text(table, OP_CLASS, text_of(t, op->class));
    table_set_unsigned(table, OP_RUNS, pair->runs);
    table_set_real(table, OP_TIME, pair->least_ns);
    table_set_real(table, OP_MEAN, pair->mean_ns);
    table_set_real(table, OP_MOST, pair->most_ns);
    table_set_real(table, OP_SHARE, total_ns > 0 ? 100 * pair->least_ns / total_ns : NAN);
    table_set_real(table, OP_ESTIMATE, pair->estimate_ns);
    table_set_real(table, OP_FACTOR, compare_factor(pair->estimate_ns, pair->least_ns));
    table_set_unsigned(table, OP_MACS, sums->macs);
    table_set_unsigned(table, OP_FLOPS, flops);
    table_set_unsigned(table, OP_BYTES, bytes);
    if (flops)
        table_set_real(table, OP_GFLOPS, (double)flops / pair->least_ns);
    table_set_real(table, OP_GBS, (double)bytes / pair->least_ns);
    if (bytes)
        table_set_real(table, OP_INTENSITY, (double)flops / (double)bytes);
    table_set_text(table, OP_BOUND, op->bound < COUNT_OF(bounds) ? bounds[op->bound] : NULL);
    table_set_text(table, OP_WITH, text_of(t, op->note));
}

void annotated_ops_make(struct table *table, const struct timeline *estimate, const struct match *match)
{
    struct timeline_op *sums = calloc(match->pair_count + 1, sizeof sums[0]);
    double total_ns = 0;
    table_init(table, "ops", columns, OP_COLUMNS);
    table->failed |= !sums;
    for (size_t i = 0; sums && i < estimate->op_count; i++) {
        struct timeline_op *sum = match->pair_of[0][i] == MATCH_NO_PAIR ? NULL : &sums[match->pair_of[0][i]];
        if (!sum)
            continue;
        sum->macs += estimate->ops[i].macs;
        sum->operations += estimate->ops[i].operations;
        sum->read_bytes += estimate->ops[i].read_bytes;
        sum->write_bytes += estimate->ops[i].write_bytes;
    }
    for (size_t i = 0; i < match->pair_count; i++)
        total_ns += match->pairs[i].least_ns;
    for (size_t i = 0; sums && i < match->pair_count; i++) {
        if (match->pairs[i].runs)
            add_row(table, estimate, &match->pairs[i], &sums[i], total_ns);
    }
    free(sums);
}
