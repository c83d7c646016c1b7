/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as the trace has them, from the first look at one to its end, and how it is found that one is dead. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/internal.h"

uint32_t collector_define_process(struct collector *c, const struct trace_process *process)
{
    uint32_t id = trace_writer_process(c->writer, process);
    if (process->id == TRACE_NONE && id != TRACE_NONE) {
        map_put(&c->newest_of_pid, (uint64_t)process->pid, id);
        c->stats.processes++;
    }
    return id;
}

/* argv of a process, joined by spaces; "" when it cannot be read. */
static void read_command(int64_t pid, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/cmdline", (long long)pid);
    FILE *stream = fopen(path, "re");
    size_t length = stream ? fread(out, 1, size - 1, stream) : 0;
    if (stream)
        fclose(stream);
    while (length && out[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        out[i] = out[i] ? out[i] : ' ';
    out[length] = '\0';
}

uint32_t collector_process(struct collector *c, int64_t pid, uint64_t start_ns)
{
    char command[1024];
    uint32_t known = map_get(&c->newest_of_pid, (uint64_t)pid);
    if (known != MAP_NONE)
        return known;
    read_command(pid, command, sizeof command);
    struct trace_process process = {.id = TRACE_NONE,
                                    .parent = c->root_id,
                                    .pid = pid,
                                    .start_ns = start_ns,
                                    .exit_status = TRACE_STATUS_UNKNOWN,
                                    .command = command,
                                    .host = c->host};
    return collector_define_process(c, &process);
}

void collector_set_root(struct collector *c, int64_t pid, const char *command, uint64_t start_ns)
{
    struct trace_process root = {.id = TRACE_NONE,
                                 .parent = TRACE_NONE,
                                 .pid = pid,
                                 .start_ns = start_ns,
                                 .exit_status = TRACE_STATUS_UNKNOWN,
                                 .flags = TRACE_PROCESS_ROOT,
                                 .command = command,
                                 .host = c->host};
    c->root_pid = pid;
    c->root_id = collector_define_process(c, &root);
}

void process_end(struct collector *c, uint32_t id, int32_t status, uint32_t flags)
{
    const struct trace_process *known = trace_writer_get_process(c->writer, id);
    if (!known)
        return;
    struct trace_process process = *known;
    if (status != TRACE_STATUS_UNKNOWN)
        process.exit_status = status;
    process.flags |= flags;
    if (!process.end_ns && !(flags & TRACE_PROCESS_RUNNING_AT_END))
        process.end_ns = collector_now_ns(c);
    if (process.end_ns)
        pause_note(c, id, PAUSE_ENDS, process.end_ns);
    trace_writer_process(c->writer, &process);
}

void collector_root_alive(struct collector *c, uint64_t ns)
{
    c->root_alive_ns = collector_raw_ns(c, ns);
}

void collector_root_exited(struct collector *c, int status)
{
    process_end(c, c->root_id, status, 0);
}

/* A process whose first thread has ended is a zombie to look at, however busy its other threads are: the number of
 * threads tells. */
static bool is_zombie(uint32_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *after = strrchr(text, ')');
    char state = 0;
    long threads = 0;
    if (!after || sscanf(after + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                         &state, &threads) != 2)
        return false;
    return (state == 'Z' || state == 'X') && threads <= 1;
}

bool process_is_gone(uint32_t pid)
{
    return (kill((pid_t)pid, 0) != 0 && errno == ESRCH) || is_zombie(pid);
}

/* The last of "NSpid:" is the pid in the innermost namespace, which has to be the one that is meant. */
static bool is_called(long long outer, uint64_t pid_namespace, uint32_t pid)
{
    char path[64], line[512];
    struct stat space;
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%lld/ns/pid", outer);
    if (stat(path, &space) != 0 || (uint64_t)space.st_ino != pid_namespace)
        return false;
    snprintf(path, sizeof path, "/proc/%lld/status", outer);
    FILE *file = fopen(path, "re");
    while (file && !is_found && fgets(line, sizeof line, file)) {
        const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        is_found = last && strtoul(last + 1, NULL, 10) == pid;
    }
    if (file)
        fclose(file);
    return is_found && !is_zombie((uint32_t)outer);
}

bool process_is_gone_inside(uint64_t pid_namespace, uint32_t pid)
{
    DIR *all = opendir("/proc");
    bool is_found = false;
    for (const struct dirent *one; all && !is_found && (one = readdir(all));) {
        char *end;
        long long outer = strtoll(one->d_name, &end, 10);
        is_found = *end == '\0' && outer > 0 && is_called(outer, pid_namespace, pid);
    }
    if (all)
        closedir(all);
    return !is_found;
}
