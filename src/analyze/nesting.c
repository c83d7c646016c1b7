/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/nesting.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/zonewalk.h"

#define PAGE_BITS 6u
#define PAGE_CELLS (1u << PAGE_BITS)

struct cell { /* the last outermost zone of a track and group */
    uint64_t start, end;
    uint64_t nested_ns;
    bool is_set;
};

struct finding {
    const struct nesting_request *request;
    uint32_t *candidate_of; /* by name id, as request->group_of; ZONE_WALK_SKIP = not a candidate */
    uint32_t *group_of_candidate;
    size_t candidate_count, page_count;
    struct cell ***pages; /* by track, then by candidate >> PAGE_BITS; made when first needed */
    size_t track_count;
};

static struct cell *find_cell(struct finding *f, uint32_t track, uint32_t candidate)
{
    struct cell **pages = f->pages[track];
    if (!pages)
        pages = f->pages[track] = calloc(f->page_count, sizeof *pages);
    if (!pages)
        return NULL;
    struct cell **page = &pages[candidate >> PAGE_BITS];
    if (!*page)
        *page = calloc(PAGE_CELLS, sizeof **page);
    return *page ? &(*page)[candidate & (PAGE_CELLS - 1)] : NULL;
}

static bool visit(void *context, const struct walked_zone *zone)
{
    struct finding *f = context;
    if (f->request->inside_until_ns &&
        (zone->start_ns < f->request->inside_since_ns || zone->end_ns > f->request->inside_until_ns))
        return true;
    struct cell *cell = find_cell(f, zone->track, zone->key);
    if (!cell)
        return false;
    if (cell->is_set && cell->start <= zone->start_ns && zone->end_ns <= cell->end) {
        cell->nested_ns += zone->end_ns - zone->start_ns;
    } else {
        cell->start = zone->start_ns;
        cell->end = zone->end_ns;
        cell->is_set = true;
    }
    return true;
}

static void report_cells(const struct finding *f)
{
    for (size_t track = 0; track < f->track_count; track++) {
        for (size_t c = 0; f->pages[track] && c < f->candidate_count; c++) {
            const struct cell *page = f->pages[track][c >> PAGE_BITS];
            if (page && page[c & (PAGE_CELLS - 1)].nested_ns)
                f->request->add(f->request->context, (uint32_t)track, f->group_of_candidate[c],
                                page[c & (PAGE_CELLS - 1)].nested_ns);
        }
    }
}

static int prepare(struct finding *f)
{
    const struct nesting_request *request = f->request;
    uint32_t *candidate_of_group = malloc((request->group_count + 1) * sizeof *candidate_of_group);
    f->track_count = trace_track_count(request->trace);
    f->candidate_of = malloc(request->map_count * sizeof *f->candidate_of);
    f->group_of_candidate = malloc((request->group_count + 1) * sizeof *f->group_of_candidate);
    f->pages = calloc(f->track_count + 1, sizeof *f->pages);
    if (!candidate_of_group || !f->candidate_of || !f->group_of_candidate || !f->pages) {
        free(candidate_of_group);
        return -ENOMEM;
    }
    for (size_t i = 0; i < request->group_count; i++) {
        candidate_of_group[i] = request->is_candidate[i] ? (uint32_t)f->candidate_count : ZONE_WALK_SKIP;
        if (request->is_candidate[i])
            f->group_of_candidate[f->candidate_count++] = (uint32_t)i;
    }
    for (size_t i = 0; i < request->map_count; i++) {
        uint32_t group = request->group_of[i];
        f->candidate_of[i] = group < request->group_count ? candidate_of_group[group] : ZONE_WALK_SKIP;
    }
    f->page_count = (f->candidate_count >> PAGE_BITS) + 1;
    free(candidate_of_group);
    return 0;
}

static void finding_free(struct finding *f)
{
    for (size_t track = 0; f->pages && track < f->track_count; track++) {
        for (size_t p = 0; f->pages[track] && p < f->page_count; p++)
            free(f->pages[track][p]);
        free(f->pages[track]);
    }
    free(f->pages);
    free(f->candidate_of);
    free(f->group_of_candidate);
}

int nesting_find(const struct nesting_request *request, struct error *err)
{
    struct finding f = {.request = request};
    int result = prepare(&f);
    if (result != 0)
        error_set_errno(err, -result, "nested zones");
    if (result == 0 && f.candidate_count) {
        struct zone_walk walk = {.trace = request->trace,
                                 .filter = request->filter,
                                 .key_of = f.candidate_of,
                                 .key_count = request->map_count,
                                 .has_open_zones = request->has_open_zones,
                                 .visit = visit,
                                 .context = &f};
        result = zone_walk(&walk, err);
        if (result == 0)
            report_cells(&f);
    }
    finding_free(&f);
    return result;
}
