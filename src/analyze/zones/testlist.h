/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a session, from the zones that opscope's pytest plugin makes: one for each test ("pytest test" as the
 * function of its place in the source, the test's id as its name, the outcome as its text), and inside it one for
 * each phase ("pytest setup", "pytest call", "pytest teardown"). A test that is run twice is listed twice. */
#ifndef OPSCOPE_ANALYZE_ZONES_TESTLIST_H
#define OPSCOPE_ANALYZE_ZONES_TESTLIST_H

#include "analyze/filter.h"
#include "base/bytes.h"

enum test_phase { TEST_SETUP, TEST_CALL, TEST_TEARDOWN, TEST_PHASES };

struct test_entry {
    uint32_t name; /* of its zone: the test's id, file and line */
    uint32_t track;
    uint32_t depth;            /* of its zone */
    uint64_t start_ns, end_ns; /* end: of the trace when it had not ended */
    uint64_t phase_ns[TEST_PHASES];
    bool has_phase[TEST_PHASES];
    bool has_ended;
    size_t outcome, outcome_length; /* in `texts`; no length when there is none */
};

struct test_list {
    struct test_entry *entries; /* in order of track and start */
    size_t count, capacity;
    struct bytes texts;
};

/* Tests whose names and times the filter wants; their phases are always counted. */
int test_list_make(struct test_list *list, struct trace *trace, const struct trace_filter *filter,
                   struct error *err);
void test_list_free(struct test_list *list);
const char *test_list_outcome(const struct test_list *list, const struct test_entry *entry); /* "" */

#endif
