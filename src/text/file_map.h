/* SPDX-License-Identifier: Apache-2.0 */
/* A file in memory, to be read only: mapped where that works, read where it does not (a pipe, /proc). */
#ifndef OPSCOPE_TEXT_FILE_MAP_H
#define OPSCOPE_TEXT_FILE_MAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct file_map {
    const char *data; /* NULL when the file is empty */
    size_t length;
    bool is_mapped;
};

int file_map_open(struct file_map *map, const char *path, struct error *err);
/* Gives the memory of what was read back; what is read again comes from the file. */
void file_map_rest(const struct file_map *map);
void file_map_close(struct file_map *map);

#endif
