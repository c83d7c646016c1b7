// SPDX-License-Identifier: Apache-2.0
// What a zone of Tracy's macros costs with opscope's headers, beside OPSCOPE_ZONE. Prints one line a figure: NAME VALUE
// UNIT. Times are thread CPU time, the minimum and the median of many rounds; the kinds take turns, so that all see the
// same machine. Run it under `opscope run`.
#define TRACY_ENABLE
#include <opscope/opscope.h>

#include <opscope/compat/tracy/Tracy.hpp>
#include <opscope/compat/tracy/TracyC.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace
{

constexpr int rounds = 61, kinds = 3;
constexpr long zones_a_round = 100000;

double cpu_ns()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

__attribute__((noinline)) void native(long count)
{
    for (long i = 0; i < count; i++) {
        OPSCOPE_ZONE("native");
        __asm__ volatile("" : : : "memory");
    }
}

__attribute__((noinline)) void tracy_cxx(long count)
{
    for (long i = 0; i < count; i++) {
        ZoneScopedN("ZoneScopedN");
        __asm__ volatile("" : : : "memory");
    }
}

__attribute__((noinline)) void tracy_c(long count)
{
    for (long i = 0; i < count; i++) {
        TracyCZoneN(zone, "TracyCZoneN", 1);
        __asm__ volatile("" : : : "memory");
        TracyCZoneEnd(zone);
    }
}

} // namespace

int main()
{
    static double times[kinds][rounds];
    void (*const loops[kinds])(long) = {native, tracy_cxx, tracy_c};
    const char *const names[kinds] = {"native", "cxx", "c"};
    for (auto loop : loops)
        loop(1000);
    for (int round = 0; round < rounds; round++) {
        for (int turn = 0; turn < kinds; turn++) {
            const int kind = (round + turn) % kinds; // none is always first
            const double start = cpu_ns();
            loops[kind](zones_a_round);
            times[kind][round] = (cpu_ns() - start) / static_cast<double>(zones_a_round);
            usleep(5000); // bursts: the collector catches up between them
        }
    }
    for (int kind = 0; kind < kinds; kind++) {
        std::sort(times[kind], times[kind] + rounds);
        std::printf("%s_min %.2f ns\n%s_median %.2f ns\n", names[kind], times[kind][0], names[kind],
                    times[kind][rounds / 2]);
    }
    return 0;
}
