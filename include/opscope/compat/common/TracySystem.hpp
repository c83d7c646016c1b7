// SPDX-License-Identifier: Apache-2.0
// Names of threads, which a program may set whether it is profiled or not. Included by tracy/Tracy.hpp.
#ifndef OPSCOPE_COMPAT_TRACY_SYSTEM_HPP
#define OPSCOPE_COMPAT_TRACY_SYSTEM_HPP

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#if defined(TRACY_ENABLE)
#include "../../opscope.h"
#endif

namespace tracy
{

/// Names this thread, for the operating system (its first 15 bytes) and in the trace.
inline void SetThreadName(const char *name)
{
    char start[16];
    std::size_t length = 0;
    for (; length < sizeof start - 1 && name[length]; length++)
        start[length] = name[length];
    start[length] = '\0';
#if defined(__linux__)
    pthread_setname_np(pthread_self(), start);
#endif
#if defined(TRACY_ENABLE)
    opscope_thread_name(name);
#endif
}

/// Groups of threads have no place in a trace.
inline void SetThreadNameWithHint(const char *name, int32_t /* group */)
{
    SetThreadName(name);
}

} // namespace tracy

#endif
