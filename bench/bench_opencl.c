/* SPDX-License-Identifier: Apache-2.0 */
/* What a command costs the host: calls of clEnqueueNDRangeKernel for a kernel that does next to nothing, in rounds.
 * "enqueue" is the time of the calls while the device works on what came before, as in a program; "gated" the same
 * while nothing runs, where the device is the same processor; "command" is all of it, until clFinish has returned.
 * Prints NAME ns lines: medians and least of the rounds.
 *
 * With an argument the program asks for profiling and for an event of each command, which it releases at once: what
 * OpenCL itself takes for times. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 200, CALLS = 100 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

struct figure {
    const char *name;
    double times[ROUNDS];
};

static void print_figure(struct figure *f)
{
    qsort(f->times, ROUNDS, sizeof f->times[0], by_value);
    printf("%s_median %.1f ns\n%s_min %.1f ns\n", f->name, f->times[ROUNDS / 2], f->name, f->times[0]);
}

static int is_profiled;

static void enqueue_one(cl_command_queue queue, cl_kernel kernel)
{
    const size_t items = 1;
    cl_event event = NULL;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, is_profiled ? &event : NULL),
          "enqueue");
    if (event)
        clReleaseEvent(event);
}

static void measure(cl_context context, cl_command_queue queue, cl_kernel kernel, int is_gated,
                    struct figure *calls, struct figure *commands)
{
    for (int round = -20; round < ROUNDS; round++) {
        cl_int status;
        cl_event gate = is_gated ? clCreateUserEvent(context, &status) : NULL;
        if (gate)
            check(clEnqueueMarkerWithWaitList(queue, 1, &gate, NULL), "gate");
        uint64_t begin = now_ns();
        for (int i = 0; i < CALLS; i++)
            enqueue_one(queue, kernel);
        uint64_t enqueued = now_ns();
        if (gate) {
            check(clSetUserEventStatus(gate, CL_COMPLETE), "gate");
            clReleaseEvent(gate);
        }
        check(clFinish(queue), "finish");
        if (round >= 0) {
            calls->times[round] = (double)(enqueued - begin) / CALLS;
            commands->times[round] = (double)(now_ns() - begin) / CALLS;
        }
    }
}

int main(int argc, char **argv)
{
    static struct figure enqueue = {"enqueue", {0}}, command = {"command", {0}}, gated = {"gated", {0}},
                         unused;
    (void)argv;
    is_profiled = argc > 1;
    const char *text = "kernel void add(global int *a, int n) { a[get_global_id(0)] += n; }\n";
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, n = 1;
    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    cl_command_queue queue =
        clCreateCommandQueue(context, device, is_profiled ? CL_QUEUE_PROFILING_ENABLE : 0, &status);
    check(status, "queue");
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    cl_kernel kernel = clCreateKernel(program, "add", &status);
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    check(status, "buffer");
    check(clSetKernelArg(kernel, 0, sizeof buffer, &buffer), "argument");
    check(clSetKernelArg(kernel, 1, sizeof n, &n), "argument");
    measure(context, queue, kernel, 0, &enqueue, &command);
    measure(context, queue, kernel, 1, &gated, &unused);
    print_figure(&enqueue);
    print_figure(&command);
    print_figure(&gated);
    return 0;
}
