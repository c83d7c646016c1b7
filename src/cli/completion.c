/* SPDX-License-Identifier: Apache-2.0 */
/* opscope completion: prints a completion script. */
#include <stdio.h>

#include "base/bytes.h"
#include "cli/command/command.h"

static int run(const struct command *command, int argc, char **argv)
{
    struct command_line line;
    struct bytes text = {0};
    int status = command_parse(command, argc, argv, NULL, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (completion_script(line.values[0], &text) != 0)
        return command_usage_error(command, "no completion for the shell '%s'; there is bash, zsh and fish",
                                   line.values[0]);
    fwrite(text.data, 1, text.length, stdout);
    bytes_free(&text);
    return EXIT_OK;
}

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static const struct command_argument arguments[] = {
    {.name = "SHELL", .kind = ARGUMENT_CHOICE, .choices = shells, .help = "bash, zsh or fish"},
    {0},
};

static const struct command_example examples[] = {
    {"source <(opscope completion bash)", "Completes in this shell."},
    {"opscope completion zsh > ~/.zfunc/_opscope", "Installs it for zsh, in a folder of $fpath."},
    {"opscope completion fish > ~/.config/fish/completions/opscope.fish", "Installs it for fish."},
    {0},
};

const struct command command_completion = {
    .name = "completion",
    .group = COMMAND_GROUP_HELP,
    .summary = "Print a completion script for bash, zsh or fish",
    .usage = (const char *const[]){"bash|zsh|fish", NULL},
    .description =
        "The script completes commands, options, the values of options that have a list, and files. It "
        "is made from the same tables as --help. `make install` puts it where the shells look.",
    .arguments = arguments,
    .examples = examples,
    .see_also = (const char *const[]){"help", NULL},
    .run = run,
};
