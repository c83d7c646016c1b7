/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the machine: kernel, clock, limits, memory cgroup. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "doctor/doctor.h"
#include "collect/clock_map.h"
#include "present/format.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define SMALL_FILE_LIMIT ((uint64_t)1 << 30) /* a segment is a sparse file of some 200 MiB and more */
#define SMALL_CGROUP ((uint64_t)128 << 20)

/* The first line of a small file; "" when it cannot be read. */
static const char *first_line(const char *path, char *buffer, size_t size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = descriptor >= 0 ? read(descriptor, buffer, size - 1) : 0;
    if (descriptor >= 0)
        close(descriptor);
    buffer[n > 0 ? n : 0] = '\0';
    buffer[strcspn(buffer, "\n")] = '\0';
    return buffer;
}

static void check_madvise(struct doctor *doctor)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        doctor_add(doctor, "memory mapping", DOCTOR_FAIL, "The process may not map memory; see ulimit -v.",
                   "%s", strerror(errno));
        return;
    }
    if (madvise(memory, page, MADV_WIPEONFORK) == 0)
        doctor_add(doctor, "MADV_WIPEONFORK", DOCTOR_OK, NULL, "every kind of fork is noticed");
    else
        doctor_add(
            doctor, "MADV_WIPEONFORK", DOCTOR_WARN,
            "Children made with fork() are recorded; those of a raw clone system call are not told apart from "
            "their parent. Linux 4.14 or newer has it.",
            "not here: %s", strerror(errno));
    if (madvise(memory, page, MADV_POPULATE_WRITE) == 0)
        doctor_add(doctor, "MADV_POPULATE_WRITE", DOCTOR_OK, NULL,
                   "memory is committed in steps, without SIGBUS");
    else
        doctor_add(
            doctor, "MADV_POPULATE_WRITE", DOCTOR_WARN,
            "The buffers are committed whole when a process starts to record, with fallocate. Linux 5.14 or "
            "newer commits them as they are needed.",
            "not here: %s", strerror(errno));
    munmap(memory, page);
}

static void check_inotify(struct doctor *doctor)
{
    char instances[32], watches[32];
    int descriptor = inotify_init1(IN_CLOEXEC);
    int code = errno;
    first_line("/proc/sys/fs/inotify/max_user_instances", instances, sizeof instances);
    first_line("/proc/sys/fs/inotify/max_user_watches", watches, sizeof watches);
    if (descriptor >= 0)
        doctor_add(doctor, "inotify", DOCTOR_OK, NULL, "limits of this user: %s instances, %s watches",
                   instances, watches);
    else
        doctor_add(doctor, "inotify", DOCTOR_WARN,
                   "New and ended processes are found by looking every 10 ms instead. Raise "
                   "fs.inotify.max_user_instances if other programs use it up.",
                   "%s (limit %s instances)", strerror(code), instances);
    if (descriptor >= 0)
        close(descriptor);
}

static void check_priority(struct doctor *doctor)
{
    errno = 0;
    int before = getpriority(PRIO_PROCESS, 0);
    if (setpriority(PRIO_PROCESS, 0, -5) == 0) {
        setpriority(PRIO_PROCESS, 0, before);
        doctor_add(doctor, "priority", DOCTOR_OK, NULL, "the collector may raise its priority");
    } else {
        doctor_add(
            doctor, "priority", DOCTOR_INFO,
            "On a machine whose cores are all busy, a larger --buffer-size or --on-full=wait avoids losses.",
            "the collector runs at normal priority (%s)", strerror(errno));
    }
}

static void check_limit(struct doctor *doctor, const char *check, unsigned resource, const char *advice)
{
    struct rlimit limit;
    struct number_text number;
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        doctor_add(doctor, check, DOCTOR_OK, NULL, "unlimited");
    else
        doctor_add(doctor, check, limit.rlim_cur < SMALL_FILE_LIMIT ? DOCTOR_WARN : DOCTOR_OK, advice, "%s",
                   format_bytes(&number, limit.rlim_cur));
}

void doctor_check_kernel(struct doctor *doctor)
{
    struct utsname name;
    if (uname(&name) == 0)
        doctor_add(doctor, "kernel", DOCTOR_INFO, NULL, "%s %s %s, %ld processors", name.sysname,
                   name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN));
    check_madvise(doctor);
    check_inotify(doctor);
    check_priority(doctor);
    check_limit(doctor, "file size limit", RLIMIT_FSIZE,
                "Programs that run under this limit cannot make their buffer and are not recorded: ulimit -f "
                "unlimited.");
    check_limit(
        doctor, "address space limit", RLIMIT_AS,
        "Programs that run under this limit may not be able to map their buffer: ulimit -v unlimited.");
}

/* The fastest of some rounds: what a read costs when nothing is in the way. */
static double read_cost_ns(uint32_t source)
{
    enum { ROUNDS = 20, READS = 2000 };
    uint64_t best = UINT64_MAX;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t begin = clock_raw_ns();
        for (unsigned i = 0; i < READS; i++) {
            uint64_t ticks = clock_ticks(source);
            __asm__ volatile("" : : "r"(ticks));
        }
        uint64_t time = clock_raw_ns() - begin;
        best = time < best ? time : best;
    }
    return (double)best / READS;
}

void doctor_check_clock(struct doctor *doctor)
{
    char current[32];
    first_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", current, sizeof current);
    if (clock_map_choose_source() == CLOCK_SOURCE_COUNTER)
        doctor_add(doctor, "clock", DOCTOR_OK, NULL,
                   "the processor's counter, %.1f ns per read (clocksource %s)",
                   read_cost_ns(CLOCK_SOURCE_COUNTER), *current ? current : "unknown");
    else
        doctor_add(
            doctor, "clock", DOCTOR_WARN,
            "The kernel does not use the processor's counter as its clock (clocksource tsc), or the counter "
            "is not invariant: it is not trusted, and reading the time costs more.",
            "CLOCK_MONOTONIC_RAW, %.1f ns per read (clocksource %s)", read_cost_ns(CLOCK_SOURCE_RAW),
            *current ? current : "unknown");
}

/* Where this process's cgroup has its files: the path after "0::" (version 2) or ":memory:" (version 1). */
static bool cgroup_folder(char *path, size_t size, bool *is_v2)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char line[1024];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *memory = strstr(line, ":memory:");
        if (strncmp(line, "0::", 3) == 0) {
            snprintf(path, size, "/sys/fs/cgroup%s", line + 3);
            *is_v2 = true;
        } else if (memory) {
            snprintf(path, size, "/sys/fs/cgroup/memory%s", memory + strlen(":memory:"));
            *is_v2 = false;
        } else {
            continue;
        }
        is_found = access(path, R_OK) == 0;
        if (!is_found) { /* inside a container the path is that of the host; the files are at the top */
            snprintf(path, size, "%s", *is_v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
            is_found = access(path, R_OK) == 0;
        }
    }
    if (file)
        fclose(file);
    return is_found;
}

static bool cgroup_number(const char *folder, const char *name, uint64_t *value)
{
    char path[1400], text[64];
    char *end = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    first_line(path, text, sizeof text);
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text && *end == '\0' && errno == 0;
}

void doctor_check_memory(struct doctor *doctor)
{
    char folder[1200];
    uint64_t limit = 0, used = 0;
    struct number_text limit_text, used_text;
    bool is_v2 = false;
    /* Version 1 says "no limit" with a number near 2^63. */
    if (!cgroup_folder(folder, sizeof folder, &is_v2) ||
        !cgroup_number(folder, is_v2 ? "memory.max" : "memory.limit_in_bytes", &limit) ||
        limit >= UINT64_MAX / 4) {
        doctor_add(doctor, "memory cgroup", DOCTOR_OK, NULL, "no limit");
        return;
    }
    cgroup_number(folder, is_v2 ? "memory.current" : "memory.usage_in_bytes", &used);
    bool is_small = limit < used + SMALL_CGROUP;
    doctor_add(
        doctor, "memory cgroup", is_small ? DOCTOR_WARN : DOCTOR_OK,
        is_small
            ? "Buffers are charged to this cgroup; opscope stays away from its limit and counts what finds "
              "no room as lost."
            : NULL,
        "%s of %s used", format_bytes(&used_text, used), format_bytes(&limit_text, limit));
}
