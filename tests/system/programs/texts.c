/* SPDX-License-Identifier: Apache-2.0 */
/* Long texts: zone texts and messages of up to 1 MiB, one that is longer, and a text in a signal handler that
 * stands between two pieces of another. The byte at position i of a text is 'a' + (i + seed) % 26. */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opscope/opscope.h>

static const size_t most = (size_t)1 << 20;
static const size_t lengths[] = {0, 1, 15, 16, 17, 4079, 4080, 4081, 65536, 1000003};

static void fill(char *text, size_t length, size_t seed)
{
    for (size_t i = 0; i < length; i++)
        text[i] = (char)('a' + (i + seed) % 26);
    text[length] = '\0';
}

int main(void)
{
    char *text = malloc(most + 1000);
    if (!text)
        return 1;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        fill(text, lengths[i], i);
        opscope_message(text);
    }
    fill(text, most, 3);
    opscope_message(text);
    {
        OPSCOPE_ZONE("with a long text");
        opscope_zone_text(text);
    }
    fill(text, most - 6, 4);
    opscope_signpost("head", text); /* header, NUL and message: 1 MiB in all */
    fill(text, most + 999, 5);
    opscope_message(text); /* cut, and counted as one lost record */
    free(text);
    return 0;
}
