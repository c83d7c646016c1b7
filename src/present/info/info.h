/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace holds: facts, and tables. With is_alone a table is shown even when it is empty, and whole. */
#ifndef OPSCOPE_PRESENT_INFO_INFO_H
#define OPSCOPE_PRESENT_INFO_INFO_H

#include "present/view.h"

/* State, command, host, counts of each kind of record, losses: of the whole trace. */
void info_add_facts(struct view *view);

void info_add_processes(struct view *view, bool is_alone);
void info_add_tracks(struct view *view, bool is_alone);
void info_add_clocks(struct view *view, bool is_alone);
void info_add_open_zones(struct view *view, bool is_alone);
void info_add_losses(struct view *view, bool is_alone);

#endif
