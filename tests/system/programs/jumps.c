/* SPDX-License-Identifier: Apache-2.0 */
/* jumps COUNT MICROSECONDS AFTER: a handler leaves by siglongjmp so often, out of zones that follow one another without
 * a pause; then AFTER zones without one. Prints how many zones it has begun until then, and how many have ended. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include <opscope/opscope.h>

static sigjmp_buf way_out;
static volatile uint64_t begun, ended;
static volatile long jumps;

static void on_alarm(int number)
{
    (void)number;
    siglongjmp(way_out, 1);
}

static void set_timer(long microseconds)
{
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    long wanted = strtol(argv[1], NULL, 10), after = strtol(argv[3], NULL, 10);
    signal(SIGALRM, on_alarm);
    set_timer(strtol(argv[2], NULL, 10));
    if (sigsetjmp(way_out, 1))
        jumps++;
    while (jumps < wanted) {
        begun++;
        {
            OPSCOPE_ZONE("outer");
            for (volatile int i = 0; i < 20; i++)
                ;
        }
        ended++;
    }
    set_timer(0);
    signal(SIGALRM, SIG_IGN);
    for (long i = 0; i < after; i++) {
        OPSCOPE_ZONE("after");
    }
    printf("%lu %lu\n", (unsigned long)begun, (unsigned long)ended);
    return 0;
}
