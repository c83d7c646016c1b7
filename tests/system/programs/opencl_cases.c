/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenCL programs do and see, by name of the case: must be the same with and without a profiler. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opscope/opscope.h>

enum { BYTES = 1 << 16, THREADS = 4, PER_THREAD = 200, MANY = 66000 };

static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_program program;

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    exit(1);
}

static void set_up(void)
{
    const char *text =
        "kernel void add(global int *a, int n, local int *room) { a[get_global_id(0)] += n; }\n"
        "kernel void slow(global int *a, int n) { int x = a[0]; for (int i = 0; i < n; i++) x = x * 3 + i; "
        "a[get_global_id(0)] = x; }\n";
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
}

static cl_command_queue queue_of(cl_command_queue_properties flags)
{
    cl_int status;
    cl_command_queue queue = clCreateCommandQueue(context, device, flags, &status);
    check(status, "queue");
    return queue;
}

static cl_mem buffer_of(size_t bytes)
{
    cl_int status;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status);
    check(status, "buffer");
    return buffer;
}

static cl_kernel kernel_of(const char *name, cl_mem buffer, cl_int n)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(program, name, &status);
    check(status, "kernel");
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "argument");
    check(clSetKernelArg(kernel, 1, sizeof n, &n), "argument");
    if (strcmp(name, "add") == 0)
        check(clSetKernelArg(kernel, 2, 64, NULL), "argument");
    return kernel;
}

static void print_queue(cl_command_queue queue, const char *name)
{
    cl_command_queue_properties flags = 99;
    cl_queue_properties list[8] = {0};
    size_t size = 99;
    cl_int status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof flags, &flags, &size);
    printf("%s: flags %d %llu %zu", name, status, (unsigned long long)flags, size);
    status = clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof list, list, &size);
    printf(", list %d %zu %llu %llu %llu\n", status, size, (unsigned long long)list[0],
           (unsigned long long)list[1], (unsigned long long)list[2]);
}

static void print_event(cl_command_queue queue, const char *name)
{
    cl_mem buffer = buffer_of(BYTES);
    cl_int gate_status;
    cl_event event, gate = clCreateUserEvent(context, &gate_status); /* nothing runs while it is counted */
    cl_ulong times[2] = {0, 0};
    cl_uint references = 0;
    size_t size = 0;
    cl_int zero = 0, status[2];
    check(clEnqueueFillBuffer(queue, buffer, &zero, sizeof zero, 0, BYTES, 1, &gate, &event), "fill");
    check(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof references, &references, &size),
          "references");
    check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
    clReleaseEvent(gate);
    check(clFinish(queue), "finish");
    status[0] =
        clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(cl_ulong), &times[0], &size);
    status[1] = clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(cl_ulong), &times[1], NULL);
    printf("%s: profiling %d %d %s, %u reference\n", name, status[0], status[1],
           times[1] >= times[0] && times[0] ? "times" : "no times", references);
    clReleaseEvent(event);
    clReleaseMemObject(buffer);
}

/* What a program sees of its queues and events. */
static void looks(void)
{
    cl_int status;
    const cl_queue_properties asked[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0}, none[] = {0};
    cl_command_queue queues[] = {queue_of(0), queue_of(CL_QUEUE_PROFILING_ENABLE),
                                 clCreateCommandQueueWithProperties(context, device, asked, &status),
                                 clCreateCommandQueueWithProperties(context, device, none, &status),
                                 clCreateCommandQueueWithProperties(context, device, NULL, &status)};
    const char *names[] = {"plain", "profiling", "list with profiling", "empty list", "no list"};
    for (size_t i = 0; i < sizeof queues / sizeof queues[0]; i++) {
        print_queue(queues[i], names[i]);
        print_event(queues[i], names[i]);
        check(clReleaseCommandQueue(queues[i]), "release");
    }
    printf("bad device: %p", (void *)clCreateCommandQueue(context, NULL, 0, &status));
    printf(" %d\n", status);
    cl_mem buffer = buffer_of(BYTES);
    cl_uint count = 99;
    cl_kernel kernels[2] = {NULL, NULL};
    status = clCreateKernelsInProgram(program, 1, kernels, &count);
    printf("no room for kernels: %d %u\n", status, count);
    status = clCreateKernelsInProgram(program, 2, kernels, &count);
    printf("kernels: %d %u %d\n", status, count, kernels[0] && kernels[1]);
    printf("marker without an event: %d\n", clEnqueueMarker(queue_of(0), NULL));
    printf("no dimensions: %d\n", clEnqueueNDRangeKernel(queue_of(0), kernel_of("add", buffer, 1), 0, NULL,
                                                         NULL, NULL, 0, NULL, NULL));
}

/* Every kind of command that works on any device. */
static void kinds(void)
{
    cl_command_queue queue = queue_of(0);
    cl_mem a = buffer_of(BYTES), b = buffer_of(BYTES);
    static char host[BYTES];
    cl_int status, seven = 7;
    cl_event event;
    const size_t zero[] = {0, 0, 0}, region[] = {64, 4, 2}, items = 256;
    cl_kernel add = kernel_of("add", a, 3);
    check(clEnqueueWriteBuffer(queue, a, CL_TRUE, 0, BYTES, host, 0, NULL, NULL), "write");
    check(clEnqueueFillBuffer(queue, a, &seven, sizeof seven, 0, BYTES, 0, NULL, NULL), "fill");
    check(clEnqueueCopyBuffer(queue, a, b, 0, 0, BYTES / 2, 0, NULL, NULL), "copy");
    check(clEnqueueCopyBufferRect(queue, a, b, zero, zero, region, 0, 0, 0, 0, 0, NULL, NULL), "copy rect");
    check(clEnqueueReadBufferRect(queue, a, CL_TRUE, zero, zero, region, 0, 0, 0, 0, host, 0, NULL, NULL),
          "read rect");
    check(clEnqueueWriteBufferRect(queue, a, CL_TRUE, zero, zero, region, 0, 0, 0, 0, host, 0, NULL, NULL),
          "write rect");
    void *mapped = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_READ, 0, BYTES, 0, NULL, NULL, &status);
    check(status, "map");
    check(clEnqueueUnmapMemObject(queue, a, mapped, 0, NULL, NULL), "unmap");
    check(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, &event), "add");
    check(clEnqueueMarkerWithWaitList(queue, 1, &event, NULL), "marker");
    check(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL), "barrier");
    check(clEnqueueMigrateMemObjects(queue, 1, &a, 0, 0, NULL, NULL), "migrate");
    check(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, sizeof status, &status, 0, NULL, NULL), "read");
    check(clFinish(queue), "finish");
    printf("%d\n", status);
    clReleaseEvent(event);
    clReleaseKernel(add);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseCommandQueue(queue);
}

/* Out of order, released before anything has ended, with an event of the program's own at the start. */
static void order(void)
{
    cl_command_queue queue = queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_mem buffer = buffer_of(BYTES);
    cl_int status;
    const size_t items = 16;
    cl_event gate = clCreateUserEvent(context, &status), first;
    cl_kernel slow = kernel_of("slow", buffer, 100000);
    check(status, "user event");
    check(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &items, NULL, 1, &gate, &first), "slow");
    for (int i = 0; i < 20; i++)
        check(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &items, NULL, 1, &first, NULL), "slow");
    clReleaseEvent(first);
    clReleaseKernel(slow);
    check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
    clReleaseEvent(gate);
    check(clFinish(queue), "finish");
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    printf("21\n");
}

static void *work(void *unused)
{
    (void)unused;
    cl_command_queue queue = queue_of(0);
    cl_mem buffer = buffer_of(BYTES);
    cl_kernel add = kernel_of("add", buffer, 1);
    const size_t items = 64;
    for (int i = 0; i < PER_THREAD; i++)
        check(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL), "add");
    check(clFinish(queue), "finish");
    clReleaseKernel(add);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
    return NULL;
}

static void threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", THREADS * PER_THREAD);
}

struct share {
    cl_kernel kernel;
    size_t items, local;
};

static void *launch_share(void *data)
{
    const struct share *share = data;
    cl_command_queue queue = queue_of(0);
    for (int i = 0; i < PER_THREAD; i++)
        check(clEnqueueNDRangeKernel(queue, share->kernel, 1, NULL, &share->items, &share->local, 0, NULL,
                                     NULL),
              "add");
    check(clFinish(queue), "finish");
    clReleaseCommandQueue(queue);
    return NULL;
}

/* Threads that launch one kernel, each with sizes of its own. */
static void shares(void)
{
    pthread_t threads[THREADS];
    struct share of[THREADS];
    cl_kernel add = kernel_of("add", buffer_of(BYTES), 1);
    for (size_t i = 0; i < THREADS; i++) {
        of[i] = (struct share){add, 16 * (i + 1), i % 2 ? 8 : 16};
        if (pthread_create(&threads[i], NULL, launch_share, &of[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", PER_THREAD);
}

/* The program ends while its commands run. */
static void leaves(void)
{
    cl_command_queue queue = queue_of(0);
    cl_kernel slow = kernel_of("slow", buffer_of(BYTES), 2000000);
    const size_t items = 16;
    for (int i = 0; i < 10; i++)
        check(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &items, NULL, 0, NULL, NULL), "slow");
    check(clFlush(queue), "flush");
    printf("10\n");
}

/* One that never runs: an event that nobody completes. */
static void hangs(void)
{
    cl_command_queue queue = queue_of(0);
    cl_int status;
    const size_t items = 16;
    cl_event gate = clCreateUserEvent(context, &status);
    cl_kernel slow = kernel_of("slow", buffer_of(BYTES), 10);
    check(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &items, NULL, 1, &gate, NULL), "slow");
    check(clFlush(queue), "flush");
    printf("1\n");
    fflush(stdout);
    clSetUserEventStatus(gate, -5); /* an error: PoCL waits for its commands when it ends */
}

/* Objects that are made while paused are used afterwards, and the program ends in the next pause with commands under
 * way. */
static void pauses(void)
{
    const size_t items = 256;
    cl_int status;
    opscope_pause();
    cl_command_queue queue = queue_of(0), asked = queue_of(CL_QUEUE_PROFILING_ENABLE);
    cl_mem buffer = buffer_of(BYTES), other = buffer_of(BYTES);
    cl_kernel add = kernel_of("add", buffer, 3);
    print_queue(queue, "made while paused");
    print_event(queue, "made while paused");
    print_event(asked, "asked while paused");
    opscope_resume();
    print_queue(queue, "resumed");
    check(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL), "add");
    check(clFinish(queue), "finish");
    cl_event gate = clCreateUserEvent(context, &status);
    check(status, "user event");
    for (int i = 0; i < 5; i++)
        check(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, BYTES, 1, &gate, NULL), "copy");
    opscope_pause();
    print_queue(queue, "paused");
    check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
    print_event(queue, "paused");
    clReleaseEvent(gate);
}

/* More kernels and queues one after the other than are told apart at a time: what comes last is what is recorded. */
static void renews(void)
{
    const size_t items = 256;
    cl_mem buffer = buffer_of(BYTES);
    cl_int status;
    for (int i = 0; i < MANY; i++) {
        cl_kernel kernel = clCreateKernel(program, "add", &status);
        check(status, "kernel");
        clReleaseKernel(kernel);
        clReleaseCommandQueue(queue_of(CL_QUEUE_PROFILING_ENABLE));
    }
    cl_command_queue queue = queue_of(0), asked = queue_of(CL_QUEUE_PROFILING_ENABLE);
    cl_kernel slow = kernel_of("slow", buffer, 3);
    check(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &items, NULL, 0, NULL, NULL), "slow");
    print_queue(queue, "last");
    print_event(queue, "last");
    print_queue(asked, "last that asked");
    print_event(asked, "last that asked");
}

/* More queues at a time than are told apart. */
static void crowds(void)
{
    cl_command_queue queue = NULL;
    for (int i = 0; i < MANY; i++)
        queue = queue_of(0);
    print_queue(queue, "last");
    print_event(queue, "last");
    queue = queue_of(CL_QUEUE_PROFILING_ENABLE);
    print_queue(queue, "last that asked");
    print_event(queue, "last that asked");
}

/* Commands before, in and after a zone. */
static void zones(void)
{
    const size_t items = 256;
    cl_command_queue queue = queue_of(0);
    cl_mem buffer = buffer_of(BYTES), other = buffer_of(BYTES);
    cl_kernel add = kernel_of("add", buffer, 3);
    for (int i = 0; i < 3; i++) {
        if (i == 1)
            opscope_zone_begin("train");
        check(clEnqueueNDRangeKernel(queue, add, 1, NULL, &items, NULL, 0, NULL, NULL), "add");
        check(clEnqueueCopyBuffer(queue, buffer, other, 0, 0, BYTES, 0, NULL, NULL), "copy");
        check(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL), "marker");
        if (i == 1)
            opscope_zone_end();
        print_event(queue, "in between");
    }
    check(clFinish(queue), "finish");
}

static void make_zones(int count)
{
    for (int i = 0; i < count; i++) {
        OPSCOPE_ZONE("filler");
    }
}

/* Goes on when the session has ended. */
static void outlasts(void)
{
    cl_command_queue queue = queue_of(0);
    print_event(queue, "before");
    while (opscope_has_session()) { /* which a program notices when it records */
        make_zones(1000);
        usleep(1000);
    }
    print_queue(queue, "after");
    print_event(queue, "after");
    check(clReleaseCommandQueue(queue), "release");
    queue = queue_of(CL_QUEUE_PROFILING_ENABLE); /* perhaps at the same address */
    print_queue(queue, "new");
    print_event(queue, "new");
}

/* Between two recordings: a kernel, which may well be at the address of one that was recorded, and whose arguments the
 * next one knows nothing of. */
static void rejoins(void)
{
    const size_t items = 256;
    cl_command_queue queue = queue_of(0);
    cl_mem buffer = buffer_of(BYTES);
    cl_kernel add[64], slow = NULL;
    for (int i = 0; i < 64; i++)
        add[i] = kernel_of("add", buffer, 3);
    check(clEnqueueNDRangeKernel(queue, add[0], 1, NULL, &items, NULL, 0, NULL, NULL), "add");
    check(clFlush(queue), "flush");
    for (int i = 0; i < 64; i++)
        check(clReleaseKernel(add[i]), "release");
    opscope_session_leave_();
    bool is_again = false;
    for (int i = 0; i < 1000 && !is_again; i++) {
        slow = kernel_of("slow", buffer, 3);
        for (int k = 0; k < 64; k++)
            is_again |= (void *)slow == (void *)add[k];
    }
    opscope_session_join_();
    check(clEnqueueNDRangeKernel(queue, slow, 1, NULL, &items, NULL, 0, NULL, NULL), "slow");
    check(clFlush(queue), "flush");
    opscope_session_leave_();
    check(clFinish(queue), "finish");
    fprintf(stderr, "same address: %d\n", is_again);
}

/* A queue that no function of the adapter's has made. */
static void extension(void)
{
    const cl_queue_properties asked[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_command_queue (*make)(cl_context, cl_device_id, const cl_queue_properties *, cl_int *);
    void *function =
        clGetExtensionFunctionAddressForPlatform(platform, "clCreateCommandQueueWithPropertiesKHR");
    cl_int status, seven = 7;
    if (!function)
        exit(77);
    memcpy(&make, &function, sizeof make);
    cl_command_queue queue = make(context, device, asked, &status);
    check(status, "queue");
    cl_mem buffer = buffer_of(BYTES);
    check(clEnqueueFillBuffer(queue, buffer, &seven, sizeof seven, 0, BYTES, 0, NULL, NULL), "fill");
    check(clFinish(queue), "finish");
}

static void say(const char *word)
{
    char line[8];
    printf("%s\n", word);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(1);
}

static void write_and_copy(cl_command_queue queue, cl_mem from, cl_mem to, int writes, int copies)
{
    const cl_int value = 7;
    for (int i = 0; i < writes; i++)
        check(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, sizeof value, &value, 0, NULL, NULL), "write");
    for (int i = 0; i < copies; i++)
        check(clEnqueueCopyBuffer(queue, from, to, 0, 0, BYTES, 0, NULL, NULL), "copy");
    check(clFinish(queue), "finish");
}

/* Commands while there is no room, after zones that filled a small buffer, and others when there is. */
static void floods(void)
{
    cl_command_queue queue = queue_of(0);
    cl_mem a = buffer_of(BYTES), b = buffer_of(BYTES);
    say("ready");
    make_zones(10000);
    write_and_copy(queue, a, b, 10, 0);
    say("full");
    make_zones(200); /* a thread looks for room again after some losses */
    write_and_copy(queue, a, b, 0, 10);
    printf("10\n");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"looks", looks},       {"kinds", kinds},         {"order", order},    {"threads", threads},
                 {"leaves", leaves},     {"hangs", hangs},         {"floods", floods},  {"pauses", pauses},
                 {"zones", zones},       {"shares", shares},       {"renews", renews},  {"crowds", crowds},
                 {"outlasts", outlasts}, {"extension", extension}, {"rejoins", rejoins}};
    set_up();
    for (int i = 1; i < argc; i++) {
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            if (strcmp(argv[i], cases[k].name) == 0)
                cases[k].run();
    }
    return 0;
}
