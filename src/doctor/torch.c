/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's ops are recorded by an observer that is compiled for the torch at hand (python/opscope/_torch.py): which
 * ones are there, and can others be built? No Python is started, since importing torch takes seconds. */
#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "base/own_library.h"
#include "doctor/doctor.h"

#define OBSERVER "libopscope_torch.so"
#define PREBUILT "torch-prebuilt.txt"

static bool find_cache(char *out, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const struct passwd *user = home ? NULL : getpwuid(getuid());
    int n = -1;
    if (cache && *cache)
        n = snprintf(out, size, "%s/opscope/torch", cache);
    else if (home || user)
        n = snprintf(out, size, "%s/.cache/opscope/torch", home ? home : user->pw_dir);
    return n > 0 && (size_t)n < size;
}

/* What is not there yet can be made where its nearest folder can be written to. */
static bool can_be_written(const char *folder)
{
    char path[PATH_MAX];
    struct stat st;
    snprintf(path, sizeof path, "%s", folder);
    while (access(path, F_OK) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return access(".", W_OK | X_OK) == 0;
        slash[slash == path] = '\0';
    }
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && access(path, W_OK | X_OK) == 0;
}

static void add_version(struct bytes *versions, const char *text, size_t length)
{
    bytes_append_format(versions, "%s%.*s", versions->length ? ", " : "", (int)length, text);
}

/* Each lies in a folder that is called TORCH-DIGEST. */
static void list_observers(const char *cache, struct bytes *versions)
{
    DIR *listing = opendir(cache);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        char path[PATH_MAX];
        const char *dash = strrchr(entry->d_name, '-');
        int n = snprintf(path, sizeof path, "%s/%s/" OBSERVER, cache, entry->d_name);
        if (dash && n > 0 && (size_t)n < sizeof path && access(path, R_OK) == 0)
            add_version(versions, entry->d_name, (size_t)(dash - entry->d_name));
    }
    if (listing)
        closedir(listing);
}

/* Those that were built with opscope, each for the torch of a system: "libopscope_torch-1.13.so", a tab, and the
 * library of that torch, which must be there. They lie in the Python package: in a build folder, an installation, a
 * wheel. */
static void list_prebuilt(struct bytes *versions)
{
    static const char *const places[] = {"python/opscope/" PREBUILT, "opscope/python/opscope/" PREBUILT,
                                         PREBUILT};
    char path[PATH_MAX], line[PATH_MAX];
    FILE *file = NULL;
    for (size_t i = 0; i < COUNT_OF(places) && !file; i++)
        file = own_library_find(places[i], path, sizeof path) ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        char *tab = strchr(line, '\t'), *dash = strchr(line, '-'), *end = strstr(line, ".so");
        line[strcspn(line, "\n")] = '\0';
        if (tab && dash && end && dash < end && end < tab && access(tab + 1, R_OK) == 0)
            add_version(versions, dash + 1, (size_t)(end - dash - 1));
    }
    if (file)
        fclose(file);
}

static bool is_program(const char *name, size_t length)
{
    char path[PATH_MAX];
    const char *folders = getenv("PATH");
    if (memchr(name, '/', length)) {
        snprintf(path, sizeof path, "%.*s", (int)length, name);
        return access(path, X_OK) == 0;
    }
    while (folders && *folders) {
        size_t end = strcspn(folders, ":");
        int n = snprintf(path, sizeof path, "%.*s/%.*s", (int)end, folders, (int)length, name);
        if (end && n > 0 && (size_t)n < sizeof path && access(path, X_OK) == 0)
            return true;
        folders += end + (folders[end] == ':');
    }
    return false;
}

/* "" where there is none. */
static void find_compiler(char *out, size_t size)
{
    static const char *const names[] = {"c++", "g++", "clang++"};
    const char *own = getenv("CXX");
    out[0] = '\0';
    own = own ? own + strspn(own, " ") : "";
    size_t length = strcspn(own, " ");
    if (length && is_program(own, length))
        snprintf(out, size, "%.*s", (int)length, own);
    for (size_t i = 0; i < COUNT_OF(names) && !out[0]; i++) {
        if (is_program(names[i], strlen(names[i])))
            snprintf(out, size, "%s", names[i]);
    }
}

void doctor_check_torch(struct doctor *doctor)
{
    char cache[PATH_MAX] = "", compiler[256];
    struct bytes versions = {0};
    bool has_cache = find_cache(cache, sizeof cache), can_write = has_cache && can_be_written(cache);
    find_compiler(compiler, sizeof compiler);
    list_prebuilt(&versions);
    if (has_cache)
        list_observers(cache, &versions);
    const char *before = versions.length ? "observers of ops for torch " : "",
               *after = versions.length ? "; " : "";
    if (!compiler[0])
        doctor_add(doctor, "PyTorch", DOCTOR_INFO, "Install g++, then run opscope setup torch.",
                   "%s%s%sno C++ compiler to build %s with", before, bytes_text(&versions), after,
                   versions.length ? "others" : "an observer of its ops");
    else if (!can_write)
        doctor_add(doctor, "PyTorch", DOCTOR_WARN, "XDG_CACHE_HOME names another folder for the observers.",
                   "%s%s%s%s cannot be written to", before, bytes_text(&versions), after,
                   has_cache ? cache : "the cache folder of this user");
    else
        doctor_add(doctor, "PyTorch", DOCTOR_OK, NULL, "%s%s%s%s built by %s when a program imports torch",
                   before, bytes_text(&versions), after,
                   versions.length ? "others are" : "the observer of its ops is", compiler);
    bytes_free(&versions);
}
