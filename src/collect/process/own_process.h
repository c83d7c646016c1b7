/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of opscope itself, beside `opscope run`. */
#ifndef OPSCOPE_COLLECT_PROCESS_OWN_PROCESS_H
#define OPSCOPE_COLLECT_PROCESS_OWN_PROCESS_H

#include <sys/types.h>

/* This program with these arguments, in a session of its own, so that it outlives what ends us. Its standard input and
 * output are those descriptors (out_fd -1: nothing); what it says is not seen. Returns 0 or an errno. */
int own_process_spawn(pid_t *pid, char *const *arguments, int in_fd, int out_fd);

#endif
