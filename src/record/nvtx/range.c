/* SPDX-License-Identifier: Apache-2.0 */
/* A range that is pushed is a zone of its thread. What zone that is (name, colour, and domain and category where others
 * have their function) is kept in a small cache per thread, by the address of the message: a range that comes again is
 * the recorder's fast path and a comparison of the text, since programs use one buffer for many texts.
 *
 * Domains have stacks of their own, zones of a thread have one. Where a range is popped from below those of another
 * domain, these are ended with it and begun again: times stay right, and they count once more. A pop without a push
 * ends nothing: the zone that is open then is not ours. */
#include "record/nvtx/range.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "opscope/opscope.h"
#include "record/nvtx/text.h"
#include "session/session.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define CACHE_ENTRIES 64u
#define CACHED_BYTES 96u
#define MAX_DEPTH 65536u
#define MAX_WAITING_NAMES 64u
#define NO_RANGE (-1)

struct cached {
    /* the message, where that is a string of the default domain and nothing else is known of it */
    const void *plain;
    const void *message, *domain;
    uint32_t category;
    struct opscope_site site;
    char name[CACHED_BYTES], details[CACHED_BYTES - 8];
};
_Static_assert(sizeof(struct cached) == 256, "its place takes few instructions");

struct open_range {
    const void *domain;
    uint32_t level;
    uint32_t id; /* of the zone's site, to begin it again */
    bool is_zone;
};

struct thread {
    uint32_t depth, capacity;
    uint32_t room; /* depth that needs no look: the capacity, or 0 while there are ranges that are not kept */
    uint32_t unkept; /* ranges beyond MAX_DEPTH, or without memory */
    uint32_t names_seen;
    struct open_range *ranges;
    struct cached cache[CACHE_ENTRIES];
};

static __thread struct thread *self __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t last_number;
static struct {
    uint64_t tid;
    char name[64];
} waiting[MAX_WAITING_NAMES]; /* names that were given to other threads, which take them at their next call */
static uint32_t waiting_count;
static uint32_t names_given; /* a thread that has not seen them all looks for its own */
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;

static void free_thread(void *data)
{
    struct thread *t = data;
    self = NULL;
    free(t->ranges);
    free(t);
}

static void make_key(void)
{
    pthread_key_create(&key, free_thread);
}

static uint32_t find_waiting(uint64_t tid)
{
    uint32_t i = 0;
    while (i < waiting_count && waiting[i].tid != tid)
        i++;
    return i;
}

__attribute__((noinline)) static void take_waiting_name(struct thread *t)
{
    pthread_mutex_lock(&waiting_lock);
    uint32_t i = find_waiting((uint64_t)syscall(SYS_gettid));
    t->names_seen = names_given;
    if (i < waiting_count) {
        opscope_thread_name(waiting[i].name);
        waiting[i] = waiting[--waiting_count];
    }
    pthread_mutex_unlock(&waiting_lock);
}

__attribute__((noinline)) static struct thread *make_thread(void)
{
    pthread_once(&once, make_key);
    self = calloc(1, sizeof *self);
    pthread_setspecific(key, self);
    return self;
}

static inline bool has_new_names(const struct thread *t)
{
    return t->names_seen != __atomic_load_n(&names_given, __ATOMIC_RELAXED);
}

static inline struct thread *thread_get(void)
{
    struct thread *t = self ? self : make_thread();
    if (t && UNLIKELY(has_new_names(t)))
        take_waiting_name(t);
    return t;
}

/* --- what a range is called --- */

static void slice_of(struct nvtx_slice *slice, const struct nvtx_event *event)
{
    if (event->message_type == NVTX_TEXT_ASCII)
        nvtx_slice_ascii(slice, event->message.ascii);
    else if (event->message_type == NVTX_TEXT_WIDE)
        nvtx_slice_wide(slice, event->message.wide);
    else if (event->message_type == NVTX_TEXT_REGISTERED)
        slice->data = nvtx_handle_text(event->message.registered, &slice->length);
    else
        nvtx_slice_ascii(slice, "");
    if (!slice->length)
        nvtx_slice_ascii(slice, "(no message)");
}

static uint32_t colour_of(const struct nvtx_event *event)
{
    return event->colour_type == NVTX_COLOUR_ARGB ? event->colour & 0xffffff : 0;
}

__attribute__((format(printf, 4, 5))) static size_t append(char *out, size_t size, size_t length,
                                                           const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + length, size - length, format, args);
    va_end(args);
    length += n > 0 ? (size_t)n : 0;
    return length < size ? length : size - 1;
}

/* "domain D, category C": "" for the default domain without a category. */
static size_t describe(char *out, size_t size, const void *domain, uint32_t category)
{
    size_t length, name_length;
    const char *name = nvtx_handle_text(domain, &name_length);
    out[0] = '\0';
    length = name_length ? append(out, size, 0, "domain %s", name) : 0;
    if (!category)
        return length;
    name = nvtx_category_find(domain, category);
    length = append(out, size, length, "%scategory %" PRIu32, length ? ", " : "", category);
    return name ? append(out, size, length, " (%s)", name) : length;
}

/* A payload that is a count goes as the zone's value; all others are text. */
static bool payload_count(const struct nvtx_event *event, uint64_t *count)
{
    switch (event->payload_type) {
    case NVTX_PAYLOAD_U64:
        *count = event->payload.u64;
        return true;
    case NVTX_PAYLOAD_U32:
        *count = event->payload.u32;
        return true;
    case NVTX_PAYLOAD_I64:
        *count = (uint64_t)event->payload.i64;
        return event->payload.i64 >= 0;
    case NVTX_PAYLOAD_I32:
        *count = (uint64_t)event->payload.i32;
        return event->payload.i32 >= 0;
    default:
        return false;
    }
}

static size_t append_payload(char *out, size_t size, size_t length, const struct nvtx_event *event)
{
    const char *comma = length ? ", " : "";
    uint64_t count;
    if (payload_count(event, &count))
        return append(out, size, length, "%spayload %" PRIu64, comma, count);
    switch (event->payload_type) {
    case NVTX_PAYLOAD_I64:
        return append(out, size, length, "%spayload %" PRId64, comma, event->payload.i64);
    case NVTX_PAYLOAD_I32:
        return append(out, size, length, "%spayload %" PRId32, comma, event->payload.i32);
    case NVTX_PAYLOAD_DOUBLE:
        return append(out, size, length, "%spayload %.9g", comma, event->payload.real);
    case NVTX_PAYLOAD_FLOAT:
        return append(out, size, length, "%spayload %.9g", comma, (double)event->payload.single);
    default:
        return length;
    }
}

static struct opscope_site site_of(const char *name, const char *details, const struct nvtx_event *event)
{
    return (struct opscope_site){.struct_size = sizeof(struct opscope_site),
                                 .name = name,
                                 .function = details[0] ? details : NULL,
                                 .colour = colour_of(event)};
}

/* --- zones --- */

/* The same address of the message, domain and category as last time? No message is never the same: an entry that is not
 * in use looks as if it had none, too. */
static inline bool is_same_place(const struct cached *c, const void *domain, const struct nvtx_event *event)
{
    return event->message.registered && c->message == event->message.registered && c->domain == domain &&
           c->category == event->category && c->site.colour == colour_of(event);
}

/* And the same text? Registered strings never change, others may. */
static bool is_same(const struct cached *c, const void *domain, const struct nvtx_event *event)
{
    return is_same_place(c, domain, event) &&
           (event->message_type == NVTX_TEXT_REGISTERED ||
            (event->message_type == NVTX_TEXT_ASCII && strcmp(c->name, event->message.ascii) == 0));
}

/* Fills the entry; false where the texts are too long for it, or the message is not kept by address. */
static bool keep(struct cached *c, const void *domain, const struct nvtx_event *event,
                 const struct nvtx_slice *name)
{
    char details[2 * CACHED_BYTES];
    size_t length = describe(details, sizeof details, domain, event->category);
    bool has_address = event->message_type == NVTX_TEXT_ASCII || event->message_type == NVTX_TEXT_REGISTERED;
    if (!has_address || !event->message.registered || name->length >= sizeof c->name ||
        length >= sizeof c->details)
        return false;
    memset(c->name, 0, sizeof c->name);
    memcpy(c->name, name->data, name->length);
    memcpy(c->details, details, length + 1);
    c->message = event->message.registered;
    c->domain = domain;
    c->category = event->category;
    c->site = site_of(c->name, c->details, event);
    c->plain = event->message_type == NVTX_TEXT_ASCII && !domain && !c->category && !c->site.colour
                   ? c->message
                   : NULL;
    return true;
}

static bool begin_zone(struct opscope_site *site, const struct nvtx_event *event)
{
    uint64_t count;
    if (!opscope_zone_enter_(site))
        return false;
    if (event->payload_type && payload_count(event, &count)) {
        opscope_zone_value_(count);
    } else if (event->payload_type) {
        char text[64];
        size_t n = append_payload(text, sizeof text, 0, event);
        if (n)
            opscope_zone_text_(text, n);
    }
    return true;
}

/* Torch's own ranges (emit_nvtx) have numbers after the op: "aten::add, seq = 7, op_id = 9, sizes = [[2]]". The length
 * of the op's name; 0 for other texts. */
static size_t torch_op_length(const struct nvtx_slice *name)
{
    static const char *const parts[] = {", seq = ", ", op_id = "};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *found = strstr(name->data, parts[i]);
        if (found && found[strlen(parts[i])] >= '0' && found[strlen(parts[i])] <= '9')
            return (size_t)(found - name->data);
    }
    return 0;
}

/* A zone with the op's name, so that it is the same zone each time, and the numbers as its text. */
static bool begin_torch_op(const struct nvtx_event *event, const struct nvtx_slice *name, size_t length,
                           uint32_t *id)
{
    char op[NVTX_SHORT_TEXT];
    snprintf(op, sizeof op, "%.*s", (int)(length < sizeof op ? length : sizeof op - 1), name->data);
    struct opscope_site site = site_of(op, "", event);
    bool is_zone = begin_zone(&site, event);
    if (is_zone)
        opscope_zone_text_(name->data + length + 2, name->length - length - 2);
    *id = site.id;
    return is_zone;
}

static inline struct cached *cache_place(struct thread *t, const void *message, const void *domain)
{
    uintptr_t hash = (uintptr_t)message ^ (uintptr_t)domain << 3;
    return &t->cache[(hash ^ hash >> 6 ^ hash >> 12) % CACHE_ENTRIES];
}

/* Begins the zone of a range; its site's id goes into *id. */
static bool begin_range(struct thread *t, const void *domain, const struct nvtx_event *event, uint32_t *id)
{
    struct cached *c = cache_place(t, event->message.registered, domain);
    bool is_zone;
    if (!is_same(c, domain, event)) {
        struct nvtx_slice name;
        slice_of(&name, event);
        size_t op = domain ? 0 : torch_op_length(&name);
        if (op)
            return begin_torch_op(event, &name, op, id);
        if (!keep(c, domain, event, &name)) {
            char details[1024];
            describe(details, sizeof details, domain, event->category);
            struct opscope_site site = site_of(name.data, details, event);
            is_zone = begin_zone(&site, event);
            *id = site.id;
            return is_zone;
        }
    }
    is_zone = begin_zone(&c->site, event);
    *id = c->site.id;
    return is_zone;
}

static struct open_range *add_range(struct thread *t)
{
    if (t->depth == t->capacity) {
        uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
        struct open_range *more = capacity <= MAX_DEPTH ? realloc(t->ranges, capacity * sizeof *more) : NULL;
        if (!more)
            return NULL;
        t->ranges = more;
        t->capacity = t->room = capacity;
    }
    return &t->ranges[t->depth++];
}

/* How many entries lie up to and with the innermost range of that domain; 0: it has none. */
static inline uint32_t find_range(const struct thread *t, const void *domain)
{
    uint32_t n = t->depth;
    while (n && t->ranges[n - 1].domain != domain)
        n--;
    return n;
}

__attribute__((noinline)) static int push_new(const void *domain, const struct nvtx_event *event)
{
    struct thread *t = thread_get();
    uint32_t outer = t ? find_range(t, domain) : 0;
    uint32_t level = outer ? t->ranges[outer - 1].level + 1 : 0;
    struct open_range *range = t && !t->unkept ? add_range(t) : NULL;
    if (!range) {
        if (t) {
            t->unkept++;
            t->room = 0;
        }
        return NO_RANGE;
    }
    range->domain = domain;
    range->level = level;
    range->is_zone = begin_range(t, domain, event, &range->id);
    return (int)level;
}

__attribute__((noinline)) static int push_new_ascii(const char *message)
{
    struct nvtx_event event = {.message_type = NVTX_TEXT_ASCII, .message = {.ascii = message ? message : ""}};
    return push_new(NULL, &event);
}

/* Is the message what it was when the name, which has zeros up to a multiple of 16, was made of it? Written out so that
 * the fast path makes no call, for which it would have to save what it knows. False, too, for a text that ends close to
 * the end of its page, beyond which nothing may be read. */
static inline bool is_surely(const char *name, const char *message)
{
#if defined(__SSE2__)
    for (;; name += 16, message += 16) {
        if (UNLIKELY(((uintptr_t)message & 4095) > 4096 - 16))
            return false;
        __m128i text = _mm_loadu_si128((const __m128i *)(const void *)message);
        __m128i known = _mm_loadu_si128((const __m128i *)(const void *)name);
        uint32_t equal = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, known));
        uint32_t ends = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(text, _mm_setzero_si128()));
        if (ends)
            return !(~equal & (ends ^ (ends - 1)));
        if (equal != 0xffff)
            return false;
    }
#else
    return strcmp(name, message) == 0;
#endif
}

__attribute__((noinline)) static int begin_slowly(struct open_range *range, struct opscope_site *site)
{
    range->is_zone = opscope_zone_enter_(site) != 0;
    range->id = site->id;
    return (int)range->level;
}

__attribute__((noinline)) static int begin_rarely(struct open_range *range, uint64_t *slot)
{
    range->is_zone = opscope_zone_begin_rare_(slot, range->id) != 0;
    return (int)range->level;
}

/* A range that was seen before, and of which there is nothing to say but its name. All calls of this and of what calls
 * it are the last thing that is done, so that no register needs to be saved: 28 ns a range on Intel instead of 33. */
__attribute__((always_inline)) static inline int push_known(struct thread *t, struct cached *c)
{
    uint32_t outer = find_range(t, c->domain), level = outer ? t->ranges[outer - 1].level + 1 : 0;
    struct open_range *range = &t->ranges[t->depth++];
    struct opscope_cursor_ *cursor = opscope_thread_cursor_;
    range->domain = c->domain;
    range->level = level;
    range->is_zone = true;
    range->id = c->site.id;
    if (UNLIKELY(!c->site.id) || UNLIKELY(!opscope_is_recording()))
        return begin_slowly(range, &c->site);
    uint64_t word = c->site.id, head = opscope_head_(OPSCOPE_ZONE_BEGIN_);
    uint64_t owed_bytes = cursor->state.owed_bytes;
    uint64_t *slot = opscope_slots_take_(cursor, 1);
    if (UNLIKELY(!opscope_slots_fit_(cursor, slot, owed_bytes, OPSCOPE_ZONE_ROOM_)))
        return begin_rarely(range, slot);
    opscope_slot_write_(slot, head, word);
    opscope_slots_done_(cursor, 1, 1, 1);
    return (int)level;
}

/* What most programs do: a plain string, in the default domain. */
int nvtx_push_ascii(const char *message)
{
    struct thread *t = self;
    if (UNLIKELY(!t) || UNLIKELY(!message))
        return push_new_ascii(message);
    struct cached *c = cache_place(t, message, NULL);
    if (UNLIKELY(c->plain != message) || UNLIKELY(t->depth >= t->room) || UNLIKELY(has_new_names(t)) ||
        UNLIKELY(!is_surely(c->name, message)))
        return push_new_ascii(message);
    return push_known(t, c);
}

/* As is_same, without a call. */
static inline bool is_surely_same(const struct cached *c, const void *domain, const struct nvtx_event *event)
{
    return is_same_place(c, domain, event) &&
           (event->message_type == NVTX_TEXT_REGISTERED ||
            (event->message_type == NVTX_TEXT_ASCII && is_surely(c->name, event->message.ascii)));
}

int nvtx_push(const void *domain, const struct nvtx_event *event)
{
    struct thread *t = self;
    if (UNLIKELY(!t) || event->payload_type)
        return push_new(domain, event);
    struct cached *c = cache_place(t, event->message.registered, domain);
    if (UNLIKELY(t->depth >= t->room) || UNLIKELY(has_new_names(t)) ||
        UNLIKELY(!is_surely_same(c, domain, event)))
        return push_new(domain, event);
    return push_known(t, c);
}

/* Ends a range that others lie above. */
__attribute__((noinline)) static int pop_below(struct thread *t, uint32_t n, int level)
{
    for (uint32_t i = t->depth; i >= n; i--) {
        if (t->ranges[i - 1].is_zone)
            opscope_zone_leave_();
    }
    memmove(&t->ranges[n - 1], &t->ranges[n], (t->depth - n) * sizeof *t->ranges);
    t->depth--;
    for (uint32_t i = n; i <= t->depth; i++) {
        struct open_range *range = &t->ranges[i - 1];
        struct opscope_site site = {.struct_size = sizeof site, .id = range->id};
        range->is_zone = range->is_zone && range->id && opscope_zone_enter_(&site);
    }
    return level;
}

/* There is nothing to end, or nothing that is kept. */
__attribute__((noinline)) static int pop_none(struct thread *t)
{
    if (t && t->unkept) {
        t->unkept--;
        t->room = t->unkept ? 0 : t->capacity;
    }
    return NO_RANGE;
}

__attribute__((noinline)) static int end_slowly(int level, bool is_zone)
{
    if (is_zone)
        opscope_zone_end_();
    return level;
}

__attribute__((noinline)) static int end_rarely(int level, uint64_t *slot)
{
    opscope_zone_end_rare_(slot, 0);
    return level;
}

int nvtx_pop(const void *domain)
{
    struct thread *t = self;
    uint32_t n = t && t->room ? find_range(t, domain) : 0;
    if (UNLIKELY(!n))
        return pop_none(t);
    int level = (int)t->ranges[n - 1].level;
    if (UNLIKELY(n < t->depth))
        return pop_below(t, n, level);
    t->depth--;
    struct opscope_cursor_ *cursor = opscope_thread_cursor_;
    if (UNLIKELY(!cursor->state.owed_bytes) || UNLIKELY(!t->ranges[n - 1].is_zone))
        return end_slowly(level, t->ranges[n - 1].is_zone);
    uint64_t head = opscope_head_(OPSCOPE_ZONE_END_);
    uint64_t *slot = opscope_slots_take_(cursor, 1);
    if (UNLIKELY(!(slot < cursor->zone_limit)))
        return end_rarely(level, slot);
    opscope_slot_write_(slot, head, 0);
    opscope_slots_done_(cursor, 1, 0, -1);
    return level;
}

/* --- spans and marks --- */

uint64_t nvtx_start(const void *domain, const struct nvtx_event *event)
{
    struct nvtx_slice name;
    char text[NVTX_SHORT_TEXT + 512], details[256];
    uint64_t number = SESSION_SPAN_ANY_THREAD | __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
    thread_get();
    if (!opscope_is_recording())
        return number;
    slice_of(&name, event);
    size_t length = describe(details, sizeof details, domain, event->category);
    length = append_payload(details, sizeof details, length, event);
    if (!length) {
        opscope_span_begin_(name.data, name.length, number);
        return number;
    }
    length = append(text, sizeof text, 0, "%.*s [%s]", (int)NVTX_SHORT_TEXT, name.data, details);
    opscope_span_begin_(text, length, number);
    return number;
}

void nvtx_end(uint64_t number)
{
    if (opscope_has_session() && (number & SESSION_SPAN_ANY_THREAD))
        opscope_span_end_(number);
}

void nvtx_mark(const void *domain, const struct nvtx_event *event)
{
    struct nvtx_slice name;
    char details[512];
    thread_get();
    if (!opscope_has_session()) /* also while paused: a mark may be what a capture waits for */
        return;
    slice_of(&name, event);
    size_t length = describe(details, sizeof details, domain, event->category);
    append_payload(details, sizeof details, length, event);
    opscope_signpost_(name.data, details);
}

/* --- threads --- */

void nvtx_name_thread(uint64_t tid, const char *name)
{
    if (!opscope_has_session())
        return;
    if (tid == (uint64_t)syscall(SYS_gettid)) {
        opscope_thread_name_(name);
        return;
    }
    pthread_mutex_lock(&waiting_lock);
    uint32_t i = find_waiting(tid);
    if (i < MAX_WAITING_NAMES) {
        waiting[i].tid = tid;
        snprintf(waiting[i].name, sizeof waiting[i].name, "%s", name);
        waiting_count += i == waiting_count;
        __atomic_store_n(&names_given, names_given + 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&waiting_lock);
}

void nvtx_range_forked(void)
{
    struct thread *t = self;
    pthread_mutex_init(&waiting_lock, NULL);
    for (uint32_t i = 0; t && i < t->depth; i++)
        t->ranges[i].is_zone = false; /* the parent's, and not open here */
}
