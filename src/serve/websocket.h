/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket (RFC 6455) as far as the page needs it: the server sends short texts, the client sends nothing but control
 * frames. What it sends beyond that is read past, within limits. */
#ifndef OPSCOPE_SERVE_WEBSOCKET_H
#define OPSCOPE_SERVE_WEBSOCKET_H

#include "base/bytes.h"
#include "serve/http.h"

#define WEBSOCKET_FRAME_MAX 4096u /* bytes that a client may send in one frame */

enum websocket_opcode {
    WEBSOCKET_CONTINUATION = 0,
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

enum {
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_NORMAL = 1000
};

/* 0: shake hands; else the status of the refusal: 400, 403 (a page from elsewhere asks), 426 (not a WebSocket). */
int websocket_check(const struct http_request *request);
/* Status line and headers of the answer to such a request. */
void websocket_append_handshake(struct bytes *out, const struct http_request *request);

struct websocket_frame {
    unsigned opcode; /* enum websocket_opcode */
    bool is_final;
    uint8_t data[WEBSOCKET_FRAME_MAX];
    size_t length;
    size_t taken; /* bytes of the input */
};

/* 0: a frame; 1: more bytes are needed; else the code to close with. */
int websocket_parse(struct websocket_frame *frame, const uint8_t *data, size_t length);
void websocket_append(struct bytes *out, enum websocket_opcode opcode, const void *data, size_t length);
void websocket_append_close(struct bytes *out, unsigned code);

#endif
