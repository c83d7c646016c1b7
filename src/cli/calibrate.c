/* SPDX-License-Identifier: Apache-2.0 */
/* opscope calibrate: a target's figures from measured runs. */
#include <errno.h>
#include <string.h>

#include "analyze/machine_write.h"
#include "base/text_list.h"
#include "cli/command/command.h"
#include "load/calibrate.h"
#include "load/estimate.h"
#include "present/document.h"

struct calibrate_options {
    struct output_options output; /* of the table */
    const char *target, *file;
    struct text_list target_options, dims, phases;
};

enum { COLUMN_CLASS, COLUMN_SITES, COLUMN_BEFORE, COLUMN_BEFORE_90, COLUMN_AFTER, COLUMN_AFTER_90, COLUMNS };

static const struct table_column columns[COLUMNS] = {
    [COLUMN_CLASS] = {.key = "class", .title = "class"},
    [COLUMN_SITES] = {.key = "sites", .title = "sites", .type = TABLE_INTEGER},
    [COLUMN_BEFORE] = {.key = "before_median", .title = "before: median", .type = TABLE_REAL, .decimals = 2},
    [COLUMN_BEFORE_90] = {.key = "before_p90", .title = "p90", .type = TABLE_REAL, .decimals = 2},
    [COLUMN_AFTER] = {.key = "after_median", .title = "after: median", .type = TABLE_REAL, .decimals = 2},
    [COLUMN_AFTER_90] = {.key = "after_p90", .title = "p90", .type = TABLE_REAL, .decimals = 2},
};

static void add_row(struct table *table, const struct calibration *c, unsigned class)
{
    if (!c->before[class].sites)
        return;
    table_add_row(table);
    table_set_text(table, COLUMN_CLASS, calibration_class_text(class));
    table_set_unsigned(table, COLUMN_SITES, c->before[class].sites);
    table_set_real(table, COLUMN_BEFORE, c->before[class].median);
    table_set_real(table, COLUMN_BEFORE_90, c->before[class].p90);
    table_set_real(table, COLUMN_AFTER, c->after[class].median);
    table_set_real(table, COLUMN_AFTER_90, c->after[class].p90);
}

enum { FIT_CLASS, FIT_NUMBERS, FIT_SITES, FIT_FACTOR, FIT_WHY, FIT_COLUMNS };

static const struct table_column fit_columns[FIT_COLUMNS] = {
    [FIT_CLASS] = {.key = "class", .title = "class"},
    [FIT_NUMBERS] = {.key = "numbers", .title = "numbers"},
    [FIT_SITES] = {.key = "sites", .title = "sites", .type = TABLE_INTEGER},
    [FIT_FACTOR] = {.key = "factor", .title = "fitted: time x", .type = TABLE_REAL, .decimals = 2},
    [FIT_WHY] = {.key = "not_fitted", .title = "not fitted", .shrink = 20},
};

/* Which figures were set, and which not, and why. */
static void show_fits(struct report *report, const struct calibration *c)
{
    struct table table;
    table_init(&table, "fits", fit_columns, FIT_COLUMNS);
    for (size_t i = 0; i < c->fit_count; i++) {
        const struct calibration_fit *fit = &c->fits[i];
        table_add_row(&table);
        table_set_text(&table, FIT_CLASS, calibration_class_text(fit->class));
        table_set_text(&table, FIT_NUMBERS,
                       fit->class == CALIBRATE_FLOOR ? "all" : model_format_text(fit->format));
        table_set_unsigned(&table, FIT_SITES, fit->sites);
        if (fit->factor != 1)
            table_set_real(&table, FIT_FACTOR, fit->factor);
        else if (fit->sites < CALIBRATION_SITES)
            table_set_format(&table, FIT_WHY, "%u sites are needed", CALIBRATION_SITES);
        else
            table_set_text(&table, FIT_WHY, "measured as estimated");
    }
    report_table(report, "fits", &table);
    table_free(&table);
}

static int show(const struct calibrate_options *options, const struct calibration *c,
                const struct calibration_sites *sites, const char *target, struct error *err)
{
    struct output output;
    struct report report;
    struct table table;
    int status = output_open(&output, &options->output, err);
    if (status)
        return status;
    report_begin(&report, &output, "calibration");
    report_text(&report, "target", "target", target);
    report_number(&report, "models", "models", TABLE_INTEGER, c->models);
    report_number(&report, "figures", "fitted", TABLE_INTEGER, c->fitted);
    table_init(&table, "errors", columns, COLUMNS);
    for (unsigned class = 0; class <= CALIBRATE_CLASSES; class ++)
        add_row(&table, c, class);
    report_table(&report, "rows", &table);
    table_free(&table);
    report_heading(&report, "What was fitted");
    show_fits(&report, c);
    report_note(&report, TABLE_NORMAL, "%s",
                "Factors between estimate and measurement, whichever is larger over the other; 1 is exact.");
    report_note(&report, TABLE_NORMAL, "%s",
                c->is_left_out ? "After: each model by factors from the others."
                               : "After: of the sites that were fitted to, since there is one model only.");
    if (sites->unmeasured)
        report_note(&report, TABLE_NORMAL,
                    sites->unmeasured == 1 ? "%zu dispatch or op has no cost or was not measured."
                                           : "%zu dispatches or ops have no cost or were not measured.",
                    sites->unmeasured);
    if (sites->unmatched)
        report_note(&report, TABLE_WARN,
                    "%zu of the models have nothing in common with their run; the first is %s.",
                    sites->unmatched, sites->first_unmatched);
    return report_close(&report, 0, stderr, err);
}

/* "mine" of "folder/mine.json". */
static void name_of(const char *path, char *name, size_t size)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    if (length > 5 && strcmp(base + length - 5, ".json") == 0)
        length -= 5;
    snprintf(name, size, "%.*s", (int)length, base);
}

static int write_target(const char *path, const struct machine *machine, const struct estimate_target *target,
                        size_t sites, struct error *err)
{
    struct output output;
    char name[32], source[80];
    name_of(path, name, sizeof name);
    snprintf(source, sizeof source, "calibrated with %zu measured dispatches", sites);
    int status = output_open(&output, &(struct output_options){.output = path}, err);
    if (status)
        return status;
    status = machine_write(output.stream, machine, name, target, source);
    if (status) {
        output_abandon(&output);
        return error_set_errno(err, -status, "cannot write %s", path);
    }
    return output_finish(&output, err);
}

static int find_target(const struct calibrate_options *options, struct machine_set *machines,
                       const struct machine **machine, struct estimate_target *target, struct error *err)
{
    int status = load_target(machines, options->target, machine, err);
    if (status)
        return status;
    *target = (*machine)->estimate;
    for (size_t i = 0; i < options->target_options.count && status == 0; i++)
        status = estimate_target_option(target, options->target_options.items[i], err);
    return status;
}

/* Sites for any figure at all, whether or not it had to be changed. */
static bool has_enough(const struct calibration *calibration)
{
    bool is_any = calibration->fitted > 0;
    for (size_t i = 0; i < calibration->fit_count; i++)
        is_any |= calibration->fits[i].sites >= CALIBRATION_SITES;
    return is_any;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct calibrate_options options = {.target = "cpu"};
    struct command_line line;
    struct machine_set machines = {0};
    const struct machine *machine = NULL;
    struct estimate_target target;
    struct mlir_dims dims = {0};
    struct calibration_sites sites = {0};
    struct calibration calibration;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (line.count % 2)
        return command_usage_error(command, "'%s' has no measured run after it", line.values[line.count - 1]);
    if (options.phases.count && options.phases.count != (size_t)line.count / 2)
        return command_usage_error(command,
                                   "--phase is given %zu times for %d models: once for each, in their order",
                                   options.phases.count, line.count / 2);
    status = find_target(&options, &machines, &machine, &target, &err);
    for (size_t i = 0; i < options.dims.count && status == 0; i++)
        status = mlir_dims_option(&dims, options.dims.items[i], &err);
    for (int i = 0; i < line.count && status == 0; i += 2)
        status =
            calibration_load(&sites, line.values[i], line.values[i + 1],
                             options.phases.count ? options.phases.items[i / 2] : NULL, &target, &dims, &err);
    if (status == 0)
        status = calibrate(&calibration, &target, sites.sites, sites.count, &err);
    if (status == 0)
        status = show(&options, &calibration, &sites, machine->name, &err);
    bool is_nothing = status == 0 && !has_enough(&calibration);
    if (is_nothing)
        command_say(
            "opscope calibrate: nothing was fitted: of no class of op and kind of number there are %u "
            "sites%s%s; give more models",
            CALIBRATION_SITES, options.file ? "; not written: " : "", options.file ? options.file : "");
    if (status == 0 && options.file && !is_nothing)
        status = write_target(options.file, machine, &target, sites.count, &err);
    calibration_sites_free(&sites);
    machine_set_free(&machines);
    return status ? command_fail(command, &err) : is_nothing && options.file ? EXIT_NEGATIVE : EXIT_OK;
}

static const struct command_option calibrate_option_list[] = {
    {.name = "target",
     .type = OPTION_TEXT,
     .argument = "NAME|FILE",
     .offset = OPTION_FIELD(struct calibrate_options, target),
     .is_file = true,
     .help =
         "The machine whose figures are fitted: a name (opscope machine list) or a file; cpu without it."},
    OPTION_TARGET_OPTION(OPTION_FIELD(struct calibrate_options, target_options)),
    {.name = "phase",
     .type = OPTION_LIST,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct calibrate_options, phases),
     .help =
         "The flow or stream phase of what ran, where MODEL is a source and the run a device profile of IREE: it says "
         "which ops a dispatch is made of. Once for each model, in their order."},
    OPTION_DIM(OPTION_FIELD(struct calibrate_options, dims)),
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct calibrate_options, file),
     .is_file = true,
     .is_output = true,
     .help = "The machine file to write, for --target of opscope estimate."},
    {0},
};

static const struct option_table calibrate_table = {"Options", calibrate_option_list};

static const struct command_argument arguments[] = {
    {.name = "MODEL",
     .kind = ARGUMENT_FILE,
     .help =
         "What is estimated: the flow or stream phase of IREE, as --dump-compilation-phases-to writes it, or a model's "
         "source, whose ops are found by their places."},
    {.name = "PROFILE",
     .kind = ARGUMENT_FILE,
     .is_repeated = true,
     .help =
         "The measured runs of that model: a device profile of IREE, a trace with device runs, an annotated profile "
         "of Torq's runtime, or one whose rows have locations. Further pairs follow."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope calibrate mlp.6.flow.mlir mlp.jsonl cnn.6.flow.mlir cnn.jsonl --target-option engines=1 -o mine.json",
     "Fit the CPU target to two models that ran on one core."},
    {"opscope estimate block.6.flow.mlir --target mine.json", "Estimate a third with it."},
    {"opscope calibrate model.mlir annotated.csv --target sl2610 -o chip.json",
     "Fit another target to a run that opscope annotate wrote."},
    {0},
};

const struct command command_calibrate = {
    .name = "calibrate",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Fit a target of estimates to measured runs",
    .usage = (const char *const[]){"[options] MODEL PROFILE [MODEL PROFILE...]", NULL},
    .description =
        "Estimates each model on the target, joins its dispatches with the measured ones, and fits a factor per class "
        "of op and format of number (integers up to 8 bits, wider ones, 16-bit floats, bfloat16, wider floats): the "
        "median of measured / estimated time, where there are three or more, drawn towards 1 where few of them "
        "disagree. The error "
        "is reported before and after as the median and the 90th percentile of the factor that the estimate is off by; "
        "after means on models that the factors were not fitted to.\n\n"
        "What was fitted is listed, and what was not, and why; where nothing could be, no file is written, and the "
        "exit status is 1. The shortest run of each site counts, so that a busy machine does no harm. A calibration "
        "holds for one machine, one compiler and its options.",
    .options = {{&calibrate_table, 0},
                {&format_option_table, OPTION_FIELD(struct calibrate_options, output)}},
    .arguments = arguments,
    .examples = examples,
    .see_also = (const char *const[]){"estimate", "machine", "import", NULL},
    .run = run,
};
