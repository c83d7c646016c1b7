/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of an NVTX program: what came as a message, and the handles that stand for texts and domains. */
#ifndef OPSCOPE_RECORD_NVTX_TEXT_H
#define OPSCOPE_RECORD_NVTX_TEXT_H

#include <stdbool.h>

#include "record/nvtx/abi.h"

#define NVTX_SHORT_TEXT 512u

/* A text that ends with a NUL, in the program's memory or in `room`. */
struct nvtx_slice {
    const char *data;
    size_t length;
    char room[NVTX_SHORT_TEXT]; /* of wide texts, which are converted; longer ones are cut */
};

void nvtx_slice_ascii(struct nvtx_slice *slice, const char *text);
void nvtx_slice_wide(struct nvtx_slice *slice, const wchar_t *text);

/* Handles are numbers: one that a program made up, or uses after its end, is found out and never followed. NULL where
 * there is no room. */
const void *nvtx_handle_add(const struct nvtx_slice *text);
/* "" for one that is not known. The text stays where it is. */
const char *nvtx_handle_text(const void *handle, size_t *length);

/* Names of categories, by domain; NULL where there is none. */
void nvtx_category_name(const void *domain, uint32_t category, const struct nvtx_slice *name);
const char *nvtx_category_find(const void *domain, uint32_t category);

void nvtx_text_forked(void); /* in the child of a fork */

#endif
