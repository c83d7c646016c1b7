/* SPDX-License-Identifier: Apache-2.0 */
/* Tenstorrent's logs: a folder (or the one above its .logs), or a device log by itself. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_TENSTORRENT_H
#define OPSCOPE_IMPORT_TENSTORRENT_TENSTORRENT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "import/open.h"
#include "import/tenstorrent/device/ops.h"
#include "import/tenstorrent/model.h"

/* Where the files are; empty texts for those that are not there. */
struct tt_files {
    struct bytes messages, times, report, log; /* NUL-terminated paths */
};

/* True when `path` is such a folder, lies above one, or is a device log. */
bool tt_is_source(const char *path);
/* The folder below another that holds the logs. */
#define TT_LOG_FOLDER ".logs"
/* Would a file of this name be one that the runtime leaves? Also of those that are not read here. */
bool tt_is_log_name(const char *name);
/* -ENOENT with a message that says what was looked for. */
int tt_files_find(struct tt_files *files, const char *path, struct error *err);
void tt_files_free(struct tt_files *files);

/* Reads a folder into a model that was initialised. What does not fit together is in its notes. */
int tt_load(struct tt_model *model, const struct tt_files *files, const struct import_options *options,
            struct error *err);

/* The second half of it: the devices' files, joined with the model's ops. `is_recorded`: those of a trace. */
int tt_load_devices(struct tt_model *model, const struct tt_files *files,
                    const struct import_options *options, bool is_recorded, struct error *err);

/* The same of a path. */
int tt_load_path(struct tt_model *model, const char *path, const struct import_options *options,
                 struct error *err);

#endif
