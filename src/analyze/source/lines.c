/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/source/lines.h"

#include <string.h>

#include "text/source_file.h"

static int add_parts(struct source_text *out, const struct trace_source_file *file, struct error *err)
{
    for (size_t i = 0; i < file->part_count; i++) {
        const struct trace_source_part *part = &file->parts[i];
        if (!source_text_add(out, part->first_line, part->text, part->length))
            return error_no_memory(err, "source lines");
    }
    out->line_count = file->line_count;
    return 0;
}

/* Is everything that the trace holds of a file in `whole` as well? */
static bool agrees(const struct source_text *whole, const struct source_text *parts)
{
    for (size_t i = 0; i < parts->stretch_count; i++) {
        const struct source_stretch *stretch = &parts->stretches[i];
        for (size_t k = 0; k < stretch->count; k++) {
            size_t number = stretch->first_line + k;
            const char *line = source_text_line(whole, (uint32_t)number);
            if (!line ||
                strcmp(line, (const char *)parts->text.data + parts->line_starts[stretch->at + k]) != 0)
                return false;
        }
    }
    return true;
}

/* The file in the first folder that has one, whole; it has to be the one that was run, as far as that is known. */
static int take_folder(struct source_text *out, const struct text_list *folders, const char *file,
                       struct error *err)
{
    struct bytes data = {0};
    int status = 0;
    bool is_done = false;
    for (size_t i = 0; i < folders->count && !status && !is_done; i++) {
        struct source_text whole;
        if (!source_file_find(folders->items[i], file, &data))
            continue;
        status = source_text_parse(&whole, data.data, data.length, err);
        is_done = !status && (out->state != SOURCE_READ || agrees(&whole, out));
        if (is_done) {
            source_text_free(out);
            *out = whole;
        } else if (!status) {
            source_text_free(&whole);
        }
    }
    bytes_free(&data);
    return status;
}

int source_lines_get(struct source_text *out, struct trace *trace, const struct text_list *folders,
                     const char *file, struct error *err)
{
    const struct trace_source_file *held = trace_find_source(trace, file);
    int status = 0;
    *out = (struct source_text){.state = SOURCE_MISSING};
    if (held && held->state == TRACE_SOURCE_CHANGED)
        out->state = SOURCE_CHANGED;
    if (held && held->part_count) {
        out->state = SOURCE_READ;
        status = add_parts(out, held, err);
    }
    if (!status && folders)
        status = take_folder(out, folders, file, err);
    if (status)
        source_text_free(out);
    return status;
}

const char *source_lines_advice(const struct trace *trace, enum source_state state)
{
    return state == SOURCE_CHANGED               ? "the file was changed while it was recorded"
           : !trace_get_info(trace)->is_complete ? "source lines come into a trace when its recording ends"
                                                 : "recorded without source lines; --source DIR reads "
                                                   "them from a folder";
}
