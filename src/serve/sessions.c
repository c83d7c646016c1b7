/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/sessions.h"

#include "base/bytes.h"
#include "session/folder.h"

struct search {
    void (*found)(void *context, const char *path);
    void *context;
};

static void look_into(void *context, const char *path)
{
    const struct search *search = context;
    struct session_folder folder;
    struct bytes partial = {0};
    bool is_alive;
    if (session_folder_open(&folder, path, &is_alive, NULL) != 0)
        return;
    bytes_append_format(&partial, "%s.partial", folder.output);
    session_folder_close(&folder);
    if (is_alive && !partial.failed)
        search->found(search->context, bytes_text(&partial));
    bytes_free(&partial);
}

void sessions_each(void (*found)(void *context, const char *path), void *context)
{
    struct search search = {found, context};
    session_folder_each(look_into, &search);
}
