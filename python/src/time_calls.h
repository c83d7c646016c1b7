/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of `opscope overhead` in the extension. */
#ifndef OPSCOPE_PYTHON_TIME_CALLS_H
#define OPSCOPE_PYTHON_TIME_CALLS_H

#include "python/src/native.h"

/* Adds them to the module: 0, or -1 with an exception. */
int time_calls_add_to(PyObject *module);

#endif
