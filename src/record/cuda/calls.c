/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks on the program's threads, at enter and exit of the driver's calls that launch, copy, wait or allocate, and
 * of no others. A call of the runtime's library arrives here as one of the driver's.
 *
 * A launch belongs to the innermost op that its thread has open; where none is open, the launch is an op by itself,
 * of the kernel's name, from the call's enter to its exit. Which op it is, is kept under the launch's correlation id at
 * once, in shared memory: the record comes later, and the process may be killed before. A node of a graph belongs to
 * the op in which it was captured; instantiating the graph clones the nodes. */
#include "base/count_of.h"
#include "record/cuda/cuda.h"

struct call_row {
    uint8_t kind; /* enum cuda_call_kind; 0: none of ours */
    const char *title;
};

#define CALL_ROW_(id, function, kind, title) [id] = {CUDA_CALL_##kind, title},
static const struct call_row call_rows[CUDA_CALL_IDS] = {CUDA_CALLS(CALL_ROW_)};

/* The kernel that this thread is launching: a node of a graph that is made meanwhile is of it. */
static __thread uint32_t launching_name;

/* In a call's own data. */
#define IS_BRACKETED 1u /* an op or a zone of ours has to be ended */
#define IS_RELEASED 2u  /* what it releases is recorded */

static void note_launch(void)
{
    if (!__atomic_load_n(&cuda.was_launched, __ATOMIC_RELAXED))
        __atomic_store_n(&cuda.was_launched, 1, __ATOMIC_RELAXED);
}

/* The op that this call belongs to; begins one if there is none. */
static uint64_t op_of(const struct cupti_call *call, const char *title, uint32_t name)
{
    uint64_t current = opscope_op_current_();
    if (current)
        return current;
    *call->data |= IS_BRACKETED;
    uint32_t device = device_of_context(call->context, call->context_id);
    return name ? opscope_op_begin_id_(name, OPSCOPE_OP_DEVICE, device)
                : opscope_op_begin_(title, OPSCOPE_OP_DEVICE, device);
}

/* Under its correlation id: what is launched, for its times. A process that waits for a zone (--capture zone:NAME)
 * counts as recording, so that an op of the launch may be that zone; if it was none, the launch is not recorded. */
static void put_launch(const struct cupti_call *call, uint64_t op, uint32_t name, uint32_t replay)
{
    bool has_own_op = op && *call->data & IS_BRACKETED;
    if (opscope_is_paused_() && !has_own_op)
        file_put_paused_launch(call->correlation);
    else
        file_put_launch(call->correlation, op, name, replay);
}

static void enter_launch(const struct cupti_call *call, unsigned kind)
{
    const void *const *arguments = call->arguments;
    const void *function = arguments ? arguments[kind == CUDA_CALL_LAUNCH_EX] : NULL;
    struct kernel_name name = kernel_name_of(function, call->symbol);
    launching_name = name.id;
    put_launch(call, op_of(call, name.text, name.id), name.id, 0);
    note_launch();
}

static void enter(const struct cupti_call *call, const struct call_row *row)
{
    switch (row->kind) {
    case CUDA_CALL_LAUNCH:
    case CUDA_CALL_LAUNCH_EX:
        enter_launch(call, row->kind);
        break;
    case CUDA_CALL_COPY:
    case CUDA_CALL_SET:
        put_launch(call, op_of(call, row->title, 0), 0, 0);
        note_launch();
        break;
    case CUDA_CALL_GRAPH: {
        uint32_t replay = __atomic_add_fetch(&cuda.replays, 1, __ATOMIC_RELAXED);
        static struct opscope_site site = {sizeof site, 0, "cuGraphLaunch", "", "", 0, 0};
        /* First: it may be what a capture waits for. */
        *call->data |= opscope_zone_begin_(&site) ? IS_BRACKETED : 0;
        put_launch(call, opscope_op_current_(), 0, replay ? replay : 1);
        note_launch();
        break;
    }
    case CUDA_CALL_WAIT:
        *call->data |= opscope_zone_begin_named_(row->title, strlen(row->title), 0) ? IS_BRACKETED : 0;
        break;
    case CUDA_CALL_FREE:
        *call->data |= memory_releases(call) ? IS_RELEASED : 0;
        break;
    default:
        break;
    }
}

static void leave(const struct cupti_call *call, const struct call_row *row)
{
    bool has_succeeded = !call->result || *call->result == 0;
    bool is_recorded = *call->data & IS_RELEASED;
    if (*call->data & IS_BRACKETED)
        opscope_op_end_(); /* of a zone it is the same */
    *call->data = 0;
    launching_name = 0;
    if (has_succeeded && !is_recorded && call->arguments && row->kind >= CUDA_CALL_ALLOCATE &&
        opscope_is_recording())
        memory_called(call, row->kind);
}

static void driver_called(uint32_t id, const struct cupti_call *call)
{
    const struct call_row *row = id < CUDA_CALL_IDS ? &call_rows[id] : NULL;
    if (!row || !row->kind)
        return;
    if (row->kind == CUDA_CALL_PROFILER_START || row->kind == CUDA_CALL_PROFILER_STOP) {
        if (call->site == CUPTI_SITE_EXIT)
            cuda_profiler_called(row->kind == CUDA_CALL_PROFILER_START);
        return;
    }
    if (call->site == CUPTI_SITE_EXIT) {
        leave(call, row);
        return;
    }
    *call->data = 0;
    bool is_active = __atomic_load_n(&cuda.is_active, __ATOMIC_RELAXED);
    if (opscope_is_recording() && (is_active || cuda_resume())) /* perhaps it goes on with this call */
        enter(call, row);
    else if (is_active && row->kind <= CUDA_CALL_SET)
        file_put_paused_launch(call->correlation);
}

/* --- contexts, streams, graphs --- */

static void node_created(const struct cupti_graph_data *graph)
{
    uint64_t id;
    uint64_t call = opscope_op_current_();
    if (call && cuda.cupti.cuptiGetGraphNodeId &&
        cuda.cupti.cuptiGetGraphNodeId(graph->node, &id) == CUPTI_OK)
        file_put_node(id, call, launching_name);
}

static void node_cloned(const struct cupti_graph_data *graph)
{
    uint64_t id, original;
    struct cuda_node node;
    if (cuda.cupti.cuptiGetGraphNodeId && cuda.cupti.cuptiGetGraphNodeId(graph->node, &id) == CUPTI_OK &&
        cuda.cupti.cuptiGetGraphNodeId(graph->original_node, &original) == CUPTI_OK &&
        file_get_node(original, &node))
        file_put_node(id, node.call, node.name);
}

static void resource_changed(uint32_t id, const struct cupti_resource_data *data)
{
    switch (id) {
    case CUPTI_CONTEXT_CREATED:
        tracks_expect_context(data->context);
        break;
    case CUPTI_STREAM_CREATED:
        tracks_expect_stream(data->context, data->stream);
        break;
    case CUPTI_NODE_CREATED:
        node_created(data->description);
        break;
    case CUPTI_NODE_CLONED:
        node_cloned(data->description);
        break;
    default:
        break;
    }
}

void call_back(void *context, int domain, uint32_t id, const void *data)
{
    (void)context;
    if (__atomic_load_n(&cuda.is_over, __ATOMIC_RELAXED))
        return;
    if (domain == CUPTI_DOMAIN_DRIVER)
        driver_called(id, data);
    else if (domain == CUPTI_DOMAIN_RESOURCE)
        resource_changed(id, data);
}

void calls_enable(void)
{
    static const uint32_t resources[] = {CUPTI_CONTEXT_CREATED, CUPTI_STREAM_CREATED, CUPTI_NODE_CREATED,
                                         CUPTI_NODE_CLONED};
    const struct cupti *cupti = &cuda.cupti;
    for (uint32_t id = 0; id < CUDA_CALL_IDS; id++) {
        if (call_rows[id].kind) /* an older libcupti does not know the newest: they are not called either */
            cupti->cuptiEnableCallback(1, cuda.subscriber, CUPTI_DOMAIN_DRIVER, id);
    }
    for (size_t i = 0; i < COUNT_OF(resources); i++)
        cupti->cuptiEnableCallback(1, cuda.subscriber, CUPTI_DOMAIN_RESOURCE, resources[i]);
}
