/* SPDX-License-Identifier: Apache-2.0 */
/* opscope doctor: what works here, what does not, and why. */
#include <stdarg.h>
#include <stdlib.h>

#include "cli/command/command.h"
#include "doctor/doctor.h"
#include "present/document.h"

struct doctor_options {
    struct output_options output;
};

enum { COLUMN_CHECK, COLUMN_STATUS, COLUMN_FOUND, COLUMN_ADVICE, COLUMNS };

static const struct table_column columns[COLUMNS] = {
    [COLUMN_CHECK] = {.key = "check", .title = "check"},
    [COLUMN_STATUS] = {.key = "status", .title = ""},
    [COLUMN_FOUND] = {.key = "found", .title = "found"},
    [COLUMN_ADVICE] = {.key = "advice", .title = "advice", .shown = TABLE_DATA_ONLY},
};

void doctor_add(struct doctor *doctor, const char *check, enum doctor_status status, const char *advice,
                const char *format, ...)
{
    static const char *const words[] = {"ok", "-", "warn", "FAIL"};
    static const enum table_style styles[] = {TABLE_GOOD, TABLE_DIM, TABLE_WARN, TABLE_BAD};
    char *found = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&found, format, args) < 0)
        found = NULL;
    va_end(args);
    table_add_row(&doctor->table);
    table_set_text(&doctor->table, COLUMN_CHECK, check);
    table_set_text(&doctor->table, COLUMN_STATUS, words[status]);
    table_set_style(&doctor->table, COLUMN_STATUS, styles[status]);
    table_set_text(&doctor->table, COLUMN_FOUND, found);
    table_set_text(&doctor->table, COLUMN_ADVICE, advice);
    doctor->warnings += status == DOCTOR_WARN;
    doctor->failures += status == DOCTOR_FAIL;
    free(found);
}

/* What is wrong is worth a line of its own, below the table where there is room for it. */
static void add_advice(struct report *report, const struct doctor *doctor)
{
    for (size_t r = 0; r < doctor->table.row_count; r++) {
        const struct table_cell *check = table_cell(&doctor->table, r, COLUMN_CHECK);
        const struct table_cell *status = table_cell(&doctor->table, r, COLUMN_STATUS);
        const struct table_cell *advice = table_cell(&doctor->table, r, COLUMN_ADVICE);
        if (advice->kind != TABLE_CELL_TEXT || (status->style != TABLE_WARN && status->style != TABLE_BAD))
            continue;
        report_note(report, (enum table_style)status->style, "%.*s: %.*s", (int)check->text_length,
                    table_cell_text(&doctor->table, check), (int)advice->text_length,
                    table_cell_text(&doctor->table, advice));
    }
}

static int run(const struct command *command, int argc, char **argv)
{
    struct doctor_options options = {0};
    struct command_line line;
    struct doctor doctor = {0};
    struct output output;
    struct report report;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (output_open(&output, &options.output, &err) != 0)
        return command_fail(command, &err);
    table_init(&doctor.table, "doctor", columns, COLUMNS);
    doctor_check_build(&doctor);
    doctor_check_sessions(&doctor);
    doctor_check_kernel(&doctor);
    doctor_check_clock(&doctor);
    doctor_check_memory(&doctor);
    doctor_check_devices(&doctor);
    doctor_check_torch(&doctor);

    output.width = 0; /* paths and sentences are better broken by the terminal than cut */
    report_begin(&report, &output, "doctor");
    report_bool(&report, "is_usable", NULL, doctor.failures == 0);
    report_number(&report, "warnings", NULL, TABLE_INTEGER, doctor.warnings);
    report_number(&report, "failures", NULL, TABLE_INTEGER, doctor.failures);
    report_table(&report, "rows", &doctor.table);
    if (output.format == OUTPUT_TERMINAL) {
        if (doctor.warnings + doctor.failures)
            report_heading(&report, "What to do");
        add_advice(&report, &doctor);
        report_heading(&report, "%s", doctor.failures ? "opscope cannot work here" : "opscope works here");
    }
    table_free(&doctor.table);
    if (report_close(&report, 0, NULL, &err) != 0)
        return command_fail(command, &err);
    return doctor.failures ? EXIT_NEGATIVE : EXIT_OK;
}

static const struct command_exit exits[] = {
    {EXIT_OK, "opscope works here, perhaps with warnings"},
    {EXIT_NEGATIVE, "something essential is missing"},
    {EXIT_USAGE, "bad usage"},
    {0, NULL},
};

static const struct command_example examples[] = {
    {"opscope doctor", "What works here."},
    {"opscope doctor --json", "The same for a script, or for a bug report."},
    {0},
};

const struct command command_doctor = {
    .name = "doctor",
    .group = COMMAND_GROUP_HELP,
    .summary = "Check what works on this machine, and say why not",
    .usage = (const char *const[]){"[options]", NULL},
    .description =
        "Looks at what recording needs: where a session's shared memory can be and how much room there is, what the "
        "kernel offers for it, which clock will be used, limits of this user and of its memory cgroup, the recorder "
        "library, what this build has and lacks, which devices can be recorded (--devices of opscope run), and what "
        "there is for the ops of PyTorch. "
        "Names the sessions that were left behind. Changes nothing.",
    .options = {{&output_option_table, OPTION_FIELD(struct doctor_options, output)}},
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"run", "recover", "info", NULL},
    .run = run,
};
