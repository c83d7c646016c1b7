/* SPDX-License-Identifier: Apache-2.0 */
#include "import/mlir/names.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "import/mlir/mlir.h"

#define OTHER 0x80000000u /* a handle of an interned name */
#define DIGITS_MAX 9u

void mlir_names_free(struct mlir_names *names)
{
    intern_free(&names->others);
    free(names->numbers);
    free(names->bound);
    free(names->undo);
    *names = (struct mlir_names){0};
}

/* "%17" as 17; MLIR_NONE where it is not a number, or written as MLIR does not. */
static uint32_t number_of(const char *text, size_t length)
{
    uint32_t number = 0;
    if (length < 2 || length > DIGITS_MAX + 1 || (text[1] == '0' && length > 2))
        return MLIR_NONE;
    for (size_t i = 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return MLIR_NONE;
        number = number * 10 + (uint32_t)(text[i] - '0');
    }
    return number;
}

static uint32_t add_number(struct mlir_names *names, uint32_t number)
{
    if (!array_reserve(&names->numbers, &names->number_capacity, (size_t)number + 1,
                       sizeof names->numbers[0])) {
        names->failed = true;
        return MLIR_NONE;
    }
    while (names->number_count <= number)
        names->numbers[names->number_count++] = MLIR_NONE;
    return number;
}

uint32_t mlir_names_add(struct mlir_names *names, const char *text, size_t length)
{
    uint32_t number = number_of(text, length);
    if (number < names->number_count)
        return number;
    if (number < names->number_end)
        return add_number(names, number);
    size_t before = names->others.count;
    uint32_t id = intern_add(&names->others, text, length);
    bool is_new = names->others.count > before;
    if (id >= OTHER - 1 || (is_new && !array_reserve(&names->bound, &names->bound_capacity, (size_t)id + 1,
                                                     sizeof names->bound[0]))) {
        names->failed = true;
        return MLIR_NONE;
    }
    if (is_new)
        names->bound[id] = MLIR_NONE;
    return id | OTHER;
}

static uint32_t *place_of(const struct mlir_names *names, uint32_t name)
{
    return name & OTHER ? &names->bound[name & ~OTHER] : &names->numbers[name];
}

uint32_t mlir_names_value(const struct mlir_names *names, uint32_t name)
{
    return *place_of(names, name);
}

void mlir_names_bind(struct mlir_names *names, uint32_t name, uint32_t value)
{
    if (name == MLIR_NONE)
        return;
    if (!array_reserve(&names->undo, &names->undo_capacity, names->undo_count + 1, sizeof names->undo[0])) {
        names->failed = true;
        return;
    }
    uint32_t *place = place_of(names, name);
    names->undo[names->undo_count++] = (struct mlir_binding){name, *place};
    *place = value;
}

void mlir_names_unbind(struct mlir_names *names, size_t undo_count)
{
    while (names->undo_count > undo_count) {
        const struct mlir_binding *last = &names->undo[--names->undo_count];
        *place_of(names, last->name) = last->value;
    }
}
