/* SPDX-License-Identifier: Apache-2.0 */
/* What a comparison is about and what it left out, in one line. */
#ifndef OPSCOPE_PRESENT_DIFF_ABOUT_H
#define OPSCOPE_PRESENT_DIFF_ABOUT_H

#include "analyze/diff/diff.h"
#include "base/bytes.h"

/* "about: steps 3 to 10; left out: start-up 7.1 s, step 2 as warm-up"; nothing where all of both runs is compared. */
void diff_append_about(const struct diff *diff, struct bytes *out);

#endif
