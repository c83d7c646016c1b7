/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- who has a port --- */

/* The inode of the socket that listens on the port, from /proc/net/tcp or tcp6; 0. */
static unsigned long find_inode(const char *table, uint16_t port)
{
    FILE *file = fopen(table, "re");
    char line[512];
    unsigned long found = 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        unsigned local_port, state;
        unsigned long inode;
        if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*d %*d %lu", &local_port,
                   &state, &inode) == 3 &&
            local_port == port && state == 0x0a)
            found = inode;
    }
    if (file)
        fclose(file);
    return found;
}

static bool process_has_socket(const char *pid, unsigned long inode)
{
    char path[600], wanted[64], target[64];
    bool found = false;
    snprintf(wanted, sizeof wanted, "socket:[%lu]", inode);
    snprintf(path, sizeof path, "/proc/%s/fd", pid);
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && !found && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "/proc/%s/fd/%s", pid, entry->d_name);
        ssize_t n = readlink(path, target, sizeof target - 1);
        if (n > 0) {
            target[n] = 0;
            found = strcmp(target, wanted) == 0;
        }
    }
    if (folder)
        closedir(folder);
    return found;
}

static void describe_process(const char *pid, char *text, size_t size)
{
    char path[300], name[64] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof name, file))
            name[strcspn(name, "\n")] = 0;
        fclose(file);
    }
    snprintf(text, size, "%s (process %.20s)", *name ? name : "a program", pid);
}

/* Who listens on a TCP port here: "python3 (process 4711)"; false when nobody is found or it is not ours to see. */
static bool find_holder(uint16_t port, char *text, size_t size)
{
    unsigned long inode = find_inode("/proc/net/tcp", port);
    if (!inode)
        inode = find_inode("/proc/net/tcp6", port);
    DIR *folder = inode ? opendir("/proc") : NULL;
    struct dirent *entry;
    bool found = false;
    while (folder && !found && (entry = readdir(folder))) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9' || !process_has_socket(entry->d_name, inode))
            continue;
        describe_process(entry->d_name, text, size);
        found = true;
    }
    if (folder)
        closedir(folder);
    return found;
}

/* --- the socket --- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool is_any(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == INADDR_ANY;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static void set_port(struct sockaddr *address, uint16_t port)
{
    if (address->sa_family == AF_INET)
        ((struct sockaddr_in *)(void *)address)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)(void *)address)->sin6_port = htons(port);
}

/* A socket that listens, or a negative errno. */
static int try_port(const struct addrinfo *where, uint16_t port)
{
    int one = 1;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    set_port(where->ai_addr, port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, 128) == 0)
        return fd;
    int code = errno;
    close(fd);
    return -code;
}

static void write_url(struct listen_socket *out, const struct sockaddr *address)
{
    char host[256] = "127.0.0.1", name[256];
    if (is_any(
            address)) { /* no address that a browser elsewhere could use: the machine's name is the best guess */
        if (gethostname(name, sizeof name) == 0)
            snprintf(host, sizeof host, "%.255s", name);
    } else if (address->sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, name,
                  sizeof name);
        snprintf(host, sizeof host, "[%.64s]", name);
    } else {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, host, sizeof host);
    }
    snprintf(out->url, sizeof out->url, "http://%s:%u/", host, out->port);
}

static int busy_error(const char *address, uint16_t port, int code, struct error *err)
{
    char holder[128];
    if (code == EADDRINUSE && find_holder(port, holder, sizeof holder))
        return error_set(err, code, "port %u is in use by %s: choose another with --port", port, holder);
    if (code == EADDRINUSE)
        return error_set(err, code, "port %u is in use: choose another with --port", port);
    if (code == EACCES)
        return error_set(err, code, "port %u needs more rights: choose one above 1023 with --port", port);
    return error_set_errno(err, code, "listening on %s, port %u", address, port);
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return 0;
    return ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)(void *)&address)->sin_port
                                              : ((struct sockaddr_in6 *)(void *)&address)->sin6_port);
}

int listen_open(struct listen_socket *out, const char *address, uint32_t port, struct error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    const char *host = address ? address : "127.0.0.1";
    struct addrinfo *where = NULL;
    *out = (struct listen_socket){.fd = -1};
    int code = getaddrinfo(host, NULL, &hints, &where);
    if (code != 0)
        return error_set(err, EINVAL, "--listen %s: %s", host, gai_strerror(code));
    bool is_chosen = port != LISTEN_NO_PORT;
    uint16_t first = (uint16_t)(is_chosen ? port : LISTEN_PORT), tries = is_chosen ? 1 : LISTEN_TRIES;
    for (uint16_t i = 0; i < tries; i++) {
        out->fd = try_port(where, (uint16_t)(first + i));
        if (out->fd != -EADDRINUSE)
            break;
    }
    if (out->fd == -EADDRINUSE && !is_chosen)
        out->fd = try_port(where, 0);
    if (out->fd < 0) {
        code = -out->fd;
        freeaddrinfo(where);
        return busy_error(host, first, code, err);
    }
    out->port = port_of(out->fd);
    out->is_loopback = is_loopback(where->ai_addr);
    write_url(out, where->ai_addr);
    freeaddrinfo(where);
    return 0;
}
