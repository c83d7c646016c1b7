/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of the export that need no trace: protobuf fields, lanes, the stack and the sheaf that go to a
 * temporary file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "present/export/events.h"
#include "present/export/proto.h"
#include "present/export/spill.h"

static void assert_bytes(const struct bytes *got, const void *want, size_t length)
{
    assert_false(got->failed);
    assert_int_equal(got->length, length);
    assert_memory_equal(got->data, want, length);
}

/* The expected bytes are those of the encoding's own documentation (150 in field 1 is 08 96 01, "testing" in
 * field 2 is 12 07 74 65 ...), or counted by hand. */
static void test_proto_fields(void **state)
{
    (void)state;
    struct bytes message = {0};
    proto_unsigned(&message, 1, 150);
    assert_bytes(&message, "\x08\x96\x01", 3);
    bytes_clear(&message);
    proto_text(&message, 2, "testing");
    assert_bytes(&message, "\x12\x07testing", 9);
    bytes_clear(&message);
    proto_signed(&message, 1, -2);
    assert_bytes(&message, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    bytes_clear(&message);
    proto_unsigned(&message, 16, UINT64_MAX); /* the first field whose tag takes two bytes */
    assert_bytes(&message, "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
    bytes_clear(&message);
    proto_double(&message, 44, 1.5);
    assert_bytes(&message, "\xe1\x02\x00\x00\x00\x00\x00\x00\xf8\x3f", 10);
    bytes_clear(&message);
    proto_fixed64(&message, 47, UINT64_C(0x0102030405060708));
    assert_bytes(&message, "\xf9\x02\x08\x07\x06\x05\x04\x03\x02\x01", 10);
    bytes_free(&message);
}

static void test_proto_nesting(void **state)
{
    (void)state;
    struct bytes inner = {0}, outer = {0};
    proto_unsigned(&inner, 1, 150);
    proto_message(&outer, 3, &inner);
    assert_bytes(&outer, "\x1a\x03\x08\x96\x01", 5);
    bytes_clear(&inner);
    bytes_clear(&outer);
    proto_message(&outer, 3, &inner); /* an empty message is there, with length 0 */
    assert_bytes(&outer, "\x1a\x00", 2);
    bytes_clear(&outer);
    inner.failed = true; /* what could not be made must not look whole */
    proto_message(&outer, 3, &inner);
    assert_true(outer.failed);
    bytes_free(&inner);
    bytes_free(&outer);
}

static void test_proto_text_is_utf8(void **state)
{
    (void)state;
    struct bytes message = {0};
    proto_text(&message, 1, "\xc3\xa4\xe2\x82\xac");
    assert_bytes(&message, "\x0a\x05\xc3\xa4\xe2\x82\xac", 7);
    bytes_clear(&message);
    proto_text(&message, 1,
               "a\xff"
               "b");
    assert_bytes(&message,
                 "\x0a\x05"
                 "a\xef\xbf\xbd"
                 "b",
                 7);
    bytes_clear(&message);
    proto_text_length(&message, 1, "a\0b\xe2\x82", 5); /* cut in the middle of a character */
    assert_bytes(&message,
                 "\x0a\x06"
                 "a\0b\xef\xbf\xbd",
                 8);
    bytes_clear(&message);
    proto_text_length(&message, 1, "", 0);
    assert_bytes(&message, "\x0a\x00", 2);
    bytes_free(&message);
}

static void test_lanes_never_overlap(void **state)
{
    (void)state;
    struct export_lanes lanes;
    assert_true(export_lanes_open(&lanes, 2));
    assert_int_equal(export_lanes_take(&lanes, 0, 10, 20), 0);
    assert_int_equal(export_lanes_take(&lanes, 0, 15, 30), 1); /* while the first runs */
    assert_int_equal(export_lanes_take(&lanes, 0, 20, 25), 0); /* begins when the first ends */
    assert_int_equal(export_lanes_take(&lanes, 0, 5, 7), 2);   /* late: both lanes are past that */
    assert_int_equal(export_lanes_take(&lanes, 1, 15, 30), 0); /* another track */
    assert_int_equal(export_lanes_take(&lanes, 0, 40, 40), 0);
    assert_int_equal(export_lanes_take(&lanes, 0, 40, 50), 0);
    export_lanes_close(&lanes);
}

static void test_stack_gives_back_in_reverse(void **state)
{
    (void)state;
    struct export_stack stack;
    struct error err = {0};
    int result;
    /* Five records in memory: a thousand make two hundred pages of the file. */
    assert_int_equal(export_stack_open(&stack, sizeof(uint64_t), 5 * sizeof(uint64_t), &err), 0);
    assert_null(export_stack_top(&stack, &result, &err));
    assert_int_equal(result, 0);
    for (unsigned round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 1000; i++)
            assert_int_equal(export_stack_push(&stack, &i, &err), 0);
        for (uint64_t i = 1000; i-- > (round == 0 ? 500u : 0u);) {
            const uint64_t *top = export_stack_top(&stack, &result, &err);
            assert_non_null(top);
            assert_int_equal(*top, i);
            export_stack_drop(&stack);
        }
    }
    for (uint64_t i = 500; i-- > 0;) { /* what the first round left */
        const uint64_t *top = export_stack_top(&stack, &result, &err);
        assert_non_null(top);
        assert_int_equal(*top, i);
        export_stack_drop(&stack);
    }
    assert_null(export_stack_top(&stack, &result, &err));
    export_stack_close(&stack);
}

struct gathered {
    struct bytes bytes;
    unsigned pieces;
};

static int gather(void *context, const void *data, size_t length)
{
    struct gathered *gathered = context;
    bytes_append(&gathered->bytes, data, length);
    gathered->pieces++;
    return 0;
}

static int refuse(void *context, const void *data, size_t length)
{
    (void)context;
    (void)data;
    (void)length;
    return -EIO;
}

static void test_sheaf_keeps_texts_apart(void **state)
{
    (void)state;
    enum { TEXTS = 7, LINES = 3000 };
    struct export_sheaf sheaf;
    struct error err = {0};
    export_sheaf_open(&sheaf);
    for (unsigned line = 0; line < LINES; line++) {
        for (unsigned text = 0; text < TEXTS; text++) {
            char word[32];
            int length = snprintf(word, sizeof word, "%u:%u,", text, line);
            assert_int_equal(export_sheaf_append(&sheaf, text, word, (size_t)length, &err), 0);
        }
    }
    for (unsigned text = 0; text < TEXTS; text++) {
        struct gathered gathered = {0};
        struct bytes want = {0};
        for (unsigned line = 0; line < LINES; line++)
            bytes_append_format(&want, "%u:%u,", text, line);
        assert_int_equal(export_sheaf_read(&sheaf, text, gather, &gathered, &err), 0);
        assert_true(gathered.pieces > 3); /* it did go through the file */
        assert_bytes(&gathered.bytes, want.data, want.length);
        bytes_free(&gathered.bytes);
        bytes_free(&want);
    }
    assert_int_equal(export_sheaf_read(&sheaf, 0, refuse, NULL, &err), -EIO);
    assert_int_equal(export_sheaf_read(&sheaf, TEXTS, refuse, NULL, &err), 0); /* never written: nothing */
    export_sheaf_close(&sheaf);
}

static void test_sheaf_takes_pieces_of_any_size(void **state)
{
    (void)state;
    struct export_sheaf sheaf;
    struct error err = {0};
    struct gathered gathered = {0};
    size_t length = 3 * 4096; /* ends where a chunk ends */
    char *large = malloc(length);
    assert_non_null(large);
    memset(large, 'x', length);
    export_sheaf_open(&sheaf);
    assert_int_equal(export_sheaf_append(&sheaf, 2, large, length, &err), 0);
    assert_int_equal(export_sheaf_append(&sheaf, 2, "", 0, &err), 0);
    assert_int_equal(export_sheaf_read(&sheaf, 2, gather, &gathered, &err), 0);
    assert_bytes(&gathered.bytes, large, length);
    assert_int_equal(export_sheaf_read(&sheaf, 1, refuse, NULL, &err), 0); /* made, but empty */
    bytes_free(&gathered.bytes);
    free(large);
    export_sheaf_close(&sheaf);
}

static void test_temporary_folder(void **state)
{
    (void)state;
    struct error err = {0};
    /* A folder that is not there must not stop the export: there are others. */
    assert_int_equal(setenv("TMPDIR", "/nonexistent/folder", 1), 0);
    int file = export_temporary_file(&err);
    unsetenv("TMPDIR");
    assert_true(file >= 0);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_proto_fields),
        cmocka_unit_test(test_proto_nesting),
        cmocka_unit_test(test_proto_text_is_utf8),
        cmocka_unit_test(test_lanes_never_overlap),
        cmocka_unit_test(test_stack_gives_back_in_reverse),
        cmocka_unit_test(test_sheaf_keeps_texts_apart),
        cmocka_unit_test(test_sheaf_takes_pieces_of_any_size),
        cmocka_unit_test(test_temporary_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
