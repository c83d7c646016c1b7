/* SPDX-License-Identifier: Apache-2.0 */
/* Cases are rendered as they are added; the counts, which stand in front of them, are known only at the end. The class
 * name is there even when empty: some readers insist on it. */
#include "present/junit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "text/markup_write.h"

static void append_attribute(struct bytes *out, const char *name, const char *value)
{
    bytes_append_format(out, " %s=\"", name);
    xml_append_text(out, value, true);
    bytes_append_text(out, "\"");
}

/* <failure message="...">...</failure> and its kin. */
static void append_outcome(struct bytes *out, const struct junit_case *about)
{
    static const char *const tags[JUNIT_RESULTS] = {
        [JUNIT_FAILED] = "failure", [JUNIT_ERROR] = "error", [JUNIT_SKIPPED] = "skipped"};
    const char *tag = tags[about->result];
    if (!tag)
        return;
    bytes_append_format(out, "      <%s", tag);
    if (about->message)
        append_attribute(out, "message", about->message);
    if (about->detail) {
        bytes_append_text(out, ">");
        xml_append_text(out, about->detail, false);
        bytes_append_format(out, "</%s>\n", tag);
    } else {
        bytes_append_text(out, "/>\n");
    }
}

void junit_add(struct junit *junit, const struct junit_case *about)
{
    struct bytes *out = &junit->cases;
    double seconds = isfinite(about->seconds) && about->seconds > 0 ? about->seconds : 0;
    junit->counts[about->result]++;
    junit->seconds += seconds;
    bytes_append_text(out, "    <testcase");
    append_attribute(out, "classname", about->class_name ? about->class_name : "");
    append_attribute(out, "name", about->name);
    bytes_append_format(out, " time=\"%.6f\"", seconds);
    if (about->result == JUNIT_PASSED && !about->output) {
        bytes_append_text(out, "/>\n");
        return;
    }
    bytes_append_text(out, ">\n");
    append_outcome(out, about);
    if (about->output) {
        bytes_append_text(out, "      <system-out>");
        xml_append_text(out, about->output, false);
        bytes_append_text(out, "</system-out>\n");
    }
    bytes_append_text(out, "    </testcase>\n");
}

void junit_add_property(struct junit *junit, const char *name, const char *value)
{
    bytes_append_text(&junit->properties, "      <property");
    append_attribute(&junit->properties, "name", name);
    append_attribute(&junit->properties, "value", value);
    bytes_append_text(&junit->properties, "/>\n");
}

static void append_counts(const struct junit *junit, const char *tag, const char *suite, struct bytes *out)
{
    size_t tests = 0;
    for (size_t i = 0; i < JUNIT_RESULTS; i++)
        tests += junit->counts[i];
    bytes_append_text(out, tag);
    append_attribute(out, "name", suite);
    bytes_append_format(out,
                        " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.6f\">\n",
                        tests, junit->counts[JUNIT_FAILED], junit->counts[JUNIT_ERROR],
                        junit->counts[JUNIT_SKIPPED], junit->seconds);
}

int junit_write(const struct junit *junit, const char *suite, FILE *out, struct error *err)
{
    struct bytes head = {0};
    bytes_append_text(&head, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    append_counts(junit, "<testsuites", suite, &head);
    append_counts(junit, "  <testsuite", suite, &head);
    if (junit->properties.length) {
        bytes_append_text(&head, "    <properties>\n");
        bytes_append(&head, junit->properties.data, junit->properties.length);
        bytes_append_text(&head, "    </properties>\n");
    }
    bool failed = head.failed || junit->cases.failed || junit->properties.failed;
    if (!failed) {
        fwrite(head.data, 1, head.length, out);
        if (junit->cases.length)
            fwrite(junit->cases.data, 1, junit->cases.length, out);
        fputs("  </testsuite>\n</testsuites>\n", out);
    }
    bytes_free(&head);
    return failed ? error_no_memory(err, "the JUnit file") : 0;
}

void junit_free(struct junit *junit)
{
    bytes_free(&junit->cases);
    bytes_free(&junit->properties);
    *junit = (struct junit){0};
}
