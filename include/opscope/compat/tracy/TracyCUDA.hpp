// SPDX-License-Identifier: Apache-2.0
// Tracy's macros for CUDA. They are there so that programs compile: nothing is recorded, and no argument is
// evaluated.
#ifndef OPSCOPE_COMPAT_TRACY_CUDA_HPP
#define OPSCOPE_COMPAT_TRACY_CUDA_HPP

namespace tracy
{
class CUDACtx;
} // namespace tracy

typedef tracy::CUDACtx *TracyCUDACtx;

#define TracyCUDAContext(...) nullptr
#define TracyCUDAContextDestroy(...)
#define TracyCUDAContextName(...)
#define TracyCUDAStartProfiling(...)
#define TracyCUDAStopProfiling(...)
#define TracyCUDACollect(...)

#endif
