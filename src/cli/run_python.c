/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the Python package's _boot folder first on PYTHONPATH. Every Python below the run, whatever started it, then
 * imports that folder's sitecustomize when it starts; that takes the folder off sys.path again, so the program's
 * imports go where they would have gone. The folder stays in the variable, for the children of the program.
 *
 * A Python that ignores its environment (-E, -I) or has no site module (-S) is not recorded this way.
 *
 * The package is looked for from the program: build/python in a build folder, ../lib/opscope/python in an installation,
 * and the folder above in a wheel, where the program lies in opscope/bin. */
#include "cli/run_python.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

#define TRACE_VARIABLE "OPSCOPE_PYTHON_TRACE"

static const char *const places[] = {"/python/opscope", "/../lib/opscope/python/opscope", "/.."};

/* The _boot folder as an absolute path without links or dots: it is compared with entries of sys.path. */
static bool find_boot_folder(char *out, size_t size)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        char candidate[PATH_MAX + 64], file[PATH_MAX + 96], resolved[PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s%s/_boot", program, places[i]);
        snprintf(file, sizeof file, "%s/sitecustomize.py", candidate);
        if (access(file, R_OK) != 0 || !realpath(candidate, resolved) || strlen(resolved) >= size)
            continue;
        if (strchr(resolved, ':')) /* PYTHONPATH cannot say it */
            return false;
        memcpy(out, resolved, strlen(resolved) + 1);
        return true;
    }
    return false;
}

static void put_on_path(const char *folder)
{
    const char *old = getenv("PYTHONPATH");
    size_t length = strlen(folder);
    if (!old || !*old) {
        setenv("PYTHONPATH", folder, 1);
        return;
    }
    if (strncmp(old, folder, length) == 0 && (old[length] == '\0' || old[length] == ':'))
        return; /* a run inside a run */
    struct bytes value = {0};
    bytes_append_text(&value, folder);
    bytes_append_u8(&value, ':');
    bytes_append_text(&value, old);
    bytes_append_u8(&value, 0);
    if (!value.failed)
        setenv("PYTHONPATH", (const char *)value.data, 1);
    bytes_free(&value);
}

void run_python_prepare(enum run_python_trace trace)
{
    char folder[PATH_MAX], number[32];
    if (!find_boot_folder(folder, sizeof folder))
        return;
    put_on_path(folder);
    if (trace == RUN_PYTHON_OFF) /* `import opscope` works all the same */
        setenv(TRACE_VARIABLE, "off", 1);
    else if (trace == RUN_PYTHON_LINES)
        setenv(TRACE_VARIABLE, "lines", 1);
    else
        setenv(TRACE_VARIABLE, "calls", 0); /* python3 -m opscope has set what it wants */
    snprintf(number, sizeof number, "%ld", (long)getpid());
    setenv("OPSCOPE_PYTHON_RUN", number, 1);
}

bool run_python_package_folder(char *out, size_t size)
{
    if (!find_boot_folder(out, size))
        return false;
    *strrchr(out, '/') = '\0'; /* /_boot */
    *strrchr(out, '/') = '\0'; /* /opscope */
    return true;
}
