/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON that tells what a program is, made into cells of the op table. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_RECORD_H
#define OPSCOPE_IMPORT_TENSTORRENT_RECORD_H

#include "text/json/reader.h"
#include "import/tenstorrent/model.h"

/* Adds a record and returns its number; TT_NONE: no memory. */
uint32_t tt_record_add(struct tt_model *model, const struct json_document *document);

/* str() of a JSON value as Python reads it, with ',' made ';' as everywhere in the table. */
void tt_append_value(struct bytes *out, const struct json_document *document, const struct json_node *node);

#endif
