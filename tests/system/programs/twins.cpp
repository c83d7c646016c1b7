// SPDX-License-Identifier: Apache-2.0
// The C++ twins: zones and ops that end with their objects, on every way out of a scope.
#include <stdexcept>
#include <string>
#include <thread>

#include <opscope/opscope.hpp>

static void throws()
{
    OPSCOPE_ZONE("left by an exception");
    opscope::Zone zone("object left by an exception");
    throw std::runtime_error("out");
}

static int returns_early(int n)
{
    opscope::Zone zone(std::string("returns ") + std::to_string(n));
    if (n > 1)
        return n;
    zone.value(7).text("the long way").colour(0xff0000);
    return 0;
}

static auto lambda = [] { OPSCOPE_ZONE("in a lambda"); };

template <typename T> static void generic(T)
{
    OPSCOPE_FUNCTION();
}

int main()
{
    try {
        throws();
    } catch (const std::runtime_error &) {
    }
    returns_early(1);
    returns_early(2);
    lambda();
    generic(1);
    generic(1.0);
    std::thread([] { opscope::Zone zone("in a std::thread"); }).join();
    for (int turn = 0; turn < 2; turn++) {
        opscope::Task task("a task", 3);
        lambda();
    }
    {
        opscope::Op op("conv2d", OPSCOPE_OP_DEVICE, 1);
        op.input({{1, 3, 224, 224}, "BFLOAT16", "TILE", "DRAM", {1, 32, 224, 224}})
            .output({{1, 64, 112, 112}, "BFLOAT16", "", "", {}})
            .attribute("stride", "2");
        if (op.call() == 0 && opscope_is_recording())
            return 1;
    }
    return 0;
}
