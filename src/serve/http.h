/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP/1.1 request, parsed from bytes that anybody may have sent: strict where a lenient reader could be
 * made to see another request than its neighbour does (RFC 9112). Requests have no body here. */
#ifndef OPSCOPE_SERVE_HTTP_H
#define OPSCOPE_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

#define HTTP_LINE_MAX 8192u   /* bytes of the request line */
#define HTTP_HEAD_MAX 32768u  /* of the request line and all headers */
#define HTTP_HEADERS_MAX 100u /* lines */

enum http_method { HTTP_GET, HTTP_HEAD, HTTP_OTHER };

struct http_request {
    enum http_method method;
    struct slice target;
    struct slice host, cookie, authorization, origin, upgrade, connection, websocket_key, websocket_version;
    bool keep_alive;
    size_t length; /* bytes of the head, with its last line break */
};

enum { HTTP_PARSED = 0, HTTP_INCOMPLETE = 1 };

/* HTTP_PARSED, HTTP_INCOMPLETE (more bytes may make it one), or the status of the refusal: 400, 413, 414, 431, 505. The
 * slices point into `data`. */
int http_parse(struct http_request *request, const char *data, size_t length);

const char *http_status_text(int status);

/* Is one of the comma-separated words of a header this one, in any case? */
bool http_has_word(struct slice header, const char *word);

/* "127.0.0.1:7950", "[::1]", "localhost:80": does the Host header name this machine's loopback? A page from elsewhere
 * whose name was made to resolve to 127.0.0.1 sends its own name. */
bool http_host_is_loopback(struct slice host);

/* The value of a cookie; no data when it is not there. */
struct slice http_cookie(struct slice cookies, const char *name);

#endif
