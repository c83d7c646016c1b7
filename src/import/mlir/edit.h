/* SPDX-License-Identifier: Apache-2.0 */
/* Adds to MLIR text: attributes of ops, lines. What is not touched stays as it was, byte for byte.
 *
 *     struct mlir_edits edits = {.mlir = mlir};
 *     mlir_edit_integer(&edits, op, "torq-start-time-cycles", 77);
 *     mlir_edit_insert(&edits, place, "text");
 *     mlir_edits_append(&edits, &out);
 *     mlir_edits_free(&edits);
 *
 * New attributes of an op stand in the order of their keys, as MLIR prints them, in the dictionary of its discardable
 * attributes; where it has none, one is made. */
#ifndef OPSCOPE_IMPORT_MLIR_EDIT_H
#define OPSCOPE_IMPORT_MLIR_EDIT_H

#include "import/mlir/mlir.h"

struct mlir_edit {
    uint32_t at, cut;    /* this many bytes of the text are left out here */
    uint32_t order;      /* of edits at one place */
    size_t text, length; /* in mlir_edits.texts */
};

struct mlir_edits {
    const struct mlir *mlir;
    struct mlir_edit *items;
    size_t count, capacity;
    struct bytes texts;
    bool failed;
};

void mlir_edits_free(struct mlir_edits *edits);
void mlir_edit_insert(struct mlir_edits *edits, uint32_t at, const char *text);
/* "key = value" for each of `count` keys, which are in order; values are texts of MLIR. */
struct mlir_new_attribute {
    const char *key, *value;
};
void mlir_edit_attributes(struct mlir_edits *edits, uint32_t op, const struct mlir_new_attribute *attributes,
                          size_t count);
/* Says behind an op where it stands now, loc("model.mlir":8:10): readers of the new text would take the place there.
 * Nothing where it says a place itself, or has none. */
void mlir_edit_place(struct mlir_edits *edits, struct mlir_lines *lines, uint32_t op);
/* The whole text with all edits. */
int mlir_edits_append(struct mlir_edits *edits, struct bytes *out, struct error *err);

#endif
