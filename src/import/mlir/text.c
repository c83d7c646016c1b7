/* SPDX-License-Identifier: Apache-2.0 */
/* Reads MLIR text, pretty or generic, at the level of statements.
 *
 * Two states: between statements (read_statement), and inside an op's own text (scan_op), which goes back to the first
 * where a region opens and comes back to the op when it closes. The open brackets of all unfinished ops are one stack,
 * so nesting needs no recursion.
 *
 * What decides:
 * - An op ends where, outside brackets, a line begins that is a statement: `%r =`, `"d.op"(`, `d.op`, one of the words
 *   that stand without a dialect, a block's label, an alias, or a closing brace. Another line continues it.
 * - A brace opens a region if a statement follows; a dictionary if `key =`, `key,` or `key}` does; else it is a bracket
 *   of the op's own syntax. A dotted name alone in its braces is an op when it has a line of its own or when the parent
 *   is a linalg op (`linalg.reduce { arith.addf }`), else a key.
 * - A value is defined by an op's results, a block's arguments, and in an op's text by `%a:` (no blank before the
 *   colon) where the op has a symbol or the name is new, `%b as %a`, and `(%a = `; it is used otherwise. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "import/mlir/mlir.h"
#include "import/mlir/names.h"
#include "import/mlir/scan.h"

struct bracket {
    uint32_t at;
    char sign;
};

struct frame { /* a region that is open */
    uint32_t op, region, block;
    uint32_t at;   /* of its brace */
    uint32_t base; /* brackets that were open around its op's text */
    uint32_t undo; /* names that were bound before it */
};

struct reader {
    struct mlir *m;
    const char *text;
    size_t at, end;
    struct bracket *brackets;
    size_t bracket_count, bracket_capacity;
    struct frame *frames;
    size_t frame_count, frame_capacity;
    struct mlir_names names;
    uint32_t *pending; /* arguments that an op's text defines for its next region */
    size_t pending_count, pending_capacity;
    bool failed;
};

#define RESERVE(r, array, count, capacity)                                                                   \
    ((count) < MLIR_NONE - 1 && array_reserve(&(array), &(capacity), (count) + 1, sizeof(array)[0])          \
         ? true                                                                                              \
         : ((r)->failed = true, false))

static struct mlir_span span_of(size_t begin, size_t end)
{
    return (struct mlir_span){(uint32_t)begin, (uint32_t)(end - begin)};
}

/* --- values --- */

static uint32_t name_id(struct reader *r, size_t begin, size_t end)
{
    uint32_t id = mlir_names_add(&r->names, r->text + begin, end - begin);
    r->failed |= r->names.failed;
    return id;
}

static void bind(struct reader *r, uint32_t name, uint32_t value)
{
    mlir_names_bind(&r->names, name, value);
    r->failed |= r->names.failed;
}

static uint32_t add_value(struct reader *r, uint32_t op, uint32_t block, uint32_t index,
                          struct mlir_span type)
{
    struct mlir *m = r->m;
    if (!RESERVE(r, m->values, m->value_count, m->value_capacity))
        return MLIR_NONE;
    m->values[m->value_count] = (struct mlir_value){op, block, index, type};
    return (uint32_t)m->value_count++;
}

/* --- blocks and regions --- */

static struct frame *inner(struct reader *r)
{
    return r->frame_count ? &r->frames[r->frame_count - 1] : NULL;
}

static uint32_t add_block(struct reader *r, struct frame *frame, struct mlir_span label)
{
    struct mlir *m = r->m;
    if (!RESERVE(r, m->blocks, m->block_count, m->block_capacity))
        return MLIR_NONE;
    uint32_t id = (uint32_t)m->block_count++;
    m->blocks[id] = (struct mlir_block){.region = frame->region,
                                        .next = MLIR_NONE,
                                        .first_op = MLIR_NONE,
                                        .last_op = MLIR_NONE,
                                        .first_argument = (uint32_t)m->value_count,
                                        .label = label};
    struct mlir_region *region = &m->regions[frame->region];
    if (region->first_block == MLIR_NONE)
        region->first_block = id;
    else
        m->blocks[region->last_block].next = id;
    region->last_block = id;
    frame->block = id;
    return id;
}

/* The block that the next op of a region belongs to: the last one, or one without a label. */
static uint32_t block_of(struct reader *r)
{
    struct frame *frame = inner(r);
    if (!frame)
        return MLIR_NONE;
    return frame->block != MLIR_NONE ? frame->block : add_block(r, frame, (struct mlir_span){0});
}

/* Arguments that the op's text named become those of the first block. */
static void take_pending(struct reader *r, uint32_t op)
{
    struct mlir *m = r->m;
    if (!r->pending_count)
        return;
    uint32_t block = block_of(r);
    for (size_t i = 0; i + 1 < r->pending_count && block != MLIR_NONE; i += 3) {
        struct mlir_span type = {r->pending[i + 1], r->pending[i + 2]};
        uint32_t value = add_value(r, op, block, m->blocks[block].arguments, type);
        m->blocks[block].arguments++;
        bind(r, r->pending[i], value);
    }
    r->pending_count = 0;
}

static void open_region(struct reader *r, uint32_t op, uint32_t base)
{
    struct mlir *m = r->m;
    if (!RESERVE(r, r->frames, r->frame_count, r->frame_capacity) ||
        !RESERVE(r, m->regions, m->region_count, m->region_capacity))
        return;
    uint32_t id = (uint32_t)m->region_count++;
    m->regions[id] =
        (struct mlir_region){.op = op, .next = MLIR_NONE, .first_block = MLIR_NONE, .last_block = MLIR_NONE};
    struct mlir_op *owner = &m->ops[op];
    if (owner->first_region == MLIR_NONE) {
        owner->first_region = id;
        owner->head_end = (uint32_t)r->at;
    } else {
        m->regions[owner->last_region].next = id;
    }
    owner->last_region = id;
    r->frames[r->frame_count++] =
        (struct frame){op, id, MLIR_NONE, (uint32_t)r->at, base, (uint32_t)r->names.undo_count};
    r->at++;
    take_pending(r, op);
}

/* --- what follows a brace --- */

enum brace { BRACE_REGION, BRACE_DICTIONARY, BRACE_OTHER };

static bool is_bare_op(const char *text, size_t begin, size_t end)
{
    static const char *const words[] = {"module", "return", "call", "func"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (end - begin == strlen(words[i]) && memcmp(text + begin, words[i], end - begin) == 0)
            return true;
    }
    return false;
}

/* `%a, %b:2 =`, which only begins a statement. */
static bool is_result_list(const char *text, size_t at, size_t end)
{
    for (;;) {
        if (at >= end || text[at] != '%')
            return false;
        at = scan_name(text, at + 1, end);
        if (at < end && text[at] == ':')
            at = scan_word(text, at + 1, end);
        at = scan_space(text, at, end);
        if (at < end && text[at] == '=')
            return at + 1 >= end || (text[at + 1] != '=' && text[at + 1] != '>');
        if (at >= end || text[at] != ',')
            return false;
        at = scan_space(text, at + 1, end);
    }
}

static bool is_generic_op(const char *text, size_t at, size_t end)
{
    size_t after = scan_string(text, at, end);
    return after < end && text[after] == '(' && memchr(text + at, '.', after - at);
}

/* A name alone in braces. */
static bool is_lone_op(const struct reader *r, uint32_t op, size_t brace, size_t word, size_t after)
{
    const char *name = mlir_name(r->m, op);
    if (strncmp(name, "linalg.", 7) == 0)
        return true;
    bool is_own_line = memchr(r->text + brace, '\n', word - brace) != NULL;
    size_t line = after;
    while (line < r->end && (r->text[line] == ' ' || r->text[line] == '\t' || r->text[line] == '\r'))
        line++;
    return is_own_line && (line >= r->end || r->text[line] == '\n' || r->text[line] == '/');
}

static enum brace brace_at(const struct reader *r, uint32_t op, size_t brace)
{
    const char *text = r->text;
    size_t word = scan_space(text, brace + 1, r->end), after, next;
    if (word >= r->end)
        return BRACE_OTHER;
    if (text[word] == '}')
        return BRACE_DICTIONARY;
    if (text[word] == '^' || (text[word] == '%' && is_result_list(text, word, r->end)))
        return BRACE_REGION;
    if (text[word] == '"' && is_generic_op(text, word, r->end))
        return BRACE_REGION;
    after = text[word] == '"' ? scan_string(text, word, r->end) : scan_name(text, word, r->end);
    if (after == word)
        return BRACE_OTHER;
    next = scan_space(text, after, r->end);
    char sign = next < r->end ? text[next] : '}';
    if (sign == '=' && !(next + 1 < r->end && text[next + 1] == '='))
        return BRACE_DICTIONARY;
    if (text[word] == '"')
        return sign == ',' || sign == '}' ? BRACE_DICTIONARY : BRACE_OTHER;
    bool is_dotted = scan_has_dot(text, word, after);
    if (sign == ',' || sign == '}')
        return is_dotted && sign == '}' && is_lone_op(r, op, brace, word, after) ? BRACE_REGION
                                                                                 : BRACE_DICTIONARY;
    return is_dotted || is_bare_op(text, word, after) ? BRACE_REGION : BRACE_OTHER;
}

/* --- an op's text --- */

/* Lists of an op are in one piece: what comes after a region, whose ops have lists of their own, moves it to the
 * end. */
static bool extend(struct reader *r, void *array_pointer, size_t *count, size_t *capacity, size_t size,
                   uint32_t *first, uint32_t length)
{
    size_t moved = *first + (size_t)length == *count ? 0 : length;
    if (*count + moved + 1 >= MLIR_NONE ||
        !array_reserve(array_pointer, capacity, *count + moved + 1, size)) {
        r->failed = true;
        return false;
    }
    char *array = *(char **)array_pointer;
    if (moved)
        memcpy(array + *count * size, array + *first * size, moved * size);
    if (moved || !length)
        *first = (uint32_t)*count;
    *count += moved;
    return true;
}

static void add_attribute(struct reader *r, uint32_t op, struct mlir_span key, struct mlir_span value)
{
    struct mlir *m = r->m;
    struct mlir_op *o = &m->ops[op];
    if (!extend(r, &m->attributes, &m->attribute_count, &m->attribute_capacity, sizeof m->attributes[0],
                &o->first_attribute, o->attributes))
        return;
    m->attributes[m->attribute_count++] = (struct mlir_attribute){key, value};
    o->attributes++;
}

/* From a dictionary's brace to the place after its end. */
static void read_dictionary(struct reader *r, uint32_t op)
{
    const char *text = r->text;
    size_t at = r->at + 1;
    for (;;) {
        at = scan_space(text, at, r->end);
        if (at >= r->end || text[at] == '}')
            break;
        size_t key = at, key_end;
        bool is_quoted = text[at] == '"';
        at = is_quoted ? scan_string(text, at, r->end) : scan_name(text, at, r->end);
        key_end = at;
        if (is_quoted && key_end > key + 1) {
            key++;
            key_end--;
        }
        at = scan_space(text, at, r->end);
        struct mlir_span value = {0};
        if (at < r->end && text[at] == '=') {
            size_t begin = scan_space(text, at + 1, r->end), last;
            at = last = scan_until(text, begin, r->end, ",");
            while (last > begin &&
                   (text[last - 1] == ' ' || text[last - 1] == '\n' || text[last - 1] == '\r'))
                last--;
            value = span_of(begin, last);
        } else {
            at = scan_until(text, at, r->end, ",");
        }
        if (key_end > key)
            add_attribute(r, op, span_of(key, key_end), value);
        if (at < r->end && text[at] == ',')
            at++;
        else
            break;
    }
    r->at = at < r->end ? at + 1 : r->end; /* a stray closing bracket is passed over with it */
}

static void add_operand(struct reader *r, uint32_t op, uint32_t value)
{
    struct mlir *m = r->m;
    struct mlir_op *o = &m->ops[op];
    if (!extend(r, &m->operands, &m->operand_count, &m->operand_capacity, sizeof m->operands[0],
                &o->first_operand, o->operands))
        return;
    m->operands[m->operand_count++] = value;
    o->operands++;
}

static bool follows_as(const struct reader *r, size_t at)
{
    return at >= 4 && memcmp(r->text + at - 4, " as ", 4) == 0;
}

static void add_pending(struct reader *r, uint32_t name, struct mlir_span type)
{
    uint32_t parts[3] = {name, type.begin, type.length};
    if (!array_reserve(&r->pending, &r->pending_capacity, r->pending_count + 3, sizeof r->pending[0])) {
        r->failed = true;
        return;
    }
    memcpy(r->pending + r->pending_count, parts, sizeof parts);
    r->pending_count += 3;
}

/* A value in an op's text: used, or defined for the region that follows. */
static void read_value(struct reader *r, uint32_t op, uint32_t base)
{
    const char *text = r->text;
    size_t begin = r->at, after = scan_name(text, begin + 1, r->end), index = 0;
    uint32_t name = name_id(r, begin, after);
    r->at = after;
    if (name == MLIR_NONE)
        return;
    if (after < r->end && text[after] == '#') {
        for (r->at++; r->at < r->end && text[r->at] >= '0' && text[r->at] <= '9'; r->at++)
            index = index * 10 + (size_t)(text[r->at] - '0');
    }
    uint32_t value = mlir_names_value(&r->names, name);
    bool is_inside = r->bracket_count > base;
    bool has_colon = r->at < r->end && text[r->at] == ':' && is_inside;
    if (has_colon && (r->m->ops[op].symbol.length || value == MLIR_NONE || follows_as(r, begin))) {
        size_t type = scan_space(text, r->at + 1, r->end), last = scan_until(text, type, r->end, ",");
        const char *location = memmem(text + type, last - type, " loc(", 5);
        if (location)
            last = (size_t)(location - text);
        add_pending(r, name, span_of(type, last));
        return;
    }
    size_t next = scan_space(text, r->at, r->end);
    if (is_inside && value == MLIR_NONE && next < r->end && text[next] == '=') {
        add_pending(r, name, (struct mlir_span){0});
        return;
    }
    if (value != MLIR_NONE && index) {
        const struct mlir_op *definer = &r->m->ops[r->m->values[value].op];
        value = r->m->values[value].block == MLIR_NONE && r->m->values[value].index + index < definer->results
                    ? value + (uint32_t)index
                    : MLIR_NONE;
    }
    add_operand(r, op, value);
}

/* Is there a new statement, or the end of the region, at the first place that is not white space? */
static bool is_statement(const struct reader *r, size_t at)
{
    const char *text = r->text;
    at = scan_space(text, at, r->end);
    if (at >= r->end || text[at] == '}' || text[at] == '^')
        return true;
    if (text[at] == '%')
        return is_result_list(text, at, r->end);
    if (text[at] == '"')
        return is_generic_op(text, at, r->end);
    if (text[at] == '{')
        return at + 2 < r->end && text[at + 1] == '-' && text[at + 2] == '#';
    if (text[at] == '#' || text[at] == '!') {
        size_t next = scan_space(text, scan_name(text, at + 1, r->end), r->end);
        return next < r->end && text[next] == '=' && r->frame_count == 0;
    }
    size_t after = scan_word(text, at, r->end);
    return after > at && (scan_has_dot(text, at, after) || is_bare_op(text, at, after));
}

static int open_bracket(struct reader *r, char sign)
{
    if (!RESERVE(r, r->brackets, r->bracket_count, r->bracket_capacity))
        return 0;
    r->brackets[r->bracket_count++] = (struct bracket){(uint32_t)r->at, sign};
    r->at++;
    return 0;
}

/* An angle bracket that was a comparison is given up when another bracket closes around it. */
static int close_bracket(struct reader *r, char sign, uint32_t base, struct error *err)
{
    char opener = sign == ')' ? '(' : sign == ']' ? '[' : sign == '}' ? '{' : '<';
    size_t top = r->bracket_count;
    while (top > base && r->brackets[top - 1].sign != opener && r->brackets[top - 1].sign == '<')
        top--;
    if (top > base && r->brackets[top - 1].sign == opener)
        r->bracket_count = top - 1;
    else if (sign != '>')
        return top > base ? mlir_error(r->m, (uint32_t)r->at, err, "'%c' closes the '%c' of another kind",
                                       sign, r->brackets[top - 1].sign)
                          : mlir_error(r->m, (uint32_t)r->at, err, "'%c' closes nothing", sign);
    r->at++;
    return 0;
}

static void read_location(struct reader *r, uint32_t op, size_t begin)
{
    size_t inside = begin + 4, end = scan_until(r->text, inside, r->end, "");
    r->m->ops[op].location = span_of(inside, end);
    r->at = end < r->end ? end + 1 : end;
}

/* A brace in an op's text. True: a region was opened. */
static bool read_brace(struct reader *r, uint32_t op, uint32_t base)
{
    bool is_outside = r->bracket_count == base;
    const struct bracket *top = is_outside ? NULL : &r->brackets[r->bracket_count - 1];
    bool is_property = top && top->sign == '<' && top->at + 1 == r->at && r->bracket_count == base + 1;
    size_t before = r->at;
    while (before > 0 && (r->text[before - 1] == ' ' || r->text[before - 1] == '\n'))
        before--;
    bool is_listed = top && top->sign == '(' && r->bracket_count == base + 1 && before > 0 &&
                     (r->text[before - 1] == '(' || r->text[before - 1] == ',');
    enum brace brace = is_outside || is_property || is_listed ? brace_at(r, op, r->at) : BRACE_OTHER;
    if (brace == BRACE_REGION && !is_property) {
        open_region(r, op, base);
        return true;
    }
    if (brace == BRACE_DICTIONARY && !is_listed)
        read_dictionary(r, op);
    else
        open_bracket(r, '{');
    return false;
}

enum scan { SCAN_DONE, SCAN_REGION };

static void finish_op(struct reader *r, uint32_t op, size_t end)
{
    struct mlir_op *o = &r->m->ops[op];
    while (end > o->begin && (r->text[end - 1] == ' ' || r->text[end - 1] == '\n' ||
                              r->text[end - 1] == '\r' || r->text[end - 1] == '\t'))
        end--;
    o->end = (uint32_t)end;
    if (o->first_region == MLIR_NONE)
        o->head_end = (uint32_t)end;
    r->pending_count = 0;
}

/* One word, sign or piece of an op's text that is neither a bracket nor a value. */
static void read_other(struct reader *r, uint32_t op, bool is_outside)
{
    struct mlir_op *o = &r->m->ops[op];
    const char *text = r->text;
    char c = text[r->at];
    size_t begin = r->at;
    if (c == '@') {
        bool is_quoted = begin + 1 < r->end && text[begin + 1] == '"';
        r->at = is_quoted ? scan_string(text, begin + 1, r->end) : scan_name(text, begin + 1, r->end);
        if (!o->symbol.length)
            o->symbol = span_of(begin + 1, r->at);
    } else if (c == '^') {
        r->at = scan_name(text, begin + 1, r->end);
    } else if (c == ':') {
        r->at++;
        if (is_outside && r->at < r->end && text[r->at] == ':')
            r->at++;
        else if (is_outside)
            o->last_colon = (uint32_t)r->at;
    } else if (c == '-' && begin + 1 < r->end && text[begin + 1] == '>') {
        r->at += 2;
        if (is_outside)
            o->last_arrow = (uint32_t)r->at;
    } else if (scan_is_word(c)) {
        r->at = scan_word(text, begin, r->end);
        if (is_outside && r->at - begin == 3 && memcmp(text + begin, "loc", 3) == 0 && r->at < r->end &&
            text[r->at] == '(')
            read_location(r, op, begin);
    } else {
        r->at++;
    }
}

/* A further op on the line of one that has its types. */
static bool is_second_op(const struct reader *r, uint32_t op)
{
    const struct mlir_op *o = &r->m->ops[op];
    return (o->last_colon || o->last_arrow) && is_statement(r, r->at);
}

/* Reads on in the text of an op, of which `base` brackets were open around it. */
static int scan_op(struct reader *r, uint32_t op, uint32_t base, enum scan *what, struct error *err)
{
    const char *text = r->text;
    *what = SCAN_DONE;
    while (r->at < r->end && !r->failed) {
        char c = text[r->at];
        bool is_outside = r->bracket_count == base;
        int status = 0;
        if (c == '\n') {
            if (is_outside && is_statement(r, r->at))
                break;
            r->at = scan_space(text, r->at, r->end);
        } else if (c == ' ' || c == '\t' || c == '\r') {
            r->at++;
        } else if (is_outside && (c == '%' || c == '"') && is_second_op(r, op)) {
            break;
        } else if (c == '"') {
            r->at = scan_string(text, r->at, r->end);
        } else if (c == '/' && r->at + 1 < r->end && text[r->at + 1] == '/') {
            r->at = scan_comment(text, r->at, r->end);
        } else if (c == '(' || c == '[' || c == '<') {
            status = open_bracket(r, c);
        } else if (c == '}' && is_outside) {
            break;
        } else if (c == ')' || c == ']' || c == '}' ||
                   (c == '>' && scan_closes_angle(text, r->at, 0, r->end))) {
            status = close_bracket(r, c, base, err);
        } else if (c == '{') {
            if (read_brace(r, op, base)) {
                *what = SCAN_REGION;
                return 0;
            }
        } else if (c == '%') {
            read_value(r, op, base);
        } else {
            read_other(r, op, is_outside);
        }
        if (status)
            return status;
    }
    if (r->bracket_count > base)
        return mlir_error(r->m, r->brackets[r->bracket_count - 1].at, err, "'%c' is never closed",
                          r->brackets[r->bracket_count - 1].sign);
    finish_op(r, op, r->at);
    return 0;
}

/* --- between statements --- */

static void read_label(struct reader *r)
{
    const char *text = r->text;
    struct frame *frame = inner(r);
    size_t begin = r->at + 1, end = scan_name(text, begin, r->end);
    uint32_t block = add_block(r, frame, span_of(begin, end)), index = 0;
    r->at = end;
    if (block != MLIR_NONE && r->at < r->end && text[r->at] == '(') {
        size_t at = r->at + 1;
        while (at < r->end && !r->failed) {
            at = scan_space(text, at, r->end);
            if (at >= r->end || text[at] != '%')
                break;
            size_t name_end = scan_name(text, at + 1, r->end);
            uint32_t name = name_id(r, at, name_end);
            size_t type = scan_space(text, name_end, r->end);
            type = type < r->end && text[type] == ':' ? scan_space(text, type + 1, r->end) : type;
            size_t last = scan_until(text, type, r->end, ","), type_end = last;
            const char *location = memmem(text + type, last - type, " loc(", 5);
            if (location)
                type_end = (size_t)(location - text);
            bind(r, name, add_value(r, frame->op, block, index++, span_of(type, type_end)));
            at = last < r->end && text[last] == ',' ? last + 1 : last;
        }
        r->at = at < r->end && text[at] == ')' ? at + 1 : at;
        r->m->blocks[block].arguments = index;
    }
    r->at = scan_space(text, r->at, r->end);
    if (r->at < r->end && text[r->at] == ':')
        r->at++;
}

static void read_alias(struct reader *r)
{
    struct mlir *m = r->m;
    const char *text = r->text;
    size_t begin = r->at, end = scan_name(text, begin + 1, r->end), value = scan_space(text, end, r->end);
    value = scan_space(text, value + 1, r->end);
    size_t last = scan_until(text, value, r->end, "\n");
    uint32_t id = intern_add(&m->aliases_by_name, text + begin, end - begin);
    if (id == INTERN_NONE ||
        !array_reserve(&m->aliases, &m->alias_capacity, (size_t)id + 1, sizeof m->aliases[0]))
        r->failed = true;
    else
        m->aliases[id] = span_of(value, last);
    r->at = last < r->end && text[last] != '\n' ? last + 1 : last;
}

/* Names of results and how many each stands for; the values are made when the op is. */
static uint32_t read_results(struct reader *r, uint32_t op)
{
    const char *text = r->text;
    uint32_t count = 0;
    size_t first = r->m->value_count;
    while (r->at < r->end && text[r->at] == '%') {
        size_t end = scan_name(text, r->at + 1, r->end);
        uint32_t name = name_id(r, r->at, end), results = 1;
        r->at = end;
        if (r->at < r->end && text[r->at] == ':') {
            uint32_t number = 0;
            for (r->at++; r->at < r->end && text[r->at] >= '0' && text[r->at] <= '9'; r->at++)
                number = number < UINT16_MAX ? number * 10 + (uint32_t)(text[r->at] - '0') : number;
            results = number ? number : 1;
        }
        if (count + results > UINT16_MAX)
            results = UINT16_MAX - count;
        bind(r, name, (uint32_t)(first + count));
        for (uint32_t i = 0; i < results; i++)
            add_value(r, op, MLIR_NONE, count + i, (struct mlir_span){0});
        count += results;
        r->at = scan_space(text, r->at, r->end);
        if (r->at >= r->end || text[r->at] != ',')
            break;
        r->at = scan_space(text, r->at + 1, r->end);
    }
    r->at = scan_space(text, r->at, r->end);
    if (r->at < r->end && text[r->at] == '=')
        r->at = scan_space(text, r->at + 1, r->end);
    return count;
}

/* `torch.operator "onnx.Add"(...)` is an onnx.Add. */
static void read_name(struct reader *r, struct mlir_op *op)
{
    const char *text = r->text;
    size_t begin = r->at, end;
    if (begin < r->end && text[begin] == '"') {
        r->at = scan_string(text, begin, r->end);
        begin++;
        end = r->at > begin ? r->at - 1 : begin;
    } else {
        end = r->at = scan_word(text, begin, r->end);
    }
    op->name = intern_add(&r->m->names, text + begin, end - begin);
    if (op->name == INTERN_NONE)
        r->failed = true;
}

static uint32_t read_op(struct reader *r)
{
    struct mlir *m = r->m;
    uint32_t block = block_of(r);
    if (r->failed || !RESERVE(r, m->ops, m->op_count, m->op_capacity))
        return MLIR_NONE;
    uint32_t id = (uint32_t)m->op_count++;
    struct mlir_op op = {.block = block,
                         .next = MLIR_NONE,
                         .begin = (uint32_t)r->at,
                         .first_result = (uint32_t)m->value_count,
                         .first_operand = (uint32_t)m->operand_count,
                         .first_attribute = (uint32_t)m->attribute_count,
                         .first_region = MLIR_NONE,
                         .last_region = MLIR_NONE};
    m->ops[id] = op;
    op.results = (uint16_t)read_results(r, id);
    read_name(r, &op);
    uint32_t *first = block == MLIR_NONE ? &m->first_op : &m->blocks[block].first_op;
    uint32_t *last = block == MLIR_NONE ? &m->last_op : &m->blocks[block].last_op;
    if (*first == MLIR_NONE)
        *first = id;
    else
        m->ops[*last].next = id;
    *last = id;
    m->ops[id] = op;
    return id;
}

/* A line that is not a statement. */
static void skip_line(struct reader *r)
{
    if (r->m->unread_lines++ == 0)
        r->m->first_unread = (uint32_t)r->at;
    r->at = scan_comment(r->text, r->at, r->end);
}

/* The op that a closed region belongs to is read on. */
static int close_region(struct reader *r, struct error *err, uint32_t *op, uint32_t *base)
{
    if (!r->frame_count)
        return mlir_error(r->m, (uint32_t)r->at, err, "'}' closes nothing");
    const struct frame *frame = &r->frames[--r->frame_count];
    *op = frame->op;
    *base = frame->base;
    mlir_names_unbind(&r->names, frame->undo);
    r->at++;
    return 0;
}

static int read_all(struct reader *r, struct error *err)
{
    const char *text = r->text;
    while (!r->failed) {
        uint32_t op = MLIR_NONE, base = (uint32_t)r->bracket_count;
        int status = 0;
        r->at = scan_space(text, r->at, r->end);
        if (r->at >= r->end)
            break;
        char c = text[r->at];
        if (c == '}')
            status = close_region(r, err, &op, &base);
        else if (c == '^' && r->frame_count)
            read_label(r);
        else if ((c == '#' || c == '!') && is_statement(r, r->at))
            read_alias(r);
        else if (c == '{' && is_statement(r, r->at)) {
            const char *last = memmem(text + r->at, r->end - r->at, "#-}", 3);
            r->at = last ? (size_t)(last - text) + 3 : r->end;
        } else if (c != '{' && c != '#' && c != '!' && is_statement(r, r->at))
            op = read_op(r);
        else
            skip_line(r);
        enum scan what;
        if (status == 0 && op != MLIR_NONE && !r->failed)
            status = scan_op(r, op, base, &what, err);
        if (status)
            return status;
    }
    if (r->failed)
        return error_no_memory(err, r->m->path);
    if (r->frame_count)
        return mlir_error(r->m, inner(r)->at, err,
                          "the region that is opened here is never closed: the text ends early");
    return 0;
}

int mlir_read_text(struct mlir **out, const char *path, const char *text, size_t length, struct error *err)
{
    *out = NULL;
    if (length >= MLIR_NONE)
        return error_set(err, EFBIG, "%s: more than 4 GiB of MLIR", path);
    struct mlir *m = calloc(1, sizeof *m);
    if (!m)
        return error_no_memory(err, path);
    *m = (struct mlir){
        .text = text, .length = length, .path = path, .first_op = MLIR_NONE, .last_op = MLIR_NONE};
    struct reader reader = {.m = m, .text = text, .end = length};
    reader.names.number_end = (uint32_t)(length / 8); /* so that the array is at most half the text */
    int status = read_all(&reader, err);
    free(reader.brackets);
    free(reader.frames);
    free(reader.pending);
    mlir_names_free(&reader.names);
    if (status)
        mlir_close(m);
    else
        *out = m;
    return status;
}
