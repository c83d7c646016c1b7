/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlir/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/count_of.h"
#include "import/mlir/scan.h"

/* The number before the name of the phase changed over time. */
static const char *const endings[] = {"executable-targets.mlir", ".mlirb", ".mlirbc", ".mlir"};

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), own = strlen(ending);
    return length >= own && strcmp(text + length - own, ending) == 0;
}

bool mlir_is_file_name(const char *name)
{
    bool is_one = false;
    for (size_t i = 0; i < COUNT_OF(endings); i++)
        is_one |= ends_with(name, endings[i]);
    return is_one;
}

/* Its files in order of their names, and what those that count end in; negative where it is not a folder. */
static int list(const char *path, struct dirent ***entries, const char **ending)
{
    struct stat info;
    *ending = NULL;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return -1;
    int count = scandir(path, entries, NULL, alphasort);
    for (size_t i = 0; i < COUNT_OF(endings) && !*ending; i++) {
        for (int k = 0; k < count && !*ending; k++)
            *ending = ends_with((*entries)[k]->d_name, endings[i]) ? endings[i] : NULL;
    }
    return count;
}

static void free_list(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    if (count >= 0)
        free(entries);
}

bool mlir_is_folder(const char *path)
{
    struct dirent **entries;
    const char *ending;
    int count = list(path, &entries, &ending);
    free_list(entries, count);
    return ending != NULL;
}

/* The text with another name for each alias that it defines, so that those of two files are not taken for one. */
static void append_text(const struct mlir *mlir, size_t number, struct bytes *out)
{
    const char *text = mlir->text;
    size_t at = 0, copied = 0;
    while (at < mlir->length) {
        size_t end = at + 1;
        if (text[at] == '"') {
            end = scan_string(text, at, mlir->length);
        } else if (text[at] == '#' || text[at] == '!') {
            end = scan_word(text, at + 1, mlir->length);
            if (intern_find(&mlir->aliases_by_name, text + at, end - at) != INTERN_NONE) {
                bytes_append(out, text + copied, end - copied);
                bytes_append_format(out, "_of_%zu", number);
                copied = end;
            }
        }
        at = end > at ? end : at + 1;
    }
    bytes_append(out, text + copied, mlir->length - copied);
    bytes_append_text(out, "\n");
}

static int append_file(const char *folder, const char *name, size_t number, struct bytes *out,
                       struct error *err)
{
    struct mlir *mlir = NULL;
    struct bytes path = {0};
    bytes_append_format(&path, "%s/%s", folder, name);
    int status = path.failed ? error_no_memory(err, folder) : mlir_open(&mlir, bytes_text(&path), err);
    if (status == 0) {
        append_text(mlir, number, out);
        mlir_close(mlir);
    }
    bytes_free(&path);
    return status;
}

int mlir_open_folder(struct mlir **out, const char *path, struct error *err)
{
    struct dirent **entries;
    struct bytes text = {0};
    const char *ending;
    size_t files = 0;
    int count = list(path, &entries, &ending), status = 0;
    *out = NULL;
    for (int i = 0; i < count && status == 0 && ending; i++) {
        if (!ends_with(entries[i]->d_name, ending) || (files && ending == endings[0]))
            continue; /* of several schedules the first */
        status = append_file(path, entries[i]->d_name, files++, &text, err);
    }
    free_list(entries, count);
    if (status == 0 && !files)
        status =
            error_set(err, ENOENT,
                      "%s has no MLIR: neither *.executable-targets.mlir (--dump-compilation-phases-to) nor "
                      "*.mlirb (--torq-debug-info)",
                      path);
    if (status == 0 && text.failed)
        status = error_no_memory(err, path);
    if (status == 0)
        status = mlir_read_text(out, path, bytes_text(&text), text.length, err);
    if (status)
        bytes_free(&text);
    else
        (*out)->own_text = text;
    return status;
}
