/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of `opscope info`. With is_alone a table is shown even when it is empty, and whole. */
#ifndef OPSCOPE_CLI_INFO_TABLES_H
#define OPSCOPE_CLI_INFO_TABLES_H

#include "cli/view.h"

void info_add_processes(struct view *view, bool is_alone);
void info_add_tracks(struct view *view, bool is_alone);
void info_add_clocks(struct view *view, bool is_alone);
void info_add_open_zones(struct view *view, bool is_alone);
void info_add_losses(struct view *view, bool is_alone);
/* What an import could not read or join; nothing for a trace that was recorded. */
void info_add_import_notes(struct view *view);

#endif
