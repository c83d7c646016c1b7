// SPDX-License-Identifier: Apache-2.0
// Tracy's macros, recorded by opscope: for programs that are marked up for Tracy and are built again. Put
// <prefix>/include/opscope/compat where Tracy's `public` folder was in the include path, and link with -lopscope.
// Which macro becomes what, and which have no effect: docs/tracy-headers.md.
//
// TRACY_ENABLE: as in Tracy, without it everything here is nothing, and no argument is evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_HPP
#define OPSCOPE_COMPAT_TRACY_HPP

#include "../common/TracyColor.hpp"
#include "../common/TracySystem.hpp"

enum TracyParamType { TracyParamTypeInt, TracyParamTypeBool, TracyParamTypeTrigger };

#if !defined(TRACY_ENABLE) || defined(OPSCOPE_DISABLE)

#define TracyNoop

#define ZoneNamed(...)
#define ZoneNamedN(...)
#define ZoneNamedC(...)
#define ZoneNamedNC(...)
#define ZoneNamedS(...)
#define ZoneNamedNS(...)
#define ZoneNamedCS(...)
#define ZoneNamedNCS(...)
#define ZoneTransient(...)
#define ZoneTransientN(...)
#define ZoneTransientNC(...)
#define ZoneTransientS(...)
#define ZoneTransientNS(...)
#define ZoneTransientNCS(...)
#define ZoneScoped
#define ZoneScopedN(...)
#define ZoneScopedC(...)
#define ZoneScopedNC(...)
#define ZoneScopedS(...)
#define ZoneScopedNS(...)
#define ZoneScopedCS(...)
#define ZoneScopedNCS(...)
#define ZoneText(...)
#define ZoneTextV(...)
#define ZoneTextF(...)
#define ZoneTextVF(...)
#define ZoneName(...)
#define ZoneNameV(...)
#define ZoneNameF(...)
#define ZoneNameVF(...)
#define ZoneColor(...)
#define ZoneColorV(...)
#define ZoneValue(...)
#define ZoneValueV(...)
#define ZoneIsActive false
#define ZoneIsActiveV(...) false

#define FrameMark
#define FrameMarkNamed(...)
#define FrameMarkStart(...)
#define FrameMarkEnd(...)
#define FrameImage(...)

#define TracySectionEnter(...) 0
#define TracySectionLeave(...)

#define TracyLockable(type, variable) type variable
#define TracyLockableN(type, variable, description) type variable
#define TracySharedLockable(type, variable) type variable
#define TracySharedLockableN(type, variable, description) type variable
#define LockableBase(type) type
#define SharedLockableBase(type) type
#define LockMark(variable) (void)(variable)
#define LockableName(...)

#define TracyPlot(...)
#define TracyPlotConfig(...)

#define TracyMessage(...)
#define TracyMessageL(...)
#define TracyMessageC(...)
#define TracyMessageLC(...)
#define TracyMessageS(...)
#define TracyMessageLS(...)
#define TracyMessageCS(...)
#define TracyMessageLCS(...)
#define TracyLogString(...)
#define TracyAppInfo(...)
#define TracySetProgramName(...)

#define TracyAlloc(...)
#define TracyFree(...)
#define TracySecureAlloc(...)
#define TracySecureFree(...)
#define TracyMemoryDiscard(...)
#define TracySecureMemoryDiscard(...)
#define TracyAllocN(...)
#define TracyFreeN(...)
#define TracySecureAllocN(...)
#define TracySecureFreeN(...)
#define TracyAllocS(...)
#define TracyFreeS(...)
#define TracySecureAllocS(...)
#define TracySecureFreeS(...)
#define TracyMemoryDiscardS(...)
#define TracySecureMemoryDiscardS(...)
#define TracyAllocNS(...)
#define TracyFreeNS(...)
#define TracySecureAllocNS(...)
#define TracySecureFreeNS(...)

#define TracyParameterRegister(...)
#define TracyParameterSetup(...)
#define TracySourceCallbackRegister(...)
#define TracyIsConnected false
#define TracyIsStarted false
#define TracyFiberEnter(...)
#define TracyFiberEnterHint(...)
#define TracyFiberLeave

#else

#include "../client/TracyLock.hpp"
#include "../client/TracyProfiler.hpp"
#include "../client/TracyScoped.hpp"

#ifndef TRACY_CALLSTACK
#define TRACY_CALLSTACK 0
#endif

#define TracyNoop static_cast<void>(tracy::ProfilerAvailable())

// A zone inside a zone has a variable of the same name.
#ifdef TRACY_ALLOW_SHADOW_WARNING
#define OPSCOPE_TRACY_QUIET_
#define OPSCOPE_TRACY_LOUD_
#else
#define OPSCOPE_TRACY_QUIET_ _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define OPSCOPE_TRACY_LOUD_ _Pragma("GCC diagnostic pop")
#endif

#define OPSCOPE_TRACY_ZONE_(variable, name, color, active)                                                   \
    OPSCOPE_TRACY_ZONE_AT_(OPSCOPE_JOIN_(OPSCOPE_JOIN_(opscope_site_, variable), __LINE__), variable, name,  \
                           color, active)
#define OPSCOPE_TRACY_ZONE_AT_(place, variable, name, color, active)                                         \
    OPSCOPE_TRACY_QUIET_                                                                                     \
    static opscope_own_site_ place = {{static_cast<uint32_t>(sizeof(opscope_site)),                          \
                                       static_cast<uint32_t>(TracyLine), name, TracyFunction, TracyFile,     \
                                       static_cast<uint32_t>(color), 0}};                                    \
    tracy::ScopedZone variable(&(place).site, static_cast<bool>(active));                                    \
    OPSCOPE_TRACY_LOUD_
#define OPSCOPE_TRACY_TRANSIENT_(variable, name, color, active)                                              \
    OPSCOPE_TRACY_QUIET_                                                                                     \
    tracy::ScopedZone variable(static_cast<uint32_t>(TracyLine), TracyFile, TracyFunction, name,             \
                               static_cast<uint32_t>(color), static_cast<bool>(active));                     \
    OPSCOPE_TRACY_LOUD_

// Call stacks are not recorded: the macros that end in S are as those without, and their depth is dropped.
#define ZoneNamed(variable, active) OPSCOPE_TRACY_ZONE_(variable, nullptr, 0, active)
#define ZoneNamedN(variable, name, active) OPSCOPE_TRACY_ZONE_(variable, name, 0, active)
#define ZoneNamedC(variable, color, active) OPSCOPE_TRACY_ZONE_(variable, nullptr, color, active)
#define ZoneNamedNC(variable, name, color, active) OPSCOPE_TRACY_ZONE_(variable, name, color, active)
#define ZoneNamedS(variable, depth, active) ZoneNamed(variable, active)
#define ZoneNamedNS(variable, name, depth, active) ZoneNamedN(variable, name, active)
#define ZoneNamedCS(variable, color, depth, active) ZoneNamedC(variable, color, active)
#define ZoneNamedNCS(variable, name, color, depth, active) ZoneNamedNC(variable, name, color, active)
#define ZoneTransient(variable, active) OPSCOPE_TRACY_TRANSIENT_(variable, nullptr, 0, active)
#define ZoneTransientN(variable, name, active) OPSCOPE_TRACY_TRANSIENT_(variable, name, 0, active)
#define ZoneTransientNC(variable, name, color, active) OPSCOPE_TRACY_TRANSIENT_(variable, name, color, active)
#define ZoneTransientS(variable, depth, active) ZoneTransient(variable, active)
#define ZoneTransientNS(variable, name, depth, active) ZoneTransientN(variable, name, active)
#define ZoneTransientNCS(variable, name, color, depth, active) ZoneTransientNC(variable, name, color, active)
#define ZoneScoped ZoneNamed(___tracy_scoped_zone, true)
#define ZoneScopedN(name) ZoneNamedN(___tracy_scoped_zone, name, true)
#define ZoneScopedC(color) ZoneNamedC(___tracy_scoped_zone, color, true)
#define ZoneScopedNC(name, color) ZoneNamedNC(___tracy_scoped_zone, name, color, true)
#define ZoneScopedS(depth) ZoneNamed(___tracy_scoped_zone, true)
#define ZoneScopedNS(name, depth) ZoneNamedN(___tracy_scoped_zone, name, true)
#define ZoneScopedCS(color, depth) ZoneNamedC(___tracy_scoped_zone, color, true)
#define ZoneScopedNCS(name, color, depth) ZoneNamedNC(___tracy_scoped_zone, name, color, true)

#define ZoneText(text, size) ___tracy_scoped_zone.Text(text, size)
#define ZoneTextV(variable, text, size) variable.Text(text, size)
#define ZoneTextF(...) ___tracy_scoped_zone.TextFmt(__VA_ARGS__)
#define ZoneTextVF(variable, ...) variable.TextFmt(__VA_ARGS__)
#define ZoneName(text, size) ___tracy_scoped_zone.Name(text, size)
#define ZoneNameV(variable, text, size) variable.Name(text, size)
#define ZoneNameF(...) ___tracy_scoped_zone.NameFmt(__VA_ARGS__)
#define ZoneNameVF(variable, ...) variable.NameFmt(__VA_ARGS__)
#define ZoneColor(color) ___tracy_scoped_zone.Color(color)
#define ZoneColorV(variable, color) variable.Color(color)
#define ZoneValue(value) ___tracy_scoped_zone.Value(value)
#define ZoneValueV(variable, value) variable.Value(value)
#define ZoneIsActive ___tracy_scoped_zone.IsActive()
#define ZoneIsActiveV(variable) variable.IsActive()

#define FrameMark opscope_tracy_frame_(nullptr)
#define FrameMarkNamed(name) opscope_tracy_frame_(name)
#define FrameMarkStart(name) opscope_tracy_frame_start_(name)
#define FrameMarkEnd(name) opscope_tracy_frame_end_(name)
#define FrameImage(image, width, height, offset, flip) tracy::Drop(image, width, height, offset, flip)

#define TracySectionEnter(...) tracy::SectionEnter(__VA_ARGS__)
#define TracySectionLeave(id) tracy::SectionLeave(id)

#define TracyLockable(type, variable)                                                                        \
    tracy::Lockable<type> variable                                                                           \
    {                                                                                                        \
#type " " #variable, TracyFile, static_cast < uint32_t>(TracyLine)                                   \
    }
#define TracyLockableN(type, variable, description)                                                          \
    tracy::Lockable<type> variable                                                                           \
    {                                                                                                        \
        description, TracyFile, static_cast<uint32_t>(TracyLine)                                             \
    }
#define TracySharedLockable(type, variable)                                                                  \
    tracy::SharedLockable<type> variable                                                                     \
    {                                                                                                        \
#type " " #variable, TracyFile, static_cast < uint32_t>(TracyLine)                                   \
    }
#define TracySharedLockableN(type, variable, description)                                                    \
    tracy::SharedLockable<type> variable                                                                     \
    {                                                                                                        \
        description, TracyFile, static_cast<uint32_t>(TracyLine)                                             \
    }
#define LockableBase(type) tracy::Lockable<type>
#define SharedLockableBase(type) tracy::SharedLockable<type>
#define LockMark(variable) variable.Mark(nullptr)
#define LockableName(variable, text, size) variable.CustomName(text, size)

#define TracyPlot(name, value) OPSCOPE_TRACY_PLOT_(name, static_cast<double>(value))
#define TracyPlotConfig(name, format, step, fill, color) tracy::Drop(name, format, step, fill, color)

#define TracyMessage(text, size) opscope_tracy_message_(text, size)
#define TracyMessageL(text) opscope_message(text)
#define TracyMessageC(text, size, color) opscope_tracy_message_(text, size)
#define TracyMessageLC(text, color) opscope_message(text)
#define TracyMessageS(text, size, depth) opscope_tracy_message_(text, size)
#define TracyMessageLS(text, depth) opscope_message(text)
#define TracyMessageCS(text, size, color, depth) opscope_tracy_message_(text, size)
#define TracyMessageLCS(text, color, depth) opscope_message(text)
#define TracyLogString(...) tracy::LogString(__VA_ARGS__)
#define TracyAppInfo(text, size) opscope_tracy_app_info_(text, size)
#define TracySetProgramName(name) tracy::Drop(name)

#define TracyAlloc(address, size) opscope_alloc(address, size, nullptr)
#define TracyFree(address) opscope_free(address, nullptr)
#define TracySecureAlloc(address, size) opscope_alloc(address, size, nullptr)
#define TracySecureFree(address) opscope_free(address, nullptr)
#define TracyMemoryDiscard(name) opscope_free_all(name)
#define TracySecureMemoryDiscard(name) opscope_free_all(name)
#define TracyAllocN(address, size, name) opscope_alloc(address, size, name)
#define TracyFreeN(address, name) opscope_free(address, name)
#define TracySecureAllocN(address, size, name) opscope_alloc(address, size, name)
#define TracySecureFreeN(address, name) opscope_free(address, name)
#define TracyAllocS(address, size, depth) opscope_alloc(address, size, nullptr)
#define TracyFreeS(address, depth) opscope_free(address, nullptr)
#define TracySecureAllocS(address, size, depth) opscope_alloc(address, size, nullptr)
#define TracySecureFreeS(address, depth) opscope_free(address, nullptr)
#define TracyMemoryDiscardS(name, depth) opscope_free_all(name)
#define TracySecureMemoryDiscardS(name, depth) opscope_free_all(name)
#define TracyAllocNS(address, size, depth, name) opscope_alloc(address, size, name)
#define TracyFreeNS(address, depth, name) opscope_free(address, name)
#define TracySecureAllocNS(address, size, depth, name) opscope_alloc(address, size, name)
#define TracySecureFreeNS(address, depth, name) opscope_free(address, name)

// Nobody changes a parameter or asks for a source file while a program is recorded: the callbacks are never called.
#define TracyParameterRegister(callback, data) tracy::Drop(tracy::ParameterCallback(callback), data)
#define TracyParameterSetup(index, name, type, value) tracy::Drop(index, name, type, value)
#define TracySourceCallbackRegister(callback, data) tracy::Drop(tracy::SourceContentsCallback(callback), data)
#define TracyIsConnected tracy::GetProfiler().IsConnected()
#define TracyIsStarted tracy::IsProfilerStarted()

#ifdef TRACY_FIBERS
#define TracyFiberEnter(fiber) opscope_tracy_fiber_enter_(fiber)
#define TracyFiberEnterHint(fiber, group) opscope_tracy_fiber_enter_(fiber)
#define TracyFiberLeave opscope_tracy_fiber_leave_()
#else
#define TracyFiberEnter(fiber)
#define TracyFiberEnterHint(fiber, group)
#define TracyFiberLeave
#endif

#endif // TRACY_ENABLE

#endif
