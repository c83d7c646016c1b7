// SPDX-License-Identifier: Apache-2.0
// Tracy's macros for Vulkan. They are there so that programs compile: nothing is recorded, and no argument is
// evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_VULKAN_HPP
#define OPSCOPE_COMPAT_TRACY_VULKAN_HPP

typedef void *TracyVkCtx;

#define TracyVkContext(...) nullptr
#define TracyVkContextCalibrated(...) nullptr
#define TracyVkContextHostCalibrated(...) nullptr
#define TracyVkDestroy(...)
#define TracyVkContextName(...)
#define TracyVkCollect(...)
#define TracyVkCollectHost(...)
#define TracyVkZone(...)
#define TracyVkZoneC(...)
#define TracyVkZoneS(...)
#define TracyVkZoneCS(...)
#define TracyVkNamedZone(...)
#define TracyVkNamedZoneC(...)
#define TracyVkNamedZoneS(...)
#define TracyVkNamedZoneCS(...)
#define TracyVkZoneTransient(...)
#define TracyVkZoneTransientS(...)

#endif
