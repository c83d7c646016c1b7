/* SPDX-License-Identifier: Apache-2.0 */
/* An estimate against a measured run: for each program that both have, how far off the estimate is, and the same summed
 * by place in the source and by type of op. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_COMPARE_H
#define OPSCOPE_ANALYZE_ESTIMATE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"
#include "base/slice.h"

/* A program, or whatever was estimated and measured as one. */
struct compare_pair {
    uint32_t name, type, location; /* texts */
    double estimate_ns;            /* of one run */
    double measured_ns;            /* mean of its runs; is_shortest: the shortest */
    double least_ns, most_ns;      /* of its runs */
    uint64_t runs;                 /* 0: not measured */
};

struct compare_group {
    uint32_t key; /* text */
    uint64_t pairs, runs;
    double estimate_ns, measured_ns; /* sums over its pairs */
    double factor;                   /* median over its pairs of how many times one is the other */
    uint32_t worst;                  /* the pair that is furthest off in time */
};

struct compare {
    struct intern texts;
    struct compare_pair *pairs;
    size_t pair_count, pair_capacity;
    size_t unmeasured;
    double outside_ns;    /* measured, and not part of any estimate: host copies, the driver */
    bool is_shortest;     /* of its runs the shortest counts */
    size_t whole_runs;    /* of the model, of which the shortest is drawn; 0: all is drawn */
    uint32_t *pair_of[2]; /* by unit of the two timelines: its pair; COMPARE_NO_PAIR. NULL: not known */
    const char *what;     /* a pair is: "program", "dispatch", "op" */
    bool failed;
};

#define COMPARE_NO_PAIR UINT32_MAX

enum compare_by { COMPARE_BY_LOCATION, COMPARE_BY_TYPE };

struct compare_total {
    size_t pairs;
    double estimate_ns, measured_ns;
    double bias_percent; /* above 0: the estimate is too long */
    double median, p90;  /* of max(estimate / measured, measured / estimate) */
};

void compare_free(struct compare *compare);
uint32_t compare_text(struct compare *compare, struct slice text);
static inline const char *compare_get_text(const struct compare *compare, uint32_t text)
{
    return intern_text(&compare->texts, text);
}
/* Zeroed; NULL: no memory. */
struct compare_pair *compare_add(struct compare *compare);
/* max(estimate / measured, measured / estimate); NaN where one of them is 0. */
double compare_factor(double estimate_ns, double measured_ns);
/* Groups, those first whose time is furthest off; freed by the caller. */
int compare_group(const struct compare *compare, enum compare_by by, struct compare_group **groups,
                  size_t *count, struct error *err);
int compare_sum(const struct compare *compare, struct compare_total *total, struct error *err);

#endif
