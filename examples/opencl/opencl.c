/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL program that knows nothing of opscope, and is recorded as it is:
 *
 *     opscope run -o opencl.opscope build/examples/opencl
 *     opscope ops opencl.opscope
 *
 * Multiplies matrices on the first device: writes two buffers, runs a kernel some times, reads the result back. With
 * --events it asks OpenCL for the times of its commands and prints them, one line per command: name, QUEUED, SUBMIT,
 * START, END, in nanoseconds of the device. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 128, REPEATS = 5, COMMANDS = REPEATS + 4 };

static const char source[] =
    "kernel void scale(global float *a, float factor)\n"
    "{\n"
    "    a[get_global_id(0)] *= factor;\n"
    "}\n"
    "kernel void matmul(global const float *a, global const float *b, global float *c, int n)\n"
    "{\n"
    "    int row = get_global_id(1), column = get_global_id(0);\n"
    "    float sum = 0;\n"
    "    for (int k = 0; k < n; k++)\n"
    "        sum += a[row * n + k] * b[k * n + column];\n"
    "    c[row * n + column] = sum;\n"
    "}\n";

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    exit(status == CL_DEVICE_NOT_FOUND || status == -1001 ? 77 : 1); /* 77: there is no OpenCL here */
}

struct command {
    const char *name;
    cl_event event;
};

static void print_times(const struct command *command)
{
    static const cl_profiling_info whats[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                              CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    printf("%s", command->name);
    for (size_t i = 0; i < sizeof whats / sizeof whats[0]; i++) {
        cl_ulong time = 0;
        check(clGetEventProfilingInfo(command->event, whats[i], sizeof time, &time, NULL), "times");
        printf(" %llu", (unsigned long long)time);
    }
    printf("\n");
}

struct buffers {
    cl_mem a, b, c;
};

static void enqueue(cl_command_queue queue, cl_kernel scale, cl_kernel matmul, const struct buffers *m,
                    float *values, struct command *commands)
{
    const size_t bytes = sizeof(float) * SIZE * SIZE, square[] = {SIZE, SIZE}, line = SIZE * SIZE;
    const cl_int n = SIZE;
    const cl_float half = 0.5f;
    size_t k = 0;
    commands[k].name = "write buffer";
    check(clEnqueueWriteBuffer(queue, m->a, CL_FALSE, 0, bytes, values, 0, NULL, &commands[k++].event),
          "write");
    commands[k].name = "write buffer";
    check(clEnqueueWriteBuffer(queue, m->b, CL_FALSE, 0, bytes, values, 0, NULL, &commands[k++].event),
          "write");
    clSetKernelArg(scale, 0, sizeof m->b, &m->b);
    clSetKernelArg(scale, 1, sizeof half, &half);
    commands[k].name = "scale";
    check(clEnqueueNDRangeKernel(queue, scale, 1, NULL, &line, NULL, 0, NULL, &commands[k++].event), "scale");
    clSetKernelArg(matmul, 0, sizeof m->a, &m->a);
    clSetKernelArg(matmul, 1, sizeof m->b, &m->b);
    clSetKernelArg(matmul, 2, sizeof m->c, &m->c);
    clSetKernelArg(matmul, 3, sizeof n, &n);
    for (int i = 0; i < REPEATS; i++) {
        commands[k].name = "matmul";
        check(clEnqueueNDRangeKernel(queue, matmul, 2, NULL, square, NULL, 0, NULL, &commands[k++].event),
              "matmul");
    }
    commands[k].name = "read buffer";
    check(clEnqueueReadBuffer(queue, m->c, CL_TRUE, 0, bytes, values, 0, NULL, &commands[k++].event), "read");
}

int main(int argc, char **argv)
{
    int wants_events = argc > 1 && strcmp(argv[1], "--events") == 0;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, NULL), "platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    cl_command_queue queue =
        clCreateCommandQueue(context, device, wants_events ? CL_QUEUE_PROFILING_ENABLE : 0, &status);
    check(status, "queue");
    const char *text = source;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &status);
    check(status, "program");
    check(clBuildProgram(program, 1, &device, "", NULL, NULL), "build");
    cl_kernel scale = clCreateKernel(program, "scale", &status),
              matmul = clCreateKernel(program, "matmul", &status);
    check(status, "kernel");
    const size_t bytes = sizeof(float) * SIZE * SIZE;
    float *values = malloc(bytes);
    for (size_t i = 0; values && i < SIZE * SIZE; i++)
        values[i] = (float)(i % 7);
    struct buffers m = {clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL),
                        clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL),
                        clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, NULL)};
    struct command commands[COMMANDS];
    enqueue(queue, scale, matmul, &m, values, commands);
    for (int i = 0; i < COMMANDS; i++) {
        if (wants_events)
            print_times(&commands[i]);
        clReleaseEvent(commands[i].event);
    }
    if (!wants_events)
        printf("%.1f\n", (double)values[SIZE + 1]);
    clReleaseMemObject(m.a);
    clReleaseMemObject(m.b);
    clReleaseMemObject(m.c);
    clReleaseKernel(scale);
    clReleaseKernel(matmul);
    clReleaseProgram(program);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(values);
    return 0;
}
