/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/notes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/utf8.h"

void perf_notes_add_list(struct perf_notes *notes, enum perf_note_level level, const void *kind,
                         const char *format, va_list arguments)
{
    char text[600];
    for (size_t i = 0; kind && i < notes->count; i++) {
        if (notes->items[i].kind == kind) {
            notes->items[i].count++;
            return;
        }
    }
    vsnprintf(text, sizeof text, format, arguments);
    char *copy = strdup(text);
    if (!copy || !array_reserve(&notes->items, &notes->capacity, notes->count + 1, sizeof *notes->items)) {
        free(copy);
        notes->failed = true;
        return;
    }
    notes->items[notes->count++] = (struct perf_note){level, copy, kind, 1};
}

void perf_notes_add(struct perf_notes *notes, enum perf_note_level level, const void *kind,
                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    perf_notes_add_list(notes, level, kind, format, arguments);
    va_end(arguments);
}

void perf_notes_free(struct perf_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->items[i].text);
    free(notes->items);
    *notes = (struct perf_notes){0};
}

void perf_notes_append(const struct perf_notes *notes, const char *command, struct bytes *out)
{
    for (size_t i = 0; i < notes->count; i++) {
        const struct perf_note *note = &notes->items[i];
        bytes_append_format(out, "%s: %s", command, note->level == PERF_NOTE_WARN ? "warning: " : "");
        utf8_append_visible(out, note->text, strlen(note->text));
        if (note->count > 1)
            bytes_append_format(out, " (and %" PRIu64 " more)", note->count - 1);
        bytes_append_text(out, "\n");
    }
}
