/* SPDX-License-Identifier: Apache-2.0 */
/* Ops for the gate's tests: each needs something else of a core, so that load hits them differently. The one that
 * GATE_SLOW_OP names does GATE_SLOW_PERCENT more of its work: a slow-down that is really there. GATE_FAIL_OP returns an
 * error, GATE_HIDE_OP is not in the table. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opscope/overhead.h>

static volatile uint64_t sink;

struct work {
    const char *name;
    unsigned amount;
    void (*run)(unsigned amount);
};

static void multiply(unsigned amount)
{
    uint64_t x = sink | 1;
    for (unsigned i = 0; i < amount; i++)
        x = x * 2862933555777941757u + 3037000493u;
    sink = x;
}

static void add(unsigned amount)
{
    uint64_t a = 1, b = 2, c = 3, d = 4;
    for (unsigned i = 0; i < amount; i++) {
        a += i;
        b ^= i << 1;
        c += i >> 1;
        d ^= i + 7;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
    sink = a + b + c + d;
}

static void allocate(unsigned amount)
{
    for (unsigned i = 0; i < amount; i++) {
        void *block = malloc(64 + i % 7 * 48);
        __asm__ volatile("" : : "r"(block) : "memory");
        free(block);
    }
}

static void print(unsigned amount)
{
    char text[64];
    for (unsigned i = 0; i < amount; i++) {
        snprintf(text, sizeof text, "%u:%s", i, "dispatch");
        __asm__ volatile("" : : "r"(text) : "memory");
    }
}

static void copy(unsigned amount)
{
    static char from[4096], to[4096];
    for (unsigned i = 0; i < amount; i++) {
        memcpy(to, from, sizeof to);
        __asm__ volatile("" : : "r"(to) : "memory");
    }
}

static void branch(unsigned amount)
{
    uint64_t x = 88172645463325252u, sum = 0;
    for (unsigned i = 0; i < amount; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        sum = i % 5 == 0 ? sum + x : i % 3 == 0 ? sum ^ x : sum - x;
    }
    sink = sum;
}

static const struct work
    works
        [] =
            {
                {"gate.add", 2000, add},           {"gate.allocate", 60, allocate},
                {"gate.branch", 800, branch},      {"gate.copy", 30, copy},
                {"gate.long", 600000, multiply}, /* longer than a scheduler's slice may be */
                {"gate.multiply", 1000, multiply}, {"gate.print", 20, print},
};
#define WORKS (sizeof works / sizeof works[0])

static unsigned amounts[WORKS];

static int names(const char *variable, const char *name)
{
    const char *value = getenv(variable);
    return value && strcmp(value, name) == 0;
}

static int prepare(size_t i)
{
    const char *percent = getenv("GATE_SLOW_PERCENT");
    unsigned more = percent ? (unsigned)strtoul(percent, NULL, 10) : 30;
    amounts[i] = works[i].amount;
    if (names("GATE_SLOW_OP", works[i].name))
        amounts[i] += works[i].amount * more / 100;
    return names("GATE_FAIL_OP", works[i].name) ? ENODEV : 0;
}

#define OP(i)                                                                                                \
    static int prepare_##i(const struct opscope_overhead_inputs *inputs, void **context)                     \
    {                                                                                                        \
        (void)inputs;                                                                                        \
        (void)context;                                                                                       \
        return prepare(i);                                                                                   \
    }                                                                                                        \
    static int call_##i(void *context)                                                                       \
    {                                                                                                        \
        (void)context;                                                                                       \
        works[i].run(amounts[i]);                                                                            \
        return 0;                                                                                            \
    }
OP(0)
OP(1)
OP(2)
OP(3)
OP(4)
OP(5)
OP(6)

const struct opscope_overhead_table *opscope_overhead_ops(void)
{
    static struct opscope_overhead_op ops[WORKS];
    static struct opscope_overhead_table table = {(uint32_t)sizeof table, (uint32_t)sizeof ops[0], ops, 0,
                                                  "1"};
    static int (*const prepares[])(const struct opscope_overhead_inputs *, void **) = {
        prepare_0, prepare_1, prepare_2, prepare_3, prepare_4, prepare_5, prepare_6};
    static int (*const calls[])(void *) = {call_0, call_1, call_2, call_3, call_4, call_5, call_6};
    table.op_count = 0;
    for (size_t i = 0; i < WORKS; i++) {
        if (!names("GATE_HIDE_OP", works[i].name))
            ops[table.op_count++] = (struct opscope_overhead_op){
                .name = works[i].name, .group = "work", .prepare = prepares[i], .call = calls[i]};
    }
    return &table;
}
