/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_standin LIBCUPTI WORK [N [M]]: a program that "uses CUDA" through cupti_standin_plugin.c. It loads what
 * CUDA_INJECTION64_PATH names, as the driver does. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "../../../examples/nvtx/nvtx_minimal.h"

static void (*launch)(const char *symbol, uint32_t stream);
static void (*copy)(uint64_t bytes);
static void (*capture)(const char *symbol, uint64_t node);
static void (*add_node)(uint64_t node);
static void (*clone_node)(uint64_t original, uint64_t node);
static void (*replay)(const char *const *symbols, const uint64_t *nodes, uint32_t count);
static void (*use_context)(uint32_t id);
static void (*call)(uint32_t id, const void *arguments);
static void (*call_while)(uint32_t id, const void *arguments, void (*meanwhile)(void));
static void (*resource)(uint32_t id, void *stream, const void *description);
static void (*end_some)(uint32_t count);
static uint32_t (*filled)(void);

static void find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "no %s\n", name);
        exit(3);
    }
    memcpy(function, &symbol, sizeof symbol);
}

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static void wait_until_filled(uint32_t count)
{
    while (filled() < count)
        pause_shortly();
}

static void start(const char *cupti)
{
    int (*initialize)(void) = NULL;
    void *library = dlopen(cupti, RTLD_NOW);
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *injected = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!library || (path && !injected)) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    find(library, "standin_launch", &launch);
    find(library, "standin_copy", &copy);
    find(library, "standin_capture", &capture);
    find(library, "standin_add_node", &add_node);
    find(library, "standin_clone", &clone_node);
    find(library, "standin_replay", &replay);
    find(library, "standin_call", &call);
    find(library, "standin_call_while", &call_while);
    find(library, "standin_context", &use_context);
    find(library, "standin_resource", &resource);
    find(library, "standin_end", &end_some);
    find(library, "standin_filled", &filled);
    if (injected) {
        find(injected, "InitializeInjection", &initialize);
        printf("injected %d\n", initialize());
    }
    resource(1, NULL, NULL); /* a context */
    fflush(stdout);
}

/* Half of the launches in an op, half by themselves; a copy, a wait, memory. */
static void work_plain(uint32_t count)
{
    uint64_t address = 0x7000;
    const struct {
        uint64_t *address;
        size_t bytes;
    } allocation = {&address, 1 << 20};
    call(243, &allocation);
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2)
            opscope_op_begin("step", OPSCOPE_OP_DEVICE, 0);
        launch(i % 2 ? "_Z4axpyPfS_i" : "scale", 7 + i % 3);
        if (i % 2)
            opscope_op_end();
        end_some(1);
    }
    copy(4096);
    end_some(1);
    call(17, NULL);
    wait_until_filled(count + 1);
    call(245, &address);
}

/* Like a server that is killed: some kernels have their times, some have ended, some run. */
static void work_kill(uint32_t count, uint32_t timed)
{
    for (uint32_t i = 0; i < count; i++) {
        opscope_op_begin("step", OPSCOPE_OP_DEVICE, 0);
        launch("scale", 7);
        opscope_op_end();
    }
    end_some(timed);
    wait_until_filled(timed);
    raise(SIGKILL);
}

static void *end_slowly(void *count)
{
    for (uint32_t i = 0; i < (uint32_t)(uintptr_t)count; i++) {
        pause_shortly();
        end_some(1);
    }
    return NULL;
}

/* main returns while kernels run. */
static void work_exit(uint32_t count)
{
    pthread_t thread;
    for (uint32_t i = 0; i < count; i++)
        launch("scale", 7);
    pthread_create(&thread, NULL, end_slowly, (void *)(uintptr_t)count);
}

static void *launch_for_ever(void *unused)
{
    for (uint32_t i = 0;; i++) {
        launch("serve", 7);
        if (i >= 100)
            end_some(1);
        pause_shortly();
    }
    return unused;
}

/* main returns while another thread goes on launching, and always has a hundred under way. */
static void work_serve(uint32_t count)
{
    pthread_t thread;
    pthread_create(&thread, NULL, launch_for_ever, NULL);
    wait_until_filled(count);
}

/* A copy before kernels that run, which main does not wait for, or is killed among. */
static void work_copy(uint32_t count, uint32_t timed)
{
    pthread_t thread;
    copy(4096);
    for (uint32_t i = 0; i < count; i++)
        launch("scale", 7);
    end_some(1 + timed);
    if (timed) {
        wait_until_filled(1 + timed);
        raise(SIGKILL);
    }
    pthread_create(&thread, NULL, end_slowly, (void *)(uintptr_t)count);
}

/* Memory of device 1 that is released while device 0 is current. */
static void work_devices(uint32_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t address = 0x7000 + (i << 20);
        const struct {
            uint64_t *address;
            size_t bytes;
        } allocation = {&address, 1 << 20};
        use_context(2);
        call(243, &allocation);
        use_context(1);
        call(245, &address);
    }
}

static void allocate(uint64_t bytes)
{
    uint64_t address = 0x7000;
    const struct {
        uint64_t *address;
        size_t bytes;
    } allocation = {&address, bytes};
    call(243, &allocation);
}

static void allocate_again(void)
{
    allocate(3 << 20);
}

/* What one thread releases, another one is given before the first is back from the driver. */
static void work_reuse(uint32_t count)
{
    const uint64_t address = 0x7000;
    for (uint32_t i = 0; i < count; i++) {
        allocate(1 << 20);
        call_while(245, &address, allocate_again);
        if (i + 1 < count)
            call(245, &address);
    }
}

/* Kernels inside a zone of the host, a range of NVTX, an op, and none of them. */
static void work_ranges(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        opscope_zone_begin("host");
        nvtxRangePushA("forward");
        launch("alone", 7);
        opscope_op_begin("step", OPSCOPE_OP_DEVICE, 0);
        launch("scale", 7);
        opscope_op_end();
        nvtxRangePop();
        opscope_zone_end();
        end_some(2);
        wait_until_filled(2 * (i + 1));
    }
}

/* Streams with names: of one that has a track, of one that is made later, of the same address again, of none. */
static void work_streams(uint32_t count)
{
    void *const first = (void *)8, *const second = (void *)9;
    resource(3, first, NULL);
    launch("scale", 8);
    end_some(1);
    wait_until_filled(1);
    nvtxNameCudaStreamA(first, "copies");
    nvtxNameCudaStreamA(second, "no stream");
    resource(3, second, NULL);
    nvtxNameCudaStreamA(second, "compute");
    nvtxNameCudaStreamA(first, "copies of weights");
    for (uint32_t i = 0; i < count; i++)
        launch("scale", 8 + i % 2);
    end_some(count);
    wait_until_filled(1 + count);
}

static void work_fork(uint32_t count)
{
    launch("scale", 7);
    pid_t child = fork();
    if (child == 0) {
        opscope_zone_begin("in the child");
        opscope_zone_end();
        exit(0); /* with exit handlers: CUPTI must not be called */
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
    for (uint32_t i = 1; i < count; i++)
        launch("scale", 7);
    end_some(count);
    wait_until_filled(count);
}

static void work_graph(uint32_t replays)
{
    const char *const symbols[] = {"scale", "axpy"};
    const uint64_t nodes[] = {(UINT64_C(9) << 32) + 1, (UINT64_C(9) << 32) + 2};
    for (int i = 0; i < 2; i++) {
        opscope_op_begin(i ? "second" : "first", OPSCOPE_OP_DEVICE, 0);
        capture(symbols[i], nodes[i] + 100);
        opscope_op_end();
        clone_node(nodes[i] + 100, nodes[i]);
    }
    for (uint32_t i = 0; i < replays; i++)
        replay(symbols, nodes, 2);
    end_some(2 * replays);
    wait_until_filled(2 * replays);
}

/* A graph that is built node by node, after another kernel; then it is killed among its replays. */
static void work_built_graph(uint32_t replays)
{
    const char *const symbols[] = {"gemm", "softmax"};
    const uint64_t nodes[] = {(UINT64_C(9) << 32) + 1, (UINT64_C(9) << 32) + 2};
    opscope_op_begin("build", OPSCOPE_OP_DEVICE, 0);
    launch("warm-up", 7);
    for (int i = 0; i < 2; i++) {
        add_node(nodes[i] + 100);
        clone_node(nodes[i] + 100, nodes[i]);
    }
    opscope_op_end();
    for (uint32_t i = 0; i < replays; i++)
        replay(symbols, nodes, 2);
    end_some(2 * replays); /* all but the last kernel: nothing is handed over */
    wait_until_filled(2 * replays);
    raise(SIGKILL);
}

/* As servers have them, one for each batch size: of 1,000 kernels, each captured in its op. */
static void work_many_graphs(uint32_t graphs)
{
    enum { NODES = 1000, AT_ONCE = 250 };
    static const char *symbols[AT_ONCE];
    uint64_t nodes[AT_ONCE];
    for (uint32_t i = 0; i < AT_ONCE; i++)
        symbols[i] = "layer";
    for (uint64_t g = 1; g <= graphs; g++) {
        for (uint32_t i = 0; i < NODES; i++) {
            opscope_op_begin("captured", OPSCOPE_OP_DEVICE, 0);
            capture("layer", (2 * g << 32) + i);
            opscope_op_end();
        }
        for (uint32_t i = 0; i < NODES; i++)
            clone_node((2 * g << 32) + i, ((2 * g + 1) << 32) + i);
    }
    for (uint64_t done = 0; done < (uint64_t)graphs * NODES; done += AT_ONCE) {
        for (uint64_t i = 0; i < AT_ONCE; i++)
            nodes[i] = ((2 * (done / NODES + 1) + 1) << 32) + done % NODES + i;
        replay(symbols, nodes, AT_ONCE);
        end_some(AT_ONCE);
        wait_until_filled((uint32_t)done + AT_ONCE);
    }
}

/* The calls that start and stop profilers, with kernels before, between and after them. */
static void work_profiler(uint32_t count)
{
    for (int part = 0; part < 3; part++) {
        if (part == 1)
            call(308, NULL);
        for (uint32_t i = 0; i < count; i++) {
            launch(part == 1 ? "wanted" : "scale", 7);
            end_some(1);
        }
        if (part == 1)
            call(309, NULL);
    }
}

/* Two kernels with names of that many bytes, as templates make them: a plain one, and a mangled one that is as deep. */
static void work_names(uint32_t bytes)
{
    static char *plain, *mangled;
    plain = malloc(bytes + 1);
    mangled = malloc(bytes + 1);
    if (!plain || !mangled || bytes < 8)
        exit(3);
    memset(plain, 'k', bytes);
    memset(mangled, 'P', bytes); /* f(int ***...) */
    memcpy(mangled, "_Z1f", 4);
    mangled[bytes - 1] = 'i';
    plain[bytes] = mangled[bytes] = '\0';
    for (int i = 0; i < 10; i++) {
        launch(plain, 7);
        launch(mangled, 7);
    }
    end_some(20);
    wait_until_filled(20); /* records point to the names, which stay as CUPTI's do */
}

/* As XLA makes them: node by node, and in no op. */
static void work_graph_without_op(uint32_t replays)
{
    const char *const symbols[] = {"gemm", "softmax"};
    const uint64_t nodes[] = {(UINT64_C(9) << 32) + 1, (UINT64_C(9) << 32) + 2};
    for (int i = 0; i < 2; i++) {
        add_node(nodes[i] + 100);
        clone_node(nodes[i] + 100, nodes[i]);
    }
    for (uint32_t i = 0; i < replays; i++)
        replay(symbols, nodes, 2);
    end_some(2 * replays);
    wait_until_filled(2 * replays);
}

static void work_refused(uint32_t count)
{
    (void)count;
    launch("scale", 7);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *work = argv[2];
    uint32_t count = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 0;
    uint32_t second = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    start(argv[1]);
    static const struct {
        const char *name;
        void (*work)(uint32_t);
    } works[] = {{"plain", work_plain},
                 {"exit", work_exit},
                 {"serve", work_serve},
                 {"devices", work_devices},
                 {"reuse", work_reuse},
                 {"ranges", work_ranges},
                 {"streams", work_streams},
                 {"fork", work_fork},
                 {"graph", work_graph},
                 {"built-graph", work_built_graph},
                 {"many-graphs", work_many_graphs},
                 {"names", work_names},
                 {"profiler", work_profiler},
                 {"graph-without-op", work_graph_without_op},
                 {"refused", work_refused}};
    if (strcmp(work, "orphan") == 0) /* first the collector, then itself */
        kill(getppid(), SIGKILL);
    if (strcmp(work, "kill") == 0 || strcmp(work, "orphan") == 0)
        work_kill(count, second);
    if (strcmp(work, "copy") == 0) {
        work_copy(count, second);
        return 0;
    }
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++) {
        if (strcmp(work, works[i].name) == 0) {
            works[i].work(count);
            return 0;
        }
    }
    return 2;
}
