/* SPDX-License-Identifier: Apache-2.0 */
/* MLIR bytecode (versions 0 to 6) as text in generic form, without the dialects that wrote it.
 *
 * What every file says by itself comes out whole: op names, operands, results and successors, regions, locations,
 * discardable attributes, types and attributes of the builtin dialect, and those that others store as text. What a
 * dialect stores in its own way does not: such an attribute is written as #dialect.unknown, and the properties of ops
 * that the table in properties.c lacks are left out and counted. Long constants are written as
 * dense_resource<__elided__>, which MLIR itself does on request: no cost depends on what is in them. */
#ifndef OPSCOPE_IMPORT_MLIR_BYTECODE_H
#define OPSCOPE_IMPORT_MLIR_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

bool mlir_is_bytecode(const void *data, size_t length);
/* Errors name the byte. `left_out` counts ops whose properties are not in the text. */
int mlir_bytecode_to_text(const char *path, const void *data, size_t length, struct bytes *out,
                          uint64_t *left_out, struct error *err);

/* --- between the files of the reader --- */

struct bytecode_text { /* of the file; not NUL-terminated */
    const char *data;
    uint32_t length;
};

struct bytecode_entry { /* an attribute or a type */
    uint32_t begin, length;
    uint32_t dialect;
    bool is_custom; /* in the dialect's own encoding, else text */
};

/* Reads forward within bounds; after a failure all reads give 0. */
struct bytecode_cursor {
    const uint8_t *data;
    size_t at, end;
    bool failed;
};

uint8_t bytecode_byte(struct bytecode_cursor *cursor);
uint64_t bytecode_varint(struct bytecode_cursor *cursor);
int64_t bytecode_signed(struct bytecode_cursor *cursor); /* zigzag */

struct bytecode {
    const char *path;
    const uint8_t *data;
    size_t length;
    uint64_t version;
    struct bytecode_text *strings;
    size_t string_count;
    uint32_t *dialects; /* strings */
    size_t dialect_count, dialect_capacity;
    struct bytecode_name {
        uint32_t dialect, name;
    } * names;
    size_t name_count, name_capacity;
    struct bytecode_entry *attributes, *types;
    size_t attribute_count, type_count;
    struct bytecode_entry *properties; /* blobs */
    size_t property_count;
    struct bytes *out;
    size_t out_max; /* shared attributes could multiply: more is refused */
    uint64_t left_out;
    unsigned depth; /* of the attribute that is being written */
    bool is_damaged;
};

void bytecode_append_type(struct bytecode *b, uint64_t type);
void bytecode_append_attribute(struct bytecode *b, uint64_t attribute);
/* "key = value, ..." of a dictionary, without its braces. */
void bytecode_append_members(struct bytecode *b, uint64_t attribute);
/* The inside of loc(...). */
void bytecode_append_location(struct bytecode *b, uint64_t attribute);
/* <{...}> of an op, where its schema is known and fits. */
void bytecode_append_properties(struct bytecode *b, struct bytecode_text dialect, struct bytecode_text name,
                                uint64_t properties);

#endif
