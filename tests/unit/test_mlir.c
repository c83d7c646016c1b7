/* SPDX-License-Identifier: Apache-2.0 */
/* The MLIR reader on small texts of each form, and on texts that are broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/mlir/mlir.h"

static struct mlir *read_text(const char *text)
{
    struct mlir *m;
    struct error err = {0};
    if (mlir_read_text(&m, "t.mlir", text, strlen(text), &err) != 0)
        fail_msg("%s", err.message);
    return m;
}

static uint32_t find(const struct mlir *m, const char *name)
{
    for (uint32_t i = 0; i < m->op_count; i++) {
        if (strcmp(mlir_name(m, i), name) == 0)
            return i;
    }
    fail_msg("no op %s", name);
    return MLIR_NONE;
}

static void assert_slice(struct slice slice, const char *text)
{
    if (!slice_is(slice, text))
        fail_msg("'%.*s' is not '%s'", (int)slice.length, slice.data ? slice.data : "", text);
}

static const char pretty[] =
    "#map = affine_map<(d0) -> (d0)>\n"
    "!t = tensor<4x8xf32>\n"
    "module @m attributes {a.b = 1 : i64, unit} {\n"
    "  func.func @main(%arg0: !t, %arg1: tensor<8xf32> {x.y = \"}\"}) -> !t {\n"
    "    %cst = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>\n"
    "    %0:2 = my.split %arg0 {kind = #my<k{a = [1, 2]}>, \"odd key\" = 3 : i32} : !t -> !t, tensor<8xf32>\n"
    "    %1 = tosa.add %0#0, %0#1 : (!t, tensor<8xf32>) -> tensor<4x8xf32> loc(#loc1)\n"
    "    return %1 : !t loc(\"a.mlir\":7:5)\n"
    "  } loc(#loc)\n"
    "}\n"
    "#loc = loc(\"a.mlir\":4:3)\n"
    "#loc1 = loc(fused<\"pass\">[\"layer\"(\"b, c.mlir\":9:11), #loc])\n";

static void test_pretty(void **state)
{
    (void)state;
    struct mlir *m = read_text(pretty);
    struct slice value;
    assert_int_equal(m->op_count, 6);
    assert_int_equal(m->unread_lines, 0);
    uint32_t split = find(m, "my.split"), add = find(m, "tosa.add"), function = find(m, "func.func");
    assert_int_equal(m->ops[split].results, 2);
    assert_slice(mlir_slice(m, m->ops[function].symbol), "main");
    assert_true(mlir_attribute(m, split, "odd key", &value));
    assert_slice(value, "3 : i32");
    assert_true(mlir_attribute(m, split, "kind", &value));
    assert_slice(value, "#my<k{a = [1, 2]}>");
    assert_true(mlir_attribute(m, find(m, "module"), "unit", &value));
    assert_null(value.data);
    assert_false(mlir_attribute(m, split, "none", NULL));
    assert_int_equal(m->ops[add].operands, 2);
    uint32_t second = m->operands[m->ops[add].first_operand + 1];
    assert_int_equal(m->values[second].op, split);
    assert_int_equal(m->values[second].index, 1);
    assert_slice(mlir_type(m, second), "tensor<8xf32>");
    assert_slice(mlir_type(m, m->ops[split].first_result), "tensor<4x8xf32>");
    uint32_t argument = m->operands[m->ops[split].first_operand];
    assert_int_not_equal(m->values[argument].block, MLIR_NONE);
    assert_slice(mlir_type(m, argument), "tensor<4x8xf32>");
    mlir_close(m);
}

static void test_locations(void **state)
{
    (void)state;
    struct mlir *m = read_text(pretty);
    struct bytes text = {0};
    struct mlir_place place = mlir_place(m, find(m, "tosa.add"));
    assert_slice(place.file, "b, c.mlir");
    assert_int_equal(place.line, 9);
    assert_int_equal(place.column, 11);
    assert_slice(place.name, "layer");
    mlir_append_location(m, find(m, "func.func"), &text);
    assert_slice(slice_from((const char *)text.data, text.length), "loc(\"a.mlir\":4:3)");
    bytes_clear(&text);
    mlir_append_location(m, find(m, "my.split"), &text);
    assert_slice(slice_from((const char *)text.data, text.length), "loc(unknown)");
    bytes_free(&text);
    mlir_close(m);
}

static void test_circles_and_dangling_aliases(void **state)
{
    (void)state;
    struct mlir *m =
        read_text("#a = #b\n#b = #a\na.b {x = #a} loc(#a)\na.c {x = #none} loc(callsite(#none at #a))\n"
                  "a.d loc(callsite(\"x\":1:2 at \"y\":3:4))\n");
    struct slice value;
    assert_true(mlir_attribute(m, find(m, "a.b"), "x", &value));
    assert_slice(mlir_resolve(m, value), "#a");
    assert_null(mlir_place(m, find(m, "a.b")).file.data);
    assert_null(mlir_place(m, find(m, "a.c")).file.data);
    assert_slice(mlir_place(m, find(m, "a.d")).file, "x");
    mlir_close(m);
}

static void test_generic_form_and_blocks(void **state)
{
    (void)state;
    struct mlir *m = read_text("\"builtin.module\"() ({\n"
                               "  \"a.region\"() <{p = 1 : i32}> ({\n"
                               "  ^bb0(%x: i32 loc(\"f\":1:1), %y: i64):\n"
                               "    %0 = \"a.use\"(%x, %y) {q} : (i32, i64) -> i32\n"
                               "    \"a.br\"(%0)[^bb1] : (i32) -> ()\n"
                               "  ^bb1:  // pred: ^bb0\n"
                               "    \"a.end\"() : () -> ()\n"
                               "  }, {\n"
                               "    \"a.other\"() : () -> ()\n"
                               "  }) {r = 2 : i32} : () -> ()\n"
                               "}) : () -> ()\n");
    struct slice value;
    uint32_t outer = find(m, "a.region");
    assert_int_equal(m->op_count, 6);
    assert_true(mlir_attribute(m, outer, "p", &value) && mlir_attribute(m, outer, "r", &value));
    uint32_t region = m->ops[outer].first_region;
    uint32_t block = mlir_find_block(m, region, slice_of("bb1"));
    assert_int_not_equal(block, MLIR_NONE);
    assert_string_equal(mlir_name(m, m->blocks[block].first_op), "a.end");
    assert_int_equal(m->blocks[m->regions[region].first_block].arguments, 2);
    uint32_t use = find(m, "a.use");
    assert_slice(mlir_type(m, m->operands[m->ops[use].first_operand]), "i32");
    assert_slice(mlir_type(m, m->ops[use].first_result), "i32");
    assert_int_not_equal(m->regions[region].next, MLIR_NONE);
    mlir_close(m);
}

static void test_what_a_brace_is(void **state)
{
    (void)state;
    struct mlir *m = read_text(
        "a.task {\"id\" = 0 : i64}() {\n"
        "  a.wait\n"
        "}\n"
        "a.body{\n op : \"add\"\n D %x : i8\n CFG {m = [A, B],}\n [{DE dims = [ B(L) [4, #map]]}]\n}\n"
        "a.dispatch @f {ro %y[%z for %z] : i8, wo %y}\n"
        "linalg.reduce { arith.addf } ins(%x : i8) outs(%y : i8) dimensions = [0]\n"
        "a.unit {a.key}\n"
        "a.continued\nmemory : 0 bytes\ncycles : 2\n"
        "a.compare<%x : i8> if %x >= 2 => b\n");
    assert_int_equal(m->op_count, 9);
    assert_int_equal(m->unread_lines, 0);
    assert_int_equal(m->ops[find(m, "a.wait")].block,
                     m->regions[m->ops[find(m, "a.task")].first_region].first_block);
    assert_int_equal(m->ops[find(m, "a.body")].first_region, MLIR_NONE);
    assert_true(mlir_attribute(m, find(m, "a.unit"), "a.key", NULL));
    assert_int_not_equal(m->ops[find(m, "linalg.reduce")].first_region, MLIR_NONE);
    mlir_close(m);
}

static void test_names_end_with_their_region(void **state)
{
    (void)state;
    struct mlir *m = read_text(
        "a.f @f(%x: i8) {\n  a.use %x : i8\n}\na.g @g(%x: i16) {\n  a.use2 %x : i16\n}\na.late %x : i32\n");
    assert_slice(mlir_type(m, m->operands[m->ops[find(m, "a.use")].first_operand]), "i8");
    assert_slice(mlir_type(m, m->operands[m->ops[find(m, "a.use2")].first_operand]), "i16");
    assert_int_equal(m->operands[m->ops[find(m, "a.late")].first_operand], MLIR_NONE);
    mlir_close(m);
}

/* Names that are numbers have an array of their own: they end with their region too, and none is taken for another. */
static void test_names_that_are_numbers(void **state)
{
    (void)state;
    struct mlir *m =
        read_text("a.f @f() {\n  %0 = a.one : i1\n  %00 = a.two : i2\n  %7 = a.three : i3\n"
                  "  %4294967295 = a.four : i4\n  %99999999999 = a.five : i5\n  %0x = a.six : i6\n"
                  "  a.use %0, %00, %7, %4294967295, %99999999999, %0x, %6, %8 : i7\n}\n"
                  "a.g @g() {\n  %7 = a.seven : i8\n  a.inner {\n    %7 = a.eight : i9\n"
                  "    a.use2 %7 : i9\n  }\n  a.use3 %7, %0 : i8\n}\n");
    static const char *const makers[] = {"a.one",  "a.two", "a.three", "a.four",
                                         "a.five", "a.six", NULL,      NULL};
    const uint32_t *used = m->operands + m->ops[find(m, "a.use")].first_operand;
    assert_int_equal(m->ops[find(m, "a.use")].operands, 8);
    for (size_t i = 0; i < 8; i++) {
        if (makers[i])
            assert_int_equal(m->values[used[i]].op, find(m, makers[i]));
        else
            assert_int_equal(used[i], MLIR_NONE);
    }
    assert_int_equal(m->values[m->operands[m->ops[find(m, "a.use2")].first_operand]].op, find(m, "a.eight"));
    used = m->operands + m->ops[find(m, "a.use3")].first_operand;
    assert_int_equal(m->values[used[0]].op, find(m, "a.seven"));
    assert_int_equal(used[1], MLIR_NONE);
    mlir_close(m);
}

static void assert_refused(const char *text, const char *message)
{
    struct mlir *m;
    struct error err = {0};
    assert_int_not_equal(mlir_read_text(&m, "t.mlir", text, strlen(text), &err), 0);
    assert_null(m);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
}

static void test_broken_texts(void **state)
{
    (void)state;
    assert_refused("module {\n  a.b\n", "t.mlir:1:8: the region");
    assert_refused("module {\n}\n}\n", "t.mlir:3:1: '}' closes nothing");
    assert_refused("a.b (%x\n", "t.mlir:1:5: '(' is never closed");
    assert_refused("a.b [%x)\n", "t.mlir:1:8: ')' closes the '['");
    struct mlir *m = read_text("what is this\na.b \"never closed\n");
    assert_int_equal(m->unread_lines, 1);
    mlir_close(m);
    m = read_text("");
    assert_int_equal(m->op_count, 0);
    mlir_close(m);
}

static void test_deep_nesting(void **state)
{
    (void)state;
    enum { LEVELS = 100000 };
    struct bytes text = {0};
    for (unsigned i = 0; i < LEVELS; i++)
        bytes_append_text(&text, "a.b {\n");
    for (unsigned i = 0; i < LEVELS; i++)
        bytes_append_text(&text, "}\n");
    struct mlir *m;
    struct error err = {0};
    /* the innermost is an empty dictionary */
    assert_int_equal(mlir_read_text(&m, "t.mlir", (const char *)text.data, text.length, &err), 0);
    assert_int_equal(m->op_count, LEVELS);
    assert_int_equal(m->region_count, LEVELS - 1);
    mlir_close(m);
    bytes_free(&text);
}

static void test_many_ops_on_one_line(void **state)
{
    (void)state;
    struct mlir *m =
        read_text("module { %a = \"x.y\"() {k = \"v\"} : () -> i8 \"x.z\"(%a) : (i8) -> () loc(\"f\":1:2) "
                  "%b, %c = \"x.y\"() : () -> (i8, i8) \"x.r\"() ({ \"x.in\"() : () -> () }) : () -> () }");
    assert_int_equal(m->op_count, 6);
    assert_int_equal(m->unread_lines, 0);
    assert_slice(mlir_slice(m, m->ops[find(m, "x.z")].location), "\"f\":1:2");
    assert_slice(mlir_type(m, m->ops[find(m, "x.y")].first_result), "i8");
    mlir_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_ops_on_one_line),
        cmocka_unit_test(test_pretty),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_circles_and_dangling_aliases),
        cmocka_unit_test(test_generic_form_and_blocks),
        cmocka_unit_test(test_what_a_brace_is),
        cmocka_unit_test(test_names_end_with_their_region),
        cmocka_unit_test(test_names_that_are_numbers),
        cmocka_unit_test(test_broken_texts),
        cmocka_unit_test(test_deep_nesting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
