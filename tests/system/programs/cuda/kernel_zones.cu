/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_zones CASE: what opscope_kernel.cuh does on the host, with stub/cuda_runtime.h. A zone of 1 ms is
 * put into the buffer as a warp would. */
#include <opscope/opscope_kernel.cuh>

#include <cstdio>
#include <cstring>

static void write_zone(const opscope::kernel_buffer &buffer)
{
    const unsigned long long ns = stub::device_ns(), cycles = 7000000000;
    timespec rest = {0, 2000000};
    if (!buffer.counts)
        return;
    buffer.counts->warps = 1;
    buffer.owners[0] = {{cycles, ns}, {cycles + 2000000, ns + 2000000}, 17};
    buffer.zones[0] = {(static_cast<unsigned int>(cycles + 500000) & ~15u) | 1, static_cast<unsigned int>(cycles + 1500000)};
    nanosleep(&rest, nullptr);
}

int main(int, char **arguments)
{
    const char *name = arguments[1];
    stub::has_time = std::strcmp(name, "late") != 0 && std::strcmp(name, "never") != 0;
    if (std::strcmp(name, "no-memory") == 0)
        stub::most_bytes = 1000;
    opscope_zone_begin("around");
    {
        opscope::kernel_zones zones({"load"});
        write_zone(zones.buffer());
        stub::has_time = std::strcmp(name, "never") != 0;
        size_t taken = zones.collect();
        std::printf("%zu zones, error %d\n", taken, cudaGetLastError());
    }
    opscope_zone_end();
}
