/* SPDX-License-Identifier: Apache-2.0 */
/* The overview on one screen of a terminal: the sentence, a bar that adds up to 100 %, what took the time, what to do
 * about it. What does not vary is written first, and the tables share the lines that are left. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/labels.h"
#include "analyze/report/advice.h"
#include "ops/from_trace.h"
#include "present/format.h"
#include "present/overview/overview.h"
#include "text/utf8.h"

#define WIDTH_MOST 100u
#define WIDTH_PIPE 80u
#define WIDTH_HEADINGS 72u /* narrower ones have shorter headings */
#define LEAST_ROWS 2u
#define ADVICE_LINES 2u
#define NEXT_LINES 2u
#define GAP_NAMES 3u
#define NAME_COLUMNS 40u

/* Colours by meaning: work, gap, wait, loss. The bar's patterns tell them apart without. */
static const struct {
    const char *meaning, *colour, *block, *ascii;
} meanings[] = {
    {"work", "\033[32m", "\xe2\x96\x88", "#"}, /* full block */
    {"gap", "\033[33m", "\xe2\x96\x92", "/"},  /* medium shade */
    {"wait", "\033[31m", "\xe2\x96\x91", ":"}, /* light shade */
    {"loss", "\033[35m", "\xe2\x96\x93", "x"}, /* dark shade */
    {NULL, "\033[2m", "\xc2\xb7", "."},        /* middle dot */
};

struct screen {
    const struct overview *o;
    struct report *report;
    struct bytes head, tail;
    size_t width, line_width; /* of what is laid out; of a line of text */
    bool is_utf8, is_coloured;
};

static size_t meaning_of(const char *meaning)
{
    size_t i = 0;
    while (meanings[i].meaning && (!meaning || strcmp(meanings[i].meaning, meaning) != 0))
        i++;
    return i;
}

static const char *colour(const struct screen *s, const char *code)
{
    return s->is_coloured ? code : "";
}

/* Text for people, in the terminal's characters. */
static void put(const struct screen *s, struct bytes *out, const char *text, size_t length)
{
    static const char micro[] = "\xc2\xb5s";
    for (size_t i = 0; i < length && !s->is_utf8; i++) {
        if (length - i >= 3 && memcmp(text + i, micro, 3) == 0) {
            utf8_append_visible(out, text, i);
            bytes_append_text(out, "us");
            put(s, out, text + i + 3, length - i - 3);
            return;
        }
    }
    utf8_append_visible(out, text, length);
}

/* One line, cut at its end where it is too long. */
static void put_line(const struct screen *s, struct bytes *out, const char *style, const char *text)
{
    struct bytes line = {0};
    size_t used = 0, length = strlen(text), at = 0;
    put(s, &line, text, length);
    const char *shown = bytes_text(&line);
    bool is_cut = utf8_width(shown, line.length) > s->line_width;
    while (at < line.length) {
        uint32_t character;
        size_t step = utf8_decode(shown + at, line.length - at, &character);
        size_t width = utf8_width(shown + at, step);
        if (is_cut && used + width + (s->is_utf8 ? 1 : 2) > s->line_width)
            break;
        used += width;
        at += step;
    }
    bytes_append_text(out, colour(s, style));
    bytes_append(out, shown, at);
    bytes_append_text(out, !is_cut ? "" : s->is_utf8 ? "\xe2\x80\xa6" : "..");
    bytes_append_text(out, *style ? colour(s, "\033[0m") : "");
    bytes_append_text(out, "\n");
    bytes_free(&line);
}

static size_t line_count(const struct bytes *text)
{
    size_t count = 0;
    for (size_t i = 0; i < text->length; i++)
        count += text->data[i] == '\n';
    return count;
}

/* --- the head --- */

/* A command without the folder of its program. */
static const char *without_folder(const char *command)
{
    const char *begin = command;
    for (const char *at = command; *at && *at != ' '; at++)
        begin = *at == '/' ? at + 1 : begin;
    return begin;
}

static void add_facts(struct screen *s)
{
    const struct trace_info *info = trace_get_info(s->o->trace);
    struct number_text length, zones, ops, processes, size;
    const char *slash = strrchr(s->o->path, '/');
    struct bytes line = {0};
    bytes_append_format(&line, "%s: %s", slash && slash[1] ? slash + 1 : s->o->path,
                        format_duration(&length, info->end_ns - info->start_ns));
    if (info->zones || !info->ops)
        bytes_append_format(&line, ", %s", format_things(&zones, info->zones, "zone"));
    if (info->ops)
        bytes_append_format(&line, ", %s", format_things(&ops, info->ops, "op"));
    if (trace_process_count(s->o->trace) > 1)
        bytes_append_format(&line, ", %s",
                            format_things(&processes, trace_process_count(s->o->trace), "process"));
    bytes_append_format(&line, ", %s", format_bytes(&size, info->size_bytes));
    if (info->command && *info->command && !ops_import_track(s->o->trace))
        bytes_append_format(&line, " | %s", without_folder(info->command));
    put_line(s, &s->head, "\033[2m", bytes_text(&line));
    bytes_free(&line);
}

/* The words of the sentence, filled up to the width; strong phrases in the colour of their meaning. */
static void add_sentence(struct screen *s)
{
    struct sentence sentence;
    size_t column = 0;
    overview_sentence(s->o, &sentence);
    const char *text = bytes_text(&sentence.text);
    for (size_t i = 0; i < sentence.count; i++) {
        const struct phrase *phrase = &sentence.phrases[i];
        if (phrase->is_strong)
            bytes_append_format(&s->head, "%s%s", colour(s, "\033[1m"),
                                phrase->meaning ? colour(s, meanings[meaning_of(phrase->meaning)].colour)
                                                : "");
        for (size_t at = phrase->begin; at < phrase->end;) {
            size_t spaces = text[at] == ' ' ? 1 : 0, length = strcspn(text + at + spaces, " "), whole;
            whole = length;
            length = length < phrase->end - at - spaces ? length : phrase->end - at - spaces;
            size_t width = utf8_width(text + at + spaces, spaces || at == 0 ? whole : length);
            if (spaces && column + 1 + width > s->width) {
                bytes_append_text(&s->head, "\n");
                column = 0;
            } else if (spaces) {
                bytes_append_text(&s->head, " ");
                column++;
            }
            put(s, &s->head, text + at + spaces, length);
            column += utf8_width(text + at + spaces, length);
            at += spaces + length;
        }
        if (phrase->is_strong)
            bytes_append_text(&s->head, colour(s, "\033[0m"));
    }
    bytes_append_text(&s->head, "\n");
    s->head.failed |= sentence.text.failed;
    sentence_free(&sentence);
}

/* In as many lines as it takes: half a sentence says the wrong thing. */
static void put_filled(struct screen *s, const char *text)
{
    struct bytes line = {0};
    size_t column = 0;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " "), width = utf8_width(word, length);
        if (line.length && column + 1 + width > s->line_width) {
            put_line(s, &s->head, "\033[2m", bytes_text(&line));
            bytes_clear(&line);
            column = 0;
        }
        bytes_append_text(&line, line.length ? " " : "");
        column += (column ? 1 : 0) + width;
        bytes_append(&line, word, length);
        word += length + (word[length] == ' ');
    }
    put_line(s, &s->head, "\033[2m", bytes_text(&line));
    s->head.failed |= line.failed;
    bytes_free(&line);
}

/* What the sentence does not say of the window. */
static void add_window(struct screen *s)
{
    struct bytes source = {0}, left_out = {0}, line = {0};
    overview_append_source(s->o, &source);
    overview_append_left_out_text(s->o, &left_out);
    if (s->o->source != OVERVIEW_WHOLE && !(s->o->kind == OVERVIEW_OPS && s->o->source == OVERVIEW_SIGNPOST))
        bytes_append_format(&line, "These numbers are about: %s", bytes_text(&source));
    if (left_out.length)
        bytes_append_format(&line, "%s%s; --include-warm-up takes it in", line.length ? ". " : "",
                            bytes_text(&left_out));
    if (line.length)
        put_filled(s, bytes_text(&line));
    bytes_free(&source);
    bytes_free(&left_out);
    bytes_free(&line);
}

/* Several devices: which, and what became of the same op on each. */
static void add_devices(struct screen *s)
{
    const char *text = perf_devices_text(&s->o->perf);
    if (text)
        put_line(s, &s->head, "\033[2m", text);
}

static void add_bar(struct screen *s)
{
    const struct overview *o = s->o;
    size_t cells[OVERVIEW_PARTS] = {0}, used = 0, longest = 0;
    for (size_t i = 0; i < o->part_count; i++) {
        cells[i] = (size_t)((double)o->parts[i].ns / (double)o->total_ns * (double)s->width + 0.5);
        cells[i] += o->parts[i].ns && !cells[i]; /* what is there is seen */
        used += cells[i];
        longest = cells[i] > cells[longest] ? i : longest;
    }
    cells[longest] += s->width - used; /* may take some away */
    for (size_t i = 0; i < o->part_count; i++) {
        size_t m = meaning_of(overview_meaning(o->parts[i].key));
        bytes_append_text(&s->head, colour(s, meanings[m].colour));
        for (size_t k = 0; k < cells[i]; k++)
            bytes_append_text(&s->head, s->is_utf8 ? meanings[m].block : meanings[m].ascii);
        bytes_append_text(&s->head, colour(s, "\033[0m"));
    }
    bytes_append_text(&s->head, "\n");
}

static bool has_more(const struct overview *o, size_t i)
{
    while (++i < o->part_count && !o->parts[i].ns)
        ;
    return i < o->part_count;
}

/* A part's share, what it is, and how long. */
static void append_part(struct bytes *text, const struct overview *o, const struct overview_part *part,
                        unsigned tenths)
{
    struct number_text time;
    if (tenths)
        bytes_append_format(text, " %3u.%u%%", tenths / 10, tenths % 10);
    else
        bytes_append_text(text, "  <0.1%");
    bytes_append_format(text, "  %s  %s", overview_label(o, part->key), format_duration(&time, part->ns));
}

/* Each part after its pattern; two on a line where all are narrow enough. */
static void add_legend(struct screen *s)
{
    const struct overview *o = s->o;
    unsigned tenths[OVERVIEW_PARTS];
    struct bytes texts[OVERVIEW_PARTS] = {0};
    size_t shown = 0, widest = 0;
    overview_tenths(o, tenths);
    for (size_t i = 0; i < o->part_count; i++) {
        struct bytes raw = {0};
        append_part(&raw, o, &o->parts[i], tenths[i]);
        put(s, &texts[i], bytes_text(&raw), raw.length);
        bytes_free(&raw);
        size_t width = 1 + utf8_width(bytes_text(&texts[i]), texts[i].length);
        widest = o->parts[i].ns && width > widest ? width : widest;
    }
    for (size_t i = 0; i < o->part_count; i++) {
        size_t m = meaning_of(overview_meaning(o->parts[i].key));
        if (!o->parts[i].ns)
            continue;
        bytes_append_format(&s->head, "%s%s%s%s", colour(s, meanings[m].colour),
                            s->is_utf8 ? meanings[m].block : meanings[m].ascii, colour(s, "\033[0m"),
                            bytes_text(&texts[i]));
        bool is_left = shown++ % 2 == 0 && has_more(o, i) && widest < s->width / 2;
        for (size_t k = 1 + utf8_width(bytes_text(&texts[i]), texts[i].length); is_left && k < s->width / 2;
             k++)
            bytes_append_text(&s->head, " ");
        if (!is_left)
            bytes_append_text(&s->head, "\n");
    }
    for (size_t i = 0; i < o->part_count; i++)
        bytes_free(&texts[i]);
}

/* --- the tail --- */

static void append_name(struct bytes *line, const char *name, size_t columns)
{
    struct bytes text = {0};
    overview_append_short(&text, name);
    utf8_append_shortened(line, bytes_text(&text), text.length, columns, "..");
    bytes_free(&text);
}

/* What the host did in the gaps, by time. */
static void add_gap_host(struct screen *s)
{
    const struct overview *o = s->o;
    struct bytes line = {0};
    uint64_t all = 0;
    for (size_t i = 0; i < o->gap_host_count; i++)
        all += o->gap_host[i].ns;
    for (size_t i = 0; i < o->gap_host_count && i < GAP_NAMES; i++) {
        const struct overview_host *host = &o->gap_host[i];
        struct number_text share;
        bytes_append_format(&line, "%s%s ", i ? ", " : "    host meanwhile: ",
                            format_share(&share, all ? (double)host->ns / (double)all : 0));
        append_name(
            &line, host->name == TRACE_NONE ? "nothing recorded" : trace_get_name(o->trace, host->name)->name,
            NAME_COLUMNS);
    }
    if (line.length)
        put_line(s, &s->tail, "", bytes_text(&line));
    bytes_free(&line);
}

static void add_gaps(struct screen *s)
{
    const struct overview *o = s->o;
    struct number_text count, sum, longest;
    struct bytes line = {0};
    if (!o->gap_count)
        return;
    const struct overview_gap *gap = &o->gaps[0];
    bytes_append_format(&line, "%s, %s in all; the longest, %s, before ",
                        format_things(&count, o->gap_count, "gap"), format_duration(&sum, o->gap_sum_ns),
                        format_duration(&longest, gap->duration_ns));
    append_name(&line, gap->before == OPS_NONE ? "an op" : perf_text(&o->perf, gap->before), NAME_COLUMNS);
    put_line(s, &s->tail, "", bytes_text(&line));
    add_gap_host(s);
    bytes_free(&line);
}

/* "save 11.0 ms (17%): 256 x Matmul 32 x 1280", and below it what to do. */
static void add_advice(struct screen *s)
{
    const struct overview *o = s->o;
    for (size_t i = 0; i < overview_advice_count(o) && i < ADVICE_LINES; i++) {
        const struct perf_advice *advice = &o->perf.advice[i];
        struct bytes text = {0}, evidence = {0}, line = {0};
        struct number_text gain, share, count;
        overview_append_advice(o, i, &text, &evidence);
        if (advice->rule == PERF_RULE_MODEL)
            bytes_append_text(&line, "in doubt: ");
        else
            bytes_append_format(
                &line,
                "save %s (%s %s): ", format_duration(&gain, (uint64_t)(overview_gain_us(o, i) * 1000 + 0.5)),
                format_share(&share, overview_gain_share(o, i)),
                advice->rule == PERF_RULE_GAP || !o->perf.gaps_dominate ? "of the run"
                                                                        : "of the device time");
        if (advice->rule == PERF_RULE_GAP)
            bytes_append_format(&line, "the gaps before %s", format_things(&count, advice->count, "op"));
        else
            append_name(&line, bytes_text(&evidence), SIZE_MAX);
        put_line(s, &s->tail, "\033[1m", bytes_text(&line));
        bytes_clear(&line);
        bytes_append_format(&line, "    %s", bytes_text(&text));
        put_line(s, &s->tail, "", bytes_text(&line));
        bytes_free(&text);
        bytes_free(&evidence);
        bytes_free(&line);
    }
}

static void add_lists(struct screen *s)
{
    struct overview_lists lists;
    struct bytes line = {0};
    overview_lists_make(&lists, s->o);
    for (size_t i = 0; i < lists.loss_count; i++) {
        bytes_clear(&line);
        bytes_append_format(&line, "%s (%s)", bytes_text(&lists.losses[i].text),
                            bytes_text(&lists.losses[i].remedy));
        put_line(s, &s->tail, meanings[meaning_of("loss")].colour, bytes_text(&line));
    }
    for (size_t i = 0; i < lists.next_count && i < NEXT_LINES;
         i++) { /* whole, however long: it may be copied */
        bytes_append_format(&s->tail, "%snext: ", colour(s, "\033[2m"));
        put(s, &s->tail, bytes_text(&lists.next[i].command), lists.next[i].command.length);
        bytes_append_format(&s->tail, "%s\n", colour(s, "\033[0m"));
    }
    overview_lists_free(&lists);
    bytes_free(&line);
}

/* --- tables --- */

/* In a narrow terminal the heading says only what the rows are, not by what they are sorted. */
static struct table_column first_column(const struct screen *s, const struct table_column *column)
{
    struct table_column own = *column;
    own.title = s->width < WIDTH_HEADINGS ? column->key : column->title;
    return own;
}

enum { OP_NAME, OP_COUNT, OP_DEVICE, OP_ALONE, OP_SHARE, OP_BOUND, OP_COLUMNS };

static const struct table_column op_columns[OP_COLUMNS] = {
    [OP_NAME] = {.key = "op", .title = "op, by device time", .shrink = 20},
    [OP_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [OP_DEVICE] = {.key = "device", .title = "device", .type = TABLE_TIME},
    [OP_ALONE] = {.key = "alone", .title = "alone", .type = TABLE_TIME},
    [OP_SHARE] = {.key = "share", .title = "share", .type = TABLE_PERCENT, .decimals = 1},
    [OP_BOUND] = {.key = "bound", .title = "bound"},
};

static void add_ops(struct screen *s, size_t rows)
{
    const struct overview *o = s->o;
    struct table_column columns[OP_COLUMNS];
    struct bytes name = {0};
    struct table table;
    bool has_bound = false;
    memcpy(columns, op_columns, sizeof columns);
    if (perf_is_cpu(&o->perf)) {
        columns[OP_NAME].title = "op, by CPU time";
        columns[OP_DEVICE].title = "CPU";
    }
    columns[OP_NAME] = first_column(s, &columns[OP_NAME]);
    table_init(&table, "ops", columns, OP_COLUMNS);
    for (size_t i = 0; i < o->ops.count && i < rows; i++) {
        const struct overview_op *op = &o->ops.items[i];
        if (!(op->device_ns > 0))
            break;
        table_add_row(&table);
        bytes_clear(&name);
        overview_append_short(&name, perf_text(&o->perf, op->name));
        table_set_text(&table, OP_NAME, bytes_text(&name));
        table_set_unsigned(&table, OP_COUNT, op->count);
        table_set_real(&table, OP_DEVICE, op->device_ns);
        table_set_real(&table, OP_ALONE, op->alone_ns);
        table_set_real(&table, OP_SHARE, op->share * 100);
        table_set_text(&table, OP_BOUND, perf_bound_text(op->bound));
        has_bound |= *perf_bound_text(op->bound) != '\0';
    }
    if (!has_bound)
        table_show_column(&table, OP_BOUND, TABLE_DATA_ONLY);
    if (table.row_count)
        report_table(s->report, "ops", &table);
    bytes_free(&name);
    table_free(&table);
}

enum { FUNCTION_NAME, FUNCTION_PLACE, FUNCTION_SELF, FUNCTION_TOTAL, FUNCTION_COUNT, FUNCTION_COLUMNS };

static const struct table_column function_columns[FUNCTION_COLUMNS] = {
    [FUNCTION_NAME] = {.key = "function", .title = "function, by own time", .shrink = 20},
    [FUNCTION_PLACE] = {.key = "place", .title = "location", .shrink = 14},
    [FUNCTION_SELF] = {.key = "self", .title = "self", .type = TABLE_TIME},
    [FUNCTION_TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME},
    [FUNCTION_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
};

static void add_function(struct screen *s, struct table *table, const struct place_labels *places,
                         const struct overview_function *function, bool is_waiting)
{
    const struct trace_name *name = trace_get_name(s->o->trace, function->name);
    const char *file = place_label_file(places, name);
    table_add_row(table);
    if (is_waiting)
        table_set_format(table, FUNCTION_NAME, "waiting: %s", name->name);
    else
        table_set_text(table, FUNCTION_NAME, name->name);
    if (function->place_count > 1)
        table_set_format(table, FUNCTION_PLACE, "%" PRIu32 " places", function->place_count);
    else if (*file && name->line)
        table_set_format(table, FUNCTION_PLACE, "%s:%" PRIu32, file, name->line);
    else if (*file)
        table_set_text(table, FUNCTION_PLACE, file);
    else
        table_set_text(table, FUNCTION_PLACE, "");
    table_set_unsigned(table, FUNCTION_SELF, function->self_ns);
    table_set_unsigned(table, FUNCTION_TOTAL, function->total_ns);
    table_set_unsigned(table, FUNCTION_COUNT, function->count);
    if (is_waiting)
        table_set_style(table, FUNCTION_NAME, TABLE_WARN);
}

/* Waits that take next to nothing are not worth a row. */
static size_t long_waits(const struct overview *o)
{
    size_t count = 0;
    while (count < o->waiting_count && o->waiting[count].self_ns > (o->to_ns - o->from_ns) / 200)
        count++;
    return count;
}

/* Those that work, then a third of the rows at most for those that wait. */
static void add_functions(struct screen *s, size_t rows)
{
    const struct overview *o = s->o;
    struct table_column columns[FUNCTION_COLUMNS];
    struct place_labels places = {0};
    struct error err; /* without memory, whole paths are shown */
    struct table table;
    size_t waits = long_waits(o), waiting = waits < (rows + 2) / 3 ? waits : (rows + 2) / 3;
    size_t working = o->working_count < rows - waiting ? o->working_count : rows - waiting;
    waiting = waits < rows - working ? waits : rows - working;
    place_labels_make(&places, o->trace, &err);
    memcpy(columns, function_columns, sizeof columns);
    columns[FUNCTION_NAME] = first_column(s, &function_columns[FUNCTION_NAME]);
    table_init(&table, "functions", columns, FUNCTION_COLUMNS);
    for (size_t i = 0; i < working; i++)
        add_function(s, &table, &places, &o->working[i], false);
    for (size_t i = 0; i < waiting; i++)
        add_function(s, &table, &places, &o->waiting[i], true);
    if (table.row_count)
        report_table(s->report, "functions", &table);
    table_free(&table);
    place_labels_free(&places);
}

static void add_tables(struct screen *s, size_t lines, size_t rows)
{
    const struct overview *o = s->o;
    bool has_ops = o->ops.count && o->ops.items[0].device_ns > 0;
    size_t functions = o->working_count + long_waits(o);
    bool has_functions = functions > 0;
    size_t fixed = line_count(&s->report->text) + 1 + line_count(&s->tail),
           left = lines > fixed ? lines - fixed : 0;
    size_t tables = (size_t)has_ops + has_functions;
    for (unsigned i = 0; i < 2; i++) {
        bool is_there = i ? has_functions : has_ops;
        if (!is_there)
            continue;
        /* A blank line and the head of each; the ops have the larger half. */
        size_t room = left > 2 * tables ? left - 2 * tables : 0;
        size_t own = rows ? rows : (room + tables - 1) / tables;
        own = own < LEAST_ROWS ? LEAST_ROWS : own;
        size_t have = i ? functions : o->ops.count;
        own = own < have ? own : have;
        bytes_append_text(&s->report->text, "\n");
        if (i)
            add_functions(s, own);
        else
            add_ops(s, own);
        left -= left < own + 2 ? left : own + 2;
        tables--;
    }
}

void overview_show(const struct overview *o, struct report *report, const struct overview_look *look)
{
    unsigned width = report->look.width ? report->look.width : WIDTH_PIPE;
    struct screen s = {.o = o,
                       .report = report,
                       .width = width < WIDTH_MOST ? width : WIDTH_MOST,
                       .line_width = report->look.width ? width : SIZE_MAX,
                       .is_utf8 = report->look.is_utf8,
                       .is_coloured = report->look.is_coloured};
    if (!look->no_facts)
        add_facts(&s);
    add_sentence(&s);
    add_window(&s);
    add_devices(&s);
    if (o->total_ns) {
        add_bar(&s);
        add_legend(&s);
    }
    bytes_append(&report->text, s.head.data, s.head.length);
    add_gaps(&s);
    add_advice(&s);
    add_lists(&s);
    add_tables(&s, look->lines > 1 ? look->lines - 1 : 0, look->rows);
    bytes_append_text(&report->text, "\n");
    bytes_append(&report->text, s.tail.data, s.tail.length);
    report->failed |= s.head.failed || s.tail.failed;
    bytes_free(&s.head);
    bytes_free(&s.tail);
}

void overview_add_parts(const struct overview *o, struct report *report)
{
    static const struct table_column columns[] = {{.key = "key"},
                                                  {.key = "label"},
                                                  {.key = "time", .type = TABLE_TIME},
                                                  {.key = "share", .type = TABLE_PERCENT}};
    struct table table;
    table_init(&table, "parts", columns, 4);
    for (size_t i = 0; i < o->part_count; i++) {
        table_add_row(&table);
        table_set_text(&table, 0, overview_key_text(o->parts[i].key));
        table_set_text(&table, 1, overview_label(o, o->parts[i].key));
        table_set_unsigned(&table, 2, o->parts[i].ns);
        table_set_real(&table, 3, o->total_ns ? 100 * (double)o->parts[i].ns / (double)o->total_ns : NAN);
    }
    report_table(report, "rows", &table);
    table_free(&table);
}
