/* SPDX-License-Identifier: Apache-2.0 */
/* OPSCOPE_DEVICES in a program: what `opscope run --devices` says of all of them, one process may say of itself. */
#ifndef OPSCOPE_SESSION_DEVICES_H
#define OPSCOPE_SESSION_DEVICES_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_VARIABLE "OPSCOPE_DEVICES"

/* Is the adapter of this name left in: by its name (opencl-preload is opencl), by auto, or by an empty variable? With
 * any but none, NVTX is, too. */
static inline bool session_wants_device(const char *name)
{
    const char *at = secure_getenv(DEVICES_VARIABLE);
    if (!at || !*at)
        return true;
    for (;; at++) {
        size_t length = strcspn(at, ",");
        bool is_auto = length == strlen("auto") && strncmp(at, "auto", length) == 0;
        bool is_none = length == strlen("none") && strncmp(at, "none", length) == 0;
        if (is_auto || strncmp(at, name, strlen(name)) == 0 || (!is_none && strcmp(name, "nvtx") == 0))
            return true;
        at += length;
        if (!*at)
            return false;
    }
}

#endif
