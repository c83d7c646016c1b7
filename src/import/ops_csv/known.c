/* SPDX-License-Identifier: Apache-2.0 */
#include "import/ops_csv/known.h"

#include <stdlib.h>
#include <string.h>

/* Descriptions whose cells are remembered. Where every op has one of its own, remembering and searching gain nothing:
 * after so many searches in vain, so many rows go without. */
#define REMEMBERED_MAX 16384u
#define VAIN_SEARCHES 256u
#define RESTING_ROWS 8192u

/* What a key begins with: all cells with their lengths, or pieces with theirs. */
enum { KEY_OF_CELLS, KEY_OF_PIECES };

void ops_csv_known_begin(struct ops_csv_known *known, const struct op_rows *rows, const char *const *names,
                         const bool *has)
{
    size_t count = 0, places[OPS_CSV_COLUMNS];
    *known = (struct ops_csv_known){.last = INTERN_NONE};
    for (size_t i = 0; i < OPS_CSV_COLUMNS; i++) {
        bool is_part = i >= OPS_CSV_TENSOR || i == OPS_CSV_FIDELITY || i == OPS_CSV_LOCATION ||
                       i == OPS_CSV_MODULE || i == OPS_CSV_ATTRIBUTES;
        if (!is_part || !has[i])
            continue;
        size_t place = op_rows_find_column(rows, names[i]), at = count++;
        for (; at > 0 && places[at - 1] > place; at--) {
            places[at] = places[at - 1];
            known->columns[at] = known->columns[at - 1];
        }
        places[at] = place;
        known->columns[at] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || places[i] != places[i - 1] + 1)
            known->spans[known->span_count++].first = (uint32_t)i;
        known->spans[known->span_count - 1].count++;
    }
}

void ops_csv_known_free(struct ops_csv_known *known)
{
    intern_free(&known->keys);
    free(known->descriptions);
    free(known->followers);
    bytes_free(&known->key);
    *known = (struct ops_csv_known){0};
}

static void append_part(struct bytes *key, struct slice part)
{
    bytes_append_u32(key, (uint32_t)part.length);
    bytes_append(key, part.data, part.length);
}

static void join_cells(struct ops_csv_known *known, const struct slice *cells)
{
    bytes_clear(&known->key);
    bytes_append_u8(&known->key, KEY_OF_CELLS);
    for (size_t i = 0; i < known->span_count; i++) {
        for (size_t k = 0; k < known->spans[i].count; k++)
            append_part(&known->key, cells[known->columns[known->spans[i].first + k]]);
    }
}

static void join_pieces(struct ops_csv_known *known)
{
    bytes_clear(&known->key);
    bytes_append_u8(&known->key, KEY_OF_PIECES);
    for (size_t i = 0; i < known->span_count; i++)
        append_part(&known->key, known->pieces[i]);
}

/* False where quotes or missing cells lie between neighbours. Their separators show where one ends: no cell of a piece
 * has one inside, or it would be in quotes. */
static bool find_pieces(struct ops_csv_known *known, const struct slice *cells)
{
    for (size_t i = 0; i < known->span_count; i++) {
        const uint32_t *columns = known->columns + known->spans[i].first;
        const struct slice *cell = &cells[columns[0]];
        const char *begin = cell->data;
        if (!begin)
            return false;
        for (size_t k = 1; k < known->spans[i].count; k++) {
            const char *end = cell->data + cell->length;
            cell = &cells[columns[k]];
            if (cell->data != end + 1)
                return false;
        }
        known->pieces[i] = slice_from(begin, (size_t)(cell->data + cell->length - begin));
    }
    return true;
}

/* Whether the key of a known description is made of these pieces. */
static bool has_pieces(const struct ops_csv_known *known, uint32_t id)
{
    const struct intern_entry *entry = &known->keys.entries[id];
    size_t at = 1;
    if (entry->data[0] != KEY_OF_PIECES)
        return false;
    for (size_t i = 0; i < known->span_count; i++) {
        uint32_t length; /* written by append_part, on a little-endian machine (base/hash.h) */
        memcpy(&length, entry->data + at, sizeof length);
        at += sizeof length;
        if (length != known->pieces[i].length || memcmp(entry->data + at, known->pieces[i].data, length) != 0)
            return false;
        at += length;
    }
    return true;
}

static uint32_t find(struct ops_csv_known *known, const struct slice *cells, bool *is_new)
{
    struct bytes *key = &known->key;
    size_t before = known->keys.count;
    if (known->rest) {
        known->rest--;
        return INTERN_NONE;
    }
    if (find_pieces(known, cells)) {
        uint32_t expected = known->last == INTERN_NONE ? INTERN_NONE : known->followers[known->last];
        if (expected != INTERN_NONE && has_pieces(known, expected))
            return expected;
        join_pieces(known);
    } else {
        join_cells(known, cells);
    }
    if (before >= REMEMBERED_MAX && !key->failed) {
        uint32_t id = intern_find(&known->keys, key->data, key->length);
        known->misses = id == INTERN_NONE ? known->misses + 1 : 0;
        if (known->misses == VAIN_SEARCHES) {
            known->misses = 0;
            known->rest = RESTING_ROWS;
        }
        return id;
    }
    uint32_t id = key->failed ? INTERN_NONE : intern_add(&known->keys, key->data, key->length);
    if (id == INTERN_NONE ||
        !array_reserve(&known->descriptions, &known->description_capacity, (size_t)id + 1,
                       sizeof *known->descriptions) ||
        !array_reserve(&known->followers, &known->follower_capacity, (size_t)id + 1,
                       sizeof *known->followers)) {
        known->failed = true;
        return INTERN_NONE;
    }
    *is_new = known->keys.count > before;
    if (*is_new)
        known->followers[id] = INTERN_NONE;
    return id;
}

uint32_t ops_csv_known_find(struct ops_csv_known *known, const struct slice *cells, bool *is_new)
{
    *is_new = false;
    uint32_t id = find(known, cells, is_new);
    if (known->last != INTERN_NONE)
        known->followers[known->last] = id;
    known->last = id;
    return id;
}
