/* SPDX-License-Identifier: Apache-2.0 */
/* Executes scheduled IR symbolically (torq.h). Values are followed through the arguments of programs and blocks: a
 * table says what each argument is bound to at the moment, since a program may be started with other values again. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/mlir/scan.h"
#include "import/torq/footprint.h"
#include "import/torq/ops.h"
#include "import/torq/torq.h"

#define STEPS_MAX 50000000u /* ops that are executed, in all programs that are started */
#define BINDINGS_MAX 64u    /* an argument of an argument ... */

enum resource {
    DMA_IN,
    DMA_OUT,
    COPY_TO_DTCM,
    COPY_TO_ITCM,
    COPY_FROM_DTCM,
    CSS,
    FIRST_SLICE,
    SLICES_MAX = 64,
    RESOURCES = FIRST_SLICE + SLICES_MAX
};

struct machine_state {
    const struct mlir *m;
    struct timeline *timeline;
    const struct torq_target *target;
    const char *default_location;
    struct error *err;
    uint32_t *bound; /* by value: what an argument stands for now; MLIR_NONE */
    uint64_t now;
    uint64_t ends[RESOURCES];
    uint32_t last_unit[RESOURCES];        /* started and not yet waited for; TIMELINE_NONE */
    uint64_t dma_bytes[2], dma_cycles[2]; /* as configured last */
    uint32_t dma_op[2];                   /* that did; MLIR_NONE */
    struct torq_footprint footprint;
    uint32_t task, dispatch;
    uint64_t steps;
    int64_t next_task_number;
    struct torq_ops ops;
    uint64_t last_stamp; /* end of the action with times that came last */
};

static int refuse(const struct machine_state *s, uint32_t op, const char *why)
{
    return mlir_error(s->m, s->m->ops[op].begin, s->err, "%s: %s", mlir_name(s->m, op), why);
}

static uint32_t resolve(const struct machine_state *s, uint32_t value)
{
    for (unsigned i = 0; i < BINDINGS_MAX && value != MLIR_NONE && s->bound[value] != MLIR_NONE; i++)
        value = s->bound[value];
    return value;
}

static bool is_op(const struct machine_state *s, uint32_t op, const char *name)
{
    return strcmp(mlir_name(s->m, op), name) == 0;
}

static int64_t integer_of(const struct machine_state *s, uint32_t op, const char *key, int64_t otherwise)
{
    struct slice text;
    int64_t value;
    return mlir_attribute(s->m, op, key, &text) && mlir_integer(text, &value) ? value : otherwise;
}

static uint32_t location_of(struct machine_state *s, uint32_t op)
{
    struct bytes text = {0};
    uint32_t id;
    if (!s->m->ops[op].location.length && s->default_location)
        return timeline_text(s->timeline, slice_of(s->default_location));
    mlir_append_location(s->m, op, &text);
    id = text.failed ? TIMELINE_NONE
                     : timeline_text(s->timeline, slice_from((const char *)text.data, text.length));
    bytes_free(&text);
    return id;
}

/* --- from an invocation to its program --- */

/* The op that made the invocation which an operand is, or MLIR_NONE. */
static uint32_t invocation_of(const struct machine_state *s, uint32_t op, uint32_t operand)
{
    const struct mlir_op *o = &s->m->ops[op];
    if (operand >= o->operands)
        return MLIR_NONE;
    uint32_t value = resolve(s, s->m->operands[o->first_operand + operand]);
    if (value == MLIR_NONE || s->m->values[value].block != MLIR_NONE)
        return MLIR_NONE;
    uint32_t maker = s->m->values[value].op;
    return is_op(s, maker, "torq_hl.descriptor") || is_op(s, maker, "torq_hl.create_invocation") ? maker
                                                                                                 : MLIR_NONE;
}

static uint32_t program_of(const struct machine_state *s, uint32_t invocation)
{
    const struct mlir_op *o = &s->m->ops[invocation];
    for (uint32_t i = 0; i < o->operands; i++) {
        uint32_t value = resolve(s, s->m->operands[o->first_operand + i]);
        if (value != MLIR_NONE && s->m->values[value].block == MLIR_NONE &&
            is_op(s, s->m->values[value].op, "torq_hl.program"))
            return s->m->values[value].op;
    }
    return MLIR_NONE;
}

static bool is_for_sequencer(const struct machine_state *s, uint32_t program)
{
    const struct mlir_op *o = &s->m->ops[program];
    struct slice text = mlir_head(s->m, program);
    return slice_has(text, "program<nss>") ||
           (o->results && slice_has(mlir_type(s->m, o->first_result), "<nss>"));
}

/* --- starts and waits --- */

/* The buffer that a view is of, through any number of them; the value itself where it is none. */
static uint32_t viewed(const struct machine_state *s, uint32_t value)
{
    for (unsigned i = 0; i < BINDINGS_MAX; i++) {
        value = resolve(s, value);
        if (value == MLIR_NONE || s->m->values[value].block != MLIR_NONE)
            return value;
        const struct mlir_op *maker = &s->m->ops[s->m->values[value].op];
        if (strncmp(mlir_name(s->m, s->m->values[value].op), "memref.", 7) != 0 || !maker->operands)
            return value;
        value = s->m->operands[maker->first_operand];
    }
    return value;
}

/* What an op names is in use. */
static void use_operands(struct machine_state *s, uint32_t op, uint64_t start, uint64_t end)
{
    const struct mlir_op *o = &s->m->ops[op];
    for (uint32_t i = 0; i < o->operands; i++)
        torq_footprint_use(&s->footprint, s->m, viewed(s, s->m->operands[o->first_operand + i]), start, end);
}

/* An allocated buffer lives from there on. */
static void use_allocation(struct machine_state *s, uint32_t op)
{
    if (is_op(s, op, "memref.alloc") && s->m->ops[op].results)
        torq_footprint_use(&s->footprint, s->m, s->m->ops[op].first_result, s->now, s->now);
    else if (is_op(s, op, "memref.dealloc"))
        use_operands(s, op, s->now, s->now);
}

static struct timeline_unit *start_unit(struct machine_state *s, uint32_t op, unsigned resource,
                                        uint64_t cycles, uint32_t lane)
{
    struct timeline_unit *unit = timeline_add_unit(s->timeline);
    if (!unit)
        return NULL;
    unit->start = s->now;
    unit->end = s->now + cycles;
    unit->bytes = UINT64_MAX;
    unit->lane = lane;
    unit->dispatch = s->dispatch;
    unit->task = s->task;
    unit->source = op;
    s->ends[resource] = unit->end;
    s->last_unit[resource] = (uint32_t)s->timeline->unit_count - 1;
    uint32_t named = resource <= DMA_OUT ? s->dma_op[resource] : op;
    if (named != MLIR_NONE)
        use_operands(s, named, unit->start, unit->end);
    return unit;
}

static void wait_for(struct machine_state *s, unsigned resource)
{
    if (s->ends[resource] > s->now)
        s->now = s->ends[resource];
    if (s->last_unit[resource] != TIMELINE_NONE) {
        struct timeline_unit *unit = &s->timeline->units[s->last_unit[resource]];
        unit->ready = s->now;
        unit->waiter = s->task;
    }
    s->last_unit[resource] = TIMELINE_NONE;
}

static int configure_dma(struct machine_state *s, uint32_t op, unsigned direction)
{
    struct slice list;
    const char *key = direction == DMA_IN ? "write_ndl" : "read_ndl";
    if (!mlir_attribute(s->m, op, key, &list) ||
        !torq_dma_bytes(mlir_resolve(s->m, list), &s->dma_bytes[direction]))
        return refuse(s, op, "its list of dimensions is not there or not understood");
    s->dma_op[direction] = op;
    s->dma_cycles[direction] =
        torq_dma_cycles(s->target, s->dma_bytes[direction],
                        direction == DMA_IN ? s->target->dma_in_mtu : s->target->dma_out_mtu);
    return 0;
}

static int start_dma(struct machine_state *s, uint32_t op, unsigned direction)
{
    uint32_t lane = direction == DMA_IN ? timeline_lane(s->timeline, "DMA In", TIMELINE_DMA_IN, 0)
                                        : timeline_lane(s->timeline, "DMA Out", TIMELINE_DMA_OUT, 0);
    uint32_t location = location_of(s, op);
    struct timeline_unit *unit = start_unit(s, op, direction, s->dma_cycles[direction], lane);
    if (unit) {
        unit->bytes = s->dma_bytes[direction];
        unit->location = location;
    }
    return 0;
}

/* torq_hw.cdma_start from %a : T to %b : U */
static int start_copy(struct machine_state *s, uint32_t op)
{
    static const char *const names[] = {"CDMA LRAM to DTCM", "CDMA LRAM to ITCM", "CDMA DTCM to LRAM"};
    struct slice text = mlir_head(s->m, op), from = slice_after(text, " from "),
                 to = slice_after(text, " to ");
    struct slice source = slice_after(from, ": "), goal = slice_after(to, ": ");
    uint64_t elements;
    if (!source.data || !goal.data || !torq_elements(source, &elements))
        return refuse(s, op, "what it copies is not understood");
    unsigned direction = slice_is(torq_memory(slice_before(source, " to ")), "dtcm") ? COPY_FROM_DTCM
                         : slice_is(torq_memory(goal), "itcm")                       ? COPY_TO_ITCM
                                                                                     : COPY_TO_DTCM;
    double cycles = ceil((double)elements / (s->target->copy_bytes_per_cycle * s->target->copy_factor));
    uint32_t location = location_of(s, op);
    uint32_t lane =
        timeline_lane(s->timeline, names[direction - COPY_TO_DTCM], TIMELINE_COPY, direction - COPY_TO_DTCM);
    struct timeline_unit *unit = start_unit(s, op, direction, cycles < 1 ? 1 : (uint64_t)cycles, lane);
    if (unit) {
        unit->bytes = elements;
        unit->location = location;
    }
    return 0;
}

/* Every slice_task of the program, one after the other; their names are joined. */
static int program_cost(struct machine_state *s, uint32_t program, uint64_t *cycles, uint32_t *name)
{
    const struct mlir *m = s->m;
    struct bytes names = {0};
    int status = 0;
    *cycles = 0;
    for (uint32_t region = m->ops[program].first_region; region != MLIR_NONE && status == 0;
         region = m->regions[region].next) {
        for (uint32_t block = m->regions[region].first_block; block != MLIR_NONE;
             block = m->blocks[block].next) {
            for (uint32_t op = m->blocks[block].first_op; op != MLIR_NONE && status == 0;
                 op = m->ops[op].next) {
                struct torq_slice_task task;
                if (!is_op(s, op, "torq_hw.slice_task"))
                    continue;
                status = torq_slice_cost(m, op, &task, s->err);
                *cycles += task.max_cycles;
                bytes_append_text(&names, names.length ? "_" : "");
                bytes_append(&names, task.name.data, task.name.length);
            }
        }
    }
    *name = status == 0 && !names.failed
                ? timeline_text(s->timeline,
                                slice_from(names.length ? (const char *)names.data : "", names.length))
                : TIMELINE_NONE;
    bytes_free(&names);
    return status;
}

/* The op that a program computes; `source` is the program, or the start where that is all that is known. */
static uint32_t op_of(struct machine_state *s, uint32_t source, uint32_t name, uint32_t location)
{
    bool has_location = s->m->ops[source].location.length != 0;
    struct slice program = torq_program_name(mlir_head(s->m, source));
    if (program.data && (name == TIMELINE_NONE || !has_location))
        name = timeline_text(s->timeline, program);
    return torq_op_of(&s->ops, s->timeline,
                      &(struct torq_op_key){s->dispatch, source, name, location, has_location});
}

static int start_slice(struct machine_state *s, uint32_t op)
{
    int64_t id = integer_of(s, op, "id", 0);
    uint32_t invocation = invocation_of(s, op, 0);
    uint32_t program = invocation == MLIR_NONE ? MLIR_NONE : program_of(s, invocation), name;
    uint64_t cycles;
    char lane[32];
    if (program == MLIR_NONE)
        return refuse(s, op, "the program that it starts cannot be found");
    if (id < 0 || id >= SLICES_MAX)
        return refuse(s, op, "there is no such slice");
    int status = program_cost(s, program, &cycles, &name);
    if (status)
        return status;
    snprintf(lane, sizeof lane, "Slice %d", (int)id);
    uint32_t location = location_of(s, program), own = op_of(s, program, name, location);
    struct timeline_unit *unit = start_unit(s, op, FIRST_SLICE + (unsigned)id, cycles,
                                            timeline_lane(s->timeline, lane, TIMELINE_SLICE, (uint32_t)id));
    if (unit) {
        unit->name = name;
        unit->location = location;
        unit->program = timeline_text(s->timeline, torq_program_name(mlir_head(s->m, invocation)));
        unit->op = own;
    }
    s->now++;
    return 0;
}

static int start_css(struct machine_state *s, uint32_t op)
{
    uint32_t location = location_of(s, op);
    uint32_t own = op_of(s, op, timeline_text(s->timeline, slice_of("css")), location);
    struct timeline_unit *unit =
        start_unit(s, op, CSS, s->target->css_cycles, timeline_lane(s->timeline, "CSS", TIMELINE_CORE, 0));
    if (unit) {
        unit->location = location;
        unit->op = own;
    }
    s->now++;
    return 0;
}

/* --- tasks, programs, actions --- */

static int execute_task_op(struct machine_state *s, uint32_t op)
{
    const char *name = mlir_name(s->m, op);
    if (strncmp(name, "memref.", 7) == 0) {
        use_allocation(s, op);
        return 0;
    }
    if (strncmp(name, "torq_hw.", 8) != 0)
        return refuse(s, op, "has no place in a task");
    name += 8;
    if (strcmp(name, "dma_in_cfg") == 0)
        return configure_dma(s, op, DMA_IN);
    if (strcmp(name, "dma_out_cfg") == 0)
        return configure_dma(s, op, DMA_OUT);
    if (strcmp(name, "dma_in_start") == 0)
        return start_dma(s, op, DMA_IN);
    if (strcmp(name, "dma_out_start") == 0)
        return start_dma(s, op, DMA_OUT);
    if (strcmp(name, "cdma_start") == 0)
        return start_copy(s, op);
    if (strcmp(name, "slice_start") == 0)
        return start_slice(s, op);
    if (strcmp(name, "css_start") == 0)
        return start_css(s, op);
    if (strcmp(name, "dma_in_wait") == 0)
        wait_for(s, DMA_IN);
    else if (strcmp(name, "dma_out_wait") == 0)
        wait_for(s, DMA_OUT);
    else if (strcmp(name, "css_wait") == 0)
        wait_for(s, CSS);
    else if (strcmp(name, "cdma_wait") == 0)
        for (unsigned i = COPY_TO_DTCM; i <= COPY_FROM_DTCM; i++)
            wait_for(s, i);
    else if (strcmp(name, "slice_wait") == 0) {
        int64_t id = integer_of(s, op, "id", 0);
        if (id < 0 || id >= SLICES_MAX)
            return refuse(s, op, "there is no such slice");
        wait_for(s, FIRST_SLICE + (unsigned)id);
    } else
        return refuse(s, op, "has no place in a task");
    return 0;
}

static int execute_task(struct machine_state *s, uint32_t op)
{
    const struct mlir *m = s->m;
    struct timeline_task *task = timeline_add_task(s->timeline);
    if (!task)
        return timeline_check(s->timeline, s->err);
    *task = (struct timeline_task){.start = s->now,
                                   .number = integer_of(s, op, "torq-task-id", s->next_task_number),
                                   .dispatch = s->dispatch,
                                   .source = op};
    s->next_task_number = task->number + 1;
    s->task = (uint32_t)s->timeline->task_count - 1;
    int status = 0;
    for (uint32_t region = m->ops[op].first_region; region != MLIR_NONE; region = m->regions[region].next) {
        for (uint32_t block = m->regions[region].first_block; block != MLIR_NONE;
             block = m->blocks[block].next) {
            for (uint32_t inner = m->blocks[block].first_op; inner != MLIR_NONE && status == 0;
                 inner = m->ops[inner].next)
                status = execute_task_op(s, inner);
        }
    }
    s->timeline->tasks[s->task].end = s->now;
    return status;
}

/* How many values a group of an op's text names: args(%a, %b : T, U). */
static uint32_t count_values(struct slice text)
{
    uint32_t count = 0;
    for (size_t i = 0; i < text.length; i++)
        count += text.data[i] == '%';
    return count;
}

static void bind_arguments(struct machine_state *s, uint32_t block, uint32_t op, uint32_t first,
                           uint32_t count)
{
    const struct mlir *m = s->m;
    const struct mlir_block *b = &m->blocks[block];
    for (uint32_t i = 0; i < count && i < b->arguments && first + i < m->ops[op].operands; i++) {
        uint32_t value = resolve(s, m->operands[m->ops[op].first_operand + first + i]);
        if (value != b->first_argument + i)
            s->bound[b->first_argument + i] = value;
    }
}

/* From an op to the block that it names, with what it passes: `torq_hl.next %a lram_area(%b : T) to ^bb1`. */
static int follow_next(struct machine_state *s, uint32_t op, uint32_t region, uint32_t *block)
{
    struct slice text = mlir_head(s->m, op), label = slice_after(text, "^");
    size_t length = label.data ? scan_name(label.data, 0, label.length) : 0;
    *block = mlir_find_block(s->m, region, slice_from(label.data, length));
    if (!label.data || *block == MLIR_NONE)
        return refuse(s, op, "the block that it goes on with cannot be found");
    struct slice passed =
        slice_has(text, "lram_area(") ? slice_before(text, "lram_area(") : slice_before(text, "^");
    bind_arguments(s, *block, op, 0, count_values(passed));
    return 0;
}

static int execute_program(struct machine_state *s, uint32_t program, uint32_t start)
{
    const struct mlir *m = s->m;
    uint32_t region = m->ops[program].first_region;
    if (region == MLIR_NONE || m->regions[region].first_block == MLIR_NONE)
        return refuse(s, program, "has no body");
    uint32_t block = m->regions[region].first_block;
    /* Nothing decides where a program goes on, so that one which comes back goes in circles. */
    size_t executed = 0;
    struct slice arguments = slice_after(mlir_head(m, start), "args(");
    size_t end = arguments.data ? scan_until(arguments.data, 0, arguments.length, "") : 0;
    bind_arguments(s, block, start, 1, count_values(slice_from(arguments.data, end)));
    while (block != MLIR_NONE) {
        uint32_t next = MLIR_NONE;
        for (uint32_t op = m->blocks[block].first_op; op != MLIR_NONE; op = m->ops[op].next) {
            int status = 0;
            if (++s->steps > STEPS_MAX || ++executed > m->op_count)
                return refuse(s, op, "the program does not come to an end");
            if (is_op(s, op, "torq_hw.nss_task"))
                status = execute_task(s, op);
            else if (is_op(s, op, "torq_hl.next"))
                status = follow_next(s, op, region, &next);
            else if (is_op(s, op, "torq_hl.return"))
                return 0;
            else
                use_allocation(s, op);
            if (status)
                return status;
        }
        block = next;
    }
    return 0;
}

static int execute_action(struct machine_state *s, uint32_t op)
{
    struct slice text;
    int64_t number;
    bool is_start = is_op(s, op, "torq_hl.start_program"), is_wait = is_op(s, op, "torq_hl.wait_program");
    uint32_t invocation = is_start || is_wait ? invocation_of(s, op, 0) : MLIR_NONE;
    uint32_t program = invocation == MLIR_NONE ? MLIR_NONE : program_of(s, invocation);
    bool is_entered = program != MLIR_NONE && is_for_sequencer(s, program);
    uint64_t before = s->now;
    uint32_t first_task = (uint32_t)s->timeline->task_count;
    int status = is_start && is_entered ? execute_program(s, program, op) : 0;
    if (is_start || is_op(s, op, "torq_hl.host_copy")) /* a program's code and arguments, while it runs */
        use_operands(s, op, before, s->now);
    use_allocation(s, op);
    if (status || !mlir_attribute(s->m, op, "torq-action-id", &text) || !mlir_integer(text, &number))
        return status;
    struct timeline_action *action = timeline_add_action(s->timeline);
    if (!action)
        return timeline_check(s->timeline, s->err);
    *action = (struct timeline_action){.number = number,
                                       .dispatch = s->dispatch,
                                       .name = timeline_text(s->timeline, slice_of(mlir_name(s->m, op))),
                                       .source = op,
                                       .first_task = first_task,
                                       .tasks = (uint32_t)s->timeline->task_count - first_task,
                                       .has_times = is_start || is_wait,
                                       .start = is_wait ? s->last_stamp : before,
                                       .end = is_wait ? s->now : before};
    if (action->has_times)
        s->last_stamp = action->end;
    return 0;
}

/* --- dispatches --- */

/* A function that starts programs. */
static bool is_dispatch(const struct mlir *m, uint32_t op)
{
    if (strcmp(mlir_name(m, op), "func.func") != 0 || m->ops[op].first_region == MLIR_NONE)
        return false;
    uint32_t block = m->regions[m->ops[op].first_region].first_block;
    for (; block != MLIR_NONE; block = m->blocks[block].next) {
        for (uint32_t i = m->blocks[block].first_op; i != MLIR_NONE; i = m->ops[i].next) {
            if (strcmp(mlir_name(m, i), "torq_hl.start_program") == 0)
                return true;
        }
    }
    return false;
}

bool torq_is_scheduled(const struct mlir *mlir)
{
    for (uint32_t op = 0; op < mlir->op_count; op++) {
        if (is_dispatch(mlir, op))
            return true;
    }
    return false;
}

/* In the generic form a function's name is an attribute. */
static struct slice function_name(const struct mlir *m, uint32_t function)
{
    struct slice name = mlir_slice(m, m->ops[function].symbol), own;
    if (name.length || !mlir_attribute(m, function, "sym_name", &own) || own.length < 2)
        return name;
    return own.data[0] == '"' ? slice_from(own.data + 1, own.length - 2) : own;
}

static int execute_dispatch(struct machine_state *s, uint32_t function)
{
    const struct mlir *m = s->m;
    struct timeline_dispatch *dispatch = timeline_add_dispatch(s->timeline);
    if (!dispatch)
        return timeline_check(s->timeline, s->err);
    *dispatch = (struct timeline_dispatch){
        .name = timeline_text(s->timeline, function_name(m, function)), .start = s->now, .source = function};
    s->dispatch = (uint32_t)s->timeline->dispatch_count - 1;
    size_t first_unit = s->timeline->unit_count;
    torq_footprint_begin(&s->footprint, m, function);
    s->dma_op[DMA_IN] = s->dma_op[DMA_OUT] = MLIR_NONE;
    s->last_stamp = s->now;
    s->next_task_number = 0;
    for (unsigned i = 0; i < RESOURCES; i++)
        s->last_unit[i] = TIMELINE_NONE;
    uint32_t block = m->regions[m->ops[function].first_region].first_block;
    for (; block != MLIR_NONE; block = m->blocks[block].next) {
        for (uint32_t op = m->blocks[block].first_op; op != MLIR_NONE; op = m->ops[op].next) {
            int status = execute_action(s, op);
            if (status)
                return status;
        }
    }
    dispatch = &s->timeline->dispatches[s->dispatch];
    dispatch->end = s->now;
    torq_ops_finish(s->timeline, s->dispatch, first_unit);
    if (!torq_footprint_measure(&s->footprint, dispatch->start, dispatch->end, &dispatch->peak_bytes,
                                &dispatch->used_bytes))
        return error_no_memory(s->err, m->path);
    return 0;
}

int torq_execute(struct timeline *timeline, const struct mlir *mlir, const struct torq_target *target,
                 const char *default_location, struct error *err)
{
    struct machine_state state = {.m = mlir,
                                  .timeline = timeline,
                                  .target = target,
                                  .default_location = default_location,
                                  .err = err,
                                  .task = TIMELINE_NONE};
    int status = 0;
    *timeline = (struct timeline){.clock_mhz = target->clock_mhz};
    state.bound = malloc((mlir->value_count + 1) * sizeof state.bound[0]);
    if (!state.bound)
        return error_no_memory(err, mlir->path);
    for (size_t i = 0; i < mlir->value_count; i++)
        state.bound[i] = MLIR_NONE;
    for (uint32_t op = 0; op < mlir->op_count && status == 0; op++) {
        if (is_dispatch(mlir, op))
            status = execute_dispatch(&state, op);
    }
    free(state.bound);
    torq_ops_free(&state.ops);
    torq_footprint_free(&state.footprint);
    return status ? status : timeline_check(timeline, err);
}
