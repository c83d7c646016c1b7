/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/annotate_ops.h"

#include "present/document.h"
#include "present/estimate/annotated_ops.h"
#include "serve/snapshot.h"

static int write_trace(const struct annotated *run, const char *profile, const char *path, struct error *err)
{
    struct trace_writer *writer;
    int status = trace_writer_open(&writer, path, &(struct trace_writer_options){.command = profile}, err);
    if (status)
        return status;
    status = annotated_to_trace(run, profile, writer, err);
    if (status) {
        trace_writer_discard(writer);
        return status;
    }
    return trace_writer_finish(writer, err);
}

struct traced {
    const struct annotated *run;
    const char *profile;
};

static int fill_trace(const void *context, const char *file, struct error *err)
{
    const struct traced *traced = context;
    return write_trace(traced->run, traced->profile, file, err);
}

static int write_csv(const struct table *ops, const char *path, struct error *err)
{
    struct bytes csv = {0};
    table_append_csv(ops, &csv);
    int status = csv.failed || ops->failed ? error_no_memory(err, path) : output_write_text(path, &csv, err);
    bytes_free(&csv);
    return status;
}

static int show(const struct annotated *run, struct table *ops, const struct annotate_ops_options *options,
                struct error *err)
{
    struct output output;
    struct report report;
    size_t unmeasured = 0;
    int status = output_open(&output, options->output, err);
    if (status)
        return status;
    report_begin(&report, &output, "annotate");
    if (options->out)
        report_text(&report, "output", "written", options->out);
    report_text(&report, "target", "target", run->estimate.machine->name);
    if (options->top) {
        table_sort(ops, table_find_column(ops, "least"), true);
        table_truncate(ops, options->top);
    }
    report_heading(&report, "Ops");
    report_table(&report, "rows", ops);
    for (size_t i = 0; i < run->match.pair_count; i++)
        unmeasured += !run->match.pairs[i].runs;
    if (unmeasured)
        report_note(&report, TABLE_WARN, "%zu of %zu ops of the model are not in the profile", unmeasured,
                    run->match.pair_count);
    if (run->match.unknown)
        report_note(&report, TABLE_WARN, "%zu of %zu programs of the run are not in the model",
                    run->match.unknown, run->run.op_count);
    for (size_t i = 0; i < run->run.notice_count; i++)
        report_note(&report, TABLE_WARN, "%s", timeline_get_text(&run->run, run->run.notices[i].text));
    return report_close(&report, 0, stderr, err);
}

int annotate_ops(const struct annotate_ops_options *options, struct error *err)
{
    struct annotated run;
    struct table ops = {0};
    int status = load_annotated(&run, &options->request, err);
    if (status == 0)
        annotated_ops_make(&ops, &run.estimate.timeline, &run.match);
    if (status == 0 && options->out)
        status = write_csv(&ops, options->out, err);
    if (status == 0 && options->trace)
        status = write_trace(&run, options->request.profile, options->trace, err);
    if (status == 0 && options->html)
        status = snapshot_write_made(fill_trace, &(struct traced){&run, options->request.profile},
                                     options->request.profile, options->html, err);
    if (status == 0)
        status = show(&run, &ops, options, err);
    table_free(&ops);
    annotated_free(&run);
    return status;
}
