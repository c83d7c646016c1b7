/* SPDX-License-Identifier: Apache-2.0 */
/* A window of the trace for other tools: what `opscope export` writes, as far as it fits into an answer. */
#include <errno.h>
#include <stdio.h>

#include "present/export/export.h"
#include "serve/query/query.h"

struct memory {
    struct bytes *out;
    bool is_full;
};

static ssize_t append(void *cookie, const char *data, size_t size)
{
    struct memory *memory = cookie;
    memory->is_full = memory->is_full || memory->out->length + size > QUERY_ANSWER_MAX;
    if (!memory->is_full)
        bytes_append(memory->out, data, size);
    if (!memory->is_full && !memory->out->failed)
        return (ssize_t)size;
    errno = memory->is_full ? EFBIG : ENOMEM;
    return 0;
}

static int write_export(struct serve_trace *st, const struct trace_filter *filter,
                        const struct export_options *how, struct bytes *out, struct error *err)
{
    struct memory memory = {.out = out};
    struct export_counts counts;
    FILE *stream = fopencookie(&memory, "w", (cookie_io_functions_t){.write = append});
    if (!stream)
        return error_no_memory(err, "the export");
    int status = export_trace(st->trace, filter, how, stream, &counts, err);
    bool is_written = fclose(stream) == 0;
    if (memory.is_full)
        return error_set(
            err, QUERY_REFUSED,
            "the export is larger than %zu MiB: choose a smaller window, or write it with opscope export",
            QUERY_ANSWER_MAX >> 20);
    if (status == -EINVAL) { /* nothing is there that the format could hold */
        err->code = QUERY_REFUSED;
        return -QUERY_REFUSED;
    }
    return status ? status : is_written ? 0 : error_no_memory(err, "the export");
}

int query_export(struct serve_trace *st, const struct query *q, struct bytes *out, struct error *err)
{
    struct query_window window;
    struct trace_filter filter = {0};
    unsigned format = EXPORT_PERFETTO, flame_by = EXPORT_FLAME_WALL;
    int status = query_window(q, st, &window, err);
    if (!status)
        status = query_choice(q, "format", export_format_words, &format, err);
    if (!status)
        status = query_choice(q, "flame_by", export_flame_words, &flame_by, err);
    if (!status)
        status = query_filter(st, &window, &filter, err);
    if (!status) {
        const struct export_options how = {.format = (enum export_format)format,
                                           .flame_by = (enum export_flame_by)flame_by,
                                           .title = st->name};
        status = write_export(st, &filter, &how, out, err);
    }
    trace_filter_free(&filter);
    return status;
}
