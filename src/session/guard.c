/* SPDX-License-Identifier: Apache-2.0 */
#include "session/guard.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

/* Fixed table: a signal handler walks it, so it never moves. */
static struct guard guards[GUARD_MAX];
static volatile size_t guard_count;
static struct sigaction previous;
static bool is_installed;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    for (size_t i = 0; i < guard_count; i++) {
        struct guard *g = &guards[i];
        uintptr_t start = (uintptr_t)g->memory;
        if (!start || address < start || address - start >= g->length)
            continue;
        g->is_dead = 1;
        if (mmap(g->memory, g->length, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED)
            return;
        break;
    }
    if (previous.sa_flags & SA_SIGINFO && previous.sa_sigaction) {
        previous.sa_sigaction(number, info, context);
        return;
    }
    sigaction(number, &previous,
              NULL); /* the faulting instruction runs again and meets the old disposition */
}

struct guard *guard_add(void *memory, size_t length)
{
    if (!is_installed) {
        struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER};
        action.sa_sigaction = on_bus_error;
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGBUS, &action, &previous) != 0)
            return NULL;
        is_installed = true;
    }
    size_t i = 0;
    while (i < guard_count && guards[i].memory)
        i++;
    if (i == GUARD_MAX)
        return NULL;
    guards[i].length = length;
    guards[i].is_dead = 0;
    guards[i].memory = memory;
    if (i == guard_count)
        guard_count = i + 1;
    return &guards[i];
}

void guard_remove(struct guard *guard)
{
    if (guard)
        guard->memory = NULL;
}
