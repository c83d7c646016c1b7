/* SPDX-License-Identifier: Apache-2.0 */
#include "present/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/leftovers.h"

/* A width given by hand, or 0. */
static unsigned columns_variable(void)
{
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    unsigned long columns = text ? strtoul(text, &end, 10) : 0;
    return text && *text && *end == '\0' && columns > 0 && columns < 100000 ? (unsigned)columns : 0;
}

unsigned output_terminal_width(int descriptor)
{
    unsigned columns = columns_variable();
    struct winsize size = {0};
    if (columns)
        return columns;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

bool output_may_colour(FILE *stream, unsigned color)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (color != OUTPUT_COLOR_AUTO)
        return color == OUTPUT_COLOR_ALWAYS;
    return isatty(fileno(stream)) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

/* Opens a fresh file beside PATH; its mode is what a plain open() would have given. */
static int open_temporary(struct output *output, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    int folder_length = slash ? (int)(slash - path) + 1 : 0;
    const char *name = path + folder_length;
    if (asprintf(&output->temporary_path, "%.*s.%.200s.tmp-XXXXXX", folder_length, path, name) < 0) {
        output->temporary_path = NULL;
        return error_set_errno(err, ENOMEM, "%s", path);
    }
    int descriptor = mkstemp(output->temporary_path);
    if (descriptor < 0) {
        int code = errno;
        free(output->temporary_path);
        output->temporary_path = NULL;
        return error_set_errno(err, code, "cannot write %s", path);
    }
    output->leftover = leftover_note(output->temporary_path);
    mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(descriptor, 0666 & ~mask);
    output->stream = fdopen(descriptor, "w");
    if (!output->stream) {
        int code = errno;
        close(descriptor);
        return error_set_errno(err, code, "cannot write %s", path);
    }
    return 0;
}

int output_open(struct output *output, const struct output_options *options, struct error *err)
{
    *output = (struct output){.stream = stdout};
    if (options->json && options->csv)
        return error_set(err, EINVAL, "--json and --csv exclude each other");
    output->format = options->json ? OUTPUT_JSON : options->csv ? OUTPUT_CSV : OUTPUT_TERMINAL;
    if (options->output && strcmp(options->output, "-") != 0) {
        struct stat what;
        /* A device or a pipe cannot be replaced by a rename: write into it. */
        if (stat(options->output, &what) == 0 && !S_ISREG(what.st_mode)) {
            if (S_ISDIR(what.st_mode))
                return error_set_errno(err, EISDIR, "cannot write %s", options->output);
            output->stream = fopen(options->output, "w");
            if (!output->stream)
                return error_set_errno(err, errno, "cannot write %s", options->output);
        } else {
            int result = open_temporary(output, options->output, err);
            if (result != 0) {
                output_abandon(output);
                return result;
            }
        }
        output->path = strdup(options->output);
        if (!output->path) {
            output_abandon(output);
            return error_set_errno(err, ENOMEM, "%s", options->output);
        }
    }
    output->is_terminal = isatty(fileno(output->stream));
    output->is_coloured = output_may_colour(output->stream, options->color);
    if (output->is_terminal)
        output->width = output_terminal_width(fileno(output->stream));
    else
        output->width = columns_variable();
    if (options->wide)
        output->width = 0;
    return 0;
}

int output_finish(struct output *output, struct error *err)
{
    int code = 0;
    if (fflush(output->stream) != 0 || ferror(output->stream))
        code = errno ? errno : EIO;
    if (output->stream == stdout) {
        clearerr(stdout);
        output->stream = NULL;
        if (code == 0 || code == EPIPE)
            return 0; /* the reader has seen enough */
        return error_set_errno(err, code, "cannot write to standard output");
    }
    if (fclose(output->stream) != 0 && code == 0)
        code = errno;
    output->stream = NULL;
    if (code == 0 && output->temporary_path && rename(output->temporary_path, output->path) != 0)
        code = errno;
    if (code == 0) {
        if (output->temporary_path)
            leftover_forget(output->leftover);
        free(output->temporary_path);
        output->temporary_path = NULL;
    }
    int result = code == 0 ? 0 : error_set_errno(err, code, "cannot write %s", output->path);
    output_abandon(output);
    return result;
}

void output_abandon(struct output *output)
{
    if (output->stream && output->stream != stdout)
        fclose(output->stream);
    if (output->temporary_path) {
        unlink(output->temporary_path);
        leftover_forget(output->leftover);
        free(output->temporary_path);
    }
    free(output->path);
    *output = (struct output){0};
}
