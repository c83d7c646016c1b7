/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a folder has, and the way from them to a model with rows. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/open_regular.h"
#include "text/file_map.h"
#include "import/tenstorrent/recorded_join.h"
#include "import/tenstorrent/tenstorrent.h"
#include "import/tenstorrent/host.h"
#include "import/tenstorrent/join.h"
#include "import/tenstorrent/messages.h"

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void find_file(struct bytes *out, const char *folder, const char *name)
{
    bytes_clear(out);
    bytes_append_format(out, "%s/%s", folder, name);
    bytes_append_u8(out, 0);
    if (out->failed || access((const char *)out->data, R_OK) != 0)
        bytes_clear(out);
}

enum { NAME_MESSAGES, NAME_TIMES, NAME_REPORT, NAME_LOG };
static const char *const names[] = {
    [NAME_MESSAGES] = "tracy_ops_data.csv",
    [NAME_TIMES] = "tracy_ops_times.csv",
    [NAME_REPORT] = "cpp_device_perf_report.csv",
    [NAME_LOG] = "profile_log_device.csv",
};

bool tt_is_log_name(const char *name)
{
    size_t length = strlen(name);
    bool is_one = length > 4 && strcmp(name + length - 4, ".log") == 0; /* zone_src_locations.log */
    for (size_t i = 0; i < COUNT_OF(names); i++)
        is_one |= strcmp(name, names[i]) == 0;
    return is_one;
}

static bool find_in(struct tt_files *files, const char *folder)
{
    find_file(&files->messages, folder, names[NAME_MESSAGES]);
    find_file(&files->times, folder, names[NAME_TIMES]);
    find_file(&files->report, folder, names[NAME_REPORT]);
    find_file(&files->log, folder, names[NAME_LOG]);
    return files->messages.length || files->times.length || files->report.length || files->log.length;
}

static bool find_anywhere(struct tt_files *files, const char *path)
{
    struct bytes inner = {0};
    bytes_append_format(&inner, "%s/" TT_LOG_FOLDER, path);
    bytes_append_u8(&inner, 0);
    bool is_found = find_in(files, path) || (!inner.failed && find_in(files, (const char *)inner.data));
    bytes_free(&inner);
    return is_found;
}

enum file_kind { FILE_OTHER, FILE_LOG, FILE_REPORT };

/* One of the folder's files by itself. */
static enum file_kind kind_of(const char *path)
{
    static const char report[] = "GLOBAL CALL COUNT,METAL TRACE ID,METAL TRACE REPLAY SESSION ID,DEVICE ID";
    char begin[sizeof report];
    FILE *file = open_regular_stream(path, NULL);
    if (!file)
        return FILE_OTHER;
    size_t n = fread(begin, 1, sizeof begin, file);
    fclose(file);
    if (n == sizeof begin && memcmp(begin, report, sizeof report - 1) == 0)
        return FILE_REPORT;
    return tt_log_is_log(begin, n) ? FILE_LOG : FILE_OTHER;
}

bool tt_is_source(const char *path)
{
    if (strcmp(path, "-") == 0)
        return false;
    return is_folder(path) || kind_of(path) != FILE_OTHER;
}

int tt_files_find(struct tt_files *files, const char *path, struct error *err)
{
    *files = (struct tt_files){0};
    if (!is_folder(path)) {
        enum file_kind kind = kind_of(path);
        struct bytes *place = kind == FILE_REPORT ? &files->report : &files->log;
        if (kind == FILE_OTHER)
            return error_set(err, EINVAL, "%s: neither a folder of logs nor a device log", path);
        bytes_append_text(place, path);
        bytes_append_u8(place, 0);
        return place->failed ? error_set_errno(err, ENOMEM, "%s", path) : 0;
    }
    if (find_anywhere(files, path))
        return 0;
    tt_files_free(files);
    return error_set(
        err, ENOENT,
        "%s: no Tenstorrent logs: looked here and in .logs for tracy_ops_data.csv, tracy_ops_times.csv, "
        "cpp_device_perf_report.csv and profile_log_device.csv",
        path);
}

void tt_files_free(struct tt_files *files)
{
    bytes_free(&files->messages);
    bytes_free(&files->times);
    bytes_free(&files->report);
    bytes_free(&files->log);
}

static int load_messages(struct tt_model *model, const struct tt_files *files, struct error *err)
{
    struct file_map map;
    int result = file_map_open(&map, (const char *)files->messages.data, err);
    if (result == 0)
        result = tt_messages_read(model, map.data, map.length, err);
    file_map_close(&map);
    return result;
}

static int load_csv(struct tt_model *model, const struct bytes *path, bool is_times, struct error *err)
{
    struct csv_reader csv;
    int result = csv_open(&csv, (const char *)path->data, err);
    if (result != 0)
        return result;
    result = is_times ? tt_times_read(model, &csv, err) : tt_report_read(model, &csv, err);
    if (csv.unclosed_line)
        tt_note(model, TT_DAMAGED_UNCLOSED, csv.unclosed_line,
                "%s, line %" PRIu64 ": quotes are open to the end of the file",
                is_times ? "tracy_ops_times.csv" : "cpp_device_perf_report.csv", csv.unclosed_line);
    csv_close(&csv);
    return result;
}

static int load_log(struct tt_model *model, const struct tt_files *files, bool only_sub_devices,
                    struct error *err)
{
    struct file_map map;
    struct tt_log log = {0};
    int result = file_map_open(&map, (const char *)files->log.data, err);
    if (result != 0)
        return result;
    if (only_sub_devices) {
        result = tt_log_read_sub_devices(&log, model, map.data, map.length, err);
        if (result == 0)
            tt_runs_add_sub_devices(model, &log);
    } else {
        result = tt_log_read(&log, model, map.data, map.length, err);
        if (result == 0)
            result = tt_runs_from_log(model, &log, err);
    }
    tt_log_free(&log);
    file_map_close(&map);
    return result;
}

/* A file that cannot be read costs what it would have said, not the report. Lack of memory ends it. */
static int go_on_without(struct tt_model *model, int result, enum tt_notice kind, struct error *err)
{
    if (result == 0 || result == -ENOMEM)
        return result;
    tt_note(model, kind, 0, "%s; the report goes on without it", err->message);
    *err = (struct error){0};
    return 0;
}

/* The host's files: what was dispatched. */
static int load_host(struct tt_model *model, const struct tt_files *files, struct error *err)
{
    int result = 0;
    if (files->messages.length)
        result = go_on_without(model, load_messages(model, files, err), TT_DAMAGED_MESSAGES_FILE, err);
    if (result == 0 && files->times.length)
        result = go_on_without(model, load_csv(model, &files->times, true, err), TT_DAMAGED_TIMES_FILE, err);
    return result;
}

int tt_load_devices(struct tt_model *model, const struct tt_files *files,
                    const struct import_options *options, bool is_recorded, struct error *err)
{
    bool has_report = files->report.length > 0, has_log = files->log.length > 0, use_report;
    int result = 0;
    if (options->source == IMPORT_SOURCE_AUTO)
        use_report = has_report && !(model->is_device_only && has_log);
    else
        use_report = options->source == IMPORT_SOURCE_REPORT;
    if (use_report ? !has_report : options->source == IMPORT_SOURCE_LOG && !has_log) {
        tt_note(model, TT_INFO_LACKS_FILE, 0, "%s is not there: no device data",
                use_report ? "cpp_device_perf_report.csv" : "profile_log_device.csv");
        has_report = has_log = false;
    } else if (use_report) {
        result =
            go_on_without(model, load_csv(model, &files->report, false, err), TT_DAMAGED_REPORT_FILE, err);
        if (result == 0 && has_log)
            result = go_on_without(model, load_log(model, files, true, err), TT_DAMAGED_LOG_FILE, err);
    } else if (has_log) {
        result = go_on_without(model, load_log(model, files, false, err), TT_DAMAGED_LOG_FILE, err);
    } else {
        tt_note(model, TT_INFO_NO_DEVICE_FILES, 0,
                "neither cpp_device_perf_report.csv nor profile_log_device.csv is there: no device data");
    }
    if (result == 0 && is_recorded)
        recorded_join_runs(model);
    else if (result == 0 && !model->is_device_only)
        tt_join_runs(model, !use_report);
    if (result == 0)
        result = tt_join_check(model, has_report || has_log, err);
    return result;
}

int tt_load(struct tt_model *model, const struct tt_files *files, const struct import_options *options,
            struct error *err)
{
    bool is_recorded = false, has_any = files->report.length || files->log.length;
    int result = options->is_device_only ? 0 : load_host(model, files, err);
    if (result == 0 && options->recorded && !options->is_device_only)
        result = recorded_join_host(model, options->recorded, &is_recorded, err);
    if (result != 0)
        return result;
    model->is_device_only = model->op_count == 0 && !is_recorded && (model->signpost_count == 0 || has_any);
    if (model->is_device_only && !options->is_device_only && (files->messages.length || files->times.length))
        tt_note(model, TT_INFO_NO_HOST_OPS, 0,
                "the host's files hold no ops: this is what the devices recorded");
    return tt_load_devices(model, files, options, is_recorded, err);
}

int tt_load_path(struct tt_model *model, const char *path, const struct import_options *options,
                 struct error *err)
{
    struct tt_files files;
    int result = tt_files_find(&files, path, err);
    if (result == 0)
        result = tt_load(model, &files, options, err);
    tt_files_free(&files);
    return result;
}
