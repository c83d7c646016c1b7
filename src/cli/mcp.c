/* SPDX-License-Identifier: Apache-2.0 */
/* opscope mcp: traces for coding assistants. */
#include <unistd.h>

#include "cli/command/command.h"
#include "serve/mcp/mcp.h"

struct mcp_options {
    struct text_list source_folders;
};

static int run(const struct command *command, int argc, char **argv)
{
    struct mcp_options options = {0};
    struct command_line line;
    struct mcp *mcp;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (mcp_open(&mcp, (const char *const *)line.values, (size_t)line.count, &err) != 0)
        return command_fail(command, &err);
    mcp_set_source_folders(mcp, &options.source_folders);
    if (isatty(STDIN_FILENO))
        command_say("opscope mcp: this is for programs, one JSON-RPC message per line; Ctrl+D ends it");
    status = mcp_serve(mcp, STDIN_FILENO, STDOUT_FILENO, &err);
    mcp_close(mcp);
    return status ? command_fail(command, &err) : EXIT_OK;
}

static const struct command_option mcp_options[] = {
    OPTION_SOURCE_FOLDER("source", OPTION_FIELD(struct mcp_options, source_folders)),
    {0},
};

static const struct option_table mcp_table = {"Options", mcp_options};

static const struct command_argument arguments[] = {
    {.name = "FILE",
     .kind = ARGUMENT_TRACE,
     .is_optional = true,
     .is_repeated = true,
     .help =
         "A trace, finished or still being written, or what can be imported as one. Without FILE: the traces of the "
         "working folder, newest first, and those that are made meanwhile."},
    {0},
};

static const struct command_exit exits[] = {
    {EXIT_OK, "the input ended"},
    {EXIT_USAGE, "a trace cannot be read, or bad usage"},
    {0, NULL},
};

static const struct command_example examples[] = {
    {"opscope mcp t.opscope", "The command that an assistant starts, to ask about a trace."},
    {"opscope mcp before.opscope after.opscope", "Two traces, to compare them."},
    {0},
};

const struct command command_mcp = {
    .name = "mcp",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Let a coding assistant ask about traces (Model Context Protocol)",
    .usage = (const char *const[]){"[options] [FILE ...]", NULL},
    .description =
        "Answers the Model Context Protocol on standard input and output, until the input ends. An assistant "
        "starts it by itself once it is in its configuration.\n\nThe tools are traces, summary, zones, ops, "
        "report, gaps, diff and source; they have the figures of the commands of these names. An answer has at most 32 "
        "KiB; it says its units, what the recording lost, and what was left out. source shows lines that the "
        "recording took along; no file that a trace names is opened, but those inside folders of --source. Nothing is "
        "written, and nothing is sent elsewhere.\n\ndocs/mcp.md has the tools, "
        "their arguments, and the configuration of assistants.",
    .options = {{&mcp_table, 0}},
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"view", "summary", "zones", "report", NULL},
    .run = run,
};
