/* SPDX-License-Identifier: Apache-2.0 */
#include "base/own_library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu/"
#else
#define MULTIARCH ""
#endif

/* A build folder, three kinds of installation, and a wheel, where the program lies in opscope/bin. */
static const char *const places[] = {"/", "/../lib/", "/../lib64/", ("/../lib/" MULTIARCH), "/../"};

bool own_library_find(const char *name, char *out, size_t size)
{
    char program[PATH_MAX], candidate[PATH_MAX + 128], resolved[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(program, '/');
    for (size_t i = 0; slash && i < COUNT_OF(places); i++) {
        *slash = '\0';
        snprintf(candidate, sizeof candidate, "%s%s%s", program, places[i], name);
        if (access(candidate, R_OK) == 0 && realpath(candidate, resolved) && strlen(resolved) < size) {
            memcpy(out, resolved, strlen(resolved) + 1);
            return true;
        }
    }
    snprintf(out, size, "%s", name);
    return false;
}
