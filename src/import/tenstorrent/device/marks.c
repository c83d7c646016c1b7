/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device/marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/keyed_text.h"
#include "base/slice.h"

static const char *const firmware_zones[] = {"BRISC-FW", "NCRISC-FW",          "TRISC-FW",
                                             "ERISC-FW", "TENSIX_RISC_AGG-FW", "DM-FW"};
static const char *const kernel_zones[] = {"BRISC-KERNEL", "NCRISC-KERNEL",          "TRISC-KERNEL",
                                           "ERISC-KERNEL", "TENSIX_RISC_AGG-KERNEL", "DM-KERNEL"};

static const struct {
    const char *processor, *zone;
} master_zones[] = {
    {"BRISC", "BRISC-FW"}, {"ERISC", "ERISC-FW"}, {"TENSIX_RISC_AGG", "TRACE-FW"}, {"QUASAR_DM0", "DM0-FW"}};

/* Spans that look at one processor's zone. */
static const struct {
    const char *processor; /* the beginning of its name */
    const char *zone;
    enum tt_span span;
} processor_spans[] = {
    {"TENSIX_RISC_AGG", "TRACE-FW", TT_SPAN_TRACE_FW},
    {"TENSIX_RISC_AGG", "TRACE-KERNEL", TT_SPAN_TRACE_KERNEL},
    {"BRISC", "BRISC-KERNEL", TT_SPAN_BRISC},
    {"NCRISC", "NCRISC-KERNEL", TT_SPAN_NCRISC},
    {"TRISC_0", "TRISC-KERNEL", TT_SPAN_TRISC0},
    {"TRISC_1", "TRISC-KERNEL", TT_SPAN_TRISC1},
    {"TRISC_2", "TRISC-KERNEL", TT_SPAN_TRISC2},
    {"ERISC", "ERISC-KERNEL", TT_SPAN_ERISC},
    {"QUASAR_DM", "DM-KERNEL", TT_SPAN_QUASAR_DM},
    {"QUASAR_NEO", "TRISC-KERNEL", TT_SPAN_QUASAR_TRISC},
    {"QUASAR_DM", "DM-FW", TT_SPAN_QUASAR_DM_FW},
    {"QUASAR_DM", "DM0-FW", TT_SPAN_QUASAR_DM_FW},
    {"QUASAR_NEO", "TRISC-FW", TT_SPAN_QUASAR_TRISC_FW},
};

static bool is_one_of(struct slice zone, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_is(zone, names[i]))
            return true;
    }
    return false;
}

uint32_t tt_class_of(struct slice processor, struct slice zone, enum tt_marker_type type)
{
    uint32_t class = 0;
    if (type != TT_MARKER_START && type != TT_MARKER_END)
        return 0;
    for (size_t i = 0; i < COUNT_OF(master_zones); i++) {
        if (slice_is(processor, master_zones[i].processor) && slice_is(zone, master_zones[i].zone))
            class |= TT_CLASS_MASTER;
    }
    for (size_t i = 0; i < COUNT_OF(processor_spans); i++) {
        if (slice_begins(processor, processor_spans[i].processor) && slice_is(zone, processor_spans[i].zone))
            class |= TT_CLASS_SPAN(processor_spans[i].span);
    }
    if (slice_has(zone, "FW"))
        class |= TT_CLASS_NAMED_FW;
    if (is_one_of(zone, firmware_zones, COUNT_OF(firmware_zones)))
        class |= TT_CLASS_FW;
    if (is_one_of(zone, kernel_zones, COUNT_OF(kernel_zones)))
        class |= TT_CLASS_KERNEL;
    if (slice_is(zone, "BRISC-KERNEL") || slice_is(zone, "NCRISC-KERNEL"))
        class |= TT_CLASS_DM_KERNEL | TT_CLASS_MOVER_KERNEL;
    if (slice_is(zone, "ERISC-KERNEL"))
        class |= TT_CLASS_DM_KERNEL;
    if (class)
        class |= type == TT_MARKER_START ? TT_CLASS_START : TT_CLASS_END;
    return class;
}

/* Merges two ascending runs, the left one first where times are equal. */
static void merge(const struct tt_mark *left, size_t left_count, const struct tt_mark *right,
                  size_t right_count, struct tt_mark *out)
{
    size_t l = 0, r = 0;
    while (l < left_count && r < right_count)
        *out++ = right[r].time < left[l].time ? right[r++] : left[l++];
    if (l < left_count)
        memcpy(out, left + l, (left_count - l) * sizeof *out);
    if (r < right_count)
        memcpy(out, right + r, (right_count - r) * sizeof *out);
}

bool tt_marks_sort(struct tt_mark *marks, struct tt_mark *spare, size_t count)
{
    size_t *starts = NULL, run_count = 0, capacity = 0;
    struct tt_mark *from = marks, *to = spare;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && marks[i].time >= marks[i - 1].time)
            continue;
        if (!array_reserve(&starts, &capacity, run_count + 2, sizeof starts[0])) {
            free(starts);
            return false;
        }
        starts[run_count++] = i;
    }
    while (run_count > 1) {
        size_t merged = 0;
        starts[run_count] = count;
        for (size_t i = 0; i < run_count; i += 2) {
            size_t begin = starts[i], middle = starts[i + 1],
                   end = i + 1 < run_count ? starts[i + 2] : middle;
            merge(from + begin, middle - begin, from + middle, end - middle, to + begin);
            starts[merged++] = begin;
        }
        run_count = merged;
        struct tt_mark *swap = from;
        from = to;
        to = swap;
    }
    if (from != marks)
        memcpy(marks, from, count * sizeof *marks);
    free(starts);
    return true;
}
