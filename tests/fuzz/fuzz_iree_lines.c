/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the lines of JSON that IREE exports a profile as, behind the first one, which is always whole: so that damage
 * lies in the records. What was read becomes a trace. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/iree/profile.h"
#include "trace/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char first[] =
    "{\"schema_version\":15,\"record_type\":\"schema\",\"format\":\"ireeperf-jsonl\"}\n";

static void make_trace(const struct iree_profile *profile)
{
    struct trace_writer_options options = {.program = "fuzz", .command = "fuzz", .host = "fuzz"};
    struct trace_writer *writer;
    struct error err = {0};
    if (trace_writer_open(&writer, "/dev/null", &options, &err) != 0)
        abort();
    if (iree_profile_to_trace(profile, "fuzz.jsonl", NULL, writer, &err) == 0)
        trace_writer_finish(writer, &err);
    else
        trace_writer_abandon(writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iree_profile profile;
    struct error err = {0};
    size_t length = sizeof first - 1 + size;
    char *text = malloc(length);
    if (!text)
        return 0;
    memcpy(text, first, sizeof first - 1);
    if (size)
        memcpy(text + sizeof first - 1, data, size);
    assert(iree_is_profile(text, length));
    if (iree_profile_read(&profile, "fuzz.jsonl", text, length, &err) == 0) {
        make_trace(&profile);
        iree_profile_free(&profile);
    } else {
        assert(strncmp(err.message, "fuzz.jsonl", 10) == 0);
    }
    free(text);
    return 0;
}
