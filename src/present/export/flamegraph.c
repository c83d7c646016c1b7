/* SPDX-License-Identifier: Apache-2.0 */
/* Flame graphs: SVG that is a picture in every viewer and can be zoomed and searched in a browser, alone or in a page.
 *
 * The frames are drawn here, for a width of 1200 px; the script (present/assets/flame.js) reads them back. The root is
 * on top, siblings are in order of size. What is smaller than a ten-thousandth is not drawn, nor, in graphs with very
 * many frames, what is smaller than a limit that leaves MOST_FRAMES of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/class.h"
#include "analyze/zones/waiting.h"
#include "present/assets.h"
#include "present/export/stacks.h"
#include "present/format.h"
#include "present/name_colour.h"
#include "present/overview/overview.h"
#include "text/markup_write.h"
#include "text/utf8.h"

#define WIDTH 1200.0
#define ROW 18u
#define TOP 58u /* above the frames: title, note, details */
#define LETTER 6.6
#define LEAST_SHARE 0.0001
#define MOST_FRAMES 10000u
#define WRAPPER_SELF_RATIO 0.1 /* a frame with less of its own is pale, as on the page */

struct frame {
    uint32_t parent, first_child, next_sibling; /* STACK_NONE */
    uint32_t text, name;                        /* as in a stack node */
    uint64_t own, total, count;
};

struct flame {
    struct export_job *job;
    struct stacks stacks;
    enum export_flame_by by;
    struct frame *frames; /* the root first; parents before children */
    size_t count, capacity;
    struct map children;
    uint64_t least; /* smaller ones are not drawn */
    size_t drawn, left_out;
    unsigned depth; /* rows */
};

/* --- frames --- */

static uint32_t child_of(struct flame *f, uint32_t parent, uint32_t text, uint32_t name)
{
    uint64_t key = (uint64_t)parent << 32 | text;
    uint32_t at = map_get(&f->children, key);
    if (at != MAP_NONE)
        return at;
    if (f->count >= STACK_NONE - 1 ||
        !array_reserve(&f->frames, &f->capacity, f->count + 1, sizeof *f->frames) ||
        !map_put(&f->children, key, (uint32_t)f->count))
        return STACK_NONE;
    f->frames[f->count] = (struct frame){
        .parent = parent, .first_child = STACK_NONE, .next_sibling = STACK_NONE, .text = text, .name = name};
    return (uint32_t)f->count++;
}

static uint64_t weight_of(const struct flame *f, const struct stack_node *node)
{
    return f->by == EXPORT_FLAME_DEVICE  ? node->device_ns
           : f->by == EXPORT_FLAME_COUNT ? node->count
                                         : node->self_ns;
}

/* Programs and threads are frames where there are several. */
static void count_levels(const struct stacks *s, size_t *programs, size_t *threads)
{
    *programs = *threads = 0;
    for (size_t i = 0; i < s->node_count; i++) {
        if (s->nodes[i].name == TRACE_NONE)
            ++*(s->nodes[i].parent == STACK_NONE ? programs : threads);
    }
}

/* As the zones were called. */
static bool make_downward(struct flame *f)
{
    const struct stacks *s = &f->stacks;
    size_t programs, threads;
    uint32_t *places = malloc((s->node_count + 1) * sizeof *places);
    bool is_made = places;
    count_levels(s, &programs, &threads);
    for (size_t i = 0; is_made && i < s->node_count; i++) {
        const struct stack_node *node = &s->nodes[i];
        uint32_t parent = node->parent == STACK_NONE ? 0 : places[node->parent];
        bool is_shown = node->name != TRACE_NONE || (node->parent == STACK_NONE ? programs : threads) > 1;
        places[i] = is_shown ? child_of(f, parent, node->frame, node->name) : parent;
        is_made = places[i] != STACK_NONE;
        if (is_made) {
            f->frames[places[i]].own += weight_of(f, node);
            f->frames[places[i]].count += f->by == EXPORT_FLAME_DEVICE ? node->device_count : node->count;
        }
    }
    free(places);
    for (size_t i = f->count; is_made && i-- > 0;) {
        f->frames[i].total += f->frames[i].own;
        if (i)
            f->frames[f->frames[i].parent].total += f->frames[i].total;
    }
    return is_made;
}

/* Names by their own time, and below each of them who called it. */
static bool make_upward(struct flame *f)
{
    const struct stacks *s = &f->stacks;
    for (size_t i = 0; i < s->node_count; i++) {
        const struct stack_node *node = &s->nodes[i];
        uint32_t at = 0;
        if (node->self_ns == 0 || node->name == TRACE_NONE)
            continue;
        f->frames[0].total += node->self_ns;
        for (uint32_t up = (uint32_t)i; up != STACK_NONE && s->nodes[up].name != TRACE_NONE;
             up = s->nodes[up].parent) {
            at = child_of(f, at, s->nodes[up].frame, s->nodes[up].name);
            if (at == STACK_NONE)
                return false;
            f->frames[at].total += node->self_ns;
            f->frames[at].count += node->count;
        }
        f->frames[at].own += node->self_ns; /* nobody called those */
    }
    return true;
}

static int compare_frames(const void *left, const void *right, void *context)
{
    const struct flame *f = context;
    const struct frame *a = &f->frames[*(const uint32_t *)left], *b = &f->frames[*(const uint32_t *)right];
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->total != b->total)
        return a->total > b->total ? -1 : 1;
    return strcmp(intern_text(&f->stacks.frames, a->text), intern_text(&f->stacks.frames, b->text));
}

/* Links the children of each frame, largest first. */
static bool link_children(struct flame *f)
{
    uint32_t *order = malloc((f->count + 1) * sizeof *order);
    if (!order)
        return false;
    for (uint32_t i = 1; i < f->count; i++)
        order[i - 1] = i;
    qsort_r(order, f->count - 1, sizeof *order, compare_frames, f);
    for (size_t i = f->count - 1; i-- > 0;) {
        struct frame *parent = &f->frames[f->frames[order[i]].parent];
        f->frames[order[i]].next_sibling = parent->first_child;
        parent->first_child = order[i];
    }
    free(order);
    return true;
}

/* What is small enough not to be drawn; frames below it are no larger. */
static void choose_least(struct flame *f)
{
    f->least = (uint64_t)(LEAST_SHARE * (double)f->frames[0].total);
    f->least = f->least ? f->least : 1;
    for (;; f->least += f->least) {
        f->drawn = 0;
        for (size_t i = 0; i < f->count; i++)
            f->drawn += f->frames[i].total >= f->least;
        if (f->drawn <= MOST_FRAMES)
            break;
    }
    f->left_out = f->count - f->drawn;
}

static int make_frames(struct flame *f)
{
    bool is_made = array_reserve(&f->frames, &f->capacity, 1, sizeof *f->frames);
    if (is_made) {
        f->frames[0] = (struct frame){.parent = STACK_NONE,
                                      .first_child = STACK_NONE,
                                      .next_sibling = STACK_NONE,
                                      .text = STACK_NONE,
                                      .name = TRACE_NONE};
        f->count = 1;
        is_made = f->by == EXPORT_FLAME_SELF ? make_upward(f) : make_downward(f);
    }
    if (!is_made || !link_children(f))
        return export_no_memory(f->job);
    if (f->frames[0].total == 0)
        return error_set(f->job->err, EINVAL,
                         f->by == EXPORT_FLAME_DEVICE
                             ? "no run on a device is there to draw: --flame-by wall shows the host"
                             : "no zones are there to draw (see opscope info)");
    choose_least(f);
    return 0;
}

/* --- words --- */

static const char *text_of(const struct flame *f, const struct frame *frame)
{
    return frame->parent == STACK_NONE ? "all" : intern_text(&f->stacks.frames, frame->text);
}

static const char *format_weight(const struct flame *f, struct number_text *out, uint64_t weight)
{
    return f->by == EXPORT_FLAME_COUNT ? format_things(out, weight, "zone") : format_duration(out, weight);
}

/* "matmul", "12.3 ms, 45.6%; own 1.2 ms; 12 calls", "a.py:12" in lines. */
static void put_title(struct flame *f, const struct frame *frame)
{
    struct bytes text = {0};
    struct number_text total, own, count, share;
    const char *name = text_of(f, frame), *place = strchr(name, '\n');
    bytes_append(&text, name, place ? (size_t)(place - name) : strlen(name));
    bytes_append_format(&text, "\n%s, %s", format_weight(f, &total, frame->total),
                        format_percent(&share, 100.0 * (double)frame->total / (double)f->frames[0].total, 1));
    if (frame->own && frame->own < frame->total && f->by != EXPORT_FLAME_SELF)
        bytes_append_format(&text, "; own %s", format_weight(f, &own, frame->own));
    if (frame->count && f->by != EXPORT_FLAME_COUNT)
        bytes_append_format(
            &text, "; %s",
            format_things(&count, frame->count, f->by == EXPORT_FLAME_DEVICE ? "run" : "call"));
    if (place)
        bytes_append_text(&text, place);
    bytes_append_text(&f->job->out, "<title>");
    xml_append_text(&f->job->out, bytes_text(&text), false);
    bytes_append_text(&f->job->out, "</title>");
    f->job->out.failed |= text.failed;
    bytes_free(&text);
}

static void put_label(struct flame *f, const struct frame *frame, double width)
{
    const char *name = text_of(f, frame), *place = strchr(name, '\n');
    struct bytes text = {0};
    if (width >= 8 + 3 * LETTER) {
        /* the end is cut off, as the script does it */
        size_t room = (size_t)((width - 8) / LETTER), length = place ? (size_t)(place - name) : strlen(name);
        size_t at = 0, letters = 0, last = 0;
        while (at < length && letters < room) {
            uint32_t character;
            last = at;
            at += utf8_decode(name + at, length - at, &character);
            letters++;
        }
        bytes_append(&text, name, at < length ? last : length);
        if (at < length)
            bytes_append_text(&text, "\xe2\x80\xa6");
    }
    xml_append_text(&f->job->out, bytes_text(&text), false);
    f->job->out.failed |= text.failed;
    bytes_free(&text);
}

static void put_class(struct flame *f, const struct frame *frame)
{
    const char *name = frame->name == TRACE_NONE ? "" : trace_get_name(f->job->trace, frame->name)->name;
    bool is_run = f->by == EXPORT_FLAME_DEVICE && frame->own;
    bool is_pale =
        f->by != EXPORT_FLAME_SELF && (double)frame->own < WRAPPER_SELF_RATIO * (double)frame->total;
    if (frame->name == TRACE_NONE || waiting_is_name(name))
        bytes_append_text(&f->job->out, "f plain");
    else
        bytes_append_format(&f->job->out, "f c%u%s",
                            is_run ? overview_colour(perf_name_of(name).class_) : name_colour(name),
                            is_pale ? " pale" : "");
}

/* --- the picture --- */

static int put_frame(struct flame *f, const struct frame *frame, double x, unsigned depth)
{
    struct bytes *out = &f->job->out;
    double width = WIDTH * (double)frame->total / (double)f->frames[0].total;
    unsigned y = TOP + depth * ROW;
    bytes_append_text(out, "<g class=\"");
    put_class(f, frame);
    bytes_append_format(out, "\" tabindex=\"%d\">", depth ? -1 : 0);
    put_title(f, frame);
    bytes_append_format(out,
                        "<rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" data-w=\"%.3f\" height=\"%u\" rx=\"2\"/>",
                        x, y, width > 1 ? width - 0.5 : width, width, ROW - 1);
    bytes_append_format(out, "<text x=\"%.3f\" y=\"%u\">", x + 4, y + 12);
    put_label(f, frame, width);
    bytes_append_text(out, "</text></g>\n");
    return export_flush(f->job, false);
}

/* Frames are looked at depth first; `draws` false only counts the rows. */
static int put_frames(struct flame *f, bool draws)
{
    double *offsets = NULL; /* by depth: where the next child begins */
    size_t capacity = 0;
    uint32_t at = 0;
    unsigned depth = 0;
    int result = 0;
    while (at != STACK_NONE && result == 0) {
        const struct frame *frame = &f->frames[at];
        if (!array_reserve(&offsets, &capacity, depth + (size_t)2, sizeof *offsets)) {
            result = export_no_memory(f->job);
            break;
        }
        if (at == 0)
            offsets[0] = 0;
        double x = offsets[depth];
        if (draws)
            result = put_frame(f, frame, x, depth);
        f->depth = depth + 1 > f->depth ? depth + 1 : f->depth;
        offsets[depth + 1] = x;
        offsets[depth] = x + WIDTH * (double)frame->total / (double)f->frames[0].total;
        uint32_t next =
            frame->first_child; /* siblings are in order: after a small one there are only small ones */
        if (next != STACK_NONE && f->frames[next].total >= f->least) {
            at = next;
            depth++;
            continue;
        }
        while (at != STACK_NONE) {
            next = f->frames[at].next_sibling;
            if (next != STACK_NONE && f->frames[next].total >= f->least) {
                at = next;
                break;
            }
            at = f->frames[at].parent;
            depth--;
        }
    }
    free(offsets);
    return result;
}

static void put_note(struct flame *f)
{
    static const char *const what[] = {
        [EXPORT_FLAME_WALL] = "wall time of zones, callers above",
        [EXPORT_FLAME_SELF] = "own time of zones, their callers below",
        [EXPORT_FLAME_DEVICE] = "device time of runs, below the code that launched them",
        [EXPORT_FLAME_COUNT] = "count of zones, callers above",
    };
    struct bytes text = {0};
    struct number_text total, left_out, lost;
    bytes_append_format(&text, "%s: %s in all", what[f->by], format_weight(f, &total, f->frames[0].total));
    if (f->left_out)
        bytes_append_format(&text, "; %s too small to be drawn",
                            format_things(&left_out, f->left_out, "frame"));
    if (f->job->counts->lost_zones)
        bytes_append_format(&text, "; the recording lost %s",
                            format_things(&lost, f->job->counts->lost_zones, "zone"));
    xml_append_text(&f->job->out, bytes_text(&text), false);
    f->job->out.failed |= text.failed;
    bytes_free(&text);
}

static void put_title_text(struct flame *f)
{
    const char *title = f->job->options->title ? f->job->options->title : "flame graph";
    xml_append_text(&f->job->out, title, false);
}

static int put_svg(struct flame *f)
{
    struct bytes *out = &f->job->out;
    int result = put_frames(f, false);
    if (result)
        return result;
    bytes_append_format(
        out,
        "<svg class=\"opscope-flame\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %u\" "
        "width=\"100%%\" preserveAspectRatio=\"xMinYMin\" role=\"figure\" aria-label=\"flame graph\">\n<style>",
        WIDTH, TOP + f->depth * ROW + 8);
    bytes_append_text(out, asset_flame_css);
    bytes_append_text(out, "</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n"
                           "<text class=\"head\" x=\"8\" y=\"20\">");
    put_title_text(f);
    bytes_append_text(out, "</text>\n<text class=\"note\" x=\"8\" y=\"36\">");
    put_note(f);
    bytes_append_format(
        out,
        "</text>\n<text class=\"detail\" x=\"8\" y=\"52\"></text>\n"
        "<text class=\"found right\" data-right=\"228\" x=\"%.0f\" y=\"22\"></text>\n"
        "<foreignObject class=\"right\" data-right=\"220\" x=\"%.0f\" y=\"6\" width=\"212\" height=\"26\">"
        "<input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" placeholder=\"Search names (/)\" "
        "aria-label=\"Search names\"/></foreignObject>\n",
        WIDTH - 228, WIDTH - 220);
    result = put_frames(f, true);
    bytes_append_text(out, "<script><![CDATA[\n");
    bytes_append_text(out, asset_flame_js);
    bytes_append_text(out, "]]></script>\n</svg>\n");
    return result;
}

static int put_document(struct flame *f)
{
    struct bytes *out = &f->job->out;
    if (!f->job->options->is_html) {
        bytes_append_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        return put_svg(f);
    }
    bytes_append_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                           "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
    put_title_text(f);
    bytes_append_text(out,
                      "</title>\n<style>body { margin: 0; background: Canvas; }</style>\n</head>\n<body>\n");
    int result = put_svg(f);
    bytes_append_text(out, "</body>\n</html>\n");
    return result;
}

int export_write_flamegraph(struct export_job *job)
{
    struct flame f = {.job = job, .by = job->options->flame_by};
    const struct stacks_options options = {
        .has_places = true, .is_host_only = true, .has_device_time = f.by == EXPORT_FLAME_DEVICE};
    int result = stacks_make(&f.stacks, job, &options);
    if (result == 0)
        result = make_frames(&f);
    if (result == 0)
        result = put_document(&f);
    stacks_free(&f.stacks);
    map_free(&f.children);
    free(f.frames);
    return result;
}
