/* SPDX-License-Identifier: Apache-2.0 */
/* What is there for OpenCL: the loader, whether it takes our layer, and the drivers that it would find. None of them is
 * loaded: that may take a second. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "doctor/doctor.h"
#include "text/file_map.h"

#define LAYERS_VARIABLE "OPENCL_LAYERS"
#define VENDORS "/etc/OpenCL/vendors"
#define DEVICES "/dev/dri"

struct drivers {
    unsigned count;
    struct bytes names, missing; /* libraries that the loader would look for in vain */
};

/* The first line of the file names a library, by its whole path or one for the linker to look for. */
static void add_driver(struct drivers *drivers, const char *folder, const char *name)
{
    char path[PATH_MAX], library[PATH_MAX] = "";
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (file && fgets(library, sizeof library, file))
        library[strcspn(library, "\r\n")] = '\0';
    if (file)
        fclose(file);
    if (library[0] == '/' && access(library, R_OK) != 0) {
        bytes_append_format(&drivers->missing, "%s%s names %s", drivers->missing.length ? ", " : "", path,
                            library);
        return;
    }
    drivers->count++;
    bytes_append_format(&drivers->names, "%s%.*s", drivers->names.length ? ", " : "",
                        (int)(strlen(name) - strlen(".icd")), name);
}

static int is_driver_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".icd") == 0;
}

static void find_drivers(struct drivers *drivers)
{
    const char *given = getenv("OCL_ICD_VENDORS");
    const char *folder = given && *given ? given : VENDORS;
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_driver_file, alphasort);
    if (count < 0 && folder == given && access(given, R_OK) == 0) { /* ocl-icd takes a file, too */
        drivers->count++;
        bytes_append_format(&drivers->names, "%s", given);
    }
    for (int i = 0; i < count; i++) {
        add_driver(drivers, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
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

static void check_drivers(struct doctor *doctor, const char *loader)
{
    struct drivers drivers = {0};
    find_drivers(&drivers);
    if (drivers.count)
        doctor_add(doctor, "OpenCL", DOCTOR_OK, NULL, "%s takes our layer; %u driver%s (%s)", loader,
                   drivers.count, drivers.count == 1 ? "" : "s", bytes_text(&drivers.names));
    else
        doctor_add(doctor, "OpenCL", DOCTOR_INFO,
                   "Install that of your device (Debian, for the CPU: pocl-opencl-icd).",
                   "%s takes our layer; no drivers", loader);
    if (drivers.missing.length)
        doctor_add(doctor, "OpenCL drivers", DOCTOR_WARN, "Install that driver again, or remove the file.",
                   "%s, which is not there", bytes_text(&drivers.missing));
    bytes_free(&drivers.names);
    bytes_free(&drivers.missing);
}

static int is_render_node(const struct dirent *entry)
{
    return strncmp(entry->d_name, "renderD", strlen("renderD")) == 0;
}

/* Drivers of AMD and Intel find no device where these files are not theirs to open. */
static void check_permissions(struct doctor *doctor)
{
    struct dirent **entries = NULL;
    char path[PATH_MAX];
    int count = scandir(DEVICES, &entries, is_render_node, alphasort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, DEVICES "/%s", entries[i]->d_name);
        doctor_check_access(doctor, "OpenCL devices", path);
        free(entries[i]);
    }
    free(entries);
}

void doctor_check_opencl(struct doctor *doctor)
{
    char path[PATH_MAX];
    struct link_map *map = NULL;
    if (!doctor_check_adapter(doctor, "OpenCL", "libopscope_opencl.so", NULL, path, sizeof path))
        return;
    void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!loader || dlinfo(loader, RTLD_DI_LINKMAP, &map) != 0) {
        doctor_add(doctor, "OpenCL", DOCTOR_INFO,
                   "With a device for OpenCL: install a loader (Debian: ocl-icd-libopencl1) and its driver.",
                   "no libOpenCL.so.1: nothing to record");
    } else if (!knows_layers(map->l_name)) {
        doctor_add(
            doctor, "OpenCL", DOCTOR_WARN,
            "This loader knows no layers: record with --devices opencl-preload, or install another (Debian: "
            "ocl-icd-libopencl1).",
            "%s", map->l_name);
    } else {
        check_drivers(doctor, map->l_name);
        check_permissions(doctor);
    }
    if (loader)
        dlclose(loader);
}
