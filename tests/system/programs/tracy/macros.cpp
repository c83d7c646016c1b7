// SPDX-License-Identifier: Apache-2.0
// Every macro of Tracy's documentation for C++, once. What a recording of this program must hold is written in
// macros.cpp.json, by hand.
#include <tracy/Tracy.hpp>
#include <tracy/TracyCUDA.hpp>
#include <tracy/TracyD3D11.hpp>
#include <tracy/TracyD3D12.hpp>
#include <tracy/TracyMetal.hmm>
#include <tracy/TracyOpenCL.hpp>
#include <tracy/TracyOpenGL.hpp>
#include <tracy/TracyVulkan.hpp>
#include <tracy/TracyWebGPU.hpp>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#if __cplusplus >= 201402L
#include <shared_mutex>
#endif

#ifndef TRACY_CALLSTACK // as in a build without TRACY_ENABLE
#define TRACY_CALLSTACK 0
#endif

static int evaluated; // how many times an argument with an effect was evaluated

__attribute__((unused)) static const char *text(const char *value)
{
    evaluated++;
    return value;
}

static void scoped()
{
    ZoneScoped;
    {
        ZoneScopedN("ScopedN");
        ZoneText("text of ScopedN", strlen(text("text of ScopedN")));
        ZoneTextF("formatted %d", 7);
        ZoneName("name of ScopedN", 15);
        ZoneNameF("%s", "formatted name");
        ZoneColor(0x00ff00);
        ZoneValue(42);
        if (ZoneIsActive)
            std::puts("active");
    }
    {
        ZoneScopedC(0x112233);
    }
    {
        ZoneScopedNC("ScopedNC", tracy::Color::SteelBlue);
    }
    {
        ZoneScopedS(10);
    }
    {
        ZoneScopedNS("ScopedNS", 10);
    }
    {
        ZoneScopedCS(0x112233, 10);
    }
    {
        ZoneScopedNCS("ScopedNCS", 0x112233, 10);
    }
}

static void named(bool yes)
{
    (void)yes;
    ZoneNamed(outer, yes);
    ZoneNamedN(n, "NamedN", true);
    ZoneNamedC(c, 0x445566, true);
    ZoneNamedNC(nc, "NamedNC", 0x445566, true);
    ZoneNamedS(s, 10, true);
    ZoneNamedNS(ns, "NamedNS", 10, true);
    ZoneNamedCS(cs, 0x445566, 10, true);
    ZoneNamedNCS(ncs, "NamedNCS", 0x445566, 10, true);
    ZoneNamedN(never, "never", !yes);
    ZoneTextV(never, "text of never", 13);
    ZoneTextV(ncs, "text of NamedNCS", 16);
    ZoneTextVF(ncs, "formatted %s", "V");
    ZoneNameV(ncs, "name of NamedNCS", 16);
    ZoneNameVF(ncs, "formatted name %d", 2);
    ZoneColorV(ncs, 0x0000ff);
    ZoneValueV(ncs, 43);
    if (ZoneIsActiveV(ncs) && !ZoneIsActiveV(never))
        std::puts("active by name");
}

static void transient()
{
    ZoneTransient(t, true);
    for (int i = 0; i < 2; i++) {
        const std::string name = "TransientN " + std::to_string(i);
        ZoneTransientN(tn, name.c_str(), true);
    }
    ZoneTransientNC(tnc, "TransientNC", 0x778899, true);
    ZoneTransientS(ts, 10, true);
    ZoneTransientNS(tns, "TransientNS", 10, true);
    ZoneTransientNCS(tncs, "TransientNCS", 0x778899, 10, true);
}

static void frames()
{
    static const unsigned char image[4 * 4 * 4] = {0};
    for (int i = 0; i < 3; i++) {
        FrameMark;
        FrameMarkNamed("physics");
    }
    FrameMarkStart("audio");
    FrameMarkEnd("audio");
    FrameImage(image, 4, 4, 0, false);
    (void)image;
}

static void sections()
{
    const uint32_t menu = TracySectionEnter("menu %d", 1);
    const uint32_t level = TracySectionEnter("%s", "level");
    TracySectionLeave(menu);
    TracySectionLeave(level);
    (void)menu;
    (void)level;
}

struct Locks {
    TracyLockable(std::mutex, plain);
    TracyLockableN(std::mutex, described, "described lock");
};
#if __cplusplus >= 201402L
static TracySharedLockable(std::shared_timed_mutex, shared);
static TracySharedLockableN(std::shared_timed_mutex, shared_described, "described shared lock");
#endif

static void locks()
{
    static Locks all;
    {
        std::lock_guard<LockableBase(std::mutex)> guard(all.plain);
        LockMark(all.plain);
    }
    LockableName(all.described, "renamed lock", 12);
    {
        std::unique_lock<LockableBase(std::mutex)> guard(all.described, std::try_to_lock);
        std::thread other([] {
            if (all.described.try_lock())
                std::puts("no lock at all");
        });
        other.join();
    }
#if __cplusplus >= 201402L
    {
        std::shared_lock<SharedLockableBase(std::shared_timed_mutex)> guard(shared);
    }
    {
        std::lock_guard<SharedLockableBase(std::shared_timed_mutex)> guard(shared_described);
    }
    if (shared.try_lock_shared())
        shared.unlock_shared();
#endif
}

static void plots()
{
    TracyPlotConfig("queue", tracy::PlotFormatType::Number, true, true, 0);
    TracyPlot("queue", 3);
    TracyPlot("queue", -1.5);
    TracyPlot("queue", 2.5f);
    TracyPlot("bytes", static_cast<int64_t>(1) << 40);
    static const char *const names[] = {"one", "two", "one"};
    for (int i = 0; i < 3; i++)
        TracyPlot(names[i], i);
    (void)names;
}

static void messages()
{
    const std::string line = "Message";
    TracyMessage(line.c_str(), line.size());
    TracyMessageL("MessageL");
    TracyMessageC("MessageC and what does not count", 8, 0xff0000);
    TracyMessageLC("MessageLC", 0xff0000);
    TracyMessageS("MessageS", 8, 10);
    TracyMessageLS("MessageLS", 10);
    TracyMessageCS("MessageCS", 9, 0xff0000, 10);
    TracyMessageLCS("MessageLCS", 0xff0000, 10);
    TracyLogString(tracy::MessageSeverity::Trace, 0xff, 0, line.size(), line.c_str());
    TracyLogString(tracy::MessageSeverity::Warning, 0, TRACY_CALLSTACK, "LogString");
    TracyAppInfo("revision 17", 11);
    TracySetProgramName("macros");
}

static void memory()
{
    static char block[8];
    TracyAlloc(&block[0], 100);
    TracyFree(&block[0]);
    TracySecureAlloc(&block[1], 200);
    TracySecureFree(&block[1]);
    TracyAllocN(&block[2], 300, "pool");
    TracyFreeN(&block[2], "pool");
    TracySecureAllocN(&block[3], 400, "pool");
    TracySecureFreeN(&block[3], "pool");
    TracyAllocS(&block[4], 500, 10);
    TracyFreeS(&block[4], 10);
    TracySecureAllocS(&block[5], 600, 10);
    TracySecureFreeS(&block[5], 10);
    TracyAllocNS(&block[6], 700, 10, "pool");
    TracyFreeNS(&block[6], 10, "pool");
    TracySecureAllocNS(&block[7], 800, 10, "pool");
    TracySecureFreeNS(&block[7], 10, "pool");
    TracyAlloc(&block[0], 1000);
    TracyAllocN(&block[0], 10, "arena");
    TracyMemoryDiscard("arena");
    TracyAllocN(&block[0], 10, "arena");
    TracyAllocN(&block[1], 20, "arena");
    TracySecureMemoryDiscard("arena");
    TracyAllocN(&block[0], 10, "arena");
    TracyMemoryDiscardS("arena", 10);
    TracyAllocN(&block[0], 10, "arena");
    TracySecureMemoryDiscardS("arena", 10);
    TracyFree(&block[0]);
    (void)block;
}

static void fibers()
{
    TracyFiberEnter("job 1");
    {
        ZoneScopedN("in job 1");
        TracyFiberEnterHint("job 2", 1);
        {
            ZoneScopedN("in job 2");
        }
        TracyFiberEnter("job 1");
    }
    TracyFiberLeave;
}

static void gpu()
{
    TracyGpuContext;
    TracyGpuContextName("gl", 2);
    TracyGpuZone("never evaluated");
    TracyGpuZoneC(text("gl"), 0xff);
    TracyGpuCollect;
    auto vulkan = TracyVkContext(physical, device, queue, buffer);
    TracyVkZone(vulkan, buffer, text("vulkan"));
    TracyVkCollect(vulkan, buffer);
    TracyVkDestroy(vulkan);
    auto cuda = TracyCUDAContext();
    TracyCUDAStartProfiling(cuda);
    TracyCUDAContextDestroy(cuda);
    auto cl = TracyCLContext(context, device);
    TracyCLZone(cl, text("cl"));
    TracyCLZoneSetEvent(event);
    TracyCLDestroy(cl);
    auto d3d11 = TracyD3D11Context(device, context);
    TracyD3D11Zone(d3d11, text("d3d11"));
    auto d3d12 = TracyD3D12Context(device, queue);
    TracyD3D12Zone(d3d12, list, text("d3d12"));
    auto metal = TracyMetalContext(device);
    TracyMetalZone(text("metal"), descriptor);
    auto web = TracyWebGPUContext(device, queue);
    TracyWebGPUCollect(web);
    (void)vulkan, (void)cuda, (void)cl, (void)d3d11, (void)d3d12, (void)metal, (void)web;
}

__attribute__((unused)) static void parameter_changed(void *, uint32_t, int32_t)
{
    std::puts("a parameter that nobody can change has changed");
}

__attribute__((unused)) static char *source_contents(void *, const char *, size_t &)
{
    return nullptr;
}

#ifdef TRACY_ENABLE
static void names()
{
    static const tracy::SourceLocationData place = {"SourceLocationData", "names", "place.cpp", 7, 0x123456};
    {
        tracy::ScopedZone zone(&place, true);
        zone.Text("text by hand", 12);
    }
    {
        tracy::ScopedZone zone(&place, 10, true);
    }
    {
        tracy::ScopedZone zone(8, "place.cppXX", 9, "namesXX", 5, "ScopedZone by handXX", 18, 0x654321, 0,
                               true);
    }
    {
        tracy::ScopedZone zone(8, "place.cpp", 9, "names", 5, "never", 5, false);
        tracy::ScopedZone coloured(8, "place.cpp", 9, "names", 5, "with a colour", 13, 0xff);
    }
    tracy::StartupProfiler();
    if (tracy::ProfilerAvailable() && TracyIsStarted && tracy::Profiler::GetTime() >= 0)
        tracy::ShutdownProfiler();
    tracy::LockableCtx context("custom lock", "lock.cpp", 9);
    context.BeforeLock();
    context.AfterLock();
    context.AfterUnlock();
}
#endif

int main()
{
    TracyNoop;
    tracy::SetThreadName("the main thread of macros");
    TracyParameterRegister(parameter_changed, nullptr);
    TracyParameterSetup(1, "level", TracyParamTypeInt, 3);
    TracySourceCallbackRegister(source_contents, nullptr);
    scoped();
    named(true);
    transient();
    frames();
    sections();
    locks();
    plots();
    messages();
    memory();
    fibers();
    gpu();
#ifdef TRACY_ENABLE
    names();
#endif
    std::thread([] {
        tracy::SetThreadNameWithHint("worker", 1);
        ZoneScopedN("on worker");
    }).join();
    std::printf("connected %d started %d evaluated %d\n", TracyIsConnected ? 1 : 0, TracyIsStarted ? 1 : 0,
                evaluated);
    return 0;
}
