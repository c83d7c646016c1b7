/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/machine_files.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/open_regular.h"
#include "text/json/reader.h"

/* A description of a chip is a few kilobytes. */
#define FILE_BYTES_MAX ((size_t)1 << 20)

static void take_text(const struct json_document *json, const struct json_node *object, const char *key,
                      char *out, size_t size)
{
    const struct json_node *node = json_find(json, object, key);
    if (node && node->kind == JSON_STRING)
        snprintf(out, size, "%.*s", (int)(node->length < size ? node->length : size - 1), node->text);
}

static bool take_number(const struct json_node *node, double *value)
{
    char text[64];
    char *end;
    if (!node || node->kind != JSON_NUMBER || node->length >= sizeof text)
        return false;
    memcpy(text, node->text, node->length);
    text[node->length] = 0;
    *value = strtod(text, &end);
    return *end == 0 && isfinite(*value) && *value >= 0;
}

static int take_figure(struct machine *machine, const char *path, const struct json_document *json,
                       const struct json_node *node, bool is_estimate, struct error *err)
{
    struct machine_figure figure = {.is_estimate = is_estimate};
    snprintf(figure.key, sizeof figure.key, "%.*s", (int)(node->key_length < 31 ? node->key_length : 31),
             node->key);
    const struct json_node *value = node->kind == JSON_OBJECT ? json_find(json, node, "value") : node;
    if (!take_number(value, &figure.value))
        return error_set(err, EINVAL, "%s: figure '%s' has no number that is 0 or more as its value", path,
                         figure.key);
    take_text(json, node, "unit", figure.unit, sizeof figure.unit);
    take_text(json, node, "source", figure.source, sizeof figure.source);
    if (is_estimate && estimate_target_set(&machine->estimate, figure.key, figure.value, err) != 0) {
        error_prefix(err, "%s: estimate", path);
        return -EINVAL;
    }
    if (!is_estimate && !machine_take(machine, figure.key, figure.value))
        return error_set(err, EINVAL, "%s: there is no figure '%s' (opscope machine show NAME lists them)",
                         path, figure.key);
    if (machine->figure_count < MACHINE_FIGURES)
        machine->figures[machine->figure_count++] = figure;
    return 0;
}

static int take_figures(struct machine *machine, const char *path, const struct json_document *json,
                        const struct json_node *figures, bool is_estimate, struct error *err)
{
    int status = 0;
    for (const struct json_node *n = json_first(json, figures); n && !status; n = json_next(json, figures, n))
        status = take_figure(machine, path, json, n, is_estimate, err);
    return status;
}

/* The section "estimate", which makes a machine a target. */
static int take_estimate(struct machine *machine, const char *path, const struct json_document *json,
                         const struct json_node *section, struct error *err)
{
    char kind[16] = "";
    if (!section)
        return 0;
    take_text(json, section, "kind", kind, sizeof kind);
    if (!estimate_target_set_kind(&machine->estimate, kind))
        return error_set(err, EINVAL, "%s: estimate: kind is '%s': dma or cache", path, kind);
    int status = take_figures(machine, path, json, json_find(json, section, "figures"), true, err);
    const char *missing = status ? NULL : estimate_target_missing(&machine->estimate);
    if (missing)
        status = error_set(err, EINVAL, "%s: estimate: '%s' is missing or 0", path, missing);
    memcpy(machine->estimate.name, machine->name, sizeof machine->name);
    return status;
}

/* A name that is cut is the name of nothing. */
static int take_name(const struct json_node *node, const char *path, char out[MACHINE_NAME_BYTES],
                     struct error *err)
{
    if (node->length >= MACHINE_NAME_BYTES)
        return error_set(err, EINVAL, "%s: the name '%.*s' has more than %u bytes", path,
                         (int)(node->length < 200 ? node->length : 200), node->text, MACHINE_NAME_BYTES - 1);
    snprintf(out, MACHINE_NAME_BYTES, "%.*s", (int)node->length, node->text);
    return 0;
}

static int take_names(struct machine *machine, const char *path, const struct json_document *json,
                      const struct json_node *root, struct error *err)
{
    const struct json_node *name = json_find(json, root, "name"), *aliases = json_find(json, root, "aliases");
    int status = name && name->kind == JSON_STRING ? take_name(name, path, machine->name, err) : 0;
    bool is_fine = !aliases || aliases->kind == JSON_ARRAY;
    for (const struct json_node *n = json_first(json, aliases); n && !status && is_fine;
         n = json_next(json, aliases, n)) {
        is_fine = n->kind == JSON_STRING && machine->alias_count < MACHINE_ALIASES;
        if (is_fine)
            status = take_name(n, path, machine->aliases[machine->alias_count++], err);
    }
    if (!status && !is_fine)
        status = error_set(err, EINVAL, "%s: 'aliases' is a list of up to %u names", path, MACHINE_ALIASES);
    return status;
}

int machine_files_parse(struct machine_set *set, const char *path, const char *text, size_t length,
                        struct error *err)
{
    struct json_document json = {0};
    struct machine machine;
    int status = json_read(&json, text, length, err);
    machine_defaults(&machine);
    if (status) {
        error_prefix(err, "%s", path);
        goto out;
    }
    const struct json_node *root = json_root(&json);
    const struct json_node *figures = json_find(&json, root, "figures");
    take_text(&json, root, "title", machine.title, sizeof machine.title);
    snprintf(machine.path, sizeof machine.path, "%s", path);
    status = take_names(&machine, path, &json, root, err);
    if (status == 0)
        status = take_figures(&machine, path, &json, figures, false, err);
    if (status == 0)
        status = take_estimate(&machine, path, &json, json_find(&json, root, "estimate"), err);
    if (status)
        goto out;
    const char *missing = machine.name[0] ? machine_missing(&machine) : "name";
    if (missing)
        status = error_set(err, EINVAL, "%s: '%s' is missing or 0", path, missing);
    else if (!machine_add(set, &machine))
        status = error_set(err, ENOMEM, "%s: no memory", path);
out:
    json_document_free(&json);
    return status;
}

static int read_file(struct machine_set *set, const char *path, struct error *err)
{
    struct bytes text = {0};
    struct error local = {0};
    FILE *file = open_regular_stream(path, &local);
    if (!file)
        return error_set(err, local.code, "cannot read the machine file %s", local.message);
    while (!feof(file) && !ferror(file) && text.length <= FILE_BYTES_MAX && bytes_reserve(&text, 65536))
        text.length += fread(text.data + text.length, 1, 65536, file);
    bool failed = ferror(file) || text.failed;
    fclose(file);
    int status;
    if (failed)
        status = error_set(err, EIO, "cannot read the machine file %s", path);
    else if (text.length > FILE_BYTES_MAX)
        status = error_set(err, EFBIG, "%s is too large to describe a machine", path);
    else
        status = machine_files_parse(set, path, (const char *)text.data, text.length, err);
    bytes_free(&text);
    return status;
}

static bool is_machine_file(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

/* Every .json of a folder, by name; a folder that is not there is none. What lies there and is no machine file is left
 * out: nobody asked for it. */
static void read_folder(struct machine_set *set, const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        struct error err = {0};
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (is_machine_file(entries[i]->d_name) && read_file(set, path, &err) != 0 && !set->left_out++)
            snprintf(set->why_not, sizeof set->why_not, "%s", err.message);
        free(entries[i]);
    }
    free(entries);
}

void machine_files_append_left_out(const struct machine_set *set, struct bytes *out)
{
    if (set->left_out)
        bytes_append_format(out, "%zu file%s in the folder of machines %s no machine file%s, left out: %s",
                            set->left_out, set->left_out == 1 ? "" : "s", set->left_out == 1 ? "is" : "are",
                            set->left_out == 1 ? "" : "s", set->why_not);
}

bool machine_file_is_path(const char *named)
{
    return strchr(named, '/') || is_machine_file(named);
}

int machine_files_read(struct machine_set *set, const char *named, struct error *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"), *own = getenv("OPSCOPE_MACHINES");
    char folder[4096];
    int status = 0;
    for (size_t i = 0; i < machine_builtin_count && !status; i++)
        status = machine_files_parse(set, "built in", machine_builtin_files[i].text,
                                     machine_builtin_files[i].length, err);
    if (!status && config && *config) {
        snprintf(folder, sizeof folder, "%s/opscope/machines", config);
        read_folder(set, folder);
    } else if (!status && home && *home) {
        snprintf(folder, sizeof folder, "%s/.config/opscope/machines", home);
        read_folder(set, folder);
    }
    if (!status && own && *own)
        read_folder(set, own);
    if (!status && named && machine_file_is_path(named))
        status = read_file(set, named, err);
    return status;
}
