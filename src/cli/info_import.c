/* SPDX-License-Identifier: Apache-2.0 */
/* opscope info: what an import could not read or join. */
#include "cli/info_tables.h"
#include "import/open.h"

struct notes {
    struct view *view;
    bool has_heading;
};

static void add_note(void *context, const char *text)
{
    struct notes *notes = context;
    if (!notes->has_heading)
        report_heading(&notes->view->report, "Import");
    notes->has_heading = true;
    report_note(&notes->view->report, TABLE_WARN, "%s", text);
}

void info_add_import_notes(struct view *view)
{
    struct notes notes = {.view = view};
    struct error err = {0};
    if (import_trace_notes(view->trace, add_note, &notes, &err) != 0)
        report_note(&view->report, TABLE_BAD, "%s", err.message);
}
