/* SPDX-License-Identifier: Apache-2.0 */
/* Reading command lines by an option table: values, errors, suggestions; and the documents made from it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "cli/command/command.h"
#include "text/suggest.h"
#include "text/values.h"

struct options {
    bool fast, json;
    const char *output;
    uint64_t count, size, duration;
    struct trace_time since;
    unsigned colour;
    struct text_list names;
    double percent;
};

static const char *const colours[] = {"red", "green", "blue", NULL};

#define FIELD(field) OPTION_FIELD(struct options, field)
static const struct command_option rows[] = {
    {.name = "fast", .letter = 'f', .type = OPTION_FLAG, .offset = FIELD(fast), .help = "Be fast."},
    {.name = "json", .letter = 'j', .type = OPTION_FLAG, .offset = FIELD(json), .help = "Write JSON."},
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(output),
     .is_file = true,
     .help = "Write to a file. It's new."},
    {.name = "count",
     .type = OPTION_NUMBER,
     .argument = "N",
     .offset = FIELD(count),
     .min = 1,
     .max = 10,
     .help = "How many."},
    {.name = "size", .type = OPTION_SIZE, .argument = "SIZE", .offset = FIELD(size), .help = "How large."},
    {.name = "duration",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = FIELD(duration),
     .help = "How long."},
    {0},
};
static const struct command_option more_rows[] = {
    {.name = "since",
     .type = OPTION_TIME,
     .argument = "TIME",
     .offset = FIELD(since) - FIELD(since),
     .help = "From."},
    {.name = "colour",
     .type = OPTION_CHOICE,
     .argument = "COLOUR",
     .offset = FIELD(colour) - FIELD(since),
     .choices = colours,
     .help = "Which colour."},
    {.name = "name",
     .letter = 'n',
     .type = OPTION_LIST,
     .argument = "PATTERN",
     .offset = FIELD(names) - FIELD(since),
     .help = "Which names."},
    {.name = "percent",
     .type = OPTION_PERCENT,
     .argument = "P",
     .offset = FIELD(percent) - FIELD(since),
     .help = "How much."},
    {.name = "secret", .type = OPTION_FLAG, .offset = 0, .is_hidden = true, .help = "Hidden."},
    {0},
};
static const struct option_table table = {"Options", rows}, more = {"More", more_rows};
static const struct command_argument arguments[] = {
    {.name = "FILE", .kind = ARGUMENT_TRACE, .help = "The file."},
    {.name = "OTHER", .kind = ARGUMENT_FILE, .is_optional = true, .help = "Another."},
    {0},
};
static const struct command_argument program_arguments[] = {
    {.name = "CMD", .kind = ARGUMENT_PROGRAM, .is_repeated = true, .help = "The program."},
    {0},
};

static const struct command demo = {
    .name = "demo",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show a demo",
    .usage = (const char *const[]){"[options] FILE", "--json FILE", NULL},
    .description =
        "Some words about it that are long enough to need a second line in a narrow terminal.\n\n  kept  as is",
    .options = {{&table, 0}, {&more, FIELD(since)}},
    .arguments = arguments,
};

static const struct command runner = {
    .name = "runner",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Run it's program",
    .usage = (const char *const[]){"[options] CMD", NULL},
    .description = "Runs.",
    .options = {{&table, 0}},
    .arguments = program_arguments,
    .stops_at_argument = true,
};

/* commands.c names the real commands; these two stand for them. */
const struct command *command_at(size_t i)
{
    const struct command *const all[] = {&runner, &demo};
    return i < 2 ? all[i] : NULL;
}

struct parsed {
    struct options options;
    struct command_line line;
    struct error err;
    int result;
    char *argv[80];
};

/* Splits at single spaces. */
static void parse(struct parsed *p, const struct command *command, const char *text)
{
    static char buffer[4096];
    int argc = 0;
    *p = (struct parsed){0};
    assert_true(strlen(text) < sizeof buffer);
    memcpy(buffer, text, strlen(text) + 1);
    for (char *at = buffer; at; argc++) {
        assert_true(argc < 79);
        char *end = strchr(at, ' ');
        p->argv[argc] = at;
        if (end)
            *end++ = '\0';
        at = end;
    }
    p->argv[argc] = NULL;
    p->result = command_parse_quiet(command, argc, p->argv, &p->options, &p->line, &p->err);
}

static void assert_fails(const struct command *command, const char *text, const char *message)
{
    struct parsed p;
    parse(&p, command, text);
    assert_int_equal(p.result, -EINVAL);
    assert_string_equal(p.err.message, message);
}

static void test_all_types(void **state)
{
    struct parsed p;
    (void)state;
    parse(&p, &demo,
          "demo -f --output out.csv file --count=7 --size 1.5K --duration=200ms --since 50% --colour green "
          "-na --name=b* --percent 2.5%");
    assert_int_equal(p.result, 0);
    assert_true(p.options.fast);
    assert_false(p.options.json);
    assert_string_equal(p.options.output, "out.csv");
    assert_int_equal(p.options.count, 7);
    assert_int_equal(p.options.size, 1536);
    assert_int_equal(p.options.duration, 200000000);
    assert_int_equal(p.options.since.kind, TRACE_TIME_PERCENT);
    assert_true(p.options.since.percent == 50.0);
    assert_int_equal(p.options.colour, 1);
    assert_int_equal(p.options.names.count, 2);
    assert_string_equal(p.options.names.items[0], "a");
    assert_string_equal(p.options.names.items[1], "b*");
    assert_true(p.options.percent == 2.5);
    assert_int_equal(p.line.count, 1);
    assert_string_equal(p.line.values[0], "file");
    assert_null(p.line.values[1]);
}

static void test_short_forms(void **state)
{
    struct parsed p;
    (void)state;
    parse(&p, &demo, "demo -fjoout - x");
    assert_int_equal(p.result, 0);
    assert_true(p.options.fast && p.options.json);
    assert_string_equal(p.options.output, "out");
    assert_int_equal(p.line.count, 2);
    assert_string_equal(p.line.values[0], "-"); /* stdin is an argument */
    assert_string_equal(p.line.values[1], "x");
}

static void test_separator(void **state)
{
    struct parsed p;
    (void)state;
    parse(&p, &demo, "demo -- --json -f");
    assert_int_equal(p.result, 0);
    assert_false(p.options.json);
    assert_true(p.line.had_separator);
    assert_int_equal(p.line.count, 2);
    assert_string_equal(p.line.values[0], "--json");
}

static void test_program_keeps_its_options(void **state)
{
    struct parsed p;
    (void)state;
    parse(&p, &runner, "runner -f -o t.opscope prog -j --unknown -- x");
    assert_int_equal(p.result, 0);
    assert_true(p.options.fast);
    assert_false(p.options.json);
    assert_int_equal(p.line.count, 5);
    const char *const expected[] = {"prog", "-j", "--unknown", "--", "x"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(p.line.values[i], expected[i]);
    assert_null(p.line.values[5]);
    parse(&p, &runner, "runner -- -f");
    assert_int_equal(p.result, 0);
    assert_int_equal(p.line.count, 1);
    assert_string_equal(p.line.values[0], "-f");
}

static void test_help(void **state)
{
    struct parsed p;
    (void)state;
    parse(&p, &demo, "demo --help");
    assert_int_equal(p.result, 1);
    parse(&p, &demo, "demo x -h --nonsense");
    assert_int_equal(p.result, 1);
    parse(&p, &runner, "runner prog --help");
    assert_int_equal(p.result, 0);
}

static void test_errors(void **state)
{
    (void)state;
    assert_fails(&demo, "demo --jsn x", "unknown option --jsn; did you mean --json?");
    assert_fails(&demo, "demo --outptu=3 x", "unknown option --outptu; did you mean --output?");
    assert_fails(&demo, "demo --dur 3 x", "unknown option --dur; did you mean --duration?");
    assert_fails(&demo, "demo --zzzzzz x", "unknown option --zzzzzz");
    assert_fails(&demo, "demo --secre x", "unknown option --secre");
    assert_fails(&demo, "demo -x", "unknown option -x");
    assert_fails(&demo, "demo x --output", "option --output needs a FILE");
    assert_fails(&demo, "demo x -o", "option -o (--output) needs a FILE");
    assert_fails(&demo, "demo x --json=yes", "option --json takes no value");
    assert_fails(&demo, "demo x --count 11", "--count: 11 is out of range; it goes from 1 to 10");
    assert_fails(&demo, "demo x --count 2.5", "--count: '2.5' is not a whole number");
    assert_fails(&demo, "demo x --count=", "--count: '' is not a whole number");
    assert_fails(&demo, "demo x --size 12Q",
                 "--size: '12Q' is not a size; write it as 4096, 64K, 32M or 1.5G");
    assert_fails(&demo, "demo x --colour gren",
                 "--colour: 'gren' is not one of red, green or blue; did you mean green?");
    assert_fails(&demo, "demo x --colour 7", "--colour: '7' is not one of red, green or blue");
    assert_fails(&demo, "demo", "no FILE given");
    assert_fails(&demo, "demo a b c", "unexpected argument 'c'");
    assert_fails(&runner, "runner --json", "no CMD given");
}

static void test_list_has_an_end(void **state)
{
    struct parsed p;
    struct bytes line = {0};
    (void)state;
    bytes_append_text(&line, "demo FILE");
    for (unsigned i = 0; i < TEXT_LIST_MAX; i++)
        bytes_append_text(&line, " -nx");
    bytes_append_u8(&line, 0);
    parse(&p, &demo, (const char *)line.data);
    assert_int_equal(p.result, 0);
    assert_int_equal(p.options.names.count, TEXT_LIST_MAX);
    line.length--;
    bytes_append_text(&line, " -nx");
    bytes_append_u8(&line, 0);
    parse(&p, &demo, (const char *)line.data);
    assert_int_equal(p.result, -EINVAL);
    bytes_free(&line);
}

static void test_values(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } durations[] = {{"2", 2000000000},    {"1.5s", 1500000000},   {"0.000000001", 1},
                     {"200ms", 200000000}, {"10us", 10000},        {"10\xc2\xb5s", 10000},
                     {"5ns", 5},           {"2min", 120000000000}, {"1h", 3600000000000},
                     {".5s", 500000000},   {"1 s", 1000000000},    {"0", 0}};
    static const char *const bad[] = {"",         "s",  "1x", "-1s", "1e3", "1.5.2s", "99999999999999999999",
                                      "9999999h", "nan"};
    uint64_t value;
    double percent;
    struct trace_time time;
    (void)state;
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        assert_int_equal(value_parse_duration(durations[i].text, &value, NULL), 0);
        assert_int_equal(value, durations[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(value_parse_duration(bad[i], &value, NULL), -EINVAL);
        assert_int_equal(value_parse_time(bad[i], &time, NULL), -EINVAL);
    }
    assert_int_equal(value_parse_size("18446744073709551615", &value, NULL), 0);
    assert_true(value == UINT64_MAX);
    assert_int_equal(value_parse_size("16777216T", &value, NULL), -EINVAL);
    assert_int_equal(value_parse_size("2gib", &value, NULL), 0);
    assert_true(value == (uint64_t)2 << 30);
    assert_int_equal(value_parse_percent("100", &percent, NULL), 0);
    assert_int_equal(value_parse_percent("100.5", &percent, NULL), -EINVAL);
    assert_int_equal(value_parse_percent("0x10", &percent, NULL), -EINVAL);
    assert_int_equal(value_parse_percent("1%%", &percent, NULL), -EINVAL);
}

static void test_suggestions(void **state)
{
    static const char *const words[] = {"zones", "tree", "messages", "completion", "info"};
    (void)state;
    assert_string_equal(suggest_word("zoens", words, 5), "zones");
    assert_string_equal(suggest_word("zone", words, 5), "zones");
    assert_string_equal(suggest_word("mess", words, 5), "messages");
    assert_string_equal(suggest_word("ifno", words, 5), "info");
    assert_null(suggest_word("x", words, 5));
    assert_null(suggest_word("", words, 5));
    assert_null(suggest_word("somethingelse", words, 5));
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_null(suggest_word(longer, words, 5));
}

static void test_help_text_is_wrapped(void **state)
{
    struct bytes text = {0};
    (void)state;
    command_help_text(&demo, 50, false, &text);
    bytes_append_u8(&text, 0);
    assert_string_equal((const char *)text.data, "Usage: opscope demo [options] FILE\n"
                                                 "       opscope demo --json FILE\n"
                                                 "\n"
                                                 "Show a demo.\n"
                                                 "\n"
                                                 "Some words about it that are long enough to need a\n"
                                                 "second line in a narrow terminal.\n"
                                                 "\n"
                                                 "  kept  as is\n"
                                                 "\n"
                                                 "Arguments\n"
                                                 "  FILE                    The file.\n"
                                                 "  OTHER                   Another.\n"
                                                 "\n"
                                                 "Options\n"
                                                 "  -f, --fast              Be fast.\n"
                                                 "  -j, --json              Write JSON.\n"
                                                 "  -o, --output FILE       Write to a file. It's\n"
                                                 "                          new.\n"
                                                 "      --count N           How many.\n"
                                                 "      --size SIZE         How large.\n"
                                                 "      --duration TIME     How long.\n"
                                                 "\n"
                                                 "More\n"
                                                 "      --since TIME        From.\n"
                                                 "      --colour COLOUR     Which colour. One of:\n"
                                                 "                          red, green, blue.\n"
                                                 "  -n, --name PATTERN      Which names.\n"
                                                 "      --percent P         How much.\n"
                                                 "\n"
                                                 "Exit status\n"
                                                 "  0     success\n"
                                                 "  2     bad input or usage\n");
    bytes_free(&text);
}

static void test_completion_names_everything(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct bytes text = {0};
        assert_int_equal(completion_script(shells[i], &text), 0);
        bytes_append_u8(&text, 0);
        const char *script = (const char *)text.data;
        assert_non_null(strstr(script, "runner"));
        assert_non_null(strstr(script, "demo"));
        assert_non_null(strstr(script, "red green blue"));
        assert_non_null(strstr(script, "duration"));
        assert_null(strstr(script, "secret"));
        bytes_free(&text);
    }
    struct bytes text = {0};
    assert_int_equal(completion_script("tcsh", &text), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_types),
        cmocka_unit_test(test_short_forms),
        cmocka_unit_test(test_separator),
        cmocka_unit_test(test_program_keeps_its_options),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_list_has_an_end),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_help_text_is_wrapped),
        cmocka_unit_test(test_completion_names_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
