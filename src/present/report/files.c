/* SPDX-License-Identifier: Apache-2.0 */
#include "present/report/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/output_path.h"
#include "present/report/svg.h"

int perf_write_file(const struct perf_files *files, const char *path, output_writer *write,
                    const void *context, struct error *err)
{
    /* The names that the options spell out were compared before; not those made from them (FILE_stacked.csv). */
    int status = path ? output_path_check(path, files->inputs, files->input_count, NULL, err) : 0;
    return status ? status : output_write_file(path, write, context, err);
}

static int write_svg(const void *context, FILE *out, struct error *err)
{
    const struct perf_group_files *wanted = context;
    return perf_svg_write_groups(wanted->groups, wanted->is_classic, out, err);
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

/* Only a BASE that was given may be that of a device or a pipe. */
static int write_beside(const struct perf_files *files, const struct perf_group_files *wanted,
                        const char *path, output_writer *write, const void *context, struct error *err)
{
    int status = wanted->base ? 0 : output_path_check_made(path, files->inputs, files->input_count, err);
    return status ? status : perf_write_file(files, path, write, context, err);
}

int perf_write_group_files(const struct perf_files *files, const struct perf_group_files *wanted,
                           output_writer *write_csv, const void *context, struct error *err)
{
    bool has_table =
        wanted->table && strcmp(wanted->table, "-") != 0 && output_path_takes_company(wanted->table);
    if (wanted->base ? output_path_is_null(wanted->base) : !has_table)
        return 0;
    if (wanted->base && !output_path_takes_company(wanted->base))
        return error_set(err, EINVAL, "cannot write %s.csv: %s is a device or a pipe", wanted->base,
                         wanted->base);
    char *base = wanted->base ? strdup(wanted->base) : stacked_base(wanted->table);
    size_t size = base ? strlen(base) + 5 : 0;
    char *path = base ? malloc(size) : NULL;
    if (!path) {
        free(base);
        return error_no_memory(err, "a file's name");
    }
    snprintf(path, size, "%s.csv", base);
    int status = write_beside(files, wanted, path, write_csv, context, err);
    if (!status) {
        snprintf(path, size, "%s.svg", base);
        status = write_beside(files, wanted, path, write_svg, wanted, err);
    }
    free(base);
    free(path);
    return status;
}
