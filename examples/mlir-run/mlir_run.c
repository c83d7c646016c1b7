/* SPDX-License-Identifier: Apache-2.0 */
/* Executes a small model in TOSA, op by op, and writes a runtime profile as Torq's runtime did until 2026-02:
 *
 *     actionIndex, elapsed_time(us), timestamp(us), event, location
 *
 * A stand-in for a device, for machines without one: the arithmetic is real, the times are those of plain C on this
 * CPU. It is a simulation and not cycle accurate; its output and every row of the profile say so.
 *
 *     mlir-run MODEL.mlir [--runs N] [--profile FILE]
 *
 * Read is what model.mlir beside this file needs: one function, one op per line, f32 tensors of at most 4 dimensions,
 * conv2d, max_pool2d, matmul, add, clamp, reshape. Constants are zero points and shapes. Arguments are filled with
 * numbers that depend on nothing but their place. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opscope/opscope.h>

#define RANK 4
#define VALUES 64
#define OPS 64
#define OPERANDS 5
#define NAME 32
#define LARGEST 16777216

struct value {
    char name[NAME];
    long size[RANK]; /* missing ones come first and are 1 */
    long count;
    float *data;
    bool is_argument;
};

struct op {
    char name[NAME];
    int operands[OPERANDS], operand_count, result;
    long pad[4], stride[2], kernel[2];
    double least, most; /* of clamp */
    int line, column;
};

struct model {
    const char *path;
    struct value values[VALUES];
    struct op ops[OPS];
    int value_count, op_count, result;
};

static int fail(const struct model *m, int line, int column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int fail(const struct model *m, int line, int column, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "mlir-run: %s:%d:%d: ", m->path, line, column);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return -1;
}

/* --- reading --- */

/* "%name": its length without the sign. */
static size_t name_length(const char *at)
{
    return strcspn(at, " ,:=(){}<>\t\r\n");
}

static int find_value(const struct model *m, const char *name, size_t length)
{
    for (int i = 0; i < m->value_count; i++) {
        if (strlen(m->values[i].name) == length && memcmp(m->values[i].name, name, length) == 0)
            return i;
    }
    return -1;
}

static struct value *add_value(struct model *m, const char *name, size_t length)
{
    if (m->value_count == VALUES || length >= NAME)
        return NULL;
    struct value *value = &m->values[m->value_count++];
    memcpy(value->name, name, length);
    return value;
}

/* "tensor<1x16x16x8xf32>" */
static bool read_type(const char *text, struct value *value)
{
    long sizes[RANK];
    int rank = 0;
    if (strncmp(text, "tensor<", 7) != 0)
        return false;
    text += 7;
    while (*text >= '0' && *text <= '9') {
        char *end;
        long size = strtol(text, &end, 10);
        if (rank == RANK || size < 1 || size > LARGEST || *end != 'x')
            return false;
        sizes[rank++] = size;
        text = end + 1;
    }
    if (strncmp(text, "f32>", 4) != 0)
        return false;
    value->count = 1;
    for (int i = 0; i < RANK; i++) {
        value->size[i] = i < RANK - rank ? 1 : sizes[i - (RANK - rank)];
        value->count *= value->size[i];
        if (value->count > LARGEST)
            return false;
    }
    value->data = calloc((size_t)value->count, sizeof(float));
    return value->data != NULL;
}

static void read_longs(const char *line, const char *key, long *numbers, int count)
{
    const char *at = strstr(line, key);
    at = at ? strchr(at, ':') : NULL;
    for (int i = 0; i < count && at; i++) {
        char *end;
        numbers[i] = strtol(at + 1, &end, 10);
        at = *end == ',' ? end : NULL;
    }
}

static double read_double(const char *line, const char *key, double otherwise)
{
    const char *at = strstr(line, key);
    at = at ? strchr(at, '=') : NULL;
    return at ? strtod(at + 1, NULL) : otherwise;
}

/* "%image: tensor<...>" of the function's head, on any of its lines. */
static int read_arguments(struct model *m, const char *line, int number)
{
    for (const char *at = line; (at = strchr(at, '%'));) {
        size_t length = name_length(++at);
        struct value *value = add_value(m, at, length);
        const char *type = strstr(at, "tensor<");
        if (!value || !type || !read_type(type, value))
            return fail(m, number, (int)(at - line), "not an argument of f32 numbers");
        value->is_argument = true;
        at += length;
    }
    return 0;
}

static int read_operands(struct model *m, struct op *op, const char *line, const char *at)
{
    const char *end = at + strcspn(at, "{:");
    while ((at = memchr(at, '%', (size_t)(end - at)))) {
        size_t length = name_length(++at);
        int value = find_value(m, at, length);
        if (value < 0)
            return fail(m, op->line, (int)(at - line), "%%%.*s is not defined", (int)length, at);
        if (op->operand_count == OPERANDS)
            return fail(m, op->line, (int)(at - line), "more operands than %d", OPERANDS);
        op->operands[op->operand_count++] = value;
    }
    return 0;
}

/* "%0 = tosa.add %a, %b {...} : (...) -> tensor<...>" */
static int read_op(struct model *m, const char *line, int number)
{
    const char *name = strchr(line, '%') + 1, *equal = strchr(line, '='), *at = equal ? equal + 1 : line;
    size_t length = name_length(name);
    at += strspn(at, " \"");
    size_t op_length = strcspn(at, " \"({");
    if (!equal || m->op_count == OPS || op_length >= NAME)
        return fail(m, number, (int)(name - line), "not an op that can be read");
    struct value *value = add_value(m, name, length);
    if (!value)
        return fail(m, number, (int)(name - line), "too many values, or a name that is too long");
    if (strncmp(at, "tosa.const", 10) == 0) /* zero points and shapes: types say it all */
        return 0;
    struct op *op = &m->ops[m->op_count++];
    *op = (struct op){.result = m->value_count - 1,
                      .line = number,
                      .column = (int)(at - line) + 1,
                      .stride = {1, 1},
                      .least = -HUGE_VAL,
                      .most = HUGE_VAL};
    memcpy(op->name, at, op_length);
    const char *arrow = NULL;
    for (const char *next = line; (next = strstr(next, "-> ")); next += 3)
        arrow = next;
    if (!arrow || !read_type(arrow + 3, value))
        return fail(m, number, op->column, "its result is not a tensor of f32 numbers");
    read_longs(line, "pad = array", op->pad, 4);
    read_longs(line, "stride = array", op->stride, 2);
    read_longs(line, "kernel = array", op->kernel, 2);
    op->least = read_double(line, "min_val", op->least);
    op->most = read_double(line, "max_val", op->most);
    return read_operands(m, op, line, at + op_length);
}

static int read_line(struct model *m, const char *line, int number, bool *is_head)
{
    const char *at = line + strspn(line, " \t");
    if (strncmp(at, "func.func", 9) == 0)
        *is_head = true;
    if (*is_head) {
        *is_head = !strstr(at, "->");
        return read_arguments(m, line, number);
    }
    if (*at == '%')
        return read_op(m, line, number);
    if (strncmp(at, "return %", 8) == 0)
        m->result = find_value(m, at + 8, name_length(at + 8));
    return 0;
}

static int read_model(struct model *m)
{
    char *line = NULL;
    size_t capacity = 0;
    bool is_head = false;
    int status = 0;
    FILE *file = fopen(m->path, "re");
    if (!file) {
        fprintf(stderr, "mlir-run: cannot open %s: %s\n", m->path, strerror(errno));
        return -1;
    }
    m->result = -1;
    for (int number = 1; status == 0 && getline(&line, &capacity, file) > 0; number++)
        status = read_line(m, line, number, &is_head);
    free(line);
    fclose(file);
    if (status == 0 && (!m->op_count || m->result < 0 || !m->values[m->result].data))
        status = fail(m, 1, 1, "holds no function that returns a tensor");
    return status;
}

/* --- the ops --- */

static float *at4(const struct value *v, long a, long b, long c, long d)
{
    return &v->data[((a * v->size[1] + b) * v->size[2] + c) * v->size[3] + d];
}

static float conv_point(const struct op *op, const struct value *x, const struct value *w, const long *at)
{
    float sum = 0;
    for (long ky = 0; ky < w->size[1]; ky++) {
        for (long kx = 0; kx < w->size[2]; kx++) {
            long y = at[1] * op->stride[0] + ky - op->pad[0],
                 column = at[2] * op->stride[1] + kx - op->pad[2];
            if (y < 0 || column < 0 || y >= x->size[1] || column >= x->size[2])
                continue;
            for (long c = 0; c < x->size[3]; c++)
                sum += *at4(x, at[0], y, column, c) * *at4(w, at[3], ky, kx, c);
        }
    }
    return sum;
}

static float pool_point(const struct op *op, const struct value *x, const long *at)
{
    float most = -HUGE_VALF;
    for (long ky = 0; ky < op->kernel[0]; ky++) {
        for (long kx = 0; kx < op->kernel[1]; kx++) {
            long y = at[1] * op->stride[0] + ky - op->pad[0],
                 column = at[2] * op->stride[1] + kx - op->pad[2];
            if (y >= 0 && column >= 0 && y < x->size[1] && column < x->size[2])
                most = fmaxf(most, *at4(x, at[0], y, column, at[3]));
        }
    }
    return most;
}

static float matmul_point(const struct value *x, const struct value *w, const long *at)
{
    float sum = 0;
    for (long k = 0; k < x->size[3]; k++)
        sum += *at4(x, 0, at[1], at[2], k) * *at4(w, 0, at[1], k, at[3]);
    return sum;
}

/* Of a tensor that may have 1 where the result has more. */
static float broadcast(const struct value *v, const long *at)
{
    long index[RANK];
    for (int i = 0; i < RANK; i++)
        index[i] = v->size[i] == 1 ? 0 : at[i];
    return *at4(v, index[0], index[1], index[2], index[3]);
}

static float point(const struct model *m, const struct op *op, const long *at)
{
    const struct value *a = &m->values[op->operands[0]], *b = &m->values[op->operands[1]];
    switch (op->name[5]) { /* after "tosa." */
    case 'c':
        return op->name[6] == 'o' ? conv_point(op, a, b, at) + m->values[op->operands[2]].data[at[3]]
                                  : fminf(fmaxf(broadcast(a, at), (float)op->least), (float)op->most);
    case 'm':
        return op->name[7] == 'x' ? pool_point(op, a, at) : matmul_point(a, b, at);
    default:
        return broadcast(a, at) + broadcast(b, at);
    }
}

static void execute(const struct model *m, const struct op *op)
{
    const struct value *out = &m->values[op->result];
    if (strcmp(op->name, "tosa.reshape") == 0) {
        memcpy(out->data, m->values[op->operands[0]].data, (size_t)out->count * sizeof(float));
        return;
    }
    for (long i = 0; i < out->count; i++) {
        long rest = i, at[RANK];
        for (int k = RANK; k-- > 0; rest /= out->size[k])
            at[k] = rest % out->size[k];
        out->data[i] = point(m, op, at);
    }
}

/* Operands that an op reads, and that their sizes fit: nothing is read beyond a tensor. */
static bool fits(const struct model *m, const struct op *op)
{
    const struct value *out = &m->values[op->result], *in[3] = {0};
    for (int i = 0; i < op->operand_count && i < 3; i++)
        in[i] = &m->values[op->operands[i]];
    if (!in[0] || !in[0]->data)
        return false;
    if (strcmp(op->name, "tosa.reshape") == 0)
        return in[0]->count == out->count;
    if (strcmp(op->name, "tosa.max_pool2d") == 0)
        return in[0]->size[0] == out->size[0] && in[0]->size[3] == out->size[3] && op->kernel[0] > 0 &&
               op->kernel[1] > 0;
    if (strcmp(op->name, "tosa.conv2d") == 0)
        return in[2] && in[1]->data && in[2]->data && in[0]->size[0] == out->size[0] &&
               in[1]->size[3] == in[0]->size[3] && in[1]->size[0] == out->size[3] &&
               in[2]->count == out->size[3];
    if (strcmp(op->name, "tosa.matmul") == 0)
        return in[1] && in[1]->data && in[0]->size[3] == in[1]->size[2] && in[0]->size[1] == out->size[1] &&
               in[0]->size[2] == out->size[2] && in[1]->size[1] == out->size[1] &&
               in[1]->size[3] == out->size[3];
    bool is_add = strcmp(op->name, "tosa.add") == 0;
    if (!is_add && strcmp(op->name, "tosa.clamp") != 0)
        return false;
    for (int k = 0; k < 1 + is_add; k++) {
        for (int i = 0; i < RANK; i++) {
            if (!in[k] || !in[k]->data || (in[k]->size[i] != out->size[i] && in[k]->size[i] != 1))
                return false;
        }
    }
    return true;
}

/* --- running --- */

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static void run_once(const struct model *m, FILE *profile)
{
    for (int i = 0; i < m->op_count; i++) {
        const struct op *op = &m->ops[i];
        opscope_zone_begin(op->name);
        uint64_t start = now_ns();
        execute(m, op);
        uint64_t ns = now_ns() - start;
        opscope_zone_end();
        if (profile)
            fprintf(profile, "%d,%.3f,%.3f,%s (simulated),loc(\"%s\":%d:%d)\n", i, (double)ns / 1000,
                    (double)start / 1000, op->name, m->path, op->line, op->column);
    }
}

static int run(const struct model *m, long runs, const char *path)
{
    FILE *profile = path ? fopen(path, "we") : NULL;
    if (path && !profile) {
        fprintf(stderr, "mlir-run: cannot write %s: %s\n", path, strerror(errno));
        return 1;
    }
    if (profile)
        fputs("actionIndex, elapsed_time(us), timestamp(us), event, location\n", profile);
    for (long i = 0; i < runs; i++)
        run_once(m, profile);
    if (profile && fclose(profile) != 0) {
        fprintf(stderr, "mlir-run: cannot write %s: %s\n", path, strerror(errno));
        return 1;
    }
    const struct value *out = &m->values[m->result];
    printf("%s: %d ops, %ld runs, simulated on this CPU: not cycle accurate\nresult", m->path, m->op_count,
           runs);
    for (long i = 0; i < out->count && i < 10; i++)
        printf(" %.6g", (double)out->data[i]);
    printf("\n");
    return 0;
}

static void fill_arguments(struct model *m)
{
    for (int i = 0; i < m->value_count; i++) {
        for (long k = 0; m->values[i].is_argument && k < m->values[i].count; k++)
            m->values[i].data[k] = (float)((k * 7 + i * 3) % 11 - 5) / 16;
    }
}

static int check_ops(const struct model *m)
{
    for (int i = 0; i < m->op_count; i++) {
        if (!fits(m, &m->ops[i]))
            return fail(m, m->ops[i].line, m->ops[i].column,
                        "%s cannot be executed: an op that is not known, or sizes that do not fit",
                        m->ops[i].name);
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct model model;
    const char *profile = NULL;
    long runs = 1;
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        puts(
            "usage: mlir-run MODEL.mlir [--runs N] [--profile FILE]\n\n"
            "Executes a small TOSA model op by op on this CPU, N times, and writes how long each op took to FILE,\n"
            "as the profile of a runtime: a simulation, not cycle accurate.");
        return 0;
    }
    model.path = argv[1];
    for (int i = 2; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--runs") == 0)
            runs = strtol(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--profile") == 0)
            profile = argv[i + 1];
        else
            argc = 0;
    }
    if (argc % 2 || runs < 1) {
        fputs("mlir-run: usage: mlir-run MODEL.mlir [--runs N] [--profile FILE]\n", stderr);
        return 2;
    }
    int status = read_model(&model) != 0 || check_ops(&model) != 0;
    if (status == 0) {
        fill_arguments(&model);
        status = run(&model, runs, profile);
    }
    for (int i = 0; i < model.value_count; i++)
        free(model.values[i].data);
    return status;
}
