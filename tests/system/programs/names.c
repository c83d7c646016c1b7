/* SPDX-License-Identifier: Apache-2.0 */
/* Many names, made up at run time, each used twice, in two threads that meet at the same names.
 *
 *     names COUNT */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <opscope/opscope.h>

static long count;

static void *use_names(void *unused)
{
    char name[64];
    for (long i = 0; i < count; i++) {
        snprintf(name, sizeof name, "name number %ld of many", i);
        opscope_zone_begin(name);
        opscope_zone_end();
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, use_names, NULL) != 0)
            return 1;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
