/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that opscope does with a trace, one after the other in this process: each command that reads one, the file
 * of the page, every export, every question of the server and every tool of MCP. Whatever the file holds, each ends
 * with a status and leaves nothing behind. */
#ifndef OPSCOPE_TESTS_FUZZ_TRACE_COMMANDS_H
#define OPSCOPE_TESTS_FUZZ_TRACE_COMMANDS_H

#include <stddef.h>

/* How many steps there are. */
size_t trace_commands_count(void);
/* "zones --all --salvage T", for messages; valid until the next call. */
const char *trace_commands_text(size_t step);
/* `other` is a trace that is whole, to compare with. Output goes where standard output goes. */
void trace_commands_run(size_t step, const char *path, const char *other);

#endif
