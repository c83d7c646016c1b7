/* SPDX-License-Identifier: Apache-2.0 */
#include "text/shell_word.h"

#include <string.h>

#include "base/bytes.h"

void shell_append_word(struct bytes *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:@%/";
    if (*word && word[strspn(word, plain)] == '\0') {
        bytes_append_text(out, word);
        return;
    }
    bytes_append_text(out, "'");
    for (; *word; word++)
        bytes_append_text(out, *word == '\'' ? "'\\''" : (const char[]){*word, '\0'});
    bytes_append_text(out, "'");
}
