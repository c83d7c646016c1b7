/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command's result goes: stdout, or a file that appears under its name only when it is whole.
 *
 * output_open looks at the options and the terminal once and says what the writers need to know: width,
 * colours, format. A file is written as ".NAME.tmp-XXXXXX" beside its final place and renamed by
 * output_finish; output_abandon removes it. A pipe whose reader went away is not an error (head). */
#ifndef OPSCOPE_PRESENT_OUTPUT_H
#define OPSCOPE_PRESENT_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"

enum output_color { OUTPUT_COLOR_AUTO = 0, OUTPUT_COLOR_ALWAYS = 1, OUTPUT_COLOR_NEVER = 2 };
enum output_format { OUTPUT_TERMINAL = 0, OUTPUT_CSV = 1, OUTPUT_JSON = 2 };

struct output_options {
    bool json;
    bool csv;
    bool wide;
    unsigned color;     /* enum output_color */
    const char *output; /* NULL or "-": stdout */
};

struct output {
    FILE *stream;
    enum output_format format;
    bool is_coloured;
    bool is_terminal;
    unsigned width; /* columns; 0 = no limit (--wide, a pipe, a file) */
    char *path;     /* NULL: stdout */
    char *temporary_path;
    int leftover; /* the temporary file, as a number of leftovers.h; valid with temporary_path */
};

/* -EINVAL: --json and --csv together; else why the file cannot be written. */
int output_open(struct output *output, const struct output_options *options, struct error *err);
int output_finish(struct output *output, struct error *err);
void output_abandon(struct output *output);
/* Finishes the output where `status` is 0; else abandons it and returns the status. */
int output_close(struct output *output, int status, struct error *err);

/* Writes a file's content. */
typedef int output_writer(const void *context, FILE *out, struct error *err);
/* A whole file; "-" is standard output. */
int output_write_file(const char *path, output_writer *write, const void *context, struct error *err);
int output_write_text(const char *path, const struct bytes *text, struct error *err);

/* Columns of the terminal that a descriptor refers to: COLUMNS, else its size, else 80. */
unsigned output_terminal_width(int descriptor);
/* May colours be written to this stream? NO_COLOR (when not empty) and TERM=dumb say no in auto mode. */
bool output_may_colour(FILE *stream, unsigned color);

#endif
