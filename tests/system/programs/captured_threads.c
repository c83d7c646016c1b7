/* SPDX-License-Identifier: Apache-2.0 */
/* Threads with zones called "train", for opscope run --capture zone:train. What the argument names:
 *
 * overlap    the second thread's begins while the first one's is open, and outlasts it
 * turns      first, second, first, one after the other
 * left       a thread ends inside its own */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include <opscope/opscope.h>

static sem_t turn_of[2];

static void make_zones(int count)
{
    for (int i = 0; i < count; i++) {
        OPSCOPE_ZONE("work");
    }
}

static void next(int thread)
{
    sem_post(&turn_of[!thread]);
    sem_wait(&turn_of[thread]);
}

static void *overlaps(void *argument)
{
    int thread = argument != NULL;
    sem_wait(&turn_of[thread]);
    opscope_zone_begin("train");
    next(thread);
    make_zones(thread ? 100 : 10);
    opscope_zone_end();
    sem_post(&turn_of[!thread]);
    return NULL;
}

static void *takes_turns(void *argument)
{
    int thread = argument != NULL;
    sem_wait(&turn_of[thread]);
    for (int i = 0; i < 2 - thread; i++) {
        opscope_zone_begin("train");
        make_zones(10);
        opscope_zone_end();
        if (!thread && i == 0)
            next(thread);
    }
    sem_post(&turn_of[!thread]);
    return NULL;
}

static void *leaves(void *argument)
{
    if (!argument) {
        opscope_zone_begin("train");
        make_zones(10);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    const char *what = argc > 1 ? argv[1] : "";
    void *(*body)(void *) = strcmp(what, "overlap") == 0 ? overlaps
                            : strcmp(what, "turns") == 0 ? takes_turns
                                                         : leaves;
    sem_init(&turn_of[0], 0, 1);
    sem_init(&turn_of[1], 0, 0);
    make_zones(1000);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, body, i ? threads : NULL) != 0)
            return EXIT_FAILURE;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    make_zones(1000);
}
