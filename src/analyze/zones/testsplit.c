/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/zones/testsplit.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/output_path.h"
#include "trace/cut.h"

#define MOST_NAME_BYTES 180u

/* A file name for the trace of a test: its id with what a file name should not have as '_'. `number` tells apart
 * tests that would be called the same. */
static void trace_path(struct bytes *path, const char *folder, const char *id, unsigned number)
{
    bytes_clear(path);
    bytes_append_format(path, "%s/", folder);
    for (size_t i = 0; id[i] && i < MOST_NAME_BYTES; i++) {
        bool is_plain = (id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'z') ||
                        (id[i] >= 'A' && id[i] <= 'Z') || (i > 0 && id[i] == '.') || id[i] == '-';
        if (id[i] == ':' && id[i + 1] == ':') {
            bytes_append_text(path, "..");
            i++;
        } else {
            bytes_append_u8(path, is_plain ? (uint8_t)id[i] : '_');
        }
    }
    if (number > 1)
        bytes_append_format(path, ".%u", number);
    bytes_append_text(path, ".opscope");
    bytes_append_u8(path, 0);
}

/* Is this one of the paths so far? */
static bool is_taken(const struct bytes *paths, const struct bytes *path)
{
    for (size_t at = 0; at < paths->length; at += strlen((const char *)paths->data + at) + 1)
        if (strcmp((const char *)paths->data + at, (const char *)path->data) == 0)
            return true;
    return false;
}

static int make_paths(struct trace *trace, const char *source, const struct test_list *list,
                      const char *folder, struct bytes *paths, struct error *err)
{
    struct bytes path = {0};
    int result = 0;
    for (size_t i = 0; i < list->count && result == 0; i++) {
        const char *id = trace_get_name(trace, list->entries[i].name)->name;
        unsigned number = 1;
        trace_path(&path, folder, id, number);
        while (!path.failed && is_taken(paths, &path))
            trace_path(&path, folder, id, ++number);
        bytes_append(paths, path.data, path.length);
        result = path.failed || paths->failed
                     ? error_set_errno(err, ENOMEM, "%zu tests", list->count)
                     : output_path_check((const char *)path.data, &source, 1, NULL, err);
    }
    bytes_free(&path);
    return result;
}

int test_split(struct trace *trace, const char *source, const struct test_list *list, const char *folder,
               struct bytes *paths, struct error *err)
{
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_set_errno(err, errno, "%s", folder);
    int result = make_paths(trace, source, list, folder, paths, err);
    for (size_t i = 0, at = 0; i < list->count && result == 0; i++) {
        const struct test_entry *entry = &list->entries[i];
        const char *path = (const char *)paths->data + at;
        result = trace_cut(trace, path,
                           &(struct trace_cut){.track = entry->track,
                                               .depth = entry->depth,
                                               .since_ns = entry->start_ns,
                                               .until_ns = entry->end_ns,
                                               .command = trace_get_name(trace, entry->name)->name},
                           err);
        at += strlen(path) + 1;
    }
    return result;
}
