/* SPDX-License-Identifier: Apache-2.0 */
/* Python 3.14 and later: the sites of code objects in a table of our own, by address.
 *
 * Up to 3.13 a site lies in the code object itself (co_extra). Since 3.14 functions can be given to other interpreters
 * (concurrent.interpreters), and one whose code object has such an attribute is refused there: the program would fail
 * where it does not without a profiler.
 *
 * Open addressing with linear probing, half full at most; an entry is 16 bytes. A code watcher reports when a code
 * object ends: its entry goes, and those after it move up, so that a search may stop at the first free entry.
 * Everything happens under the GIL of the main interpreter, the only one with a hook. */
#include "python/src/native.h"

#ifdef HAVE_CODE_TABLE

#include <stdlib.h>

#define FIRST_BITS 12u

static struct code_entry none; /* so that a look-up need not ask whether there is a table */
struct code_table code_table = {.entries = &none, .shift = 63, .mask = 0};
static size_t entry_count;

static struct code_entry *find(const struct code_table *table, const PyCodeObject *code)
{
    size_t at = code_table_place(table, code);
    while (table->entries[at].code && table->entries[at].code != code)
        at = (at + 1) & table->mask;
    return &table->entries[at];
}

struct code_site *code_site_look(PyCodeObject *code)
{
    return find(&code_table, code)->site;
}

static bool grow(void)
{
    unsigned bits = code_table.mask ? 64u - code_table.shift + 1 : FIRST_BITS;
    struct code_table larger = {.shift = 64u - bits, .mask = ((size_t)1 << bits) - 1};
    larger.entries = calloc(larger.mask + 1, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i <= code_table.mask; i++)
        if (code_table.entries[i].code)
            *find(&larger, code_table.entries[i].code) = code_table.entries[i];
    if (code_table.entries != &none)
        free(code_table.entries);
    code_table = larger;
    return true;
}

bool code_site_put(PyCodeObject *code, struct code_site *site)
{
    if (entry_count * 2 >= code_table.mask && !grow())
        return false;
    *find(&code_table, code) = (struct code_entry){code, site};
    entry_count++;
    return true;
}

/* An entry after the free place moves there unless that lies before its own place. */
static void take_out(size_t at)
{
    struct code_entry *entries = code_table.entries;
    size_t mask = code_table.mask, next = at;
    for (;;) {
        next = (next + 1) & mask;
        if (!entries[next].code)
            break;
        size_t wanted = code_table_place(&code_table, entries[next].code);
        if (((next - wanted) & mask) >= ((next - at) & mask)) {
            entries[at] = entries[next];
            at = next;
        }
    }
    entries[at] = (struct code_entry){NULL, NULL};
    entry_count--;
}

static int on_code(PyCodeEvent event, PyCodeObject *code)
{
    struct code_entry *entry = event == PY_CODE_EVENT_DESTROY ? find(&code_table, code) : NULL;
    if (entry && entry->code) {
        struct code_site *site = entry->site;
        take_out((size_t)(entry - code_table.entries));
        code_site_free(site);
    }
    return 0;
}

bool code_sites_init(void)
{
    static int watcher = -1;
    if (watcher < 0)
        watcher = PyCode_AddWatcher(on_code);
    return watcher >= 0;
}

#endif
