/* SPDX-License-Identifier: Apache-2.0 */
/* A program that opens OpenCL by itself, as plugins do, and closes it while the times of its commands have not been
 * read yet: three times over, with as many commands as its argument says. Prints how many it made. */
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3 };

static void check(cl_int status, const char *what)
{
    if (status == CL_SUCCESS)
        return;
    fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    exit(1);
}

/* ISO C has no cast from an object to a function pointer. */
static void find(void *library, const char *name, void *place)
{
    void *symbol = dlsym(library, name);
    if (!symbol)
        exit(2);
    memcpy(place, &symbol, sizeof symbol);
}

#define OPEN(name)                                                                                           \
    __typeof__(&name) name##_;                                                                               \
    find(library, #name, &name##_)

static void use(void *library, int commands)
{
    OPEN(clGetPlatformIDs);
    OPEN(clGetDeviceIDs);
    OPEN(clCreateContext);
    OPEN(clCreateCommandQueue);
    OPEN(clCreateBuffer);
    OPEN(clEnqueueWriteBuffer);
    OPEN(clFinish);
    OPEN(clReleaseMemObject);
    OPEN(clReleaseCommandQueue);
    OPEN(clReleaseContext);
    cl_platform_id platform;
    cl_device_id device;
    cl_int status, value = 7;
    check(clGetPlatformIDs_(1, &platform, NULL), "platform");
    check(clGetDeviceIDs_(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "device");
    cl_context context = clCreateContext_(NULL, 1, &device, NULL, NULL, &status);
    check(status, "context");
    cl_command_queue queue = clCreateCommandQueue_(context, device, 0, &status);
    check(status, "queue");
    cl_mem buffer = clCreateBuffer_(context, CL_MEM_READ_WRITE, 4096, NULL, &status);
    check(status, "buffer");
    for (int i = 0; i < commands; i++)
        check(clEnqueueWriteBuffer_(queue, buffer, CL_FALSE, 0, sizeof value, &value, 0, NULL, NULL),
              "write");
    check(clFinish_(queue), "finish");
    check(clReleaseMemObject_(buffer), "release");
    check(clReleaseCommandQueue_(queue), "release");
    check(clReleaseContext_(context), "release");
}

int main(int argc, char **argv)
{
    int commands = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    for (int i = 0; i < ROUNDS; i++) {
        void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
        if (!library)
            return 2;
        use(library, commands);
        dlclose(library);
    }
    printf("%d\n", ROUNDS * commands);
    return 0;
}
