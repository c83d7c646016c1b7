/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define MOST_FIRST_WORDS 3u

static const struct tool {
    const char *name, *joined;
    const char *first[MOST_FIRST_WORDS];
} tools[] = {
#define TOOL(name, joined, ...) {name, joined, {__VA_ARGS__}},
#include "cli/command/names.def"
#undef TOOL
};

static const struct tool *find_tool(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    }
    return NULL;
}

char **command_words_of_tool(int *argc, char **argv)
{
    const struct tool *tool = *argc > 0 ? find_tool(argv[0]) : NULL;
    if (!tool)
        return NULL;
    size_t count = 0;
    char **words = calloc((size_t)*argc + MOST_FIRST_WORDS + 1, sizeof *words);
    if (!words)
        return NULL;
    for (size_t i = 0; i < MOST_FIRST_WORDS && tool->first[i]; i++)
        words[count++] = (char *)tool->first[i];
    for (int i = 1; i < *argc; i++) {
        struct bytes word = {0};
        bool is_joined = tool->joined && strcmp(argv[i], tool->joined) == 0 && i + 1 < *argc;
        if (is_joined)
            bytes_append_format(&word, "%s=%s", argv[i], argv[i + 1]);
        words[count++] = is_joined && !word.failed ? (char *)bytes_text(&word) : argv[i];
        i += is_joined && !word.failed;
    }
    *argc = (int)count;
    return words;
}
