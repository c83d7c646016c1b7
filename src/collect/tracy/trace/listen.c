/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and zones for a listener. Whether a zone is wanted follows from its name, which may be answered after the
 * zone has ended: such zones are kept until then. */
#include <stdlib.h>

#include "collect/tracy/trace/internal.h"

static void tell(struct tracy_trace *t, struct trace_reported reported)
{
    const struct trace_listener *listener = t->options.listener;
    reported.process = t->process;
    reported.origin_ns = trace_ns(t, (int64_t)t->first_tick);
    listener->tell(listener->context, &reported);
}

void trace_listen_message(struct tracy_trace *t, uint32_t track, uint64_t ns, const char *text, size_t length)
{
    if (t->options.listener)
        tell(t, (struct trace_reported){
                    .track = track, .start_ns = ns, .end_ns = ns, .text = text, .length = length});
}

/* NULL: no memory, or none of the stream's. */
static const uint32_t *wish_of(struct tracy_trace *t, uint32_t source)
{
    size_t had = t->wish_capacity;
    if (source == TRACY_NONE || (source >= had && !array_reserve(&t->wishes, &t->wish_capacity,
                                                                 (size_t)source + 1, sizeof *t->wishes)))
        return NULL;
    if (t->wish_capacity > had)
        memset(t->wishes + had, 0, (t->wish_capacity - had) * sizeof *t->wishes); /* WISH_UNKNOWN */
    uint32_t *wish = &t->wishes[source], waiting = trace_waiting_wish(t);
    if (*wish == WISH_NO || *wish == WISH_YES || *wish == waiting)
        return wish;
    const char *name = late_source_text(t, source);
    *wish = !name ? waiting : t->options.listener->wants_zone(name) ? WISH_YES : WISH_NO;
    return wish;
}

static void tell_zone(struct tracy_trace *t, const struct heard_zone *zone)
{
    tell(t, (struct trace_reported){.track = zone->track,
                                    .start_ns = zone->start,
                                    .end_ns = zone->end,
                                    .name = late_source_text(t, zone->source),
                                    .text = zone->text,
                                    .length = zone->text_length});
}

static void keep_zone(struct tracy_trace *t, struct heard_zone zone)
{
    const char *text = zone.text;
    if (t->heard_count >= MAX_HEARD ||
        !array_reserve(&t->heard, &t->heard_capacity, t->heard_count + 1, sizeof *t->heard))
        return;
    zone.text = malloc(zone.text_length + 1u);
    if (!zone.text)
        return;
    if (zone.text_length)
        memcpy(zone.text, text, zone.text_length);
    t->heard[t->heard_count++] = zone;
}

void trace_listen_zone(struct tracy_trace *t, const struct stack *stack, uint64_t end_ns)
{
    const struct open_zone *open = &stack->zones[stack->depth];
    const uint32_t *wish = wish_of(t, open->source);
    struct heard_zone zone = {
        .start = open->start, .end = end_ns, .source = open->source, .track = stack->track};
    if (!wish || *wish == WISH_NO)
        return;
    for (size_t i = stack->detail_count; i && stack->details[i - 1].depth == stack->depth; i--) {
        const struct zone_detail *detail = &stack->details[i - 1];
        if (detail->kind == TRACE_EXTRA_TEXT) {
            zone.text = detail->text;
            zone.text_length = detail->text_length;
            break;
        }
    }
    if (*wish == WISH_YES)
        tell_zone(t, &zone);
    else
        keep_zone(t, zone);
}

void trace_listen_settle(struct tracy_trace *t, bool is_final)
{
    size_t kept = 0;
    if (!t->heard_count || (!is_final && t->heard_answers == t->names->answered))
        return;
    t->heard_answers = t->names->answered;
    for (size_t i = 0; i < t->heard_count; i++) {
        const uint32_t *wish = wish_of(t, t->heard[i].source);
        if (wish && *wish >= WISH_WAITING && !is_final) {
            t->heard[kept++] = t->heard[i];
            continue;
        }
        if (wish && *wish == WISH_YES)
            tell_zone(t, &t->heard[i]);
        free(t->heard[i].text);
    }
    t->heard_count = kept;
}

void trace_listen_free(struct tracy_trace *t)
{
    for (size_t i = 0; i < t->heard_count; i++)
        free(t->heard[i].text);
    free(t->heard);
    free(t->wishes);
}
