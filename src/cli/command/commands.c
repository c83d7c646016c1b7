/* SPDX-License-Identifier: Apache-2.0 */
/* The list of sub-commands, in the order of `opscope --help`. A new command is one file and one line here. */
#include <string.h>

#include "base/count_of.h"
#include "cli/command/command.h"

extern const struct command command_run;
extern const struct command command_attach;
extern const struct command command_collect;
extern const struct command command_pause;
extern const struct command command_resume;
extern const struct command command_status;
extern const struct command command_recover;
extern const struct command command_import;
extern const struct command command_export;
extern const struct command command_summary;
extern const struct command command_info;
extern const struct command command_view;
extern const struct command command_mcp;
extern const struct command command_zones;
extern const struct command command_tree;
extern const struct command command_messages;
extern const struct command command_frames;
extern const struct command command_counters;
extern const struct command command_memory;
extern const struct command command_locks;
extern const struct command command_ops;
extern const struct command command_device_stats;
extern const struct command command_report;
extern const struct command command_overhead;
extern const struct command command_overhead_worker;
extern const struct command command_diff;
extern const struct command command_check;
extern const struct command command_estimate;
extern const struct command command_annotate;
extern const struct command command_calibrate;
extern const struct command command_machine;
extern const struct command command_doctor;
extern const struct command command_setup;
extern const struct command command_help;
extern const struct command command_completion;
extern const struct command command_tracy_guard;
extern const struct command command_gpu_sampler;

static const struct command *const all_commands[] = {
    &command_run,
    &command_attach,
    &command_collect,
    &command_pause,
    &command_resume,
    &command_status,
    &command_recover,
    &command_import,
    &command_summary,
    &command_view,
    &command_info,
    &command_zones,
    &command_tree,
    &command_messages,
    &command_frames,
    &command_counters,
    &command_memory,
    &command_locks,
    &command_ops,
    &command_device_stats,
    &command_report,
    &command_diff,
    &command_check,
    &command_overhead,
    &command_estimate,
    &command_annotate,
    &command_calibrate,
    &command_machine,
    &command_export,
    &command_mcp,
    &command_setup,
    &command_doctor,
    &command_help,
    &command_completion,
    &command_overhead_worker,
    &command_tracy_guard,
    &command_gpu_sampler,
};

const struct command *command_at(size_t i)
{
    return i < COUNT_OF(all_commands) ? all_commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        if (strcmp(command->name, name) == 0)
            return command;
    }
    return NULL;
}
