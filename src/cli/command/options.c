/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a command line by a command's option tables. The conventions are getopt_long's (--name value,
 * --name=value, -n value, -nvalue, -ab for flags, "--" ends the options, options and arguments may be mixed)
 * with two differences: no abbreviated names, which break scripts when an option is added, and no global
 * state. What is wrong is said in one sentence with the nearest right word. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/count_of.h"
#include "base/open_regular.h"
#include "cli/command/command.h"
#include "text/suggest.h"
#include "text/values.h"
#include "trace/format.h"

#define MOST_OPTIONS 96u

/* The option of this long name or letter, and the struct its field is in. NULL when there is none. */
static const struct command_option *find_option(const struct command *command, const char *name,
                                                size_t length, char letter, size_t *base)
{
    for (const struct option_use *use = command->options; use->table; use++) {
        for (const struct command_option *option = use->table->options; option->name; option++) {
            bool is_it = letter ? option->letter == letter
                                : strlen(option->name) == length && memcmp(option->name, name, length) == 0;
            if (is_it) {
                *base = use->offset;
                return option;
            }
        }
    }
    return NULL;
}

static int unknown_option(const struct command *command, const char *name, size_t length, struct error *err)
{
    const char *words[MOST_OPTIONS] = {"help"};
    size_t count = 1;
    char typed[64];
    snprintf(typed, sizeof typed, "%.*s", (int)(length < 63 ? length : 63), name);
    for (const struct option_use *use = command->options; use->table; use++) {
        for (const struct command_option *option = use->table->options; option->name; option++) {
            if (!option->is_hidden && count < MOST_OPTIONS)
                words[count++] = option->name;
        }
    }
    const char *near = suggest_word(typed, words, count);
    if (near)
        return error_set(err, EINVAL, "unknown option --%s; did you mean --%s?", typed, near);
    return error_set(err, EINVAL, "unknown option --%s", typed);
}

static size_t choice_count(const char *const *choices)
{
    size_t count = 0;
    while (choices && choices[count])
        count++;
    return count;
}

static int set_choice(const struct command_option *option, const char *value, unsigned *field,
                      struct error *err)
{
    size_t count = choice_count(option->choices);
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(option->choices[i], value) == 0) {
            *field = i;
            return 0;
        }
    }
    char list[200] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof list; i++) {
        int n = snprintf(list + used, sizeof list - used, "%s%s",
                         i == 0           ? ""
                         : i + 1 == count ? " or "
                                          : ", ",
                         option->choices[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    const char *near = suggest_word(value, option->choices, count);
    if (near)
        return error_set(err, EINVAL, "'%.60s' is not one of %s; did you mean %s?", value, list, near);
    return error_set(err, EINVAL, "'%.60s' is not one of %s", value, list);
}

int value_parse_time(const char *text, struct trace_time *time, struct error *err)
{
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '%') {
        time->kind = TRACE_TIME_PERCENT;
        return value_parse_percent(text, &time->percent, err);
    }
    time->kind = TRACE_TIME_NS;
    if (value_parse_duration(text, &time->ns, NULL) != 0)
        return error_set(err, EINVAL, "'%s' is not a time since the start; write it as 1.5s, 200ms or 50%%",
                         text);
    return 0;
}

static int set_number(const struct command_option *option, const char *value, uint64_t *field,
                      struct error *err)
{
    uint64_t number;
    int result = value_parse_number(value, &number, err);
    if (result != 0)
        return result;
    if ((option->min || option->max) && (number < option->min || (option->max && number > option->max))) {
        if (option->max)
            return error_set(err, EINVAL, "%s is out of range; it goes from %" PRIu64 " to %" PRIu64, value,
                             option->min, option->max);
        return error_set(err, EINVAL, "%s is too small; the least is %" PRIu64, value, option->min);
    }
    *field = number;
    return 0;
}

/* The output that a format names. -o may have named it, too. */
static int set_output(void *field, const char *value, struct error *err)
{
    const char *before = *(const char **)field;
    if (before && strcmp(before, value) != 0)
        return error_set(err, EINVAL, "the output has two names: %.100s and %.100s", before, value);
    *(const char **)field = value;
    return 0;
}

static int set_option(const struct command_option *option, const char *value, char *fields, struct error *err)
{
    void *field = fields + option->offset;
    switch (option->type) {
    case OPTION_FLAG:
        *(bool *)field = true;
        return 0;
    case OPTION_FORMAT:
        *(bool *)field = true;
        return value ? set_output(fields + option->file_offset, value, err) : 0;
    case OPTION_TEXT:
        *(const char **)field = value;
        return 0;
    case OPTION_NUMBER:
        return set_number(option, value, (uint64_t *)field, err);
    case OPTION_SIZE:
        return value_parse_size(value, (uint64_t *)field, err);
    case OPTION_DURATION:
        return value_parse_duration(value, (uint64_t *)field, err);
    case OPTION_TIME:
        return value_parse_time(value, (struct trace_time *)field, err);
    case OPTION_PERCENT:
        return value_parse_percent(value, (double *)field, err);
    case OPTION_CHOICE:
        return set_choice(option, value, (unsigned *)field, err);
    case OPTION_LIST:
        if (!text_list_add((struct text_list *)field, value))
            return error_set(err, EINVAL, "given more than %u times", TEXT_LIST_MAX);
        return 0;
    }
    return error_set(err, EINVAL, "option --%s has no type", option->name);
}

static bool is_choice(const struct command_option *option, const char *word)
{
    for (size_t i = 0; word && option->choices[i]; i++) {
        if (strcmp(option->choices[i], word) == 0)
            return true;
    }
    return false;
}

/* --- "--csv FILE" ---
 *
 * --csv is a flag, and --csv=FILE names the output. Scripts written for other tools of the field say `--csv FILE`, and
 * some commands understand it: the word after a bare --csv is the output when the command has all the arguments that
 * it needs without it, and the word cannot be one more of them. A file that might be an input is never written over
 * on such a guess. */

struct format_words {
    size_t count;
    struct {
        const struct command_option *option;
        size_t base;
        const char *word;
    } items[2];
};

static void note_word(struct format_words *words, const struct command_option *option, size_t base,
                      const char *word)
{
    bool is_word = word && (word[0] != '-' || word[1] == 0);
    if (is_word && words->count < COUNT_OF(words->items)) {
        words->items[words->count].option = option;
        words->items[words->count].base = base;
        words->items[words->count++].word = word;
    }
}

static bool is_there(const char *path)
{
    struct stat what;
    return strcmp(path, "-") != 0 && stat(path, &what) == 0 &&
           (S_ISREG(what.st_mode) || S_ISDIR(what.st_mode));
}

static bool is_trace(const char *path)
{
    char magic[MAGIC_BYTES];
    FILE *file = open_regular_stream(path, NULL);
    bool is_it = file && fread(magic, 1, sizeof magic, file) == sizeof magic &&
                 memcmp(magic, SEGMENT_MAGIC, sizeof magic) == 0;
    if (file)
        fclose(file);
    return is_it;
}

static void count_arguments(const struct command *command, int *least, int *most)
{
    *least = *most = 0;
    for (const struct command_argument *argument = command->arguments; argument && argument->name;
         argument++) {
        *least += !argument->is_optional;
        *most = argument->is_repeated || *most == INT32_MAX ? INT32_MAX : *most + 1;
    }
}

/* Takes the word at argv[at] out of the arguments. */
static void take_out(struct command_line *line, int at)
{
    memmove(&line->values[at], &line->values[at + 1], (size_t)(line->count - at) * sizeof line->values[0]);
    line->count--;
}

static int settle_words(const struct command *command, const struct format_words *words,
                        struct command_line *line, char *fields, struct error *err)
{
    int least, most, at = 0;
    count_arguments(command, &least, &most);
    for (size_t i = 0; i < words->count && command->takes_csv_word; i++) {
        const struct command_option *option = words->items[i].option;
        const char *word = words->items[i].word;
        while (at < line->count && line->values[at] != word)
            at++;
        if (at == line->count || line->count - 1 < least)
            break;                                               /* an argument */
        bool is_in_place = line->count - 1 < most || at < least; /* of one that is read */
        bool may_be_input =
            is_trace(word) || (is_in_place && (!command->is_source || command->is_source(word)));
        if (may_be_input && is_there(word))
            return error_set(
                err, EINVAL,
                "%.200s after --%s: a file to read, or the one to write? --%s=%.200s writes it; to "
                "read it, put it elsewhere",
                word, option->name, option->name, word);
        take_out(line, at);
        int result = set_output(fields + words->items[i].base + option->file_offset, word, err);
        if (result != 0)
            return result;
    }
    return 0;
}

/* One "--name" or "--name=value". Returns 1 for --help, else 0 or an error; takes the next argument if
 * needed. */
static int parse_long(const struct command *command, char **argv, int *i, char *fields,
                      struct format_words *words, struct error *err)
{
    const char *name = argv[*i] + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    size_t base = 0;
    if (length == 4 && memcmp(name, "help", 4) == 0 && !equals)
        return 1;
    const struct command_option *option = find_option(command, name, length, 0, &base);
    if (!option)
        return unknown_option(command, name, length, err);
    const char *value = equals ? equals + 1 : NULL;
    if (option->type == OPTION_FLAG && value)
        return error_set(err, EINVAL, "option --%s takes no value", option->name);
    if (option->type == OPTION_FORMAT && value && !*value)
        return error_set(err, EINVAL, "option --%s= needs a %s", option->name, option->argument);
    if (option->bare_choice && !value && !is_choice(option, argv[*i + 1]))
        value = option->bare_choice;
    if (option->type != OPTION_FLAG && option->type != OPTION_FORMAT && !value) {
        value = argv[*i + 1];
        if (!value)
            return error_set(err, EINVAL, "option --%s needs a %s", option->name, option->argument);
        ++*i;
    }
    if (option->type == OPTION_FORMAT && !value)
        note_word(words, option, base, argv[*i + 1]);
    int result = set_option(option, value, fields + base, err);
    if (result < 0)
        error_prefix(err, "--%s", option->name);
    return result;
}

/* A bundle of letters: "-w", "-oFILE", "-o FILE", "-wj". */
static int parse_letters(const struct command *command, char **argv, int *i, char *fields, struct error *err)
{
    for (const char *at = argv[*i] + 1; *at; at++) {
        size_t base = 0;
        if (*at == 'h' && !find_option(command, NULL, 0, 'h', &base))
            return 1;
        const struct command_option *option = find_option(command, NULL, 0, *at, &base);
        if (!option)
            return error_set(err, EINVAL, "unknown option -%c", *at);
        const char *value = NULL;
        bool takes_value = option->type != OPTION_FLAG && option->type != OPTION_FORMAT;
        if (takes_value) {
            value = at[1] ? at + 1 : argv[*i + 1];
            if (!value)
                return error_set(err, EINVAL, "option -%c (--%s) needs a %s", *at, option->name,
                                 option->argument);
            if (!at[1])
                ++*i;
        }
        int result = set_option(option, value, fields + base, err);
        if (result < 0)
            error_prefix(err, "-%c", option->letter);
        if (result < 0 || takes_value)
            return result;
    }
    return 0;
}

static int check_arguments(const struct command *command, const struct command_line *line,
                           const struct format_words *words, struct error *err)
{
    int least = 0, most = 0;
    for (const struct command_argument *argument = command->arguments; argument && argument->name;
         argument++) {
        if (!argument->is_optional) {
            if (line->count <= least)
                return error_set(err, EINVAL, "no %s given", argument->name);
            least++;
        }
        most = argument->is_repeated ? INT32_MAX : most + 1;
        if (most == INT32_MAX)
            break;
    }
    for (size_t i = 0; line->count > most && i < words->count; i++) {
        if (words->items[i].word == line->values[most])
            return error_set(err, EINVAL, "unexpected argument '%.100s'; --%s=%.100s writes to it",
                             line->values[most], words->items[i].option->name, line->values[most]);
    }
    if (line->count > most)
        return error_set(err, EINVAL, "unexpected argument '%.100s'", line->values[most]);
    return 0;
}

int command_parse_quiet(const struct command *command, int argc, char **argv, void *options,
                        struct command_line *line, struct error *err)
{
    int kept = 1;
    bool only_arguments = false;
    struct format_words words = {0};
    *line = (struct command_line){.values = argv + 1};
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        int result = 0;
        if (only_arguments || word[0] != '-' || word[1] == '\0') {
            argv[kept++] = word;
            only_arguments = only_arguments || command->stops_at_argument;
        } else if (strcmp(word, "--") == 0) {
            only_arguments = line->had_separator = true;
        } else if (word[1] == '-') {
            result = parse_long(command, argv, &i, (char *)options, &words, err);
        } else {
            result = parse_letters(command, argv, &i, (char *)options, err);
        }
        if (result != 0)
            return result;
    }
    argv[kept] = NULL;
    line->count = kept - 1;
    int result = settle_words(command, &words, line, (char *)options, err);
    return result ? result : check_arguments(command, line, &words, err);
}
