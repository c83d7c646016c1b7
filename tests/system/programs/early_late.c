/* SPDX-License-Identifier: Apache-2.0 */
/* Zones before main, in main, in atexit handlers, in destructors, and in the destructor of a thread's key. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include <opscope/opscope.h>

static pthread_key_t key;

__attribute__((constructor(101))) static void before_main(void)
{
    OPSCOPE_ZONE("before main");
}

__attribute__((destructor)) static void after_main(void)
{
    OPSCOPE_ZONE("in a destructor");
}

static void at_exit(void)
{
    OPSCOPE_ZONE("at exit");
}

static void at_thread_end(void *unused)
{
    (void)unused;
    OPSCOPE_ZONE("at the end of a thread");
}

static void *thread(void *unused)
{
    OPSCOPE_ZONE("in the thread");
    pthread_setspecific(key, &key);
    return unused;
}

int main(void)
{
    pthread_t t;
    atexit(at_exit);
    pthread_key_create(&key, at_thread_end);
    if (pthread_create(&t, NULL, thread, NULL) != 0)
        return 1;
    pthread_join(t, NULL);
    OPSCOPE_ZONE("in main");
    return 0;
}
