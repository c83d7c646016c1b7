/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of ops: a dialect writes them in the order of their names, each as the number of an attribute, and an
 * optional one as 0 or twice that number plus one; sizes of operand groups come last, as an array (before version 6 as
 * an attribute). The names are not in the file, so they are here, for ops whose costs depend on them or that are
 * everywhere. */
#include "base/count_of.h"
#include "import/mlir/bytecode.h"

#include <inttypes.h>
#include <string.h>

#define VERSION_GROUPS 6u

/* A word per property; "?" before it: optional; "*" alone: sizes of operand groups. A name that ends in "." stands for
 * all ops that begin with it and have no line of their own. */
static const struct {
    const char *op, *properties;
} schemas[] = {
    {"builtin.module", "?sym_name ?sym_visibility"},
    {"func.func", "?arg_attrs function_type ?no_inline ?res_attrs sym_name ?sym_visibility"},
    {"func.call", "?arg_attrs callee ?no_inline ?res_attrs"},
    {"arith.constant", "value"},
    {"arith.cmpi", "predicate"},
    {"arith.cmpf", "?fastmath predicate"},
    {"arith.addi", "?overflowFlags"},
    {"arith.subi", "?overflowFlags"},
    {"arith.muli", "?overflowFlags"},
    {"arith.shli", "?overflowFlags"},
    {"arith.trunci", "?overflowFlags"},
    {"arith.addf", "?fastmath"},
    {"arith.subf", "?fastmath"},
    {"arith.mulf", "?fastmath"},
    {"arith.divf", "?fastmath"},
    {"arith.negf", "?fastmath"},
    {"arith.maximumf", "?fastmath"},
    {"arith.minimumf", "?fastmath"},
    {"arith.maxnumf", "?fastmath"},
    {"arith.minnumf", "?fastmath"},
    {"math.", "?fastmath"},
    {"linalg.fill", "*"},
    {"linalg.reduce", "dimensions"},
    {"linalg.transpose", "permutation"},
    {"linalg.broadcast", "dimensions"},
    {"linalg.softmax", "dimension"},
    {"linalg.generic", "?doc indexing_maps iterator_types ?library_call *"},
    {"tensor.extract_slice", "static_offsets static_sizes static_strides *"},
    {"tensor.insert_slice", "static_offsets static_sizes static_strides *"},
    {"tensor.collapse_shape", "reassociation"},
    {"tensor.expand_shape", "reassociation static_output_shape"},
    {"tensor.pad", "?nofold static_high static_low *"},
    {"tosa.const", "values"},
    {"tosa.const_shape", "values"},
    {"tosa.conv2d", "acc_type dilation ?local_bound pad stride"},
    {"tosa.conv3d", "acc_type dilation ?local_bound pad stride"},
    {"tosa.depthwise_conv2d", "acc_type dilation ?local_bound pad stride"},
    {"tosa.transpose_conv2d", "acc_type ?local_bound out_pad stride"},
    {"tosa.avg_pool2d", "acc_type kernel pad stride"},
    {"tosa.max_pool2d", "kernel ?nan_mode pad stride"},
    {"tosa.clamp", "max_val min_val ?nan_mode"},
    {"tosa.argmax", "axis ?nan_mode"},
    {"tosa.reduce_max", "axis ?nan_mode"},
    {"tosa.reduce_min", "axis ?nan_mode"},
    {"tosa.reduce_", "axis"},
    {"tosa.maximum", "?nan_mode"},
    {"tosa.minimum", "?nan_mode"},
    {"tosa.concat", "axis"},
    {"tosa.reverse", "axis"},
    {"tosa.transpose", "perms"},
    {"tosa.resize", "mode"},
    {"tosa.arithmetic_right_shift", "round"},
    {"tosa.rescale", "input_unsigned output_unsigned per_channel rounding_mode scale32"},
};

static const char *schema_of(struct bytecode_text dialect, struct bytecode_text name)
{
    char op[128];
    const char *best = NULL;
    size_t best_length = 0, length = (size_t)dialect.length + 1 + name.length;
    if (length >= sizeof op)
        return NULL;
    memcpy(op, dialect.data, dialect.length);
    op[dialect.length] = '.';
    memcpy(op + dialect.length + 1, name.data, name.length);
    op[length] = 0;
    for (size_t i = 0; i < COUNT_OF(schemas); i++) {
        size_t own = strlen(schemas[i].op);
        bool is_family = strchr("._", schemas[i].op[own - 1]) != NULL;
        if (is_family ? strncmp(op, schemas[i].op, own) == 0 && own > best_length
                      : strcmp(op, schemas[i].op) == 0) {
            best = schemas[i].properties;
            best_length = is_family ? own : sizeof op;
        }
    }
    return best;
}

/* Sizes of operand groups: their number and, where most are 0, index and value in one. */
static void append_groups(struct bytecode *b, struct bytecode_cursor *c)
{
    uint64_t head = bytecode_varint(c), count = head >> 1;
    bytes_append_text(b->out, "operandSegmentSizes = array<i32");
    if (head & 1) { /* sparse */
        uint64_t used = bytecode_varint(c), bits = bytecode_varint(c), sizes[64] = {0};
        for (uint64_t i = 0; i < used && !c->failed && bits < 32; i++) {
            uint64_t pair = bytecode_varint(c), index = pair & ((UINT64_C(1) << bits) - 1);
            c->failed |= index >= 64 || index >= count;
            if (!c->failed)
                sizes[index] = pair >> bits;
        }
        c->failed |= count > 64 || bits >= 32;
        for (uint64_t i = 0; i < count && !c->failed; i++)
            bytes_append_format(b->out, "%s%" PRIu64, i ? ", " : ": ", sizes[i]);
    }
    for (uint64_t i = 0; !(head & 1) && i < count && !c->failed; i++)
        bytes_append_format(b->out, "%s%" PRIu64, i ? ", " : ": ", bytecode_varint(c));
    bytes_append_text(b->out, ">");
}

/* One property by its word; false: it is optional and not there. */
static bool append_property(struct bytecode *b, struct bytecode_cursor *c, const char *word, size_t length,
                            const char *separator)
{
    uint64_t number;
    if (*word == '*' && b->version >= VERSION_GROUPS) {
        bytes_append_text(b->out, separator);
        append_groups(b, c);
        return true;
    }
    if (*word == '*') { /* before that, an attribute like the others */
        word = "operandSegmentSizes";
        length = strlen(word);
    }
    bool is_optional = *word == '?';
    number = bytecode_varint(c);
    if (is_optional && !(number & 1))
        return false;
    bytes_append_format(b->out, "%s%.*s = ", separator, (int)(length - is_optional), word + is_optional);
    bytecode_append_attribute(b, is_optional ? number >> 1 : number);
    return true;
}

void bytecode_append_properties(struct bytecode *b, struct bytecode_text dialect, struct bytecode_text name,
                                uint64_t properties)
{
    const char *schema = schema_of(dialect, name);
    size_t before = b->out->length;
    bool is_first = true, was_damaged = b->is_damaged;
    if (properties >= b->property_count) {
        b->is_damaged = true;
        return;
    }
    const struct bytecode_entry *blob = &b->properties[properties];
    struct bytecode_cursor c = {b->data, blob->begin, (size_t)blob->begin + blob->length, false};
    if (!schema) {
        b->left_out += blob->length != 0;
        return;
    }
    bytes_append_text(b->out, " <{");
    for (const char *word = schema; *word && !c.failed;) {
        size_t length = strcspn(word, " ");
        if (append_property(b, &c, word, length, is_first ? "" : ", "))
            is_first = false;
        word += length + (word[length] == ' ');
    }
    bytes_append_text(b->out, "}>");
    if (c.failed || c.at != c.end ||
        (b->is_damaged && !was_damaged)) { /* of another version of the dialect */
        b->out->length = before;
        b->is_damaged = was_damaged;
        b->left_out++;
    } else if (is_first) {
        b->out->length = before;
    }
}
