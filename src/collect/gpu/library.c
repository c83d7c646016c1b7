/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/own_library.h"

#define CUDA_NO_DEVICE 100

/* POSIX lets an address of data be that of a function; ISO C has no cast for it. */
static bool set_function(void *member, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(member, &symbol, sizeof symbol);
    return symbol != NULL;
}

int cupti_find(char *path, size_t size, uint32_t *version, struct error *err)
{
    int (*probe)(uint32_t * version, char *text, size_t size) = NULL;
    char adapter_path[PATH_MAX], text[1400];
    void *adapter = own_library_find("libopscope_cuda.so", adapter_path, sizeof adapter_path)
                        ? dlopen(adapter_path, RTLD_NOW | RTLD_LOCAL)
                        : NULL;
    if (!adapter || !set_function(&probe, adapter, "opscope_cuda_probe_"))
        return error_set(err, ENOENT, "the adapter libopscope_cuda.so cannot be loaded");
    if (!probe(version, text, sizeof text))
        return error_set(err, ENOENT, "%s", text);
    snprintf(path, size, "%s", text);
    return 0;
}

/* The folder of a command as a shell finds it, without the links of a virtual environment followed. */
static bool find_folder(const char *command, char *out, size_t size)
{
    const char *list = strchr(command, '/') ? NULL : getenv("PATH");
    const char *slash = strrchr(command, '/');
    if (slash)
        snprintf(out, size, "%.*s", (int)(slash - command), command);
    for (const char *at = list; at && !slash; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(at, ":"), at, command);
        if (access(path, X_OK) == 0) {
            snprintf(out, size, "%.*s", (int)strcspn(at, ":"), at);
            return true;
        }
    }
    return slash != NULL;
}

/* A package of the Python that is going to be run: torch brings one. */
static bool find_in_packages(const char *command, char *out, size_t size)
{
    static const char *const below[] = {
        "/../lib/python3*/site-packages/nvidia/*/lib/libcupti.so.1[23]",
        "/../lib/python3*/dist-packages/nvidia/*/lib/libcupti.so.1[23]",
        "/../local/lib/python3*/dist-packages/nvidia/*/lib/libcupti.so.1[23]",
    };
    char folder[PATH_MAX], pattern[PATH_MAX + 128];
    bool is_found = false;
    if (!command || !find_folder(command, folder, sizeof folder) || strpbrk(folder, "*?[\\"))
        return false;
    for (size_t i = 0; i < COUNT_OF(below) && !is_found; i++) {
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s%s", folder, below[i]);
        if (glob(pattern, 0, NULL, &found) == 0) {
            is_found = true;
            snprintf(out, size, "%s", found.gl_pathv[found.gl_pathc - 1]); /* the newest is the last */
            globfree(&found);
        }
    }
    return is_found;
}

/* libcupti loads its two helpers by name; they lie beside it, where the loader does not look. */
static void open_helpers(const char *path)
{
    static const char *const names[] = {"libnvperf_target.so", "libnvperf_host.so"};
    char helper[1500];
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash && i < COUNT_OF(names); i++) {
        snprintf(helper, sizeof helper, "%.*s/%s", (int)(slash - path), path, names[i]);
        dlopen(helper, RTLD_NOW | RTLD_GLOBAL); /* where it is not there, libcupti says so */
    }
}

static int resolve(struct pm_library *l, void *library, struct error *err)
{
    const char *missing = NULL;
#define PM_RESOLVE_(name, type, last)                                                                        \
    l->size_of.name = PM_SIZE(struct type, last);                                                            \
    if (!set_function(&l->name, library, #name))                                                             \
        missing = #name;
    PM_FUNCTIONS(PM_RESOLVE_)
#undef PM_RESOLVE_
    if (!set_function(&l->cuptiGetResultString, library, "cuptiGetResultString"))
        missing = "cuptiGetResultString";
    if (missing)
        return error_set(err, ENOSYS,
                         "%s has no %s: a libcupti of CUDA 12.6 or newer is needed (pip install "
                         "nvidia-cuda-cupti, or OPSCOPE_CUPTI)",
                         l->path, missing);
    return 0;
}

int pm_library_open(struct pm_library *l, const char *command, struct error *err)
{
    const char *given = getenv("OPSCOPE_CUPTI");
    struct link_map *map = NULL;
    int status = 0;
    *l = (struct pm_library){0};
    if ((given && *given) || !find_in_packages(command, l->path, sizeof l->path))
        status = cupti_find(l->path, sizeof l->path, &l->version, err);
    if (status)
        return status;
    void *library = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, ENOENT, "%s cannot be loaded: %s", l->path, dlerror());
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0])
        snprintf(l->path, sizeof l->path, "%s", map->l_name);
    open_helpers(l->path);
    return resolve(l, library, err);
}

int pm_library_open_driver(struct pm_library *l, int *devices, struct error *err)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver || !set_function(&l->cuInit, driver, "cuInit") ||
        !set_function(&l->cuDeviceGetCount, driver, "cuDeviceGetCount") ||
        !set_function(&l->cuDeviceGet, driver, "cuDeviceGet") ||
        !set_function(&l->cuDeviceGetName, driver, "cuDeviceGetName"))
        return error_set(err, ENODEV, "no driver of NVIDIA (libcuda.so.1)");
    *devices = 0;
    int result = l->cuInit(0);
    if (result == 0)
        result = l->cuDeviceGetCount(devices);
    if (result == CUDA_NO_DEVICE || (result == 0 && *devices == 0))
        return error_set(err, ENODEV, "no GPU that CUDA can use (see nvidia-smi, CUDA_VISIBLE_DEVICES)");
    if (result)
        return error_set(err, ENODEV, "the driver cannot be used: error %d of cuInit", result);
    return 0;
}
