/* SPDX-License-Identifier: Apache-2.0 */
/* Logs and tables of other tools, opened as if they were traces: they are imported into a file that has no name
 * any more once it is open, so that nothing is left behind however the command ends; until then leftovers.h cares. */
#include "load/trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/leftovers.h"
#include "import/open.h"

/* The file, and as it is called while it is written. */
static void note_files(const char *file, int notes[2])
{
    struct bytes partial = {0};
    bytes_append_format(&partial, "%s.partial", file);
    notes[0] = leftover_note(file);
    if (!partial.failed)
        notes[1] = leftover_note(bytes_text(&partial));
    bytes_free(&partial);
}

int load_filled_trace(struct trace **trace, const char *path, trace_filler *fill, const void *context,
                      struct error *err)
{
    const char *temporary = getenv("TMPDIR");
    struct bytes folder = {0}, file = {0};
    bytes_append_format(&folder, "%s/opscope-import-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (folder.failed)
        return error_set_errno(err, ENOMEM, "%s", path);
    if (!mkdtemp((char *)(uintptr_t)bytes_text(&folder))) {
        int code = errno;
        bytes_free(&folder);
        return error_set_errno(err, code, "%s: no temporary folder", path);
    }
    bytes_append_format(&file, "%s/trace.opscope", bytes_text(&folder));
    int notes[] = {leftover_note(bytes_text(&folder)), -1, -1};
    if (!file.failed)
        note_files(bytes_text(&file), notes + 1);
    int result =
        file.failed ? error_set_errno(err, ENOMEM, "%s", path) : fill(context, bytes_text(&file), err);
    if (result == 0)
        result = trace_open(trace, bytes_text(&file), 0, err);
    if (!file.failed)
        unlink(bytes_text(&file));
    rmdir(bytes_text(&folder));
    for (size_t i = 0; i < COUNT_OF(notes); i++)
        leftover_forget(notes[i]);
    bytes_free(&file);
    bytes_free(&folder);
    return result;
}

static int fill_import(const void *context, const char *file, struct error *err)
{
    struct import_counts counts;
    return import_to_trace(context, file, &(struct import_options){0}, &counts, err);
}

static int read_all(int descriptor, struct bytes *data, struct error *err)
{
    for (;;) {
        if (!bytes_reserve(data, (size_t)1 << 20))
            return error_set_errno(err, ENOMEM, "standard input");
        ssize_t n = read(descriptor, data->data + data->length, (size_t)1 << 20);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "standard input");
        if (n == 0)
            return 0;
        data->length += (size_t)n;
    }
}

int load_trace(struct trace **trace, struct bytes *stdin_data, const char *path, bool salvage,
               struct error *err)
{
    unsigned flags = salvage ? TRACE_OPEN_SALVAGE : 0;
    if (strcmp(path, "-") != 0) {
        enum import_kind kind = import_guess(path);
        return kind == IMPORT_TIMELINE_CSV ? import_refuse_timeline(path, err)
               : import_has_ops(kind)      ? load_filled_trace(trace, path, fill_import, path, err)
                                           : trace_open(trace, path, flags, err);
    }
    int result = read_all(STDIN_FILENO, stdin_data, err);
    if (result == 0) {
        result = trace_open_memory(trace, stdin_data->data, stdin_data->length, flags, err);
        if (result != 0)
            error_prefix(err, "standard input");
    }
    return result;
}
