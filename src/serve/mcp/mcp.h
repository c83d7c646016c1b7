/* SPDX-License-Identifier: Apache-2.0 */
/* The questions of the HTTP API over the Model Context Protocol, for coding assistants: JSON-RPC 2.0, one message per
 * line, on standard input and output. docs/mcp.md says what it answers.
 *
 *   mcp.c     lines, messages, methods, revisions of the protocol
 *   tools.c   the tools: which question each asks, with which arguments
 *   bound.c   answers cut to a size
 *
 * Both eras of the protocol are served: revisions until 2025-11-25 begin with `initialize`; since 2026-07-28 each
 * request says its revision in `_meta`, and nothing is remembered between requests. */
#ifndef OPSCOPE_SERVE_MCP_MCP_H
#define OPSCOPE_SERVE_MCP_MCP_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/text_list.h"

/* bytes of a message; longer ones are refused, and never in memory as a whole */
#define MCP_LINE_MAX ((size_t)1 << 20)
#define MCP_ANSWER_MAX ((size_t)32 << 10) /* bytes of the text that a tool answers */

struct mcp;

/* As traces_open: without paths, the traces of the working folder. */
int mcp_open(struct mcp **mcp, const char *const *paths, size_t count, struct error *err);
void mcp_close(struct mcp *mcp);
/* Folders in which source files may be looked for; they stay the caller's. */
void mcp_set_source_folders(struct mcp *mcp, const struct text_list *folders);

/* Answers one line (with or without its end): adds a line to `out`, or nothing where no answer is due. */
void mcp_answer(struct mcp *mcp, const char *line, size_t length, struct bytes *out);

/* Until the input ends, or nobody reads the output any more. */
int mcp_serve(struct mcp *mcp, int in, int out, struct error *err);

#endif
