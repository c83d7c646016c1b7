/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's version is in the server's half of the handshake, which such a file does not have: without a hint each
 * version is tried, released ones first. A wrong one stumbles within some records. */
#include "collect/tracy/recorded.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_BYTES 65536

static void ignore(void *context, const struct tracy_event *event)
{
    (void)context;
    (void)event;
}

typedef int (*feed_fn)(void *taker, const void *data, size_t length, struct error *err);

static int feed_stream(void *taker, const void *data, size_t length, struct error *err)
{
    return tracy_stream_feed(taker, data, length, err);
}

static int feed_trace(void *taker, const void *data, size_t length, struct error *err)
{
    bytes_clear(tracy_stream_queries(tracy_trace_stream(taker))); /* nobody is there to answer */
    return tracy_trace_feed(taker, data, length, err);
}

/* The whole file. 0; what the taker said; or what reading did. */
static int read_all(int fd, const char *path, feed_fn feed, void *taker, struct error *err)
{
    uint8_t data[PIECE_BYTES];
    off_t at = 0;
    ssize_t n;
    int status = 0;
    while (status == 0 && (n = pread(fd, data, sizeof data, at)) != 0) {
        if (n < 0)
            return error_set_errno(err, errno, "%s", path);
        at += n;
        status = feed(taker, data, (size_t)n, err);
    }
    return status;
}

/* How much of the file a version reads; UINT64_MAX: all of it. */
static uint64_t try_version(int fd, const char *path, struct tracy_dialect *dialect)
{
    struct tracy_stream *s = tracy_stream_new(dialect->version, TRACY_WIDE_DETECT, ignore, NULL);
    if (!s)
        return 0;
    int status = read_all(fd, path, feed_stream, s, NULL);
    uint64_t items = tracy_stream_counts(s)->items;
    bool is_good = status == 0 && items && tracy_stream_is_trusted(s);
    *dialect = tracy_stream_dialect(s);
    tracy_stream_free(s);
    return is_good ? UINT64_MAX : items;
}

/* The first version that reads everything, else the one that reads most; 0: none reads anything. */
static uint32_t find_version(int fd, const char *path)
{
    uint64_t most = 0;
    uint32_t best = 0;
    for (size_t i = 0; i < TRACY_VERSIONS && most != UINT64_MAX; i++) {
        struct tracy_dialect dialect = {.version = tracy_versions[i]};
        uint64_t items = try_version(fd, path, &dialect);
        if (items > most) {
            most = items;
            best = tracy_versions[i];
        }
    }
    return best;
}

static void list_open(void *context, struct trace_writer *w)
{
    tracy_trace_list_open(context, w);
}

static void fill_result(struct tracy_recorded *result, struct tracy_trace *t)
{
    struct tracy_stream *s = tracy_trace_stream(t);
    const struct tracy_names *names = tracy_stream_names(s);
    const struct tracy_welcome *welcome = tracy_stream_welcome(s);
    result->dialect = tracy_stream_dialect(s);
    result->counts = *tracy_stream_counts(s);
    tracy_trace_get_stats(t, &result->stats);
    snprintf(result->program, sizeof result->program, "%s", welcome ? welcome->program : "");
    result->is_cut = !tracy_stream_is_ending(s) || !tracy_stream_is_between(s);
    result->locations = names->source_count;
    result->asked = names->asked;
    result->answered = names->answered;
}

static int import_open(int fd, const char *path, const char *output, const struct tracy_recorded_options *how,
                       struct tracy_trace_options *options, struct tracy_recorded *result, struct error *err)
{
    int status =
        trace_writer_open(&options->writer, output, &(struct trace_writer_options){.command = path}, err);
    if (status)
        return status;
    struct tracy_trace *t = tracy_trace_new(options);
    if (!t) {
        trace_writer_discard(options->writer);
        return error_no_memory(err, path);
    }
    trace_writer_set_open_zones(options->writer, list_open, t);
    status = read_all(fd, path, feed_trace, t, &result->damage);
    bool is_nothing =
        !tracy_stream_welcome(tracy_trace_stream(t)) || !tracy_stream_counts(tracy_trace_stream(t))->items;
    tracy_trace_close(t);
    fill_result(result, t);
    if (is_nothing || (status && result->damage.code != EINVAL && result->damage.code != EPROTO)) {
        trace_writer_discard(options->writer);
        status = error_set(err, result->damage.code ? result->damage.code : EINVAL, "%s: %s", path,
                           result->damage.code ? result->damage.message : "no stream of a Tracy client");
    } else {
        if (how->before_finish)
            how->before_finish(how->finish_context, options->writer);
        status = trace_writer_finish(options->writer, err);
    }
    tracy_trace_free(t);
    return status;
}

int tracy_recorded_import(const char *path, const char *output, const struct tracy_recorded_options *how,
                          struct tracy_recorded *result, struct error *err)
{
    const struct tracy_dialect *dialect = how->dialect;
    struct stat st;
    *result = (struct tracy_recorded){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return error_set(err, EINVAL, "%s is not a file: a recorded stream is", path);
    }
    struct tracy_trace_options options = {.version = dialect ? dialect->version : find_version(fd, path),
                                          .wide = !dialect                     ? TRACY_WIDE_DETECT
                                                  : dialect->has_wide_contexts ? TRACY_WIDE_YES
                                                                               : TRACY_WIDE_NO,
                                          .listener = how->listener};
    int status = options.version
                     ? import_open(fd, path, output, how, &options, result, err)
                     : error_set(err, EINVAL,
                                 "%s: no stream of a Tracy client, or of a protocol that is not known "
                                 "(%u to %u are)",
                                 path, TRACY_OLDEST, TRACY_NEWEST);
    close(fd);
    return status;
}
