/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of an overview as JSON (docs/http-api.md): a few kinds of work, the rest is "other". */
#include <math.h>
#include <stdlib.h>

#include "present/overview/overview.h"

#define KINDS_SHOWN 8u

struct kinds {
    struct {
        unsigned class_;
        double ns;
    } items[PERF_CLASSES]; /* what takes longest first */
    unsigned count, shown; /* with any time; those that are not "other" */
};

static struct kinds kinds_of(const struct overview_steps *steps)
{
    struct kinds kinds = {0};
    for (unsigned class_ = 0; class_ < PERF_CLASSES; class_++) {
        double ns = 0;
        for (size_t i = 0; i < steps->count; i++)
            ns += steps->items[i].class_ns[class_];
        if (!(ns > 0))
            continue;
        unsigned at = kinds.count++;
        for (; at > 0 && kinds.items[at - 1].ns < ns; at--)
            kinds.items[at] = kinds.items[at - 1];
        kinds.items[at].class_ = class_;
        kinds.items[at].ns = ns;
    }
    kinds.shown = kinds.count <= KINDS_SHOWN ? kinds.count : KINDS_SHOWN - 1;
    return kinds;
}

static void write_kinds(const struct kinds *kinds, struct json *json)
{
    json_key(json, "kinds");
    json_array(json, JSON_LINES);
    for (unsigned i = 0; i < kinds->count && i <= kinds->shown; i++) {
        unsigned class_ = i < kinds->shown ? kinds->items[i].class_ : PERF_CLASS_OTHER;
        json_object(json, JSON_INLINE);
        json_member_text(json, "kind", i < kinds->shown ? perf_class_text(class_) : "the rest");
        json_member_unsigned(json, "colour", overview_colour(class_));
        json_end(json);
    }
    json_end(json);
}

static void write_step(const struct overview *o, const struct overview_step *step, const struct kinds *kinds,
                       struct json *json)
{
    uint64_t start = trace_get_info(o->trace)->start_ns;
    json_object(json, JSON_INLINE);
    json_member_unsigned(json, "number", step->number);
    json_member_unsigned(json, "count", step->count);
    json_member_text(json, "text", step->text == OPS_NONE ? NULL : perf_text(&o->perf, step->text));
    json_member_unsigned(json, "from", step->from_ns > start ? step->from_ns - start : 0);
    json_member_unsigned(json, "to", step->to_ns > start ? step->to_ns - start : 0);
    json_member_real(json, "idle_ns", round(step->idle_ns));
    json_key(json, "ns");
    json_array(json, JSON_INLINE);
    double rest = 0;
    for (unsigned i = 0; i < kinds->count; i++) {
        double ns = step->class_ns[kinds->items[i].class_];
        if (i < kinds->shown)
            json_real(json, round(ns));
        else
            rest += ns;
    }
    if (kinds->shown < kinds->count)
        json_real(json, round(rest));
    json_end(json);
    json_end(json);
}

void overview_write_steps(const struct overview *o, const struct overview_steps *steps, struct json *json)
{
    struct kinds kinds = kinds_of(steps);
    json_member_text(json, "name", steps->name);
    json_member_unsigned(json, "count", steps->steps);
    write_kinds(&kinds, json);
    json_key(json, "steps");
    json_array(json, JSON_LINES);
    for (size_t i = 0; i < steps->count; i++)
        write_step(o, &steps->items[i], &kinds, json);
    json_end(json);
}
