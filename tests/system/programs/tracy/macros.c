/* SPDX-License-Identifier: Apache-2.0 */
/* Every macro of Tracy's documentation for C, once, and the functions for bindings. What a recording of this program
 * must hold is written in macros.c.json, by hand. */
#include <tracy/TracyC.h>

#include <stdio.h>
#include <string.h>

static int evaluated; /* how many times an argument with an effect was evaluated */

__attribute__((unused)) static const char *text(const char *value)
{
    evaluated++;
    return value;
}

static void zones(void)
{
    TracyCZone(zone, 1);
    TracyCZoneN(n, "ZoneN", 1);
    TracyCZoneText(n, "text of ZoneN", strlen(text("text of ZoneN")));
    TracyCZoneName(n, "name of ZoneN", 13);
    TracyCZoneColor(n, 0x00ff00);
    TracyCZoneValue(n, 42);
    TracyCZoneEnd(n);
    TracyCZoneC(c, 0x112233, 1);
    TracyCZoneEnd(c);
    TracyCZoneNC(nc, "ZoneNC", 0x112233, 1);
    TracyCZoneEnd(nc);
    TracyCZoneS(s, 10, 1);
    TracyCZoneEnd(s);
    TracyCZoneNS(ns, "ZoneNS", 10, 1);
    TracyCZoneEnd(ns);
    TracyCZoneCS(cs, 0x112233, 10, 1);
    TracyCZoneEnd(cs);
    TracyCZoneNCS(ncs, "ZoneNCS", 0x112233, 10, 1);
    TracyCZoneEnd(ncs);
    TracyCZoneN(never, "never", 0);
    TracyCZoneText(never, "text of never", 13);
    TracyCZoneEnd(never);
    TracyCZoneEnd(zone);
}

static void frames(void)
{
    static const unsigned char image[4 * 4 * 4] = {0};
    for (int i = 0; i < 3; i++) {
        TracyCFrameMark;
        TracyCFrameMarkNamed("physics");
    }
    TracyCFrameMarkStart("audio");
    TracyCFrameMarkEnd("audio");
    TracyCFrameImage(image, 4, 4, 0, 0);
    (void)image;
}

static void locks(void)
{
    TracyCLockCtx lock;
    TracyCSharedLockCtx shared;
    TracyCLockAnnounce(lock);
    TracyCLockBeforeLock(lock);
    TracyCLockAfterLock(lock);
    TracyCLockMark(lock);
    TracyCLockAfterUnlock(lock);
    TracyCLockCustomName(lock, "renamed lock", 12);
    TracyCLockBeforeLock(lock);
    TracyCLockAfterTryLock(lock, 0);
    TracyCLockAfterTryLock(lock, 1);
    TracyCLockAfterUnlock(lock);
    TracyCLockTerminate(lock);
    TracyCSharedLockAnnounce(shared);
    TracyCSharedLockBeforeLock(shared);
    TracyCSharedLockAfterLock(shared);
    TracyCSharedLockMark(shared);
    TracyCSharedLockAfterUnlock(shared);
    TracyCSharedLockAfterTryLock(shared, 0);
    TracyCSharedLockCustomName(shared, "renamed shared lock", 19);
    TracyCSharedLockBeforeSharedLock(shared);
    TracyCSharedLockAfterSharedLock(shared);
    TracyCSharedLockAfterSharedUnlock(shared);
    TracyCSharedLockAfterTrySharedLock(shared, 1);
    TracyCSharedLockAfterSharedUnlock(shared);
    TracyCSharedLockTerminate(shared);
    (void)sizeof lock;
    (void)sizeof shared;
}

static void memory(void)
{
    static char block[8];
    TracyCAlloc(&block[0], 100);
    TracyCFree(&block[0]);
    TracyCSecureAlloc(&block[1], 200);
    TracyCSecureFree(&block[1]);
    TracyCAllocN(&block[2], 300, "pool");
    TracyCFreeN(&block[2], "pool");
    TracyCSecureAllocN(&block[3], 400, "pool");
    TracyCSecureFreeN(&block[3], "pool");
    TracyCAllocS(&block[4], 500, 10);
    TracyCFreeS(&block[4], 10);
    TracyCSecureAllocS(&block[5], 600, 10);
    TracyCSecureFreeS(&block[5], 10);
    TracyCAllocNS(&block[6], 700, 10, "pool");
    TracyCFreeNS(&block[6], 10, "pool");
    TracyCSecureAllocNS(&block[7], 800, 10, "pool");
    TracyCSecureFreeNS(&block[7], 10, "pool");
    TracyCAlloc(&block[0], 1000);
    TracyCAllocN(&block[0], 10, "arena");
    TracyCMemoryDiscard("arena");
    TracyCAllocN(&block[0], 10, "arena");
    TracyCAllocN(&block[1], 20, "arena");
    TracyCSecureMemoryDiscard("arena");
    TracyCAllocN(&block[0], 10, "arena");
    TracyCMemoryDiscardS("arena", 10);
    TracyCAllocN(&block[0], 10, "arena");
    TracyCSecureMemoryDiscardS("arena", 10);
    TracyCFree(&block[0]);
    (void)block;
}

static void plots_and_messages(void)
{
    TracyCPlotConfig("queue", TracyPlotFormatNumber, 1, 1, 0);
    TracyCPlot("queue", -1.5);
    TracyCPlotF("queue", 2.5f);
    TracyCPlotI("bytes", (int64_t)1 << 40);
    TracyCMessage("Message and what does not count", 7);
    TracyCMessageL("MessageL");
    TracyCMessageC("MessageC", 8, 0xff0000);
    TracyCMessageLC("MessageLC", 0xff0000);
    TracyCMessageS("MessageS", 8, 10);
    TracyCMessageLS("MessageLS", 10);
    TracyCMessageCS("MessageCS", 9, 0xff0000, 10);
    TracyCMessageLCS("MessageLCS", 0xff0000, 10);
    TracyCAppInfo("revision 17", 11);
}

#ifdef TRACY_ENABLE
static void bindings(void)
{
    static const struct ___tracy_source_location_data place = {"static place", "bindings", "place.c", 7,
                                                               0x123456};
    TracyCZoneCtx zone = ___tracy_emit_zone_begin(&place, 1);
    ___tracy_emit_zone_end(zone);
    ___tracy_emit_zone_end(___tracy_emit_zone_begin_callstack(&place, 10, 1));
    uint64_t copied = ___tracy_alloc_srcloc(8, "place.cXX", 7, "copiedXX", 6);
    ___tracy_emit_zone_end(___tracy_emit_zone_begin_alloc(copied, 1));
    copied = ___tracy_alloc_srcloc_name(9, "place.c", 7, "copied", 6, "copied placeXX", 12, 0xabcdef);
    ___tracy_emit_zone_end(___tracy_emit_zone_begin_alloc_callstack(copied, 10, 1));
    ___tracy_emit_zone_end(___tracy_emit_zone_begin_alloc(___tracy_alloc_srcloc(9, "", 0, "never", 5, 1), 0));
    ___tracy_startup_profiler();
    if (___tracy_get_time() >= 0 && ___tracy_profiler_started())
        ___tracy_shutdown_profiler();
    struct ___tracy_gpu_new_context_data context = {0, 1.0f, 0, 0, 0};
    ___tracy_emit_gpu_new_context(context);
    struct ___tracy_gpu_zone_begin_data begin = {___tracy_alloc_srcloc(1, "gpu.c", 5, "gpu", 3), 0, 0};
    ___tracy_emit_gpu_zone_begin_alloc_serial(begin);
    struct ___tracy_gpu_zone_end_data end = {1, 0};
    ___tracy_emit_gpu_zone_end_serial(end);
}
#endif

static void fibers(void)
{
    TracyCFiberEnter("job 1");
    TracyCZoneN(one, "in job 1", 1);
    TracyCFiberEnter("job 2");
    TracyCZoneN(two, "in job 2", 1);
    TracyCZoneEnd(two);
    TracyCFiberEnter("job 1");
    TracyCZoneEnd(one);
    TracyCFiberLeave;
}

int main(void)
{
    TracyCSetThreadName("main of C");
    if (TracyCBeginSamplingProfiling()) {
        TracyCEndSamplingProfiling();
    }
    zones();
    frames();
    locks();
    memory();
    plots_and_messages();
    fibers();
#ifdef TRACY_ENABLE
    bindings();
#endif
    printf("connected %d started %d evaluated %d\n", (int)TracyCIsConnected, (int)TracyCIsStarted, evaluated);
    return 0;
}
