/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of what `opscope run --devices` needs: our adapters, the runtimes that load them, and tools that are in the
 * way. Nothing of a runtime is initialised: that may take seconds, and memory of a device. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own_library.h"
#include "collect/gpu/library.h"
#include "doctor/doctor.h"
#include "text/file_map.h"

#define LAYERS_VARIABLE "OPENCL_LAYERS"
#define VENDORS "/etc/OpenCL/vendors"

/* Is our adapter there, and is its variable free? */
static bool check_adapter(struct doctor *doctor, const char *check, const char *library, const char *variable,
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
        doctor_add(
            doctor, check, DOCTOR_WARN,
            "Another tool has it, and opscope run leaves it alone. Unset the variable to record with opscope.",
            "%s=%s", variable, value);
        return false;
    }
    return true;
}

static void check_nvtx(struct doctor *doctor)
{
    char path[PATH_MAX];
    if (check_adapter(doctor, "NVTX", "libopscope_nvtx.so", "NVTX_INJECTION64_PATH", path, sizeof path))
        doctor_add(doctor, "NVTX", DOCTOR_OK, NULL, "ranges of all programs are recorded (%s)", path);
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
    doctor_add(doctor, "CUDA", DOCTOR_OK, NULL, "driver for CUDA %d.%d; %s (version %u)", driver / 1000,
               driver % 1000 / 10, path, version);
    check_counters(doctor);
}

static void check_cuda(struct doctor *doctor)
{
    char path[PATH_MAX];
    int (*get_version)(int *version) = NULL;
    int version = 0;
    if (!check_adapter(doctor, "CUDA", "libopscope_cuda.so", "CUDA_INJECTION64_PATH", path, sizeof path))
        return;
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *symbol = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    memcpy(&get_version, &symbol, sizeof symbol);
    if (!get_version || get_version(&version) != 0)
        doctor_add(doctor, "CUDA", DOCTOR_INFO, NULL, "no libcuda.so.1: nothing to record");
    else
        check_cupti(doctor, version);
    if (driver)
        dlclose(driver);
}

/* How many drivers the loader would find. */
static unsigned count_vendors(void)
{
    DIR *listing = opendir(VENDORS);
    struct dirent *entry;
    unsigned count = 0;
    while (listing && (entry = readdir(listing))) {
        size_t length = strlen(entry->d_name);
        count += length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0;
    }
    if (listing)
        closedir(listing);
    return count;
}

/* Does the loader know layers? It must have the name of the variable in it. */
static bool knows_layers(const char *path)
{
    struct file_map map;
    if (file_map_open(&map, path, NULL) != 0)
        return false;
    bool is_found =
        map.data && memmem(map.data, map.length, LAYERS_VARIABLE, strlen(LAYERS_VARIABLE)) != NULL;
    file_map_close(&map);
    return is_found;
}

static void check_opencl(struct doctor *doctor)
{
    char path[PATH_MAX];
    struct link_map *map = NULL;
    if (!check_adapter(doctor, "OpenCL", "libopscope_opencl.so", NULL, path, sizeof path))
        return;
    void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
    unsigned vendors = count_vendors();
    if (!loader || dlinfo(loader, RTLD_DI_LINKMAP, &map) != 0)
        doctor_add(doctor, "OpenCL", DOCTOR_INFO, NULL, "no libOpenCL.so.1: nothing to record");
    else if (!knows_layers(map->l_name))
        doctor_add(
            doctor, "OpenCL", DOCTOR_WARN,
            "This loader knows no layers: record with --devices opencl-preload, or install another (Debian: "
            "ocl-icd-libopencl1).",
            "%s", map->l_name);
    else if (!vendors)
        doctor_add(doctor, "OpenCL", DOCTOR_INFO, NULL,
                   "%s, and no drivers (Debian, for the CPU: pocl-opencl-icd)", map->l_name);
    else
        doctor_add(doctor, "OpenCL", DOCTOR_OK, NULL, "%s takes our layer; %u driver%s", map->l_name, vendors,
                   vendors == 1 ? "" : "s");
    if (loader)
        dlclose(loader);
}

void doctor_check_devices(struct doctor *doctor)
{
    check_cuda(doctor);
    check_nvtx(doctor);
    check_opencl(doctor);
}
