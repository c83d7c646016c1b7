/* SPDX-License-Identifier: Apache-2.0 */
/* Session folders: making one, its control file, finding those that were left behind, removing them. */
#ifndef OPSCOPE_SESSION_FOLDER_H
#define OPSCOPE_SESSION_FOLDER_H

#include "base/error.h"
#include "session/session.h"

struct session_folder {
    char path[SESSION_PATH_BYTES];
    int fd;         /* of the folder */
    int control_fd; /* locked for as long as its collector lives */
    struct session_control control;
    /* the control file in memory, for the collector that made it; may be NULL */
    struct session_control *ledger;
    char output[4096]; /* where the trace goes */
    char command[2048];
};

/* Candidates, best first: $OPSCOPE_DIR, /dev/shm, $XDG_RUNTIME_DIR, /tmp. NULL past the end. Unset ones are "". */
const char *session_folder_candidate(unsigned index);

/* Makes a folder and writes its control file (control, output and command are the caller's). */
int session_folder_create(struct session_folder *folder, struct error *err);

/* Opens an existing one. *is_alive: its collector still runs (the control file is locked). */
int session_folder_open(struct session_folder *folder, const char *path, bool *is_alive, struct error *err);

/* Asks the collector of an open session to pause, or to go on, and waits until that is done. *unreachable: processes
 * that could not be reached. */
int session_folder_pause(const struct session_folder *folder, bool is_paused, uint32_t *unreachable,
                         struct error *err);

/* Whether its trace gets no source lines, also when it is recovered; and that it shall not. */
void session_folder_leave_sources_out(const struct session_folder *folder);
bool session_folder_leaves_sources_out(const struct session_folder *folder);

void session_folder_close(struct session_folder *folder);
/* Deletes the folder and what is in it, never following links. */
int session_folder_remove(const char *path, struct error *err);

/* The value of OPSCOPE_SESSION for this folder. */
/* Makes those of the spare files (session.h) that are not there. */
void session_folder_make_spares(const struct session_folder *folder);
void session_folder_variable(const struct session_folder *folder, char *out, size_t size);

/* Calls back for every session folder of this user: those in $OPSCOPE_DIR where it is set, else in all candidates. */
typedef void (*session_folder_fn)(void *context, const char *path);
void session_folder_each(session_folder_fn found, void *context);

#endif
