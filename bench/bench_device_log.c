/* SPDX-License-Identifier: Apache-2.0 */
/* bench_device_log MEGABYTES: a profile_log_device.csv of about that size on stdout: 64 cores, five processors each,
 * ops one after the other, as a device's dump has them. Names and paths are as long as real ones. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CORES 64
#define LINE_BYTES 120

static const char *const processors[] = {"BRISC", "NCRISC", "TRISC_0", "TRISC_1", "TRISC_2"};
static const char *const zones[] = {"BRISC", "NCRISC", "TRISC", "TRISC", "TRISC"};
static const char *const files[] = {"brisc", "ncrisc", "trisc", "trisc", "trisc"};

static void marker(unsigned core, unsigned processor, unsigned timer, uint64_t time, uint64_t id,
                   const char *zone, const char *type, const char *kernel)
{
    printf("0,%u,%u,%s,%u,%" PRIu64 ",0,%" PRIu64
           ",,,%s-%s,%s,%u,/opt/tenstorrent/tt_metal/hw/firmware/src/%s%s.cc,\n",
           1 + core % 8, 1 + core / 8, processors[processor], timer + processor, time, id, zones[processor],
           zone, type, timer / 100, files[processor], kernel);
}

int main(int argc, char **argv)
{
    unsigned long megabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    uint64_t ops = (uint64_t)megabytes * 1000000 / (CORES * 5 * 4 * LINE_BYTES);
    printf("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: %d\n", CORES);
    printf(
        "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace "
        "id, trace id counter, zone name, type, source line, source file, meta data\n");
    for (unsigned core = 0; core < CORES; core++) {
        for (unsigned processor = 0; processor < 5; processor++) {
            for (uint64_t op = 0; op < ops; op++) {
                uint64_t start = UINT64_C(1000000000000) + op * 100000 + core * 7 + processor * 3;
                uint64_t end = start + 60000 + (core * 13 + op * 17) % 5000 - processor * 40;
                uint64_t id = (op + 1) << 10;
                marker(core, processor, 61000, start, id, "FW", "ZONE_START", "");
                marker(core, processor, 62000, start + 300, id, "KERNEL", "ZONE_START", "k");
                marker(core, processor, 62000, end, id, "KERNEL", "ZONE_END", "k");
                marker(core, processor, 61000, end + 100, id, "FW", "ZONE_END", "");
            }
        }
    }
    return 0;
}
