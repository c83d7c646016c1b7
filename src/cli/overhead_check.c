/* SPDX-License-Identifier: Apache-2.0 */
/* The gate, from the reference to the verdicts: loads, measures doubtful ops again, judges, shows and writes. */
#include "cli/overhead_check.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load/overhead.h"
#include "present/output.h"
#include "present/overhead/csv.h"
#include "serve/overhead_page.h"
#include "serve/snapshot.h"

#define DEFAULT_PATIENCE_NS UINT64_C(60000000000)
#define ROUND_REPEATS 10u
#define UPDATE_ROUNDS 4u /* further processes that a reference comes from */

/* --- rounds --- */

struct again {
    struct measure *measure;
    bool is_shown; /* progress on the terminal */
};

static int measure_round(void *context, const char *const *names, size_t count, unsigned process,
                         struct overhead_run *run, struct error *err)
{
    const struct again *again = context;
    /* The first run had process 0. */
    return measure_again(again->measure, names, count, process + 1, ROUND_REPEATS, run, err);
}

static void show_progress(void *context, size_t doubtful, unsigned round)
{
    const struct again *again = context;
    if (again->is_shown)
        fprintf(stderr, "\r\033[Kopscope overhead: measuring %zu doubtful %s again, round %u", doubtful,
                doubtful == 1 ? "op" : "ops", round);
}

/* A reference without groups does not say which group an op is in: such an op is not missing then. */
static bool is_asked_for(void *context, const char *name, const char *group)
{
    const struct again *again = context;
    struct overhead_op op = {.name = (char *)(uintptr_t)name, .group = (char *)(uintptr_t)group};
    return measure_wants(again->measure, &op);
}

static void end_progress(const struct again *again)
{
    if (again->is_shown)
        fprintf(stderr, "\r\033[K");
}

/* --- the reference --- */

static int fold_op(struct overhead_run *run, const struct overhead_op *more)
{
    struct overhead_op *op = overhead_run_find(run, more->name);
    if (!op)
        return 0;
    if (more->state != OVERHEAD_MEASURED && op->state == OVERHEAD_MEASURED) {
        op->state = more->state;
        return overhead_set_text(&op->reason, more->reason) ? 0 : -ENOMEM;
    }
    for (size_t i = 0; i < more->repeat_count && op->state == OVERHEAD_MEASURED; i++) {
        if (!overhead_op_add_repeat(op, more->dispatch_ns[i], more->total_ns[i]))
            return -ENOMEM;
    }
    op->count += more->count;
    overhead_op_summarise(op);
    return 0;
}

/* A reference is used for a long time: it is measured in several processes, at several moments. */
static int deepen(const struct again *again, struct overhead_run *run, struct error *err)
{
    int status = 0;
    for (unsigned process = 0; process < UPDATE_ROUNDS && !status; process++) {
        struct overhead_run more = {0};
        if (again->is_shown)
            fprintf(stderr, "\r\033[Kopscope overhead: measuring once more for the reference, %u of %u",
                    process + 1, UPDATE_ROUNDS);
        status = measure_round((void *)(uintptr_t)again, NULL, 0, process, &more, err);
        for (size_t i = 0; i < more.op_count && !status; i++) {
            if (fold_op(run, &more.ops[i]))
                status = error_no_memory(err, "the reference");
        }
        overhead_run_free(&more);
    }
    return status;
}

static int write_reference(const struct overhead_run *run, const char *path, struct error *err)
{
    struct bytes text = {0};
    bool has_native = false;
    for (size_t i = 0; i < run->op_count; i++)
        has_native |= !isnan(run->ops[i].native_ns);
    overhead_append_csv(
        run, OVERHEAD_CSV_EXTENDED | OVERHEAD_CSV_CALIBRATION | (has_native ? OVERHEAD_CSV_NATIVE : 0),
        &text);
    int status = output_write_text(path, &text, err);
    bytes_free(&text);
    return status;
}

static bool matches_any(const struct text_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++) {
        if (fnmatch(list->items[i], text, 0) == 0)
            return true;
    }
    return list->count == 0;
}

/* A new reference has what was measured now, so it must be all of the old one: else ops would drop out unseen. */
static int check_update(const struct overhead_run *reference, const struct measure_options *measuring,
                        const char *path, struct error *err)
{
    size_t dropped = 0;
    for (size_t i = 0; i < reference->op_count; i++) {
        const struct overhead_op *op = &reference->ops[i];
        dropped += !op->is_calibration &&
                   (!matches_any(&measuring->names, op->name) || !matches_any(&measuring->groups, op->group));
    }
    if (dropped)
        return error_set(err, EINVAL,
                         "%s has %zu op%s not asked for now, which --update would drop: measure all "
                         "ops, or give a file of its own for these",
                         path, dropped, dropped == 1 ? "" : "s");
    return 0;
}

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

/* Can this file be written, in a folder that is there? Asked before minutes of measuring. */
static int check_place(const char *path, struct error *err)
{
    struct stat about;
    if (!path || strcmp(path, "-") == 0)
        return 0;
    const char *slash = strrchr(path, '/');
    char *folder = !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    int status = 0;
    if (!folder)
        status = error_set(err, ENOMEM, "no memory");
    else if (stat(folder, &about) != 0)
        status = error_set_errno(err, errno, "%s cannot be written: %s", path, folder);
    else if (!S_ISDIR(about.st_mode))
        status = error_set(err, ENOTDIR, "%s cannot be written: %s is not a folder", path, folder);
    else if (access(folder, W_OK) != 0)
        status = error_set_errno(err, errno, "%s cannot be written: %s", path, folder);
    free(folder);
    return status;
}

static int check_places(const struct overhead_check_options *options, struct error *err)
{
    int status = options->update ? check_place(options->verdict.reference, err) : 0;
    if (!status)
        status = check_place(options->junit, err);
    if (!status && options->html)
        status = snapshot_check(err);
    return status ? status : check_place(options->html, err);
}

/* --- the whole --- */

bool overhead_check_is_wanted(const struct overhead_check_options *options)
{
    return options->verdict.reference != NULL;
}

static int read_tolerance(const struct overhead_check_options *options, double *tolerance)
{
    char *end;
    *tolerance = OVERHEAD_GATE_TOLERANCE;
    if (!options->tolerance)
        return 0;
    *tolerance = strtod(options->tolerance, &end);
    return *options->tolerance && !*end && *tolerance >= 1 && *tolerance <= 1000 ? 0 : -EINVAL;
}

int overhead_check_prepare(const struct command *command, const struct overhead_check_options *options,
                           const struct measure_options *measuring)
{
    struct overhead_run reference;
    struct error err = {0};
    double tolerance;
    if (!options->verdict.reference &&
        (options->update || options->junit || options->tolerance || options->absolute ||
         options->verdict.strict || options->verdict.allow_missing || options->verdict.all ||
         options->patience_ns))
        return command_usage_error(command, "%s is for the gate: give --check REF.csv",
                                   options->update                  ? "--update"
                                   : options->junit                 ? "--junit"
                                   : options->tolerance             ? "--tolerance"
                                   : options->absolute              ? "--absolute"
                                   : options->verdict.strict        ? "--strict"
                                   : options->verdict.allow_missing ? "--allow-missing"
                                   : options->verdict.all           ? "--all"
                                                                    : "--patience");
    if (read_tolerance(options, &tolerance))
        return command_usage_error(
            command, "--tolerance %s: a factor of 1 or more was expected, such as 1.13 for 13 %% slower",
            options->tolerance);
    if (check_places(options, &err) != 0)
        return command_fail(command, &err);
    if (!options->verdict.reference || (options->update && !exists(options->verdict.reference)))
        return COMMAND_CONTINUE;
    int status = overhead_load(&reference, options->verdict.reference, &err);
    if (!status && options->update)
        status = check_update(&reference, measuring, options->verdict.reference, &err);
    if (!status && !options->update && reference.op_count == 0)
        status = error_set(&err, EINVAL, "%s has no ops: there is nothing to compare with",
                           options->verdict.reference);
    overhead_run_free(&reference);
    if (status == -ENOENT)
        error_prefix(&err, "no reference yet (--check %s --update makes one)", options->verdict.reference);
    return status ? command_fail(command, &err) : COMMAND_CONTINUE;
}

static int judge(struct overhead_gate *gate, const struct overhead_check_options *options,
                 const struct overhead_run *run, struct again *again, struct error *err)
{
    struct overhead_run reference;
    double tolerance;
    int status = overhead_load(&reference, options->verdict.reference, err);
    read_tolerance(options, &tolerance);
    struct overhead_gate_options how = {
        .tolerance = tolerance,
        .is_absolute = options->absolute,
        .patience_ns = options->patience_ns ? options->patience_ns : DEFAULT_PATIENCE_NS,
        .measure = measure_round,
        .is_asked_for = is_asked_for,
        .progress = show_progress,
        .context = again,
    };
    if (!status)
        status = overhead_gate_judge(gate, &reference, run, &how, err);
    overhead_run_free(&reference);
    return status;
}

static int write_files(const struct overhead_gate *gate, const struct overhead_check_options *options,
                       const struct overhead_run *run, struct error *err)
{
    int status = 0;
    if (options->junit)
        status = overhead_write_junit(gate, &options->verdict, run, options->junit, err);
    if (!status && options->html)
        status = overhead_page_write(
            &(struct overhead_page){
                run, gate, options->verdict.reference,
                overhead_gate_passes(gate, options->verdict.allow_missing, options->verdict.strict)},
            options->html, err);
    return status;
}

/* No good basis for a reference: a machine too noisy to say how fast it is. */
static void warn_of_noise(const struct overhead_run *run)
{
    if (run->is_noisy)
        command_say(
            "opscope overhead: warning: calibration ops varied by %.0f %% while the reference was made; a "
            "quieter machine makes a better one",
            run->noise * 100);
}

int overhead_check(const struct command *command, const struct overhead_check_options *options,
                   const struct output_options *output, struct measure *measure, struct overhead_run *run)
{
    struct overhead_gate gate = {0};
    struct again again = {measure, isatty(STDERR_FILENO) == 1 && !options->is_quiet};
    struct error err = {0};
    bool is_first = options->update && !exists(options->verdict.reference), passes = true;
    int status = 0;
    if (!is_first)
        status = judge(&gate, options, run, &again, &err);
    if (!status && options->update)
        status = deepen(&again, run, &err);
    end_progress(&again);
    if (!status && !is_first) {
        passes = overhead_gate_passes(&gate, options->verdict.allow_missing, options->verdict.strict);
        status = overhead_show_verdict(&gate, &options->verdict, output, &err);
    }
    if (!status)
        status = is_first ? 0 : write_files(&gate, options, run, &err);
    if (!status && is_first && options->html)
        status = overhead_page_write(&(struct overhead_page){.run = run}, options->html, &err);
    if (!status && options->update) {
        warn_of_noise(run);
        status = write_reference(run, options->verdict.reference, &err);
        if (!status)
            command_say("opscope overhead: %s is the reference now", options->verdict.reference);
    }
    /* A gate that looked at nothing must not pass: the wrong reference, or the wrong ops. */
    if (!status && !options->update && gate.counts[OVERHEAD_NEW] == gate.row_count)
        status = error_set(&err, EINVAL, "none of the ops of %s was asked for: nothing was compared",
                           options->verdict.reference);
    overhead_gate_free(&gate);
    if (status)
        return command_fail(command, &err);
    return passes || options->update ? EXIT_OK : EXIT_NEGATIVE;
}

int overhead_show(const struct command *command, const struct overhead_check_options *options, uint64_t top,
                  const struct output_options *output)
{
    struct overhead_run run;
    struct error err = {0};
    int status = options->html ? snapshot_check(&err) : 0;
    if (status)
        return command_fail(command, &err);
    status = overhead_load(&run, options->show, &err);
    if (!status && options->html)
        status = overhead_page_write(&(struct overhead_page){.run = &run}, options->html, &err);
    if (!status && !(options->html && strcmp(options->html, "-") == 0))
        status = overhead_show_times(&run, top, output, &err);
    overhead_run_free(&run);
    return status ? command_fail(command, &err) : EXIT_OK;
}

/* --- options --- */

#define FIELD(name) OPTION_FIELD(struct overhead_check_options, name)

static const struct command_option options_of_check[] = {
    {.name = "check",
     .type = OPTION_TEXT,
     .argument = "REF.csv",
     .offset = FIELD(verdict.reference),
     .is_file = true,
     .help =
         "Compare with the times in REF.csv, one of ours or the vendor's: exit 1 when an op is slower, missing or "
         "fails."},
    {.name = "tolerance",
     .type = OPTION_TEXT,
     .argument = "FACTOR",
     .offset = FIELD(tolerance),
     .help = "How many times the reference's time is still fine (1.13)."},
    {.name = "absolute",
     .type = OPTION_FLAG,
     .offset = FIELD(absolute),
     .help = "Compare times as they are, not relative to how fast the two machines run the calibration ops."},
    {.name = "update",
     .type = OPTION_FLAG,
     .offset = FIELD(update),
     .help =
         "With --check: replace REF.csv by this run (measured more thoroughly), after showing what changed."},
    OPTION_FILE("junit", FIELD(junit), "With --check: write the verdicts as JUnit XML."),
    OPTION_FILE("html", FIELD(html), "Write a page: ops ranked, their distributions, the gate's verdicts."),
    {.name = "all",
     .type = OPTION_FLAG,
     .offset = FIELD(verdict.all),
     .help = "With --check: list unchanged ops and calibration ops, too."},
    {.name = "strict",
     .type = OPTION_FLAG,
     .offset = FIELD(verdict.strict),
     .help = "With --check: an op that may be slower, but not for certain, fails the gate as well."},
    {.name = "allow-missing",
     .type = OPTION_FLAG,
     .offset = FIELD(verdict.allow_missing),
     .help = "With --check: ops that only the reference has do not fail the gate."},
    {.name = "patience",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = FIELD(patience_ns),
     .help =
         "With --check: how long doubtful ops are measured again, until the machine is quiet enough (1min)."},
    {.name = "show",
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(show),
     .is_file = true,
     .help = "Measure nothing: show a CSV of an earlier run, one of ours or the vendor's."},
    {0},
};

const struct option_table overhead_check_option_table = {"Gate and page", options_of_check};
