/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command line that a person may copy. */
#ifndef OPSCOPE_TEXT_SHELL_WORD_H
#define OPSCOPE_TEXT_SHELL_WORD_H

struct bytes;

/* As a word for the shell: in quotes only where it needs them. */
void shell_append_word(struct bytes *out, const char *word);

#endif
