/* SPDX-License-Identifier: Apache-2.0 */
/* What a program sees of its surroundings: its descriptors, its environment, its signals, its process
 * group, its priority. Printed twice, before and after it has recorded. */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <opscope/opscope.h>

extern char **environ;

static void print_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        exit(1);
    printf("descriptors:");
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != dirfd(dir))
            printf(" %s", entry->d_name);
    }
    printf("\n");
    closedir(dir);
}

static void print_status(const char *key)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) /* less 32 and 33, which are libc's own */
            printf("%s %llx\n", key, strtoull(line + strlen(key), NULL, 16) & ~(UINT64_C(3) << 31));
    }
    if (file)
        fclose(file);
}

static void print_all(void)
{
    print_descriptors();
    for (char **variable = environ; *variable; variable++)
        printf("environment: %s\n", *variable);
    print_status("SigBlk:");
    print_status("SigIgn:");
    print_status("SigCgt:");
    printf("nice: %d\n", getpriority(PRIO_PROCESS, 0));
    printf("group: %s\n", getpgrp() == getpgid(getppid()) ? "parent's" : "another");
}

int main(void)
{
    print_all();
    for (int i = 0; i < 100; i++) {
        OPSCOPE_ZONE("zone");
    }
    printf("after recording\n");
    print_all();
    return 0;
}
