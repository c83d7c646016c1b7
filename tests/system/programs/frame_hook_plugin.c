/* SPDX-License-Identifier: Apache-2.0 */
/* A frame-evaluation hook (PEP 523) as another tool would have it, loaded into Python by test_python_hooks.py: counts
 * frames and calls whatever was there before. Needs no headers of Python's: what it passes on it does not look at. */
#include <stddef.h>

typedef void *evaluate_function(void *thread, void *frame, int throwflag);

#define SHOWN __attribute__((visibility("default")))
SHOWN void frame_hook_chain(evaluate_function *previous);
SHOWN long frame_hook_count(void);
SHOWN evaluate_function frame_hook_evaluate;

static evaluate_function *chained;
static long count;

void frame_hook_chain(evaluate_function *previous)
{
    chained = previous;
}

long frame_hook_count(void)
{
    return count;
}

void *frame_hook_evaluate(void *thread, void *frame, int throwflag)
{
    count++;
    return chained(thread, frame, throwflag);
}
