/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a plug-in, lets it record, unloads it, and so on: ROUNDS times. Then puts something else where it was.
 *
 *     plugin_host PLUGIN ROUNDS */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <opscope/opscope.h>

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    uintptr_t place = 0;
    for (long i = 0; i < rounds; i++) {
        void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
        void (*work)(int);
        void *symbol = plugin ? dlsym(plugin, "plugin_work") : NULL;
        if (!symbol) {
            fprintf(stderr, "plugin_host: %s\n", dlerror());
            return 1;
        }
        memcpy(&work, &symbol, sizeof work);
        place = (uintptr_t)symbol & ~(uintptr_t)4095;
        work(10);
        dlclose(plugin);
    }
    OPSCOPE_ZONE("after dlclose");
    /* Its pages are gone, or this would fail and say nothing about names that outlive their plug-in. */
    void *taken = mmap((void *)place, 4096, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (taken == MAP_FAILED)
        return 2;
    memset(taken, 'x', 4096);
    return 0;
}
