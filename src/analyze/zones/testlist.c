/* SPDX-License-Identifier: Apache-2.0 */
/* See testlist.h. Zones are read once: tests go to the list, phases to a heap of their own, which is handed out
 * when the tests are in order. */
#include "analyze/zones/testlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum zone_role { ROLE_NONE, ROLE_TEST, ROLE_SETUP, ROLE_CALL, ROLE_TEARDOWN };

struct phase {
    uint32_t track;
    enum test_phase phase;
    uint64_t start_ns, duration_ns;
};

struct reading {
    struct test_list *list;
    struct trace *trace;
    const struct trace_filter *filter;
    uint8_t *role_of; /* by name id: enum zone_role */
    size_t name_count;
    struct phase *phases;
    size_t phase_count, phase_capacity;
};

static bool find_roles(struct reading *r)
{
    static const char *const functions[] = {
        [ROLE_TEST] = "pytest test",
        [ROLE_SETUP] = "pytest setup",
        [ROLE_CALL] = "pytest call",
        [ROLE_TEARDOWN] = "pytest teardown",
    };
    r->name_count = trace_name_count(r->trace);
    r->role_of = calloc(r->name_count + 1, 1);
    for (size_t i = 0; r->role_of && i < r->name_count; i++) {
        const char *function = trace_get_name(r->trace, (uint32_t)i)->function;
        for (size_t role = ROLE_TEST; role <= ROLE_TEARDOWN; role++)
            if (strcmp(function, functions[role]) == 0)
                r->role_of[i] = (uint8_t)role;
    }
    return r->role_of != NULL;
}

static enum zone_role role_of(const struct reading *r, uint32_t name)
{
    return name < r->name_count ? r->role_of[name] : ROLE_NONE;
}

static struct test_entry *add_test(struct reading *r, const struct test_entry *entry)
{
    struct test_list *list = r->list;
    if (!trace_filter_wants_name(r->filter, entry->name) ||
        !trace_filter_wants_span(r->filter, entry->start_ns, entry->end_ns))
        return NULL;
    if (!array_reserve(&list->entries, &list->capacity, list->count + 1, sizeof list->entries[0])) {
        list->texts.failed = true;
        return NULL;
    }
    list->entries[list->count] = *entry;
    return &list->entries[list->count++];
}

/* The text of a row, as the test's outcome. */
static void set_outcome(struct reading *r, struct test_entry *entry, const struct zone_rows *rows, size_t row)
{
    const struct trace_extra *extras;
    size_t count = zone_rows_find_extras(rows, row, &extras);
    for (const struct trace_extra *extra = extras; extra < extras + count; extra++) {
        if (extra->kind != TRACE_EXTRA_TEXT)
            continue;
        entry->outcome = r->list->texts.length;
        entry->outcome_length = extra->text_length;
        bytes_append(&r->list->texts, extra->text, extra->text_length);
        bytes_append_u8(&r->list->texts, 0);
        return;
    }
}

static int read_group(struct reading *r, const struct zone_rows *rows, const struct zone_rows_group *group)
{
    for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
        enum zone_role role = role_of(r, rows->name[i]);
        if (role == ROLE_NONE)
            continue;
        if (role == ROLE_TEST) {
            struct test_entry *entry =
                add_test(r, &(struct test_entry){.name = rows->name[i],
                                                 .track = group->track,
                                                 .depth = group->depth,
                                                 .start_ns = rows->start[i],
                                                 .end_ns = rows->start[i] + rows->duration[i],
                                                 .has_ended = true});
            if (entry)
                set_outcome(r, entry, rows, i);
            continue;
        }
        if (!array_reserve(&r->phases, &r->phase_capacity, r->phase_count + 1, sizeof r->phases[0]))
            return -ENOMEM;
        r->phases[r->phase_count++] = (struct phase){.track = group->track,
                                                     .phase = (enum test_phase)(role - ROLE_SETUP),
                                                     .start_ns = rows->start[i],
                                                     .duration_ns = rows->duration[i]};
    }
    return r->list->texts.failed ? -ENOMEM : 0;
}

static int read_zones(struct reading *r, struct error *err)
{
    struct trace_block_filter blocks = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int result = 0;
    while (result == 0 && (block = trace_next_block(r->trace, &blocks, &position))) {
        if (block->track != TRACE_NONE && !trace_filter_wants_track(r->filter, block->track))
            continue;
        result = trace_decode_zones(r->trace, block, TRACE_COLUMN_ALL, &rows, err);
        for (size_t g = 0; g < rows.group_count && result == 0; g++) {
            if (!trace_filter_wants_track(r->filter, rows.groups[g].track))
                continue;
            result = read_group(r, &rows, &rows.groups[g]);
            if (result != 0)
                error_set_errno(err, -result, "%zu tests", r->list->count);
        }
    }
    zone_rows_free(&rows);
    return result;
}

/* A test in whose middle the program died, or the recording stopped. */
static void read_open_zones(struct reading *r)
{
    size_t count = 0;
    const struct trace_open_zone *zones = trace_get_open_zones(r->trace, &count);
    for (size_t i = 0; i < count; i++) {
        if (role_of(r, zones[i].name) != ROLE_TEST || !trace_filter_wants_track(r->filter, zones[i].track))
            continue;
        add_test(r, &(struct test_entry){.name = zones[i].name,
                                         .track = zones[i].track,
                                         .depth = zones[i].depth,
                                         .start_ns = zones[i].start,
                                         .end_ns = zones[i].seen});
    }
}

static int compare_entries(const void *left, const void *right)
{
    const struct test_entry *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The innermost test of the track that ran then: a test may run a session of its own. */
static struct test_entry *find_test(const struct test_list *list, uint32_t track, uint64_t time_ns)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct test_entry *entry = &list->entries[middle];
        if (entry->track < track || (entry->track == track && entry->start_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low && list->entries[low - 1].track == track; low--) {
        if (time_ns <= list->entries[low - 1].end_ns)
            return &list->entries[low - 1];
    }
    return NULL;
}

int test_list_make(struct test_list *list, struct trace *trace, const struct trace_filter *filter,
                   struct error *err)
{
    struct reading r = {.list = list, .trace = trace, .filter = filter};
    *list = (struct test_list){0};
    int result = find_roles(&r) ? read_zones(&r, err) : error_set_errno(err, ENOMEM, "tests");
    if (result == 0)
        read_open_zones(&r);
    if (result == 0 && list->texts.failed)
        result = error_set_errno(err, ENOMEM, "%zu tests", list->count);
    if (result == 0 && list->count > 1)
        qsort(list->entries, list->count, sizeof list->entries[0], compare_entries);
    for (size_t i = 0; result == 0 && i < r.phase_count; i++) {
        const struct phase *phase = &r.phases[i];
        struct test_entry *entry = find_test(list, phase->track, phase->start_ns);
        if (entry) {
            entry->phase_ns[phase->phase] += phase->duration_ns;
            entry->has_phase[phase->phase] = true;
        }
    }
    free(r.role_of);
    free(r.phases);
    if (result != 0)
        test_list_free(list);
    return result;
}

void test_list_free(struct test_list *list)
{
    if (!list)
        return;
    free(list->entries);
    bytes_free(&list->texts);
    *list = (struct test_list){0};
}

const char *test_list_outcome(const struct test_list *list, const struct test_entry *entry)
{
    return entry->outcome_length ? (const char *)list->texts.data + entry->outcome : "";
}
