/* SPDX-License-Identifier: Apache-2.0 */
/* The runtimes of devices load a tool that a variable names into the program (CUDA's driver, NVTX's headers, OpenCL's
 * loader): nothing is linked, nothing is preloaded. The adapters lie beside libopscope.so and hand over what they learn
 * by its device feed. A program that uses none of these runtimes never opens them.
 *
 * A variable that is set already belongs to another tool. One that takes a list is extended; of one that takes a single
 * library the other tool keeps it, and a line says what is not recorded for that. */
#include "cli/run/devices.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "base/own_library.h"
#include "doctor/doctor.h"
#include "session/devices.h"

#define GPU_INTERVAL_LEAST_NS UINT64_C(10000)
#define GPU_INTERVAL_MOST_NS UINT64_C(1000000000)

enum when { BY_NAME = 1, IN_AUTO = 2, WITH_ANY = 4 };

static const struct adapter {
    const char *name; /* for --devices */
    const char *variable;
    const char *library;
    const char *what; /* is recorded through it */
    char separator;   /* of a list; '\0': the variable takes one library */
    unsigned when;    /* enum when */
} adapters[] = {
    {"cuda", "CUDA_INJECTION64_PATH", "libopscope_cuda.so", "CUDA kernels", '\0', BY_NAME | IN_AUTO},
    {"nvtx", "NVTX_INJECTION64_PATH", "libopscope_nvtx.so", "NVTX ranges", '\0',
     BY_NAME | IN_AUTO | WITH_ANY},
    {"opencl", "OPENCL_LAYERS", "libopscope_opencl.so", "OpenCL commands", ':', BY_NAME | IN_AUTO},
    {"opencl-preload", "LD_PRELOAD", "libopscope_opencl.so", "OpenCL commands", ':', BY_NAME},
};

static const char *const choices[] = {"auto", "cuda", "nvtx", "opencl", "opencl-preload", "none", NULL};

static bool is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* The adapters that a name of the list asks for, one bit for each; 0: none, or a name that is not known. */
static unsigned adapters_of(const char *name, size_t length)
{
    bool is_auto = is_word(name, length, "auto");
    unsigned set = 0;
    for (size_t i = 0; i < COUNT_OF(adapters); i++) {
        if (is_auto ? adapters[i].when & IN_AUTO : is_word(name, length, adapters[i].name))
            set |= 1u << i;
    }
    for (size_t i = 0; set && i < COUNT_OF(adapters); i++)
        set |= adapters[i].when & WITH_ANY ? 1u << i : 0;
    return set;
}

/* All that the list asks for, of the option, else of the variable. */
static int read_names(const char *names, unsigned *set, struct error *err)
{
    const char *from = names ? "--devices" : DEVICES_VARIABLE,
               *list = names ? names : getenv(DEVICES_VARIABLE);
    *set = 0;
    if (!list || (!names && !*list))
        list = "auto";
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        size_t length = strcspn(at, ",");
        unsigned more = adapters_of(at, length);
        if (!more && !is_word(at, length, "none")) {
            struct bytes known = {0};
            for (size_t i = 0; choices[i]; i++)
                bytes_append_format(&known, "%s%s", i ? ", " : "", choices[i]);
            error_set(err, EINVAL, "%s: '%.*s' is not known; these are: %s", from, (int)length, at,
                      bytes_text(&known));
            bytes_free(&known);
            return -EINVAL;
        }
        *set |= more;
    }
    return 0;
}

int run_devices_check(const struct run_devices_options *options, struct error *err)
{
    unsigned set;
    uint64_t interval_ns = options->gpu_interval_ns;
    if (interval_ns && !options->reads_gpu_metrics)
        return error_set(err, EINVAL, "--gpu-metrics-interval is for --gpu-metrics");
    if (interval_ns && (interval_ns < GPU_INTERVAL_LEAST_NS || interval_ns > GPU_INTERVAL_MOST_NS))
        return error_set(err, EINVAL, "--gpu-metrics-interval: 10us to 1s can be had");
    return read_names(options->names, &set, err);
}

/* Is this one of the list's entries? */
static bool holds(const char *list, char separator, const char *entry)
{
    const char separators[] = {separator, '\0'};
    for (const char *at = list; at; at = strchr(at, separator) ? strchr(at, separator) + 1 : NULL) {
        if (is_word(at, separator ? strcspn(at, separators) : strlen(at), entry))
            return true;
        if (!separator)
            break;
    }
    return false;
}

static void add(const struct adapter *adapter, const char *path)
{
    const char *old = getenv(adapter->variable);
    struct bytes value = {0};
    if (adapter->separator && strchr(path, adapter->separator)) {
        command_say("opscope: %s cannot name %s: %s are not recorded", adapter->variable, path,
                    adapter->what);
        return;
    }
    if (!old || !*old) {
        setenv(adapter->variable, path, 1);
    } else if (holds(old, adapter->separator, path)) {
        return; /* a run inside a run */
    } else if (adapter->separator) {
        bytes_append_format(&value, "%s%c%s", old, adapter->separator, path);
        if (!value.failed)
            setenv(adapter->variable, bytes_text(&value), 1);
    } else {
        const char *tool = doctor_tool_of(old);
        command_say(
            "opscope: %s is set already (%s%s%s): %s are not recorded; unset it, or leave them to that tool "
            "with --devices none",
            adapter->variable, tool ? tool : "", tool ? ": " : "", old, adapter->what);
    }
    bytes_free(&value);
}

void run_devices_prepare(const struct run_devices_options *options)
{
    char path[PATH_MAX];
    unsigned set;
    if (read_names(options->names, &set, NULL) != 0)
        return;
    if (options->names && getenv(DEVICES_VARIABLE))
        setenv(DEVICES_VARIABLE, options->names, 1); /* the option goes before it in the programs, too */
    for (size_t i = 0; i < COUNT_OF(adapters); i++) {
        if (set & 1u << i && own_library_find(adapters[i].library, path, sizeof path))
            add(&adapters[i], path);
    }
}

static const struct command_option options_table[] = {
    {.name = "devices",
     .type = OPTION_TEXT,
     .argument = "NAMES",
     .choices = choices,
     .offset = OPTION_FIELD(struct run_devices_options, names),
     .help =
         "Which devices are recorded, comma-separated: auto (all; the default), cuda, opencl, opencl-preload (for "
         "programs that do not go through OpenCL's loader), nvtx (ranges alone, which come with every other), none. "
         "Not given: what OPSCOPE_DEVICES says, which also a single process of COMMAND may set for itself."},
    {.name = "gpu-metrics",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_devices_options, reads_gpu_metrics),
     .help =
         "Sample hardware counters of all GPUs of NVIDIA while COMMAND runs: memory read and written, tensor pipes, "
         "multiprocessors and GPU active, PCIe. A process of opscope's own reads them; it needs the driver's "
         "permission (docs/cuda.md), and COMMAND is started when it is ready, after about a second."},
    {.name = "gpu-metrics-interval",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = OPTION_FIELD(struct run_devices_options, gpu_interval_ns),
     .help = "How often, 10us to 1s. Default: 100us for each GPU there is, which takes 0.6 of a CPU."},
    {.name = NULL},
};
const struct option_table run_devices_table = {"Devices", options_table};
