/* SPDX-License-Identifier: Apache-2.0 */
/* A program for the made-up accelerator "Acme X1": three steps of a small network, of which two are replays.
 *
 *     opscope run -o chip.opscope -- build/examples/new-chip
 *     OPSCOPE_MACHINES=examples/new-chip opscope report chip.opscope
 *
 * It knows nothing of opscope: what is recorded comes from the runtime, chip.c. */
#include <stdio.h>

#include "chip.h"

enum { BATCH = 256, WIDTH = 512, INNER = 1024, REPLAYS = 2 };

static const struct chip_tensor input = {"input", BATCH, WIDTH}, first = {"first", WIDTH, INNER},
                                hidden = {"hidden", BATCH, INNER}, active = {"active", BATCH, INNER},
                                second = {"second", INNER, WIDTH}, output = {"output", BATCH, WIDTH};

static void forward(struct chip *chip)
{
    chip_matmul(chip, &input, &first, &hidden);
    chip_relu(chip, &hidden, &active);
    chip_matmul(chip, &active, &second, &output);
}

int main(void)
{
    struct chip *chip = chip_open();
    if (!chip)
        return 1;
    chip_copy_in(chip, &first);
    chip_copy_in(chip, &second);
    chip_copy_in(chip, &input);
    forward(chip);
    chip_copy_out(chip, &output);
    chip_wait(chip);

    chip_capture_begin(chip);
    forward(chip);
    chip_capture_end(chip);
    for (int i = 0; i < REPLAYS; i++) {
        chip_copy_in(chip, &input);
        chip_replay(chip);
        chip_copy_out(chip, &output);
        chip_wait(chip);
    }
    chip_close(chip);
    printf("%d steps\n", 1 + REPLAYS);
    return 0;
}
