/* SPDX-License-Identifier: Apache-2.0 */
/* In place of CUDA's header, for clang alone, whose host half of CUDA needs nothing else: as much as
 * opscope_kernel.cuh uses. The device is memory of this process. It tells the time when it is asked to, or not. */
#ifndef STUB_CUDA_RUNTIME_H
#define STUB_CUDA_RUNTIME_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <utility>

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __forceinline__ inline __attribute__((always_inline))

struct uint2 {
    unsigned int x, y;
};
struct uint3 {
    unsigned int x, y, z;
};
struct dim3 {
    unsigned int x, y, z;
    __host__ __device__ dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1) : x(x), y(y), z(z)
    {
    }
};
extern const __device__ uint3 threadIdx;
extern const __device__ dim3 blockDim;
__device__ unsigned long long atomicAdd(unsigned long long *, unsigned long long);
__device__ unsigned int max(unsigned int, unsigned int);
__device__ void __threadfence_system();

enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2 };
enum cudaMemcpyKind { cudaMemcpyDeviceToHost = 2 };
enum cudaDeviceAttr { cudaDevAttrClockRate = 13 };
enum { cudaHostAllocMapped = 2 };
typedef void *cudaStream_t;
struct cudaDeviceProp {
    char name[256];
    struct {
        char bytes[16];
    } uuid;
    int major, minor;
};

namespace stub
{
inline cudaError_t last_error = cudaSuccess;
inline size_t most_bytes = SIZE_MAX;
inline bool has_time = true;
inline std::thread device;
inline cudaError_t failed(cudaError_t error)
{
    last_error = error;
    return error;
}
} // namespace stub

inline cudaError_t cudaGetDevice(int *device)
{
    *device = 0;
    return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int)
{
    return cudaSuccess;
}
inline cudaError_t cudaGetLastError()
{
    return std::exchange(stub::last_error, cudaSuccess);
}
template <typename Item> cudaError_t cudaMalloc(Item **items, size_t bytes)
{
    if (bytes > stub::most_bytes)
        return stub::failed(cudaErrorMemoryAllocation);
    *items = static_cast<Item *>(std::malloc(bytes));
    return cudaSuccess;
}
template <typename Item> cudaError_t cudaHostAlloc(Item **items, size_t bytes, unsigned int)
{
    return cudaMalloc(items, bytes);
}
inline cudaError_t cudaFree(void *memory)
{
    std::free(memory);
    return cudaSuccess;
}
inline cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}
inline cudaError_t cudaMemset(void *memory, int value, size_t bytes)
{
    std::memset(memory, value, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize()
{
    if (stub::device.joinable())
        stub::device.join();
    return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *facts, int)
{
    *facts = {"stub", {{1}}, 9, 0};
    return cudaSuccess;
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr, int)
{
    *value = 1000000;
    return cudaSuccess;
}

namespace stub
{
/* Nanoseconds that tick by 32, and count from elsewhere than the host's. */
inline unsigned long long device_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (500000000000000000ull + t.tv_sec * 1000000000ull + t.tv_nsec) / 32 * 32;
}

/* What tell_time does. */
inline void answer(volatile unsigned int *asked, volatile unsigned long long *answers, unsigned int count)
{
    for (unsigned int i = 1; i <= count; i++) {
        while (__atomic_load_n(asked, __ATOMIC_ACQUIRE) < i)
            std::this_thread::yield();
        if (has_time)
            __atomic_store_n(&answers[i - 1], device_ns(), __ATOMIC_RELEASE);
    }
}
} // namespace stub

/* How clang's host half launches a kernel; tell_time is the only one. */
extern "C" {
inline unsigned int __cudaPushCallConfiguration(dim3, dim3, size_t = 0, void * = nullptr)
{
    return 0;
}
inline unsigned int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *)
{
    return 0;
}
inline cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **arguments, size_t, cudaStream_t)
{
    stub::device = std::thread(stub::answer, *static_cast<volatile unsigned int **>(arguments[0]),
                               *static_cast<volatile unsigned long long **>(arguments[1]),
                               *static_cast<unsigned int *>(arguments[2]));
    return cudaSuccess;
}
inline void **__cudaRegisterFatBinary(void *)
{
    return nullptr;
}
inline void __cudaRegisterFatBinaryEnd(void **)
{
}
inline void __cudaUnregisterFatBinary(void **)
{
}
inline int __cudaRegisterFunction(void **, const char *, char *, const char *, int, uint3 *, uint3 *, dim3 *,
                                  dim3 *, int *)
{
    return 0;
}
}

#endif
