/* SPDX-License-Identifier: Apache-2.0 */
#include "present/loss_text.h"

#include <stdio.h>

#include "present/format.h"

const char *loss_sum_text(struct loss_text *out, const struct loss_sum *sum)
{
    struct number_text zones, records;
    format_things(&zones, sum->zones, "zone");
    format_things(&records, sum->records, sum->zones ? "other record" : "record");
    if (sum->zones && sum->records)
        snprintf(out->text, sizeof out->text, "%s and %s", zones.text, records.text);
    else if (sum->zones || sum->records)
        snprintf(out->text, sizeof out->text, "%s", sum->zones ? zones.text : records.text);
    else
        snprintf(out->text, sizeof out->text, "an unknown number of records");
    return out->text;
}

const char *loss_advice(uint32_t reason)
{
    static const char *const advice[TRACE_LOSS_REASONS] = {
        [TRACE_LOSS_BUFFER_FULL] = "a larger --buffer-size, or --on-full=wait, avoids it",
        [TRACE_LOSS_NO_MEMORY] = "the file system of the session folder, or the cgroup, is full: make room "
                                 "there, or choose another folder with OPSCOPE_DIR",
        [TRACE_LOSS_NESTED] = "a signal handler recorded at a moment when nothing can be kept: rare, and "
                              "without remedy",
        [TRACE_LOSS_COLLECTOR] = "opscope itself was killed, with this in its memory",
        [TRACE_LOSS_DISK_FULL] = "make room on the disk of the trace, lift the file size limit, or keep only "
                                 "the newest data with --max-size",
        [TRACE_LOSS_DAMAGED] = "something wrote into the session folder, or into the trace, that does not "
                               "belong there",
        [TRACE_LOSS_TOO_DEEP] = "no more than 65,535 levels of zones are kept: an endless recursion?",
        [TRACE_LOSS_LATE_ENDS] = "a larger --buffer-size would have kept their ends exact",
        [TRACE_LOSS_DROPPED_OLD] = "a larger --max-size keeps more",
        [TRACE_LOSS_UNMATCHED] = "the program ends zones that it did not begin",
        [TRACE_LOSS_CLOCK] = "the machine was suspended, or its clock was changed",
        [TRACE_LOSS_PROCESSES] =
            "a program can have 65,536 recorded children at the same time without an exec in between",
        [TRACE_LOSS_NO_END] =
            "kernels and copies that were launched, of which no end was known when their process "
            "was killed",
        [TRACE_LOSS_DEVICE] =
            "the device or its runtime had no room for them, could not say when they ran, or has more than 65,536 "
            "queues: read the device's buffer more often; for GPUs, make room in the folder of the session "
            "(opscope doctor names it)",
        [TRACE_LOSS_PAUSED] =
            "nothing was to be recorded then: opscope run --paused, --capture, opscope pause",
        [TRACE_LOSS_UNRECORDED] = "opscope doctor says what keeps programs from being recorded",
    };
    return reason < TRACE_LOSS_REASONS && advice[reason] ? advice[reason] : "a newer opscope wrote this";
}
