/* SPDX-License-Identifier: Apache-2.0 */
/* What dispatch cores recorded: how long the commands of an op took to be handed out.
 *
 * A dispatch core brackets each command with a zone CQ-DISPATCH; meta data of markers in it tell the command
 * and, once for each program, whose commands follow:
 *
 *     BRISC   [id 1024, SET_WRITE_OFFSET] [WRITE_PACKED] [NOTIFY_SUBORDINATE_GO_SIGNAL]     [id 2048, ...
 *     NCRISC                                      [SEND_GO_SIGNAL]                                  [SEND_...
 *
 * The master's zones from an id up to the notification are an op. The subordinate is given no ids: its n-th go
 * signal is that of the core's n-th op. Of an id that was dispatched many times (replays) the first one counts. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_DEVICE_DISPATCH_H
#define OPSCOPE_IMPORT_TENSTORRENT_DEVICE_DISPATCH_H

#include "import/tenstorrent/device/ops.h"

/* A marker that tt_dispatch_add wants: a zone of a dispatch core, or meta data of one. */
bool tt_dispatch_is_marker(const struct tt_marker *marker);
void tt_dispatch_add(struct tt_log *log, uint32_t core, const struct tt_marker *marker);

/* When all markers were read: makes log->dispatch_ops, and takes dispatch cores out of what ops are found in. */
void tt_dispatch_find(struct tt_log *log);
/* When ops were found: gives each dispatch to the first run of its id. */
void tt_dispatch_attach(struct tt_log *log);

#endif
