/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a worker that measures ops says, line by line: the first is its list, the others are answers about its
 * ops, one after the other. A worker holds somebody else's library, and may say anything. */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_line(struct measure *m, const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, '\n', *size) : NULL;
    size_t length = end ? (size_t)(end - *data) : *size, taken = end ? length + 1 : length;
    int status = taken ? json_read(&m->document, (const char *)*data, length, NULL) : -EINVAL;
    *data += taken;
    *size -= taken;
    return status == 0;
}

static void check_op(struct overhead_op *op)
{
    assert(op->state != OVERHEAD_MEASURED || op->repeat_count <= 1 << 20);
    if (op->state == OVERHEAD_MEASURED)
        overhead_op_summarise(op);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = {0};
    struct measure *m = calloc(1, sizeof *m);
    if (!m)
        return 0;
    m->options = (struct measure_options){.ops = "fuzz", .trace = size && data[0] & 1 ? "trace" : NULL};
    m->facts.calls = 20;
    m->facts.trace_count = 1;
    m->loop_ns = 40;
    const uint8_t *at = data + (size ? 1 : 0);
    size_t left = size ? size - 1 : 0;
    if (read_line(m, &at, &left) && measure_take_list(m, &err) == 0) {
        for (size_t i = 0; left && m->list.op_count; i++) {
            struct overhead_op *op = &m->list.ops[i % m->list.op_count];
            if (read_line(m, &at, &left))
                measure_take_answer(m, op->name, op, &err);
            check_op(op);
        }
    }
    json_document_free(&m->document);
    overhead_run_free(&m->list);
    free(m->windows);
    free(m);
    return 0;
}
