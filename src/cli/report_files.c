/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/report_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/output_path.h"
#include "present/output.h"
#include "present/report/svg.h"

int report_write_file(const char *path, report_writer *write, const struct perf *perf,
                      const struct report_options *options, struct error *err)
{
    struct output output;
    struct output_options wanted = {.output = path, .wide = true};
    /* The names that the options spell out were compared before; not those made from them (FILE_stacked.csv). */
    int status = 0;
    for (size_t i = 0; path && i < perf->file_count && !status; i++) {
        const char *input = perf_text(perf, perf->paths[i]);
        status = output_path_check(path, &input, 1, NULL, err);
    }
    if (!status)
        status = output_open(&output, &wanted, err);
    if (status)
        return status;
    status = write(perf, options, output.stream, err);
    if (status) {
        output_abandon(&output);
        return status;
    }
    return output_finish(&output, err);
}

static int write_svg(const struct perf *perf, const struct report_options *options, FILE *out,
                     struct error *err)
{
    return perf_svg_write_groups(perf, options->classic_colors, out, err);
}

/* The name for the groups beside a table: table.csv -> table_stacked. */
static char *stacked_base(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? (size_t)(dot - path) : strlen(path);
    size_t size = length + sizeof "_stacked";
    char *base = malloc(size);
    if (base)
        snprintf(base, size, "%.*s_stacked", (int)length, path);
    return base;
}

bool report_has_groups(const struct report_options *options)
{
    return !options->no_summary && !options->no_stacked_report;
}

int report_write_groups(const struct perf *perf, const struct report_options *options,
                        report_writer *write_csv, struct error *err)
{
    const char *given = options->summary_file ? options->summary_file : options->stacked_csv;
    char *base = NULL, *path = NULL;
    int status = 0;
    if (!report_has_groups(options))
        return 0;
    if (given)
        base = strdup(given);
    else if (options->output.csv && options->output.output && strcmp(options->output.output, "-") != 0)
        base = stacked_base(options->output.output);
    else
        return 0;
    size_t size = base ? strlen(base) + 5 : 0;
    path = base ? malloc(size) : NULL;
    if (!path) {
        free(base);
        return error_set(err, ENOMEM, "no memory for a file's name");
    }
    snprintf(path, size, "%s.csv", base);
    status = report_write_file(path, write_csv, perf, options, err);
    if (!status) {
        snprintf(path, size, "%s.svg", base);
        status = report_write_file(path, write_svg, perf, options, err);
    }
    free(base);
    free(path);
    return status;
}
