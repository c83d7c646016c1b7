/* SPDX-License-Identifier: Apache-2.0 */
/* The worker for a shared library: loads it, checks its table, serves it. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/serve.h"

#define MOST_OPS 1000000u

/* The table's ops in the form of this build: a library may have been built with an older or a newer header. */
static struct opscope_overhead_op *copy_ops(const struct opscope_overhead_table *table, struct error *err)
{
    size_t known = sizeof(struct opscope_overhead_op);
    size_t needed = offsetof(struct opscope_overhead_op, call) + sizeof table->ops->call;
    if (table->struct_size < offsetof(struct opscope_overhead_table, version) || table->op_size < needed ||
        table->op_size % sizeof(void *) != 0 || table->op_count > MOST_OPS ||
        (table->op_count && !table->ops)) {
        error_set(err, EINVAL, "its table of ops is not one: struct_size %u, op_size %u, %zu ops",
                  table->struct_size, table->op_size, table->op_count);
        return NULL;
    }
    struct opscope_overhead_op *ops = calloc(table->op_count ? table->op_count : 1, known);
    if (!ops) {
        error_no_memory(err, "its table of ops");
        return NULL;
    }
    for (size_t i = 0; i < table->op_count; i++) {
        const char *from = (const char *)table->ops + i * table->op_size;
        memcpy(&ops[i], from, table->op_size < known ? table->op_size : known);
        if (!ops[i].name || !*ops[i].name || !ops[i].call) {
            error_set(err, EINVAL, "op %zu of its table has no %s", i, ops[i].call ? "name" : "call");
            free(ops);
            return NULL;
        }
    }
    return ops;
}

static int serve_table(const struct serve_options *options, void *library, struct error *err)
{
    const struct opscope_overhead_table *(*get)(void) = NULL;
    void *symbol = dlsym(library, OPSCOPE_OVERHEAD_SYMBOL);
    memcpy(&get, &symbol, sizeof get);
    if (!get)
        return error_set(err, EINVAL, "it does not export %s (see opscope/overhead.h)",
                         OPSCOPE_OVERHEAD_SYMBOL);
    const struct opscope_overhead_table *table = get();
    if (!table)
        return error_set(err, EINVAL, "its %s gives no table", OPSCOPE_OVERHEAD_SYMBOL);
    struct opscope_overhead_op *ops = copy_ops(table, err);
    if (!ops)
        return -EINVAL;
    struct serve_options o = *options;
    if (table->struct_size >= offsetof(struct opscope_overhead_table, version) + sizeof table->version)
        o.version = table->version;
    o.loop_ns = NAN;
    /* The recorder that the library brought along, if any: the signposts land on the track of its zones. */
    symbol = dlsym(library, "opscope_signpost_");
    memcpy(&o.signpost, &symbol, sizeof o.signpost);
    int status = serve(&o, ops, table->op_count);
    free(ops);
    return status;
}

/* A name without a slash is a file of the working folder, as everywhere else; only one that is not there is searched
 * for where the system keeps libraries. */
static void *open_library(const char *path)
{
    char here[NAME_MAX + 3];
    snprintf(here, sizeof here, "./%s", path);
    bool is_here = !strchr(path, '/') && access(here, F_OK) == 0;
    return dlopen(is_here ? here : path, RTLD_NOW | RTLD_LOCAL);
}

int serve_library(const struct serve_options *options, const char *path)
{
    struct error err = {0};
    void *library = open_library(path);
    if (!library)
        error_set(&err, EINVAL, "cannot be loaded: %s", dlerror());
    else if (serve_table(options, library, &err) == 0)
        return 0;
    error_prefix(&err, "%s", path);
    serve_failure(options, err.message);
    return 1;
}
