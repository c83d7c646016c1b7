/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine_measure.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/machine_write.h"
#include "base/count_of.h"
#include "base/output_path.h"
#include "measure/peaks/peaks.h"
#include "ops/known_figures.h"

#define DEFAULT_SECONDS 1.0

static void add_figure(struct machine *m, const char *key, double value, const char *unit, const char *how)
{
    char date[16] = "";
    time_t now = time(NULL);
    struct tm day;
    if (gmtime_r(&now, &day))
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    struct machine_figure *figure = &m->figures[m->figure_count++];
    snprintf(figure->key, sizeof figure->key, "%s", key);
    snprintf(figure->unit, sizeof figure->unit, "%s", unit);
    snprintf(figure->source, sizeof figure->source, "measured %s: %s", date, how);
    figure->value = value;
    machine_take(m, key, value);
}

/* The first of these types that was measured: one that has no unit of its own runs as the next wider one. */
static const struct peak *first_of(const struct peaks *peaks, const enum peak_type *types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (peaks->rates[types[i]].tflops > 0)
            return &peaks->rates[types[i]];
    return NULL;
}

static void add_rates(struct machine *m, const struct peaks *peaks)
{
    static const enum peak_type from_8[] = {PEAK_8_BIT, PEAK_16_BIT, PEAK_TF32, PEAK_FP32, PEAK_FP64},
                                *from_16 = from_8 + 1, *from_tf32 = from_8 + 2, *from_fp32 = from_8 + 3,
                                *fp64 = from_8 + 4;
    const struct {
        const char *key;
        const enum peak_type *types;
        size_t count;
    } rates[] = {{"tflops_per_core_lofi", from_8, 4},      {"tflops_per_core_hifi2", from_16, 3},
                 {"tflops_per_core_hifi3", from_16, 3},    {"tflops_per_core_hifi4", from_tf32, 2},
                 {"vector_tflops_per_core", from_fp32, 1}, {"fp64_tflops_per_core", fp64, 1}};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        const struct peak *peak = first_of(peaks, rates[i].types, rates[i].count);
        char how[160];
        if (!peak)
            continue;
        snprintf(how, sizeof how, "%.4g TFLOP/s on %u %s: %s", peak->tflops, peaks->cores, peaks->core_unit,
                 peak->how);
        add_figure(m, rates[i].key, peak->tflops / peaks->cores, "TFLOP/s", how);
    }
}

/* "NVIDIA H200" becomes nvidia_h200. */
static void make_name(char *out, size_t size, const char *title)
{
    size_t n = 0;
    for (const char *at = title; *at && n + 1 < size; at++) {
        bool is_plain = isalnum((unsigned char)*at);
        if (is_plain)
            out[n++] = (char)tolower((unsigned char)*at);
        else if (n && out[n - 1] != '_')
            out[n++] = '_';
    }
    while (n && out[n - 1] == '_')
        n--;
    out[n] = '\0';
}

int machine_measure(struct machine *m, const char *kind, const struct machine_measure_options *o, char *notes,
                    size_t size, struct error *err)
{
    struct peaks peaks;
    struct peaks_options options = {.threads = (uint32_t)o->threads,
                                    .device = (uint32_t)o->device,
                                    .seconds = o->seconds_ns ? (double)o->seconds_ns / 1e9 : DEFAULT_SECONDS,
                                    .folder = o->library};
    int status = o->save ? output_path_check(o->save, NULL, 0, NULL, err) : 0;
    if (!status && o->name && strlen(o->name) >= sizeof m->name)
        status = error_set(err, EINVAL, "--name: the name has more than %zu bytes", sizeof m->name - 1);
    if (status)
        return status;
    status = strcmp(kind, "cuda") == 0 ? peaks_cuda(&peaks, &options, err) : peaks_cpu(&peaks, &options, err);
    if (status)
        return status;
    machine_defaults(m);
    snprintf(m->title, sizeof m->title, "%.50s, measured", peaks.name);
    snprintf(m->path, sizeof m->path, "%s", o->save ? o->save : "");
    if (o->name)
        snprintf(m->name, sizeof m->name, "%s", o->name);
    else
        make_name(m->name, sizeof m->name, peaks.name);
    /* as the device calls itself: signs of it are missing in the name above */
    snprintf(m->aliases[m->alias_count++], sizeof m->aliases[0], "%s", peaks.name);
    if (strcmp(kind, "cuda") != 0) {
        char host[HOST_NAME_MAX + 1] = "";
        gethostname(host, HOST_NAME_MAX);
        snprintf(m->aliases[m->alias_count++], sizeof m->aliases[0], OPS_CPU_ARCHITECTURE, host);
    }
    char cores[64];
    snprintf(cores, sizeof cores, "%s",
             strcmp(peaks.core_unit, "SMs") == 0 ? "SMs that the driver names" : "threads measured");
    add_figure(m, "worker_cores", peaks.cores, peaks.core_unit, cores);
    add_figure(m, "dram_gb_s", peaks.copy_gb_s, "GB/s", peaks.copy_how);
    add_rates(m, &peaks);
    snprintf(notes, size, "%s", peaks.notes);
    return 0;
}

static int write_file(const void *context, FILE *out, struct error *err)
{
    const struct machine *m = context;
    int status = machine_write(out, m, m->name, NULL, NULL);
    return status ? error_set_errno(err, -status, "machine file") : 0;
}

int machine_measure_save(const struct machine *m, const char *path, struct error *err)
{
    const char *missing = machine_missing(m);
    if (missing)
        return error_set(err, ENODATA, "%s was not measured: no machine file without it", missing);
    return output_write_file(path, write_file, m, err);
}

#define FIELD(name) OPTION_FIELD(struct machine_measure_options, name)

static const struct command_option options_table[] = {
    {.name = "save",
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(save),
     .is_file = true,
     .is_output = true,
     .help =
         "Write the machine file. In ~/.config/opscope/machines or the folder that OPSCOPE_MACHINES names it is found "
         "by its name and used for traces of a device of that name, that of a CPU for what its host computed."},
    {.name = "name",
     .type = OPTION_TEXT,
     .argument = "NAME",
     .offset = FIELD(name),
     .help = "The machine's name; default: what the device is called."},
    {.name = "threads",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(threads),
     .min = 1,
     .max = 4096,
     .help = "Of the CPU: N threads, instead of one for each CPU that this process may use."},
    {.name = "device",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(device),
     .help = "The CUDA device (0)."},
    {.name = "time",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = FIELD(seconds_ns),
     .help = "How long each figure is measured (1s)."},
    {.name = "library",
     .type = OPTION_TEXT,
     .argument = "FOLDER",
     .offset = FIELD(library),
     .is_file = true,
     .help = "Where libcublasLt.so is, if it is not found."},
    {.name = NULL},
};
const struct option_table machine_measure_table = {"Measuring", options_table};
