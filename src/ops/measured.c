/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/measured.h"

#include <stdlib.h>

#include "base/bytes.h"

void measured_free(struct measured *measured)
{
    timeline_free(&measured->timeline);
    free(measured->rows);
    *measured = (struct measured){0};
}

struct measured_row *measured_add(struct measured *measured)
{
    if (!array_reserve(&measured->rows, &measured->row_capacity, measured->row_count + 1,
                       sizeof measured->rows[0])) {
        measured->timeline.failed = true;
        return NULL;
    }
    struct measured_row *row = &measured->rows[measured->row_count++];
    *row = (struct measured_row){.action = -1,
                                 .job = -1,
                                 .program = -1,
                                 .slice = -1,
                                 .operation = TIMELINE_NONE,
                                 .invocations = TIMELINE_NONE,
                                 .operators = TIMELINE_NONE,
                                 .location = TIMELINE_NONE,
                                 .dispatch = TIMELINE_NONE};
    return row;
}
