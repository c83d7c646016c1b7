/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a model's source that belong together. A location of a compiler may name several: an op that was fused from
 * two is in the places of both, so all that name one of them are in one set. Read are
 *
 *     loc("mlp.mlir":5:10)   loc(fused["a.mlir":1:2, "a.mlir":3:4])   loc(callsite(X at Y)), which is X   @L5C10+@L6C2
 *
 * Folders do not count, since a compiler writes files as it was given them; where some location names no file, no file
 * counts. */
#ifndef OPSCOPE_ANALYZE_ESTIMATE_PLACES_H
#define OPSCOPE_ANALYZE_ESTIMATE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

#define PLACE_NONE UINT32_MAX

struct place_sets { /* zero-initialised */
    struct intern with_file, without_file;
    uint32_t *file_parents, *parents; /* of each of them: another of its set, itself at its root */
    size_t file_capacity, capacity;
    bool lacks_files; /* some location names none */
    bool failed;
};

/* Every location is added first, and then asked for: the set that it is in, PLACE_NONE where it names no place. */
void place_sets_add(struct place_sets *sets, const char *location);
uint32_t place_sets_find(struct place_sets *sets, const char *location);
void place_sets_free(struct place_sets *sets);

#endif
