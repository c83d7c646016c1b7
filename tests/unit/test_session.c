/* SPDX-License-Identifier: Apache-2.0 */
/* Session folders and the reader's side of a segment: what is accepted, what is refused, what is clamped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment_image.h"
#include "session/folder.h"
#include "session/segment.h"

enum { CHUNKS = 70 }; /* more than one word of the free map */

static char base[64];

static int set_up(void **state)
{
    (void)state;
    snprintf(base, sizeof base, "/tmp/opscope-test-session-XXXXXX");
    return mkdtemp(base) && setenv("OPSCOPE_DIR", base, 1) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    struct error err = {0};
    return session_folder_remove(base, &err);
}

/* --- folders --- */

static void make_folder(struct session_folder *folder)
{
    struct error err = {0};
    *folder = (struct session_folder){.control = {.session_id = IMAGE_SESSION, .buffer_bytes = 1 << 20}};
    snprintf(folder->output, sizeof folder->output, "/somewhere/t.opscope");
    snprintf(folder->command, sizeof folder->command, "train --steps 10");
    assert_int_equal(session_folder_create(folder, &err), 0);
}

static void test_folder_is_made_and_found_again(void **state)
{
    struct session_folder folder, found;
    struct error err = {0};
    struct stat st;
    bool is_alive = false;
    char variable[4000], with_slash[4000];
    (void)state;
    make_folder(&folder);
    assert_int_equal(stat(folder.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    session_folder_variable(&folder, variable, sizeof variable);
    assert_string_equal(variable + strlen(folder.path), ":0123456789abcdef");
    snprintf(with_slash, sizeof with_slash, "%s//", folder.path);
    assert_int_equal(session_folder_open(&found, with_slash, &is_alive, &err), 0);
    assert_true(is_alive); /* the one who made it still has it */
    assert_string_equal(found.path, folder.path);
    assert_string_equal(found.output, "/somewhere/t.opscope");
    assert_string_equal(found.command, "train --steps 10");
    assert_true(found.control.session_id == IMAGE_SESSION);
    session_folder_close(&found);
    session_folder_close(&folder);
    assert_int_equal(session_folder_open(&found, folder.path, &is_alive, &err), 0);
    assert_false(is_alive);
    session_folder_close(&found);
    assert_int_equal(session_folder_remove(folder.path, &err), 0);
    assert_int_equal(access(folder.path, F_OK), -1);
    assert_int_equal(session_folder_remove(folder.path, &err), 0); /* gone is as good as removed */
}

struct found {
    const char *wanted;
    unsigned count;
};

static void count_folder(void *context, const char *path)
{
    struct found *found = context;
    found->count += strcmp(path, found->wanted) == 0;
}

static void test_folders_are_listed_once(void **state)
{
    struct session_folder folder;
    (void)state;
    make_folder(&folder);
    setenv("XDG_RUNTIME_DIR", base, 1); /* the same folder under two names of candidates */
    struct found found = {folder.path, 0};
    session_folder_each(count_folder, &found);
    assert_int_equal(found.count, 1);
    unsetenv("XDG_RUNTIME_DIR");
    session_folder_close(&folder);
    session_folder_remove(folder.path, NULL);
    found.count = 0;
    session_folder_each(count_folder, &found);
    assert_int_equal(found.count, 0);
}

static void test_folder_asked_for_by_name_is_the_only_one(void **state)
{
    struct session_folder folder = {0};
    struct error err = {0};
    (void)state;
    setenv("OPSCOPE_DIR", "/nowhere/at/all", 1);
    assert_int_equal(session_folder_create(&folder, &err), -ENOENT);
    assert_non_null(strstr(err.message, "/nowhere/at/all"));
    setenv("OPSCOPE_DIR", base, 1);
    make_folder(&folder);
    struct found found = {folder.path, 0};
    setenv("XDG_RUNTIME_DIR", base, 1);
    setenv("OPSCOPE_DIR", "/nowhere/at/all", 1);
    session_folder_each(count_folder, &found); /* nor are others looked for */
    assert_int_equal(found.count, 0);
    unsetenv("OPSCOPE_DIR");
    session_folder_each(count_folder, &found);
    assert_int_equal(found.count, 1);
    setenv("OPSCOPE_DIR", base, 1);
    unsetenv("XDG_RUNTIME_DIR");
    session_folder_close(&folder);
    session_folder_remove(folder.path, NULL);
}

static void damage_control(const struct session_folder *folder, off_t offset, const void *data, size_t length,
                           off_t cut)
{
    char path[4000];
    snprintf(path, sizeof path, "%s/" SESSION_CONTROL_FILE, folder->path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(pwrite(fd, data, length, offset) == (ssize_t)length);
    assert_int_equal(cut ? ftruncate(fd, cut) : 0, 0);
    close(fd);
}

static void test_damaged_control_files(void **state)
{
    static const uint32_t large = UINT32_MAX, other = 77;
    const struct {
        off_t offset;
        const void *data;
        size_t length;
        off_t cut;
        const char *message;
    } cases[] = {
        {0, "nonsense", 8, 0, "damaged"},
        {offsetof(struct session_control, version), &other, 4, 0, "another version"},
        {offsetof(struct session_control, output_length), &large, 4, 0, "cut short"},
        {offsetof(struct session_control, command_length), &large, 4, 0, "cut short"},
        {0, "", 0, 10, "damaged"},
        {0, "", 0, (off_t)sizeof(struct session_control) + 3, "cut short"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct session_folder folder, found;
        struct error err = {0};
        bool is_alive;
        make_folder(&folder);
        damage_control(&folder, cases[i].offset, cases[i].data, cases[i].length, cases[i].cut);
        assert_int_equal(session_folder_open(&found, folder.path, &is_alive, &err), -EINVAL);
        assert_non_null(strstr(err.message, cases[i].message));
        assert_non_null(strstr(err.message, folder.path));
        session_folder_close(&folder);
        session_folder_remove(folder.path, NULL);
    }
}

static void test_what_is_no_session(void **state)
{
    struct session_folder found;
    struct error err = {0};
    bool is_alive;
    char *long_path = malloc(10000);
    (void)state;
    assert_non_null(long_path);
    memset(long_path, 'x', 9999);
    long_path[9999] = '\0';
    assert_int_equal(session_folder_open(&found, "/nowhere", &is_alive, &err), -ENOENT);
    assert_int_equal(session_folder_open(&found, base, &is_alive, &err), -EINVAL);
    assert_int_equal(session_folder_open(&found, long_path, &is_alive, &err), -ENAMETOOLONG);
    assert_int_not_equal(session_folder_open(&found, "/dev/null", &is_alive, &err), 0);
    free(long_path);
}

/* --- segments --- */

static struct image image;

static int map_image(void **state)
{
    (void)state;
    if (!image_map(&image, CHUNKS))
        return -1;
    return 0;
}

static int unmap_image(void **state)
{
    (void)state;
    return image_unmap(&image);
}

static struct session_segment *open_image(void)
{
    struct session_segment *s = NULL;
    struct error err = {0};
    assert_int_equal(session_segment_open_memory(&s, image.memory, image.layout.total, IMAGE_SESSION, &err),
                     0);
    return s;
}

static void refused(size_t length, const char *message)
{
    struct session_segment *s = NULL;
    struct error err = {0};
    assert_int_equal(session_segment_open_memory(&s, image.memory, length, IMAGE_SESSION, &err), -EINVAL);
    assert_non_null(strstr(err.message, message));
    assert_null(s);
}

static void test_headers_that_are_refused(void **state)
{
    (void)state;
    refused(100, "cut short");
    refused(image.layout.total - 1, "bytes");
    image.header->magic++;
    refused(image.layout.total, "not a segment");
    image.header->magic--;
    image.header->version = 99;
    refused(image.layout.total, "layout");
    image.header->version = SESSION_VERSION;
    image.header->session_id++;
    refused(image.layout.total, "another session");
    image.header->session_id--;
    for (int i = 0; i < 3; i++) {
        static const uint32_t counts[] = {0, SESSION_MAX_CHUNKS + 1, UINT32_MAX};
        image.header->chunk_count = counts[i];
        refused(image.layout.total, "chunks");
    }
    image.header->chunk_count = CHUNKS + 1;
    refused(image.layout.total, "bytes");
    image.header->chunk_count = CHUNKS;
    image.header->command_length = UINT32_MAX;
    struct session_segment *s = open_image();
    assert_int_equal(session_segment_header(s)->command_length, 0);
    session_segment_close(s);
    image.header->command_length = 0;
}

static void test_the_layout_is_fixed_when_it_is_opened(void **state)
{
    size_t count;
    (void)state;
    struct session_segment *s = open_image();
    image.header->chunk_count = UINT32_MAX; /* hostile, after the checks */
    image.header->chunks_committed = UINT32_MAX;
    image.header->process_count = UINT32_MAX;
    image.header->processes_committed = UINT32_MAX;
    image.header->ids_committed = UINT32_MAX;
    session_segment_scan(s, true, &count);
    assert_true(count <= CHUNKS);
    assert_int_equal(session_segment_process_count(s), SESSION_MAX_PROCESSES);
    assert_true(session_segment_free_chunks(s) <= CHUNKS);
    struct session_process p;
    assert_false(session_segment_process(s, SESSION_MAX_PROCESSES, &p));
    assert_false(session_segment_process(s, SESSION_MAX_PROCESSES - 1, &p)); /* its state is not 1 */
    assert_true(session_segment_process(s, 0, &p));
    assert_int_equal(p.pid, 100);
    session_segment_close(s);
}

/* A process that joins touches a page of everything: some 3 us each. */
static void test_little_is_touched_at_first(void **state)
{
    (void)state;
    for (uint32_t chunks = 1; chunks <= SESSION_MAX_CHUNKS; chunks *= 2) {
        struct segment_layout l = segment_layout(chunks);
        assert_true(l.free_map >= sizeof(struct segment_header) && l.free_map % 64 == 0);
        assert_true(l.taken >= l.free_map + (chunks + 7) / 8 && l.taken % 64 == 0);
        assert_true(l.levels[0] >= l.taken + chunks * sizeof(uint16_t));
        assert_true(l.levels[0] % SESSION_PAGE == 0 && l.processes % SESSION_PAGE == 0);
    }
    /* header, free map and taken; names; processes */
    assert_int_equal(segment_layout(SESSION_DEFAULT_BUFFER / CHUNK_BYTES).processes, 3 * SESSION_PAGE);
}

static void test_scan_sorts_and_clamps(void **state)
{
    size_t count;
    (void)state;
    image_chunk(&image, 5, 2, 0, CHUNK_SEALED)->slots = 10;
    image_chunk(&image, 1, 2, 1, CHUNK_OWNED)->slots = 4;
    image_chunk(&image, 66, 1, 7, CHUNK_SEALED)->slots = UINT32_MAX;
    image_chunk(&image, 0, 1, 6, CHUNK_SEALED);
    image_chunk(&image, 2, 9, 0, 77); /* no state at all */
    struct session_segment *s = open_image();
    const struct segment_chunk *list = session_segment_scan(s, false, &count);
    assert_int_equal(count, 3);
    assert_int_equal(list[0].chunk, 0);
    assert_int_equal(list[1].chunk, 66);
    assert_int_equal(list[1].d.slots, CHUNK_SLOTS);
    assert_int_equal(list[2].chunk, 5);
    list = session_segment_scan(s, true, &count);
    assert_int_equal(count, 4);
    assert_int_equal(list[3].chunk, 1);
    assert_false(list[3].is_sealed);
    assert_ptr_equal(list[3].slots, image_slots(&image, 1));
    assert_int_equal(list[3].d.slots, 0); /* whatever its descriptor says: nothing is written */
    /* what was taken stays taken, whatever the descriptor says, until the chunk has another owner */
    session_segment_consumed(s, &list[3], 4);
    image_descriptor(&image, 1)->slots = 2;
    list = session_segment_scan(s, true, &count);
    assert_int_equal(list[3].consumed, 4);
    image_descriptor(&image, 1)->sequence = 2;
    list = session_segment_scan(s, true, &count);
    assert_int_equal(list[3].consumed, 0);
    session_segment_close(s);
}

/* Of a chunk that is not sealed everything counts up to the first record whose head is not written yet. */
static void test_slots_of_an_open_chunk(void **state)
{
    size_t count;
    const struct slot text[3] = {{0, 0}, {1, 1}, {0, 0}};
    (void)state;
    image_chunk(&image, 1, 2, 0, CHUNK_OWNED);
    image_zone(&image, 1, 5, 6, 1);
    image_long_record(&image, 1, 7, RECORD_MESSAGE, 48, 0, text,
                      3); /* zeros in what follows a head say nothing */
    image_zone(&image, 1, 8, 9, 1);
    struct session_segment *s = open_image();
    struct slot *slots = image_slots(&image, 1);
    const uint64_t head = slots[6].time_kind;
    slots[6].time_kind =
        0; /* taken by a call that a handler has interrupted, which has recorded the next one */
    const struct segment_chunk *list = session_segment_scan(s, true, &count);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].d.slots, 6);
    session_segment_consumed(s, &list[0], 6);
    slots[6].time_kind = head;
    list = session_segment_scan(s, true, &count);
    assert_int_equal(list[0].d.slots, 8);
    assert_int_equal(list[0].consumed, 6);
    for (uint32_t i = 8; i < CHUNK_SLOTS; i++)
        slots[i] = slots[0];
    slots[CHUNK_SLOTS - 1] =
        (struct slot){slot_time_kind(9, RECORD_MESSAGE), UINT64_MAX}; /* longer than the chunk */
    list = session_segment_scan(s, true, &count);
    assert_int_equal(list[0].d.slots, CHUNK_SLOTS);
    session_segment_close(s);
}

static void test_release(void **state)
{
    size_t count;
    const uint64_t *map = (const uint64_t *)(void *)(image.memory + image.layout.free_map);
    (void)state;
    image_chunk(&image, 65, 1, 0, CHUNK_SEALED);
    image_zone(&image, 65, 5, 6, 1);
    struct session_segment *s = open_image();
    assert_int_equal(session_segment_free_chunks(s), 0);
    const struct segment_chunk *list = session_segment_scan(s, false, &count);
    const struct slot *slots = list[0].slots;
    assert_int_equal(slots[0].time_kind & 0xff, RECORD_ZONE_BEGIN);
    session_segment_release(s, &list[0]);
    assert_true(!slots[0].time_kind && !slots[0].word &&
                !slots[1].time_kind); /* nothing for the next owner */
    assert_int_equal(image_descriptor(&image, 65)->state, CHUNK_FREE);
    assert_true(map[0] == 0 && map[1] == 2);
    assert_int_equal(session_segment_free_chunks(s), 1);
    image.header->chunks_committed = 60; /* the rest has no memory yet: free as well */
    assert_int_equal(session_segment_free_chunks(s), CHUNKS - 60);
    session_segment_close(s);
}

/* Its owner died in the middle of a record, whose head is written last: what it had written of it is after the slots
 * that can be read. */
static void test_release_of_half_a_record(void **state)
{
    size_t count;
    (void)state;
    image_chunk(&image, 65, 1, 0, CHUNK_OWNED);
    image_zone(&image, 65, 5, 6, 1);
    struct slot *slots = image_slots(&image, 65);
    slots[2].word = 0xff000000u;
    slots[3] = (struct slot){slot_time_kind(7, RECORD_ZONE_END), 7};
    slots[CHUNK_SLOTS - 1] = slots[3];
    struct session_segment *s = open_image();
    const struct segment_chunk *list = session_segment_scan(s, true, &count);
    assert_int_equal(list[0].d.slots, 2);
    session_segment_release(s, &list[0]);
    for (uint32_t i = 0; i < CHUNK_SLOTS; i++)
        assert_true(!slots[i].time_kind && !slots[i].word); /* else the next owner would have recorded it */
    session_segment_close(s);
}

static sigjmp_buf interrupted;

static void interrupt(int number)
{
    (void)number;
    siglongjmp(interrupted, 1);
}

/* Where the memory of the chunk cannot be written, the clearing ends in its middle. */
static void test_a_release_that_is_cut_short(void **state)
{
    size_t count;
    const uint64_t *map = (const uint64_t *)(void *)(image.memory + image.layout.free_map);
    struct sigaction action = {.sa_handler = interrupt}, before;
    (void)state;
    image_chunk(&image, 65, 1, 0, CHUNK_SEALED);
    image_zone(&image, 65, 5, 6, 1);
    struct session_segment *s = open_image();
    const struct segment_chunk *list = session_segment_scan(s, false, &count);
    void *page = image.memory + image.layout.chunks + 65 * CHUNK_BYTES;
    assert_int_equal(mprotect(page, CHUNK_BYTES, PROT_READ), 0);
    sigaction(SIGSEGV, &action, &before);
    bool is_cut_short = sigsetjmp(interrupted, 1) != 0;
    if (!is_cut_short)
        session_segment_release(s, &list[0]);
    sigaction(SIGSEGV, &before, NULL);
    assert_int_equal(mprotect(page, CHUNK_BYTES, PROT_READ | PROT_WRITE), 0);
    assert_true(is_cut_short);
    assert_int_equal(image_descriptor(&image, 65)->state,
                     CHUNK_FREE); /* no reader takes half of its records */
    assert_true(map[1] == 0);     /* nor does a thread get it */
    session_segment_close(s);
}

static void test_heart_and_state(void **state)
{
    uint64_t zones, records;
    (void)state;
    struct session_segment *s = open_image();
    session_segment_beat(s, 12345);
    assert_true(image.header->heartbeat_ns == 12345);
    session_segment_set_closed(s);
    assert_int_equal(image.header->state, SEGMENT_CLOSED);
    image.header->growth_failures = 3;
    image.header->lost_zones = 5;
    image.header->lost_records = 6;
    assert_int_equal(session_segment_growth_failures(s), 3);
    session_segment_unplaced_losses(s, &zones, &records);
    assert_true(zones == 5 && records == 6);
    assert_false(session_segment_is_dead(s));
    session_segment_close(s);
}

static void test_definitions(void **state)
{
    struct segment_name name;
    struct bytes text = {0};
    uint32_t *ids = (uint32_t *)(void *)(image.memory + image.layout.name_ids);
    (void)state;
    uint32_t id = image_name(&image, "a name");
    struct name_entry site = {
        .length = 14, .kind = NAME_SITE, .aux = 7, .value = 0x123456, .owner = 8, .parent = 9};
    uint32_t site_id = image_define(&image, &site, "zone\0function");
    struct session_segment *s = open_image();
    assert_true(session_segment_definition(s, id, &name, &text));
    assert_int_equal(name.kind, NAME_TEXT);
    assert_int_equal(text.length, 6);
    assert_memory_equal(text.data, "a name", 6);
    bytes_clear(&text);
    assert_true(session_segment_definition(s, site_id, &name, &text));
    assert_true(name.aux == 7 && name.value == 0x123456 && name.owner == 8 && name.parent == 9);
    assert_int_equal(text.length, 14);
    /* ids that are none, entries that reach out of their area, lengths that are too large */
    image.header->ids_committed = UINT32_MAX;
    assert_false(session_segment_definition(s, 0, &name, &text));
    assert_false(session_segment_definition(s, 500, &name, &text));
    assert_false(session_segment_definition(s, SESSION_MAX_NAMES + 1, &name, &text));
    assert_false(session_segment_definition(s, UINT32_MAX, &name, &text));
    ids[3] = UINT32_MAX;
    assert_false(session_segment_definition(s, 3, &name, &text));
    ids[3] = (uint32_t)(SESSION_NAMES_BYTES / 8); /* the last eight bytes: no room for an entry */
    assert_false(session_segment_definition(s, 3, &name, &text));
    struct name_entry *entry = (struct name_entry *)(void *)(image.memory + image.layout.names);
    entry->length = UINT32_MAX;
    assert_false(session_segment_definition(s, id, &name, &text));
    entry->length = (uint32_t)SESSION_MAX_NAME_BYTES + 3;
    assert_false(session_segment_definition(s, id, &name, &text));
    image.header->ids_committed = site_id;
    assert_false(session_segment_definition(s, site_id, &name, &text)); /* not committed yet */
    bytes_free(&text);
    session_segment_close(s);
}

/* A file in a folder, with the image's header. */
static int write_segment(const char *path, off_t size)
{
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_true(pwrite(fd, image.memory, SESSION_PAGE, 0) == (ssize_t)SESSION_PAGE);
    assert_int_equal(ftruncate(fd, size), 0);
    return fd;
}

static void test_files(void **state)
{
    struct session_segment *s = NULL;
    struct error err = {0};
    char path[256];
    int folder = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)state;
    snprintf(path, sizeof path, "%s/x.seg", base);
    int fd = write_segment(path, (off_t)image.layout.total);
    assert_int_equal(session_segment_open(&s, folder, "x.seg", IMAGE_SESSION, &err), 0);
    assert_string_equal(session_segment_name(s), "x.seg");
    /* truncated while it is mapped: a dead segment that reads as zeros, not a SIGBUS */
    assert_int_equal(ftruncate(fd, 0), 0);
    size_t count = 1;
    session_segment_scan(s, true, &count);
    assert_int_equal(count, 0);
    assert_true(session_segment_is_dead(s));
    session_segment_beat(s, 1);
    session_segment_set_closed(s);
    session_segment_close(s);
    assert_int_equal(session_segment_open(&s, folder, "x.seg", IMAGE_SESSION, &err), -EINVAL);
    close(fd);
    close(write_segment(path, (off_t)image.layout.total - 1));
    assert_int_equal(session_segment_open(&s, folder, "x.seg", IMAGE_SESSION, &err), -EINVAL);
    assert_int_equal(session_segment_open(&s, folder, "missing.seg", IMAGE_SESSION, &err), -ENOENT);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* does not wait for somebody at the other end */
    assert_int_not_equal(session_segment_open(&s, folder, "x.seg", IMAGE_SESSION, &err), 0);
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_not_equal(session_segment_open(&s, folder, "x.seg", IMAGE_SESSION, &err), 0);
    unlink(path);
    close(folder);
}

int main(void)
{
#define WITH_IMAGE(name) cmocka_unit_test_setup_teardown(name, map_image, unmap_image)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder_is_made_and_found_again),
        cmocka_unit_test(test_folders_are_listed_once),
        cmocka_unit_test(test_folder_asked_for_by_name_is_the_only_one),
        cmocka_unit_test(test_damaged_control_files),
        cmocka_unit_test(test_what_is_no_session),
        WITH_IMAGE(test_headers_that_are_refused),
        WITH_IMAGE(test_the_layout_is_fixed_when_it_is_opened),
        cmocka_unit_test(test_little_is_touched_at_first),
        WITH_IMAGE(test_scan_sorts_and_clamps),
        WITH_IMAGE(test_slots_of_an_open_chunk),
        WITH_IMAGE(test_release),
        WITH_IMAGE(test_release_of_half_a_record),
        WITH_IMAGE(test_a_release_that_is_cut_short),
        WITH_IMAGE(test_heart_and_state),
        WITH_IMAGE(test_definitions),
        WITH_IMAGE(test_files),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
