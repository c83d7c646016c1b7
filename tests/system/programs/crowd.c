/* SPDX-License-Identifier: Apache-2.0 */
/* Very many threads: LIVE of them exist at the same time, each with ZONES zones and one still open while all
 * others are alive; then SHORT of them one after another. Prints by how many KiB the process's shared and own
 * memory grew, threads' stacks not counted (they are unmapped again).
 *
 *     crowd LIVE SHORT ZONES */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opscope/opscope.h>

static pthread_barrier_t all_alive;
static long zones;

static void make_zones(void)
{
    for (long i = 0; i < zones; i++) {
        OPSCOPE_ZONE("in the crowd");
    }
}

static void *live(void *unused)
{
    OPSCOPE_ZONE("alive");
    make_zones();
    pthread_barrier_wait(&all_alive);
    return unused;
}

static void *brief(void *unused)
{
    OPSCOPE_ZONE("brief");
    make_zones();
    return unused;
}

static long status_kib(const char *key)
{
    char line[256];
    long value = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtol(line + strlen(key), NULL, 10);
    }
    if (file)
        fclose(file);
    return value;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
    long brief_count = argc > 2 ? strtol(argv[2], NULL, 10) : 10;
    zones = argc > 3 ? strtol(argv[3], NULL, 10) : 10;
    pthread_t *threads = calloc((size_t)count + 1, sizeof *threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 * 1024);
    pthread_barrier_init(&all_alive, NULL, (unsigned)count + 1);
    if (!threads)
        return 1;
    for (long i = 0; i < count; i++) {
        if (pthread_create(&threads[i], &attributes, live, NULL) != 0)
            return 1;
    }
    pthread_barrier_wait(&all_alive);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    long shared = status_kib("RssShmem:"), own = status_kib("RssAnon:");
    printf("%ld\n", shared);
    for (long i = 0; i < brief_count; i++) {
        if (pthread_create(&threads[0], &attributes, brief, NULL) != 0)
            return 1;
        pthread_join(threads[0], NULL);
    }
    printf("%ld %ld\n", status_kib("RssShmem:") - shared, status_kib("RssAnon:") - own);
    free(threads);
    return 0;
}
