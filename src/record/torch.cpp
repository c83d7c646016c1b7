// SPDX-License-Identifier: Apache-2.0
// A zone for each op of torch's dispatcher: an observer of at::RecordFunction, loaded into a process that has torch
// (python/opscope/overhead/torch.py). Records name, start and end; nested ops lie inside one another, as they are
// called.
//
// Built for one release of torch, whose C++ interface it uses: libopscope_torch-1.13.so. It goes through the recorder's
// shared library, so that the zones land on the tracks of the process's other zones.
#include <ATen/record_function.h>

#include "opscope/opscope.h"

namespace
{

// Which of the open ops of this thread have a zone: the recorder may have no room for one, and then its end must not
// end another.
struct OpenOps {
    static constexpr unsigned most = 1024;
    unsigned depth = 0;
    bool has_zone[most] = {};
};

thread_local OpenOps open_ops;

std::unique_ptr<at::ObserverContext> begin_op(const at::RecordFunction &function)
{
    const char *name = function.name();
    if (open_ops.depth < OpenOps::most)
        open_ops.has_zone[open_ops.depth] = opscope_zone_begin_named_(name, strlen(name), 0) != 0;
    open_ops.depth++;
    return nullptr;
}

void end_op(const at::RecordFunction &, at::ObserverContext *)
{
    if (open_ops.depth == 0)
        return; // begun before the observer was there
    open_ops.depth--;
    if (open_ops.depth < OpenOps::most && open_ops.has_zone[open_ops.depth])
        opscope_zone_end_();
}

} // namespace

extern "C" __attribute__((visibility("default"))) void opscope_torch_start(void)
{
    static bool is_started = false;
    if (is_started || !opscope_is_recording())
        return;
    is_started = true;
    at::addGlobalCallback(at::RecordFunctionCallback(begin_op, end_op).scopes({at::RecordScope::FUNCTION}));
}
