/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that stand after an op's name, and what is read out of its attributes for them. Attributes look like
 * {'key': 'value'; 'config': 'Name(a=1;b=(2;3))'}: commas were replaced by semicolons. */
#include "compat/tt_perf_report/ttpr.h"

#include <math.h>
#include <stdlib.h>

static void append_cell(struct bytes *out, struct slice cell)
{
    bytes_append(out, cell.data, cell.length);
}

static uint32_t keep_scratch(struct ttpr *perf)
{
    return perf->scratch.length ? ttpr_intern(perf, perf->scratch.data, perf->scratch.length) : TTPR_NO_TEXT;
}

uint32_t ttpr_types_text(struct ttpr *perf, const struct ttpr_source *source)
{
    struct bytes *text = &perf->scratch;
    struct slice in0 = source->tensors[TTPR_IN0].type, in1 = source->tensors[TTPR_IN1].type,
                 out = source->tensors[TTPR_OUT].type;
    bytes_clear(text);
    if (in0.length)
        append_cell(text, cell_short_type(in0));
    if (in1.length) {
        if (in0.length)
            bytes_append_text(text, ", ");
        append_cell(text, cell_short_type(in1));
    }
    if (out.length) {
        bytes_append_text(text, text->length ? " => " : "=> ");
        append_cell(text, cell_short_type(out));
    }
    return keep_scratch(perf);
}

uint32_t ttpr_matmul_types_text(struct ttpr *perf, const struct ttpr_source *source)
{
    static const char *const between[] = {" ", " x ", " => "};
    const struct slice none = {"nan", 3};
    struct bytes *text = &perf->scratch;
    bytes_clear(text);
    append_cell(text, source->fidelity.length ? source->fidelity : none);
    for (unsigned i = 0; i < TTPR_TENSORS; i++) {
        struct slice type = source->tensors[i].type;
        bytes_append_text(text, between[i]);
        append_cell(text, type.length ? cell_short_type(type) : none);
    }
    return keep_scratch(perf);
}

void ttpr_take_program_config(struct ttpr_row *row, struct slice attributes)
{
    if (!slice_has(attributes, "program_config"))
        return;
    row->block_w = cell_find_number(attributes, "in0_block_w=");
    row->subblock_h = cell_find_number(attributes, "out_subblock_h=");
    row->subblock_w = cell_find_number(attributes, "out_subblock_w=");
}

/* "window_hw=(3;3); ..." */
bool ttpr_conv_window(struct slice attributes, double *height, double *width)
{
    struct slice text = slice_before(slice_after(attributes, "window_hw"), "; ");
    if (text.length < 4)
        return false;
    text.data += 2;
    text.length -= 3;
    struct slice first = slice_before(text, ";"), second = slice_before(slice_after(text, ";"), ";");
    return cell_number(first, height) == NUMBER_WHOLE && cell_number(second, width) == NUMBER_WHOLE &&
           *height > 0 && *width > 0;
}

/* The number after "name=" or "name:", up to the next semicolon; "x" where there is none. */
static void append_number_of(struct bytes *out, struct slice attributes, const char *name)
{
    struct slice text = slice_after(attributes, name);
    double value;
    if (text.length > 1) {
        text.data++;
        text.length--;
        if (cell_number(slice_before(text, ";"), &value) == NUMBER_WHOLE) {
            bytes_append_format(out, "%.0f", value);
            return;
        }
    }
    bytes_append_text(out, "x");
}

/* Absent counts as on. */
static bool is_on(struct slice attributes, const char *name)
{
    struct slice value = slice_after(attributes, name);
    return !value.data || (value.length >= 4 && memcmp(value.data, "true", 4) == 0);
}

void ttpr_append_conv_marks(struct ttpr *perf, struct slice attributes)
{
    struct bytes *text = &perf->scratch;
    bytes_append_text(text, " [ABH=");
    append_number_of(text, attributes, "per_core_out_matrix_height_ntile");
    bytes_append_text(text, "|");
    append_number_of(text, attributes, "act_block_h_ntiles");
    if (is_on(attributes, "enable_act_double_buffer': '"))
        bytes_append_text(text, " ADB");
    if (is_on(attributes, "enable_split_reader': '"))
        bytes_append_text(text, " SR");
    bytes_append_text(text, "]");
}

/* The first `count` pieces between semicolons after "key=", joined by commas. */
static void append_pieces(struct bytes *out, struct slice attributes, const char *key, unsigned count)
{
    struct slice rest = slice_after(attributes, key);
    if (!rest.data) {
        bytes_append_text(out, "x");
        return;
    }
    for (unsigned i = 0; i < count && rest.data; i++) {
        if (i > 0)
            bytes_append_text(out, ",");
        append_cell(out, slice_before(rest, ";"));
        rest = slice_after(rest, ";");
    }
}

void ttpr_append_halo(struct ttpr *perf, struct slice attributes)
{
    struct bytes *text = &perf->scratch;
    bytes_append_text(text, " w=");
    append_pieces(text, attributes, "window_hw=", 2);
    bytes_append_text(text, " s=");
    append_pieces(text, attributes, "stride_hw=", 2);
    bytes_append_text(text, " p=");
    append_pieces(text, attributes, "padding=", 4);
    bytes_append_text(text, " d=");
    append_pieces(text, attributes, "dilation_hw=", 2);
    bytes_append_text(text, " | ");
    struct slice layout = slice_before(slice_after(attributes, "memory_layout="), ";");
    if (!layout.data) {
        bytes_append_text(text, "x");
        return;
    }
    struct slice inner = slice_after(layout, "::");
    append_cell(text, inner.data ? inner : layout);
}
