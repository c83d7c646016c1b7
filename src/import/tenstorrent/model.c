/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/model.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES ((size_t)256 << 10)

struct tt_page {
    struct tt_page *next;
    size_t used, size;
    _Alignas(16) char data[];
};

void tt_model_init(struct tt_model *model)
{
    *model = (struct tt_model){0};
    for (uint32_t i = 0; i < OP_FIXED_COLUMN_COUNT; i++)
        tt_column(model, op_fixed_columns[i].name, strlen(op_fixed_columns[i].name));
}

void tt_model_free(struct tt_model *model)
{
    if (!model)
        return;
    for (struct tt_page *page = model->pages; page;) {
        struct tt_page *next = page->next;
        free(page);
        page = next;
    }
    for (size_t i = 0; i < model->replay_count; i++)
        free(model->replays[i].times_ns);
    for (size_t i = 0; i < model->note_count; i++)
        free(model->notes[i].text);
    intern_free(&model->columns);
    intern_free(&model->texts);
    map_free(&model->op_of_id);
    map_free(&model->replay_of_key);
    map_free(&model->child_of_key);
    free(model->records);
    free(model->ops);
    free(model->children);
    free(model->runs);
    free(model->signposts);
    free(model->replays);
    free(model->notes);
    free(model->devices);
    *model = (struct tt_model){0};
}

int tt_model_check(const struct tt_model *model, struct error *err)
{
    return model->failed
               ? error_set_errno(err, ENOMEM, "%zu ops, %zu device runs", model->op_count, model->run_count)
               : 0;
}

/* Lives as long as the model; NULL: no memory. */
static void *alloc(struct tt_model *model, size_t size)
{
    struct tt_page *page = model->pages;
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded < size) {
        model->failed = true;
        return NULL;
    }
    if (!page || page->size - page->used < rounded) {
        size_t bytes = rounded > PAGE_BYTES ? rounded : PAGE_BYTES;
        struct tt_page *fresh = bytes > SIZE_MAX - sizeof *fresh ? NULL : malloc(sizeof *fresh + bytes);
        if (!fresh) {
            model->failed = true;
            return NULL;
        }
        *fresh = (struct tt_page){.size = bytes};
        if (page && rounded > PAGE_BYTES / 4) { /* a large piece: the open page stays in front */
            fresh->next = page->next;
            page->next = fresh;
        } else {
            fresh->next = page;
            model->pages = fresh;
        }
        page = fresh;
    }
    void *at = page->data + page->used;
    page->used += rounded;
    return at;
}

const char *tt_keep(struct tt_model *model, const char *data, size_t length)
{
    char *copy = alloc(model, length + 1);
    if (!copy)
        return "";
    if (length)
        memcpy(copy, data, length);
    copy[length] = 0;
    return copy;
}

uint32_t tt_column(struct tt_model *model, const char *name, size_t length)
{
    uint32_t id = intern_add(&model->columns, name, length);
    if (id == INTERN_NONE) {
        model->failed = true;
        return 0;
    }
    return id;
}

static void add_note(struct tt_model *model, struct tt_note note)
{
    if (array_reserve(&model->notes, &model->note_capacity, model->note_count + 1, sizeof model->notes[0])) {
        model->notes[model->note_count++] = note;
    } else {
        free(note.text);
        model->failed = true;
    }
}

void tt_note(struct tt_model *model, enum tt_notice kind, uint64_t line, const char *format, ...)
{
    static const uint8_t severities[TT_NOTICE_KINDS] = {
#define X(severity, name) [TT_##severity##_##name] = OP_NOTICE_##severity,
        TT_NOTICES(X)
#undef X
    };
    for (size_t i = 0; i < model->note_count; i++) {
        if (model->notes[i].kind == kind) {
            model->notes[i].count++;
            return;
        }
    }
    va_list args;
    char *text = NULL;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    add_note(model, (struct tt_note){.kind = kind,
                                     .severity = severities[kind],
                                     .count = 1,
                                     .line = line,
                                     .text = n < 0 ? NULL : text});
}

void tt_cell_add(struct tt_model *model, struct tt_cell_builder *builder, uint32_t column, const char *data,
                 size_t length)
{
    if (length > UINT32_MAX ||
        !array_reserve(&builder->items, &builder->capacity, builder->count + 1, sizeof builder->items[0])) {
        model->failed = true;
        return;
    }
    builder->items[builder->count++] = (struct tt_cell){data, (uint32_t)length, column};
}

void tt_cell_copy(struct tt_model *model, struct tt_cell_builder *builder, uint32_t column, const char *data,
                  size_t length)
{
    tt_cell_add(model, builder, column, tt_keep(model, data, length), length);
}

struct tt_cells tt_cells_finish(struct tt_model *model, struct tt_cell_builder *builder)
{
    struct tt_cells cells = {0};
    size_t size = builder->count * sizeof cells.items[0];
    if (builder->count > 0) {
        cells.items = alloc(model, size);
        if (cells.items) {
            memcpy(cells.items, builder->items, size);
            cells.count = (uint32_t)builder->count;
        }
    }
    builder->count = 0;
    return cells;
}

struct tt_op *tt_op_add(struct tt_model *model, uint64_t id)
{
    if (model->op_count >= TT_NONE - 1 ||
        !array_reserve(&model->ops, &model->op_capacity, model->op_count + 1, sizeof model->ops[0])) {
        model->failed = true;
        return NULL;
    }
    struct tt_op *op = &model->ops[model->op_count++];
    *op = (struct tt_op){.id = id,
                         .record = TT_NONE,
                         .device = TT_NONE,
                         .trace = TT_NO_TRACE,
                         .children = TT_NONE,
                         .run = TT_NONE,
                         .location = TT_NONE,
                         .const_eval = TT_NONE,
                         .metadata = TT_NONE,
                         .cache_hit = -1,
                         .flags = TT_OP_NO_TIMES};
    if (map_get(&model->op_of_id, id) != TT_NONE)
        op->flags |= TT_OP_REPEATED;
    else if (!map_put(&model->op_of_id, id, (uint32_t)(model->op_count - 1)))
        model->failed = true;
    return op;
}

struct tt_run *tt_run_add(struct tt_model *model)
{
    if (model->run_count >= TT_NONE - 1 ||
        !array_reserve(&model->runs, &model->run_capacity, model->run_count + 1, sizeof model->runs[0])) {
        model->failed = true;
        return NULL;
    }
    struct tt_run *run = &model->runs[model->run_count++];
    *run = (struct tt_run){.trace = TT_NO_TRACE, .op = TT_NONE, .device = TT_NONE};
    return run;
}

struct tt_device *tt_device_get(struct tt_model *model, uint32_t id)
{
    for (size_t i = 0; i < model->device_count; i++) {
        if (model->devices[i].id == id)
            return &model->devices[i];
    }
    if (model->device_count == TT_MAX_DEVICES) {
        tt_note(model, TT_DAMAGED_DEVICES, 0, "more than %u devices: rows of the others are left out",
                TT_MAX_DEVICES);
        return NULL;
    }
    if (!array_reserve(&model->devices, &model->device_capacity, model->device_count + 1,
                       sizeof model->devices[0])) {
        model->failed = true;
        return NULL;
    }
    model->devices[model->device_count] = (struct tt_device){.id = id};
    return &model->devices[model->device_count++];
}

struct tt_replay *tt_replay_find(struct tt_model *model, uint32_t device, int64_t trace, bool add)
{
    uint64_t key = (uint64_t)device << 32 | (uint32_t)trace;
    uint32_t found = map_get(&model->replay_of_key, key);
    if (found != TT_NONE)
        return &model->replays[found];
    if (!add)
        return NULL;
    if (!array_reserve(&model->replays, &model->replay_capacity, model->replay_count + 1,
                       sizeof model->replays[0]) ||
        !map_put(&model->replay_of_key, key, (uint32_t)model->replay_count)) {
        model->failed = true;
        return NULL;
    }
    model->replays[model->replay_count] = (struct tt_replay){.device = device, .trace = trace};
    return &model->replays[model->replay_count++];
}
