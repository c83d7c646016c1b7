/* SPDX-License-Identifier: Apache-2.0 */
/* MLIR as a tree of ops: what compilers dump, read without their dialects.
 *
 *     struct mlir *mlir;
 *     mlir_open(&mlir, path, &err);
 *     for (op = mlir->first_op; op != MLIR_NONE; op = mlir->ops[op].next) ...
 *     mlir_close(mlir);
 *
 * The reader works at the level of statements: results, the op's name, the values it uses, its attribute dictionaries,
 * its regions with their blocks, its types and its location. Custom assembly of any dialect is taken as text in which
 * these are found by their signs (% @ ^ : -> { loc); a caller that knows the op reads the rest of the text itself.
 *
 * Nothing is copied: spans point into the file, which stays mapped. Measured in bytes per byte of text it takes 2 to 4.
 * Regions may be nested to any depth (no recursion anywhere). A file is at most 4 GiB. */
#ifndef OPSCOPE_IMPORT_MLIR_MLIR_H
#define OPSCOPE_IMPORT_MLIR_MLIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/slice.h"

#define MLIR_NONE UINT32_MAX

struct mlir_span { /* of the text; length 0: not there */
    uint32_t begin, length;
};

struct mlir_attribute {
    struct mlir_span key;   /* without quotes */
    struct mlir_span value; /* not there: a unit attribute */
};

struct mlir_value {
    uint32_t op;           /* that defines it; of a block's argument the op whose region the block is in */
    uint32_t block;        /* of an argument; MLIR_NONE: a result */
    uint32_t index;        /* among the results or arguments */
    struct mlir_span type; /* of an argument; of a result see mlir_result_type */
};

struct mlir_op {
    uint32_t name;          /* in mlir.names */
    uint32_t block;         /* where it stands; MLIR_NONE at the top */
    uint32_t next;          /* op after it in its block; MLIR_NONE */
    uint32_t begin;         /* of its text, results included */
    uint32_t head_end;      /* end of its text, or of what precedes its first region */
    uint32_t end;           /* of its text, regions and location included */
    uint32_t first_result;  /* in mlir.values */
    uint32_t first_operand; /* in mlir.operands */
    uint32_t first_attribute;
    uint32_t first_region, last_region;
    uint32_t last_colon, last_arrow; /* where types may begin, outside all brackets; 0: none */
    struct mlir_span symbol;         /* the first @name */
    struct mlir_span location;       /* inside of loc(...) */
    uint32_t operands, attributes;
    uint16_t results;
};

struct mlir_block {
    uint32_t region, next;
    uint32_t first_op, last_op;
    uint32_t first_argument, arguments; /* in mlir.values */
    struct mlir_span label;             /* "bb0"; not there: the first block of a region without one */
};

struct mlir_region {
    uint32_t op, next;
    uint32_t first_block, last_block;
};

struct mlir {
    const char *text;
    size_t length;
    const char *path; /* for messages */
    struct intern names;
    struct mlir_op *ops;
    size_t op_count, op_capacity;
    uint32_t first_op, last_op; /* at the top */
    struct mlir_block *blocks;
    size_t block_count, block_capacity;
    struct mlir_region *regions;
    size_t region_count, region_capacity;
    struct mlir_value *values;
    size_t value_count, value_capacity;
    uint32_t *operands; /* values; MLIR_NONE: not defined in the text before it */
    size_t operand_count, operand_capacity;
    struct mlir_attribute *attributes;
    size_t attribute_count, attribute_capacity;
    struct intern aliases_by_name;
    struct mlir_span *aliases; /* by id in aliases_by_name */
    size_t alias_capacity;
    uint64_t unread_lines; /* that are no statement: passed over */
    uint32_t first_unread; /* where the first of them begins */
    struct file_map *file;
    struct bytes own_text; /* of a file of bytecode, which is the text */
    uint64_t left_out;     /* ops of bytecode whose properties are not known */
};

/* Text or bytecode; "-": standard input. Of bytecode, places are those of the text that it stands for (bytecode.h). */
int mlir_open(struct mlir **out, const char *path, struct error *err);
/* The text must stay. */
int mlir_read_text(struct mlir **out, const char *path, const char *text, size_t length, struct error *err);
void mlir_close(struct mlir *mlir); /* NULL is allowed */
/* Values and operands are not needed any more, and the text not for a while: their memory is given back. The text can
 * be read as before. */
void mlir_rest(struct mlir *mlir);

static inline struct slice mlir_slice(const struct mlir *mlir, struct mlir_span span)
{
    return slice_from(span.length ? mlir->text + span.begin : NULL, span.length);
}
static inline const char *mlir_name(const struct mlir *mlir, uint32_t op)
{
    return intern_text(&mlir->names, mlir->ops[op].name);
}
/* The text of an op from its name to its first region or its end. */
struct slice mlir_head(const struct mlir *mlir, uint32_t op);
/* The value of an attribute, and whether the op has it at all (a unit attribute has no value). */
bool mlir_attribute(const struct mlir *mlir, uint32_t op, const char *key, struct slice *value);
/* "12 : i64" as a number; false where it is none. */
bool mlir_integer(struct slice text, int64_t *value);
/* The type of a value as text; data is NULL where the text does not say. */
struct slice mlir_type(const struct mlir *mlir, uint32_t value);
/* What an alias stands for, through any number of them; the text itself where it is not an alias, or a dangling or
 * cyclic one. */
struct slice mlir_resolve(const struct mlir *mlir, struct slice text);
/* As MLIR writes it: loc("add.mlir":3:10), aliases resolved one level; loc(unknown) where there is none. */
void mlir_append_location(const struct mlir *mlir, uint32_t op, struct bytes *out);
/* The file, line and column that a location comes down to: the first of a fused one, the callee of a call. */
struct mlir_place {
    struct slice file; /* without quotes; data NULL: not known */
    uint32_t line, column;
    struct slice text; /* of those three: "add.mlir":3:10 */
    struct slice name; /* of a named location; data NULL: none */
};
struct mlir_place mlir_place(const struct mlir *mlir, uint32_t op);
/* For many places in one text: where lines begin is found once. Zero-initialise. */
struct mlir_lines {
    uint32_t *starts;
    size_t count, capacity;
    size_t last; /* that was found: the next one is near, mostly */
    bool failed;
};
void mlir_lines_free(struct mlir_lines *lines);
/* "add.mlir":3:10, where an op stands in the file: so compilers name ops that have no location. Nothing, and false, of
 * bytecode and folders, whose text nobody else has. */
bool mlir_append_own_place(const struct mlir *mlir, struct mlir_lines *lines, uint32_t op, struct bytes *out);
/* Fills the error with "path:line:column: ..."; -EINVAL. */
int mlir_error(const struct mlir *mlir, uint32_t offset, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The block of a region that has this label; MLIR_NONE. */
uint32_t mlir_find_block(const struct mlir *mlir, uint32_t region, struct slice label);

#endif
