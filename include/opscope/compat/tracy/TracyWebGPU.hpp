// SPDX-License-Identifier: Apache-2.0
// Tracy's macros for WebGPU. They are there so that programs compile: nothing is recorded, and no argument is
// evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_WEBGPU_HPP
#define OPSCOPE_COMPAT_TRACY_WEBGPU_HPP

typedef void *TracyWebGPUCtx;

#define TracyWebGPUContext(...) nullptr
#define TracyWebGPUSetupDeviceDescriptor(...)
#define TracyWebGPUDestroy(...)
#define TracyWebGPUContextName(...)
#define TracyWebGPUCollect(...)
#define TracyWebGPUZone(...)
#define TracyWebGPUZoneC(...)
#define TracyWebGPUZoneS(...)
#define TracyWebGPUZoneCS(...)
#define TracyWebGPUNamedZone(...)
#define TracyWebGPUNamedZoneC(...)
#define TracyWebGPUNamedZoneS(...)
#define TracyWebGPUNamedZoneCS(...)
#define TracyWebGPUZoneTransient(...)
#define TracyWebGPUZoneTransientS(...)

#endif
