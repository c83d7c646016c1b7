/* SPDX-License-Identifier: Apache-2.0 */
/* Does a fork wipe memory here? Tests of forks that the recorder sees by that are skipped where it does not. */
#ifndef OPSCOPE_TESTS_UNIT_FORK_WIPES_H
#define OPSCOPE_TESTS_UNIT_FORK_WIPES_H

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Emulators of user space (qemu) accept MADV_WIPEONFORK and do nothing: a raw fork cannot be seen there. */
static inline bool fork_wipes(void)
{
    int status = 1;
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    bool is_accepted = madvise(page, 4096, MADV_WIPEONFORK) == 0;
    page[0] = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(page[0]);
    if (waitpid(child, &status, 0) != child)
        return false;
    munmap(page, 4096);
    return is_accepted && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#endif
