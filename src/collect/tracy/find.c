/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel lists listening sockets with their inodes; a process has them among its descriptors (/proc/PID/fd). The
 * list is short and asked for often; processes are looked through only when a socket is new. It is asked for by netlink
 * (sock_diag): /proc/net/tcp goes through the table of all connections, which takes 5 to 10 ms where there is much
 * memory, and is read where netlink cannot be had and for processes of another network. */
#include "collect/tracy/find.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "collect/tracy/protocol.h"

#define LOOK_NS UINT64_C(20000000) /* at least, between two looks */
#define LOOK_SHARE 20u             /* and at most one part in this many of a CPU is spent with looking ... */
#define LONGEST_NS UINT64_C(500000000) /* ... but this long, however many sockets there are */
/* between two looks for processes of other networks, which are few ... */
#define ELSEWHERE_NS UINT64_C(1000000000)
#define ELSEWHERE_SHARE 200u /* ... and one part in this many of a CPU */
#define STARTING_TRIES 20u   /* for a process that is being started */
#define STARTING_US 5000u
#define MAX_SOCKETS 4096u
#define LISTENING 0x0a
#define THREAD_NAME "Tracy Profiler"
#define MAX_ENVIRONMENT (256u * 1024)
#define MAX_ANSWER (32u * 1024) /* of netlink, at a time */

struct listener {
    uint64_t inode;
    bool is_taken; /* a client has it */
    struct tracy_place place;
};

struct listeners {
    struct listener *items;
    size_t count, capacity;
};

/* The address to reach it under: its own, or loopback where it takes any. Words are as the CPU stores them. */
static void set_address(struct tracy_place *place, const uint32_t *words, bool is_v6, unsigned port)
{
    if (is_v6) {
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
        memcpy(&v6.sin6_addr, words, 16);
        if (IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr))
            v6.sin6_addr = in6addr_loopback;
        place->address.v6 = v6;
        place->length = sizeof v6;
    } else {
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
        v4.sin_addr.s_addr = words[0] ? words[0] : htonl(INADDR_LOOPBACK);
        place->address.v4 = v4;
        place->length = sizeof v4;
    }
}

/* "  0: 0100007F:1F96 00000000:0000 0A ... inode ...": the fields up to the inode, numbers in base 16 but for some. */
static bool read_line(const char *line, bool is_v6, struct listener *out)
{
    uint32_t words[4] = {0};
    unsigned port, state;
    int skip = 0;
    const char *at = strchr(line, ':');
    if (!at)
        return false;
    at += 1 + strspn(at + 1, " ");
    for (unsigned i = 0; i < (is_v6 ? 4u : 1u); i++, at += 8) {
        if (sscanf(at, "%8" SCNx32, &words[i]) != 1 || strlen(at) < 9)
            return false;
    }
    if (sscanf(at, ":%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64 "%n", &port, &state,
               &out->inode, &skip) != 3 ||
        state != LISTENING || !out->inode)
        return false;
    set_address(&out->place, words, is_v6, port);
    return true;
}

static void add_listener(struct listeners *list, const struct listener *found)
{
    if (list->count < MAX_SOCKETS &&
        array_reserve(&list->items, &list->capacity, list->count + 1, sizeof *list->items))
        list->items[list->count++] = *found;
}

enum answer { ANSWER_FAILED, ANSWER_GOES_ON, ANSWER_ENDS };

static enum answer take_answer(const char *data, size_t size, struct listeners *list)
{
    struct nlmsghdr header;
    for (size_t at = 0; at + sizeof header <= size; at += NLMSG_ALIGN(header.nlmsg_len)) {
        struct inet_diag_msg socket;
        memcpy(&header, data + at, sizeof header);
        if (header.nlmsg_type == NLMSG_DONE)
            return ANSWER_ENDS;
        if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY || header.nlmsg_len < NLMSG_HDRLEN + sizeof socket ||
            header.nlmsg_len > size - at)
            return ANSWER_FAILED;
        memcpy(&socket, data + at + NLMSG_HDRLEN, sizeof socket);
        struct listener found = {.inode = socket.idiag_inode};
        set_address(&found.place, socket.id.idiag_src, socket.idiag_family == AF_INET6,
                    ntohs(socket.id.idiag_sport));
        add_listener(list, &found);
    }
    return ANSWER_GOES_ON;
}

/* The listening sockets of our own network, of one family; false where the kernel does not say. */
static bool ask_kernel(uint8_t family, struct listeners *list)
{
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 question;
    } message = {
        .header = {.nlmsg_len = sizeof message,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .question = {.sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1u << LISTENING}};
    enum answer answer = ANSWER_FAILED;
    char *room = malloc(MAX_ANSWER);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (room && fd >= 0 && send(fd, &message, sizeof message, 0) == (ssize_t)sizeof message) {
        do {
            ssize_t size = recv(fd, room, MAX_ANSWER, 0);
            answer = size > 0 ? take_answer(room, (size_t)size, list) : ANSWER_FAILED;
        } while (answer == ANSWER_GOES_ON);
    }
    if (fd >= 0)
        close(fd);
    free(room);
    return answer == ANSWER_ENDS;
}

/* Adds the sockets that listen where `folder` (/proc/net, /proc/PID/net) says so. */
static void list_sockets(const char *folder, struct listeners *list)
{
    for (unsigned v6 = 0; v6 < 2; v6++) {
        char path[64], line[512];
        snprintf(path, sizeof path, "%s/%s", folder, v6 ? "tcp6" : "tcp");
        FILE *stream = fopen(path, "re");
        while (stream && list->count < MAX_SOCKETS && fgets(line, sizeof line, stream)) {
            struct listener found = {0};
            if (read_line(line, v6, &found))
                add_listener(list, &found);
        }
        if (stream)
            fclose(stream);
    }
}

static void list_own_sockets(struct listeners *list)
{
    if (ask_kernel(AF_INET, list) && ask_kernel(AF_INET6, list))
        return;
    list->count = 0;
    list_sockets("/proc/net", list);
}

/* Does the process have a thread of that name? Only that thread of a client listens, so it is there in time. */
static bool has_client_thread(int64_t pid)
{
    char path[64], name[32];
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/task", pid);
    DIR *threads = opendir(path);
    const struct dirent *entry;
    while (threads && !is_found && (entry = readdir(threads))) {
        snprintf(path, sizeof path, "/proc/%" PRId64 "/task/%.20s/comm", pid, entry->d_name);
        FILE *stream = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "re") : NULL;
        if (!stream)
            continue;
        is_found = fgets(name, sizeof name, stream) && strncmp(name, THREAD_NAME, strlen(THREAD_NAME)) == 0;
        fclose(stream);
    }
    if (threads)
        closedir(threads);
    return is_found;
}

static bool is_default_port(const struct tracy_place *place)
{
    unsigned port = ntohs(place->address.v4.sin_port); /* at the same place in both kinds */
    return port >= TRACY_FIRST_PORT && port < TRACY_FIRST_PORT + TRACY_PORTS;
}

/* The socket of the list that the process has open; of several one with a port that Tracy would take, and *count says
 * how many there are. */
static struct listener *socket_of(int64_t pid, const struct listeners *list, size_t *count)
{
    char path[96], link[64];
    struct listener *best = NULL;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/fd", pid);
    DIR *files = opendir(path);
    const struct dirent *entry;
    *count = 0;
    while (files && (entry = readdir(files))) {
        uint64_t inode;
        snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%.20s", pid, entry->d_name);
        ssize_t length = readlink(path, link, sizeof link - 1);
        if (length <= 0)
            continue;
        link[length] = '\0';
        if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
            continue;
        for (size_t i = 0; i < list->count; i++) {
            struct listener *item = &list->items[i];
            if (item->inode != inode || item->is_taken)
                continue;
            ++*count;
            if (!best || (is_default_port(&item->place) && !is_default_port(&best->place)))
                best = item;
        }
    }
    if (files)
        closedir(files);
    return best;
}

static struct tracy_place place_of(const struct listener *listener, int64_t pid, bool is_elsewhere)
{
    struct tracy_place place = listener->place;
    place.pid = pid;
    place.is_local = true;
    place.is_elsewhere = is_elsewhere;
    return place;
}

/* Of the network of that process (0: not known). */
static uint64_t network_of(const char *process)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%.20s/ns/net", process);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

bool tracy_find_in_process(int64_t pid, struct tracy_place *place)
{
    char folder[64], process[32];
    struct listeners list = {0};
    const struct listener *found = NULL;
    size_t count;
    snprintf(process, sizeof process, "%" PRId64, pid);
    snprintf(folder, sizeof folder, "/proc/%s/net", process);
    if (has_client_thread(pid)) {
        list_sockets(folder, &list);
        found = socket_of(pid, &list, &count);
    }
    if (found)
        *place = place_of(found, pid, network_of(process) != network_of("self"));
    free(list.items);
    return found != NULL;
}

/* Does the process have the variable, as it was when it was started? */
static bool is_of_session(int64_t pid, const char *variable, char *room)
{
    char path[64];
    size_t length = strlen(variable);
    snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", pid);
    FILE *stream = fopen(path, "re");
    size_t size = stream ? fread(room, 1, MAX_ENVIRONMENT, stream) : 0;
    if (stream)
        fclose(stream);
    for (const char *at = room; size > length; at++) {
        at = memmem(at, (size_t)(room + size - at), variable, length);
        if (!at)
            return false;
        if ((at == room || at[-1] == '\0') && (at + length == room + size || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Calls back with each process of the session until that returns false. */
static void each_process(const char *session, bool (*visit)(void *context, const char *pid), void *context)
{
    char *room = malloc(MAX_ENVIRONMENT);
    DIR *processes = room ? opendir("/proc") : NULL;
    const struct dirent *entry;
    bool goes_on = true;
    while (processes && goes_on && (entry = readdir(processes))) {
        int64_t pid = isdigit((unsigned char)entry->d_name[0]) ? strtoll(entry->d_name, NULL, 10) : 0;
        if (pid && is_of_session(pid, session, room))
            goes_on = visit(context, entry->d_name);
    }
    if (processes)
        closedir(processes);
    free(room);
}

/* Is it a program without an environment? While one is started it has none for a moment. */
static bool is_starting(int64_t pid)
{
    char path[64], byte[1];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, byte, sizeof byte);
    if (fd >= 0)
        close(fd);
    snprintf(path, sizeof path, "/proc/%" PRId64 "/exe", pid);
    return size == 0 && readlink(path, byte, sizeof byte) > 0; /* else it is a thread of the kernel */
}

static bool is_soon(int64_t pid, const char *session, char *room)
{
    for (unsigned tries = 0; tries < STARTING_TRIES && is_starting(pid); tries++)
        usleep(STARTING_US);
    return is_of_session(pid, session, room);
}

bool tracy_session_has_processes(const char *session, int64_t after)
{
    char *room = malloc(MAX_ENVIRONMENT);
    DIR *processes = room ? opendir("/proc") : NULL;
    const struct dirent *entry;
    bool has_one = false;
    while (processes && !has_one && (entry = readdir(processes))) {
        int64_t pid = isdigit((unsigned char)entry->d_name[0]) ? strtoll(entry->d_name, NULL, 10) : 0;
        if (pid > after)
            has_one = is_of_session(pid, session, room) || (is_starting(pid) && is_soon(pid, session, room));
    }
    if (processes)
        closedir(processes);
    free(room);
    return has_one;
}

struct looking {
    struct tracy_finder *finder;
    const struct listeners *fresh;
    uint64_t network; /* our own */
    int64_t *clients; /* that were found; 0: done */
    size_t count, capacity;
    tracy_found_fn found;
    void *context;
};

static bool note_client(void *context, const char *process)
{
    struct looking *l = context;
    int64_t pid = strtoll(process, NULL, 10);
    if (has_client_thread(pid) && array_reserve(&l->clients, &l->capacity, l->count + 1, sizeof *l->clients))
        l->clients[l->count++] = pid;
    return true;
}

/* A child has the sockets of its parent too, where they were not closed. So who has only one takes it, which leaves the
 * others fewer to choose from. */
static void share_out(struct looking *l)
{
    bool must_choose = false;
    for (size_t left = l->count, before; left; must_choose = left == before) {
        before = left;
        for (size_t i = 0; i < l->count; i++) {
            size_t count;
            struct listener *best = l->clients[i] ? socket_of(l->clients[i], l->fresh, &count) : NULL;
            if (!l->clients[i] || (best && count > 1 && !must_choose))
                continue;
            if (best) {
                struct tracy_place place = place_of(best, l->clients[i], false);
                best->is_taken = true;
                l->found(l->context, &place);
                must_choose = false;
            }
            l->clients[i] = 0;
            left--;
        }
    }
}

/* A process of another network: its sockets are not in our list. */
static bool look_into(void *context, const char *process)
{
    struct looking *l = context;
    struct listeners list = {0};
    int64_t pid = strtoll(process, NULL, 10);
    char folder[64];
    size_t count, fresh = 0;
    uint64_t network = network_of(process);
    if (!network || network == l->network || !has_client_thread(pid))
        return true;
    snprintf(folder, sizeof folder, "/proc/%.20s/net", process);
    list_sockets(folder, &list);
    for (size_t i = 0; i < list.count; i++) {
        if (map_get(&l->finder->seen, list.items[i].inode) == MAP_NONE)
            list.items[fresh++] = list.items[i];
    }
    list.count = fresh;
    const struct listener *best = socket_of(pid, &list, &count);
    if (best) {
        struct tracy_place place = place_of(best, pid, true);
        map_put(&l->finder->seen, best->inode, 0);
        l->found(l->context, &place);
    }
    free(list.items);
    return true;
}

/* Leaves those in the list that are new. */
static void keep_fresh(struct tracy_finder *finder, struct listeners *list)
{
    size_t fresh = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (map_get(&finder->seen, list->items[i].inode) != MAP_NONE)
            continue;
        map_put(&finder->seen, list->items[i].inode, 0);
        list->items[fresh++] = list->items[i];
    }
    list->count = fresh;
}

void tracy_finder_start(struct tracy_finder *finder, const char *session)
{
    struct listeners list = {0};
    *finder = (struct tracy_finder){.session = session};
    list_own_sockets(&list);
    keep_fresh(finder, &list);
    free(list.items);
}

static void look_elsewhere(struct looking *l, uint64_t now_ns)
{
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    l->network = network_of("self");
    if (l->network)
        each_process(l->finder->session, look_into, l);
    l->finder->next_elsewhere_ns =
        now_ns + ELSEWHERE_NS + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * ELSEWHERE_SHARE;
}

void tracy_finder_look(struct tracy_finder *finder, uint64_t now_ns, tracy_found_fn found, void *context)
{
    struct listeners list = {0};
    struct looking looking = {.finder = finder, .fresh = &list, .found = found, .context = context};
    if (now_ns < finder->next_ns)
        return;
    uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    list_own_sockets(&list);
    keep_fresh(finder, &list);
    if (list.count) {
        each_process(finder->session, note_client, &looking);
        share_out(&looking);
    }
    free(looking.clients);
    free(list.items);
    uint64_t pause_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns) * LOOK_SHARE;
    pause_ns = pause_ns < LOOK_NS ? LOOK_NS : pause_ns > LONGEST_NS ? LONGEST_NS : pause_ns;
    finder->next_ns = now_ns + pause_ns;
    if (now_ns >= finder->next_elsewhere_ns)
        look_elsewhere(&looking, now_ns);
}

void tracy_finder_free(struct tracy_finder *finder)
{
    map_free(&finder->seen);
}
