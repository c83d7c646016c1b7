/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files of a command that must not stay behind when somebody interrupts it.
 *
 * A path is noted while its file or folder exists; on SIGINT, SIGTERM and SIGHUP what is noted is removed, the newest
 * first, and the process ends by the signal as it would have. A signal that is ignored or handled otherwise stays what
 * it is. The list is one for the process, since a signal handler has no other way to it. After SIGKILL files stay. */
#ifndef OPSCOPE_BASE_LEFTOVERS_H
#define OPSCOPE_BASE_LEFTOVERS_H

/* A number for leftover_forget; -1 when there is no room or memory: then the file is just not cared for. */
int leftover_note(const char *path);
void leftover_forget(int number);
/* Removes what is noted now, for a process that ends without more ado. */
void leftovers_remove(void);

#endif
