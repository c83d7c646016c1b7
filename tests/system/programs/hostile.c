/* SPDX-License-Identifier: Apache-2.0 */
/* A program that turns against the file its own records are in, while the collector reads it.
 *
 *     hostile noise SEED      random bytes over random places of header, tables, descriptors, chunks
 *     hostile huge            every count and index as large as it gets
 *     hostile truncate        the file is cut to nothing, grown again, cut again
 *     hostile descriptors     chunks claimed by others, twice, in wrong order, with records of every kind
 *     hostile files           other things of that name in the session folder: pipes, folders, links, small files
 *
 * It knows nothing of the layout but where the areas are: session/session.h says it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "session/session.h"

static char folder[3072];
static uint64_t noise_state;

static uint64_t noise(void)
{
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 7;
    noise_state ^= noise_state << 17;
    return noise_state;
}

static void make_zones(int count)
{
    for (int i = 0; i < count; i++) {
        OPSCOPE_ZONE("hostile");
    }
}

/* Waits until the collector has been round: it beats the heart of every segment at each poll. */
static void let_collector_poll(volatile struct segment_header *header)
{
    uint64_t seen = header->heartbeat_ns;
    for (int i = 0; i < 400 && header->heartbeat_ns == seen; i++)
        usleep(1000);
}

static int open_own_segment(void)
{
    char prefix[32], path[4096];
    int length = snprintf(prefix, sizeof prefix, "%d-", (int)getpid()), fd = -1;
    DIR *dir = opendir(folder);
    if (!dir)
        return -1;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (strncmp(entry->d_name, prefix, (size_t)length) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    closedir(dir);
    return fd;
}

static void scribble_noise(uint8_t *memory, const struct segment_layout *l)
{
    const size_t areas[][2] = {
        {8, SESSION_PAGE},   {l->free_map, 4096}, {l->processes, 4096},         {l->descriptors, 64 * 64},
        {l->name_ids, 4096}, {l->names, 8192},    {l->chunks, 64 * CHUNK_BYTES}};
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 200; i++) {
            const size_t *area = areas[noise() % (sizeof areas / sizeof areas[0])];
            uint64_t value = noise() % 3 ? noise() : UINT64_MAX >> noise() % 64;
            memcpy(memory + area[0] + noise() % (area[1] - 8), &value, 1 + noise() % 8);
        }
        let_collector_poll((void *)memory);
    }
}

static void scribble_huge(uint8_t *memory, const struct segment_layout *l)
{
    struct segment_header *h = (void *)memory;
    for (uint32_t value = UINT32_MAX; value; value /= 16) {
        h->chunks_committed = h->track_count = h->process_count = h->name_count = value;
        h->ids_committed = h->processes_committed = value;
        h->names_used = h->names_committed = (uint64_t)value << 31;
        h->chunk_count = h->command_length = value;
        struct chunk_descriptor *d = (void *)(memory + l->descriptors);
        for (uint32_t i = 0; i < 64; i++) {
            d[i] = (struct chunk_descriptor){.state = 1 + i % 2,
                                             .slots = value,
                                             .process = value - i,
                                             .track = value ^ i,
                                             .sequence = i % 3 ? value : 0,
                                             .zones_before = UINT64_MAX,
                                             .base_ticks = UINT64_MAX / (i + 1),
                                             .depth_at_start = UINT16_MAX,
                                             .flags = (uint16_t)i,
                                             .lost_zones = 0};
        }
        let_collector_poll(h);
    }
}

static void truncate_file(uint8_t *memory, const struct segment_layout *l, int fd)
{
    (void)memory;
    for (int i = 0; i < 20; i++) {
        if (ftruncate(fd, i % 2 ? (off_t)l->total : (off_t)(i % 4 ? 4096 : 0)) != 0)
            exit(3);
        usleep(5000); /* the collector polls at least every 20 ms; nothing depends on it */
    }
}

static void scribble_descriptors(uint8_t *memory, const struct segment_layout *l)
{
    struct segment_header *h = (void *)memory;
    struct chunk_descriptor *d = (void *)(memory + l->descriptors);
    struct slot *slots = (void *)(memory + l->chunks);
    uint32_t chunks = l->chunk_count < 64 ? l->chunk_count : 64;
    for (size_t i = 0; i < chunks * (size_t)CHUNK_SLOTS && i * sizeof *slots < chunks * CHUNK_BYTES; i++) {
        uint64_t kind = i % 5 ? noise() % 8 : 128 + noise() % 12;
        slots[i] = (struct slot){noise() << 8 | kind, noise() >> noise() % 64};
    }
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 4; i < chunks; i++) {
            d[i].track = (uint32_t)(noise() % 8);
            d[i].sequence = noise() % 4;
            d[i].process = (uint32_t)(noise() % 2);
            d[i].slots = (uint32_t)(noise() % 1030);
            d[i].base_ticks = noise() >> noise() % 64;
            d[i].flags = (uint16_t)noise();
            __atomic_store_n(&d[i].state, (uint32_t)(1 + noise() % 2), __ATOMIC_RELEASE);
        }
        let_collector_poll(h);
    }
}

static void make_file(const char *name, const void *data, size_t length)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, length) != (ssize_t)length)
        exit(4);
    close(fd);
}

static void litter(uint8_t *memory)
{
    char path[4096];
    make_file("empty.seg", "", 0);
    make_file("short.seg", memory, 100);
    make_file("header-only.seg", memory, 4096);
    make_file("text.seg", "this is not a segment", 21);
    make_file("unrecorded-nonsense", "", 0);
    make_file("unrecorded-99999999999999999999-99999999999999999999", "", 0);
    snprintf(path, sizeof path, "%s/pipe.seg", folder);
    if (mkfifo(path, 0600) != 0)
        exit(5);
    snprintf(path, sizeof path, "%s/folder.seg", folder);
    if (mkdir(path, 0700) != 0)
        exit(5);
    snprintf(path, sizeof path, "%s/link.seg", folder);
    if (symlink("/etc/passwd", path) != 0)
        exit(5);
    let_collector_poll((void *)memory);
}

int main(int argc, char **argv)
{
    const char *session = getenv(SESSION_VARIABLE), *colon = session ? strrchr(session, ':') : NULL;
    const char *mode = argc > 1 ? argv[1] : "";
    noise_state = UINT64_C(0x9e3779b97f4a7c15) ^ (argc > 2 ? strtoull(argv[2], NULL, 10) << 20 : 0);
    make_zones(3000);
    if (!colon || (size_t)(colon - session) >= sizeof folder)
        return 1;
    memcpy(folder, session, (size_t)(colon - session));
    int fd = open_own_segment();
    struct segment_header head;
    if (fd < 0 || pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
        return 1;
    struct segment_layout layout = segment_layout(head.chunk_count);
    uint8_t *memory = mmap(NULL, layout.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return 2;
    let_collector_poll((void *)memory);
    if (strcmp(mode, "noise") == 0)
        scribble_noise(memory, &layout);
    else if (strcmp(mode, "huge") == 0)
        scribble_huge(memory, &layout);
    else if (strcmp(mode, "truncate") == 0)
        truncate_file(memory, &layout, fd);
    else if (strcmp(mode, "descriptors") == 0)
        scribble_descriptors(memory, &layout);
    else if (strcmp(mode, "files") == 0)
        litter(memory);
    else
        return 6;
    _exit(0);
}
