/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/source/files.h"

#include <fnmatch.h>
#include <string.h>

/* What follows the next slash; NULL after the last one. */
static const char *next_part(const char *path)
{
    const char *slash = strchr(path, '/');
    return slash ? slash + 1 : NULL;
}

bool source_file_matches(const char *file, const char *pattern)
{
    if (!*file)
        return false;
    for (const char *part = file; part; part = next_part(part)) {
        if (fnmatch(pattern, part, 0) == 0)
            return true;
    }
    return false;
}

/* Does the module's name begin here, with '/' for '.', and end at the end of a part? */
static bool begins_with_module(const char *path, const char *module, char separator)
{
    for (; *module; path++, module++) {
        if (*path != (*module == '.' ? separator : *module))
            return false;
    }
    return *path == '\0' || *path == separator || *path == '.';
}

bool source_is_in_module(const struct trace_name *name, const char *module)
{
    static const char import[] = "import ";
    if (strncmp(name->name, import, sizeof import - 1) == 0 &&
        begins_with_module(name->name + sizeof import - 1, module, '.'))
        return true;
    if (!name->file[0])
        return strchr(name->name, '.') && begins_with_module(name->name, module, '.');
    for (const char *part = name->file; part; part = next_part(part)) {
        if (begins_with_module(part, module, '/'))
            return true;
    }
    return false;
}

bool source_is_mine(const char *file, const char *folder)
{
    size_t length = strlen(folder);
    if (!*file || *file == '<' || trace_file_is_library(file))
        return false;
    if (*file != '/')
        return strncmp(file, "../", 3) != 0;
    return strncmp(file, folder, length) == 0 && (folder[length - 1] == '/' || file[length] == '/');
}
