/* SPDX-License-Identifier: Apache-2.0 */
/* The file of session/cuda_file.h, seen from the process that writes it. Memory is committed before it is touched, so
 * that a full tmpfs is an error and not a SIGBUS. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count_of.h"
#include "record/cuda/cuda.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static bool can_commit;                         /* else everything had memory from the start */
static uint8_t node_pages[CUDA_NODE_PAGES / 8]; /* bits: they have memory */

static bool commit(size_t offset, size_t length)
{
    int saved = errno;
    bool is_done = !can_commit || madvise(cuda.file + offset, length, MADV_POPULATE_WRITE) == 0;
    errno = saved;
    return is_done;
}

/* What is used from the start; a kernel without MADV_POPULATE_WRITE gets some buffers at once. */
static int commit_first(int fd)
{
    const struct cuda_file_layout *l = &cuda.layout;
    if (madvise(cuda.file, l->nodes, MADV_POPULATE_WRITE) == 0) {
        can_commit = true;
        return 0;
    }
    return errno != EINVAL ? errno : posix_fallocate(fd, 0, (off_t)(l->buffers + 64 * CUDA_BUFFER_BYTES));
}

static int make_file(const char *path)
{
    struct stat folder;
    char parent[4096];
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int failed = 0;
    if (stat(parent, &folder) == 0 && folder.st_uid != geteuid() &&
        fchown(fd, folder.st_uid, folder.st_gid) != 0)
        failed = errno;
    if (!failed && ftruncate(fd, (off_t)cuda.layout.total) != 0)
        failed = errno;
    void *memory =
        failed ? MAP_FAILED
               : mmap(NULL, cuda.layout.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
        failed = failed ? failed : errno;
    } else {
        cuda.file = memory;
        cuda.header = memory;
        madvise(memory, cuda.layout.total, MADV_DONTDUMP);
        failed = commit_first(fd);
        if (failed) {
            munmap(memory, cuda.layout.total);
            cuda.file = NULL;
        }
    }
    close(fd);
    if (failed)
        unlink(path);
    return failed;
}

/* How long a record of this kind is: libcupti is asked for the second one of a buffer that says that kind everywhere;
 * it differs by version, and 11.8 and 12.1 say the same version. 0: not to be had, or not a length. */
static uint32_t measure_stride(const struct cuda_state *state, uint32_t kind)
{
    uint32_t words[512];
    void *record = NULL;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        words[i] = kind;
    for (int i = 0; i < 2; i++) {
        if (state->cupti.cuptiActivityGetNextRecord((uint8_t *)words, sizeof words, &record) != CUPTI_OK ||
            !record)
            return 0;
    }
    size_t length = (size_t)((const uint8_t *)record - (const uint8_t *)words);
    return length >= CUDA_RECORD_LEAST && length < sizeof words ? (uint32_t)length : 0;
}

static void find_strides(const struct cuda_state *state)
{
    static const uint32_t kinds[] = {CUDA_KIND_KERNEL, CUDA_KIND_MEMCPY, CUDA_KIND_MEMSET,
                                     CUDA_KIND_PEER_COPY};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        uint32_t stride = measure_stride(state, kinds[i]);
        state->header->strides[kinds[i]] =
            stride ? stride : cuda_record_stride(state->cupti.version, kinds[i]);
    }
}

bool file_open(struct cuda_state *state, char *trouble, size_t size)
{
    char path[4096];
    state->layout = cuda_file_layout();
    int failed = opscope_session_file_(CUDA_FILE_SUFFIX, path, sizeof path);
    if (!failed)
        failed = make_file(path);
    if (failed) {
        snprintf(trouble, size, "no memory for its records: %s (make room in the session's folder, /dev/shm)",
                 strerror(failed));
        return false;
    }
    struct cuda_file_header *h = state->header;
    h->version = CUDA_FILE_VERSION;
    h->pid = (uint32_t)getpid();
    h->cupti_version = state->cupti.version;
    find_strides(state);
    __atomic_store_n(&h->magic, CUDA_FILE_MAGIC, __ATOMIC_RELEASE);
    return true;
}

/* --- buffers --- */

static struct cuda_buffer *buffers(void)
{
    return (struct cuda_buffer *)(void *)(cuda.file + cuda.layout.states);
}

static uint8_t *buffer_memory(uint32_t index)
{
    return cuda.file + cuda.layout.buffers + index * CUDA_BUFFER_BYTES;
}

/* The lowest that is free, so that few of them ever have memory. */
uint8_t *file_lend_buffer(void)
{
    uint32_t used = __atomic_load_n(&cuda.header->buffers_used, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < CUDA_BUFFERS; i++) {
        struct cuda_buffer *b = &buffers()[i];
        uint32_t expected = CUDA_BUFFER_FREE;
        if (!__atomic_compare_exchange_n(&b->state, &expected, CUDA_BUFFER_LENT, false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        if (i >= used &&
            (!can_commit ? i >= 64
                         : !commit(cuda.layout.buffers + i * CUDA_BUFFER_BYTES, CUDA_BUFFER_BYTES))) {
            __atomic_store_n(&b->state, CUDA_BUFFER_FREE, __ATOMIC_RELEASE);
            return NULL;
        }
        while (i >= used && !__atomic_compare_exchange_n(&cuda.header->buffers_used, &used, i + 1, false,
                                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            ;
        return buffer_memory(i);
    }
    return NULL;
}

struct cuda_buffer *file_buffer_state(const uint8_t *buffer)
{
    if (buffer < buffer_memory(0) || buffer >= buffer_memory(CUDA_BUFFERS))
        return NULL;
    return &buffers()[(size_t)(buffer - buffer_memory(0)) / CUDA_BUFFER_BYTES];
}

void file_take_back(uint8_t *buffer, size_t used)
{
    struct cuda_buffer *b = file_buffer_state(buffer);
    if (!b)
        return;
    memset(buffer, 0, used < CUDA_BUFFER_BYTES ? used : CUDA_BUFFER_BYTES);
    b->done = 0;
    __atomic_store_n(&b->state, CUDA_BUFFER_FREE, __ATOMIC_RELEASE);
}

/* A record of unknown length counts as open: what comes after it may be, and its buffer says the length when it
 * comes. */
static uint32_t count_open(const uint8_t *buffer)
{
    uint32_t count = 0;
    for (size_t at = 0; at + CUDA_RECORD_LEAST <= CUDA_BUFFER_BYTES;) {
        uint32_t kind = __atomic_load_n((const uint32_t *)(const void *)(buffer + at), __ATOMIC_RELAXED);
        uint32_t number = kind & ~CUDA_RECORD_OPEN;
        uint32_t stride = number < CUDA_KINDS ? cuda.header->strides[number] : 0;
        if (!kind)
            break;
        count += kind & CUDA_RECORD_OPEN || !stride ? 1 : 0;
        if (!stride)
            break;
        at += stride;
    }
    return count;
}

/* What has been launched and has no times yet. */
uint32_t file_open_records(void)
{
    uint32_t used = __atomic_load_n(&cuda.header->buffers_used, __ATOMIC_ACQUIRE), count = 0;
    for (uint32_t i = 0; i < used; i++) {
        if (__atomic_load_n(&buffers()[i].state, __ATOMIC_ACQUIRE) == CUDA_BUFFER_LENT)
            count += count_open(buffer_memory(i));
    }
    return count;
}

/* --- launches: the last of a correlation id's place wins --- */

static struct cuda_launch *launch_place(uint32_t correlation)
{
    return (struct cuda_launch *)(void *)(cuda.file + cuda.layout.launches) +
           (correlation & (CUDA_LAUNCHES - 1));
}

void file_put_paused_launch(uint32_t correlation)
{
    struct cuda_launch *l = launch_place(correlation);
    l->is_paused = 1;
    __atomic_store_n(&l->correlation, correlation, __ATOMIC_RELEASE);
}

void file_put_launch(uint32_t correlation, uint64_t call, uint32_t name, uint32_t session)
{
    struct cuda_launch *l = launch_place(correlation);
    l->is_paused = 0;
    l->call = call;
    l->name = name;
    l->session = session;
    __atomic_store_n(&l->correlation, correlation, __ATOMIC_RELEASE);
}

bool file_get_launch(uint32_t correlation, struct cuda_launch *out)
{
    const struct cuda_launch *l = launch_place(correlation);
    bool is_known = __atomic_load_n(&l->correlation, __ATOMIC_ACQUIRE) == correlation && correlation;
    *out = is_known ? *l : (struct cuda_launch){0};
    return is_known;
}

/* --- nodes of graphs: made and looked up under one lock, since neither is on a hot path --- */

static uint32_t node_lock;

static void lock_nodes(void)
{
    while (__atomic_exchange_n(&node_lock, 1, __ATOMIC_ACQUIRE))
        ;
}

static void unlock_nodes(void)
{
    __atomic_store_n(&node_lock, 0, __ATOMIC_RELEASE);
}

/* NULL: its page has no memory. */
static struct cuda_node *node_place(uint64_t id, uint32_t probe, bool is_wanted)
{
    size_t offset = cuda.layout.nodes + cuda_node_offset(id, probe);
    size_t page = (offset - cuda.layout.nodes) / CUDA_NODE_PAGE_BYTES;
    bool has_memory = node_pages[page / 8] >> page % 8 & 1;
    if (!has_memory && is_wanted) {
        has_memory = commit(cuda.layout.nodes + page * CUDA_NODE_PAGE_BYTES, CUDA_NODE_PAGE_BYTES);
        node_pages[page / 8] |= (uint8_t)(has_memory << page % 8);
    }
    return has_memory ? (struct cuda_node *)(void *)(cuda.file + offset) : NULL;
}

/* Of a node without an entry the kernels are there, without their op. */
static void say_full(void)
{
    static bool has_said;
    static const char text[] =
        "opscope: more nodes of CUDA graphs than there is room for: kernels of the graphs that "
        "were made first are perhaps listed without their ops";
    if (!__atomic_exchange_n(&has_said, true, __ATOMIC_RELAXED) && opscope_has_session())
        opscope_message_(text, sizeof text - 1);
}

void file_put_node(uint64_t id, uint64_t call, uint32_t name)
{
    struct cuda_node *best = NULL;
    bool is_free = false;
    lock_nodes();
    for (uint32_t i = 0; i < CUDA_NODE_PROBES && !is_free; i++) {
        struct cuda_node *n = node_place(id, i, true);
        is_free = n && (n->id == id || !n->id);
        if (n && (is_free || !best || n->order < best->order))
            best = n;
    }
    if (best)
        *best = (struct cuda_node){id, call, name, ++cuda.node_order};
    unlock_nodes();
    if (!is_free)
        say_full();
}

bool file_get_node(uint64_t id, struct cuda_node *out)
{
    bool is_known = false;
    lock_nodes();
    for (uint32_t i = 0; i < CUDA_NODE_PROBES && !is_known; i++) {
        const struct cuda_node *n = node_place(id, i, false);
        is_known = n && n->id == id;
        if (is_known)
            *out = *n;
    }
    unlock_nodes();
    return is_known;
}
