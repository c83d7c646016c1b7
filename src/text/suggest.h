/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPSCOPE_TEXT_SUGGEST_H
#define OPSCOPE_TEXT_SUGGEST_H

#include <stddef.h>

/* The nearest of a list of words to a mistyped one, or NULL when none is near. */
const char *suggest_word(const char *typed, const char *const *words, size_t count);

#endif
