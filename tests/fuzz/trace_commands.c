/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"
#include "cli/command/command.h"
#include "serve/mcp/mcp.h"
#include "serve/query/query.h"
#include "trace/cut.h"
#include "trace/writer.h"

#define MOST_WORDS 12

/* T is the trace, O the other one. With "?" at the end also with --salvage. */
static const char *const commands[] = {
    "summary T ?",
    "summary --json --include-warm-up T",
    "info --show all --json T ?",
    "info T ?",
    "zones --all T ?",
    "zones --json T",
    "zones --callers * T",
    "zones --callees * T",
    "zones --by-test T",
    "zones --source T",
    "zones --mine --since 10% --until 90% T",
    "tree T ?",
    "tree --merge --json --min-percent 0 T",
    "tree --by device-time T",
    "messages T ?",
    "messages --csv T",
    "frames T ?",
    "frames --list T",
    "counters T ?",
    "memory T ?",
    "memory --leaks T",
    "locks T ?",
    "ops T ?",
    "ops --json T",
    "ops --columns v1 --csv T",
    "report T",
    "report --json --include-warm-up --min-percentage 0 T",
    "report --csv --ignore-signposts --no-merge-devices T",
    "report --html - T",
    "diff --all T T ?",
    "diff --all --json T O",
    "diff --only zones --group-by layer O T",
    "check --baseline O T",
    "check --baseline T O",
    "export -f chrome -o - T ?",
    "export -f perfetto -o - T ?",
    "export -f csv -o - T ?",
    "export -f csv --what messages -o - T",
    "export -f csv --what counters -o - T",
    "export -f csv --what memory -o - T",
    "export -f csv --what ops -o - T",
    "export -f csv --what runs -o - T",
    "export -f csv --what losses -o - T",
    "export -f csv --what locks -o - T",
    "export -f speedscope -o - T",
    "export -f collapsed -o - T",
    "export -f collapsed --flame-by device -o - T",
    "export -f torq-runtime -o - T",
    "export -f flamegraph --since 20% --until 70% -o - T",
    "view --html - T",
};

/* Parameters that each question is asked with; it takes what it knows. */
static const char *const parameters[] = {
    "",
    "track=0&depth=0&at=50&name=1&lane=0&pool=1&px=100&tracks=0:0-9,0:r,1:0-3,1:r,2:r&page=0",
    "track=1&depth=innermost&at=1000&name=0&group=op&sort=self&top=5&limit=3&px=16384&tracks=1:0-70000",
    "track=2&from=10&to=90000&name=2&at=60&direction=up&min=0&group=kind&kind=message&warmup=include&format=chrome",
    "from=5&to=1000000&q=a&longest=1&file=a.c&line=1&format=flamegraph&flame_by=device&group=none",
};

#define NO_ARGUMENTS "{}"
static const struct {
    const char *name, *arguments;
} tools[] = {
    {"traces", NO_ARGUMENTS}, {"summary", NO_ARGUMENTS},
    {"zones", NO_ARGUMENTS},  {"ops", "{\"group\":\"op\"}"},
    {"report", NO_ARGUMENTS}, {"gaps", NO_ARGUMENTS},
    {"diff", NO_ARGUMENTS},   {"source", "{\"file\":\"a.c\",\"line\":1}"},
};

static void say(struct mcp *mcp, const char *line)
{
    struct bytes out = {0};
    mcp_answer(mcp, line, strlen(line), &out);
    bytes_free(&out);
}

static void call_tools(const char *path, const char *other)
{
    struct mcp *mcp;
    char line[300];
    if (mcp_open(&mcp, (const char *const[]){path, other}, 2, NULL) != 0)
        return;
    say(mcp, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
             "\"params\":{\"protocolVersion\":\"2025-03-26\"}}");
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        snprintf(line, sizeof line,
                 "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\","
                 "\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
                 i, tools[i].name, tools[i].arguments);
        say(mcp, line);
    }
    mcp_close(mcp);
}

/* What `zones --split` does with the zone of each test, here with each track. */
static void cut_pieces(const char *path, const char *other)
{
    struct error err = {0};
    struct trace *trace;
    (void)other;
    if (trace_open(&trace, path, TRACE_OPEN_SALVAGE, &err) != 0)
        return;
    const struct trace_info *info = trace_get_info(trace);
    uint64_t third = (info->end_ns - info->start_ns) / 3;
    for (uint32_t track = 0; track < trace_track_count(trace) && track < 4; track++) {
        const struct trace_cut cut = {.track = track,
                                      .depth = track % 2,
                                      .since_ns = info->start_ns + (track ? third : 0),
                                      .until_ns = info->end_ns - third,
                                      .command = "cut"};
        trace_cut(trace, "/dev/null", &cut, &err);
    }
    trace_close(trace);
}

/* The file as what a writer that died has left: it is continued and finished. */
static void resume(const char *path, const char *other)
{
    struct error err = {0};
    struct trace_writer *writer;
    struct bytes data = {0};
    char whole[200], partial[220];
    (void)other;
    snprintf(whole, sizeof whole, "%s.resumed", path);
    snprintf(partial, sizeof partial, "%s.partial", whole);
    FILE *from = fopen(path, "r"), *to = fopen(partial, "w");
    while (from && bytes_reserve(&data, 65536)) {
        size_t length = fread(data.data + data.length, 1, 65536, from);
        data.length += length;
        if (!length)
            break;
    }
    if (!from || !to || (data.length && fwrite(data.data, 1, data.length, to) != data.length))
        abort();
    fclose(from);
    fclose(to);
    if (trace_writer_resume(&writer, whole, &err) == 0)
        trace_writer_finish(writer, &err);
    unlink(partial);
    unlink(whole);
    bytes_free(&data);
}

static const struct {
    const char *name;
    void (*run)(const char *path, const char *other);
} others[] = {{"tools of MCP", call_tools}, {"cut", cut_pieces}, {"resume", resume}};

/* Steps: commands, those with --salvage, then the server's questions, then the others. */
static size_t salvage_count(void)
{
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        count += strchr(commands[i], '?') != NULL;
    return count;
}

size_t trace_commands_count(void)
{
    return COUNT_OF(commands) + salvage_count() + COUNT_OF(parameters) + COUNT_OF(others);
}

/* The command of a step; NULL: it is none. */
static const char *command_of(size_t step, bool *salvages)
{
    *salvages = step >= COUNT_OF(commands);
    if (!*salvages)
        return commands[step];
    step -= COUNT_OF(commands);
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strchr(commands[i], '?') && step-- == 0)
            return commands[i];
    }
    return NULL;
}

static size_t question_of(size_t step)
{
    return step - COUNT_OF(commands) - salvage_count();
}

const char *trace_commands_text(size_t step)
{
    static char text[200];
    bool salvages;
    const char *command = command_of(step, &salvages);
    if (command)
        snprintf(text, sizeof text, "%.*s%s", (int)strcspn(command, "?"), command,
                 salvages ? "--salvage" : "");
    else if (question_of(step) < COUNT_OF(parameters))
        snprintf(text, sizeof text, "questions with %s", parameters[question_of(step)]);
    else
        snprintf(text, sizeof text, "%s", others[question_of(step) - COUNT_OF(parameters)].name);
    return text;
}

static void run_command(const char *words, bool salvages, const char *path, const char *other)
{
    char text[200], *argv[MOST_WORDS + 2], *kept[MOST_WORDS + 2], *rest = NULL;
    int argc = 0;
    snprintf(text, sizeof text, "%s", words);
    for (char *word = strtok_r(text, " ", &rest); word && argc < MOST_WORDS;
         word = strtok_r(NULL, " ", &rest)) {
        const char *meant = strcmp(word, "T") == 0   ? path
                            : strcmp(word, "O") == 0 ? other
                            : strcmp(word, "?") == 0 ? (salvages ? "--salvage" : NULL)
                                                     : word;
        if (meant) {
            kept[argc] = argv[argc] = strdup(meant);
            argc++;
        }
    }
    argv[argc] = NULL;
    const struct command *command = command_find(argv[0]);
    if (!command)
        abort();
    int status = command->run(command, argc, argv);
    if (status < 0 || status > EXIT_USAGE)
        abort();
    for (int i = 0; i < argc; i++)
        free(kept[i]); /* a command puts its words in another order */
}

static void ask(const char *path, const char *parameter_text)
{
    static struct query query;
    struct serve_trace st;
    struct error err = {0};
    char target[300];
    if (serve_trace_open(&st, path, &err) != 0)
        return;
    for (size_t i = 0; i < query_entry_count + query_two_entry_count; i++) {
        bool is_two = i >= query_entry_count;
        const struct query_entry *entry =
            is_two ? &query_two_entries[i - query_entry_count] : &query_entries[i];
        struct bytes out = {0};
        snprintf(target, sizeof target, "/api/t/0/%s?%s", entry->name, parameter_text);
        if (query_parse(&query, target, strlen(target), &err) != 0)
            abort();
        if (is_two)
            entry->answer_two(&st, &st, &query, &out, &err);
        else
            entry->answer(&st, &query, &out, &err);
        bytes_free(&out);
    }
    serve_trace_close(&st);
}

void trace_commands_run(size_t step, const char *path, const char *other)
{
    bool salvages;
    const char *command = command_of(step, &salvages);
    if (command)
        run_command(command, salvages, path, other);
    else if (question_of(step) < COUNT_OF(parameters))
        ask(path, parameters[question_of(step)]);
    else
        others[question_of(step) - COUNT_OF(parameters)].run(path, other);
    fflush(stdout);
}
