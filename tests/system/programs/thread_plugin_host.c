/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a plug-in, lets a thread record in it, unloads it, and only then lets the thread end.
 *
 *     thread_plugin_host PLUGIN */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static pthread_barrier_t recorded, unloaded;
static void (*work)(int);

static void *in_thread(void *unused)
{
    work(10);
    pthread_barrier_wait(&recorded);
    pthread_barrier_wait(&unloaded);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = plugin ? dlsym(plugin, "plugin_work") : NULL;
    if (!symbol) {
        fprintf(stderr, "thread_plugin_host: %s\n", dlerror());
        return 1;
    }
    memcpy(&work, &symbol, sizeof work);
    pthread_barrier_init(&recorded, NULL, 2);
    pthread_barrier_init(&unloaded, NULL, 2);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_barrier_wait(&recorded);
    dlclose(plugin);
    if (dlopen(argv[1], RTLD_NOLOAD | RTLD_LAZY))
        return 3; /* still there: then this shows nothing */
    pthread_barrier_wait(&unloaded);
    pthread_join(thread, NULL);
    return 0;
}
