/* SPDX-License-Identifier: Apache-2.0 */
/* What `opscope run` does so that Python calls are recorded without anything being installed. */
#ifndef OPSCOPE_CLI_RUN_PYTHON_H
#define OPSCOPE_CLI_RUN_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text_list.h"
#include "cli/command/command.h"

enum run_python_trace { RUN_PYTHON_AUTO, RUN_PYTHON_OFF, RUN_PYTHON_LINES };

struct run_python_options {
    unsigned trace; /* enum run_python_trace */
#define FIELD_FLAG bool
#define FIELD_TEXT const char *
#define FIELD_NUMBER uint64_t /* 0: not given */
#define FIELD_LIST struct text_list
#define OPTION(field, word, kind, argument, help) FIELD_##kind field;
#include "cli/run/python_options.def"
#undef OPTION
};
extern const struct option_table run_python_table;

/* Sets PYTHONPATH, OPSCOPE_PYTHON_TRACE and OPSCOPE_PYTHON_RUN in this process's environment, which the command
 * inherits. Does nothing where the Python package lies nowhere beside the program. */
void run_python_prepare(const struct run_python_options *options);

/* What a Python command line runs, as a name for its trace: "train" of python3 -u src/train.py, "pytest" of
 * python3 -m pytest; false where there is no such name, as for other programs. */
bool run_python_name(char *const *command, char *out, size_t size);

/* Why a Python command line may have recorded no zone at all, as a sentence; false where nothing is known. After
 * run_python_prepare. */
bool run_python_why_nothing(char *const *command, char *out, size_t size);

/* The view to look at first: "zones", of tests "zones --by-test", of lines "zones --source". After
 * run_python_prepare. */
const char *run_python_view(char *const *command);

/* The folder that holds the Python package opscope; false where there is none beside the program. */
bool run_python_package_folder(char *out, size_t size);

#endif
