/* SPDX-License-Identifier: Apache-2.0 */
/* opscope overhead-worker: the process in which `opscope overhead` calls the ops of a shared library, or runs a
 * program. Not for people: it speaks JSON over two inherited descriptors (measure/worker.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "measure/serve.h"

#define MOST_DIMENSIONS 16u

struct worker_options {
    const char *fds, *file, *shape, *dtype, *layout, *device;
    uint64_t memory_limit_bytes;
};

#define FIELD(name) OPTION_FIELD(struct worker_options, name)

static const struct command_option options_table[] = {
    {.name = "fds",
     .type = OPTION_TEXT,
     .argument = "R,W",
     .offset = FIELD(fds),
     .help = "Where to read and write."},
    {.name = "library", .type = OPTION_TEXT, .argument = "FILE", .offset = FIELD(file), .help = "Its ops."},
    {.name = "shape",
     .type = OPTION_TEXT,
     .argument = "SHAPE",
     .offset = FIELD(shape),
     .help = "For the ops."},
    {.name = "dtype",
     .type = OPTION_TEXT,
     .argument = "TYPE",
     .offset = FIELD(dtype),
     .help = "For the ops."},
    {.name = "layout",
     .type = OPTION_TEXT,
     .argument = "LAYOUT",
     .offset = FIELD(layout),
     .help = "For the ops."},
    {.name = "device",
     .type = OPTION_TEXT,
     .argument = "DEVICE",
     .offset = FIELD(device),
     .help = "For the ops."},
    {.name = "memory-limit",
     .type = OPTION_SIZE,
     .argument = "SIZE",
     .offset = FIELD(memory_limit_bytes),
     .help = "More than now."},
    {0},
};
static const struct option_table worker_table = {"Options", options_table};

static bool parse_shape(const char *text, int64_t *shape, uint32_t *rank)
{
    for (*rank = 0; text && *text && *rank < MOST_DIMENSIONS;) {
        char *end;
        errno = 0;
        long long size = strtoll(text, &end, 10);
        if (end == text || errno || size < 0 || (*end && *end != ','))
            return false;
        shape[(*rank)++] = size;
        text = *end ? end + 1 : end;
    }
    return !text || !*text;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct worker_options o = {0};
    struct command_line line;
    int status = command_parse(command, argc, argv, &o, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    int64_t shape[MOST_DIMENSIONS];
    struct opscope_overhead_inputs inputs = {.struct_size = sizeof inputs,
                                             .shape = shape,
                                             .dtype = o.dtype,
                                             .layout = o.layout,
                                             .device = o.device};
    struct serve_options serve = {
        .memory_limit_bytes = o.memory_limit_bytes, .inputs = &inputs, .loop_ns = NAN};
    if (!o.fds || sscanf(o.fds, "%d,%d", &serve.read_fd, &serve.write_fd) != 2 ||
        !parse_shape(o.shape, shape, &inputs.rank) || (!o.file && line.count == 0))
        return command_usage_error(command, "this is started by opscope overhead");
    if (!o.file) {
        serve.provider = "command";
        return serve_command(&serve, line.values);
    }
    const char *slash = strrchr(o.file, '/');
    serve.provider = slash ? slash + 1 : o.file;
    return serve_library(&serve, o.file);
}

static const struct command_argument arguments[] = {
    {.name = "COMMAND",
     .kind = ARGUMENT_PROGRAM,
     .is_optional = true,
     .is_repeated = true,
     .help = "What to run."},
    {0},
};

const struct command command_overhead_worker = {
    .name = "overhead-worker",
    .group = COMMAND_GROUP_HELP,
    .summary = "The process in which opscope overhead calls ops",
    .usage = (const char *const[]){"--fds R,W [options] [-- COMMAND...]", NULL},
    .description = "Started by opscope overhead.",
    .options = {{&worker_table, 0}},
    .arguments = arguments,
    .stops_at_argument = true,
    .is_hidden = true,
    .run = run,
};
