/* SPDX-License-Identifier: Apache-2.0 */
#include "load/calibrate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/estimate/estimate.h"
#include "import/iree/profile.h"

void calibration_sites_free(struct calibration_sites *sites)
{
    free(sites->sites);
    *sites = (struct calibration_sites){0};
}

struct joining {
    const struct timeline *timeline;
    const struct iree_profile *profile;
    uint32_t *runs; /* events that are dispatches, in order */
    size_t run_count;
    uint32_t *names;  /* by op of the timeline: text of the profile; INTERN_NONE: never ran */
    bool is_in_order; /* the runs are the ops again and again */
};

static const struct iree_event *run_at(const struct joining *j, size_t i)
{
    return &j->profile->events[j->runs[i]];
}

static int begin_join(struct joining *j, struct error *err)
{
    const struct timeline *timeline = j->timeline;
    j->runs = malloc((j->profile->event_count + 1) * sizeof j->runs[0]);
    j->names = malloc((timeline->op_count + 1) * sizeof j->names[0]);
    if (!j->runs || !j->names)
        return error_no_memory(err, "the calibration");
    for (uint32_t i = 0; i < j->profile->event_count; i++) {
        if (j->profile->events[i].is_dispatch)
            j->runs[j->run_count++] = i;
    }
    for (size_t i = 0; i < timeline->op_count; i++) {
        const char *name = timeline_get_text(timeline, timeline->dispatches[timeline->ops[i].dispatch].name);
        j->names[i] = intern_find(&j->profile->texts, name, strlen(name));
    }
    j->is_in_order = timeline->op_count && j->run_count && j->run_count % timeline->op_count == 0;
    for (size_t i = 0; j->is_in_order && i < j->run_count; i++)
        j->is_in_order = run_at(j, i)->name == j->names[i % timeline->op_count];
    return 0;
}

/* The shortest run of an op; 0: none. */
static uint64_t measured_ns(const struct joining *j, size_t op)
{
    uint64_t best = 0;
    size_t alike = 0, before = 0, runs = 0, seen = 0;
    for (size_t i = 0; i < j->timeline->op_count; i++) {
        alike += j->names[i] == j->names[op];
        before += i < op && j->names[i] == j->names[op];
    }
    for (size_t i = 0; i < j->run_count; i++)
        runs += run_at(j, i)->name == j->names[op];
    bool is_turn = runs % alike == 0; /* each of the ops of this name in its turn; else any of them */
    for (size_t i = 0; i < j->run_count && j->names[op] != INTERN_NONE; i++) {
        const struct iree_event *event = run_at(j, i);
        if (j->is_in_order ? i % j->timeline->op_count != op : event->name != j->names[op])
            continue;
        if (!j->is_in_order && is_turn && seen++ % alike != before)
            continue;
        uint64_t ns = event->end_ns - event->start_ns;
        best = !best || ns < best ? ns : best;
    }
    return best;
}

static int add_sites(struct calibration_sites *sites, const struct joining *j, struct error *err)
{
    const struct timeline *timeline = j->timeline;
    for (size_t i = 0; i < timeline->op_count; i++) {
        const struct timeline_op *op = &timeline->ops[i];
        struct calibration_site site = {.model = sites->models};
        const char *number = timeline_get_text(timeline, op->number);
        site.class = (uint8_t)(op->bound == TIMELINE_BOUND_LAUNCH
                                   ? CALIBRATE_FLOOR
                                   : calibration_class_of(timeline_get_text(timeline, op->class)));
        site.number = strcmp(number, "bf16") == 0    ? MODEL_BFLOAT
                      : strcmp(number, "float") == 0 ? MODEL_FLOAT
                                                     : MODEL_INTEGER;
        site.estimate_ns = (double)(op->end - op->start) * 1000 / timeline->clock_mhz;
        site.measured_ns = (double)measured_ns(j, i);
        if (!(site.estimate_ns > 0) || !(site.measured_ns > 0) || site.class == CALIBRATE_CLASSES) {
            sites->unmeasured++;
            continue;
        }
        if (!array_reserve(&sites->sites, &sites->capacity, sites->count + 1, sizeof site))
            return error_no_memory(err, "the calibration");
        sites->sites[sites->count++] = site;
    }
    return 0;
}

static int join(struct calibration_sites *sites, const struct timeline *timeline, const char *model_path,
                const char *profile_path, struct error *err)
{
    struct iree_profile profile;
    int status = iree_profile_open(&profile, profile_path, err);
    if (status)
        return status;
    struct joining j = {.timeline = timeline, .profile = &profile};
    size_t before = sites->count;
    status = begin_join(&j, err);
    if (status == 0)
        status = add_sites(sites, &j, err);
    if (status == 0 && sites->count == before && !sites->unmatched++)
        sites->first_unmatched = model_path;
    free(j.runs);
    free(j.names);
    iree_profile_free(&profile);
    return status;
}

int calibration_load(struct calibration_sites *sites, const char *model_path, const char *profile_path,
                     const struct estimate_target *target, const struct mlir_dims *dims, struct error *err)
{
    struct mlir *mlir;
    struct model model = {0};
    struct timeline timeline = {0};
    int status = mlir_open(&mlir, model_path, err);
    if (status)
        return status;
    status = mlir_read_model(&model, mlir, dims, err);
    if (status == 0)
        status = estimate_model(&timeline, &model, target, err);
    if (status == 0)
        status = join(sites, &timeline, model_path, profile_path, err);
    if (status == 0)
        sites->models++;
    timeline_free(&timeline);
    model_free(&model);
    mlir_close(mlir);
    return status;
}
