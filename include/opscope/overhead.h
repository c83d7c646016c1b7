/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library of ops for `opscope overhead --ops ./libmine.so`: it exports one function, opscope_overhead_ops,
 * that returns a table.
 *
 *     #include <opscope/overhead.h>
 *
 *     static int prepare(const struct opscope_overhead_inputs *inputs, void **context) { ... return 0; }
 *     static int add(void *context) { ... return 0; }
 *     static int wait(void *context) { ... return 0; }
 *
 *     static const struct opscope_overhead_op ops[] = {
 *         {.name = "mine.add", .group = "binary", .prepare = prepare, .call = add, .synchronize = wait},
 *     };
 *     OPSCOPE_OVERHEAD_OPS("1.0", ops)
 *
 * The library is loaded into a process of its own. Functions return 0, or an errno value: the op is then reported as
 * failed (ENOMEM: as out of memory), and the others go on. The structs carry their sizes, so that fields can be added
 * after the present ones; leave those you do not know zero. */
#ifndef OPSCOPE_OVERHEAD_H
#define OPSCOPE_OVERHEAD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the user asked for. An op may ignore it. */
struct opscope_overhead_inputs {
    uint32_t struct_size;
    uint32_t rank;
    const int64_t *shape; /* --shape; rank 0: not given */
    const char *dtype;    /* --dtype, --layout, --device; NULL: not given */
    const char *layout;
    const char *device;
};

struct opscope_overhead_op {
    const char *name;  /* unique in the table */
    const char *group; /* "binary"; NULL: none */
    /* Makes what the calls need, before they are timed. NULL: nothing is needed. */
    int (*prepare)(const struct opscope_overhead_inputs *inputs, void **context);
    /* The op. This is what is timed. */
    int (*call)(void *context);
    /* Waits until the work of all calls so far is done. NULL: it is done when call returns. */
    int (*synchronize)(void *context);
    /* Gives back what prepare made. NULL: nothing to give back. */
    void (*release)(void *context);
};

struct opscope_overhead_table {
    uint32_t struct_size; /* sizeof(struct opscope_overhead_table) */
    uint32_t op_size;     /* sizeof(struct opscope_overhead_op) */
    const struct opscope_overhead_op *ops;
    size_t op_count;
    const char *version; /* of the library, for the report; NULL: none */
};

#define OPSCOPE_OVERHEAD_SYMBOL "opscope_overhead_ops"

__attribute__((visibility("default"))) const struct opscope_overhead_table *opscope_overhead_ops(void);

/* Defines opscope_overhead_ops for an array of ops. */
#define OPSCOPE_OVERHEAD_OPS(version_, ops_)                                                                 \
    const struct opscope_overhead_table *opscope_overhead_ops(void)                                          \
    {                                                                                                        \
        static const struct opscope_overhead_table table = {                                                 \
            (uint32_t)sizeof(struct opscope_overhead_table), (uint32_t)sizeof(struct opscope_overhead_op),   \
            (ops_), sizeof(ops_) / sizeof((ops_)[0]), (version_)};                                           \
        return &table;                                                                                       \
    }

#ifdef __cplusplus
}
#endif

#endif
