/* SPDX-License-Identifier: Apache-2.0 */
/* The tools. Each is a question of the HTTP API: its arguments become the parameters of a request, which the functions
 * in serve/query/ answer. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/count_of.h"
#include "serve/mcp/internal.h"

#define AROUND_MAX ((size_t)4 << 10) /* of an answer: trace, units, what was left out */

enum argument_type { ARGUMENT_TEXT, ARGUMENT_WHOLE, ARGUMENT_CHOICE };

struct argument { /* ended by name == NULL */
    const char *name;
    enum argument_type type;
    const char *const *choices;
    const char *fallback; /* what is asked when it is not given; NULL: the question's own */
    bool is_needed;
    const char *help;
};

struct tool {
    const char *name, *title, *help;
    const char *query; /* name of the question; NULL: the list of traces */
    const struct argument *arguments;
    const char *units;
    struct bound bound;
};

/* --- arguments --- */

static const char *const warm_up_choices[] = {"leave-out", "include", NULL};
static const char *const zone_sorts[] = {"self", "total", "count", NULL};
static const char *const gap_sorts[] = {"duration", "start", NULL};
static const char *const diff_groups[] = {"op", "category", "location", "layer", NULL};
static const char *const diff_kinds[] = {"all", "ops", "zones", NULL};
static const char *const op_groups[] = {"op+shape", "op", "kind", "none", NULL};

#define TRACE_ARGUMENT                                                                                       \
    {                                                                                                        \
        .name = "trace", .type = ARGUMENT_WHOLE,                                                             \
        .help = "Number of the trace, as the tool traces lists them. 0 unless given."                        \
    }
#define WINDOW_ARGUMENTS                                                                                     \
    {.name = "from",                                                                                         \
     .type = ARGUMENT_WHOLE,                                                                                 \
     .help = "Begin of the window, in ns since the start of the trace."},                                    \
    {                                                                                                        \
        .name = "to", .type = ARGUMENT_WHOLE,                                                                \
        .help = "End of the window, in ns since the start of the trace."                                     \
    }
#define WARM_UP_ARGUMENT                                                                                     \
    {                                                                                                        \
        .name = "warmup", .type = ARGUMENT_CHOICE, .choices = warm_up_choices,                               \
        .help = "Whether warm-up iterations count; they are left out unless a window is given."              \
    }
#define TOP_ARGUMENT(word, rows)                                                                             \
    {                                                                                                        \
        .name = (word), .type = ARGUMENT_WHOLE, .fallback = (rows),                                          \
        .help = "At most this many rows; " rows " unless given."                                             \
    }

static const struct argument no_arguments[] = {{0}};
static const struct argument summary_arguments[] = {TRACE_ARGUMENT, WINDOW_ARGUMENTS, WARM_UP_ARGUMENT, {0}};
static const struct argument zones_arguments[] = {
    TRACE_ARGUMENT,
    WINDOW_ARGUMENTS,
    {.name = "sort",
     .type = ARGUMENT_CHOICE,
     .choices = zone_sorts,
     .help = "Largest first: own time (without zones inside), total time, or calls. self unless given."},
    {.name = "q",
     .type = ARGUMENT_TEXT,
     .help = "Only zones whose name or file contains this text, in any case."},
    TOP_ARGUMENT("top", "30"),
    {0},
};
static const struct argument ops_arguments[] = {
    TRACE_ARGUMENT,
    WINDOW_ARGUMENTS,
    WARM_UP_ARGUMENT,
    {.name = "group",
     .type = ARGUMENT_CHOICE,
     .choices = op_groups,
     .help =
         "What is one row: ops of a name and shape, of a name, of a kind, or each op. op+shape unless given."},
    TOP_ARGUMENT("limit", "30"),
    {0},
};
static const struct argument report_arguments[] = {
    TRACE_ARGUMENT, WINDOW_ARGUMENTS, WARM_UP_ARGUMENT, TOP_ARGUMENT("top", "10"), {0}};
static const struct argument gaps_arguments[] = {
    TRACE_ARGUMENT,
    WINDOW_ARGUMENTS,
    WARM_UP_ARGUMENT,
    {.name = "sort",
     .type = ARGUMENT_CHOICE,
     .choices = gap_sorts,
     .help = "Longest first, or the longest ones in the order of time. duration unless given."},
    TOP_ARGUMENT("limit", "20"),
    {0},
};
static const struct argument diff_arguments[] = {
    {.name = "a",
     .type = ARGUMENT_WHOLE,
     .fallback = "0",
     .help = "Number of the first trace: the one before a change, or an estimate. 0 unless given."},
    {.name = "b",
     .type = ARGUMENT_WHOLE,
     .fallback = "1",
     .help = "Number of the second trace, which is compared with the first. 1 unless given."},
    {.name = "a_from", .type = ARGUMENT_WHOLE, .help = "Begin of the window of a, in ns since its start."},
    {.name = "a_to", .type = ARGUMENT_WHOLE, .help = "End of the window of a, in ns since its start."},
    {.name = "b_from", .type = ARGUMENT_WHOLE, .help = "Begin of the window of b, in ns since its start."},
    {.name = "b_to", .type = ARGUMENT_WHOLE, .help = "End of the window of b, in ns since its start."},
    WARM_UP_ARGUMENT,
    {.name = "group",
     .type = ARGUMENT_CHOICE,
     .choices = diff_groups,
     .help = "What the times are summed up by. op unless given."},
    {.name = "only",
     .type = ARGUMENT_CHOICE,
     .choices = diff_kinds,
     .help = "Rows of ops or of zones alone."},
    TOP_ARGUMENT("top", "30"),
    {0},
};
static const struct argument source_arguments[] = {
    TRACE_ARGUMENT,
    {.name = "file",
     .type = ARGUMENT_TEXT,
     .is_needed = true,
     .help = "A file that zones of the trace are in, as the other tools name it, or the end of its path."},
    {.name = "line", .type = ARGUMENT_WHOLE, .is_needed = true, .help = "The line, from 1 on."},
    {.name = "lines",
     .type = ARGUMENT_WHOLE,
     .help = "How many lines around it, at most 400. 24 unless given."},
    {0},
};

/* --- the tools --- */

static const struct tool tools[] = {
    {.name = "traces",
     .title = "List traces",
     .help =
         "The traces that can be asked about: number, name, state (complete, growing, damaged, ...), zones, duration.",
     .arguments = no_arguments,
     .units = "duration_ns and modified_unix_ns in ns, size_bytes in bytes"},
    {.name = "summary",
     .title = "Where the time went",
     .help =
         "Where the time of a trace went: a sentence, a partition of the time that adds up (device busy, idle "
         "while the host worked or waited; or of the main thread: working, waiting), the functions and ops that "
         "take longest, gaps, advice, what the recording lost, what to look at next. Ask this first.",
     .query = "overview",
     .arguments = summary_arguments,
     .units =
         "from, to, start: ns since the start of the trace; self, total, ns, duration and all names with _ns: ns; "
         "share: 0 to 1; count: calls"},
    {.name = "zones",
     .title = "Statistics of zones",
     .help =
         "Statistics per zone (function or scope) over all threads: calls, total and own time, mean, extremes, "
         "percentiles, time spent waiting, file and line.",
     .query = "zones",
     .arguments = zones_arguments,
     .units =
         "wall, total, self, mean, min, max, sum, waiting, p50, p90, p99, std: ns; share of the wall clock time: 0 to "
         "1; count, open: calls",
     .bound = {.rows = "rows", .count = "count"}},
    {.name = "ops",
     .title = "Ops on devices",
     .help =
         "Accelerator ops by name and shape, costliest first: calls, device time, the time in which nothing else "
         "ran beside them, the gap before them, how near they come to what the machine can do, what bounds them.",
     .query = "ops",
     .arguments = ops_arguments,
     .units =
         "device_ns, alone_ns, gap_before_ns, mean, p50, p99: ns; start: ns since the start of the trace; share of the "
         "device time: 0 to 1; dram_percent, flops_percent: of the machine's peak; doubt: why such "
         "figures are no verdict about these ops",
     .bound = {.skip = (const char *const[]){"columns", NULL}, .rows = "groups", .count = "count"}},
    {.name = "report",
     .title = "What bounds each op, and advice",
     .help =
         "The performance report of a trace with ops: the longest ops with bandwidth, FLOPs and bound against the "
         "machine's roofs, time by group, and advice ranked by what it would save.",
     .query = "report",
     .arguments = report_arguments,
     .units = "at the end of each name: _us, _ns, _bytes, _percent, _gb_s, _tflops",
     .bound = {.rows = "rows", .count = "count"}},
    {.name = "gaps",
     .title = "Gaps between ops",
     .help =
         "Times in which no device ran anything: when, how long, the op that ended each, whether the host worked "
         "or waited meanwhile, and in which functions.",
     .query = "gaps",
     .arguments = gaps_arguments,
     .units = "sum, duration, ns: ns; start: ns since the start of the trace",
     .bound = {.rows = "gaps", .count = "count"}},
    {.name = "diff",
     .title = "What changed between two traces",
     .help =
         "What got slower, faster, new or gone from one trace to another, and whether it is more than noise: a "
         "sentence, totals, the steps that lead from one time to the other, rows per op or zone. Of an estimate "
         "and a run of it: how far they are apart.",
     .query = "compare",
     .arguments = diff_arguments,
     .units =
         "a, b, change of the totals: ns, but for those that count; at the end of each other name: _ns, _percent",
     .bound = {.skip = (const char *const[]){"overview", "anchors", NULL},
               .rows = "diff.rows",
               .count = "diff.row_count"}},
    {.name = "source",
     .title = "Source of a zone",
     .help =
         "Lines of a source file around a place. Only lines that the recording took along: those around the places "
         "that the trace names.",
     .query = "source",
     .arguments = source_arguments,
     .units = "first_line, line: numbers of lines, from 1 on"},
};

const struct tool *tool_find(const struct json_node *name)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        if (json_text_is(name, tools[i].name))
            return &tools[i];
    }
    return NULL;
}

/* --- tools/list --- */

static void put_member(struct bytes *out, const char *key, const char *text)
{
    bytes_append_format(out, "\"%s\":", key);
    json_append_string(out, text, strlen(text));
}

static void put_argument(struct bytes *out, const struct argument *argument)
{
    bytes_append_format(out, "\"%s\":{\"type\":\"%s\",", argument->name,
                        argument->type == ARGUMENT_WHOLE ? "integer" : "string");
    if (argument->type == ARGUMENT_WHOLE)
        bytes_append_format(out, "\"minimum\":%d,", strcmp(argument->name, "line") == 0 ? 1 : 0);
    if (argument->choices) {
        bytes_append_text(out, "\"enum\":[");
        for (size_t i = 0; argument->choices[i]; i++)
            bytes_append_format(out, "%s\"%s\"", i ? "," : "", argument->choices[i]);
        bytes_append_text(out, "],");
    }
    put_member(out, "description", argument->help);
    bytes_append_text(out, "}");
}

static void put_schema(struct bytes *out, const struct argument *arguments)
{
    const char *comma = "";
    bytes_append_text(out, "\"inputSchema\":{\"type\":\"object\",\"properties\":{");
    for (const struct argument *a = arguments; a->name; a++) {
        bytes_append_text(out, a == arguments ? "" : ",");
        put_argument(out, a);
    }
    bytes_append_text(out, "},\"required\":[");
    for (const struct argument *a = arguments; a->name; a++) {
        if (!a->is_needed)
            continue;
        bytes_append_format(out, "%s\"%s\"", comma, a->name);
        comma = ",";
    }
    bytes_append_text(out, "],\"additionalProperties\":false}");
}

void tools_write(struct bytes *out)
{
    bytes_append_text(out, "[");
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        bytes_append_text(out, i ? ",{" : "{");
        put_member(out, "name", tools[i].name);
        bytes_append_text(out, ",");
        put_member(out, "title", tools[i].title);
        bytes_append_text(out, ",");
        put_member(out, "description", tools[i].help);
        bytes_append_text(out, ",");
        put_schema(out, tools[i].arguments);
        bytes_append_text(out, ",\"annotations\":{\"readOnlyHint\":true,\"idempotentHint\":true,"
                               "\"openWorldHint\":false}}");
    }
    bytes_append_text(out, "]");
}

/* --- from arguments to a question --- */

static void append_escaped(struct bytes *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes_append_format(out, "%%%02X", (unsigned)(uint8_t)text[i]);
}

static const struct argument *find_argument(const struct tool *tool, const struct json_node *given)
{
    for (const struct argument *a = tool->arguments; a->name; a++) {
        if (given->key_length == strlen(a->name) && memcmp(given->key, a->name, given->key_length) == 0)
            return a;
    }
    return NULL;
}

static int check_names(const struct mcp *mcp, const struct tool *tool, const struct json_node *given,
                       struct error *err)
{
    struct bytes known = {0};
    for (const struct argument *a = tool->arguments; a->name; a++)
        bytes_append_format(&known, "%s%s", a == tool->arguments ? "" : ", ", a->name);
    int status = 0;
    for (const struct json_node *n = json_first(&mcp->message, given); n && !status;
         n = json_next(&mcp->message, given, n)) {
        if (!find_argument(tool, n))
            status = error_set(err, QUERY_REFUSED, "%s has no argument '%.*s'; it has %s", tool->name,
                               (int)(n->key_length < 60 ? n->key_length : 60), n->key,
                               known.length ? bytes_text(&known) : "none");
    }
    bytes_free(&known);
    return status;
}

/* Appends "&name=value". */
static int append_parameter(struct bytes *target, const struct argument *argument,
                            const struct json_node *given, struct error *err)
{
    bool is_given = given && given->kind != JSON_NULL;
    if (!is_given && argument->is_needed)
        return error_set(err, QUERY_REFUSED, "%s is needed: %s", argument->name, argument->help);
    if (!is_given && !argument->fallback)
        return 0;
    if (is_given && given->kind != JSON_STRING && given->kind != JSON_NUMBER)
        return error_set(err, QUERY_REFUSED, "%s: %s is needed", argument->name,
                         argument->type == ARGUMENT_WHOLE ? "a whole number" : "a text");
    bytes_append_format(target, "&%s=", argument->name);
    if (is_given)
        append_escaped(target, given->text, given->length);
    else
        bytes_append_text(target, argument->fallback);
    return 0;
}

/* The number of a trace that is asked about; *id is what it is when it is not given. */
static int find_trace(const struct mcp *mcp, const struct json_node *given, const char *name, uint64_t *id,
                      struct error *err)
{
    const struct json_node *trace = json_find(&mcp->message, given, name);
    if (trace && trace->kind != JSON_NULL && !json_unsigned_value(trace, id))
        return error_set(err, QUERY_REFUSED,
                         "%s: the number of a trace is needed (the tool traces lists them)", name);
    if (*id >= mcp->traces.count)
        return error_set(err, ENOENT,
                         "there is no trace %" PRIu64 ": there are %zu (the tool traces lists them)", *id,
                         mcp->traces.count);
    return 0;
}

static int parse_question(struct mcp *mcp, const struct tool *tool, uint64_t id,
                          const struct json_node *given, struct error *err)
{
    struct bytes target = {0};
    int status = 0;
    bytes_append_format(&target, "/api/t/%" PRIu64 "/%s?", id, tool->query);
    for (const struct argument *a = tool->arguments; a->name && !status; a++)
        status = append_parameter(&target, a, json_find(&mcp->message, given, a->name), err);
    if (!status && target.failed)
        status = error_no_memory(err, "the question");
    if (!status && target.length > QUERY_TARGET_MAX)
        status = error_set(err, QUERY_REFUSED, "the arguments are too long");
    if (!status)
        status = query_parse(&mcp->query, bytes_text(&target), target.length, err);
    bytes_free(&target);
    return status;
}

/* --- answers --- */

static void put_trace(struct bytes *out, const struct traces_entry *entry, uint64_t id)
{
    const struct trace_info *info = trace_get_info(entry->trace.trace);
    bytes_append_format(out, "{\"id\":%" PRIu64 ",", id);
    put_member(out, "name", entry->trace.name);
    bytes_append_text(out, ",");
    put_member(out, "state", trace_state_text(entry->state));
    bytes_append_format(
        out, ",\"lost\":{\"zones\":%" PRIu64 ",\"records\":%" PRIu64 ",\"damaged_blocks\":%" PRIu64 "}}",
        info->lost_zones, info->lost_records, (uint64_t)info->damaged_blocks);
}

/* The answer of a question, with what has to be known to read it. */
static int put_answer(struct mcp *mcp, const struct tool *tool, const struct bytes *answer,
                      struct bytes *text, struct error *err)
{
    struct bytes bounded = {0}, left_out = {0};
    int status = json_read(&mcp->answer, bytes_text(answer), answer->length, err);
    if (!status && !bound_write(&mcp->answer, &tool->bound, MCP_ANSWER_MAX - AROUND_MAX, &bounded, &left_out))
        status =
            error_set(err, QUERY_REFUSED, "the answer is too long: ask for fewer rows or a smaller window");
    if (!status) {
        put_member(text, "units", tool->units);
        bytes_append_text(text, ",\n\"left_out\":");
        bytes_append(text, left_out.data, left_out.length);
        bytes_append_text(text, ",\n\"answer\":");
        bytes_append(text, bounded.data, bounded.length);
        bytes_append_text(text, "}");
    }
    bytes_free(&bounded);
    bytes_free(&left_out);
    return status ? status : text->failed ? error_no_memory(err, "the answer") : 0;
}

/* The answer to a question about one trace, or about two, and what is said of these before it. */
static int ask_query(struct mcp *mcp, const struct tool *tool, const struct json_node *given,
                     struct bytes *answer, struct bytes *text, struct error *err)
{
    static const char *const names_of_one[] = {"trace"}, *const names_of_two[] = {"a", "b"};
    bool is_pair = !query_find(tool->query);
    const char *const *names = is_pair ? names_of_two : names_of_one;
    struct serve_trace *st[2] = {0};
    uint64_t ids[2] = {0, 1};
    int status = 0;
    for (size_t i = 0; i < 1u + is_pair && !status; i++)
        status = find_trace(mcp, given, names[i], &ids[i], err);
    if (!status)
        status = parse_question(mcp, tool, ids[0], given, err);
    for (size_t i = 0; i < 1u + is_pair && !status; i++) {
        st[i] = traces_get(&mcp->traces, ids[i], err);
        if (!st[i])
            status = -(err->code ? err->code : EIO);
    }
    if (!status)
        status = is_pair ? query_compare(st[0], st[1], &mcp->query, answer, err)
                         : query_find(tool->query)->answer(st[0], &mcp->query, answer, err);
    for (size_t i = 0; i < 1u + is_pair && !status; i++) {
        bytes_append_format(text, "\"%s\":", names[i]);
        put_trace(text, mcp->traces.entries[ids[i]], ids[i]);
        bytes_append_text(text, ",\n");
    }
    return status;
}

static int ask(struct mcp *mcp, const struct tool *tool, const struct json_node *given, struct bytes *text,
               struct error *err)
{
    struct bytes answer = {0};
    int status = check_names(mcp, tool, given, err);
    bytes_append_text(text, "{");
    if (!status)
        status = tool->query ? ask_query(mcp, tool, given, &answer, text, err)
                             : traces_answer(&mcp->traces, &answer, err);
    if (!status && answer.length > QUERY_ANSWER_MAX)
        status =
            error_set(err, QUERY_REFUSED, "the answer is too long: ask for fewer rows or a smaller window");
    if (!status)
        status = put_answer(mcp, tool, &answer, text, err);
    bytes_free(&answer);
    return status;
}

bool tool_call(struct mcp *mcp, const struct tool *tool, const struct json_node *arguments,
               struct bytes *text)
{
    struct error err = {0};
    if (ask(mcp, tool, arguments, text, &err) == 0)
        return true;
    text->failed = false;
    bytes_clear(text);
    bytes_append_text(text, err.message);
    return false;
}
