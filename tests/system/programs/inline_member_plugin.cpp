// SPDX-License-Identifier: Apache-2.0
// A plug-in for plugin_host.c, in C++: zones in inline members and in templates, which every other library might share.
#include <opscope/opscope.hpp>

namespace
{
volatile int done;
}

struct worker {
    void step()
    {
        OPSCOPE_ZONE("inline member");
        OPSCOPE_COUNTER("steps", done);
        done = done + 1;
    }
    template <typename Number> void step_of(Number number)
    {
        OPSCOPE_FUNCTION();
        done = done + static_cast<int>(number);
    }
};

extern "C" __attribute__((visibility("default"))) void plugin_work(int count);
extern "C" void plugin_work(int count)
{
    worker one;
    for (int i = 0; i < count; i++) {
        one.step();
        one.step_of(1.5);
    }
}
