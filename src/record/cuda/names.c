/* SPDX-License-Identifier: Apache-2.0 */
/* Names of kernels. A launch names its kernel by a text that is valid in the callback alone, so it is looked up by the
 * function's handle and compared; what is made of it (the demangled name, its id in the segment) is made once and kept.
 * The table of each thread is small and direct-mapped, behind it is one for the process, which only grows: as many
 * kernels as a program has. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "base/hash.h"
#include "record/cuda/cuda.h"

#define THREAD_ENTRIES 64u
/* of kernels with another text; what comes then is looked up in the segment each time */
#define PROCESS_ENTRIES 65536u
#define DEMANGLED_MOST ((size_t)8192) /* longer names are left as they are: the demangler recurses */
#define NAME_MOST ((size_t)60000)

struct known_name {
    struct known_name *next;
    struct kernel_name name;
    uint64_t hash;
    size_t length;
    char symbol[];
};

struct thread_entry {
    const void *key;
    const struct known_name *known;
};

static __thread struct thread_entry thread_entries[THREAD_ENTRIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known_name *buckets[4096];
static uint32_t known_count;

typedef char *demangle_fn(const char *name, char *buffer, size_t *length, int *status);

/* C++ programs have it; others are given it with the first kernel whose name needs it. */
static demangle_fn *find_demangler(void)
{
    static demangle_fn *found;
    static bool has_looked;
    if (has_looked)
        return found;
    has_looked = true;
    void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    void *library = symbol ? NULL : dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
    if (library)
        symbol = dlsym(library, "__cxa_demangle");
    memcpy(&found, &symbol, sizeof symbol);
    return found;
}

static char *readable_name(const char *symbol, size_t length)
{
    demangle_fn *demangle = NULL;
    if (length > 2 && length <= DEMANGLED_MOST && symbol[0] == '_' && symbol[1] == 'Z')
        demangle = find_demangler();
    int status = -1;
    char *text = demangle ? demangle(symbol, NULL, NULL, &status) : NULL;
    if (status == 0 && text && strlen(text) <= NAME_MOST)
        return text;
    free(text);
    return strndup(symbol, NAME_MOST);
}

static struct known_name *make_known(const char *symbol, size_t length, uint64_t hash)
{
    struct known_name *made = malloc(sizeof *made + length + 1);
    char *text = made ? readable_name(symbol, length) : NULL;
    if (!text) {
        free(made);
        return NULL;
    }
    *made = (struct known_name){.hash = hash, .length = length};
    memcpy(made->symbol, symbol, length);
    made->symbol[length] = '\0';
    made->name = (struct kernel_name){text, opscope_name_(text, strlen(text))};
    return made;
}

static const struct known_name *known_to_process(const char *symbol)
{
    size_t length = strlen(symbol);
    uint64_t hash = hash_bytes(symbol, length, 0);
    struct known_name **bucket = &buckets[hash % COUNT_OF(buckets)];
    pthread_mutex_lock(&lock);
    struct known_name *found = *bucket;
    while (found &&
           (found->hash != hash || found->length != length || memcmp(found->symbol, symbol, length) != 0))
        found = found->next;
    if (!found && known_count < PROCESS_ENTRIES && (found = make_known(symbol, length, hash))) {
        found->next = *bucket;
        *bucket = found;
        known_count++;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

struct kernel_name kernel_name_of(const void *key, const char *symbol)
{
    if (!symbol)
        return (struct kernel_name){"(kernel without a name)", 0};
    struct thread_entry *entry =
        &thread_entries[((uintptr_t)key >> 4 ^ (uintptr_t)key >> 12) % THREAD_ENTRIES];
    if (entry->key == key && entry->known && strcmp(entry->known->symbol, symbol) == 0)
        return entry->known->name;
    const struct known_name *known = known_to_process(symbol);
    if (!known)
        return (struct kernel_name){"(further kernels)", 0};
    *entry = (struct thread_entry){key, known};
    return known->name;
}
