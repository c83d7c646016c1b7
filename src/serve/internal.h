/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the server share:
 *   server.c      the loop: sockets, time-outs, limits
 *   route.c       from a request to its answer
 *   answerer.c      the thread for questions that take long
 *   listen.c      the port;  traces.c  the files;  http.c  the parser
 *   query/        questions about a trace, without sockets */
#ifndef OPSCOPE_SERVE_INTERNAL_H
#define OPSCOPE_SERVE_INTERNAL_H

#include "base/bytes.h"
#include "serve/http.h"
#include "serve/listen.h"
#include "serve/query/query.h"
#include "serve/server.h"
#include "serve/traces.h"
#include "serve/answerer.h"

#define TOKEN_LENGTH 32u
#define METRIC_CLASSES 48u

struct metric { /* requests of one kind */
    const char *name;
    uint64_t requests, bytes, ns;
};

struct metrics {
    struct metric classes[METRIC_CLASSES];
    size_t class_count;
    uint64_t by_status[6]; /* 1xx ... 5xx */
    uint64_t connections, refused, timed_out;
    size_t open;
};

struct answer { /* zero-initialised but for the memory of its bytes, which is used again */
    int status;
    const char *type;
    struct bytes head, made;
    const uint8_t *body; /* in `made`, or of an asset */
    size_t body_length;
    const char *location; /* of a redirect */
    bool sets_cookie;
    bool is_api; /* not to be stored by the browser */
    const char *metric;
    struct job *job; /* the answer is not there yet: the answerer makes it */
};

struct server {
    struct listen_socket socket;
    struct traces traces;
    struct metrics metrics;
    struct query query;           /* the one that is answered */
    char token[TOKEN_LENGTH + 1]; /* "" where none is needed */
    char cookie[32];
    char url[400];
    uint64_t timeout_ns, started_ns;
    struct answerer *answerer;
    int epoll, signals;
    uint64_t last_connection; /* number */
    struct connection **connections, *closed;
    size_t connection_count;
};

/* route.c */
void route_request(struct server *server, const struct http_request *request, struct answer *answer);
/* The answer that the answerer made. */
void route_finish(struct answer *answer, struct job *job);
/* An answer without a request that could be read. */
void route_refuse(struct answer *answer, int status, const char *message);
/* Status line and headers. */
void route_write_head(const struct server *server, struct answer *answer, bool keep_alive);
void route_count(struct server *server, const struct answer *answer, uint64_t bytes, uint64_t ns);

#endif
