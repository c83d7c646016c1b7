/* SPDX-License-Identifier: Apache-2.0 */
#include "load/overview.h"

#include "import/open.h"

int load_overview(struct loaded_overview *loaded, struct trace *trace, const char *path,
                  const struct overview_options *options, struct error *err)
{
    struct ops_loading loading = {.opened = trace};
    struct overview_options wanted = *options;
    *loaded = (struct loaded_overview){0};
    ops_init(&loaded->ops);
    int status = machine_files_read(&loaded->machines, options->machine, err);
    if (!status &&
        (trace_get_info(trace)->ops + trace_get_info(trace)->runs || import_trace_tells_ops(trace)))
        status = ops_load(&loaded->ops, path, &loading, err);
    if (options->machine && machine_file_is_path(options->machine) && loaded->machines.count)
        wanted.machine = loaded->machines.machines[loaded->machines.newest].name;
    wanted.machines = &loaded->machines;
    wanted.has_host_start = loading.has_host_start;
    wanted.path = path;
    return status ? status : overview_make(&loaded->overview, trace, &loaded->ops, &wanted, err);
}

void loaded_overview_free(struct loaded_overview *loaded)
{
    overview_free(&loaded->overview);
    ops_free(&loaded->ops);
    machine_set_free(&loaded->machines);
}
