/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the record model's enums. */
#include <string.h>

#include "trace/model.h"

#include "base/count_of.h"

static const char *pick(const char *const *words, size_t count, uint32_t index)
{
    return index < count && words[index] ? words[index] : "unknown";
}

const char *trace_track_kind_text(uint32_t kind)
{
    static const char *const words[] = {
        [TRACE_TRACK_THREAD] = "thread", [TRACE_TRACK_TASK] = "task",   [TRACE_TRACK_DEVICE] = "device",
        [TRACE_TRACK_QUEUE] = "queue",   [TRACE_TRACK_CORE] = "core",   [TRACE_TRACK_PROCESSOR] = "processor",
        [TRACE_TRACK_DMA] = "DMA",       [TRACE_TRACK_OTHER] = "other", [TRACE_TRACK_SPAN] = "span"};
    return pick(words, COUNT_OF(words), kind);
}

const char *trace_point_kind_text(uint32_t kind)
{
    static const char *const words[] = {[TRACE_POINT_SIGNPOST] = "signpost",
                                        [TRACE_POINT_MESSAGE] = "message",
                                        [TRACE_POINT_FRAME] = "frame"};
    return pick(words, COUNT_OF(words), kind);
}

const char *trace_loss_reason_text(uint32_t reason)
{
    static const char *const words[TRACE_LOSS_REASONS] = {
        [TRACE_LOSS_BUFFER_FULL] = "buffer full",
        [TRACE_LOSS_NO_MEMORY] = "no memory for the session",
        [TRACE_LOSS_NESTED] = "signal handler during a chunk switch",
        [TRACE_LOSS_COLLECTOR] = "collector died",
        [TRACE_LOSS_DISK_FULL] = "disk full",
        [TRACE_LOSS_DAMAGED] = "damaged data",
        [TRACE_LOSS_TOO_DEEP] = "nested too deep",
        [TRACE_LOSS_LATE_ENDS] = "closed late",
        [TRACE_LOSS_DROPPED_OLD] = "older than the size limit holds",
        [TRACE_LOSS_UNMATCHED] = "end without a begin",
        [TRACE_LOSS_CLOCK] = "clock jumped",
        [TRACE_LOSS_PROCESSES] = "process table full",
        [TRACE_LOSS_UNRECORDED] = "process not recorded",
        [TRACE_LOSS_NO_END] = "no end yet when the process ended",
        [TRACE_LOSS_DEVICE] = "dropped by the device's runtime",
        [TRACE_LOSS_PAUSED] = "paused",
    };
    return pick(words, COUNT_OF(words), reason);
}

bool trace_loss_is_lost(uint32_t reason)
{
    return reason != TRACE_LOSS_LATE_ENDS && reason != TRACE_LOSS_DROPPED_OLD && reason != TRACE_LOSS_PAUSED;
}

const char *trace_op_type_text(uint32_t type)
{
    static const char *const words[] = {[TRACE_OP_DEVICE] = "device",
                                        [TRACE_OP_HOST] = "host",
                                        [TRACE_OP_FALLBACK] = "fallback",
                                        [TRACE_OP_CPU] = "CPU"};
    return pick(words, COUNT_OF(words), type);
}

const char *trace_part_role_text(uint32_t role)
{
    static const char *const words[] = {[TRACE_PART_INPUT] = "input",
                                        [TRACE_PART_OUTPUT] = "output",
                                        [TRACE_PART_ATTRIBUTE] = "attribute",
                                        [TRACE_PART_KERNEL] = "kernel",
                                        [TRACE_PART_LOCATION] = "location"};
    return pick(words, COUNT_OF(words), role);
}

bool trace_file_is_library(const char *file)
{
    if (file[0] == '<')
        return strcmp(file, "<string>") != 0 && strcmp(file, "<stdin>") != 0;
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") || strstr(file, "/lib/python3");
}
