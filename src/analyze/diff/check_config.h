/* SPDX-License-Identifier: Apache-2.0 */
/* What `opscope check` finds in a project's configuration file, opscope.toml:
 *
 *     [check]
 *     baseline = "perf/main.opscope"         beside the file, unless it is absolute; or several: ["1.csv", "2.csv"]
 *     max-regress = "5%"
 *     metric = ["total", "zone:load batch"]
 *
 *     [[check.budget]]
 *     zone = "load batch"                    or op = "...", or metric = "device-time"
 *     max = "2ms"                            also max-mean, max-median, max-p99, max-total, max-count
 *     max-regress = "10%"
 *     optional = true                        need not be there
 *
 * Everything else in [check] is an error with its place: a limit with a typing error must not pass for one. */
#ifndef OPSCOPE_ANALYZE_DIFF_CHECK_CONFIG_H
#define OPSCOPE_ANALYZE_DIFF_CHECK_CONFIG_H

#include "analyze/diff/check.h"
#include "base/text_list.h"
#include "text/toml.h"

struct check_config {
    struct toml toml;
    char *path;    /* NULL: there is none */
    char *ignored; /* one that others may have written, nearer than `path`; NULL: there is none */
    char *baselines[TEXT_LIST_MAX];
    size_t baseline_count;
    double max_regress; /* NAN: not said */
    struct text_list metrics;
    struct check_rule *budgets;
    size_t budget_count, budget_capacity;
    char **origins; /* the rules' texts */
    size_t origin_count, origin_capacity;
};

/* `path` NULL: opscope.toml of this folder or the nearest one above that is this user's or root's, and that nobody else
 * can write; none is not an error. */
int check_config_read(struct check_config *config, const char *path, struct error *err);
void check_config_free(struct check_config *config);

/* "5%", "5", "150%". */
int check_parse_percent(const char *text, double *percent, struct error *err);

#endif
