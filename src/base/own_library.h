/* SPDX-License-Identifier: Apache-2.0 */
/* Where the shared libraries of this opscope lie, seen from its program. */
#ifndef OPSCOPE_BASE_OWN_LIBRARY_H
#define OPSCOPE_BASE_OWN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#define OWN_LIBRARY_RECORDER "libopscope.so.0"

/* The path of the library of this file name, absolute and without links or dots; false where there is none. `out` then
 * holds the name alone. */
bool own_library_find(const char *name, char *out, size_t size);

#endif
