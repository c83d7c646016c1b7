/* SPDX-License-Identifier: Apache-2.0 */
/* Names of other tools under which the program may be installed (make install COMPAT=1, and in the wheel). It then
 * takes that tool's own arguments, so that scripts which call it need no change. */
#ifndef OPSCOPE_CLI_COMMAND_NAMES_H
#define OPSCOPE_CLI_COMMAND_NAMES_H

/* The words of the command that does what the tool called argv[0] does, beginning with the command's name; NULL where
 * argv[0] is not another tool's name. *argc becomes their number. The caller frees the list; the words live as long as
 * the program. */
char **command_words_of_tool(int *argc, char **argv);

#endif
