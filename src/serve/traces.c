/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/traces.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/clockquality.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/open_regular.h"
#include "load/side.h"
#include "serve/sessions.h"
#include "trace/format.h"

#define CHECK_NS UINT64_C(20000000) /* a file is looked at that often at most */
#define OPENING_SHARE 4u            /* a growing one is opened again for a quarter of the time at most */
#define ENDING ".opscope"
#define PARTIAL ".partial"

const char *trace_state_text(enum trace_state state)
{
    static const char *const texts[] = {"complete", "growing", "damaged", "replaced", "deleted"};
    return texts[state];
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

/* --- entries --- */

static struct traces_entry *add_entry(struct traces *traces, const char *path)
{
    struct traces_entry *entry = calloc(1, sizeof *entry);
    if (!entry || traces->count >= TRACES_MAX ||
        !array_reserve(&traces->entries, &traces->capacity, traces->count + 1, sizeof *traces->entries) ||
        !(entry->path = strdup(path))) {
        free(entry);
        return NULL;
    }
    if (stat(path, &entry->seen) != 0)
        memset(&entry->seen, 0, sizeof entry->seen);
    traces->entries[traces->count++] = entry;
    return entry;
}

static void close_entry(struct traces_entry *entry)
{
    for (unsigned kind = 0; kind < ANSWERERS; kind++) {
        if (entry->own[kind])
            serve_trace_close(entry->own[kind]);
        free(entry->own[kind]);
    }
    if (entry->trace.trace)
        serve_trace_close(&entry->trace);
    free(entry->path);
    free(entry->error);
    free(entry->command);
    free(entry);
}

void traces_free(struct traces *traces)
{
    for (size_t i = 0; i < traces->count; i++)
        close_entry(traces->entries[i]);
    free(traces->entries);
    *traces = (struct traces){0};
}

static void take_root(struct traces_entry *entry, const struct trace *trace)
{
    for (uint32_t i = 0; i < trace_process_count(trace); i++) {
        const struct trace_process *process = trace_get_process(trace, i);
        if (process->flags & TRACE_PROCESS_ROOT)
            entry->pid = process->pid;
    }
}

static void take_info(struct traces_entry *entry, struct trace *trace)
{
    struct side_kind kind = side_kind_of_trace(trace);
    const struct trace_info *info = trace_get_info(trace);
    take_root(entry, trace);
    free(entry->command);
    entry->command = strdup(info->command);
    entry->start_unix_ns = info->end_ns ? clock_quality_realtime(trace, info->start_ns) : 0;
    entry->zones = info->zones;
    entry->lost_zones = info->lost_zones;
    entry->duration_ns = info->end_ns - info->start_ns;
    entry->state = info->damaged_blocks || info->is_salvaged ? TRACE_DAMAGED
                   : info->is_complete                       ? TRACE_COMPLETE
                                                             : TRACE_GROWING;
    entry->has_estimate = kind.is_estimate;
    entry->has_run = kind.is_run;
    entry->is_listed = true;
}

static void note_error(struct traces_entry *entry, const struct error *err)
{
    free(entry->error);
    entry->error = strdup(err->message);
    entry->state = TRACE_DAMAGED;
    entry->is_listed = true;
}

/* In place of what was open. */
static void take_trace(const struct traces *traces, struct traces_entry *entry,
                       const struct serve_trace *opened)
{
    if (traces->is_live && !trace_get_info(opened->trace)->is_complete)
        trace_follow(opened->trace, true); /* before the one that was open lets go */
    if (entry->trace.trace) {
        serve_trace_close(&entry->trace);
        entry->generation++;
    }
    entry->trace = *opened;
    entry->trace.generation = entry->generation;
    entry->trace.source_folders = traces->source_folders;
    for (size_t i = 0; i < traces->count; i++) {
        if (traces->entries[i] == entry)
            entry->trace.id = (uint32_t)i;
    }
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* FILE.partial becomes FILE when it is complete. */
static bool follow_rename(struct traces_entry *entry, struct stat *now)
{
    char *path =
        ends_with(entry->path, PARTIAL) ? strndup(entry->path, strlen(entry->path) - strlen(PARTIAL)) : NULL;
    if (!path || stat(path, now) != 0 || !is_same_file(now, &entry->seen)) {
        free(path);
        return false;
    }
    free(entry->path);
    entry->path = path;
    return true;
}

/* Its writer may have ended between two calls of ours: the file is no longer where it was a moment ago. */
static bool has_moved(struct traces_entry *entry)
{
    struct stat now;
    return stat(entry->path, &now) != 0 && follow_rename(entry, &now);
}

/* Opens the file, or opens it again; what was open stays when that fails. */
static int open_entry(const struct traces *traces, struct traces_entry *entry, struct error *err)
{
    struct serve_trace opened;
    struct stat seen;
    bool is_file = strcmp(entry->path, "-") != 0 && stat(entry->path, &seen) == 0;
    uint64_t began_ns = clock_ns(CLOCK_MONOTONIC);
    int status = serve_trace_open(&opened, entry->path, err);
    if (status && has_moved(entry))
        return open_entry(traces, entry, err); /* by its last name: it moves once */
    if (status)
        return status;
    entry->opening_ns = clock_ns(CLOCK_MONOTONIC) - began_ns;
    take_trace(traces, entry, &opened);
    if (is_file)
        entry->seen = seen;
    free(entry->error);
    entry->error = NULL;
    take_info(entry, entry->trace.trace);
    return 0;
}

bool traces_salvage(struct traces *traces, uint64_t id)
{
    struct traces_entry *entry = traces->entries[id];
    struct serve_trace opened;
    enum trace_state state = entry->state;
    if (trace_get_info(entry->trace.trace)->is_salvaged)
        return true;
    if (serve_trace_open_again(&opened, &entry->trace, true, NULL) != 0)
        return false;
    if (!trace_get_info(opened.trace)->damaged_blocks || serve_trace_prepare(&opened, NULL) != 0) {
        serve_trace_close(&opened);
        return false;
    }
    opened.stdin_data = entry->trace.stdin_data;
    entry->trace.stdin_data = (struct bytes){0};
    take_trace(traces, entry, &opened);
    take_info(entry, entry->trace.trace);
    if (state == TRACE_REPLACED || state == TRACE_DELETED)
        entry->state = state;
    return true;
}

/* --- what became of a file --- */

static bool is_same_content(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool has_path(const struct traces *traces, const char *path, const struct stat *file)
{
    for (size_t i = 0; i < traces->count; i++) {
        const struct traces_entry *entry = traces->entries[i];
        if (is_same_file(&entry->seen, file) ||
            (entry->state != TRACE_REPLACED && strcmp(entry->path, path) == 0))
            return true;
    }
    return false;
}

static void look_at(struct traces *traces, struct traces_entry *entry)
{
    struct stat now;
    struct error err = {0};
    if (strcmp(entry->path, "-") == 0 || entry->state == TRACE_REPLACED)
        return;
    if (stat(entry->path, &now) != 0 && !follow_rename(entry, &now)) {
        entry->state = TRACE_DELETED;
        return;
    }
    if (entry->seen.st_ino && !is_same_file(&now, &entry->seen)) {
        entry->state = TRACE_REPLACED; /* what is open stays; the new file is a trace of its own */
        add_entry(traces, entry->path);
        return;
    }
    if (S_ISDIR(now.st_mode) || (entry->trace.trace && is_same_content(&now, &entry->seen)))
        return;
    if (entry->trace.trace && open_entry(traces, entry, &err) != 0)
        note_error(entry, &err);
    else if (!entry->trace.trace && !is_same_content(&now, &entry->seen))
        entry->is_listed = false;
    entry->seen = now;
}

void traces_check(struct traces *traces, struct traces_entry *entry)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t pause = OPENING_SHARE * entry->opening_ns;
    if (now - entry->checked_ns < (pause > CHECK_NS ? pause : CHECK_NS) && entry->checked_ns)
        return;
    look_at(traces, entry);
    entry->checked_ns = clock_ns(CLOCK_MONOTONIC);
}

/* --- the working folder --- */

struct found_file {
    char *path;
    struct stat seen;
};

static int compare_found(const void *left, const void *right)
{
    const struct found_file *a = left, *b = right;
    if (a->seen.st_mtim.tv_sec != b->seen.st_mtim.tv_sec)
        return a->seen.st_mtim.tv_sec > b->seen.st_mtim.tv_sec ? -1 : 1;
    if (a->seen.st_mtim.tv_nsec != b->seen.st_mtim.tv_nsec)
        return a->seen.st_mtim.tv_nsec > b->seen.st_mtim.tv_nsec ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void add_folder(struct traces *traces)
{
    struct found_file *found = NULL;
    size_t count = 0, capacity = 0;
    DIR *folder = opendir(".");
    struct dirent *item;
    while (folder && (item = readdir(folder))) {
        struct found_file file;
        if (!ends_with(item->d_name, ENDING) && !ends_with(item->d_name, ENDING PARTIAL))
            continue;
        if (stat(item->d_name, &file.seen) != 0 || !S_ISREG(file.seen.st_mode) ||
            has_path(traces, item->d_name, &file.seen) ||
            !array_reserve(&found, &capacity, count + 1, sizeof *found) ||
            !(file.path = strdup(item->d_name)))
            continue;
        found[count++] = file;
    }
    if (folder)
        closedir(folder);
    if (count)
        qsort(found, count, sizeof *found, compare_found);
    for (size_t i = 0; i < count; i++) {
        add_entry(traces, found[i].path);
        free(found[i].path);
    }
    free(found);
}

/* --- recordings that run now, in whatever folder --- */

static void add_session(void *context, const char *path)
{
    struct traces *traces = context;
    struct stat file;
    if (stat(path, &file) == 0 && S_ISREG(file.st_mode) && !has_path(traces, path, &file))
        add_entry(traces, path);
}

static void add_found(struct traces *traces)
{
    sessions_each(add_session, traces);
    add_folder(traces);
}

int traces_open(struct traces *traces, const char *const *paths, size_t count, struct error *err)
{
    traces->is_folder = count == 0;
    for (size_t i = 0; i < count; i++) {
        struct traces_entry *entry = add_entry(traces, paths[i]);
        if (!entry)
            return error_set(err, ENOMEM, "%s: more than %u traces", paths[i], TRACES_MAX);
        int status = open_entry(traces, entry, err);
        if (status)
            return status;
    }
    if (traces->is_folder)
        add_found(traces);
    return 0;
}

void traces_refresh(struct traces *traces)
{
    size_t count = traces->count;
    for (size_t i = 0; i < count; i++)
        traces_check(traces, traces->entries[i]);
    if (traces->is_folder)
        add_found(traces);
}

struct serve_trace *traces_get(struct traces *traces, uint64_t id, struct error *err)
{
    if (id >= traces->count) {
        error_set(err, ENOENT, "there is no trace %" PRIu64, id);
        return NULL;
    }
    struct traces_entry *entry = traces->entries[id];
    traces_check(traces, entry);
    if (!entry->trace.trace && open_entry(traces, entry, err) != 0) {
        note_error(entry, err);
        return NULL;
    }
    return &entry->trace;
}

struct serve_trace *traces_for_answerer(struct traces *traces, uint64_t id, enum answerer_kind kind,
                                        struct answerer *answerer, struct error *err)
{
    struct traces_entry *entry = traces->entries[id]; /* which traces_get has found */
    struct serve_trace **own = &entry->own[kind];
    if (*own && (*own)->generation == entry->trace.generation)
        return *own;
    struct serve_trace *opened = calloc(1, sizeof *opened);
    struct job *closing = *own ? calloc(1, sizeof *closing) : NULL;
    int status = !opened || (*own && !closing) ? error_no_memory(err, entry->path)
                                               : serve_trace_open_again(opened, &entry->trace, false, err);
    if (status == -EINVAL && traces_salvage(traces, id))
        status = serve_trace_open_again(opened, &entry->trace, false, err);
    if (!status) {
        if (closing) {
            *closing = (struct job){.trace = *own, .closes_trace = true};
            answerer_give(answerer, closing);
        }
        *own = opened;
        return opened;
    }
    free(opened);
    free(closing);
    return NULL;
}

/* --- the list --- */

/* What a link calls the trace by. A recording keeps the id of its first segment's header while it grows and when it is
 * renamed; of what is imported, the beginning of the file. Of a folder and of standard input nothing. */
static void find_key(struct traces_entry *entry)
{
    uint8_t head[4096];
    if (entry->key[0])
        return;
    snprintf(entry->key, sizeof entry->key, "-");
    int fd = strcmp(entry->path, "-") == 0 ? -1 : open_regular(entry->path, NULL);
    ssize_t length = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return;
    bool is_trace = (size_t)length >= SEGMENT_HEADER_BYTES && memcmp(head, SEGMENT_MAGIC, MAGIC_BYTES) == 0;
    uint64_t hash = is_trace ? hash_bytes(head + 16, SOURCE_BYTES, 1) : hash_bytes(head, (size_t)length, 1);
    snprintf(entry->key, sizeof entry->key, "%08" PRIx32, (uint32_t)(hash >> 32));
}

/* How long a trace is that nobody looks at yet: opened for a moment. */
static void peek(struct traces_entry *entry)
{
    struct trace *trace = NULL;
    struct error err = {0};
    if (trace_open(&trace, entry->path, 0, &err) != 0 &&
        !(has_moved(entry) && trace_open(&trace, entry->path, 0, &err) == 0)) {
        note_error(entry, &err);
        return;
    }
    free(entry->error);
    entry->error = NULL;
    take_info(entry, trace);
    trace_close(trace);
}

void traces_describe(struct traces *traces)
{
    for (size_t i = 0; i < traces->count; i++) {
        if (traces->entries[i]->trace.trace)
            traces_check(traces, traces->entries[i]);
        if (!traces->entries[i]->is_listed)
            peek(traces->entries[i]);
    }
}

void traces_set_live(struct traces *traces, bool is_live)
{
    if (traces->is_live == is_live)
        return;
    traces->is_live = is_live;
    for (size_t i = 0; i < traces->count; i++) {
        struct trace *trace = traces->entries[i]->trace.trace;
        if (trace && !trace_get_info(trace)->is_complete)
            trace_follow(trace, is_live);
    }
}

int traces_answer(struct traces *traces, struct bytes *out, struct error *err)
{
    traces_refresh(traces);
    struct json j = query_json(out);
    json_object(&j, JSON_LINES);
    json_member_text(&j, "version", OPSCOPE_VERSION);
    json_member_bool(&j, "waits", traces->is_folder);
    json_key(&j, "traces");
    json_array(&j, JSON_LINES);
    for (size_t i = 0; i < traces->count; i++) {
        struct traces_entry *entry = traces->entries[i];
        const char *slash = strrchr(entry->path, '/');
        if (!entry->is_listed)
            peek(entry);
        json_object(&j, JSON_INLINE);
        json_member_unsigned(&j, "id", i);
        json_member_text(&j, "name", entry->trace.name ? entry->trace.name : slash ? slash + 1 : entry->path);
        json_member_text(&j, "path", entry->path);
        find_key(entry);
        json_member_text(&j, "key", entry->key[0] == '-' ? NULL : entry->key);
        json_member_text(&j, "command", entry->command);
        json_member_unsigned(&j, "size_bytes", (uint64_t)entry->seen.st_size);
        json_member_unsigned(&j, "modified_unix_ns",
                             (uint64_t)entry->seen.st_mtim.tv_sec * UINT64_C(1000000000) +
                                 (uint64_t)entry->seen.st_mtim.tv_nsec);
        json_member_text(&j, "state", trace_state_text(entry->state));
        json_member_unsigned(&j, "zones", entry->zones);
        json_member_unsigned(&j, "duration_ns", entry->duration_ns);
        json_member_unsigned(&j, "generation", entry->generation);
        json_member_bool(&j, "estimated", entry->has_estimate);
        json_member_bool(&j, "measured", entry->has_run);
        json_member_unsigned(&j, "start_unix_ns", entry->start_unix_ns);
        json_key(&j, "pid");
        if (entry->pid)
            json_integer(&j, entry->pid);
        else
            json_null(&j);
        json_member_text(&j, "error", entry->error);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    return query_json_end(&j, out, err);
}
