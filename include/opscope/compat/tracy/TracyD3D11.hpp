// SPDX-License-Identifier: Apache-2.0
// Tracy's macros for Direct3D 11. They are there so that programs compile: nothing is recorded, and no argument is
// evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_D3D11_HPP
#define OPSCOPE_COMPAT_TRACY_D3D11_HPP

typedef void *TracyD3D11Ctx;

#define TracyD3D11Context(...) nullptr
#define TracyD3D11Destroy(...)
#define TracyD3D11ContextName(...)
#define TracyD3D11Collect(...)
#define TracyD3D11Zone(...)
#define TracyD3D11ZoneC(...)
#define TracyD3D11ZoneS(...)
#define TracyD3D11ZoneCS(...)
#define TracyD3D11NamedZone(...)
#define TracyD3D11NamedZoneC(...)
#define TracyD3D11NamedZoneS(...)
#define TracyD3D11NamedZoneCS(...)
#define TracyD3D11ZoneTransient(...)
#define TracyD3D11ZoneTransientS(...)

#endif
