/* SPDX-License-Identifier: Apache-2.0 */
/* opscope help: the help of a command as text, man page or markdown. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "cli/command/command.h"

struct help_options {
    bool man, markdown;
    const char *man_all, *markdown_all;
};

static int write_file(const char *folder, const char *name, const char *ending, const struct bytes *text,
                      struct error *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s%s", folder, name, ending) < 0)
        return error_set_errno(err, ENOMEM, "%s", folder);
    int result = output_write_text(path, text, err);
    free(path);
    return result;
}

/* opscope.1, opscope-run.1 ... or README.md, run.md ... */
static int write_all(const char *folder, bool is_man, struct error *err)
{
    struct bytes text = {0};
    const struct command *command;
    if (is_man)
        program_man_page(&text);
    else
        program_markdown(&text);
    int result = write_file(folder, is_man ? "opscope" : "README", is_man ? ".1" : ".md", &text, err);
    for (size_t i = 0; result == 0 && (command = command_at(i)); i++) {
        char name[64];
        if (command->is_hidden)
            continue;
        bytes_clear(&text);
        if (is_man)
            command_man_page(command, &text);
        else
            command_markdown(command, &text);
        snprintf(name, sizeof name, is_man ? "opscope-%s" : "%s", command->name);
        result = write_file(folder, name, is_man ? ".1" : ".md", &text, err);
    }
    bytes_free(&text);
    return result;
}

static void one_page(const struct command *about, const struct help_options *options, struct bytes *text)
{
    unsigned width = output_terminal_width(STDOUT_FILENO);
    bool is_coloured = output_may_colour(stdout, OUTPUT_COLOR_AUTO);
    if (options->man && about)
        command_man_page(about, text);
    else if (options->man)
        program_man_page(text);
    else if (options->markdown && about)
        command_markdown(about, text);
    else if (options->markdown)
        program_markdown(text);
    else if (about)
        command_help_text(about, width, is_coloured, text);
    else
        program_help_text(width, is_coloured, text);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct help_options options = {0};
    struct command_line line;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (options.man_all && write_all(options.man_all, true, &err) != 0)
        return command_fail(command, &err);
    if (options.markdown_all && write_all(options.markdown_all, false, &err) != 0)
        return command_fail(command, &err);
    if (options.man_all || options.markdown_all)
        return EXIT_OK;
    const struct command *about = line.count ? command_find(line.values[0]) : NULL;
    if (line.count && !about)
        return command_usage_error(command, "no command is called '%s'", line.values[0]);
    struct bytes text = {0};
    one_page(about, &options, &text);
    fwrite(text.data, 1, text.length, stdout);
    bytes_free(&text);
    return EXIT_OK;
}

static const struct command_option help_options[] = {
    {.name = "man",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct help_options, man),
     .help = "Print the man page (roff): opscope help --man zones | man -l -"},
    {.name = "markdown",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct help_options, markdown),
     .help = "Print the page as markdown."},
    {.name = "man-all",
     .type = OPTION_TEXT,
     .argument = "FOLDER",
     .offset = OPTION_FIELD(struct help_options, man_all),
     .is_hidden = true,
     .help = "Write all man pages into a folder."},
    {.name = "markdown-all",
     .type = OPTION_TEXT,
     .argument = "FOLDER",
     .offset = OPTION_FIELD(struct help_options, markdown_all),
     .is_hidden = true,
     .help = "Write all pages as markdown into a folder."},
    {0},
};

static const struct option_table help_table = {"Options", help_options};

static const struct command_argument arguments[] = {
    {.name = "COMMAND", .kind = ARGUMENT_COMMAND, .is_optional = true, .help = "The command to explain."},
    {0},
};

const struct command command_help = {
    .name = "help",
    .group = COMMAND_GROUP_HELP,
    .summary = "Explain a command",
    .usage = (const char *const[]){"[--man | --markdown] [COMMAND]", NULL},
    .description = "Without a command, lists them all. opscope COMMAND --help prints the same text.",
    .options = {{&help_table, 0}},
    .arguments = arguments,
    .see_also = (const char *const[]){"completion", NULL},
    .run = run,
};
