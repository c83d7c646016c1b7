/* SPDX-License-Identifier: Apache-2.0 */
/* Pausing: whether this process records now, and the rules that say when (`opscope run --capture`).
 *
 * A paused process has opscope_recording = 2, so that a zone is one load and one branch, as without a session. Who sets
 * it: the process itself, where it hears of the reason (a rule, opscope_pause), or the collector, which writes the word
 * into the process's memory from outside (collect/pause.c). No thread, no signal and no system call of ours is in the
 * process for that. A process that joins asks the segment's header (capture_settle); so does a forked child, which its
 * parent's word does not bind.
 *
 * Zones stay in balance: those that were open when recording was paused end as ever. One that is begun while paused is
 * not recorded; where its end will come all the same (OPSCOPE_BEGIN, an op), opscope_zone_hide_ hides it, as one that
 * is lost is hidden (fast.h). As long as a thread has such zones open, it takes the slow path (no zone_limit).
 *
 * To hear of a zone that begins, one must be called: with --capture zone:NAME a waiting process has opscope_recording =
 * 1 and capture_waits = 1 instead, zones take the slow path and are refused there. They take it, too, while such a zone
 * is open: another thread may be about to begin one, which then outlasts the first. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "record/recorder.h"

uint32_t capture_waits;
bool capture_hears_zones;

static struct session_capture rule; /* of the session that was joined last */
static uint64_t identity;           /* segment_id: the collector looks for it before it writes */
static uint64_t marks;              /* of frames */
static uint32_t zones_open;         /* of the rule's name */

void capture_use(const struct session_capture *capture)
{
    rule = *capture;
    rule.from[sizeof rule.from - 1] = rule.to[sizeof rule.to - 1] = '\0';
    capture_hears_zones = rule.kind == CAPTURE_ZONE;
    marks = zones_open = 0;
    __atomic_store_n(&capture_waits, 0, __ATOMIC_SEQ_CST); /* in the session before; now: capture_settle */
}

void capture_describe(struct segment_header *h, bool is_paused)
{
    bool is_zone = rule.kind == CAPTURE_ZONE;
    identity = h->segment_id;
    h->identity_address = (uint64_t)(uintptr_t)&identity;
    h->flag_address = is_zone ? (uint64_t)(uintptr_t)&capture_waits : (uint64_t)(uintptr_t)&opscope_recording;
    h->is_paused = is_paused;
}

static void set_paused(bool is_paused)
{
    if (rule.kind == CAPTURE_ZONE)
        __atomic_store_n(&capture_waits, is_paused, __ATOMIC_SEQ_CST);
    else if (__atomic_load_n(&opscope_recording, __ATOMIC_RELAXED))
        __atomic_store_n(&opscope_recording, is_paused ? RECORDING_PAUSED : RECORDING_ON, __ATOMIC_SEQ_CST);
    if (is_paused)
        cursors_take_slow_path();
}

/* The row of this process can be seen. The collector stores is_paused, then looks for rows; we look again after our
 * store: one of the two notices a change that comes now. */
void capture_settle(void)
{
    const uint32_t *asked = &recorder_segment.header->is_paused;
    uint32_t is_paused;
    do {
        is_paused = __atomic_load_n(asked, __ATOMIC_SEQ_CST);
        set_paused(is_paused != 0);
    } while (is_paused != __atomic_load_n(asked, __ATOMIC_SEQ_CST));
}

static void tell_others(bool is_paused)
{
    uint64_t *request = &recorder_segment.header->pause_request;
    const struct process_state *state = process_state_get();
    __atomic_store_n(&recorder_segment.header->is_paused, is_paused,
                     __ATOMIC_SEQ_CST); /* children that are forked now */
    uint64_t old = __atomic_load_n(request, __ATOMIC_RELAXED), next;
    do
        next = session_pause_request(old, state ? state->slot : 0, is_paused, identity);
    while (!__atomic_compare_exchange_n(request, &old, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* From now on this process knows best: others may reach what the rule waits for sooner, or later. */
static void decide_alone(struct process_state *state)
{
    struct session_process *row =
        (struct session_process *)(void *)(recorder_segment.memory + recorder_segment.layout.processes) +
        state->slot;
    __atomic_store_n(&row->state, PROCESS_ALONE, __ATOMIC_SEQ_CST);
    __atomic_store_n(&state->is_alone, 1, __ATOMIC_RELAXED);
}

/* Changes of one process come one after the other, each whole: with threads that change it at once, what it does, what
 * the others hear of and what the trace says would differ for good. */
static void change_if(bool is_paused, bool (*is_wanted)(void), bool tells_others)
{
    struct process_state *state = process_state_get();
    sigset_t all, saved;
    if (!cursor_of_thread() || !state ||
        (!__atomic_load_n(&state->is_changing, __ATOMIC_SEQ_CST) &&
         __atomic_load_n(&state->is_alone, __ATOMIC_RELAXED) && recorder_is_paused() == is_paused))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    while (__atomic_exchange_n(&state->is_changing, 1, __ATOMIC_SEQ_CST))
        sched_yield(); /* another thread: signals are blocked */
    bool is_first = !state->is_alone, is_change = recorder_is_paused() != is_paused;
    if (is_first)
        decide_alone(state);
    if ((is_change || (is_first && !is_paused)) && (!is_wanted || is_wanted())) {
        if (!is_paused)
            set_paused(false);
        record_pause(is_paused);
        if (is_paused)
            set_paused(true);
        if (tells_others)
            tell_others(is_paused);
    }
    __atomic_store_n(&state->is_changing, 0, __ATOMIC_SEQ_CST);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

static void change(bool is_paused)
{
    change_if(is_paused, NULL, true);
}

OPSCOPE_API void opscope_pause_(int is_paused)
{
    change(is_paused != 0);
}

OPSCOPE_API void opscope_capture_(int is_on)
{
    if (cursor_of_thread() && rule.kind == CAPTURE_PROFILER_API)
        change(!is_on);
}

/* --- rules; each is asked before and after the record is made --- */

static bool is_text(const char *wanted, const char *text)
{
    return *wanted && strcmp(wanted, text) == 0;
}

void capture_signpost(const char *header, bool is_before)
{
    if (rule.kind == CAPTURE_SIGNPOSTS && is_text(is_before ? rule.from : rule.to, header))
        change(!is_before);
}

/* Step n is from mark n to the next one; where marks are made at the end of steps, from mark n - 1 to mark n. With its
 * first mark the process begins to count for itself. */
void capture_frame(bool is_before, bool ends_a_step)
{
    if (rule.kind != CAPTURE_STEPS)
        return;
    uint64_t count = is_before ? __atomic_add_fetch(&marks, 1, __ATOMIC_RELAXED)
                               : __atomic_load_n(&marks, __ATOMIC_RELAXED);
    uint64_t begun = count + ends_a_step;
    bool is_wanted = begun >= rule.first_step && begun <= rule.last_step;
    bool is_ended = begun - 1 == rule.last_step;
    if (is_before && is_wanted && (count == 1 || begun == rule.first_step))
        change(false);
    else if (!is_before && !is_wanted && (count == 1 || is_ended))
        change_if(true, NULL, is_ended); /* else it only stops to follow another */
}

static bool no_zone_is_open(void)
{
    return !__atomic_load_n(&zones_open, __ATOMIC_SEQ_CST);
}

bool capture_zone_begins(struct thread_cursor *c, uint32_t id)
{
    if (!names_is_called(id, rule.from))
        return false;
    if (!c->capture_depth)
        __atomic_fetch_add(&zones_open, 1, __ATOMIC_SEQ_CST);
    change(false);
    return true;
}

/* Not before: a handler that records before the zone counts as open (most come at the end of change) would end it. */
void capture_zone_has_begun(struct thread_cursor *c)
{
    if (c->capture_depth)
        return;
    bool is_lost = cursor_hides(c);
    c->capture_hidden = is_lost ? c->hidden : 0;
    c->capture_depth = cursor_depth(c) + is_lost;
}

void capture_zone_ended(struct thread_cursor *c)
{
    c->capture_depth = 0;
    c->capture_hidden = 0;
    if (__atomic_sub_fetch(&zones_open, 1, __ATOMIC_SEQ_CST) == 0)
        change_if(true, no_zone_is_open, true);
}

void capture_zone_may_have_ended(struct thread_cursor *c)
{
    bool has_ended = c->capture_hidden ? c->hidden < c->capture_hidden : c->capture_depth > cursor_depth(c);
    if (c->capture_depth && has_ended)
        capture_zone_ended(c);
}

/* --- zones that are begun while paused --- */

OPSCOPE_API void opscope_zone_hide_(void)
{
    struct thread_cursor *c = cursor_of_thread();
    if (c)
        cursor_hide_zone(c);
}

/* --- fork --- */

/* Nobody knows the child yet: it looks for itself at its first event. */
static void forked(void)
{
    if (__atomic_load_n(&opscope_recording, __ATOMIC_RELAXED) == RECORDING_PAUSED)
        __atomic_store_n(&opscope_recording, RECORDING_ON, __ATOMIC_RELAXED);
    marks = zones_open = 0;
}

void capture_prepare(void)
{
    pthread_atfork(NULL, NULL, forked);
}
