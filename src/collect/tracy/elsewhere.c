/* SPDX-License-Identifier: Apache-2.0 */
/* A socket belongs to the network in which it was made, whoever uses it: so a child goes there, makes it, and hands it
 * back. We ourselves stay where we are. */
#include "collect/tracy/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
};

static int enter(int64_t pid, const char *kind, int type)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/ns/%s", pid, kind);
    int fd = open(path, O_RDONLY | O_CLOEXEC), status = fd < 0 ? -1 : setns(fd, type);
    if (fd >= 0) {
        int code = errno;
        close(fd);
        errno = code;
    }
    return status;
}

/* The child: answers with the error's number and, where that is 0, the socket. Another user's network may be entered by
 * who is root there. */
static void make_socket(int64_t pid, int family, int answer_fd)
{
    union control control = {0};
    int status = enter(pid, "net", CLONE_NEWNET), fd = -1;
    if (status != 0 && enter(pid, "user", CLONE_NEWUSER) == 0)
        status = enter(pid, "net", CLONE_NEWNET);
    if (status == 0)
        fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int code = fd < 0 ? errno : 0;
    struct iovec part = {.iov_base = &code, .iov_len = sizeof code};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
        message.msg_control = &control;
        message.msg_controllen = sizeof control.room;
    }
    _exit(sendmsg(answer_fd, &message, MSG_NOSIGNAL) < 0);
}

static int take_socket(int answer_fd)
{
    union control control = {0};
    int code = ECHILD, fd = -1;
    struct iovec part = {.iov_base = &code, .iov_len = sizeof code};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.room};
    ssize_t size;
    do {
        size = recvmsg(answer_fd, &message, MSG_CMSG_CLOEXEC);
    } while (size < 0 && errno == EINTR);
    if (size == (ssize_t)sizeof code && code == 0 && message.msg_controllen >= CMSG_LEN(sizeof fd) &&
        control.header.cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(&control.header), sizeof fd);
    errno = code;
    return fd;
}

int tracy_socket_elsewhere(int64_t pid, int family)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0)
        make_socket(pid, family, ends[1]);
    int code = errno;
    close(ends[1]);
    int fd = child < 0 ? -1 : take_socket(ends[0]);
    if (child > 0)
        code = errno;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = code;
    return fd;
}
