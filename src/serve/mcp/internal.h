/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the MCP server share. */
#ifndef OPSCOPE_SERVE_MCP_INTERNAL_H
#define OPSCOPE_SERVE_MCP_INTERNAL_H

#include "serve/mcp/mcp.h"
#include "serve/traces.h"
#include "text/json/reader.h"

struct mcp {
    struct traces traces;
    const char *version; /* that initialize agreed on; NULL before */
    struct json_document message, answer;
    struct query query;
};

/* --- tools.c --- */

struct tool;
const struct tool *tool_find(const struct json_node *name); /* NULL */
void tools_write(struct bytes *out);                        /* the array of tools/list */
/* Appends the text of the answer. False: it is the sentence of an error, for whoever asked to correct the call. */
bool tool_call(struct mcp *mcp, const struct tool *tool, const struct json_node *arguments,
               struct bytes *text);

/* --- bound.c --- */

struct bound {
    const char *const *skip;  /* keys that are left out, NULL-terminated */
    const char *rows, *count; /* paths ("diff.rows"): rows of which there are `count` in all; NULL */
};
/* A document as JSON of at most `limit` bytes: arrays lose their last elements, texts their ends, until it fits. What
 * was left out goes to `left_out` as an array ("[]": nothing). False: it cannot be made so small, or there is no
 * memory. */
bool bound_write(const struct json_document *document, const struct bound *bound, size_t limit,
                 struct bytes *out, struct bytes *left_out);

#endif
