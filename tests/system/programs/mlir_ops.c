/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the ops that the reader finds in files of MLIR: "FILE<tab>OPS<tab>UNREAD LINES", then "  NAME<tab>COUNT" for
 * each name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "import/mlir/mlir.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct mlir *mlir;
        struct error err = {0};
        if (mlir_open(&mlir, argv[i], &err) != 0) {
            fprintf(stderr, "%s\n", err.message);
            return 1;
        }
        uint64_t *counts = calloc(mlir->names.count + 1, sizeof counts[0]);
        if (!counts)
            return 1;
        for (size_t op = 0; op < mlir->op_count; op++)
            counts[mlir->ops[op].name]++;
        printf("%s\t%zu\t%" PRIu64 "\n", argv[i], mlir->op_count, mlir->unread_lines);
        for (uint32_t name = 0; name < mlir->names.count; name++)
            printf("  %s\t%" PRIu64 "\n", intern_text(&mlir->names, name), counts[name]);
        free(counts);
        mlir_close(mlir);
    }
    return 0;
}
