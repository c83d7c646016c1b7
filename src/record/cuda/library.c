/* SPDX-License-Identifier: Apache-2.0 */
/* Finding libcupti. The driver has one slot for all copies of it in a process, so any copy does; one that the program
 * has loaded already is the best, since it fits the rest of what the program has. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "record/cuda/cuda.h"

static const char *const file_names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};

struct search {
    void *library;
    char path[1400]; /* of the library that was found */
};

static bool try_path(struct search *s, const char *path)
{
    s->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (s->library)
        snprintf(s->path, sizeof s->path, "%s", path);
    return s->library != NULL;
}

static bool try_folder(struct search *s, const char *folder, const char *below)
{
    char path[1400];
    for (size_t i = 0; i < COUNT_OF(file_names); i++) {
        snprintf(path, sizeof path, "%s%s/%s", folder, below, file_names[i]);
        if (try_path(s, path))
            return true;
    }
    return false;
}

struct loaded { /* libraries of the process, from which places are looked for */
    char cupti[1024], toolkit[8][1024];
    size_t toolkit_count;
};

static int note_library(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const of_toolkit[] = {"libcudart.so",   "libcublas.so",     "libnvrtc.so",
                                             "libcudnn.so",    "libtorch_cuda.so", "libc10_cuda.so",
                                             "libcublasLt.so", "libcufft.so"};
    struct loaded *l = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    if (!slash)
        return 0;
    if (strncmp(slash + 1, "libcupti.so", strlen("libcupti.so")) == 0 && !l->cupti[0])
        snprintf(l->cupti, sizeof l->cupti, "%s", info->dlpi_name);
    for (size_t i = 0; i < COUNT_OF(of_toolkit) && l->toolkit_count < COUNT_OF(l->toolkit); i++) {
        if (strncmp(slash + 1, of_toolkit[i], strlen(of_toolkit[i])) == 0)
            snprintf(l->toolkit[l->toolkit_count++], sizeof l->toolkit[0], "%.*s",
                     (int)(slash - info->dlpi_name), info->dlpi_name);
    }
    return 0;
}

/* Seen from a library of a toolkit, of the wheels of CUDA 13 and 12, and of torch. */
static const char *const beside[] = {
    "",
    "/../extras/CUPTI/lib64",
    "/../../extras/CUPTI/lib64",
    "/../../../extras/CUPTI/lib64",
    "/../../cuda_cupti/lib",
    "/../../cu13/lib",
    "/../../nvidia/cu13/lib",
    "/../../nvidia/cuda_cupti/lib",
};
static const char *const in_toolkit[] = {"/extras/CUPTI/lib64", "/lib64", "/lib", "/targets/x86_64-linux/lib",
                                         "/targets/sbsa-linux/lib"};

static bool find_cupti(struct search *s)
{
    const char *given = secure_getenv("OPSCOPE_CUPTI");
    if (given && *given)
        return try_path(s, given);
    struct loaded *l = calloc(1, sizeof *l);
    if (!l)
        return false;
    dl_iterate_phdr(note_library, l);
    bool is_found = l->cupti[0] && try_path(s, l->cupti);
    for (size_t i = 0; i < l->toolkit_count && !is_found; i++)
        for (size_t j = 0; j < COUNT_OF(beside) && !is_found; j++)
            is_found = try_folder(s, l->toolkit[i], beside[j]);
    free(l);
    for (size_t i = 0; i < COUNT_OF(file_names) && !is_found; i++)
        is_found = try_path(s, file_names[i]);
    const char *homes[] = {secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < COUNT_OF(homes) && !is_found; i++)
        for (size_t j = 0; homes[i] && j < COUNT_OF(in_toolkit) && !is_found; j++)
            is_found = try_folder(s, homes[i], in_toolkit[j]);
    return is_found;
}

/* POSIX lets an address of data be that of a function; ISO C has no cast for it. */
static void set_function(void *member, void *symbol)
{
    memcpy(member, &symbol, sizeof symbol);
}

#define RESOLVE_(name, type, arguments, is_needed) {#name, offsetof(struct TABLE_, name), is_needed},
struct entry {
    const char *name;
    size_t offset;
    int is_needed;
};
#define TABLE_ cupti
static const struct entry cupti_entries[] = {CUPTI_FUNCTIONS(RESOLVE_)};
#undef TABLE_
#define TABLE_ cuda_driver
static const struct entry driver_entries[] = {CUDA_FUNCTIONS(RESOLVE_)};
#undef TABLE_

static const char *resolve(void *library, void *table, const struct entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = dlsym(library, entries[i].name);
        set_function((uint8_t *)table + entries[i].offset, symbol);
        if (!symbol && entries[i].is_needed)
            return entries[i].name;
    }
    return NULL;
}

bool library_load(struct cuda_state *state, char *text, size_t size)
{
    struct search *s = calloc(1, sizeof *s);
    bool is_found = s && find_cupti(s);
    if (!is_found) {
        const char *given = secure_getenv("OPSCOPE_CUPTI");
        if (given && *given)
            snprintf(text, size, "OPSCOPE_CUPTI is %s, which cannot be loaded", given);
        else
            snprintf(
                text, size,
                "libcupti was not found: pip install nvidia-cuda-cupti, or set CUDA_HOME, or OPSCOPE_CUPTI to "
                "the library");
        free(s);
        return false;
    }
    const char *missing = resolve(s->library, &state->cupti, cupti_entries, COUNT_OF(cupti_entries));
    if (missing)
        snprintf(text, size, "%s has no %s: it is too old", s->path, missing);
    else
        snprintf(text, size, "%s", s->path);
    free(s);
    if (missing)
        return false;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver)
        resolve(driver, &state->driver, driver_entries, COUNT_OF(driver_entries));
    state->cupti.cuptiGetVersion(&state->cupti.version);
    return true;
}

/* For opscope doctor: which libcupti a program without one of its own would be given, and its version; or why none. */
OPSCOPE_API int opscope_cuda_probe_(uint32_t *version, char *text, size_t size);
OPSCOPE_API int opscope_cuda_probe_(uint32_t *version, char *text, size_t size)
{
    struct cuda_state *state = calloc(1, sizeof *state);
    bool is_found = state && library_load(state, text, size);
    *version = is_found ? state->cupti.version : 0;
    free(state);
    return is_found;
}
