/* SPDX-License-Identifier: Apache-2.0 */
/* Other tables of zones than that of their statistics: tests, lines beside their source, callers and callees. */
#ifndef OPSCOPE_PRESENT_ZONES_ZONES_H
#define OPSCOPE_PRESENT_ZONES_ZONES_H

#include "present/view.h"

struct zones_choice { /* what of the rows */
    const char *sort; /* a column's key, or NULL for the view's own order */
    bool reverse;
    uint64_t top; /* 0 = all; of callers and callees UINT64_MAX */
    const struct text_list
        *source_folders; /* where source lines may be looked for that the trace lacks; NULL: nowhere */
};

/* All return 0, or a negative code with the error filled. */
int zones_show_tests(struct view *view, const struct zones_choice *choice, const char *split_folder,
                     struct error *err);
int zones_show_source(struct view *view, const struct zones_choice *choice, struct error *err);
/* -EINVAL when no zone matches the pattern. */
int zones_show_calls(struct view *view, const struct zones_choice *choice, const char *pattern,
                     bool are_callers, struct error *err);

#endif
