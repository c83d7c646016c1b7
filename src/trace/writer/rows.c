/* SPDX-License-Identifier: Apache-2.0 */
/* Rows other than zones: gathered by type and clock in 64-bit columns, written as a block when there are many
 * or when they are 2 s old. One list of columns for all types; a type leaves out what it does not have. */
#include "trace/writer/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define ROWS_A_BLOCK 16384u
#define PARTS_A_BLOCK 65536u
#define PARTS_A_ROW 32768u

/* Columns that each type has, as bits of enum row_column. */
#define BIT(column) (1u << (column))
static const uint32_t columns_of_type[] = {
    [TRACE_BLOCK_POINTS] = BIT(ROW_TRACK) | BIT(ROW_TIME) | BIT(ROW_KIND) | BIT(ROW_NAME) | BIT(ROW_LENGTH),
    [TRACE_BLOCK_COUNTERS] = BIT(ROW_TRACK) | BIT(ROW_TIME) | BIT(ROW_NAME) | BIT(ROW_VALUE),
    [TRACE_BLOCK_MEMORY] =
        BIT(ROW_TRACK) | BIT(ROW_TIME) | BIT(ROW_KIND) | BIT(ROW_NAME) | BIT(ROW_VALUE) | BIT(ROW_SIZE),
    [TRACE_BLOCK_OPS] = BIT(ROW_CALL) | BIT(ROW_PROCESS) | BIT(ROW_TRACK) | BIT(ROW_NAME) | BIT(ROW_KIND) |
                        BIT(ROW_DEVICE) | BIT(ROW_DESCRIPTION) | BIT(ROW_TIME) | BIT(ROW_END) |
                        BIT(ROW_FIGURES),
    [TRACE_BLOCK_RUNS] = BIT(ROW_CALL) | BIT(ROW_PROCESS) | BIT(ROW_TRACK) | BIT(ROW_NAME) | BIT(ROW_DEVICE) |
                         BIT(ROW_CORES) | BIT(ROW_TIME) | BIT(ROW_END) | BIT(ROW_PARTS) | BIT(ROW_FIGURES) |
                         BIT(ROW_FLAGS),
    [TRACE_BLOCK_LOSSES] = BIT(ROW_PROCESS) | BIT(ROW_TRACK) | BIT(ROW_KIND) | BIT(ROW_TIME) | BIT(ROW_END) |
                           BIT(ROW_SIZE) | BIT(ROW_PARTS),
    [TRACE_BLOCK_SAMPLES] = BIT(ROW_TRACK) | BIT(ROW_TIME) | BIT(ROW_PARTS),
    [TRACE_BLOCK_LOCKS] = BIT(ROW_TRACK) | BIT(ROW_TIME) | BIT(ROW_KIND) | BIT(ROW_NAME) | BIT(ROW_VALUE) |
                          BIT(ROW_END) | BIT(ROW_FLAGS),
};

static bool is_delta(unsigned column)
{
    return column == ROW_TIME || column == ROW_CALL;
}

/* --- gathering --- */

static struct row_buffer *find_buffer(struct trace_writer *w, uint32_t type, uint32_t clock)
{
    for (struct row_buffer *buffer = w->rows; buffer; buffer = buffer->next)
        if (buffer->type == type && buffer->clock == clock)
            return buffer;
    struct row_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->type = type;
    buffer->clock = clock;
    buffer->next = w->rows;
    w->rows = buffer;
    return buffer;
}

static uint32_t clock_of_track(const struct trace_writer *w, uint32_t track)
{
    return track < w->definitions.track_count ? w->definitions.tracks[track].track.clock : TRACE_HOST_CLOCK;
}

static int write_buffer(struct trace_writer *w, struct row_buffer *buffer);

static bool reserve_column(struct row_buffer *buffer, unsigned column, size_t need)
{
    return array_reserve(&buffer->columns[column].values, &buffer->columns[column].capacity, need,
                         sizeof *buffer->columns[column].values);
}

/* Room for one more row with this many parts; NULL when there is no memory: the row is counted as lost. */
static struct row_buffer *begin_row(struct trace_writer *w, uint32_t type, uint32_t clock, size_t parts)
{
    struct row_buffer *buffer = find_buffer(w, type, clock);
    bool ok = buffer != NULL;
    if (ok &&
        (buffer->count >= ROWS_A_BLOCK || buffer->part_count + buffer->figure_count + parts > PARTS_A_BLOCK ||
         buffer->text.length >= BLOCK_FLUSH_TEXT))
        write_buffer(w, buffer);
    for (unsigned column = 1; ok && column < ROW_COLUMNS; column++)
        if (columns_of_type[type] & BIT(column))
            ok = reserve_column(buffer, column, buffer->count + 1);
    if (ok && parts)
        ok = reserve_column(buffer, ROW_PART_NAME, buffer->part_count + parts) &&
             reserve_column(buffer, ROW_PART_VALUE, buffer->part_count + parts);
    for (unsigned column = ROW_FIGURE_NAME;
         ok && parts && type != TRACE_BLOCK_SAMPLES && column <= ROW_FIGURE_VALUE; column++)
        ok = reserve_column(buffer, column, buffer->figure_count + parts);
    if (ok)
        return buffer;
    writer_fail(w, -ENOMEM, NULL);
    struct trace_loss loss = {
        .process = TRACE_NONE, .track = TRACE_NONE, .reason = TRACE_LOSS_NO_MEMORY, .records = 1};
    trace_writer_loss(w, &loss);
    return NULL;
}

static void put(struct row_buffer *buffer, unsigned column, uint64_t value)
{
    buffer->columns[column].values[buffer->count] = value;
}

static void end_row(struct row_buffer *buffer, uint64_t from, uint64_t to)
{
    if (buffer->count == 0 || from < buffer->t_first)
        buffer->t_first = from;
    if (buffer->count == 0 || to > buffer->t_last)
        buffer->t_last = to;
    buffer->count++;
}

void trace_writer_point(struct trace_writer *w, const struct trace_point *point)
{
    struct row_buffer *b = begin_row(w, TRACE_BLOCK_POINTS, clock_of_track(w, point->track), 0);
    if (!b)
        return;
    uint32_t header = TRACE_NONE, length = point->text ? point->text_length : 0;
    if (point->header && point->header[0])
        header = trace_writer_name(w, point->header, "", "", 0, 0);
    if (length > TRACE_MAX_TEXT)
        length = TRACE_MAX_TEXT;
    bytes_append(&b->text, point->text, length);
    if (b->text.failed) { /* keep the row, without its text */
        b->text.failed = false;
        length = 0;
        writer_fail(w, -ENOMEM, NULL);
    }
    put(b, ROW_TRACK, point->track);
    put(b, ROW_TIME, point->time);
    put(b, ROW_KIND, point->kind);
    put(b, ROW_NAME, header);
    put(b, ROW_LENGTH, length);
    end_row(b, point->time, point->time);
}

void trace_writer_counter(struct trace_writer *w, const struct trace_counter *counter)
{
    struct row_buffer *b = begin_row(w, TRACE_BLOCK_COUNTERS, clock_of_track(w, counter->track), 0);
    if (!b)
        return;
    uint64_t bits;
    memcpy(&bits, &counter->value, sizeof bits);
    put(b, ROW_TRACK, counter->track);
    put(b, ROW_TIME, counter->time);
    put(b, ROW_NAME, counter->name);
    put(b, ROW_VALUE, bits);
    end_row(b, counter->time, counter->time);
}

void trace_writer_memory(struct trace_writer *w, const struct trace_memory *memory)
{
    struct row_buffer *b = begin_row(w, TRACE_BLOCK_MEMORY, clock_of_track(w, memory->track), 0);
    if (!b)
        return;
    put(b, ROW_TRACK, memory->track);
    put(b, ROW_TIME, memory->time);
    put(b, ROW_KIND, memory->is_release ? memory->is_all ? 3 : 1 : 0);
    put(b, ROW_NAME, memory->pool);
    put(b, ROW_VALUE, memory->address);
    put(b, ROW_SIZE, memory->size);
    end_row(b, memory->time, memory->time);
}

static void put_figure(struct row_buffer *b, const struct trace_run_part *figure)
{
    b->columns[ROW_FIGURE_NAME].values[b->figure_count] = figure->name;
    b->columns[ROW_FIGURE_KIND].values[b->figure_count] = figure->kind;
    b->columns[ROW_FIGURE_VALUE].values[b->figure_count++] = figure->whole;
}

void trace_writer_op(struct trace_writer *w, const struct trace_op *op)
{
    size_t parts = op->part_count < PARTS_A_ROW ? op->part_count : PARTS_A_ROW;
    struct row_buffer *b = begin_row(w, TRACE_BLOCK_OPS, TRACE_HOST_CLOCK, parts);
    if (!b)
        return;
    for (size_t i = 0; i < parts; i++)
        put_figure(b, &op->parts[i]);
    put(b, ROW_FIGURES, parts);
    put(b, ROW_CALL, op->call);
    put(b, ROW_PROCESS, op->process);
    put(b, ROW_TRACK, op->track);
    put(b, ROW_NAME, op->name);
    put(b, ROW_KIND, op->type);
    put(b, ROW_DEVICE, op->device);
    put(b, ROW_DESCRIPTION, op->description);
    put(b, ROW_TIME, op->start_ns);
    put(b, ROW_END, op->end_ns ? op->end_ns - op->start_ns + 1 : 0);
    end_row(b, op->start_ns, op->end_ns ? op->end_ns : op->start_ns);
}

void trace_writer_run(struct trace_writer *w, const struct trace_run *run)
{
    size_t parts = run->part_count < PARTS_A_ROW ? run->part_count : PARTS_A_ROW;
    struct row_buffer *b = begin_row(w, TRACE_BLOCK_RUNS, clock_of_track(w, run->track), parts);
    if (!b)
        return;
    put(b, ROW_CALL, run->call);
    put(b, ROW_PROCESS, run->process);
    put(b, ROW_TRACK, run->track);
    put(b, ROW_NAME, run->name);
    put(b, ROW_DEVICE, run->session);
    put(b, ROW_CORES, run->cores);
    put(b, ROW_TIME, run->start);
    put(b, ROW_END, run->duration);
    put(b, ROW_FLAGS, run->flags);
    size_t first = b->part_count;
    for (size_t i = 0; i < parts; i++) {
        const struct trace_run_part *part = &run->parts[i];
        if (part->kind != TRACE_FIGURE_TICKS) {
            put_figure(b, part);
            continue;
        }
        b->columns[ROW_PART_NAME].values[b->part_count] = part->name;
        b->columns[ROW_PART_VALUE].values[b->part_count++] = part->whole;
    }
    put(b, ROW_PARTS, b->part_count - first);
    put(b, ROW_FIGURES, parts - (b->part_count - first));
    end_row(b, run->start, saturating_add_u64(run->start, run->duration));
}

void trace_writer_sample(struct trace_writer *w, const struct trace_sample *sample)
{
    size_t frames = sample->frame_count < PARTS_A_ROW ? sample->frame_count : PARTS_A_ROW;
    struct row_buffer *b = begin_row(w, TRACE_BLOCK_SAMPLES, clock_of_track(w, sample->track), frames);
    if (!b)
        return;
    put(b, ROW_TRACK, sample->track);
    put(b, ROW_TIME, sample->time);
    put(b, ROW_PARTS, frames);
    for (size_t i = 0; i < frames; i++, b->part_count++) {
        b->columns[ROW_PART_NAME].values[b->part_count] = sample->frames[i];
        b->columns[ROW_PART_VALUE].values[b->part_count] = 0;
    }
    end_row(b, sample->time, sample->time);
}

void trace_writer_lock(struct trace_writer *w, const struct trace_lock *lock)
{
    struct row_buffer *b = begin_row(w, TRACE_BLOCK_LOCKS, TRACE_HOST_CLOCK, 0);
    if (!b)
        return;
    uint64_t end_ns = lock->end_ns > lock->start_ns ? lock->end_ns : lock->start_ns;
    put(b, ROW_TRACK, lock->track);
    put(b, ROW_TIME, lock->start_ns);
    put(b, ROW_KIND, lock->kind);
    put(b, ROW_NAME, lock->name);
    put(b, ROW_VALUE, lock->number);
    put(b, ROW_END, end_ns - lock->start_ns);
    put(b, ROW_FLAGS, (lock->is_shared ? LOCK_SHARED : 0) | (lock->is_open ? LOCK_OPEN : 0));
    end_row(b, lock->start_ns, end_ns);
}

static void melt_loss(struct trace_loss *known, const struct trace_loss *loss)
{
    known->from_ns = loss->from_ns < known->from_ns ? loss->from_ns : known->from_ns;
    known->to_ns = loss->to_ns > known->to_ns ? loss->to_ns : known->to_ns;
    known->zones += loss->zones;
    known->records += loss->records;
}

/* Losses wait in a list of their own, where equal ones melt: a disk that stays full makes one record a track. They
 * are found by their hash: there may be as many as there are tracks. Without memory for that they stay apart. */
void trace_writer_loss(struct trace_writer *w, const struct trace_loss *loss)
{
    const uint32_t key[] = {loss->process, loss->track, loss->reason};
    bool melts = loss->reason == TRACE_LOSS_DISK_FULL || loss->reason == TRACE_LOSS_NO_MEMORY;
    size_t known = w->loss_keys.count;
    uint32_t id = melts ? intern_add(&w->loss_keys, key, sizeof key) : INTERN_NONE;
    if (id < known) {
        melt_loss(&w->losses[w->loss_of_key[id]], loss);
        return;
    }
    bool has_place = id == INTERN_NONE || array_reserve(&w->loss_of_key, &w->loss_of_key_capacity, known + 1,
                                                        sizeof *w->loss_of_key);
    if (!array_reserve(&w->losses, &w->loss_capacity, w->loss_count + 1, sizeof *w->losses)) {
        intern_free(&w->loss_keys); /* the new key has no loss */
        writer_fail(w, -ENOMEM, NULL);
        return;
    }
    if (!has_place)
        intern_free(&w->loss_keys);
    else if (id != INTERN_NONE)
        w->loss_of_key[id] = (uint32_t)w->loss_count;
    w->losses[w->loss_count++] = *loss;
}

/* --- writing --- */

/* One that was named late is written as the name that has its texts. */
static void need_name(struct trace_writer *w, uint64_t *value)
{
    uint32_t name = (uint32_t)*value, same = definitions_same_name(w, name);
    if (same != name)
        *value = same;
    definitions_need_name(w, same);
}

static void need_definitions(struct trace_writer *w, const struct row_buffer *b)
{
    uint32_t columns = columns_of_type[b->type];
    for (size_t i = 0; i < b->count; i++) {
        if (columns & BIT(ROW_TRACK))
            definitions_need_track(w, (uint32_t)b->columns[ROW_TRACK].values[i]);
        if (columns & BIT(ROW_NAME))
            need_name(w, &b->columns[ROW_NAME].values[i]);
        if (columns & BIT(ROW_PROCESS))
            definitions_need_process(w, (uint32_t)b->columns[ROW_PROCESS].values[i]);
        if (columns & BIT(ROW_DESCRIPTION))
            definitions_need_description(w, (uint32_t)b->columns[ROW_DESCRIPTION].values[i]);
    }
    for (size_t i = 0; i < b->part_count; i++)
        need_name(w, &b->columns[ROW_PART_NAME].values[i]);
    for (size_t i = 0; i < b->figure_count; i++) {
        definitions_need_name(w, (uint32_t)b->columns[ROW_FIGURE_NAME].values[i]);
        if (b->columns[ROW_FIGURE_KIND].values[i] == TRACE_FIGURE_TEXT)
            definitions_need_name(w, (uint32_t)b->columns[ROW_FIGURE_VALUE].values[i]);
    }
}

static int put_block(struct trace_writer *w, const struct row_buffer *b)
{
    need_definitions(w, b);
    block_begin(&w->builder);
    for (unsigned column = 1; column < ROW_COLUMNS; column++) {
        if (!(columns_of_type[b->type] & BIT(column)))
            continue;
        if (is_delta(column))
            block_add_delta(&w->builder, (uint16_t)column, b->columns[column].values, b->count);
        else
            block_add_u64(&w->builder, (uint16_t)column, b->columns[column].values, b->count);
    }
    if (b->part_count) {
        block_add_u64(&w->builder, ROW_PART_NAME, b->columns[ROW_PART_NAME].values, b->part_count);
        block_add_u64(&w->builder, ROW_PART_VALUE, b->columns[ROW_PART_VALUE].values, b->part_count);
    }
    for (unsigned column = ROW_FIGURE_NAME; column <= ROW_FIGURE_VALUE; column++)
        block_add_u64(&w->builder, (uint16_t)column, b->columns[column].values, b->figure_count);
    block_add_bytes(&w->builder, ROW_TEXT, b->text.data, b->text.length);
    struct block_header header = {.type = (uint16_t)b->type,
                                  .track = TRACE_NONE,
                                  .clock = b->clock,
                                  .count = (uint32_t)b->count,
                                  .t_first = b->t_first,
                                  .t_last = b->t_last,
                                  .min_start = b->t_first};
    return file_write_block(w, &w->builder, &header);
}

static int write_buffer(struct trace_writer *w, struct row_buffer *b)
{
    if (b->count == 0)
        return 0;
    int status = file_accepts_rows(w) ? put_block(w, b) : w->full_status;
    if (status) {
        struct trace_loss loss = {.process = TRACE_NONE,
                                  .track = TRACE_NONE,
                                  .reason = status == -ENOMEM ? TRACE_LOSS_NO_MEMORY : TRACE_LOSS_DISK_FULL,
                                  .from_ns = b->clock == TRACE_HOST_CLOCK ? b->t_first : 0,
                                  .to_ns = b->clock == TRACE_HOST_CLOCK ? b->t_last : 0,
                                  .records = b->count};
        trace_writer_loss(w, &loss);
    } else {
        w->segment_records += b->count;
        w->record_count += b->count;
    }
    b->count = b->part_count = b->figure_count = 0;
    b->opened_at_ns = 0;
    bytes_clear(&b->text);
    if (b->text.capacity > BLOCK_FLUSH_TEXT)
        bytes_free(&b->text);
    return status;
}

int rows_flush(struct trace_writer *w, bool only_aged)
{
    int status = 0;
    for (struct row_buffer *b = w->rows; b; b = b->next) {
        if (b->count && !b->opened_at_ns)
            b->opened_at_ns = w->now_ns;
        if (only_aged && !w->is_followed && w->now_ns - b->opened_at_ns < BLOCK_AGE_NS)
            continue;
        int written = write_buffer(w, b);
        status = status ? status : written;
    }
    return status;
}

/* In the flight recorder a segment's losses are kept: they are reported again when the segment is dropped. */
static void remember_losses(struct trace_writer *w)
{
    if (!w->max_size_bytes || w->loss_count == 0)
        return;
    if (!array_reserve(&w->segment_losses, &w->segment_loss_capacity, w->segment_loss_count + w->loss_count,
                       sizeof *w->losses)) {
        writer_fail(w, -ENOMEM, NULL);
        return;
    }
    memcpy(w->segment_losses + w->segment_loss_count, w->losses, w->loss_count * sizeof *w->losses);
    w->segment_loss_count += w->loss_count;
}

static int write_losses(struct trace_writer *w, const struct trace_loss *losses, size_t count)
{
    struct row_buffer b = {.type = TRACE_BLOCK_LOSSES};
    int status = 0;
    for (unsigned column = 1; column < ROW_COLUMNS; column++)
        if ((columns_of_type[b.type] & BIT(column)) && !reserve_column(&b, column, count))
            status = -ENOMEM;
    for (size_t i = 0; i < count && !status; i++) {
        put(&b, ROW_PROCESS, losses[i].process);
        put(&b, ROW_TRACK, losses[i].track);
        put(&b, ROW_KIND, losses[i].reason);
        put(&b, ROW_TIME, losses[i].from_ns);
        put(&b, ROW_END, losses[i].to_ns);
        put(&b, ROW_SIZE, losses[i].zones);
        put(&b, ROW_PARTS, losses[i].records);
        end_row(&b, losses[i].from_ns, losses[i].to_ns);
    }
    if (!status)
        status = put_block(w, &b);
    for (unsigned column = 1; column < ROW_COLUMNS; column++)
        free(b.columns[column].values);
    return status;
}

int losses_flush(struct trace_writer *w)
{
    int status = 0;
    for (size_t done = 0; done < w->loss_count && !status;) {
        size_t count = w->loss_count - done < ROWS_A_BLOCK ? w->loss_count - done : ROWS_A_BLOCK;
        status = write_losses(w, w->losses + done, count);
        done += count;
    }
    if (!status) {
        remember_losses(w);
        w->loss_count = 0;
        intern_free(&w->loss_keys);
    }
    return status;
}

void rows_free(struct trace_writer *w)
{
    while (w->rows) {
        struct row_buffer *next = w->rows->next;
        for (unsigned column = 0; column < ROW_COLUMNS; column++)
            free(w->rows->columns[column].values);
        bytes_free(&w->rows->text);
        free(w->rows);
        w->rows = next;
    }
    free(w->losses);
    intern_free(&w->loss_keys);
    free(w->loss_of_key);
    free(w->segment_losses);
}
