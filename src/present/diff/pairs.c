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

static void flush(struct bytes *text, FILE *out, size_t least)
{
    if (text->failed || text->length <= least)
        return;
    fwrite(text->data, 1, text->length, out);
    bytes_clear(text);
}

/* Those that B alone has, up to a place. */
static size_t append_new(const struct diff *diff, size_t from, size_t end, struct bytes *text, FILE *out)
{
    const struct diff_run *b = &diff->runs[DIFF_B];
    for (; from < end; from++) {
        if (diff->a_of_b[from] == ALIGN_NONE && diff->keys[b->ops[from].key].kind != DIFF_SIGNPOST)
            append_line(diff, NULL, &b->ops[from], text);
        flush(text, out, FLUSH_BYTES);
    }
    return from;
}

int diff_write_pairs(const struct diff *diff, FILE *out, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    struct bytes text = {0};
    size_t k = 0;
    bytes_append_text(
        &text, "what,a_id,b_id,op,a_tensors,b_tensors,location,a_ns,b_ns,change_ns,a_gap_ns,b_gap_ns\r\n");
    /* Without an op, signposts alone are not matched. In the order of A: equal ops may come in another one in B. */
    for (size_t i = 0; diff->has_ops && i < a->op_count && !text.failed; i++) {
        uint32_t other = diff->align.b_of_a[i];
        if (other != ALIGN_NONE && other > k)
            k = append_new(diff, k, other, &text, out);
        if (diff->keys[a->ops[i].key].kind != DIFF_SIGNPOST)
            append_line(diff, &a->ops[i], other == ALIGN_NONE ? NULL : &b->ops[other], &text);
        flush(&text, out, FLUSH_BYTES);
    }
    if (diff->has_ops)
        append_new(diff, k, b->op_count, &text, out);
    bool failed = text.failed;
    flush(&text, out, 0);
    bytes_free(&text);
    return failed ? error_no_memory(err, "the pairs of ops") : 0;
}
