/* SPDX-License-Identifier: Apache-2.0 */
/* opscope view: the page, served to a browser. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "cli/command/command.h"
#include "serve/listen.h"
#include "serve/server.h"
#include "serve/snapshot.h"

extern char **environ;

struct view_options {
    uint64_t port, timeout_ns, memory_bytes;
    const char *listen, *html, *token_file;
    bool open, until_eof, no_source;
    struct text_list source_folders;
};

/* A page of our own that leads to the link, readable by this user alone: arguments of a program are everybody's to
 * see, and the link has the token. */
static int write_door(char *path, size_t size, const char *url)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (!folder || access(folder, W_OK) != 0)
        folder = getenv("TMPDIR");
    snprintf(path, size, "%s/opscope-view-XXXXXX.html", folder && *folder ? folder : "/tmp");
    int fd = mkostemps(path, 5, O_CLOEXEC);
    if (fd < 0)
        return -1;
    int number = leftover_note(path);
    int length =
        dprintf(fd,
                "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>opscope</title>"
                "<meta name=\"referrer\" content=\"no-referrer\">"
                "<meta http-equiv=\"refresh\" content=\"0;url=%s\"><a href=\"%s\">opscope</a></html>\n",
                url, url);
    close(fd);
    return length < 0 ? -1 : number;
}

static void open_browser(const char *url, char *door, size_t size)
{
    char *const words[] = {(char *)(uintptr_t) "xdg-open", door, NULL};
    pid_t pid;
    if (write_door(door, size, url) < 0 || posix_spawnp(&pid, words[0], NULL, NULL, words, environ) != 0)
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
    st.source_folders = &options->source_folders;
    status = snapshot_write(&st, "overview", options->html, err);
    serve_trace_close(&st);
    return status;
}

static int run_html(const struct command *command, const struct view_options *options,
                    const struct command_line *line)
{
    struct error err = {0};
    if (options->port != LISTEN_NO_PORT || options->listen || options->timeout_ns || options->open ||
        options->token_file || options->memory_bytes)
        return command_usage_error(
            command, "--html writes a file: no --port, --listen, --timeout, --open, --token-file, --memory");
    if (line->count != 1)
        return command_usage_error(command, "--html takes one trace");
    return write_snapshot(options, line->values[0], &err) ? command_fail(command, &err) : EXIT_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct view_options options = {.port = LISTEN_NO_PORT};
    struct command_line line;
    struct server *server;
    struct error err = {0};
    char door[4200];
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
                                          .token_file = options.token_file,
                                          .port = (uint32_t)options.port,
                                          .memory_bytes = options.memory_bytes,
                                          .timeout_ns = options.timeout_ns,
                                          .source_folders = &options.source_folders,
                                          .until_eof = options.until_eof};
    if (server_open(&server, &served, &err) != 0)
        return command_fail(command, &err);
    printf("%s\n", server_url(server));
    fflush(stdout);
    if (isatty(STDERR_FILENO) && !options.until_eof)
        command_say("opscope view: open this link in a browser; Ctrl+C ends the server");
    if (options.open)
        open_browser(server_url(server), door, sizeof door);
    status = server_run(server, &err);
    server_close(server);
    leftovers_remove();
    return status ? command_fail(command, &err) : EXIT_OK;
}

static const struct command_option view_options[] = {
    {.name = "port",
     .letter = 'p',
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = OPTION_FIELD(struct view_options, port),
     .min = 0,
     .max = 65535,
     .help =
         "Listen on this port; 0 is any that is free. The default is 7950, or the next one that is free."},
    {.name = "listen",
     .type = OPTION_TEXT,
     .argument = "ADDRESS",
     .offset = OPTION_FIELD(struct view_options, listen),
     .help =
         "Listen on this address instead of 127.0.0.1: 0.0.0.0 is all of this machine's. The connection is not "
         "encrypted."},
    {.name = "token-file",
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct view_options, token_file),
     .is_file = true,
     .help =
         "Take the token of the link from this file, which only you may be able to read; where it is not there, it is "
         "made with a new token. So scripts know it. Without it the environment may have one (OPSCOPE_VIEW_TOKEN), "
         "else every start makes a new one."},
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
    {.name = "memory",
     .type = OPTION_SIZE,
     .argument = "SIZE",
     .offset = OPTION_FIELD(struct view_options, memory_bytes),
     .min = SERVER_LEAST_MEMORY,
     .max = INT64_MAX,
     .help =
         "Take at most so much memory: an answer that needs more ends with a message. The default is half of "
         "the machine's, and 1G at least."},
    {.name = "until-eof",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct view_options, until_eof),
     .is_hidden = true,
     .help = "End when standard input, a pipe, is closed: how opscope run --view keeps its server."},
    OPTION_FILE(
        "html", OPTION_FIELD(struct view_options, html),
        "Write the page with the trace into this file instead (- is standard output) and end: it needs no "
        "server and no network. Of more than 200,000 zones and runs the shortest are drawn summed up. Source lines "
        "around the places in its tables are in it, as far as the trace holds them."),
    OPTION_NO_SOURCE(OPTION_FIELD(struct view_options, no_source)),
    OPTION_SOURCE_FOLDER("source", OPTION_FIELD(struct view_options, source_folders)),
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
        "Serves the page on this machine and prints its link. The link has a token, without which nobody is answered: "
        "other users of this machine reach its ports, too. Nothing is loaded from elsewhere, nothing is sent "
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
