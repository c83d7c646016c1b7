// SPDX-License-Identifier: Apache-2.0
// An observer of PyTorch's ops that does nothing: what torch itself takes for handing the inputs and outputs of its ops
// to any observer. bench/suite_torch.py builds it, and measures opscope's beside it.
#include <ATen/record_function.h>

static at::CallbackHandle handle;

static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction &)
{
    return nullptr;
}

static void end(const at::RecordFunction &, at::ObserverContext *)
{
}

extern "C" __attribute__((visibility("default"))) void torch_floor_start(void)
{
    handle = at::addGlobalCallback(at::RecordFunctionCallback(begin, end)
                                       .needsInputs(true)
                                       .needsOutputs(true)
                                       .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION,
                                                at::RecordScope::USER_SCOPE}));
}

extern "C" __attribute__((visibility("default"))) void torch_floor_stop(void)
{
    at::removeCallback(handle);
}
