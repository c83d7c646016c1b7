/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of "Acme X1", an accelerator that does not exist: what a vendor has, and where opscope's device feed goes
 * in. docs/new-chip.md walks through it. The chip is simulated: a command takes the ticks that chip_model.h says. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

struct chip;
struct chip_tensor {
    const char *name;
    int64_t rows, columns;
};

struct chip *chip_open(void);
void chip_close(struct chip *chip);

/* Each puts a command into a queue and returns; the result is there after chip_wait. */
void chip_copy_in(struct chip *chip, const struct chip_tensor *tensor);
void chip_copy_out(struct chip *chip, const struct chip_tensor *tensor);
void chip_matmul(struct chip *chip, const struct chip_tensor *a, const struct chip_tensor *b,
                 const struct chip_tensor *c);
void chip_relu(struct chip *chip, const struct chip_tensor *a, const struct chip_tensor *b);
void chip_wait(struct chip *chip);

/* What is launched between begin and end is kept, and can be launched again by one call. */
void chip_capture_begin(struct chip *chip);
void chip_capture_end(struct chip *chip);
void chip_replay(struct chip *chip);

#endif
