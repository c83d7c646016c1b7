/* SPDX-License-Identifier: Apache-2.0 */
/* Device profiles of IREE in both forms, and what a calibration makes of sites. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/estimate/calibrate.h"
#include "base/bytes.h"
#include "import/iree/profile.h"

#define SCHEMA "{\"schema_version\":15,\"record_type\":\"schema\",\"format\":\"ireeperf-jsonl\"}\n"
#define EXECUTION(event, key, start, end)                                                                    \
    "{\"record_type\":\"host_execution_event\",\"event_id\":" event                                          \
    ",\"submission_id\":7,\"op\":\"dispatch\",\"key\":\"" key                                                \
    "\",\"workgroup_count\":[4,2,1],\"start_host_time_ns\":" start ",\"end_host_time_ns\":" end              \
    ",\"valid\":true,\"tile_count\":8,\"tile_duration_sum_ns\":90}\n"

static void test_lines(void **state)
{
    (void)state;
    /* clang-format off */
    static const char text[] =
        SCHEMA
        EXECUTION("2", "f_1", "2000", "2100")
        EXECUTION("1", "f_0", "1000", "1040")
        "{\"record_type\":\"something_new\"}\n"
        "{\"record_type\":\"memory_event\",\"event_type\":\"queue_alloca\",\"host_time_ns\":990,"
        "\"allocation_id\":3,\"length\":4096}\n"
        "{\"record_type\":\"memory_event\",\"event_type\":\"pool_reserve\",\"host_time_ns\":991,"
        "\"allocation_id\":3}\n"
        "{\"record_type\":\"host_execution_event\",\"op\":\"alloca\",\"start_host_time_ns\":980,"
        "\"end_host_time_ns\":995,\"payload_length\":4096}\n"
        EXECUTION("4", "f_2", "3000", "2999")
        "{\"record_type\":\"host_exec";
    /* clang-format on */
    struct iree_profile p;
    struct error err = {0};
    assert_int_equal(iree_profile_read(&p, "p.jsonl", text, strlen(text), &err), 0);
    assert_int_equal(p.event_count, 3);
    assert_int_equal(p.damaged, 2);     /* ends before it begins; cut */
    assert_int_equal(p.passed_over, 2); /* the schema and what is new */
    assert_string_equal(iree_text(&p, p.events[0].name), "alloca");
    assert_false(p.events[0].is_dispatch);
    assert_int_equal(p.events[0].bytes, 4096);
    assert_string_equal(iree_text(&p, p.events[1].name), "f_0"); /* in the order of time */
    assert_int_equal(p.events[2].end_ns - p.events[2].start_ns, 100);
    assert_int_equal(p.events[2].workgroups[0] * p.events[2].workgroups[1], 8);
    assert_int_equal(p.allocation_count, 1);
    assert_int_equal(p.allocations[0].bytes, 4096);
    iree_profile_free(&p);
    assert_int_not_equal(iree_profile_read(&p, "p.jsonl", "{\"a\":1}\n", 8, &err), 0);
    assert_non_null(strstr(err.message, "p.jsonl"));
}

static void add_record(struct bytes *out, const char *type, const struct bytes *payload)
{
    size_t type_length = strlen(type);
    bytes_append_u64(out, 104 + type_length + payload->length);
    bytes_append_u64(out, payload->length);
    for (unsigned i = 0; i < 5; i++) /* session, stream, event, executable, command buffer */
        bytes_append_u64(out, 0);
    bytes_append_u32(out, 104);
    bytes_append_u32(out, (uint32_t)type_length);
    for (unsigned i = 0; i < 10; i++) /* name length, device, queue, padding, flags, dropped, status, type */
        bytes_append_u32(out, 0);
    bytes_append(out, type, type_length);
    bytes_append(out, payload->data, payload->length);
}

static void add_function(struct bytes *out, uint64_t executable, uint32_t ordinal, const char *name)
{
    uint32_t length = (uint32_t)strlen(name);
    bytes_append_u32(out, 64 + length);
    bytes_append_u32(out, 0);
    bytes_append_u64(out, executable);
    bytes_append_u32(out, ordinal);
    for (unsigned i = 0; i < 6; i++)
        bytes_append_u32(out, 0);
    bytes_append_u32(out, length);
    bytes_append_u64(out, 0);
    bytes_append_u64(out, 0);
    bytes_append(out, name, length);
}

static void add_execution(struct bytes *out, uint32_t type, uint64_t executable, uint32_t function,
                          uint64_t start, uint64_t end)
{
    const uint32_t longer = 8; /* a newer version has more in it */
    bytes_append_u32(out, 152 + longer);
    bytes_append_u32(out, type);
    bytes_append_u64(out, 0);
    bytes_append_u64(out, 1); /* event, submission, command buffer */
    bytes_append_u64(out, 2);
    bytes_append_u64(out, 3);
    bytes_append_u64(out, executable);
    bytes_append_u64(out, 0);
    bytes_append_u64(out, 0);
    for (unsigned i = 0; i < 3; i++)
        bytes_append_u32(out, 0);
    bytes_append_u32(out, function);
    for (unsigned i = 0; i < 6; i++)
        bytes_append_u32(out, i + 1);
    bytes_append_u64(out, start);
    bytes_append_u64(out, end);
    bytes_append_u64(out, 11);
    bytes_append_u64(out, 6);
    bytes_append_u64(out, 77);
    bytes_append_u64(out, 1);
    bytes_append_u64(out, 0); /* what is longer */
}

#define KIND "application/vnd.iree.hal.profile."

static void make_bundle(struct bytes *file)
{
    struct bytes functions = {0}, events = {0}, other = {0};
    bytes_append(file, "IRPF", 4);
    bytes_append_u32(file, 1 | 6 << 16);
    bytes_append_u32(file, 24);
    bytes_append_u32(file, 0);
    bytes_append_u64(file, 0); /* not finished: to the end */
    add_function(&functions, 1, 0, "f_0");
    add_function(&functions, 1, 1, "f_1");
    add_execution(&events, 2, 1, 1, 5000, 5300);
    add_execution(&events, 3, 0, UINT32_MAX, 4000, 5400);
    bytes_append_u64(&other, 1);
    add_record(file, KIND "queues", &other);
    add_record(file, KIND "executable-functions", &functions);
    add_record(file, KIND "host-execution-events", &events);
    bytes_free(&functions);
    bytes_free(&events);
    bytes_free(&other);
}

static void test_bundle(void **state)
{
    (void)state;
    struct bytes file = {0};
    struct iree_profile p;
    struct error err = {0};
    make_bundle(&file);
    assert_int_equal(iree_profile_read(&p, "p.ireeprof", (const char *)file.data, file.length, &err), 0);
    assert_int_equal(p.event_count, 2);
    assert_int_equal(p.damaged, 0);
    assert_string_equal(iree_text(&p, p.events[0].name), "execute");
    assert_string_equal(iree_text(&p, p.events[1].name), "f_1");
    assert_true(p.events[1].is_dispatch);
    assert_int_equal(p.events[1].tiles, 6);
    assert_int_equal(p.events[1].tiles_ns, 77);
    assert_int_equal(p.events[1].workgroups[2], 3);
    iree_profile_free(&p);
    for (size_t length = 24; length < file.length; length++) { /* cut anywhere: what is whole is kept */
        assert_int_equal(iree_profile_read(&p, "p.ireeprof", (const char *)file.data, length, &err), 0);
        assert_true(p.event_count == 0);
        iree_profile_free(&p);
    }
    file.data[4] = 2; /* a version that is not known */
    assert_int_not_equal(iree_profile_read(&p, "p.ireeprof", (const char *)file.data, file.length, &err), 0);
    assert_non_null(strstr(err.message, "version 2"));
    bytes_free(&file);
}

static void test_calibration(void **state)
{
    (void)state;
    struct calibration c;
    struct estimate_target target;
    struct error err = {0};
    /* matmuls of floats: 2, 2 and 4 times the estimate in model 0, 3 times in model 1; two floors */
    const struct calibration_site sites[] = {
        {100, 200, CALIBRATE_MATMUL, MODEL_REAL, 0}, {100, 200, CALIBRATE_MATMUL, MODEL_REAL, 0},
        {100, 400, CALIBRATE_MATMUL, MODEL_REAL, 0}, {100, 300, CALIBRATE_MATMUL, MODEL_REAL, 1},
        {60, 30, CALIBRATE_FLOOR, MODEL_INT, 0},     {60, 40, CALIBRATE_FLOOR, MODEL_REAL, 1},
    };
    estimate_target_defaults(&target);
    target.floor_ns = 60;
    assert_int_equal(calibrate(&c, &target, sites, sizeof sites / sizeof sites[0], &err), 0);
    assert_true(c.is_left_out);
    assert_int_equal(c.before[CALIBRATE_MATMUL].sites, 4);
    assert_true(c.before[CALIBRATE_MATMUL].median == 2.5);
    assert_true(c.before[CALIBRATE_MATMUL].p90 == 4);
    /* model 0 is judged without model 0: one site is too few, so nothing changes; model 1 by 2 to the power
     * 1 / (1 + 10 log(2)^2 / 3), 1.305: 2.298 off */
    assert_true(c.after[CALIBRATE_MATMUL].median > 2.148 && c.after[CALIBRATE_MATMUL].median < 2.150);
    /* of all four: 2.5 to the power 1 / (1 + 10 log(2)^2 / 4) */
    assert_true(target.scale_matmul_float > 1.515 && target.scale_matmul_float < 1.517);
    assert_true(target.scale_matmul_int == 1);
    assert_true(target.floor_ns == 60); /* two sites are too few */
    assert_int_equal(c.fitted, 1);
    assert_true(c.before[CALIBRATE_CLASSES].sites == 6);
    const struct calibration_site alike[] = {{100, 300, CALIBRATE_CONV, MODEL_REAL, 0},
                                             {50, 150, CALIBRATE_CONV, MODEL_REAL, 0},
                                             {10, 30, CALIBRATE_CONV, MODEL_REAL, 0}};
    assert_int_equal(calibrate(&c, &target, alike, 3, &err), 0);
    assert_true(target.scale_conv_float == 3); /* they agree: the median itself */
    /* how much a factor is drawn towards 1 follows from models that are left out: not where all are spread alike, much
     * where each goes its own way */
    struct calibration_site spread[18], wild[18];
    for (uint32_t i = 0; i < 18; i++) {
        static const double ratios[] = {1.5, 2, 4};
        spread[i] = (struct calibration_site){100, 100 * ratios[i % 3], CALIBRATE_REDUCE, MODEL_REAL, i / 3};
        wild[i] = (struct calibration_site){100, i / 3 % 2 ? 25 : 400, CALIBRATE_MOVE, MODEL_INT8, i / 3};
    }
    assert_int_equal(calibrate(&c, &target, spread, 18, &err), 0);
    assert_true(target.scale_reduce_float == 2);
    assert_int_equal(calibrate(&c, &target, wild, 18, &err), 0);
    assert_true(target.scale_move_int8 > 1 && target.scale_move_int8 < 1.1);
    assert_true(target.scale_move_int == 1);
    assert_int_not_equal(calibrate(&c, &target, sites, 0, &err), 0);
    assert_int_equal(calibration_class_of("DW"), CALIBRATE_DEPTHWISE);
    assert_int_equal(calibration_class_of("FREE"), CALIBRATE_CLASSES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_bundle),
        cmocka_unit_test(test_calibration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
