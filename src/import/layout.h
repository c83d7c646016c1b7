/* SPDX-License-Identifier: Apache-2.0 */
/* Folders and names that other tools have for what a run leaves, for scripts that look there. */
#ifndef OPSCOPE_IMPORT_LAYOUT_H
#define OPSCOPE_IMPORT_LAYOUT_H

#include <stddef.h>

#include "base/error.h"

enum ops_layout { OPS_LAYOUT_NONE, OPS_LAYOUT_TORCH, OPS_LAYOUT_METAL };

/* Sets the variables by which the runtime records its devices, as the tool of that layout does; those that are set
 * stay. Before the program is started. */
void ops_layout_prepare(enum ops_layout layout);

/* Where the op table goes; its folders are made. `folder` is the runtime's, `name` the user's or NULL. */
int ops_layout_table(enum ops_layout layout, const char *folder, const char *name, char *out, size_t size,
                     struct error *err);

#endif
