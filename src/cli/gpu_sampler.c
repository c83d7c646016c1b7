/* SPDX-License-Identifier: Apache-2.0 */
/* opscope gpu-sampler: the process that reads hardware counters of GPUs for `opscope run --gpu-metrics`. Not for
 * people, but for --chip. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "collect/gpu/sampler.h"

struct sampler_options {
    const char *chip;
};

static int run(const struct command *command, int argc, char **argv)
{
    struct sampler_options options = {0};
    struct command_line line;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (options.chip) {
        struct bytes text = {0};
        status = gpu_sampler_show(options.chip, &text, &err);
        if (status)
            command_say("opscope gpu-sampler: %s", err.message);
        else
            fputs(bytes_text(&text), stdout);
        bytes_free(&text);
        return status ? EXIT_USAGE : EXIT_OK;
    }
    gpu_sampler_work(line.count ? strtoull(line.values[0], NULL, 10) : 0,
                     line.count > 1 ? line.values[1] : NULL, STDIN_FILENO, STDOUT_FILENO);
    return EXIT_OK;
}

static const struct command_option options_table[] = {
    {.name = "chip",
     .type = OPTION_TEXT,
     .argument = "NAME",
     .offset = OPTION_FIELD(struct sampler_options, chip),
     .help = "Print which counters this chip (GH100) would be asked for; needs libcupti, and no GPU."},
    {.name = NULL},
};
static const struct option_table table = {"Options", options_table};

static const struct command_argument arguments[] = {
    {.name = "NS", .is_optional = true, .help = "Time between two samples; 0: the usual."},
    {.name = "COMMAND", .is_optional = true, .help = "What is going to be recorded."},
    {0},
};

const struct command command_gpu_sampler = {
    .name = "gpu-sampler",
    .group = COMMAND_GROUP_HELP,
    .summary = "The process that reads counters of GPUs for opscope run",
    .usage = (const char *const[]){"[NS [COMMAND]]", "--chip NAME", NULL},
    .description = "Started by opscope run --gpu-metrics.",
    .options = {{&table, 0}},
    .arguments = arguments,
    .is_hidden = true,
    .run = run,
};
