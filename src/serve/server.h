/* SPDX-License-Identifier: Apache-2.0 */
/* The server of `opscope view`: HTTP/1.1 on one epoll loop, for a browser that has the link with its token.
 * docs/internals/serve.md describes it, docs/http-api.md what it answers. */
#ifndef OPSCOPE_SERVE_SERVER_H
#define OPSCOPE_SERVE_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text_list.h"

struct server;

struct server_options {
    const char *const *paths; /* traces; none: those of the working folder */
    size_t path_count;
    const char *listen;     /* address; NULL: loopback */
    const char *token_file; /* NULL: that of the environment, or a new one */
    uint32_t port;          /* as listen_open takes it */
    uint64_t
        memory_bytes; /* most that it may take; 0: half of the machine's, and SERVER_USUAL_MEMORY at least */
    uint64_t timeout_ns; /* of clients that are idle, slow to ask or slow to read; 0: SERVER_TIMEOUT_NS */
    const struct text_list *source_folders; /* of --source; NULL: none */
    bool until_eof;                         /* end when standard input does, which has to be a pipe */
};

#define SERVER_TIMEOUT_NS UINT64_C(30000000000)
#define SERVER_USUAL_MEMORY (UINT64_C(1) << 30)
#define SERVER_LEAST_MEMORY (UINT64_C(64) << 20)
#define SERVER_CONNECTIONS 256u

int server_open(struct server **out, const struct server_options *options, struct error *err);
void server_close(struct server *server);

/* Where the page is, with the token. */
const char *server_url(const struct server *server);
/* Answers until SIGINT or SIGTERM comes, or standard input ends where that was asked for. */
int server_run(struct server *server, struct error *err);

#endif
