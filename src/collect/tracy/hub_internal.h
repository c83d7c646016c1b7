/* SPDX-License-Identifier: Apache-2.0 */
/* What hub.c (sessions) and relay.c (the same with a capture tool in between) share. */
#ifndef OPSCOPE_COLLECT_TRACY_HUB_INTERNAL_H
#define OPSCOPE_COLLECT_TRACY_HUB_INTERNAL_H

#include "collect/tracy/capture.h"
#include "collect/tracy/hub.h"

enum relay_state {
    RELAY_NONE,
    RELAY_LISTENING, /* for the tool */
    RELAY_HELLO,     /* it is connected, and has not said which version it speaks */
    RELAY_OPEN,      /* everything goes through */
    RELAY_DRAINING,  /* the client has gone; the rest goes to the tool */
    RELAY_OVER,
};

struct relay {
    enum relay_state state;
    struct tracy_capture capture;
    int fd; /* the listening socket, then that of the tool; -1: none */
    uint8_t hello[TRACY_HELLO_BYTES];
    size_t hello_length;
    struct bytes to_tool, to_client; /* that could not be sent yet */
    uint64_t deadline_ns;
    bool is_given_up; /* a line has said why */
    bool has_asked;   /* a part of a question may have been sent */
    bool is_deaf;     /* we could not read what the client sent; the tool may */
    bool is_paused;   /* the client is not read: the tool is slower */
};

struct client {
    struct client *next;
    struct tracy_hub *hub;
    struct tracy_place place;
    struct tracy_place others[TRACY_MAX_PLACES]; /* where else it may be, if not there */
    size_t other_count;
    int fd;           /* -1: not connected */
    uint32_t attempt; /* how many versions were tried */
    uint32_t version;
    bool is_connecting; /* until the kernel says that it is done */
    bool is_welcome;
    bool is_late;              /* it does not answer, and the user knows */
    struct tracy_trace *trace; /* NULL: it is only let go */
    uint64_t last_ns;          /* its newest event when that was last looked at */
    int64_t least_delay_ns; /* the shortest time that an event took to come here; INT64_MAX: none has come */
    bool is_slow;           /* its events come late, and the user knows */
    uint8_t tail[TRACY_QUERY_BYTES];
    size_t tail_length; /* rest of a question that was sent in part */
    uint64_t deadline_ns;
    struct relay relay;
};

struct tracy_hub {
    struct tracy_hub_options options;
    int epoll_fd;
    struct clock_map clock;
    uint32_t last_version; /* that a client had; 0: none yet */
    uint32_t captures;     /* that were started */
    struct client *clients;
    uint8_t *room;
    struct tracy_hub_stats stats;
    bool is_stopped;
};

/* hub.c */
void client_notice(const struct client *c, const char *text);
void client_watch(struct client *c, int operation, uint32_t events);
void client_connect_as(struct client *c, uint32_t version);
void client_connect_next(struct client *c);

/* relay.c: events of the tool's socket carry the address of the client plus one. */
#define RELAY_EVENT 1u
/* False: there is no tool, or it could not be started; the client is connected as always. */
bool relay_begin(struct client *c);
void relay_step(struct client *c);
/* What the client sent. */
void relay_pass_on(struct client *c, const uint8_t *data, size_t length);
/* The tool is of no use any more; a line says why. */
void relay_give_up(struct client *c, const char *why);
bool relay_is_open(const struct client *c);
/* The client's side is closed: the rest goes to the tool. */
void relay_drain(struct client *c);
/* Time limits. */
void relay_tick(struct client *c, uint64_t now_ns);
/* Waits for the tool, and says what came of it. */
void relay_end(struct client *c);

#endif
