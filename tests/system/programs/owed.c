/* SPDX-License-Identifier: Apache-2.0 */
/* owed FILE THREADS PROCESSES: zones without end, until somebody kills it. FILE says at each moment how many each
 * thread has begun and how many have ended: two 64-bit numbers of each 64 bytes, which are the memory of them all. */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <opscope/opscope.h>

struct count { /* a cache line each */
    volatile uint64_t begun, ended, unused[6];
};

static void *work(void *argument)
{
    struct count *count = argument;
    for (uint64_t i = 0;; i++) {
        count->begun++;
        OPSCOPE_BEGIN("owed");
        for (volatile int spin = 0; spin < 20; spin++)
            ;
        OPSCOPE_END();
        count->ended++;
        if (i % 4096 == 4095)
            usleep(100);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    long threads = argc == 4 ? strtol(argv[2], NULL, 10) : 0;
    long processes = argc == 4 ? strtol(argv[3], NULL, 10) : 0, first = 0;
    size_t bytes = sizeof(struct count) * (size_t)threads * (size_t)processes;
    int fd = bytes ? open(argv[1], O_CREAT | O_RDWR, 0600) : -1;
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return 2;
    struct count *counts = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (counts == MAP_FAILED)
        return 2;
    for (long i = 1; i < processes && !first; i++)
        first = fork() == 0 ? i * threads : 0;
    for (long i = 1; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, counts + first + i);
    }
    work(counts + first);
}
