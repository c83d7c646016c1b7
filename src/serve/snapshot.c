/* SPDX-License-Identifier: Apache-2.0 */
/* Answers stand in elements <script type="application/json" data-ask="QUESTION">, which no browser runs: web/src/model/
 * embedded.ts reads them. A '<' in them is written \u003c, so that no text in a trace can end its element. */
#include "serve/snapshot.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/count_of.h"
#include "load/side.h"
#include "present/output.h"
#include "serve/assets.h"
#include "text/base64.h"

#define RUNS_DETAILED 4000u      /* runs with all that is known of them */
#define RUNS_SEARCHED 200000000u /* each is looked for among all runs, ops and names: of many, fewer */
#define GROUPS_MAX 5000u
#define OPS_DETAILED 400u /* ops with their runs and what launched them ... */
#define OP_RUNS_MAX 200u  /* ... the longest of each */
#define OP_BYTES_MAX ((size_t)2 << 20)
#define SERIES_PIXELS 4096u
#define SERIES_POINTS_MAX ((size_t)256 << 10) /* of all counters and pools */
#define NAMES_PER_PAGE 1024u

/* What a file can be without. */
enum part {
    PART_TIMELINE,
    PART_NAMES,
    PART_OPS,
    PART_ZONES,
    PART_FLAME,
    PART_MESSAGES,
    PART_SERIES,
    PART_RUNS,
    PART_OP_RUNS,
    PART_SOURCES,
    PART_COUNT,
    PART_NEEDED = PART_COUNT,
};

static const char *const part_texts[PART_COUNT] = {
    [PART_TIMELINE] = "the timeline: there are too many tracks",
    [PART_NAMES] = "names of some zones",
    [PART_OPS] = "a table of ops",
    [PART_ZONES] = "statistics of zones",
    [PART_FLAME] = "a flame graph",
    [PART_MESSAGES] = "messages",
    [PART_SERIES] = "counters or memory over time",
    [PART_RUNS] = "details of the shorter runs",
    [PART_OP_RUNS] = "the runs of ops that took less time",
    [PART_SOURCES] = "source lines of code that took less time",
};

struct snapshot {
    struct serve_trace *st;
    struct bytes *out;
    struct bytes answer; /* scratch */
    struct query query;
    unsigned index;   /* of the trace in the file */
    const char *path; /* of the trace: for messages, not for those who read the file */
    size_t limit;     /* of out->length */
    unsigned tile;    /* zones and runs shorter than 2^tile ns are summed up */
    bool is_left_out[PART_COUNT];
};

/* What is in the file beside traces, and how the page begins. */
struct opening {
    const char *panel;
    const struct compare_made *made; /* of two traces; or NULL */
    const char *question;            /* that `answer`, JSON, answers; or NULL */
    const struct bytes *answer;
};

/* --- the files of the page --- */

int snapshot_check(struct error *err)
{
    static const char *const needed[] = {"/index.html", "/app.js", "/app.css", "/worker.js"};
    for (size_t i = 0; i < COUNT_OF(needed); i++) {
        if (!web_asset_find(needed[i]))
            return error_set(err, ENOTSUP, "this opscope was built without its page: %s", WEB_ASSETS_HOW);
    }
    return 0;
}

static void append_asset(struct bytes *out, const char *path)
{
    const struct web_asset *asset = web_asset_find(path);
    bytes_append(out, asset->data, asset->length);
}

static void append_hash(struct bytes *out, const char *path)
{
    const char *hex = web_asset_find(path)->sha256;
    uint8_t sum[32] = {0};
    for (unsigned i = 0; i < sizeof sum * 2 && hex[i]; i++)
        sum[i / 2] = (uint8_t)(sum[i / 2] << 4 | (hex[i] <= '9' ? hex[i] - '0' : (hex[i] | 32) - 'a' + 10));
    bytes_append_text(out, "'sha256-");
    base64_append(out, sum, sizeof sum);
    bytes_append_text(out, "'");
}

static void append_styles(struct bytes *out)
{
    bytes_append_text(
        out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ");
    append_hash(out, "/app.js");
    bytes_append_text(out, "; style-src ");
    append_hash(out, "/app.css");
    bytes_append_text(
        out, "; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'\">\n<style>");
    append_asset(out, "/app.css");
    bytes_append_text(out, "</style>");
}

/* JSON, in which '<' stands inside texts alone. */
static void append_escaped(struct bytes *out, const uint8_t *data, size_t length)
{
    while (length) {
        const uint8_t *found = memchr(data, '<', length);
        size_t plain = found ? (size_t)(found - data) : length;
        bytes_append(out, data, plain);
        if (found)
            bytes_append_text(out, "\\u003c");
        plain += found != NULL;
        data += plain;
        length -= plain;
    }
}

/* --- answers --- */

static void begin_answer(struct snapshot *s, const char *type, const char *question)
{
    char prefix[12] = "";
    if (s->index)
        snprintf(prefix, sizeof prefix, "%u/", s->index);
    bytes_append_format(s->out, "<script type=\"%s\" data-ask=\"%s%s\">", type, prefix, question);
}

static int end_answer(struct snapshot *s, struct error *err)
{
    bytes_append_text(s->out, "</script>\n");
    return s->out->failed || s->answer.failed ? error_no_memory(err, "the page") : 0;
}

static int add_given(struct snapshot *s, const char *question, const struct bytes *answer, struct error *err)
{
    begin_answer(s, "application/json", question);
    append_escaped(s->out, answer->data, answer->length);
    return end_answer(s, err);
}

static int ask(struct snapshot *s, const char *question, struct error *err)
{
    char name[16], target[300];
    int length = snprintf(target, sizeof target, "/%s", question);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(question, "?"), question);
    bytes_clear(&s->answer);
    int status = query_parse(&s->query, target, (size_t)length, err);
    return status ? status : query_find(name)->answer(s->st, &s->query, &s->answer, err);
}

/* A question as the API has it (docs/http-api.md) and its answer, unless the file would become too large. */
__attribute__((format(printf, 4, 5))) static int add_answer(struct snapshot *s, enum part part,
                                                            struct error *err, const char *question, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, question);
    vsnprintf(text, sizeof text, question, arguments);
    va_end(arguments);
    int status = ask(s, text, err);
    bool is_too_long = status == -QUERY_REFUSED || s->out->length + s->answer.length > s->limit;
    if (part != PART_NEEDED && is_too_long) {
        s->is_left_out[part] = true;
        return 0;
    }
    return status ? status : add_given(s, text, &s->answer, err);
}

static int add_worker(struct snapshot *s, struct error *err)
{
    const struct web_asset *asset = web_asset_find("/worker.js");
    begin_answer(s, "text/plain", "worker");
    base64_append(s->out, asset->data, asset->length);
    return end_answer(s, err);
}

/* Points of each counter or pool, so that all of them have room. */
static unsigned series_pixels(const struct snapshot *s)
{
    size_t pixels = SERIES_POINTS_MAX / (s->st->facts->counter_count + s->st->facts->pool_count + 1);
    return pixels < 16 ? 16 : pixels < SERIES_PIXELS ? (unsigned)pixels : SERIES_PIXELS;
}

static void write_left_out(const struct snapshot *s, struct json *j)
{
    bool is_summed = s->tile > 0 && s->tile < QUERY_NO_ROWS;
    json_member_unsigned(j, "series_px", series_pixels(s));
    json_member_unsigned(j, "summed_ns", is_summed ? UINT64_C(1) << s->tile : 0);
    json_key(j, "left_out");
    json_array(j, JSON_LINES);
    for (unsigned i = 0; i < PART_COUNT; i++) {
        if (s->is_left_out[i])
            json_text(j, part_texts[i]);
    }
    json_end(j);
}

/* What /api/traces says of it, without where the file was; and what is not in it. */
static void write_trace_entry(const struct snapshot *s, struct json *j)
{
    const struct trace_info *info = trace_get_info(s->st->trace);
    const struct side_kind kind = side_kind_of_trace(s->st->trace);
    struct stat file = {0};
    if (strcmp(s->path, "-") == 0 || stat(s->path, &file) != 0)
        file.st_size = 0;
    json_object(j, JSON_INLINE);
    json_member_unsigned(j, "id", s->index);
    json_member_text(j, "name", s->st->name);
    json_member_text(j, "path", s->st->name);
    json_member_unsigned(j, "size_bytes", (uint64_t)file.st_size);
    json_member_text(j, "state", "complete");
    json_member_unsigned(j, "zones", info->zones);
    json_member_unsigned(j, "duration_ns", s->st->end_ns - s->st->start_ns);
    json_member_unsigned(j, "generation", 0);
    json_member_bool(j, "estimated", kind.is_estimate);
    json_member_bool(j, "measured", kind.is_run);
    json_member_text(j, "error", NULL);
    write_left_out(s, j);
    json_end(j);
}

/* All of them, and how the page begins. */
static int add_start(struct snapshot *sides, size_t count, const char *panel, struct error *err)
{
    struct snapshot *s = &sides[0];
    bytes_clear(&s->answer);
    struct json j = query_json(&s->answer);
    json_object(&j, JSON_LINES);
    json_member_text(&j, "version", OPSCOPE_VERSION);
    json_member_text(&j, "panel", panel);
    json_key(&j, "traces");
    json_array(&j, JSON_LINES);
    for (size_t i = 0; i < count; i++)
        write_trace_entry(&sides[i], &j);
    json_end(&j);
    json_end(&j);
    int status = query_json_end(&j, &s->answer, err);
    return status ? status : add_given(s, "traces", &s->answer, err);
}

static int add_comparison(struct snapshot *sides, const struct compare_made *made, struct error *err)
{
    struct snapshot *s = &sides[0];
    bytes_clear(&s->answer);
    int status = query_compare_made(sides[0].st, sides[1].st, made, &s->answer, err);
    return status ? status : add_given(s, "compare", &s->answer, err);
}

/* An estimate over the run that it foretells: of a trace with both, or of two. Where they have nothing in common there
 * is nothing to lay over. */
static int add_overlay(struct snapshot *sides, size_t count, struct error *err)
{
    struct snapshot *s = &sides[0];
    int status = 0;
    for (size_t i = 0; i < count * count && !status; i++) {
        size_t a = i / count, b = i % count;
        char question[40];
        struct error ignored = {0};
        struct side_kind model = side_kind_of_trace(sides[a].st->trace),
                         run = side_kind_of_trace(sides[b].st->trace);
        if (!model.is_estimate || !run.is_run)
            continue;
        bytes_clear(&s->answer);
        if (query_overlay(sides[a].st, sides[b].st, &s->query, &s->answer, &ignored) != 0 ||
            s->out->length + s->answer.length > sides[count - 1].limit)
            continue;
        snprintf(question, sizeof question, "overlay?a=%zu&b=%zu", a, b);
        status = add_given(s, question, &s->answer, err);
    }
    return status;
}

/* Statistics of a window. */
static int add_zones(struct snapshot *s, const struct query_window *window, struct error *err)
{
    char span[80];
    snprintf(span, sizeof span, "from=%" PRIu64 "&to=%" PRIu64, window->since_ns - s->st->start_ns,
             window->until_ns - s->st->start_ns);
    int status = add_answer(s, PART_ZONES, err, "zones?%s&sort=self&top=5000", span);
    if (!status)
        status = add_answer(s, PART_FLAME, err, "flame?%s&direction=down", span);
    return status ? status : add_answer(s, PART_FLAME, err, "flame?%s&direction=up", span);
}

/* What the page asks for when an op is selected, of all of them in one answer. */
static int add_op_runs(struct snapshot *s, const char *group, const char *warm_up, struct error *err)
{
    const struct query_ops_room room = {OPS_DETAILED, OP_BYTES_MAX, OP_RUNS_MAX};
    char question[80], target[80];
    bool is_all = true;
    snprintf(question, sizeof question, "op?group=%s&warmup=%s", group, warm_up);
    int length = snprintf(target, sizeof target, "/%s", question);
    bytes_clear(&s->answer);
    int status = query_parse(&s->query, target, (size_t)length, err);
    if (!status)
        status = query_all_ops(s->st, &s->query, &room, &is_all, &s->answer, err);
    if (status)
        return status;
    bool has_room = s->out->length + s->answer.length <= s->limit;
    s->is_left_out[PART_OP_RUNS] |= !is_all || !has_room;
    return has_room ? add_given(s, question, &s->answer, err) : 0;
}

static int add_ops(struct snapshot *s, const char *warm_up, struct error *err)
{
    static const char *const groups[] = {"op%2Bshape", "op", "kind", "none"};
    int status = add_answer(s, PART_NEEDED, err, "overview?warmup=%s", warm_up);
    for (size_t i = 0; i < COUNT_OF(groups) && !status; i++)
        status =
            add_answer(s, PART_OPS, err, "ops?group=%s&limit=%u&warmup=%s", groups[i], GROUPS_MAX, warm_up);
    for (size_t i = 0; i < COUNT_OF(groups) - 1 && !status;
         i++) /* without grouping names are those of shapes */
        status = add_op_runs(s, groups[i], warm_up, err);
    if (!status)
        status = add_answer(s, PART_OPS, err, "roofline?warmup=%s", warm_up);
    if (!status)
        status = add_answer(s, PART_OPS, err, "steps?warmup=%s", warm_up);
    if (!status)
        status = add_answer(s, PART_OPS, err, "overhead?limit=1000&warmup=%s", warm_up);
    return status ? status : add_answer(s, PART_OPS, err, "gaps?sort=duration&limit=2000&warmup=%s", warm_up);
}

/* Of the window that the overview chose, and of the whole trace. */
static int add_windows(struct snapshot *s, struct error *err)
{
    const struct query_window whole = {s->st->start_ns, s->st->end_ns, true};
    struct query_window own;
    int status = serve_trace_own_window(s->st, &own, err);
    if (!status)
        status = add_ops(s, "leave-out", err);
    if (!status)
        status = add_zones(s, &own, err);
    if (status || own.is_whole)
        return status;
    bool has_all = own.since_ns == whole.since_ns && own.until_ns == whole.until_ns;
    status = add_ops(s, "include", err);
    return status || has_all ? status : add_zones(s, &whole, err);
}

static int add_series(struct snapshot *s, struct error *err)
{
    int status = serve_trace_facts(s->st, err);
    unsigned pixels = status ? 0 : series_pixels(s);
    for (size_t i = 0; !status && i < s->st->facts->counter_count; i++)
        status = add_answer(s, PART_SERIES, err, "counter?track=%" PRIu32 "&name=%" PRIu32 "&px=%u",
                            s->st->facts->counters[i].track, s->st->facts->counters[i].name, pixels);
    for (size_t i = 0; !status && i < s->st->facts->pool_count; i++) {
        uint32_t pool = s->st->facts->pools[i].name;
        status = pool == TRACE_NONE
                     ? add_answer(s, PART_SERIES, err, "memory?px=%u", pixels)
                     : add_answer(s, PART_SERIES, err, "memory?pool=%" PRIu32 "&px=%u", pool, pixels);
    }
    return status;
}

struct place {
    uint64_t start, length;
    uint32_t track;
    unsigned lane;
};

static int compare_lengths(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

/* Where the runs are, longest first; NULL: no memory. */
static struct place *find_runs(const struct run_index *runs, size_t *count)
{
    size_t total = 0;
    for (size_t t = 0; t < runs->count; t++) {
        for (unsigned lane = 0; lane < runs->tracks[t].lane_count; lane++)
            total += runs->tracks[t].lanes[lane].count;
    }
    struct place *places = malloc((total + 1) * sizeof *places);
    *count = 0;
    for (size_t t = 0; places && t < runs->count; t++) {
        for (unsigned lane = 0; lane < runs->tracks[t].lane_count; lane++) {
            const struct run_lane *l = &runs->tracks[t].lanes[lane];
            for (size_t i = 0; i < l->count; i++)
                places[(*count)++] = (struct place){l->runs[i].start, l->runs[i].end - l->runs[i].start,
                                                    runs->tracks[t].track, lane};
        }
    }
    if (*count)
        qsort(places, *count, sizeof *places, compare_lengths);
    return places;
}

/* All that is known of the longest runs: those that tables and advice lead to. */
static int add_runs(struct snapshot *s, struct error *err)
{
    size_t count, added = 0;
    struct place *places = find_runs(&s->st->runs, &count);
    int status = places ? 0 : error_no_memory(err, "the page");
    size_t others = trace_get_info(s->st->trace)->ops + trace_name_count(s->st->trace) + count + 1;
    size_t most = RUNS_SEARCHED / others < RUNS_DETAILED ? RUNS_SEARCHED / others : RUNS_DETAILED;
    begin_answer(s, "application/json", "runs");
    bytes_append_text(s->out, "[");
    for (; added < count && added < most && s->out->length < s->limit && !status; added++) {
        char text[120];
        snprintf(text, sizeof text, "run?track=%" PRIu32 "&lane=%u&at=%" PRIu64, places[added].track,
                 places[added].lane, serve_since(s->st, places[added].start));
        status = ask(s, text, err);
        bytes_append_text(s->out, added ? "," : "");
        append_escaped(s->out, s->answer.data, s->answer.length);
    }
    s->is_left_out[PART_RUNS] = added < count;
    free(places);
    bytes_append_text(s->out, "]");
    return status ? status : end_answer(s, err);
}

static int add_rows(struct snapshot *s, struct error *err)
{
    bytes_clear(&s->answer);
    int status = query_all_rows(s->st, SNAPSHOT_ROWS_MAX, &s->tile, &s->answer, err);
    s->is_left_out[PART_TIMELINE] = s->tile == QUERY_NO_ROWS;
    if (status)
        return status;
    begin_answer(s, "text/plain", "rows");
    base64_append(s->out, s->answer.data, s->answer.length);
    return end_answer(s, err);
}

/* The lines around the places that tables name, as far as their files are here and as they were. */
static int add_sources(struct snapshot *s, struct error *err)
{
    bool is_all = true;
    bytes_clear(&s->answer);
    int status = query_all_sources(s->st, &is_all, &s->answer, err);
    if (status)
        return status;
    bool has_room = s->out->length + s->answer.length <= s->limit;
    s->is_left_out[PART_SOURCES] = !is_all || !has_room;
    return has_room ? add_given(s, "sources", &s->answer, err) : 0;
}

static int add_answers(struct snapshot *s, struct error *err)
{
    size_t names = trace_name_count(s->st->trace);
    int status = add_answer(s, PART_NEEDED, err, "trace");
    if (!status)
        status = add_rows(s, err);
    if (!status)
        status = add_windows(s, err);
    if (!status)
        status = add_answer(s, PART_MESSAGES, err, "points?limit=1000");
    if (!status)
        status = add_series(s, err);
    if (!status)
        status = add_runs(s, err);
    if (!status)
        status = add_sources(s, err);
    for (size_t page = 0; page * NAMES_PER_PAGE < names && !status && !s->is_left_out[PART_NAMES]; page++)
        status = add_answer(s, PART_NAMES, err, "names?page=%zu", page);
    return status;
}

/* --- the file --- */

static int add_data(struct snapshot *sides, size_t count, const struct opening *opening, struct error *err)
{
    int status = 0;
    for (size_t i = 0; i < count; i++) { /* commands that the page names are for those who read it ... */
        sides[i].path = sides[i].st->path;
        sides[i].st->path = sides[i].st->name; /* ... wherever they have the trace */
    }
    for (size_t i = 0; i < count && !status; i++)
        status = add_answers(&sides[i], err);
    if (!status && opening->made)
        status = add_comparison(sides, opening->made, err);
    if (!status)
        status = add_overlay(sides, count, err);
    if (!status && opening->question)
        status = add_given(&sides[0], opening->question, opening->answer, err);
    if (!status)
        status = add_start(sides, count, opening->panel, err);
    for (size_t i = 0; i < count; i++)
        sides[i].st->path = (char *)(uintptr_t)sides[i].path;
    return status;
}

static bool has_text(const char *asset, const char *text)
{
    return strstr((const char *)web_asset_find(asset)->data, text) != NULL; /* a NUL follows each */
}

/* index.html with its two references replaced by what they refer to. */
static int append_page(struct snapshot *sides, size_t count, const struct opening *opening, struct error *err)
{
    static const char styles[] = "<link rel=\"stylesheet\" href=\"/app.css\">";
    static const char script[] = "<script src=\"/app.js\" defer></script>";
    struct bytes *out = sides[0].out;
    int status = snapshot_check(err);
    if (status)
        return status;
    const struct web_asset *index = web_asset_find("/index.html");
    const char *text = (const char *)index->data, *end = text + index->length;
    const char *head = strstr(text, styles), *body = strstr(text, script);
    if (!head || !body || body < head || has_text("/app.js", "</script") || has_text("/app.js", "<!--") ||
        has_text("/app.css", "</style"))
        return error_set(err, ENOTSUP,
                         "the page that this opscope was built with cannot be put into one file: %s",
                         WEB_ASSETS_HOW);
    bytes_append(out, text, (size_t)(head - text));
    append_styles(out);
    head += sizeof styles - 1;
    bytes_append(out, head, (size_t)(body - head));
    status = add_data(sides, count, opening, err);
    if (!status)
        status = add_worker(&sides[0], err);
    bytes_append_text(out, "<script>");
    append_asset(out, "/app.js");
    bytes_append_text(out, "</script>");
    body += sizeof script - 1;
    bytes_append(out, body, (size_t)(end - body));
    return status || !out->failed ? status : error_no_memory(err, "the page");
}

static int write_page(struct serve_trace *const *traces, size_t count, const struct opening *opening,
                      const char *path, struct error *err)
{
    struct bytes page = {0};
    struct snapshot sides[2] = {{.out = &page}}; /* of no trace: what is not of one */
    for (size_t i = 0; i < count; i++)
        sides[i] = (struct snapshot){.st = traces[i],
                                     .out = &page,
                                     .index = (unsigned)i,
                                     .limit = SNAPSHOT_BYTES_MAX / count * (i + 1)};
    int status = append_page(sides, count, opening, err);
    for (size_t i = 0; i < COUNT_OF(sides); i++)
        bytes_free(&sides[i].answer);
    if (!status)
        status = output_write_text(path, &page, err);
    bytes_free(&page);
    return status;
}

int snapshot_write(struct serve_trace *st, const char *panel, const char *path, struct error *err)
{
    return write_page(&st, 1, &(struct opening){.panel = panel}, path, err);
}

int snapshot_write_answer(const char *question, const struct bytes *answer, const char *path,
                          struct error *err)
{
    const struct opening opening = {.panel = question, .question = question, .answer = answer};
    return write_page(NULL, 0, &opening, path, err);
}

int snapshot_write_pair(struct serve_trace *a, struct serve_trace *b, const struct compare_made *made,
                        const char *path, struct error *err)
{
    b->id = 1;
    const struct opening opening = {.panel = "compare", .made = made};
    return write_page((struct serve_trace *const[]){a, b}, 2, &opening, path, err);
}

int snapshot_write_made(trace_filler *fill, const void *context, const char *source, const char *path,
                        struct error *err)
{
    const char *slash = strrchr(source, '/');
    struct trace *trace;
    struct serve_trace st;
    int status = load_filled_trace(&trace, source, fill, context, err);
    if (!status)
        status = serve_trace_take(&st, trace, slash && slash[1] ? slash + 1 : source, err);
    if (status)
        return status;
    status = snapshot_write(&st, "overview", path, err);
    serve_trace_close(&st);
    return status;
}
