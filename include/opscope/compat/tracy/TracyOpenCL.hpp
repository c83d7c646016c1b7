// SPDX-License-Identifier: Apache-2.0
// Tracy's macros for OpenCL. They are there so that programs compile: nothing is recorded, and no argument is
// evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_OPENCL_HPP
#define OPSCOPE_COMPAT_TRACY_OPENCL_HPP

typedef void *TracyCLCtx;

#define TracyCLContext(...) nullptr
#define TracyCLDestroy(...)
#define TracyCLContextName(...)
#define TracyCLCollect(...)
#define TracyCLZoneSetEvent(...)
#define TracyCLNamedZoneSetEvent(...)
#define TracyCLZone(...)
#define TracyCLZoneC(...)
#define TracyCLZoneS(...)
#define TracyCLZoneCS(...)
#define TracyCLNamedZone(...)
#define TracyCLNamedZoneC(...)
#define TracyCLNamedZoneS(...)
#define TracyCLNamedZoneCS(...)
#define TracyCLZoneTransient(...)
#define TracyCLZoneTransientS(...)

#endif
