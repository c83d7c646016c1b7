/* SPDX-License-Identifier: Apache-2.0 */
/* tracy_ops_data.csv: the messages of a run, as ops, programs, replays and signposts of the model.
 *
 *     MessageName;total_ns
 *     `TT_DNN_DEVICE_OP: "NAME", HASH, DEVICE, CACHE HIT, ID ->
 *     {JSON}`;NS                                  an op with what its program is
 *     `TT_DNN_DEVICE_OP: "NAME", HASH, DEVICE, CACHE HIT, ID`;NS    an op of a program that was described before
 *     `TT_DNN_FALL_BACK_OP:"NAME" -> ...          an op on the host
 *     `TT_METAL_TRACE_BEGIN: DEVICE, TRACE`;NS    also _END, _REPLAY, _RELEASE
 *     `TT_SIGNPOST: HEADER
 *     TEXT`;NS
 *     MLIR_OP_LOCATION;VALUE;NS                   for the ops that follow; also _CONST_EVAL_OP, _PROGRAM_METADATA
 *
 * Messages are at most 64 KiB: longer ones come cut, without their closing backtick. Whatever is damaged costs
 * that message alone; an op keeps what its header says. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_MESSAGES_H
#define OPSCOPE_IMPORT_TENSTORRENT_MESSAGES_H

#include "import/tenstorrent/model.h"

/* Of the file. Does not fail on what the messages hold, only for lack of memory. */
int tt_messages_read(struct tt_model *model, const char *data, size_t length, struct error *err);

/* The same of single messages as a program sends them, with their backticks, in order of time. */
struct tt_messages;
struct tt_messages *tt_messages_new(struct tt_model *model); /* NULL: no memory, and the model has failed */
void tt_messages_take(struct tt_messages *messages, struct slice text, uint64_t time_ns, uint32_t thread);
void tt_messages_free(struct tt_messages *messages);

#endif
