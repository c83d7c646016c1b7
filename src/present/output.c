/* SPDX-License-Identifier: Apache-2.0 */
#include "present/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/leftovers.h"
#include "base/output_path.h"

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

/* Creates a file under a name that nobody has: `path` ends with XXXXXX, which is filled in. Like mkstemp, with the
 * mode of a plain open(): the process's umask, which cannot be read without changing it, applies by itself. */
static int create_unused(char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    char *end = path + strlen(path) - 6;
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        unsigned char random[6];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        for (size_t i = 0; i < sizeof random; i++)
            end[i] = letters[random[i] % (sizeof letters - 1)];
        int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
    return -1;
}

/* Opens a new file beside PATH. */
static int open_temporary(struct output *output, const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    int folder_length = slash ? (int)(slash - path) + 1 : 0;
    const char *name = path + folder_length;
    if (asprintf(&output->temporary_path, "%.*s.%.200s.tmp-XXXXXX", folder_length, path, name) < 0) {
        output->temporary_path = NULL;
        return error_no_memory(err, path);
    }
    int descriptor = create_unused(output->temporary_path);
    if (descriptor < 0) {
        int code = errno;
        free(output->temporary_path);
        output->temporary_path = NULL;
        return error_set_errno(err, code, "cannot write %s", path);
    }
    output->leftover = leftover_note(output->temporary_path);
    output->stream = fdopen(descriptor, "w");
    if (!output->stream) {
        int code = errno;
        close(descriptor);
        return error_set_errno(err, code, "cannot write %s", path);
    }
    return 0;
}

/* What is never replaced. Where it is the file that standard output goes to, what others write there, before and after
 * us, stays: opened once more it would have a place of its own to write at. */
static FILE *open_into(const char *path)
{
    struct stat about, standard;
    bool is_file = stat(path, &about) == 0 && S_ISREG(about.st_mode);
    for (int descriptor = STDOUT_FILENO; is_file && descriptor <= STDERR_FILENO; descriptor++) {
        if (fstat(descriptor, &standard) == 0 && standard.st_dev == about.st_dev &&
            standard.st_ino == about.st_ino) {
            int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
            return copy < 0 ? NULL : fdopen(copy, "w");
        }
    }
    return fopen(path, "ae");
}

int output_open(struct output *output, const struct output_options *options, struct error *err)
{
    *output = (struct output){.stream = stdout};
    if (options->json && options->csv)
        return error_set(err, EINVAL, "--json and --csv exclude each other");
    output->format = options->json ? OUTPUT_JSON : options->csv ? OUTPUT_CSV : OUTPUT_TERMINAL;
    if (options->output && strcmp(options->output, "-") != 0) {
        enum output_way way;
        int status = output_path_check(options->output, NULL, 0, &way, err);
        if (status != 0)
            return status;
        if (way == OUTPUT_INTO) {
            output->stream = open_into(options->output);
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
            return error_no_memory(err, options->output);
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

int output_close(struct output *output, int status, struct error *err)
{
    if (status == 0)
        return output_finish(output, err);
    output_abandon(output);
    return status;
}

int output_write_file(const char *path, output_writer *write, const void *context, struct error *err)
{
    struct output output;
    struct output_options wanted = {.output = path, .wide = true};
    int status = output_open(&output, &wanted, err);
    return status ? status : output_close(&output, write(context, output.stream, err), err);
}

static int write_text(const void *context, FILE *out, struct error *err)
{
    const struct bytes *text = context;
    if (text->failed)
        return error_no_memory(err, "the output");
    fwrite(text->data, 1, text->length, out); /* output_finish sees what went wrong */
    return 0;
}

int output_write_text(const char *path, const struct bytes *text, struct error *err)
{
    return output_write_file(path, write_text, text, err);
}
