/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/told.h"

#include "cli/command/command.h"
#include "present/format.h"

void run_told_begin(struct run_told *told, const char *folder)
{
    *told = (struct run_told){.told = ops_told_new(folder)};
    if (told->told)
        ops_told_listener(told->told, &told->listener);
}

void run_told_add(void *context, struct trace_writer *writer)
{
    struct run_told *told = context;
    if (told->told)
        ops_told_write(told->told, writer, &told->counts, &told->err);
}

void run_told_show(const struct run_told *told, const char *who, const char *trace_path, bool is_quiet)
{
    struct number_text ops, runs, faults;
    if (told->err.code)
        command_say("%s: the ops of the program are not in the trace: %s", who, told->err.message);
    if (told->err.code || !told->counts.ops)
        return;
    if (!is_quiet && told->counts.runs)
        command_say("%s: %s, %s from %s", who, format_things(&ops, told->counts.ops, "op"),
                    format_things(&runs, told->counts.runs, "device run"), ops_told_folder(told->told));
    else if (!is_quiet)
        command_say("%s: %s; no file of a device was written in %s", who,
                    format_things(&ops, told->counts.ops, "op"), ops_told_folder(told->told));
    if (told->counts.faults)
        command_say("%s: %s could not be read or joined; see opscope info %s", who,
                    format_things(&faults, told->counts.faults, "thing"), trace_path);
}

void run_told_end(struct run_told *told)
{
    ops_told_free(told->told);
    told->told = NULL;
}
