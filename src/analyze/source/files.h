/* SPDX-License-Identifier: Apache-2.0 */
/* Which source files somebody means: a pattern over paths, a module, "mine". */
#ifndef OPSCOPE_ANALYZE_SOURCE_FILES_H
#define OPSCOPE_ANALYZE_SOURCE_FILES_H

#include <stdbool.h>

#include "trace/model.h"

/* Does the pattern (* ? [ab]; * matches slashes, too) match the path, or its end after a slash? */
bool source_file_matches(const char *file, const char *pattern);

/* Is the name in this module: "torch.nn" means torch/nn.py, torch/nn/..., its import, and C functions "torch.nn.x". For
 * other languages a module is a folder or a file without its extension. */
bool source_is_in_module(const struct trace_name *name, const char *module);

/* Somebody's own file: below the folder or relative, and not of a library (trace_file_is_library). */
bool source_is_mine(const char *file, const char *folder);

#endif
