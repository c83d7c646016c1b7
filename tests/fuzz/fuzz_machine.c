/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes machine files: any bytes are a machine that has what it must have, or a message that names the file. What was
 * read is written and read again. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/machine_files.h"
#include "analyze/machine_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The file of an odd machine may say what no file may; it is written, not judged. */
static void write_and_read(const struct machine *machine)
{
    struct machine_set again = {0};
    struct error err = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return;
    machine_write(stream, machine, "again", NULL, "fuzz");
    fclose(stream);
    machine_files_parse(&again, "again.json", text, length, &err);
    machine_set_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine_set set = {0};
    struct error err = {0};
    char *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    if (size)
        memcpy(copy, data, size);
    if (machine_files_parse(&set, "fuzz.json", copy, size, &err) != 0) {
        assert(strncmp(err.message, "fuzz.json", 9) == 0);
        assert(set.count == 0);
    } else {
        const struct machine *machine = &set.machines[set.newest];
        assert(set.count == 1 && !machine_missing(machine));
        assert(machine_find(&set, machine->name, strlen(machine->name)) == machine);
        write_and_read(machine);
    }
    machine_set_free(&set);
    free(copy);
    return 0;
}
