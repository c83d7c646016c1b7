/* SPDX-License-Identifier: Apache-2.0 */
#include "load/annotated.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "load/measured.h"
#include "load/side.h"
#include "ops/timeline_trace.h"

void annotated_free(struct annotated *annotated)
{
    match_free(&annotated->match);
    timeline_free(&annotated->run);
    estimate_free(&annotated->estimate);
}

static bool has_places(const struct timeline *run)
{
    for (size_t i = 0; i < run->op_count; i++) {
        if (run->ops[i].location != TIMELINE_NONE && *timeline_get_text(run, run->ops[i].location))
            return true;
    }
    return false;
}

static void add_amounts(struct timeline_op *to, const struct timeline_op *from)
{
    to->macs += from->macs;
    to->operations += from->operations;
    to->read_bytes += from->read_bytes;
    to->write_bytes += from->write_bytes;
}

static uint32_t copy_text(struct timeline *to, const struct timeline *from, uint32_t text)
{
    return text == TIMELINE_NONE ? TIMELINE_NONE : timeline_text(to, slice_of(timeline_get_text(from, text)));
}

/* Programs of one pair that stand at one place. */
struct place_time {
    uint64_t ns, programs;
};

static uint64_t place_key(const struct annotated *a, size_t op)
{
    return (uint64_t)a->match.pair_of[1][op] << 32 | a->run.ops[op].location;
}

/* Of the programs that are one run of a pair together, those at the place that took longest do its work: how many
 * there are in each run. 0: they do not. */
static uint64_t sharing(const struct annotated *a, const struct map *by_place, const struct place_time *times,
                        const uint32_t *longest, size_t op)
{
    uint32_t own = map_get(by_place, place_key(a, op)), pair = a->match.pair_of[1][op];
    uint64_t runs = a->match.pairs[pair].runs;
    return own == longest[pair] ? (times[own].programs + runs - 1) / runs : 0;
}

static void find_longest(const struct annotated *a, const struct map *by_place,
                         const struct place_time *times, uint32_t *longest)
{
    for (size_t i = 0; i < a->match.pair_count; i++)
        longest[i] = MAP_NONE;
    for (size_t i = 0; i < a->run.op_count; i++) {
        uint32_t pair = a->match.pair_of[1][i];
        if (pair == MATCH_NO_PAIR)
            continue;
        uint32_t own = map_get(by_place, place_key(a, i));
        if (longest[pair] == MAP_NONE || times[own].ns > times[longest[pair]].ns)
            longest[pair] = own;
    }
}

static bool add_times(const struct annotated *a, struct map *by_place, struct place_time *times)
{
    uint32_t count = 0;
    for (size_t i = 0; i < a->run.op_count; i++) {
        if (a->match.pair_of[1][i] == MATCH_NO_PAIR)
            continue;
        uint32_t own = map_get(by_place, place_key(a, i));
        if (own == MAP_NONE && !map_put(by_place, place_key(a, i), own = count++))
            return false;
        times[own].ns += a->run.ops[i].end - a->run.ops[i].start;
        times[own].programs++;
    }
    return true;
}

static void describe_op(struct annotated *a, size_t i, const struct timeline_op *sums, uint64_t each)
{
    const struct timeline *estimate = &a->estimate.timeline;
    const struct timeline_op *from = &estimate->ops[a->match.pairs[a->match.pair_of[1][i]].op];
    struct timeline_op *op = &a->run.ops[i];
    op->class = copy_text(&a->run, estimate, from->class);
    op->number = copy_text(&a->run, estimate, from->number);
    op->type = copy_text(&a->run, estimate, from->type);
    if (op->location == TIMELINE_NONE)
        op->location = copy_text(&a->run, estimate, from->location);
    if (!each)
        return;
    op->macs = sums->macs / each;
    op->operations = sums->operations / each;
    op->read_bytes = sums->read_bytes / each;
    op->write_bytes = sums->write_bytes / each;
}

/* What ran does what the ops of its pair do. */
static int describe_run(struct annotated *a, struct error *err)
{
    const struct match *match = &a->match;
    struct timeline_op *sums = calloc(match->pair_count + 1, sizeof sums[0]);
    uint32_t *longest = calloc(match->pair_count + 1, sizeof longest[0]);
    uint64_t *each = calloc(a->run.op_count + 1, sizeof each[0]);
    struct place_time *times = calloc(a->run.op_count + 1, sizeof times[0]);
    struct map by_place = {0};
    bool failed = !sums || !longest || !each || !times || !add_times(a, &by_place, times);
    if (!failed)
        find_longest(a, &by_place, times, longest);
    for (size_t i = 0; !failed && i < a->estimate.timeline.op_count; i++) {
        if (match->pair_of[0][i] != MATCH_NO_PAIR)
            add_amounts(&sums[match->pair_of[0][i]], &a->estimate.timeline.ops[i]);
    }
    for (size_t i = 0; !failed && i < a->run.op_count; i++) {
        uint32_t pair = match->pair_of[1][i];
        each[i] =
            pair != MATCH_NO_PAIR && match->pairs[pair].runs ? sharing(a, &by_place, times, longest, i) : 0;
    }
    for (size_t i = 0; !failed && i < a->run.op_count; i++) {
        if (match->pair_of[1][i] != MATCH_NO_PAIR)
            describe_op(a, i, &sums[match->pair_of[1][i]], each[i]);
    }
    map_free(&by_place);
    free(sums);
    free(longest);
    free(each);
    free(times);
    return failed ? error_no_memory(err, "the run") : timeline_check(&a->run, err);
}

static int join_ops(struct annotated *a, const struct annotated_request *request, const char *phase,
                    struct error *err)
{
    int status = load_run_side(&a->run, request->profile, NULL, err);
    if (status)
        return status;
    if (import_guess(request->profile) == IMPORT_TORQ_RUN && !has_places(&a->run))
        return error_set(err, EINVAL,
                         "%s holds no schedule: its phase is %s, and executable-targets is needed", phase,
                         phase_of(a->estimate.mlir));
    status = match_runs(&a->match, &a->estimate.timeline, &a->run, err);
    if (status == 0 && a->match.by == MATCH_NONE)
        status =
            error_set(err, EINVAL,
                      "%s (phase: %s) and %s have nothing in common: no dispatch, no place in the source "
                      "and no name",
                      phase, phase_of(a->estimate.mlir), request->profile);
    return status ? status : describe_run(a, err);
}

/* In a folder of phases the one with all that runs: the compiler's commands. The number before its name changed. */
static int find_phase(const char *path, char *found, size_t size, struct error *err)
{
    static const char ending[] = ".stream.mlir";
    struct stat info;
    struct dirent **entries = NULL;
    bool is_there = false;
    snprintf(found, size, "%s", path);
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return 0;
    int count = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        size_t length = strlen(name);
        if (!is_there && length > strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0) {
            snprintf(found, size, "%s/%s", path, name);
            is_there = true;
        }
        free(entries[i]);
    }
    free(entries);
    return is_there ? 0 : error_set(err, ENOENT, "%s has no file *%s", path, ending);
}

int load_annotated(struct annotated *a, const struct annotated_request *request, struct error *err)
{
    char model[4200];
    *a = (struct annotated){0};
    int status = find_phase(request->model, model, sizeof model, err);
    if (status)
        return status;
    status = load_estimate_side(&a->estimate,
                                &(struct estimate_request){.path = model,
                                                           .target = request->target,
                                                           .options = request->options,
                                                           .dims = request->dims,
                                                           .clock_mhz = request->clock_mhz,
                                                           .default_location = request->default_location},
                                err);
    if (status == 0 && !a->estimate.mlir)
        status = error_set(err, EINVAL, "%s is not a model: MLIR is needed", model);
    return status ? status : join_ops(a, request, model, err);
}

int annotated_to_trace(const struct annotated *a, const char *source, struct trace_writer *writer,
                       struct error *err)
{
    const char *machine = a->estimate.machine->name;
    return timeline_to_trace(
        &a->run,
        &(struct timeline_trace){
            .source = source, .device = machine, .architecture = machine, .is_measured = true},
        writer, err);
}
