/* SPDX-License-Identifier: Apache-2.0 */
/* A trace is called NAME.opscope, or has no ending at all. Any other ending is that of a file which somebody expects to
 * be in another format: it is refused before anything runs, with the command that writes that format. python -m opscope
 * has the same rule (python/opscope/__main__.py); there a name without an ending is a folder. */
#include "cli/run/output.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "cli/command/command.h"
#include "base/output_path.h"

#define LONGEST_ENDING 12u

static const struct {
    const char *ending, *how;
} exports[] = {
    {"json", "opscope export --format chrome"},
    {"csv", "opscope export --format csv"},
    {"pftrace", "opscope export --format perfetto"},
};

/* The letters after the last dot of the file's name; NULL: it has no ending. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    if (!dot || dot == name || !dot[1] || strlen(dot + 1) > LONGEST_ENDING)
        return NULL;
    bool has_letter = false;
    for (const char *at = dot + 1; *at; at++) {
        if (!isalnum((unsigned char)*at))
            return NULL;
        has_letter |= isalpha((unsigned char)*at) != 0;
    }
    return has_letter ? dot + 1 : NULL;
}

int run_output_check(const char *path, struct error *err)
{
    const char *ending = ending_of(path), *how = NULL;
    if (!ending || strcmp(ending, "opscope") == 0)
        return 0;
    int stem = (int)(ending - path - 1);
    for (size_t i = 0; i < COUNT_OF(exports); i++)
        if (strcmp(ending, exports[i].ending) == 0)
            how = exports[i].how;
    if (how)
        return error_set(
            err, EINVAL,
            "-o %s: this would be a trace, not .%s: record with -o %.*s.opscope, then `%s %.*s.opscope "
            "-o %s`",
            path, ending, stem, path, how, stem, path, path);
    return error_set(err, EINVAL, "-o %s: a trace is called NAME.opscope: -o %.*s.opscope", path, stem, path);
}

int run_output_keep_earlier(const char *output, struct earlier_run *earlier, struct error *err)
{
    *earlier = (struct earlier_run){.kept = ""};
    int status = output_path_is_null(output) ? 0 : earlier_run_keep(output, earlier, err);
    if (status || !earlier->kept[0])
        return status;
    if (earlier->session[0])
        command_say(
            "opscope: the run that was writing %s was killed: its trace is kept as %s.partial; `opscope recover %s "
            "-o %s` finishes it",
            output, earlier->kept, earlier->session, earlier->kept);
    else
        command_say("opscope: the run that was writing %s was killed: what it had written is kept as %s%s",
                    output, earlier->kept, earlier->is_finished ? "" : ".partial");
    return 0;
}
