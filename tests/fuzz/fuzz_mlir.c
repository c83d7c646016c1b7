/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the MLIR reader: any bytes give a tree whose links and spans are sound, or a message with a place. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/mlir/mlir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_span(const struct mlir *m, struct mlir_span span)
{
    assert(span.begin <= m->length && span.length <= m->length - span.begin);
}

static void check_op(const struct mlir *m, uint32_t op, struct bytes *text)
{
    const struct mlir_op *o = &m->ops[op];
    struct slice value;
    assert(o->begin <= o->head_end && o->head_end <= o->end && o->end <= m->length);
    assert(o->next == MLIR_NONE ||
           (o->next > op && o->next < m->op_count && m->ops[o->next].block == o->block));
    check_span(m, o->symbol);
    check_span(m, o->location);
    for (uint32_t i = 0; i < o->attributes; i++) {
        check_span(m, m->attributes[o->first_attribute + i].key);
        check_span(m, m->attributes[o->first_attribute + i].value);
    }
    for (uint32_t i = 0; i < o->operands; i++) {
        uint32_t operand = m->operands[o->first_operand + i];
        assert(operand == MLIR_NONE || operand < m->value_count);
    }
    for (uint32_t i = 0; i < o->results; i++)
        assert(m->values[o->first_result + i].op == op);
    (void)mlir_head(m, op);
    (void)mlir_place(m, op);
    (void)mlir_attribute(m, op, "a", &value);
    bytes_clear(text);
    mlir_append_location(m, op, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mlir *m;
    struct error err = {0};
    struct bytes text = {0};
    char *copy = malloc(size ? size : 1); /* exactly as long as the text, so that a step beyond it is seen */
    if (size)
        memcpy(copy, data, size);
    if (mlir_read_text(&m, "fuzz.mlir", copy, size, &err) != 0) {
        assert(strncmp(err.message, "fuzz.mlir:", 10) == 0);
        free(copy);
        return 0;
    }
    for (uint32_t i = 0; i < m->op_count; i++)
        check_op(m, i, &text);
    for (uint32_t i = 0; i < m->value_count; i++)
        (void)mlir_type(m, i);
    bytes_free(&text);
    mlir_close(m);
    free(copy);
    return 0;
}
