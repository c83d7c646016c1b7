/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the MLIR reader: any bytes give a tree whose links and spans are sound, or a message with a place. What was
 * read becomes a model, and that an estimate on either kind of target. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/estimate/estimate.h"
#include "import/mlir/mlir.h"
#include "import/mlir/model.h"

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

/* Sizes in the text may be anything: cycles saturate, and no work takes place before or after its op. */
static void estimate(const struct mlir *m, enum estimate_kind kind)
{
    struct estimate_target target;
    struct model model;
    struct timeline timeline;
    struct mlir_dims dims = {.otherwise = 3};
    struct error err = {0};
    estimate_target_defaults(&target);
    target.kind = kind;
    target.clock_mhz = target.engines = target.macs_i8 = target.macs_i32 = target.macs_bf16 = 2;
    target.vector_bytes = target.vector_results = target.local_bytes = target.dma_bytes_per_cycle = 64;
    target.core_gb_s = target.cache_gb_s = target.dram_gb_s = target.cache_bytes = 1;
    if (mlir_read_model(&model, m, &dims, &err) != 0)
        return;
    if (estimate_model(&timeline, &model, &target, &err) == 0) {
        for (size_t i = 0; i < timeline.unit_count; i++) {
            const struct timeline_unit *unit = &timeline.units[i];
            assert(unit->op < timeline.op_count && unit->start <= unit->end);
            assert(timeline.ops[unit->op].start <= unit->start && unit->end <= timeline.ops[unit->op].end);
        }
        timeline_free(&timeline);
    }
    model_free(&model);
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
    estimate(m, ESTIMATE_DMA);
    estimate(m, ESTIMATE_CACHE);
    mlir_close(m);
    free(copy);
    return 0;
}
