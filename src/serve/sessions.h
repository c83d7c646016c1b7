/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of this user that run now, in whatever folder. */
#ifndef OPSCOPE_SERVE_SESSIONS_H
#define OPSCOPE_SERVE_SESSIONS_H

/* Calls back with the path of each one's growing trace. */
void sessions_each(void (*found)(void *context, const char *path), void *context);

#endif
