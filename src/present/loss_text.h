/* SPDX-License-Identifier: Apache-2.0 */
/* Losses in words: how much, and what helps. The one place that knows which advice fits which loss. */
#ifndef OPSCOPE_PRESENT_LOSS_TEXT_H
#define OPSCOPE_PRESENT_LOSS_TEXT_H

#include "analyze/losses.h"

struct loss_text {
    char text[120];
};

/* "1,234 zones and 5 other records", "an unknown number of records"; fills `out` and returns it. */
const char *loss_sum_text(struct loss_text *out, const struct loss_sum *sum);

/* What helps against losses of a reason (enum trace_loss_reason), as the end of a sentence. */
const char *loss_advice(uint32_t reason);

#endif
