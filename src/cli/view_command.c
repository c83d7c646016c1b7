/* SPDX-License-Identifier: Apache-2.0 */
/* opscope view: the page, served to a browser. */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "serve/server.h"
#include "serve/snapshot.h"

extern char **environ;

struct view_options {
    uint64_t port, timeout_ns;
    const char *listen, *html;
    bool open, until_eof, no_source;
};

static void open_browser(const char *url)
{
    char *const words[] = {(char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)url, NULL};
    pid_t pid;
    if (posix_spawnp(&pid, words[0], NULL, NULL, words, environ) != 0)
        command_say("opscope view: xdg-open is not here: open the link in a browser yourself");
}

/* One file instead of a server. */
static int write_snapshot(const struct view_options *options, const char *trace_path, struct error *err)
{
    struct serve_trace st;
    int status = snapshot_check(err);
    if (status)
        return status;
    status = serve_trace_open(&st, trace_path, err);
    if (status)
        return status;
    st.has_no_source = options->no_source;
    status = snapshot_write(&st, "overview", options->html, err);
    serve_trace_close(&st);
    return status;
}

static int run_html(const struct command *command, const struct view_options *options,
                    const struct command_line *line)
{
    struct error err = {0};
    if (options->port || options->listen || options->timeout_ns || options->open)
        return command_usage_error(command, "--html writes a file: no --port, --listen, --timeout, --open");
    if (line->count != 1)
        return command_usage_error(command, "--html takes one trace");
    return write_snapshot(options, line->values[0], &err) ? command_fail(command, &err) : EXIT_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct view_options options = {0};
    struct command_line line;
    struct server *server;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (options.html)
        return run_html(command, &options, &line);
    if (options.no_source)
        return command_usage_error(command, "--no-source goes with --html");
    const struct server_options served = {.paths = (const char *const *)line.values,
                                          .path_count = (size_t)line.count,
                                          .listen = options.listen,
                                          .port = (uint16_t)options.port,
                                          .timeout_ns = options.timeout_ns,
                                          .until_eof = options.until_eof};
    if (server_open(&server, &served, &err) != 0)
        return command_fail(command, &err);
    printf("%s\n", server_url(server));
    fflush(stdout);
    if (isatty(STDERR_FILENO) && !options.until_eof)
        command_say("opscope view: open this link in a browser; Ctrl+C ends the server");
    if (options.open)
        open_browser(server_url(server));
    status = server_run(server, &err);
    server_close(server);
    return status ? command_fail(command, &err) : EXIT_OK;
}

static const struct command_option view_options[] = {
    {.name = "port",
     .letter = 'p',
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = OPTION_FIELD(struct view_options, port),
     .min = 1,
     .max = 65535,
     .help = "Listen on this port. The default is 7950, or the next one that is free."},
    {.name = "listen",
     .type = OPTION_TEXT,
     .argument = "ADDRESS",
     .offset = OPTION_FIELD(struct view_options, listen),
     .help =
         "Listen on this address instead of 127.0.0.1: 0.0.0.0 is all of this machine's. The link then has a token, "
         "without which nothing is answered. The connection is not encrypted."},
    {.name = "open",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct view_options, open),
     .help = "Open the page in the browser (xdg-open)."},
    {.name = "timeout",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = OPTION_FIELD(struct view_options, timeout_ns),
     .help =
         "Close connections of clients that are idle, or slow to ask or to read, for so long. The default is 30s."},
    {.name = "until-eof",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct view_options, until_eof),
     .is_hidden = true,
     .help = "End when standard input, a pipe, is closed: how opscope run --view keeps its server."},
    OPTION_FILE(
        "html", OPTION_FIELD(struct view_options, html),
        "Write the page with the trace into this file instead (- is standard output) and end: it needs no "
        "server and no network. Of more than 200,000 zones and runs the shortest are drawn summed up. Source lines "
        "around the places in its tables are in it, where they can be read here."),
    OPTION_NO_SOURCE(OPTION_FIELD(struct view_options, no_source)),
    {0},
};

static const struct option_table view_table = {"Options", view_options};

static const struct command_argument arguments[] = {
    {.name = "FILE",
     .kind = ARGUMENT_TRACE,
     .is_optional = true,
     .is_repeated = true,
     .help =
         "A trace, finished or still being written, or what can be imported as one. Without FILE: the recordings "
         "that run now, in any folder, the traces of the working folder, newest first, and those that are made while "
         "the server runs."},
    {0},
};

static const struct command_exit exits[] = {
    {EXIT_OK, "the server was ended (Ctrl+C, SIGTERM), or the file was written"},
    {EXIT_USAGE, "a trace cannot be read, the port is in use, or bad usage"},
    {0, NULL},
};

static const struct command_example examples[] = {
    {"opscope view t.opscope --open", "Look at a trace in the browser."},
    {"opscope view",
     "Choose among recordings that run now and the traces of this folder, or wait for the next one."},
    {"opscope view before.opscope after.opscope --port 8000", "Two traces, on a port of your choice."},
    {"opscope view t.opscope --listen 0.0.0.0",
     "Look at it from another machine, with the link that is printed."},
    {"opscope view t.opscope --html t.html", "One file to send to somebody, or to keep with a build."},
    {0},
};

const struct command command_view = {
    .name = "view",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show traces in a browser: timeline, statistics, ops, memory",
    .usage = (const char *const[]){"[options] [FILE ...]", NULL},
    .description =
        "Serves the page on this machine and prints its link. Nothing is loaded from elsewhere, nothing is sent "
        "elsewhere, unless you choose Open in Perfetto in its menu, and by default only this machine can connect.\n\n"
        "A trace that is still being written is followed; opscope run --view records and shows in one command. A trace "
        "that was replaced or deleted meanwhile stays open as it was, and of a damaged one what is whole is "
        "shown; the page says so. Without FILE the page waits for a program that opscope run records, and follows it "
        "when it starts.\n\n"
        "The same figures are there for scripts: docs/http-api.md.",
    .options = {{&view_table, 0}},
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"run", "info", "zones", "ops", "report", NULL},
    .run = run,
};
