/* SPDX-License-Identifier: Apache-2.0 */
/* opscope run: records a command and all its descendants. Option handling, progress and the summary; the work is in
 * collect/launch.c. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/output_path.h"
#include "cli/command/command.h"
#include "cli/run/capture.h"
#include "cli/run/devices.h"
#include "cli/run/output.h"
#include "cli/run/profile.h"
#include "cli/run/python.h"
#include "cli/run/summary.h"
#include "cli/run/reported.h"
#include "cli/run/view.h"
#include "collect/launch.h"
#include "collect/tracy/capture.h"
#include "collect/tracy/protocol.h"
#include "present/format.h"
#include "serve/listen.h"
#include "session/folder.h"
#include "trace/writer.h"

struct run_options {
    const char *output;
    const char *device_profile;
    const char *device_logs;
    const char *layout_name;
    const char *tracy_protocol;
    const char *tracy_tools;
    uint64_t buffer_bytes;
    uint64_t max_size_bytes;
    uint64_t duration_ns;
    uint64_t min_duration_ns;
    uint64_t tracy_port;
    unsigned on_full;
    unsigned layout;                /* enum ops_layout */
    struct text_list capture_rules; /* one */
    struct session_capture capture;
    bool is_paused;
    bool keep_session;
    bool no_source;
    bool wait_all;
    bool no_tracy;
    bool is_quiet;
    char capture_tool[4200], capture_output[4200];
    struct tracy_dialect tracy_dialect;
    struct run_view view;
    struct run_python_options python;
    struct run_devices_options devices;
};

static const char *const on_full_choices[] = {"drop", "wait", NULL};
static const char *const layout_choices[] = {"none", "tt-torch", "tt-metal", NULL};

static const struct command_option options_table[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct run_options, output),
     .is_file = true,
     .is_output = true,
     .help =
         "Where the trace goes: NAME.opscope, or a name without an ending. Default: COMMAND.opscope in this folder (of "
         "python3 train.py: train.opscope), numbered rather than overwritten. "
         "NAME.csv asks for the op table in that file and puts the trace beside it. Any other ending is an error."},
    {.name = "view",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_options, view.is_wanted),
     .help =
         "Serve the page of the recording while COMMAND runs, and after it until Ctrl+C; SIGTERM while COMMAND "
         "runs ends both. The link, which has the token that every request needs, is printed on standard error before "
         "COMMAND is started."},
    {.name = "port",
     .letter = 'p',
     .type = OPTION_NUMBER,
     .argument = "PORT",
     .offset = OPTION_FIELD(struct run_options, view.port),
     .min = 0,
     .max = 65535,
     .help =
         "The same on this port; 0 is any that is free. The default is 7950, or the next one that is free."},
    {.name = "open",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_options, view.opens_browser),
     .help = "The same, and open the page in the browser (xdg-open)."},
    {.name = "buffer-size",
     .type = OPTION_SIZE,
     .argument = "SIZE",
     .offset = OPTION_FIELD(struct run_options, buffer_bytes),
     .help =
         "Most memory a recorded process may use for records not yet collected (default 32M, at most 512M). "
         "Taken as needed, not at once."},
    {.name = "on-full",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .choices = on_full_choices,
     .offset = OPTION_FIELD(struct run_options, on_full),
     .help = "When that memory is full: drop zones (whole ones, counted and shown as lost), or let the "
             "program wait "
             "for the collector (given up when the collector has not been heard of for a second)."},
    OPTION_MAX_SIZE(OPTION_FIELD(struct run_options, max_size_bytes)),
    {.name = "duration",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = OPTION_FIELD(struct run_options, duration_ns),
     .help = "Stop recording after TIME. The program goes on; its exit status is still passed on."},
    {.name = "paused",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_options, is_paused),
     .help =
         "Record nothing until opscope resume, or the program itself, says so: opscope_resume(), opscope.resume()."},
    {.name = "capture",
     .type = OPTION_LIST,
     .argument = "WHEN",
     .offset = OPTION_FIELD(struct run_options, capture_rules),
     .help =
         "Record only a part: cuda-profiler-api, between the program's own calls that start and stop profilers "
         "(torch.cuda.profiler.start, cudaProfilerStart); signpost:A..B, from signpost A to signpost B (either may be "
         "left out); zone:NAME, inside zones and ops of that name; steps:20-25, those frames (or steps of a PyTorch "
         "optimizer) of each process, counted from 1, as opscope frames numbers them in a whole recording. "
         "Exact in each process that it happens in; the others follow within some milliseconds."},
    {.name = "min-duration",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = OPTION_FIELD(struct run_options, min_duration_ns),
     .help =
         "Leave zones shorter than TIME out of the trace; their time is their parents'. They are recorded all the "
         "same: this makes the trace smaller, not the program faster."},
    {.name = "device-profile",
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct run_options, device_profile),
     .is_file = true,
     .help =
         "The profile that COMMAND's runtime writes: a runtime CSV of Torq in any of its forms, or IREE's .ireeprof or "
         "JSON lines. When COMMAND has ended it becomes part of the trace, and the time of each block is shown. FILE "
         "need not exist yet; one that is left from before the run is not taken."},
    OPTION_DEVICE_LOGS(OPTION_FIELD(struct run_options, device_logs)),
    {.name = "layout",
     .type = OPTION_CHOICE,
     .argument = "WHOSE",
     .choices = layout_choices,
     .offset = OPTION_FIELD(struct run_options, layout),
     .help =
         "Put the op table also where another tool's scripts look for it, and set the variables by which that tool has "
         "devices recorded. tt-torch: results/perf/device_ops_perf_trace.csv. tt-metal: "
         "reports/NAME/DATE/ops_perf_results_NAME_DATE.csv and .logs/ in the runtime's folder."},
    {.name = "layout-name",
     .type = OPTION_TEXT,
     .argument = "NAME",
     .offset = OPTION_FIELD(struct run_options, layout_name),
     .help = "NAME of such a report; of tt-torch, the name of the file."},
    {.name = "tracy-port",
     .type = OPTION_NUMBER,
     .argument = "PORT",
     .offset = OPTION_FIELD(struct run_options, tracy_port),
     .min = 1,
     .max = 65535,
     .help =
         "Have a program built with Tracy listen there (TRACY_PORT). Not needed: any port is found, and a second "
         "program would not get the same one."},
    {.name = "tracy-tools",
     .type = OPTION_TEXT,
     .argument = "DIR",
     .offset = OPTION_FIELD(struct run_options, tracy_tools),
     .is_file = true,
     .help =
         "Have Tracy's own capture tool, which is in DIR, record each such program as well, into NAME.tracy beside "
         "the trace (NAME.2.tracy ...). It must be of the program's version. Nothing else needs it."},
    {.name = "no-tracy",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_options, no_tracy),
     .help = "Leave programs that were built with Tracy alone; without this they are recorded as they are."},
    {.name = "tracy-protocol",
     .type = OPTION_TEXT,
     .argument = "N",
     .offset = OPTION_FIELD(struct run_options, tracy_protocol),
     .help =
         "The protocol of such programs, 63 to 82, where it is not found by itself; tt66: 66 with the 16-bit GPU "
         "contexts of a fork."},
    {.name = "wait-all",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_options, wait_all),
     .help = "After the command has ended, go on until its last recorded descendant has."},
    OPTION_RECORD_NO_SOURCE(OPTION_FIELD(struct run_options, no_source)),
    {.name = "keep-session",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_options, keep_session),
     .help = "Leave the session folder behind, to look at it or to test opscope recover."},
    {.name = "quiet",
     .letter = 'q',
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct run_options, is_quiet),
     .help = "No progress line and no summary; warnings stay."},
    {.name = NULL},
};
static const struct option_table run_table = {"Options", options_table};

/* --- names --- */

static bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t n = strlen(text), m = strlen(suffix);
    return n > m && strcmp(text + n - m, suffix) == 0;
}

/* Of what lies beside the trace. */
static int stem_length(const char *trace)
{
    return (int)(strlen(trace) - (has_suffix(trace, ".opscope") ? strlen(".opscope") : 0));
}

static void name_ops_csv(const char *trace, char *out, size_t size)
{
    snprintf(out, size, "%.*s.ops.csv", stem_length(trace), trace);
}

static bool is_free(const char *trace)
{
    char csv[4200];
    name_ops_csv(trace, csv, sizeof csv);
    return !file_exists(trace) && !file_exists(csv);
}

/* NAME.opscope, NAME.2.opscope ...: the first that is free, as is the name of its op table; its .partial is made at
 * once so that two runs that start together do not choose the same. */
static int choose_output(const char *program, char *out, size_t size)
{
    const char *slash = strrchr(program, '/');
    const char *base = slash && slash[1] ? slash + 1 : program;
    for (unsigned n = 1; n < 100000; n++) {
        char partial[4200];
        if (n == 1)
            snprintf(out, size, "%.200s.opscope", base);
        else
            snprintf(out, size, "%.200s.%u.opscope", base, n);
        snprintf(partial, sizeof partial, "%s.partial", out);
        if (!is_free(out))
            continue;
        int fd = open(partial, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return errno;
        if (fd < 0)
            continue;
        close(fd);
        /* Its run may have ended since the first look, or be a flight recorder, which holds numbered files alone. */
        if (is_free(out) && !trace_partial_is_numbered(out))
            return 0;
        unlink(partial);
    }
    return EEXIST;
}

/* One quoted string is a shell command, unless it names a program. */
static bool is_shell_string(int count, char **values)
{
    return count == 1 && strpbrk(values[0], " \t\n|&;<>()$`\\\"'*?[#~=%") && access(values[0], X_OK) != 0;
}

static void join_command(char **argv, struct bytes *out)
{
    for (size_t i = 0; argv[i]; i++) {
        if (i)
            bytes_append_u8(out, ' ');
        bytes_append_text(out, argv[i]);
    }
    bytes_append_u8(out, 0);
}

/* --- what the user sees --- */

struct screen {
    bool shows_progress;
    bool has_line;
};

static void clear_line(struct screen *screen)
{
    if (screen->has_line)
        fputs("\r\033[K", stderr);
    screen->has_line = false;
}

static void show_progress(void *context, const struct launch_progress *p)
{
    struct screen *screen = context;
    struct number_text processes, zones, lost, size;
    /* In the background a write to the terminal could stop us. */
    if (!screen->shows_progress || tcgetpgrp(STDERR_FILENO) != getpgrp())
        return;
    fprintf(stderr, "\r\033[Kopscope: %.0f s, %s, %s, %s lost, %s", (double)p->elapsed_ns / 1e9,
            format_things(&processes, p->stats.processes, "process"),
            format_things(&zones, p->stats.zones, "zone"), format_count(&lost, p->stats.lost_zones),
            format_bytes(&size, p->size_bytes));
    screen->has_line = true;
}

static void show_notice(void *context, const char *text)
{
    clear_line(context);
    command_say("opscope: %s", text);
}

struct left_behind {
    const struct earlier_run *earlier;
    unsigned count;
    char first[3072];
};

static void count_left_behind(void *context, const char *path)
{
    struct left_behind *left = context;
    struct session_folder folder;
    bool is_alive;
    if (strcmp(path, left->earlier->session) == 0)
        return; /* named already */
    if (session_folder_open(&folder, path, &is_alive, NULL) != 0)
        return;
    if (!is_alive && left->count++ == 0)
        snprintf(left->first, sizeof left->first, "%s", path);
    session_folder_close(&folder);
}

/* One line, however many there are. */
static void name_left_behind(const struct earlier_run *earlier)
{
    struct left_behind left = {.earlier = earlier};
    struct number_text sessions;
    session_folder_each(count_left_behind, &left);
    if (left.count == 1)
        command_say(
            "opscope: an earlier run left a session behind: finish its trace with `opscope recover %s`, or "
            "drop it with `opscope recover --clean`",
            left.first);
    else if (left.count)
        command_say("opscope: earlier runs left %s behind: `opscope recover --list` shows them, `opscope "
                    "recover --clean` drops them",
                    format_things(&sessions, left.count, "session"));
}

#define TABLE_OPS_MOST 100000u /* of a table that nobody asked for: some 20 MB */

/* The op table beside the trace: opscope ops TRACE --csv -o FILE. */
static void write_ops_csv(const char *trace, const char *csv, bool is_quiet)
{
    char path[4200];
    struct error err = {0};
    name_ops_csv(trace, path, sizeof path);
    if (!csv[0] && output_path_check_made(path, NULL, 0, &err) != 0) {
        command_say("opscope: op table: %s", err.message);
        return;
    }
    char ops[] = "ops", as_csv[] = "--csv", output[] = "-o",
         *argv[] = {ops, as_csv, output, NULL, NULL, NULL};
    char name[4200];
    snprintf(name, sizeof name, "%s", trace);
    argv[3] = csv[0] ? (char *)(uintptr_t)csv : path;
    argv[4] = name;
    const struct command *command = command_find("ops");
    if (command && command->run(command, 5, argv) == EXIT_OK && !is_quiet)
        command_say("opscope: op table: %s", csv[0] ? csv : path);
}

/* --- the end --- */

/* Ends as the command ended: with its status, or by its signal (without a second core dump). */
static int pass_on_status(int wait_status)
{
    if (WIFEXITED(wait_status))
        return WEXITSTATUS(wait_status);
    int number = WTERMSIG(wait_status);
    struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    fflush(NULL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return 128 + number; /* a signal that cannot end us */
}

struct additions { /* to the trace, when the command has ended */
    struct run_profile *profile;
    struct run_reported reported;
};

static void add_to_trace(void *context, struct trace_writer *writer)
{
    struct additions *additions = context;
    if (additions->profile->path)
        run_profile_add(additions->profile, writer);
    run_reported_add(&additions->reported, writer);
}

/* Where another tool would have put it. */
static void write_layout(const struct run_options *o, const struct additions *additions, const char *output)
{
    char path[4200];
    struct error err = {0};
    const char *folder =
        additions->reported.reported ? ops_reported_folder(additions->reported.reported) : ".";
    int status = 0;
    if (o->layout == OPS_LAYOUT_METAL && additions->reported.reported)
        status = ops_reported_write_logs(additions->reported.reported, &err);
    if (!status)
        status =
            ops_layout_table((enum ops_layout)o->layout, folder, o->layout_name, path, sizeof path, &err);
    if (status)
        command_say("opscope: --layout: %s", err.message);
    else
        write_ops_csv(output, path, o->is_quiet);
}

static void say_table_is_large(uint64_t ops, const char *trace)
{
    struct number_text count;
    command_say("opscope: op table: not written, as it has %s: opscope ops %s --csv=%.*s.ops.csv",
                format_things(&count, ops, "op"), trace, stem_length(trace), trace);
}

static void show_results(const struct run_options *o, const struct launch_result *result,
                         const struct additions *additions, char *const *argv, const char *output,
                         const char *csv)
{
    run_summary(result, argv, output, &o->capture, o->is_quiet);
    run_profile_show(additions->profile, output, o->is_quiet);
    run_reported_show(&additions->reported, "opscope", output, o->is_quiet);
    if (o->keep_session && result->session_path[0])
        command_say("opscope: session kept: %s", result->session_path);
    bool has_ops = result->has_trace &&
                   (result->stats.ops || additions->profile->is_added || additions->reported.counts.ops);
    bool is_large = result->stats.ops > TABLE_OPS_MOST;
    if (has_ops && (csv[0] || (!is_large && !output_path_is_null(output))))
        write_ops_csv(output, csv, o->is_quiet);
    else if (has_ops && is_large && !o->is_quiet && !output_path_is_null(output))
        say_table_is_large(result->stats.ops, output);
    if (has_ops && o->layout && !output_path_is_null(output))
        write_layout(o, additions, output);
    else if (o->layout)
        command_say("opscope: --layout: no op table: the program reported no op");
}

static int launch(struct run_options *o, struct run_profile *profile, char **argv, const char *output,
                  const char *csv)
{
    struct additions additions = {.profile = profile};
    struct bytes command = {0};
    if (!o->no_tracy)
        run_reported_begin(&additions.reported, o->device_logs);
    if (additions.reported.reported)
        ops_reported_set_layout(additions.reported.reported, (enum ops_layout)o->layout);
    snprintf(o->capture_output, sizeof o->capture_output, "%.*s", stem_length(output), output);
    join_command(argv, &command);
    /* Where the command's own output is on the screen, a line of ours would stand in the middle of it. */
    struct screen screen = {.shows_progress =
                                !o->is_quiet && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO)};
    struct launch_options options = {
        .argv = argv,
        .command = command.failed ? argv[0] : (const char *)command.data,
        .output = output,
        .program = "opscope " OPSCOPE_VERSION,
        .buffer_bytes = o->buffer_bytes,
        .max_size_bytes = o->max_size_bytes,
        .duration_ns = o->duration_ns,
        .min_duration_ns = o->min_duration_ns,
        .on_full = o->on_full,
        .is_paused = o->is_paused,
        .capture = o->capture,
        .keep_session = o->keep_session,
        .no_source = o->no_source,
        .wait_all = o->wait_all,
        .records_tracy = !o->no_tracy,
        .tracy_dialect = o->tracy_protocol ? &o->tracy_dialect : NULL,
        .progress = show_progress,
        .notice = show_notice,
        .context = &screen,
        .listener = additions.reported.reported ? &additions.reported.listener : NULL,
        .capture_tool = o->tracy_tools ? o->capture_tool : NULL,
        .capture_output = o->capture_output,
        .reads_gpu_metrics = o->devices.reads_gpu_metrics,
        .gpu_interval_ns = o->devices.gpu_interval_ns,
        .before_finish = add_to_trace,
        .finish_context = &additions,
        .opened = o->view.is_wanted ? run_view_start : NULL,
        .opened_context = &o->view,
    };
    struct launch_result result;
    struct error err = {0};
    o->view.output = output;
    int status = launch_run(&options, &result, &err);
    bytes_free(&command);
    clear_line(&screen);
    if (status) {
        run_reported_end(&additions.reported);
        command_say("opscope run: %s", err.message);
        return EXIT_RUN_FAILED;
    }
    if (!result.was_started) {
        run_reported_end(&additions.reported);
        run_view_end(&o->view);
        bool is_script = result.exec_error == EACCES && has_suffix(argv[0], ".py");
        command_say("opscope run: cannot run %s: %s%s%s", argv[0], strerror(result.exec_error),
                    is_script ? "; a Python script is run as: opscope run python3 " : "",
                    is_script ? argv[0] : "");
        return result.exec_error == ENOENT ? 127 : 126;
    }
    show_results(o, &result, &additions, argv, output, csv);
    run_reported_end(&additions.reported);
    if (!result.is_to_end)
        run_view_stay(&o->view);
    run_view_end(&o->view);
    return pass_on_status(result.wait_status);
}

/* A standard descriptor that is closed would become the trace's, and our messages would go into it. The command
 * still finds it closed. */
static void fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* COMMAND_CONTINUE; or the status of a usage error. */
static int check_options(const struct command *command, struct run_options *o)
{
    struct error err = {0};
    if (o->view.is_wanted && o->max_size_bytes)
        return command_usage_error(
            command, "--view and --max-size exclude each other: a trace that drops its oldest data "
                     "can be read when it is finished");
    if (o->view.is_wanted && o->output && output_path_is_null(o->output))
        return command_usage_error(command, "--view needs a trace to show: leave out -o %s", o->output);
    if (o->device_profile && o->duration_ns)
        return command_usage_error(command,
                                   "--device-profile and --duration exclude each other: the profile is "
                                   "there when the command has ended");
    if (o->tracy_tools && o->no_tracy)
        return command_usage_error(command, "--tracy-tools and --no-tracy exclude each other");
    if (o->tracy_tools &&
        tracy_capture_find(o->tracy_tools, o->capture_tool, sizeof o->capture_tool, &err) != 0)
        return command_usage_error(command, "%s", err.message);
    if (o->layout_name && !o->layout)
        return command_usage_error(command, "--layout-name is for --layout");
    if (o->tracy_protocol && !tracy_dialect_parse(o->tracy_protocol, &o->tracy_dialect))
        return command_usage_error(command, "--tracy-protocol: '%s' is not known: %u to %u are",
                                   o->tracy_protocol, TRACY_OLDEST, TRACY_NEWEST);
    if (run_devices_check(&o->devices, &err) != 0)
        return command_usage_error(command, "%s", err.message);
    if (o->capture_rules.count > 1)
        return command_usage_error(command, "--capture %s and --capture %s: one rule for a recording",
                                   o->capture_rules.items[0], o->capture_rules.items[1]);
    if (o->capture_rules.count && run_capture_parse(o->capture_rules.items[0], &o->capture, &err) != 0)
        return command_usage_error(command, "%s", err.message);
    o->is_paused |= run_capture_begins_paused(&o->capture);
    return COMMAND_CONTINUE;
}

static void set_tracy_port(uint64_t port)
{
    char text[24];
    snprintf(text, sizeof text, "%u", (unsigned)port);
    setenv("TRACY_PORT", text, 1);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct run_options o = {.buffer_bytes = SESSION_DEFAULT_BUFFER,
                            .view = {.control = -1, .port = LISTEN_NO_PORT}};
    struct command_line line;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &o, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    o.view.is_wanted |= o.view.port != LISTEN_NO_PORT || o.view.opens_browser;
    status = check_options(command, &o);
    if (status != COMMAND_CONTINUE)
        return status;
    char *shell[] = {"/bin/sh", "-c", line.values[0], NULL};
    char **program = is_shell_string(line.count, line.values) ? shell : line.values;
    char chosen[4096], csv[4096] = "";
    const char *output = o.output;
    fill_standard_descriptors();
    run_python_prepare(&o.python);
    run_devices_prepare(&o.devices);
    ops_layout_prepare((enum ops_layout)o.layout);
    if (o.tracy_port)
        set_tracy_port(o.tracy_port);
    else if (!o.no_tracy) /* of several processes only the first could listen there */
        unsetenv("TRACY_PORT");
    struct run_profile profile;
    if (run_profile_begin(&profile, o.device_profile, &err) != 0) {
        command_say("opscope run: %s", err.message);
        return EXIT_RUN_FAILED;
    }
    if (output && has_suffix(output, ".csv")) {
        snprintf(csv, sizeof csv, "%s", output);
        snprintf(chosen, sizeof chosen, "%.*s.opscope", (int)(strlen(output) - 4), output);
        output = chosen;
    }
    if (output && run_output_check(output, &err) != 0) {
        command_say("opscope run: %s", err.message);
        return EXIT_RUN_FAILED;
    }
    if (!output) {
        /* sh -c 'name ...' is called after its first word */
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(line.values[0], " \t\n;|&<>"), line.values[0]);
        bool is_named = program == shell ? word[0] != '\0' : run_python_name(program, word, sizeof word);
        int failed = choose_output(is_named ? word : program[0], chosen, sizeof chosen);
        if (failed) {
            command_say("opscope run: cannot write the trace into this folder: %s (choose another with -o)",
                        strerror(failed));
            return EXIT_RUN_FAILED;
        }
        output = chosen;
    }
    struct earlier_run earlier;
    if (run_output_keep_earlier(output, &earlier, &err) != 0) {
        command_say("opscope run: %s", err.message);
        return EXIT_RUN_FAILED;
    }
    if (!o.is_quiet)
        name_left_behind(&earlier);
    return launch(&o, &profile, program, output, csv);
}

static const char *const usage[] = {"[options] [--] COMMAND [ARGUMENT]...", "[options] \"SHELL COMMAND\"",
                                    NULL};
static const struct command_argument arguments[] = {
    {.name = "COMMAND",
     .kind = ARGUMENT_PROGRAM,
     .is_repeated = true,
     .help = "What to run, with its arguments. One quoted string is run by /bin/sh -c."},
    {.name = NULL},
};
static const struct command_exit exits[] = {
    {0, "the command's own status, whatever it is; a command killed by a signal ends opscope by that signal"},
    {125, "opscope itself failed before the command was started"},
    {126, "the command was found but cannot be run"},
    {127, "the command was not found"},
    {0, NULL},
};
static const struct command_example examples[] = {
    {"opscope run -o train.opscope -- ./train --steps 10", "records train and everything it starts"},
    {"opscope run \"make -j2 test\"", "a shell command as one string"},
    {"opscope run --device-profile d.csv -- torq-run-module --module=m.vmfb --torq_profile_host=d.csv",
     "adds what the device did, as the command's runtime measured it"},
    {"opscope run --capture steps:20-25 -- python3 train.py", "leaves the warm-up out"},
    {"opscope run --view --open -- python3 train.py", "shows it in the browser while it runs"},
    {"opscope run --max-size 100M --duration 1h ./server", "keeps the newest 100 MiB of the first hour"},
    {NULL, NULL},
};
static const char *const see_also[] = {"view",     "pause",   "info",   "zones",
                                       "annotate", "recover", "doctor", NULL};

const struct command command_run = {
    .name = "run",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Record a program and all its descendants",
    .usage = usage,
    .description =
        "Runs COMMAND in a new session and collects what it and its descendants record into one "
        "trace with one clock. "
        "Exit status, signals, standard streams, arguments, working folder and job control pass "
        "through; only "
        "OPSCOPE_SESSION is added to the environment, for Python programs OPSCOPE_PYTHON_TRACE, "
        "OPSCOPE_PYTHON_RUN and an entry of PYTHONPATH, for programs built with Tracy TRACY_NO_EXIT, "
        "TRACY_ONLY_LOCALHOST and TRACY_NO_SAMPLING where they are not set (without TRACY_PORT), and for those "
        "that use devices CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH and an entry of OPENCL_LAYERS (--devices).\n\n"
        "Programs that were built with Tracy are recorded into the same trace, all of them, also those that others "
        "start: they are found by their listening sockets, connected, and let go when they end. Tracy's tools are not "
        "needed. A client keeps in the program's memory what was not read yet. One that opscope cannot reach (another "
        "user's) would wait for a server when it ends: --no-tracy. When opscope is gone before them, a process that it "
        "left behind lets them go.\n\n"
        "While it grows, the trace is called FILE.partial, and can be read. The FILE.partial of a run that was "
        "killed is kept: the next run with the same FILE moves it to NAME.killed.opscope. When the trace holds "
        "ops, the op table is written beside it as NAME.ops.csv; of more than 100,000 ops only where -o names a "
        "table.\n\n"
        "The run ends when COMMAND does. Descendants that live on are listed as still running; "
        "what they do later is "
        "not recorded (--wait-all waits for them). Two runs at once have nothing to do with each "
        "other. A run inside a "
        "run makes a session of its own: what it starts is recorded there and not in the outer "
        "trace. If no session "
        "can be made, COMMAND runs all the same, and a line says that it was not recorded.\n\n"
        "When it has ended, the lines around the places that were recorded are read from their files, and are in "
        "the trace: who looks at it needs no files, and opens none. "
        "--no-source leaves them out.\n\n"
        "At the end a line says what was recorded; on a terminal, the screen of opscope summary follows.\n\n"
        "With --view, the page is served by a process of its own that reads the growing file: however slow its viewers "
        "are, or if it dies, the recording goes on as without them. The first Ctrl+C is COMMAND's, as always; when "
        "COMMAND has ended, the page stays until the next one (or SIGTERM, SIGHUP), and the exit status is still "
        "COMMAND's. If the page cannot be served, COMMAND is not started.\n\n"
        "With --device-profile, a profile that is missing, older than the run, empty or damaged is named; the trace is "
        "written without it, and the status is still COMMAND's. Times of a profile are placed by the host's monotonic "
        "clock; where they are of another clock, the profile begins with COMMAND and a line says so.",
    .options = {{&run_table, 0},
                {&run_devices_table, OPTION_FIELD(struct run_options, devices)},
                {&run_python_table, OPTION_FIELD(struct run_options, python)}},
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = see_also,
    .stops_at_argument = true,
    .usage_exit = EXIT_RUN_FAILED,
    .run = run,
};
