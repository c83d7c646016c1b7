// SPDX-License-Identifier: Apache-2.0
// Zones inside a kernel: each block loads a tile, works on it and stores it.
//
//     nvcc -O2 -I include -o kernel_zones kernel_zones.cu -L build -lopscope
//     opscope run ./kernel_zones
//
// kernel_zones cost [WARPS]: what a zone costs, in ns, with so many warps on each multiprocessor.
// kernel_zones overflow: with room for fewer zones than there are.
// kernel_zones names: more names than fit into an entry.
// kernel_zones long: a zone of more cycles than fit into an entry.
#include <opscope/opscope_kernel.cuh>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>

enum { LOAD, WORK, STORE, ALL };

__global__ void process(float *data, int rounds, opscope::kernel_buffer zones)
{
    OPSCOPE_KERNEL(zones);
    OPSCOPE_KERNEL_ZONE(ALL);
    __shared__ float tile[256];
    size_t at = size_t(blockIdx.x) * 256 + threadIdx.x;
    {
        OPSCOPE_KERNEL_ZONE(LOAD);
        tile[threadIdx.x] = data[at];
        __syncthreads();
    }
    {
        OPSCOPE_KERNEL_ZONE(WORK);
        for (int i = 0; i < rounds; i++) {
            float next = tile[(threadIdx.x + 1) % 256] * 0.5f + 1.0f;
            __syncthreads();
            tile[threadIdx.x] = next;
            __syncthreads();
        }
    }
    {
        OPSCOPE_KERNEL_ZONE(STORE);
        data[at] = tile[threadIdx.x];
    }
}

__global__ void with_many_names(unsigned int names, opscope::kernel_buffer zones)
{
    OPSCOPE_KERNEL(zones);
    for (unsigned int id = 0; id < names; id++) {
        OPSCOPE_KERNEL_ZONE(id);
        for (long long begin = clock64(); clock64() - begin < 1000 * (id + 1);)
            ;
    }
}

__global__ void take_long(long long cycles, opscope::kernel_buffer zones)
{
    OPSCOPE_KERNEL(zones);
    OPSCOPE_KERNEL_ZONE(WORK);
    for (long long begin = clock64(); clock64() - begin < cycles;)
        ;
}

// Times of count zones around nothing, less those of as many turns of an empty loop.
__global__ void with_zones(int count, unsigned long long *cycles, opscope::kernel_buffer zones)
{
    OPSCOPE_KERNEL(zones);
    long long begin = clock64();
    for (int i = 0; i < count; i++) {
        OPSCOPE_KERNEL_ZONE(WORK);
        asm volatile("" ::: "memory");
    }
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = (unsigned long long)(clock64() - begin);
}

__global__ void without_zones(int count, unsigned long long *cycles)
{
    long long begin = clock64();
    for (int i = 0; i < count; i++)
        asm volatile("" ::: "memory");
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = (unsigned long long)(clock64() - begin);
}

static double median_cycles(unsigned long long *cycles, int blocks)
{
    std::vector<unsigned long long> list(static_cast<size_t>(blocks));
    cudaMemcpy(list.data(), cycles, list.size() * sizeof list[0], cudaMemcpyDeviceToHost);
    std::sort(list.begin(), list.end());
    return double(list[list.size() / 2]);
}

static void cost(int warps)
{
    const int count = 2000;
    int device = 0, blocks = 0, khz = 0;
    cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, device);
    cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device);
    unsigned long long *cycles;
    cudaMalloc(&cycles, size_t(blocks) * sizeof *cycles);
    opscope::kernel_zones zones({"load", "work", "store", "all"}, count, unsigned(blocks * warps) * 2);
    std::vector<double> costs;
    for (int round = 0; round < 9; round++) {
        without_zones<<<blocks, 32 * warps>>>(count, cycles);
        double bare = median_cycles(cycles, blocks);
        with_zones<<<blocks, 32 * warps>>>(count, cycles, zones.buffer());
        double marked = median_cycles(cycles, blocks);
        zones.collect();
        costs.push_back((marked - bare) / count / (double(khz) / 1e6));
    }
    std::sort(costs.begin(), costs.end());
    std::printf("{\"warps\": %d, \"ns_per_zone\": %.1f}\n", warps, costs[costs.size() / 2]);
    cudaFree(cycles);
}

// Each zone takes 1,000 cycles more than the one before.
static int many_names()
{
    std::vector<std::string> names;
    for (int i = 0; i < 20; i++)
        names.push_back("name " + std::to_string(i));
    int khz = 0;
    cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0);
    opscope::kernel_zones zones(names);
    with_many_names<<<4, 64>>>(unsigned(names.size()), zones.buffer());
    size_t taken = zones.collect();
    std::printf("{\"warps\": 8, \"zones\": %zu, \"khz\": %d}\n", taken, khz);
    return cudaGetLastError() == cudaSuccess ? 0 : 3;
}

static int long_zone()
{
    opscope::kernel_zones zones({"load", "work"});
    take_long<<<1, 32>>>((1ll << 32) + (1 << 20), zones.buffer());
    std::printf("{\"zones\": %zu}\n", zones.collect());
    return cudaGetLastError() == cudaSuccess ? 0 : 3;
}

int main(int argc, char **argv)
{
    if (argc > 1 && std::strcmp(argv[1], "names") == 0)
        return many_names();
    if (argc > 1 && std::strcmp(argv[1], "long") == 0)
        return long_zone();
    if (argc > 1 && std::strcmp(argv[1], "cost") == 0) {
        cost(argc > 2 ? std::atoi(argv[2]) : 1);
        return 0;
    }
    const int blocks = 264, rounds = 200;
    float *data;
    if (cudaMalloc(&data, size_t(blocks) * 256 * sizeof *data) != cudaSuccess)
        return 3;
    bool is_small = argc > 1 && std::strcmp(argv[1], "overflow") == 0;
    opscope::kernel_zones zones({"load", "work", "store", "block"}, is_small ? 2 : 64, is_small ? 100 : 16384);
    size_t taken = 0;
    for (int i = 0; i < 5; i++) {
        process<<<blocks, 256>>>(data, rounds, zones.buffer());
        taken += zones.collect();
    }
    std::printf("{\"kernels\": 5, \"warps\": %d, \"zones\": %zu}\n", blocks * 8, taken);
    cudaFree(data);
    return cudaGetLastError() == cudaSuccess ? 0 : 3;
}
