// SPDX-License-Identifier: Apache-2.0
// Tracy's macros for Direct3D 12. They are there so that programs compile: nothing is recorded, and no argument is
// evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_D3D12_HPP
#define OPSCOPE_COMPAT_TRACY_D3D12_HPP

typedef void *TracyD3D12Ctx;

#define TracyD3D12Context(...) nullptr
#define TracyD3D12Destroy(...)
#define TracyD3D12ContextName(...)
#define TracyD3D12NewFrame(...)
#define TracyD3D12Collect(...)
#define TracyD3D12Zone(...)
#define TracyD3D12ZoneC(...)
#define TracyD3D12ZoneS(...)
#define TracyD3D12ZoneCS(...)
#define TracyD3D12NamedZone(...)
#define TracyD3D12NamedZoneC(...)
#define TracyD3D12NamedZoneS(...)
#define TracyD3D12NamedZoneCS(...)
#define TracyD3D12ZoneTransient(...)
#define TracyD3D12ZoneTransientS(...)

#endif
