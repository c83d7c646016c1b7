/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is linked statically as a whole. */
#include <pthread.h>

#include <opscope/opscope.h>

static void *thread(void *unused)
{
    OPSCOPE_ZONE("in a thread of a static program");
    return unused;
}

int main(void)
{
    pthread_t t;
    OPSCOPE_ZONE("static main");
    for (int i = 0; i < 1000; i++) {
        OPSCOPE_ZONE("static zone");
    }
    if (pthread_create(&t, NULL, thread, NULL) != 0)
        return 1;
    pthread_join(t, NULL);
    return 0;
}
