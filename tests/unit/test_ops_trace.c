/* SPDX-License-Identifier: Apache-2.0 */
/* A model of ops written as a trace and read again is the same model, whatever was in it; several traces go into one
 * model without getting mixed up. */
#include "test_trace_support.h"

#include <inttypes.h>

#include "ops/description.h"
#include "ops/finish.h"
#include "ops/from_trace.h"
#include "ops/known_figures.h"
#include "ops/to_trace.h"

#define MODELS 60

static struct error err;

/* --- any model --- */

static uint32_t any_text(struct ops *ops, const char *word, uint64_t of)
{
    char text[64];
    snprintf(text, sizeof text, "%s %" PRIu64, word, random_below(of));
    return ops_text(ops, slice_of(text));
}

static uint32_t any_tensor(struct ops *ops)
{
    struct op_tensor tensor = {.rank = (uint32_t)random_below(6),
                               .shape = OPS_NONE,
                               .padded = OPS_NONE,
                               .strides = OPS_NONE,
                               .dtype = random_below(3) ? any_text(ops, "type", 3) : OPS_NONE,
                               .layout = random_below(3) ? any_text(ops, "layout", 2) : OPS_NONE,
                               .memory = random_below(3) ? any_text(ops, "memory", 4) : OPS_NONE,
                               .rest = OPS_NONE};
    int64_t sizes[6];
    for (size_t i = 0; i < 6; i++)
        sizes[i] = (int64_t)random_below(1000);
    if (random_below(3))
        tensor.shape = ops_sizes(ops, sizes, tensor.rank);
    if (random_below(3))
        tensor.padded = ops_sizes(ops, sizes + 6 - tensor.rank, tensor.rank);
    if (tensor.shape == OPS_NONE && tensor.padded == OPS_NONE)
        tensor.rank = 0;
    return ops_tensor(ops, &tensor);
}

static uint32_t any_description(struct ops *ops)
{
    struct op_description d = {.inputs = (uint16_t)random_below(3),
                               .outputs = (uint16_t)random_below(2),
                               .attributes = (uint16_t)random_below(4),
                               .kernels = (uint16_t)random_below(2),
                               .location = random_below(2) ? any_text(ops, "model.py:", 9) : OPS_NONE,
                               .module = OPS_NONE,
                               .fidelity = OPS_NONE};
    uint32_t ids[16];
    size_t at = 0;
    for (size_t i = 0; i < (size_t)d.inputs + d.outputs; i++)
        ids[at++] = any_tensor(ops);
    for (size_t i = 0; i < d.attributes; i++) {
        bool is_fidelity = i == 0 && random_below(3) == 0;
        uint32_t value = random_below(5) ? any_text(ops, "value=", 20) : OPS_NONE;
        ids[at++] = ops_attribute(
            ops, is_fidelity ? ops_text(ops, slice_of("fidelity")) : any_text(ops, "key", 1000), value);
        if (is_fidelity)
            d.fidelity = value;
    }
    for (size_t i = 0; i < d.kernels; i++)
        ids[at++] = ops_kernel(ops, &(struct op_kernel){.name = any_text(ops, "kernel", 5),
                                                        .source = OPS_NONE,
                                                        .hash = OPS_NONE,
                                                        .role = OPS_NONE});
    return at || d.location != OPS_NONE ? ops_description(ops, &d, ids) : OPS_NONE;
}

static struct op_figure any_figure(struct ops *ops)
{
    struct op_figure figure = {.name = any_text(ops, "figure", 12),
                               .kind = (uint32_t)random_below(OP_FIGURE_KINDS)};
    if (figure.kind == OP_FIGURE_TEXT)
        figure.whole = any_text(ops, "text", 50);
    else if (op_figure_is_real(figure.kind))
        figure.real = (double)random_u64() / 7.0;
    else
        figure.whole = random_u64() >> random_below(64);
    return figure;
}

struct places { /* in the trace */
    uint32_t process, thread, import, devices[2];
};

static void fill(struct ops *ops, const struct places *places)
{
    size_t calls = random_below(40), runs = random_below(60), signposts = random_below(5);
    for (size_t i = 0; i < calls; i++) {
        uint16_t faults = random_below(4) ? 0 : (uint16_t)(random_below(2048) & ~(unsigned)OP_FAULT_NO_RUN);
        uint64_t start = 1 + random_below(1000);
        bool is_open = faults & OP_FAULT_OPEN;
        ops_add_call(ops, &(struct op_call){.number = 1000 + i,
                                            .start_ns = start,
                                            .end_ns = is_open ? 0 : start + random_below(9),
                                            .process = places->process,
                                            .track = places->thread,
                                            .name = any_text(ops, "op", 7),
                                            .description = any_description(ops),
                                            .device = random_below(2) ? ops_device(ops, 3) : OPS_NONE,
                                            .faults = faults,
                                            .type = (uint8_t)random_below(3)});
        for (size_t k = random_below(4); k > 0; k--)
            ops_add_call_figure(ops, any_figure(ops));
    }
    for (size_t i = 0; i < runs; i++) {
        uint64_t device = random_below(2), start = random_below(1000);
        bool has_call = calls && random_below(5);
        uint64_t end = start + random_below(100);
        ops_add_run(ops, &(struct op_run){.call = has_call ? (uint32_t)random_below(calls) : OPS_NONE,
                                          .track = places->devices[device],
                                          .session = (uint32_t)random_below(3),
                                          .cores = (uint32_t)random_below(64),
                                          .faults = random_below(3) ? 0 : OP_FAULT_INCOMPLETE,
                                          .device = (uint16_t)ops_device(ops, (uint32_t)device),
                                          .flags = random_below(2) ? OP_RUN_ESTIMATED : 0});
        ops_set_ticks(ops, start, end);
        for (size_t k = random_below(6); k > 0; k--)
            ops_add_figure(ops, any_figure(ops));
    }
    for (size_t i = 0; i < signposts; i++) {
        ops_add_signpost(ops, random_below(1000), slice_of("header"), slice_of("text"));
        ops->signposts[i].track = places->import;
    }
    ops_add_fact(ops, slice_of("kind"), slice_of("any"));
    ops_add_fact(ops, slice_of("column"), slice_of("A B"));
}

/* --- written and read --- */

static uint32_t new_track(struct trace_writer *w, uint32_t process, uint32_t kind, uint64_t number,
                          const char *name)
{
    uint32_t clock = TRACE_HOST_CLOCK;
    if (kind == TRACE_TRACK_DEVICE)
        clock = trace_writer_clock(
            w, &(struct trace_clock){
                   .id = TRACE_NONE, .is_device = true, .ticks_per_second = 1e9, .name = name});
    return trace_writer_track(w, &(struct trace_track){.id = TRACE_NONE,
                                                       .process = process,
                                                       .parent = TRACE_NONE,
                                                       .kind = kind,
                                                       .clock = clock,
                                                       .number = number,
                                                       .name = name});
}

static struct trace_writer *begin(const char *path, struct places *places)
{
    struct trace_writer_options options = {.program = "test", .command = "test", .host = "test"};
    struct trace_writer *w;
    assert_int_equal(trace_writer_open(&w, path, &options, &err), 0);
    places->process = trace_writer_process(
        w, &(struct trace_process){.id = TRACE_NONE, .parent = TRACE_NONE, .command = "p", .host = ""});
    places->thread = new_track(w, places->process, TRACE_TRACK_THREAD, 1, "thread");
    places->import = new_track(w, places->process, TRACE_TRACK_OTHER, 0, "some import");
    for (uint32_t i = 0; i < 2; i++)
        places->devices[i] =
            new_track(w, places->process, TRACE_TRACK_DEVICE, i, i ? "device 1" : "device 0");
    return w;
}

/* Pieces of the model may go one after the other: what is common is written once. */
static void finish(struct trace_writer *w, const struct places *places, const struct ops *ops)
{
    struct ops_writing writing;
    ops_writing_begin(&writing, w, places->process, places->import);
    writing.keeps_order = true;
    ops_to_trace(&writing, ops);
    ops_remarks_to_trace(&writing, ops);
    assert_int_equal(ops_writing_end(&writing, &err), 0);
    assert_int_equal(trace_writer_finish(w, &err), 0);
}

static void assert_texts(const struct ops *a, uint32_t in_a, const struct ops *b, uint32_t in_b)
{
    assert_int_equal(in_a == OPS_NONE, in_b == OPS_NONE);
    assert_string_equal(ops_get_text(a, in_a), ops_get_text(b, in_b));
}

/* Of a run, a trace keeps those in ticks before the others. */
static void assert_figures(const struct ops *a, uint32_t in_a, const struct ops *b, uint32_t in_b,
                           uint32_t count, bool is_run)
{
    uint32_t at = in_b;
    for (unsigned pass = 0; pass < 1u + is_run; pass++) {
        for (uint32_t i = 0; i < count; i++) {
            const struct op_figure *left = &a->figures[in_a + i], *right = &b->figures[at];
            if (is_run && (left->kind == OP_FIGURE_TICKS) != (pass == 0))
                continue;
            assert_texts(a, left->name, b, right->name);
            assert_int_equal(left->kind, right->kind);
            if (left->kind == OP_FIGURE_TEXT)
                assert_texts(a, (uint32_t)left->whole, b, (uint32_t)right->whole);
            else
                assert_int_equal(left->whole, right->whole);
            at++;
        }
    }
    assert_int_equal(at, in_b + count);
}

static void append_description(const struct ops *ops, uint32_t id, struct bytes *out)
{
    const struct op_description *d = ops_get_description(ops, id);
    bytes_clear(out);
    bytes_append_format(out, "%u %u %u %u|", d->inputs, d->outputs, d->attributes, d->kernels);
    for (size_t i = 0; i < (size_t)d->inputs + d->outputs; i++) {
        ops_append_tensor_text(ops, &ops->tensors[ops_inputs(ops, d)[i]], out);
        bytes_append_text(out, "|");
    }
    for (size_t i = 0; i < d->attributes; i++) {
        const struct op_attribute *attribute = &ops->attributes[ops_attributes(ops, d)[i]];
        bytes_append_format(out, "%s%s%s|", ops_get_text(ops, attribute->key),
                            attribute->value == OPS_NONE ? "" : "=", ops_get_text(ops, attribute->value));
    }
    for (size_t i = 0; i < d->kernels; i++)
        bytes_append_format(out, "%s|", ops_get_text(ops, ops->kernels[ops_kernels(ops, d)[i]].name));
    bytes_append_format(out, "%s|%s|%s", ops_get_text(ops, d->location), ops_get_text(ops, d->module),
                        ops_get_text(ops, d->fidelity));
}

static void assert_calls(const struct ops *a, const struct ops *b)
{
    struct bytes left = {0}, right = {0};
    assert_int_equal(a->call_count, b->call_count);
    for (size_t i = 0; i < a->call_count; i++) {
        const struct op_call *x = &a->calls[i], *y = &b->calls[i];
        assert_true(x->number == y->number && x->start_ns == y->start_ns && x->end_ns == y->end_ns);
        assert_true(x->process == y->process && x->track == y->track && x->type == y->type);
        assert_int_equal(x->faults, y->faults);
        assert_int_equal(x->device == OPS_NONE, y->device == OPS_NONE);
        if (x->device != OPS_NONE)
            assert_int_equal(a->devices[x->device].number, b->devices[y->device].number);
        assert_texts(a, x->name, b, y->name);
        append_description(a, x->description, &left);
        append_description(b, y->description, &right);
        assert_string_equal(bytes_text(&left), bytes_text(&right));
        assert_int_equal(x->figures, y->figures);
        assert_figures(a, x->first_figure, b, y->first_figure, x->figures, false);
    }
    bytes_free(&left);
    bytes_free(&right);
}

static void assert_runs(const struct ops *a, const struct ops *b)
{
    assert_int_equal(a->run_count, b->run_count);
    for (size_t i = 0; i < a->run_count; i++) {
        const struct op_run *x = &a->runs[i], *y = &b->runs[i];
        struct op_ticks left = ops_ticks(a, x), right = ops_ticks(b, y);
        assert_true(left.start == right.start && left.end == right.end && x->call == y->call);
        assert_true(x->track == y->track && x->session == y->session && x->cores == y->cores);
        assert_true(x->faults == y->faults && x->flags == y->flags);
        assert_int_equal(a->devices[x->device].number, b->devices[y->device].number);
        assert_int_equal(x->figures, y->figures);
        assert_figures(a, x->first_figure, b, y->first_figure, x->figures, true);
    }
}

static void assert_others(const struct ops *a, const struct ops *b)
{
    size_t facts = a->fact_count;
    assert_int_equal(a->signpost_count, b->signpost_count);
    for (size_t i = 0; i < a->signpost_count; i++) {
        assert_int_equal(a->signposts[i].time_ns, b->signposts[i].time_ns);
        assert_texts(a, a->signposts[i].header, b, b->signposts[i].header);
        assert_texts(a, a->signposts[i].text, b, b->signposts[i].text);
    }
    assert_int_equal(b->fact_count, facts + 1); /* and who imported it */
    assert_true(ops_has_fact(b, OPS_FACT_IMPORT, "some import"));
    for (size_t i = 0; i < facts; i++) {
        assert_texts(a, a->facts[i].key, b, b->facts[i + 1].key);
        assert_texts(a, a->facts[i].value, b, b->facts[i + 1].value);
    }
}

static void test_any_model(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MODELS; i++) {
        struct ops ops, back;
        struct places places;
        struct trace *trace;
        ops_init(&ops);
        ops_init(&back);
        struct trace_writer *w = begin(test_path("any.opscope"), &places);
        fill(&ops, &places);
        assert_int_equal(ops_check(&ops, &err), 0);
        finish(w, &places, &ops);
        assert_int_equal(trace_open(&trace, test_path("any.opscope"), 0, &err), 0);
        const struct ops_wanted all = {.figures = true, .signposts = true, .remarks = true};
        assert_int_equal(ops_from_trace(&back, trace, &all, &err), 0);
        assert_calls(&ops, &back);
        assert_runs(&ops, &back);
        assert_others(&ops, &back);
        trace_close(trace);
        ops_free(&ops);
        ops_free(&back);
    }
}

/* Notices come back with their counts, and what was damaged is a loss of the trace. */
static void test_notices(void **state)
{
    struct ops ops, back;
    struct places places;
    struct trace *trace;
    (void)state;
    ops_init(&ops);
    ops_init(&back);
    struct trace_writer *w = begin(test_path("notices.opscope"), &places);
    for (unsigned i = 0; i < 3; i++)
        ops_add_notice(&ops, OP_NOTICE_KIND_OWN, OP_NOTICE_DAMAGED, 7, "line 7 is not a row");
    ops_add_notice(&ops, OP_NOTICE_KIND_OWN + 1, OP_NOTICE_INFO, 0, "by the way");
    finish(w, &places, &ops);
    assert_int_equal(trace_open(&trace, test_path("notices.opscope"), 0, &err), 0);
    assert_int_equal(ops_from_trace(&back, trace, &(struct ops_wanted){.remarks = true}, &err), 0);
    assert_int_equal(back.notice_count, 2);
    assert_string_equal(ops_get_text(&back, back.notices[0].text), "line 7 is not a row (3 times)");
    assert_string_equal(ops_get_text(&back, back.notices[1].text), "by the way");
    assert_int_equal(trace_get_info(trace)->lost_records, 3);
    trace_close(trace);
    ops_free(&ops);
    ops_free(&back);
}

/* Two traces with the same numbers, processes and tracks: each run stays with the call of its own file. */
static void test_several_traces(void **state)
{
    struct ops ops, both;
    struct places places;
    struct trace *trace;
    (void)state;
    struct trace_writer *w = begin(test_path("one.opscope"), &places);
    ops_init(&ops);
    for (uint32_t i = 0; i < 3; i++) {
        ops_add_call(&ops, &(struct op_call){.number = i + 1,
                                             .start_ns = 100 + 10 * i,
                                             .end_ns = 105 + 10 * i,
                                             .process = places.process,
                                             .track = places.thread,
                                             .name = ops_text(&ops, slice_of("op")),
                                             .description = OPS_NONE,
                                             .device = ops_device(&ops, 0)});
        ops_add_run(&ops, &(struct op_run){.call = i, .track = places.devices[0], .device = 0});
        ops_set_ticks(&ops, 200 + 10 * i, 205 + 10 * i);
    }
    finish(w, &places, &ops);
    ops_free(&ops);
    ops_init(&both);
    for (uint32_t file = 0; file < 2; file++) {
        struct ops_wanted wanted = {
            .first_process = file, .first_track = file * 10, .first_device = file * 4};
        assert_int_equal(trace_open(&trace, test_path("one.opscope"), 0, &err), 0);
        assert_int_equal(ops_from_trace(&both, trace, &wanted, &err), 0);
        assert_int_equal(ops_finish(&both, &err), 0);
        assert_int_equal(both.line_count, 3 * (file + 1)); /* of the files so far, one after the other */
        trace_close(trace);
    }
    assert_int_equal(both.notice_count, 0);
    assert_int_equal(both.unmatched_runs, 0);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(both.runs[i].call, i);
        assert_int_equal(both.lines[i].call, i);
        assert_int_equal(both.lines[i].run, i);
        assert_int_equal(both.runs[i].gap_ns, i % 3 ? 5 : 0); /* not between files */
        assert_int_equal(both.devices[both.runs[i].device].number, i < 3 ? 0 : 4);
        assert_int_equal(ops_own_run(&both, &both.calls[i]), i);
    }
    ops_free(&both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_model),
        cmocka_unit_test(test_notices),
        cmocka_unit_test(test_several_traces),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
