/* SPDX-License-Identifier: Apache-2.0 */
/* `opscope run --view`: the page of the recording, by a process of its own (opscope view FILE.partial). Whatever its
 * viewers do, the recording shares nothing with it but the file. */
#ifndef OPSCOPE_CLI_RUN_VIEW_H
#define OPSCOPE_CLI_RUN_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct run_view {
    bool is_wanted; /* if not, nothing below does anything */
    bool opens_browser;
    uint64_t port;      /* as listen_open takes it */
    const char *output; /* the trace */
    pid_t pid;          /* of the server; 0: there is none */
    int control;        /* the server ends when this is closed, also by our death; -1: there is none */
    char url[480];
};

/* Once the trace is there, before the command is started (launch.h). `context` is the struct run_view. */
int run_view_start(void *context, struct error *err);
/* After the command has ended: serves until Ctrl+C, SIGTERM or SIGHUP. */
void run_view_stay(struct run_view *view);
void run_view_end(struct run_view *view);

#endif
