/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *label_track(const struct trace *trace, uint32_t track, char *buffer, size_t size)
{
    const struct trace_track *t = track == TRACE_NONE ? NULL : trace_get_track(trace, track);
    if (!t)
        return "?";
    if (t->name && *t->name)
        return t->name;
    snprintf(buffer, size, "%s %" PRIu64, trace_track_kind_text(t->kind), t->number);
    return buffer;
}

const char *label_program(const struct trace_process *process, char *buffer, size_t size)
{
    if (!process || !process->command || !*process->command)
        return "?";
    size_t length = strcspn(process->command, " ");
    const char *begin = process->command;
    for (size_t i = 0; i + 1 < length; i++) {
        if (process->command[i] == '/')
            begin = process->command + i + 1;
    }
    length -= (size_t)(begin - process->command);
    snprintf(buffer, size, "%.*s", (int)(length < size ? length : size), begin);
    return buffer;
}

const char *label_location(const struct trace_name *name, char *buffer, size_t size)
{
    if (!name->file || !*name->file)
        return name->function ? name->function : "";
    if (name->line == 0)
        return name->file;
    snprintf(buffer, size, "%s:%" PRIu32, name->file, name->line);
    return buffer;
}
