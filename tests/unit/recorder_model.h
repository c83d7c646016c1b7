/* SPDX-License-Identifier: Apache-2.0 */
/* The model of test_recorder_model.c: what the thread, the collector and recover do, step by step. */
#ifndef OPSCOPE_TESTS_UNIT_RECORDER_MODEL_H
#define OPSCOPE_TESTS_UNIT_RECORDER_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SLOTS = 4, MOST_CHUNKS = 12, STUCK = 2, NONE = 0xff, FRAMES = 2, HIDDEN = 4 };

enum mistake {
    RIGHT,
    SLOT_IN_TWO_STEPS, /* a handler may get the slot of the call that it interrupts */
    DONE_BEFORE_WRITE, /* a handler takes itself for the outermost call too early */
    OWNED_TOO_LATE,    /* losses are counted in a chunk that is nobody's yet */
    SEAL_BEFORE_NOTE,  /* a chunk is given away before it says how much is in it */
    FREE_BEFORE_CLEAR, /* a chunk is handed out with old records in it */
    ROW_AT_END,        /* the ledger knows a thread only when it has ended */
    ROW_AFTER_RELEASE, /* ... or when its chunk is gone already */
    NEVER_TAKES_OVER,  /* a handler that is left by siglongjmp is waited for */
    SKIPS_INSIDE,      /* what is inside a lost zone is lost, until its end comes */
    FORGETS_LATE_ENDS, /* recover does not look for them */
    MISTAKES
};

static const char *const mistake_names[MISTAKES] = {
    "right",          "slot in two steps", "done before write",
    "owned too late", "seal before note",  "free before clear",
    "row at end",     "row after release", "never takes over",
    "skips inside",   "forgets late ends"};

enum slot_kind { EMPTY, BEGIN, END, NOTHING, LATE }; /* LATE + n: n ends */
enum chunk_state { FREE, OWNED, SEALED };
enum frame_step {
    NEXT,
    TAKE,
    TAKEN,
    CHECK,
    WRITE,
    DONE,
    SLOW,
    SWITCH,
    WAIT,
    LET_NOTE,
    LET_LIMIT,
    LET_EMPTY,
    LET_SEAL,
    LET_END,
    NEW_NOTE,
    NEW_LIMIT,
    NEW_DESCRIBE,
    NEW_OWN,
    NEW_COUNT,
    NEW_POINT,
    NEW_SEAL,
    NEW_USE,
    NEW_LATE,
    NEW_SET,
    NEW_END,
    GIVE_BACK,
    LOSE,
    HIDE,
    RETURN
};
enum taker_step { IDLE, READ, ROW, RELEASE, CLEAR, BIT, OVER };

struct chunk {
    uint8_t state, is_free, slots, sequence, zones_before, depth, lost, is_last, slot[SLOTS];
};

struct state { /* all bytes, so that two of them can be compared */
    struct chunk chunk[MOST_CHUNKS];
    struct frame {
        uint8_t step, is_end, slot, zones; /* zones: of a handler, half ones done */
    } frame[FRAMES];
    uint8_t frames, zones_left, is_in_zone, signals_left, jumps_left, program_is_over, kills_left;
    /* the cursor */
    uint8_t at, base, has_limit, done, zones, zones_before, depth, leaving, failures, descriptor, sequence,
        lost, late, next_chunk, arriving;
    uint8_t hidden_depth[HIDDEN], hidden_count[HIDDEN], hidden;
    /* shared memory beside the chunks */
    uint8_t process_lost, late_count, late_sequence, row, row_unseen, row_is_final;
    /* the collector, and the file */
    uint8_t is_dead, taker, taking, next, unseen, open, begun, known_lost, memory, memory_lost, file,
        file_lost;
    /* the truth */
    uint8_t true_begun, true_ended, jumps;
};

struct world {
    enum mistake mistake;
    uint8_t chunks;
    bool waits, has_collector; /* else what was recorded is read at the end */
    bool jumps_at_once;        /* the handlers that jump do nothing else */
    uint8_t most_lost;
    /* results */
    uint64_t states;
    bool is_wrong;
    struct state wrong;
};

/* --- the thread --- */

static void note_slots(struct state *s, uint8_t end)
{
    if (s->descriptor != NONE)
        s->chunk[s->descriptor].slots = end < SLOTS ? end : SLOTS;
}

static void seal(struct state *s, uint8_t chunk)
{
    if (chunk != NONE)
        s->chunk[chunk].state = SEALED;
}

static void use_chunk(struct state *s, uint8_t base)
{
    s->zones_before = (uint8_t)(s->zones_before + s->zones);
    s->zones = s->done = 0;
    s->base = base;
}

static bool hides(const struct world *w, const struct state *s)
{
    return s->hidden && (w->mistake == SKIPS_INSIDE || s->hidden_depth[s->hidden - 1] == s->depth);
}

static void hide(const struct world *w, struct state *s)
{
    if (!hides(w, s)) {
        if (s->hidden == HIDDEN) {
            memmove(s->hidden_depth, s->hidden_depth + 1, HIDDEN - 1);
            memmove(s->hidden_count, s->hidden_count + 1, HIDDEN - 1);
            s->hidden--;
        }
        s->hidden_depth[s->hidden] = s->depth;
        s->hidden_count[s->hidden++] = 0;
    }
    s->hidden_count[s->hidden - 1]++;
}

static void unhide(struct state *s)
{
    if (--s->hidden_count[s->hidden - 1] == 0)
        s->hidden--;
    if (!s->hidden)
        s->hidden_depth[0] = 0;
}

static void settle_arrival(struct state *s)
{
    uint8_t next = s->arriving;
    s->arriving = NONE;
    if (next == NONE || next == s->descriptor || s->chunk[next].state != OWNED)
        return;
    s->sequence = (uint8_t)(s->sequence + (s->chunk[next].sequence == s->sequence));
    seal(s, s->descriptor);
    s->descriptor = next;
}

static void seal_left(struct state *s)
{
    uint8_t left = s->leaving;
    if (left && left != NONE && (uint8_t)(left - 1) != s->descriptor && s->chunk[left - 1].state == OWNED)
        seal(s, (uint8_t)(left - 1));
}

static void take_over(struct state *s, struct frame *f)
{
    if (s->leaving || !s->has_limit) {
        settle_arrival(s);
        uint8_t old = s->descriptor;
        if (s->has_limit)
            note_slots(s, f->slot);
        s->has_limit = 0;
        seal_left(s);
        s->descriptor = NONE;
        seal(s, old);
        use_chunk(s, NONE);
        f->slot = 0;
        s->at = 1;
    }
    s->done = f->slot;
    s->leaving = s->failures = 0;
}

static bool has_room(const struct state *s, const struct frame *f, unsigned more)
{
    return s->has_limit && f->slot + 1u + more <= SLOTS;
}

static void slow(const struct world *w, struct state *s, struct frame *f)
{
    uint8_t nested = (uint8_t)(f->slot - s->done + (s->leaving > 0));
    unsigned owed = f->is_end ? 0 : s->depth + 1u;
    f->step = SWITCH;
    if (!nested) {
        s->failures = 0;
    } else if (!has_room(s, f, owed + (f->is_end ? 0u : nested))) {
        s->failures = (uint8_t)(s->failures + (s->failures <= STUCK));
        if (s->failures <= STUCK || w->mistake == NEVER_TAKES_OVER) {
            f->step = GIVE_BACK;
            return;
        }
        take_over(s, f);
    }
    if (has_room(s, f, owed))
        f->step = WRITE;
}

static uint8_t take_free(const struct world *w, struct state *s)
{
    for (uint8_t i = 0; i < w->chunks; i++) {
        if (s->chunk[i].is_free) {
            s->chunk[i].is_free = 0;
            return i;
        }
    }
    return NONE;
}

static void describe(struct state *s)
{
    struct chunk *c = &s->chunk[s->next_chunk];
    c->slots = c->is_last = 0;
    c->sequence = s->sequence;
    c->zones_before = (uint8_t)(s->zones_before + s->zones);
    c->depth = s->depth;
    c->lost = s->lost;
    s->arriving = s->next_chunk;
}

static void point_at_new(struct state *s)
{
    s->descriptor = s->arriving;
    s->chunk[s->descriptor].lost = s->lost;
    s->arriving = NONE;
}

/* The steps of next_chunk and let_go. */
static void switch_step(const struct world *w, struct state *s, struct frame *f)
{
    uint8_t old = s->leaving && s->leaving != NONE ? (uint8_t)(s->leaving - 1) : NONE;
    switch (f->step++) {
    case LET_NOTE:
        if (w->mistake != SEAL_BEFORE_NOTE)
            note_slots(s, f->slot);
        s->leaving = s->descriptor != NONE ? (uint8_t)(s->descriptor + 1) : NONE;
        break;
    case NEW_NOTE:
        note_slots(s, f->slot);
        s->leaving = s->descriptor != NONE ? (uint8_t)(s->descriptor + 1) : NONE;
        break;
    case LET_LIMIT:
    case NEW_LIMIT:
        s->has_limit = 0;
        break;
    case LET_EMPTY:
        use_chunk(s, NONE);
        f->slot = 0;
        s->at = 1;
        s->descriptor = NONE;
        break;
    case LET_SEAL:
    case NEW_SEAL:
        seal(s, old);
        break;
    case LET_END:
        s->leaving = 0;
        f->step = WAIT;
        break;
    case NEW_DESCRIBE:
        describe(s);
        break;
    case NEW_OWN:
        if (w->mistake == OWNED_TOO_LATE)
            point_at_new(s);
        else
            s->chunk[s->arriving].state = OWNED;
        break;
    case NEW_COUNT:
        if (w->mistake == OWNED_TOO_LATE)
            s->chunk[s->descriptor].state = OWNED;
        else
            s->sequence++;
        break;
    case NEW_POINT:
        if (w->mistake == OWNED_TOO_LATE)
            s->sequence++;
        else
            point_at_new(s);
        break;
    case NEW_USE:
        use_chunk(s, s->descriptor);
        f->slot = 0;
        break;
    case NEW_LATE:
        if (s->late) {
            s->chunk[s->base].slot[0] = (uint8_t)(LATE + s->late);
            s->done = f->slot = 1;
            s->late = 0;
        }
        break;
    case NEW_SET:
        s->at = (uint8_t)(f->slot + 1);
        s->has_limit = 1;
        break;
    default: /* NEW_END */
        s->leaving = 0;
        f->step = WRITE;
        break;
    }
}

static void give_back(struct state *s, struct frame *f)
{
    if (s->at == f->slot + 1) {
        s->at = f->slot;
    } else if (has_room(s, f, 0)) {
        s->chunk[s->base].slot[f->slot] = NOTHING;
        s->done++;
    }
    f->step = LOSE;
}

static void lose(struct state *s, struct frame *f)
{
    f->step = HIDE;
    if (f->is_end) {
        s->depth--;
    } else if (s->descriptor != NONE) {
        s->chunk[s->descriptor].lost = ++s->lost;
        if (s->arriving != NONE)
            s->chunk[s->arriving].lost = s->lost;
    } else {
        s->process_lost++;
    }
}

static void write_slot(struct state *s, const struct frame *f)
{
    if (s->base == NONE) /* a mistake in the order: what was taken away is written to */
        return;
    s->chunk[s->base].slot[f->slot] = f->is_end ? END : BEGIN;
}

static void count_done(struct state *s, const struct frame *f)
{
    s->done++;
    s->zones = (uint8_t)(s->zones + !f->is_end);
    s->depth = (uint8_t)(s->depth + (f->is_end ? -1 : 1));
}

static void thread_ends(struct state *s)
{
    if (s->has_limit)
        note_slots(s, s->at);
    settle_arrival(s);
    seal_left(s);
    if (s->descriptor != NONE)
        s->chunk[s->descriptor].is_last = 1;
    seal(s, s->descriptor);
    s->program_is_over = 1;
}

/* What a call begins with: is it recorded at all? */
static void next(const struct world *w, struct state *s, struct frame *f)
{
    bool is_main = s->frames == 1;
    if (is_main ? !s->is_in_zone && !s->zones_left : f->zones == 2) {
        if (is_main)
            thread_ends(s);
        else
            s->frames--;
        if (!is_main)
            *f = (struct frame){0};
        return;
    }
    f->is_end = is_main ? s->is_in_zone : f->zones;
    s->true_begun = (uint8_t)(s->true_begun + !f->is_end);
    f->step = TAKE;
    if (f->is_end && hides(w, s)) {
        unhide(s);
        f->step = RETURN;
    } else if (f->is_end && !s->depth) {
        f->step = RETURN;
    } else if (w->mistake == SKIPS_INSIDE && hides(w, s)) {
        f->step = LOSE;
    }
}

/* One step of whatever runs in the thread; false: it waits. */
static bool thread_step(const struct world *w, struct state *s)
{
    struct frame *f = &s->frame[s->frames - 1];
    switch ((enum frame_step)f->step) {
    case NEXT:
        next(w, s, f);
        return true;
    case TAKE:
        f->slot = s->at;
        f->step = w->mistake == SLOT_IN_TWO_STEPS ? TAKEN : CHECK;
        s->at = (uint8_t)(s->at + (w->mistake != SLOT_IN_TWO_STEPS));
        return true;
    case TAKEN:
        s->at = (uint8_t)(f->slot + 1);
        f->step = CHECK;
        return true;
    case CHECK: /* of the fast path, which wants a slot more */
        f->step = !s->hidden && has_room(s, f, f->is_end ? 0 : s->depth + 1u) ? WRITE : SLOW;
        return true;
    case WRITE:
        if (w->mistake == DONE_BEFORE_WRITE)
            count_done(s, f);
        else
            write_slot(s, f);
        f->step = DONE;
        return true;
    case DONE:
        if (w->mistake == DONE_BEFORE_WRITE)
            write_slot(s, f);
        else
            count_done(s, f);
        if (f->is_end)
            while (w->mistake != SKIPS_INSIDE && s->hidden && s->hidden_depth[s->hidden - 1] > s->depth)
                s->hidden--;
        f->step = RETURN;
        return true;
    case SLOW:
        slow(w, s, f);
        return true;
    case SWITCH:
        s->next_chunk = take_free(w, s);
        f->step = s->next_chunk != NONE ? NEW_NOTE : w->waits ? LET_NOTE : GIVE_BACK;
        return true;
    case WAIT:
        s->next_chunk = take_free(w, s);
        if (s->next_chunk == NONE && !s->is_dead)
            return false;
        s->failures = 0;
        f->step = s->next_chunk != NONE ? NEW_NOTE : GIVE_BACK;
        return true;
    case GIVE_BACK:
        give_back(s, f);
        return true;
    case LOSE:
        lose(s, f);
        return true;
    case HIDE:
        if (f->is_end) {
            s->late++;
            s->late_count = s->late;
            s->late_sequence = s->sequence;
        } else {
            hide(w, s);
        }
        f->step = RETURN;
        return true;
    case RETURN:
        s->true_ended += f->is_end;
        f->step = NEXT;
        if (s->frames > 1) {
            f->zones++;
        } else {
            s->zones_left -= f->is_end;
            s->is_in_zone = !f->is_end;
        }
        return true;
    default:
        switch_step(w, s, f);
        return true;
    }
}

/* The program goes on after a zone that it does not end. */
static void jump(struct state *s)
{
    bool leaves_a_zone = s->is_in_zone || s->frame[0].step != NEXT;
    s->zones_left = (uint8_t)(s->zones_left - leaves_a_zone);
    s->is_in_zone = 0;
    memset(s->frame, 0, sizeof s->frame);
    s->frames = 1;
    s->jumps_left--;
    s->jumps++;
}

/* --- the collector --- */

static uint8_t find_chunk(const struct world *w, const struct state *s, bool is_final, uint8_t sequence)
{
    for (uint8_t i = 0; i < w->chunks; i++) {
        const struct chunk *c = &s->chunk[i];
        if (c->sequence == sequence && (c->state == SEALED || (is_final && c->state == OWNED)))
            return i;
    }
    return NONE;
}

struct seen {
    uint8_t begun, open, ended;
};

static void read_chunk(const struct chunk *c, struct seen *seen)
{
    uint8_t end = c->state == SEALED ? c->slots : SLOTS; /* of a process that is gone: what it left behind */
    for (uint8_t i = 0; i < end; i++) {
        uint8_t ends = c->slot[i] == END ? 1 : c->slot[i] > LATE ? (uint8_t)(c->slot[i] - LATE) : 0;
        bool is_begin = c->slot[i] == BEGIN;
        seen->begun = (uint8_t)(seen->begun + is_begin);
        seen->open = (uint8_t)(seen->open + is_begin);
        ends = ends < seen->open ? ends : seen->open;
        seen->open -= ends;
        seen->ended += ends;
    }
}

static void take(struct state *s, const struct chunk *c)
{
    struct seen seen = {s->begun, s->open, s->memory};
    read_chunk(c, &seen);
    s->begun = seen.begun;
    s->open = seen.open;
    s->memory = seen.ended;
    s->memory_lost = (uint8_t)(s->memory_lost + c->lost - s->known_lost);
    s->known_lost = c->lost;
    if (c->state == OWNED || c->slots)
        s->unseen = (uint8_t)(c->sequence + 1);
}

static void write_row(const struct world *w, struct state *s)
{
    if (w->mistake == ROW_AT_END && !s->chunk[s->taking].is_last)
        return;
    s->row = (uint8_t)(s->begun - s->open + s->known_lost);
    s->row_unseen = s->unseen;
}

/* One step of the collector; false: it has nothing to do. */
static bool taker_step(const struct world *w, struct state *s)
{
    struct chunk *c = s->taking != NONE ? &s->chunk[s->taking] : NULL;
    bool is_row_late = w->mistake == ROW_AFTER_RELEASE, is_clear_late = w->mistake == FREE_BEFORE_CLEAR;
    switch ((enum taker_step)s->taker) {
    case IDLE:
        s->taking = find_chunk(w, s, s->program_is_over, s->next);
        if (s->taking != NONE) {
            s->taker = READ;
            return true;
        }
        if (!s->program_is_over)
            return false;
        if (s->late_count && s->late_sequence == s->unseen) {
            uint8_t ends = s->late_count < s->open ? s->late_count : s->open;
            s->open -= ends;
            s->memory += ends;
        }
        s->row = (uint8_t)(s->begun - s->open + s->known_lost);
        s->row_is_final = 1;
        s->taker = OVER;
        return true;
    case READ:
        take(s, c);
        s->taker = is_row_late ? RELEASE : ROW;
        return true;
    case ROW:
        write_row(w, s);
        s->taker = is_row_late ? CLEAR : RELEASE;
        return true;
    case RELEASE:
        c->state = FREE;
        s->taker = is_row_late ? ROW : is_clear_late ? BIT : CLEAR;
        return true;
    case CLEAR:
        memset(c->slot, 0, sizeof c->slot);
        s->taker = is_clear_late ? IDLE : BIT;
        s->next += is_clear_late;
        return true;
    case BIT:
        c->is_free = 1;
        s->taker = is_clear_late ? CLEAR : IDLE;
        s->next += !is_clear_late;
        return true;
    default:
        return false;
    }
}

/* --- recover, and what must hold at the end --- */

static bool recover_chunks(const struct world *w, const struct state *s, uint8_t *found, uint8_t *lost)
{
    uint8_t first = NONE;
    for (uint8_t q = 0; q <= s->sequence && first == NONE; q++)
        first = find_chunk(w, s, true, q);
    if (first == NONE)
        return false;
    const struct chunk *c = &s->chunk[first];
    uint8_t late = c->slot[0] > LATE ? (uint8_t)(c->slot[0] - LATE) : 0, open = (uint8_t)(c->depth + late);
    uint8_t ended = c->zones_before > open ? (uint8_t)(c->zones_before - open) : 0, total_lost = 0,
            unseen = c->sequence;
    struct seen seen = {0, open, 0};
    for (uint8_t q = c->sequence, i; (i = find_chunk(w, s, true, q)) != NONE; q++) {
        read_chunk(&s->chunk[i], &seen);
        total_lost = s->chunk[i].lost;
        unseen = s->chunk[i].state == OWNED && !s->chunk[i].slot[0] ? unseen : (uint8_t)(q + 1);
    }
    if (s->late_count && s->late_sequence == unseen)
        seen.ended += s->late_count < seen.open ? s->late_count : seen.open;
    *lost = (uint8_t)(total_lost - s->file_lost);
    if (ended > s->file)
        *lost = (uint8_t)(*lost + ended - s->file);
    uint8_t skipped = s->file > ended ? (uint8_t)(s->file - ended) : 0;
    *found = (uint8_t)(seen.ended - (skipped < seen.ended ? skipped : seen.ended));
    return true;
}

static bool end_is_right(const struct world *w, const struct state *s)
{
    uint8_t found = 0, lost = 0;
    if (!s->is_dead && w->has_collector) {
        found = s->memory;
        lost = s->memory_lost;
    } else if (!recover_chunks(w, s, &found, &lost)) {
        uint8_t row = s->row, known = (uint8_t)(s->file + s->file_lost);
        if (!s->row_is_final && s->late_count && s->late_sequence == s->row_unseen &&
            w->mistake != FORGETS_LATE_ENDS)
            row += s->late_count;
        lost = row > known ? (uint8_t)(row - known) : 0;
    }
    unsigned all_lost = (unsigned)lost + s->file_lost + s->process_lost, told = found + s->file + all_lost;
    if (w->most_lost && all_lost > w->most_lost)
        return false;
    return told + s->jumps >= s->true_ended && told <= s->true_begun;
}

#endif
