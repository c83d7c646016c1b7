/* SPDX-License-Identifier: Apache-2.0 */
/* Interning of names in the segment, without locks, shared by forked processes.
 *
 * The table has levels of 1 Ki, 4 Ki, 16 Ki ... slots. A name is looked for in 16 neighbouring slots per level, and put
 * into the first empty one; a level is given memory when the one before it had no room there. So 100 names touch one
 * page and 4 million fit. Nothing is ever removed, hence the first empty slot ends the search, and two threads
 * that add the same name meet at the same slot.
 *
 * Another process may have written anything into the segment. What is read back from it is therefore checked before it
 * is used as a place in memory: at worst a name is wrong. */
#include <string.h>

#include "base/hash.h"
#include "record/recorder.h"

static uint8_t *area(size_t offset)
{
    return recorder_segment.memory + offset;
}

/* Makes sure that [0, need) of an area has memory; *committed says how much of it has. */
static bool area_commit_u64(uint64_t *committed, size_t area_offset, uint64_t need, uint64_t area_bytes)
{
    uint64_t have = __atomic_load_n(committed, __ATOMIC_ACQUIRE);
    if (need <= have)
        return true;
    if (!recorder_segment.header->can_grow)
        return false;
    have = have < SESSION_PAGE ? SESSION_PAGE : have & ~(uint64_t)(SESSION_PAGE - 1);
    uint64_t step = have < 64 * 1024 ? have : 64 * 1024; /* doubling from one page */
    uint64_t want = (need + step - 1) / step * step;
    if (want > area_bytes)
        want = area_bytes;
    if (!cgroup_has_room((size_t)(want - have)) ||
        !segment_commit(area_offset + (size_t)have, (size_t)(want - have)))
        return false;
    while (have < want &&
           !__atomic_compare_exchange_n(committed, &have, want, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        ;
    return true;
}

static bool level_commit(uint32_t level)
{
    struct segment_header *header = recorder_segment.header;
    if (__atomic_load_n(&header->levels_committed, __ATOMIC_ACQUIRE) & (1u << level))
        return true;
    size_t bytes = segment_level_slots(level) * sizeof(uint32_t);
    if (!header->can_grow)
        return false;
    if (!cgroup_has_room(bytes) || !segment_commit(recorder_segment.layout.levels[level], bytes))
        return false;
    __atomic_fetch_or(&header->levels_committed, 1u << level, __ATOMIC_RELEASE);
    return true;
}

static size_t definition_length(const struct name_definition *d)
{
    size_t length = d->piece_count - 1;
    for (uint32_t i = 0; i < d->piece_count; i++)
        length += d->pieces[i].length;
    return length;
}

static uint32_t definition_hash(const struct name_definition *d)
{
    uint64_t h =
        hash_mix(d->value ^ (uint64_t)d->kind << 56, (uint64_t)d->aux << 32 | (d->owner ^ d->parent << 16));
    for (uint32_t i = 0; i < d->piece_count; i++)
        h = hash_bytes(d->pieces[i].data, d->pieces[i].length, h);
    return hash_fold32(h);
}

static bool entry_matches(const struct name_entry *e, const struct name_definition *d, size_t length,
                          uint32_t hash)
{
    if (!e || e->hash != hash || e->length != length || e->kind != d->kind || e->aux != d->aux ||
        e->value != d->value || e->owner != d->owner || e->parent != d->parent)
        return false;
    const char *at = (const char *)(e + 1);
    for (uint32_t i = 0; i < d->piece_count; i++) {
        if (!bytes_are_equal(at, d->pieces[i].data, d->pieces[i].length))
            return false;
        at += d->pieces[i].length + 1;
    }
    return true;
}

/* Writes a new entry and gives it an id; SESSION_NAME_FULL when there is no room. */
static uint32_t entry_add(const struct name_definition *d, size_t length, uint32_t hash)
{
    struct segment_header *header = recorder_segment.header;
    const struct segment_layout *l = &recorder_segment.layout;
    size_t bytes = (sizeof(struct name_entry) + length + 1 + 7) & ~(size_t)7;
    uint64_t at = __atomic_fetch_add(&header->names_used, bytes, __ATOMIC_RELAXED);
    if (at % 8 || at > l->names_bytes - bytes ||
        !area_commit_u64(&header->names_committed, l->names, at + bytes, l->names_bytes))
        return SESSION_NAME_FULL;
    uint32_t id = __atomic_add_fetch(&header->name_count, 1, __ATOMIC_RELAXED);
    if (id == 0 || id > l->name_count)
        return SESSION_NAME_FULL;
    uint32_t ids_have = __atomic_load_n(&header->ids_committed, __ATOMIC_ACQUIRE);
    if (id >= ids_have) {
        uint64_t committed = (uint64_t)ids_have * sizeof(uint32_t);
        if (!area_commit_u64(&committed, l->name_ids, ((uint64_t)id + 1) * sizeof(uint32_t),
                             segment_page_up(((size_t)l->name_count + 1) * sizeof(uint32_t))))
            return SESSION_NAME_FULL;
        uint32_t now = (uint32_t)(committed / sizeof(uint32_t));
        while (ids_have < now && !__atomic_compare_exchange_n(&header->ids_committed, &ids_have, now, false,
                                                              __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
            ;
    }
    struct name_entry *e = (struct name_entry *)(void *)area(recorder_segment.layout.names + at);
    *e = (struct name_entry){(uint32_t)length, hash, d->kind, d->aux, d->value, d->owner, d->parent};
    char *out = (char *)(e + 1);
    for (uint32_t i = 0; i < d->piece_count; i++) {
        if (d->pieces[i].length)
            copy_bytes(out, d->pieces[i].data, d->pieces[i].length);
        out += d->pieces[i].length;
        *out++ = '\0';
    }
    uint32_t *ids = (uint32_t *)(void *)area(recorder_segment.layout.name_ids);
    __atomic_store_n(&ids[id], (uint32_t)(at / 8) + 1, __ATOMIC_RELEASE);
    return id;
}

/* NULL: not an entry with room for a name of that length. */
static const struct name_entry *entry_of(uint32_t id, size_t length)
{
    const struct segment_layout *l = &recorder_segment.layout;
    const uint32_t *ids = (const uint32_t *)(void *)area(l->name_ids);
    uint32_t at = id <= l->name_count ? __atomic_load_n(&ids[id], __ATOMIC_ACQUIRE) : 0;
    size_t offset = ((size_t)at - 1) * 8;
    if (!at || offset > l->names_bytes - sizeof(struct name_entry) - (length + 1))
        return NULL;
    return (const struct name_entry *)(void *)area(l->names + offset);
}

uint32_t names_intern(const struct name_definition *d)
{
    size_t length = definition_length(d);
    if (length > SESSION_MAX_NAME_BYTES)
        return SESSION_NAME_FULL;
    uint32_t hash = definition_hash(d);
    uint32_t mine = 0;
    for (uint32_t level = 0; level < recorder_segment.layout.level_count; level++) {
        if (!level_commit(level))
            return SESSION_NAME_FULL;
        uint32_t *table = (uint32_t *)(void *)area(recorder_segment.layout.levels[level]);
        size_t mask = segment_level_slots(level) - 1;
        for (uint32_t probe = 0; probe < SESSION_NAME_PROBES; probe++) {
            uint32_t *place = &table[(hash + probe) & mask];
            uint32_t found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
            if (!found) {
                if (!mine)
                    mine = entry_add(d, length, hash);
                if (mine == SESSION_NAME_FULL)
                    return mine;
                if (__atomic_compare_exchange_n(place, &found, mine, false, __ATOMIC_RELEASE,
                                                __ATOMIC_ACQUIRE))
                    return mine;
            }
            if (entry_matches(entry_of(found, length), d, length, hash))
                return found;
        }
    }
    return SESSION_NAME_FULL;
}

uint32_t names_text(const char *text, size_t length)
{
    if (length > SESSION_MAX_NAME_BYTES)
        length = SESSION_MAX_NAME_BYTES;
    struct name_definition d = {.kind = NAME_TEXT, .pieces = {{text, length}}, .piece_count = 1};
    return names_intern(&d);
}

static struct name_piece piece_of(const char *text)
{
    size_t length = text ? strnlen(text, SESSION_MAX_NAME_BYTES / 4) : 0;
    return (struct name_piece){text ? text : "", length};
}

uint32_t names_site(struct opscope_site *site)
{
    struct name_definition d = {
        .kind = NAME_SITE,
        .aux = site->line,
        .value = site->colour,
        .pieces = {piece_of(site->name ? site->name : site->function), piece_of(site->function),
                   piece_of(site->file)},
        .piece_count = 3,
    };
    uint32_t id = names_intern(&d);
    __atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
    return id;
}

bool names_is_called(uint32_t id, const char *name)
{
    size_t length = strlen(name);
    const struct name_entry *e = entry_of(id, length);
    return e && e->length >= length && (e->kind == NAME_TEXT || e->kind == NAME_SITE) &&
           bytes_are_equal(e + 1, name, length + 1);
}
