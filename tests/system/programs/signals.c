/* SPDX-License-Identifier: Apache-2.0 */
/* A timer at 50 kHz whose handler records, while the main flow records as fast as it can: every handler zone
 * and every main zone is in the trace or counted as lost. Ends after so many of both, however long it takes, and
 * prints how many there were.
 *
 *     signals MAIN_ZONES HANDLER_ZONES */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#include <opscope/opscope.h>

static volatile sig_atomic_t handler_zones; /* only the handler writes it, and it does not nest in itself */

static void on_timer(int number)
{
    (void)number;
    OPSCOPE_ZONE("handler");
    handler_zones++;
}

static void nested(int depth)
{
    OPSCOPE_ZONE("main");
    if (depth > 1)
        nested(depth - 1);
}

int main(int argc, char **argv)
{
    long wanted_main = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    long wanted_handler = argc > 2 ? strtol(argv[2], NULL, 10) : 10000;
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval timer = {{0, 20}, {0, 20}}, off = {{0, 0}, {0, 0}};
    long main_zones = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (main_zones < wanted_main || handler_zones < wanted_handler) {
        nested(3);
        main_zones += 3;
    }
    setitimer(ITIMER_REAL, &off, NULL);
    signal(SIGALRM, SIG_IGN);
    printf("%ld %ld\n", main_zones, (long)handler_zones);
    return 0;
}
