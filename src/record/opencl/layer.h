/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the adapter stands before, and what it does with them. */
#ifndef OPSCOPE_RECORD_OPENCL_LAYER_H
#define OPSCOPE_RECORD_OPENCL_LAYER_H

#include <stdbool.h>

#include "opscope/opscope.h"
#include "record/opencl/abi.h"

struct opencl_next {
#define FUNCTION(place, result, name, parameters) result(*name) parameters;
    OPENCL_CALLED(FUNCTION)
    OPENCL_WRAPPED(FUNCTION)
#undef FUNCTION
};

#define FUNCTION(place, result, name, parameters) OPSCOPE_API result name parameters;
OPENCL_WRAPPED(FUNCTION)
#undef FUNCTION

/* OpenCL itself, or the layer below this one. */
const struct opencl_next *opencl_next(void);

/* A forked child has no OpenCL: nothing is recorded there, and locks may be held by threads that it has not. */
bool opencl_is_child(void);
/* Are objects to be noted? Also while paused: they are used afterwards. */
bool opencl_has_session(void);
/* Are commands to be recorded? */
bool opencl_is_heard(void); /* recording, or paused until a zone begins, which an op may be */
bool opencl_is_recording(void);

#endif
