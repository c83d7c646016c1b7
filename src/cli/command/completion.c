/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts for bash, zsh and fish from the command tables: sub-commands, options, the values of
 * options that have a list, and files where a file is wanted. The scripts are self-contained; they do not call
 * opscope. */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/command/command.h"
#include "cli/command/help.h"

static void append_choices(struct bytes *out, const char *const *choices)
{
    for (size_t i = 0; choices && choices[i]; i++)
        bytes_append_format(out, "%s%s", i ? " " : "", choices[i]);
}

/* Text inside single quotes; `special` characters get a backslash (zsh's specs: colons and brackets). */
static void append_quoted(struct bytes *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            bytes_append_text(out, "'\\''");
        else if (strchr(special, *text))
            bytes_append_format(out, "\\%c", *text);
        else
            bytes_append(out, text, 1);
    }
}

/* The first sentence of a help text: lists show one line. */
static void append_brief(struct bytes *out, const char *text, const char *special)
{
    char brief[120];
    size_t length = 0;
    while (text[length] && length < sizeof brief - 1 &&
           !(text[length] == '.' && strchr(" \n", text[length + 1]))) {
        brief[length] = text[length] == '\n' ? ' ' : text[length];
        length++;
    }
    if (length > 0 && brief[length - 1] == '.')
        length--;
    brief[length] = '\0';
    append_quoted(out, brief, special);
}

static void append_command_names(struct bytes *out)
{
    const struct command *command;
    bool is_first = true;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (command->is_hidden)
            continue;
        bytes_append_format(out, "%s%s", is_first ? "" : " ", command->name);
        is_first = false;
    }
}

/* --- bash --- */
static const char bash_head[] =
    "# bash completion for opscope\n"
    "_opscope_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
    "_opscope_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "}\n"
    "_opscope_traces() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"; compgen -G \"${cur}*.opscope*\")\n"
    "    ((${#COMPREPLY[@]})) || _opscope_files\n"
    "}\n"
    "_opscope_folders() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "}\n"
    "# The program after `opscope run`, and then that program's own completion.\n"
    "_opscope_program() {\n"
    "    local i=2 word\n"
    "    while ((i < COMP_CWORD)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == -- ]]; then\n"
    "            ((i++))\n"
    "            break\n"
    "        elif [[ \" $1 \" == *\" $word \"* && ${COMP_WORDS[i + 1]} != \"=\" ]]; then\n"
    "            ((i += 2))\n"
    "        elif [[ $word == -* || $word == \"=\" || ${COMP_WORDS[i - 1]} == \"=\" ]]; then\n"
    "            ((i++))\n"
    "        else\n"
    "            break\n"
    "        fi\n"
    "    done\n"
    "    if ((i < COMP_CWORD)); then\n"
    "        if declare -F _command_offset >/dev/null; then\n"
    "            _command_offset \"$i\"\n"
    "        else\n"
    "            _opscope_files\n"
    "        fi\n"
    "        return 0\n"
    "    fi\n"
    "    [[ $cur == -* ]] && return 1\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -c -- \"$cur\"; compgen -f -- \"$cur\")\n"
    "}\n"
    "_opscope() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == \"=\" ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == \"=\" ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n"
    "        _opscope_words \"";

static void bash_option_values(struct bytes *out, const struct command *command)
{
    for (const struct option_use *use = command->options; use->table; use++) {
        for (const struct command_option *option = use->table->options; option->name; option++) {
            if (option->is_hidden || option->type == OPTION_FLAG)
                continue;
            bytes_append_text(out, "        ");
            if (option->letter)
                bytes_append_format(out, "-%c | ", option->letter);
            bytes_append_format(out, "--%s) ", option->name);
            if (option->choices) {
                bytes_append_text(out, "_opscope_words \"");
                append_choices(out, option->choices);
                bytes_append_text(out, "\"; ");
            } else if (option_names_file(option)) {
                bytes_append_text(out, "_opscope_files; ");
            }
            bytes_append_text(out, "return ;;\n");
        }
    }
}

static void bash_option_words(struct bytes *out, const struct command *command, bool only_with_value)
{
    bytes_append_text(out, only_with_value ? "" : "--help");
    for (const struct option_use *use = command->options; use->table; use++) {
        for (const struct command_option *option = use->table->options; option->name; option++) {
            if (option->is_hidden ||
                (only_with_value && (option->type == OPTION_FLAG || option->type == OPTION_FORMAT)))
                continue;
            if (only_with_value && option->letter)
                bytes_append_format(out, " -%c", option->letter);
            bytes_append_format(out, " --%s", option->name);
        }
    }
}

static void bash_arguments(struct bytes *out, const struct command *command)
{
    const struct command_argument *argument = command->arguments;
    if (!argument)
        return;
    switch (argument->kind) {
    case ARGUMENT_TRACE:
        bytes_append_text(out, "        _opscope_traces\n");
        break;
    case ARGUMENT_FILE:
    case ARGUMENT_PROGRAM:
        bytes_append_text(out, "        _opscope_files\n");
        break;
    case ARGUMENT_FOLDER:
        bytes_append_text(out, "        _opscope_folders\n");
        break;
    case ARGUMENT_COMMAND:
        bytes_append_text(out, "        _opscope_words \"");
        append_command_names(out);
        bytes_append_text(out, "\"\n");
        break;
    case ARGUMENT_CHOICE:
        bytes_append_text(out, "        _opscope_words \"");
        append_choices(out, argument->choices);
        bytes_append_text(out, "\"\n");
        break;
    }
}

static void bash_script(struct bytes *out)
{
    const struct command *command;
    bytes_append_text(out, bash_head);
    append_command_names(out);
    bytes_append_text(out, " --help --version\"\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (command->is_hidden)
            continue;
        bytes_append_format(out, "    %s)\n", command->name);
        if (command->stops_at_argument) {
            bytes_append_text(out, "        case $prev in\n");
            bash_option_values(out, command);
            bytes_append_text(out, "        esac\n        _opscope_program \"");
            bash_option_words(out, command, true);
            bytes_append_text(out, "\" && return\n        _opscope_words \"");
            bash_option_words(out, command, false);
            bytes_append_text(out, "\"\n        ;;\n");
            continue;
        }
        bytes_append_text(out, "        case $prev in\n");
        bash_option_values(out, command);
        bytes_append_text(out,
                          "        esac\n        if [[ $cur == -* ]]; then\n            _opscope_words \"");
        bash_option_words(out, command, false);
        bytes_append_text(out, "\"\n            return\n        fi\n");
        bash_arguments(out, command);
        bytes_append_text(out, "        ;;\n");
    }
    bytes_append_text(out, "    esac\n}\ncomplete -F _opscope opscope\n");
}

/* --- zsh --- */
static void zsh_option(struct bytes *out, const struct command_option *option)
{
    const char *special = ":[]";
    const char *repeat = option->type == OPTION_LIST ? "*" : "";
    const char *equals = option->type == OPTION_FLAG ? "" : option->type == OPTION_FORMAT ? "=-" : "=";
    if (option->letter && !*repeat)
        bytes_append_format(out, "            '(-%c --%s)'{-%c,--%s%s}'[", option->letter, option->name,
                            option->letter, option->name, equals);
    else if (option->letter)
        bytes_append_format(out, "            \\*{-%c,--%s=}'[", option->letter, option->name);
    else
        bytes_append_format(out, "            '%s--%s%s[", repeat, option->name, equals);
    append_brief(out, option->help, special);
    bytes_append_text(out, "]");
    if (option->type != OPTION_FLAG) {
        bytes_append_text(out, help_value_is_optional(option) ? "::" : ":");
        append_quoted(out, option->argument, special);
        bytes_append_text(out, ":");
        if (option->choices) {
            bytes_append_text(out, "(");
            append_choices(out, option->choices);
            bytes_append_text(out, ")");
        } else if (option_names_file(option)) {
            bytes_append_text(out, "_files");
        }
    }
    bytes_append_text(out, "' \\\n");
}

static void zsh_argument(struct bytes *out, const struct command_argument *argument)
{
    bytes_append_format(out, "            '%s:%s:", argument->is_repeated ? "*" : "", argument->name);
    switch (argument->kind) {
    case ARGUMENT_TRACE:
        bytes_append_text(out, "_files -g \"*.opscope*\"");
        break;
    case ARGUMENT_FILE:
    case ARGUMENT_PROGRAM:
        bytes_append_text(out, "_files");
        break;
    case ARGUMENT_FOLDER:
        bytes_append_text(out, "_files -/");
        break;
    case ARGUMENT_COMMAND:
        bytes_append_text(out, "(");
        append_command_names(out);
        bytes_append_text(out, ")");
        break;
    case ARGUMENT_CHOICE:
        bytes_append_text(out, "(");
        append_choices(out, argument->choices);
        bytes_append_text(out, ")");
        break;
    }
    bytes_append_text(out, "' \\\n");
}

static void zsh_script(struct bytes *out)
{
    const struct command *command;
    bytes_append_text(out, "#compdef opscope\n"
                           "_opscope() {\n"
                           "    local -a commands\n"
                           "    commands=(\n");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (command->is_hidden)
            continue;
        bytes_append_format(out, "        '%s:", command->name);
        append_quoted(out, command->summary, "");
        bytes_append_text(out, "'\n");
    }
    bytes_append_text(out, "    )\n"
                           "    if ((CURRENT == 2)); then\n"
                           "        _describe -t commands 'opscope command' commands\n"
                           "        _arguments '--help[list the commands]' '--version[print the versions]'\n"
                           "        return\n"
                           "    fi\n"
                           "    local command=$words[2]\n"
                           "    shift words\n"
                           "    ((CURRENT--))\n"
                           "    case $command in\n");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (command->is_hidden)
            continue;
        bytes_append_format(out, "    %s)\n        _arguments -s -S \\\n", command->name);
        for (const struct option_use *use = command->options; use->table; use++) {
            for (const struct command_option *option = use->table->options; option->name; option++) {
                if (!option->is_hidden)
                    zsh_option(out, option);
            }
        }
        if (command->stops_at_argument)
            bytes_append_text(out, "            '(-):program:_command_names -e' \\\n"
                                   "            '*::arguments:_normal' \\\n");
        for (const struct command_argument *argument = command->arguments;
             argument && argument->name && !command->stops_at_argument; argument++)
            zsh_argument(out, argument);
        bytes_append_text(out, "            '(- *)--help[explain the command]'\n        ;;\n");
    }
    bytes_append_text(out, "    esac\n}\n_opscope \"$@\"\n");
}

/* --- fish --- */
static void fish_option(struct bytes *out, const struct command *command, const struct command_option *option)
{
    bytes_append_format(out, "complete -c opscope -n '__fish_seen_subcommand_from %s' -l %s", command->name,
                        option->name);
    if (option->letter)
        bytes_append_format(out, " -s %c", option->letter);
    if (option->type != OPTION_FLAG && !help_value_is_optional(option))
        bytes_append_text(out, option_names_file(option) ? " -r -F" : " -x");
    if (option->choices) {
        bytes_append_text(out, " -a '");
        append_choices(out, option->choices);
        bytes_append_text(out, "'");
    }
    bytes_append_text(out, " -d '");
    append_brief(out, option->help, "");
    bytes_append_text(out, "'\n");
}

static void fish_arguments(struct bytes *out, const struct command *command)
{
    const struct command_argument *argument = command->arguments;
    if (!argument)
        return;
    bytes_append_format(out, "complete -c opscope -n '__fish_seen_subcommand_from %s' ", command->name);
    if (argument->kind == ARGUMENT_CHOICE || argument->kind == ARGUMENT_COMMAND) {
        bytes_append_text(out, "-a '");
        if (argument->kind == ARGUMENT_CHOICE)
            append_choices(out, argument->choices);
        else
            append_command_names(out);
        bytes_append_text(out, "'\n");
    } else if (argument->kind == ARGUMENT_FOLDER) {
        bytes_append_text(out, "-a '(__fish_complete_directories)'\n");
    } else if (argument->kind == ARGUMENT_PROGRAM) {
        bytes_append_text(out, "-a '(__fish_complete_subcommand --fcs-skip=2)'\n");
    } else {
        bytes_append_text(out, "-F\n");
    }
}

static void fish_script(struct bytes *out)
{
    const struct command *command;
    bytes_append_text(out, "# fish completion for opscope\n"
                           "complete -c opscope -f\n"
                           "complete -c opscope -n __fish_use_subcommand -l version -d 'Print the versions'\n"
                           "complete -c opscope -l help -d 'Explain the command'\n");
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (command->is_hidden)
            continue;
        bytes_append_format(out, "complete -c opscope -n __fish_use_subcommand -a %s -d '", command->name);
        append_quoted(out, command->summary, "");
        bytes_append_text(out, "'\n");
        for (const struct option_use *use = command->options; use->table; use++) {
            for (const struct command_option *option = use->table->options; option->name; option++) {
                if (!option->is_hidden)
                    fish_option(out, command, option);
            }
        }
        fish_arguments(out, command);
    }
}

int completion_script(const char *shell, struct bytes *out)
{
    if (strcmp(shell, "bash") == 0)
        bash_script(out);
    else if (strcmp(shell, "zsh") == 0)
        zsh_script(out);
    else if (strcmp(shell, "fish") == 0)
        fish_script(out);
    else
        return -EINVAL;
    return 0;
}
