/* SPDX-License-Identifier: Apache-2.0 */
/* opscope overhead: how long the host takes to dispatch an op. Options, progress and files; the measuring is in
 * measure/, the figures in analyze/overhead/overhead.c. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/make_folder.h"
#include "base/output_path.h"
#include "cli/command/command.h"
#include "cli/overhead_check.h"
#include "present/overhead/view.h"
#include "cli/run/python.h"
#include "measure/measure.h"
#include "present/format.h"
#include "present/overhead/csv.h"
#include "present/document.h"
#include "serve/overhead_page.h"
#include "serve/snapshot.h"
#include "text/utf8.h"
#include "text/values.h"

#define DEFAULT_NAME "host_overhead_profiler_output.csv"
#define MOST_WORDS 64u
#define PROGRESS_NS UINT64_C(100000000)

struct overhead_options {
    struct output_options output;
    const char *ops, *folder, *csv_name, *shape, *dtype, *layout, *device, *cpu, *python;
    struct text_list names, groups;
    uint64_t repeats, calls, warmup, passes, time_limit_ns, memory_limit_bytes, seed, top;
    double until_percent;
    bool trace, extended, list, quiet;
    struct overhead_check_options check;
};

#define FIELD(name) OPTION_FIELD(struct overhead_options, name)

static const char *const provider_words[] = {"torch", "numpy", "ttnn", NULL};

static const struct command_option what_options[] = {
    {.name = "ops",
     .type = OPTION_TEXT,
     .argument = "PROVIDER",
     .offset = FIELD(ops),
     .choices = provider_words,
     .is_file = true,
     .help =
         "The ops to measure: torch, numpy, ttnn, a Python file (FILE.py), a shared library (FILE.so), or "
         "command:PROGRAM with arguments, separated by blanks. docs/overhead.md says how to write a file or a "
         "library."},
    {.name = "op",
     .type = OPTION_LIST,
     .argument = "GLOB",
     .offset = FIELD(names),
     .help = "Only ops of that name: torch.add, 'torch.*add*'. May be given many times."},
    {.name = "group",
     .type = OPTION_LIST,
     .argument = "GLOB",
     .offset = FIELD(groups),
     .help =
         "Only ops of that group: unary, binary, ternary, reduction, matmul, norm, shape ... May be given many "
         "times."},
    {.name = "list",
     .type = OPTION_FLAG,
     .offset = FIELD(list),
     .help = "Show the ops and their groups; measure nothing."},
    {.name = "shape",
     .type = OPTION_TEXT,
     .argument = "SHAPE",
     .offset = FIELD(shape),
     .help =
         "Shape of the inputs: 1,4,1024,1024. The default is the provider's: small on a CPU, where the work is done "
         "within the call."},
    {.name = "dtype",
     .type = OPTION_TEXT,
     .argument = "TYPE",
     .offset = FIELD(dtype),
     .help = "Data type of the inputs: bfloat16."},
    {.name = "layout",
     .type = OPTION_TEXT,
     .argument = "LAYOUT",
     .offset = FIELD(layout),
     .help = "Layout of the inputs: channels_last (torch), C or F (numpy), TILE or ROW_MAJOR (ttnn)."},
    {.name = "device",
     .type = OPTION_TEXT,
     .argument = "DEVICE",
     .offset = FIELD(device),
     .help =
         "Where the ops run: cpu, cuda, cuda:1 (torch; the default is a GPU where there is one), 0 (ttnn)."},
    {.name = "python",
     .type = OPTION_TEXT,
     .argument = "PROGRAM",
     .offset = FIELD(python),
     .is_file = true,
     .help =
         "Python that has the ops. The default is python3, or /usr/bin/python3 where that one lacks them."},
    {0},
};
static const struct option_table what_table = {"What to measure", what_options};

static const struct command_option how_options[] = {
    {.name = "repeats",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(repeats),
     .min = 1,
     .max = 100000,
     .help = "Bursts of calls an op, each with and without synchronisation (default 20)."},
    {.name = "calls",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(calls),
     .min = 1,
     .max = 1000000,
     .help = "Calls in a burst (default 20; 1 for a command)."},
    {.name = "warmup",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(warmup),
     .min = 1,
     .max = 1000000,
     .help = "Calls before an op is timed (default 5; 1 for a command)."},
    {.name = "passes",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(passes),
     .min = 1,
     .max = 1000,
     .help = "Spread the repeats over N passes over all ops, each in another random order (default 4)."},
    {.name = "until",
     .type = OPTION_PERCENT,
     .argument = "PERCENT",
     .offset = FIELD(until_percent),
     .help =
         "Repeat an op until the 95 % interval of its median is within +-PERCENT of it, at most ten times the "
         "repeats."},
    {.name = "time-limit",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = FIELD(time_limit_ns),
     .help =
         "Stop an op that takes longer for its bursts of one pass (default 30s); the rest goes on. The time that other "
         "processes had the CPU for does not count."},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     .argument = "SIZE",
     .offset = FIELD(memory_limit_bytes),
     .help =
         "Memory the ops may have beyond what the loaded provider takes (default: half of the machine's; none for a "
         "command)."},
    {.name = "cpu",
     .type = OPTION_TEXT,
     .argument = "N|none",
     .offset = FIELD(cpu),
     .help = "Measure on this CPU (default: the least busy one), or let the system choose."},
    {.name = "seed",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(seed),
     .min = 1,
     .max = UINT64_MAX,
     .help = "Order the ops as in the run that printed this seed."},
    {.name = "trace",
     .type = OPTION_FLAG,
     .offset = FIELD(trace),
     .help =
         "Record the calls, and add the time spent in native zones: those of a shared library, torch's ops. The "
         "figures then contain the recording."},
    {0},
};
static const struct option_table how_table = {"How to measure", how_options};

static const struct command_option output_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "DIR[::OP]",
     .offset = FIELD(folder),
     .is_file = true,
     .help = "Write " DEFAULT_NAME
             " into this folder, and a page (.html) beside it; with ::OP measure that op alone and "
             "write host_overhead_OP.csv."},
    {.name = "csv-name",
     .letter = 'c',
     .type = OPTION_TEXT,
     .argument = "NAME",
     .offset = FIELD(csv_name),
     .help = "Another name for that file."},
    {.name = "extended",
     .type = OPTION_FLAG,
     .offset = FIELD(extended),
     .help =
         "Add columns to the CSV: group, state, unrounded times, p50, p99, the interval of the median, native "
         "zones; and rows for ops that failed or were left out."},
    OPTION_TOP(FIELD(top), "Show the N slowest ops; files have all."),
    {.name = "quiet", .letter = 'q', .type = OPTION_FLAG, .offset = FIELD(quiet), .help = "No progress bar."},
    {0},
};
static const struct option_table output_table = {"Results", output_options};

/* --- what the user sees meanwhile --- */

struct screen {
    bool shows_progress, has_line;
    uint64_t last_ns;
};

static void clear_line(struct screen *screen)
{
    if (screen->has_line)
        fputs("\r\033[K", stderr);
    screen->has_line = false;
}

static void show_progress(void *context, const struct measure_progress *p)
{
    struct screen *screen = context;
    uint64_t now = clock_raw_ns();
    if (!screen->shows_progress || now - screen->last_ns < PROGRESS_NS ||
        tcgetpgrp(STDERR_FILENO) != getpgrp())
        return;
    screen->last_ns = now;
    double share = p->total ? (double)p->done / (double)p->total : 1;
    char bar[21];
    for (unsigned i = 0; i < 20; i++)
        bar[i] = i < (unsigned)(share * 20) ? '#' : '-';
    bar[20] = '\0';
    unsigned width = output_terminal_width(STDERR_FILENO);
    unsigned room = width > 70 ? width - 60 : 10;
    fprintf(stderr, "\r\033[K[%s] %3.0f %%, pass %u of %u", bar, 100 * share, p->pass, p->passes);
    if (p->left_ns)
        fprintf(stderr, ", %.0f s left", (double)p->left_ns / 1e9);
    struct bytes op = {0};
    utf8_append_shortened(&op, p->op, strlen(p->op), room, "..");
    fprintf(stderr, "  %s", bytes_text(&op));
    bytes_free(&op);
    screen->has_line = true;
}

static void show_notice(void *context, const char *text)
{
    clear_line(context);
    command_say("opscope: %s", text);
}

/* --- options --- */

struct job {
    const struct command *command;
    struct overhead_options *options;
    struct measure_options measure;
    char folder[PATH_MAX], trace[PATH_MAX], package[PATH_MAX];
    char words[4096], *argv[MOST_WORDS + 1]; /* of command:PROGRAM ... */
    bool has_one_op;
    struct screen screen;
};

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n > m && strcmp(text + n - m, suffix) == 0;
}

static bool is_one_of(const char *const *words, const char *text)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

static bool is_c_source(const char *path)
{
    return has_suffix(path, ".c") || has_suffix(path, ".cc") || has_suffix(path, ".cpp") ||
           has_suffix(path, ".cxx") || has_suffix(path, ".h");
}

static bool is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* command:PROGRAM ARGUMENT ...: blanks separate. */
static int split_command(struct job *job, const char *text)
{
    size_t count = 0;
    if (strlen(text) >= sizeof job->words)
        return command_usage_error(job->command, "the command is too long: give it after --");
    snprintf(job->words, sizeof job->words, "%s", text);
    char *rest = job->words, *word;
    while ((word = strsep(&rest, " \t"))) {
        if (!*word)
            continue;
        if (count == MOST_WORDS)
            return command_usage_error(job->command, "the command has too many words: give it after --");
        job->argv[count++] = word;
    }
    if (!count)
        return command_usage_error(job->command, "command: is followed by a program");
    job->measure.command = job->argv;
    return COMMAND_CONTINUE;
}

static int choose_provider(struct job *job, const struct command_line *line)
{
    struct measure_options *m = &job->measure;
    const char *ops = job->options->ops;
    if (line->count && ops)
        return command_usage_error(job->command, "either --ops or a command, not both");
    if (line->count) {
        m->provider = MEASURE_COMMAND;
        m->command = line->values;
        m->ops = line->values[0];
        return COMMAND_CONTINUE;
    }
    if (!ops || !*ops)
        return command_usage_error(job->command,
                                   "no ops given: --ops torch, numpy, ttnn, FILE.py or FILE.so, or a command "
                                   "after --");
    m->ops = ops;
    if (strncmp(ops, "command:", 8) == 0) {
        m->provider = MEASURE_COMMAND;
        return split_command(job, ops + 8);
    }
    if (has_suffix(ops, ".so") || strstr(ops, ".so.")) {
        m->provider = MEASURE_LIBRARY;
        return COMMAND_CONTINUE;
    }
    if (!has_suffix(ops, ".py") && !is_one_of(provider_words, ops))
        return command_usage_error(
            job->command,
            "no provider %s: --ops takes torch, numpy, ttnn, a Python file (FILE.py), a shared "
            "library (FILE.so) or command:PROGRAM%s",
            ops, is_c_source(ops) ? "; build a .so from this source first" : "");
    m->provider = MEASURE_PYTHON;
    if (!run_python_package_folder(job->package, sizeof job->package))
        return command_usage_error(job->command,
                                   "opscope's Python package is not beside the program; opscope doctor "
                                   "says what this build has");
    m->package = job->package;
    return COMMAND_CONTINUE;
}

/* DIR::OP */
static int split_folder(struct job *job)
{
    struct overhead_options *o = job->options;
    if (!o->folder)
        return COMMAND_CONTINUE;
    snprintf(job->folder, sizeof job->folder, "%s", o->folder);
    char *mark = strstr(job->folder, "::");
    if (!mark)
        return COMMAND_CONTINUE;
    if (!mark[2] || !text_list_add(&o->names, strstr(o->folder, "::") + 2))
        return command_usage_error(job->command, "-o DIR::OP: no op after the colons");
    if (mark == job->folder)
        *mark++ = '.';
    *mark = '\0';
    return COMMAND_CONTINUE;
}

static int choose_cpu(struct job *job)
{
    const char *text = job->options->cpu;
    job->measure.cpu = MEASURE_CPU_CHOOSE;
    if (!text || strcmp(text, "auto") == 0)
        return COMMAND_CONTINUE;
    if (strcmp(text, "none") == 0) {
        job->measure.cpu = MEASURE_CPU_NONE;
        return COMMAND_CONTINUE;
    }
    uint64_t number;
    struct error err = {0};
    if (value_parse_number(text, &number, &err) != 0 || number > 100000)
        return command_usage_error(job->command, "--cpu: a number, none or auto, not '%s'", text);
    job->measure.cpu = (int)number;
    return COMMAND_CONTINUE;
}

static int check_shape(const struct job *job, const char *shape)
{
    bool wants_digit = true;
    for (const char *c = shape; c && *c; c++) {
        if ((*c < '0' || *c > '9') && (*c != ',' || wants_digit))
            return command_usage_error(job->command, "--shape: numbers with commas between, not '%s'", shape);
        wants_digit = *c == ',';
    }
    return shape && wants_digit ? command_usage_error(job->command, "--shape '%s' ends early", shape)
                                : COMMAND_CONTINUE;
}

static int take_options(struct job *job, const struct command_line *line)
{
    struct overhead_options *o = job->options;
    struct measure_options *m = &job->measure;
    int status = choose_provider(job, line);
    if (status == COMMAND_CONTINUE)
        status = split_folder(job);
    if (status == COMMAND_CONTINUE)
        status = choose_cpu(job);
    if (status == COMMAND_CONTINUE)
        status = check_shape(job, o->shape);
    if (status != COMMAND_CONTINUE)
        return status;
    if (o->csv_name && !o->folder)
        return command_usage_error(job->command, "-c names a file in the folder of -o; give that as well");
    if (o->output.json && o->output.csv)
        return command_usage_error(job->command, "--json and --csv exclude each other");
    m->python = o->python;
    m->shape = o->shape;
    m->dtype = o->dtype;
    m->layout = o->layout;
    m->device = o->device;
    m->names = o->names;
    m->groups = o->groups;
    m->repeats = o->repeats;
    m->calls = o->calls;
    m->warmup = o->warmup;
    m->passes = o->passes;
    m->until = o->until_percent / 100;
    m->time_limit_ns = o->time_limit_ns;
    m->memory_limit_bytes = o->memory_limit_bytes;
    m->seed = o->seed;
    job->has_one_op = o->names.count == 1 && !is_glob(o->names.items[0]);
    if (o->trace && overhead_check_is_wanted(&o->check))
        return command_usage_error(job->command,
                                   "--check compares times without the cost of recording: no --trace");
    return o->list ? COMMAND_CONTINUE : overhead_check_prepare(job->command, &o->check, m);
}

/* --- files --- */

static void csv_path(const struct job *job, char *out, size_t size)
{
    const char *name = job->options->csv_name ? job->options->csv_name : DEFAULT_NAME;
    if (job->has_one_op && !job->options->csv_name) {
        int length =
            snprintf(out, size, "%s/host_overhead_%s.csv", job->folder, job->options->names.items[0]);
        for (char *c = out + strlen(job->folder) + 1; length > 0 && *c; c++)
            if (*c == '/')
                *c = '_';
        return;
    }
    snprintf(out, size, "%s/%s", job->folder, name);
}

/* NAME.csv becomes NAME.html. */
static void page_path(char *path)
{
    size_t length = strlen(path), stem = has_suffix(path, ".csv") ? length - 4 : length;
    memcpy(path + stem, ".html", sizeof ".html");
}

/* Beside the CSV, unless it is written elsewhere, or this opscope was built without the page. */
static bool has_own_page(const struct job *job)
{
    struct error ignored = {0};
    return !job->options->check.html && snapshot_check(&ignored) == 0;
}

static unsigned csv_flags(const struct overhead_options *o)
{
    return (o->trace ? OVERHEAD_CSV_NATIVE : 0u) | (o->extended ? OVERHEAD_CSV_EXTENDED : 0u);
}

static int write_files(const struct job *job, const struct overhead_run *run, struct report *report,
                       struct error *err)
{
    char path[PATH_MAX + 320];
    struct bytes text = {0};
    if (!job->options->folder)
        return 0;
    csv_path(job, path, sizeof path - sizeof ".html");
    overhead_append_csv(run, csv_flags(job->options), &text);
    int status = output_write_text(path, &text, err);
    bytes_free(&text);
    if (!status)
        report_text(report, "csv", "written", path);
    page_path(path);
    if (status || !has_own_page(job))
        return status;
    status = overhead_page_write(&(struct overhead_page){.run = run}, path, err);
    if (!status)
        report_text(report, "html", "page", path);
    return status;
}

/* --- results --- */

static void add_facts(const struct job *job, const struct measure *m, const struct overhead_run *run,
                      struct report *report)
{
    const struct measure_facts *f = measure_get_facts(m);
    char text[1024];
    snprintf(text, sizeof text, "%s%s%s%s%s", run->provider, run->provider_version[0] ? " " : "",
             run->provider_version, f->description[0] ? ": " : "", f->description);
    report_text(report, "provider", "ops", text);
    if (f->interpreter[0])
        report_text(report, "interpreter", "python", f->interpreter);
    report_text(report, "machine", "machine", run->machine);
    char cpu[32] = "not pinned";
    if (f->cpu >= 0)
        snprintf(cpu, sizeof cpu, "on CPU %d", f->cpu);
    snprintf(text, sizeof text,
             "%" PRIu64 " repeats x %" PRIu64 " calls, with and without synchronisation, in %" PRIu64
             " passes; %s; seed %" PRIu64,
             f->repeats, f->calls, f->passes, cpu, f->seed);
    report_text(report, "plan", "measured", text);
    if (report_is_json(report)) {
        json_member_real(&report->json, "loop_ns", run->loop_ns);
        json_member_real(&report->json, "noise", run->noise);
        json_member_unsigned(&report->json, "seed", f->seed);
        json_member_unsigned(&report->json, "unsettled", f->unsettled);
        json_member_unsigned(&report->json, "restarts", f->restarts);
    }
    if (job->options->trace)
        report_text(report, "trace", "trace", job->trace);
}

static int show_results(struct job *job, struct measure *m, struct overhead_run *run)
{
    struct output output;
    struct report report;
    struct error err = {0};
    const struct overhead_options *o = job->options;
    const struct measure_facts *f = measure_get_facts(m);
    struct output_options options = o->output;
    if (output_open(&output, &options, &err) != 0)
        return command_fail(job->command, &err);
    report_begin(&report, &output, "overhead");
    struct overhead_view view = {
        .has_native = o->trace, .extended = o->extended || job->has_one_op, .top = o->top};
    int status = 0;
    if (output.format == OUTPUT_CSV) {
        overhead_append_csv(run, csv_flags(o), &report.text);
        status = write_files(job, run, &report, &err);
    } else {
        add_facts(job, m, run, &report);
        status = write_files(job, run, &report, &err);
        overhead_view_tables(&report, run, &view);
        overhead_view_notes(&report, run);
        if (f->unsettled)
            report_note(&report, TABLE_WARN,
                        "%zu op%s did not get within --until %.3g %% of ten times the repeats", f->unsettled,
                        f->unsettled == 1 ? "" : "s", o->until_percent);
        if (!o->folder && output.format == OUTPUT_TERMINAL)
            report_note(&report, TABLE_DIM, "-o DIR writes these figures as CSV");
    }
    struct error second = {0};
    int finished = report_close(&report, 0, NULL, &second);
    if (status || finished)
        return command_fail(job->command, status ? &err : &second);
    for (size_t i = 0; i < run->op_count; i++)
        if (run->ops[i].state == OVERHEAD_MEASURED && !run->ops[i].is_calibration)
            return EXIT_OK;
    return EXIT_NEGATIVE;
}

/* --check: the gate's verdicts are shown instead of the times, which go to the files. */
static int check_results(struct job *job, struct measure *m, struct overhead_run *run)
{
    struct bytes text = {0};
    struct error err = {0};
    char path[PATH_MAX + 300];
    int status = 0;
    if (job->options->folder) {
        csv_path(job, path, sizeof path);
        overhead_append_csv(run, csv_flags(job->options), &text);
        status = output_write_text(path, &text, &err);
        bytes_free(&text);
    }
    return status ? command_fail(job->command, &err)
                  : overhead_check(job->command, &job->options->check, &job->options->output, m, run);
}

/* --list */
static int show_list(const struct job *job, const struct measure *m)
{
    static const struct table_column columns[] = {
        {.key = "op", .title = "op", .shrink = 20},
        {.key = "group", .title = "group"},
        {.key = "reason", .title = "left out because", .shrink = 30}};
    const struct overhead_run *list = measure_get_list(m);
    struct output output;
    struct report report;
    struct table table;
    struct error err = {0};
    if (output_open(&output, &job->options->output, &err) != 0)
        return command_fail(job->command, &err);
    report_begin(&report, &output, "overhead ops");
    table_init(&table, "ops", columns, 3);
    for (size_t i = 0; i < list->op_count; i++) {
        const struct overhead_op *op = &list->ops[i];
        if (!measure_wants(m, op))
            continue;
        table_add_row(&table);
        table_set_text(&table, 0, op->name);
        table_set_text(&table, 1, op->group);
        if (*op->reason)
            table_set_text(&table, 2, op->reason);
    }
    report_table(&report, "rows", &table);
    report_note(&report, TABLE_DIM, "%zu of %zu ops of %s %s", table.row_count, measure_get_facts(m)->listed,
                list->provider, list->provider_version);
    table_free(&table);
    return report_close(&report, 0, NULL, &err) ? command_fail(job->command, &err) : EXIT_OK;
}

/* --- the whole --- */

/* Files that -o makes are named by nobody: none of them may be what the command reads, or its other output. */
static int check_file(const struct job *job, const char *path, struct error *err)
{
    const struct overhead_options *o = job->options;
    const char *const inputs[] = {o->check.verdict.reference, o->ops, o->output.output, o->check.html,
                                  o->check.junit};
    return output_path_check(path, inputs, COUNT_OF(inputs), NULL, err);
}

static int prepare_folder(struct job *job, struct error *err)
{
    char path[PATH_MAX + 320];
    int status = make_folder(job->folder, err);
    csv_path(job, path, sizeof path - sizeof ".html");
    if (!status)
        status = check_file(job, path, err);
    page_path(path);
    return status || !has_own_page(job) ? status : check_file(job, path, err);
}

static int prepare_files(struct job *job, struct error *err)
{
    const struct overhead_options *o = job->options;
    int status = o->folder && !o->list ? prepare_folder(job, err) : 0;
    if (o->trace && !o->list) {
        snprintf(job->trace, sizeof job->trace, "%.4000s%shost_overhead.opscope",
                 o->folder ? job->folder : "", o->folder ? "/" : "");
        job->measure.trace = job->trace;
    }
    return status;
}

static int measure_and_show(struct job *job)
{
    struct measure *m = NULL;
    struct overhead_run run = {0};
    struct error err = {0};
    int status = prepare_files(job, &err);
    if (!status)
        status = measure_open(&m, &job->measure, &err);
    if (status)
        return command_fail(job->command, &err);
    if (job->options->list) {
        int listed = show_list(job, m);
        measure_close(m);
        return listed;
    }
    status = measure_run(m, NULL, 0, &run, &err);
    clear_line(&job->screen);
    bool is_checked = overhead_check_is_wanted(&job->options->check);
    if (!status && !is_checked)
        status = measure_finish(m, &run, &err);
    if (!status && !is_checked && job->options->check.html)
        status = overhead_page_write(&(struct overhead_page){.run = &run}, job->options->check.html, &err);
    int result = status       ? command_fail(job->command, &err)
                 : is_checked ? check_results(job, m, &run)
                              : show_results(job, m, &run);
    overhead_run_free(&run);
    measure_close(m);
    return result;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct overhead_options o = {0};
    struct command_line line;
    int status = command_parse(command, argc, argv, &o, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (o.check.show)
        return overhead_show(command, &o.check, o.top, &o.output);
    o.check.is_quiet = o.quiet;
    struct job job = {.command = command, .options = &o};
    job.screen.shows_progress = !o.quiet && isatty(STDERR_FILENO);
    job.measure.progress = show_progress;
    job.measure.notice = show_notice;
    job.measure.context = &job.screen;
    status = take_options(&job, &line);
    return status == COMMAND_CONTINUE ? measure_and_show(&job) : status;
}

static const char *const usage[] = {"[options] --ops torch|numpy|ttnn|FILE.py|FILE.so",
                                    "[options] -- COMMAND [ARGUMENT]...", "--show FILE.csv", NULL};
static const struct command_argument arguments[] = {
    {.name = "COMMAND",
     .kind = ARGUMENT_PROGRAM,
     .is_optional = true,
     .is_repeated = true,
     .help = "A program to measure, from its start to its end; one call is one process."},
    {0},
};
static const struct command_exit exits[] = {
    {0, "the ops were measured; those that failed are named"},
    {1, "no op could be measured; with --check: an op is slower, missing or fails"},
    {2, "bad input or usage"},
    {0, NULL},
};
static const struct command_example examples[] = {
    {"opscope overhead --ops torch --group binary -o out", "all binary ops of torch; the CSV goes to out/"},
    {"opscope overhead --ops torch -o out::torch.add", "one op"},
    {"opscope overhead --ops ./my_ops.py --until 2%", "ops of your own, until the figures are steady"},
    {"opscope overhead --ops ./libmine.so --trace --extended", "where the time of C ops goes"},
    {"opscope overhead -- ./server --version", "a program"},
    {"opscope overhead --ops torch --check reference.csv --update", "make a reference"},
    {"opscope overhead --ops torch --check reference.csv --junit overhead.xml", "has an op become slower?"},
    {"opscope overhead --show reference.csv --html reference.html", "look at times of an earlier run"},
    {0},
};

const struct command command_overhead = {
    .name = "overhead",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Measure how long the host takes to dispatch ops",
    .usage = usage,
    .description =
        "Calls each op many times from a loop in C, without and with waiting for its work, and shows what a call costs "
        "the host. The ops run in a process of their own, pinned to a CPU, without garbage collection, in several "
        "passes of random order. An op that raises, hangs, crashes or takes too much memory is reported; the others "
        "go on.\n\n"
        "The cost of the loop is measured and subtracted. Pieces of fixed work are measured along with the ops, to see "
        "whether the machine is noisy. Time during which other processes had the CPU is subtracted, too.\n\n"
        "With --check the times are compared with those of a reference: docs/overhead-gate.md says how a slower op is "
        "distinguished from a slower machine.",
    .options = {{&what_table, 0},
                {&how_table, 0},
                {&output_table, 0},
                {&format_option_table, FIELD(output)},
                {&overhead_check_option_table, OPTION_FIELD(struct overhead_options, check)}},
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"run", "report", NULL},
    .run = run,
};
