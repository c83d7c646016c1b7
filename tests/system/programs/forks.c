/* SPDX-License-Identifier: Apache-2.0 */
/* Children made by the bare system call, all in one segment: each records, every third is killed inside an open
 * zone, by itself, so that what it had recorded is known.
 *
 *     forks CHILDREN ZONES AT_ONCE
 *
 * Zones: CHILDREN * ZONES + 1 (the parent's). */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opscope/opscope.h>

static void be_a_child(long index, long zones)
{
    for (long i = 0; i < zones; i++) {
        OPSCOPE_ZONE("child");
    }
    if (index % 3 == 0) {
        OPSCOPE_BEGIN("killed in here");
        kill(getpid(), SIGKILL);
    }
    _exit(0);
}

int main(int argc, char **argv)
{
    long children = argc > 1 ? strtol(argv[1], NULL, 10) : 200;
    long zones = argc > 2 ? strtol(argv[2], NULL, 10) : 2000;
    long at_once = argc > 3 ? strtol(argv[3], NULL, 10) : 1;
    long running = 0, killed = 0;
    int status;
    OPSCOPE_BEGIN("parent");
    OPSCOPE_END();
    for (long i = 0; i < children || running; running--) {
        for (; i < children && running < at_once; i++, running++) {
            long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
            if (child == 0)
                be_a_child(i, zones);
            if (child < 0)
                return 1;
        }
        if (wait(&status) < 0)
            return 1;
        killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }
    printf("%ld\n", killed);
    return 0;
}
