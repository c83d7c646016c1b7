/* SPDX-License-Identifier: Apache-2.0 */
/* A hostile trace through everything behind the reader: commands, exports, the page's file, the questions of the server
 * and the tools of MCP (trace_commands.h). The first byte says which step the input goes through, 255 through all; the
 * rest is a trace, whose hashes are made right when the first byte is odd. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rehash.h"
#include "small_trace.h"
#include "trace_commands.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct small_trace whole;
static char hostile[112];

static void clean_up(void)
{
    unlink(hostile);
    small_trace_remove(&whole);
}

/* What commands print goes nowhere; libFuzzer itself writes to standard error alone. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    small_trace_make(&whole);
    snprintf(hostile, sizeof hostile, "%s/h.opscope", whole.folder);
    atexit(clean_up);
    return freopen("/dev/null", "w", stdout) ? 0 : 1;
}

static void write_hostile(const uint8_t *data, size_t size, bool is_rehashed)
{
    uint8_t *copy = malloc(size + 1);
    FILE *file = fopen(hostile, "w");
    if (!copy || !file)
        abort();
    memcpy(copy, data, size);
    if (is_rehashed)
        rehash(copy, size);
    if (fwrite(copy, 1, size, file) != size || fclose(file) != 0)
        abort();
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    write_hostile(data + 1, size - 1, data[0] & 1);
    size_t steps = trace_commands_count();
    if (data[0] != 255) {
        trace_commands_run((data[0] / 2) % steps, hostile, whole.path);
        return 0;
    }
    for (size_t i = 0; i < steps; i++)
        trace_commands_run(i, hostile, whole.path);
    return 0;
}
