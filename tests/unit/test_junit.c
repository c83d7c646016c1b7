/* SPDX-License-Identifier: Apache-2.0 */
/* The JUnit writer: counts, outcomes, what XML cannot hold; and the whole read back by Python's parser. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "present/junit.h"

static char *written(const struct junit *junit, const char *suite)
{
    char *text = NULL;
    size_t length = 0;
    struct error err = {0};
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(junit_write(junit, suite, out, &err), 0);
    fclose(out);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no %s in\n%s", part, text);
}

static void test_outcomes_and_counts(void **state)
{
    (void)state;
    struct junit junit = {0};
    junit_add(&junit, &(struct junit_case){.class_name = "torch", .name = "torch.add", .seconds = 0.25});
    junit_add(&junit, &(struct junit_case){.name = "torch.mul",
                                           .seconds = 0.5,
                                           .result = JUNIT_FAILED,
                                           .message = "slower",
                                           .detail = "a\nb"});
    junit_add(&junit, &(struct junit_case){.name = "torch.div", .result = JUNIT_ERROR, .message = "crashed"});
    junit_add(&junit, &(struct junit_case){.name = "torch.pow", .result = JUNIT_SKIPPED});
    junit_add_property(&junit, "tolerance", "1.13");
    char *text = written(&junit, "gate");
    assert_has(text, "<testsuite name=\"gate\" tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\" "
                     "time=\"0.750000\">");
    assert_has(text, "<testcase classname=\"torch\" name=\"torch.add\" time=\"0.250000\"/>");
    assert_has(text, "<failure message=\"slower\">a\nb</failure>");
    assert_has(text, "<error message=\"crashed\"/>");
    assert_has(text, "<skipped/>");
    assert_has(text, "<property name=\"tolerance\" value=\"1.13\"/>");
    free(text);
    junit_free(&junit);
}

static void test_escapes(void **state)
{
    (void)state;
    struct junit junit = {0};
    junit_add(&junit, &(struct junit_case){.name = "a<b>&\"c\"\n\x1b[0m\xff\xef\xbf\xbe",
                                           .result = JUNIT_FAILED,
                                           .message = "tab\there",
                                           .detail = "]]>\r\x01"});
    char *text = written(&junit, "");
    assert_has(text, "name=\"a&lt;b&gt;&amp;&quot;c&quot;&#10;\\x1b[0m\xef\xbf\xbd\xef\xbf\xbd\"");
    assert_has(text, "message=\"tab&#9;here\"");
    assert_has(text, ">]]&gt;&#13;\\x01</failure>");
    free(text);
    junit_free(&junit);
}

static void test_empty_suite_and_odd_times(void **state)
{
    (void)state;
    struct junit junit = {0};
    char *text = written(&junit, "none");
    assert_has(text, "tests=\"0\"");
    free(text);
    junit_add(&junit, &(struct junit_case){.name = "a", .seconds = (double)NAN});
    junit_add(&junit, &(struct junit_case){.name = "b", .seconds = -1});
    text = written(&junit, "odd");
    assert_has(text, "time=\"0.000000\">");
    free(text);
    junit_free(&junit);
}

/* Every byte, in every place, as another program's parser sees it. */
static void test_another_parser_reads_it(void **state)
{
    (void)state;
    static const char script[] =
        "import sys, xml.etree.ElementTree as t\n"
        "r = t.parse(sys.argv[1]).getroot()\n"
        "s = r.find('testsuite')\n"
        "cases = s.findall('testcase')\n"
        "assert len(cases) == int(s.get('tests')) == 255, len(cases)\n"
        "f = [c.find('failure') for c in cases]\n"
        "assert all(x is not None for x in f) and int(s.get('failures')) == 255\n"
        "for i, c in enumerate(cases, 1):\n"
        "    want = chr(i) if i in (9, 10, 13) or 32 <= i < 127 else '\\ufffd' if i > 127 else '\\\\x%02x' % i\n"
        "    for got in (c.get('name'), c.find('failure').get('message'), c.find('failure').text,\n"
        "                c.find('system-out').text):\n"
        "        assert got == 'x' + want + 'y', (i, got)\n";
    struct junit junit = {0};
    char path[] = "/tmp/opscope-junit-XXXXXX";
    if (access("/usr/bin/python3", X_OK) != 0) {
        print_message("SKIP: /usr/bin/python3 is not there\n");
        skip();
    }
    for (int i = 1; i < 256; i++) {
        char text[4] = {'x', (char)i, 'y', '\0'};
        junit_add(&junit, &(struct junit_case){.class_name = text,
                                               .name = text,
                                               .result = JUNIT_FAILED,
                                               .message = text,
                                               .detail = text,
                                               .output = text});
    }
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    FILE *out = fdopen(descriptor, "w");
    assert_int_equal(junit_write(&junit, "every byte", out, NULL), 0);
    fclose(out);
    pid_t child = fork();
    if (child == 0) {
        execl("/usr/bin/python3", "python3", "-c", script, path, (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    unlink(path);
    assert_int_equal(status, 0);
    junit_free(&junit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outcomes_and_counts),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_empty_suite_and_odd_times),
        cmocka_unit_test(test_another_parser_reads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
