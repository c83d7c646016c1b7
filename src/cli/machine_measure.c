/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine_measure.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analyze/machine_files.h"
#include "analyze/machine_write.h"
#include "base/count_of.h"
#include "base/output_path.h"
#include "measure/peaks/peaks.h"
#include "ops/known_figures.h"

#define DEFAULT_SECONDS 1.0

static struct machine_figure *new_figure(struct machine *m, const char *key, double value, const char *unit,
                                         const char *how)
{
    char date[16] = "";
    time_t now = time(NULL);
    struct tm day;
    if (gmtime_r(&now, &day))
        strftime(date, sizeof date, "%Y-%m-%d", &day);
    if (m->figure_count < MACHINE_FIGURES)
        m->figure_count++;
    struct machine_figure *figure = &m->figures[m->figure_count - 1];
    *figure = (struct machine_figure){.value = value};
    snprintf(figure->key, sizeof figure->key, "%s", key);
    snprintf(figure->unit, sizeof figure->unit, "%s", unit);
    snprintf(figure->source, sizeof figure->source, "measured %s: %s", date, how);
    return figure;
}

static void add_figure(struct machine *m, const char *key, double value, const char *unit, const char *how)
{
    new_figure(m, key, value, unit, how);
    machine_take(m, key, value);
}

/* --- as a target of estimates --- */

/* What was measured replaces what the general target assumes. */
static void set_target_figure(struct machine *m, const char *key, double value, const char *unit,
                              const char *how)
{
    struct error err;
    if (!(value > 0) || estimate_target_set(&m->estimate, key, value, &err) != 0)
        return;
    struct machine_figure *own = new_figure(m, key, value, unit, how);
    own->is_estimate = true;
    for (size_t i = 0; i + 1 < m->figure_count; i++) {
        if (m->figures[i].is_estimate && strcmp(m->figures[i].key, key) == 0)
            m->figures[i] = m->figures[--m->figure_count];
    }
}

static void set_target_rates(struct machine *m, const struct peaks *peaks)
{
    const struct peak *rates = peaks->rates, *fp32 = &rates[PEAK_FP32];
    double per_cycle = 1e6 / (2.0 * peaks->clock_mhz * peaks->cores); /* of TFLOP/s */
    double before = m->estimate.macs_f32, f32 = fp32->tflops * per_cycle;
    const struct peak *f16 = rates[PEAK_FP16].tflops > 0 ? &rates[PEAK_FP16] : fp32;
    const struct peak *bf16 = rates[PEAK_16_BIT].tflops > 0 ? &rates[PEAK_16_BIT] : NULL;
    const struct peak *i8 = rates[PEAK_8_BIT].tflops > 0 ? &rates[PEAK_8_BIT] : NULL;
    static const char scaled[] = "as the general target's, by the rate of FP32";
    const char *unit = "MACs/cycle";
    if (!(f32 > 0) || !(before > 0))
        return;
    set_target_figure(m, "macs_f16", f16->tflops * per_cycle, unit, f16->how);
    set_target_figure(m, "macs_bf16", bf16 ? bf16->tflops * per_cycle : m->estimate.macs_bf16 * f32 / before,
                      unit, bf16 ? bf16->how : scaled);
    set_target_figure(m, "macs_i8", i8 ? i8->tflops * per_cycle : m->estimate.macs_i8 * f32 / before, unit,
                      i8 ? i8->how : scaled);
    set_target_figure(m, "macs_i16", m->estimate.macs_i16 * f32 / before, unit, scaled);
    set_target_figure(m, "macs_i32", m->estimate.macs_i32 * f32 / before, unit, scaled);
    set_target_figure(m, "vector_bytes", f32 * sizeof(float), "B/cycle", "operands of as many lanes as FP32");
    set_target_figure(m, "macs_f32", f32, unit, fp32->how);
}

/* A CPU that was measured: what no measurement says is as in the general target, "cpu". */
static int make_target(struct machine *m, const struct peaks *peaks, struct error *err)
{
    struct machine_set set = {0};
    const struct peak_cache *l2 = &peaks->caches[0], *l3 = &peaks->caches[1];
    const struct peak_cache *shared = l3->bytes > 0 ? l3 : l2;
    int status = machine_files_read(&set, NULL, err);
    const struct machine *general = status ? NULL : machine_find(&set, "cpu", 3);
    if (general && general->estimate.kind == ESTIMATE_CACHE && peaks->clock_mhz > 0) {
        m->estimate = general->estimate;
        memcpy(m->estimate.name, m->name, sizeof m->name);
        for (size_t i = 0; i < general->figure_count && m->figure_count < MACHINE_FIGURES; i++) {
            if (general->figures[i].is_estimate)
                m->figures[m->figure_count++] = general->figures[i];
        }
        set_target_figure(m, "clock_mhz", peaks->clock_mhz, "MHz",
                          "additions, one a cycle, that wait for one another");
        set_target_figure(m, "engines", peaks->cores, "threads", "threads measured");
        set_target_figure(m, "local_bytes", l2->bytes / peaks->cores, "B", "L2 for each thread");
        set_target_figure(m, "core_gb_s", peaks->one_gb_s, "GB/s", "memcpy of 64 MiB by one thread");
        set_target_figure(m, "cache_bytes", shared->bytes, "B", "the kernel says so");
        set_target_figure(m, "cache_gb_s", shared->gb_s, "GB/s", shared->how);
        set_target_figure(m, "dram_gb_s", peaks->copy_gb_s, "GB/s", peaks->copy_how);
        set_target_rates(m, peaks);
    }
    machine_set_free(&set);
    return status;
}

/* --- as a machine of reports --- */

static void add_caches(struct machine *m, const struct peaks *peaks, const char *who)
{
    static const char *const keys[PEAK_CACHES][2] = {{"l2_bytes", "l2_gb_s"}, {"l3_bytes", "l3_gb_s"}};
    for (unsigned i = 0; i < PEAK_CACHES; i++) {
        if (!(peaks->caches[i].gb_s > 0))
            continue;
        add_figure(m, keys[i][0], peaks->caches[i].bytes, "B", who);
        add_figure(m, keys[i][1], peaks->caches[i].gb_s, "GB/s", peaks->caches[i].how);
    }
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
                                *fp64 = from_8 + 4, fp16[] = {PEAK_FP16, PEAK_FP32};
    const struct {
        const char *key;
        const enum peak_type *types;
        size_t count;
    } rates[] = {{"tflops_per_core_lofi", from_8, 4},      {"tflops_per_core_hifi2", from_16, 3},
                 {"tflops_per_core_hifi3", from_16, 3},    {"tflops_per_core_hifi4", from_tf32, 2},
                 {"vector_tflops_per_core", from_fp32, 1}, {"fp64_tflops_per_core", fp64, 1},
                 {"fp16_tflops_per_core", fp16, 2}};
    bool is_cpu = peaks->clock_mhz > 0; /* of a GPU the types of 16 bits have one rate */
    for (size_t i = 0; i < COUNT_OF(rates) - !is_cpu; i++) {
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
    bool is_cpu = strcmp(kind, "cuda") != 0;
    add_caches(m, &peaks, is_cpu ? "the kernel says so" : "the driver says so");
    add_rates(m, &peaks);
    snprintf(notes, size, "%s", peaks.notes);
    return is_cpu ? make_target(m, &peaks, err) : 0;
}

static int write_file(const void *context, FILE *out, struct error *err)
{
    const struct machine *m = context;
    bool is_target = m->estimate.kind != ESTIMATE_NO_TARGET;
    int status = machine_write(out, m, m->name, is_target ? &m->estimate : NULL, "");
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
