/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http.h"

#include <strings.h>

#include "base/count_of.h"

static bool is_token_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_word(struct slice slice, const char *word)
{
    return slice.length == strlen(word) && strncasecmp(slice.data, word, slice.length) == 0;
}

bool http_has_word(struct slice header, const char *word)
{
    while (header.length) {
        struct slice part = slice_before(header, ",");
        size_t step = part.length < header.length ? part.length + 1 : part.length;
        if (is_word(slice_trim(part), word))
            return true;
        header = slice_from(header.data + step, header.length - step);
    }
    return false;
}

/* --- the request line --- */

static int parse_method(struct http_request *r, struct slice method)
{
    if (method.length == 0 || method.length > 32)
        return 400;
    for (size_t i = 0; i < method.length; i++) {
        if (!is_token_byte(method.data[i]))
            return 400;
    }
    r->method = slice_is(method, "GET") ? HTTP_GET : slice_is(method, "HEAD") ? HTTP_HEAD : HTTP_OTHER;
    return 0;
}

static int parse_line(struct http_request *r, struct slice line)
{
    struct slice method = slice_before(line, " "), rest = slice_after(line, " ");
    int status = parse_method(r, method);
    if (status || !rest.data)
        return 400;
    struct slice target = slice_before(rest, " "), version = slice_after(rest, " ");
    if (target.length == 0 || !version.data)
        return 400;
    for (size_t i = 0; i < target.length; i++) {
        if (target.data[i] <= 0x20 || target.data[i] >= 0x7f)
            return 400;
    }
    r->target = target;
    r->keep_alive = slice_is(version, "HTTP/1.1");
    if (r->keep_alive || slice_is(version, "HTTP/1.0"))
        return 0;
    return slice_begins(version, "HTTP/") ? 505 : 400;
}

/* --- headers --- */

static int take_header(struct http_request *r, struct slice name, struct slice value)
{
    const struct {
        const char *name;
        struct slice *slot;
    } kept[] = {{"host", &r->host},
                {"cookie", &r->cookie},
                {"authorization", &r->authorization},
                {"origin", &r->origin},
                {"upgrade", &r->upgrade},
                {"connection", &r->connection},
                {"sec-websocket-key", &r->websocket_key},
                {"sec-websocket-version", &r->websocket_version}};
    for (size_t i = 0; i < COUNT_OF(kept); i++) {
        if (!is_word(name, kept[i].name))
            continue;
        if (kept[i].slot->data) /* which of the two would count? */
            return 400;
        *kept[i].slot = value;
        return 0;
    }
    if (is_word(name, "transfer-encoding"))
        return 413;
    if (is_word(name, "content-length") && !slice_is(value, "0"))
        return 413;
    return 0;
}

static int parse_header(struct http_request *r, struct slice line)
{
    struct slice name = slice_before(line, ":"), value = slice_after(line, ":");
    if (!value.data || name.length == 0)
        return 400;
    for (size_t i = 0; i < name.length; i++) {
        if (!is_token_byte(name.data[i]))
            return 400; /* also a line that continues the one before */
    }
    for (size_t i = 0; i < value.length; i++) {
        unsigned char c = (unsigned char)value.data[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f)
            return 400;
    }
    value = slice_trim(value);
    return take_header(r, name, value);
}

/* The line at `position`, without its end; moves on. False when its end is not there yet. */
static bool next_line(const char *data, size_t length, size_t *position, struct slice *line)
{
    const char *end = length > *position ? memmem(data + *position, length - *position, "\r\n", 2) : NULL;
    if (!end)
        return false;
    *line = slice_from(data + *position, (size_t)(end - data) - *position);
    *position = (size_t)(end - data) + 2;
    return true;
}

static int finish(struct http_request *r, size_t length)
{
    r->length = length;
    if (r->keep_alive && !r->host.data)
        return 400;
    if (http_has_word(r->connection, "close"))
        r->keep_alive = false;
    return HTTP_PARSED;
}

int http_parse(struct http_request *request, const char *data, size_t length)
{
    struct slice line;
    size_t position = 0, headers = 0;
    *request = (struct http_request){0};
    size_t seen = length < HTTP_HEAD_MAX ? length : HTTP_HEAD_MAX;
    if (seen >= 2 && memcmp(data, "\r\n", 2) == 0) /* some send one after a body */
        position = 2;
    size_t begin = position;
    if (!next_line(data, seen, &position, &line))
        return length - begin > HTTP_LINE_MAX ? 414 : HTTP_INCOMPLETE;
    if (line.length > HTTP_LINE_MAX)
        return 414;
    int status = parse_line(request, line);
    while (!status) {
        if (!next_line(data, seen, &position, &line))
            return length >= HTTP_HEAD_MAX ? 431 : HTTP_INCOMPLETE;
        if (line.length == 0)
            return finish(request, position);
        status = ++headers > HTTP_HEADERS_MAX ? 431 : parse_header(request, line);
    }
    return status;
}

/* --- answers --- */

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {{101, "Switching Protocols"},
                 {200, "OK"},
                 {303, "See Other"},
                 {400, "Bad Request"},
                 {401, "Unauthorized"},
                 {403, "Forbidden"},
                 {404, "Not Found"},
                 {405, "Method Not Allowed"},
                 {408, "Request Timeout"},
                 {413, "Content Too Large"},
                 {414, "URI Too Long"},
                 {421, "Misdirected Request"},
                 {426, "Upgrade Required"},
                 {431, "Request Header Fields Too Large"},
                 {500, "Internal Server Error"},
                 {503, "Service Unavailable"},
                 {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        if (texts[i].status == status)
            return texts[i].text;
    }
    return "Error";
}

/* --- who is asked --- */

bool http_host_is_loopback(struct slice host)
{
    struct slice name = host;
    if (!host.length)
        return false;
    if (host.data[0] == '[') {
        const char *end = memchr(host.data, ']', host.length);
        if (!end)
            return false;
        name.length = (size_t)(end - host.data) + 1;
    } else {
        name = slice_before(host, ":");
    }
    struct slice port = slice_from(host.data + name.length, host.length - name.length);
    uint64_t number;
    if (port.length &&
        (port.data[0] != ':' || !slice_unsigned(slice_from(port.data + 1, port.length - 1), &number)))
        return false;
    return is_word(name, "localhost") || slice_is(name, "127.0.0.1") || slice_is(name, "[::1]");
}

struct slice http_cookie(struct slice cookies, const char *name)
{
    while (cookies.length) {
        struct slice part = slice_before(cookies, ";");
        size_t step = part.length < cookies.length ? part.length + 1 : part.length;
        struct slice trimmed = slice_trim(part), value = slice_after(trimmed, "=");
        if (value.data && slice_is(slice_before(trimmed, "="), name))
            return value;
        cookies = slice_from(cookies.data + step, cookies.length - step);
    }
    return (struct slice){0};
}
