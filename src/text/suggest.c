/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the nearest word by edits (insert, delete, replace, swap of neighbours). A word that begins
 * with what was typed counts as one edit away, so that --proc finds --process. */
#include <string.h>

#include "text/suggest.h"

#define LONGEST_WORD 40u

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][LONGEST_WORD + 1]; /* two back, one back, this one: a swap looks two back */
    unsigned *before = rows[0], *last = rows[1], *now = rows[2];
    for (unsigned j = 0; j <= b_length; j++)
        last[j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        now[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            unsigned replace = last[j - 1] + (a[i - 1] != b[j - 1]);
            now[j] = smallest(last[j] + 1, now[j - 1] + 1, replace);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[b_length];
}

const char *suggest_word(const char *typed, const char *const *words, size_t count)
{
    size_t length = strlen(typed);
    if (length == 0 || length > LONGEST_WORD)
        return NULL;
    unsigned limit = (unsigned)(length <= 3 ? 1 : length / 3 + 1);
    const char *best = NULL;
    unsigned best_distance = limit + 1;
    for (size_t i = 0; i < count; i++) {
        size_t word_length = strlen(words[i]);
        if (word_length > LONGEST_WORD)
            continue;
        unsigned distance = edit_distance(typed, length, words[i], word_length);
        if (length >= 2 && strncmp(typed, words[i], length) == 0 && distance > 1)
            distance = 1;
        if (distance < best_distance) {
            best_distance = distance;
            best = words[i];
        }
    }
    return best;
}
