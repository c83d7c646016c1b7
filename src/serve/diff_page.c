/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/diff_page.h"

#include <string.h>

#include "import/open.h"
#include "ops/timeline_trace.h"
#include "serve/snapshot.h"
#include "trace/writer.h"

struct side { /* what a trace is made of, where the path is none */
    const char *path;
    const struct estimate *estimate; /* or */
    const struct timeline *measured; /* or nothing */
};

static int fill_side(const void *context, const char *file, struct error *err)
{
    const struct side *side = context;
    struct trace_writer *writer;
    if (side->estimate)
        return estimate_write_trace(side->estimate, side->path, file, err);
    int status = trace_writer_open(&writer, file, &(struct trace_writer_options){.command = side->path}, err);
    if (status)
        return status;
    if (side->measured) {
        struct timeline timeline = *side->measured;
        timeline.clock_mhz = timeline.clock_mhz > 0 ? timeline.clock_mhz : 1000; /* ns */
        status = timeline_to_trace(
            &timeline, &(struct timeline_trace){.source = side->path, .device = "run", .is_measured = true},
            writer, err);
    }
    if (status) {
        trace_writer_discard(writer);
        return status;
    }
    return trace_writer_finish(writer, err);
}

/* The file as a trace; of what cannot be one, as a table of dispatch times, there is no timeline. */
static int open_side(struct serve_trace *st, const struct side *side, struct error *err)
{
    bool is_input = strcmp(side->path, "-") == 0;
    const char *slash = strrchr(side->path, '/');
    struct error ignored = {0};
    struct trace *trace;
    enum import_kind kind = import_guess(side->path);
    bool is_made = is_input || kind == IMPORT_OVERHEAD_CSV ||
                   ((side->estimate || side->measured) && kind != IMPORT_TRACE);
    if (!is_made && serve_trace_open(st, side->path, &ignored) == 0)
        return 0;
    int status = load_filled_trace(&trace, side->path, fill_side, side, err);
    return status ? status
                  : serve_trace_take(st, trace,
                                     is_input            ? "standard input"
                                     : slash && slash[1] ? slash + 1
                                                         : side->path,
                                     err);
}

static int write_pair(const struct side *sides, const struct compare_made *made, const char *html,
                      struct error *err)
{
    struct serve_trace a, b;
    int status = open_side(&a, &sides[0], err);
    if (status)
        return status;
    status = open_side(&b, &sides[1], err);
    if (!status) {
        status = snapshot_write_pair(&a, &b, made, html, err);
        serve_trace_close(&b);
    }
    serve_trace_close(&a);
    return status;
}

int diff_page_of_runs(const struct diff_page *page, const struct diff *diff, unsigned only, const char *notes,
                      struct error *err)
{
    const struct side sides[] = {{.path = page->a}, {.path = page->b}};
    return write_pair(sides, &(struct compare_made){.diff = diff, .only = only, .notes = notes}, page->html,
                      err);
}

int diff_page_of_estimate(const struct diff_page *page, const struct estimate *estimate,
                          const struct timeline *measured, const struct compare *pairs, struct error *err)
{
    const struct side sides[] = {{.path = page->a, .estimate = estimate},
                                 {.path = page->b, .measured = measured}};
    return write_pair(sides, &(struct compare_made){.pairs = pairs, .notes = ""}, page->html, err);
}
