/* SPDX-License-Identifier: Apache-2.0 */
/* A segment that its process has spoiled, through the real collector into a real trace, which must then be readable.
 *
 * The input is laid over a small segment that is well formed: two threads in four chunks with zones, texts, ops and
 * a device. It begins with a byte of options and goes on with pokes: area, offset, length, bytes. So a short input
 * reaches any field of any structure, and most of what is around it stays sensible:
 *
 *     options: 1 recover (no live clock)   2 poll once, then apply the second half of the pokes (a segment that changes
 *              under the collector)        4 read the trace afterwards             8 the process is one of ours
 *     poke:    u8 area (header, free map, processes, descriptors, name ids, names, chunks,
 *              taken), u24 offset, u8 length, bytes
 *
 * A real segment is 180 MiB and more, nearly all of it untouched: it is mapped once, and only the areas below are
 * restored for each input. The collector writes to them as well. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "../unit/collect_image.h"
#include "trace/reader.h"

enum { CHUNKS = 6, AREAS = 8 };

static struct area {
    size_t offset, length;
    uint8_t *clean;
} areas[AREAS];

static struct image image;
static char folder[64];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_thread(uint32_t chunk, uint32_t track, uint32_t name)
{
    static const char text[] = "some text of a zone, in two slots";
    struct slot more[4] = {{0, 0}};
    image_chunk(&image, chunk, track, 0, CHUNK_SEALED);
    image_record(&image, chunk, 1, RECORD_THREAD_NAME, name, 0);
    image_record(&image, chunk, 2, RECORD_ZONE_BEGIN, name, 0x112233);
    memcpy(more, text, sizeof text);
    image_long_record(&image, chunk, 3, RECORD_ZONE_TEXT, sizeof text, 0, more, 3);
    image_long_record(&image, chunk, 3, RECORD_MESSAGE, sizeof text, 0, more, 3);
    image_long_record(&image, chunk, 3, RECORD_SIGNPOST, sizeof text, 0, more, 3);
    image_long_record(&image, chunk, 4, RECORD_ZONE_VALUE, 0, 0, more, 1);
    image_record(&image, chunk, 4, RECORD_ZONE_COLOUR, 0, 0xff0000);
    for (uint64_t i = 5; i < 20; i++)
        image_zone(&image, chunk, i * 10, i * 10 + 5, name);
    image_long_record(&image, chunk, 300, RECORD_COUNTER, name, 0, more, 1);
    image_long_record(&image, chunk, 301, RECORD_MEMORY, name, 0, more, 1);
    image_record(&image, chunk, 302, RECORD_FRAME, name, 0);
    for (uint32_t step = RECORD_LOCK_WAIT; step <= RECORD_LOCK_GAVE_UP; step++)
        image_long_record(&image, chunk, 303 + step, RECORD_LOCK, name, step, more, 1);
    image_chunk(&image, chunk + 1, track, 1, CHUNK_OWNED)->zones_before = 16;
    image_descriptor(&image, chunk + 1)->depth_at_start = 1;
    image_zone(&image, chunk + 1, 400, 500, name);
    image_record(&image, chunk + 1, 600, RECORD_ZONE_END, 0, 0);
    image_record(&image, chunk + 1, 700, RECORD_ZONE_BEGIN, name, 0);
}

static void add_ops(uint32_t chunk, uint32_t name)
{
    double hz = 1e9;
    struct name_entry device = {.length = 4, .kind = NAME_DEVICE, .aux = 1};
    memcpy(&device.value, &hz, sizeof hz);
    uint32_t device_id = image_define(&image, &device, "chip");
    struct name_entry track = {
        .length = 4, .kind = NAME_DEVICE_TRACK, .aux = 4, .value = 12, .owner = device_id};
    uint32_t core = image_define(&image, &track, "core");
    track.parent = core;
    uint32_t inner = image_define(&image, &track, "proc");
    struct slot op[2] = {{5, 1}, {0, 0}}, zone = {100, 5};
    struct slot run[4] = {{100, 5}, {64, 0}, {name, 40}, {name, 50}}, sync = {1000, 10};
    image_long_record(&image, chunk, 310, RECORD_OP_BEGIN, name, 0, op, 1);
    for (uint32_t role = PART_INPUT; role <= PART_KERNEL; role++)
        image_record(&image, chunk, 311, RECORD_OP_PART, name, role);
    image_record(&image, chunk, 320, RECORD_ZONE_END, 0, 0);
    image_long_record(&image, chunk, 321, RECORD_CLOCK_SYNC, device_id, 0, &sync, 1);
    image_long_record(&image, chunk, 1000, RECORD_DEVICE_ZONE, name, inner, &zone, 1);
    image_long_record(&image, chunk, 1000, RECORD_DEVICE_RUN, name, core, run, 4);
}

static void make_image(void)
{
    size_t total = segment_layout(CHUNKS).total;
    uint8_t *memory =
        mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    image_init(&image, memory, CHUNKS);
    *image_process(&image, 1) = (struct session_process){.state = 1, .pid = 101, .parent_pid = 100};
    image.header->process_count = 2;
    uint32_t name = image_name(&image, "a name");
    struct name_entry site = {.length = 17, .kind = NAME_SITE, .aux = 12, .value = 0xff};
    uint32_t place = image_define(&image, &site, "zone\0function\0f.c");
    add_thread(0, 0, name);
    add_ops(0, name);
    add_thread(2, 1, place);
    image_descriptor(&image, 2)->process = image_descriptor(&image, 3)->process = 1;
    const struct segment_layout *l = &image.layout;
    const struct area list[AREAS] = {{0, SESSION_PAGE, NULL},
                                     {l->free_map, SESSION_PAGE, NULL},
                                     {l->processes, SESSION_PAGE, NULL},
                                     {l->descriptors, CHUNKS * sizeof(struct chunk_descriptor), NULL},
                                     {l->name_ids, SESSION_PAGE, NULL},
                                     {l->names, 16384, NULL},
                                     {l->chunks, CHUNKS * CHUNK_BYTES, NULL},
                                     {l->taken, CHUNKS * sizeof(uint16_t), NULL}};
    for (int i = 0; i < AREAS; i++) {
        areas[i] = list[i];
        areas[i].clean = malloc(areas[i].length);
        if (!areas[i].clean)
            abort();
        memcpy(areas[i].clean, memory + areas[i].offset, areas[i].length);
    }
}

/* Applies pokes from data[*at] up to `end`. */
static void poke(const uint8_t *data, size_t *at, size_t end)
{
    while (*at + 5 < end) {
        const struct area *area = &areas[data[*at] % AREAS];
        size_t offset = data[*at + 1] | (size_t)data[*at + 2] << 8 | (size_t)data[*at + 3] << 16;
        size_t length = 1 + data[*at + 4] % 64u;
        *at += 5;
        length = length < end - *at ? length : end - *at;
        offset %= area->length;
        length = length < area->length - offset ? length : area->length - offset;
        memcpy(image.memory + area->offset + offset, data + *at, length);
        *at += length;
    }
}

/* A stack of 65,535 zones is as good as one of 255, and takes 10 ms: test_collect.c has the deep one. */
static void keep_stacks_short(void)
{
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct slot *first = image_slots(&image, i);
        image_descriptor(&image, i)->depth_at_start &= 0xff;
        if ((first->time_kind & 0xff) == RECORD_LATE_ENDS)
            first->word &= 0xff;
    }
}

/* Whatever was in the segment: what the collector made of it is a trace. */
static void read_trace(const char *path)
{
    struct trace *trace;
    struct zone_rows rows = {0};
    struct trace_rows others = {0};
    size_t position = 0;
    const struct trace_block *block;
    struct trace_block_filter all = {0};
    if (trace_open(&trace, path, 0, NULL) != 0 || !trace_get_info(trace)->is_complete)
        abort();
    while ((block = trace_next_block(trace, &all, &position))) {
        if (block->type == TRACE_BLOCK_ZONES) {
            if (trace_decode_zones(trace, block, TRACE_COLUMN_ALL, &rows, NULL) != 0)
                abort();
        } else if (block->type >= TRACE_BLOCK_POINTS && block->type <= TRACE_BLOCK_RUNS) {
            if (trace_decode_rows(trace, block, &others, NULL) != 0)
                abort();
        }
    }
    zone_rows_free(&rows);
    trace_rows_free(&others);
    trace_close(trace);
}

/* With less file to write to, the writer holds less of it in reserve, which would be a third of the time. A trace that
 * does not fit is a full disk, and just as good. */
static void limit_file_size(bool is_limited)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0)
        return;
    limit.rlim_cur = is_limited ? 512 * 1024 : limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
}

static void remove_folder(void)
{
    session_folder_remove(folder, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    snprintf(folder, sizeof folder, "%s/opscope-fuzz-session-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder))
        abort();
    atexit(remove_folder);
    signal(SIGXFSZ, SIG_IGN);
    make_image();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct collection collection;
    struct stat st;
    unsigned options = size ? data[0] : 0;
    size_t at = 1, middle = options & 2 ? size / 2 : size;
    for (int i = 0; i < AREAS; i++)
        memcpy(image.memory + areas[i].offset, areas[i].clean, areas[i].length);
    if (options & 8 && stat("/proc/self/ns/pid", &st) == 0)
        image.header->pid_namespace = (uint64_t)st.st_ino;
    poke(data, &at, middle);
    keep_stacks_short();
    limit_file_size(true);
    if (collection_open(&collection, folder, options & 1 ? COLLECTOR_RECOVER : 0) != 0)
        abort();
    collection_add(&collection, image.memory, image.layout.total);
    if (options & 2) {
        collector_poll(collection.collector, NULL);
        poke(data, &at, size);
        keep_stacks_short();
        collector_poll(collection.collector, NULL);
    }
    int status = collection_finish(&collection, NULL);
    limit_file_size(false);
    if (status != 0 && status != -EFBIG)
        abort();
    if (options & 4 && status == 0)
        read_trace(collection.path);
    unlink(collection.path);
    return 0;
}
