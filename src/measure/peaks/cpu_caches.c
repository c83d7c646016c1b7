/* SPDX-License-Identifier: Apache-2.0 */
#include "measure/peaks/cpu_caches.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEXES 8u /* caches of a CPU that are looked at */

static bool read_line(unsigned cpu, unsigned index, const char *what, char *text, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cache/index%u/%s", cpu, index, what);
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(text, (int)size, file) != NULL;
    if (file)
        fclose(file);
    return is_read;
}

/* "0-3,8": a cache is counted with the first of the CPUs that may be used. */
static bool is_first_user(const char *list, unsigned cpu, const cpu_set_t *usable)
{
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long from = strtoul(list, &end, 10), to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
        for (; from <= to && from < CPU_SETSIZE; from++) {
            if (CPU_ISSET(from, usable))
                return from == cpu;
        }
        list = *end == ',' ? end + 1 : end;
    }
    return false;
}

/* Level 2 is place 0; below 0: a cache of instructions, or of another level. */
static int level_of(unsigned cpu, unsigned index)
{
    char type[32] = "", level[16] = "";
    if (!read_line(cpu, index, "type", type, sizeof type) || strncmp(type, "Instruction", 11) == 0 ||
        !read_line(cpu, index, "level", level, sizeof level))
        return -1;
    return level[0] == '2' ? 0 : level[0] == '3' ? 1 : -1;
}

void cpu_cache_bytes(uint32_t threads, double bytes[PEAK_CACHES])
{
    double sizes[PEAK_CACHES] = {0}, counts[PEAK_CACHES] = {0};
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (sched_getaffinity(0, sizeof usable, &usable) != 0)
        CPU_SET(0, &usable);
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        for (unsigned index = 0; CPU_ISSET(cpu, &usable) && index < INDEXES; index++) {
            char users[256] = "", size[32] = "";
            int level = level_of(cpu, index);
            if (level < 0 || !read_line(cpu, index, "shared_cpu_list", users, sizeof users) ||
                !is_first_user(users, cpu, &usable) || !read_line(cpu, index, "size", size, sizeof size))
                continue;
            char *end;
            double own = strtod(size, &end) * (*end == 'K' ? 1024 : *end == 'M' ? 1048576 : 1);
            sizes[level] = own > sizes[level] ? own : sizes[level];
            counts[level]++;
        }
    }
    for (unsigned i = 0; i < PEAK_CACHES; i++)
        bytes[i] = sizes[i] * (counts[i] < threads ? counts[i] : threads);
}
