/* SPDX-License-Identifier: Apache-2.0 */
/* A folder and those above it. */
#ifndef OPSCOPE_BASE_MAKE_FOLDER_H
#define OPSCOPE_BASE_MAKE_FOLDER_H

#include "base/error.h"

/* 0 also where it is there already; -ENOTDIR where something else is. */
int make_folder(const char *path, struct error *err);

#endif
