/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the server share:
 *   server.c      the loop: sockets, time-outs, limits
 *   route.c       from a request to its answer
 *   live.c        pages that follow;  websocket.c  their frames
 *   answerer.c    the threads for questions that take long;  ending.c  signals
 *   listen.c      the port;  token.c  the word of the link;  traces.c  the files;  http.c  the parser
 *   query/        questions about a trace, without sockets */
#ifndef OPSCOPE_SERVE_INTERNAL_H
#define OPSCOPE_SERVE_INTERNAL_H

#include "base/bytes.h"
#include "serve/http.h"
#include "serve/listen.h"
#include "serve/query/query.h"
#include "serve/ending.h"
#include "serve/server.h"
#include "serve/token.h"
#include "serve/traces.h"
#include "serve/answerer.h"

#define METRIC_CLASSES 48u

struct metric { /* requests of one kind */
    const char *name;
    uint64_t requests, bytes, ns;
};

struct metrics {
    struct metric classes[METRIC_CLASSES];
    size_t class_count;
    uint64_t by_status[6]; /* 1xx ... 5xx */
    uint64_t connections, refused, timed_out, paused;
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
    bool is_api;     /* not to be stored by the browser */
    bool is_damaged; /* from what is whole of a damaged trace */
    const char *metric;
    bool is_live;    /* shake hands: it becomes a WebSocket */
    struct job *job; /* the answer is not there yet: the answerer makes it */
};

struct connection {
    int fd; /* -1: closed */
    struct connection *next_closed;
    size_t place; /* in server.connections */
    struct bytes in;
    struct answer answer;
    size_t sent; /* of head and body */
    /* when the time-out began: idle, the first byte of a request, the last that was sent */
    uint64_t since_ns;
    uint64_t sending_ns; /* when the answer began */
    uint64_t number;
    struct job *job; /* that the answerer has; NULL */
    bool job_has_body, job_keeps_alive;
    bool is_sending, is_ending;
    struct live *live; /* it became a WebSocket; NULL */
    bool is_added;     /* to epoll */
    uint32_t events;   /* that epoll waits for */
};

struct server {
    struct listen_socket socket;
    struct traces traces;
    struct metrics metrics;
    struct query query; /* the one that is answered */
    char token[TOKEN_MAX + 1];
    char cookie[32];
    char url[480];
    uint64_t timeout_ns, started_ns;
    struct answerer *answerers[ANSWERERS];
    struct ending *ending;
    int epoll;
    uint64_t accept_ns; /* no descriptor was left: connections are taken again from then on; 0: they are */
    uint64_t last_connection; /* number */
    size_t live_count;        /* connections that are WebSockets */
    uint64_t folder_ns;       /* when they last made us look for new traces */
    struct connection **connections, *closed;
    size_t connection_count;
};

/* server.c */
void server_wait_for(struct server *server, struct connection *c, uint32_t events);
void server_close_connection(struct server *server, struct connection *c);

/* live.c: connections that became WebSockets. The two that return a bool: false when the connection was closed. */
#define LIVE_OUT_MAX ((size_t)1 << 20)
void live_begin(struct server *server, struct connection *c, const struct http_request *request);
void live_end(struct server *server, struct connection *c);
bool live_received(struct server *server, struct connection *c);
bool live_may_send(struct server *server, struct connection *c);
void live_tick(struct server *server);

/* route.c */
void route_request(struct server *server, const struct http_request *request, struct answer *answer);
enum answerer_kind route_answerer(const struct query_entry *entry);
/* The trace turned out to be damaged: what is whole of it is open now, and the answerer is to be asked again. */
bool route_asks_again(struct server *server, struct job *job);
/* The answer that the answerer made. */
void route_finish(struct answer *answer, struct job *job);
/* An answer without a request that could be read. */
void route_refuse(struct answer *answer, int status, const char *message);
/* Status line and headers. */
void route_write_head(const struct server *server, struct answer *answer, bool keep_alive);
void route_count(struct server *server, const struct answer *answer, uint64_t bytes, uint64_t ns);

#endif
