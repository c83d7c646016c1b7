/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says about the CPUs. */
#include "measure/cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"

#define WATCH_US 50000u

/* Idle ticks of each CPU since the start of the machine. */
static bool read_idle(uint64_t *idle, size_t count)
{
    char line[512];
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return false;
    memset(idle, 0, count * sizeof *idle);
    while (fgets(line, sizeof line, file)) {
        unsigned cpu;
        unsigned long long user, nice, system, free_ticks, wait;
        if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &free_ticks, &wait) ==
                6 &&
            cpu < count)
            idle[cpu] = free_ticks + wait;
    }
    fclose(file);
    return true;
}

int cpu_choose(void)
{
    static uint64_t before[CPU_SETSIZE], after[CPU_SETSIZE];
    cpu_set_t set;
    int best = -1;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2 || !read_idle(before, CPU_SETSIZE))
        return -1;
    usleep(WATCH_US);
    if (!read_idle(after, CPU_SETSIZE))
        return -1;
    /* Ties go to the highest: interrupts and start-up work tend to be on the lowest. */
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set) &&
            (best < 0 || after[cpu] - before[cpu] >= after[best] - before[best]))
            best = cpu;
    return best;
}

int cpu_check(int cpu, struct error *err)
{
    cpu_set_t set;
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof set, &set) != 0 ||
        !CPU_ISSET((size_t)cpu, &set))
        return error_set(err, EINVAL, "--cpu=%d: this process may not run there", cpu);
    return 0;
}

void cpu_describe(char *out, size_t size)
{
    char line[512], model[200] = "";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !model[0] && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0)
            snprintf(model, sizeof model, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (file)
        fclose(file);
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    snprintf(out, size, "%s, %d CPU%s", model[0] ? model : "unknown CPU", count, count == 1 ? "" : "s");
}

static uint64_t read_number(const char *path)
{
    unsigned long long value = 0;
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &value) != 1) /* "max" */
        value = 0;
    if (file)
        fclose(file);
    return value;
}

uint64_t memory_half_bytes(void)
{
    uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        uint64_t limit = read_number(limits[i]);
        if (limit && limit < bytes)
            bytes = limit;
    }
    return bytes / 2;
}
