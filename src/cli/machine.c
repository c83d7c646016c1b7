/* SPDX-License-Identifier: Apache-2.0 */
/* opscope machine: the machines that reports measure against. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/machine_measure.h"
#include "analyze/machine_files.h"
#include "present/document.h"

struct machine_options {
    struct output_options output;
    struct machine_measure_options measure;
};

enum {
    LIST_NAME,
    LIST_TITLE,
    LIST_CORES,
    LIST_DRAM,
    LIST_HIFI2,
    LIST_LINK,
    LIST_ALIASES,
    LIST_FROM,
    LIST_COLUMNS
};

static const struct table_column list_columns[LIST_COLUMNS] = {
    [LIST_NAME] = {.key = "name", .title = "name"},
    [LIST_TITLE] = {.key = "title", .title = "what", .shrink = 20, .drop = 2},
    [LIST_CORES] = {.key = "worker_cores", .title = "cores", .type = TABLE_REAL},
    [LIST_DRAM] = {.key = "dram_gb_s", .title = "DRAM GB/s", .type = TABLE_REAL},
    [LIST_HIFI2] = {.key = "tflops_hifi2", .title = "TFLOP/s HiFi2", .type = TABLE_REAL, .decimals = 1},
    [LIST_LINK] = {.key = "link_gb_s", .title = "link GB/s", .type = TABLE_REAL},
    [LIST_ALIASES] = {.key = "aliases", .title = "also", .shrink = 12, .drop = 1},
    [LIST_FROM] = {.key = "file", .title = "file", .shrink = 12, .drop = 3},
};

enum { SHOW_KEY, SHOW_VALUE, SHOW_UNIT, SHOW_SOURCE, SHOW_COLUMNS };

static const struct table_column show_columns[SHOW_COLUMNS] = {
    [SHOW_KEY] = {.key = "figure", .title = "figure"},
    [SHOW_VALUE] = {.key = "value", .title = "value", .type = TABLE_REAL, .decimals = 4},
    [SHOW_UNIT] = {.key = "unit", .title = "unit"},
    [SHOW_SOURCE] = {.key = "source", .title = "source", .shrink = 30},
};

static void join_aliases(const struct machine *machine, struct bytes *out)
{
    bytes_clear(out);
    for (size_t i = 0; i < machine->alias_count; i++)
        bytes_append_format(out, "%s%s", i ? ", " : "", machine->aliases[i]);
}

static void show_list(struct report *report, const struct machine_set *set)
{
    struct table table;
    struct bytes aliases = {0};
    table_init(&table, "machines", list_columns, LIST_COLUMNS);
    for (size_t i = 0; i < set->count; i++) {
        const struct machine *machine = &set->machines[i];
        join_aliases(machine, &aliases);
        table_add_row(&table);
        table_set_text(&table, LIST_NAME, machine->name);
        table_set_text(&table, LIST_TITLE, machine->title);
        table_set_real(&table, LIST_CORES, machine->worker_cores);
        table_set_real(&table, LIST_DRAM, machine->dram_gb_s);
        table_set_real(&table, LIST_HIFI2, machine->tflops_per_core[MACHINE_HIFI2] * machine->worker_cores);
        table_set_real(&table, LIST_LINK, machine->link_gb_s);
        table_set_text(&table, LIST_ALIASES, bytes_text(&aliases));
        table_set_text(&table, LIST_FROM, machine->path);
    }
    report_table(report, "rows", &table);
    bytes_free(&aliases);
    table_free(&table);
}

static void show_figures(struct report *report, const struct machine *machine, bool is_estimate)
{
    struct table table;
    table_init(&table, "figures", show_columns, SHOW_COLUMNS);
    for (size_t i = 0; i < machine->figure_count; i++) {
        const struct machine_figure *figure = &machine->figures[i];
        if (figure->is_estimate != is_estimate)
            continue;
        table_add_row(&table);
        table_set_text(&table, SHOW_KEY, figure->key);
        table_set_real(&table, SHOW_VALUE, figure->value);
        table_set_text(&table, SHOW_UNIT, figure->unit);
        table_set_text(&table, SHOW_SOURCE, figure->source);
    }
    report_table(report, is_estimate ? "estimate" : "rows", &table);
    table_free(&table);
}

static void show_one(struct report *report, const struct machine *machine)
{
    struct bytes aliases = {0};
    join_aliases(machine, &aliases);
    report_text(report, "name", "machine", machine->name);
    report_text(report, "title", "what", machine->title);
    report_text(report, "aliases", "also", bytes_text(&aliases));
    report_text(report, "file", "file", machine->path);
    show_figures(report, machine, false);
    if (machine->estimate.kind != ESTIMATE_NO_TARGET) {
        report_heading(report, "Target of estimates (%s)", estimate_kind_text(machine->estimate.kind));
        show_figures(report, machine, true);
    }
    bytes_free(&aliases);
}

static int show(const struct command *command, const struct machine_options *options,
                const struct machine_set *set, const struct machine *machine)
{
    struct output output;
    struct report report;
    struct error err = {0};
    if (output_open(&output, &options->output, &err) != 0)
        return command_fail(command, &err);
    report_begin(&report, &output, "machines");
    if (machine)
        show_one(&report, machine);
    else
        show_list(&report, set);
    return report_close(&report, 0, NULL, &err) ? command_fail(command, &err) : EXIT_OK;
}

static int measure(const struct command *command, const struct machine_options *options, const char *kind)
{
    struct machine *machine = calloc(1, sizeof *machine);
    struct error err = {0};
    char notes[256] = "";
    const struct machine_measure_options *o = &options->measure;
    if (!machine) {
        error_no_memory(&err, "the machine");
        return command_fail(command, &err);
    }
    int status = machine_measure(machine, kind, o, notes, sizeof notes, &err);
    if (status == 0)
        status = show(command, options, NULL, machine);
    else
        status = command_fail(command, &err);
    if (*notes)
        command_say("opscope machine: %s", notes);
    if (status == EXIT_OK && o->save && machine_measure_save(machine, o->save, &err) != 0)
        status = command_fail(command, &err);
    else if (status == EXIT_OK && o->save)
        command_say("opscope machine: wrote %s", o->save);
    free(machine);
    return status;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct machine_options options = {0};
    struct command_line line;
    struct machine_set set = {0};
    const struct machine *machine = NULL;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    bool is_list = strcmp(line.values[0], "list") == 0, is_show = strcmp(line.values[0], "show") == 0;
    if (strcmp(line.values[0], "measure") == 0) {
        const char *kind = line.count == 2 ? line.values[1] : "cpu";
        if (strcmp(kind, "cpu") != 0 && strcmp(kind, "cuda") != 0)
            return command_usage_error(command, "'%s': cpu or cuda", kind);
        return measure(command, &options, kind);
    }
    if (!is_list && !is_show)
        return command_usage_error(command, "'%s': list, show or measure", line.values[0]);
    if (options.measure.save)
        return command_usage_error(command, "--save belongs to measure");
    if (is_show != (line.count == 2))
        return command_usage_error(command,
                                   is_show ? "show needs the name of a machine" : "list takes no name");
    if (machine_files_read(&set, is_show ? line.values[1] : NULL, &err) != 0) {
        machine_set_free(&set);
        return command_fail(command, &err);
    }
    struct bytes left_out = {0};
    machine_files_append_left_out(&set, &left_out);
    if (left_out.length)
        command_say("opscope machine: warning: %s", bytes_text(&left_out));
    bytes_free(&left_out);
    if (is_show) {
        const char *name = line.values[1];
        machine =
            machine_file_is_path(name) ? &set.machines[set.newest] : machine_find(&set, name, strlen(name));
        if (!machine) {
            machine_set_free(&set);
            error_set(&err, 2, "there is no machine '%s' (opscope machine list)", name);
            return command_fail(command, &err);
        }
    }
    status = show(command, &options, &set, machine);
    machine_set_free(&set);
    return status;
}

static const char *const verbs[] = {"list", "show", "measure", NULL};

static const struct command_argument arguments[] = {
    {.name = "list|show|measure",
     .kind = ARGUMENT_CHOICE,
     .choices = verbs,
     .help = "All machines, one with its sources, or this one, measured now."},
    {.name = "NAME",
     .kind = ARGUMENT_FILE,
     .is_optional = true,
     .help = "A machine's name, another name of it, or a file; for measure cpu (the default) or cuda."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope machine list", "What reports can be measured against."},
    {"opscope machine show p150", "Every figure of one, with where it comes from."},
    {"opscope machine show ./mine.json", "Check a file of your own."},
    {"opscope machine measure cuda --save h200.json", "What this GPU reaches, as a machine file."},
    {0},
};

const struct command command_machine = {
    .name = "machine",
    .group = COMMAND_GROUP_LOOK,
    .summary = "List machines and their peaks with the source of each figure, or measure them",
    .usage = (const char *const[]){"[options] list", "[options] show NAME|FILE",
                                   "[options] measure [cpu|cuda]", NULL},
    .description =
        "A machine is a JSON file with its peaks and the marks from which a report judges. Files of your own in "
        "~/.config/opscope/machines or in the folder that OPSCOPE_MACHINES names are found, too, and replace one of "
        "the same name; docs/roofline.md describes the format.\n\n"
        "measure makes one of the machine it runs on: of the CPU the bandwidth of copies in memory and in its L2 and "
        "L3 caches, and the rate of multiply-adds of 64, 32, 16 and 8 bits, by all threads and whatever instructions "
        "there are (AVX-512, AMX), as a target of estimates, too; of a CUDA device the bandwidth of copies inside its "
        "memory, size and rate of its L2, and the rates of matrix products of 8, 16 and 32 bits by cuBLAS, where that "
        "is found. Peaks are the best of several rounds. "
        "Nothing else should run on the device.",
    .options = {{&machine_measure_table, OPTION_FIELD(struct machine_options, measure)},
                {&output_option_table, OPTION_FIELD(struct machine_options, output)}},
    .arguments = arguments,
    .examples = examples,
    .see_also = (const char *const[]){"report", NULL},
    .run = run,
};
