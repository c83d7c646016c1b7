/* SPDX-License-Identifier: Apache-2.0 */
/* What `opscope run` does so that Python calls are recorded without anything being installed. */
#ifndef OPSCOPE_CLI_RUN_PYTHON_H
#define OPSCOPE_CLI_RUN_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

enum run_python_trace { RUN_PYTHON_AUTO, RUN_PYTHON_OFF, RUN_PYTHON_LINES };

/* Sets PYTHONPATH, OPSCOPE_PYTHON_TRACE and OPSCOPE_PYTHON_RUN in this process's environment, which the command
 * inherits. Does nothing where the Python package lies nowhere beside the program. */
void run_python_prepare(enum run_python_trace trace);

/* The folder that holds the Python package opscope; false where there is none beside the program. */
bool run_python_package_folder(char *out, size_t size);

#endif
