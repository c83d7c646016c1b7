/* SPDX-License-Identifier: Apache-2.0 */
/* A trace for each test of a list: the part of its thread in which it ran, in a file called after it. */
#ifndef OPSCOPE_ANALYZE_ZONES_TESTSPLIT_H
#define OPSCOPE_ANALYZE_ZONES_TESTSPLIT_H

#include "analyze/zones/testlist.h"
#include "base/bytes.h"

/* Writes the traces into `folder`, which is made where it is missing; none where one of them would replace the trace
 * itself, which is at `source`. Their paths are put into `paths` in the order of the tests, each followed by a NUL. */
int test_split(struct trace *trace, const char *source, const struct test_list *list, const char *folder,
               struct bytes *paths, struct error *err);

#endif
