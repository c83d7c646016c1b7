/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/export.h"

#include "present/export/job.h"

const char *const export_format_words[] = {"chrome",    "perfetto",     "csv",        "speedscope",
                                           "collapsed", "torq-runtime", "flamegraph", NULL};
const char *const export_flame_words[] = {"wall", "self", "device", "count", NULL};

static const struct {
    const char *ending;
    bool is_binary;
    int (*write)(struct export_job *job);
} formats[] = {
    [EXPORT_CHROME] = {".json", false, export_write_chrome},
    [EXPORT_PERFETTO] = {".pftrace", true, export_write_perfetto},
    [EXPORT_CSV] = {".csv", false, export_write_csv},
    [EXPORT_SPEEDSCOPE] = {".speedscope.json", false, export_write_speedscope},
    [EXPORT_COLLAPSED] = {".collapsed", false, export_write_collapsed},
    [EXPORT_TORQ_RUNTIME] = {".runtime.csv", false, export_write_torq_runtime},
    [EXPORT_FLAMEGRAPH] = {".svg", false, export_write_flamegraph},
};

const char *export_file_ending(enum export_format format)
{
    return formats[format].ending;
}

bool export_is_binary(enum export_format format)
{
    return formats[format].is_binary;
}

int export_trace(struct trace *trace, const struct trace_filter *filter, const struct export_options *options,
                 FILE *stream, struct export_counts *counts, struct error *err)
{
    struct export_job job = {
        .trace = trace, .filter = filter, .options = options, .counts = counts, .err = err, .stream = stream};
    *counts = (struct export_counts){0};
    int result = export_job_open(&job);
    if (result == 0)
        result = formats[options->format].write(&job);
    if (result == 0)
        result = export_flush(&job, true);
    export_job_close(&job);
    return result;
}
