/* SPDX-License-Identifier: Apache-2.0 */
/* Records ZONES zones and as many names under a filter that lets the kernel do nothing but read, write and exit.
 *
 *     sealed_off ZONES NAMES */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <opscope/opscope.h>

#define ALLOW(number)                                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int argc, char **argv)
{
    long zones = argc > 1 ? strtol(argv[1], NULL, 10) : 1, names = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_read),
        ALLOW(SYS_write),
        ALLOW(SYS_exit),
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(77);
    for (long i = 0; i < zones; i++) {
        OPSCOPE_ZONE("sealed off");
        __asm__ volatile("" : : : "memory");
    }
    for (long i = 0; i < names; i++) {
        char name[32] = "name ";
        for (long k = i, at = 5; k || at == 5; k /= 10)
            name[at++] = (char)('0' + k % 10);
        opscope_zone_begin(name);
        opscope_zone_end();
    }
    _exit(0);
}
