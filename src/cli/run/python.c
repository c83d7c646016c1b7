/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the Python package's _boot folder first on PYTHONPATH. Every Python below the run, whatever started it, then
 * imports that folder's sitecustomize when it starts; that takes the folder off sys.path again, so the program's
 * imports go where they would have gone. The folder stays in the variable, for the children of the program.
 *
 * A Python that ignores its environment (-E, -I) or has no site module (-S) is not recorded this way.
 *
 * The package is looked for from the program: build/python in a build folder, ../lib/opscope/python in an installation,
 * and the folder above in a wheel, where the program lies in opscope/bin. */
#include "cli/run/python.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/count_of.h"

#define TRACE_VARIABLE "OPSCOPE_PYTHON_TRACE"

static const char *const places[] = {"/python/opscope", "/../lib/opscope/python/opscope", "/.."};

/* The _boot folder as an absolute path without links or dots: it is compared with entries of sys.path. */
static bool find_boot_folder(char *out, size_t size)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        char candidate[PATH_MAX + 64], file[PATH_MAX + 96], resolved[PATH_MAX];
        snprintf(candidate, sizeof candidate, "%s%s/_boot", program, places[i]);
        snprintf(file, sizeof file, "%s/sitecustomize.py", candidate);
        if (access(file, R_OK) != 0 || !realpath(candidate, resolved) || strlen(resolved) >= size)
            continue;
        if (strchr(resolved, ':')) /* PYTHONPATH cannot say it */
            return false;
        memcpy(out, resolved, strlen(resolved) + 1);
        return true;
    }
    return false;
}

static void put_on_path(const char *folder)
{
    const char *old = getenv("PYTHONPATH");
    size_t length = strlen(folder);
    if (!old || !*old) {
        setenv("PYTHONPATH", folder, 1);
        return;
    }
    if (strncmp(old, folder, length) == 0 && (old[length] == '\0' || old[length] == ':'))
        return; /* a run inside a run */
    struct bytes value = {0};
    bytes_append_text(&value, folder);
    bytes_append_u8(&value, ':');
    bytes_append_text(&value, old);
    bytes_append_u8(&value, 0);
    if (!value.failed)
        setenv("PYTHONPATH", (const char *)value.data, 1);
    bytes_free(&value);
}

/* --- what to record: the words of OPSCOPE_PYTHON_TRACE, which python/opscope/_start.py explains --- */

static void add_word(struct bytes *words, const char *word)
{
    if (words->length)
        bytes_append_u8(words, ',');
    bytes_append_text(words, word);
}

static void add_value(struct bytes *words, const char *key, const char *value)
{
    add_word(words, key);
    bytes_append_u8(words, '=');
    for (const char *at = value; *at; at++) {
        if (*at == ',' || *at == '%')
            bytes_append_text(words, *at == ',' ? "%2C" : "%25");
        else
            bytes_append_u8(words, (uint8_t)*at);
    }
}

static void add_FLAG(struct bytes *words, const char *word, const bool *is_given)
{
    if (*is_given)
        add_word(words, word);
}

static void add_TEXT(struct bytes *words, const char *word, const char *const *text)
{
    if (*text)
        add_value(words, word, *text);
}

static void add_NUMBER(struct bytes *words, const char *word, const uint64_t *number)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, *number);
    if (*number)
        add_value(words, word, text);
}

static void add_LIST(struct bytes *words, const char *word, const struct text_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        add_value(words, word, list->items[i]);
}

/* False when the user said nothing: python3 -m opscope may have set what it wants. */
static bool make_words(const struct run_python_options *o, struct bytes *words)
{
    if (o->trace == RUN_PYTHON_OFF) /* `import opscope` works all the same */
        add_word(words, "off");
    if (o->trace == RUN_PYTHON_LINES)
        add_word(words, "lines");
#define OPTION(field, word, kind, argument, help) add_##kind(words, word, &o->field);
#include "cli/run/python_options.def"
#undef OPTION
    bool is_any = words->length > 0;
    if (!is_any)
        add_word(words, "calls");
    bytes_append_u8(words, 0);
    return is_any;
}

void run_python_prepare(const struct run_python_options *options)
{
    char folder[PATH_MAX], number[32];
    struct bytes words = {0};
    if (!find_boot_folder(folder, sizeof folder))
        return;
    put_on_path(folder);
    bool is_asked = make_words(options, &words);
    if (!words.failed)
        setenv(TRACE_VARIABLE, (const char *)words.data, is_asked);
    bytes_free(&words);
    snprintf(number, sizeof number, "%ld", (long)getpid());
    setenv("OPSCOPE_PYTHON_RUN", number, 1);
}

#define FIELD(name) OPTION_FIELD(struct run_python_options, name)

static const char *const trace_choices[] = {"auto", "off", "lines", NULL};
static const struct command_option options_table[] = {
    {.name = "python-trace",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .choices = trace_choices,
     .offset = FIELD(trace),
     .help =
         "Record the calls of Python programs (auto, where opscope has an extension for that Python), only "
         "what they mark up themselves (off), or each line as well (lines)."},
#define OPTION(field, word, kind, value, text)                                                               \
    {.name = "python-" word,                                                                                 \
     .type = OPTION_##kind,                                                                                  \
     .argument = (value),                                                                                    \
     .offset = FIELD(field),                                                                                 \
     .min = 1, /* of numbers */                                                                              \
     .max = UINT32_MAX - 1,                                                                                  \
     .help = (text)},
#include "cli/run/python_options.def"
#undef OPTION
    {.name = NULL},
};
const struct option_table run_python_table = {"Python programs", options_table};

bool run_python_package_folder(char *out, size_t size)
{
    if (!find_boot_folder(out, size))
        return false;
    *strrchr(out, '/') = '\0'; /* /_boot */
    *strrchr(out, '/') = '\0'; /* /opscope */
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The first of these letters among the interpreter's options, which end at a script, -m or -c; '\0': none. */
static char find_option(char *const *command, const char *letters)
{
    for (char *const *word = command + 1; *word && (*word)[0] == '-' && (*word)[1]; word++) {
        const char *text = *word + 1;
        if (text[0] == '-')
            continue;
        size_t end = strcspn(text, "mcXW"), found = strcspn(text, letters);
        if (found < end)
            return text[found];
        if (text[end] == 'm' || text[end] == 'c')
            return '\0';
        if (text[end] && !text[end + 1] && !*++word)
            return '\0';
    }
    return '\0';
}

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 &&
            (at[length] == '\0' || at[length] == ',' || word[length - 1] == '='))
            return true;
    return false;
}

bool run_python_why_nothing(char *const *command, char *out, size_t size)
{
    const char *words = getenv(TRACE_VARIABLE);
    if (strncmp(base_name(command[0]), "python", 6) != 0 || !words)
        return false;
    char letter = find_option(command, "EIS");
    const char *reason = NULL;
    if (letter == 'S')
        reason = "runs without its site module, which is how opscope gets into it; run it without -S";
    else if (letter)
        reason = "ignores its environment, which is how opscope gets into it; run it without -E and -I";
    else if (has_word(words, "off"))
        reason = "was to record only what it marks up (--python-trace off), and marked up nothing";
    else if (has_word(words, "partial"))
        reason = "was to record only while an opscope.Profiler is enabled (-p), and enabled none";
    else if (has_word(words, "start-signpost="))
        reason = "was to record from a signpost on (--start-signpost), which did not come";
    else if (has_word(words, "include="))
        reason = "has no code that --include matches";
    if (reason && letter)
        snprintf(out, size, "python -%c %s", letter, reason);
    else if (reason)
        snprintf(out, size, "the program %s", reason);
    return reason != NULL;
}

bool run_python_name(char *const *command, char *out, size_t size)
{
    if (strncmp(base_name(command[0]), "python", 6) != 0)
        return false;
    for (char *const *word = command + 1; *word; word++) {
        const char *text = *word;
        if (text[0] != '-') { /* the script, or a folder that holds __main__.py */
            const char *base = base_name(text);
            size_t length = strlen(base), end = strlen(".py");
            if (length > end && strcmp(base + length - end, ".py") == 0)
                length -= end;
            snprintf(out, size, "%.*s", (int)length, base);
            return length > 0 && !strchr(out, '/') && out[0] != '.';
        }
        size_t letters = strcspn(text + 1, "mcXW"); /* those that take what follows: -Bm pytest, -W ignore */
        char letter = text[1] == '-' ? '\0' : text[1 + letters];
        const char *value = letter && text[2 + letters] ? text + 2 + letters : NULL;
        if (letter == 'c' || strcmp(text, "-") == 0)
            return false;
        if ((letter || strcmp(text, "--check-hash-based-pycs") == 0) && !value && !(value = *++word))
            return false;
        if (letter == 'm') {
            snprintf(out, size, "%s", value);
            return out[0] && !strchr(out, '/');
        }
    }
    return false;
}

const char *run_python_view(char *const *command)
{
    char name[256] = "";
    const char *words = getenv(TRACE_VARIABLE), *program = base_name(command[0]);
    if (!words || has_word(words, "off"))
        return "zones";
    if (has_word(words, "lines"))
        return "zones --source";
    bool is_pytest = strcmp(program, "pytest") == 0 || strcmp(program, "py.test") == 0 ||
                     (run_python_name(command, name, sizeof name) && strcmp(name, "pytest") == 0);
    return is_pytest ? "zones --by-test" : "zones";
}
