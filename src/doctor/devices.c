/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what `opscope run --devices` needs: our adapters, the runtimes that load them, and tools that are in the
 * way. Nothing of a runtime is initialised: that may take seconds, and memory of a device. */
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/own_library.h"
#include "collect/gpu/library.h"
#include "doctor/doctor.h"

#define CUPTI_13 130000u /* versions count that way from CUDA 13 on; those of CUDA 12 are below 100 */
#define DRIVER_13 13000

static const struct {
    const char *part; /* of the library's path */
    const char *tool;
} tools[] = {
    {"nsight-systems", "Nsight Systems"},
    {"nsight_systems", "Nsight Systems"},
    {"libToolsInjection", "Nsight Systems"},
    {"nsight-compute", "Nsight Compute"},
    {"compute-sanitizer", "Compute Sanitizer"},
    {"libInterceptorInjection", "Compute Sanitizer"},
    {"nvbit", "NVBit"},
    {"libcupti", "CUPTI"},
    {"libopscope_", "another opscope"},
};

const char *doctor_tool_of(const char *library)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        if (strstr(library, tools[i].part))
            return tools[i].tool;
    }
    return NULL;
}

bool doctor_check_adapter(struct doctor *doctor, const char *check, const char *library, const char *variable,
                          char *path, size_t size)
{
    const char *value = variable ? getenv(variable) : NULL;
    if (!own_library_find(library, path, size)) {
        doctor_add(doctor, check, DOCTOR_WARN,
                   "It belongs beside libopscope.so: make install, or build it again.", "%s not found",
                   library);
        return false;
    }
    if (value && *value && strcmp(value, path) != 0) {
        const char *tool = doctor_tool_of(value);
        doctor_add(doctor, check, DOCTOR_WARN,
                   "opscope run leaves it to that tool. Unset the variable to record with opscope.",
                   "%s has it: %s=%s", tool ? tool : "another tool", variable, value);
        return false;
    }
    return true;
}

static void check_nvtx(struct doctor *doctor)
{
    char path[PATH_MAX];
    if (doctor_check_adapter(doctor, "NVTX", "libopscope_nvtx.so", "NVTX_INJECTION64_PATH", path,
                             sizeof path))
        doctor_add(doctor, "NVTX", DOCTOR_OK, NULL, "ranges of all programs are recorded (%s)", path);
}

bool doctor_check_access(struct doctor *doctor, const char *check, const char *file)
{
    struct stat st;
    if (access(file, R_OK | W_OK) == 0 || errno == ENOENT || stat(file, &st) != 0)
        return true;
    const struct group *group = getgrgid(st.st_gid);
    doctor_add(
        doctor, check, DOCTOR_WARN,
        st.st_mode & S_IWGRP && st.st_gid
            ? "Whoever is in the group of the file may use it: usermod -aG GROUP USER, and log in again."
            : "The administrator gives this user the right to read and write the file.",
        "no permission for %s (group %s, mode %03o)", file, group ? group->gr_name : "unknown",
        (unsigned)(st.st_mode & 0777));
    return false;
}

/* The driver's library is there in many containers and on build machines that have no GPU. */
static void check_gpu_files(struct doctor *doctor)
{
    static const char *const files[] = {"/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg"};
    bool is_there = false;
    for (size_t i = 0; i < COUNT_OF(files); i++)
        is_there |= access(files[i], F_OK) == 0;
    if (!is_there)
        doctor_add(
            doctor, "CUDA GPU", DOCTOR_WARN,
            "In a container: start it with its GPUs (docker run --gpus all). Else nvidia-smi says what is "
            "wrong with the kernel's module.",
            "the driver's library is there, but no GPU: no /dev/nvidiactl");
    else if (doctor_check_access(doctor, "CUDA GPU", "/dev/nvidiactl"))
        doctor_check_access(doctor, "CUDA GPU", "/dev/nvidia0");
}

/* Where the driver says that counters are for administrators alone; recording kernels needs no permission. */
static bool counters_are_restricted(void)
{
    char line[256];
    bool is_restricted = false;
    FILE *stream = fopen("/proc/driver/nvidia/params", "re");
    while (stream && fgets(line, sizeof line, stream))
        is_restricted |= strncmp(line, "RmProfilingAdminOnly: 1", strlen("RmProfilingAdminOnly: 1")) == 0;
    if (stream)
        fclose(stream);
    return is_restricted && geteuid() != 0;
}

/* For --gpu-metrics. Whether the GPU's chip is known, and whether another tool has the counters, shows when it runs. */
static void check_counters(struct doctor *doctor)
{
    struct pm_library *library = calloc(1, sizeof *library);
    struct error err = {0};
    if (counters_are_restricted())
        doctor_add(doctor, "GPU counters", DOCTOR_INFO,
                   "Kernels are recorded all the same. For counters: root, or the driver's option "
                   "NVreg_RestrictProfilingToAdminUsers=0.",
                   "for administrators alone (RmProfilingAdminOnly)");
    else if (library && pm_library_open(library, NULL, &err) == 0)
        doctor_add(doctor, "GPU counters", DOCTOR_OK, NULL, "opscope run --gpu-metrics can sample them");
    else
        doctor_add(doctor, "GPU counters", DOCTOR_INFO, "Kernels are recorded all the same.", "%s",
                   err.message);
    free(library);
}

/* The adapter itself looks for libcupti, as it would in a program. */
static void check_cupti(struct doctor *doctor, int driver)
{
    char path[1500];
    uint32_t version = 0;
    struct error err = {0};
    if (cupti_find(path, sizeof path, &version, &err) != 0) {
        doctor_add(doctor, "CUDA", DOCTOR_WARN,
                   "Programs that bring their own, as torch does, are recorded all the same.", "%s",
                   err.message);
        return;
    }
    if (version >= CUPTI_13 && driver < DRIVER_13)
        doctor_add(
            doctor, "CUDA", DOCTOR_WARN,
            "Programs with a libcupti of their own are recorded all the same. Else update the driver, or "
            "let OPSCOPE_CUPTI name the libcupti of CUDA 12.",
            "driver for CUDA %d.%d, which is too old for %s (version %u)", driver / 1000, driver % 1000 / 10,
            path, version);
    else
        doctor_add(doctor, "CUDA", DOCTOR_OK, NULL, "driver for CUDA %d.%d; %s (version %u)", driver / 1000,
                   driver % 1000 / 10, path, version);
    check_counters(doctor);
}

static void check_cuda(struct doctor *doctor)
{
    char path[PATH_MAX];
    int (*get_version)(int *version) = NULL;
    int version = 0;
    if (!doctor_check_adapter(doctor, "CUDA", "libopscope_cuda.so", "CUDA_INJECTION64_PATH", path,
                              sizeof path))
        return;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    memcpy(&get_version, &symbol, sizeof symbol);
    if (!get_version || get_version(&version) != 0)
        doctor_add(
            doctor, "CUDA", DOCTOR_INFO,
            "With a GPU of NVIDIA: install its driver; in a container, start it with its GPUs (docker run "
            "--gpus all).",
            "no libcuda.so.1: nothing to record");
    else {
        check_cupti(doctor, version);
        check_gpu_files(doctor);
    }
    if (driver)
        dlclose(driver);
}

void doctor_check_devices(struct doctor *doctor)
{
    check_cuda(doctor);
    check_nvtx(doctor);
    doctor_check_opencl(doctor);
}
