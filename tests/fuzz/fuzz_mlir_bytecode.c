/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of MLIR bytecode: any bytes give text, or a message that names a byte. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/mlir/bytecode.h"
#include "import/mlir/mlir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes text = {0};
    struct error err = {0};
    uint64_t left_out;
    struct mlir *m;
    uint8_t *copy =
        malloc(size ? size : 1); /* exactly as long as the data, so that a step beyond it is seen */
    if (size)
        memcpy(copy, data, size);
    if (!mlir_is_bytecode(copy, size)) {
        free(copy);
        return 0;
    }
    if (mlir_bytecode_to_text("fuzz.mlirbc", copy, size, &text, &left_out, &err) != 0)
        assert(strncmp(err.message, "fuzz.mlirbc: byte ", 18) == 0);
    else if (mlir_read_text(&m, "fuzz.mlirbc", bytes_text(&text), text.length, &err) == 0)
        mlir_close(m);
    bytes_free(&text);
    free(copy);
    return 0;
}
