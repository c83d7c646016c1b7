/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/earlier.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/folder.h"
#include "trace/writer.h"

static bool is_free(const char *path)
{
    char partial[4300];
    snprintf(partial, sizeof partial, "%s.partial", path);
    return access(path, F_OK) != 0 && access(partial, F_OK) != 0;
}

/* NAME.killed.opscope, NAME.killed.2.opscope ... */
static bool choose_name(const char *output, char *out, size_t size)
{
    size_t length = strlen(output), suffix = strlen(".opscope");
    if (length > suffix && strcmp(output + length - suffix, ".opscope") == 0)
        length -= suffix;
    for (unsigned n = 1; n < 100000; n++) {
        if (n == 1)
            snprintf(out, size, "%.*s.killed.opscope", (int)length, output);
        else
            snprintf(out, size, "%.*s.killed.%u.opscope", (int)length, output, n);
        if (is_free(out))
            return true;
    }
    return false;
}

struct search {
    char output[4200]; /* as sessions name it: from the root on */
    char session[SESSION_PATH_BYTES];
};

static void look_at_session(void *context, const char *path)
{
    struct search *search = context;
    struct session_folder folder;
    bool is_alive;
    if (session_folder_open(&folder, path, &is_alive, NULL) != 0)
        return;
    if (!is_alive && strcmp(folder.output, search->output) == 0)
        snprintf(search->session, sizeof search->session, "%s", path);
    session_folder_close(&folder);
}

static void find_session(const char *output, struct search *search)
{
    char *folder = output[0] == '/' ? NULL : getcwd(NULL, 0);
    snprintf(search->output, sizeof search->output, "%s%s%s", folder ? folder : "", folder ? "/" : "",
             output);
    free(folder);
    session_folder_each(look_at_session, search);
}

int earlier_run_keep(const char *output, struct earlier_run *earlier, struct error *err)
{
    struct search search = {.session = ""};
    struct trace_writer *writer = NULL;
    struct error ignored;
    *earlier = (struct earlier_run){.kept = ""};
    if (!choose_name(output, earlier->kept, sizeof earlier->kept))
        return error_set(err, EEXIST, "%s.partial is in the way, and no name is free to keep it", output);
    int moved = trace_partial_move(output, earlier->kept, err);
    if (moved <= 0) {
        earlier->kept[0] = 0;
        return moved == -EBUSY ? 0 : moved; /* whoever opens it says that it is in use */
    }
    find_session(output, &search);
    memcpy(earlier->session, search.session, sizeof earlier->session);
    if (!search.session[0] && trace_writer_resume(&writer, earlier->kept, &ignored) == 0)
        earlier->is_finished = trace_writer_finish(writer, &ignored) == 0;
    return 0;
}
