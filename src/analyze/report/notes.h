/* SPDX-License-Identifier: Apache-2.0 */
/* What is said beside a report: sentences, those of one kind once, with how many more there were. */
#ifndef OPSCOPE_ANALYZE_REPORT_NOTES_H
#define OPSCOPE_ANALYZE_REPORT_NOTES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum perf_note_level { PERF_NOTE_INFO, PERF_NOTE_WARN };

struct perf_note {
    enum perf_note_level level;
    char *text;
    const void *kind; /* notes of the same kind are one, counted; NULL: of no kind */
    uint64_t count;
};

struct perf_notes {
    struct perf_note *items;
    size_t count, capacity;
    bool failed; /* no memory */
};

void perf_notes_add(struct perf_notes *notes, enum perf_note_level level, const void *kind,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));
void perf_notes_add_list(struct perf_notes *notes, enum perf_note_level level, const void *kind,
                         const char *format, va_list arguments) __attribute__((format(printf, 4, 0)));
void perf_notes_free(struct perf_notes *notes);

/* Lines for people: "opscope report: warning: ... (and 3 more)". */
void perf_notes_append(const struct perf_notes *notes, const char *command, struct bytes *out);

#endif
