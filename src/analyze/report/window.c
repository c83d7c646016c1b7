/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows make the table, and in which order: host start, signposts, devices merged, numbers asked for. The table is
 * perf->order, indices into perf->rows. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/internal.h"
#include "analyze/report/merge.h"
#include "analyze/report/range.h"
#include "analyze/window.h"

static const char *first_path(const struct perf *perf)
{
    return perf->file_count ? perf->files[0].path : "no file";
}

/* When a row was called; UINT64_MAX: not known, which counts as last. */
static uint64_t start_of(const struct perf *perf, uint32_t index)
{
    const struct perf_row *row = &perf->rows[index];
    const struct op_line *line = perf_line(perf, row);
    const struct op_call *call = perf_call(perf, row);
    if (line->signpost != OPS_NONE)
        return perf->ops->signposts[line->signpost].time_ns;
    if (call)
        return call->faults & OP_FAULT_NO_HOST_TIME ? UINT64_MAX : call->start_ns;
    return line->run == OPS_NONE ? UINT64_MAX : perf->ops->runs[line->run].start_ns;
}

static int compare_start(const void *a, const void *b, void *context)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    uint64_t first = start_of(context, left), second = start_of(context, right);
    if (first != second)
        return first < second ? -1 : 1;
    return left < right ? -1 : left > right;
}

int perf_sort_rows(struct perf *perf, struct error *err)
{
    bool is_sorted = true;
    uint64_t before = 0;
    perf->order = malloc((perf->row_count ? perf->row_count : 1) * sizeof *perf->order);
    if (!perf->order)
        return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count);
    perf->count = perf->row_count;
    for (size_t i = 0; i < perf->row_count; i++) {
        uint64_t start = start_of(perf, (uint32_t)i);
        perf->order[i] = (uint32_t)i;
        is_sorted &= start >= before;
        before = start;
    }
    if (!perf->options.has_host_start)
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "%s: ops stay in the order of the file, which does not say when they started",
                  first_path(perf));
    else if (perf->options.is_in_file_order)
        perf_note(perf, PERF_NOTE_INFO, NULL, "tracing mode: ops stay in the order of the file");
    else if (!is_sorted)
        qsort_r(perf->order, perf->count, sizeof *perf->order, compare_start, perf);
    return 0;
}

/* --- signposts --- */

/* The text of a signpost; OPS_NONE for other rows. */
static uint32_t signpost_name(const struct perf *perf, size_t i)
{
    uint32_t signpost = perf_line(perf, perf_at(perf, i))->signpost;
    return signpost == OPS_NONE ? OPS_NONE : perf->ops->signposts[signpost].header;
}

static bool is_named_signpost(const struct perf *perf, size_t i, const char *name)
{
    return perf_at(perf, i)->kind == PERF_SIGNPOST &&
           strcmp(perf_text(perf, signpost_name(perf, i)), name) == 0;
}

/* The n-th signpost of that name, as a position; SIZE_MAX when there are fewer. */
static size_t find_signpost(const struct perf *perf, const char *name, unsigned nth)
{
    for (size_t i = 0; i < perf->count; i++) {
        if (is_named_signpost(perf, i, name) && nth-- == 0)
            return i;
    }
    return SIZE_MAX;
}

static void keep(struct perf *perf, bool (*wanted)(const struct perf *, size_t, const void *),
                 const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < perf->count; i++) {
        if (wanted(perf, i, context))
            perf->order[kept++] = perf->order[i];
    }
    perf->count = kept;
}

struct window {
    uint32_t after, before; /* lines of the model, exclusive */
    bool is_from_start;
};

static bool is_inside(const struct perf *perf, size_t i, const void *context)
{
    const struct window *window = context;
    const struct perf_row *row = perf_at(perf, i);
    return (window->is_from_start || row->line > window->after) && row->line < window->before;
}

static bool is_no_signpost(const struct perf *perf, size_t i, const void *context)
{
    (void)context;
    return perf_at(perf, i)->kind != PERF_SIGNPOST;
}

/* A name that was asked for and is not there: an error that lists those that are. */
static int no_signpost(struct perf *perf, const char *name, const char *what, struct error *err)
{
    struct bytes *text = &perf->scratch;
    bytes_clear(text);
    for (size_t i = 0; i < perf->count; i++) {
        if (perf_at(perf, i)->kind != PERF_SIGNPOST)
            continue;
        if (text->length > 400) {
            bytes_append_text(text, ", ...");
            break;
        }
        bytes_append_format(text, "%s'%.60s'", text->length ? ", " : "",
                            perf_text(perf, signpost_name(perf, i)));
    }
    if (text->length)
        return error_set(err, EINVAL, "there is no %ssignpost '%s'; there are: %.*s", what, name,
                         (int)text->length, (const char *)text->data);
    return error_set(err, EINVAL, "there is no signpost '%s': the run has none", name);
}

/* The window that was asked for by name; *is_found: at least one name led to one. */
static int named_window(struct perf *perf, struct window *window, bool *is_found, struct error *err)
{
    const char *start = perf->options.start_signpost, *end = perf->options.end_signpost;
    int status = 0;
    *is_found = false;
    *window = (struct window){.before = UINT32_MAX, .is_from_start = true};
    if (start) {
        size_t at = find_signpost(perf, start, 0);
        if (at == SIZE_MAX) {
            status = no_signpost(perf, start, "", err);
        } else {
            window->after = perf_at(perf, at)->line;
            window->is_from_start = false;
            *is_found = true;
        }
    }
    if (end && !status) {
        bool is_same = start && strcmp(start, end) == 0;
        size_t at = find_signpost(perf, end, is_same ? 1 : 0);
        if (at != SIZE_MAX) {
            window->before = perf_at(perf, at)->line;
            *is_found = true;
        } else {
            bool is_second = is_same && find_signpost(perf, end, 0) != SIZE_MAX;
            status = no_signpost(perf, end, is_second ? "second " : "", err);
        }
        if (is_same && find_signpost(perf, end, 2) != SIZE_MAX)
            perf_note(perf, PERF_NOTE_INFO, NULL,
                      "signpost '%s' comes more than twice; the first two are used", end);
    }
    return status;
}

/* For the page, which shows no notes about what is as it should be. */
static void describe_window(struct perf *perf, const char *start, bool is_last, const char *end)
{
    struct bytes *text = &perf->scratch;
    bytes_clear(text);
    if (start)
        bytes_append_format(text, "after the %ssignpost '%s'", is_last ? "last " : "", start);
    if (end)
        bytes_append_format(text, "%sbefore the signpost '%s'", start ? " and " : "", end);
    perf->window = perf_intern(perf, text->data, text->length);
    perf->has_window_end = end != NULL;
}

/* Which signposts the part that matters lies between, as positions; *start SIZE_MAX: no ops follow any. *end is the
 * next one where other ops follow it, else perf->count. False: no memory. */
static bool find_block(const struct perf *perf, size_t signposts, size_t *start, size_t *end)
{
    struct window_block *blocks = calloc(signposts + 1, sizeof *blocks);
    size_t block = 0, chosen;
    if (!blocks)
        return false;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (row->kind == PERF_SIGNPOST) {
            block++;
            continue;
        }
        blocks[block].ops++;
        blocks[block].device_ns += row->kind == PERF_DEVICE_OP && row->duration_ns > 0 ? row->duration_ns : 0;
    }
    chosen = window_choose_block(blocks, signposts + 1);
    *start = SIZE_MAX;
    *end = perf->count;
    block = 0;
    for (size_t i = 0; i < perf->count && chosen != SIZE_MAX; i++) {
        bool is_signpost = perf_at(perf, i)->kind == PERF_SIGNPOST;
        block += is_signpost;
        if (is_signpost && block == chosen)
            *start = i;
        if (is_signpost && block == chosen + 1)
            *end = i;
    }
    bool has_more = false;
    for (size_t i = chosen == SIZE_MAX ? signposts + 1 : chosen + 1; i <= signposts; i++)
        has_more |= blocks[i].ops > 0;
    *end = has_more ? *end : perf->count;
    free(blocks);
    return true;
}

static void note_block(struct perf *perf, size_t start, size_t end)
{
    const char *name = perf_text(perf, signpost_name(perf, start));
    size_t last = perf->count;
    while (last > 0 && perf_at(perf, last - 1)->kind != PERF_SIGNPOST)
        last--;
    if (end < perf->count) {
        const char *next = perf_text(perf, signpost_name(perf, end));
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "from the signpost '%s' to '%s', the last part with 5 %% of the device time "
                  "(--ignore-signposts takes all ops)",
                  name, next);
        describe_window(perf, name, false, next);
        return;
    }
    if (last - 1 != start)
        perf_note(perf, PERF_NOTE_WARN, NULL, "no ops follow the last signpost '%s'",
                  perf_text(perf, signpost_name(perf, last - 1)));
    perf_note(perf, PERF_NOTE_INFO, NULL,
              "starting at the last signpost, '%s' (--ignore-signposts takes all ops)", name);
    describe_window(perf, name, true, NULL);
}

/* The part between signposts that matters (analyze/window.h). */
static int take_block(struct perf *perf, size_t signposts, struct error *err)
{
    size_t start, end;
    if (!find_block(perf, signposts, &start, &end))
        return error_no_memory(err, "the signposts");
    if (start == SIZE_MAX) {
        perf_note(perf, PERF_NOTE_WARN, NULL, "no ops follow any signpost; all ops are used");
        return 0;
    }
    note_block(perf, start, end);
    perf->count = end - start - 1;
    memmove(perf->order, perf->order + start + 1, perf->count * sizeof *perf->order);
    return 0;
}

static bool is_in_steps(const struct perf *perf, size_t i, const void *context)
{
    const struct perf_steps *steps = context;
    uint64_t start = start_of(perf, perf->order[i]);
    return start >= steps->since_ns && start <= steps->until_ns;
}

static void take_steps(struct perf *perf)
{
    struct bytes *text = &perf->scratch;
    perf_note(perf, PERF_NOTE_INFO, NULL,
              "ops of %s: the warm-up is left out (--include-warm-up takes all ops)",
              perf->options.steps.text);
    bytes_clear(text);
    bytes_append_format(text, "of %s, after the warm-up", perf->options.steps.text);
    perf->window = perf_intern(perf, text->data, text->length);
    keep(perf, is_in_steps, &perf->options.steps);
}

int perf_apply_signposts(struct perf *perf, struct error *err)
{
    const char *start = perf->options.start_signpost, *end = perf->options.end_signpost;
    size_t signposts = 0;
    struct window window;
    bool is_found;
    for (size_t i = 0; i < perf->count; i++)
        signposts += perf_at(perf, i)->kind == PERF_SIGNPOST;
    perf->read_op_count = perf->count - signposts;
    if (perf->options.ignore_signposts || signposts == 0) {
        if (signposts == 0 && (start || end))
            return no_signpost(perf, start ? start : end, "", err);
        if (perf->options.steps.text)
            take_steps(perf);
        return 0;
    }
    int status = named_window(perf, &window, &is_found, err);
    if (status)
        return status;
    if (is_found) {
        keep(perf, is_inside, &window);
        describe_window(perf, window.is_from_start ? NULL : start, false,
                        window.before < UINT32_MAX ? end : NULL);
    } else {
        status = take_block(perf, signposts, err);
    }
    if (!status && !perf->options.print_signposts && perf->options.group_by != PERF_BY_SIGNPOST)
        keep(perf, is_no_signpost, NULL);
    return status;
}

/* --- devices --- */

static struct perf_merge_row merge_row(const void *context, uint32_t index)
{
    const struct perf *perf = context;
    const struct perf_row *row = &perf->rows[index];
    if (row->kind == PERF_SIGNPOST)
        return (struct perf_merge_row){.device = PERF_NO_NUMBER};
    int32_t device = perf_device(perf, row);
    return (struct perf_merge_row){device, perf_work_of(perf, row)->name, row->duration_ns,
                                   row->kind == PERF_DEVICE_OP && device != PERF_NO_NUMBER};
}

static const char *merge_name(const void *context, uint32_t name)
{
    return perf_text(context, name);
}

static void merge_set_mean(void *context, uint32_t index, double duration_ns, size_t count)
{
    struct perf_row *row = &((struct perf *)context)->rows[index];
    row->duration_ns = duration_ns;
    row->is_averaged = count > 1;
}

static void merge_no_device(void *context, uint32_t index)
{
    (void)context; /* whoever read it has said it */
    (void)index;
}

int perf_merge(struct perf *perf, struct error *err)
{
    const struct perf_merge merge = {.context = perf,
                                     .row = merge_row,
                                     .name = merge_name,
                                     .set_mean = merge_set_mean,
                                     .no_device = merge_no_device,
                                     .path = first_path(perf),
                                     .notes = &perf->notes,
                                     .is_off = perf->options.no_merge_devices,
                                     .prefers_known_times = true};
    for (size_t i = 0; i < perf->count; i++)
        perf_at(perf, i)->is_merged = true;
    int status = perf_merge_devices(&merge, perf->order, &perf->count, err);
    for (size_t i = 0; i < perf->count; i++)
        perf_at(perf, i)->is_merged = false;
    return status;
}

const char *perf_devices_text(const struct perf *perf)
{
    for (size_t i = 0; i < perf->notes.count; i++) {
        if (perf->notes.items[i].kind == perf_note_devices)
            return perf->notes.items[i].text;
    }
    return NULL;
}

/* --- numbers --- */

static bool is_in_range(const struct perf *perf, size_t i, const void *context)
{
    const struct perf_range *range = context;
    uint64_t id = perf_at(perf, i)->id;
    return id >= range->first && id <= range->last;
}

int perf_apply_id_range(struct perf *perf, struct error *err)
{
    struct perf_range range;
    if (!perf->options.id_range)
        return 0;
    int status = perf_range_parse(&range, perf->options.id_range, err);
    if (status)
        return status;
    size_t count = perf->count;
    uint64_t last = count ? perf_at(perf, count - 1)->id : 0;
    keep(perf, is_in_range, &range);
    if (perf->count == 0 && count)
        perf_note(perf, PERF_NOTE_WARN, NULL,
                  "--id-range '%s' takes none of %zu ops (the last has ID %" PRIu64 ")",
                  perf->options.id_range, count, last);
    if (perf->count)
        perf_at(perf, 0)->shown_gap_us = NAN;
    return 0;
}

static bool is_no_host_op(const struct perf *perf, size_t i, const void *context)
{
    (void)context;
    return perf_at(perf, i)->kind != PERF_HOST_OP;
}

/* A framework calls many ops that run nothing on a device themselves: views, and ops that only call others. */
static bool runs_something(const struct perf *perf, size_t i, const void *context)
{
    const struct perf_row *row = perf_at(perf, i);
    (void)context;
    return row->kind != PERF_HOST_OP || !perf_work_of(perf, row)->is_torch;
}

void perf_drop_host_ops(struct perf *perf)
{
    size_t before = perf->count;
    keep(perf, runs_something, NULL);
    if (perf->count < before)
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "not listed: %zu op%s " PERF_IDLE_OPS_TEXT "; opscope ops lists all", before - perf->count,
                  before - perf->count == 1 ? "" : "s");
    if (perf->options.no_host_ops)
        keep(perf, is_no_host_op, NULL);
}
