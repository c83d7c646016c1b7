/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/websocket.h"

#include <string.h>

#include "text/base64.h"

/* --- SHA-1, which the handshake asks for; nothing is kept secret with it --- */

static uint32_t rotate(uint32_t value, unsigned by)
{
    return value << by | value >> (32 - by);
}

static void sha1_block(uint32_t state[5], const uint8_t *block)
{
    uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c) | (~b & d)
                     : i < 40 ? b ^ c ^ d
                     : i < 60 ? (b & c) | (b & d) | (c & d)
                              : b ^ c ^ d;
        uint32_t k = i < 20 ? 0x5a827999u : i < 40 ? 0x6ed9eba1u : i < 60 ? 0x8f1bbcdcu : 0xca62c1d6u;
        uint32_t next = rotate(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

/* Of at most 119 bytes, which is more than a key and the constant after it have. */
static void sha1(const char *data, size_t length, uint8_t digest[20])
{
    uint32_t state[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    uint8_t blocks[128] = {0};
    size_t count = length < 56 ? 1 : 2;
    memcpy(blocks, data, length);
    blocks[length] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        blocks[64 * count - 1 - i] = (uint8_t)((uint64_t)length * 8 >> (8 * i));
    for (size_t i = 0; i < count; i++)
        sha1_block(state, blocks + 64 * i);
    for (unsigned i = 0; i < 20; i++)
        digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

/* --- the handshake --- */

#define KEY_LENGTH 24u
static const char key_constant[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

int websocket_check(const struct http_request *request)
{
    if (!http_has_word(request->upgrade, "websocket") || !http_has_word(request->connection, "upgrade") ||
        !slice_is(request->websocket_version, "13"))
        return 426;
    if (request->websocket_key.length != KEY_LENGTH || request->method != HTTP_GET)
        return 400;
    if (!request->origin.data) /* not a browser */
        return 0;
    struct slice origin = slice_begins(request->origin, "http://")
                              ? slice_from(request->origin.data + 7, request->origin.length - 7)
                              : (struct slice){0};
    return origin.data && request->host.data && slice_equal(origin, request->host) ? 0 : 403;
}

void websocket_append_handshake(struct bytes *out, const struct http_request *request)
{
    char text[KEY_LENGTH + sizeof key_constant];
    uint8_t digest[20];
    memcpy(text, request->websocket_key.data, KEY_LENGTH);
    memcpy(text + KEY_LENGTH, key_constant, sizeof key_constant);
    sha1(text, KEY_LENGTH + sizeof key_constant - 1, digest);
    bytes_append_text(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Accept: ");
    base64_append(out, digest, sizeof digest);
    bytes_append_text(out, "\r\n\r\n");
}

/* --- frames --- */

static bool is_known(unsigned opcode)
{
    return opcode <= WEBSOCKET_BINARY || (opcode >= WEBSOCKET_CLOSE && opcode <= WEBSOCKET_PONG);
}

int websocket_parse(struct websocket_frame *frame, const uint8_t *data, size_t length)
{
    if (length < 2)
        return 1;
    frame->is_final = data[0] & 0x80;
    frame->opcode = data[0] & 15;
    size_t head = 2, size = data[1] & 127;
    bool is_control = frame->opcode >= WEBSOCKET_CLOSE;
    if (data[0] & 0x70 || !is_known(frame->opcode) || !(data[1] & 0x80))
        return WEBSOCKET_PROTOCOL_ERROR; /* an extension, or not masked as a client has to */
    if (is_control && (size > 125 || !frame->is_final))
        return WEBSOCKET_PROTOCOL_ERROR;
    if (size == 127)
        return WEBSOCKET_TOO_BIG;
    if (size == 126) {
        if (length < 4)
            return 1;
        size = (size_t)data[2] << 8 | data[3];
        head = 4;
    }
    if (size > WEBSOCKET_FRAME_MAX)
        return WEBSOCKET_TOO_BIG;
    if (length < head + 4 + size)
        return 1;
    const uint8_t *mask = data + head;
    for (size_t i = 0; i < size; i++)
        frame->data[i] = data[head + 4 + i] ^ mask[i % 4];
    frame->length = size;
    frame->taken = head + 4 + size;
    return 0;
}

void websocket_append(struct bytes *out, enum websocket_opcode opcode, const void *data, size_t length)
{
    uint8_t head[4] = {(uint8_t)(0x80 | opcode), (uint8_t)(length < 126 ? length : 126),
                       (uint8_t)(length >> 8), (uint8_t)length};
    if (length > UINT16_MAX)
        return; /* nothing of ours is so long */
    bytes_append(out, head, length < 126 ? 2 : 4);
    bytes_append(out, data, length);
}

void websocket_append_close(struct bytes *out, unsigned code)
{
    const uint8_t data[2] = {(uint8_t)(code >> 8), (uint8_t)code};
    websocket_append(out, WEBSOCKET_CLOSE, data, sizeof data);
}
