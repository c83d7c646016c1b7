/* SPDX-License-Identifier: Apache-2.0 */
/* See leftovers.h. The handler reads an array of pointers that are set and cleared whole; it calls unlink, rmdir,
 * sigaction and raise alone, which are safe in a handler. */
#include "base/leftovers.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/count_of.h"

#define MOST_LEFTOVERS 16

static _Atomic(char *) noted[MOST_LEFTOVERS];
static atomic_flag is_installed = ATOMIC_FLAG_INIT;

void leftovers_remove(void)
{
    for (size_t i = MOST_LEFTOVERS; i > 0; i--) {
        const char *path = atomic_load(&noted[i - 1]);
        if (path && unlink(path) != 0)
            (void)rmdir(path);
    }
}

static void remove_and_end(int number)
{
    leftovers_remove();
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
    raise(number); /* blocked until the handler returns */
}

static void install(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        struct sigaction before, action = {.sa_handler = remove_and_end};
        if (sigaction(numbers[i], NULL, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
            before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

int leftover_note(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return -1;
    if (!atomic_flag_test_and_set(&is_installed))
        install();
    for (int i = 0; i < MOST_LEFTOVERS; i++) {
        char *none = NULL;
        if (atomic_compare_exchange_strong(&noted[i], &none, copy))
            return i;
    }
    free(copy);
    return -1;
}

void leftover_forget(int number)
{
    if (number >= 0 && number < MOST_LEFTOVERS)
        free(atomic_exchange(&noted[number], NULL));
}
