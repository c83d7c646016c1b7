/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"

#define MOST_FIRST_WORDS 3u

static const struct tool {
    const char *name, *joined;
    const char *first[MOST_FIRST_WORDS];
} tools[] = {
#define TOOL(name, joined, ...) {name, joined, {__VA_ARGS__}},
#define WORD(tool, theirs, ours)
#include "cli/command/names.def"
#undef TOOL
#undef WORD
};

static const struct word {
    const char *tool, *theirs, *ours;
} renamed[] = {
#define TOOL(name, joined, ...)
#define WORD(tool, theirs, ours) {tool, theirs, ours},
#include "cli/command/names.def"
#undef TOOL
#undef WORD
};

static const struct tool *find_tool(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    }
    return NULL;
}

static bool has_words(const struct tool *tool)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++) {
        if (strcmp(renamed[i].tool, tool->name) == 0)
            return true;
    }
    return false;
}

/* -o, -oVALUE, --option, --option=VALUE. *value is what is joined to it; NULL. */
static const struct word *find_word(const struct tool *tool, const char *argument, const char **value)
{
    for (size_t i = 0; i < COUNT_OF(renamed); i++) {
        size_t length = strlen(renamed[i].theirs);
        if (strcmp(renamed[i].tool, tool->name) != 0 || strncmp(argument, renamed[i].theirs, length) != 0)
            continue;
        const char *rest = argument + length;
        bool is_letter = length == 2;
        if (*rest && !is_letter && *rest != '=')
            continue;
        *value = !*rest ? NULL : *rest == '=' ? rest + 1 : rest;
        return &renamed[i];
    }
    return NULL;
}

struct words {
    char **items;
    size_t count;
};

static void add_word(struct words *words, const char *word)
{
    words->items[words->count++] = (char *)(uintptr_t)word;
}

/* The tool takes options anywhere, ours end at the first argument. */
static void add_renamed(struct words *words, const struct tool *tool, int argc, char **argv)
{
    const char *value;
    bool is_option = true;
    size_t others = 0;
    char **other = calloc((size_t)argc + 1, sizeof *other);
    for (int i = 1; other && i < argc; i++) {
        const struct word *word = is_option ? find_word(tool, argv[i], &value) : NULL;
        if (word) {
            add_word(words, word->ours);
            if (value || (i + 1 < argc && strcmp(word->ours, "--help") != 0))
                add_word(words, value ? value : argv[++i]);
        } else if (is_option && strcmp(argv[i], "--") == 0) {
            is_option = false;
        } else if (is_option && argv[i][0] == '-' && argv[i][1]) {
            add_word(words, argv[i]);
        } else {
            other[others++] = argv[i];
        }
    }
    if (others)
        add_word(words, "--");
    for (size_t i = 0; i < others; i++)
        add_word(words, other[i]);
    free(other);
}

static void add_joined(struct words *words, const struct tool *tool, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct bytes word = {0};
        bool is_joined = tool->joined && strcmp(argv[i], tool->joined) == 0 && i + 1 < argc;
        if (is_joined)
            bytes_append_format(&word, "%s=%s", argv[i], argv[i + 1]);
        add_word(words, is_joined && !word.failed ? bytes_text(&word) : argv[i]);
        i += is_joined && !word.failed;
    }
}

char **command_words_of_tool(int *argc, char **argv)
{
    const struct tool *tool = *argc > 0 ? find_tool(argv[0]) : NULL;
    /* an option with its value joined becomes two words, and "--" is added */
    struct words words = {.items =
                              tool ? calloc(2 * (size_t)*argc + MOST_FIRST_WORDS + 2, sizeof(char *)) : NULL};
    if (!words.items)
        return NULL;
    for (size_t i = 0; i < MOST_FIRST_WORDS && tool->first[i]; i++)
        add_word(&words, tool->first[i]);
    if (has_words(tool))
        add_renamed(&words, tool, *argc, argv);
    else
        add_joined(&words, tool, *argc, argv);
    *argc = (int)words.count;
    return words.items;
}
