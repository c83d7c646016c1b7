/* SPDX-License-Identifier: Apache-2.0 */
#include "import/layout.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/count_of.h"
#include "base/make_folder.h"

void ops_layout_prepare(enum ops_layout layout)
{
    static const struct {
        enum ops_layout layout;
        const char *name, *value;
    } variables[] = {
        {OPS_LAYOUT_TORCH, "TT_METAL_DEVICE_PROFILER", "1"},
        {OPS_LAYOUT_TORCH, "TT_METAL_CLEAR_L1", "1"},
        {OPS_LAYOUT_TORCH, "TT_METAL_DEVICE_PROFILER_DISPATCH", "0"},
        {OPS_LAYOUT_METAL, "TT_METAL_DEVICE_PROFILER", "1"},
        {OPS_LAYOUT_METAL, "TTNN_OP_PROFILER", "1"},
        {OPS_LAYOUT_METAL, "TT_METAL_PROFILER_TRACE_TRACKING", "1"},
        {OPS_LAYOUT_METAL, "TT_METAL_PROFILER_CPP_POST_PROCESS", "1"},
    };
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        if (variables[i].layout == layout)
            setenv(variables[i].name, variables[i].value, 0);
    }
}

int ops_layout_table(enum ops_layout layout, const char *folder, const char *name, char *out, size_t size,
                     struct error *err)
{
    char below[600], date[32];
    time_t now = time(NULL);
    struct tm local;
    bool has_name = name && *name;
    if (has_name && strchr(name, '/'))
        return error_set(err, EINVAL, "--layout-name %s: a name, and not a path", name);
    if (layout == OPS_LAYOUT_TORCH) {
        snprintf(out, size, "results/perf/%s", has_name ? name : "device_ops_perf_trace.csv");
        return make_folder("results/perf", err);
    }
    if (!localtime_r(&now, &local) || !strftime(date, sizeof date, "%Y_%m_%d_%H_%M_%S", &local))
        return error_set(err, EINVAL, "no date");
    const char *shown = has_name ? name : "";
    snprintf(below, sizeof below, "%s/reports/%s%s%s", folder, shown, *shown ? "/" : "", date);
    snprintf(out, size, "%s/ops_perf_results%s%s_%s.csv", below, *shown ? "_" : "", shown, date);
    return make_folder(below, err);
}
