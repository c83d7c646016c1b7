/* SPDX-License-Identifier: Apache-2.0 */
/* opscope ops --per-core. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/ops_rows.h"
#include "text/file_map.h"
#include "import/tenstorrent/tenstorrent.h"
#include "import/tenstorrent/device/per_core.h"
#include "present/document.h"

static void append_label(struct bytes *out, const struct tt_core *core, const char *between)
{
    bytes_append_format(out, "%u%s%u [ns]", (unsigned)core->x, between, (unsigned)core->y);
}

static int write_csv(const struct tt_per_core *table, FILE *stream, struct error *err)
{
    struct bytes text = {0};
    bytes_append_text(&text, "device ID,op2op ID");
    for (size_t i = 0; i < table->column_count; i++) {
        bytes_append_u8(&text, ',');
        append_label(&text, &table->columns[i], "; ");
    }
    bytes_append_text(&text, "\r\n");
    for (size_t i = 0; i < table->row_count; i++) {
        const struct tt_per_core_row *row = &table->rows[i];
        const struct tt_per_core_cell *cell = table->cells + row->first_cell, *end = cell + row->cell_count;
        bytes_append_format(&text, "%u,%" PRIu64 " -> %" PRIu64, (unsigned)row->device, row->from_id,
                            row->to_id);
        for (size_t k = 0; k < table->column_count; k++) {
            bytes_append_u8(&text, ',');
            if (cell < end && cell->column == k)
                bytes_append_format(&text, "%" PRId64, (cell++)->cycles);
        }
        bytes_append_text(&text, "\r\n");
        if (text.length > 65536) {
            fwrite(text.data, 1, text.length, stream);
            bytes_clear(&text);
        }
    }
    fwrite(text.data, 1, text.length, stream);
    int result = text.failed ? error_set_errno(err, ENOMEM, "the table") : 0;
    bytes_free(&text);
    return result;
}

static int write_table(const struct tt_per_core *cores, struct output *output, const char *path,
                       struct error *err)
{
    struct table_column *columns = calloc(cores->column_count + 2, sizeof columns[0]);
    struct bytes labels = {0};
    struct table table;
    struct report report;
    if (!columns)
        return error_set_errno(err, ENOMEM, "the table");
    columns[0] = (struct table_column){.key = "device", .title = "device", .type = TABLE_IDENTIFIER};
    columns[1] = (struct table_column){.key = "ops", .title = "ops"};
    /* Labels have at most 32 bytes, so that the pointers into their memory stay. */
    if (!bytes_reserve(&labels, cores->column_count * 32 + 1)) {
        free(columns);
        return error_set_errno(err, ENOMEM, "the table");
    }
    for (size_t i = 0; i < cores->column_count; i++) {
        char *label = (char *)labels.data + labels.length;
        bytes_append_format(&labels, "%u;%u", (unsigned)cores->columns[i].x, (unsigned)cores->columns[i].y);
        bytes_append_u8(&labels, 0);
        columns[i + 2] = (struct table_column){.key = label, .title = label, .type = TABLE_INTEGER};
    }
    table_init(&table, "per_core", columns, cores->column_count + 2);
    for (size_t i = 0; i < cores->row_count; i++) {
        const struct tt_per_core_row *row = &cores->rows[i];
        table_add_row(&table);
        table_set_unsigned(&table, 0, row->device);
        table_set_format(&table, 1, "%" PRIu64 " -> %" PRIu64, row->from_id, row->to_id);
        for (size_t k = 0; k < row->cell_count; k++)
            table_set_integer(&table, cores->cells[row->first_cell + k].column + 2,
                              cores->cells[row->first_cell + k].cycles);
    }
    report_begin(&report, output, "per_core");
    report_text(&report, "file", NULL, path);
    report_table(&report, "rows", &table);
    report_note(&report, TABLE_DIM,
                "cycles between the kernels of two ops on each core, less 1,500 of the recorder");
    int result = report_finish(&report, err);
    report_free(&report);
    table_free(&table);
    bytes_free(&labels);
    free(columns);
    return result;
}

int ops_per_core_run(const struct command *command, const char *path, const struct ops_options *options)
{
    struct tt_files files = {0};
    struct tt_model notes;
    struct tt_log log = {0};
    struct tt_per_core cores = {0};
    struct file_map map = {0};
    struct output output = {0};
    struct error err = {0};
    tt_model_init(&notes);
    int result = tt_files_find(&files, path, &err);
    if (result == 0 && files.log.length == 0)
        result =
            error_set(&err, ENOENT, "%s: --per-core needs profile_log_device.csv, which is not there", path);
    if (result == 0)
        result = file_map_open(&map, (const char *)files.log.data, &err);
    if (result == 0)
        result = tt_log_read(&log, &notes, map.data, map.length, &err);
    if (result == 0)
        result = tt_per_core_make(&cores, &log, &err);
    if (result == 0)
        result = output_open(&output, &options->output, &err);
    if (result == 0)
        result = output.format == OUTPUT_CSV ? write_csv(&cores, output.stream, &err)
                                             : write_table(&cores, &output, path, &err);
    if (result == 0)
        result = output_finish(&output, &err);
    else if (output.stream)
        output_abandon(&output);
    for (size_t i = 0; i < notes.note_count && result == 0; i++)
        command_say("opscope ops: %s: %s", path, notes.notes[i].text ? notes.notes[i].text : "");
    tt_per_core_free(&cores);
    tt_log_free(&log);
    file_map_close(&map);
    tt_files_free(&files);
    tt_model_free(&notes);
    return result == 0 ? EXIT_OK : command_fail(command, &err);
}
