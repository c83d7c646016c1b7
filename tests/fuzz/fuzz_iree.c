/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of IREE's profiles: any bytes give events in order whose ends are not before their starts, or a
 * message that names the file. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/iree/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct iree_profile profile;
    struct error err = {0};
    char *copy = malloc(size ? size : 1); /* exactly as long as the text, so that a step beyond it is seen */
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (iree_profile_read(&profile, "fuzz.ireeprof", copy, size, &err) != 0) {
        assert(strncmp(err.message, "fuzz.ireeprof", 13) == 0);
        free(copy);
        return 0;
    }
    for (size_t i = 0; i < profile.event_count; i++) {
        assert(profile.events[i].end_ns >= profile.events[i].start_ns);
        assert(i == 0 || profile.events[i].start_ns >= profile.events[i - 1].start_ns);
        assert(profile.events[i].name < profile.texts.count);
    }
    iree_profile_free(&profile);
    free(copy);
    return 0;
}
