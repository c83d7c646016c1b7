/* SPDX-License-Identifier: Apache-2.0 */
/* What a range of NVTX costs: push and pop, of a plain string, a registered one, and one with a domain. Alone the calls
 * find no tool; under `opscope run` they are recorded. Prints NAME ns lines: medians and
 * least of many rounds, of the thread's CPU time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../examples/nvtx/nvtx_minimal.h"

enum { ROUNDS = 61, PAIRS = 20000 };

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered, attributed;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void plain_pair(void)
{
    nvtxRangePushA("a range of the usual length");
    nvtxRangePop();
}

static void registered_pair(void)
{
    nvtxRangePushEx(&registered);
    nvtxRangePop();
}

static void domain_pair(void)
{
    nvtxDomainRangePushEx(domain, &attributed);
    nvtxDomainRangePop(domain);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void measure(const char *name, void (*pair)(void))
{
    static double times[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begin = now_ns();
        for (int i = 0; i < PAIRS; i++)
            pair();
        times[round] = (double)(now_ns() - begin) / PAIRS;
        nanosleep(&(struct timespec){.tv_nsec = 50000},
                  NULL); /* no faster than a program that works in between */
    }
    qsort(times, ROUNDS, sizeof times[0], by_value);
    printf("%s_median %.2f ns\n%s_min %.2f ns\n", name, times[ROUNDS / 2], name, times[0]);
}

int main(void)
{
    domain = nvtxDomainCreateA("bench");
    registered.version = attributed.version = NVTX_VERSION;
    registered.size = attributed.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    registered.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    registered.message.registered = nvtxDomainRegisterStringA(NULL, "a registered range");
    attributed = registered;
    attributed.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributed.message.ascii = "a range of a domain";
    measure("plain", plain_pair);
    measure("registered", registered_pair);
    measure("domain", domain_pair);
    return 0;
}
