// SPDX-License-Identifier: Apache-2.0
// The names of namespace tracy that programs use beside the macros. Included by tracy/Tracy.hpp.
#ifndef OPSCOPE_COMPAT_TRACY_PROFILER_HPP
#define OPSCOPE_COMPAT_TRACY_PROFILER_HPP

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "../common/TracySystem.hpp"
#include "../recorder.h"

namespace tracy
{

enum class PlotFormatType : uint8_t { Number, Memory, Percentage, Watt };
enum class MessageSeverity : uint8_t { Trace, Debug, Info, Warning, Error, Fatal };

typedef void (*ParameterCallback)(void *data, uint32_t index, int32_t value);
typedef char *(*SourceContentsCallback)(void *data, const char *file, std::size_t &size);

/// Evaluates its arguments, as Tracy does, and drops them: opscope has no place for these events.
template <class... T> inline void Drop(const T &...)
{
}

class Profiler
{
  public:
    static int64_t GetTime()
    {
        return static_cast<int64_t>(opscope_now());
    }
    bool IsConnected() const
    {
        return opscope_is_recording() != 0;
    }
    static void SendFrameMark(const char *name)
    {
        opscope_tracy_frame_(name);
    }
    template <class T> static void PlotData(const char *name, T value)
    {
        opscope_counter(name, static_cast<double>(value));
    }
};

inline Profiler &GetProfiler()
{
    static Profiler profiler;
    return profiler;
}

/// The recorder is there from the first event to the last: nothing is to be started or stopped.
inline bool ProfilerAvailable()
{
    return true;
}
inline bool IsProfilerStarted()
{
    return true;
}
inline void StartupProfiler()
{
}
inline void ShutdownProfiler()
{
}

/// opscope does not sample; false: it was not begun.
inline bool BeginSamplingProfiling()
{
    return false;
}
inline void EndSamplingProfiling()
{
}

inline void *tracy_malloc(std::size_t size)
{
    return std::malloc(size);
}
inline void *tracy_malloc_fast(std::size_t size)
{
    return std::malloc(size);
}
inline void tracy_free(void *memory)
{
    std::free(memory);
}
inline void tracy_free_fast(void *memory)
{
    std::free(memory);
}

/// Severity, colour and call stack of a message have no place in the trace.
inline void LogString(MessageSeverity, uint32_t /* color */, int32_t /* depth */, std::size_t size,
                      const char *text)
{
    opscope_tracy_message_(text, size);
}
inline void LogString(MessageSeverity, uint32_t /* color */, int32_t /* depth */, const char *text)
{
    opscope_message(text);
}

/// A range that overlaps others as it likes: a span. It is left by the thread that entered it.
__attribute__((format(printf, 1, 2))) inline uint32_t SectionEnter(const char *format, ...)
{
    static uint32_t last = 0;
    const uint32_t id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    if (opscope_is_recording()) {
        char text[512];
        std::va_list values;
        va_start(values, format);
        const int length = std::vsnprintf(text, sizeof text, format, values);
        va_end(values);
        if (length >= 0)
            opscope_span_begin_(text, strlen(text), OPSCOPE_TRACY_SPAN_ >> 1 | id);
    }
    return id;
}
inline void SectionLeave(uint32_t id)
{
    OPSCOPE_IF_RECORDING_(opscope_span_end_(OPSCOPE_TRACY_SPAN_ >> 1 | id));
}

} // namespace tracy

#endif
