/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/reported.h"

#include "cli/command/command.h"
#include "present/format.h"

void run_reported_begin(struct run_reported *reported, const char *folder)
{
    *reported = (struct run_reported){.reported = ops_reported_new(folder)};
    if (reported->reported)
        ops_reported_listener(reported->reported, &reported->listener);
}

void run_reported_add(void *context, struct trace_writer *writer)
{
    struct run_reported *reported = context;
    if (reported->reported)
        ops_reported_write(reported->reported, writer, &reported->counts, &reported->err);
}

void run_reported_show(const struct run_reported *reported, const char *who, const char *trace_path,
                       bool is_quiet)
{
    struct number_text ops, runs, faults;
    if (reported->err.code)
        command_say("%s: the ops of the program are not in the trace: %s", who, reported->err.message);
    if (reported->err.code || !reported->counts.ops)
        return;
    if (!is_quiet && reported->counts.runs)
        command_say("%s: %s, %s from %s", who, format_things(&ops, reported->counts.ops, "op"),
                    format_things(&runs, reported->counts.runs, "device run"),
                    ops_reported_folder(reported->reported));
    else if (!is_quiet)
        command_say("%s: %s; no file of a device was written in %s", who,
                    format_things(&ops, reported->counts.ops, "op"), ops_reported_folder(reported->reported));
    if (reported->counts.faults)
        command_say("%s: %s could not be read or joined; see opscope info %s", who,
                    format_things(&faults, reported->counts.faults, "thing"), trace_path);
}

void run_reported_end(struct run_reported *reported)
{
    ops_reported_free(reported->reported);
    reported->reported = NULL;
}
