/* SPDX-License-Identifier: Apache-2.0 */
/* Gaps, ops and the roofline of an overview as JSON (docs/http-api.md). */
#include <math.h>

#include "base/count_of.h"
#include "present/overview/overview.h"

unsigned overview_colour(unsigned class_)
{
    static const unsigned char colours[PERF_CLASSES] = {
        [PERF_CLASS_OTHER] = 7,   [PERF_CLASS_MATMUL] = 0,      [PERF_CLASS_SPARSE_MATMUL] = 0,
        [PERF_CLASS_CONV] = 8,    [PERF_CLASS_ATTENTION] = 2,   [PERF_CLASS_NORM] = 1,
        [PERF_CLASS_SOFTMAX] = 1, [PERF_CLASS_ELEMENTWISE] = 3, [PERF_CLASS_REDUCTION] = 4,
        [PERF_CLASS_POOL] = 4,    [PERF_CLASS_COLLECTIVE] = 6,  [PERF_CLASS_EMBEDDING] = 5,
        [PERF_CLASS_MOVE] = 5,
    };
    return class_ < PERF_CLASSES ? colours[class_] : colours[PERF_CLASS_OTHER];
}

/* What of the idle parts is in gaps, and what is not. */
static void write_idle(const struct overview *o, struct json *json)
{
    json_key(json, "idle");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < o->idle_count; i++) {
        const struct overview_idle *idle = &o->idle[i];
        json_object(json, JSON_INLINE);
        json_member_text(json, "key", overview_key_text(idle->key));
        json_member_unsigned(json, "ns", idle->gaps_ns + idle->short_ns + idle->end_ns);
        json_member_unsigned(json, "gaps_ns", idle->gaps_ns);
        json_member_unsigned(json, "short_ns", idle->short_ns);
        json_member_unsigned(json, "end_ns", idle->end_ns);
        json_end(json);
    }
    json_end(json);
}

static void write_bins(const struct overview *o, struct json *json)
{
    json_key(json, "histogram");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < o->bin_count; i++) {
        json_object(json, JSON_INLINE);
        json_member_unsigned(json, "from", o->bins[i].from_ns);
        json_member_unsigned(json, "to", o->bins[i].to_ns);
        json_member_unsigned(json, "count", o->bins[i].count);
        json_member_unsigned(json, "sum", o->bins[i].sum_ns);
        json_end(json);
    }
    json_end(json);
}

void overview_write_gaps(const struct overview *o, size_t limit, struct json *json)
{
    json_member_unsigned(json, "count", o->gap_count);
    json_member_unsigned(json, "sum", o->gap_sum_ns);
    if (o->idle_count)
        json_member_real(json, "mark_ns", o->perf.machine->gap_mark_us * 1000);
    json_member_unsigned(json, "short_count", o->short_gap_count);
    write_idle(o, json);
    write_bins(o, json);
    json_key(json, "gaps");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < o->gap_count && i < limit; i++)
        overview_write_gap(o, &o->gaps[i], json);
    json_end(json);
}

/* --- ops --- */

const char *overview_op_name(const struct overview *o, const struct overview_op *op)
{
    return op->name == OPS_NONE ? op->is_host ? "host" : perf_class_text(op->class_)
                                : perf_text(&o->perf, op->name);
}

static void write_machine(const struct overview *o, struct json *json)
{
    const struct perf *perf = &o->perf;
    json_key(json, "machine");
    json_object(json, JSON_INLINE);
    json_member_text(json, "name",
                     perf->has_machine               ? perf->machine->title
                     : perf->device_text != OPS_NONE ? perf_text(perf, perf->device_text)
                                                     : NULL);
    json_member_bool(json, "known", perf->has_machine);
    json_end(json);
}

static void write_group(const struct overview *o, const struct overview_op *op, struct json *json)
{
    json_object(json, JSON_INLINE);
    json_member_text(json, "name", overview_op_name(o, op));
    json_member_text(json, "kind", op->is_host ? "host" : perf_class_text(op->class_));
    json_member_unsigned(json, "colour", overview_colour(op->class_));
    json_member_unsigned(json, "count", op->count);
    json_member_real(json, "device_ns", round(op->device_ns));
    json_member_real(json, "alone_ns", round(op->alone_ns));
    json_member_real(json, "share", op->share);
    json_member_real(json, "mean", op->mean_ns);
    json_member_real(json, "p50", op->p50_ns);
    json_member_real(json, "p99", op->p99_ns);
    json_member_real(json, "gap_before_ns", round(op->gap_ns));
    json_member_real(json, "dram_percent", op->dram_percent);
    json_member_real(json, "flops_percent", op->flops_percent);
    json_member_text(json, "bound", perf_bound_text(op->bound));
    if (op->doubt)
        json_member_text(json, "doubt", perf_doubt_text(op->doubt));
    uint32_t location = perf_location(&o->perf, perf_at(&o->perf, op->row));
    json_member_text(json, "location", location == OPS_NONE ? NULL : perf_text(&o->perf, location));
    json_key(json, "rows"); /* the costliest */
    json_array(json, JSON_INLINE);
    json_object(json, JSON_INLINE);
    overview_write_row_place(o, op->row, json);
    json_end(json);
    json_end(json);
    json_end(json);
}

void overview_write_groups(const struct overview *o, const struct overview_ops *groups,
                           enum overview_group by, size_t limit, struct json *json)
{
    static const char *const columns[] = {
        "name", "kind", "count",         "device_ns",    "alone_ns",      "share", "mean",
        "p50",  "p99",  "gap_before_ns", "dram_percent", "flops_percent", "bound"};
    static const char *const names[] = {"op+shape", "op", "kind", "none"};
    double device_ns = 0;
    for (size_t i = 0; i < groups->count; i++)
        device_ns += groups->items[i].device_ns;
    json_member_text(json, "group", names[by]);
    json_member_unsigned(json, "count", groups->count);
    json_member_real(json, "device_ns", round(device_ns));
    json_key(json, "columns");
    json_array(json, JSON_INLINE);
    for (size_t i = 0; i < COUNT_OF(columns); i++)
        json_text(json, columns[i]);
    json_end(json);
    json_key(json, "groups");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < groups->count && i < limit; i++)
        write_group(o, &groups->items[i], json);
    json_end(json);
    write_machine(o, json);
}

/* --- roofline --- */

static void write_roof(struct json *json, const char *kind, const char *label, double value, const char *unit)
{
    json_object(json, JSON_INLINE);
    json_member_text(json, "kind", kind);
    json_member_text(json, "label", label);
    json_member_real(json, "value", value);
    json_member_text(json, "unit", unit);
    json_end(json);
}

/* Peaks of the fidelities that the ops have; where none says which, the highest. */
static void write_roofs(const struct overview *o, struct json *json)
{
    static const char *const labels[MACHINE_FIDELITIES] = {"LoFi", "HiFi2", "HiFi3", "HiFi4"};
    const struct perf *perf = &o->perf;
    const struct machine *machine = perf->machine;
    bool is_used[PERF_FIDELITY_UNKNOWN + 1] = {0}, is_any = false;
    json_key(json, "roofs");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < o->ops.count && perf->has_machine; i++) {
        const struct perf_work *work = perf_work_of(perf, perf_at(perf, o->ops.items[i].row));
        if (work->flops > 0 && work->fidelity <= PERF_FIDELITY_UNKNOWN)
            is_used[work->fidelity] = true;
    }
    if (perf->has_machine && machine->dram_gb_s > 0)
        write_roof(json, "dram", "DRAM", machine->dram_gb_s, "GB/s");
    for (unsigned i = 0; i < MACHINE_CACHES && perf->has_machine; i++) {
        if (machine->caches[i].gb_s > 0)
            write_roof(json, "cache", machine_cache_text(i), machine->caches[i].gb_s, "GB/s");
    }
    for (unsigned f = 0; f < MACHINE_FIDELITIES && perf->has_machine; f++) {
        bool differs = machine->tflops_per_core[f] != machine->tflops_per_core[0];
        bool is_wanted = is_used[f] || (f == 0 && is_used[PERF_FIDELITY_UNKNOWN]);
        if (!is_wanted || !(machine->tflops_per_core[f] > 0) || (is_any && !differs))
            continue;
        bool has_levels = machine->tflops_per_core[MACHINE_HIFI4] != machine->tflops_per_core[0];
        write_roof(json, "flops", has_levels ? labels[f] : "arithmetic",
                   machine->tflops_per_core[f] * perf->worker_cores, "TFLOP/s");
        is_any = true;
    }
    json_end(json);
}

static bool is_estimated(const struct overview *o, const struct overview_op *op)
{
    const struct op_run *run = perf_run(&o->perf, perf_at(&o->perf, op->row));
    return run && run->flags & OP_RUN_ESTIMATED;
}

void overview_write_roofline(const struct overview *o, struct json *json)
{
    const struct perf *perf = &o->perf;
    uint64_t without = 0;
    double without_ns = 0;
    write_machine(o, json);
    write_roofs(o, json);
    json_member_real(json, "target", perf->options.target_percent / 100);
    json_key(json, "points");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < o->ops.count; i++) {
        const struct overview_op *op = &o->ops.items[i];
        const struct perf_work *work = perf_work_of(perf, perf_at(perf, op->row));
        if (op->is_host || !(op->device_ns > 0))
            continue;
        if (!(work->flops > 0) || !(work->dram_bytes > 0) || perf_at(perf, op->row)->doubt) {
            without += op->count;
            without_ns += op->device_ns;
            continue;
        }
        json_object(json, JSON_INLINE);
        json_member_text(json, "name", overview_op_name(o, op));
        json_member_text(json, "kind", perf_class_text(op->class_));
        json_member_unsigned(json, "colour", overview_colour(op->class_));
        json_member_real(json, "flop_per_byte", work->flops / work->dram_bytes);
        json_member_real(json, "tflops", work->flops / op->mean_ns / 1e3);
        json_member_real(json, "device_ns", round(op->device_ns));
        json_member_bool(json, "estimated", is_estimated(o, op));
        json_end(json);
    }
    json_end(json);
    json_key(json, "without_model");
    json_object(json, JSON_INLINE);
    json_member_unsigned(json, "ops", without);
    json_member_real(json, "ns", round(without_ns));
    json_end(json);
}
