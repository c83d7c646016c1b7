/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT, SIGTERM and the end of standard input end the server, whatever its loop or an answer is doing: a thread of
 * its own waits for them, wakes the loop, and where that has not ended within ENDING_MS ends the process. */
#ifndef OPSCOPE_SERVE_ENDING_H
#define OPSCOPE_SERVE_ENDING_H

#include <stdbool.h>

#include "base/error.h"

#define ENDING_MS 300

struct ending;

/* Blocks the signals, so that threads which are started later do not get them. */
int ending_start(struct ending **out, bool until_eof, struct error *err);
/* Readable once the server is to end. */
int ending_fd(const struct ending *ending);
/* The server has ended. */
void ending_stop(struct ending *ending);

#endif
