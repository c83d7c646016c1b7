/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that a compiler filled, as one text: the dump of the phase executable-targets where there is one, else every
 * dispatch of a debug-info folder, one file each (.mlirb bytecode, else .mlir text). */
#ifndef OPSCOPE_IMPORT_MLIR_FOLDER_H
#define OPSCOPE_IMPORT_MLIR_FOLDER_H

#include "import/mlir/mlir.h"

/* A folder that has any of these. */
bool mlir_is_folder(const char *path);
/* Would a file of this name be one of them? */
bool mlir_is_file_name(const char *name);
/* Aliases of each file stay its own. The path must stay. */
int mlir_open_folder(struct mlir **out, const char *path, struct error *err);

#endif
