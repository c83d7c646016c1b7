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
// Link with libopscope. A zone costs two reads of the multiprocessor's clock (16 cycles resolution, 8 ns at 2 GHz) and one
// store of 8 bytes by the warp's first lane, into memory of the warp's own; a warp asks once per kernel for its memory.
// With ids of 14 and more it is two stores. What does not fit is counted and said at the end of the run. A zone is that of
// the warp's first lane: in a branch that this lane does not take, nothing is recorded. The compiler may move arithmetic
// (not memory accesses) out of a zone. Zones of 2^32 cycles (2 s) and more cannot be distinguished from
// shorter ones; a message says where a kernel took so long.
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
    unsigned long long warps; // that asked for memory: more than 2^32 in an hour of short kernels
    unsigned long long lost;  // zones
};

struct kernel_times { // both clocks of a warp at one moment; zero: not written
    unsigned long long cycles, ns;
};

struct kernel_warp {
    kernel_times begin, end; // of the warp: what turns the cycles of its zones into ns
    unsigned long long multiprocessor;
};

// What a kernel gets, by value.
struct kernel_buffer {
    kernel_counts *counts;
    kernel_warp *owners;
    // {begin, end} in cycles, warp by warp, with the id + 1 in the low four bits of the begin; the end as it was read, since
    // any instruction that needs it would wait for it. Ids of 14 and more are in an entry of their own that follows, after
    // 15 in these bits. What is zero was not written.
    uint2 *zones;
    unsigned int warps, zones_per_warp;
};

namespace kernel_detail {

constexpr unsigned int tag_mask = 15, tag_of_large_id = 15; // ids from tag_of_large_id - 1 on are large

__device__ __forceinline__ unsigned long long device_ns()
{
    unsigned long long ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
    return ns;
}

__device__ __forceinline__ unsigned int device_cycles()
{
    unsigned int cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
}

__device__ __forceinline__ kernel_times device_times()
{
    kernel_times now;
    now.ns = device_ns();
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now.cycles)::"memory");
    return now;
}

class warp {
public:
    __device__ __forceinline__ explicit warp(const kernel_buffer &buffer) : counts(buffer.counts), owner(buffer.owners)
    {
        unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        unsigned int multiprocessor;
        unsigned long long mine = 0;
        asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
        is_writer = thread % 32 == 0 && counts;
        if (is_writer)
            mine = atomicAdd(&counts->warps, 1ull);
        bool has_memory = is_writer && mine < buffer.warps;
        zones = buffer.zones + size_t(has_memory ? mine : 0) * buffer.zones_per_warp;
        asm volatile("" : "+l"(zones)); // else each zone takes four instructions to find its place, not one
        limit = has_memory ? buffer.zones_per_warp : 0;
        if (has_memory) {
            owner += mine;
            owner->multiprocessor = multiprocessor;
            owner->begin = device_times();
        }
    }
    __device__ __forceinline__ ~warp()
    {
        if (limit)
            owner->end = device_times();
        if (is_writer && used > limit)
            atomicAdd(&counts->lost, (unsigned long long)(used - limit));
    }
    // No branch where the id is a constant: a predicated store.
    __device__ __forceinline__ void put(unsigned int begin, unsigned int id)
    {
        unsigned int end = device_cycles();
        if (id + 1 < tag_of_large_id) {
            store(used < limit, used, (begin & ~tag_mask) | (id + 1), end);
            used++;
        } else {
            unsigned int has_room = used + 1 < limit;
            store(has_room, used, begin | tag_of_large_id, end);
            store(has_room, used + 1, id, 0);
            used = has_room ? used + 2 : max(used, limit) + 1;
        }
    }

private:
    __device__ __forceinline__ void store(unsigned int has_room, unsigned int at, unsigned int first, unsigned int second)
    {
        asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p st.global.v2.u32 [%1], {%2, %3}; }" ::"r"(has_room),
                     "l"(zones + at), "r"(first), "r"(second)
                     : "memory");
    }

    kernel_counts *counts;
    kernel_warp *owner;
    uint2 *zones;
    unsigned int used = 0, limit; // used: also those without room
    bool is_writer;
};

class zone {
public:
    __device__ __forceinline__ zone(warp &owner, unsigned int id) : owner(owner), id(id), begin(device_cycles()) {}
    __device__ __forceinline__ ~zone() { owner.put(begin, id); }

private:
    warp &owner;
    unsigned int id, begin;
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
    // Ids are indices of names. The memory is warps * zones_per_warp * 8 bytes; a warp counts again in each kernel.
    explicit kernel_zones(std::vector<std::string> names, unsigned int zones_per_warp = 64, unsigned int warps = 16384)
        : names(std::move(names))
    {
        if (!opscope_has_session() || cudaGetDevice(&device) != cudaSuccess)
            return;
        own_work known(device);
        view.warps = warps;
        view.zones_per_warp = zones_per_warp;
        if (!make(&view.zones, size_t(warps) * zones_per_warp) || !make(&view.owners, warps) || !make(&view.counts, 1) ||
            cudaHostAlloc(&shared, sizeof *shared, cudaHostAllocMapped) != cudaSuccess) {
            std::fprintf(stderr, "opscope: no memory for zones inside kernels\n");
            release();
            cudaGetLastError(); // ours, not one of the program's
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
        if (!view.counts)
            return 0;
        on_device here(device);
        own_work known(device);
        if (cudaDeviceSynchronize() != cudaSuccess ||
            cudaMemcpy(&counts, view.counts, sizeof counts, cudaMemcpyDeviceToHost) != cudaSuccess)
            return 0;
        unsigned int used = unsigned(std::min<unsigned long long>(counts.warps, view.warps));
        std::vector<uint2> zones(size_t(used) * view.zones_per_warp);
        std::vector<kernel_warp> owners(used);
        if (!take(zones, view.zones) || !take(owners, view.owners))
            return 0;
        cudaMemset(view.counts, 0, sizeof counts);
        kernel_detail::clock_pair now = compare_clocks();
        if (!now.device)
            now = last;
        if (!last.device)
            last = now;
        if (!now.device) {
            say("opscope: the device did not say what time it is: zones of %llu warps inside kernels are lost", used);
            return 0;
        }
        double common = common_ns_per_cycle(owners);
        size_t taken = 0, long_warps = 0;
        for (unsigned int i = 0; i < used; i++) {
            taken += take_warp(zones.data() + size_t(i) * view.zones_per_warp, owners[i], common, now);
            long_warps += owners[i].end.cycles && (owners[i].end.cycles - owners[i].begin.cycles) >> 32;
        }
        last = now;
        if (long_warps)
            say("opscope: warps inside kernels that took 2^32 cycles or more: %llu; their zones may be recorded 2^32 cycles too "
                "early or too short",
                long_warps);
        if (counts.lost)
            say("opscope: %llu zones inside kernels had no room: give kernel_zones more warps or zones_per_warp", counts.lost);
        return taken;
    }

private:
    struct on_device { // the program may have another one current, and gets it back
        int before;
        explicit on_device(int device) : before(-1)
        {
            if (cudaGetDevice(&before) != cudaSuccess || before == device || cudaSetDevice(device) != cudaSuccess)
                before = -1;
        }
        ~on_device()
        {
            if (before >= 0)
                cudaSetDevice(before);
        }
        on_device(const on_device &) = delete;
        on_device &operator=(const on_device &) = delete;
    };
    struct own_work { // what is launched and copied here is no work of the program's: one op in its tables
        explicit own_work(int device) { opscope_op_begin("opscope: zones inside kernels", OPSCOPE_OP_HOST, std::uint32_t(device)); }
        ~own_work() { opscope_op_end(); }
        own_work(const own_work &) = delete;
        own_work &operator=(const own_work &) = delete;
    };
    struct shared_memory { // with tell_time
        volatile unsigned int asked;
        volatile unsigned long long answer[32];
    };
    struct lane { // a track for one warp at a time
        std::uint32_t track;
        std::uint64_t end;
    };

    static void say(const char *format, unsigned long long count)
    {
        char text[200];
        std::snprintf(text, sizeof text, format, count);
        opscope_message(text);
    }

    template <typename Item> static bool make(Item **items, size_t count)
    {
        return cudaMalloc(items, count * sizeof **items) == cudaSuccess && cudaMemset(*items, 0, count * sizeof **items) == cudaSuccess;
    }

    // Takes the first items of the device, and leaves zeros there.
    template <typename Item> static bool take(std::vector<Item> &items, Item *from)
    {
        size_t bytes = items.size() * sizeof(Item);
        return !bytes || (cudaMemcpy(items.data(), from, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
                          cudaMemset(from, 0, bytes) == cudaSuccess);
    }

    void release()
    {
        cudaFree(view.zones);
        cudaFree(view.owners);
        cudaFree(view.counts);
        cudaFreeHost(shared);
        view = kernel_buffer();
        shared = nullptr;
    }

    // As the adapter for CUDA opens it: streams and multiprocessors are then tracks of one device.
    void open_device()
    {
        cudaDeviceProp facts;
        char architecture[32], identity[2 * sizeof facts.uuid.bytes + 1];
        if (cudaGetDeviceProperties(&facts, device) != cudaSuccess)
            return;
        std::snprintf(architecture, sizeof architecture, "sm_%d%d", facts.major, facts.minor);
        for (std::size_t i = 0; i < sizeof facts.uuid.bytes; i++) // as libopscope_cuda.so writes it
            std::snprintf(identity + 2 * i, 3, "%02x", facts.uuid.bytes[i] & 0xff);
        struct opscope_device what = {};
        what.struct_size = sizeof what;
        what.number = std::uint32_t(device);
        what.name = facts.name;
        what.architecture = architecture;
        what.identity = identity;
        what.ticks_per_second = 1e9;
        trace_device = opscope_device_open_as(&what);
    }

    // The best of some questions and answers, 2 us apart. Without an answer in a second, `device` is 0.
    kernel_detail::clock_pair compare_clocks()
    {
        using namespace kernel_detail;
        clock_pair best = {0, 0, ~std::uint64_t(0)};
        const unsigned int count = 32;
        cudaDeviceSynchronize(); // what runs in other streams would keep it from answering
        std::memset(const_cast<shared_memory *>(reinterpret_cast<volatile shared_memory *>(shared)), 0, sizeof *shared);
        tell_time<<<1, 1>>>(&shared->asked, shared->answer, count);
        for (unsigned int i = 0; i < count; i++) {
            std::uint64_t before = host_ns(), after;
            __atomic_store_n(&shared->asked, i + 1, __ATOMIC_RELEASE);
            while (!__atomic_load_n(&shared->answer[i], __ATOMIC_ACQUIRE) && host_ns() - before < 1000000000u)
                ;
            after = host_ns();
            if (!shared->answer[i]) {
                __atomic_store_n(&shared->asked, count, __ATOMIC_RELEASE); // it is not kept waiting either
                break;
            }
            if (i && after - before < best.uncertainty)
                best = {before + (after - before) / 2, shared->answer[i], after - before};
            for (std::uint64_t rest = shared->answer[i]; rest;) { // the tick: what divides all times
                std::uint64_t next = tick % rest;
                tick = rest;
                rest = next;
            }
        }
        cudaDeviceSynchronize();
        if (trace_device && best.device)
            sync_clocks();
        return best;
    }

    // As the adapter for CUDA does it: the best of some tries, and no two points close to each other, since the line
    // through them would be steep.
    void sync_clocks()
    {
        std::uint64_t host = 0, ns = 0, least = ~std::uint64_t(0);
        for (int i = 0; i < 8; i++) {
            std::uint64_t early = kernel_detail::host_ns(), now = opscope_now(), late = kernel_detail::host_ns();
            if (late - early < least) {
                least = late - early;
                host = now;
                ns = early + least / 2;
            }
        }
        if (last_sync_ns && ns - last_sync_ns < 100000000u)
            return;
        opscope_device_sync(trace_device, host, ns, least / 2 + 1);
        last_sync_ns = ns;
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

    // Of all warps together; the clock's nominal rate where none has ended.
    double common_ns_per_cycle(const std::vector<kernel_warp> &owners) const
    {
        double ns = 0, cycles = 0;
        for (const kernel_warp &w : owners) {
            ns += w.end.cycles ? double(w.end.ns - w.begin.ns) : 0;
            cycles += w.end.cycles ? double(w.end.cycles - w.begin.cycles) : 0;
        }
        int khz = 0;
        if (ns > 0 && cycles > 0)
            return ns / cycles;
        return cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device) == cudaSuccess && khz > 0 ? 1e6 / khz : 1.0;
    }

    // The rate at which all warps ran is the better one for a short warp, as the device's timer ticks coarsely; a warp that
    // differs by more than these ticks ran while the clock had another rate.
    double ns_per_cycle(const kernel_warp &owner, double common) const
    {
        if (!owner.end.cycles || owner.end.ns <= owner.begin.ns)
            return common;
        double cycles = double(owner.end.cycles - owner.begin.cycles), ns = double(owner.end.ns - owner.begin.ns);
        double by_ticks = 2.0 * double(tick) / ns, own = ns / cycles;
        return own > common * (1 + by_ticks) || own < common * (1 - by_ticks) ? own : common;
    }

    // Zones are stored when they end, so that ends are in order: from one to the next, less than 2^32 cycles.
    size_t take_warp(const uint2 *entries, const kernel_warp &owner, double common, const kernel_detail::clock_pair &now)
    {
        using namespace kernel_detail;
        struct found {
            std::uint64_t begin, end; // ns of the device's clock
            size_t id;
        };
        std::vector<found> zones;
        double rate = ns_per_cycle(owner, common);
        std::uint64_t at = owner.begin.cycles, start = at;
        auto to_ns = [&](std::uint64_t cycles) { return owner.begin.ns + tick / 2 + std::uint64_t(double(cycles - start) * rate); };
        for (unsigned int i = 0; i < view.zones_per_warp && entries[i].x; i++) {
            unsigned int tag = entries[i].x & tag_mask;
            // Begins are rounded down, which keeps their order, so that zones still nest.
            std::uint32_t length = entries[i].y - (entries[i].x & ~tag_mask);
            at += std::uint32_t(entries[i].y - std::uint32_t(at));
            size_t id = tag - 1;
            if (tag == tag_of_large_id && i + 1 < view.zones_per_warp)
                id = entries[++i].x;
            zones.push_back({to_ns(at - std::min<std::uint64_t>(length, at - start)), to_ns(at), id});
        }
        if (zones.empty())
            return 0;
        std::uint64_t first = zones[0].begin;
        for (const found &zone : zones)
            first = std::min(first, zone.begin);
        std::uint32_t track = track_of(unsigned(owner.multiprocessor), first, zones.back().end);
        for (const found &zone : zones) {
            std::uint64_t from = to_host(zone.begin, now), to = to_host(zone.end, now);
            opscope_device_zone(track, zone.id < names.size() ? names[zone.id].c_str() : "(zone without a name)", from,
                                to > from ? to - from : 0);
        }
        return zones.size();
    }

    std::vector<std::string> names;
    kernel_buffer view = {};
    shared_memory *shared = nullptr;
    int device = 0;
    std::uint32_t trace_device = 0;
    std::uint64_t tick = 0; // of the device's timer, ns
    std::uint64_t last_sync_ns = 0;
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
