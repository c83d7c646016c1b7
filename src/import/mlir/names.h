/* SPDX-License-Identifier: Apache-2.0 */
/* Names of values while a text is read: what each means now, and what it meant before a region began. Most names are
 * numbers (%0, %1, ...), which index an array; the others are interned. */
#ifndef OPSCOPE_IMPORT_MLIR_NAMES_H
#define OPSCOPE_IMPORT_MLIR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

struct mlir_binding { /* of a name, to be restored when its region ends */
    uint32_t name, value;
};

struct mlir_names {
    uint32_t number_end; /* names that are numbers below this are indices; set by who begins */
    uint32_t *numbers;   /* by number: the value */
    size_t number_count, number_capacity;
    struct intern others;
    uint32_t *bound; /* by id in others: the value */
    size_t bound_capacity;
    struct mlir_binding *undo;
    size_t undo_count, undo_capacity;
    bool failed;
};

void mlir_names_free(struct mlir_names *names);
/* A handle of "%name"; MLIR_NONE: no memory. */
uint32_t mlir_names_add(struct mlir_names *names, const char *text, size_t length);
/* The value that a name means now; MLIR_NONE: none. */
uint32_t mlir_names_value(const struct mlir_names *names, uint32_t name);
void mlir_names_bind(struct mlir_names *names, uint32_t name, uint32_t value);
/* Goes back to when undo_count was this. */
void mlir_names_unbind(struct mlir_names *names, size_t undo_count);

#endif
