/* SPDX-License-Identifier: Apache-2.0 */
/* Scheduled IR with its estimate written into it, as the compiler's profiling pass does: start and end of tasks and
 * actions, the duration of what is started, the cycles of each slice program. With `has_own`, the dispatch gets what
 * that pass has no place for: its cycles, and the memory that it reaches. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "base/map.h"
#include "import/mlir/scan.h"
#include "import/torq/torq.h"

static void edit_times(struct mlir_edits *edits, uint32_t op, uint64_t start, uint64_t end)
{
    char starts[40], ends[40];
    snprintf(starts, sizeof starts, "%" PRIu64 " : i64", start);
    snprintf(ends, sizeof ends, "%" PRIu64 " : i64", end);
    const struct mlir_new_attribute times[] = {{"torq-end-time-cycles", ends},
                                               {"torq-start-time-cycles", starts}};
    mlir_edit_attributes(edits, op, times, 2);
}

static void edit_duration(struct mlir_edits *edits, uint32_t op, uint64_t cycles)
{
    char text[40];
    snprintf(text, sizeof text, "%" PRIu64 " : i64", cycles);
    mlir_edit_attributes(edits, op, &(struct mlir_new_attribute){"torq-async-duration-cycles", text}, 1);
}

/* "\n" and the blanks that the line of `at` begins with. */
static void append_line_start(const struct mlir *mlir, uint32_t at, struct bytes *out)
{
    size_t line = at, end;
    while (line > 0 && mlir->text[line - 1] != '\n')
        line--;
    for (end = line; end < at && (mlir->text[end] == ' ' || mlir->text[end] == '\t');)
        end++;
    bytes_append_text(out, "\n");
    bytes_append(out, mlir->text + line, end - line);
}

/* Puts lines in front of an op, each with its indentation: the op's own line keeps what it begins with. */
static void insert_lines(struct mlir_edits *edits, uint32_t op, const char *const *lines, size_t count)
{
    const struct mlir *mlir = edits->mlir;
    struct bytes text = {0};
    for (size_t i = 0; i < count; i++) {
        bytes_append_text(&text, lines[i]);
        append_line_start(mlir, mlir->ops[op].begin, &text);
    }
    mlir_edit_insert(edits, mlir->ops[op].begin, bytes_text(&text));
    edits->failed |= text.failed;
    bytes_free(&text);
}

/* The shapes of the memrefs behind D, W, B and Q of a slice task, and their bytes. */
static uint64_t append_operands(const struct mlir *mlir, uint32_t op, struct bytes *shapes)
{
    struct slice head = mlir_head(mlir, op);
    uint64_t bytes = 0;
    bool is_first = true;
    struct slice rest = slice_before(head, "CFG");
    for (struct slice at = slice_after(rest, "memref<"); at.data; at = slice_after(at, "memref<")) {
        size_t end = scan_until(at.data, 0, at.length, ","), x = end;
        while (x > 0 && at.data[x - 1] != 'x')
            x--;
        bytes_append_text(shapes, is_first ? "" : "+");
        bytes_append(shapes, at.data, x ? x - 1 : 0);
        bytes += torq_bytes(slice_from(at.data - strlen("memref<"), at.length + strlen("memref<")));
        is_first = false;
    }
    return bytes;
}

static int edit_slice_task(struct mlir_edits *edits, uint32_t op, uint32_t first, uint64_t *most,
                           struct error *err)
{
    static const char *const names[] = {
#define X(name) #name,
        TORQ_LISTS(X)
#undef X
    };
    struct torq_slice_task task;
    struct bytes shapes = {0}, lists = {0};
    int status = torq_slice_cost(edits->mlir, op, &task, err);
    if (status)
        return status;
    char memory[64], cycles[64];
    snprintf(memory, sizeof memory, "memory : %" PRIu64 " bytes", append_operands(edits->mlir, op, &lists));
    bytes_append_format(&shapes, "memory_info : \"%s\"", bytes_text(&lists));
    snprintf(cycles, sizeof cycles, "max_cycle : %" PRIu64, task.max_cycles);
    bytes_clear(&lists);
    bytes_append_text(&lists, "ndl_cycles :");
    for (unsigned i = 0; i < TORQ_LIST_COUNT; i++) {
        char lower[8] = "";
        for (size_t k = 0; names[i][k] && k < sizeof lower - 1; k++)
            lower[k] = (char)(names[i][k] | 0x20);
        bytes_append_format(&lists, " %s(%" PRIu64 ")", lower, task.cycles[i]);
    }
    *most = task.max_cycles > *most ? task.max_cycles : *most;
    const char *lines[] = {"torq_hw.slice_profiling", memory, bytes_text(&shapes), cycles,
                           bytes_text(&lists)};
    insert_lines(edits, first, lines, COUNT_OF(lines));
    edits->failed |= shapes.failed || lists.failed;
    bytes_free(&shapes);
    bytes_free(&lists);
    return 0;
}

static uint32_t first_op_of(const struct mlir *mlir, uint32_t op)
{
    uint32_t region = mlir->ops[op].first_region;
    uint32_t block = region == MLIR_NONE ? MLIR_NONE : mlir->regions[region].first_block;
    return block == MLIR_NONE ? MLIR_NONE : mlir->blocks[block].first_op;
}

/* What the programs of a dispatch cost, at their heads, and the sum of its on-chip allocations. */
static int edit_programs(struct mlir_edits *edits, uint32_t function, uint64_t *most, uint64_t *allocated,
                         struct error *err)
{
    const struct mlir *mlir = edits->mlir;
    for (uint32_t op = function + 1; op < mlir->op_count && mlir->ops[op].begin < mlir->ops[function].end;
         op++) {
        const char *name = mlir_name(mlir, op);
        if (strcmp(name, "memref.alloc") == 0 && mlir->ops[op].results) {
            struct slice type = mlir_type(mlir, mlir->ops[op].first_result);
            *allocated += slice_is(torq_memory(type), "lram") ? torq_bytes(type) : 0;
        }
        if (strcmp(name, "torq_hw.slice_task") != 0 || mlir->ops[op].block == MLIR_NONE)
            continue;
        uint32_t first = mlir->blocks[mlir->ops[op].block].first_op;
        int status = edit_slice_task(edits, op, first, most, err);
        if (status)
            return status;
    }
    return 0;
}

/* How many attributes a function gets of ours. */
static void edit_function(struct mlir_edits *edits, uint32_t function,
                          const struct timeline_dispatch *dispatch)
{
    char cycles[40], peak[40], used[40];
    snprintf(cycles, sizeof cycles, "%" PRIu64 " : i64", dispatch->end - dispatch->start);
    snprintf(peak, sizeof peak, "%" PRIu64 " : i64", dispatch->peak_bytes);
    snprintf(used, sizeof used, "%" PRIu64 " : i64", dispatch->used_bytes);
    const struct mlir_new_attribute own[] = {
        {"opscope.cycles", cycles}, {"opscope.peak_bytes", peak}, {"opscope.used_bytes", used}};
    if (edits->mlir->ops[function].attributes)
        mlir_edit_attributes(edits, function, own, 3);
}

/* A program may be started again: what it did last stays, as with the compiler's pass. */
static bool is_done(struct mlir_edits *edits, struct map *done, uint32_t op)
{
    if (map_get(done, op) != MAP_NONE)
        return true;
    edits->failed |= !map_put(done, op, 1);
    return false;
}

static void edit_runs(struct mlir_edits *edits, const struct timeline *timeline)
{
    struct map done = {0};
    for (size_t i = timeline->task_count; i-- > 0;) {
        const struct timeline_task *task = &timeline->tasks[i];
        uint64_t origin = timeline->dispatches[task->dispatch].start;
        if (!is_done(edits, &done, task->source))
            edit_times(edits, task->source, task->start - origin, task->end - origin);
    }
    for (size_t i = timeline->unit_count; i-- > 0;) {
        const struct timeline_unit *unit = &timeline->units[i];
        if (!is_done(edits, &done, unit->source))
            edit_duration(edits, unit->source, unit->end - unit->start);
    }
    for (size_t i = timeline->action_count; i-- > 0;) {
        const struct timeline_action *action = &timeline->actions[i];
        uint64_t origin = timeline->dispatches[action->dispatch].start;
        if (action->has_times && !is_done(edits, &done, action->source))
            edit_times(edits, action->source, action->start - origin, action->end - origin);
    }
    map_free(&done);
}

int torq_annotate(const struct mlir *mlir, const struct timeline *timeline, bool has_own, struct bytes *out,
                  struct error *err)
{
    struct mlir_edits edits = {.mlir = mlir};
    int status = 0;
    for (size_t i = 0; i < timeline->dispatch_count && status == 0; i++) {
        const struct timeline_dispatch *dispatch = &timeline->dispatches[i];
        uint64_t most = 0, allocated = 0;
        char memory[64], cycles[64];
        const char *lines[] = {"torq_hw.dispatch_profiling", memory, cycles};
        uint32_t first = first_op_of(mlir, dispatch->source);
        status = edit_programs(&edits, dispatch->source, &most, &allocated, err);
        snprintf(memory, sizeof memory, "memory : %" PRIu64 " bytes", allocated);
        snprintf(cycles, sizeof cycles, "total_cycle : %" PRIu64, most);
        if (first != MLIR_NONE)
            insert_lines(&edits, first, lines, 3);
        if (has_own)
            edit_function(&edits, dispatch->source, dispatch);
    }
    edit_runs(&edits, timeline);
    if (status == 0)
        status = mlir_edits_append(&edits, out, err);
    mlir_edits_free(&edits);
    return status;
}
