/* SPDX-License-Identifier: Apache-2.0 */
#include "import/reported.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/make_folder.h"
#include "base/output_path.h"
#include "base/slice.h"
#include "import/tenstorrent/cells.h"
#include "import/tenstorrent/host.h"
#include "import/tenstorrent/messages.h"
#include "import/tenstorrent/tenstorrent.h"
#include "import/tenstorrent/reported/growing.h"
#include "import/tenstorrent/trace.h"

#define DEEPEST 64u /* of zones of ops and their functions */

/* Functions whose time under an op is a column of the table. */
static const char *const functions[] = {"CompileProgram", "HWCommandQueue_write_buffer"};

struct item { /* a message, or a zone */
    uint64_t start_ns, end_ns;
    size_t text; /* in `texts` */
    uint32_t length, track, name;
    uint32_t order;
};

struct items {
    struct item *items;
    size_t count, capacity;
};

struct program {
    uint32_t process;
    uint64_t origin_ns;
    struct items messages, zones;
    size_t ops; /* messages of ops */
};

struct ops_reported {
    struct bytes folder, texts;
    struct intern names;
    struct program *programs;
    size_t program_count, program_capacity;
    struct map program_of;
    struct stat before[2]; /* of the devices' files: the report, the log; st_ino 0: not there */
    bool takes_any;
    bool adds_places; /* also where no compiler reported any */
    bool failed;
};

/* --- the devices' files --- */

static struct tt_files device_files(const struct ops_reported *reported)
{
    struct tt_files files = {0};
    if (tt_files_find(&files, bytes_text(&reported->folder), NULL) == 0) {
        bytes_clear(&files.messages);
        bytes_clear(&files.times);
    }
    return files;
}

static bool find_state(const struct bytes *path, struct stat *state)
{
    *state = (struct stat){0};
    return path->length && stat((const char *)path->data, state) == 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           memcmp(&a->st_mtim, &b->st_mtim, sizeof a->st_mtim) == 0 &&
           memcmp(&a->st_ctim, &b->st_ctim, sizeof a->st_ctim) == 0;
}

/* Where the runtime puts them. */
static void find_folder(struct bytes *folder)
{
    const char *chosen = getenv("TT_METAL_PROFILER_DIR"), *home = getenv("TT_METAL_HOME");
    if (chosen && *chosen)
        bytes_append_text(folder, chosen);
    else
        bytes_append_format(folder, "%s/generated/profiler", home && *home ? home : ".");
}

struct ops_reported *tt_reported_new(void)
{
    return calloc(1, sizeof(struct ops_reported));
}

struct ops_reported *ops_reported_new(const char *folder)
{
    struct ops_reported *reported = tt_reported_new();
    if (!reported)
        return NULL;
    if (folder)
        bytes_append_text(&reported->folder, folder);
    else
        find_folder(&reported->folder);
    reported->takes_any = folder != NULL;
    struct tt_files files = device_files(reported);
    find_state(&files.report, &reported->before[0]);
    find_state(&files.log, &reported->before[1]);
    tt_files_free(&files);
    return reported;
}

/* Those that were written since. */
static struct tt_files new_files(const struct ops_reported *reported)
{
    struct tt_files files = device_files(reported);
    struct bytes *const paths[] = {&files.report, &files.log};
    struct stat now;
    for (size_t i = 0; i < COUNT_OF(paths) && !reported->takes_any; i++) {
        if (!find_state(paths[i], &now) || is_same(&now, &reported->before[i]))
            bytes_clear(paths[i]);
    }
    return files;
}

const char *ops_reported_folder(const struct ops_reported *reported)
{
    return bytes_text(&reported->folder);
}

/* --- listening --- */

static bool wants_zone(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (strcmp(name, functions[i]) == 0)
            return true;
    }
    return strstr(name, "TT_") != NULL;
}

/* What the file of messages would have. */
static bool wants_message(struct slice text)
{
    struct slice inner = slice_begins(text, "`") ? slice_from(text.data + 1, text.length - 1) : text;
    return slice_begins(inner, "TT_") || slice_begins(inner, "MLIR_");
}

bool tt_reported_is_op(struct slice text)
{
    return wants_message(text) &&
           slice_has(slice_from(text.data, text.length < 32 ? text.length : 32), "TT_DNN_");
}

static struct program *find_program(struct ops_reported *reported, const struct trace_reported *said)
{
    uint32_t index = map_get(&reported->program_of, said->process);
    if (index != MAP_NONE)
        return &reported->programs[index];
    if (!array_reserve(&reported->programs, &reported->program_capacity, reported->program_count + 1,
                       sizeof reported->programs[0]) ||
        !map_put(&reported->program_of, said->process, (uint32_t)reported->program_count))
        return NULL;
    reported->programs[reported->program_count] =
        (struct program){.process = said->process, .origin_ns = said->origin_ns};
    return &reported->programs[reported->program_count++];
}

static void tell(void *context, const struct trace_reported *said)
{
    struct ops_reported *reported = context;
    struct slice text = slice_from(said->text, said->length);
    if (!said->name && !wants_message(text))
        return;
    struct program *program = find_program(reported, said);
    struct items *list = !program ? NULL : said->name ? &program->zones : &program->messages;
    if (!list || said->length > UINT32_MAX || list->count >= UINT32_MAX ||
        !array_reserve(&list->items, &list->capacity, list->count + 1, sizeof list->items[0])) {
        reported->failed = true;
        return;
    }
    list->items[list->count] =
        (struct item){.start_ns = said->start_ns,
                      .end_ns = said->end_ns,
                      .text = reported->texts.length,
                      .length = (uint32_t)said->length,
                      .track = said->track,
                      .name = said->name ? intern_add(&reported->names, said->name, strlen(said->name)) : 0,
                      .order = (uint32_t)list->count};
    list->count++;
    if (text.length)
        bytes_append(&reported->texts, text.data, text.length);
    program->ops += !said->name && tt_reported_is_op(text);
}

void ops_reported_listener(struct ops_reported *reported, struct trace_listener *listener)
{
    *listener = (struct trace_listener){.wants_zone = wants_zone, .tell = tell, .context = reported};
}

static struct slice text_of(const struct ops_reported *reported, const struct item *item)
{
    return slice_from((const char *)reported->texts.data + item->text, item->length);
}

/* --- the model --- */

static int compare_messages(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Of one thread after the other; what lies in another zone comes after it. Zones are reported when they end, so that of
 * two with the same times the inner one comes first. */
static int compare_zones(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (a->order < b->order) - (a->order > b->order);
}

static void sort(struct items *list, int (*compare)(const void *, const void *))
{
    if (list->count)
        qsort(list->items, list->count, sizeof list->items[0], compare);
}

static void read_messages(const struct ops_reported *reported, const struct program *program,
                          struct tt_model *model)
{
    struct tt_messages *messages = tt_messages_new(model);
    for (size_t i = 0; i < program->messages.count && !model->failed; i++) {
        const struct item *message = &program->messages.items[i];
        tt_messages_take(messages, text_of(reported, message), message->start_ns, message->track);
    }
    tt_messages_free(messages);
}

typedef void (*zone_fn)(void *context, const struct tt_host_zone *zone);

/* An op's zone tells its id by its text, also for itself: the vendor's table has a column for that as well. */
static void each_zone(const struct ops_reported *reported, const struct program *program, zone_fn take,
                      void *context)
{
    const struct item *stack[DEEPEST];
    size_t depth = 0;
    for (size_t i = 0; i < program->zones.count; i++) {
        const struct item *item = &program->zones.items[i];
        struct tt_host_zone zone = {.name = slice_of(intern_text(&reported->names, item->name)),
                                    .text = text_of(reported, item),
                                    .parent = slice_of(""),
                                    .start_ns = item->start_ns,
                                    .duration_ns = item->end_ns - item->start_ns,
                                    .thread = item->track};
        while (depth &&
               (stack[depth - 1]->track != item->track || stack[depth - 1]->end_ns <= item->start_ns))
            depth--;
        if (slice_has(zone.name, "TT_") && depth < DEEPEST)
            stack[depth++] = item;
        if (depth)
            zone.parent = text_of(reported, stack[depth - 1]);
        take(context, &zone);
    }
}

static void add_zone(void *context, const struct tt_host_zone *zone)
{
    struct tt_model *model = context;
    if (!model->failed)
        tt_host_zone_add(model, zone, 0);
}

static void fill_model(const struct ops_reported *reported, struct program *program, struct tt_model *model)
{
    model->has_origin = true;
    model->origin_ns = program->origin_ns;
    sort(&program->messages, compare_messages);
    sort(&program->zones, compare_zones);
    read_messages(reported, program, model);
    each_zone(reported, program, add_zone, model);
    model->has_locations |= reported->adds_places;
}

/* --- the trace --- */

struct writing {
    const struct ops_reported *reported;
    struct trace_writer *writer;
    uint32_t import_track;
    struct import_counts *counts;
};

/* Those that the program sent itself. */
static bool has_cores(const struct trace_writer *writer, uint32_t process)
{
    const struct trace_track *track;
    for (uint32_t i = 0; (track = trace_writer_get_track(writer, i)); i++) {
        if (track->kind == TRACE_TRACK_CORE && track->process == process)
            return true;
    }
    return false;
}

static void know_tracks(struct tt_trace_writer *w, const struct items *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!map_put(&w->track_of_thread, list->items[i].track, list->items[i].track))
            w->failed = true;
    }
}

static int write_program(struct writing *to, struct program *program, struct tt_files *files,
                         struct error *err)
{
    struct tt_model model;
    struct ops ops;
    struct tt_trace_writer w = {.model = &model,
                                .writer = to->writer,
                                .process = program->process,
                                .import_track = to->import_track,
                                .counts = to->counts};
    tt_model_init(&model);
    ops_init(&ops);
    ops_writing_begin(&w.ops, to->writer, program->process, to->import_track);
    w.ops.remark_ns = program->origin_ns;
    fill_model(to->reported, program, &model);
    know_tracks(&w, &program->messages);
    know_tracks(&w, &program->zones);
    int result = tt_model_check(&model, err);
    if (result == 0)
        result = tt_load_devices(&model, files, &(struct import_options){0}, false, err);
    if (has_cores(to->writer, program->process))
        bytes_clear(&files->log); /* what its zones would say is there already */
    if (result == 0)
        result = tt_trace_write_model(&w, &ops, files, err);
    result = tt_trace_end_rows(&w, &ops, result, err);
    tt_model_free(&model);
    ops_free(&ops);
    return result;
}

/* The devices' files are those of one program: that of the most ops. */
static const struct program *find_owner(const struct ops_reported *reported)
{
    const struct program *owner = NULL;
    for (size_t i = 0; i < reported->program_count; i++) {
        if (reported->programs[i].ops && (!owner || reported->programs[i].ops > owner->ops))
            owner = &reported->programs[i];
    }
    return owner;
}

/* Of a program that reported no op: on the track that the first of them came from. */
static int write_signposts(struct writing *to, struct program *program, struct error *err)
{
    struct tt_model model;
    struct ops_writing writing;
    struct ops ops;
    tt_model_init(&model);
    ops_init(&ops);
    sort(&program->messages, compare_messages);
    read_messages(to->reported, program, &model);
    for (size_t i = 0; i < model.signpost_count; i++)
        ops_add_signpost(&ops, model.signposts[i].time_ns, model.signposts[i].header,
                         model.signposts[i].text);
    ops_writing_begin(&writing, to->writer, program->process,
                      program->messages.count ? program->messages.items[0].track : TRACE_NONE);
    int result = tt_model_check(&model, err);
    if (result == 0)
        result = ops_check(&ops, err);
    if (result == 0)
        ops_to_trace(&writing, &ops);
    int written = ops_writing_end(&writing, result ? NULL : err);
    to->counts->signposts += model.signpost_count;
    tt_model_free(&model);
    ops_free(&ops);
    return result ? result : written;
}

int ops_reported_write(struct ops_reported *reported, struct trace_writer *writer,
                       struct import_counts *counts, struct error *err)
{
    struct writing to = {.reported = reported, .writer = writer, .counts = counts};
    const struct program *owner = find_owner(reported);
    int result = reported->failed || reported->texts.failed ? error_no_memory(err, "ops") : 0;
    *counts = (struct import_counts){0};
    if (result)
        return result;
    /* Defined before the first op record: growing.h rests on it. */
    to.import_track = !owner ? TRACE_NONE
                             : trace_writer_track(writer, &(struct trace_track){.id = TRACE_NONE,
                                                                                .process = owner->process,
                                                                                .parent = TRACE_NONE,
                                                                                .kind = TRACE_TRACK_OTHER,
                                                                                .clock = TRACE_HOST_CLOCK,
                                                                                .name = TT_TRACK_FOLDER});
    if (owner && to.import_track == TRACE_NONE)
        return error_no_memory(err, "ops");
    for (size_t i = 0; i < reported->program_count && result == 0; i++) {
        struct tt_files files = {0};
        if (&reported->programs[i] == owner)
            files = new_files(reported);
        result = reported->programs[i].ops ? write_program(&to, &reported->programs[i], &files, err)
                                           : write_signposts(&to, &reported->programs[i], err);
        tt_files_free(&files);
    }
    return result;
}

/* --- while it is still being said --- */

static int program_to_ops(const struct ops_reported *reported, struct program *program, struct ops *ops,
                          struct tt_fields *fields, struct error *err)
{
    struct tt_model model;
    struct tt_trace_writer w = {.model = &model, .process = program->process};
    size_t first_notice = ops->notice_count;
    tt_model_init(&model);
    model.is_growing = true;
    fill_model(reported, program, &model);
    know_tracks(&w, &program->messages);
    know_tracks(&w, &program->zones);
    int result = tt_model_check(&model, err);
    if (result == 0 && w.failed)
        result = error_no_memory(err, "ops");
    if (result == 0)
        result = tt_to_ops(&model, ops, &w, fields, err);
    for (size_t i = first_notice; i < ops->notice_count; i++)
        ops->notices[i].kind = UINT32_MAX - (uint32_t)i; /* another program may say the same */
    map_free(&w.track_of_thread);
    tt_model_free(&model);
    return result;
}

int tt_reported_to_ops(struct ops_reported *reported, struct ops *ops, struct tt_fields *fields,
                       struct error *err)
{
    int result = reported->failed || reported->texts.failed ? error_no_memory(err, "ops") : 0;
    for (size_t i = 0; i < reported->program_count && result == 0; i++) {
        if (reported->programs[i].ops)
            result = program_to_ops(reported, &reported->programs[i], ops, fields, err);
    }
    return result;
}

void ops_reported_set_layout(struct ops_reported *reported, enum ops_layout layout)
{
    reported->adds_places = layout == OPS_LAYOUT_TORCH;
}

/* --- as files --- */

static void write_messages(const struct ops_reported *reported, const struct program *program, FILE *file)
{
    fputs("MessageName;total_ns\n", file);
    for (size_t i = 0; i < program->messages.count; i++) {
        const struct item *message = &program->messages.items[i];
        fwrite(text_of(reported, message).data, 1, message->length, file);
        fprintf(file, ";%" PRIu64 "\n", message->start_ns - program->origin_ns);
    }
}

struct times_file {
    FILE *file;
    uint64_t origin_ns;
};

static void write_zone(void *context, const struct tt_host_zone *zone)
{
    const struct times_file *times = context;
    fprintf(times->file, "%.*s,,0,,\"%.*s\",%" PRIu64 ",%" PRIu64 ",%u,,%.*s\n", (int)zone->name.length,
            zone->name.data, (int)zone->text.length, zone->text.data, zone->start_ns - times->origin_ns,
            zone->duration_ns, (unsigned)zone->thread, (int)zone->parent.length, zone->parent.data);
}

static void write_times(const struct ops_reported *reported, const struct program *program, FILE *file)
{
    struct times_file times = {file, program->origin_ns};
    fputs("name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,value,"
          "special_parent_text\n",
          file);
    each_zone(reported, program, write_zone, &times);
}

static int write_file(const struct ops_reported *reported, const char *name,
                      void (*write)(const struct ops_reported *, const struct program *, FILE *),
                      struct error *err)
{
    struct bytes path = {0};
    int result;
    bytes_append_format(&path, "%s/.logs/%s", bytes_text(&reported->folder), name);
    result = output_path_check(bytes_text(&path), NULL, 0, NULL, err);
    FILE *file = result ? NULL : fopen(bytes_text(&path), "we");
    if (file)
        write(reported, find_owner(reported), file);
    bool is_bad = file && ferror(file);
    if (!result && (!file || fclose(file) != 0 || is_bad))
        result = error_set_errno(err, errno ? errno : EIO, "%s", bytes_text(&path));
    bytes_free(&path);
    return result;
}

int ops_reported_write_logs(struct ops_reported *reported, struct error *err)
{
    struct bytes folder = {0};
    if (!find_owner(reported))
        return 0;
    bytes_append_format(&folder, "%s/.logs", bytes_text(&reported->folder));
    int result = make_folder(bytes_text(&folder), err);
    if (result == 0)
        result = write_file(reported, "tracy_ops_data.csv", write_messages, err);
    if (result == 0)
        result = write_file(reported, "tracy_ops_times.csv", write_times, err);
    bytes_free(&folder);
    return result;
}

void ops_reported_free(struct ops_reported *reported)
{
    if (!reported)
        return;
    for (size_t i = 0; i < reported->program_count; i++) {
        free(reported->programs[i].messages.items);
        free(reported->programs[i].zones.items);
    }
    free(reported->programs);
    map_free(&reported->program_of);
    intern_free(&reported->names);
    bytes_free(&reported->texts);
    bytes_free(&reported->folder);
    free(reported);
}
