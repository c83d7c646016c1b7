/* SPDX-License-Identifier: Apache-2.0 */
/* The two sequences of ops side by side, as CSV: what belongs together in one line, what has no partner alone. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "present/diff/table.h"
#include "text/csv/writer.h"

#define FLUSH_BYTES ((size_t)1 << 20)

static void append_text(struct bytes *out, const char *text)
{
    csv_append_text(out, text, strlen(text));
}

static void append_number(struct bytes *out, double value)
{
    bytes_append_u8(out, ',');
    if (!isnan(value))
        json_append_real(out, value);
}

static void append_line(const struct diff *diff, const struct diff_op *a, const struct diff_op *b,
                        struct bytes *out)
{
    const struct diff_key *key = &diff->keys[b ? b->key : a->key];
    const struct diff_key *left = a ? &diff->keys[a->key] : key;
    double x = a ? diff_op_time(diff, a) : NAN, y = b ? diff_op_time(diff, b) : NAN;
    const char *what = !a ? "new" : !b ? "gone" : left->shape != key->shape ? "reshaped" : "matched";
    bytes_append_text(out, what);
    bytes_append_u8(out, ',');
    if (a)
        bytes_append_format(out, "%" PRIu32, a->id);
    bytes_append_u8(out, ',');
    if (b)
        bytes_append_format(out, "%" PRIu32, b->id);
    bytes_append_u8(out, ',');
    append_text(out, diff_text(diff, key->name));
    bytes_append_u8(out, ',');
    if (a)
        append_text(out, diff_text(diff, left->shape));
    bytes_append_u8(out, ',');
    if (b)
        append_text(out, diff_text(diff, key->shape));
    bytes_append_u8(out, ',');
    append_text(out, diff_text(diff, key->location));
    append_number(out, x);
    append_number(out, y);
    append_number(out, y - x);
    append_number(out, a ? a->gap_ns : NAN);
    append_number(out, b ? b->gap_ns : NAN);
    bytes_append_text(out, "\r\n");
}

int diff_write_pairs(const struct diff *diff, FILE *out, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    struct bytes text = {0};
    size_t i = 0, k = 0;
    bytes_append_text(
        &text, "what,a_id,b_id,op,a_tensors,b_tensors,location,a_ns,b_ns,change_ns,a_gap_ns,b_gap_ns\r\n");
    /* Without an op, signposts alone are not matched. */
    while (diff->has_ops && (i < a->op_count || k < b->op_count) && !text.failed) {
        bool is_gone = i < a->op_count && diff->align.b_of_a[i] == ALIGN_NONE;
        bool is_new = !is_gone && k < b->op_count && diff->a_of_b[k] == ALIGN_NONE;
        const struct diff_op *left = is_new ? NULL : &a->ops[i++], *right = is_gone ? NULL : &b->ops[k++];
        if (diff->keys[left ? left->key : right->key].kind != DIFF_SIGNPOST)
            append_line(diff, left, right, &text);
        if (text.length >= FLUSH_BYTES) {
            fwrite(text.data, 1, text.length, out);
            bytes_clear(&text);
        }
    }
    bool failed = text.failed;
    if (!failed && text.length)
        fwrite(text.data, 1, text.length, out);
    bytes_free(&text);
    return failed ? error_no_memory(err, "the pairs of ops") : 0;
}
