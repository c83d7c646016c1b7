/* SPDX-License-Identifier: Apache-2.0 */
/* opscope setup: builds what has to fit what is installed here. So far the observer of PyTorch's ops, which the Python
 * package builds (python/opscope/_torch.py), since that Python knows which torch it has. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/run/python.h"

struct setup_options {
    const char *python;
};

static const char *const things[] = {"torch", NULL};

#define FIELD(name) OPTION_FIELD(struct setup_options, name)

static const struct command_option options_table[] = {
    {.name = "python",
     .type = OPTION_TEXT,
     .argument = "PYTHON",
     .offset = FIELD(python),
     .help = "The interpreter whose torch it is for. python3 without this."},
    {0},
};
static const struct option_table setup_table = {"Options", options_table};

static int run(const struct command *command, int argc, char **argv)
{
    struct setup_options options = {0};
    struct command_line line;
    struct error err = {0};
    char folder[PATH_MAX];
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (strcmp(line.values[0], things[0]) != 0)
        return command_usage_error(command, "'%s' cannot be set up; torch can", line.values[0]);
    if (!run_python_package_folder(folder, sizeof folder)) {
        error_set(&err, ENOENT,
                  "opscope was built without its Python package: build it where Python's headers are");
        return command_fail(command, &err);
    }
    const char *python = options.python ? options.python : "python3", *old = getenv("PYTHONPATH");
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder, old && *old ? ":" : "", old ? old : "") < 0) {
        error_set_errno(&err, ENOMEM, "the path of the Python package");
        return command_fail(command, &err);
    }
    setenv("PYTHONPATH", path, 1);
    unsetenv("OPSCOPE_PYTHON_TRACE"); /* of a run around this: it is not to be recorded */
    free(path);
    execlp(python, python, "-m", "opscope._torch", (char *)NULL);
    error_set(&err, errno, "cannot run %s: %s (--python names another interpreter)", python, strerror(errno));
    return command_fail(command, &err);
}

static const struct command_argument arguments[] = {
    {.name = "torch", .kind = ARGUMENT_CHOICE, .choices = things, .help = "What to set up: torch."},
    {0},
};

static const struct command_exit exits[] = {
    {EXIT_OK, "it is built, or was already"},
    {EXIT_NEGATIVE, "it cannot be built; the message says what is missing"},
    {EXIT_USAGE, "bad usage"},
    {0, NULL},
};

static const struct command_example examples[] = {
    {"opscope setup torch", "The ops of the torch that python3 has can be recorded."},
    {"opscope setup torch --python .venv/bin/python", "The same for the torch of a virtual environment."},
    {0},
};

const struct command command_setup = {
    .name = "setup",
    .group = COMMAND_GROUP_HELP,
    .summary = "Build what has to fit the software that is installed here: the observer of PyTorch's ops",
    .usage = (const char *const[]){"torch [--python PYTHON]", NULL},
    .description =
        "The ops of PyTorch are recorded by a small library that is compiled for the torch at hand, with its headers, "
        "in 10 to 30 seconds, and kept in ~/.cache/opscope (XDG_CACHE_HOME). A recording builds it by itself when "
        "torch is first imported; this does it before, for images and machines on which there is no compiler later. "
        "Needs a C++ compiler. docs/pytorch.md has the whole.",
    .options = {{&setup_table, 0}},
    .arguments = arguments,
    .exits = exits,
    .examples = examples,
    .see_also = (const char *const[]){"run", "report", "doctor", NULL},
    .run = run,
};
