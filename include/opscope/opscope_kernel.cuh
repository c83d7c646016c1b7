// SPDX-License-Identifier: Apache-2.0
// Zones inside CUDA kernels: what each warp does when, with the multiprocessors as tracks.
//
//     #include <opscope/opscope_kernel.cuh>
//
//     enum { LOAD, MULTIPLY };
//     __global__ void product(float *data, opscope::kernel_buffer zones)
//     {
//         OPSCOPE_KERNEL(zones);              // once, before the first zone
//         {
//             OPSCOPE_KERNEL_ZONE(LOAD);      // until the end of the block
//             ...
//         }
//     }
//
//     opscope::kernel_zones zones({"load", "multiply"});
//     product<<<blocks, threads>>>(data, zones.buffer());
//     zones.collect();                        // waits for the device, and hands over what was recorded
//
// Link with libopscope. A zone costs two reads of the device's clock (32 ns resolution) and one store of 16 bytes by the
// warp's first lane, into memory of the warp's own; a warp asks once per kernel for its memory. What does not fit is
// counted and said at the end of the run. A zone is that of the warp's first lane: in a branch that this lane does not
// take, nothing is recorded. The compiler may move arithmetic (not memory accesses) out of a zone.
//
// Compile with -DOPSCOPE_DISABLE to turn everything into nothing.
#ifndef OPSCOPE_OPSCOPE_KERNEL_CUH
#define OPSCOPE_OPSCOPE_KERNEL_CUH

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include <opscope/opscope.h>

namespace opscope {

#ifndef OPSCOPE_DISABLE

struct kernel_counts { // in the device's memory
    unsigned int warps; // that asked for memory
    unsigned int reserved;
    unsigned long long lost; // zones
};

// What a kernel gets, by value.
struct kernel_buffer {
    kernel_counts *counts;
    // {id << 48 | begin, multiprocessor << 48 | end}, warp by warp; what is zero was not written. The low 48 bits of
    // times: this way round a zone takes one instruction to put together, not three.
    ulonglong2 *zones;
    unsigned int warps, zones_per_warp;
};

namespace kernel_detail {

__device__ __forceinline__ unsigned long long device_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

class warp {
public:
    __device__ __forceinline__ explicit warp(const kernel_buffer &buffer) : counts(buffer.counts)
    {
        unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        unsigned int mine = 0, sm;
        asm("mov.u32 %0, %%smid;" : "=r"(sm));
        multiprocessor = sm;
        is_writer = thread % 32 == 0;
        if (is_writer && counts)
            mine = atomicAdd(&counts->warps, 1u);
        bool has_memory = is_writer && counts && mine < buffer.warps;
        zones = buffer.zones + size_t(has_memory ? mine : 0) * buffer.zones_per_warp;
        limit = has_memory ? buffer.zones_per_warp : 0;
    }
    __device__ __forceinline__ ~warp()
    {
        if (is_writer && counts && used > limit)
            atomicAdd(&counts->lost, (unsigned long long)(used - limit));
    }
    // No branch: a predicated store of both halves.
    __device__ __forceinline__ void put(unsigned long long begin, unsigned long long end, unsigned int id)
    {
        const unsigned int low_halves = 0x5410; // of __byte_perm: the low half of the first, then that of the second
        unsigned int has_room = used < limit;
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.v4.u32 [%1], {%2, %3, %4, %5}; }" ::"r"(has_room),
                     "l"(zones + used), "r"((unsigned int)begin),
                     "r"(__byte_perm((unsigned int)(begin >> 32), id, low_halves)), "r"((unsigned int)end),
                     "r"(__byte_perm((unsigned int)(end >> 32), multiprocessor, low_halves))
                     : "memory");
        used++;
    }

private:
    kernel_counts *counts;
    ulonglong2 *zones;
    unsigned int used = 0, limit, multiprocessor; // used: also those without room
    bool is_writer;
};

class zone {
public:
    __device__ __forceinline__ zone(warp &owner, unsigned int id) : owner(owner), id(id), begin(device_ns()) {}
    __device__ __forceinline__ ~zone() { owner.put(begin, device_ns(), id); }

private:
    warp &owner;
    unsigned int id;
    unsigned long long begin;
};

// Answers with the device's time whenever the host asks: how the two clocks are compared.
static __global__ void tell_time(volatile unsigned int *asked, volatile unsigned long long *answer, unsigned int count)
{
    for (unsigned int i = 1; i <= count; i++) {
        while (*asked < i)
            ;
        answer[i - 1] = device_ns();
        __threadfence_system();
    }
}

static inline std::uint64_t host_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return std::uint64_t(t.tv_sec) * 1000000000u + std::uint64_t(t.tv_nsec);
}

struct clock_pair {
    std::uint64_t host, device, uncertainty;
};

} // namespace kernel_detail

#define OPSCOPE_KERNEL(buffer) opscope::kernel_detail::warp opscope_warp_(buffer)
#define OPSCOPE_KERNEL_ZONE_AT2_(unique, id)                                                                 \
    opscope::kernel_detail::zone OPSCOPE_JOIN_(opscope_kernel_zone_, unique)(opscope_warp_, id)
#define OPSCOPE_KERNEL_ZONE(id) OPSCOPE_KERNEL_ZONE_AT2_(__COUNTER__, id)

// The memory of zones on one device, and the way from there into the trace. Not for several threads at once.
class kernel_zones {
public:
    // Ids are indices of names. The memory is warps * zones_per_warp * 16 bytes; a warp is counted anew in each kernel.
    explicit kernel_zones(std::vector<std::string> names, unsigned int zones_per_warp = 64, unsigned int warps = 16384)
        : names(std::move(names))
    {
        if (!opscope_has_session() || cudaGetDevice(&device) != cudaSuccess)
            return;
        view.warps = warps;
        view.zones_per_warp = zones_per_warp;
        size_t bytes = size_t(warps) * zones_per_warp * sizeof(ulonglong2);
        if (cudaMalloc(&view.zones, bytes) != cudaSuccess || cudaMalloc(&view.counts, sizeof(kernel_counts)) != cudaSuccess ||
            cudaMemset(view.zones, 0, bytes) != cudaSuccess || cudaMemset(view.counts, 0, sizeof(kernel_counts)) != cudaSuccess ||
            cudaHostAlloc(&shared, sizeof *shared, cudaHostAllocMapped) != cudaSuccess) {
            std::fprintf(stderr, "opscope: no memory for zones inside kernels\n");
            release();
            return;
        }
        open_device();
        last = compare_clocks();
    }
    kernel_zones(const kernel_zones &) = delete;
    kernel_zones &operator=(const kernel_zones &) = delete;
    ~kernel_zones()
    {
        collect();
        release();
    }

    // For the next kernel; records nothing where there is no recording.
    kernel_buffer buffer() const { return view; }

    // Waits for the device and hands over everything that its kernels have recorded. Returns the number of zones.
    size_t collect()
    {
        kernel_counts counts;
        if (!view.counts || cudaDeviceSynchronize() != cudaSuccess ||
            cudaMemcpy(&counts, view.counts, sizeof counts, cudaMemcpyDeviceToHost) != cudaSuccess)
            return 0;
        unsigned int used = std::min(counts.warps, view.warps);
        std::vector<ulonglong2> copy(size_t(used) * view.zones_per_warp);
        size_t bytes = copy.size() * sizeof(ulonglong2);
        if (used && (cudaMemcpy(copy.data(), view.zones, bytes, cudaMemcpyDeviceToHost) != cudaSuccess ||
                     cudaMemset(view.zones, 0, bytes) != cudaSuccess))
            return 0;
        cudaMemset(view.counts, 0, sizeof counts);
        kernel_detail::clock_pair now = compare_clocks();
        size_t taken = 0;
        for (unsigned int i = 0; i < used; i++)
            taken += take_warp(copy.data() + size_t(i) * view.zones_per_warp, now);
        last = now;
        if (counts.lost) {
            char text[200];
            std::snprintf(text, sizeof text,
                          "opscope: %llu zones inside kernels had no room: give kernel_zones more warps or zones_per_warp",
                          counts.lost);
            opscope_message(text);
        }
        return taken;
    }

private:
    struct shared_memory { // with tell_time
        volatile unsigned int asked;
        volatile unsigned long long answer[32];
    };
    struct lane { // a track for one warp at a time
        std::uint32_t track;
        std::uint64_t end;
    };

    void release()
    {
        cudaFree(view.zones);
        cudaFree(view.counts);
        cudaFreeHost(shared);
        view = kernel_buffer();
        shared = nullptr;
    }

    // As the adapter for CUDA opens it: streams and multiprocessors are then tracks of one device.
    void open_device()
    {
        cudaDeviceProp facts;
        char architecture[32];
        if (cudaGetDeviceProperties(&facts, device) != cudaSuccess)
            return;
        std::snprintf(architecture, sizeof architecture, "sm_%d%d", facts.major, facts.minor);
        struct opscope_device what = {};
        what.struct_size = sizeof what;
        what.number = std::uint32_t(device);
        what.name = facts.name;
        what.architecture = architecture;
        what.ticks_per_second = 1e9;
        trace_device = opscope_device_open_as(&what);
    }

    // The best of some questions and answers, 2 us apart.
    kernel_detail::clock_pair compare_clocks()
    {
        using namespace kernel_detail;
        clock_pair best = {0, 0, ~std::uint64_t(0)};
        const unsigned int count = 32;
        std::memset(const_cast<shared_memory *>(reinterpret_cast<volatile shared_memory *>(shared)), 0, sizeof *shared);
        tell_time<<<1, 1>>>(&shared->asked, shared->answer, count);
        for (unsigned int i = 0; i < count; i++) {
            std::uint64_t before = host_ns(), after;
            __atomic_store_n(&shared->asked, i + 1, __ATOMIC_RELEASE);
            while (!__atomic_load_n(&shared->answer[i], __ATOMIC_ACQUIRE) && host_ns() - before < 1000000000u)
                ;
            after = host_ns();
            if (shared->answer[i] && i && after - before < best.uncertainty)
                best = {before + (after - before) / 2, shared->answer[i], after - before};
        }
        cudaDeviceSynchronize();
        if (trace_device && best.device) {
            std::uint64_t early = host_ns(), now = opscope_now(), late = host_ns();
            opscope_device_sync(trace_device, now, early + (late - early) / 2, (late - early) / 2 + 1);
        }
        return best;
    }

    // The device's time in ns of the host's clock, on the line through the two comparisons around it.
    std::uint64_t to_host(std::uint64_t ns, const kernel_detail::clock_pair &now) const
    {
        double rate = now.device > last.device ? double(now.host - last.host) / double(now.device - last.device) : 1.0;
        return std::uint64_t(std::int64_t(last.host) + std::int64_t(double(std::int64_t(ns - last.device)) * rate));
    }

    std::uint32_t track_of(unsigned int multiprocessor, std::uint64_t begin, std::uint64_t end)
    {
        std::vector<lane> &list = lanes[multiprocessor];
        char name[48];
        for (lane &known : list) {
            if (known.end <= begin) {
                known.end = end;
                return known.track;
            }
        }
        std::uint32_t parent = list.empty() ? 0 : list[0].track;
        if (parent)
            std::snprintf(name, sizeof name, "SM %u warp %u", multiprocessor, unsigned(list.size()));
        else
            std::snprintf(name, sizeof name, "SM %u", multiprocessor);
        std::uint32_t track =
            opscope_device_track(trace_device, parent, parent ? OPSCOPE_TRACK_PROCESSOR : OPSCOPE_TRACK_CORE, name,
                                 parent ? list.size() : multiprocessor);
        list.push_back({track, end});
        return track;
    }

    size_t take_warp(const ulonglong2 *zones, const kernel_detail::clock_pair &now)
    {
        const std::uint64_t mask = (std::uint64_t(1) << 48) - 1;
        size_t count = 0;
        std::uint64_t first = ~std::uint64_t(0), end = 0;
        while (count < view.zones_per_warp && zones[count].x)
            count++;
        for (size_t i = 0; i < count; i++) {
            first = std::min<std::uint64_t>(first, zones[i].x & mask);
            end = std::max<std::uint64_t>(end, zones[i].y & mask);
        }
        std::uint32_t track = count ? track_of(unsigned(zones[0].y >> 48), first, end) : 0;
        for (size_t i = 0; i < count; i++) {
            // 48 of 64 bits were kept: the others are those of now.
            std::uint64_t from = now.device - ((now.device - zones[i].x) & mask);
            std::uint64_t to = now.device - ((now.device - zones[i].y) & mask);
            std::uint64_t start = to_host(from, now), stop = to_host(to, now);
            size_t id = zones[i].x >> 48;
            opscope_device_zone(track, id < names.size() ? names[id].c_str() : "(zone without a name)", start,
                                stop > start ? stop - start : 0);
        }
        return count;
    }

    std::vector<std::string> names;
    kernel_buffer view = {};
    shared_memory *shared = nullptr;
    int device = 0;
    std::uint32_t trace_device = 0;
    kernel_detail::clock_pair last = {};
    std::map<unsigned int, std::vector<lane>> lanes; // by multiprocessor
};

#else // the same names, and nothing behind them

struct kernel_buffer {};
#define OPSCOPE_KERNEL(buffer) ((void)(buffer))
#define OPSCOPE_KERNEL_ZONE(id) ((void)(id))

class kernel_zones {
public:
    explicit kernel_zones(std::vector<std::string>, unsigned int = 0, unsigned int = 0) {}
    kernel_buffer buffer() const { return {}; }
    size_t collect() { return 0; }
};

#endif

} // namespace opscope

#endif
