/* SPDX-License-Identifier: Apache-2.0 */
/* The op model: every call of an accelerator operation, what ran on devices for it, and what is known of both, in typed
 * arrays. Importers and the trace reader fill it, ops_finish joins it once, and everything that shows ops reads it:
 * tables, the report, comparisons, exports. The trace file is its stored form. No vendor's words, no text that would
 * have to be parsed again.
 *
 *     struct ops ops;
 *     ops_init(&ops);
 *     ops_from_trace(&ops, trace, &wanted, &err);          or an importer: ops_add_call, ops_add_run ...
 *     ops_finish(&ops, &err);                              join, gaps, stale times, the order of lines (finish.h)
 *     for (i = 0; i < ops.line_count; i++) ... ops.lines[i] ...
 *     ops_free(&ops);
 *
 * A program calls few different ops, many times each. What calls have in common is kept once: a description holds the
 * tensors, attributes, kernels and the place in the source, and equal descriptions are one; texts are interned. A call
 * takes 64 bytes, a run 56, a line 20 with its run's place, so a million of each take 140 MB; the ticks of runs and
 * figures beyond times (16 bytes each) are read only where they are wanted.
 *
 * Ids are places in the arrays below; OPS_NONE means "no such thing", also of a text. An addition that finds no memory
 * sets `failed`, and gives OPS_NONE or does nothing: callers check once, with ops_check. */
#ifndef OPSCOPE_OPS_OPS_H
#define OPSCOPE_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/slice.h"

#define OPS_NONE UINT32_MAX

/* --- what calls have in common --- */

/* Sizes of any rank: `rank` elements of ops.sizes from each of these places on; OPS_NONE where they are not known. */
struct op_tensor {
    uint32_t rank;
    uint32_t shape, padded, strides;
    uint32_t dtype, layout, memory; /* texts */
    uint32_t rest;                  /* text: what the source said beyond this, as "key=value;..." */
};

/* Code that ran for an op: a CUDA kernel, a compute or data movement kernel of a core. Zero sizes: not known. */
struct op_kernel {
    uint32_t name, source, hash; /* texts */
    uint32_t role;               /* text: "compute", "data movement" ... */
    uint32_t grid[3], block[3];
    uint32_t registers, shared_bytes;
};

struct op_attribute {
    uint32_t key, value; /* texts */
};

/* Places in ops.lists, where the ids of tensors, attributes and kernels stand one after the other. */
struct op_description {
    uint32_t first; /* of inputs, outputs, attributes, kernels, in this order */
    uint16_t inputs, outputs, attributes, kernels; /* how many of each */
    uint32_t location;                             /* text: "file:line", a compiler's loc(...) */
    uint32_t module;                               /* text: the path of the layer, "model.layers.0.mlp" */
    uint32_t fidelity;                             /* text: the precision of the math */
};

/* --- figures --- */

enum op_figure_kind {
    OP_FIGURE_TICKS = 0, /* of the device's clock */
    OP_FIGURE_NS = 1,
    OP_FIGURE_COUNT = 2,
    OP_FIGURE_BYTES = 3, /* memory traffic, per level: "DRAM read", "L2 write" */
    OP_FIGURE_REAL = 4,
    OP_FIGURE_PERCENT = 5, /* real, 100 is all */
    OP_FIGURE_TEXT = 6,    /* whole is a text: a list, a value that is not a number */
    OP_FIGURE_KINDS
};

struct op_figure {
    uint32_t name; /* text */
    uint32_t kind; /* enum op_figure_kind */
    union {
        uint64_t whole;
        double real;
    };
};

static inline bool op_figure_is_real(uint32_t kind)
{
    return kind == OP_FIGURE_REAL || kind == OP_FIGURE_PERCENT;
}

/* --- calls, runs, signposts --- */

enum op_type {
    OP_TYPE_DEVICE = 0,
    OP_TYPE_HOST = 1,
    OP_TYPE_FALLBACK = 2,
    OP_TYPE_CPU = 3 /* in traces only */
};

#define OPS_MOST_RUNS ((1u << 24) - 1) /* of a call */

/* What is wrong with a call or a run. Each is named in the notes and beside the row. */
enum op_fault {
    OP_FAULT_CUT = 1,          /* its description ended early: only its name is known */
    OP_FAULT_NO_HOST_TIME = 2, /* when it was called is not known */
    OP_FAULT_OPEN = 4,         /* had not returned at the end of the recording */
    OP_FAULT_NO_RUN = 8,       /* a device op of which no device recorded anything */
    OP_FAULT_NO_CALL = 16,     /* a run whose call was not recorded */
    OP_FAULT_REPEATED = 32,    /* the call's number was taken by another call */
    OP_FAULT_INCOMPLETE = 64,  /* some core's end was not recorded */
    OP_FAULT_STALE = 128,      /* device times of an earlier run: left out of the sums */
    OP_FAULT_NO_REPLAY = 256,  /* the replay that it belongs to was not recorded */
    OP_FAULT_NO_DESCRIPTION = 512,
    OP_FAULT_NO_MESSAGE = 1024, /* when it was called is all that is known */
};

struct op_call {
    uint64_t number; /* unique in its process: the program's own count of calls; OPS_NO_NUMBER */
    uint64_t start_ns, end_ns;
    uint32_t process, track; /* as in the trace; OPS_NONE */
    uint32_t name;           /* text */
    uint32_t description;
    uint32_t device;    /* in ops.devices; OPS_NONE: a host op, or not known */
    uint32_t first_run; /* after ops_finish: its runs are next to each other in ops.run_order */
    uint32_t first_figure;
    uint16_t figures;   /* of the call itself: times of host functions, the cells of a table's row */
    uint16_t faults;    /* enum op_fault */
    uint32_t runs : 24; /* a server replays for days */
    uint32_t type : 8;  /* enum op_type */
    /* text: "file:line" of the code that called it, where its description has no location: places.h */
    uint32_t place;
};

enum op_run_flag {
    OP_RUN_ESTIMATED = 1, /* from a model, not from a device */
    OP_RUN_MERGED = 2,    /* the longest of several devices stands for all */
    OP_RUN_WRONG_GAP = 4, /* the time before or after its gap is wrong: not to be summed */
    /* of the same execution of its call as the run before it in ops.run_order: same line */
    OP_RUN_FURTHER = 8,
};

struct op_run {
    uint64_t start_ns;
    uint64_t duration_ns;
    int64_t gap_ns; /* since anything ran on the device, below 0: something still did; INT64_MIN: not known */
    uint32_t call;  /* in ops.calls; OPS_NONE */
    uint32_t track; /* in the trace; OPS_NONE */
    uint32_t session; /* replay of a captured trace; 0: none */
    uint32_t cores;   /* 0: not known */
    uint32_t first_figure;
    uint16_t figures;
    uint16_t faults; /* enum op_fault */
    uint16_t device; /* in ops.devices; OPS_NO_DEVICE */
    uint16_t flags;  /* enum op_run_flag */
    uint32_t name;   /* text: of the kernel; OPS_NONE: not known, as its call */
};
/* When it ran by the device's own clock: apart, since most views never ask. Both 0: not known. */
struct op_ticks {
    uint64_t start, end;
};
#define OPS_NO_DEVICE UINT16_MAX
#define OPS_NO_DURATION UINT64_MAX /* of a run: that it ran is known, not how long */
#define OPS_NO_GAP INT64_MIN
#define OPS_NO_NUMBER UINT64_MAX

struct op_signpost {
    uint64_t time_ns;
    uint32_t header, text; /* texts */
    uint32_t track;        /* in the trace; OPS_NONE */
};

/* The order in which views show calls, runs and signposts. A call without runs and a run without a call have lines of
 * their own; a call that ran several times, or on several devices, has one line for each. Where a call ran as several
 * kernels, the line has the first run, and the others are flagged OP_RUN_FURTHER (ops_sum_line). */
struct op_line {
    uint32_t call, run, signpost; /* OPS_NONE where it has no such part */
    uint32_t source_line;         /* in the file that it was read from; 0: none */
};

/* --- devices and remarks --- */

struct op_device {
    uint32_t number;       /* as the program numbers its devices */
    uint32_t name;         /* text */
    uint32_t architecture; /* text: names the machine file; OPS_NONE: the device did not say */
    uint32_t cores;        /* that a program may use; 0: not known */
    double ticks_per_second;
};

/* Something that could not be read or joined: one sentence per kind, counted. */
enum op_notice_severity { OP_NOTICE_DAMAGED, OP_NOTICE_UNMATCHED, OP_NOTICE_LOST, OP_NOTICE_INFO };
enum op_notice_kind {
    OP_NOTICE_KIND_REPEATED = 1,
    OP_NOTICE_KIND_OWN = 1000
}; /* sources count from OWN on */
struct op_notice {
    uint32_t kind; /* enum op_notice_kind, or the source's own: notices of one kind are one */
    uint8_t severity;
    uint64_t count;
    uint64_t first_line; /* in the source; 0: none */
    uint32_t text;       /* of the first one */
};

/* What an importer says of the whole: {"kind", "device only"}, {"column", a column of a table} ... */
struct op_fact {
    uint32_t key, value; /* texts */
};

/* --- the model --- */

struct ops {
    struct intern texts;
    int64_t *sizes;
    size_t size_count, size_capacity;
    uint32_t *size_places; /* by id in size_index */
    size_t size_place_capacity;
    struct op_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    struct op_kernel *kernels;
    size_t kernel_count, kernel_capacity;
    struct op_attribute *attributes;
    size_t attribute_count, attribute_capacity;
    struct op_description *descriptions;
    size_t description_count, description_capacity;
    uint32_t *lists;
    size_t list_count, list_capacity;
    struct op_figure *figures;
    size_t figure_count, figure_capacity;
    struct op_call *calls;
    size_t call_count, call_capacity;
    uint32_t *own_places; /* by call, as far as some have any: ops_own_place */
    size_t own_place_count, own_place_capacity;
    struct op_run *runs;
    size_t run_count, run_capacity;
    struct op_ticks *ticks; /* by run, as far as some are known: ops_ticks */
    size_t tick_count, tick_capacity;
    uint32_t *run_order;   /* ops_finish: ids of runs, those of one call next to each other */
    size_t unmatched_runs; /* ops_finish: runs of no call */
    struct op_signpost *signposts;
    size_t signpost_count, signpost_capacity;
    struct op_line *lines; /* ops_finish, or a source that has an order of its own: ops_add_line */
    size_t line_count, line_capacity;
    struct op_device *devices;
    size_t device_count, device_capacity;
    struct op_notice *notices;
    size_t notice_count, notice_capacity;
    struct op_fact *facts;
    size_t fact_count, fact_capacity;
    /* equal ones are kept once: bytes of the struct to its place */
    struct intern tensor_index, kernel_index, size_index;
    struct op_index {    /* of arrays that may be long: ids by what they stand for, until ops_finish */
        uint64_t *slots; /* hash << 32 | id + 1, so that a search looks at the right one alone; 0: free */
        size_t slot_count;
    } attribute_index, description_index;
    struct intern tensor_texts; /* of the first tensors that were parsed ... */
    uint32_t *parsed_tensors;   /* ... and which they are */
    size_t parsed_tensor_capacity;
    struct {
        size_t calls, runs, signposts, lines;
    } finished;           /* this many: ops_finish */
    uint32_t *call_slots; /* calls by process and number, until ops_finish */
    size_t call_slot_count;
    struct bytes scratch;
    bool is_recorded; /* what was added last: a run of no call is where its time says */
    bool failed;      /* no memory somewhere */
};

void ops_init(struct ops *ops);
void ops_free(struct ops *ops);
int ops_check(const struct ops *ops, struct error *err); /* -ENOMEM when something failed */

/* --- filling it --- */

uint32_t ops_text(struct ops *ops, struct slice text); /* OPS_NONE for a slice without data */
static inline const char *ops_get_text(const struct ops *ops, uint32_t text)
{
    return intern_text(&ops->texts, text); /* "" for OPS_NONE */
}
uint32_t ops_prefix_text(struct ops *ops, const char *prefix, uint32_t text); /* "prefix: text" */
static inline struct slice ops_get_slice(const struct ops *ops, uint32_t text)
{
    return text < ops->texts.count
               ? slice_from(ops->texts.entries[text].data, ops->texts.entries[text].length)
               : slice_from(NULL, 0);
}

uint32_t ops_sizes(struct ops *ops, const int64_t *sizes,
                   uint32_t rank); /* a place in ops.sizes; equal ones are one */
uint32_t ops_tensor(struct ops *ops, const struct op_tensor *tensor);
uint32_t ops_kernel(struct ops *ops, const struct op_kernel *kernel);
uint32_t ops_attribute(struct ops *ops, uint32_t key, uint32_t value);
/* `ids`: inputs, outputs, attributes and kernels one after the other, as many as the description counts. */
uint32_t ops_description(struct ops *ops, const struct op_description *description, const uint32_t *ids);
/* Says something else from now on, also to those that have it already. */
void ops_rewrite_description(struct ops *ops, uint32_t id, const struct op_description *description,
                             const uint32_t *ids);
static inline const uint32_t *ops_list_at(const struct ops *ops, size_t place)
{
    return ops->lists ? ops->lists + place : NULL; /* no description has a list yet */
}
static inline const uint32_t *ops_inputs(const struct ops *ops, const struct op_description *d)
{
    return ops_list_at(ops, (size_t)d->first);
}
static inline const uint32_t *ops_outputs(const struct ops *ops, const struct op_description *d)
{
    return ops_list_at(ops, (size_t)d->first + d->inputs);
}
static inline const uint32_t *ops_attributes(const struct ops *ops, const struct op_description *d)
{
    return ops_list_at(ops, (size_t)d->first + d->inputs + d->outputs);
}
static inline const uint32_t *ops_kernels(const struct ops *ops, const struct op_description *d)
{
    return ops_list_at(ops, (size_t)d->first + d->inputs + d->outputs + d->attributes);
}

/* Each gives the id of what was added; the caller may change it until ops_finish. */
uint32_t ops_add_call(struct ops *ops, const struct op_call *call);
/* The first call of this number in this process; OPS_NONE. */
uint32_t ops_find_call(const struct ops *ops, uint32_t process, uint64_t number);
void ops_forget_numbers(struct ops *ops); /* frees what ops_find_call needs */
void ops_forget_indexes(struct ops *ops); /* and what is made again when something is added */
uint32_t ops_add_run(struct ops *ops, const struct op_run *run);
/* Of the run that was added last. */
void ops_set_ticks(struct ops *ops, uint64_t start, uint64_t end);
static inline struct op_ticks ops_ticks(const struct ops *ops, const struct op_run *run) /* one of ops.runs */
{
    size_t i = (size_t)(run - ops->runs);
    return i < ops->tick_count ? ops->ticks[i] : (struct op_ticks){0, 0};
}
/* To the run that was added last. */
void ops_add_figure(struct ops *ops, struct op_figure figure);
/* To the call that was added last, before anything else gets figures. */
void ops_add_call_figure(struct ops *ops, struct op_figure figure);
/* The figure of this name among `count` from `first` on; NULL. */
const struct op_figure *ops_find_figure(const struct ops *ops, uint32_t first, uint32_t count, uint32_t name);
void ops_add_signpost(struct ops *ops, uint64_t time_ns, struct slice header, struct slice text);
void ops_add_line(struct ops *ops, struct op_line line);
/* The device of this number, added when new. OPS_NONE: too many. */
uint32_t ops_device(struct ops *ops, uint32_t number);
/* Counts one more of `kind`; the text is made for the first one only. */
void ops_add_notice(struct ops *ops, uint32_t kind, enum op_notice_severity severity, uint64_t line,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
void ops_add_fact(struct ops *ops, struct slice key, struct slice value);
bool ops_has_fact(const struct ops *ops, const char *key, const char *value);
/* For sources that are read piece by piece: no calls, runs, figures, lines and signposts any more; what they have in
 * common stays. */
void ops_clear_calls(struct ops *ops);

#endif
