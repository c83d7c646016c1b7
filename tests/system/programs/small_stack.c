/* SPDX-License-Identifier: Apache-2.0 */
/* The first event of a process on little stack.
 *
 *     small_stack thread    in a thread with the smallest stack there is, above a page that must not be touched
 *     small_stack handler   in a signal handler on 8 KiB of heap, with a pattern around it
 *     small_stack measure   prints how many bytes the first zone, name, op and device run take
 *     small_stack locked    after mlockall(MCL_FUTURE): prints how many KiB are locked then */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <opscope/opscope.h>

#define STACK ((size_t)64 * 1024)
#define PATTERN 0x5a

static void record(void)
{
    int64_t shape[4] = {1, 32, 64, INT64_MAX};
    struct opscope_tensor tensor = {
        .struct_size = sizeof tensor, .rank = 4, .shape = shape, .padded_shape = shape, .dtype = "BFLOAT16"};
    OPSCOPE_ZONE("on a small stack");
    uint32_t device = opscope_device_open("chip", 0, 1e9);
    uint32_t track = opscope_device_track(device, 0, OPSCOPE_TRACK_CORE, "core", 0);
    uint64_t call = opscope_op_begin("op", OPSCOPE_OP_DEVICE, 0);
    opscope_op_input(&tensor);
    opscope_op_attribute("key", "value");
    opscope_op_end();
    struct opscope_run_part part = {"part", 1};
    struct opscope_run run = {.struct_size = sizeof run, .track = track, .op_call = call, .name = "run"};
    run.parts = &part;
    run.part_count = 1;
    opscope_device_run(&run);
    opscope_message("message");
    opscope_counter("counter", 1);
}

static void *in_thread(void *unused)
{
    record();
    return unused;
}

static void in_handler(int number)
{
    (void)number;
    record();
}

static int use_thread(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    long smallest = sysconf(_SC_THREAD_STACK_MIN);
    size_t size = smallest > 16384 ? (size_t)smallest : 16384;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size);
    pthread_attr_setguardsize(&attributes, 4096);
    return pthread_create(&thread, &attributes, in_thread, NULL) || pthread_join(thread, NULL);
}

static int use_handler(void)
{
    size_t minimum = (size_t)sysconf(_SC_MINSIGSTKSZ), size = minimum > 6144 ? minimum + 2048 : 8192;
    uint8_t *memory = malloc(size + 8192);
    if (!memory)
        return 1;
    memset(memory, PATTERN, size + 8192);
    stack_t stack = {.ss_sp = memory + 8192, .ss_size = size};
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
        return 1;
    raise(SIGUSR1);
    for (size_t i = 0; i < 8192; i++)
        if (memory[i] != PATTERN)
            return 3; /* written below the stack */
    free(memory);
    return 0;
}

static int measure(void)
{
    static ucontext_t here, there;
    uint8_t *memory = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    memset(memory, PATTERN, STACK);
    getcontext(&there);
    there.uc_stack.ss_sp = memory;
    there.uc_stack.ss_size = STACK;
    there.uc_link = &here;
    makecontext(&there, record, 0);
    swapcontext(&here, &there);
    size_t untouched = 0;
    while (untouched < STACK && memory[untouched] == PATTERN)
        untouched++;
    printf("%zu\n", STACK - untouched);
    return 0;
}

static int use_locked(void)
{
    char line[256];
    if (mlockall(MCL_FUTURE) != 0)
        return 77;
    record();
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmLck:", 6) == 0)
            printf("%ld\n", strtol(line + 6, NULL, 10));
    return !file || fclose(file);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    return strcmp(what, "thread") == 0    ? use_thread()
           : strcmp(what, "handler") == 0 ? use_handler()
           : strcmp(what, "locked") == 0  ? use_locked()
           : strcmp(what, "measure") == 0 ? measure()
                                          : 2;
}
