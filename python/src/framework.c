/* SPDX-License-Identifier: Apache-2.0 */
/* Frameworks that call the program, such as pytest: their frames, and those of libraries that they call themselves,
 * are of no interest to somebody who looks for the time of a test. A frame of the framework mutes its thread, a frame
 * of the program's own code unmutes it, and each restores at its end what it found:
 *
 *     framework           muted, no zone
 *       library           no zone
 *       program           zone, not muted
 *         library         zone
 *         framework       muted, no zone (pytest.raises)
 *           program       zone
 *
 * Which is which is decided by the folder of the file, the deepest that was named; what is in none of them is the
 * program's. A code object is looked up once, and only when it runs in a muted thread. */
#include "python/src/native.h"

#include <stdlib.h>

struct folder {
    char *path; /* with a slash at its end */
    size_t length;
    enum site_place place;
};

static struct folder *folders;
static size_t folder_count;

bool framework_add_folder(const char *path, enum site_place place)
{
    size_t length = strlen(path);
    struct folder *larger = realloc(folders, (folder_count + 1) * sizeof *larger);
    if (!larger)
        return false;
    folders = larger;
    char *text = malloc(length + 2);
    if (!text)
        return false;
    memcpy(text, path, length);
    text[length] = '/';
    text[length + 1] = '\0';
    folders[folder_count++] = (struct folder){text, length + 1, place};
    return true;
}

static enum site_place place_of(const char *file)
{
    static const char cell[] = "<ipython-input";                                /* of a notebook */
    bool is_made = file[0] == '<' && strncmp(file, cell, sizeof cell - 1) != 0; /* frozen, or while it runs */
    enum site_place place = is_made ? PLACE_LIBRARY : PLACE_PROGRAM;
    size_t longest = 0;
    for (size_t i = 0; i < folder_count; i++)
        if (folders[i].length >= longest && strncmp(file, folders[i].path, folders[i].length) == 0) {
            longest = folders[i].length;
            place = folders[i].place;
        }
    return place;
}

bool framework_has_file(const char *file)
{
    return folder_count && place_of(file) == PLACE_FRAMEWORK;
}

bool framework_shows(struct code_site *site)
{
    if (site->place == PLACE_UNKNOWN)
        site->place = (uint8_t)place_of(site->site.file);
    return !(site->special & SITE_HIDDEN) && site->place == PLACE_PROGRAM;
}
