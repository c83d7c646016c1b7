/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a client of `opscope view` sends before anybody knows who it is: the head of a request, and frames of a
 * WebSocket. What is parsed must lie in the input, and must not depend on how it was cut into pieces. */
#include <stdlib.h>

#include "serve/websocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_inside(struct slice slice, const char *data, size_t length)
{
    check(!slice.data || (slice.data >= data && slice.length <= length &&
                          (size_t)(slice.data - data) <= length - slice.length));
}

static void parse_request(const char *data, size_t size)
{
    struct http_request request, again;
    struct bytes out = {0};
    int status = http_parse(&request, data, size);
    check(status == HTTP_PARSED || status == HTTP_INCOMPLETE || (status >= 400 && status < 600));
    if (status != HTTP_PARSED)
        return;
    check(request.length <= size && request.length <= HTTP_HEAD_MAX && request.target.length > 0);
    const struct slice slices[] = {request.target,        request.host,          request.cookie,
                                   request.authorization, request.origin,        request.upgrade,
                                   request.connection,    request.websocket_key, request.websocket_version};
    for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++)
        check_inside(slices[i], data, request.length);
    check(http_parse(&again, data, request.length) == HTTP_PARSED && again.length == request.length);
    check(http_parse(&again, data, request.length - 1) != HTTP_PARSED);
    http_host_is_loopback(request.host);
    check_inside(http_cookie(request.cookie, "opscope_7950"), data, request.length);
    if (websocket_check(&request) == 0)
        websocket_append_handshake(&out, &request);
    bytes_free(&out);
}

static void parse_frames(const uint8_t *data, size_t size)
{
    struct websocket_frame frame;
    struct bytes out = {0};
    while (size && websocket_parse(&frame, data, size) == 0) {
        check(frame.taken <= size && frame.taken >= 6 && frame.length <= WEBSOCKET_FRAME_MAX);
        websocket_append(&out, (enum websocket_opcode)frame.opcode, frame.data, frame.length);
        data += frame.taken;
        size -= frame.taken;
    }
    bytes_free(&out);
}

/* The first byte chooses. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    uint8_t *copy = malloc(size - 1); /* so that one byte too far is seen */
    if (!copy)
        return 0;
    memcpy(copy, data + 1, size - 1);
    if (data[0] == 'W')
        parse_frames(copy, size - 1);
    else
        parse_request((const char *)copy, size - 1);
    free(copy);
    return 0;
}
