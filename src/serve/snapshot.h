/* SPDX-License-Identifier: Apache-2.0 */
/* The page and a trace as one HTML file that needs no server: the files of the page inline, allowed by their hashes
 * alone, and the answers that it would ask for as data. */
#ifndef OPSCOPE_SERVE_SNAPSHOT_H
#define OPSCOPE_SERVE_SNAPSHOT_H

#include "load/trace.h"
#include "serve/query/query.h"

#define SNAPSHOT_ROWS_MAX 200000u /* zones and runs; of more, the shortest are summed up */
/* what would go beyond this is left out, and the page says so */
#define SNAPSHOT_BYTES_MAX ((size_t)48 << 20)

/* -ENOTSUP: this program was built without the page. Say so before work is done. */
int snapshot_check(struct error *err);

/* Writes the file; "-" is standard output. `panel` is the tab that it opens with, one of web/src/frame/header.tsx. */
int snapshot_write(struct serve_trace *st, const char *panel, const char *path, struct error *err);
/* Two traces and what changed from A to B. */
int snapshot_write_pair(struct serve_trace *a, struct serve_trace *b, const struct compare_made *made,
                        const char *path, struct error *err);
/* No trace, only JSON that answers one question, which is the name of the panel that shows it. */
int snapshot_write_answer(const char *question, const struct bytes *answer, const char *path,
                          struct error *err);
/* The overview of a trace that `fill` writes and nobody keeps; `source` is the file that it was made from. */
int snapshot_write_made(trace_filler *fill, const void *context, const char *source, const char *path,
                        struct error *err);

#endif
