// SPDX-License-Identifier: Apache-2.0
// A CUDA program that knows nothing of opscope: opscope run records it as it is.
//
//     nvcc -O2 -o kernels kernels.cu && opscope run ./kernels launch 1000
//
// kernels WORK [N [STREAMS [THREADS]]]; each prints what it did, as one line of JSON.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#if __has_include(<nvtx3/nvToolsExtCudaRt.h>)
#include <nvtx3/nvToolsExtCudaRt.h>
static const bool has_nvtx = true;
#else // a toolkit without NVTX
static void nvtxNameCudaStreamA(cudaStream_t, const char *) {}
static const bool has_nvtx = false;
#endif

extern "C" cudaError_t cudaProfilerStart(void); // of cuda_profiler_api.h, which not every package has
extern "C" cudaError_t cudaProfilerStop(void);

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t error_ = (call);                                                                         \
        if (error_ != cudaSuccess) {                                                                         \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_));                             \
            std::exit(3);                                                                                    \
        }                                                                                                    \
    } while (0)

static uint64_t raw_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}

__global__ void spin(long cycles) // about 2,000 cycles a microsecond
{
    long start = clock64();
    while (clock64() - start < cycles)
        ;
}

__global__ void empty() {}

template <typename T> __global__ void scale(T *values, T factor, int count)
{
    int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count)
        values[i] *= factor;
}

__global__ void bad_address(int *nowhere)
{
    *nowhere = 1;
}

static const long two_us = 2200;

static void launch_many(long count, int streams)
{
    std::vector<cudaStream_t> list(size_t(streams), nullptr);
    for (int i = 1; i < streams; i++)
        CHECK(cudaStreamCreateWithFlags(&list[size_t(i)], cudaStreamNonBlocking));
    for (long i = 0; i < count; i++)
        spin<<<1, 32, 0, list[size_t(i % streams)]>>>(two_us);
    CHECK(cudaDeviceSynchronize());
}

static void work_launch(long count, int streams, int threads)
{
    uint64_t begin = raw_ns();
    std::vector<std::thread> running;
    for (int i = 1; i < threads; i++)
        running.emplace_back(launch_many, count, streams);
    launch_many(count, streams);
    for (auto &thread : running)
        thread.join();
    std::printf("{\"kernels\": %ld, \"begin_ns\": %llu, \"end_ns\": %llu}\n", count * threads,
                (unsigned long long)begin, (unsigned long long)raw_ns());
}

static void work_copies(long count)
{
    const size_t bytes = 1 << 20;
    float *device, *other;
    std::vector<float> host(bytes / sizeof(float), 1.0f);
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMalloc(&other, bytes));
    for (long i = 0; i < count; i++) {
        CHECK(cudaMemset(device, 0, bytes));
        CHECK(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice));
        scale<float><<<256, 1024>>>(device, 2.0f, int(host.size()));
        CHECK(cudaMemcpy(other, device, bytes, cudaMemcpyDeviceToDevice));
        CHECK(cudaMemcpy(host.data(), other, bytes, cudaMemcpyDeviceToHost));
    }
    CHECK(cudaFree(other));
    CHECK(cudaFree(device));
    std::printf("{\"rounds\": %ld, \"bytes\": %zu, \"value\": %g}\n", count, bytes, double(host[0]));
}

static void work_graph(long replays)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t instance;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 8; i++)
        spin<<<1, 32, 0, stream>>>(two_us);
    empty<<<1, 1, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    for (long i = 0; i < replays; i++)
        CHECK(cudaGraphLaunch(instance, stream));
    CHECK(cudaStreamSynchronize(stream));
    std::printf("{\"replays\": %ld, \"nodes\": 9}\n", replays);
}

// Writes how far it is into FILE, as a server whose worker is killed would: launched, then synchronised.
static void work_server(const char *file, long batch)
{
    int fd = open(file, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        std::exit(3);
    auto *progress = static_cast<volatile uint64_t *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    for (;;) {
        for (long i = 0; i < batch; i++) {
            spin<<<1, 32>>>(two_us);
            progress[0] = progress[0] + 1;
        }
        CHECK(cudaDeviceSynchronize());
        progress[1] = progress[0];
    }
}

// Two streams that NVTX names: one before its first kernel, one after it.
static void work_named(long count)
{
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    nvtxNameCudaStreamA(first, "copies");
    for (long i = 0; i < count; i++) {
        spin<<<1, 32, 0, first>>>(two_us);
        spin<<<1, 32, 0, second>>>(two_us);
    }
    nvtxNameCudaStreamA(second, "compute");
    CHECK(cudaDeviceSynchronize());
    std::printf("{\"kernels\": %ld, \"has_nvtx\": %d}\n", 2 * count, has_nvtx);
}

static void work_fault(long before)
{
    for (long i = 0; i < before; i++)
        spin<<<1, 32>>>(two_us);
    CHECK(cudaDeviceSynchronize());
    bad_address<<<1, 1>>>(nullptr);
    cudaError_t error = cudaDeviceSynchronize();
    std::printf("{\"kernels\": %ld, \"error\": \"%s\"}\n", before, cudaGetErrorName(error));
}

// As much before, between and after the calls that start and stop profilers.
static void work_profiler(long count)
{
    for (int part = 0; part < 3; part++) {
        if (part == 1)
            CHECK(cudaProfilerStart());
        for (long i = 0; i < count; i++) {
            if (part == 1)
                empty<<<1, 1>>>();
            else
                spin<<<1, 32>>>(two_us);
        }
        if (part == 1)
            CHECK(cudaProfilerStop());
    }
    CHECK(cudaDeviceSynchronize());
    std::printf("{\"kernels\": %ld}\n", count);
}

// The cost of a launch with recording off and on, in turn, in one process: medians. What comes right after a switch is
// left out.
static double launch_ns()
{
    std::vector<double> times;
    for (int round = 0; round < 30; round++) {
        CHECK(cudaDeviceSynchronize());
        uint64_t begin = raw_ns();
        for (long i = 0; i < 200; i++)
            empty<<<1, 1>>>();
        if (round >= 8)
            times.push_back(double(raw_ns() - begin) / 200);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

static void *of_adapter(const char *name) // which the driver loads when it is first used
{
    CHECK(cudaFree(nullptr));
    void *library = dlopen("libopscope_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    const char *path = std::getenv("CUDA_INJECTION64_PATH");
    if (!library && path)
        library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : nullptr;
}

static void work_overhead(long rounds, bool is_steady) // never switched
{
    auto set_active = is_steady ? nullptr : reinterpret_cast<void (*)(int)>(of_adapter("opscope_cuda_set_active_"));
    std::vector<double> off, on, added;
    launch_ns();
    for (long i = 0; i < rounds; i++) {
        if (set_active)
            set_active(0);
        off.push_back(launch_ns());
        if (set_active)
            set_active(1);
        on.push_back(launch_ns());
        added.push_back(on.back() - off.back());
    }
    std::sort(off.begin(), off.end());
    std::sort(on.begin(), on.end());
    std::sort(added.begin(), added.end());
    size_t middle = added.size() / 2;
    std::printf("{\"is_injected\": %d, \"off_ns\": %.0f, \"on_ns\": %.0f, \"added_ns\": %.0f}\n",
                set_active != nullptr, off[middle], on[middle], added[middle]);
}

// From the end of a kernel to its record in the recorder.
static void work_lag(long count)
{
    auto delivered = reinterpret_cast<uint64_t (*)()>(of_adapter("opscope_cuda_delivered_"));
    std::vector<double> lags;
    for (long i = 0; delivered && i < count; i++) {
        uint64_t before = delivered();
        empty<<<1, 1>>>();
        CHECK(cudaDeviceSynchronize());
        uint64_t end = raw_ns();
        while (delivered() == before && raw_ns() - end < 1000000000u)
            usleep(100);
        lags.push_back(double(raw_ns() - end) / 1e6);
    }
    std::sort(lags.begin(), lags.end());
    if (lags.empty())
        lags.push_back(-1);
    std::printf("{\"p50_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": %.2f}\n", lags[lags.size() / 2],
                lags[lags.size() * 99 / 100], lags.back());
}

int main(int argc, char **argv)
{
    std::string work = argc > 1 ? argv[1] : "launch";
    long count = argc > 2 && work != "server" ? std::atol(argv[2]) : 1000;
    if (work == "launch")
        work_launch(count, argc > 3 ? std::atoi(argv[3]) : 1, argc > 4 ? std::atoi(argv[4]) : 1);
    else if (work == "copies")
        work_copies(count);
    else if (work == "graph")
        work_graph(count);
    else if (work == "server" && argc > 2)
        work_server(argv[2], argc > 3 ? std::atol(argv[3]) : 500);
    else if (work == "named")
        work_named(count);
    else if (work == "fault")
        work_fault(count);
    else if (work == "reset") { // a context that goes with records pending, and another one
        launch_many(count, 1);
        for (long i = 0; i < count; i++)
            spin<<<1, 32>>>(two_us);
        CHECK(cudaDeviceReset());
        launch_many(count, 1);
        std::printf("{\"kernels\": %ld}\n", 3 * count);
    } else if (work == "profiler")
        work_profiler(count);
    else if (work == "no-memory") { // an allocation that fails is not recorded
        void *memory = nullptr;
        cudaError_t error = cudaMalloc(&memory, size_t(1) << 50);
        launch_many(count, 1);
        std::printf("{\"kernels\": %ld, \"error\": \"%s\"}\n", count, cudaGetErrorName(error));
    } else if (work == "overhead")
        work_overhead(count, argc > 3);
    else if (work == "lag")
        work_lag(count);
    else if (work == "exit") { // and ends with all of them under way
        for (long i = 0; i < count; i++)
            spin<<<1, 32>>>(two_us * 5);
        std::printf("{\"kernels\": %ld}\n", count);
    } else
        return 2;
    return 0;
}
