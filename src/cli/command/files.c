/* SPDX-License-Identifier: Apache-2.0 */
/* No command writes over what it reads. This is known from the option tables: a command reads its arguments and the
 * files of options, of folders the files in them, and writes those that are marked so. base/output_path.h decides. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/output_path.h"
#include "cli/command/command.h"
#include "import/open.h"

struct written_file {
    char *name; /* of the option or argument, for messages */
    char *path;
};

struct files {
    char **read; /* as given; of folders their files as well */
    size_t read_count, read_capacity;
    struct written_file *written;
    size_t written_count, written_capacity;
    bool failed;
};

bool option_names_file(const struct command_option *option)
{
    return option->is_file || (option->argument && strstr(option->argument, "FILE"));
}

static void add_read(struct files *files, const char *path)
{
    if (!path)
        return;
    char *copy = strdup(path);
    if (!copy ||
        !array_reserve(&files->read, &files->read_capacity, files->read_count + 1, sizeof files->read[0])) {
        files->failed = true;
        free(copy);
        return;
    }
    files->read[files->read_count++] = copy;
}

static void add_file_of_folder(void *context, const char *path)
{
    add_read(context, path);
}

static void add_written(struct files *files, const char *dashes, const char *name, const char *path,
                        const char *ending)
{
    struct written_file file = {0};
    if (asprintf(&file.name, "%s%s", dashes, name) < 0)
        file.name = NULL;
    if (asprintf(&file.path, "%s%s", path, ending) < 0)
        file.path = NULL;
    if (!file.name || !file.path ||
        !array_reserve(&files->written, &files->written_capacity, files->written_count + 1,
                       sizeof files->written[0])) {
        files->failed = true;
        free(file.name);
        free(file.path);
        return;
    }
    files->written[files->written_count++] = file;
}

static void add_option(struct files *files, const struct command_option *option, const char *path)
{
    if (!option->is_output) {
        add_read(files, path);
    } else if (path && strcmp(path, "-") != 0) {
        if (!option->endings)
            add_written(files, "--", option->name, path, "");
        for (size_t i = 0; option->endings && option->endings[i]; i++)
            add_written(files, "--", option->name, path, option->endings[i]);
    }
}

/* Is the output of --csv=FILE named by another option of the table, too: by --output? */
static bool has_output_option(const struct option_table *table, const struct command_option *format)
{
    for (const struct command_option *option = table->options; option->name; option++) {
        if (option->type == OPTION_TEXT && option->offset == format->file_offset)
            return true;
    }
    return false;
}

static void gather_arguments(const struct command *command, const struct command_line *line,
                             struct files *files)
{
    /* Of a program to run, only the program: its words are its own business, and may well name the trace. */
    int count = command->stops_at_argument && line->count ? 1 : line->count;
    const struct command_argument *argument = command->arguments;
    for (int i = 0; i < count; i++) {
        bool is_standard = strcmp(line->values[i], "-") == 0;
        if (!argument || !argument->name || !argument->is_output)
            add_read(files, is_standard ? "/dev/stdin" : line->values[i]);
        else if (!is_standard)
            add_written(files, "", argument->name, line->values[i], "");
        if (argument && argument->name && !argument->is_repeated)
            argument++;
    }
}

static void gather(const struct command *command, const void *options, const struct command_line *line,
                   struct files *files)
{
    for (const struct option_use *use = command->options; use->table; use++) {
        for (const struct command_option *option = use->table->options; option->name; option++) {
            const void *field = (const char *)options + use->offset + option->offset;
            const struct text_list *list =
                option_names_file(option) && option->type == OPTION_LIST ? field : NULL;
            if (option_names_file(option) && option->type == OPTION_TEXT)
                add_option(files, option, *(const char *const *)field);
            if (option->type == OPTION_FORMAT && *(const bool *)field &&
                !has_output_option(use->table, option))
                add_option(files, option,
                           *(const char *const *)((const char *)options + use->offset + option->file_offset));
            for (size_t i = 0; list && i < list->count; i++)
                add_option(files, option, list->items[i]);
        }
    }
    gather_arguments(command, line, files);
}

int command_check_files(const struct command *command, const void *options, const struct command_line *line,
                        const struct text_list *found, struct error *err)
{
    struct files files = {0};
    int result = 0;
    gather(command, options, line, &files);
    for (size_t i = 0; found && i < found->count; i++)
        add_read(&files, found->items[i]);
    for (size_t i = 0, named = files.read_count; i < named && files.written_count; i++)
        import_folder_files(files.read[i], add_file_of_folder, &files);
    for (size_t i = 0; i < files.written_count && result == 0 && !files.failed; i++) {
        const struct written_file *output = &files.written[i];
        result =
            output_path_check(output->path, (const char *const *)files.read, files.read_count, NULL, err);
        if (result != 0)
            error_prefix(err, "%s", output->name);
        add_read(&files, output->path); /* two outputs need two files */
    }
    if (files.failed && result == 0)
        result = error_no_memory(err, "the names of files");
    for (size_t i = 0; i < files.written_count; i++) {
        free(files.written[i].name);
        free(files.written[i].path);
    }
    for (size_t i = 0; i < files.read_count; i++)
        free(files.read[i]);
    free(files.written);
    free(files.read);
    return result;
}
