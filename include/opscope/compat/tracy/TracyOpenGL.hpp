// SPDX-License-Identifier: Apache-2.0
// Tracy's macros for OpenGL. They are there so that programs compile: nothing is recorded, and no argument is
// evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_OPENGL_HPP
#define OPSCOPE_COMPAT_TRACY_OPENGL_HPP

#define TracyGpuContext
#define TracyGpuCollect
#define TracyGpuContextName(...)
#define TracyGpuZone(...)
#define TracyGpuZoneC(...)
#define TracyGpuZoneS(...)
#define TracyGpuZoneCS(...)
#define TracyGpuNamedZone(...)
#define TracyGpuNamedZoneC(...)
#define TracyGpuNamedZoneS(...)
#define TracyGpuNamedZoneCS(...)
#define TracyGpuZoneTransient(...)
#define TracyGpuZoneTransientS(...)

#endif
