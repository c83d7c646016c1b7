/* SPDX-License-Identifier: Apache-2.0 */
/* A profiler to preload where there is no perf: samples the program counter each millisecond of CPU time and writes
 * offsets from the program's start, or names of functions in libraries, to $SAMPLER_OUT at the end; bench/sampled.py
 * counts them. */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST 200000

static uint64_t samples[MOST];
static volatile uint32_t count;

static void sample(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
#if defined(__x86_64__)
    const ucontext_t *u = context;
    uint32_t i = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (i < MOST)
        samples[i] = (uint64_t)u->uc_mcontext.gregs[REG_RIP];
#else
    (void)context;
#endif
}

static int first_object(struct dl_phdr_info *info, size_t size, void *out)
{
    (void)size;
    *(uint64_t *)out = info->dlpi_addr;
    return 1;
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
}

__attribute__((destructor)) static void stop(void)
{
    const char *path = getenv("SAMPLER_OUT");
    uint64_t base = 0;
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    dl_iterate_phdr(first_object, &base);
    FILE *out = path ? fopen(path, "w") : NULL;
    for (uint32_t i = 0; out && i < count && i < MOST; i++) {
        Dl_info info;
        uint64_t at = samples[i];
        if (dladdr((void *)(uintptr_t)at, &info) && (uint64_t)(uintptr_t)info.dli_fbase != base)
            fprintf(out, "%s %s\n", info.dli_fname, info.dli_sname ? info.dli_sname : "?");
        else
            fprintf(out, "%llx\n", (unsigned long long)(at - base));
    }
    if (out)
        fclose(out);
}
