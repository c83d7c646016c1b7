/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its answer: who may ask, which file or question is meant, and the headers that keep a browser from
 * doing more with an answer than showing it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "base/text_copy.h"
#include "serve/assets.h"
#include "serve/internal.h"
#include "serve/websocket.h"
#include "text/markup_write.h"

#define TYPE_HTML "text/html; charset=utf-8"
#define TYPE_JSON "application/json; charset=utf-8"

static const char security_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* --- answers --- */

static void answer_made(struct answer *answer, int status, const char *type)
{
    answer->status = status;
    answer->type = type;
    answer->body = answer->made.data;
    answer->body_length = answer->made.length;
}

static void answer_error(struct answer *answer, int status, const char *message)
{
    bytes_clear(&answer->made);
    answer->made.failed = false;
    bytes_append_text(&answer->made, "{\"error\": ");
    json_append_string(&answer->made, message, strlen(message));
    bytes_append_text(&answer->made, "}\n");
    answer->is_api = true;
    answer_made(answer, status, TYPE_JSON);
}

static void answer_page(struct answer *answer, int status, const char *title, const char *text)
{
    bytes_clear(&answer->made);
    answer->made.failed = false;
    bytes_append_text(&answer->made,
                      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>opscope</title><h1>");
    html_append_text(&answer->made, title);
    bytes_append_text(&answer->made, "</h1><p>");
    html_append_text(&answer->made, text);
    bytes_append_text(&answer->made, "</p></html>\n");
    answer->is_api = true;
    answer_made(answer, status, TYPE_HTML);
}

void route_refuse(struct answer *answer, int status, const char *message)
{
    answer_error(answer, status, message ? message : http_status_text(status));
    answer->metric = "refused";
}

void route_write_head(const struct server *server, struct answer *answer, bool keep_alive)
{
    struct bytes *h = &answer->head;
    bytes_clear(h);
    bytes_append_format(h, "HTTP/1.1 %d %s\r\n", answer->status, http_status_text(answer->status));
    bytes_append_format(h, "Content-Type: %s\r\nContent-Length: %zu\r\n", answer->type, answer->body_length);
    bytes_append_format(h, "Content-Security-Policy: %s\r\n", security_policy);
    bytes_append_text(
        h,
        "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
        "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin-allow-popups\r\n");
    bytes_append_format(h, "Cache-Control: %s\r\n", answer->is_api ? "no-store" : "no-cache");
    if (answer->is_damaged)
        bytes_append_text(h, "Opscope-Damaged: 1\r\n");
    if (answer->status == 405)
        bytes_append_text(h, "Allow: GET, HEAD\r\n");
    if (answer->status == 401)
        bytes_append_text(h, "WWW-Authenticate: Bearer\r\n");
    if (answer->location)
        bytes_append_format(h, "Location: %s\r\n", answer->location);
    if (answer->sets_cookie)
        bytes_append_format(h, "Set-Cookie: %s=%s; Path=/; HttpOnly; SameSite=Lax\r\n", server->cookie,
                            server->token);
    bytes_append_format(h, "Connection: %s\r\n\r\n", keep_alive ? "keep-alive" : "close");
}

/* --- who may ask --- */

static bool has_token(const struct server *server, const struct http_request *request)
{
    const char *given = query_text(&server->query, "token");
    struct slice cookie = http_cookie(request->cookie, server->cookie);
    struct slice bearer = slice_begins(request->authorization, "Bearer ")
                              ? slice_from(request->authorization.data + 7, request->authorization.length - 7)
                              : (struct slice){0};
    return (given && token_is(server->token, given, strlen(given))) ||
           (cookie.data && token_is(server->token, cookie.data, cookie.length)) ||
           (bearer.data && token_is(server->token, bearer.data, bearer.length));
}

/* On loopback the host has to be that, too: a page from elsewhere whose name leads here sends its own. */
static bool may_ask(struct server *server, const struct http_request *request, struct answer *answer)
{
    bool is_host = !server->socket.is_loopback || !request->host.data || http_host_is_loopback(request->host);
    if (is_host && has_token(server, request))
        return true;
    if (!is_host)
        answer_page(answer, 421, "This is not that host",
                    "Ask for localhost or 127.0.0.1, as in the link that `opscope view` printed.");
    else if (strncmp(server->query.path, "/api/", 5) == 0)
        answer_error(answer, 401,
                     "this needs the token of the link that opscope view printed, as the header "
                     "'Authorization: Bearer TOKEN' (docs/http-api.md)");
    else
        answer_page(
            answer, 401, "A token is needed",
            "This needs the link that `opscope view` or `opscope run --view` printed when it started: the "
            "token is in it.");
    answer->metric = "refused";
    return false;
}

/* --- files of the page --- */

const struct web_asset *web_asset_find(const char *path)
{
    for (const struct web_asset *asset = web_assets; asset->path; asset++) {
        if (strcmp(asset->path, path) == 0)
            return asset;
    }
    return NULL;
}

static bool answer_asset(const char *path, struct answer *answer)
{
    const struct web_asset *asset = web_asset_find(strcmp(path, "/") == 0 ? "/index.html" : path);
    if (asset) {
        answer->status = 200;
        answer->type = asset->type;
        answer->body = asset->data;
        answer->body_length = asset->length;
        answer->metric = "page";
        return true;
    }
    if (strcmp(path, "/") != 0)
        return false;
    answer_page(answer, 200, "opscope was built without its page",
                "The API is there (docs/http-api.md). For the page, " WEB_ASSETS_HOW ".");
    answer->metric = "page";
    return true;
}

/* --- questions --- */

static const char no_memory[] =
    "the answer needs more memory than this server may take: ask for a shorter window, or start it with more "
    "(--memory)";

static int status_of(int result)
{
    return result == -QUERY_REFUSED ? 400 : result == -ENOENT ? 404 : 500;
}

static void answer_result(struct answer *answer, const struct query_entry *entry, int result,
                          struct error *err)
{
    if (result == 0 && answer->made.length > QUERY_ANSWER_MAX)
        result = error_set(err, QUERY_REFUSED, "the answer is too long: ask for less");
    if (result == -ENOMEM || answer->made.failed)
        answer_error(answer, 503, no_memory);
    else if (result)
        answer_error(answer, status_of(result), err->message);
    else
        answer_made(answer, 200, entry->is_binary ? "application/octet-stream" : TYPE_JSON);
}

enum answerer_kind route_answerer(const struct query_entry *entry)
{
    return entry->is_soon ? ANSWERER_SOON : ANSWERER_COUNTS;
}

bool route_asks_again(struct server *server, struct job *job)
{
    struct serve_trace *found[2] = {NULL, NULL};
    size_t count = job->other ? 2 : 1;
    bool is_damaged = false;
    enum answerer_kind kind = route_answerer(job->entry);
    if (job->status != -EINVAL || job->is_second_try)
        return false;
    for (size_t i = 0; i < count; i++)
        is_damaged |= traces_salvage(&server->traces, job->ids[i]);
    for (size_t i = 0; i < count && is_damaged; i++) {
        found[i] = traces_for_answerer(&server->traces, job->ids[i], kind, server->answerers[kind], NULL);
        is_damaged = found[i] != NULL;
    }
    if (!is_damaged)
        return false;
    job->trace = found[0];
    job->other = found[1];
    job->is_salvaged = trace_get_info(job->trace->trace)->is_salvaged;
    job->is_second_try = true;
    job->status = 0;
    job->err = (struct error){0};
    bytes_clear(&job->out);
    return true;
}

void route_finish(struct answer *answer, struct job *job)
{
    bytes_free(&answer->made);
    answer->made = job->out;
    job->out = (struct bytes){0};
    answer->is_damaged = job->is_salvaged;
    answer_result(answer, job->entry, job->status, &job->err);
}

/* Gives the question to the answerer. */
static void answer_later(struct server *server, const uint64_t *ids, const struct query_entry *entry,
                         struct slice target, struct answer *answer)
{
    struct error err = {0};
    struct job *job = calloc(1, sizeof *job);
    char *copy = text_copy(target.data, target.length);
    enum answerer_kind kind = route_answerer(entry);
    struct answerer *answerer = server->answerers[kind];
    struct serve_trace *trace =
        job && copy ? traces_for_answerer(&server->traces, ids[0], kind, answerer, &err) : NULL;
    struct serve_trace *other = trace && entry->answer_two
                                    ? traces_for_answerer(&server->traces, ids[1], kind, answerer, &err)
                                    : NULL;
    if (!trace || (entry->answer_two && !other)) {
        free(job);
        free(copy);
        bool is_memory = !err.code || err.code == ENOMEM;
        answer_error(answer, is_memory ? 503 : 500, is_memory ? no_memory : err.message);
        return;
    }
    *job = (struct job){.entry = entry,
                        .trace = trace,
                        .other = other,
                        .ids = {ids[0], other ? ids[1] : 0},
                        .is_salvaged = trace_get_info(trace->trace)->is_salvaged,
                        .target = copy,
                        .target_length = target.length};
    answer->job = job;
}

static void answer_query(struct server *server, struct slice number, const char *name, struct slice target,
                         struct answer *answer)
{
    struct error err = {0};
    uint64_t id;
    const struct query_entry *entry = query_find(name);
    if (!entry || !slice_unsigned(number, &id)) {
        answer_error(answer, 404, "there is no such question (docs/http-api.md)");
        return;
    }
    answer->metric = entry->name;
    struct serve_trace *st = traces_get(&server->traces, id, &err);
    if (!st) {
        answer_error(answer, err.code == ENOENT ? 404 : 500, err.message);
        return;
    }
    if (entry->is_long) {
        answer_later(server, &id, entry, target, answer);
        return;
    }
    int result = entry->answer(st, &server->query, &answer->made, &err);
    if (result == -EINVAL && !trace_get_info(st->trace)->is_salvaged && traces_salvage(&server->traces, id)) {
        bytes_clear(&answer->made);
        err = (struct error){0};
        result = entry->answer(st, &server->query, &answer->made, &err);
    }
    answer->is_damaged = trace_get_info(st->trace)->is_salvaged;
    answer_result(answer, entry, result, &err);
}

/* /api/NAME?a=N&b=M */
static void answer_two(struct server *server, const struct query_entry *entry, struct slice target,
                       struct answer *answer)
{
    static const char *const names[] = {"a", "b"};
    struct error err = {0};
    uint64_t ids[2];
    answer->metric = entry->name;
    for (size_t i = 0; i < 2; i++) {
        const char *text = query_text(&server->query, names[i]);
        if (!text || !slice_unsigned(slice_of(text), &ids[i])) {
            answer_error(answer, 400, "a and b: the numbers of two traces are needed (/api/traces)");
            return;
        }
        if (!traces_get(&server->traces, ids[i], &err)) {
            answer_error(answer, err.code == ENOENT ? 404 : 500, err.message);
            return;
        }
    }
    answer_later(server, ids, entry, target, answer);
}

static void append_metric(struct bytes *out, const char *name, const char *what, const char *type)
{
    bytes_append_format(out, "# HELP opscope_%s %s\n# TYPE opscope_%s %s\n", name, what, name, type);
}

static void answer_metrics(struct server *server, struct answer *answer)
{
    const struct metrics *m = &server->metrics;
    struct bytes *out = &answer->made;
    append_metric(out, "requests_total", "Requests by what they asked for.", "counter");
    for (size_t i = 0; i < m->class_count; i++)
        bytes_append_format(out, "opscope_requests_total{class=\"%s\"} %" PRIu64 "\n", m->classes[i].name,
                            m->classes[i].requests);
    append_metric(out, "request_seconds_total", "Time spent answering.", "counter");
    for (size_t i = 0; i < m->class_count; i++)
        bytes_append_format(out, "opscope_request_seconds_total{class=\"%s\"} %.9f\n", m->classes[i].name,
                            (double)m->classes[i].ns / 1e9);
    append_metric(out, "response_bytes_total", "Bytes of the answers.", "counter");
    for (size_t i = 0; i < m->class_count; i++)
        bytes_append_format(out, "opscope_response_bytes_total{class=\"%s\"} %" PRIu64 "\n",
                            m->classes[i].name, m->classes[i].bytes);
    append_metric(out, "responses_total", "Answers by status.", "counter");
    for (unsigned i = 1; i < 6; i++)
        bytes_append_format(out, "opscope_responses_total{status=\"%uxx\"} %" PRIu64 "\n", i,
                            m->by_status[i]);
    append_metric(out, "connections_open", "Connections now.", "gauge");
    bytes_append_format(out, "opscope_connections_open %zu\n", m->open);
    append_metric(out, "connections_total", "Connections so far.", "counter");
    bytes_append_format(out, "opscope_connections_total %" PRIu64 "\n", m->connections);
    append_metric(out, "connections_refused_total", "Connections over the limit.", "counter");
    bytes_append_format(out, "opscope_connections_refused_total %" PRIu64 "\n", m->refused);
    append_metric(out, "connections_timed_out_total", "Connections closed since the client was idle or slow.",
                  "counter");
    bytes_append_format(out, "opscope_connections_timed_out_total %" PRIu64 "\n", m->timed_out);
    append_metric(out, "accept_pauses_total", "Times that no descriptor was left for a connection.",
                  "counter");
    bytes_append_format(out, "opscope_accept_pauses_total %" PRIu64 "\n", m->paused);
    answer->metric = "metrics";
    answer_made(answer, 200, "text/plain; version=0.0.4; charset=utf-8");
}

static void answer_progress(struct server *server, struct answer *answer)
{
    struct answerer_progress progress = {0};
    struct error err = {0};
    bool is_any = answerer_progress(server->answerers[ANSWERER_COUNTS], &progress);
    struct json j = query_json(&answer->made);
    json_object(&j, JSON_INLINE);
    json_member_text(&j, "question", progress.question);
    json_key(&j, "trace");
    if (is_any)
        json_unsigned(&j, progress.trace);
    else
        json_null(&j);
    json_member_unsigned(&j, "zones_read", progress.zones_read);
    json_member_unsigned(&j, "zones", progress.zones);
    json_end(&j);
    answer->metric = "progress";
    if (query_json_end(&j, &answer->made, &err) == 0)
        answer_made(answer, 200, TYPE_JSON);
    else
        answer_error(answer, 503, err.message);
}

static void answer_live(const struct http_request *request, struct answer *answer)
{
    int status = websocket_check(request);
    answer->metric = "live";
    answer->is_live = status == 0;
    if (status)
        answer_error(answer, status,
                     status == 403 ? "a page from elsewhere may not ask"
                                   : "this is for WebSockets (docs/http-api.md)");
}

static void answer_path(struct server *server, const char *path, const struct http_request *request,
                        struct answer *answer)
{
    struct slice target = request->target;
    struct error err = {0};
    struct slice rest = slice_of(path);
    const struct query_entry *two = query_find_two(path);
    if (answer_asset(path, answer))
        return;
    answer->is_api = true;
    if (strcmp(path, "/api/traces") == 0) {
        answer->metric = "traces";
        if (traces_answer(&server->traces, &answer->made, &err) == 0)
            answer_made(answer, 200, TYPE_JSON);
        else
            answer_error(answer, 500, err.message);
    } else if (strcmp(path, "/api/live") == 0) {
        answer_live(request, answer);
    } else if (two) {
        answer_two(server, two, target, answer);
    } else if (strcmp(path, "/api/progress") == 0) {
        answer_progress(server, answer);
    } else if (strcmp(path, "/metrics") == 0) {
        answer_metrics(server, answer);
    } else if (slice_begins(rest, "/api/t/")) {
        rest = slice_from(path + 7, rest.length - 7);
        struct slice name = slice_after(rest, "/");
        answer_query(server, slice_before(rest, "/"), name.data ? name.data : "", target, answer);
    } else {
        answer_error(answer, 404, "there is nothing here (docs/http-api.md)");
    }
}

void route_request(struct server *server, const struct http_request *request, struct answer *answer)
{
    struct error err = {0};
    bytes_clear(&answer->made);
    answer->made.failed = false;
    answer->location = NULL;
    answer->job = NULL;
    answer->is_live = false;
    answer->sets_cookie = answer->is_api = answer->is_damaged = false;
    answer->metric = "other";
    int result = query_parse(&server->query, request->target.data, request->target.length, &err);
    if (result) {
        answer_error(answer, result == -E2BIG ? 414 : 400, err.message);
        return;
    }
    if (!may_ask(server, request, answer))
        return;
    if (request->method == HTTP_OTHER) {
        answer_error(answer, 405, "only GET and HEAD are answered");
        return;
    }
    if (strcmp(server->query.path, "/") == 0 && query_text(&server->query, "token")) {
        /* The token moves from the address, which people copy, to a cookie. */
        answer_page(answer, 303, "opscope", "The page is at /.");
        answer->location = "/";
        answer->sets_cookie = true;
        return;
    }
    answer_path(server, server->query.path, request, answer);
}

void route_count(struct server *server, const struct answer *answer, uint64_t bytes, uint64_t ns)
{
    struct metrics *m = &server->metrics;
    size_t i = 0;
    while (i < m->class_count && strcmp(m->classes[i].name, answer->metric) != 0)
        i++;
    if (i == m->class_count) {
        if (i == METRIC_CLASSES)
            return;
        m->classes[m->class_count++] = (struct metric){.name = answer->metric};
    }
    m->classes[i].requests++;
    m->classes[i].bytes += bytes;
    m->classes[i].ns += ns;
    m->by_status[answer->status / 100 < 6 ? answer->status / 100 : 5]++;
}
