/* SPDX-License-Identifier: Apache-2.0 */
/* Machine files: the ones that are built in, those in the user's folders, and one named by its path.
 *
 * Later ones replace earlier ones of the same name: built in, $XDG_CONFIG_HOME/opscope/machines (or
 * ~/.config/...), $OPSCOPE_MACHINES, the file that was named. docs/roofline.md describes the format. */
#ifndef OPSCOPE_ANALYZE_MACHINE_FILES_H
#define OPSCOPE_ANALYZE_MACHINE_FILES_H

#include "analyze/machine.h"
#include "base/bytes.h"
#include "base/error.h"

/* `named` may be NULL, a machine's name, or the path of a file, which is then the set's newest. */
int machine_files_read(struct machine_set *set, const char *named, struct error *err);
/* Which files of the user's folders cannot be used, and why, as a sentence for people; nothing where all can. */
void machine_files_append_left_out(const struct machine_set *set, struct bytes *out);

/* One file's text; `path` is for messages and is kept as where it comes from. */
int machine_files_parse(struct machine_set *set, const char *path, const char *text, size_t length,
                        struct error *err);

/* A path has a "/" or ends in ".json"; a name does not. */
bool machine_file_is_path(const char *named);

#endif
