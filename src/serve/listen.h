/* SPDX-License-Identifier: Apache-2.0 */
/* The socket on which the server listens. */
#ifndef OPSCOPE_SERVE_LISTEN_H
#define OPSCOPE_SERVE_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define LISTEN_PORT 7950u
#define LISTEN_NO_PORT 65536u /* nobody asked for one */
#define LISTEN_TRIES 100u     /* ports after a busy default one */

struct listen_socket {
    int fd;
    uint16_t port;
    bool is_loopback;
    char url[320]; /* http://127.0.0.1:7950/ */
};

/* address: NULL is 127.0.0.1. port: 0 is any that is free, LISTEN_NO_PORT the default one, or the next that is free;
 * one that was asked for and is busy is an error that names who has it. */
int listen_open(struct listen_socket *out, const char *address, uint32_t port, struct error *err);

#endif
