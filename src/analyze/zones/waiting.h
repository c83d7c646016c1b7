/* SPDX-License-Identifier: Apache-2.0 */
/* Which zones wait rather than work: calls that block until somebody else does something. They are known by their
 * names, since a trace does not say how long a thread was on a processor. */
#ifndef OPSCOPE_ANALYZE_ZONES_WAITING_H
#define OPSCOPE_ANALYZE_ZONES_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* "Condition.wait", "epoll_wait", "std::this_thread::sleep_for", "chip_wait", "wait for the loader". */
bool waiting_is_name(const char *name);

/* Is all of this time waiting, but for 1 %? The few microseconds around a wait do not make it work; a loop that waits
 * for its input most of the time works all the same. */
static inline bool waiting_is_all(uint64_t waiting_ns, uint64_t total_ns)
{
    return waiting_ns > 0 && waiting_ns >= total_ns - total_ns / 100;
}

#endif
