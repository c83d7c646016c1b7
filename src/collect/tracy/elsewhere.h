/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPSCOPE_COLLECT_TRACY_ELSEWHERE_H
#define OPSCOPE_COLLECT_TRACY_ELSEWHERE_H

#include <stdint.h>

/* A stream socket in the network of that process, which is another than ours (ip netns, bwrap, unshare). -1 with errno:
 * we may not go there. */
int tracy_socket_elsewhere(int64_t pid, int family);

#endif
