/* SPDX-License-Identifier: Apache-2.0 */
/* opscope report --compat: which of the original's outputs goes where. */
#include <stdio.h>

#include "cli/report_files.h"
#include "present/output.h"
#include "compat/tt_perf_report_1_2_4/compat.h"

static struct perf_compat_look look_of(const struct report_options *options, FILE *out)
{
    return (struct perf_compat_look){
        .is_coloured = output_may_colour(out, options->output.color),
        .has_advice = !options->no_advice,
        .has_raw_op_codes = options->raw_op_codes,
        .min_percent = options->min_percentage,
    };
}

static int write_ops_csv(const struct perf *perf, const struct report_options *options, FILE *out,
                         struct error *err)
{
    struct perf_compat_look look = look_of(options, out);
    return perf_compat_write_csv(perf, &look, out, err);
}

static int write_groups_csv(const struct perf *perf, const struct report_options *options, FILE *out,
                            struct error *err)
{
    (void)options;
    return perf_compat_write_groups_csv(perf, out, err);
}

static int write_text(const struct perf *perf, const struct report_options *options, FILE *out,
                      struct error *err)
{
    struct perf_compat_look look = look_of(options, out);
    int status = perf_compat_write_table(perf, &look, out, err);
    if (!status && report_has_groups(options) && perf->group_count)
        status = perf_compat_write_groups(perf, out, err);
    return status;
}

int report_show_compat(const struct perf *perf, const struct report_options *options, struct error *err)
{
    int status = 0;
    if (options->output.csv)
        status = report_write_file(options->output.output, write_ops_csv, perf, options, err);
    if (status)
        return status;
    if (perf->count == 0) {
        fprintf(stderr, "opscope report: no ops are left to show\n");
        return 0;
    }
    if (!options->output.csv)
        status = report_write_file(options->output.output, write_text, perf, options, err);
    if (!status && perf->group_count)
        status = report_write_groups(perf, options, write_groups_csv, err);
    else if (!status && report_has_groups(options))
        fprintf(stderr, "opscope report: no ops to group\n");
    return status;
}
