/* SPDX-License-Identifier: Apache-2.0 */
/* The word without which the server answers nobody: another user of this machine reaches its port as well as we do. */
#ifndef OPSCOPE_SERVE_TOKEN_H
#define OPSCOPE_SERVE_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define TOKEN_MAX 128u
#define TOKEN_VARIABLE "OPSCOPE_VIEW_TOKEN"

/* The one in the file, which is made with a new one where it is not there; without a file that of the environment,
 * which is taken out of it; else a new one. */
int token_choose(char token[TOKEN_MAX + 1], const char *file, struct error *err);
/* Takes the same time wherever they differ. */
bool token_is(const char *token, const char *text, size_t length);

#endif
