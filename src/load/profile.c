/* SPDX-License-Identifier: Apache-2.0 */
#include "load/profile.h"

#include <errno.h>

#include "import/torq/blocks.h"
#include "ops/timeline_trace.h"
#include "text/file_map.h"

#define LONGEST_NS UINT64_C(1000000000000000000) /* 30 years: what reaches further is not a measurement */

void device_profile_free(struct device_profile *profile)
{
    iree_profile_free(&profile->iree);
    torq_run_free(&profile->torq);
    timeline_free(&profile->blocks);
    *profile = (struct device_profile){0};
}

static void draw_dispatches(struct device_profile *profile)
{
    struct timeline *t = &profile->blocks;
    t->clock_mhz = 1000;
    uint32_t lane = timeline_lane(t, "dispatches", TIMELINE_PROGRAM, 0);
    for (size_t i = 0; i < profile->iree.event_count; i++) {
        const struct iree_event *event = &profile->iree.events[i];
        uint32_t name =
            event->is_dispatch ? timeline_text(t, slice_of(iree_text(&profile->iree, event->name))) : 0;
        struct timeline_unit *unit = event->is_dispatch ? timeline_add_unit(t) : NULL;
        if (!unit)
            continue;
        unit->lane = lane;
        unit->name = name;
        unit->start = event->start_ns;
        unit->end = event->end_ns;
        unit->bytes = UINT64_MAX;
        uint64_t ns = event->end_ns - event->start_ns;
        unit->cores = ns && event->tiles_ns ? (uint32_t)((event->tiles_ns + ns - 1) / ns) : 0;
    }
}

static int read_iree(struct device_profile *profile, const char *path, const struct file_map *file,
                     struct error *err)
{
    struct iree_profile *iree = &profile->iree;
    int status = iree_profile_read(iree, path, file->data, file->length, err);
    if (status)
        return status;
    profile->is_iree = profile->may_be_host_time = true;
    profile->damaged = iree->damaged + iree->dropped;
    profile->first_ns = iree_profile_start(iree);
    for (size_t i = 0; i < iree->event_count; i++) {
        if (iree->events[i].end_ns > profile->last_ns)
            profile->last_ns = iree->events[i].end_ns;
    }
    draw_dispatches(profile);
    return timeline_check(&profile->blocks, err);
}

static int read_torq(struct device_profile *profile, const char *path, const struct file_map *file,
                     struct error *err)
{
    struct torq_run *torq = &profile->torq;
    int status = torq_run_read_text(torq, path, slice_from(file->data ? file->data : "", file->length), err);
    if (status == 0)
        status = torq_run_blocks(torq, &profile->blocks, err);
    if (status)
        return status;
    profile->may_be_host_time = torq->form != TORQ_PROGRAMS; /* those count from when the device was opened */
    profile->damaged = torq->bad_rows + torq->unpaired + torq->backwards;
    profile->first_ns = UINT64_MAX;
    for (size_t i = 0; i < torq->event_count; i++) {
        const struct torq_event *event = &torq->events[i];
        profile->first_ns = event->start_ns < profile->first_ns ? event->start_ns : profile->first_ns;
        profile->last_ns = event->end_ns > profile->last_ns ? event->end_ns : profile->last_ns;
    }
    return 0;
}

int device_profile_open(struct device_profile *profile, const char *path, struct error *err)
{
    struct file_map file;
    *profile = (struct device_profile){0};
    int status = file_map_open(&file, path, err);
    if (status)
        return status;
    if (!file.length)
        status = error_set(err, EINVAL, "%s is empty", path);
    else if (iree_is_profile(file.data, file.length))
        status = read_iree(profile, path, &file, err);
    else
        status = read_torq(profile, path, &file, err);
    file_map_close(&file);
    if (status == 0 && !profile->blocks.unit_count && !profile->blocks.dispatch_count)
        status = error_set(err, EINVAL, "%s holds no measured time", path);
    if (status == 0 && profile->last_ns > profile->first_ns &&
        profile->last_ns - profile->first_ns > LONGEST_NS)
        status = error_set(err, EINVAL, "%s: its times are more than 30 years apart", path);
    return status;
}

int device_profile_to_trace(const struct device_profile *profile, const char *source,
                            const struct profile_place *place, struct trace_writer *writer, struct error *err)
{
    if (profile->damaged)
        trace_writer_loss(writer, &(struct trace_loss){.process = place ? place->parent : TRACE_NONE,
                                                       .track = TRACE_NONE,
                                                       .reason = TRACE_LOSS_DAMAGED,
                                                       .from_ns = place ? place->points[0].host_ns : 0,
                                                       .to_ns = place ? place->points[1].host_ns : 0,
                                                       .records = profile->damaged});
    if (profile->is_iree)
        return iree_profile_to_trace(&profile->iree, source, place, writer, err);
    return timeline_to_trace(
        &profile->blocks,
        &(struct timeline_trace){.source = source, .device = "NPU", .is_measured = true, .place = place},
        writer, err);
}
