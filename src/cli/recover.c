/* SPDX-License-Identifier: Apache-2.0 */
/* opscope recover: finishes the trace of a run that was killed; lists and removes sessions left behind. */
#include <stdio.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/session_table.h"
#include "collect/recover.h"
#include "present/format.h"
#include "present/document.h"
#include "present/loss_text.h"
#include "session/folder.h"

struct recover_options {
    bool is_list;
    bool is_clean;
    bool keep_session;
    struct output_options out;
};

static const struct command_option options_table[] = {
    {.name = "list",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct recover_options, is_list),
     .help =
         "List the sessions of this user, with what they recorded and whether their collector still runs."},
    {.name = "clean",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct recover_options, is_clean),
     .help = "Remove all sessions whose collector is gone, and what they hold."},
    {.name = "keep-session",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct recover_options, keep_session),
     .help = "Leave the session folder in place after its trace is finished."},
    {.name = NULL},
};
static const struct option_table recover_table = {"Options", options_table};

static void list_session(void *context, const char *path)
{
    struct table *table = context;
    struct session_folder folder;
    bool is_alive = false;
    int status = session_folder_open(&folder, path, &is_alive, NULL);
    session_table_add(table, path,
                      status     ? "unreadable"
                      : is_alive ? "running"
                                 : "left behind",
                      status ? NULL : &folder);
    if (!status)
        session_folder_close(&folder);
}

static int list(const struct command *command, const struct output_options *options)
{
    struct output output;
    struct error err = {0};
    struct report report;
    struct table table;
    if (output_open(&output, options, &err) != 0)
        return command_fail(command, &err);
    session_table_init(&table);
    session_folder_each(list_session, &table);
    report_begin(&report, &output, "sessions");
    report_table(&report, "rows", &table);
    if (!table.row_count)
        report_note(&report, TABLE_NORMAL, "no sessions");
    table_free(&table);
    return report_close(&report, 0, NULL, &err) ? command_fail(command, &err) : EXIT_OK;
}

struct cleaning {
    unsigned removed, failed;
};

static void clean_session(void *context, const char *path)
{
    struct cleaning *cleaning = context;
    struct session_folder folder;
    struct error err = {0};
    bool is_alive = false;
    if (session_folder_open(&folder, path, &is_alive, &err) == 0)
        session_folder_close(&folder);
    if (is_alive)
        return;
    if (session_folder_remove(path, &err) == 0) {
        cleaning->removed++;
        printf("removed %s\n", path);
    } else {
        cleaning->failed++;
        command_say("opscope recover: %s", err.message);
    }
}

static int clean(void)
{
    struct cleaning cleaning = {0};
    session_folder_each(clean_session, &cleaning);
    if (!cleaning.removed && !cleaning.failed)
        printf("nothing to remove\n");
    return cleaning.failed ? EXIT_NEGATIVE : EXIT_OK;
}

static int recover(const struct command *command, const char *session, const struct recover_options *o)
{
    struct recover_result result;
    struct number_text zones;
    struct loss_text lost;
    char more[sizeof lost.text + 60] = "";
    struct error err = {0};
    if (recover_session(session, o->out.output, o->keep_session, "opscope " OPSCOPE_VERSION, &result, &err) !=
        0)
        return command_fail(command, &err);
    if (result.stats.lost_zones || result.stats.lost_records)
        snprintf(more, sizeof more, "; %s lost with the dead collector's memory",
                 loss_sum_text(&lost, &(struct loss_sum){.zones = result.stats.lost_zones,
                                                         .records = result.stats.lost_records}));
    printf("wrote %s: %s%s%s\n", result.output, format_things(&zones, result.stats.zones, "zone"),
           result.had_trace ? ", the earlier ones included" : "", more);
    return EXIT_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct recover_options o = {0};
    struct command_line line;
    int status = command_parse(command, argc, argv, &o, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (o.is_list)
        return list(command, &o.out);
    if (o.is_clean)
        return clean();
    if (line.count != 1)
        return command_usage_error(command, "no session given: opscope recover --list shows them");
    return recover(command, line.values[0], &o);
}

static const char *const usage[] = {"[options] SESSION", "--list [--json|--csv]", "--clean", NULL};
static const struct command_argument arguments[] = {
    {.name = "SESSION",
     .kind = ARGUMENT_FOLDER,
     .is_optional = true,
     .help = "The session folder, as --list and the next run name it."},
    {.name = NULL},
};
static const struct command_example examples[] = {
    {"opscope recover --list", "what earlier runs left behind"},
    {"opscope recover /dev/shm/opscope-1000-Ab3xYz", "finishes that run's trace"},
    {NULL, NULL},
};
static const char *const see_also[] = {"run", "info", NULL};

const struct command command_recover = {
    .name = "recover",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Finish the trace of a run that was killed",
    .usage = usage,
    .description =
        "When opscope run itself is killed, what it had written is in FILE.partial, and what the programs "
        "recorded since is still in the session's memory. recover joins the two into a finished trace. What "
        "the dead collector held in its own memory, two seconds at most, is counted as lost.",
    .options = {{&recover_table, 0}, {&output_option_table, OPTION_FIELD(struct recover_options, out)}},
    .arguments = arguments,
    .examples = examples,
    .see_also = see_also,
    .run = run,
};
