/* SPDX-License-Identifier: Apache-2.0 */
/* --include, --exclude and --mine: which code is recorded. Asked once per code object, and once per import.
 *
 * A pattern with a slash, one that ends in .py and one that begins with < (as in <string>) is about the file, any
 * other about the module: numpy is numpy and everything below it. With * ? or [ it is a glob, where * matches anything,
 * slashes and dots included. A file's pattern without a glob is a file or a folder with all that is in it; a relative
 * one is taken from the folder in which the process started, and model.py is that file anywhere.
 *
 * Recorded is what some --include matches, or everything when there is none, less what some --exclude matches. Of an
 * import only the module's name is known when it begins: patterns of files match none.
 *
 * --mine leaves out what is not below the folder in which the process started, and there what is installed: a virtual
 * environment, site-packages, a Python of its own. Code that has no file (<stdin>, a notebook's cell) is the user's. */
#include "base/count_of.h"
#include "python/src/native.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

struct pattern {
    char *text;
    size_t length;
    bool is_include, is_file, is_glob;
};

static struct pattern *patterns;
static size_t pattern_count;
static bool has_include, is_only_mine;
static char start_folder[PATH_MAX]; /* with a slash at its end; "" when it is not known */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Path as an absolute one, without "./" at its start; false when it is too long. */
static bool make_absolute(const char *path, char *out, size_t size)
{
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    const char *folder = path[0] == '/' || path[0] == '<' ? "" : start_folder;
    size_t n = strlen(folder), m = strlen(strcmp(path, ".") == 0 ? "" : path);
    if (n + m >= size)
        return false;
    memcpy(out, folder, n);
    memcpy(out + n, path, m);
    out[n + m] = '\0';
    return true;
}

static void find_start_folder(void)
{
    if (start_folder[0] || !getcwd(start_folder, sizeof start_folder - 1)) {
        return;
    }
    size_t n = strlen(start_folder);
    if (n && start_folder[n - 1] != '/') {
        start_folder[n] = '/';
        start_folder[n + 1] = '\0';
    }
}

bool filters_add(const char *text, bool is_include)
{
    struct pattern p = {.is_include = is_include};
    char absolute[PATH_MAX];
    find_start_folder();
    p.is_file = strchr(text, '/') || text[0] == '<' || ends_with(text, ".py") || strcmp(text, ".") == 0;
    p.is_glob = strpbrk(text, "*?[") != NULL;
    if (p.is_file && !p.is_glob && (strchr(text, '/') || text[0] == '.') &&
        make_absolute(text, absolute, sizeof absolute))
        text = absolute;
    struct pattern *larger = realloc(patterns, (pattern_count + 1) * sizeof *larger);
    if (!larger)
        return false;
    patterns = larger;
    p.text = strdup(text);
    if (!p.text)
        return false;
    p.length = strlen(p.text);
    while (p.is_file && p.length > 1 && p.text[p.length - 1] == '/')
        p.text[--p.length] = '\0';
    patterns[pattern_count++] = p;
    has_include |= is_include;
    return true;
}

void filters_only_mine(void)
{
    find_start_folder();
    is_only_mine = true;
}

void filters_reset(void)
{
    for (size_t i = 0; i < pattern_count; i++)
        free(patterns[i].text);
    free(patterns);
    patterns = NULL;
    pattern_count = 0;
    has_include = is_only_mine = false;
    start_folder[0] = '\0';
}

/* file: as make_absolute leaves it. */
static bool is_mine(const char *file)
{
    static const char *const installed[] = {"/site-packages/", "/dist-packages/", "/lib/python3"};
    if (file[0] == '<')
        return strncmp(file, "<frozen", 7) != 0;
    if (strstr(file, "/ipykernel_")) /* where IPython says that a notebook's cells are */
        return true;
    if (strncmp(file, start_folder, strlen(start_folder)) != 0)
        return false;
    for (size_t i = 0; i < COUNT_OF(installed); i++)
        if (strstr(file + strlen(start_folder) - 1, installed[i]))
            return false;
    return true;
}

static bool matches_file(const struct pattern *p, const char *file)
{
    if (p->is_glob) {
        if (fnmatch(p->text, file, 0) == 0)
            return true;
        size_t n = strlen(start_folder); /* src/a*.py */
        return strncmp(file, start_folder, n) == 0 && fnmatch(p->text, file + n, 0) == 0;
    }
    if (p->text[0] == '/')
        return strncmp(file, p->text, p->length) == 0 &&
               (file[p->length] == '\0' || file[p->length] == '/' || p->length == 1);
    const char *slash = strrchr(file, '/');
    return strcmp(slash && p->text[0] != '<' ? slash + 1 : file, p->text) == 0;
}

static bool matches_module(const struct pattern *p, const char *module)
{
    if (p->is_glob)
        return fnmatch(p->text, module, 0) == 0;
    return strncmp(module, p->text, p->length) == 0 &&
           (module[p->length] == '\0' || module[p->length] == '.');
}

/* file: NULL where it is not known. */
static bool is_hidden(const char *file, const char *module)
{
    bool is_included = !has_include;
    for (size_t i = 0; i < pattern_count; i++) {
        const struct pattern *p = &patterns[i];
        if (p->is_include && is_included)
            continue;
        if (!(p->is_file ? file && matches_file(p, file) : matches_module(p, module)))
            continue;
        if (!p->is_include)
            return true;
        is_included = true;
    }
    return !is_included;
}

bool filters_hide(const char *file, const char *module)
{
    char absolute[PATH_MAX];
    if (!pattern_count && !is_only_mine)
        return false;
    const char *path = make_absolute(file, absolute, sizeof absolute) ? absolute : file;
    return (is_only_mine && !is_mine(path)) || is_hidden(path, module);
}

bool filters_hide_import(const char *module)
{
    return is_only_mine || (pattern_count > 0 && is_hidden(NULL, module));
}
